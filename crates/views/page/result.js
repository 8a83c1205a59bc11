// The result of a task's last run, as Markdown.

import { ask, sentence, taskPath } from './api.js'
import { button, byId, make, withCode } from './dom.js'
import { blocks } from './markdown.js'

/** Pages of a result that are read to copy it: it has 4 MB at most. */
const PAGES_MAX = 400

export class Result {
  /** @type {string | undefined} */ task
  #is = ''
  #pane = byId('pane-result')

  /** @param {import('./store.js').Item} item */
  show({ task, row }) {
    const is = `${task.id} ${task.resumes} ${row.state}`
    if (is === this.#is) return
    this.#is = is
    this.task = task.id
    if (row.group !== 'finished') {
      return this.#say('There is no result yet. The third tab says what the task waits for.')
    }
    this.#say('Reading the result…')
    this.#read(task.id, is, 0, make('div', { class: 'md' }), task.reason)
  }

  /**
   * @param {string} id
   * @param {string} is what was asked for; something else may be wanted when the answer comes
   * @param {number} offset
   * @param {HTMLElement} body
   * @param {string} [reason]
   */
  async #read(id, is, offset, body, reason) {
    try {
      const page = await ask(taskPath(id, 'result', { offset: String(offset) }))
      if (is !== this.#is) return
      if (offset === 0) {
        this.#pane.replaceChildren(body)
        if (reason) body.append(make('p', { class: 'bad' }, reason))
        if (!page.text && !reason) return this.#say('It ended without a result.')
      }
      body.append(...blocks(page.blocks ?? []))
      if (page.next) body.append(this.#more(() => this.#read(id, is, page.next, body)))
    } catch (error) {
      if (is !== this.#is) return
      this.#is = ''
      this.#say(sentence(error))
    }
  }

  /** @param {() => void} then */
  #more(then) {
    const more = button('Show the rest', '', () => {
      more.remove()
      then()
    })
    return more
  }

  /** @param {string} text */
  #say(text) {
    this.#pane.replaceChildren(make('p', { class: 'note' }, ...withCode(text)))
  }

  /** All of it, as it was written. @param {string} id */
  async whole(id) {
    let text = ''
    let offset = 0
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const part = await ask(taskPath(id, 'result', { offset: String(offset) }))
      text += part.text ?? ''
      if (!part.next) break
      offset = part.next
    }
    return text
  }
}
