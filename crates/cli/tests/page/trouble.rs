//! What goes away and comes back: the daemon, the front, the tab.

use crate::stage::Stage;

#[test]
fn v8_a_task_is_on_the_page_as_soon_as_it_is_launched() {
    let stage = Stage::new();
    let page = stage.open();
    let task = stage.launch("say hello");
    page.wait_for(&format!("document.body.innerText.includes('{task}')"));
}
