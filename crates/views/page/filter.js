// Which tasks are shown: the chips with their counts, and the words that are searched for.

import { byId, make, say } from './dom.js'
import { PAGE_TASKS, SEARCH_MS } from './limits.js'
import { Listing } from './store.js'
import { number } from './words.js'

/**
 * @typedef {import('./store.js').Item} Item
 * @typedef {import('./store.js').Counts} Counts
 * @typedef {{ name: string, text: string, states: string[], count: (counts: Counts) => number,
 *   status?: string }} Chip
 */

const OVER = ['completed', 'failed', 'cancelled']

/** @type {Chip[]} */
const CHIPS = [
  {
    name: 'all',
    text: 'All',
    states: ['asks', 'working', 'queued', ...OVER],
    count: (c) => c.asking + c.working + c.queued + c.completed + c.failed + c.cancelled,
  },
  { name: 'asks', text: 'Asks you', states: ['asks'], count: (c) => c.asking },
  { name: 'working', text: 'Working', states: ['working'], count: (c) => c.working },
  { name: 'queued', text: 'Queued', states: ['queued'], count: (c) => c.queued },
  { name: 'failed', text: 'Failed', states: ['failed'], count: (c) => c.failed, status: 'error' },
  {
    name: 'done',
    text: 'Done',
    states: ['completed', 'cancelled'],
    count: (c) => c.completed + c.cancelled,
  },
]

export class Filter {
  #chip = CHIPS[0]
  #words = ''
  /** @type {Map<string, { node: HTMLElement, count: HTMLElement }>} */ #buttons = new Map()
  #tired = 0

  /** @param {import('./store.js').Store} store @param {() => void} changed */
  constructor(store, changed) {
    this.store = store
    this.changed = changed
    for (const chip of CHIPS) {
      const count = make('b')
      const node = make(
        'button',
        {
          type: 'button',
          class: `chip is-${chip.name}`,
          'aria-pressed': String(chip === this.#chip),
          click: () => this.choose(chip.name),
        },
        `${chip.text} `,
        count,
      )
      this.#buttons.set(chip.name, { node, count })
      byId('chips').append(node)
    }
    /** @type {ReturnType<typeof setTimeout> | undefined} */ let waiting
    byId('find').addEventListener('input', () => {
      clearTimeout(waiting)
      waiting = setTimeout(() => this.#search(), SEARCH_MS)
    })
  }

  /** @param {string} name */
  choose(name) {
    this.#chip = CHIPS.find((chip) => chip.name === name) ?? CHIPS[0]
    for (const [one, { node }] of this.#buttons)
      node.setAttribute('aria-pressed', String(one === this.#chip.name))
    this.#look()
  }

  #search() {
    const words = byId('find').value.trim().toLowerCase()
    if (words === this.#words) return
    this.#words = words
    this.#look()
  }

  clear() {
    const was = byId('find').value !== ''
    byId('find').value = ''
    this.#search()
    return was
  }

  /** Whether less than all tasks is wanted. */
  get narrows() {
    return this.#words !== '' || this.#chip !== CHIPS[0]
  }

  #look() {
    const { status } = this.#chip
    const query = { ...(status && { status }), ...(this.#words && { search: this.#words }) }
    this.store.found = Object.keys(query).length ? new Listing(query) : undefined
    this.#tired = 0
    if (this.store.found) this.more()
    byId('board').scrollTop = 0
    this.changed()
  }

  /** The daemon looks for the words in the same places. @param {Item} item */
  keeps({ task, row }) {
    if (!this.#chip.states.includes(row.state)) return false
    if (!this.#words) return true
    const { id, description, agent, directory } = task
    return [id, description, agent, directory].some((text) =>
      text.toLowerCase().includes(this.#words),
    )
  }

  /** Reads older tasks, if there are any and they could be among those that are wanted. */
  more() {
    const listing = this.store.found ?? this.store.older
    const finished = this.#chip.states.some((state) => OVER.includes(state))
    if (!finished && !this.#words) return
    if (listing.over || listing.busy || performance.now() < this.#tired || !this.#left(listing))
      return
    listing.more().then(this.changed, () => {
      // The daemon is away: the board says so.
      this.#tired = performance.now() + 5000
    })
    this.show([])
  }

  /** How many tasks were not loaded yet. @param {Listing} listing */
  #left(listing) {
    if (listing !== this.store.older)
      return listing.next === undefined ? 1 : listing.total - listing.rows.size
    const { completed, failed, cancelled } = this.store.counts
    const loaded = this.store.all().filter((item) => item.row.group === 'finished').length
    return Math.max(0, completed + failed + cancelled - loaded)
  }

  /** Shows the counts, and what is not loaded. @param {Item[]} shown */
  show(shown) {
    for (const chip of CHIPS) {
      const count = /** @type {{ count: HTMLElement }} */ (this.#buttons.get(chip.name)).count
      say(count, number(chip.count(this.store.counts)))
    }
    const listing = this.store.found ?? this.store.older
    const more = byId('more')
    const left = this.#left(listing)
    const older =
      left > 0 &&
      !listing.over &&
      (this.#words || this.#chip.states.some((state) => OVER.includes(state)))
    const text = listing.busy
      ? 'Reading older ones…'
      : older
        ? `${number(left)} older ones · `
        : shown.length || !this.narrows
          ? ''
          : this.#words
            ? `No task has “${this.#words}” in its title, id, agent or folder.`
            : 'No task at the moment.'
    const is = `${text} ${older}`
    if (more.dataset.is === is) return
    more.dataset.is = is
    more.hidden = !text
    const button =
      older &&
      !listing.busy &&
      make(
        'button',
        { type: 'button', click: () => this.more() },
        `show ${Math.min(left, PAGE_TASKS)} more`,
      )
    more.replaceChildren(text, button || '')
  }
}
