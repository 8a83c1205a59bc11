//! What the commands say beside what the live views say too, in words for people.

use legwork_protocol::line::HostLifetime;
use legwork_protocol::money::{Cost, amount};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{
    BudgetOf, BudgetView, HostView, QuestionKind, QuestionView, TaskView,
};
use legwork_views::model::State;
pub use legwork_views::model::sentences::{
    QUESTION_MAX_CHARS, asks, done, is_terminal, not_notified, number, question, refusal, replied,
    unknown_agent, waiting_now,
};

/// A host by what a person knows of it.
pub fn host(host: &HostView) -> String {
    match host.lifetime {
        HostLifetime::Interactive => host.kind.clone(),
        HostLifetime::OneShot => format!("{} run", host.kind),
        HostLifetime::Headless => {
            format!("{} without a window, for helpers whose window closed", host.kind)
        }
    }
}

/// Amounts of several currencies.
pub fn costs(costs: &[Cost]) -> String {
    costs.iter().map(Cost::to_string).collect::<Vec<_>>().join(" + ")
}

/// That a budget is nearly used up, or more.
pub fn budget(budget: &BudgetView) -> String {
    let BudgetView { spent_micros, limit_micros, currency, of, .. } = budget;
    let (spent, limit, setting) = (amount(*spent_micros), amount(*limit_micros), of.setting());
    let (whose, then) = match of {
        BudgetOf::Session => ("by one session", "no more helpers are started in it"),
        BudgetOf::Day => {
            ("today from terminals", "no more helpers are started until tomorrow (UTC)")
        }
    };
    let at = if spent_micros >= limit_micros { "" } else { "at the limit " };
    format!("{spent} of {limit} {currency} are used up {whose} ({setting}); {at}{then}")
}

/// That a task is not done, and what a person can do about it. A task that asks does not end while
/// a person only waits.
pub fn not_done(task: &TaskView) -> String {
    let id = task.id;
    if task.questions.is_empty() {
        let state = State::of(task).word();
        return format!("{id} is still {state}. `legwork wait {id}` waits for it.");
    }
    let mut lines = vec![format!("{id} is not done, because it waits for you.")];
    for open in &task.questions {
        lines.push(format!("{} {}", task.description, question(open)));
        lines.extend(ways_to_answer(task, open).into_iter().map(|way| format!("  {way}")));
    }
    let lines = lines.iter().map(|line| plain(line, QUESTION_MAX_CHARS));
    lines.collect::<Vec<_>>().join("\n")
}

/// How to answer a question, a line for each way. Each names the question: another one may have
/// taken its place when somebody uses the command.
pub fn ways_to_answer(task: &TaskView, question: &QuestionView) -> Vec<String> {
    let name = question_name(question);
    let command = |answer: &str| format!("legwork answer {} {answer} --question {name}", task.id);
    let words = if question.kind == QuestionKind::Question { "--words " } else { "" };
    let options = question.options.iter();
    let options = options.map(|way| (command(&format!("{words}{}", way.id)), way.label.as_str()));
    let mut ways: Vec<(String, &str)> = options.collect();
    match question.kind {
        QuestionKind::Question => ways.push((command("--words TEXT"), "in your own words")),
        QuestionKind::Permission if ways.is_empty() => ways.push((command("reject"), "Reject")),
        QuestionKind::Permission => {}
    }
    let width = ways.iter().map(|(way, _)| way.len()).max().unwrap_or(0);
    ways.into_iter().map(|(way, means)| format!("{way:<width$}  {means}")).collect()
}

/// What a command names a question by: the number, or the id of one without.
pub fn question_name(question: &QuestionView) -> String {
    match question.number {
        0 => question.id.to_string(),
        number => number.to_string(),
    }
}
