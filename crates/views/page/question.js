// The card of a question: the whole of what is asked, and the ways to answer it.

import { ask, sentence, taskPath } from './api.js'
import { button, make, say, withCode } from './dom.js'
import { NEW_QUESTION_MS } from './limits.js'
import { confirm, tell } from './dialog.js'
import { duration } from './words.js'

/**
 * @typedef {import('./store.js').Question} Question
 * @typedef {import('./store.js').Asked} Asked
 * @typedef {'once' | 'always' | { reject: string | null } | { words: string }} Reply
 */

export class Card {
  #since = make('span')
  #said = make('p', { class: 'note', role: 'status' })
  #buttons = make('div', { class: 'buttons' })
  #shown = performance.now()
  #busy = false

  /**
   * @param {string} task
   * @param {Question} question
   * @param {Asked} asked
   * @param {(words: string) => void} keep what the agent takes no words for is kept by this
   */
  constructor(task, question, { headline, subject }, keep) {
    this.task = task
    this.question = question
    this.subject = subject
    this.keep = keep
    this.#buttons.append(...this.#ways())
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

  #ways() {
    const { options, kind } = this.question
    if (kind === 'question') {
      const choices = options.map((option) =>
        button(option.label, '', () => this.send({ words: option.id })),
      )
      return [...choices, button('No answer', 'quiet', () => this.send({ reject: null }), 'r')]
    }
    const offers = (/** @type {string} */ id) =>
      !options.length || options.some((option) => option.id === id)
    return [
      offers('once') && button('Allow once', 'main', () => this.send('once'), 'o'),
      offers('always') && button('Always allow…', '', () => this.always(), 'w'),
      offers('reject') && button('Reject', '', () => this.send({ reject: null }), 'r'),
      offers('reject') && button('Reject, say why…', 'quiet', () => this.takeWords(), 'e'),
    ].filter(Boolean)
  }

  #wordsForm() {
    const id = `words-${this.question.id}`
    const input = make('textarea', {
      id,
      rows: 2,
      maxlength: 8000,
      placeholder: 'Answer in your own words… (key e)',
      'aria-keyshortcuts': 'e',
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
    const { number, since } = this.question
    const name = number ? `question ${number}, ` : ''
    say(this.#since, `${name}waits ${duration(now - since)}`)
  }

  /** From now on the keys answer this one. */
  lead() {
    if (this.node.classList.contains('leads')) return
    this.node.classList.add('leads')
    this.#shown = performance.now()
  }

  /** Whether a key may have been meant for this question. */
  get takesKeys() {
    return !this.#busy && performance.now() - this.#shown > NEW_QUESTION_MS
  }

  /** What answers with this key. @param {string} key @returns {HTMLElement | null} */
  #by(key) {
    return this.node.querySelector(`[aria-keyshortcuts="${key}"]`)
  }

  /** Whether this answer is offered. @param {string} key */
  offers(key) {
    return Boolean(this.#by(key))
  }

  /** Why a key answers nothing here. */
  get unoffered() {
    return this.question.kind === 'question'
      ? 'It asks a question: e answers it in words.'
      : 'Its host does not offer this answer.'
  }

  /** Lets the person write: the answer, or why not. */
  takeWords() {
    if (this.question.kind === 'question') this.#by('e')?.focus()
    else this.#rejectWithWords()
  }

  async always() {
    const label = this.question.options.find((option) => option.id === 'always')?.label
    const named =
      label && !/^(always|allow always|always allow)$/i.test(label.trim())
        ? ` It calls this “${label}”.`
        : ''
    const yes = await confirm({
      title: 'Always allow this?',
      text: `It will not ask again for this and whatever its agent counts as the same.${named}`,
      subject: this.subject,
      yes: 'Always allow',
      no: 'Back',
    })
    if (yes !== undefined) this.send('always')
  }

  async #rejectWithWords() {
    const { takes_words } = this.question
    const words = await confirm({
      title: 'Reject, and say why',
      text: takes_words
        ? 'The helper reads this and goes on.'
        : 'Its agent takes no words with a rejection. What you write is kept, and you can send it ' +
          'as its next message when this run has ended.',
      subject: this.subject,
      words: 'What it should do instead',
      yes: 'Reject',
      no: 'Back',
    })
    if (words === undefined) return
    const why = words.trim()
    if (takes_words || !why) return this.send({ reject: why || null })
    if (await this.send({ reject: null }, ' It has not read your words: they are kept.')) {
      this.keep(why)
    }
  }

  /** @param {Reply} reply @param {string} [more] what is said besides of an answer that was taken */
  async send(reply, more = '') {
    if (this.#busy) return false
    this.#busy = true
    this.node.setAttribute('aria-busy', 'true')
    say(this.#said, 'Telling it…')
    try {
      const { said } = await ask(taskPath(this.task, 'answer'), {
        question: this.question.id,
        reply,
      })
      say(this.#said, 'It has your answer.')
      tell(said + more)
      return true
    } catch (error) {
      this.#busy = false
      this.node.removeAttribute('aria-busy')
      const why = sentence(error)
      this.#said.replaceChildren(...withCode(why))
      // With its question the card may have gone.
      if (!this.node.isConnected) tell(why)
      return false
    }
  }
}
