// What the page is as a whole: live, empty, closed, or in trouble; and how old what it shows is.

import { button, byId, copy, make, say, withCode } from './dom.js'
import { clock } from './words.js'

const COMMANDS = [
  'legwork run "find out why test_login is flaky"',
  'legwork install opencode',
  'legwork demo',
]

/** loading, live, empty, or closed. @param {string} state */
export function setState(state) {
  if (document.body.dataset.state === state) return
  document.body.dataset.state = state
  const nothing = ['empty', 'closed'].includes(state)
  byId('empty').hidden = !nothing
  byId('board').hidden = nothing
  if (state === 'empty') {
    say(byId('empty-title'), 'Nobody is out on an errand')
    const what = 'When an agent hands work to a background helper, it appears here, live'
    say(byId('empty-text'), `${what}, and stays until you clear it.`)
    commands(COMMANDS)
  }
}

export const state = () => document.body.dataset.state

/** Nothing can be shown, and how to open the page again is said. @param {string} text */
export function closed(text) {
  setState('closed')
  say(byId('empty-title'), 'This page is closed')
  byId('empty-text').replaceChildren(...withCode(text))
  commands(['legwork ui'])
}

/** @param {string[]} all */
function commands(all) {
  const line = (/** @type {string} */ command) => {
    const copies = button('Copy', 'quiet', (event) =>
      copy(command, /** @type {any} */ (event.target)),
    )
    copies.setAttribute('aria-label', `Copy ${command}`)
    return make('li', {}, make('code', {}, command), copies)
  }
  byId('empty-commands').replaceChildren(...all.map(line))
}

/** How the page hears of news: live, waiting for the daemon, reconnecting, closed. */
export function isLive() {
  return byId('live').dataset.is === 'live'
}

/**
 * @param {string} word
 * @param {string} text what is wrong, if something is
 * @param {number | undefined} asOf when it was so what is shown
 */
export function tellLive(word, text, asOf) {
  byId('live').dataset.is = word
  say(byId('live-word'), word)
  byId('trouble').hidden = !text
  byId('trouble-what').replaceChildren(...withCode(text))
  const shown = asOf && word !== 'live' ? `Last updated at ${clock(asOf)}.` : ''
  say(byId('trouble-shown'), shown)
}

/**
 * What is wrong with the daemon's records, though it answers.
 * @param {{ healthy: boolean, incomplete: boolean }} store
 */
export function sorrow({ healthy, incomplete }) {
  if (!healthy) {
    const what = 'legwork cannot save its records (the disk may be full) and takes on nothing new.'
    return `${what} Make room; it goes on by itself.`
  }
  const what = 'Some earlier records could not be read, and their tasks are not shown.'
  return incomplete ? `${what} \`legwork doctor\` says more.` : ''
}
