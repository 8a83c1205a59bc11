// Asking the server: single requests, and streams that come back by themselves.
//
// The token stays in localStorage: one origin with its port has it, a second tab too, and it is
// dead as soon as the server ends. It goes in a header, so streams are read with fetch.

import { REQUEST_MS, RETRY_FIRST_MS, RETRY_MAX_MS, SILENT_MS } from './limits.js'

const TOKEN = 'legwork.token'
/** One event of a stream; a whole board has some 500 KB. */
const EVENT_MAX_CHARS = 64 << 20

/** The server said no, in a sentence for people. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

export const hasToken = () => Boolean(localStorage.getItem(TOKEN))

/**
 * Trades the code that the browser was opened with.
 * @param {string} code
 */
export async function enter(code) {
  const { token } = await ask('/api/enter', { code })
  localStorage.setItem(TOKEN, token)
}

/**
 * Calls back when another tab has got a token: a new `legwork ui` is there.
 * @param {() => void} then
 */
export function onNewToken(then) {
  addEventListener('storage', (event) => event.key === TOKEN && event.newValue && then())
}

/** @param {string} path @param {RequestInit} [more] */
async function request(path, more) {
  const headers = { ...more?.headers, authorization: `Bearer ${localStorage.getItem(TOKEN)}` }
  const answer = await fetch(path, { ...more, headers, cache: 'no-store' })
  if (answer.ok) return answer
  const said = await answer.json().catch(() => ({}))
  throw new Refused(answer.status, said.error ?? `The server answered with ${answer.status}.`)
}

/**
 * Asks for something, or has something done if there is a body.
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
export async function ask(path, body) {
  const signal = AbortSignal.timeout(REQUEST_MS)
  const sent = body && {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  }
  const answer = await request(path, { ...sent, signal })
  return answer.json()
}

/**
 * The path of a task.
 * @param {string} id
 * @param {string} [what]
 * @param {Record<string, string>} [query]
 */
export function taskPath(id, what, query) {
  const tail = query ? `?${new URLSearchParams(query)}` : ''
  return `/api/task/${encodeURIComponent(id)}${what ? `/${what}` : ''}${tail}`
}

/** @param {any} error */
export function sentence(error) {
  if (error instanceof Refused) return error.message
  if (error?.name === 'TimeoutError') return 'The server did not answer in time. Try again.'
  return 'The server cannot be reached. If `legwork ui` was stopped, run it again.'
}

/**
 * @typedef {object} Listener
 * @property {(name: string, data: any) => void} event
 * @property {() => void} [alive] it was heard of, be it that there is nothing new
 * @property {(error: any) => void} lost the stream broke; it is opened again
 * @property {(error: Refused) => void} refused it is not opened again
 */

/** Every stream that is wanted, also while it rests. @type {Set<Stream>} */
const streams = new Set()

/** A stream of events that is opened again whenever it breaks. */
export class Stream {
  /** @type {AbortController | undefined} */ #open
  #path
  #on

  /**
   * @param {string} path
   * @param {Listener} on
   * @param {boolean} [vital] whether it goes on while nobody sees the page and notices are wanted
   */
  constructor(path, on, vital = false) {
    this.#path = path
    this.#on = on
    this.vital = vital
  }

  start() {
    streams.add(this)
    this.rest()
    this.#open = new AbortController()
    this.#run(this.#open.signal)
    return this
  }

  /** Lets go of the connection, and is started again with all others. */
  rest() {
    this.#open?.abort()
    this.#open = undefined
  }

  stop() {
    streams.delete(this)
    this.rest()
  }

  get resting() {
    return !this.#open
  }

  /** @param {AbortSignal} gone */
  async #run(gone) {
    let pause = RETRY_FIRST_MS
    while (!gone.aborted) {
      try {
        const heard = (/** @type {string} */ name, /** @type {any} */ data) => {
          pause = RETRY_FIRST_MS
          if (!gone.aborted) this.#on.event(name, data)
        }
        await read(this.#path, gone, heard, () => this.#on.alive?.())
        if (!gone.aborted) this.#on.lost(new Error('the stream ended'))
      } catch (error) {
        if (gone.aborted) return
        if (error instanceof Refused && [401, 404].includes(error.status)) {
          this.stop()
          return this.#on.refused(error)
        }
        this.#on.lost(error)
      }
      await new Promise((go) => setTimeout(go, pause))
      pause = Math.min(2 * pause, RETRY_MAX_MS)
    }
  }
}

/** @param {(stream: Stream) => boolean} which */
export function rest(which) {
  for (const stream of streams) if (which(stream)) stream.rest()
}

/** Opens the streams again, all of them or only those that rest. @param {boolean} all */
export function wake(all) {
  for (const stream of streams) if (all || stream.resting) stream.start()
}

/**
 * Reads one connection to its end.
 * @param {string} path
 * @param {AbortSignal} gone
 * @param {(name: string, data: any) => void} heard
 * @param {() => void} alive
 */
async function read(path, gone, heard, alive) {
  const silent = new AbortController()
  let timer = setTimeout(() => silent.abort(), SILENT_MS)
  try {
    const answer = await request(path, { signal: AbortSignal.any([gone, silent.signal]) })
    const text = /** @type {ReadableStream<Uint8Array>} */ (answer.body)
      .pipeThrough(/** @type {any} */ (new TextDecoderStream()))
      .getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await text.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(), SILENT_MS)
      const events = (rest + value).split('\n\n')
      rest = events.pop() ?? ''
      if (rest.length > EVENT_MAX_CHARS) throw new Error('an event without an end')
      events.forEach((event) => tell(event, heard))
      alive()
    }
  } finally {
    clearTimeout(timer)
  }
}

/**
 * @param {string} event
 * @param {(name: string, data: any) => void} heard
 */
function tell(event, heard) {
  let name = 'message'
  let data = ''
  for (const line of event.split('\n')) {
    if (line.startsWith('event:')) name = line.slice(6).trim()
    if (line.startsWith('data:')) data += line.slice(5).trimStart()
  }
  if (data) heard(name, JSON.parse(data))
}
