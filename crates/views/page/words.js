// Numbers, times and states as a person says them.

/** @type {Record<string, string>} */
export const STATES = {
  asks: 'Asks you',
  working: 'Working',
  queued: 'Queued',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
}

/**
 * A duration in its two largest units: 13s, 2m 13s, 1h 3m, 2d 4h.
 * @param {number} ms
 */
export function duration(ms) {
  const s = Math.max(0, Math.floor(ms / 1000))
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0')
  if (s < 60) return `${s}s`
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`
  if (s < 86400) return `${Math.floor(s / 3600)}h ${two(Math.floor(s / 60) % 60)}m`
  return `${Math.floor(s / 86400)}d ${Math.floor(s / 3600) % 24}h`
}

/**
 * A short duration, as tool calls take: 40ms, 0.3s, 4.2s, 2m 13s.
 * @param {number} ms
 */
export function brief(ms) {
  if (ms < 100) return `${Math.max(0, Math.round(ms))}ms`
  return ms < 10000 ? `${(ms / 1000).toFixed(1)}s` : duration(ms)
}

/** @param {number} n */
export const number = (n) => n.toLocaleString('en-US')

/**
 * A large number in short: 950, 48k, 1.2M.
 * @param {number} n
 */
export function short(n) {
  if (n < 1000) return String(n)
  return n < 999500 ? `${Math.round(n / 1000)}k` : `${(n / 1e6).toFixed(1)}M`
}

/**
 * @param {number} n
 * @param {string} thing
 */
export const counted = (n, thing) => `${number(n)} ${thing}${n === 1 ? '' : 's'}`

/**
 * A moment in a narrow column: the hour and minute today, else the day.
 * @param {number} at
 */
export function day(at) {
  const moment = new Date(at)
  const isToday = moment.toDateString() === new Date().toDateString()
  if (isToday) return moment.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  return moment.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}

/**
 * The time of day, with the day in front unless it is today.
 * @param {number} at
 */
export function clock(at) {
  const moment = new Date(at)
  const time = moment.toLocaleTimeString('en-GB')
  if (moment.toDateString() === new Date().toDateString()) return time
  return `${moment.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`
}
