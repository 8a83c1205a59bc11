// Which finished tasks this person has opened. It is theirs, so it stays in their browser.

import { OPENED_MAX } from './limits.js'

const OPENED = 'legwork.opened'
const SINCE = 'legwork.since'

/** @typedef {import('./store.js').Item} Item */

/** A run that was opened; what a later run of the task brings is new again. @param {Item} item */
const name = ({ task }) => `${task.id}.${task.resumes}`

export class Opened {
  /** @type {Set<string>} */ #all = new Set()
  #since = 0

  constructor() {
    this.#load()
    // What ended before this person first came here is not news to them.
    this.#since = Number(localStorage.getItem(SINCE)) || Date.now()
    localStorage.setItem(SINCE, String(this.#since))
    addEventListener('storage', (event) => event.key === OPENED && this.#load())
  }

  #load() {
    try {
      this.#all = new Set(JSON.parse(localStorage.getItem(OPENED) ?? '[]'))
    } catch {
      this.#all = new Set()
    }
  }

  /** @param {Item} item */
  has(item) {
    return (
      item.row.group !== 'finished' ||
      (item.task.ended ?? 0) < this.#since ||
      this.#all.has(name(item))
    )
  }

  /** @param {Item} item @returns {boolean} whether that was new */
  add(item) {
    if (this.has(item)) return false
    this.#all.add(name(item))
    localStorage.setItem(OPENED, JSON.stringify([...this.#all].slice(-OPENED_MAX)))
    return true
  }
}
