// legwork for OpenCode, the part for its terminal UI, written by `legwork install opencode`. Do not
// edit: the next install overwrites it, and `legwork uninstall opencode` removes it.
//
// It shows the helpers of this project and passes on what a person decides about them. What it
// shows it reads from `legwork bridge board`: one JSON line a page. It decides nothing itself.
//
// It runs in the thread that draws, so three things hold throughout (seen in OpenCode 1.18): a
// function that throws while it draws ends the whole screen, so each goes through `safe`; a `tui()`
// that does not return leaves the screen at "Loading plugins", so it waits for imports alone, and
// not for long; what is printed lands on the person's screen, so nothing is. Everything that comes
// from outside is read once, in `helperOf`, into values of known types; only those are drawn.

const BIN = process.env.LEGWORK_BIN || "@LEGWORK_BIN@"
const TOOL = "background_task"
const KEY = "<leader>w"

const IMPORT_MS = 30_000 // the host has its modules at hand, and nobody tries again
const FIRST_PAGE_MS = 5_000 // a stream that has said nothing for so long is not there
const TROUBLE_MS = 3_000 // a daemon that is started again is back before; nobody needs to know
const SILENCE_MS = 25_000 // a page comes every 10 s at least: what is shown may be old
const GIVEN_UP_MS = 90_000 // a stream that says nothing at all is started again
const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000]
const LINE_MAX = 8 * 1024 * 1024 // characters of a page: far more than a thousand helpers take
const LINES_MAX = 100 // in one second; the daemon sends 4 at the most
const HELPERS_MAX = 1_000
const QUESTIONS_MAX = 20 // of one helper
const OPTIONS_MAX = 30 // of one question
const ACT_MS = 20_000 // for a command to do what it is asked
const TAKEN_MS = 5_000 // for the other part to take a decision; after that it does not
const HEARD_MS = 8_000 // for it to say that it has
const OUTPUT_MAX = 1024 * 1024 // of a command
const ROWS = 8 // of the sidebar
const ENDED_ROWS = 3 // of them for helpers that have ended
const TITLE_MAX = 200
const LAUNCH_COLUMNS = 40 // of a title in a launch, which is to be one line on most screens
const READ_MS = 1_000 // between two readings of sessions of helpers that work elsewhere
const READ_MAX = 100 // messages, as many as OpenCode reads
const SUBJECT_LINES = 12 // of a question; a screen may have 24
const WORDS_MAX = 10_000 // of an answer
const GUARD_STEP_MS = 100 // of the time in which no key answers
const GUARD_STEPS = 15 // longer than a key that is held takes to be pressed again

/** OpenCode names the kind of a permission before its subject: `bash: ls`. */
const KIND = /^[a-z_]+: /

const AWAY = "not available"
const SIGNS = { asks: "?", working: "●", queued: "○", completed: "✓", failed: "✗", cancelled: "–" }
const COLORS = {
  asks: "warning",
  working: "info",
  queued: "textMuted",
  completed: "success",
  failed: "error",
  cancelled: "textMuted",
}
const GROUPS = [
  ["Asks you", ["asks"]],
  ["At work", ["working"]],
  ["Queued", ["queued"]],
  ["Finished", ["completed", "failed", "cancelled"]],
]
const ORDER = GROUPS.flatMap(([, states]) => states)
const isOver = ({ state }) => ["completed", "failed", "cancelled"].includes(state)

/** The same function, but it never throws and never rejects: it gives the fallback then. */
function safe(what, fallback) {
  return (...args) => {
    try {
      const value = what(...args)
      return typeof value?.then === "function" ? value.then(undefined, () => fallback) : value
    } catch {
      return fallback
    }
  }
}

// ---- Texts of others ----

/** What steers a terminal, turns a text around, or stands for nothing that can be seen. */
const OSC = /(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?/
const CSI = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?/
const SEQUENCES = new RegExp(`${OSC.source}|${CSI.source}|\\x1b.`, "g")
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g
const UNSEEN = new RegExp(
  [
    "[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e]",
    "[\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}]",
  ].join("|"),
  "gu",
)

/** A text of somebody else on one line, at most so long. */
function plain(text, max = TITLE_MAX) {
  if (typeof text !== "string") return ""
  const some = text.slice(0, max * 8)
  const visible = some.replace(SEQUENCES, " ").replace(CONTROLS, " ").replace(UNSEEN, "")
  const line = visible.toWellFormed().replace(/\s+/g, " ").trim()
  return line.length > max ? `${line.slice(0, max - 1).toWellFormed()}…` : line
}

/** What is asked, whole if it fits; otherwise its last line says that it is cut. */
function subjectLines(given, columns) {
  const bounded = given.slice(0, SUBJECT_LINES * columns * 8)
  const lines = bounded.split("\n").flatMap((line) => wrapped(visibleOf(line), columns))
  if (lines.length <= SUBJECT_LINES && bounded === given) return lines
  return [...lines.slice(0, SUBJECT_LINES - 1), "… cut here: open its session to see all of it"]
}

/** A line of somebody else with its spaces, and with a sign where something was taken out. */
function visibleOf(line) {
  const shown = line.replace(/\t/g, "  ").replace(/\r$/, "")
  return shown.replace(SEQUENCES, "␛").replace(CONTROLS, "␛").replace(UNSEEN, "␛").toWellFormed()
}

const width = safe((text) => Bun.stringWidth(text), 1)

function wrapped(line, columns) {
  const lines = [""]
  let used = 0
  for (const sign of line) {
    const wide = width(sign)
    if (used + wide > columns) {
      lines.push("")
      used = 0
    }
    lines[lines.length - 1] += sign
    used += wide
  }
  return lines
}

/** A line within so many columns. */
function fit(line, columns) {
  if (width(line) <= columns) return line
  let shown = ""
  let used = 0
  for (const sign of line) {
    used += width(sign)
    if (used > columns - 1) break
    shown += sign
  }
  return `${shown.trimEnd()}…`
}

function counted(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`
}

function duration(ms) {
  const s = Math.max(0, Math.floor(ms / 1000))
  if (s < 60) return `${s}s`
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`
  return `${Math.floor(s / 3600)}h ${Math.floor(s / 60) % 60}m`
}

// ---- What the daemon says ----

const words = (value, pattern) => (typeof value === "string" && pattern.test(value) ? value : "")
const number = (value) => (Number.isFinite(value) ? value : 0)
const list = (value, max) => (Array.isArray(value) ? value.slice(0, max) : [])
const ID = /^[A-Za-z0-9_-]{1,200}$/

function stateOf(view, questions) {
  switch (view.status) {
    case "running":
    case "resumed":
      return questions.length ? "asks" : view.stage === "queued" ? "queued" : "working"
    case "error":
      return "failed"
    case "completed":
    case "cancelled":
      return view.status
  }
}

function questionOf(view) {
  if (typeof view?.id !== "string" || !view.id || view.id.length > 500) return
  const options = list(view.options, OPTIONS_MAX).flatMap((option) => {
    const id = typeof option?.id === "string" ? option.id.slice(0, 200) : ""
    return id ? [{ id, label: plain(option.label) || plain(id) }] : []
  })
  const isPermission = view.kind === "permission"
  const subject = typeof view.subject === "string" ? view.subject : ""
  return { id: view.id, isPermission, subject, options, takesWords: view.takes_words === true }
}

/** A task, as far as it makes sense. */
function helperOf(view) {
  const id = words(view?.id, /^bg_[0-9a-z]{1,40}$/)
  if (!id) return
  const questions = list(view.questions, QUESTIONS_MAX).map(questionOf).filter(Boolean)
  const state = stateOf(view, questions)
  if (!state) return
  const last = list(view.last_tools, 100).at(-1)
  return {
    id,
    state,
    questions,
    seq: number(view.seq),
    title: plain(view.description) || id,
    agent: plain(view.agent, 60),
    parent: words(view.parent, ID),
    session: words(view.session, ID),
    // Where its session is kept, if it can be looked at.
    place: words(view.place, /^opencode\/.*/),
    doing: plain(view.doing) || plain(last),
    tools: number(view.tool_calls),
    reason: plain(view.reason),
    started: number(view.started),
    ended: number(view.ended),
  }
}

/** The helpers after a page, oldest first; nothing if it is no page. */
function applied(before, page) {
  if (!Array.isArray(page?.tasks)) return
  const all = new Map(page.whole === true ? [] : before.map((helper) => [helper.id, helper]))
  for (const view of page.tasks.slice(0, HELPERS_MAX)) {
    const helper = safe(helperOf)(view)
    if (helper) all.set(helper.id, helper)
  }
  for (const id of list(page.gone, HELPERS_MAX)) all.delete(id)
  return [...all.values()].sort((one, other) => one.seq - other.seq).slice(-HELPERS_MAX)
}

/** Those that need somebody first, then the newest. */
function sorted(helpers) {
  const place = (helper) => (isOver(helper) ? ORDER.length : ORDER.indexOf(helper.state))
  const when = (helper) => (isOver(helper) ? helper.ended : helper.seq)
  return [...helpers].sort((one, other) => place(one) - place(other) || when(other) - when(one))
}

/**
 * `legwork bridge board`, started again whenever it ends, later each time. It ends with its stdin,
 * however this process ends.
 */
class Stream {
  failures = 0
  timers = new Set()
  heardAt = 0
  closed = false

  /** `heard` gets each line as a value, `lost` says why there are none. */
  constructor(heard, lost) {
    this.heard = safe(heard)
    this.lost = safe(lost)
    // Not within `tui()`: whatever a start takes, the screen comes first.
    this.later(0, () => this.start())
  }

  later(ms, what) {
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      if (!this.closed) safe(what)()
    }, ms)
    timer.unref?.()
    this.timers.add(timer)
    return timer
  }

  start() {
    let child
    try {
      const stdio = { stdin: "pipe", stdout: "pipe", stderr: "ignore" }
      child = Bun.spawn([BIN, "bridge", "board"], stdio)
    } catch {
      return this.ended(undefined, "legwork cannot be started")
    }
    this.child = child
    this.heardAt = Date.now()
    child.unref()
    const reading = this.read(child).catch(() => {})
    safe(() =>
      child.exited.then(async () => {
        await Promise.race([reading, new Promise((resolve) => this.later(1_000, resolve))])
        this.ended(child, "legwork has ended")
      }),
    )()
    this.watch(child)
  }

  /** Ends a stream that hangs. */
  watch(child) {
    this.later(FIRST_PAGE_MS, () => {
      if (child !== this.child) return
      const silence = Date.now() - this.heardAt
      if (silence > GIVEN_UP_MS) return child.kill("SIGKILL")
      this.watch(child)
    })
  }

  async read(child) {
    const decoder = new TextDecoder()
    let begun = [] // the pieces of a line that is not over
    let length = 0
    let second = 0
    let lines = 0
    for await (const bytes of child.stdout) {
      if (child !== this.child || this.closed) return
      const pieces = decoder.decode(bytes, { stream: true }).split("\n", LINES_MAX + 1)
      const now = Math.floor(Date.now() / 1000)
      if (now !== second) [second, lines] = [now, 0]
      lines += pieces.length - 1
      length += pieces[0].length
      // Whatever this is, it is not ours, and it keeps the screen from being drawn.
      if (lines >= LINES_MAX || length > LINE_MAX) return child.kill("SIGKILL")
      begun.push(pieces[0])
      for (const piece of pieces.slice(1)) {
        this.line(begun.join(""))
        begun = [piece]
        length = piece.length
      }
    }
  }

  line(text) {
    let value
    try {
      value = JSON.parse(text)
    } catch {
      return
    }
    this.heardAt = Date.now()
    if (this.heard(value)) this.failures = 0
  }

  ended(child, why) {
    if (child !== this.child) return
    this.child = undefined
    if (this.closed) return
    this.lost(why)
    const pause = PAUSES_MS[Math.min(this.failures++, PAUSES_MS.length - 1)]
    this.later(pause, () => this.start())
  }

  close() {
    this.closed = true
    for (const timer of this.timers) clearTimeout(timer)
    const child = this.child
    this.child = undefined
    if (!child) return
    safe(() => child.stdin.end())()
    setTimeout(() => safe(() => child.kill("SIGKILL"))(), 1_000).unref?.()
  }
}

// ---- What a person decides ----

/** Runs a command of legwork's, and gives what it printed as JSON; nothing if it did not. */
async function command(args) {
  const stdio = { stdin: "ignore", stdout: "pipe", stderr: "ignore" }
  const child = Bun.spawn([BIN, ...args, "--json"], stdio)
  const late = setTimeout(() => child.kill("SIGKILL"), ACT_MS)
  let text = ""
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length > OUTPUT_MAX) child.kill("SIGKILL")
  }
  await child.exited
  clearTimeout(late)
  return safe(() => [JSON.parse(text)].flat()[0])()
}

/**
 * Has the other part, in another thread of this process, pass a decision on. The daemon does not
 * take it from a command that OpenCode has started: a helper's tools start such too.
 */
function passOn(act) {
  return new Promise((resolve) => {
    const id = crypto.randomUUID()
    const channel = new BroadcastChannel("legwork")
    const end = (done) => {
      clearTimeout(patience)
      channel.close()
      resolve(done)
    }
    let patience = setTimeout(end, HEARD_MS)
    channel.onmessage = safe(({ data }) => {
      if (data?.id !== id) return
      if (data.done) return end(data.done)
      clearTimeout(patience)
      patience = setTimeout(end, ACT_MS)
    })
    channel.postMessage({ id, act, until: Date.now() + TAKEN_MS })
  })
}

/** Does it; says in words why it was not done, or nothing. */
async function decide(args, act) {
  const report = await safe(command)(args)
  if (report && report.refused !== true) return ""
  if (!report || report.refusal?.code === "not-a-person") {
    const done = await safe(passOn)(act)
    if (done) return done.refused ? plain(done.text, 400) || "It was not done." : ""
  }
  const remedy = `Try it in a terminal: legwork ${args.slice(0, 2).join(" ")}`
  return plain(report?.text, 400) || `legwork could not do it. ${remedy}`
}

const cancel = ({ id }) => decide(["cancel", id], { what: "cancel", task: id })

/** A reply as the daemon takes it: "once", "always", { reject: words or null }, { words }. */
function answer({ id }, question, reply) {
  const { reject, words } = typeof reply === "string" ? {} : reply
  const said = typeof reply === "string" ? [reply] : reject !== undefined ? ["reject"] : []
  const spoken = words ?? reject
  const args = ["answer", id, ...said, ...(spoken ? [`--words=${spoken}`] : [])]
  const act = { what: "reply", question: question.id, reply }
  return decide([...args, `--question=${question.id}`], act)
}

/** What a person has just answered, and what became of words that were meant for the helper. */
function answered(question, reply) {
  const { reject, words } = reply
  if (words !== undefined) {
    const chosen = question.options.find(({ id }) => id === words)
    return `Answered: ${plain(chosen?.label ?? words)}`
  }
  const kinds = { once: "Allowed once", always: "Allowed from now on" }
  const no = question.isPermission ? "Rejected" : "Not answered"
  const subject = question.isPermission ? question.subject.replace(KIND, "") : question.subject
  const isDropped = question.isPermission && reject && !question.takesWords
  const dropped = isDropped ? " (It takes no words with a no: yours were dropped.)" : ""
  return `${kinds[reply] ?? no}: ${plain(subject)}${dropped}`
}

// ---- Drawing ----

async function modules() {
  const late = new Promise((_, reject) => setTimeout(reject, IMPORT_MS).unref?.())
  // Only imports that are written out are the host's own modules.
  const all = [import("solid-js"), import("solid-js/store"), import("@opentui/solid")]
  const [solid, store, opentui] = await Promise.race([Promise.all(all), late])
  return { ...solid, ...store, ...opentui }
}

class View {
  constructor(api, options, ui) {
    this.api = api
    this.ui = ui
    this.key = typeof options?.key === "string" && options.key ? options.key : KEY
    const signal = (value) => ui.createSignal(value)
    ;[this.helpers, this.setHelpers] = signal([])
    ;[this.now, this.setNow] = signal(Date.now())
    ;[this.trouble, this.setTrouble] = signal("")
    ;[this.takesKeys, this.setTakesKeys] = signal(false)
    this.skew = 0 // between the daemon's clock and this one
    this.pageAt = 0
    this.lostAt = 0
    this.startedAt = Date.now()
    this.readAs = new Map() // session -> what was known of its helper when it was read again
    this.toRead = new Set()
    this.undo = []
  }

  open() {
    const { api } = this
    this.stream = new Stream((value) => this.heard(value), (why) => this.lost(why))
    const tick = setInterval(safe(() => this.tick()), 1_000)
    tick.unref?.()
    this.undo.push(() => clearInterval(tick), () => this.stream.close())
    safe(() => this.slots())()
    safe(() => this.commands())()
    safe(() => this.tellShown())()
    safe(() => this.followElsewhere())()
    if (typeof api.app?.version === "string" && api.app.version.startsWith("1.")) {
      safe(() => this.drawLaunches())()
    }
    api.lifecycle.onDispose(safe(() => this.close()))
  }

  close() {
    for (const undo of this.undo.splice(0)) safe(undo)()
  }

  heard(line) {
    if (typeof line?.trouble === "string") return this.lost(plain(line.trouble))
    const before = this.helpers()
    const after = applied(before, line)
    if (!after) return false
    const isFirst = !this.pageAt
    const now = number(line.now)
    this.skew = now ? now - Date.now() : 0
    this.pageAt = Date.now()
    this.lostAt = 0
    this.setTrouble("")
    // A page that only says that nothing happened draws nothing.
    if (line.whole === true || line.tasks.length || line.gone?.length) this.setHelpers(after)
    this.setNow(Date.now())
    if (!isFirst) safe(() => this.callAttention(before, after))()
    return true
  }

  lost(why) {
    this.lostAt ||= Date.now()
    this.why = why
  }

  tick() {
    const now = Date.now()
    const quiet = now - (this.pageAt || this.startedAt)
    const isAway = this.lostAt && now - this.lostAt > TROUBLE_MS
    const isSilent = quiet > (this.pageAt ? SILENCE_MS : FIRST_PAGE_MS)
    if (isAway || isSilent) this.setTrouble(this.pageAt ? `no news for ${duration(quiet)}` : AWAY)
    if (this.helpers().some((helper) => helper.state === "working")) this.setNow(now)
  }

  /** What is on the screen is a person's; what is not may deserve a word. Fixed words, because
   * other programs show them. */
  callAttention(before, after) {
    const was = new Map(before.map((helper) => [helper.id, helper.state]))
    const news = this.ours(after).filter((helper) => was.get(helper.id) !== helper.state)
    const asks = news.some(({ state }) => state === "asks")
    const ended = news.some((helper) => isOver(helper) && was.has(helper.id))
    if (!asks && !ended) return
    const message = asks ? "A helper asks you something." : "A helper has finished."
    const told = { title: "legwork", message, notification: { when: "blurred" }, sound: false }
    safe(() => this.api.attention.notify(told))()
  }

  /** Those of them that this OpenCode has the sessions of: the others may be another machine's. A
   * session that was begun in another window since is not known here, but its place is. */
  ours(helpers) {
    const get = safe((session) => this.api.state.session.get(session))
    const known = new Set(helpers.filter(({ parent }) => parent && get(parent)))
    const places = new Set([...known].map(({ place }) => place).filter(Boolean))
    return helpers.filter((helper) => known.has(helper) || places.has(helper.place))
  }

  of(session) {
    return this.helpers().filter(({ parent }) => parent === session)
  }

  /** The conversation on the screen: for a helper's session, the one that launched it. */
  conversation() {
    const route = this.api.route.current
    const session = route?.name === "session" ? route.params?.sessionID : undefined
    return this.helpers().find((helper) => session && helper.session === session)?.parent ?? session
  }

  /** The state in a word or two, or how long it has been at work. */
  tail({ state, started }) {
    if (state === "asks") return "asks you"
    const isTimed = state === "working" && started
    return isTimed ? duration(this.now() + this.skew - started) : state
  }

  /**
   * Tells the other part which session is on the screen, again when that begins to listen: what ends
   * while a person looks at its conversation may start a turn there.
   */
  tellShown() {
    const { createRoot, createEffect } = this.ui
    const channel = new BroadcastChannel("legwork")
    channel.unref?.()
    let shown = ""
    const tell = safe(() => channel.postMessage({ shown }))
    channel.onmessage = safe(({ data }) => data?.listens && tell())
    createRoot((dispose) => {
      this.undo.push(dispose, () => channel.close())
      createEffect(
        safe(() => {
          const route = this.api.route.current
          shown = route?.name === "session" ? words(route.params?.sessionID, ID) : ""
          tell()
        }),
      )
    })
  }

  // -- helpers that work in another process --

  /**
   * OpenCode reads a session once, and then lives on the events of its own process. A helper that
   * goes on in another one would stay on the screen as it was: its session is read again when the
   * daemon has news of it.
   */
  followElsewhere() {
    const { createRoot, createEffect } = this.ui
    createRoot((dispose) => {
      this.undo.push(dispose)
      createEffect(
        safe(() => {
          const route = this.api.route.current
          const shown = route?.name === "session" ? route.params?.sessionID : undefined
          for (const helper of this.helpers()) safe(() => this.outdated(helper, shown))()
        }),
      )
    })
    const reading = setInterval(safe(() => this.readAgain()), READ_MS)
    reading.unref?.()
    this.undo.push(() => clearInterval(reading))
  }

  outdated(helper, shown) {
    const { session, started, state, doing, tools, ended } = helper
    const { messages, status } = this.api.state.session
    const known = session && helper.place ? this.ui.untrack(() => messages(session)) : []
    if (!known.length || (!isOver(helper) && session !== shown)) return
    const last = known.at(-1)
    const isWhole = last.role === "assistant" && last.time?.completed >= started
    const isBusy = (this.ui.untrack(() => status(session))?.type ?? "idle") !== "idle"
    const now = [state, doing, tools, ended].join()
    if (isBusy || (isOver(helper) && isWhole) || this.readAs.get(session) === now) return
    this.readAs.set(session, now)
    this.toRead.add(session)
  }

  async readAgain() {
    const [session] = this.toRead
    if (!session) return
    this.toRead.delete(session)
    const { data } = await this.api.client.session.messages({ sessionID: session, limit: READ_MAX })
    if (Array.isArray(data) && data.length) this.renew(session, data)
  }

  /** Puts messages into the screen's own copy of a session; nothing is stored. */
  renew(session, read) {
    const { $RAW, batch, produce } = this.ui
    // Like any store of Solid's, the two maps give themselves for this key.
    const messages = this.api.state.session.messages($RAW)
    const parts = this.api.state.part($RAW)
    if (!messages?.[session] || !parts) return
    const put = (map, key, value) => {
      if (JSON.stringify(map[key]) !== JSON.stringify(value)) {
        produce((draft) => (draft[key] = value))(map)
      }
    }
    batch(() => {
      for (const { info, parts: own } of read) put(parts, info.id, own)
      put(messages, session, read.map(({ info }) => info))
    })
  }

  // -- pieces of a screen --

  /** A text that stays live: `content` and `color` are functions. */
  text(content, color, more = {}) {
    const { createElement, insert, setProp, effect } = this.ui
    const node = createElement("text")
    for (const [name, value] of Object.entries({ wrapMode: "none", flexShrink: 0, ...more })) {
      setProp(node, name, value)
    }
    effect(safe(() => setProp(node, "fg", this.api.theme.current[color()])))
    insert(node, safe(content, ""))
    return node
  }

  box(children, props = {}) {
    const { createElement, insertNode, setProp } = this.ui
    const node = createElement("box")
    for (const [name, value] of Object.entries(props)) setProp(node, name, value)
    for (const child of children) insertNode(node, child)
    return node
  }

  /** Shown only while this is so. */
  while(node, isSo) {
    this.ui.effect(safe(() => this.ui.setProp(node, "visible", !!safe(isSo, false)())))
    return node
  }

  slots() {
    const slots = {
      sidebar_content: safe((_, props) => this.sidebar(() => props.session_id), null),
      session_prompt_right: safe((_, props) => this.prompt(() => this.of(props.session_id)), null),
      home_prompt_right: safe(() => {
        return this.prompt(() => this.ours(this.helpers()))
      }, null),
    }
    this.api.slots.register({ order: 150, slots })
  }

  prompt(helpers) {
    const open = () => helpers().filter((helper) => !isOver(helper))
    const asking = () => open().filter(({ state }) => state === "asks").length
    const content = () => {
      if (this.trouble() === AWAY) return `helpers: ${AWAY}`
      const [all, asks] = [open().length, asking()]
      if (!all) return ""
      const count = counted(all, "helper")
      const ask = `${asks === 1 ? "asks" : "ask"} you`
      const words = !asks ? count : all === asks ? `${count} ${ask}` : `${count} · ${asks} ${ask}`
      return this.trouble() ? `${words} · ${this.trouble()}` : words
    }
    return this.text(content, () => (safe(asking, 0)() ? "warning" : "textMuted"))
  }

  sidebar(session) {
    const all = this.ui.createMemo(safe(() => sorted(this.of(session())), []))
    const open = () => all().filter((helper) => !isOver(helper))
    const shown = () => {
      const over = all().filter(isOver)
      return [...open(), ...over.slice(0, ENDED_ROWS)].slice(0, ROWS)
    }
    const more = () => open().length - shown().filter((helper) => !isOver(helper)).length
    const rows = Array.from({ length: ROWS }, (_, at) => this.row(() => shown()[at]))
    const title = this.box(
      [
        this.text(() => "Helpers", () => "text", { attributes: 1 }),
        this.text(() => this.keyWords(), () => "textMuted"),
      ],
      { flexDirection: "row", gap: 1 },
    )
    const rest = this.text(() => `  ${more()} more`, () => "textMuted")
    const note = this.text(() => this.trouble(), () => "warning")
    return this.while(
      this.box([
        title,
        ...rows,
        this.while(rest, () => more() > 0),
        this.while(note, () => this.trouble()),
      ]),
      () => all().length > 0,
    )
  }

  row(helper) {
    const columns = 37 // of the sidebar's 42
    const tail = () => (helper() ? this.tail(helper()) : "")
    const color = () => COLORS[helper()?.state] ?? "textMuted"
    const title = () => fit(helper()?.title ?? "", columns - 3 - width(tail()))
    const left = [
      this.text(() => SIGNS[helper()?.state] ?? " ", safe(color, "textMuted")),
      this.text(title, () => (helper() && isOver(helper()) ? "textMuted" : "text")),
    ]
    const isAsking = () => helper()?.state === "asks"
    const right = this.text(tail, () => (isAsking() ? "warning" : "textMuted"))
    const row = this.box([this.box(left, { flexDirection: "row", gap: 1 }), right], {
      flexDirection: "row",
      justifyContent: "space-between",
    })
    this.ui.setProp(row, "onMouseUp", safe(() => helper() && this.enter(helper().id)))
    return this.while(row, () => helper())
  }

  // -- commands and dialogs --

  /** The key in the words that OpenCode's own hints use. */
  keyWords() {
    const leader = safe(() => {
      const { key } = this.api.tuiConfig.keybinds.get("leader")[0]
      return typeof key === "string" ? key : undefined
    })()
    return plain(this.key.replace("<leader>", `${leader ?? "ctrl+x"} `), 40)
  }

  commands() {
    const run = safe(() => this.show())
    const title = "Helpers"
    const entry = { name: "legwork.helpers", title, category: "legwork", namespace: "palette" }
    // A command in a layer with a mode is missing in the palette and after a slash.
    const commands = [{ ...entry, desc: "See and steer helpers", slashName: "helpers", run }]
    const bindings = [{ key: this.key, cmd: entry.name, desc: title }]
    for (const layer of [{ commands }, { mode: "base", bindings }]) {
      const undo = safe(() => this.api.keymap.registerLayer(layer))()
      if (typeof undo === "function") this.undo.push(undo)
    }
  }

  find(id) {
    return this.helpers().find((helper) => helper.id === id)
  }

  /** A dialog. Keys that it adds go with it. */
  dialog(size, render, keys = []) {
    const { dialog } = this.api.ui
    let undo
    const onClose = safe(() => {
      undo?.()
      undo = undefined
    })
    dialog.replace(safe(render, null), onClose)
    // Replacing sets it back.
    safe(() => dialog.setSize(size))()
    if (!keys.length) return
    undo = safe(() => this.api.keymap.registerLayer({ mode: "modal", bindings: keys }))()
  }

  select(props) {
    return this.ui.createComponent(this.api.ui.DialogSelect, props)
  }

  tell(message, variant = "error") {
    safe(() => this.api.ui.toast({ title: "legwork", message: plain(message, 400), variant }))()
  }

  rows() {
    const here = this.conversation()
    const ours = [...new Set([...this.of(here), ...this.ours(this.helpers())])]
    return GROUPS.flatMap(([category, states]) => {
      const some = sorted(ours.filter(({ state }) => states.includes(state)))
      return some.map((helper) => this.option(category, helper))
    })
  }

  option(category, helper) {
    const columns = this.dialogColumns() - 10 // the margins and the gaps
    const footer = this.tail(helper)
    const title = fit(`${SIGNS[helper.state]} ${helper.title}`, Math.floor(columns / 2))
    const description = fit(this.about(helper), columns - width(title) - width(footer))
    return { category, value: helper.id, title, description, footer }
  }

  /** A large dialog has 88 columns if there are so many. */
  dialogColumns() {
    const columns = number(safe(() => this.api.renderer.width)())
    return Math.min(88, columns ? columns - 2 : 78)
  }

  about({ agent, state, questions, doing, reason }) {
    const now = state === "asks" ? plain(questions[0]?.subject) : state === "working" ? doing : reason
    return [agent, now].filter(Boolean).join(" · ")
  }

  /** The list. */
  show() {
    let at = safe(() => this.rows()[0]?.value)()
    const view = this
    const choose = safe(({ value }) => (value ? view.enter(value) : this.api.ui.dialog.clear()))
    const props = {
      title: "Helpers   enter open or answer · ctrl+k call off",
      placeholder: "Search helpers",
      get options() {
        return safe(() => view.listed(), [])()
      },
      onMove: safe((option) => (at = option.value)),
      onSelect: choose,
    }
    const callOff = safe(() => at && this.confirm(at))
    const keys = [{ key: "ctrl+k", cmd: callOff, desc: "Call off" }]
    this.dialog("large", () => this.select(props), keys)
  }

  listed() {
    const rows = this.rows()
    if (rows.length) return rows
    const title = this.trouble() === AWAY ? `Helpers: ${AWAY}` : "No helpers yet"
    return [{ title, value: "" }]
  }

  enter(id) {
    const helper = this.find(id)
    if (!helper) return
    if (helper.questions.length && !isOver(helper)) return this.ask(helper, helper.questions[0])
    this.goTo(helper)
  }

  goTo({ id, title, session, place }) {
    this.api.ui.dialog.clear()
    if (session && place) return this.api.route.navigate("session", { sessionID: session })
    if (!session) return this.tell(`${title} has no session yet.`, "info")
    this.tell(`${title} does not work in OpenCode. In a terminal: legwork transcript ${id}`, "info")
  }

  confirm(id) {
    const helper = this.find(id)
    if (!helper) return
    if (isOver(helper)) return this.tell(`${helper.title} has ended already.`, "info")
    const who = [helper.agent, helper.id].filter(Boolean).join(", ")
    const props = {
      title: "Call off this helper?",
      message: `${helper.title} (${who}) is stopped, and the conversation that asked for it is told.`,
      onConfirm: safe(() => this.settle(cancel(helper))),
      onCancel: safe(() => this.show()),
    }
    this.dialog("medium", () => this.ui.createComponent(this.api.ui.DialogConfirm, props))
  }

  async settle(doing) {
    safe(() => this.api.ui.dialog.clear())()
    const why = await doing
    if (why) this.tell(why)
    return why
  }

  /** Answers a question that is still asked, and says what was answered. */
  async reply(helper, question, value) {
    const isOpen = this.find(helper.id)?.questions.some(({ id }) => id === question.id)
    const gone = "The question is not there any more: it was answered or withdrawn."
    const why = await this.settle(isOpen ? answer(helper, question, value) : gone)
    if (!why) this.tell(answered(question, value), "success")
  }

  /** The dialog for one question. */
  ask(helper, question) {
    const reply = (value) => this.reply(helper, question, value)
    const inWords = (title, make) => this.words(title, (text) => reply(make(text)))
    const offers = (id) => !question.options.length || question.options.some((one) => one.id === id)
    const instead = question.takesWords ? "What instead?" : "What instead? (This agent drops words.)"
    const choices = question.isPermission
      ? [
          offers("once") && ["Allow once", () => reply("once")],
          offers("always") && ["Allow always…", () => this.askAlways(helper, question)],
          offers("reject") && ["Reject", () => reply({ reject: null })],
          offers("reject") && ["Reject and say why", () => inWords(instead, (reject) => ({ reject }))],
        ]
      : [
          ...question.options.map(({ id, label }) => [label, () => reply({ words: id })]),
          ["Answer in words", () => inWords(helper.title, (words) => ({ words }))],
          ["Reject", () => reply({ reject: null })],
        ]
    choices.push(["Open its session", () => this.goTo(helper)])
    this.choose(helper, question, "Your answer", choices.filter(Boolean))
  }

  /** What is allowed for good is asked first; the way back is chosen first. */
  askAlways(helper, question) {
    const label = question.options.find(({ id }) => id === "always")?.label ?? ""
    const isNamed = label && !/^(always|allow always|always allow)$/i.test(label)
    const choices = [
      ["No, go back", () => this.ask(helper, question)],
      [isNamed ? `Yes: ${label}` : "Yes, always", () => this.reply(helper, question, "always")],
    ]
    this.choose(helper, question, "Allow this from now on, without being asked?", choices)
  }

  /**
   * What is asked, and what can be chosen. It opens with an Enter and is searched by typing: no key
   * counts before it can have been read, nor right after a letter.
   */
  choose(helper, question, title, choices) {
    const view = this
    this.holdKeys()
    const props = {
      get title() {
        return `${title}   ${view.takesKeys() ? "enter choose" : "read it first"}`
      },
      placeholder: "Search",
      options: choices.map(([title], value) => ({ title, value })),
      onFilter: safe(() => this.holdKeys()),
      onSelect: safe(({ value }) => (this.takesKeys() ? choices[value][1]() : this.holdKeys())),
    }
    this.dialog("large", () => this.questionBox(helper, question, props))
  }

  /** In steps: keys that waited while the thread was busy come between two of them. */
  holdKeys(steps = GUARD_STEPS) {
    clearTimeout(this.holding)
    this.setTakesKeys(steps === 0)
    if (!steps) return
    this.holding = setTimeout(safe(() => this.holdKeys(steps - 1)), GUARD_STEP_MS)
    this.holding.unref?.()
  }

  questionBox(helper, question, props) {
    const columns = this.dialogColumns() - 8
    const who = fit(`${helper.title}${helper.agent ? ` (${helper.agent})` : ""} asks`, columns)
    const lines = subjectLines(question.subject, columns)
    const texts = [
      this.text(() => who, () => "warning"),
      ...lines.map((line) => this.text(() => line || " ", () => "text")),
    ]
    const margins = { paddingLeft: 4, paddingRight: 4, paddingBottom: 1 }
    const about = this.box(texts, { ...margins, flexShrink: 0 })
    return this.box([about, this.select(props)], { flexDirection: "column" })
  }

  words(title, done) {
    const onConfirm = safe((text) => {
      const words = String(text ?? "").slice(0, WORDS_MAX).trim()
      if (words) done(words)
    })
    const onCancel = safe(() => this.show())
    const props = { title, placeholder: "Your answer", onConfirm, onCancel }
    this.dialog("large", () => this.ui.createComponent(this.api.ui.DialogPrompt, props))
  }

  // -- a launch in the conversation --

  /**
   * Draws a launch as OpenCode draws its own subagents: what it does now, and a click opens its
   * session. Only the screen's own copy of the call is changed, nothing is stored; without it the
   * line that OpenCode has for any tool remains.
   */
  drawLaunches() {
    const { createRoot, createEffect, createSignal } = this.ui
    createRoot((dispose) => {
      this.undo.push(dispose)
      const [launches, setLaunches] = createSignal([])
      createEffect(safe(() => setLaunches(this.launches())))
      createEffect(
        safe(() => {
          const helpers = this.helpers()
          for (const launch of launches()) safe(() => this.drawLaunch(launch, helpers))()
        }),
      )
    })
  }

  /** The launches on the screen, as the screen's store has them. */
  launches() {
    const route = this.api.route.current
    if (route?.name !== "session") return []
    const found = []
    for (const { id, role } of this.api.state.session.messages(route.params.sessionID)) {
      if (role !== "assistant") continue
      for (const part of this.api.state.part(id)) {
        if (part.type !== "tool" || !["completed", "error"].includes(part.state?.status)) continue
        // One that is drawn already may have to be drawn again.
        if (part.tool !== TOOL && part.tool !== "task") continue
        const task = words(part.state.metadata?.task, /^bg_[0-9a-z]{1,40}$/)
        if (task) found.push({ part, task })
      }
    }
    return found
  }

  drawLaunch({ part, task }, helpers) {
    const helper = helpers.find(({ id }) => id === task)
    if (!helper?.session || !helper.place) return
    const word = { failed: "failed", cancelled: "cancelled", asks: "asks you" }[helper.state]
    const title = fit(helper.title, LAUNCH_COLUMNS)
    const description = word ? `${title} · ${word}` : title
    // OpenCode has a tick for a launch that went well, and that is read as the helper's.
    const isLost = ["failed", "cancelled"].includes(helper.state)
    const status = isLost ? "error" : "completed"
    const isDrawn = part.tool === "task" && part.state.status === status
    if (isDrawn && part.state.input?.description === description) return
    const { produce, unwrap } = this.ui
    produce((drawn) => {
      const facts = { background: true, sessionId: helper.session }
      drawn.state.metadata = { ...drawn.state.metadata, ...facts }
      drawn.state.input = { description, subagent_type: helper.agent }
      drawn.state.status = status
      if (isLost) drawn.state.error = helper.reason || helper.state
      drawn.tool = "task"
    })(unwrap(part))
  }
}

const tui = safe(async (api, options) => {
  // This OpenCode is a helper itself, and helpers have none of their own.
  if (process.env.LEGWORK_INSIDE) return
  const ui = await modules()
  new View(api, options, ui).open()
})

// OpenCode 2 calls `setup`, of which nothing is known yet.
export default { id: "legwork", tui, setup: () => {} }
