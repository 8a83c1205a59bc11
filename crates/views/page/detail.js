// One task: what it is, what it asks, and three tabs about it.

import { ask, sentence, taskPath } from './api.js'
import { Conversation } from './conversation.js'
import { confirm, tell } from './dialog.js'
import { button, byId, copy, make, say, sign } from './dom.js'
import { SETTLE_MS } from './limits.js'
import { Card } from './question.js'
import { Result } from './result.js'
import { leftInput } from './typing.js'
import { STATES, clock, counted, duration, short } from './words.js'
import { Why } from './why.js'

/** @typedef {import('./store.js').Item} Item */

export const TABS = ['conversation', 'result', 'why']

export class Detail {
  conversation = new Conversation()
  #result = new Result()
  #why = new Why()
  /** @type {Map<string, Card>} */ #cards = new Map()
  /** @type {Map<string, string>} what was written and not sent, by task */ #drafts = new Map()
  /** @type {Item | undefined} */ item
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #settling
  #tab = 'conversation'
  /** The task that is just being tried again. @type {string | undefined} */ #retrying
  #acts = ''
  #runs = 0
  node = byId('detail')

  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store
    for (const name of TABS) {
      const tab = byId(`tab-${name}`)
      tab.addEventListener('click', () => this.show(name))
      tab.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) =>
        this.#walk(event, name),
      )
    }
    const form = byId('resume-form')
    form.addEventListener('submit', (/** @type {Event} */ event) => this.#resume(event))
    byId('resume').addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) this.#resume(event)
    })
  }

  /** The arrow keys walk along the tabs. @param {KeyboardEvent} event @param {string} from */
  #walk(event, from) {
    const at = TABS.indexOf(from)
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    event.stopPropagation()
    const name = TABS[(to + TABS.length) % TABS.length]
    this.show(name)
    byId(`tab-${name}`).focus()
  }

  /** Shows another task, or none. @param {Item | undefined} item */
  open(item) {
    if (this.item && byId('resume').value) this.#drafts.set(this.item.task.id, byId('resume').value)
    this.item = item
    this.node.hidden = !item
    this.conversation.close()
    this.#cards.clear()
    byId('questions').replaceChildren()
    if (!item) return
    byId('resume').value = this.#drafts.get(item.task.id) ?? ''
    this.#drafts.delete(item.task.id)
    this.#acts = ''
    this.#runs = item.task.resumes
    const first = { completed: 'result', failed: 'why' }[item.row.state] ?? 'conversation'
    this.update(item)
    this.show(first)
  }

  /** The same task, as it is now. @param {Item} item */
  update(item) {
    this.item = item
    const { task, row } = item
    const over = row.group === 'finished'
    this.node.dataset.is = row.state
    const state = byId('state')
    if (state.dataset.is !== row.state) {
      state.dataset.is = row.state
      state.className = `state s-${row.state}`
      state.replaceChildren(sign(row.state, 15), STATES[row.state])
    }
    say(byId('task-id'), task.id)
    say(byId('title'), task.description)
    say(byId('tab-why'), over ? 'What happened' : 'Why is it not done?')
    this.#letResume(over)
    byId('hints').hidden = over
    this.conversation.asks(task.questions.length)
    this.#drawActs(over, row.state)
    this.#drawWho()
    this.#drawCards()
    this.tick()
    if (task.resumes !== this.#runs) this.#goesOn()
    if (!byId('pane-result').hidden) this.#result.show(item)
    if (!byId('pane-why').hidden) this.#why.show(item)
  }

  /** Whoever writes when the field goes is still typing. @param {boolean} over */
  #letResume(over) {
    const form = byId('resume-form')
    if (!over && form.contains(document.activeElement)) {
      leftInput()
      byId('title').focus()
    }
    form.hidden = !over
  }

  /** It was resumed: what one wants to see now is what it says. */
  #goesOn() {
    this.#runs = this.item?.task.resumes ?? 0
    this.conversation.again()
    if (!byId('pane-result').hidden) this.show('conversation')
  }

  /** @param {boolean} over @param {string} state */
  #drawActs(over, state) {
    const acts = over ? `over ${state}` : 'unfinished'
    if (acts === this.#acts) return
    this.#acts = acts
    const copies =
      state === 'completed' &&
      button('Copy result', 'quiet', (event) =>
        this.#copy(/** @type {HTMLElement} */ (event.currentTarget)),
      )
    const act = over
      ? button('Clear…', '', () => this.clear())
      : button('Cancel task…', '', () => this.cancel())
    const again = state === 'failed' && button('Retry', '', () => this.retry(), 't')
    byId('acts').replaceChildren(...[copies, again, act].filter(Boolean))
  }

  #drawWho() {
    const { task, row } = /** @type {Item} */ (this.item)
    const parent = this.store.bySession(task.parent)
    const text = `${task.agent} ${row.project} ${parent?.task.description}`
    const who = byId('who')
    if (who.dataset.is === text) return
    who.dataset.is = text
    const strong = (/** @type {string} */ words) => make('b', {}, words)
    const title = parent && `“${parent.task.description}”`
    const by = parent ? [', asked by ', make('a', { href: `#${parent.task.id}` }, title)] : []
    who.replaceChildren(
      make(
        'span',
        { title: task.directory },
        strong(task.agent),
        ' in ',
        strong(row.project),
        ...by,
      ),
    )
  }

  #drawCards() {
    const { task, row } = /** @type {Item} */ (this.item)
    const held = byId('questions').contains(document.activeElement)
    for (const [at, question] of task.questions.entries()) {
      if (this.#cards.has(question.id)) continue
      const keep = (/** @type {string} */ words) => this.#keep(task.id, words)
      this.#cards.set(question.id, new Card(task.id, question, row.asks[at], keep))
    }
    this.card?.lead()
    const open = new Set(task.questions.map((question) => question.id))
    for (const id of this.#cards.keys()) if (!open.has(id)) this.#cards.delete(id)
    const nodes = [...this.#cards.values()].map((card) => card.node)
    const box = byId('questions')
    const same = nodes.every((node, at) => node === box.children[at])
    if (same && nodes.length === box.childElementCount) return
    box.replaceChildren(...nodes)
    if (held && !box.contains(document.activeElement)) {
      leftInput()
      byId('title').focus()
    }
  }

  /** Puts words for a later message where that is written. @param {string} id @param {string} words */
  #keep(id, words) {
    const isOpen = this.item?.task.id === id
    const before = isOpen ? byId('resume').value : (this.#drafts.get(id) ?? '')
    const all = before.trim() ? `${before.trimEnd()}\n${words}` : words
    if (isOpen) byId('resume').value = all
    else this.#drafts.set(id, all)
  }

  /** What changes with the clock. */
  tick() {
    if (!this.item) return
    const { task, row } = this.item
    const now = this.store.now()
    const facts = [
      [duration((task.ended ?? now) - task.started), row.state === 'queued' ? 'in the queue' : ''],
      [short(task.tool_calls), task.tool_calls === 1 ? 'tool call' : 'tool calls'],
      task.tokens ? [short(task.tokens), 'tokens'] : undefined,
      row.cost ? [row.cost, ''] : undefined,
      task.model ? [task.model, ''] : undefined,
      task.resumes ? [`run ${task.resumes}`, ''] : undefined,
      task.ended ? [`ended ${clock(task.ended)}`, ''] : undefined,
    ].filter((fact) => fact !== undefined)
    const box = byId('facts')
    const text = JSON.stringify(facts)
    if (box.dataset.is !== text) {
      box.dataset.is = text
      box.replaceChildren(
        ...facts.map(([value, name]) => make('span', {}, make('b', {}, value), name && ` ${name}`)),
      )
    }
    for (const card of this.#cards.values()) card.tick(now)
    this.#why.tick(now)
    if (!byId('pane-why').hidden) this.#why.show(this.item)
  }

  /** @param {string} name */
  show(name) {
    this.#tab = name
    for (const one of TABS) {
      const tab = byId(`tab-${one}`)
      tab.setAttribute('aria-selected', String(one === name))
      tab.tabIndex = one === name ? 0 : -1
      byId(`pane-${one}`).hidden = one !== name
    }
    clearTimeout(this.#settling)
    this.conversation.shown()
    const id = this.item?.task.id
    this.#settling = setTimeout(
      () => {
        if (id && id === this.item?.task.id) this.#fill()
      },
      this.#filledBefore(id) ? 0 : SETTLE_MS,
    )
  }

  /** @param {string | undefined} id */
  #filledBefore(id) {
    return this.#result.task === id || this.#why.task === id || this.conversation.task === id
  }

  #fill() {
    const item = /** @type {Item} */ (this.item)
    if (this.#tab === 'result') this.#result.show(item)
    if (this.#tab === 'why') this.#why.show(item)
    if (this.#tab === 'conversation' && this.conversation.task !== item.task.id)
      this.conversation.open(item)
  }

  /** The pane that is seen. */
  get pane() {
    return byId(`pane-${this.#tab}`)
  }

  /** The question that keys answer. */
  get card() {
    return this.#cards.get(this.item?.task.questions[0]?.id ?? '')
  }

  async cancel() {
    const item = this.item
    if (!item || item.row.group === 'finished') return
    const yes = await confirm({
      title: 'Cancel this task?',
      text: `“${item.task.description}” is stopped. What it did stays; it can be resumed.`,
      yes: 'Cancel task',
      no: 'Let it go on',
    })
    if (yes === undefined) return
    await act(
      () => ask(taskPath(item.task.id, 'cancel'), {}),
      () => `Cancelled “${item.task.description}”.`,
    )
  }

  /** Has it do the same again. */
  async retry() {
    const item = this.item
    if (item?.row.state !== 'failed' || this.#retrying === item.task.id) return
    this.#retrying = item.task.id
    await act(
      () => ask(taskPath(item.task.id, 'retry'), {}),
      (answer) => {
        // One without a session begins anew.
        if (answer.item.task.id !== item.task.id) location.hash = answer.item.task.id
        return `“${item.task.description}” is tried again.`
      },
    )
    this.#retrying = undefined
  }

  async clear() {
    const item = this.item
    if (!item || item.row.group !== 'finished') return
    const yes = await confirm({
      title: 'Clear this task?',
      text: `“${item.task.description}” and its result are forgotten for good.`,
      yes: 'Clear',
      no: 'Keep it',
    })
    if (yes === undefined) return
    await act(
      () => ask('/api/clear', { tasks: [item.task.id] }),
      () => `Cleared “${item.task.description}”.`,
    )
  }

  /** @param {Event} event */
  async #resume(event) {
    event.preventDefault()
    const item = /** @type {Item} */ (this.item)
    const field = byId('resume')
    const prompt = field.value.trim()
    if (!prompt) return field.focus()
    const done = await act(
      () => ask(taskPath(item.task.id, 'resume'), { prompt }),
      () => `“${item.task.description}” goes on.`,
    )
    if (!done || this.item?.task.id !== item.task.id) return
    field.value = ''
    // The keys are those of the page again.
    byId('title').focus()
  }

  /** @param {HTMLElement} on */
  async #copy(on) {
    const item = /** @type {Item} */ (this.item)
    try {
      copy(await this.#result.whole(item.task.id), on)
    } catch (error) {
      tell(sentence(error))
    }
  }
}

/**
 * Has something done, and says what came of it.
 * @param {() => Promise<any>} what
 * @param {(answer: any) => string} done
 */
export async function act(what, done) {
  try {
    tell(done(await what()))
    return true
  } catch (error) {
    tell(sentence(error))
    return false
  }
}

/**
 * What ends while the question is open was not asked about, and stays.
 * @param {import('./store.js').Store} store
 */
export async function clearFinished({ counts, boardAt: by }) {
  const all = counts.completed + counts.failed + counts.cancelled
  if (!all) return
  const yes = await confirm({
    title: `Clear ${counted(all, 'finished task')}?`,
    text: 'They and their results are forgotten. This cannot be taken back. Unfinished tasks stay.',
    yes: `Clear ${counted(all, 'task')}`,
    no: 'Keep them',
  })
  if (yes === undefined) return
  await act(
    () => ask('/api/clear', { finished_by: by }),
    (answer) => `Cleared ${counted(answer.tasks, 'task')}.`,
  )
}
