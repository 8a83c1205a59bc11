//! What a tab shows, as the tests ask it.

use legwork_testkit::Page;
use legwork_testkit::legwork::eventually;
use serde_json::json;

/// The row of a task, for a selector.
pub fn row(task: &str) -> String {
    format!("a.row[href='#{task}']")
}

/// In a script: the row of a task.
pub fn find(task: &str) -> String {
    format!("document.querySelector({})", json!(row(task)))
}

/// In a script: the group that a task stands in, by the words above it.
pub fn group(task: &str) -> String {
    format!(
        "(() => {{ let it = {}; while (it && !it.matches('.group')) it = it.previousElementSibling; \
         return it && it.querySelector('h2').innerText }})()",
        find(task)
    )
}

/// In a script: whether a text is read in an element.
pub fn reads(selector: &str, text: &str) -> String {
    let (selector, text) = (json!(selector), json!(text));
    format!("document.querySelector({selector})?.innerText.includes({text})")
}

/// In a script: whether an element can be seen.
pub fn seen(selector: &str) -> String {
    format!("document.querySelector({})?.checkVisibility() === true", json!(selector))
}

/// In a script: whether none of these can be seen.
pub fn unseen(selector: &str) -> String {
    format!("!({})", seen(selector))
}

/// For a page before it is opened: keeps what it tells, which fades after a while.
pub const TELLINGS: &str = "window.tellings = []; new MutationObserver(() => { \
     const told = document.querySelector('#told[data-shown]')?.innerText; \
     if (told && told !== window.tellings.at(-1)) window.tellings.push(told) }) \
     .observe(document, { subtree: true, childList: true, attributes: true })";

/// For a page before it is opened: its clock stands still at `window.at` from the moment at which
/// that is set.
pub const CLOCK: &str = "(() => { const real = performance.now.bind(performance); \
     performance.now = () => window.at ?? real() })()";

/// Presses a key so much later that what is there can have been read, and that no text is expected
/// any more.
pub fn key_later(page: &Page, key: &str) {
    page.eval("window.at = (window.at ?? performance.now()) + 2_000; null");
    page.key(key);
}

/// Has a key open its dialog. Whatever is written meanwhile makes it one that comes too early.
pub fn open_dialog(page: &Page, key: &str) {
    eventually("the dialog is open", || {
        key_later(page, key);
        (page.eval(&seen("#ask")) == true).then_some(())
    });
}

/// In a script: whether the page has told this.
pub fn tells(text: &str) -> String {
    format!("window.tellings.some((told) => told.includes({}))", json!(text))
}

/// Puts a task into the half for one.
#[track_caller]
pub fn choose(page: &Page, task: &str) {
    page.click(&row(task));
    page.wait_for(&reads("#task-id", task));
}

/// Clicks the element with this text among those that fit, once it can be seen: the buttons of a
/// closed dialog have their text too.
#[track_caller]
pub fn press(page: &Page, selector: &str, text: &str) {
    let (all, text) = (json!(selector), json!(text));
    page.wait_for(&format!(
        "(() => {{ const it = [...document.querySelectorAll({all})]\
         .find((one) => one.checkVisibility() && one.innerText.includes({text})); \
         if (!it) return false; it.dataset.pressed = 'now'; return true }})()"
    ));
    page.click("[data-pressed=now]");
    page.eval(
        "document.querySelectorAll('[data-pressed]').forEach((it) => delete it.dataset.pressed)",
    );
}
