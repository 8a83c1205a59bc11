// What is told to somebody who does not look: the title, the icon, and notices for who wants them.

import { byId, say } from './dom.js'

const WANTED = 'legwork.notices'

export class Telling {
  #bell = byId('bell')
  #asking = 0
  #resting = false

  /** @param {(id: string) => void} open @param {(text: string) => void} tell */
  constructor(open, tell) {
    this.open = open
    this.tell = tell
    this.#bell.addEventListener('click', () => this.#toggle())
    this.#show()
  }

  get wanted() {
    return (
      'Notification' in window &&
      Notification.permission === 'granted' &&
      localStorage.getItem(WANTED) === 'yes'
    )
  }

  async #toggle() {
    if (this.wanted) localStorage.removeItem(WANTED)
    else if (
      !('Notification' in window) ||
      (await Notification.requestPermission()) !== 'granted'
    ) {
      this.tell(
        'This browser blocks notifications of this page. Allow them in its settings for 127.0.0.1.',
      )
    } else {
      localStorage.setItem(WANTED, 'yes')
      this.tell('You are notified when a helper asks or fails while this page is out of sight.')
    }
    this.#show()
  }

  #show() {
    const name = this.wanted
      ? 'Notifications are on: questions and failures'
      : 'Notify me of questions and failures'
    this.#bell.setAttribute('aria-pressed', String(this.wanted))
    this.#bell.setAttribute('aria-label', name)
    this.#bell.title = name
  }

  /** @param {number} asking @param {boolean} [resting] whether the daemon is not asked now */
  count(asking, resting = false) {
    if (asking === this.#asking && resting === this.#resting) return
    this.#asking = asking
    this.#resting = resting
    document.title = resting ? 'legwork, paused' : asking ? `(${asking}) legwork` : 'legwork'
    byId('icon').href = asking && !resting ? 'icon-asks.svg' : 'icon.svg'
  }

  /** Something asks or failed. @param {import('./store.js').Item} item */
  news({ task, row }) {
    const what = row.state === 'asks' ? 'asks you' : 'failed'
    // Read aloud, once; the rest of the page speaks only when one goes there.
    say(byId('news'), `${task.description} ${what}: ${row.line}`)
    if (!this.wanted || document.visibilityState === 'visible') return
    const notice = new Notification(`${task.description} ${what}`, { body: row.line, tag: task.id })
    notice.onclick = () => {
      window.focus()
      this.open(task.id)
      notice.close()
    }
  }
}
