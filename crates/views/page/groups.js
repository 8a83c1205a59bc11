// How tasks are put in groups: by whom they need, or by their project or agent.

import { counted, number } from './words.js'

/**
 * @typedef {import('./store.js').Item} Item
 * @typedef {import('./store.js').Counts} Counts
 * @typedef {{ key: string, kind: string, name: string, count: string, items: Item[] }} Group
 */

/** Whom tasks need, in the order in which they are shown. @type {Record<string, string>} */
const NEEDS = { asks: 'Asks you', working: 'Working', queued: 'Queued', finished: 'Finished' }

/** What else they are grouped by. @type {Map<string, (item: Item) => string>} */
export const GROUPINGS = new Map([
  ['project', ({ row }) => row.project],
  ['agent', ({ task }) => task.agent],
])

/**
 * @param {Item[]} items in the order of launches, newest first
 * @param {string} by
 * @param {Counts} counts
 * @returns {Group[]}
 */
export function grouped(items, by, counts) {
  const of = GROUPINGS.get(by)
  return of ? byName(items, of) : byNeed(items, counts)
}

/** @param {Item[]} items @param {Counts} counts */
function byNeed(items, counts) {
  const groups = new Map(Object.keys(NEEDS).map((need) => [need, /** @type {Item[]} */ ([])]))
  for (const item of items) groups.get(item.row.group)?.push(item)
  return [...groups].flatMap(([need, items]) => {
    const count = inWords(need, items, counts)
    return items.length ? [{ key: need, kind: need, name: NEEDS[need], count, items }] : []
  })
}

/** @param {Item} item */
const placeOf = (item) => Object.keys(NEEDS).indexOf(item.row.group)

/**
 * Groups with somebody who asks come first, then those with somebody at work.
 * @param {Item[]} items
 * @param {(item: Item) => string} of
 */
function byName(items, of) {
  /** @type {Map<string, Item[]>} */ const groups = new Map()
  for (const item of [...items].sort((a, b) => placeOf(a) - placeOf(b))) {
    const name = of(item)
    const group = groups.get(name)
    if (group) group.push(item)
    else groups.set(name, [item])
  }
  return [...groups].map(([name, items]) => {
    const asking = items.filter((item) => item.row.group === 'asks').length
    const count = number(items.length) + (asking ? `, asks you ${number(asking)}` : '')
    return { key: `named ${name}`, kind: asking ? 'asks' : 'named', name, count, items }
  })
}

/**
 * How many there are, by the daemon's count and not by what was loaded.
 * @param {string} need
 * @param {Item[]} items
 * @param {Counts} counts
 */
function inWords(need, items, counts) {
  if (need === 'asks') return number(counts.asking)
  if (need === 'working') return number(counts.working)
  if (need === 'queued') {
    // Each host has its own: what is at work on all of them is no part of this number.
    const slots = counts.slots ? `, ${counted(counts.slots, 'slot')} on each host` : ''
    return number(counts.queued) + slots
  }
  const all = counts.completed + counts.failed + counts.cancelled
  const midnight = new Date().setHours(0, 0, 0, 0)
  const today = items.filter((item) => (item.task.ended ?? 0) >= midnight).length
  // With the last loaded one from today there may be more of today.
  const known = items.length >= all || (items.at(-1)?.task.ended ?? 0) < midnight
  return known && today < all ? `today ${number(today)}, all ${number(all)}` : number(all)
}
