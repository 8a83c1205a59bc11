// The form for a new task. What was written stays until it was launched.

import { ask, sentence } from './api.js'
import { tell } from './dialog.js'
import { byId, make, withCode } from './dom.js'
import { typed } from './typing.js'

/** What this person launched with last; it stays in their browser. */
const LAST = 'legwork.launch'
/** It follows a script and so helps only whoever wants to try. */
const SCRIPTED = { name: 'rehearsal', purpose: 'follows a script' }

/**
 * @typedef {{ name: string, purpose: string }} Agent
 * @typedef {{ path: string, project: string }} Folder
 * @typedef {{ agent?: string, folder?: string }} Choice
 */

export class Launch {
  #dialog = /** @type {HTMLDialogElement} */ (byId('launch'))
  #busy = false

  /** @param {() => Choice} near what the task in sight has @param {(id: string) => void} open */
  constructor(near, open) {
    this.near = near
    this.open = open
    byId('new').addEventListener('click', () => this.show())
    byId('launch-back').addEventListener('click', () => this.#dialog.close())
    byId('launch-form').addEventListener('submit', (/** @type {Event} */ event) => {
      event.preventDefault()
      this.#send()
    })
    this.#dialog.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#send()
    })
    this.#dialog.addEventListener('close', typed)
  }

  async show() {
    if (this.#dialog.open) return
    this.#say('')
    this.#dialog.showModal()
    byId('launch-prompt').focus()
    try {
      this.#offer(await ask('/api/launch'))
    } catch (error) {
      this.#say(sentence(error))
    }
  }

  /** @param {{ agents: Agent[], folders: Folder[] }} choices */
  #offer({ agents, folders }) {
    const last = read()
    const near = this.near()
    const option = (/** @type {string} */ value, /** @type {string} */ text) =>
      make('option', { value }, text)
    byId('launch-agent').replaceChildren(
      ...[...agents, SCRIPTED].map(({ name, purpose }) =>
        option(name, purpose ? `${name}: ${purpose}` : name),
      ),
    )
    byId('launch-folder').replaceChildren(
      ...folders.map(({ path, project }) => option(path, `${project}  ${path}`)),
    )
    choose('launch-agent', [last.agent, near.agent])
    choose('launch-folder', [near.folder, last.folder])
    if (!agents.length) {
      this.#say('Only the scripted agent was found here. `legwork agents` says how to add another.')
    }
  }

  async #send() {
    const [prompt, agent, folder, description] = ['prompt', 'agent', 'folder', 'description'].map(
      (name) => String(byId(`launch-${name}`).value),
    )
    if (!prompt.trim()) return byId('launch-prompt').focus()
    if (this.#busy) return
    this.#busy = true
    this.#say('Launching…')
    try {
      const { item } = await ask('/api/launch', { prompt, agent, folder, description })
      localStorage.setItem(LAST, JSON.stringify({ agent, folder }))
      for (const name of ['prompt', 'description']) byId(`launch-${name}`).value = ''
      this.#dialog.close()
      tell(`Launched “${item.task.description}”.`)
      this.open(item.task.id)
    } catch (error) {
      this.#say(sentence(error))
    } finally {
      this.#busy = false
    }
  }

  /** @param {string} text */
  #say(text) {
    byId('launch-said').replaceChildren(...withCode(text))
  }
}

/** Chooses the first of these that is offered. @param {string} id @param {(string | undefined)[]} all */
function choose(id, all) {
  const select = /** @type {HTMLSelectElement} */ (byId(id))
  const offered = [...select.options].map((option) => option.value)
  const found = all.find((one) => one !== undefined && offered.includes(one))
  if (found !== undefined) select.value = found
}

/** @returns {Choice} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(LAST) ?? '{}') ?? {}
  } catch {
    return {}
  }
}
