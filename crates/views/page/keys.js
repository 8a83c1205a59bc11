// The keys, the same as in `legwork top`. They are off in inputs and while a dialog asks.

import { TABS } from './detail.js'
import { isAsking, tell } from './dialog.js'
import { byId, make } from './dom.js'
import { NEW_QUESTION_MS } from './limits.js'
import { isInput, mayBeTyping, typed, typesOn, typesStill, watchInputs } from './typing.js'

/**
 * @typedef {object} Doings what the keys do
 * @property {import('./board.js').Board} board
 * @property {import('./detail.js').Detail} detail
 * @property {import('./filter.js').Filter} filter
 * @property {import('./launch.js').Launch} launch
 * @property {(by: number) => void} move
 * @property {() => void} open
 * @property {() => void} back
 * @property {(view: string) => void} setView
 * @property {() => boolean} covers whether a task hides the list
 *
 * @typedef {[string[], string, (event: KeyboardEvent) => void]} Key names, what it does, doing it
 */

/** What is shown of a key that has no letter. @type {Record<string, string>} */
const SHOWN = { ArrowDown: '↓', ArrowUp: '↑', Escape: 'Esc' }

/** What is told at the foot of a task. */
const HINTS = [
  ['j k', 'tasks'],
  ['1 2 3', 'tabs'],
  ['x', 'cancel'],
  ['/', 'find'],
  ['?', 'all keys'],
]

/** @param {Doings} doings @returns {Key[]} */
function walking({ board, filter, move, open, back, covers }) {
  /** The arrows scroll what has the focus. @param {KeyboardEvent} event @param {number} by */
  const step = (event, by) => {
    const inside = event.target instanceof Element && event.target.closest('.detail')
    if (inside && event.key.startsWith('Arrow')) return
    event.preventDefault()
    move(by)
  }
  const enter = (/** @type {KeyboardEvent} */ event) => {
    const target = /** @type {Element} */ (event.target)
    const isRow = target.matches('.row')
    if (!isRow && target !== document.body && target !== board.node) return
    event.preventDefault()
    if (isRow) board.select(target.getAttribute('href')?.slice(1))
    open()
  }
  const escape = () => {
    const inside = document.activeElement?.closest('.detail')
    if (covers() || inside || !filter.clear()) back()
  }
  return [
    [['j', 'ArrowDown'], 'the next task', (event) => step(event, 1)],
    [['k', 'ArrowUp'], 'the task before', (event) => step(event, -1)],
    [['Enter'], 'open the task', enter],
    [['Escape'], 'back to the list; out of an input', escape],
  ]
}

/** @typedef {import('./question.js').Card} Card */
/** @param {Card | undefined} card @param {string} key */
const takesKeys = (card, key) => Boolean(card?.takesKeys && card.offers(key))

/** Whether what follows is written somewhere. */
const isWritten = () => isAsking() || isInput(document.activeElement)

/** @param {Doings} doings @returns {Key[]} */
function answering({ detail }) {
  /** @param {string} key @param {(card: Card) => void} act */
  const answer = (key, act) => {
    const { card } = detail
    if (!card) return
    if (takesKeys(card, key)) act(card)
    else if (!card.offers(key)) tell(card.unoffered)
  }
  // Not while text streams in: what one reads may not be what one allows.
  const isStill = () => performance.now() - detail.conversation.written > NEW_QUESTION_MS
  return [
    [['o'], 'allow once', () => answer('o', (card) => card.send('once'))],
    [['w', 'a'], 'always allow; asks first', () => isStill() && answer('w', (card) => card.always())],
    [['r'], 'reject', () => answer('r', (card) => card.send({ reject: null }))],
  ]
}

/** @param {Doings} doings @returns {Key[]} */
function deciding({ detail }) {
  return [
    [['x'], 'cancel the task; asks first', () => detail.cancel()],
    [['t'], 'try a failed task again', () => detail.retry()],
  ]
}

/** Whoever presses these goes on with words. @param {Doings} doings @returns {Key[]} */
function writing({ detail, launch }) {
  return [
    [['e'], 'reject, and say why; answer in words', () => writeTo(detail.card)],
    [['n'], 'a new task', () => launch.show()],
    [['c'], 'go on with a finished task', () => byId('resume').focus()],
    [['/'], 'find a task', () => byId('find').focus()],
  ]
}

/** @param {Card | undefined} card */
function writeTo(card) {
  if (card && takesKeys(card, 'e')) card.takeWords()
}

/** @param {Doings} doings @returns {Key[]} */
function looking({ detail, setView }) {
  const names = ['the conversation', 'the result', 'why it is not done, or what happened']
  const tabs = TABS.map(
    (tab, at) =>
      /** @type {Key} */ ([[String(at + 1)], names[at], () => detail.item && detail.show(tab)]),
  )
  const other = () => setView(document.body.dataset.view === 'list' ? 'timeline' : 'list')
  return [
    ...tabs,
    [['g'], 'timeline or list', other],
    [['f'], 'follow the conversation', () => detail.conversation.follow()],
    [['?'], 'these keys', () => byId('keys').showModal()],
  ]
}

/** @param {Doings} doings */
export function listenToKeys(doings) {
  const first = walking(doings)
  // Not while somebody may be typing.
  const careful = [...answering(doings), ...deciding(doings)]
  const wordy = writing(doings)
  /** @type {Map<string, Key>} */ const byKey = new Map()
  for (const key of [...first, ...careful, ...wordy, ...looking(doings)]) {
    for (const name of key[0]) byKey.set(name, key)
  }
  watchInputs()
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing || isAsking()) return
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (isInput(event.target)) {
      typed()
      if (event.key === 'Escape') /** @type {HTMLElement} */ (event.target).blur()
      return
    }
    const key = byKey.get(event.key)
    const isLetter = event.key.length === 1 && event.key !== ' '
    // A letter that means nothing here is one of a text, and so is what follows at once.
    const isText = isLetter && (!key || typesStill())
    const isHeld = isText || (key && careful.includes(key) && mayBeTyping())
    if (isText) typesOn()
    else if (isHeld) typed()
    // The letter is not to be written where the key leads.
    if (key && !first.includes(key)) event.preventDefault()
    if (isHeld) {
      const again = `You were typing just now. If ${event.key} is meant as a key, press it again.`
      if (key) tell(again)
      return
    }
    key?.[2](event)
    // What follows is meant for an input, whether there is one or not.
    if (key && wordy.includes(key) && !isWritten()) typesOn()
  })
  const shown = (/** @type {string[]} */ names) =>
    names.map((name) => make('kbd', {}, SHOWN[name] ?? name))
  for (const [names, text] of new Set(byKey.values())) {
    byId('keys-list').append(make('dt', {}, ...shown(names)), make('dd', {}, text))
  }
  const hint = (/** @type {string[]} */ [keys, text]) =>
    make('span', {}, ...shown(keys.split(' ')), ` ${text}`)
  byId('hints').append(...HINTS.map(hint))
}
