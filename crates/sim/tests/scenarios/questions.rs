//! A helper that waits for a person: D5.

use legwork_protocol::api::{Answer, Ask, List, Reply};
use legwork_protocol::{QuestionId, Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::{self, Nasty};
use serde_json::json;

use crate::ends::{detail, process, question, told_of};
use crate::restarts::fails;
use crate::telling::{ours, write};

/// What `main` was told of the task's questions.
fn asked(story: &Story, task: TaskId) -> usize {
    let told = told_of(story, task);
    told.iter().filter(|line| line.starts_with("[BACKGROUND TASK WAITING] ")).count()
}

fn output(story: &mut Story, task: TaskId) -> String {
    story.ask("background_output", json!({ "task_id": task.to_string() }))
}

fn answer(story: &mut Story, question: &QuestionId) -> String {
    story.person(Ask::Reply { question: question.clone(), reply: Reply::Once })
}

#[test]
fn d5_a_permission_shows_in_list_and_output_and_is_told() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask bash; say found it");
    let question = question(&mut story);
    story.pass(1_000);
    let waits = "for a person to answer question 1: «bash»";
    let list = story.ask("background_list", json!({}));
    assert!(list.starts_with(&format!("{task}    running    Explore")), "{list}");
    assert!(list.ends_with(waits), "{list}");
    assert!(!list.contains(question.as_str()), "no person knows it by its id: {list}");
    let shown = output(&mut story, task);
    assert!(shown.lines().any(|line| line == format!("Waiting: {waits}")), "{shown}");
    let headline = format!(
        "[BACKGROUND TASK WAITING] {task} Explore: it asks «bash» (A person has to answer: \
         `legwork answer {task}`.)\n\
         0 background tasks finished, 1 still running."
    );
    let told = story.told();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].headline.as_str(), told[0].results.len()), (headline.as_str(), 0));
    answer(&mut story, &question);
    story.end();
}

/// The lines of the task's history that are about its questions.
fn log(story: &Story) -> Vec<String> {
    let transcript = story.transcript();
    let lines = transcript.lines().filter_map(|line| line.split_once("task-1: "));
    let about = |line: &&str| {
        ["asks ", "answered ", "withdrawn "].iter().any(|begin| line.starts_with(begin))
    };
    lines.map(|(_, line)| line).filter(about).map(str::to_owned).collect()
}

#[test]
fn p6_every_question_and_its_answer_are_in_the_log_with_who_gave_it() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask rm -r a; ask rm -r a; ask curl; say found it");
    for _ in 0..2 {
        let asked = question(&mut story);
        answer(&mut story, &asked);
        story.pass(100);
    }
    let asked = question(&mut story);
    let process = process(&story);
    story.world.oc.reply(process, &asked, &host::Reply::Yes).unwrap();
    story.until_status(task, Status::Completed);
    assert_eq!(
        log(&story),
        [
            "asks for a permission: rm -r a",
            "answered by a person through legwork: yes, this once (rm -r a)",
            "asks for a permission: rm -r a",
            "answered by a person through legwork: yes, this once (rm -r a)",
            "asks for a permission: curl",
            "answered or dismissed in the host itself (curl)",
        ]
    );
    story.end();
}

#[test]
fn p6_of_two_answers_at_once_the_one_that_was_taken_is_in_the_log() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask rm; say found it");
    let asked = question(&mut story);
    let reply = |reply| Ask::Reply { question: asked.clone(), reply };
    let no = story.world.person(reply(Reply::Reject(Some("not here".to_owned()))));
    let yes = story.world.person(reply(Reply::Once));
    story.until_status(task, Status::Completed);
    let refused = [no, yes].map(|call| story.world.calls[call].refused());
    let taken = match refused {
        [false, true] => "no, with the words: not here",
        [true, false] => "yes, this once",
        other => panic!("{other:?}"),
    };
    let line = format!("answered by a person through legwork: {taken} (rm)");
    assert_eq!(log(&story), ["asks for a permission: rm", &line]);
    story.end();
}

#[test]
fn p6_a_question_that_nobody_answered_is_withdrawn_in_the_log() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask rm; say found it");
    question(&mut story);
    story.pass(1_000);
    story.person(Ask::Cancel { task: task.to_string() });
    let line = "withdrawn unanswered, because the run ended (rm)";
    assert_eq!(log(&story), ["asks for a permission: rm", line]);
    story.end();

    let mut story = Story::with(fails(), Nasty::calm());
    story.launch("Explore", "ask rm; say found it");
    question(&mut story);
    story.pass(1_000);
    story.world.kill_window(0);
    story.world.boot();
    story.pass(5_000);
    let line = "withdrawn unanswered, because its host ended (rm)";
    assert_eq!(log(&story), ["asks for a permission: rm", line]);
    story.end();
}

#[test]
fn d5_a_question_is_told_once_whatever_is_heard_of_it() {
    let mut story = Story::new();
    story.world.faults.hint_doubled = 1000;
    let task = story.launch("Explore", "ask bash; say found it");
    let question = question(&mut story);
    for _ in 0..5 {
        story.pass(20_000);
        story.world.cut_link(0);
        story.pass(10_000);
        story.world.restart_daemon();
    }
    story.pass(20_000);
    assert_eq!(asked(&story, task), 1);
    assert!(output(&mut story, task).contains("person to answer question 1"));
    answer(&mut story, &question);
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 2);
    story.end();
}

#[test]
fn d5_a_question_is_told_once_if_the_daemon_dies_before_it_could_tell() {
    for steps in 0..30 {
        let mut story = Story::new();
        let task = story.launch("Explore", "ask bash; say found it");
        let question = question(&mut story);
        for _ in 0..steps {
            story.world.step();
        }
        story.world.kill_daemon();
        story.pass(1_000);
        story.world.start_daemon();
        story.pass(20_000);
        assert_eq!(asked(&story, task), 1, "killed after {steps} steps");
        answer(&mut story, &question);
        story.end();
    }
}

#[test]
fn d5_a_question_whose_event_was_lost_is_found_by_polling() {
    let mut story = Story::new();
    story.world.faults.hint_lost = 1000;
    let task = story.launch("Explore", "ask bash; say found it");
    let question = question(&mut story);
    story.pass(6_000);
    assert_eq!(asked(&story, task), 1);
    assert!(output(&mut story, task).contains("person to answer question 1"));
    answer(&mut story, &question);
    insta::assert_snapshot!(story.end());
}

#[test]
fn d5_each_question_is_told() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask bash; ask webfetch; say found it");
    for number in 1..=2 {
        let question = question(&mut story);
        story.pass(2_000);
        assert_eq!(asked(&story, task), number);
        answer(&mut story, &question);
    }
    story.until_status(task, Status::Completed);
    assert_eq!(asked(&story, task), 2);
    story.end();
}

#[test]
fn d5_a_person_answers_from_the_command_line() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask bash; say found it");
    let question = question(&mut story);
    story.pass(60_000);
    assert_eq!(answer(&mut story, &question), "The helper has your answer.");
    assert!(!output(&mut story, task).contains(question.as_str()));
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 0), "found it");
    let again = answer(&mut story, &question);
    let gone =
        format!("No helper waits for an answer to {question}. It may have been answered already.");
    assert_eq!(again, gone);
    story.end();
}

#[test]
fn d5_a_question_that_is_answered_in_the_host_is_not_shown_any_more() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask bash; wait 60000; say found it");
    let question = question(&mut story);
    story.pass(2_000);
    let process = process(&story);
    story.world.oc.reply(process, &question, &host::Reply::Yes).unwrap();
    story.pass(100);
    assert!(!output(&mut story, task).contains(question.as_str()));
    story.end();
}

#[test]
fn d5_a_question_that_is_answered_before_it_went_out_is_not_told() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask bash; say found it");
    let question = question(&mut story);
    story.until("the delivery", |story| !story.world.audit().pending.is_empty());
    let process = process(&story);
    story.world.oc.reply(process, &question, &host::Reply::Yes).unwrap();
    story.until_settled();
    assert_eq!(asked(&story, task), 0);
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn d5_a_question_that_an_undo_holds_back_is_withdrawn_when_it_is_answered() {
    let mut story = Story::new();
    let (main, process) = (story.main.clone(), process(&story));
    let task = story.launch("Explore", "ask bash; wait 30000; say found it");
    story.world.oc.set_revert(process, &main).unwrap();
    let question = question(&mut story);
    story.pass(12_000);
    answer(&mut story, &question);
    story.pass(1_000);
    story.world.oc.clear_revert(process, &main).unwrap();
    story.until_settled();
    assert_eq!(asked(&story, task), 0);
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn d5_a_question_of_a_run_that_ended_is_not_told() {
    let mut story = Story::new();
    let (main, process) = (story.main.clone(), process(&story));
    let task = story.launch("Explore", "ask bash; say found it");
    story.world.oc.set_revert(process, &main).unwrap();
    question(&mut story);
    story.pass(12_000);
    story.person(Ask::Cancel { task: task.to_string() });
    story.world.oc.clear_revert(process, &main).unwrap();
    story.until_settled();
    let told = told_of(&story, task);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("[BACKGROUND TASK CANCELLED] "), "{told:?}");
    story.end();
}

/// The person is told elsewhere; a message would only make the model answer.
#[test]
fn p6_a_question_costs_a_parent_that_is_at_work_no_request() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    let task = story.launch("Explore", "ask bash; say found it");
    write(&mut story, "build", "tool grep 30000; say all read");
    let question = question(&mut story);
    story.pass(20_000);
    assert_eq!(story.told().len(), 0, "it is at work");
    story.until("the question to be told", |story| story.told().len() == 1);
    story.pass(5_000);
    assert!(!story.world.oc.runs(&main) && story.told()[0].quiet);
    let delivery = &ours(&story, &main)[0];
    assert_eq!((delivery.tally.joined, delivery.tally.started, delivery.tally.answered), (0, 0, 0));
    answer(&mut story, &question);
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 2);
    insta::assert_snapshot!(story.end());
}

#[test]
fn p6_a_question_that_is_answered_before_the_parent_is_idle_is_not_told() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "ask bash; wait 60000; say found it");
    write(&mut story, "build", "tool grep 30000; say all read");
    let question = question(&mut story);
    story.pass(5_000);
    answer(&mut story, &question);
    story.pass(30_000);
    assert_eq!(story.told().len(), 0);
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

/// Nothing is held back from a parent that is told something anyway.
#[test]
fn p6_a_question_goes_along_with_a_result_to_a_parent_that_is_at_work() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    story.launch("Asks", "ask bash; say found it");
    story.launch("Explore", "wait 15000; say found it");
    write(&mut story, "build", "tool grep 30000; say all read");
    let question = question(&mut story);
    story.until("something to be told", |story| story.told().len() == 1);
    let headlines = &story.told()[0].headline;
    assert!(headlines.contains("WAITING") && headlines.contains("COMPLETED"), "{headlines}");
    answer(&mut story, &question);
    insta::assert_snapshot!(story.end());
}

/// The number of what a task asks.
fn number(story: &mut Story, task: TaskId) -> u32 {
    story.pass(100);
    let Some(Answer::Listed(all)) = story.world.ask_now(Ask::List(List::default())) else {
        panic!("no list");
    };
    all.tasks.iter().find(|view| view.id == task).unwrap().questions[0].number
}

/// Another daemon counts on, and so does the next run.
#[test]
fn p11_a_question_keeps_its_number_and_no_other_of_its_task_gets_it() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask ls; ask rm -rf /; say found it");
    let first = question(&mut story);
    assert_eq!(number(&mut story, task), 1);
    story.world.restart_daemon();
    story.pass(10_000);
    assert_eq!(number(&mut story, task), 1);
    answer(&mut story, &first);
    let second = question(&mut story);
    assert_eq!(number(&mut story, task), 2);
    answer(&mut story, &second);
    story.until_status(task, Status::Completed);
    story.resume(task, "ask curl; say more");
    let third = question(&mut story);
    assert_eq!(number(&mut story, task), 3);
    answer(&mut story, &third);
    story.end();
}
