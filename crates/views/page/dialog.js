// Questions of the page to the person, before what cannot be taken back.

import { byId, say } from './dom.js'
import { typed } from './typing.js'

/** Gives back what the dialog was left with. */
let settle = () => {}

/**
 * Asks, and gives back the words that were written ('' if none were asked for), or nothing if the
 * answer was no. The way back has the focus: a key that was meant for something else does nothing.
 * @param {{ title: string, text: string, subject?: string, words?: string, yes: string,
 *   no: string }} what
 * @returns {Promise<string | undefined>}
 */
export function confirm({ title, text, subject, words, yes, no }) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('ask'))
  if (dialog.open) return Promise.resolve(undefined)
  // A dialog is told later that it was closed: the one before may not have been told yet.
  settle()
  say(byId('ask-title'), title)
  say(byId('ask-text'), text)
  say(byId('ask-subject'), subject ?? '')
  byId('ask-subject').hidden = !subject
  say(byId('ask-words-name'), words ?? '')
  byId('ask-label').hidden = !words
  byId('ask-words').value = ''
  say(byId('ask-yes'), yes)
  say(byId('ask-no'), no)
  dialog.returnValue = 'no'
  dialog.showModal()
  byId(words ? 'ask-words' : 'ask-no').focus()
  return new Promise((answer) => {
    settle = () => {
      settle = () => {}
      if (words) typed()
      answer(dialog.returnValue === 'yes' ? byId('ask-words').value : undefined)
    }
    dialog.onclose = () => dialog.open || settle()
  })
}

/** Whether a dialog is in front, which takes all keys. */
export const isAsking = () => Boolean(document.querySelector('dialog[open]'))

/** @type {number | undefined} */ let fading

/** Says for a moment that something was done, or why not. @param {string} text */
export function tell(text) {
  const told = byId('told')
  say(told, text)
  told.dataset.shown = 'true'
  clearTimeout(fading)
  fading = setTimeout(() => {
    delete told.dataset.shown
    say(told, '')
  }, 6000)
}
