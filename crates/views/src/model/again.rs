//! Having a task try again what its last run was to do.

use legwork_protocol::CallKey;
use legwork_protocol::api::Ask;
use legwork_protocol::view::{RunView, TaskView};

/// What to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// Has the task go on in its session, if it ever had one.
    pub go_on: Option<Ask>,
    /// Launches another one in its place, for a task without a session; in the same folder.
    pub anew: Ask,
    /// The model that it was to use. Of one that began, only what its host calls it is known.
    pub model: Option<String>,
}

/// Gives a task the prompt of its last run once more.
pub fn again(task: &TaskView, runs: &[RunView], key: CallKey) -> Again {
    let prompt = runs.last().map(|run| run.prompt.clone()).unwrap_or_default();
    let go_on = Ask::ResumeAny { task: task.id.to_string(), prompt: prompt.clone(), key };
    Again {
        go_on: task.session.is_some().then_some(go_on),
        anew: Ask::launch(prompt, task.description.clone(), task.agent.clone()),
        model: task.usage.model.as_deref().filter(|_| task.session.is_none()).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use legwork_protocol::{Time, Usage};

    use super::*;
    use crate::model::example::task;

    #[test]
    fn a_task_gets_its_last_prompt_in_its_session_or_is_launched_anew_without_one() {
        let run = |prompt: &str| RunView {
            run: 0,
            prompt: prompt.to_owned(),
            started: Time(1_000),
            ended: None,
            outcome: None,
            tool_calls: None,
            usage: Usage::default(),
        };
        let runs = [run("first"), run("last")];
        let key = || CallKey::try_from("key-1".to_owned()).unwrap();
        let never_began = TaskView {
            usage: Usage { model: Some("large".into()), ..Usage::default() },
            ..task(1)
        };
        let tried = again(&never_began, &runs, key());
        let anew =
            Ask::launch("last".into(), never_began.description.clone(), never_began.agent.clone());
        assert_eq!(
            tried,
            Again { go_on: None, anew: anew.clone(), model: Some("large".to_owned()) }
        );
        let began = TaskView { session: Some("ses_1".parse().unwrap()), ..never_began };
        let tried = again(&began, &runs, key());
        let task = began.id.to_string();
        let go_on = Ask::ResumeAny { task, prompt: "last".into(), key: key() };
        assert_eq!(tried, Again { go_on: Some(go_on), anew, model: None });
    }
}
