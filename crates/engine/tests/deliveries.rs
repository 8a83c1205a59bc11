//! What becomes of a delivery when its parent moves, input by input.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use legwork_engine::work::{Action, Finding, HostError, Observation, RunState, Tried, Work};
use legwork_engine::{Caller, Change, Engine, Hint, Input, Serves, Usage};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{Ask, CallId, HostId, SessionId, Settings, TaskId, Time};

fn host(name: &str) -> HostId {
    name.parse().unwrap()
}

fn parent() -> SessionId {
    "ses_parent".parse().unwrap()
}

fn came(name: &str) -> Input {
    Input::Hint(Hint::HostCame {
        host: host(name),
        place: "project".parse().unwrap(),
        lifetime: HostLifetime::Interactive,
        serves: Serves::OwnPlace,
    })
}

fn found(work: &Work, found: Result<Finding, HostError>) -> Input {
    Input::Found { work: work.id, found }
}

fn launch() -> Input {
    let caller = Caller::Session {
        host: host("first"),
        session: parent(),
        key: "call".parse().unwrap(),
        message: "msg_call".parse().unwrap(),
        agent: "build".to_owned(),
        directory: "project".to_owned(),
        taken_over: Vec::new(),
    };
    let ask = Ask::Launch {
        prompt: "look".to_owned(),
        description: "Explore".to_owned(),
        agent: "general".to_owned(),
        fork: false,
        collects: false,
    };
    Input::Ask { call: CallId(1), caller, ask, spare: TaskId::from_number(1) }
}

/// An engine with two windows that asks whether a helper has ended, and the answer that it has.
fn about_to_end() -> (Engine, Input) {
    let mut engine = Engine::new(Settings::default());
    let mut step = |input: Input, at: u64| engine.on(input, Time(at)).work;
    step(came("first"), 1_000);
    step(came("second"), 1_000);
    let check_agent = step(launch(), 5_000).remove(0);
    let open = step(found(&check_agent, Ok(Finding::AgentKnown)), 5_001).remove(0);
    let session: SessionId = "ses_helper".parse().unwrap();
    let opened = Finding::Opened { session: session.clone() };
    let prompt = step(found(&open, Ok(opened)), 5_002).remove(0);
    step(found(&prompt, Ok(Finding::Done)), 5_003);
    let look = step(Input::Hint(Hint::Changed { session }), 6_000).remove(0);
    let state = RunState::Answered { text: "found it".to_owned() };
    let observation = Observation { state, tool_calls: 0, usage: Usage::default(), moved: None };
    (engine, found(&look, Ok(Finding::Observed(observation))))
}

/// An engine with two windows, in which a helper has just ended, and the delivery that tells it.
fn with_a_delivery() -> (Engine, Work) {
    let (mut engine, ended) = about_to_end();
    let tell = engine.on(ended, Time(6_001)).work.remove(0);
    assert!(matches!(tell.action, Action::Deliver { tried: Tried::Never, .. }));
    assert_eq!(tell.host, host("first"));
    (engine, tell)
}

#[test]
fn n7_a_delivery_that_could_not_be_sent_follows_its_parent_to_another_window() {
    let (mut engine, tell) = with_a_delivery();
    drop(engine.on(Input::Hint(Hint::HostAway { host: host("first") }), Time(6_002)));
    drop(engine.on(found(&tell, Err(HostError::Unreachable)), Time(6_003)));
    assert!(engine.on(Input::Tick, Time(60_000)).work.is_empty(), "it waits for its window");
    let used = Hint::Used { host: host("second"), session: parent() };
    let again = engine.on(Input::Hint(used), Time(61_000)).work;
    assert_eq!(again.len(), 1);
    let Action::Deliver { session, message, notices, parts, wake, .. } = tell.action else {
        panic!()
    };
    // It may have been stored: the first window cannot say.
    let tried = Tried::Perhaps;
    let expected = Action::Deliver { tried, session, message, notices, parts, wake };
    assert_eq!((&again[0].host, &again[0].action), (&host("second"), &expected));
}

/// A host says that it is idle before it is (`error_swallows` of the virtual one).
#[test]
fn n4_nothing_is_sent_into_a_session_whose_turn_has_just_failed() {
    let (mut engine, ended) = about_to_end();
    let errored = Hint::Errored { session: parent(), why: "APIError: no".to_owned() };
    drop(engine.on(Input::Hint(errored), Time(6_000)));
    drop(engine.on(Input::Hint(Hint::Changed { session: parent() }), Time(6_000)));
    assert!(engine.on(ended, Time(6_050)).work.is_empty(), "its second idle is to come");
    let again = engine.on(Input::Hint(Hint::Changed { session: parent() }), Time(6_300));
    assert!(again.work.is_empty());
    let at = again.wake_at.unwrap();
    let told = engine.on(Input::Tick, Time(7_000)).work;
    assert!(at <= Time(7_000) && matches!(told[0].action, Action::Deliver { .. }), "{told:?}");
}

/// What both of two readers are given, each before the other has said so, ends once.
#[test]
fn n1_two_readers_are_given_the_same_and_the_first_to_show_it_ends_the_delivery() {
    let (mut engine, tell) = with_a_delivery();
    let pulled = engine.on(found(&tell, Ok(Finding::Pulled)), Time(6_002));
    assert!(matches!(pulled.save[..], [Change::DeliveryPulled { .. }]), "{:?}", pulled.save);
    assert!(engine.on(Input::Tick, Time(600_000)).work.is_empty(), "nobody sends it any more");
    let text = |engine: &Engine| {
        let unread = engine.unread(|to| *to == parent());
        unread.iter().map(|unread| format!("{unread:?}")).collect::<Vec<_>>()
    };
    assert_eq!((text(&engine).len(), text(&engine)), (1, text(&engine)));
    assert!(engine.unread(|to| *to != parent()).is_empty());
    let shown = |call| {
        let Action::Deliver { message, .. } = &tell.action else { panic!() };
        let ask = Ask::MailShown { messages: vec![message.clone()] };
        let spare = TaskId::from_number(9);
        Input::Ask { call: CallId(call), caller: Caller::Person, ask, spare }
    };
    let first = engine.on(shown(7), Time(600_001));
    assert!(matches!(first.save[..], [Change::DeliveryDone { .. }]), "{:?}", first.save);
    let second = engine.on(shown(8), Time(600_002));
    assert_eq!((second.save, second.says.len()), (Vec::new(), 1));
    assert!(text(&engine).is_empty());
}

#[test]
fn n1_only_what_waits_for_its_reader_ends_on_the_word_of_one() {
    let (mut engine, tell) = with_a_delivery();
    let Action::Deliver { message, .. } = &tell.action else { panic!() };
    let ask = Ask::MailShown { messages: vec![message.clone()] };
    let spare = TaskId::from_number(9);
    let shown = Input::Ask { call: CallId(7), caller: Caller::Person, ask, spare };
    assert_eq!(engine.on(shown, Time(6_002)).save, Vec::new());
}
