// The keys, the same as in `legwork top`. They are off in inputs and while a dialog asks.

import { isAsking } from './dialog.js'
import { byId, make } from './dom.js'

/** @typedef {{ keys: string[], shown: string, text: string, act: (event: KeyboardEvent) => void }} Key */

/** Whether a key here is a letter of a text. @param {EventTarget | null} target */
const isInput = (target) => target instanceof Element && target.matches('input, textarea, select, [contenteditable]')

/** @param {Key[]} all */
export function listen(all) {
  const byKey = new Map(all.flatMap((key) => key.keys.map((name) => /** @type {[string, Key]} */ ([name, key]))))
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    if (isAsking()) return
    if (isInput(event.target)) {
      if (event.key === 'Escape') /** @type {HTMLElement} */ (event.target).blur()
      return
    }
    byKey.get(event.key)?.act(event)
  })
  const rows = all.flatMap((key) => [make('dt', {}, ...key.shown.split(' ').map((one) => make('kbd', {}, one))), make('dd', {}, key.text)])
  byId('keys-list').replaceChildren(...rows)
}

export function help() {
  byId('keys').showModal()
}
