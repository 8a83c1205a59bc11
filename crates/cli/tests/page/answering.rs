//! A yes means what was asked: what keys do while somebody types, and what is said of an answer.

use legwork_testkit::Page;
use legwork_testkit::legwork::Host;
use serde_json::json;

use crate::look::{choose, key_later, open_dialog, press, reads, row, seen, tells, unseen};
use crate::stage::Stage;

/// In a script: presses keys as fast as somebody types.
const PRESS: &str = "window.press = (keys) => { for (const key of keys) (document.activeElement ?? \
     document.body).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, \
     cancelable: true })) }";

/// In a script: whether an answer is under way.
const ANSWERS: &str = "Boolean(document.querySelector('.ask-card[aria-busy]'))";

fn opened(stage: &Stage) -> Page {
    stage.open_with(&[PRESS])
}

/// In a script: whether a dialog is open, or a text is expected.
const OPENS: &str = "Boolean(document.querySelector('dialog[open]')) || \
     document.activeElement.matches('input, textarea')";

fn result(stage: &Stage, task: &str) -> String {
    stage.until(task, "it is over", |task| !task["ended"].is_null());
    stage.run(&["output", task]).with_code(0).out
}

#[test]
fn p11_e_opens_an_input_where_the_agent_takes_no_words_and_they_wait_for_its_end() {
    let stage = Stage::new();
    let page = opened(&stage);
    let task = stage.launch("ask to delete everything");
    page.wait_for(&reads(".ask-card", "to delete everything"));
    open_dialog(&page, "e");
    assert_eq!(page.eval("document.activeElement.id"), "ask-words");
    // What becomes of the words is said before they are written.
    page.wait_for(&reads("#ask-text", "takes no words"));
    for key in ["n", "o"] {
        page.key(key);
    }
    page.type_text(", say hello instead");
    press(&page, "#ask button", "Reject");
    page.wait_for(&tells("Rejected: to delete everything"));
    page.wait_for(&tells("your words"));
    let told = result(&stage, &task);
    assert!(told.contains("Not allowed: to delete everything"), "{told}");
    page.wait_for(&seen("#resume-form"));
    assert_eq!(page.eval("document.querySelector('#resume').value"), "no, say hello instead");
}

#[test]
fn p11_a_key_right_after_a_text_was_expected_answers_nothing() {
    let stage = Stage::new();
    let page = opened(&stage);
    stage.launch("ask to delete everything");
    page.wait_for(&reads(".ask-card", "to delete everything"));
    let at = |ms: u64, what: &str| page.eval(&format!("window.at = {ms}; {what}; {ANSWERS}"));
    // An hour later, so that the question is not one that has just come.
    let hour = 3_600_000;
    // Whoever types while the input goes away goes on typing.
    let typed = "document.querySelector('#find').focus(); press('fo'); \
                 document.querySelector('#find').blur(); press('o w r o')";
    assert_eq!(at(hour, typed), false);
    // As long as it goes on, however long that is.
    for (ms, keys) in [(800, "us"), (1_600, "what"), (2_400, "works")] {
        assert_eq!(at(hour + ms, &format!("press('{keys}')")), false, "{keys}");
    }
    // `e` that opened nothing, and letters that are no keys, are words as well.
    assert_eq!(at(2 * hour, "press('but so')"), false);
    assert_eq!(page.eval("document.querySelector('dialog[open]')"), json!(null));
    page.wait_for(&tells("press it again."));
    assert_eq!(at(3 * hour, "press('o')"), true);
    page.wait_for(&tells("Allowed once: to delete everything"));
}

#[test]
fn p11_e_at_a_question_that_has_just_come_is_no_way_to_allow_it() {
    let stage = Stage::new();
    let page = opened(&stage);
    page.eval(
        "window.at = 1; new MutationObserver(() => { \
           if (!window.early && document.querySelector('.ask-card')) { \
             window.early = true; press('e'); window.at += 700; press('no'); } }) \
         .observe(document.querySelector('#questions'), { childList: true }); null",
    );
    let task = stage.launch("ask to delete everything");
    page.wait_for("window.early === true");
    assert_eq!(page.eval(ANSWERS), false);
    assert_eq!(page.eval(OPENS), false, "what follows is the text that was to be written");
    assert_eq!(stage.task(&task)["questions"].as_array().map(Vec::len), Some(1));
}

/// A question with two options, put by a helper of its own; its task.
fn put(host: &mut Host, page: &Page, id: &str) -> String {
    let (task, session) = host.launch(&format!("choose for {id}"));
    let options = json!([{ "label": "postgres" }, { "label": "sqlite" }]);
    let question = json!({ "question": format!("Which one for {id}?"), "options": options });
    host.put("question", &json!({ "id": id, "sessionID": session, "questions": [question] }));
    page.wait_for(&seen(&row(&task)));
    choose(page, &task);
    page.wait_for(&reads(".ask-card pre", &format!("for {id}?")));
    task
}

#[test]
fn p11_e_at_a_question_leads_to_its_answer_and_r_is_no_answer() {
    let stage = Stage::new();
    let mut host = Host::connect(&stage.home);
    let page = opened(&stage);
    put(&mut host, &page, "que_1");
    // The letter itself is no part of the text.
    key_later(&page, "e");
    assert_eq!(page.eval("document.activeElement.matches('.ask-card textarea')"), true);
    page.type_text("no postgres");
    assert_eq!(page.eval("document.activeElement.value"), "no postgres");
    page.key("Enter");
    page.wait_for(&unseen(".ask-card"));
    assert_eq!(host.replies()[0]["answers"], json!([["no postgres"]]));
    put(&mut host, &page, "que_2");
    for key in ["o", "w"] {
        key_later(&page, key);
        page.wait_for(&tells("It asks a question"));
    }
    assert_eq!(page.eval(ANSWERS), false);
    key_later(&page, "r");
    page.wait_for(&unseen(".ask-card"));
    assert_eq!((host.replies().len(), &host.replies()[1]["answers"]), (2, &json!(null)));
}

#[test]
fn p11_no_letter_of_a_text_that_nobody_ended_opens_a_form_or_leads_into_a_field() {
    let stage = Stage::new();
    let page = opened(&stage);
    stage.launch("ask to delete everything\nwait 10m");
    page.wait_for(&reads(".ask-card", "to delete everything"));
    let at =
        |ms: u64, what: &str, is_so: &str| page.eval(&format!("window.at = {ms}; {what}; {is_so}"));
    let hour = 3_600_000;
    // Letters that are no keys begin a text, and so does a key that leads to nothing.
    assert_eq!(at(hour, "press('ynce/')", OPENS), false);
    assert_eq!(at(hour + 1_000, "press('n')", OPENS), false, "it goes on");
    assert_eq!(at(2 * hour, "press('cn')", OPENS), false);
    // What goes away under somebody's hands is still being written in.
    let gone = "document.querySelector('#find').focus(); press('fo'); \
                document.querySelector('#find').blur(); press('n')";
    assert_eq!(at(3 * hour, gone, OPENS), false);
    // After Escape there is no text any more: only what answers has to wait.
    at(4 * hour, "document.querySelector('#find').focus(); press('f')", OPENS);
    page.key("Escape");
    assert_eq!(at(4 * hour, "press('o')", ANSWERS), false);
    assert_eq!(at(4 * hour, "press('n')", "document.querySelector('#launch').open"), true);
}

#[test]
fn p11_always_asks_first_by_key_and_by_button_and_what_was_allowed_is_said() {
    let stage = Stage::new();
    let mut host = Host::connect(&stage.home);
    let (_, session) = host.launch("list the folder");
    host.ask(&session, "per_1");
    let page = opened(&stage);
    page.wait_for(&reads(".ask-card", "May it run this command?"));
    press(&page, ".ask-card button", "Always allow");
    page.wait_for(&reads("#ask", "Always allow this?"));
    // Who asks again at once is asked again: the first dialog has not heard of its end then.
    page.eval(
        "document.querySelector('#ask').close(); window.at = performance.now() + 2_000; \
         press('w'); null",
    );
    page.wait_for(&seen("#ask"));
    page.key("Escape");
    page.wait_for(&unseen("#ask"));
    assert_eq!(host.replies(), Vec::<serde_json::Value>::new());
    open_dialog(&page, "w");
    press(&page, "#ask button", "Always allow");
    page.wait_for(&tells("Allowed from now on: ls"));
    assert_eq!(host.replies()[0]["reply"], "always");
}

#[test]
fn p11_an_answer_to_a_question_that_is_gone_is_refused_in_words() {
    let stage = Stage::new();
    let task = stage.launch("ask about the first\nask about the second\nsay went on");
    let page = opened(&stage);
    page.wait_for(&reads(".ask-card", "about the first"));
    open_dialog(&page, "w");
    page.wait_for(&reads("#ask-subject", "about the first"));
    // Somebody else answers it meanwhile, and another one takes its place.
    stage.run(&["answer", &task, "once"]).with_code(0);
    page.wait_for(&reads(".ask-card", "about the second"));
    // The number is the one that commands take, and does not move up.
    page.wait_for(&reads(".ask-card", "question 2, waits"));
    press(&page, "#ask button", "Always allow");
    page.wait_for(&tells("waits for this answer any more"));
    page.wait_for(&seen(&row(&task)));
    choose(&page, &task);
    assert_eq!(stage.task(&task)["questions"].as_array().map(Vec::len), Some(1));
}
