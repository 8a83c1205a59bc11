//! A helper on a host of another place: what its host is asked for, and whose screen shows it.

use crate::desk::{self, Desk, answered, host_id, launch, parent, session_id};
use legwork_engine::input::{Hint, Serves};
use legwork_engine::work::{Action, Finding};
use legwork_protocol::Settings;
use legwork_protocol::line::HostLifetime;

/// The first host, and another that serves everyone.
fn two_places() -> Desk {
    let mut desk = Desk::new(Settings::default());
    desk.hint(Hint::HostCame {
        host: host_id("host_2"),
        place: "shared".parse().unwrap(),
        lifetime: HostLifetime::Interactive,
        serves: Serves::Everyone,
    });
    desk.pass(10_000);
    desk
}

#[test]
fn l1_the_host_that_has_the_agent_opens_the_session_in_the_askers_directory() {
    let mut desk = two_places();
    desk.ask(parent("call_1"), launch("Explore"));
    let none = Finding::NoSuchAgent { known: vec!["build".to_owned()] };
    let _ = desk.found("check_agent", Ok(none));
    let _ = desk.found("check_agent", Ok(Finding::AgentKnown));
    let [open] = &desk.under_way[..] else { panic!("{:?}", desk.under_way) };
    assert_eq!(open.host, host_id("host_2"));
    let Action::Open { directory, .. } = &open.action else { panic!("{open:?}") };
    assert_eq!(directory, "/project");
    let task = &desk.tasks[&desk.newest()];
    assert_eq!((task.place.as_str(), task.realm.as_str()), ("shared", desk::PLACE));
}

#[test]
fn n8_toasts_are_shown_where_the_asker_is() {
    let mut desk = two_places();
    desk.ask(parent("call_1"), launch("Explore"));
    let _ = desk.found("check_agent", Ok(Finding::NoSuchAgent { known: Vec::new() }));
    let _ = desk.found("check_agent", Ok(Finding::AgentKnown));
    let _ = desk.found("open", Ok(Finding::Opened { session: session_id("ses_child") }));
    let _ = desk.found("prompt", Ok(Finding::Done));
    let shown = |host| desk.engine.progress_toast(&host_id(host), desk.now).is_some();
    assert_eq!((shown("host_1"), shown("host_2")), (true, false));
    desk.ends("ses_child", answered("found it"));
    let toasts = desk.engine.toasts(&desk.saved);
    let [(host, _)] = &toasts[..] else { panic!("{toasts:?}") };
    assert_eq!(*host, host_id("host_1"));
}
