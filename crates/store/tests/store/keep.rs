//! What is saved comes back, and a change that cannot be changes nothing.

use crate::common::*;
use legwork_engine::record::{
    About, Change, DeliveryEnd, Forget, Journal, Notice, NoticeId, Saved, Target,
};
use legwork_engine::task::{Outcome, ResumedBy, Stage, StageName, Task};
use legwork_engine::text::timeline::sentence;
use legwork_protocol::Time;
use legwork_protocol::limits::DETAIL_MAX_BYTES;
use legwork_store::{Fault, OldMail, TIMELINE_MAX_EVENTS};
use tempfile::TempDir;

#[test]
fn everything_comes_back_after_a_restart() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut whole = task(7);
    whole.seq = u64::MAX;
    whole.created = Time(u64::MAX);
    whole.depth = u32::MAX;
    whole.description = "wide 漢字 and a \u{0} in it".into();
    whole.retrieved = Some(Time(3));
    whole.session = Some("ses_child".parse().unwrap());
    whole.run.asked.before = 7;
    whole.run.asked.ids = vec!["que 1".parse().unwrap(), "que_2".parse().unwrap()];
    whole.run.tool_calls = u32::MAX;
    let mut other = task(6);
    other.stage = Stage::Queued;
    other.run.prompt = None;
    let question = NoticeId { task: whole.id, run: 0, about: About::Question(3) };
    let ends = [end_of(&whole), end_of(&other)];
    let session = || "ses_x".parse().unwrap();
    let stops = [
        stop(1, Target::Marked),
        stop(2, Target::Session(session())),
        stop(3, Target::Opened(session())),
    ];
    let parents = [parent("ses_a", None), parent("ses_b", Some("host-2"))];
    let mut changes = vec![launched(&whole), launched(&other)];
    changes.extend([
        pending(ends[0]),
        pending(ends[1]),
        pending(question),
        made("l", &[question, ends[0]]),
    ]);
    changes.extend(stops.clone().map(Change::StopRequested));
    changes.extend(parents.clone().map(Change::ParentKnown));
    store.save(NOW, &changes).unwrap();

    let mut notices = vec![notice(ends[1]), notice(ends[0]), notice(question)];
    notices[1].delivery = Some(msg("l"));
    notices[2].delivery = Some(msg("l"));
    let expected = Saved {
        earlier_calls: Vec::new(),
        incomplete: false,
        tasks: vec![other, whole],
        notices,
        deliveries: vec![delivery("l", &[question, ends[0]])],
        stops: stops.to_vec(),
        parents: parents.to_vec(),
        ledgers: Vec::new(),
    };
    assert_eq!(store.load().unwrap(), expected);
    drop(store);
    let mut store = open(home.path());
    assert_eq!(store.load().unwrap(), expected, "as opening read it");
    assert_eq!(store.load().unwrap(), expected, "read again");
}

#[test]
fn a_change_after_opening_is_seen_by_the_first_load() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    store.save(NOW, &[launched(&task(1))]).unwrap();
    assert_eq!(store.load().unwrap().tasks.len(), 1);
}

#[test]
fn d7_results_of_all_runs_are_kept_whole() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut task = task(1);
    let long = "\u{0}é漢\n".repeat(DETAIL_MAX_BYTES / 7);
    store.save(NOW, &finish(&mut task, &long)).unwrap();
    let next = [resumed(&mut task), ended(&mut task, Outcome::Failed, "a\u{0}b\u{0}")];
    store.save(NOW, &next).unwrap();
    drop(store);
    let mut store = open(home.path());
    assert_eq!(store.detail(task.id, 0).unwrap().as_deref(), Some(long.as_str()));
    assert_eq!(store.detail(task.id, 1).unwrap().as_deref(), Some("a\u{0}b\u{0}"));
    assert_eq!(store.detail(task.id, 2).unwrap(), None);
    assert_eq!(store.detail(id(9), 0).unwrap(), None);
    assert_eq!(store.load().unwrap().tasks, [task]);
}

#[test]
fn d7_an_unfinished_run_has_no_result_and_keeps_its_prompt() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut task = task(1);
    let prompt = task.run.prompt.clone();
    store.save(NOW, &[launched(&task)]).unwrap();
    task.run.prompt = None;
    store.save(NOW, &[moved(&mut task, Stage::Prompting(msg("m")))]).unwrap();
    assert_eq!(store.detail(task.id, 0).unwrap(), None);
    assert_eq!(store.load().unwrap().tasks[0].run.prompt, prompt);
}

#[test]
fn loaded_tasks_share_what_they_have_in_common() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    store.save(NOW, &[launched(&task(1)), launched(&task(2))]).unwrap();
    let tasks = store.load().unwrap().tasks;
    let same = |text: fn(&Task) -> &str| text(&tasks[0]).as_ptr() == text(&tasks[1]).as_ptr();
    assert!(same(|task| task.place.as_str()));
    assert!(same(|task| task.root.as_str()));
    assert!(same(|task| task.parent.as_str()));
    assert!(same(|task| task.run.asker.as_str()));
    assert!(same(|task| task.run.host.as_str()));
    assert!(same(|task| &task.agent));
}

#[test]
fn k1_nothing_of_a_forgotten_task_stays_but_its_stop() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let (mut first, mut second) = (task(1), task(2));
    for task in [&mut first, &mut second] {
        store.save(NOW, &finish(task, "result")).unwrap();
        store.save(NOW, &[pending(end_of(task))]).unwrap();
    }
    let both = [end_of(&first), end_of(&second)];
    let stop = stop(1, Target::Marked);
    store.save(NOW, &[made("l", &both), Change::StopRequested(stop.clone())]).unwrap();
    store.save(NOW, &[Change::Forgotten { task: first.id, why: Forget::Cleared }]).unwrap();
    assert_eq!(store.detail(first.id, 0).unwrap(), None);
    assert_eq!(store.timeline(first.id).unwrap(), []);
    let saved = store.load().unwrap();
    assert_eq!(saved.tasks, [second.clone()]);
    assert_eq!(saved.deliveries, [delivery("l", &both[1..])]);
    assert_eq!(saved.stops, [stop]);

    store.save(NOW, &[Change::Forgotten { task: second.id, why: Forget::Cleared }]).unwrap();
    let db = rusqlite::Connection::open(store.path()).unwrap();
    for table in ["tasks", "origins", "runs", "notices", "deliveries", "timeline"] {
        let count = format!("SELECT count(*) FROM {table}");
        let rows: i64 = db.query_row(&count, (), |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "{table}");
    }
    store.save(NOW, &[launched(&task(1)), pending(both[0])]).unwrap();
}

#[test]
fn the_timeline_tells_the_story_and_stays_short() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut task = task(1);
    store.save(NOW, &finish(&mut task, "result")).unwrap();
    let lines = store.timeline(task.id).unwrap();
    assert!(lines.len() >= 4, "{lines:?}");
    assert_eq!((lines[0].0, lines[0].1), (NOW, 0));

    let mut busy = crate::common::task(2);
    store.save(NOW, &[launched(&busy)]).unwrap();
    for tick in 0..u64::from(TIMELINE_MAX_EVENTS) + 50 {
        let from = busy.stage.name();
        busy.stage = Stage::Prompting(msg(&tick.to_string()));
        let question = asked(&format!("number {tick}"));
        let asks = Change::Asked { task: busy.id, run: 0, question };
        store.save(Time(tick), &[Change::Moved { task: busy.clone(), from }, asks]).unwrap();
    }
    let lines = store.timeline(busy.id).unwrap();
    assert_eq!(lines.len(), TIMELINE_MAX_EVENTS as usize);
    assert_eq!(lines.last().unwrap().0, Time(u64::from(TIMELINE_MAX_EVENTS) + 49));
    assert!(lines.is_sorted_by_key(|line| line.0));
}

#[test]
fn what_goes_round_in_circles_is_told_once() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut task = task(1);
    store.save(NOW, &finish(&mut task, "result")).unwrap();
    store.save(NOW, &[pending(end_of(&task))]).unwrap();
    let before = store.timeline(task.id).unwrap().len();
    for delivery in ["a", "b", "c"] {
        let held =
            Change::DeliveryWithdrawn { delivery: msg(delivery), notices: vec![end_of(&task)] };
        store.save(NOW, &[made(delivery, &[end_of(&task)]), held]).unwrap();
    }
    let told = Change::DeliveryDone {
        delivery: msg("d"),
        notices: vec![end_of(&task)],
        end: DeliveryEnd::Delivered,
    };
    store.save(NOW, &[made("d", &[end_of(&task)]), told]).unwrap();
    let lines = store.timeline(task.id).unwrap();
    let words: Vec<String> = lines[before..].iter().map(|line| sentence(&line.2)).collect();
    let [telling, held, told] = &words[..] else { panic!("{words:?}") };
    assert_eq!(telling, "notice of its end: sending");
    assert!(held.contains("an undo is pending"), "{held}");
    assert_eq!(told, "notice of its end: delivered");
}

/// Tasks 1 (working), 2 (completed, notice in the delivery `l`), 3 (completed, notice pending), 4
/// (completed, notice withdrawn); a stop for task 1.
fn world(home: &TempDir) -> (legwork_store::Store, Vec<Task>) {
    let mut store = open(home.path());
    let mut tasks: Vec<Task> = (1..=4).map(task).collect();
    let mut changes = vec![launched(&tasks[0])];
    changes.push(moved(&mut tasks[0], Stage::Prompting(msg("m"))));
    changes.push(moved(&mut tasks[0], Stage::Working(msg("m"))));
    for task in &mut tasks[1..] {
        changes.extend(finish(task, "result"));
        changes.push(pending(end_of(task)));
    }
    changes.push(made("l", &[end_of(&tasks[1])]));
    changes.push(Change::Withdrawn(end_of(&tasks[3])));
    changes.push(Change::StopRequested(stop(1, Target::Marked)));
    store.save(NOW, &changes).unwrap();
    (store, tasks)
}

fn with(task: &Task, edit: impl FnOnce(&mut Task)) -> Task {
    let mut task = task.clone();
    edit(&mut task);
    task
}

#[test]
fn n3_a_change_that_cannot_be_is_named_and_undoes_the_whole_save() {
    use StageName::{Queued, Working};
    let home = TempDir::new().unwrap();
    let (mut store, tasks) = world(&home);
    let [one, two, three, four] = [0, 1, 2, 3].map(|at: usize| &tasks[at]);
    let failed = with(one, |task| task.stage = Stage::Finished(Outcome::Failed));
    let queued = with(one, |task| task.stage = Stage::Queued);
    let opening = with(one, |task| task.stage = Stage::Opening);
    let other_run = with(&queued, |task| task.run.number = 1);
    let again = with(two, |task| {
        task.run.number = 1;
        task.stage = Stage::Queued;
    });
    let moves = |task: &Task, from| Change::Moved { task: task.clone(), from };
    let ends = |task: &Task, from| Change::Ended { task: task.clone(), from, detail: "x".into() };
    let resumes = |task: &Task| Change::Resumed {
        task: task.clone(),
        from: StageName::Completed,
        by: ResumedBy::Session,
    };
    let unknown = NoticeId { task: id(9), run: 0, about: About::End };
    let in_delivery = {
        let mut notice = notice(NoticeId { about: About::Question(0), ..end_of(one) });
        notice.delivery = Some(msg("l"));
        notice
    };
    let cases = [
        ("launch of bg_00000001", launched(&task(1))),
        ("launch of bg_00000008", launched(&with(&task(8), |task| task.run.number = 1))),
        ("bg_00000001 run 0 from queued to queued", moves(&queued, Queued)),
        ("bg_00000001 run 1 from working to queued", moves(&other_run, Working)),
        ("from working to opening", moves(&opening, Working)),
        ("an end has to be saved as one", moves(&failed, Working)),
        ("that is no end", ends(&queued, Working)),
        ("from queued to failed: it is not there", ends(&failed, Queued)),
        ("bg_00000008 run 0", moves(&task(8), StageName::Opening)),
        ("resume of bg_00000001", resumes(&with(one, |task| task.run.number = 1))),
        ("resume of bg_00000002 as run 2", resumes(&with(&again, |task| task.run.number = 2))),
        ("resume of bg_00000002 as run 0", resumes(&with(&again, |task| task.run.number = 0))),
        ("reading of bg_00000009", Change::Retrieved { task: id(9), at: NOW }),
        ("forgetting of bg_00000009", Change::Forgotten { task: id(9), why: Forget::Cleared }),
        ("notice of bg_00000003 run 0 (End): it was pending before", pending(end_of(three))),
        ("notice of bg_00000004 run 0 (End): it was pending before", pending(end_of(four))),
        ("notice of bg_00000009", pending(unknown)),
        ("cannot begin in a delivery", Change::Enqueued(in_delivery)),
        ("withdrawal of notice of bg_00000002", Change::Withdrawn(end_of(two))),
        ("withdrawal of notice of bg_00000004", Change::Withdrawn(end_of(four))),
        ("delivery l: it exists already", made("l", &[end_of(three)])),
        ("delivery k: notice of bg_00000002", made("k", &[end_of(three), end_of(two)])),
        ("delivery k: notice of bg_00000004", made("k", &[end_of(four)])),
        ("delivery k: notice of bg_00000003", made("k", &[end_of(three), end_of(three)])),
        ("delivery k: it tells nothing", made("k", &[])),
        ("delivery k: there is no such delivery", done("k")),
        ("delivery k: there is no such delivery", dissolved(msg("k"))),
        ("stop of bg_00000001: one is pending", Change::StopRequested(stop(1, Target::Marked))),
        ("the stop of bg_00000002: none is pending", Change::StopDone { task: two.id }),
        ("parent ses_x", Change::ParentForgotten { session: "ses_x".parse().unwrap() }),
    ];
    let before = store.load().unwrap();
    for (phrase, change) in cases {
        let good = Change::ParentKnown(parent("ses_new", None));
        let fault = store.save(NOW, &[good, launched(&task(5)), change]).unwrap_err();
        assert!(matches!(fault, Fault::Impossible { .. }), "{phrase}: {fault:?}");
        assert!(fault.to_string().contains(phrase), "{phrase}: {fault}");
        assert_eq!(store.load().unwrap(), before, "{phrase}");
    }
}

#[test]
fn n1_a_notice_that_was_told_cannot_be_owed_again_nor_one_of_a_dissolved_delivery_be_lost() {
    let home = TempDir::new().unwrap();
    let (mut store, tasks) = world(&home);
    let (two, three) = (end_of(&tasks[1]), end_of(&tasks[2]));
    store.save(NOW, &[done("l")]).unwrap();
    assert!(store.save(NOW, &[pending(two)]).is_err());
    assert!(store.save(NOW, &[made("k", &[two])]).is_err());
    store.save(NOW, &[made("k", &[three]), dissolved(msg("k"))]).unwrap();
    let saved = store.load().unwrap();
    assert_eq!(saved.notices, [notice(three)]);
    assert_eq!(saved.deliveries, []);
    store.save(NOW, &[made("k", &[three])]).unwrap();
}

#[test]
fn k3_what_a_task_found_can_be_read_for_a_while_after_its_session_was_deleted() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let (mut deleted, mut cleared) = (task(1), task(2));
    store.save(NOW, &finish(&mut deleted, "what it found")).unwrap();
    store.save(NOW, &finish(&mut cleared, "what nobody wants")).unwrap();
    let forget = |task: &Task, why| Change::Forgotten { task: task.id, why };
    store.save(NOW, &[forget(&deleted, Forget::ParentDeleted)]).unwrap();
    store.save(NOW, &[forget(&cleared, Forget::Cleared)]).unwrap();
    assert!(store.load().unwrap().tasks.is_empty());
    assert_eq!(store.detail(deleted.id, 0).unwrap(), None);

    let left = store.tombstone(deleted.id, NOW).unwrap().unwrap();
    assert_eq!(left.detail.as_deref(), Some("what it found"));
    assert_eq!(
        (left.description.as_str(), left.stage.as_str()),
        (&*deleted.description, "completed")
    );
    assert_eq!(store.tombstone(cleared.id, NOW).unwrap(), None, "cleared is cleared");
    let later = left.until.plus(1);
    assert_eq!(store.tombstone(deleted.id, later).unwrap(), None);
    store.expire(later).unwrap();
    assert_eq!(store.tombstone(deleted.id, NOW).unwrap(), None);
}

/// Every file of the store.
fn bytes(home: &TempDir) -> Vec<u8> {
    let files = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path());
    files.flat_map(|path| std::fs::read(path).unwrap()).collect()
}

fn holds(home: &TempDir, words: &str) -> bool {
    bytes(home).windows(words.len()).any(|window| window == words.as_bytes())
}

#[test]
fn p8_what_was_forgotten_is_in_no_file_and_the_file_shrinks() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut tasks: Vec<Task> = (1..=40).map(task).collect();
    for task in &mut tasks {
        let detail = format!("secret of {} ", task.id).repeat(5_000);
        let changes = [launched(task), ended(task, Outcome::Failed, &detail)];
        store.save(NOW, &changes).unwrap();
    }
    let kept = tasks.pop().unwrap();
    let before = store.path().metadata().unwrap().len() + store_log(&store);
    for task in &tasks {
        store.save(NOW, &[Change::Forgotten { task: task.id, why: Forget::Cleared }]).unwrap();
        store.compact().unwrap();
    }
    for task in &tasks {
        assert!(!holds(&home, &format!("secret of {}", task.id)), "{} is still there", task.id);
    }
    assert!(holds(&home, &format!("secret of {}", kept.id)));
    let after = store.path().metadata().unwrap().len() + store_log(&store);
    assert!(after < before / 5, "{before} became {after}");
    assert_eq!(store.load().unwrap().tasks.len(), 1);
    assert!(store.detail(kept.id, 0).unwrap().is_some());
}

#[test]
fn p8_while_somebody_reads_the_file_it_is_known_that_it_still_holds_what_was_forgotten() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut task = task(1);
    store.save(NOW, &[launched(&task), ended(&mut task, Outcome::Failed, "a secret")]).unwrap();
    let other = rusqlite::Connection::open(store.path()).unwrap();
    other.execute_batch("BEGIN; SELECT * FROM tasks").unwrap();
    store.save(NOW, &[Change::Forgotten { task: task.id, why: Forget::Cleared }]).unwrap();
    assert!(store.compact().is_err());
    other.execute_batch("COMMIT").unwrap();
    store.compact().unwrap();
    assert!(!holds(&home, "a secret"));
}

#[test]
fn p8_what_is_left_of_deleted_sessions_can_be_removed_and_does_not_outlive_its_time() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let [mut deleted, mut cleared] = [1, 2].map(task);
    for one in [&mut deleted, &mut cleared] {
        let changes = [launched(one), ended(one, Outcome::Failed, "a secret")];
        store.save(NOW, &changes).unwrap();
    }
    let forget = |task: &Task| Change::Forgotten { task: task.id, why: Forget::ParentDeleted };
    store.save(NOW, &[forget(&deleted)]).unwrap();
    let left = store.tombstone(deleted.id, NOW).unwrap().unwrap();
    store.expire(left.until).unwrap();
    assert!(store.tombstone(deleted.id, NOW).unwrap().is_some());
    store.expire(left.until.plus(1)).unwrap();
    assert!(store.tombstone(deleted.id, NOW).unwrap().is_none());
    store.save(NOW, &[forget(&cleared)]).unwrap();
    store.remove_tombstones().unwrap();
    assert!(!holds(&home, "a secret"));
}

fn store_log(store: &legwork_store::Store) -> u64 {
    let log = store.path().with_extension("db-wal");
    log.metadata().map_or(0, |file| file.len())
}

/// As a build left it that delivered mail into files: nobody has read of tasks 1 and 2, and the end
/// of the delivery of task 3, which was read, was not saved.
#[test]
fn n1_mail_of_an_older_build_is_delivered_again_from_the_outbox_until_it_is_read() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut tasks: Vec<Task> = (1..=3).map(task).collect();
    let headline = |task: &Task| format!("[BACKGROUND TASK COMPLETED] {} Look", task.id);
    for task in &mut tasks {
        let mut changes = finish(task, "result");
        let end = Notice { headline: headline(task), ..notice(end_of(task)) };
        changes.push(Change::Enqueued(end));
        store.save(NOW, &changes).unwrap();
    }
    let ends: Vec<NoticeId> = tasks.iter().map(end_of).collect();
    store.save(NOW, &[made("a", &ends[..2]), done("a"), made("c", &ends[2..])]).unwrap();
    let lines = vec![headline(&tasks[0]), headline(&tasks[1]), "2 finished".to_owned()];
    let recipient = notice(ends[0]).to;
    assert_eq!(store.told_end(tasks[0].id, 0).unwrap(), Some(recipient.clone()));
    let mail =
        OldMail { unread: vec![(msg("a"), recipient, lines)], shown: vec![msg("b"), msg("c")] };
    // Once more, as after a kill before the file was removed.
    for _ in 0..2 {
        store.take_over(&mail).unwrap();
        let saved = store.load().unwrap();
        let [delivery] = &saved.deliveries[..] else { panic!("{:?}", saved.deliveries) };
        assert!(delivery.is_pulled());
        assert_eq!((&delivery.id, &delivery.notices[..]), (&msg("a"), &ends[..2]));
        assert_eq!(saved.notices.len(), 2);
    }
    assert_eq!(store.told_end(tasks[0].id, 0).unwrap(), None);
    store.save(NOW, &[done("a")]).unwrap();
    assert_eq!(store.load().unwrap().notices, []);
}
