// The card of a question: the whole of what is asked, and the ways to answer it.

import { ask, sentence, taskPath } from './api.js'
import { button, make, say, withCode } from './dom.js'
import { NEW_QUESTION_MS } from './limits.js'
import { confirm } from './dialog.js'
import { duration } from './words.js'

/**
 * @typedef {import('./store.js').Question} Question
 * @typedef {'once' | 'always' | { reject: string | null } | { words: string }} Reply
 */

/** What the kinds of permissions that OpenCode knows are about; others say it themselves. */
const HEADLINES = new Map([
  ['bash', 'May it run this command?'],
  ['edit', 'May it change this file?'],
  ['write', 'May it write this file?'],
  ['read', 'May it read this?'],
  ['webfetch', 'May it fetch this?'],
  ['websearch', 'May it search the web for this?'],
  ['external_directory', 'May it leave the project for this?'],
  ['doom_loop', 'May it do the same thing once more?'],
])

/** @param {Question} question @returns {[string, string]} */
function asked(question) {
  if (question.kind === 'question') return ['It asks you', question.subject]
  const at = question.subject.indexOf(': ')
  const known = HEADLINES.get(question.subject.slice(0, Math.max(0, at)))
  return known ? [known, question.subject.slice(at + 2)] : ['May it do this?', question.subject]
}

export class Card {
  #since = make('span')
  #said = make('p', { class: 'note', role: 'status' })
  #buttons = make('div', { class: 'buttons' })
  #shown = performance.now()
  #busy = false

  /**
   * @param {string} task
   * @param {Question} question
   * @param {boolean} first whether the keys answer this one
   */
  constructor(task, question, first) {
    this.task = task
    this.question = question
    const [headline, subject] = asked(question)
    this.subject = subject
    this.#buttons.append(...this.#ways(first))
    const title = make('h3', {}, headline, this.#since)
    const words = question.kind === 'question' ? this.#wordsForm() : null
    this.node = make(
      'section',
      { class: 'ask-card', 'aria-label': headline },
      title,
      make('pre', { tabindex: 0 }, subject),
      this.#buttons,
      words,
      this.#said,
    )
  }

  /** @param {boolean} first */
  #ways(first) {
    const { options, takes_words, kind } = this.question
    if (kind === 'question') {
      return options.map((option) =>
        button(option.label, '', () => this.send({ words: option.id })),
      )
    }
    const offers = (/** @type {string} */ id) =>
      !options.length || options.some((option) => option.id === id)
    const key = (/** @type {string} */ letter) => (first ? letter : undefined)
    return [
      offers('once') && button('Allow once', 'main', () => this.send('once'), key('o')),
      offers('always') && button('Always allow…', '', () => this.always(), key('w')),
      offers('reject') && button('Reject', '', () => this.send({ reject: null }), key('r')),
      takes_words && button('Reject, say why…', 'quiet', () => this.rejectWithWords(), key('e')),
    ].filter(Boolean)
  }

  #wordsForm() {
    const id = `words-${this.question.id}`
    const input = make('textarea', {
      id,
      rows: 2,
      maxlength: 8000,
      placeholder: 'Answer in your own words…',
    })
    const send = (/** @type {Event} */ event) => {
      event.preventDefault()
      if (input.value.trim()) this.send({ words: input.value.trim() })
    }
    const onEnter = (/** @type {KeyboardEvent} */ event) =>
      event.key === 'Enter' && !event.shiftKey && !event.isComposing && send(event)
    input.addEventListener('keydown', onEnter)
    return make(
      'form',
      { class: 'words', submit: send },
      make('label', { class: 'sr', for: id }, 'Answer in your own words'),
      input,
      make('button', { class: 'btn main' }, 'Answer'),
    )
  }

  /** @param {number} now */
  tick(now) {
    say(this.#since, `waits ${duration(now - this.question.since)}`)
  }

  /** Whether a key may have been meant for this question. */
  get takesKeys() {
    return (
      this.question.kind === 'permission' &&
      !this.#busy &&
      performance.now() - this.#shown > NEW_QUESTION_MS
    )
  }

  /** Whether this answer is offered. @param {string} key */
  offers(key) {
    return Boolean(this.#buttons.querySelector(`[aria-keyshortcuts="${key}"]`))
  }

  async always() {
    const label = this.question.options.find((option) => option.id === 'always')?.label
    const named =
      label && !/^(always|allow always|always allow)$/i.test(label.trim())
        ? ` It calls this “${label}”.`
        : ''
    const yes = await confirm({
      title: 'Always allow this?',
      text: `It will not ask again for this, nor for what it counts as the same.${named}`,
      subject: this.subject,
      yes: 'Always allow',
      no: 'Back',
    })
    if (yes !== undefined) this.send('always')
  }

  async rejectWithWords() {
    const words = await confirm({
      title: 'Reject, and say why',
      text: 'The helper reads this and goes on.',
      subject: this.subject,
      words: 'What it should do instead',
      yes: 'Reject',
      no: 'Back',
    })
    if (words !== undefined) this.send({ reject: words.trim() || null })
  }

  /** @param {Reply} reply */
  async send(reply) {
    if (this.#busy) return
    this.#busy = true
    this.node.setAttribute('aria-busy', 'true')
    say(this.#said, 'Telling it…')
    try {
      await ask(taskPath(this.task, 'answer'), { question: this.question.id, reply })
      say(this.#said, 'It has your answer.')
    } catch (error) {
      this.#busy = false
      this.node.removeAttribute('aria-busy')
      this.#said.replaceChildren(...withCode(sentence(error)))
    }
  }
}
