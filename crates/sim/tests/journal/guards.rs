//! What both take and refuse, one guard after another.

use legwork_engine::record::{
    About, Change, DeliveryEnd, Forget, Journal, Notice, NoticeId, Saved, Stop, Target,
};
use legwork_engine::task::{ResumedBy, StageName};
use legwork_sim::memory::Memory;

use crate::records::{
    NOW, at, brought_to, delivery, detail, dissolved, done, end_of, ended, id, in_run, launched,
    load, made, moved, msg, notice, parent, pending, refuses, stage, stop, takes, task,
};

macro_rules! on_both {
    ($($check:ident),* $(,)?) => {
        mod memory {
            $(#[test] fn $check() { super::$check(&mut super::Memory::default()); })*
        }
        mod store {
            $(#[test] fn $check() {
                let (_home, mut store) = crate::store();
                super::$check(&mut store);
            })*
        }
    };
}

on_both!(
    a_launch_needs_a_new_id_and_an_unfinished_first_run,
    only_the_arrows_of_the_lifecycle_are_moves,
    r3_only_a_completed_run_is_resumed_and_by_the_next,
    p1_a_person_resumes_from_any_end,
    d7_each_run_keeps_its_result,
    a_run_keeps_the_prompt_that_it_began_with,
    n1_a_notice_is_owed_once,
    n5_a_delivery_takes_what_is_owed_and_free,
    a_delivery_ends_once,
    a_delivery_that_is_pulled_loses_what_is_not_needed,
    a_task_owes_one_stop,
    parents_are_known_until_they_are_forgotten,
    k1_forgetting_takes_everything_but_the_stop,
    a_delivery_outlives_the_notices_that_are_forgotten,
    n3_all_changes_are_saved_or_none,
    nothing_to_save_is_saved,
);

fn a_launch_needs_a_new_id_and_an_unfinished_first_run(journal: &mut impl Journal) {
    takes(journal, &[launched(&task(1))]);
    refuses(journal, launched(&task(1)));
    refuses(journal, launched(&in_run(task(2), 1)));
    for name in [StageName::Completed, StageName::Failed, StageName::Cancelled] {
        refuses(journal, launched(&at(task(2), name)));
    }
    takes(journal, &[launched(&task(2)), Change::Forgotten { task: id(1), why: Forget::Cleared }]);
    takes(journal, &[launched(&task(1))]);
}

fn only_the_arrows_of_the_lifecycle_are_moves(journal: &mut impl Journal) {
    for actual in StageName::ALL {
        for from in StageName::ALL {
            for to in StageName::ALL {
                takes(journal, &brought_to(1, actual));
                let next = at(task(1), to);
                let (right, wrong) = if next.is_finished() {
                    (ended(&next, from, "result"), moved(&next, from))
                } else {
                    (moved(&next, from), ended(&next, from, "result"))
                };
                refuses(journal, wrong);
                let later = in_run(next.clone(), 1);
                refuses(journal, moved(&later, from));
                refuses(journal, ended(&later, from, "result"));
                if actual == from && from.may_become(to) {
                    takes(journal, &[right]);
                    assert_eq!(load(journal).tasks[0].stage, stage(to));
                } else {
                    refuses(journal, right);
                }
                takes(journal, &[Change::Forgotten { task: id(1), why: Forget::Cleared }]);
            }
        }
    }
    refuses(journal, moved(&task(1), StageName::Opening));
}

fn r3_only_a_completed_run_is_resumed_and_by_the_next(journal: &mut impl Journal) {
    resumed_by(journal, ResumedBy::Session, &[StageName::Completed]);
}

fn p1_a_person_resumes_from_any_end(journal: &mut impl Journal) {
    let ends = [StageName::Completed, StageName::Failed, StageName::Cancelled];
    resumed_by(journal, ResumedBy::Person, &ends);
}

fn resumed_by(journal: &mut impl Journal, by: ResumedBy, ends: &[StageName]) {
    let resumed = |run, from| {
        let task = at(in_run(task(1), run), StageName::Queued);
        Change::Resumed { task, from, by }
    };
    refuses(journal, resumed(1, StageName::Completed));
    for name in StageName::ALL {
        takes(journal, &brought_to(1, name));
        for run in [0, 2, u32::MAX] {
            refuses(journal, resumed(run, name));
        }
        let over = at(in_run(task(1), 1), StageName::Completed);
        refuses(journal, Change::Resumed { task: over, from: name, by });
        for other in StageName::ALL.into_iter().filter(|other| *other != name) {
            refuses(journal, resumed(1, other));
        }
        if ends.contains(&name) {
            takes(journal, &[resumed(1, name)]);
        }
        refuses(journal, resumed(1, name));
        takes(journal, &[Change::Forgotten { task: id(1), why: Forget::Cleared }]);
    }
}

fn d7_each_run_keeps_its_result(journal: &mut impl Journal) {
    takes(journal, &brought_to(1, StageName::Completed));
    let again = at(in_run(task(1), 1), StageName::Prompting);
    let (task, from, by) = (again.clone(), StageName::Completed, ResumedBy::Session);
    takes(journal, &[Change::Resumed { task, from, by }]);
    assert_eq!(detail(journal, 1, 0).as_deref(), Some("result"));
    assert_eq!(detail(journal, 1, 1), None);
    let over = at(again, StageName::Failed);
    takes(journal, &[ended(&over, StageName::Prompting, "no\u{0}thing")]);
    assert_eq!(detail(journal, 1, 0).as_deref(), Some("result"));
    assert_eq!(detail(journal, 1, 1).as_deref(), Some("no\u{0}thing"));
    assert_eq!(detail(journal, 2, 0), None);
}

fn a_run_keeps_the_prompt_that_it_began_with(journal: &mut impl Journal) {
    let first = task(1);
    let mut next = at(first.clone(), StageName::Prompting);
    next.run.prompt = None;
    next.run.asked.ids = vec!["que_1".parse().unwrap()];
    takes(journal, &[launched(&first), moved(&next, StageName::Opening)]);
    next.run.prompt = first.run.prompt.clone();
    assert_eq!(load(journal).tasks, [next.clone()]);
    next.stage = stage(StageName::Failed);
    takes(journal, &[ended(&next, StageName::Prompting, "")]);
    let saved = load(journal);
    assert_eq!(saved.tasks[0].run.prompt, None);
    assert_eq!(saved.tasks[0].run.asked.ids, []);
}

fn n1_a_notice_is_owed_once(journal: &mut impl Journal) {
    refuses(journal, pending(end_of(1)));
    takes(journal, &brought_to(1, StageName::Completed));
    takes(journal, &[pending(end_of(1))]);
    refuses(journal, pending(end_of(1)));
    let question = NoticeId { about: About::Question(0), ..end_of(1) };
    refuses(journal, Change::Withdrawn(question));
    refuses(journal, Change::Enqueued(Notice { delivery: Some(msg("l")), ..notice(question) }));
    takes(journal, &[pending(question), Change::Withdrawn(question)]);
    refuses(journal, pending(question));
    refuses(journal, Change::Withdrawn(question));
    takes(journal, &[made("l", &[end_of(1)])]);
    refuses(journal, pending(end_of(1)));
    refuses(journal, Change::Withdrawn(end_of(1)));
    takes(journal, &[done("l")]);
    refuses(journal, pending(end_of(1)));
    assert_eq!(load(journal).notices, []);
    takes(journal, &[Change::Forgotten { task: id(1), why: Forget::Cleared }]);
    takes(journal, &brought_to(1, StageName::Completed));
    takes(journal, &[pending(end_of(1))]);
}

fn n5_a_delivery_takes_what_is_owed_and_free(journal: &mut impl Journal) {
    for number in 1..=4 {
        takes(journal, &brought_to(number, StageName::Completed));
    }
    takes(journal, &[pending(end_of(1)), pending(end_of(2)), pending(end_of(3))]);
    takes(journal, &[Change::Withdrawn(end_of(3))]);
    refuses(journal, made("l", &[]));
    refuses(journal, made("l", &[end_of(1), end_of(1)]));
    refuses(journal, made("l", &[end_of(1), end_of(3)]));
    refuses(journal, made("l", &[end_of(1), end_of(4)]));
    takes(journal, &[made("l", &[end_of(2), end_of(1)])]);
    refuses(journal, made("k", &[end_of(1)]));
    takes(journal, &[pending(end_of(4))]);
    refuses(journal, made("l", &[end_of(4)]));
    let saved = load(journal);
    assert_eq!(saved.deliveries, [delivery("l", &[end_of(2), end_of(1)])]);
    let carried: Vec<_> = saved.notices.iter().map(|notice| notice.delivery.clone()).collect();
    assert_eq!(carried, [Some(msg("l")), Some(msg("l")), None]);
}

fn a_delivery_ends_once(journal: &mut impl Journal) {
    refuses(journal, done("l"));
    refuses(journal, dissolved(msg("l")));
    takes(journal, &brought_to(1, StageName::Completed));
    takes(journal, &[pending(end_of(1)), made("l", &[end_of(1)])]);
    takes(journal, &[dissolved(msg("l"))]);
    refuses(journal, dissolved(msg("l")));
    refuses(journal, done("l"));
    assert_eq!(load(journal).notices, [notice(end_of(1))]);
    let gone = Change::DeliveryDone {
        delivery: msg("l"),
        notices: Vec::new(),
        end: DeliveryEnd::ParentGone,
    };
    takes(journal, &[made("l", &[end_of(1)]), gone.clone()]);
    refuses(journal, gone);
    assert_eq!(load(journal).notices, []);
}

fn a_delivery_that_is_pulled_loses_what_is_not_needed(journal: &mut impl Journal) {
    let pulled = Change::DeliveryPulled { delivery: msg("l"), notices: Vec::new() };
    refuses(journal, pulled.clone());
    for number in 1..=2 {
        takes(journal, &brought_to(number, StageName::Completed));
        takes(journal, &[pending(end_of(number))]);
    }
    takes(journal, &[made("l", &[end_of(1), end_of(2)])]);
    refuses(journal, Change::Withdrawn(end_of(1)));
    takes(journal, &[pulled, Change::Withdrawn(end_of(1))]);
    refuses(journal, Change::Withdrawn(end_of(1)));
    refuses(journal, made("k", &[end_of(2)]));
    let saved = load(journal);
    assert!(saved.deliveries[0].is_pulled());
    assert_eq!(saved.deliveries[0].notices, [end_of(2)]);
    assert_eq!(saved.notices.len(), 1);
    takes(journal, &[Change::Withdrawn(end_of(2))]);
    refuses(journal, done("l"));
    assert_eq!(load(journal).deliveries, []);
}

fn a_task_owes_one_stop(journal: &mut impl Journal) {
    refuses(journal, Change::StopDone { task: id(1) });
    takes(journal, &[Change::StopRequested(stop(1))]);
    refuses(journal, Change::StopRequested(stop(1)));
    let session = Target::Session("ses_x".parse().unwrap());
    let other = Stop { target: session, ..stop(2) };
    takes(journal, &[Change::StopRequested(other.clone())]);
    assert_eq!(load(journal).stops, [stop(1), other]);
    takes(journal, &[Change::StopDone { task: id(1) }, Change::StopRequested(stop(1))]);
}

fn parents_are_known_until_they_are_forgotten(journal: &mut impl Journal) {
    let forgotten = Change::ParentForgotten { session: "ses_a".parse().unwrap() };
    refuses(journal, forgotten.clone());
    takes(journal, &[Change::ParentKnown(parent("ses_b", None))]);
    takes(journal, &[Change::ParentKnown(parent("ses_a", None))]);
    takes(journal, &[Change::ParentKnown(parent("ses_a", Some("host-2")))]);
    let both = [parent("ses_a", Some("host-2")), parent("ses_b", None)];
    assert_eq!(load(journal).parents, both);
    takes(journal, std::slice::from_ref(&forgotten));
    refuses(journal, forgotten);
}

fn k1_forgetting_takes_everything_but_the_stop(journal: &mut impl Journal) {
    refuses(journal, Change::Forgotten { task: id(1), why: Forget::Cleared });
    refuses(journal, Change::Retrieved { task: id(1), at: NOW });
    takes(journal, &brought_to(1, StageName::Completed));
    takes(journal, &[Change::Retrieved { task: id(1), at: NOW }]);
    assert_eq!(load(journal).tasks[0].retrieved, Some(NOW));
    takes(journal, &[pending(end_of(1)), made("l", &[end_of(1)]), Change::StopRequested(stop(1))]);
    takes(journal, &[Change::Forgotten { task: id(1), why: Forget::Cleared }]);
    let stops = vec![stop(1)];
    assert_eq!(load(journal), Saved { stops, ..Saved::default() });
    assert_eq!(detail(journal, 1, 0), None);
    refuses(journal, done("l"));
    refuses(journal, Change::Forgotten { task: id(1), why: Forget::Cleared });
}

fn a_delivery_outlives_the_notices_that_are_forgotten(journal: &mut impl Journal) {
    for number in 1..=3 {
        takes(journal, &brought_to(number, StageName::Completed));
        takes(journal, &[pending(end_of(number))]);
    }
    takes(journal, &[made("l", &[end_of(3), end_of(1), end_of(2)])]);
    takes(journal, &[Change::Forgotten { task: id(1), why: Forget::Cleared }]);
    assert_eq!(load(journal).deliveries, [delivery("l", &[end_of(3), end_of(2)])]);
    takes(journal, &[Change::Forgotten { task: id(3), why: Forget::Cleared }, done("l")]);
    assert_eq!(load(journal).notices, []);
}

fn n3_all_changes_are_saved_or_none(journal: &mut impl Journal) {
    takes(journal, &brought_to(1, StageName::Working));
    takes(journal, &brought_to(2, StageName::Completed));
    takes(journal, &[pending(end_of(2)), made("l", &[end_of(2)])]);
    takes(journal, &[Change::ParentKnown(parent("ses_a", None)), Change::StopRequested(stop(5))]);
    let before = load(journal);
    let over = at(task(1), StageName::Completed);
    let all = [
        ended(&over, StageName::Working, "new result"),
        pending(end_of(1)),
        made("k", &[end_of(1)]),
        launched(&task(3)),
        Change::Retrieved { task: id(2), at: NOW },
        done("l"),
        Change::Forgotten { task: id(2), why: Forget::Cleared },
        Change::StopDone { task: id(5) },
        Change::StopRequested(stop(6)),
        Change::ParentKnown(parent("ses_a", Some("host-2"))),
        Change::ParentForgotten { session: "ses_a".parse().unwrap() },
    ];
    for upto in 0..=all.len() {
        let mut changes = all[..upto].to_vec();
        changes.push(Change::StopDone { task: id(9) });
        assert!(journal.save(NOW, &changes).is_err());
        assert_eq!(load(journal), before, "after {upto}");
        assert_eq!(detail(journal, 1, 0), None);
        assert_eq!(detail(journal, 2, 0).as_deref(), Some("result"));
    }
    takes(journal, &all);
    assert_eq!(detail(journal, 1, 0).as_deref(), Some("new result"));
}

fn nothing_to_save_is_saved(journal: &mut impl Journal) {
    takes(journal, &[]);
    assert_eq!(load(journal), Saved::default());
    assert!(journal.probe().is_ok());
    assert_eq!(load(journal), Saved::default());
}
