// Every bound on what waits or grows in the page, with its reason.

/** Rows in the document at once: several screens of them, and layout stays cheap. */
export const ROWS_MAX = 240
/** Rows kept ready above and below what is seen, so that scrolling shows no holes. */
export const ROWS_AROUND = 60
/** Tasks asked for at once; the daemon gives no more than 200. */
export const PAGE_TASKS = 100
/** Older tasks that the page keeps; who looks for more than that finds it by searching. */
export const OLDER_MAX = 5000
/** How often rows are drawn at most: four times a second is live to the eye. */
export const FLUSH_MS = 250
/** Entries of a conversation in the document; `legwork transcript` has all of them. */
export const ENTRIES_MAX = 1500
/** The streams end after this time out of sight, and begin again when the page is seen. */
export const HIDDEN_MS = 60_000
/** A conversation that nobody sees is let go of sooner: it is work for the helper's host. */
export const HIDDEN_CONVERSATION_MS = 5_000
/** The server says something every 10 s; a stream that is silent for longer is dead. */
export const SILENT_MS = 25_000
/** A page whose clock jumped by so much was asleep, and what it shows is old. */
export const ASLEEP_MS = 20_000
/** First and longest pause before a lost stream is opened again. */
export const RETRY_FIRST_MS = 300
/** See RETRY_FIRST_MS. */
export const RETRY_MAX_MS = 8_000
/** A request that has no answer after this time is given up; the server's own bound is 30 s. */
export const REQUEST_MS = 40_000
/** A question that has just come takes no key: the key may have been meant for something else. */
export const NEW_QUESTION_MS = 500
/** A pause in typing that is longer than this ends the text: slow typists press a key a second. */
export const TYPED_MS = 1500
/** Ids of tasks that this person has opened, the newest; with 12 bytes each they stay small. */
export const OPENED_MAX = 4000
/** The pause after which typed words are searched for. */
export const SEARCH_MS = 200
/** A task that one only passes by is not asked for. */
export const SETTLE_MS = 120
