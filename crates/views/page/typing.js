// When somebody typed last. Keys that answer do nothing while a text may still be on its way: its
// letters would be answers. While nobody has ended it, no letter is a key.

import { TYPED_MS } from './limits.js'

let last = -Infinity
let lastOpen = -Infinity
/** Whether the last thing that was done ends a text: whoever does it means what comes next. */
let ends = false

/** A text is expected, or was until now. */
export const typed = () => {
  last = performance.now()
}

/** A text is expected that nothing takes, or a letter of one came. */
export const typesOn = () => {
  typed()
  lastOpen = last
}

export const mayBeTyping = () => performance.now() - last < TYPED_MS

/** Whether letters belong to a text that nobody has ended. */
export const typesStill = () => performance.now() - lastOpen < TYPED_MS

/** Whether keys here are letters of a text. @param {EventTarget | null} target */
export const isInput = (target) =>
  target instanceof Element && target.matches('input, textarea, select')

/** An input that loses the focus may do so under somebody's hands. */
export function watchInputs() {
  const watch = (/** @type {Event} */ event) => {
    ends = !(event instanceof KeyboardEvent) || ['Enter', 'Escape', 'Tab'].includes(event.key)
  }
  for (const name of ['keydown', 'pointerdown']) addEventListener(name, watch, true)
  addEventListener('focusout', (event) => isInput(event.target) && leftInput())
}

/** An input is not there any more. */
export const leftInput = () => (ends ? typed() : typesOn())
