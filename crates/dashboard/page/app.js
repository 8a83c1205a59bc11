// The page of `legwork ui`: enters with a code, follows the board, and shows one task.

import { Stream, enter, hasToken, onNewToken, rest, sentence, ask, taskPath, wake } from './api.js'
import { Board } from './board.js'
import { Detail, TABS, clearFinished } from './detail.js'
import { tell } from './dialog.js'
import { button, byId, copy, make, say, withCode } from './dom.js'
import { Filter } from './filter.js'
import { help, listen } from './keys.js'
import { ASLEEP_MS, FLUSH_MS, HIDDEN_MS, NEW_QUESTION_MS } from './limits.js'
import { Opened } from './opened.js'
import { Store } from './store.js'
import { Telling } from './telling.js'
import { theme } from './theme.js'
import { clock } from './words.js'

const { body } = document
const narrow = matchMedia('(max-width: 760px)')
const store = new Store()
const opened = new Opened()
const filter = new Filter(store, () => schedule())
const board = new Board(store, {
  unread: (item) => !opened.has(item),
  nearEnd: () => filter.more(),
  clear: () => clearFinished(store.counts),
})
const detail = new Detail(store)
const telling = new Telling((id) => (location.hash = id), tell)
board.keep = (item) => filter.keeps(item)

/** Whether the task is in front where there is room for one thing only. */
let inFront = false
/** The selected task when it was last seen, and the number of its row. @type {string | undefined} */
let known
let place = 0

// ---- which task ----

/** The task that the address names. */
const named = () => location.hash.match(/^#(bg_[0-9a-z]{8})$/)?.[1]

function route() {
  const id = named()
  inFront = Boolean(id)
  if (id) select(id)
  else settle()
}

/** @param {string} id */
function select(id) {
  board.select(id)
  if (!store.get(id)) lookUp(id)
  settle()
  board.reveal(id, false)
}

/** A task that is not on the board: an old one, by its address. @param {string} id */
async function lookUp(id) {
  if (store.asOf === undefined) return
  try {
    const { item } = await ask(taskPath(id))
    if (board.selected !== id) return
    store.single = item
  } catch (error) {
    if (board.selected !== id) return
    tell(sentence(error))
    board.select(undefined)
  }
  schedule()
}

/** Moves along the list. @param {number} by */
function move(by) {
  const id = board.neighbour(by)
  if (!id) return
  if (inFront || (!narrow.matches && body.dataset.view === 'list')) {
    history.replaceState(null, '', `#${id}`)
  }
  select(id)
  board.reveal(id, true)
}

/** Brings the task to the front. */
function open() {
  if (!board.selected) return
  if (named() !== board.selected) history.pushState(null, '', `#${board.selected}`)
  route()
  byId('title').focus()
}

/** Goes back to the list. */
function back() {
  const id = board.selected
  if (named()) history.pushState(null, '', location.pathname)
  inFront = false
  settle()
  if (id) board.reveal(id, true)
}

/** @param {string} view */
function setView(view) {
  body.dataset.view = view
  for (const one of ['list', 'timeline']) byId(`view-${one}`).setAttribute('aria-pressed', String(one === view))
  if (view === 'timeline') inFront = false
  board.measure()
  settle()
  schedule()
}

/** Shows the selected task where there is room for it, and lets go of it where there is not. */
function settle() {
  const seen = inFront || (!narrow.matches && body.dataset.view === 'list')
  const item = seen ? store.get(board.selected) : undefined
  if (item?.task.id !== detail.item?.task.id) detail.open(item)
  else if (item) detail.update(item)
  body.toggleAttribute('data-open', inFront && Boolean(item))
  byId('nothing').hidden = Boolean(item)
  if (item && document.visibilityState === 'visible' && opened.add(item)) board.select(board.selected)
}

// ---- drawing, four times a second at most ----

/** @type {ReturnType<typeof setTimeout> | undefined} */ let due
let drawn = 0

function schedule() {
  due ??= setTimeout(draw, Math.max(0, FLUSH_MS - (performance.now() - drawn)))
}

function draw() {
  due = undefined
  drawn = performance.now()
  board.flush()
  keepSelected()
  filter.show(board.items)
  settle()
  const { asking, working, queued, completed, failed, cancelled } = store.counts
  const any = asking + working + queued + completed + failed + cancelled
  if (store.asOf !== undefined && body.dataset.state !== 'closed') setState(any ? 'live' : 'empty')
  telling.count(asking)
  body.toggleAttribute('data-asking', asking > 0)
}

/** A task is selected as long as there is one: if it goes, the one in its place is next. */
function keepSelected() {
  const items = board.items
  if (store.get(board.selected)) {
    known = board.selected
    place = Math.max(0, items.findIndex((item) => item.task.id === known))
    return
  }
  // The address names a task that is only being looked up.
  if (board.selected && board.selected !== known) return
  if (named()) history.replaceState(null, '', location.pathname)
  inFront = false
  board.select(items[known ? Math.min(place, items.length - 1) : 0]?.task.id)
}

setInterval(() => {
  if (document.visibilityState !== 'visible') return
  board.tick()
  detail.tick()
}, 1000)

// ---- the stream ----

const COMMANDS = ['legwork run "find out why test_login is flaky"', 'legwork install opencode', 'legwork demo']

/** @param {string} state */
function setState(state) {
  if (body.dataset.state === state) return
  body.dataset.state = state
  byId('empty').hidden = !['empty', 'closed'].includes(state)
  byId('board').hidden = !byId('empty').hidden
  if (!byId('empty').hidden) detail.open(undefined)
  if (state === 'empty') {
    say(byId('empty-title'), 'Nobody is out on an errand')
    say(byId('empty-text'), 'When an agent hands work to a background helper, it appears here, live, and stays until you clear it.')
    commands(COMMANDS)
  }
}

/** @param {string[]} all */
function commands(all) {
  const line = (/** @type {string} */ command) => {
    const copies = button('Copy', 'quiet', (event) => copy(command, /** @type {HTMLElement} */ (event.currentTarget)))
    copies.setAttribute('aria-label', `Copy ${command}`)
    return make('li', {}, make('code', {}, command), copies)
  }
  byId('empty-commands').replaceChildren(...all.map(line))
}

/** The way in is closed: what is shown stays, and how to open it again is said. @param {string} text */
function close(text) {
  live('closed')
  telling.count(0, true)
  if (store.asOf !== undefined) return trouble(text)
  setState('closed')
  say(byId('empty-title'), 'This page is closed')
  byId('empty-text').replaceChildren(...withCode(text))
  commands(['legwork ui'])
}

/** @param {string} word */
function live(word) {
  say(byId('live-word'), word)
  byId('live').dataset.is = word
}

/** Says what is wrong, and how old it is what is shown. @param {string} text */
function trouble(text) {
  byId('trouble').hidden = !text
  byId('trouble-what').replaceChildren(...withCode(text))
  const shown = store.asOf === undefined ? '' : `Shown is what was so at ${clock(store.asOf)}.`
  say(byId('trouble-shown'), byId('live').dataset.is === 'live' ? '' : shown)
}

/** What is wrong with the daemon's records, though it answers. */
function sorrow() {
  if (!store.healthy) return 'legwork cannot save its records (the disk may be full) and takes on nothing new. Make room; it goes on by itself.'
  return store.incomplete ? 'Some earlier records could not be read, and their tasks are not shown. `legwork doctor` says more.' : ''
}

const stream = new Stream(
  '/api/board',
  {
    event(name, data) {
      if (name === 'trouble') {
        live('waiting')
        trouble(data.error)
        return
      }
      if (name !== 'board') return
      const first = store.asOf === undefined
      const news = store.take(data)
      live('live')
      trouble(sorrow())
      if (first) route()
      // Of what was read page by page, some may be gone.
      if (data.whole && !first) for (const list of [store.older, store.found]) list?.again().then(schedule, () => {})
      for (const id of news) telling.news(/** @type {any} */ (store.get(id)))
      schedule()
    },
    lost(error) {
      live('reconnecting')
      trouble(sentence(error))
    },
    refused: (error) => close(error.message),
  },
  true,
)

async function start() {
  const code = location.hash.match(/^#code=(.+)$/)?.[1]
  if (code) {
    // Nobody is to find it in the address bar or the history.
    history.replaceState(null, '', location.pathname)
    try {
      await enter(decodeURIComponent(code))
    } catch (error) {
      // A page that is open already has a token that may be good.
      if (!hasToken()) return close(sentence(error))
    }
  }
  if (!hasToken()) return close('Run `legwork ui` again: it opens this page with a key of its own.')
  stream.start()
}

onNewToken(() => {
  if (body.dataset.state === 'closed') setState('loading')
  stream.start()
})

// ---- out of sight, and asleep ----

/** @type {ReturnType<typeof setTimeout> | undefined} */ let hiding

document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding)
  if (document.visibilityState === 'hidden') {
    hiding = setTimeout(() => {
      rest((one) => !(one.vital && telling.wanted))
      if (stream.resting) telling.count(store.counts.asking, true)
    }, HIDDEN_MS)
  } else {
    wake(false)
    schedule()
  }
})

let ticked = Date.now()
setInterval(() => {
  const jumped = Date.now() - ticked > ASLEEP_MS
  ticked = Date.now()
  if (jumped && document.visibilityState === 'visible') wake(true)
}, 5000)

// ---- controls ----

byId('back').addEventListener('click', back)
byId('view-list').addEventListener('click', () => setView('list'))
byId('view-timeline').addEventListener('click', () => setView('timeline'))
byId('scale').addEventListener('change', () => board.setScale(Number(byId('scale').value)))
narrow.addEventListener('change', () => {
  board.measure()
  schedule()
})
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#code=')) start()
  else route()
})
addEventListener('popstate', route)

/** An answer by a key. @param {string} key @param {(card: import('./question.js').Card) => void} act */
function answer(key, act) {
  const card = detail.card
  if (card?.takesKeys && card.offers(key)) act(card)
}

/** The arrows scroll a pane that has the focus. @param {KeyboardEvent} event @param {number} by */
function arrow(event, by) {
  if (event.key.startsWith('Arrow') && event.target instanceof Element && event.target.closest('.detail')) return
  event.preventDefault()
  move(by)
}

listen([
  { keys: ['j', 'ArrowDown'], shown: 'j ↓', text: 'the next task', act: (event) => arrow(event, 1) },
  { keys: ['k', 'ArrowUp'], shown: 'k ↑', text: 'the task before', act: (event) => arrow(event, -1) },
  {
    keys: ['Enter'],
    shown: 'Enter',
    text: 'open the task',
    act: (event) => {
      const target = /** @type {Element} */ (event.target)
      if (target !== body && target !== board.node && !target.matches('.row')) return
      event.preventDefault()
      if (target.matches('.row')) board.select(target.getAttribute('href')?.slice(1))
      open()
    },
  },
  { keys: ['Escape'], shown: 'Esc', text: 'back to the list; out of an input', act: () => (inFront || !filter.clear() ? back() : undefined) },
  ...TABS.map((tab, at) => ({ keys: [String(at + 1)], shown: String(at + 1), text: ['the conversation', 'the result', 'why it is not done, or what happened'][at], act: () => detail.item && detail.show(tab) })),
  { keys: ['o'], shown: 'o', text: 'allow once', act: () => answer('o', (card) => card.send('once')) },
  {
    keys: ['w'],
    shown: 'w',
    text: 'always allow; asks first',
    act: () => performance.now() - detail.conversation.written > NEW_QUESTION_MS && answer('w', (card) => card.always()),
  },
  { keys: ['r'], shown: 'r', text: 'reject', act: () => answer('r', (card) => card.send({ reject: null })) },
  {
    keys: ['e'],
    shown: 'e',
    text: 'reject, and say why',
    act: (event) => {
      event.preventDefault()
      answer('e', (card) => card.rejectWithWords())
    },
  },
  { keys: ['x'], shown: 'x', text: 'cancel the task; asks first', act: () => detail.cancel() },
  {
    keys: ['c'],
    shown: 'c',
    text: 'go on with a finished task',
    act: (event) => {
      if (!detail.item || byId('resume-form').hidden) return
      event.preventDefault()
      byId('resume').focus()
    },
  },
  { keys: ['g'], shown: 'g', text: 'timeline or list', act: () => setView(body.dataset.view === 'list' ? 'timeline' : 'list') },
  { keys: ['f'], shown: 'f', text: 'follow the conversation', act: () => detail.conversation.follow() },
  {
    keys: ['/'],
    shown: '/',
    text: 'find a task',
    act: (event) => {
      event.preventDefault()
      byId('find').focus()
    },
  },
  { keys: ['?'], shown: '?', text: 'these keys', act: help },
])

const HINTS = [['j k', 'tasks'], ['1 2 3', 'tabs'], ['x', 'cancel'], ['/', 'find'], ['?', 'all keys']]
byId('hints').append(...HINTS.map(([keys, text]) => make('span', {}, ...keys.split(' ').map((key) => make('kbd', {}, key)), ` ${text}`)))
theme(byId('theme'))
board.setScale(30)
start()
