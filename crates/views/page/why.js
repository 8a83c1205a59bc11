// Why a task is not done, or what happened: one sentence, then every decision with its time.

import { ask, sentence, taskPath } from './api.js'
import { byId, make, say, withCode } from './dom.js'
import { brief, clock, duration } from './words.js'

/** A task that changes all the time is asked about so often at most. */
const AGAIN_MS = 1000

export class Why {
  /** @type {string | undefined} */ task
  #is = ''
  /** @type {number | undefined} */ #since
  #asked = 0
  #ago = make('span', { class: 'ago' })
  #pane = byId('pane-why')

  /** @param {import('./store.js').Item} item */
  show({ task, row }) {
    const is = `${task.id} ${task.resumes} ${row.state} ${row.line}`
    const again = task.id === this.task
    if (is === this.#is || (again && performance.now() - this.#asked < AGAIN_MS)) return
    this.#is = is
    this.#asked = performance.now()
    if (!again) this.#pane.replaceChildren(make('p', { class: 'note' }, 'Asking…'))
    this.task = task.id
    this.#read(task, is)
  }

  /** @param {import('./store.js').Task} task @param {string} is */
  async #read(task, is) {
    try {
      const [about, log] = await Promise.all([
        ask(taskPath(task.id)),
        ask(taskPath(task.id, 'log')),
      ])
      if (this.task !== task.id || is !== this.#is) return
      const { row } = about.item
      this.#since = about.why.since ?? undefined
      const ended = row.group === 'finished'
      say(this.#ago, ended && this.#since ? ` ${clock(this.#since)}` : '')
      const now = make('p', { class: `now is-${row.state}` }, about.why.text, this.#ago)
      this.ended = ended
      const top = this.#pane.scrollTop
      this.#pane.replaceChildren(now, list(log.lines), places(about.item.task))
      this.#pane.scrollTop = top
    } catch (error) {
      if (is !== this.#is) return
      this.#is = ''
      this.#pane.replaceChildren(make('p', { class: 'note bad' }, ...withCode(sentence(error))))
    }
  }

  /** @param {number} now */
  tick(now) {
    if (this.#since && !this.ended) say(this.#ago, ` For ${duration(now - this.#since)}.`)
  }
}

/** @param {{ at: number, run: number, line: string }[]} lines */
function list(lines) {
  const begin = lines[0]?.at ?? 0
  let run = 0
  const all = lines.flatMap((line) => {
    const head = line.run !== run && make('li', { class: 'run' }, `run ${line.run}`)
    run = line.run
    const after = line.at - begin
    const time = make('time', { datetime: new Date(line.at).toISOString() }, clock(line.at))
    const row = make(
      'li',
      {},
      time,
      make('span', {}, `+${after ? brief(after) : '0s'}`),
      make('div', {}, line.line),
    )
    return head ? [head, row] : [row]
  })
  return all.length
    ? make('ol', { class: 'log' }, ...all)
    : make('p', { class: 'note' }, 'Nothing has happened yet.')
}

/** Where it is; the ids are for commands and reports. @param {import('./store.js').Task} task */
function places(task) {
  const rows = [
    ['Folder', task.directory],
    ['Task', task.id],
    ['Its session', task.session],
    ['Asked by', task.parent],
  ].filter(([, value]) => value)
  return make(
    'dl',
    { class: 'places' },
    ...rows.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]),
  )
}
