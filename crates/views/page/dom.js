// Making elements. Whatever is given as text becomes a text node: there is no way here to make
// markup out of a text, and nothing in a text turns the direction of what stands around it.

/**
 * @typedef {Node | string | null | undefined | false} Child
 * @typedef {string | number | boolean | undefined | ((event: any) => void)} Value
 */

/**
 * The element with this id, which index.html has.
 * @param {string} id
 * @returns {any}
 */
export const byId = (id) => document.getElementById(id)

/** Colours for a terminal, which a page does not have. */
const COLOURS = /\u001b\[[0-9;?]*[ -/]*[@-~]|\r/g
/** What is no character to be read, or turns the direction of writing: a command could hide so. */
const STEERING = /[\0-\b\v-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** A text as it can be read. @param {string} text */
export const plain = (text) => text.replace(COLOURS, '').replace(STEERING, '\ufffd')

/**
 * An element. A function among the attributes listens to the event of that name.
 * @param {string} tag
 * @param {Record<string, Value>} [attributes]
 * @param {...Child} children
 * @returns {any}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value))
  }
  for (const child of children) {
    if (typeof child === 'string') element.append(plain(child))
    else if (child) element.append(child)
  }
  return element
}

/**
 * A button of ours.
 * @param {string} text
 * @param {string} kind classes
 * @param {(event: Event) => void} click
 * @param {string} [key] the key that does the same
 */
export function button(text, kind, click, key) {
  const hint = key && make('kbd', { 'aria-hidden': 'true' }, key)
  return make(
    'button',
    { type: 'button', class: `btn ${kind}`, click, 'aria-keyshortcuts': key },
    text,
    hint,
  )
}

const SVG = 'http://www.w3.org/2000/svg'

/**
 * One of the signs of index.html. It is decoration: the word stands beside it.
 * @param {string} name
 * @param {number} size
 */
export function sign(name, size) {
  const svg = document.createElementNS(SVG, 'svg')
  const use = document.createElementNS(SVG, 'use')
  for (const [key, value] of Object.entries({ width: size, height: size, 'aria-hidden': 'true' })) {
    svg.setAttribute(key, String(value))
  }
  use.setAttribute('href', `#i-${name}`)
  svg.append(use)
  if (name === 'working') svg.classList.add('spin')
  return svg
}

/**
 * Sets a text if it is another one, so that nothing is drawn again for nothing.
 * @param {Element} element
 * @param {string} text
 */
export function say(element, text) {
  const read = plain(text)
  if (element.textContent !== read) element.textContent = read
}

/**
 * A text with its `commands` set apart.
 * @param {string} text
 * @returns {Child[]}
 */
export function withCode(text) {
  return plain(text)
    .split('`')
    .map((part, at) => (at % 2 ? make('code', {}, part) : part))
}

/**
 * Copies a text and says so on the button.
 * @param {string} text
 * @param {HTMLElement} on
 */
export async function copy(text, on) {
  const before = on.textContent ?? ''
  try {
    await navigator.clipboard.writeText(text)
    on.textContent = 'Copied'
  } catch {
    on.textContent = 'Cannot copy'
  }
  setTimeout(() => (on.textContent = before), 1500)
}
