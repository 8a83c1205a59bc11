//! A yes means what was asked, in OpenCode's terminal UI too: when keys answer, which answers there
//! are, and what is said of them.

use legwork_testkit::{Home, Model, block_on, call};
use serde_json::json;

use crate::helpers::{Screen, helper};
use crate::misbehaviour::in_place_of_the_stream;
use crate::stage::{bash, cast, furnish_whole, launch, legwork, until};

/// A screen with a helper that asks, or will soon.
async fn asked<'a>(home: &'a Home, helper: &str) -> Screen<'a> {
    let screen = Screen::open(home, 130, 50).await;
    screen.say(&[helper, "say I asked one"]);
    screen.shows_line("in the sidebar", &["? Run the tests", "asks you"]).await;
    screen
}

/// A helper of the agent that is built in, with this script.
fn rehearsal(prompt: &str) -> String {
    let mut given = launch("Run the tests", &[]);
    given["agent"] = json!("rehearsal");
    given["prompt"] = json!(prompt);
    call("background_task", &given)
}

/// How many questions are open.
fn open_questions(screen: &Screen<'_>) -> Option<usize> {
    screen.task()["questions"].as_array().map(Vec::len)
}

/// Waits until the question takes keys, unless it was answered before.
async fn still_asks(screen: &Screen<'_>, is_so: impl Fn(&str) -> bool) {
    let is_over = |shown: &str| shown.contains("● Run the tests");
    let takes_keys = |shown: &str| shown.contains("enter choose") && is_so(shown);
    let shown =
        screen.tui.until("it takes keys", |shown| is_over(shown) || takes_keys(shown)).await;
    assert!(!is_over(&shown), "nobody had read it: {shown}");
    assert_eq!(open_questions(screen), Some(1));
}

/// A key that is held is as many.
#[test]
fn p11_enter_answers_nothing_before_the_question_can_have_been_read_nor_right_after_typing() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let steps = [&bash("echo one"), "gate end\nsay the end"];
        let screen = asked(&home, &helper("careful", "Run the tests", &steps)).await;
        screen.list().await;
        // The list is a search box too.
        screen.tui.text("tests");
        screen.tui.keys(&["Enter"; 6]);
        still_asks(&screen, |shown| shown.contains("echo one")).await;
        screen.tui.text("once");
        screen.tui.keys(&["Enter"; 2]);
        still_asks(&screen, |shown| !shown.contains("Open its session")).await;
        screen.tui.keys(&["Enter"]);
        screen.shows("Allowed once: echo one").await;
        model.open("end");
        screen.until_status("completed").await;
        screen.works().await;
    });
}

#[test]
fn p11_what_is_allowed_for_good_is_asked_first_and_an_answer_is_said_with_what_it_was_about() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let second = format!("gate two\n{}", bash("echo two"));
        let steps = [&bash("echo one"), &*second, "gate three\nsay the end"];
        let screen = asked(&home, &helper("careful", "Run the tests", &steps)).await;
        screen.list().await;
        screen.tui.keys(&["Enter"]);
        screen.search("Allow always").await;
        screen.tui.keys(&["Enter"; 4]);
        screen.takes_keys(&["from now on, without being asked?", "echo one"]).await;
        // The way back is chosen first, and a hasty Enter does not get further than there.
        screen.tui.keys(&["Enter"; 4]);
        still_asks(&screen, |shown| shown.contains("Open its session")).await;
        screen.tui.keys(&["Enter"]);
        screen.shows("Allowed once: echo one").await;
        screen.shows_line("it goes on", &["● Run the tests"]).await;
        // Only this one was allowed.
        model.open("two");
        screen.shows_line("it asks again", &["? Run the tests", "asks you"]).await;
        screen.list().await;
        screen.tui.keys(&["Enter"]);
        screen.takes_keys(&["echo two"]).await;
        // Somebody else is faster.
        let id = screen.task()["id"].as_str().unwrap().to_owned();
        legwork(&home, &["answer", &id, "once"]);
        screen.shows_line("it goes on", &["● Run the tests"]).await;
        screen.tui.keys(&["Enter"]);
        screen.shows("not there any more").await;
        model.open("three");
        screen.until_status("completed").await;
        screen.works().await;
    });
}

#[test]
fn p11_a_no_with_words_is_offered_where_the_agent_drops_them_and_that_is_said() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = asked(&home, &rehearsal("ask to go on\nwait 10m")).await;
        screen.list().await;
        screen.tui.keys(&["Enter"]);
        let choices = ["Allow once", "Allow always…", "Reject", "Reject and say why"];
        screen.shows_all(&choices).await;
        screen.search("say why").await;
        screen.tui.keys(&["Enter"]);
        screen.shows_all(&["What instead?", "drops words"]).await;
        screen.tui.text("say hello");
        screen.tui.keys(&["Enter"]);
        screen.shows_all(&["Rejected: to go on", "yours were dropped"]).await;
        until("it goes on", async || (open_questions(&screen) == Some(0)).then_some(())).await;
        screen.works().await;
    });
}

#[test]
fn p11_only_the_answers_that_a_host_takes_are_offered() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        // The real stream, but its host offers nothing for good.
        let never = r#"{\"id\":\"always\",[^}]*},*"#;
        in_place_of_the_stream(
            &home,
            &format!("\"$LEGWORK\" bridge board | sed -u 's/{never}//g'"),
        );
        let steps = [&bash("echo one"), "say the end"];
        let screen = asked(&home, &helper("careful", "Run the tests", &steps)).await;
        screen.list().await;
        screen.tui.keys(&["Enter"]);
        let shown = screen.takes_keys(&["Allow once", "Reject and say why"]).await;
        // OpenCode's own question has no dots.
        assert!(!shown.contains("Allow always…"), "{shown}");
        screen.tui.keys(&["Enter"]);
        screen.until_status("completed").await;
        screen.works().await;
    });
}
