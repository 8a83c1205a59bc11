//! A mixed lot of helpers, and whether each outcome was told, rightly and once: answers, refusals
//! of the provider, and agents that do not exist.

use std::time::Duration;

use legwork_testkit::{Call, script};

use super::arm::Arm;
use super::report::Mixed;
use crate::fault::Done;
use crate::progress::{note, until};
use crate::stage::Stage;
use crate::talk::Notice;

const TURN: usize = 10;
const LOOK: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(120);

/// How a helper is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Answers,
    ProviderRefuses,
    NoSuchAgent,
}

impl Ending {
    fn of(number: usize) -> Self {
        match number % 5 {
            3 => Self::ProviderRefuses,
            4 => Self::NoSuchAgent,
            _ => Self::Answers,
        }
    }
}

/// So many helpers; what was told of them.
///
/// # Errors
/// When the launches are not answered.
pub async fn run(stage: &Stage, arm: Arm, helpers: usize) -> Done<Mixed> {
    note(format!("{}: a mixed lot of {helpers}", arm.name()));
    let parent = stage.parent().await;
    for first in (0..helpers).step_by(TURN) {
        let last = helpers.min(first + TURN);
        let turn: Vec<String> = (first..last).map(|number| launch(arm, number)).collect();
        stage.client.say(&parent, &script(&[&turn.join("\n"), "say ok"])).await;
        let look = async || {
            let calls = Call::all(&stage.messages(&parent).await);
            (calls.iter().filter(|call| call.ended.is_some()).count() == last).then_some(())
        };
        until("the launches are answered", PATIENCE, LOOK, look).await?;
    }
    let pending = (0..helpers).filter(|number| Ending::of(*number) != Ending::NoSuchAgent).count();
    if arm == Arm::Legwork {
        stage.until_settled(PATIENCE).await?;
    } else {
        let look = async || {
            let told = arm.notices(&stage.messages(&parent).await).len();
            (told >= pending).then_some(())
        };
        let _ = until("everything is told", Duration::from_secs(30), LOOK, look).await;
    }
    let messages = stage.messages(&parent).await;
    stage.model.forget();
    Ok(count(arm, &Call::all(&messages), &arm.notices(&messages), helpers))
}

fn launch(arm: Arm, number: usize) -> String {
    let name = format!("Lot {number}");
    match Ending::of(number) {
        Ending::Answers => arm.launch(&name, "general", &[&format!("say answer {number}.")]),
        Ending::ProviderRefuses => {
            arm.launch(&name, "general", &[&format!("fail 400 refusal {number}.")])
        }
        Ending::NoSuchAgent => arm.launch(&name, "nobody", &["say never"]),
    }
}

fn count(arm: Arm, calls: &[Call], notices: &[Notice], helpers: usize) -> Mixed {
    let mut mixed = Mixed { arm, helpers, ..Mixed::default() };
    for number in 0..helpers {
        let name = format!("Lot {number}");
        let call = calls.iter().find(|call| call.input["description"] == *name);
        let Some(call) = call else {
            mixed.missing += 1;
            continue;
        };
        let (says, words) = match Ending::of(number) {
            Ending::Answers => ("TASK COMPLETED", format!("answer {number}.")),
            Ending::ProviderRefuses => ("TASK FAILED", format!("refusal {number}.")),
            Ending::NoSuchAgent => {
                // The answer of the call is all that there is to tell.
                let right = call.status == "error";
                *(if right { &mut mixed.right } else { &mut mixed.wrong }) += 1;
                continue;
            }
        };
        let id = arm.child(call).unwrap_or_default();
        let of_it: Vec<&Notice> = notices.iter().filter(|notice| notice.task == id).collect();
        let right = |notice: &&Notice| notice.says == says && notice.result.contains(&words);
        match of_it[..] {
            [] => mixed.missing += 1,
            [one] if right(&one) => mixed.right += 1,
            [_] => mixed.wrong += 1,
            [..] => mixed.doubled += 1,
        }
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(number: usize) -> Call {
        let fails = Ending::of(number) == Ending::NoSuchAgent;
        Call {
            tool: "background_task".to_owned(),
            status: if fails { "error" } else { "completed" }.to_owned(),
            text: format!("Task ID: bg_{number}"),
            input: json!({ "description": format!("Lot {number}") }),
            ended: Some(1),
            ..Call::default()
        }
    }

    fn notice(number: usize) -> Notice {
        let answers = Ending::of(number) == Ending::Answers;
        let (says, word) =
            if answers { ("TASK COMPLETED", "answer") } else { ("TASK FAILED", "refusal") };
        Notice {
            says: says.to_owned(),
            task: format!("bg_{number}"),
            line: String::new(),
            result: format!("{word} {number}."),
            stored: 1,
        }
    }

    #[test]
    fn each_outcome_is_told_rightly_and_once_or_counted_as_what_it_is() {
        let calls: Vec<Call> = (0..5).map(call).collect();
        let mut notices: Vec<Notice> = (0..4).map(notice).collect();
        let found = |notices: &[Notice]| {
            let mixed = count(Arm::Legwork, &calls, notices, 5);
            (mixed.right, mixed.wrong, mixed.missing, mixed.doubled)
        };
        assert_eq!(found(&notices), (5, 0, 0, 0));
        assert_eq!(found(&notices[1..]), (4, 0, 1, 0));
        notices.push(notice(2));
        assert_eq!(found(&notices), (4, 0, 0, 1));
        notices.pop();
        notices[3].says = "TASK COMPLETED".to_owned();
        assert_eq!(found(&notices), (4, 1, 0, 0));
        assert_eq!(count(Arm::Legwork, &calls[..4], &notices, 5).missing, 1);
    }
}
