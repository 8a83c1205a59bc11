//! What a tab shows, as the tests ask it.

use legwork_testkit::Page;
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
