// The page of `legwork ui`: enters with a code, follows the board, and shows one task.

import { Stream, enter, hasToken, onNewToken, rest, sentence, ask, taskPath, wake } from './api.js'
import { Board } from './board.js'
import { Detail, clearFinished } from './detail.js'
import { tell } from './dialog.js'
import { byId } from './dom.js'
import { Filter } from './filter.js'
import { listenToKeys } from './keys.js'
import { ASLEEP_MS, FLUSH_MS, HIDDEN_CONVERSATION_MS, HIDDEN_MS } from './limits.js'
import { Launch } from './launch.js'
import { Opened } from './opened.js'
import { closed, isLive, setState, sorrow, state, tellLive } from './states.js'
import { Store } from './store.js'
import { Telling } from './telling.js'
import { theme } from './theme.js'

const { body } = document
const narrow = matchMedia('(max-width: 760px)')
const store = new Store()
const opened = new Opened()
const filter = new Filter(store, () => schedule())
const board = new Board(store, {
  unread: (item) => !opened.has(item),
  nearEnd: () => filter.more(),
  clear: () => clearFinished(store),
})
const detail = new Detail(store)
const launch = new Launch(
  () => {
    const task = store.get(board.selected)?.task
    return task ? { agent: task.agent, folder: task.directory } : {}
  },
  (id) => (location.hash = id),
)
const telling = new Telling((id) => (location.hash = id), tell)
board.keep = (/** @type {import('./store.js').Item} */ item) => filter.keeps(item)

/** What this person groups tasks by; it stays in their browser. */
const GROUPING = 'legwork.grouping'

/** Whether the task is in front where there is room for one thing only. */
let inFront = false
/** The selected task when it was last seen. @type {string | undefined} */
let known
/** The number of its row: if it goes, the one in its place is next. */
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

/** Whether a task hides the list, or a part of it. */
const covers = () => inFront && (narrow.matches || body.dataset.view === 'timeline')

/** Goes back to the list. */
function back() {
  if (covers()) {
    history.pushState(null, '', location.pathname)
    inFront = false
    settle()
  }
  if (board.selected) board.reveal(board.selected, true)
}

/** @param {string} view */
function setView(view) {
  body.dataset.view = view
  for (const one of ['list', 'timeline'])
    byId(`view-${one}`).setAttribute('aria-pressed', String(one === view))
  if (view === 'timeline') inFront = false
  board.measure()
  settle()
  schedule()
}

/** Shows the selected task where there is room for it, and lets go of it where there is not. */
function settle() {
  const room = inFront || (!narrow.matches && body.dataset.view === 'list')
  const item = room && state() === 'live' ? store.get(board.selected) : undefined
  if (item?.task.id !== detail.item?.task.id) detail.open(item)
  else if (item) detail.update(item)
  body.toggleAttribute('data-open', inFront && Boolean(item))
  byId('nothing').hidden = Boolean(item)
  if (item && document.visibilityState === 'visible' && opened.add(item))
    board.select(board.selected)
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
  const { asking, working, queued, completed, failed, cancelled } = store.counts
  const any = asking + working + queued + completed + failed + cancelled
  if (store.asOf !== undefined) setState(any ? 'live' : 'empty')
  board.flush()
  keepSelected()
  filter.show(board.items)
  settle()
  telling.count(asking)
  body.toggleAttribute('data-asking', asking > 0)
}

/** A task is selected as long as there is one: if it goes, the one in its place is next. */
function keepSelected() {
  const items = board.items
  if (store.get(board.selected)) {
    known = board.selected
    const at = items.findIndex((item) => item.task.id === known)
    place = Math.max(0, at)
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

/** The way in is closed: what is shown stays, and how to open it again is said. */
function close(/** @type {string} */ text) {
  telling.count(0, true)
  tellLive('closed', store.asOf === undefined ? '' : text, store.asOf)
  if (store.asOf === undefined) closed(text)
}

const stream = new Stream(
  '/api/board',
  {
    event(name, data) {
      if (name === 'trouble') tellLive('waiting', data.error, store.asOf)
      if (name !== 'board') return
      const first = store.asOf === undefined
      const news = store.take(data)
      tellLive('live', sorrow(store), store.asOf)
      if (first) route()
      // Of what was read page by page, some may be gone.
      const lists = data.whole && !first ? [store.older, store.found] : []
      for (const list of lists) list?.again().then(schedule, () => {})
      for (const id of news) telling.news(/** @type {any} */ (store.get(id)))
      schedule()
    },
    alive: () => isLive() && store.stillSo(),
    lost: (error) => tellLive('reconnecting', sentence(error), store.asOf),
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
  if (!hasToken()) return close('Run `legwork ui` again: it opens this page with a new code.')
  stream.start()
}

onNewToken(() => {
  if (state() === 'closed') setState('loading')
  stream.start()
})

// ---- out of sight, and asleep ----

/** @type {ReturnType<typeof setTimeout>[]} */ let hiding = []

document.addEventListener('visibilitychange', () => {
  hiding.forEach(clearTimeout)
  if (document.visibilityState === 'visible') {
    wake(false)
    schedule()
    return
  }
  // Browsers have six connections to a server, for all of its tabs together.
  const conversations = () => rest((one) => !one.vital)
  const all = () => {
    rest((one) => !(one.vital && telling.wanted))
    if (stream.resting) telling.count(store.counts.asking, true)
  }
  hiding = [setTimeout(conversations, HIDDEN_CONVERSATION_MS), setTimeout(all, HIDDEN_MS)]
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
byId('scale').addEventListener('change', () =>
  board.setScale(Number(byId('scale').value) || undefined),
)
byId('grouping').addEventListener('change', () => {
  localStorage.setItem(GROUPING, byId('grouping').value)
  board.setGrouping(byId('grouping').value)
})
narrow.addEventListener('change', () => {
  board.measure()
  schedule()
})
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#code=')) start()
  else route()
})
addEventListener('popstate', route)

listenToKeys({ board, detail, filter, launch, move, open, back, setView, covers })
theme(byId('theme'))
board.setScale(undefined)
byId('grouping').value = localStorage.getItem(GROUPING) ?? 'need'
board.setGrouping(byId('grouping').value)
start()
