// Light and dark: as the system has it, or as this person wants it.

const WANTED = 'legwork.theme'
const ALL = ['system', 'light', 'dark']

/** @param {HTMLElement} button */
export function theme(button) {
  const show = () => {
    const now = localStorage.getItem(WANTED) ?? 'system'
    if (now === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = now
    const name = `Colours: ${now === 'system' ? 'as the system' : now}`
    button.setAttribute('aria-label', name)
    button.title = name
  }
  button.addEventListener('click', () => {
    const now = ALL.indexOf(localStorage.getItem(WANTED) ?? 'system')
    localStorage.setItem(WANTED, ALL[(now + 1) % ALL.length])
    show()
  })
  addEventListener('storage', show)
  show()
}
