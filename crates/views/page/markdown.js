// Elements from the tree of plain values that the server makes of Markdown.
//
// The tree has no HTML in it, and this makes none: names that are not known here become nothing,
// texts become text nodes, and an address is looked at again before it becomes a link.

import { make } from './dom.js'

/** @typedef {Record<string, any> & { is: string }} Value */

const SAFE = new Set(['http:', 'https:', 'mailto:'])
/** The server's tree is not that deep; a deeper one is not drawn. */
const DEPTH_MAX = 40

/** @param {string} address */
function isSafe(address) {
  try {
    return SAFE.has(new URL(address).protocol)
  } catch {
    return false
  }
}

/** @type {Record<string, (value: Value, depth: number) => any>} */
const BLOCKS = {
  paragraph: (value, depth) => make('p', {}, ...spans(value.of, depth)),
  heading: (value, depth) => make(`h${rank(value.level)}`, {}, ...spans(value.of, depth)),
  code: (value) => make('pre', { tabindex: 0 }, make('code', {}, String(value.text))),
  list: (value, depth) => list(value, depth),
  quote: (value, depth) => make('blockquote', {}, ...blocks(value.of, depth)),
  table: (value, depth) => table(value, depth),
  rule: () => make('hr'),
}

/** @type {Record<string, (value: Value, depth: number) => any>} */
const SPANS = {
  text: (value) => String(value.text),
  code: (value) => make('code', {}, String(value.text)),
  strong: (value, depth) => make('strong', {}, ...spans(value.of, depth)),
  emphasis: (value, depth) => make('em', {}, ...spans(value.of, depth)),
  struck: (value, depth) => make('s', {}, ...spans(value.of, depth)),
  link: (value, depth) => link(value, depth),
  break: () => make('br'),
}

/** The rank of the heading before. */
let above = 2

/** The page has the first two ranks, and none is left out on the way down. @param {number} level */
function rank(level) {
  above = Math.min(Math.max(3, level + 2), above + 1, 6)
  return above
}

/**
 * @param {Value[]} values
 * @param {number} [depth]
 * @returns {Node[]}
 */
export function blocks(values, depth = 0) {
  if (depth === 0) above = 2
  return drawn(BLOCKS, values, depth)
}

/** @param {Value[]} values @param {number} depth */
function spans(values, depth) {
  return drawn(SPANS, values, depth)
}

/**
 * @param {Record<string, (value: Value, depth: number) => any>} known
 * @param {Value[]} values
 * @param {number} depth
 */
function drawn(known, values, depth) {
  if (depth > DEPTH_MAX || !Array.isArray(values)) return []
  return values.flatMap((value) =>
    Object.hasOwn(known, value?.is) ? [known[value.is](value, depth + 1)] : [],
  )
}

/** @param {Value} value @param {number} depth */
function link(value, depth) {
  const to = String(value.to)
  const inside = spans(value.of, depth)
  if (!isSafe(to)) return make('span', {}, ...inside)
  const there = { href: to, target: '_blank', rel: 'noopener noreferrer', title: to }
  return make('a', there, ...(inside.length ? inside : [to]))
}

/** @param {Value} value @param {number} depth */
function list(value, depth) {
  const items = value.items.map((/** @type {Value[]} */ item) =>
    make('li', {}, ...tight(item, depth)),
  )
  if (!value.ordered) return make('ul', {}, ...items)
  return make('ol', { start: value.start === 1 ? undefined : value.start }, ...items)
}

/** The first paragraph of an item is its line. @param {Value[]} item @param {number} depth */
function tight(item, depth) {
  const [first, ...rest] = item
  if (first?.is !== 'paragraph') return blocks(item, depth)
  return [...spans(first.of, depth), ...blocks(rest, depth)]
}

/** @param {Value} value @param {number} depth */
function table(value, depth) {
  const row = (/** @type {string} */ tag) => (/** @type {Value[][]} */ cells) =>
    make('tr', {}, ...cells.map((cell) => make(tag, {}, ...spans(cell, depth))))
  const head = make('thead', {}, row('th')(value.head))
  // A wide one is scrolled by itself.
  return make(
    'div',
    { class: 'table', tabindex: 0, role: 'group', 'aria-label': 'Table' },
    make('table', {}, head, make('tbody', {}, ...value.rows.map(row('td')))),
  )
}
