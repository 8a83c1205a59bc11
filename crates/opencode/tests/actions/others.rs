//! Agents, polls, censuses, stops and answers.

use legwork_engine::record::Target;
use legwork_engine::work::{Question, Retry, Scope};
use legwork_engine::{Action, Finding, HostError};
use legwork_protocol::api::Reply;
use legwork_protocol::view::{QuestionKind, QuestionOption};
use legwork_protocol::{TaskId, Time};
use serde_json::{Value, json};

use crate::fake::{Fake, fixture};

#[test]
fn l4_agents_are_known_and_the_hidden_ones_are_not_shown() {
    let check_agent =
        |agent: &str| Fake::recorded().perform(&Action::CheckAgent { agent: agent.to_owned() });
    assert_eq!(check_agent("explore"), Ok(Finding::AgentKnown));
    let known = ["build", "explore", "general", "own", "plan"].map(str::to_owned).into();
    assert_eq!(check_agent("title"), Ok(Finding::NoSuchAgent { known }));
}

#[test]
fn l4_agents_are_read_once_but_for_one_that_is_not_among_them() {
    let host = Fake::recorded().remembering();
    let check_agent = |agent: &str| host.perform(&Action::CheckAgent { agent: agent.to_owned() });
    assert_eq!(check_agent("explore"), Ok(Finding::AgentKnown));
    assert_eq!(check_agent("plan"), Ok(Finding::AgentKnown));
    assert_eq!(host.reads().len(), 1);
    assert!(matches!(check_agent("title"), Ok(Finding::NoSuchAgent { .. })));
    assert_eq!(host.reads().len(), 2);
}

#[test]
fn a_poll_of_who_is_busy_is_one_request() {
    let host = Fake::recorded().on("GET /session/status", 200, fixture("busy"));
    let Ok(Finding::Polled { busy, .. }) = host.perform(&Action::Poll { scope: Scope::Busy })
    else {
        panic!()
    };
    assert_eq!((busy.len(), host.reads().len()), (1, 1));
}

#[test]
fn a_session_is_there_or_gone() {
    let probe = |session: &str| {
        Fake::recorded().perform(&Action::Probe { session: session.parse().unwrap() })
    };
    assert_eq!(probe("ses_parent"), Ok(Finding::Done));
    assert_eq!(probe("ses_gone"), Err(HostError::Gone));
    assert_eq!(probe("../agent"), Err(HostError::Gone), "no path but a session's");
}

#[test]
fn a_census_names_only_what_the_host_says_is_gone() {
    let sessions = ["ses_parent", "ses_gone", "strange"].map(|id| id.parse().unwrap()).into();
    let find_missing = Action::FindMissing { sessions };
    let host = Fake::recorded().on("GET /session/strange", 500, json!({}));
    let missing = Finding::Missing { sessions: vec!["ses_gone".parse().unwrap()] };
    assert_eq!(host.perform(&find_missing), Ok(missing));
    assert_eq!(Fake::recorded().silent().perform(&find_missing), Err(HostError::Unreachable));
}

#[test]
fn d5_a_poll_shows_who_is_busy_retried_and_waiting() {
    let mut status = fixture("retrying");
    status["ses_hanging"] = fixture("busy")["ses_hanging"].clone();
    let host = Fake::recorded()
        .on("GET /session/status", 200, status)
        .on("GET /permission", 200, fixture("permissions"))
        .on("GET /question", 200, fixture("questions"));
    let Ok(Finding::Polled { mut busy, questions }) =
        host.perform(&Action::Poll { scope: Scope::Questions })
    else {
        panic!()
    };
    // An object has no order.
    busy.sort_by(|one, other| one.0.cmp(&other.0));
    let retry =
        Retry { attempt: 1, why: "fake failure 500".to_owned(), next: Time(1_794_748_618_815) };
    let expected = [("ses_hanging", None), ("ses_retrying", Some(retry))];
    assert_eq!(busy, expected.map(|(id, retry)| (id.parse().unwrap(), retry)));
    let id = |id: &Value| id.as_str().unwrap().parse().unwrap();
    let permission =
        Question::permission(id(&fixture("permissions")[0]["id"]), "bash: echo permitted")
            .with_always("Allow always: echo *".to_owned());
    let option = |id: &str, label: &str| QuestionOption { id: id.into(), label: label.into() };
    let question = Question {
        id: id(&fixture("questions")[0]["id"]),
        kind: QuestionKind::Question,
        subject: "Which colour?".to_owned(),
        options: vec![option("1", "Red"), option("2", "Blue")],
        takes_words: true,
    };
    let expected = [("ses_permission", permission), ("ses_question", question)]
        .map(|(session, asked)| (session.parse().unwrap(), asked));
    assert_eq!(questions, expected);
}

fn stop(target: Target) -> Action {
    Action::Stop { task: TaskId::from_number(7), target }
}

fn helper() -> legwork_protocol::SessionId {
    "ses_helper".parse().unwrap()
}

#[test]
fn x1_a_session_is_aborted_and_then_quiet_or_not() {
    let host = Fake::recorded();
    assert_eq!(host.perform(&stop(Target::Session(helper()))), Ok(Finding::Quiet));
    assert_eq!(host.write().0, "POST /session/ses_helper/abort");
    let busy = json!({ "ses_helper": { "type": "busy" } });
    let host = Fake::recorded().on("GET /session/status", 200, busy);
    assert_eq!(host.perform(&stop(Target::Opened(helper()))), Ok(Finding::Done));
    assert_eq!(host.write().0, "POST /session/ses_helper/abort");
}

#[test]
fn x1_a_session_without_a_prompt_is_deleted() {
    let host = Fake::recorded()
        .history("ses_helper", Vec::new())
        .on("GET /session", 200, fixture("children"))
        .on("DELETE /session/ses_helper", 200, json!(true));
    assert_eq!(host.perform(&stop(Target::Marked)), Ok(Finding::Done));
    assert_eq!(host.write().0, "DELETE /session/ses_helper");
    assert_eq!(host.reads()[0], "GET /session?limit=200&scope=project");
}

#[test]
fn x1_what_runs_in_a_deleted_session_is_aborted_too() {
    let host = Fake::default().on("POST /session/ses_helper/abort", 200, json!(true)).on(
        "GET /session/status",
        200,
        json!({}),
    );
    assert_eq!(host.perform(&stop(Target::Opened(helper()))), Ok(Finding::Quiet));
    assert_eq!(host.write().0, "POST /session/ses_helper/abort");
}

#[test]
fn where_nothing_bears_the_mark_it_is_quiet() {
    let host = Fake::recorded().on("GET /session", 200, json!([fixture("parent")]));
    assert_eq!(host.perform(&stop(Target::Marked)), Ok(Finding::Quiet));
    assert!(host.wrote_nothing());
}

fn answer(id: &str, reply: Reply) -> (Result<Finding, HostError>, Fake) {
    let question = id.parse().unwrap();
    let permission = id.starts_with("per");
    let kind = if permission { QuestionKind::Permission } else { QuestionKind::Question };
    let host = Fake::recorded()
        .on("GET /question", 200, fixture("questions"))
        .on(&format!("POST /question/{id}/reply"), 200, json!(true))
        .on(&format!("POST /question/{id}/reject"), 200, json!(true))
        .on("POST /permission/per_1/reply", 200, json!(true));
    let found = host.perform(&Action::Answer { session: helper(), question, kind, reply });
    (found, host)
}

#[test]
fn d5_a_permission_is_given_or_refused() {
    let cases = [
        (Reply::Once, json!({ "reply": "once" })),
        (Reply::Always, json!({ "reply": "always" })),
        (Reply::Reject(None), json!({ "reply": "reject" })),
        (Reply::Reject(Some("no".into())), json!({ "reply": "reject", "message": "no" })),
    ];
    for (reply, body) in cases {
        let (found, host) = answer("per_1", reply);
        assert_eq!(found, Ok(Finding::Done));
        assert_eq!(host.write(), ("POST /permission/per_1/reply".to_owned(), body));
    }
}

#[test]
fn d5_a_question_is_answered_by_name_number_or_words() {
    let id = fixture("questions")[0]["id"].as_str().unwrap().to_owned();
    for (words, label) in [("blue", "Blue"), (" 2 ", "Blue"), ("3", "3"), ("green", "green")] {
        let (found, host) = answer(&id, Reply::Words(words.to_owned()));
        assert_eq!(found, Ok(Finding::Done));
        let expected = (format!("POST /question/{id}/reply"), json!({ "answers": [[label]] }));
        assert_eq!(host.write(), expected);
    }
    let (found, host) = answer(&id, Reply::Reject(None));
    assert_eq!(found, Ok(Finding::Done));
    assert_eq!(host.write().0, format!("POST /question/{id}/reject"));
}

#[test]
fn several_questions_want_a_line_each() {
    let mut asked = fixture("questions");
    let mut second = asked[0]["questions"][0].clone();
    second["multiple"] = json!(true);
    asked[0]["questions"].as_array_mut().unwrap().push(second);
    let id = asked[0]["id"].as_str().unwrap().to_owned();
    let path = format!("POST /question/{id}/reply");
    let say = |words: &str| {
        let host =
            Fake::default().on("GET /question", 200, asked.clone()).on(&path, 200, json!(true));
        let (question, reply) = (id.parse().unwrap(), Reply::Words(words.to_owned()));
        let kind = QuestionKind::Question;
        let found = host.perform(&Action::Answer { session: helper(), question, kind, reply });
        (found, host)
    };
    let (found, host) = say("red\n1, blue");
    assert_eq!(found, Ok(Finding::Done));
    assert_eq!(host.write().1, json!({ "answers": [["Red"], ["Red", "Blue"]] }));
    let why = "These are 2 questions: give 2 lines, one answer each.".to_owned();
    assert_eq!(say("red").0, Err(HostError::Rejected { why }));
}

#[test]
fn an_answer_that_does_not_fit_says_what_does() {
    let id = fixture("questions")[0]["id"].as_str().unwrap().to_owned();
    for (id, reply) in [("per_1", Reply::Words("yes".into())), (&id, Reply::Once)] {
        let (found, host) = answer(id, reply);
        let Err(HostError::Rejected { why }) = found else { panic!("{found:?}") };
        assert!(why.contains("reject"), "{why}");
        assert!(host.wrote_nothing());
    }
    let gone = answer("que_gone", Reply::Words("yes".into())).0;
    assert_eq!(gone, Err(HostError::Gone));
    assert_eq!(answer("per_gone", Reply::Once).0, Err(HostError::Gone));
}
