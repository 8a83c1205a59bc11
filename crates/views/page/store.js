// The tasks as the daemon tells them. Knows nothing of how they look.

import { ask } from './api.js'
import { OLDER_MAX, PAGE_TASKS } from './limits.js'

/**
 * @typedef {{ run: number, started: number, ended: number | null, outcome?: string }} Run
 * @typedef {{ id: string, label: string }} Option
 * @typedef {{ id: string, number?: number, kind: 'permission' | 'question', subject: string,
 *   options: Option[], takes_words: boolean, since: number }} Question
 * @typedef {{ id: string, seq: number, status: string, stage: string, description: string,
 *   agent: string, directory: string, parent: string, session: string | null, host: string,
 *   place: string, resumes: number, created: number, started: number, ended: number | null,
 *   tool_calls: number, tokens?: number, model?: string, reason?: string, runs?: Run[],
 *   questions: Question[] }} Task
 * @typedef {{ headline: string, subject: string }} Asked what is asked, in words
 * @typedef {{ group: string, state: string, line: string, cost: string | null,
 *   project: string, asks: Asked[] }} Row
 * @typedef {{ task: Task, row: Row }} Item
 * @typedef {{ asking: number, working: number, queued: number, completed: number, failed: number,
 *   cancelled: number, slots: number }} Counts
 */

/** A listing of the daemon, read page by page as one scrolls. */
export class Listing {
  /** @type {Map<string, Item>} */ rows = new Map()
  /** @type {string | null | undefined} nothing before the first page, null behind the last */ next
  total = 0
  pages = 0
  /** @type {Promise<void> | undefined} */ busy

  /** @param {Record<string, string>} query */
  constructor(query) {
    this.query = query
  }

  get over() {
    return this.next === null || this.rows.size >= OLDER_MAX
  }

  /** Reads the next page. */
  more() {
    this.busy ??= this.#page(this.rows, this.next ?? undefined)
      .then((next) => {
        this.next = next
        this.pages += 1
      })
      .finally(() => (this.busy = undefined))
    return this.busy
  }

  /** Reads again what was read, since some of it may be gone. */
  again() {
    const pages = this.pages
    if (!pages) return Promise.resolve()
    const rows = new Map()
    const all = async () => {
      /** @type {string | null | undefined} */ let next
      for (let page = 0; page < pages && next !== null; page += 1) {
        next = await this.#page(rows, next)
      }
      this.rows = rows
      this.next = next
    }
    this.busy = all().finally(() => (this.busy = undefined))
    return this.busy
  }

  /** @param {Map<string, Item>} rows @param {string | undefined} after */
  async #page(rows, after) {
    const query = { ...this.query, limit: String(PAGE_TASKS), ...(after && { after }) }
    const page = await ask(`/api/tasks?${new URLSearchParams(query)}`)
    for (const item of page.rows) rows.set(item.task.id, item)
    this.total = page.total
    return page.next ?? null
  }
}

/** @type {Counts} */
const NO_COUNTS = {
  asking: 0,
  working: 0,
  queued: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  slots: 0,
}

/** What is known of all tasks. */
export class Store {
  /** The board: unfinished tasks, and those that ended last. @type {Map<string, Item>} */ board =
    new Map()
  /** Older ones. */ older = new Listing({})
  /** What is searched for. @type {Listing | undefined} */ found
  /** One task that was asked for by its address. @type {Item | undefined} */ single
  counts = NO_COUNTS
  /** When the board was so, by our clock. @type {number | undefined} */ asOf
  /** The same by the daemon's clock. */ boardAt = 0
  /** What the daemon's clock is ahead of ours. */ skew = 0
  healthy = true
  incomplete = false
  /** What was seen of a task that its records do not tell. @type {Map<string, Seen>} */ seen =
    new Map()

  /** Nothing has changed since, or it would have been told. */
  stillSo() {
    this.asOf = Date.now()
  }

  /** The daemon's time. */
  now() {
    return Date.now() + this.skew
  }

  /**
   * @param {any} page
   * @returns {string[]} the tasks that asked or failed just now
   */
  take(page) {
    const first = this.asOf === undefined
    const before = this.board
    if (page.whole) this.board = new Map()
    /** @type {string[]} */ const news = []
    for (const item of page.rows) {
      const old = before.get(item.task.id)
      this.#note(item, old)
      if (!first && isNews(item, old, page.whole)) news.push(item.task.id)
      this.board.set(item.task.id, item)
      if (this.single?.task.id === item.task.id) this.single = item
    }
    for (const id of page.gone ?? []) this.#forget(id)
    this.counts = page.counts
    this.asOf = Date.now()
    this.skew = page.now - this.asOf
    this.boardAt = page.now
    this.healthy = page.healthy
    this.incomplete = page.incomplete
    return news
  }

  /** @param {string} id */
  #forget(id) {
    for (const map of [this.board, this.older.rows, this.found?.rows, this.seen]) map?.delete(id)
    if (this.single?.task.id === id) this.single = undefined
  }

  /**
   * When a queue or a wait ended is in no record, so the timeline has what was seen of it.
   * @param {Item} item
   * @param {Item | undefined} old
   */
  #note({ task, row }, old) {
    if (!old || row.state === old.row.state || task.resumes !== old.task.resumes) return
    const seen = this.seen.get(task.id) ?? { run: task.resumes, queuedUntil: 0, waits: [] }
    if (seen.run !== task.resumes)
      Object.assign(seen, { run: task.resumes, queuedUntil: 0, waits: [] })
    if (old.row.state === 'queued') seen.queuedUntil = this.now()
    if (old.row.state === 'asks')
      seen.waits.push([old.task.questions[0]?.since ?? this.now(), this.now()])
    this.seen.set(task.id, seen)
  }

  /** @param {string | undefined} id @returns {Item | undefined} */
  get(id) {
    if (!id) return undefined
    const found = this.board.get(id) ?? this.found?.rows.get(id) ?? this.older.rows.get(id)
    return found ?? (this.single?.task.id === id ? this.single : undefined)
  }

  /** Everything that is to be shown, in the order of launches, newest first. @returns {Item[]} */
  all() {
    const all = new Map([...(this.found ?? this.older).rows, ...this.board])
    return [...all.values()].sort((a, b) => b.task.seq - a.task.seq)
  }

  /** The task that has this session: the one that launched another. @param {string} session */
  bySession(session) {
    for (const item of this.board.values()) if (item.task.session === session) return item
    return undefined
  }
}

/** @typedef {{ run: number, queuedUntil: number, waits: number[][] }} Seen */

/**
 * Whether a person is to hear of it: it asks, or it failed since the board was told last.
 * @param {Item} item
 * @param {Item | undefined} old
 * @param {boolean} whole
 */
function isNews({ task, row }, old, whole) {
  if (row.state === 'asks') return old?.task.questions[0]?.id !== task.questions[0]?.id
  if (row.state !== 'failed') return false
  return old ? old.row.state !== 'failed' || old.task.resumes !== task.resumes : !whole
}
