// The timeline: each row has a lane, and on it a bar for every run of its task.

import { make, say } from './dom.js'

/**
 * @typedef {import('./store.js').Item} Item
 * @typedef {import('./store.js').Seen} Seen
 * @typedef {{ kind: string, from: number, to: number }} Part
 */

const MINUTE = 60_000

/** What is behind each scale: its length in minutes, its name, and a mark every so many minutes. */
const SCALES = new Map([
  [5, { name: '5 min ago', step: 1 }],
  [30, { name: '30 min ago', step: 5 }],
  [120, { name: '2 h ago', step: 20 }],
  [1440, { name: 'a day ago', step: 240 }],
])

/** What ended longer ago than this is no reason to show so much time. */
const RECENT_MS = 5 * MINUTE

/**
 * The shortest scale that shows from their beginning the tasks that somebody looks for: those that
 * are not over, and those that ended just now.
 * @param {Item[]} items
 * @param {number} now
 */
export function fitting(items, now) {
  let longest = 0
  for (const { task } of items) {
    if (!task.ended || now - task.ended < RECENT_MS) longest = Math.max(longest, now - task.started)
  }
  const all = [...SCALES.keys()]
  if (!longest) return 30
  return all.find((minutes) => longest <= minutes * MINUTE) ?? all[all.length - 1]
}

/**
 * The bars of a task.
 * @param {Item} item
 * @param {Seen | undefined} seen
 * @param {number} now
 * @returns {Part[]}
 */
export function parts({ task, row }, seen, now) {
  const runs = task.runs?.length
    ? task.runs
    : [{ run: task.resumes, started: task.started, ended: task.ended, outcome: task.stage }]
  return runs.flatMap((run) => {
    const to = run.ended ?? now
    if (run.ended)
      return lastRun(
        run.outcome ?? 'completed',
        run.started,
        to,
        run.run === seen?.run ? seen : undefined,
      )
    if (row.state === 'queued') return [{ kind: 'queued', from: run.started, to }]
    const open = row.state === 'asks' && task.questions[0] ? [[task.questions[0].since, now]] : []
    const waits = seen?.run === run.run ? seen.waits : []
    return lastRun('working', run.started, to, {
      run: run.run,
      queuedUntil: seen?.queuedUntil ?? 0,
      waits: [...waits, ...open],
    })
  })
}

/**
 * A run with the times in which it was in the queue, or waited for a person.
 * @param {string} kind
 * @param {number} from
 * @param {number} to
 * @param {Seen | undefined} seen
 */
function lastRun(kind, from, to, seen) {
  /** @type {Part[]} */ const all = []
  let at = from
  const until = (/** @type {string} */ kind, /** @type {number} */ end) => {
    const stop = Math.min(Math.max(end, at), to)
    if (stop > at) all.push({ kind, from: at, to: stop })
    at = stop
  }
  if (seen?.queuedUntil) until('queued', seen.queuedUntil)
  for (const [since, end] of seen?.waits ?? []) {
    until(kind, since)
    until('asks', end)
  }
  if (at < to || !all.length) all.push({ kind, from: at, to })
  return all
}

/**
 * Draws the bars into a lane; the elements that are there are used again.
 * @param {HTMLElement} lane
 * @param {Part[]} bars
 * @param {number} now
 * @param {number} minutes
 */
export function drawLane(lane, bars, now, minutes) {
  const length = minutes * MINUTE
  const begin = now - length
  const seen = bars.filter((bar) => bar.to >= begin && bar.from <= now)
  while (lane.childElementCount > seen.length) lane.lastElementChild?.remove()
  while (lane.childElementCount < seen.length) lane.append(make('i'))
  seen.forEach((bar, at) => {
    const node = /** @type {HTMLElement} */ (lane.children[at])
    const left = Math.max(0, (bar.from - begin) / length)
    const right = Math.min(1, (bar.to - begin) / length)
    const joinsLeft = bar.from < begin || seen[at - 1]?.to === bar.from
    const joinsRight = seen[at + 1]?.from === bar.to
    const kind = `${bar.kind}${joinsLeft ? ' flat-left' : ''}${joinsRight ? ' flat-right' : ''}`
    if (node.className !== kind) node.className = kind
    node.style.left = `${(100 * left).toFixed(2)}%`
    node.style.width = `${(100 * (right - left)).toFixed(2)}%`
  })
}

/**
 * Names the moments above the lanes.
 * @param {HTMLElement} ticks
 * @param {number} minutes
 */
export function drawTicks(ticks, minutes) {
  const { name, step } = /** @type {{ name: string, step: number }} */ (SCALES.get(minutes))
  const hours = minutes > 120
  const marks = []
  for (let ago = minutes; ago >= 0; ago -= step) {
    const short = hours ? `−${ago / 60} h` : `−${ago}`
    marks.push({ ago, text: ago === minutes ? name : ago === 0 ? 'now' : short })
  }
  ticks.replaceChildren(
    ...marks.map(({ ago, text }, at) => {
      // The narrow lane has room for one mark between its ends.
      const kept = at === 0 || ago === 0 || at === marks.length - 3
      const mark = make('span', { class: kept ? undefined : 'wide' })
      say(mark, text)
      mark.style.left = `${(100 * (1 - ago / minutes)).toFixed(3)}%`
      return mark
    }),
  )
  ticks.style.setProperty('--steps', String(marks.length - 1))
}
