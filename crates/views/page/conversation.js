// What a helper says and does, as it comes. Follows its end until one scrolls up.

import { Stream, ask, sentence, taskPath } from './api.js'
import { byId, make, plain, say, sign, withCode } from './dom.js'
import { ENTRIES_MAX } from './limits.js'
import { blocks } from './markdown.js'
import { brief, clock, number } from './words.js'

/**
 * @typedef {{ text: string, left_out?: number }} Cut
 * @typedef {{ name: string, title?: string, state: string, input?: Cut, output?: Cut,
 *   error?: Cut }} Tool
 * @typedef {{ key: string, run: number, kind: string, at?: number, ended?: number, open?: boolean,
 *   text: string, left_out?: number, append?: boolean, beginning_missing?: boolean, blocks?: any[],
 *   plan?: object[],
 *   tool?: Tool }} Entry
 * @typedef {{ node: HTMLElement, update: (entry: Entry) => void }} View
 */

/** @type {Record<string, string>} */
const SOURCES = {
  'not-begun': 'The conversation has not started.',
  'host-away':
    'The program with this conversation is not running. Only what legwork kept is shown.',
  gone: 'This conversation was deleted in its program. Only what legwork kept is shown.',
}

/** How near to its end a conversation counts as read to the end, in pixels. */
const NEAR_END = 24

export class Conversation {
  /** @type {Map<string, View>} */ #views = new Map()
  /** Tool calls that are not over. @type {Set<ToolView>} */ #calls = new Set()
  /** What it waits for an answer to. */ #questions = 0
  /** @type {Stream | undefined} */ #stream
  #follows = true
  #new = 0
  #left = 0
  #speaker = ''
  #was = { top: 0, height: 0 }
  /** When something was last written, by the page's clock. */ written = 0
  #pane = byId('pane-conversation')
  #button = byId('follow')
  #source = make('p', { class: 'note' })
  #list = make('div')
  #trouble = make('p', { class: 'note bad', role: 'status' })

  constructor() {
    this.#pane.append(this.#source, this.#list, this.#trouble)
    this.#pane.addEventListener('scroll', () => this.#scrolled())
    this.#button.addEventListener('click', () => this.follow())
    // What one has just opened is not to be scrolled away.
    this.#pane.addEventListener('toggle', () => this.#atEnd() || this.#setFollow(false), true)
  }

  /** @param {import('./store.js').Item} item */
  open(item) {
    this.close()
    this.task = item.task.id
    this.agent = item.task.agent
    this.#clear()
    this.#follows = true
    say(this.#source, 'Reading the conversation…')
    this.#stream = new Stream(taskPath(item.task.id, 'conversation'), {
      event: (name, data) => (name === 'page' ? this.#take(data) : this.#say(data.error)),
      lost: (error) => this.#say(sentence(error)),
      refused: (error) => this.#say(error.message),
    }).start()
    this.#showFollow()
  }

  /** Reads it from its beginning, for instance because the task was resumed. */
  again() {
    if (!this.#stream?.resting) return
    this.#stream.start()
  }

  close() {
    this.#stream?.stop()
    this.#stream = undefined
    this.task = undefined
  }

  #clear() {
    this.#views.clear()
    this.#calls.clear()
    this.#list.replaceChildren()
    this.#speaker = ''
    this.#new = 0
    this.#left = 0
    say(this.#trouble, '')
    say(this.#source, '')
  }

  /** @param {string} text */
  #say(text) {
    this.#trouble.replaceChildren(...withCode(text))
    this.#keepEnd()
  }

  /** @param {{ source: string, restarted: boolean, over: boolean, entries: Entry[] }} page */
  #take(page) {
    if (page.restarted) this.#clear()
    say(this.#trouble, '')
    say(this.#source, SOURCES[page.source] ?? '')
    for (const entry of page.entries) this.#put(entry)
    this.#showWaiting()
    if (page.entries.length) this.written = performance.now()
    this.#cut()
    this.over = page.over
    // Nothing follows until the task is resumed.
    if (page.over) this.#stream?.rest()
    if (!page.entries.length && !this.#views.size && page.source === 'host')
      say(this.#source, 'Nothing was said yet.')
    this.#keepEnd()
    this.#showFollow()
  }

  /** How many questions of the helper are open. @param {number} questions */
  asks(questions) {
    if (this.#questions === questions) return
    this.#questions = questions
    this.#showWaiting()
  }

  /** No host says which call a question is about: the last that has not begun, or is not over. */
  #showWaiting() {
    for (const call of this.#calls) if (!call.open) this.#calls.delete(call)
    const open = [...this.#calls]
    const notBegun = open.filter((call) => call.isPending)
    const asking = notBegun.length ? notBegun : open
    const waiting = asking.slice(Math.max(0, asking.length - this.#questions))
    for (const call of open) call.waits(waiting.includes(call))
  }

  /** @param {Entry} entry */
  #put(entry) {
    const known = this.#views.get(entry.key)
    if (known) return known.update(entry)
    const view = entry.tool
      ? new ToolView(entry, () => this.task ?? '')
      : new SaidView(entry, this.agent ?? '')
    this.#views.set(entry.key, view)
    if (view instanceof ToolView) this.#calls.add(view)
    if (!this.#follows) this.#new += 1
    if (entry.tool) return this.#toolBox().append(view.node)
    const speaker = `${entry.run} ${kindOf(entry)}`
    if (speaker === this.#speaker && entry.kind === 'text') view.node.classList.add('goes-on')
    if (kindOf(entry) !== 'thought') this.#speaker = speaker
    this.#list.append(view.node)
  }

  /** Calls that follow each other stand in one box. */
  #toolBox() {
    const last = this.#list.lastElementChild
    if (last?.classList.contains('tools')) return last
    const box = make('div', { class: 'tools' })
    this.#list.append(box)
    return box
  }

  /** Takes away the oldest entries of a very long conversation. */
  #cut() {
    const over = this.#views.size - ENTRIES_MAX
    if (over <= 0) return
    for (const [key, view] of [...this.#views].slice(0, over)) {
      const box = view.node.parentElement
      view.node.remove()
      if (box?.classList.contains('tools') && !box.childElementCount) box.remove()
      this.#views.delete(key)
    }
    this.#left += over
    this.#source.replaceChildren(
      ...withCode(
        `${number(this.#left)} earlier entries are not shown. \`legwork transcript ${this.task}\` has them.`,
      ),
    )
  }

  /** @param {number} [near] */
  #atEnd(near = NEAR_END) {
    return this.#pane.scrollHeight - this.#pane.scrollTop - this.#pane.clientHeight < near
  }

  /** Whoever scrolls up a little wants to stay there, even if the end is still near. */
  #scrolled() {
    const { scrollTop, scrollHeight } = this.#pane
    const up = scrollTop < this.#was.top - 1 && scrollHeight >= this.#was.height && !this.#atEnd(2)
    this.#was = { top: scrollTop, height: scrollHeight }
    this.#setFollow(!up && this.#atEnd())
  }

  #keepEnd() {
    if (!this.#follows) return
    this.#pane.scrollTop = this.#pane.scrollHeight
    this.#was = { top: this.#pane.scrollTop, height: this.#pane.scrollHeight }
  }

  /** @param {boolean} on */
  #setFollow(on) {
    if (this.#pane.hidden) return
    this.#follows = on
    if (on) this.#new = 0
    this.#showFollow()
  }

  /** Goes to the end and stays there, or stays here. */
  follow() {
    this.#setFollow(!this.#follows)
    this.#keepEnd()
  }

  /** The pane is seen again. */
  shown() {
    this.#keepEnd()
    this.#showFollow()
  }

  #showFollow() {
    const news = this.#new ? `${number(this.#new)} new ↓` : 'to the end ↓'
    say(this.#button, this.#follows ? 'following' : news)
    this.#button.setAttribute('aria-pressed', String(this.#follows))
    this.#button.hidden = this.#pane.hidden || (this.#follows && Boolean(this.over))
  }
}

/** @type {Record<string, string>} */
const SPEAKERS = {
  plan: 'Plan',
  prompt: 'Prompt',
  person: 'A person wrote',
  notice: 'Notification',
  thought: 'Thought',
  error: 'Error',
}

/** A plan is a thought for those who know no plans. @param {Entry} entry */
function kindOf(entry) {
  return entry.plan ? 'plan' : entry.kind
}

/** Something that was said. */
class SaidView {
  #body = make('div', { class: 'said' })
  #text = document.createTextNode('')

  /** @param {Entry} entry @param {string} agent */
  constructor(entry, agent) {
    const who = make('b', {}, SPEAKERS[kindOf(entry)] ?? agent)
    const when =
      entry.at && make('time', { datetime: new Date(entry.at).toISOString() }, clock(entry.at))
    if (kindOf(entry) === 'thought') {
      this.node = make(
        'details',
        { class: 'turn is-thought' },
        make('summary', { class: 'by' }, who, when),
        this.#body,
      )
    } else {
      const resumed = entry.kind === 'prompt' && entry.run > 0 && `run ${entry.run}`
      this.node = make(
        'div',
        { class: `turn is-${kindOf(entry)}` },
        make('div', { class: 'by' }, who, when, resumed),
        this.#body,
      )
    }
    this.#body.append(this.#text)
    this.update({ ...entry, append: false })
  }

  /** @param {Entry} entry */
  update(entry) {
    if (entry.append) this.#text.appendData(plain(entry.text))
    else this.#text.data = (entry.beginning_missing ? '… ' : '') + plain(entry.text)
    // Half a table is no table: a text is Markdown when it is complete. What people wrote stays.
    const done = entry.blocks && !entry.open && ['text', 'thought'].includes(kindOf(entry))
    if (done) this.#body.replaceChildren(...blocks(/** @type {any[]} */ (entry.blocks)))
    else if (this.#body.firstChild !== this.#text) this.#body.replaceChildren(this.#text)
    this.#body.classList.toggle('md', Boolean(done))
    this.#body.classList.toggle('plain', !done)
    this.#body.classList.toggle('writing', Boolean(entry.open))
    if (entry.left_out)
      this.#body.append(make('p', { class: 'note' }, `${number(entry.left_out)} more characters`))
  }
}

/**
 * How a tool call is: its sign, what is read aloud, and the word behind it.
 * @type {Record<string, [string, string, string]>}
 */
const TOOL_STATES = {
  waits: ['asks', 'waits for you', 'waits for you'],
  running: ['working', 'at work', ''],
  done: ['completed', 'done', ''],
  failed: ['failed', 'failed', ''],
  // The run ended and its agent had not told of the call again.
  left: ['cancelled', 'its end is not known', ''],
}

/**
 * The tool and what it is about. A host that has one title for both is not second-guessed: in
 * `cargo test --workspace` the first word is no tool.
 * @param {Tool} tool
 */
function named({ name, title }) {
  if (title && title !== name) return [name, title]
  const [, kind, subject] = name.match(/^([\w-]+): (.+)$/) ?? ['', '', name]
  return [kind, subject]
}

/** A tool call: one line, which opens. */
class ToolView {
  #sign = make('span', { class: 'sign' })
  #name = make('span', { class: 't' })
  #title = make('span', { class: 'arg' })
  #time = make('span', { class: 'd' })
  #inside = make('div', { class: 'inside' })
  #state = ''
  #waits = false
  #loaded = false

  /** @param {Entry} entry @param {() => string} task */
  constructor(entry, task) {
    this.task = task
    this.entry = entry
    const line = make('summary', {}, this.#sign, this.#name, this.#title, this.#time)
    this.node = make('details', { toggle: () => this.#load() }, line, this.#inside)
    this.update(entry)
  }

  /** @param {Entry} entry */
  update(entry) {
    this.entry = entry
    const [name, title] = named(/** @type {Tool} */ (entry.tool))
    say(this.#name, name)
    say(this.#title, title)
    this.#draw()
    this.#loaded = false
    if (this.node.open) this.#load()
  }

  /** Whether it may still change, and whether it does not even say that it has begun. */
  get open() {
    return Boolean(this.entry.open) && !this.#isOver
  }

  get isPending() {
    return this.entry.tool?.state === 'pending'
  }

  get #isOver() {
    return ['done', 'failed'].includes(this.entry.tool?.state ?? '')
  }

  /** Whether it waits for the person's answer. @param {boolean} yes */
  waits(yes) {
    if (this.#waits === yes) return
    this.#waits = yes
    this.#draw()
  }

  #draw() {
    const { at, ended, tool } = this.entry
    const goesOn = this.#waits ? 'waits' : 'running'
    const state = this.#isOver ? (tool?.state ?? '') : this.open ? goesOn : 'left'
    const [picture, spoken, word] = TOOL_STATES[state]
    if (this.#state !== state) {
      this.#state = state
      this.node.className = `is-${picture}`
      this.#sign.replaceChildren(sign(picture, 13), make('span', { class: 'sr' }, spoken))
    }
    say(this.#time, this.#isOver && at && ended ? brief(ended - at) : word)
  }

  /** The whole of what it was given and gave back is only asked for when somebody looks. */
  async #load() {
    if (!this.node.open || this.#loaded) return
    this.#loaded = true
    this.#show(/** @type {Tool} */ (this.entry.tool))
    try {
      const { entry } = await ask(taskPath(this.task(), 'entry', { key: this.entry.key }))
      if (entry?.tool) this.#show(entry.tool)
    } catch (error) {
      this.#inside.append(make('p', { class: 'note bad' }, ...withCode(sentence(error))))
    }
  }

  /** @param {Tool} tool */
  #show(tool) {
    const part = (/** @type {string} */ name, /** @type {Cut | undefined} */ cut) => {
      if (!cut?.text) return []
      const more = cut.left_out ? `\n… ${number(cut.left_out)} more characters` : ''
      return [make('div', { class: 'name' }, name), make('pre', { tabindex: 0 }, cut.text + more)]
    }
    const all = [
      ...part('given', tool.input),
      ...part('gave back', tool.output),
      ...part('why it failed', tool.error),
    ]
    this.#inside.replaceChildren(
      ...(all.length ? all : [make('p', { class: 'note' }, 'This call has no more details.')]),
    )
  }
}
