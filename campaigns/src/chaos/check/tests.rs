//! Each rule can be broken, and a history without kills that ended well breaks none.

use serde_json::json;

use super::super::plan::Plan;
use super::super::seen::ChildSeen;
use super::*;

/// The item of a plan with these helpers' endings and what comes later, played without a fault.
fn well(wanted: impl Fn(&Item) -> bool) -> (Plan, Seen) {
    let plans = (0..200).map(|seed| Plan::new(seed, 5));
    let item = plans.flat_map(|plan| plan.items).find(wanted).unwrap();
    let mut left = ItemSeen { began: Some(1_000), ..ItemSeen::default() };
    for (number, helper) in item.helpers.iter().enumerate() {
        let call = |status: &str, text: String| Call {
            tool: "background_task".to_owned(),
            status: status.to_owned(),
            text,
            input: json!({ "description": helper.name }),
            began: Some(1_000),
            ended: Some(1_100),
            ..Call::default()
        };
        if helper.ending == Ending::NoAgent {
            left.calls.push(call("error", "no such agent".to_owned()));
            continue;
        }
        let (id, session) = (format!("bg_{number}"), format!("ses_{number}"));
        left.calls.push(call("completed", format!("Task ID: {id}")));
        let (status, says) = match helper.ending {
            Ending::Fails => ("error", "TASK FAILED"),
            _ => ("completed", "TASK COMPLETED"),
        };
        left.notices.push(notice(&id, says, &helper.words(0)));
        left.children.push(ChildSeen {
            session: session.clone(),
            prompts: 1,
            ..ChildSeen::default()
        });
        left.tasks.push(TaskSeen {
            id,
            name: helper.name.clone(),
            status: status.to_owned(),
            session: Some(session),
            ended: Some(2_000),
            text: helper.words(0),
            ..TaskSeen::default()
        });
    }
    let plan = Plan { items: vec![item], steps: Vec::new() };
    (plan, Seen { items: vec![left], ..Seen::default() })
}

fn notice(task: &str, says: &str, result: &str) -> Notice {
    Notice {
        says: says.to_owned(),
        task: task.to_owned(),
        line: says.to_owned(),
        result: result.to_owned(),
        stored: 2_000,
    }
}

fn rules(plan: &Plan, seen: &Seen) -> Vec<Rule> {
    check(plan, seen).iter().map(|broken| broken.rule).collect()
}

fn answers(item: &Item) -> bool {
    item.helpers.len() == 1 && item.helpers[0].ending == Ending::Answers
}

fn single() -> (Plan, Seen) {
    well(|item| answers(item) && item.later.is_none())
}

#[test]
fn what_ended_well_breaks_nothing() {
    for wanted in [
        |item: &Item| item.helpers.len() == 3,
        |item: &Item| item.helpers[0].ending == Ending::NoAgent,
        |item: &Item| item.helpers[0].ending == Ending::Asks,
        |item: &Item| item.waits,
    ] {
        let (plan, seen) = well(wanted);
        assert_eq!(check(&plan, &seen), []);
    }
}

#[test]
fn a_missing_notice_is_lost_and_a_second_one_doubled() {
    let (plan, mut seen) = single();
    let told = seen.items[0].notices.pop().unwrap();
    assert_eq!(rules(&plan, &seen), [Rule::Lost]);
    seen.items[0].notices.extend([told.clone(), told]);
    assert_eq!(rules(&plan, &seen), [Rule::Doubled]);
}

#[test]
fn a_launch_that_was_answered_is_kept_and_kept_once() {
    let (plan, mut seen) = single();
    let task = seen.items[0].tasks[0].clone();
    seen.items[0].tasks.push(TaskSeen { id: "bg_9".to_owned(), ..task });
    assert_eq!(rules(&plan, &seen), [Rule::Doubled]);
    seen.items[0].tasks.clear();
    seen.items[0].children.clear();
    assert_eq!(rules(&plan, &seen), [Rule::Lost]);
}

#[test]
fn what_still_runs_or_owes_or_waits_is_stuck() {
    let (plan, seen) = single();
    let mut running = seen.clone();
    running.items[0].tasks[0].ended = None;
    assert_eq!(rules(&plan, &running), [Rule::Stuck]);
    let mut owing = seen.clone();
    owing.items[0].tasks[0].pending = true;
    assert_eq!(rules(&plan, &owing), [Rule::Stuck]);
    let mut waiting = seen;
    waiting.items[0].calls[0].status = "running".to_owned();
    assert_eq!(rules(&plan, &waiting), [Rule::Stuck]);
    waiting.host_kills = vec![1_050];
    assert_eq!(rules(&plan, &waiting), []);
}

#[test]
fn a_run_may_be_interrupted_only_by_more_kills_of_opencode_in_its_time_than_it_goes_on() {
    let (plan, mut seen) = single();
    let item = &mut seen.items[0];
    item.tasks[0].status = "error".to_owned();
    item.tasks[0].text = "The run was interrupted.".to_owned();
    item.notices[0].says = "TASK FAILED".to_owned();
    assert_eq!(rules(&plan, &seen), [Rule::WrongOutcome]);
    for (kill, held) in [(500, false), (1_500, true), (2_500, false)] {
        seen.host_kills = vec![1_400, 1_400, 1_400, kill];
        assert_eq!(rules(&plan, &seen).is_empty(), held, "{kill}");
    }
    seen.host_kills = vec![1_500; 4];
    seen.items[0].tasks[0].text = "Something else.".to_owned();
    assert_eq!(rules(&plan, &seen), [Rule::WrongOutcome]);
}

#[test]
fn a_run_goes_on_once_for_each_kill_of_opencode() {
    let (plan, mut seen) = single();
    seen.items[0].children[0].go_ons = 1;
    assert_eq!(rules(&plan, &seen), [Rule::Doubled]);
    seen.host_kills = vec![1_500];
    assert_eq!(rules(&plan, &seen), []);
    seen.items[0].children[0].go_ons = 2;
    assert_eq!(rules(&plan, &seen), [Rule::Doubled]);
}

#[test]
fn another_answer_than_the_helpers_is_wrong() {
    let (plan, mut seen) = single();
    seen.items[0].notices[0].result = "another".to_owned();
    assert_eq!(rules(&plan, &seen), [Rule::WrongOutcome]);
    seen.items[0].tasks[0].text = "another".to_owned();
    assert_eq!(rules(&plan, &seen), [Rule::WrongOutcome, Rule::WrongOutcome]);
}

#[test]
fn a_resume_owes_a_second_notice_and_a_second_prompt() {
    let (plan, mut seen) =
        well(|item| item.later == Some(Later::Resume(Ending::Answers)) && answers(item));
    let words = plan.items[0].helpers[0].words(1);
    let item = &mut seen.items[0];
    item.tasks[0].resumes = 1;
    item.tasks[0].text.clone_from(&words);
    assert_eq!(rules(&plan, &seen), [Rule::Lost, Rule::Lost]);
    seen.items[0].notices.push(notice("bg_0", "RESUME COMPLETED", &words));
    seen.items[0].children[0].prompts = 2;
    assert_eq!(rules(&plan, &seen), []);
    seen.items[0].children[0].prompts = 3;
    assert_eq!(rules(&plan, &seen), [Rule::Doubled]);
}

#[test]
fn what_its_parent_cancelled_is_not_told_and_what_a_person_did_is() {
    let (plan, mut seen) = well(|item| item.helpers[0].ending == Ending::Hangs);
    let item = &mut seen.items[0];
    item.tasks[0].status = "cancelled".to_owned();
    item.tasks[0].text = "Cancelled by a person.".to_owned();
    item.notices[0].says = "TASK CANCELLED".to_owned();
    assert_eq!(rules(&plan, &seen), []);
    seen.items[0].tasks[0].text = format!("{BY_PARENT}.");
    assert_eq!(rules(&plan, &seen), [Rule::Doubled]);
    seen.items[0].notices.clear();
    assert_eq!(rules(&plan, &seen), []);
}

#[test]
fn sessions_and_processes_of_nobody_are_found() {
    let (plan, mut seen) = single();
    let stray = ChildSeen { session: "ses_9".to_owned(), ..ChildSeen::default() };
    seen.items[0].children.push(stray);
    seen.items[0].children[0].busy = true;
    seen.strangers.push("process 9 x".to_owned());
    let expected = [Rule::OrphanSession, Rule::OrphanSession, Rule::OrphanProcess];
    assert_eq!(rules(&plan, &seen), expected);
}
