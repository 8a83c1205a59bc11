// legwork for OpenCode, written by `legwork install opencode`. Do not edit: the next install
// overwrites it, and `legwork uninstall opencode` removes it.
//
// It forwards and never decides. It starts `legwork bridge opencode` and speaks JSON lines over
// its stdio: a tool call of a session goes out as a `call` and comes back as an `answer` or is
// `refused`; a `host-call` of the daemon is done through OpenCode's own client and its status and
// body go back; events go out as far as they were asked for. What a person decides in the part for
// the terminal UI (tui.js) goes out as a `request`. Nothing is ever printed: the terminal is
// OpenCode's.

const BIN = process.env.LEGWORK_BIN || "@LEGWORK_BIN@"
const VERSION = "@LEGWORK_VERSION@"
const NAMES = ["@LEGWORK_TOOLS@"]
const NO_BIN = "" // only the npm package has to look for BIN: why there is none, and what to do
const LINE_MAX = 16 * 1024 * 1024 // bytes: the daemon reads no longer line
const DEPTH_MAX = 100 // the daemon reads 127 levels, its own line among them
const READ_DEPTH = 6 // the daemon reads nothing that stands deeper in an answer of OpenCode
const VALUES_MAX = 500_000 // the daemon reads a little more in one line
const TEXT_MAX = 64 * 1024 // a longer text is left out of an event: who needs it reads it
const BACKLOG_MAX = 64 * 1024 * 1024 // a bridge that does not read is ended
const HELLO_MS = 10_000 // for the bridge to find or start the daemon
const UNLINKED_MS = 30_000 // how long a call waits for a broken link to come back
// How long a model's first request waits to know whom it can ask; longer for tests, which have to
// know on a busy machine too.
const OFFER_MS = Number(process.env.LEGWORK_OFFER_MS) || 2_000
const TITLE_MS = 2_000 // how long an answer waits for a title that is being written
const ACT_MS = 20_000 // how long a person waits to hear what came of a decision
const LAST_WORDS_MS = 1_000 // what a bridge said before it ended may come after its end
const DRAIN_MS = 15_000 // how long a new link waits for what the old one still has OpenCode do
const LATELY_MS = 60_000
const STARTS_FREE = 10 // so many bridges in that time are started without growing pauses
const PAUSES_MS = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000]
// A provider's call id may be repeated or empty, so a call's key is made here: this plugin, this
// execution. However often a call is sent, its key is the same.
const SELF = crypto.randomUUID()
let executions = 0

// legwork started this OpenCode, and nobody sees it. What it starts, and an OpenCode among that, is
// not to take this for itself, nor the password for a door.
const HEADLESS = (globalThis[Symbol.for("legwork.headless")] ??= !!process.env.LEGWORK_HEADLESS)
if (HEADLESS) {
  delete process.env.LEGWORK_HEADLESS
  delete process.env.OPENCODE_SERVER_PASSWORD
}

// OpenCode loads a plugin twice in some modes, and again after a dispose: one link a directory.
const links = (globalThis[Symbol.for("legwork.links")] ??= new Map())

class Link {
  users = 0
  calls = new Map() // id -> { text, resolve, reject, progress, wait }
  hostCalls = new Map() // id -> AbortController
  underWay = new Set() // promises of host calls
  wanted = new Map() // event -> { keep, every_ms, last }
  tools = []
  nextId = 1
  failures = 0 // bridges in a row that did not get as far as a hello
  starts = [] // when bridges were lately started
  linked = false
  closed = false
  used = false // somebody was seen in a session, so a screen is up if there is one
  toasted = false
  why = "it is still being started"

  constructor(input) {
    this.input = input
    this.ready = new Promise((resolve) => (this.isReady = resolve))
    this.offered = new Promise((resolve) => (this.isOffered = resolve))
    this.start()
  }

  start() {
    const { directory, project } = this.input
    this.starts = [...this.starts.filter((at) => Date.now() - at < LATELY_MS), Date.now()]
    this.lastWords = "the bridge ended without a word"
    this.behind = 0
    let child
    try {
      if (NO_BIN) throw new Error(NO_BIN)
      // Not node:child_process, whose stream keeps what is written until OpenCode has nothing else
      // to do: 35 to 65 ms were seen (1.18).
      const stdio = { stdin: "pipe", stdout: "pipe", stderr: "ignore" }
      child = Bun.spawn([BIN, "bridge", "opencode"], stdio)
    } catch (error) {
      this.child = null
      this.why = NO_BIN || `${BIN} cannot be started (${error.code ?? error.message})`
      return this.down(null)
    }
    this.child = child
    child.unref()
    const slow = setTimeout(() => child.kill(), HELLO_MS)
    slow.unref?.()
    const reading = this.read(child, (line) => {
      if (line.type === "hello") clearTimeout(slow)
      this.heard(line)
    }).catch(() => {})
    child.exited.then(async () => {
      clearTimeout(slow)
      await Promise.race([reading, sleep(LAST_WORDS_MS)])
      if (child !== this.child) return
      this.why = this.lastWords
      this.down(child)
    })
    const oneShot = process.argv.slice(2).find((word) => !word.startsWith("-")) === "run"
    const lifetime = HEADLESS ? "headless" : oneShot ? "one-shot" : "interactive"
    // A built OpenCode is a program of its own; another is a script that the program runs.
    const script = process.argv[1]?.startsWith("/$bunfs/") ? [] : process.argv.slice(1, 2)
    const program = [process.execPath, ...script]
    const id = project?.id ?? ""
    const version = VERSION
    this.send({ type: "init", pid: process.pid, directory, project: id, lifetime, program, version })
  }

  async read(child, heard) {
    const decoder = new TextDecoder()
    let rest = ""
    for await (const bytes of child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
      rest = lines.pop()
      for (const line of lines) {
        let value
        try {
          value = JSON.parse(line)
        } catch {
          continue
        }
        if (child === this.child) heard(value)
      }
    }
  }

  send(line) {
    this.write(encode(line))
  }

  write(text) {
    const child = this.child
    if (!child || child.killed) return
    let written
    try {
      // Numbers if it has left, promises if the bridge has to read first.
      written = [child.stdin.write(text + "\n"), child.stdin.flush()]
    } catch {
      return // the bridge has ended, which is heard of soon
    }
    if (!written.some((one) => one?.then)) return
    this.behind += text.length
    if (this.behind > BACKLOG_MAX) child.kill("SIGKILL")
    Promise.allSettled(written).then(() => child === this.child && (this.behind -= text.length))
  }

  heard(line) {
    switch (line.type) {
      case "hello":
        // Those with the agents follow at once; until then what was offered before is better.
        if (!this.tools.length) this.tools = line.tools
        sleep(OFFER_MS).then(this.isOffered)
        this.linked = true
        this.failures = 0
        this.isReady()
        // Sent again under their keys, so nothing is done twice.
        for (const call of this.calls.values()) this.write(call.text)
        return
      case "tools":
        this.tools = line.tools
        return this.isOffered()
      case "bye":
        // It ends a sentence of ours.
        this.lastWords = String(line.why).replace(/\.$/, "")
        return
      case "want":
        this.wanted = new Map(line.events.map((event) => [event.name, { ...event, last: new Map() }]))
        return this.screen()
      case "answer":
      case "data":
        return this.calls.get(line.id)?.resolve(line)
      case "refused":
        return this.calls.get(line.id)?.reject(line.text)
      case "progress":
        return this.calls.get(line.id)?.progress(line.text)
      case "host-call": {
        const doing = this.perform(line).finally(() => this.underWay.delete(doing))
        this.underWay.add(doing)
        return
      }
      case "drop":
        return this.hostCalls.get(line.id)?.abort()
    }
  }

  /** One request to the OpenCode that this runs in: `{ data, error, response }`. */
  request(method, url, options) {
    const headers = { "content-type": "application/json" }
    return this.input.client._client[method]({ url, headers, ...options })
  }

  async perform({ id, method, path, query, body }) {
    const child = this.child
    const dropped = new AbortController()
    this.hostCalls.set(id, dropped)
    let result
    try {
      // A request after a dispose would boot OpenCode's instance again while it is closing.
      if (this.closed) throw new Error("OpenCode is closing")
      const options = { query, body: body ?? undefined, signal: dropped.signal }
      const { data, error, response } = await this.request(method, path, options)
      if (!response) throw error ?? new Error("no response")
      let told = (response.ok ? data : error) ?? null
      // What nobody reads, such as the arguments of a strange call, must not hide what is read.
      if (unreadable(told)) told = pruned(told, READ_DEPTH)
      const why = unreadable(told)
      if (why) throw new Error(`the answer has ${why}`)
      result = encode({ type: "result", id, status: response.status, body: told })
      if (Buffer.byteLength(result) > LINE_MAX) throw new Error("the answer is too long")
    } catch (error) {
      const why = String(error?.message ?? error).slice(0, 500)
      result = encode({ type: "result", id, error: why })
    }
    this.hostCalls.delete(id)
    // What was asked over an earlier link is nobody's business any more.
    if (child === this.child && !dropped.signal.aborted) this.write(result)
  }

  event({ type, properties }) {
    if (!this.used && properties?.sessionID) {
      this.used = true
      if (this.failures > 2) this.toast()
    }
    const wanted = this.linked && this.wanted.get(type)
    if (!wanted) return
    const closely = wanted.closely?.sessions.includes(properties.sessionID) && wanted.closely
    if (wanted.every_ms && !closely) {
      const now = Date.now()
      const session = properties.sessionID
      if (now - (wanted.last.get(session) ?? 0) < wanted.every_ms) return
      if (wanted.last.size > 1000) wanted.last.clear()
      wanted.last.set(session, now)
    }
    const { keep } = closely || wanted
    this.send({ type: "event", name: type, properties: project(properties, keep) })
  }

  /** What the part for the terminal UI shows, if there is one. */
  screen() {
    const shown = globalThis[Symbol.for("legwork.shown")]
    if (shown !== undefined) this.event({ type: "legwork.screen", properties: { sessionID: shown } })
  }

  call(tool, args, context) {
    const id = this.nextId++
    const { sessionID, messageID, agent, directory, abort } = context
    const origin = { session: sessionID, message: messageID, agent, directory }
    const key = `${sessionID}/${SELF}/${++executions}`
    const line = { type: "call", id, key, tool, context: origin, arguments: args }
    return new Promise((resolve, reject) => {
      let patience
      let titled = Promise.resolve()
      const end = (finish) => (value) => {
        this.calls.delete(id)
        clearTimeout(patience)
        // OpenCode's signal also fires after a step that ended well.
        abort?.removeEventListener("abort", stopped)
        // A title that is written after the answer would turn the part back to running.
        titled.then(() => finish(value))
      }
      const refuse = end((text) => reject(new Error(text)))
      const stopped = () => {
        this.send({ type: "cancel", id })
        refuse("Stopped waiting. Background tasks go on.")
      }
      const progress = (title) => {
        const shown = () => Promise.race([this.entitle(id, context, title), sleep(TITLE_MS)])
        titled = titled.then(shown).catch(() => {})
      }
      const wait = () => {
        clearTimeout(patience)
        patience = setTimeout(() => this.linked || refuse(this.unavailable()), UNLINKED_MS)
      }
      let text
      try {
        const why = unreadable(line)
        if (why) throw new Error(why)
        text = encode(line)
        if (Buffer.byteLength(text) > LINE_MAX) throw new Error("longer than 16 MB")
      } catch (error) {
        const why = String(error?.message ?? error).slice(0, 200)
        return refuse(`The arguments cannot be passed on: ${why}. Call again with less.`)
      }
      this.calls.set(id, { text, progress, resolve: end(resolve), reject: refuse, wait })
      abort?.addEventListener("abort", stopped, { once: true })
      if (abort?.aborted) return stopped()
      if (this.closed || (!this.linked && this.failures > 2)) return refuse(this.unavailable())
      if (this.linked) this.write(text)
      else wait()
    })
  }

  /** What a person at this screen decides. Sent again under its key, it is not done twice. */
  act(request) {
    const id = this.nextId++
    const text = encode({ type: "request", id, key: `act/${SELF}/${++executions}`, request })
    return new Promise((done) => {
      const end = (refused) => (text) => {
        this.calls.delete(id)
        clearTimeout(patience)
        done({ refused, text: refused ? String(text) : "" })
      }
      const late = "The daemon has not answered. Look whether it was done before you try again."
      const patience = setTimeout(() => end(true)(late), ACT_MS)
      patience.unref?.()
      const [resolve, reject, nothing] = [end(false), end(true), () => {}]
      this.calls.set(id, { text, resolve, reject, progress: nothing, wait: nothing })
      if (this.linked) this.write(text)
    })
  }

  /**
   * Shows a title at a call that is under way. The `metadata` of its context is made for that, but
   * has no effect in plugins (OpenCode 1.18), so the call's part is written to.
   */
  async entitle(id, { sessionID, messageID, callID }, title) {
    const url = `/session/${sessionID}/message/${messageID}`
    const { data } = await this.request("get", url)
    const isThis = (part) => part.callID === callID && part.state?.status === "running"
    const part = data?.parts.find(isThis)
    if (!part || !this.calls.has(id)) return
    const body = { ...part, state: { ...part.state, title } }
    await this.request("patch", `${url}/part/${part.id}`, { body })
  }

  unavailable() {
    return `legwork is not available: ${this.why}. ${remedy()} If a task was being launched, look at background_list first once it is back.`
  }

  down(child) {
    if (child !== this.child) return
    this.linked = false
    this.isOffered()
    if (this.closed) return
    // A daemon that greets and then dies, again and again, is not started for ever at full speed.
    const tries = Math.max(this.failures++, this.starts.length - STARTS_FREE)
    const pause = PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]
    for (const call of this.calls.values()) call.wait()
    if (this.failures > 2) {
      this.isReady()
      this.toast()
      for (const call of [...this.calls.values()]) call.reject(this.unavailable())
    }
    // A new link means that nothing asked over the old one is still being done.
    const drained = Promise.race([Promise.allSettled(this.underWay), sleep(DRAIN_MS)])
    Promise.all([drained, sleep(pause)]).then(() => this.closed || this.start())
  }

  toast() {
    // Before that the terminal UI may not be up, and what it is shown then nobody sees.
    if (this.toasted || !this.used) return
    this.toasted = true
    const message = `${this.why}. ${remedy()}`
    const body = { title: "legwork is not available", message, variant: "error", duration: 10_000 }
    Promise.resolve(this.input.client.tui.showToast({ body })).catch(() => {})
  }

  close() {
    this.closed = true
    this.linked = false
    for (const call of [...this.calls.values()]) call.reject("OpenCode is closing.")
    const child = this.child
    child?.stdin.end()
    sleep(1_000).then(() => child?.kill())
  }
}

/**
 * Hears which session a person looks at, and what a person decides, in the part for the terminal
 * UI, which runs in another thread of this process. What that thread starts cannot be told from
 * what a helper's tool starts, so the daemon takes no decision from there; and nothing that a tool
 * starts can speak in this channel. A decision that comes too late was called off: the person has
 * been told so.
 */
function listen() {
  if (HEADLESS || typeof BroadcastChannel === "undefined") return
  const channel = (globalThis[Symbol.for("legwork.channel")] ??= new BroadcastChannel("legwork"))
  channel.onmessage = async ({ data }) => {
    if (typeof data?.shown === "string") {
      globalThis[Symbol.for("legwork.shown")] = data.shown || null
      for (const link of links.values()) link.screen()
    }
    const request = data?.act && !(Date.now() > data.until) && decision(data.act)
    const link = request && [...links.values()].find((link) => link.linked && !link.closed)
    if (!link) return
    channel.postMessage({ id: data.id, heard: true })
    channel.postMessage({ id: data.id, done: await link.act(request) })
  }
  channel.unref?.()
  channel.postMessage({ listens: true })
}

/** The two things that a person can decide there. */
function decision({ what, task, question, reply }) {
  if (what === "cancel" && typeof task === "string") return { what, task }
  if (what === "reply" && typeof question === "string") return { what, question, reply }
}

/**
 * The prompt of a launch, wrapped so that OpenCode's terminal UI does not show it. Its line for a
 * call has every plain value of the arguments, whole, and leaves arrays out (1.18).
 */
function wrap(args) {
  if (typeof args?.prompt === "string") args.prompt = [args.prompt]
}

/** Arguments as the model wrote them. */
function unwrapped(args) {
  const prompt = args?.prompt
  const isOurs = Array.isArray(prompt) && prompt.every((piece) => typeof piece === "string")
  return isOurs ? { ...args, prompt: prompt.join("") } : args
}

/** What a model reads of its own calls: what it wrote. */
function unwrapCalls(messages) {
  for (const { parts } of messages) {
    for (const [at, part] of parts.entries()) {
      if (part?.type !== "tool" || !NAMES.includes(part.tool)) continue
      const input = unwrapped(part.state?.input)
      if (input !== part.state?.input) parts[at] = { ...part, state: { ...part.state, input } }
    }
  }
}

/** What a person can do: not everybody who has the plugin has a `legwork` on the PATH. */
function remedy() {
  if (NO_BIN) return "" // it says what to do itself
  const program = Bun.which("legwork") ? "legwork" : BIN && Bun.which(BIN)
  if (!program) return "Restart OpenCode; if that does not help, install legwork again."
  const word = program.includes(" ") ? `'${program}'` : program
  return `Run \`${word} doctor\` in a terminal to see what is wrong.`
}

function attempt(what) {
  try {
    what()
  } catch {}
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms).unref?.())
}

/**
 * A value as JSON that every reader takes. Half a character of two stands in JSON as an escape that
 * strict readers refuse; it becomes the sign for an unreadable character.
 */
function encode(value) {
  const text = JSON.stringify(value)
  if (!text.includes("\\ud")) return text
  return text.replace(/\\(\\|ud[89a-f]..)/g, (all, what) => (what === "\\" ? all : "\\ufffd"))
}

/**
 * Why the daemon would not read a value in a line, or nothing. It counts brackets and commas, and
 * goes only so deep.
 */
function unreadable(value, depth = 1, counted = { values: 0 }) {
  counted.values++
  if (typeof value !== "object" || value === null) return
  if (depth > DEPTH_MAX) return `nested deeper than ${DEPTH_MAX} levels`
  counted.values++
  for (const inner of Object.values(value)) {
    const why = unreadable(inner, depth + 1, counted)
    if (why) return why
    if (counted.values > VALUES_MAX) return `more than ${VALUES_MAX} values`
  }
}

/** A value without what stands deeper than this in it. */
function pruned(value, levels) {
  if (typeof value !== "object" || value === null) return value
  if (levels === 0) return null
  if (Array.isArray(value)) return value.map((inner) => pruned(inner, levels - 1))
  const inner = Object.entries(value).map(([name, inner]) => [name, pruned(inner, levels - 1)])
  return Object.fromEntries(inner)
}

/** The properties with these dotted paths, and no others. */
function project(properties, paths) {
  const kept = {}
  for (const path of paths) {
    const names = path.split(".")
    const last = names.pop()
    let from = properties
    for (const name of names) from = from?.[name]
    if (from?.[last] === undefined || from[last]?.length > TEXT_MAX) continue
    let to = kept
    for (const name of names) to = to[name] ??= {}
    to[last] = from[last]
  }
  return kept
}

export const Legwork = async (input) => {
  // This OpenCode is a helper itself, and helpers have none of their own.
  if (process.env.LEGWORK_INSIDE) return {}
  let link = links.get(input.directory)
  if (link) link.input = input
  else links.set(input.directory, (link = new Link(input)))
  link.users++
  listen()
  await Promise.race([link.ready, sleep(HELLO_MS)])

  const offered = link.tools.length
    ? link.tools
    : NAMES.map((name) => ({ name, description: `Not available: ${link.why}.`, schema: {} }))
  const tool = {}
  for (const { name, description, schema } of offered) {
    const execute = async (given, context) => {
      const args = unwrapped(given)
      const { text, task } = await link.call(name, args, context)
      const title = String(args.description ?? args.task_id ?? args.resume ?? "")
      // Whoever draws the call finds its task here.
      return { title, output: text, metadata: task ? { task } : {} }
    }
    tool[name] = { description, args: schema.properties ?? {}, execute }
  }
  return {
    tool,
    // Without this every argument would be required of the model. The description is what is so
    // now: it lists the agents.
    "tool.definition": async ({ toolID }, output) => {
      if (!NAMES.includes(toolID)) return
      await link.offered
      const now = link.tools.find(({ name }) => name === toolID)
      if (!now?.schema.properties) return
      output.jsonSchema = now.schema
      output.description = now.description
    },
    // Neither is worth a call or a turn: should OpenCode change, they do nothing.
    "tool.execute.before": async ({ tool }, output) => {
      if (NAMES.includes(tool)) attempt(() => wrap(output.args))
    },
    "experimental.chat.messages.transform": async (_, output) => {
      attempt(() => unwrapCalls(output.messages))
    },
    event: async ({ event }) => link.event(event),
    dispose: async () => {
      if (--link.users > 0) return
      if (links.get(input.directory) === link) links.delete(input.directory)
      link.close()
    },
  }
}
