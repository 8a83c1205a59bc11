//! One task: its question, its conversation, its result, why it is not done, and what can be done.

use legwork_testkit::legwork::Host;
use legwork_testkit::legwork::eventually;
use serde_json::json;

use crate::look::{choose, find, group, key_later, open_dialog, press, reads, row, seen, unseen};
use crate::stage::Stage;

/// Waits until the task is over, and gives back its result.
fn result(stage: &Stage, task: &str) -> String {
    stage.until(task, "it is over", |task| !task["ended"].is_null());
    stage.run(&["output", task]).with_code(0).out
}

#[test]
fn v2_a_question_is_answered_by_a_click_and_the_helper_goes_on() {
    let stage = Stage::new();
    let page = stage.open();
    let task = stage.launch("ask to delete everything\nsay went on");
    page.wait_for(&reads(".ask-card", "to delete everything"));
    page.wait_for(&reads(".ask-card", "waits "));
    press(&page, ".ask-card button", "Allow once");
    page.wait_for(&unseen(".ask-card"));
    let told = result(&stage, &task);
    assert!(told.contains("Allowed: to delete everything") && told.contains("went on"), "{told}");
    page.wait_for(&reads("#state", "Completed"));
}

#[test]
fn v2_the_keys_o_r_and_w_answer_and_always_asks_first() {
    let stage = Stage::new();
    let page = stage.open();
    for (key, said) in [("o", "allowed: about o"), ("r", "not allowed: about r")] {
        let task = stage.launch(&format!("ask about {key}"));
        page.wait_for(&seen(&row(&task)));
        choose(&page, &task);
        page.wait_for(&reads(".ask-card", &format!("about {key}")));
        key_later(&page, key);
        page.wait_for(&unseen(".ask-card"));
        let told = result(&stage, &task).to_lowercase();
        assert!(told.contains(said), "{key}: {told}");
    }
    let task = stage.launch("ask about the pattern\nsay it went on");
    page.wait_for(&seen(&row(&task)));
    choose(&page, &task);
    page.wait_for(&reads(".ask-card", "about the pattern"));
    open_dialog(&page, "w");
    page.wait_for(&reads("#ask-subject", "about the pattern"));
    // The way back has the focus, and other keys do nothing.
    assert_eq!(page.eval("document.activeElement.id"), "ask-no");
    for key in ["o", "r", "x"] {
        page.key(key);
    }
    page.key("Enter");
    page.wait_for(&unseen("#ask"));
    assert_eq!(stage.task(&task)["questions"].as_array().map(Vec::len), Some(1));
    open_dialog(&page, "w");
    press(&page, "#ask button", "Always allow");
    assert!(result(&stage, &task).contains("it went on"));
}

#[test]
fn v2_a_question_that_has_just_come_takes_no_key() {
    let stage = Stage::new();
    let first = stage.launch("ask about the first");
    let page = stage.open();
    page.wait_for(&reads(".ask-card", "about the first"));
    // A person who answers by a key at the moment at which another question takes its place.
    page.eval(
        "window.at = performance.now(); new MutationObserver(() => { if (!window.early && \
           document.querySelector('#questions pre')?.innerText.includes('the second')) { \
           window.early = true; \
           dispatchEvent(new KeyboardEvent('keydown', { key: 'o', bubbles: true })) } }) \
         .observe(document.querySelector('#questions'), { childList: true, subtree: true }); null",
    );
    let second = stage.launch("ask about the second");
    // Its row moves above the first one's as soon as it asks.
    page.wait_for(&format!("{}?.startsWith('Asks')", group(&second)));
    choose(&page, &second);
    page.wait_for("window.early === true");
    page.wait_for(&seen(".ask-card"));
    assert_eq!(stage.task(&second)["questions"].as_array().map(Vec::len), Some(1));
    assert_eq!(stage.task(&first)["questions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn v2_a_no_goes_with_words_where_the_host_takes_them() {
    let stage = Stage::new();
    let mut host = Host::connect(&stage.home);
    let (task, session) = host.launch("list the folder");
    host.ask(&session, "per_1");
    let page = stage.open();
    page.wait_for(&reads(&row(&task), "may it run ls?"));
    page.wait_for(&reads(".ask-card", "May it run this command?"));
    assert_eq!(page.text(".ask-card pre"), "ls");
    open_dialog(&page, "e");
    assert_eq!(page.eval("document.activeElement.id"), "ask-words");
    page.type_text("use cat instead");
    press(&page, "#ask button", "Reject");
    page.wait_for(&unseen(".ask-card"));
    let replies = host.replies();
    assert_eq!(
        (&replies[0]["reply"], &replies[0]["message"]),
        (&json!("reject"), &json!("use cat instead"))
    );
    host.finish(&session, "It is done.");
    page.wait_for(&format!("{}?.startsWith('Finished')", group(&task)));
}

#[test]
fn v2_of_two_questions_the_keys_answer_the_first_and_then_the_other() {
    let stage = Stage::new();
    let mut host = Host::connect(&stage.home);
    let (_, session) = host.launch("ask twice");
    host.ask(&session, "per_1");
    host.ask(&session, "per_2");
    let page = stage.open();
    page.wait_for("document.querySelectorAll('.ask-card').length === 2");
    for (key, left) in [("o", 1), ("r", 0)] {
        let answered = format!("document.querySelectorAll('.ask-card').length === {left}");
        key_later(&page, key);
        page.wait_for(&answered);
    }
    let replies: Vec<_> = host.replies().iter().map(|reply| reply["reply"].clone()).collect();
    assert_eq!(replies, [json!("once"), json!("reject")]);
}

#[test]
fn v2_a_question_is_answered_by_an_option_or_in_words() {
    let stage = Stage::new();
    let mut host = Host::connect(&stage.home);
    let page = stage.open();
    for (id, answer) in [("que_1", "Only the public ones"), ("que_2", "none of them")] {
        let (task, session) = host.launch(&format!("upgrade the routes, {id}"));
        let options = json!([{ "label": "All of them" }, { "label": "Only the public ones" }]);
        let question = json!({ "question": "Which routes\nshall I keep?", "options": options });
        host.put("question", &json!({ "id": id, "sessionID": session, "questions": [question] }));
        page.wait_for(&reads(&row(&task), "Which routes"));
        choose(&page, &task);
        page.wait_for(&reads(".ask-card pre", "shall I keep?"));
        // The keys of permissions do nothing here.
        page.key("o");
        if id == "que_1" {
            press(&page, ".ask-card button", answer);
        } else {
            page.click(".ask-card textarea");
            page.type_text(answer);
            page.key("Enter");
        }
        page.wait_for(&unseen(".ask-card"));
        let replies = host.replies();
        assert_eq!(replies.last().unwrap()["answers"], json!([[answer]]));
    }
}

#[test]
fn v2_a_task_is_cancelled_after_a_question() {
    let stage = Stage::new();
    let task = stage.launch("wait 10m");
    let page = stage.open();
    page.wait_for(&reads("#state", "Working"));
    page.key("x");
    page.wait_for(&reads("#ask", "Cancel this task?"));
    page.key("Escape");
    page.wait_for(&unseen("#ask"));
    assert_eq!(stage.task(&task)["status"], "running");
    press(&page, "#acts button", "Cancel task");
    press(&page, "#ask button", "Cancel task");
    page.wait_for(&reads("#state", "Cancelled"));
    assert_eq!(stage.task(&task)["status"], "cancelled");
    press(&page, "#acts button", "Clear");
    press(&page, "#ask button", "Clear");
    page.wait_for(&format!("!{}", find(&task)));
}

#[test]
fn v2_a_finished_task_goes_on_with_what_one_writes() {
    let stage = Stage::new();
    let task = stage.launch("say the first answer");
    let page = stage.open();
    page.wait_for(&reads("#pane-result", "the first answer"));
    page.key("c");
    page.wait_for("document.activeElement.id === 'resume'");
    // Letters in an input are no keys.
    page.type_text("say the second answer");
    for key in ["x", "g", "?"] {
        page.key(key);
    }
    assert_eq!(page.eval("document.querySelector('dialog[open]')"), json!(null));
    let written = page.eval("document.querySelector('#resume').value");
    assert_eq!(written, "say the second answerxg?");
    page.eval("document.querySelector('#resume').value = 'say the second answer'; null");
    page.key("Enter");
    page.wait_for(&reads("#pane-conversation", "the second answer"));
    page.wait_for(&reads(&row(&task), "run 1"));
    assert!(result(&stage, &task).contains("the second answer"));
    // The keys are those of the page again when the field is empty.
    page.wait_for("document.querySelector('#resume').value === ''");
    page.key("2");
    page.wait_for(&reads("#pane-result", "the second answer"));
}

#[test]
fn v2_a_conversation_is_followed_until_one_scrolls_up() {
    let stage = Stage::new();
    let part = |name: &str| format!("repeat 40: say Paragraph {name}{{i}} is here.");
    let parts = ["a", "b", "c"].map(part).join("\nask to go on\n");
    let task = stage.launch(&parts);
    let page = stage.open();
    page.resize(1280, 500);
    choose(&page, &task);
    let pane = "document.querySelector('#pane-conversation')";
    let at_end = format!("{pane}.scrollHeight - {pane}.scrollTop - {pane}.clientHeight < 30");
    page.wait_for(&reads("#pane-conversation", "Paragraph a40 "));
    page.wait_for(&seen(".ask-card"));
    // The last that comes before the answer: what comes while one scrolls up leads to the end.
    page.wait_for(&reads(".tools .d", "waits for you"));
    assert_eq!(stage.task(&task)["ended"], json!(null), "it is read while it is written");
    page.wait_for(&at_end);
    page.wait_for(&reads("#follow", "following"));

    page.eval(&format!("{pane}.scrollTop -= 200; null"));
    page.wait_for("document.querySelector('#follow').ariaPressed === 'false'");
    let stays = page.eval(&format!("{pane}.scrollTop"));
    stage.run(&["answer", &task, "once"]).with_code(0);
    page.wait_for(&reads("#pane-conversation", "Paragraph b40 "));
    assert_eq!(page.eval(&format!("{pane}.scrollTop")), stays);
    page.key("f");
    page.wait_for(&at_end);
    // The card of the first may still be there.
    page.wait_for(&reads(".ask-card", "question 2"));
    stage.run(&["answer", &task, "once"]).with_code(0);
    page.wait_for(&reads("#pane-conversation", "Paragraph c40 "));
    page.wait_for(&at_end);
}

#[test]
fn v2_what_is_new_below_is_counted() {
    let stage = Stage::new();
    let script = "repeat 40: say Filling {i}.\nask to go on\n\
                  repeat 3: tool read {i}; say and {i}\nwait 10m";
    let task = stage.launch(script);
    stage.until(&task, "it asks", |task| task["questions"] != json!([]));
    let page = stage.open();
    page.resize(1280, 500);
    page.wait_for(&reads("#pane-conversation", "Filling 40."));
    page.wait_for(&reads(".tools .d", "waits for you"));
    page.wait_for("document.querySelector('#follow').ariaPressed === 'true'");
    page.eval("document.querySelector('#pane-conversation').scrollTop = 0; null");
    page.wait_for(&reads("#follow", "to the end"));
    stage.run(&["answer", &task, "once"]).with_code(0);
    page.wait_for("/^[1-9] new ↓$/.test(document.querySelector('#follow').innerText)");
    page.click("#follow");
    page.wait_for(&reads("#follow", "following"));
}

#[test]
fn v2_a_tool_call_is_a_line_that_opens() {
    let stage = Stage::new();
    let task = stage.launch("think about it\ntool read src/main.rs\ntool grep fails\nsay **bold**");
    // What comes below moves the call that is clicked.
    stage.until(&task, "it is over", |task| !task["ended"].is_null());
    let page = stage.open();
    choose(&page, &task);
    page.key("1");
    page.wait_for("document.querySelectorAll('.tools details').length === 2");
    page.wait_for(&reads(".tools .arg", "read src/main.rs"));
    page.wait_for("document.querySelectorAll('.tools .is-failed').length === 1");
    page.wait_for(&unseen(".tools .inside"));
    page.click(".tools summary");
    page.wait_for(&seen(".tools .inside"));
    let asked = |page: &legwork_testkit::Page| {
        page.requests().iter().any(|one| one.url.contains("/entry?key=") && one.status == Some(200))
    };
    eventually("the whole of it was asked for", || asked(&page).then_some(()));
    // A thought is folded, and what is complete is Markdown.
    page.wait_for("document.querySelector('.is-thought')?.open === false");
    page.wait_for("document.querySelector('#pane-conversation strong')?.innerText === 'bold'");
}

#[test]
fn v2_a_plan_stands_open_in_the_conversation_as_it_is_now() {
    let stage = Stage::new();
    let task = stage.launch(
        "plan read the code | write the tests\nplan read the code | write a <b>test</b>\n\
         say I begin\nplan write the code\nask to go on",
    );
    let page = stage.open();
    choose(&page, &task);
    let plans = "[...document.querySelectorAll('.is-plan')].map((plan) => \
                 [plan.localName, plan.querySelector('b').innerText, \
                 plan.querySelector('.said').innerText.split('\\n')])";
    let first = json!(["div", "Plan", ["○ read the code", "○ write a <b>test</b>"]]);
    let second = json!(["div", "Plan", ["○ write the code"]]);
    let wanted = json!([first, second]);
    page.wait_for(&format!("JSON.stringify({plans}) === {}", json!(wanted.to_string())));
    // What it says after a plan is its own, under its own name.
    page.wait_for(&reads(".is-plan + .is-text", "rehearsal"));
    page.wait_for(&reads(".is-plan + .is-text", "I begin"));
    assert_eq!(page.eval("document.querySelector('.is-thought')"), json!(null));
}

#[test]
fn v2_why_it_is_not_done_is_a_sentence_and_the_decisions() {
    let stage = Stage::with("[limits]\nmax_running = 1\n");
    let asks = stage.launch("ask to run the tests");
    stage.until(&asks, "it asks", |task| task["questions"] != json!([]));
    let queued = stage.launch("say later");
    let page = stage.open();
    choose(&page, &asks);
    page.key("3");
    page.wait_for(&reads("#pane-why", "It waits for you"));
    page.wait_for(&reads("#pane-why .now", "For "));
    page.wait_for("document.querySelectorAll('#pane-why .log li').length > 2");
    page.wait_for(&reads("#tab-why", "Why is it not done?"));
    choose(&page, &queued);
    page.key("3");
    page.wait_for(&reads("#pane-why", "all slots are in use"));
    stage.run(&["answer", &asks, "reject"]).with_code(0);
    page.wait_for(&reads("#pane-why", "It completed"));
    page.wait_for(&reads("#tab-why", "What happened"));
}

#[test]
fn v2_a_result_is_shown_as_markdown_and_copied_as_it_was_written() {
    let stage = Stage::new();
    let task = stage.launch(
        "say # What I did\nsay - one `code`\nsay See <https://example.com/x> and **this**.",
    );
    let text = result(&stage, &task);
    let page = stage.open_with(&["Object.defineProperty(navigator, 'clipboard', \
         { value: { writeText: async (text) => { window.copied = text } } })"]);
    page.wait_for(&reads("#pane-result", "What I did"));
    for part in ["h3", "li code", "a[href='https://example.com/x']", "strong"] {
        page.wait_for(&seen(&format!("#pane-result {part}")));
    }
    press(&page, "#acts button", "Copy result");
    page.wait_for("window.copied?.length > 0");
    assert_eq!(page.eval("window.copied").as_str().unwrap().trim(), text.trim());
}

#[test]
fn v2_a_command_is_not_split_into_a_tool_and_a_subject() {
    let stage = Stage::new();
    let task = stage.launch("tool cargo test --workspace\ntool bash: ls -la\nwait 10m");
    let page = stage.open();
    choose(&page, &task);
    page.wait_for("document.querySelectorAll('.tools details').length === 2");
    let shown = page.eval(
        "[...document.querySelectorAll('.tools summary')].map((line) => \
         ['.t', '.arg'].map((part) => line.querySelector(part).innerText))",
    );
    assert_eq!(shown, json!([["", "cargo test --workspace"], ["bash", "ls -la"]]));
}

#[test]
fn v2_a_tool_call_waits_for_the_person_until_the_answer_and_its_run_leaves_nothing_at_work() {
    let stage = Stage::new();
    let task = stage.launch("ask to delete everything\nask to go on");
    let page = stage.open();
    page.wait_for(&reads(".ask-card", "to delete everything"));
    let states = "[...document.querySelectorAll('.tools details')].map((one) => one.className)";
    page.wait_for(&format!("({states}).join() === 'is-asks'"));
    page.wait_for(&reads(".tools .d", "waits for you"));
    stage.run(&["answer", &task, "once"]).with_code(0);
    page.wait_for(&reads(".ask-card", "to go on"));
    page.wait_for(&format!("({states}).join() === 'is-working,is-asks'"));
    stage.run(&["answer", &task, "once"]).with_code(0);
    result(&stage, &task);
    page.key("1");
    page.wait_for(&format!("({states}).every((it) => !/asks|working/.test(it))"));
    assert_eq!(page.eval("document.querySelector('.tools').innerText.includes('waits')"), false);
}
