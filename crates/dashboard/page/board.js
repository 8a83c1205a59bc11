// The list: groups by whom they need, in each the order of launches, so that rows do not jump.
//
// All heights are known (style.css has them), so where a row is follows from its number. Only the
// rows around what is seen are in the document, and what one looks at stays where it is when rows
// come or go above it.

import { byId, make, say } from './dom.js'
import { ROWS_AROUND, ROWS_MAX } from './limits.js'
import { RowView } from './row.js'
import { drawTicks } from './timeline.js'
import { number } from './words.js'

/**
 * @typedef {import('./store.js').Item} Item
 * @typedef {{ key: string, top: number, height: number, item?: Item }} Place
 */

const GROUPS = ['asks', 'working', 'queued', 'finished']

export class Board {
  /** @type {Map<string, RowView>} */ #rows = new Map()
  /** @type {Map<string, Head>} */ #heads = new Map()
  /** @type {Place[]} */ #places = []
  /** @type {Map<string, Place>} */ #byKey = new Map()
  #shown = { from: 0, to: 0 }
  #heights = { group: 0, two: 0, one: 0, axis: 0 }
  #drawn = 0
  node = byId('board')

  /**
   * @param {import('./store.js').Store} store
   * @param {{ unread: (item: Item) => boolean, nearEnd: () => void, clear: () => void }} on
   */
  constructor(store, on) {
    this.store = store
    this.on = on
    /** @type {string | undefined} */ this.selected = undefined
    this.minutes = 30
    this.keep = (/** @type {Item} */ _item) => true
    for (const group of GROUPS) this.#heads.set(group, head(group, on.clear))
    let waiting = false
    this.node.addEventListener('scroll', () => {
      if (waiting) return
      waiting = true
      requestAnimationFrame(() => {
        waiting = false
        this.#window()
      })
    })
    new ResizeObserver(() => {
      this.measure()
      this.flush()
    }).observe(this.node)
  }

  measure() {
    const style = getComputedStyle(this.node)
    const height = (/** @type {string} */ name) => parseFloat(style.getPropertyValue(name)) || 0
    this.#heights = {
      group: height('--group'),
      two: height('--two'),
      one: height('--one'),
      axis: height('--axis'),
    }
  }

  /** The tasks in the order in which they stand there. @returns {Item[]} */
  get items() {
    return this.#places.flatMap((place) => (place.item ? [place.item] : []))
  }

  /** Draws what is so now. */
  flush() {
    if (!this.#heights.two) this.measure()
    const anchor = this.#anchor()
    this.#layOut()
    this.#window(true)
    if (anchor) {
      const place = this.#byKey.get(anchor.key)
      if (place && place.top !== anchor.top) {
        this.node.scrollTop += place.top - anchor.top
        this.#window()
      }
    }
    this.tick()
  }

  /** What is to stay where it is: the selected row if one sees it, else the first one seen. */
  #anchor() {
    const top = this.node.scrollTop
    if (top <= 0) return undefined
    const bottom = top + this.node.clientHeight - this.#heights.axis
    const seen = (/** @type {Place | undefined} */ place) =>
      place && place.top >= top && place.top + place.height <= bottom
    const selected = this.#byKey.get(this.selected ?? '')
    return seen(selected) ? selected : this.#places.find((place) => place.item && seen(place))
  }

  #layOut() {
    const groups = new Map(GROUPS.map((group) => [group, /** @type {Item[]} */ ([])]))
    for (const item of this.store.all()) if (this.keep(item)) groups.get(item.row.group)?.push(item)
    this.#places = []
    let top = 0
    const put = (
      /** @type {string} */ key,
      /** @type {number} */ height,
      /** @type {Item} */ item,
    ) => {
      this.#places.push({ key, top, height, item })
      top += height
    }
    for (const [group, items] of groups) {
      if (!items.length) continue
      put(group, this.#heights.group, /** @type {any} */ (undefined))
      this.#heads.get(group)?.update(items, this.store)
      const height = group === 'finished' ? this.#heights.one : this.#heights.two
      for (const item of items) put(item.task.id, height, item)
    }
    this.#byKey = new Map(this.#places.map((place) => [place.key, place]))
    for (const id of this.#rows.keys()) if (!this.#byKey.has(id)) this.#rows.delete(id)
  }

  /** Puts the rows around what is seen into the document. @param {boolean} [anew] */
  #window(anew = false) {
    const from = this.#at(this.node.scrollTop)
    const to = this.#at(this.node.scrollTop + this.node.clientHeight) + 1
    const all = this.#places.length
    const { shown } = { shown: this.#shown }
    const inside = from >= shown.from && to <= shown.to
    const room =
      from - shown.from >= Math.min(from, ROWS_AROUND / 3) &&
      shown.to - to >= Math.min(all - to, ROWS_AROUND / 3)
    if (anew || !inside || !room) {
      const around = all <= ROWS_MAX ? all : ROWS_AROUND
      this.#shown = { from: Math.max(0, from - around), to: Math.min(all, to + around) }
      this.#draw()
    }
    if (all - to < ROWS_AROUND / 2) this.on.nearEnd()
  }

  /** The number of the place at this height. @param {number} height */
  #at(height) {
    let low = 0
    let high = this.#places.length
    while (low < high) {
      const middle = (low + high) >> 1
      const place = this.#places[middle]
      if (place.top + place.height <= height) low = middle + 1
      else high = middle
    }
    return Math.min(low, Math.max(0, this.#places.length - 1))
  }

  #draw() {
    const { from, to } = this.#shown
    const places = this.#places.slice(from, to)
    const wanted = places.map((place) =>
      place.item ? this.#row(place.item) : this.#heads.get(place.key)?.node,
    )
    const focused = document.activeElement
    const above = byId('above')
    const below = byId('below')
    const last = this.#places.at(-1)
    above.style.height = `${places[0]?.top ?? 0}px`
    below.style.height = `${last && places.length ? last.top + last.height - places[places.length - 1].top - places[places.length - 1].height : 0}px`
    let next = above.nextSibling
    const keep = new Set(wanted)
    for (const node of wanted) {
      while (next !== node && next !== below && !keep.has(next)) {
        const gone = next
        next = next.nextSibling
        gone.remove()
      }
      if (next === node) next = next.nextSibling
      else this.node.insertBefore(node, next)
    }
    while (next !== below) {
      const gone = next
      next = next.nextSibling
      gone.remove()
    }
    // A row that was moved, or is out of sight, has lost the focus.
    if (
      focused instanceof HTMLElement &&
      focused !== document.activeElement &&
      focused.closest('.row')
    ) {
      const target = focused.isConnected ? focused : this.node
      target.focus({ preventScroll: true })
    }
    this.#drawLanes()
  }

  /** @param {Item} item */
  #row(item) {
    let row = this.#rows.get(item.task.id)
    if (!row) this.#rows.set(item.task.id, (row = new RowView(item)))
    row.update(item, { selected: item.task.id === this.selected, unread: this.on.unread(item) })
    row.tick(this.store.now())
    return row.node
  }

  /** The rows in the document. */
  *#present() {
    const { from, to } = this.#shown
    for (const place of this.#places.slice(from, to)) {
      const row = this.#rows.get(place.key)
      if (row) yield row
    }
  }

  /** Once a second: times go on, and bars move when that can be seen. */
  tick() {
    const now = this.store.now()
    for (const row of this.#present()) if (!row.item.task.ended) row.tick(now)
    const everyMs = document.body.dataset.view === 'timeline' ? 2000 : 5000
    if (now - this.#drawn >= everyMs) this.#drawLanes()
  }

  #drawLanes() {
    const now = this.store.now()
    this.#drawn = now
    for (const row of this.#present())
      row.draw(this.store.seen.get(row.item.task.id), now, this.minutes)
  }

  /** @param {number} minutes */
  setScale(minutes) {
    this.minutes = minutes
    drawTicks(byId('ticks'), minutes)
    byId('board').style.setProperty('--steps', byId('ticks').style.getPropertyValue('--steps'))
    this.#drawLanes()
  }

  /** @param {string | undefined} id */
  select(id) {
    const before = this.selected
    this.selected = id
    for (const one of [before, id]) {
      const row = one && this.#rows.get(one)
      if (row) row.update(row.item, { selected: one === id, unread: this.on.unread(row.item) })
    }
  }

  /** Brings a row into sight. @param {string} id @param {boolean} focus */
  reveal(id, focus) {
    const place = this.#byKey.get(id)
    if (!place) return
    const top = this.node.scrollTop
    const room = this.node.clientHeight - this.#heights.axis
    // The head of a group is seen with its first row.
    const before = this.#places[this.#places.indexOf(place) - 1]
    const upper = before && !before.item ? before.top : place.top
    if (upper < top) this.node.scrollTop = upper
    else if (place.top + place.height > top + room)
      this.node.scrollTop = place.top + place.height - room
    this.#window()
    if (focus) this.#rows.get(id)?.node.focus({ preventScroll: true })
  }

  /** The task so many rows further. @param {number} by @returns {string | undefined} */
  neighbour(by) {
    const items = this.items
    const at = items.findIndex((item) => item.task.id === this.selected)
    const next = at < 0 ? 0 : Math.min(items.length - 1, Math.max(0, at + by))
    return items[next]?.task.id
  }
}

/** @typedef {{ node: HTMLElement, update: (items: Item[], store: import('./store.js').Store) => void }} Head */

const NAMES = { asks: 'Asks you', working: 'Working', queued: 'Queued', finished: 'Finished' }

/** @param {string} group @param {() => void} clear @returns {Head} */
function head(group, clear) {
  const count = make('small')
  const name = /** @type {Record<string, string>} */ (NAMES)[group]
  const title = make('h2', {}, `${name} `, count)
  const act =
    group === 'finished' && make('button', { type: 'button', click: clear }, 'Clear finished…')
  const node = make('div', { class: `group is-${group}` }, title, act)
  return { node, update: (items, store) => say(count, inWords(group, items, store)) }
}

/**
 * How many there are, by the daemon's count and not by what was loaded.
 * @param {string} group
 * @param {Item[]} items
 * @param {import('./store.js').Store} store
 */
function inWords(group, items, { counts }) {
  if (group === 'asks') return number(counts.asking)
  if (group === 'queued') return number(counts.queued)
  if (group === 'working') {
    return counts.slots
      ? `${number(counts.working)} of ${number(counts.slots)} slots`
      : number(counts.working)
  }
  const all = counts.completed + counts.failed + counts.cancelled
  const midnight = new Date().setHours(0, 0, 0, 0)
  const today = items.filter((item) => (item.task.ended ?? 0) >= midnight).length
  // With the last loaded one from today there may be more of today.
  const known = items.length >= all || (items.at(-1)?.task.ended ?? 0) < midnight
  return known && today < all ? `today ${number(today)}, all ${number(all)}` : number(all)
}
