// When somebody typed last. Keys that answer do nothing while a text may still be on its way: its
// letters would be answers.

import { TYPED_MS } from './limits.js'

let last = -Infinity

/** A text is expected, or a letter of one came. */
export const typed = () => {
  last = performance.now()
}

export const mayBeTyping = () => performance.now() - last < TYPED_MS

/** Whether keys here are letters of a text. @param {EventTarget | null} target */
export const isInput = (target) =>
  target instanceof Element && target.matches('input, textarea, select')

/** An input that loses the focus may do so under somebody's hands. */
export function watchInputs() {
  addEventListener('focusout', (event) => isInput(event.target) && typed())
}
