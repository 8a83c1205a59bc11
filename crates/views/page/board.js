// The list: groups by whom they need, in each the order of launches, so that rows do not jump.
//
// All heights are known (style.css has them), so where a row is follows from its number. Only the
// rows around what is seen are in the document, and what one looks at stays where it is when rows
// come or go above it.

import { byId, make, say } from './dom.js'
import { ROWS_AROUND, ROWS_MAX } from './limits.js'
import { RowView } from './row.js'
import { GROUPINGS, grouped } from './groups.js'
import { drawTicks, fitting } from './timeline.js'

/**
 * @typedef {{ node: HTMLElement, count: HTMLElement }} Head
 * @typedef {import('./store.js').Item} Item
 * @typedef {{ key: string, top: number, height: number, item?: Item }} Place
 * @typedef {import('./groups.js').Group} Group
 */

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
    this.minutes = 0
    /** The scale that somebody chose. @type {number | undefined} */ this.fixed = undefined
    this.grouping = 'need'
    /** Which tasks are shown. @type {(item: Item) => boolean} */ this.keep = () => true
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
    const { one, two, group: headHeight } = this.#heights
    this.#places = []
    let top = 0
    const put = (
      /** @type {string} */ key,
      /** @type {number} */ height,
      /** @type {Item | undefined} */ item,
    ) => {
      this.#places.push({ key, top, height, item })
      top += height
    }
    const groups = grouped(this.store.all().filter(this.keep), this.grouping, this.store.counts)
    for (const group of groups) {
      put(group.key, headHeight, undefined)
      this.#head(group)
      for (const item of group.items) {
        put(item.task.id, item.row.group === 'finished' ? one : two, item)
      }
    }
    const keys = new Set(groups.map((group) => group.key))
    for (const key of this.#heads.keys()) if (!keys.has(key)) this.#heads.delete(key)
    this.#byKey = new Map(this.#places.map((place) => [place.key, place]))
    for (const id of this.#rows.keys()) if (!this.#byKey.has(id)) this.#rows.delete(id)
  }

  /** @param {Group} group */
  #head(group) {
    let known = this.#heads.get(group.key)
    if (!known) {
      const count = make('small')
      const title = make('h2', {}, `${group.name} `, count)
      const clear = make('button', { type: 'button', click: this.on.clear }, 'Clear finished…')
      const act = group.key === 'finished' && clear
      const node = make('div', { class: `group is-${group.kind}` }, title, act)
      this.#heads.set(group.key, (known = { node, count }))
    }
    say(known.count, group.count)
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
    const end = (/** @type {Place | undefined} */ place) => (place ? place.top + place.height : 0)
    above.style.height = `${places[0]?.top ?? 0}px`
    below.style.height = `${end(this.#places.at(-1)) - end(places.at(-1))}px`
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
    this.#fit()
    const now = this.store.now()
    this.#drawn = now
    for (const row of this.#present())
      row.draw(this.store.seen.get(row.item.task.id), now, this.minutes)
  }

  /** What tasks are grouped by. @param {string} by */
  setGrouping(by) {
    this.grouping = GROUPINGS.has(by) ? by : 'need'
    this.node.scrollTop = 0
    this.flush()
  }

  /** So much time, or as much as the tasks need. @param {number | undefined} minutes */
  setScale(minutes) {
    this.fixed = minutes
    this.#fit()
    this.#drawLanes()
  }

  #fit() {
    const minutes = this.fixed ?? fitting(this.items, this.store.now())
    if (minutes === this.minutes) return
    this.minutes = minutes
    drawTicks(byId('ticks'), minutes)
    byId('board').style.setProperty('--steps', byId('ticks').style.getPropertyValue('--steps'))
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
