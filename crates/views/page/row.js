// One row of the board: made once, changed in place.

import { make, say, sign } from './dom.js'
import { drawLane, parts } from './timeline.js'
import { STATES, clock, day, duration } from './words.js'

/** @typedef {import('./store.js').Item} Item */

export class RowView {
  /** @type {Item} */ item
  #state = ''
  #parts = {
    sign: make('span', { class: 'sign' }),
    name: make('span', { class: 'name' }),
    run: make('span', { class: 'run' }),
    unread: make('span', { class: 'new' }, make('span', { class: 'sr' }, 'not opened yet')),
    who: make('span', { class: 'who' }),
    line: make('span', { class: 'text' }),
    time: make('span', { class: 'time' }),
    cost: make('small'),
    when: make('time'),
    lane: make('div', { class: 'lane', 'aria-hidden': 'true' }),
  }

  /** @param {Item} item */
  constructor(item) {
    const { sign, name, run, unread, who, line, time, cost, when, lane } = this.#parts
    const title = make('div', { class: 'title' }, name, run, unread)
    const what = make('div', { class: 'what' }, who, line)
    const say = make('div', { class: 'say' }, title, what)
    this.node = make(
      'a',
      { class: 'row cols', href: `#${item.task.id}` },
      sign,
      say,
      make('div', { class: 'num' }, time, cost, when),
      lane,
    )
    this.item = item
  }

  /**
   * @param {Item} item
   * @param {{ selected: boolean, unread: boolean }} marks
   */
  update(item, marks) {
    this.item = item
    const { task, row } = item
    const { name, run, unread, who, line, cost, when } = this.#parts
    this.#setState(row.state)
    say(name, task.description)
    say(run, task.resumes ? `run ${task.resumes}` : '')
    unread.hidden = !marks.unread
    say(who, row.state === 'asks' ? '' : `${task.agent} · ${row.project} · `)
    sayLine(line, item)
    if (task.ended) {
      say(when, day(task.ended))
      when.title = `ended ${clock(task.ended)}`
      when.dateTime = new Date(task.ended).toISOString()
    } else say(when, '')
    say(cost, row.cost ?? (row.group === 'finished' ? '' : '–'))
    if (marks.selected) this.node.setAttribute('aria-current', 'true')
    else this.node.removeAttribute('aria-current')
  }

  /** @param {string} state */
  #setState(state) {
    if (this.#state === state) return
    this.#state = state
    const finished = !['asks', 'working', 'queued'].includes(state)
    this.node.className = `row cols is-${state}${finished ? ' one' : ''}`
    this.#parts.sign.replaceChildren(sign(state, 16), make('span', { class: 'sr' }, STATES[state]))
  }

  /** What changes with the clock. @param {number} now */
  tick(now) {
    const { task } = this.item
    say(this.#parts.time, duration((task.ended ?? now) - task.started))
  }

  /**
   * @param {import('./store.js').Seen | undefined} seen
   * @param {number} now
   * @param {number} minutes
   */
  draw(seen, now, minutes) {
    drawLane(this.#parts.lane, parts(this.item, seen, now), now, minutes)
  }
}

/** A finished row has one line, and says only what went wrong. @param {Item} item */
function lineOf({ row }) {
  if (row.state === 'completed') return ''
  return row.state === 'cancelled' && row.line === 'cancelled' ? '' : row.line
}

/**
 * The line; of a question, what it is about is set apart as what it is: a command, a file.
 * @param {HTMLElement} node
 * @param {Item} item
 */
function sayLine(node, item) {
  const text = lineOf(item)
  if (node.textContent === text) return
  const [question] = item.task.questions
  const subject = question?.kind === 'permission' ? item.row.asks[0].subject : ''
  const at = subject ? text.indexOf(subject) : -1
  if (at < 0) node.textContent = text
  else
    node.replaceChildren(
      text.slice(0, at),
      make('code', {}, subject),
      text.slice(at + subject.length),
    )
}
