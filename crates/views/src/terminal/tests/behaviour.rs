//! What news and keys do.

use crate::model::limits::{KEYS_GUARD_MS, NEW_QUESTION_MS};
use legwork_protocol::api::Reply;
use legwork_protocol::api::transcript::{Entry, EntryKind, Source, ToolState};
use legwork_protocol::view::{TaskView, TasksView};
use legwork_protocol::{Stage as RunStage, Status, Time};
use ratatui::crossterm::event::KeyCode;

use super::stage::{
    NOW, Stage, ago, asks, entry, finished, page, permission, question, said, task, tasks, tool,
};
use crate::terminal::act::{Act, Launches};
use crate::terminal::limits::STALE_MS;
use crate::terminal::model::{Focus, Mode, Model, News, Order};

fn replies(stage: &mut Stage) -> Vec<(String, Reply)> {
    let reply = |order| match order {
        Order::Do(Act::Reply { question, reply }) => Some((question.id.to_string(), reply)),
        _ => None,
    };
    stage.ordered().into_iter().filter_map(reply).collect()
}

fn one(id: &str, reply: Reply) -> Vec<(String, Reply)> {
    vec![(id.to_owned(), reply)]
}

#[test]
fn v4_a_permission_is_answered_with_a_key() {
    let mut stage = Stage::new();
    stage.keys("o");
    assert_eq!(replies(&mut stage), one("per_1", Reply::Once));
    stage.keys("r");
    assert_eq!(replies(&mut stage), one("per_1", Reply::Reject(None)));
    stage.keys("euse ls").key(KeyCode::Enter);
    assert_eq!(replies(&mut stage), one("per_1", Reply::Reject(Some("use ls".to_owned()))));
    stage.pass(KEYS_GUARD_MS).keys("e").key(KeyCode::Esc);
    assert_eq!(replies(&mut stage), []);
}

/// Who rejects with words goes on typing, whatever became of the line for them.
#[test]
fn p11_no_letter_of_a_text_is_a_key() {
    let words = "no, you may not; ask for ls. yes? on your own. oooyyyxyrrr";
    let mut without_words = asks();
    without_words.questions[0].takes_words = false;
    let is_over = finished(9, "Make the flaky login test deterministic", Status::Error, 10);
    let other = TaskView { questions: vec![permission("per_9", "bash: rm -rf /")], ..asks() };
    for (while_typing, wanted) in
        [(None, Some("per_1")), (Some(other), None), (Some(is_over), None)]
    {
        let mut stage = Stage::new();
        stage.board(vec![without_words.clone()]);
        stage.pass(1_000);
        stage.keys("e");
        let (before, after) = words.split_at(5);
        stage.keys(before);
        if let Some(task) = while_typing {
            stage.board(vec![task]);
        }
        after.chars().for_each(|key| {
            stage.pass(KEYS_GUARD_MS - 1).keys(&key.to_string());
        });
        stage.key(KeyCode::Enter).keys("oy");
        let reply = Reply::Reject(Some(words.to_owned()));
        let wanted = wanted.map(|id| one(id, reply)).unwrap_or_default();
        assert_eq!(replies(&mut stage), wanted);
    }
}

/// `may it` has an `a` and a `y`.
#[test]
fn p11_a_yes_for_good_is_no_letter_of_a_text_either() {
    for typed in ["may", "wy", "ay", "wxy", "w y"] {
        let mut stage = Stage::new();
        stage.keys(typed);
        assert_eq!(replies(&mut stage), [], "{typed}");
    }
}

#[test]
fn p11_it_is_said_beforehand_that_an_agent_takes_no_words() {
    let mut stage = Stage::new();
    let mut task = asks();
    task.questions[0].takes_words = false;
    stage.board(vec![task]);
    stage.pass(1_000);
    stage.keys("e");
    for columns in [124, 60] {
        let screen = stage.screen(columns, 30);
        assert!(screen.contains("drops words"), "{screen}");
    }
}

#[test]
fn v4_always_is_said_only_after_a_yes() {
    let mut stage = Stage::new();
    for no in ["wn", "wjo", "w\u{1b}"] {
        stage.pass(KEYS_GUARD_MS).keys(no);
        assert_eq!(replies(&mut stage), [], "{no:?}");
        stage.key(KeyCode::Esc);
    }
    for key in ["w", "a"] {
        stage.pass(KEYS_GUARD_MS).keys(key).pass(KEYS_GUARD_MS).keys("y");
        assert_eq!(replies(&mut stage), one("per_1", Reply::Always));
    }
}

#[test]
fn v4_a_question_that_has_just_changed_takes_no_key() {
    let mut stage = Stage::new();
    stage.pass(1_000);
    let other = TaskView { questions: vec![permission("per_9", "bash: rm -rf /")], ..asks() };
    stage.board(vec![other]);
    stage.pass(NEW_QUESTION_MS - 1);
    stage.keys("o").keys("r").keys("wy");
    assert_eq!(replies(&mut stage), []);
    stage.pass(1).keys("o");
    assert_eq!(replies(&mut stage), one("per_9", Reply::Once));
}

/// Whoever enters a text knows that it is over; whose text goes away under the hands does not.
#[test]
fn p11_after_a_text_was_entered_only_the_keys_that_answer_are_held() {
    for key in [KeyCode::Enter, KeyCode::Esc] {
        let mut stage = Stage::new();
        stage.pass(1_000);
        stage.keys("e").keys("new");
        replies(stage.key(key));
        stage.keys("o");
        assert_eq!(replies(&mut stage), []);
        stage.keys("q");
        assert_eq!(stage.ordered(), [Order::Quit]);
    }
    let mut stage = Stage::new();
    stage.pass(1_000);
    stage.keys("eno");
    let other = TaskView { questions: vec![permission("per_9", "bash: rm -rf /")], ..asks() };
    stage.board(vec![other]);
    stage.ordered();
    stage.keys("tqxy");
    assert_eq!((stage.ordered(), &stage.model.mode), (vec![], &Mode::Normal));
}

#[test]
fn v4_a_dialog_about_a_question_closes_with_it() {
    for keys in ["w", "eno"] {
        let mut stage = Stage::new();
        stage.pass(1_000);
        stage.keys(keys);
        let other = TaskView { questions: vec![permission("per_9", "bash: rm -rf /")], ..asks() };
        stage.board(vec![other]);
        assert_eq!(stage.model.mode, Mode::Normal);
        stage.keys("y").key(KeyCode::Enter);
        assert_eq!(replies(&mut stage), []);
    }
}

#[test]
fn v4_a_question_is_answered_with_words() {
    let mut stage = Stage::new();
    stage.pass(1_000);
    stage.board(vec![TaskView { questions: vec![question()], ..asks() }]);
    stage.pass(1_000);
    stage.keys("o");
    assert_eq!(replies(&mut stage), []);
    stage.keys("e2").key(KeyCode::Enter);
    assert_eq!(replies(&mut stage), one("que_1", Reply::Words("2".to_owned())));
}

#[test]
fn v4_only_what_a_host_offers_is_answered() {
    let mut stage = Stage::new();
    stage.pass(1_000);
    let mut task = asks();
    task.questions[0].options.retain(|option| option.id == "once");
    task.questions[0].takes_words = false;
    stage.board(vec![task]);
    stage.keys("wyre").key(KeyCode::Esc);
    assert_eq!(replies(&mut stage), []);
    stage.pass(KEYS_GUARD_MS).keys("o");
    assert_eq!(replies(&mut stage), one("per_1", Reply::Once));
}

#[test]
fn v4_cancelling_and_clearing_ask_first() {
    let mut stage = Stage::new();
    stage.ordered();
    stage.keys("xnCn");
    assert_eq!(stage.ordered(), []);
    stage.keys("xy");
    assert_eq!(stage.ordered(), [Order::Do(Act::Cancel(asks().id))]);
    stage.keys("Cy");
    assert!(matches!(stage.ordered()[..], [Order::Do(Act::ClearFinished(_))]));
}

#[test]
fn v4_only_a_finished_task_goes_on_and_only_an_unfinished_one_is_cancelled() {
    let mut stage = Stage::new();
    stage.keys("cmore").key(KeyCode::Enter);
    assert!(!stage.ordered().iter().any(|order| matches!(order, Order::Do(Act::GoOn { .. }))));
    stage.key(KeyCode::Esc).key(KeyCode::End).keys("xy");
    assert!(!stage.ordered().iter().any(|order| matches!(order, Order::Do(Act::Cancel(_)))));
    stage.pass(KEYS_GUARD_MS).keys("cnow fix it").key(KeyCode::Enter);
    let task = stage.model.selected.unwrap();
    let on = Order::Do(Act::GoOn { task, prompt: "now fix it".to_owned() });
    assert!(stage.ordered().contains(&on));
}

#[test]
fn v4_where_only_looking_is_allowed_no_key_acts() {
    let mut stage = Stage::new();
    let theme = stage.model.theme;
    let why = Some("A helper may look.".to_owned());
    stage.model = Model::new(theme, why, Err("No agent.".to_owned()), NOW);
    stage.hear(News::Board(Box::new(page(true, tasks()))));
    stage.pass(1_000);
    stage.ordered();
    stage.keys("owyrexyCycnx");
    assert_eq!(stage.ordered(), []);
    assert_eq!(stage.model.message.as_ref().unwrap().text, "A helper may look.");
}

#[test]
fn v4_a_paste_types_on_a_line_and_nowhere_else() {
    let mut stage = Stage::new();
    stage.ordered();
    stage.hear(News::Pasted("oxyCyq".to_owned()));
    assert_eq!(stage.ordered(), []);
    stage.pass(KEYS_GUARD_MS).keys("e");
    stage.hear(News::Pasted("one\ntwo\u{1b}[2J\n".to_owned()));
    stage.key(KeyCode::Enter);
    let words = "one two [2J".to_owned();
    assert_eq!(replies(&mut stage), one("per_1", Reply::Reject(Some(words))));
}

#[test]
fn v4_the_chosen_task_stays_chosen_whatever_happens_around_it() {
    let mut stage = Stage::new();
    stage.keys("jj");
    let chosen = stage.model.selected;
    stage.board(vec![task(20, "new", 10), task(21, "newer", 5)]);
    assert_eq!(stage.model.selected, chosen);
    let mut ended = stage.model.item().unwrap().task.clone();
    (ended.status, ended.stage) = (Status::Completed, RunStage::Completed);
    stage.board(vec![ended]);
    assert_eq!(stage.model.selected, chosen);
}

#[test]
fn v4_a_chosen_task_that_goes_hands_over_to_the_next_one() {
    let mut stage = Stage::new();
    stage.keys("j");
    let (chosen, mut gone) = (stage.model.selected.unwrap(), page(false, vec![]));
    let below = stage.keys("j").model.selected;
    stage.keys("k");
    gone.gone = vec![chosen];
    stage.hear(News::Board(Box::new(gone)));
    assert_eq!(stage.model.selected, below);
    let mut none = page(true, vec![]);
    none.counts = Default::default();
    stage.key(KeyCode::Enter);
    stage.hear(News::Board(Box::new(none)));
    assert_eq!((stage.model.selected, stage.model.focus), (None, Focus::List));
}

#[test]
fn v4_a_conversation_is_read_when_its_task_was_chosen_for_a_moment() {
    let mut stage = Stage::new();
    stage.ordered();
    stage.keys("jjj");
    assert_eq!(stage.ordered(), []);
    stage.pass(1_000);
    assert_eq!(stage.ordered(), [Order::Read(stage.model.selected.unwrap())]);
}

#[test]
fn v4_a_resumed_task_is_read_again() {
    let mut stage = Stage::empty();
    let done = finished(1, "done", Status::Completed, 1_000);
    stage.hear(News::Board(Box::new(page(true, vec![done.clone()]))));
    stage.pass(1_000);
    stage.ordered();
    let again = TaskView {
        status: Status::Resumed,
        stage: RunStage::Working,
        resumes: 1,
        ended: None,
        ..done.clone()
    };
    stage.board(vec![again]);
    assert_eq!(stage.ordered(), [Order::Read(done.id)]);
}

#[test]
fn v4_a_text_that_streams_grows_and_is_not_doubled() {
    let mut stage = Stage::new();
    let piece = |text: &str, from| Entry { open: true, from, ..entry("z", EntryKind::Text, text) };
    stage.hear(News::Said(asks().id, Box::new(said(&asks(), vec![piece("The lis", 0)]))));
    stage.hear(News::Said(asks().id, Box::new(said(&asks(), vec![piece("tener", 7)]))));
    let screen = stage.screen(124, 38);
    assert_eq!(screen.matches("The listener").count(), 1, "{screen}");
    let mut again = said(&asks(), vec![entry("z", EntryKind::Text, "Anew")]);
    again.restarted = true;
    stage.hear(News::Said(asks().id, Box::new(again)));
    let screen = stage.screen(124, 38);
    assert!(screen.contains("Anew") && !screen.contains("listener"), "{screen}");
}

#[test]
fn v4_who_has_scrolled_up_stays_there_and_hears_that_more_came() {
    let mut stage = Stage::new();
    let many = (0..80).map(|n| entry(&format!("m{n}"), EntryKind::Text, &format!("line {n}")));
    stage.hear(News::Said(asks().id, Box::new(said(&asks(), many.collect()))));
    let screen = stage.screen(124, 38);
    assert!(screen.contains("line 79"), "{screen}");
    stage.key(KeyCode::Enter).key(KeyCode::PageUp);
    let before = stage.screen(124, 38);
    let more = vec![entry("last", EntryKind::Text, "the last line")];
    stage.hear(News::Said(asks().id, Box::new(said(&asks(), more))));
    let after = stage.screen(124, 38);
    assert!(after.contains("1 new ↓") && !after.contains("the last line"), "{after}");
    assert_eq!(before.lines().nth(16), after.lines().nth(16));
    stage.keys("f");
    assert!(stage.screen(124, 38).contains("the last line"));
}

#[test]
fn v4_what_the_records_had_is_not_shown_twice() {
    let mut stage = Stage::new();
    let mut kept = said(&asks(), vec![entry("kept", EntryKind::Prompt, "the prompt")]);
    (kept.restarted, kept.source) = (true, Source::HostAway);
    stage.hear(News::Said(asks().id, Box::new(kept)));
    let whole = said(&asks(), vec![entry("a", EntryKind::Prompt, "the prompt")]);
    stage.hear(News::Said(asks().id, Box::new(whole)));
    assert_eq!(stage.screen(124, 38).matches("the prompt").count(), 1);
}

#[test]
fn v4_finding_asks_the_daemon_for_older_ones_once_it_is_typed() {
    let mut stage = Stage::new();
    stage.ordered();
    let find = Order::Do(Act::Find("ancient".to_owned()));
    stage.keys("/ancient");
    assert!(!stage.ordered().contains(&find));
    stage.pass(1_000);
    assert!(stage.ordered().contains(&find));
    let old = finished(0, "An ancient task", Status::Completed, 9_000_000);
    let found = TasksView { tasks: vec![old.clone()], total: 1, next: None, incomplete: false };
    let other = TasksView { tasks: vec![task(40, "ancient too", 1)], ..found.clone() };
    stage.hear(News::Found("something else".to_owned(), Ok(other)));
    stage.hear(News::Found("ancient".to_owned(), Ok(found)));
    let screen = stage.screen(80, 24);
    assert!(screen.contains("An ancient task") && !screen.contains("too"), "{screen}");
    assert_eq!(stage.model.selected, Some(old.id));
    stage.key(KeyCode::Esc);
    let screen = stage.screen(80, 24);
    assert!(!screen.contains("ancient") && screen.contains("flaky login"), "{screen}");
}

#[test]
fn v8_what_is_old_is_not_called_live() {
    let mut stage = Stage::new();
    assert!(stage.screen(80, 24).contains("live"));
    stage.pass(STALE_MS);
    let screen = stage.screen(80, 24);
    assert!(screen.contains("reconnecting, as of") && screen.contains("flaky login"), "{screen}");
    stage.board(vec![]);
    assert!(stage.screen(80, 24).contains("live"));
    stage.hear(News::Away("gone".to_owned()));
    assert!(stage.screen(80, 24).contains("reconnecting, as of"));
    stage.hear(News::Board(Box::new(page(true, vec![task(30, "after it", 1)]))));
    let screen = stage.screen(80, 24);
    assert!(screen.contains("live") && screen.contains("after it"), "{screen}");
    assert!(!screen.contains("flaky login"), "{screen}");
}

#[test]
fn v4_q_quits_and_nothing_else_of_a_dialog_does() {
    let mut stage = Stage::new();
    stage.ordered();
    for keys in ["?q", "xq", "eq"] {
        stage.pass(KEYS_GUARD_MS).keys(keys);
    }
    stage.key(KeyCode::Esc);
    assert_eq!(stage.ordered(), []);
    stage.keys("q");
    assert_eq!(stage.ordered(), [Order::Quit]);
}

#[test]
fn v4_status_is_a_sign_and_a_word_without_any_colour() {
    let mut stage = Stage::new();
    stage.model.theme.colours = false;
    let screen = stage.screen(124, 38);
    for sign in ["? 2 ask you", "● 3 working", "○ 1 queued", "✗ 6", "✓ 1,217", "Asks you", "Queued"]
    {
        assert!(screen.contains(sign), "{sign}\n{screen}");
    }
    stage.key(KeyCode::End);
    assert!(stage.screen(124, 38).contains("✓ completed Summarise"));
}

#[test]
fn v4_a_message_goes_after_a_while() {
    let mut stage = Stage::new();
    stage.hear(News::Done(Err("It cannot be done.".to_owned())));
    assert!(stage.screen(80, 24).contains("It cannot be done."));
    stage.pass(10_000);
    assert!(!stage.screen(80, 24).contains("It cannot be done."));
    assert!(ago(0) > Time(0));
}

/// The other calls are at work, also the one that was just allowed.
#[test]
fn p6_only_the_call_that_a_question_is_about_waits_for_the_person() {
    let mut stage = Stage::new();
    let allowed = tool("g", "bash", "ls src", ToolState::Running);
    stage.hear(News::Said(asks().id, Box::new(said(&asks(), vec![allowed]))));
    let screen = stage.screen(124, 38);
    assert_eq!(screen.matches("waits for you").count(), 1, "{screen}");
    assert!(screen.lines().any(|line| line.contains("ls src") && line.contains("at work")));
    stage.board(vec![TaskView { questions: vec![], ..asks() }]);
    assert!(!stage.screen(124, 38).contains("waits for you"));
}

#[test]
fn v4_a_task_that_did_not_complete_is_tried_again_after_a_yes() {
    let retries = |stage: &mut Stage| {
        let is_retry = |order: &Order| matches!(order, Order::Do(Act::Retry(_)));
        stage.ordered().into_iter().filter(is_retry).collect::<Vec<_>>()
    };
    for (status, is_tried) in
        [(Status::Error, true), (Status::Cancelled, true), (Status::Completed, false)]
    {
        let mut stage = Stage::empty();
        let mut over = finished(1, "over", status, 1_000);
        over.session = Some("ses_1".parse().unwrap());
        stage.hear(News::Board(Box::new(page(true, vec![over.clone()]))));
        stage.pass(1_000).keys("Rn");
        assert_eq!(retries(&mut stage), []);
        stage.keys("Ry");
        let wanted = if is_tried { vec![Order::Do(Act::Retry(over.id))] } else { vec![] };
        assert_eq!(retries(&mut stage), wanted, "{status}");
    }
}

#[test]
fn v4_a_task_is_launched_where_the_view_was_started_and_chosen_when_it_comes() {
    let mut stage = Stage::new();
    stage.keys("n");
    let screen = stage.screen(80, 24);
    assert!(screen.contains("New task for gemini in shopfront:"), "{screen}");
    stage.keys("find it, you").key(KeyCode::Enter);
    let by = Launches { agent: "gemini".to_owned(), folder: "/nowhere/shopfront".into() };
    let launch = Order::Do(Act::Launch { prompt: "find it, you".to_owned(), by });
    assert!(stage.ordered().contains(&launch));
    let launched = task(50, "find it, you", 0);
    stage.hear(News::Launched(Box::new(launched.clone())));
    assert!(stage.screen(80, 24).contains("Launched: find it, you (bg_"));
    stage.board(vec![launched.clone()]);
    assert_eq!(stage.model.selected, Some(launched.id));
    stage.keys("n").key(KeyCode::Enter).key(KeyCode::Esc);
    assert!(!stage.ordered().iter().any(|order| matches!(order, Order::Do(_))));
}

#[test]
fn v4_without_an_agent_a_launch_says_how_to_get_one() {
    let mut stage = Stage::new();
    let theme = stage.model.theme;
    stage.model = Model::new(theme, None, Err("Install an agent.".to_owned()), NOW);
    stage.keys("n");
    assert_eq!(stage.model.message.as_ref().unwrap().text, "Install an agent.");
}
