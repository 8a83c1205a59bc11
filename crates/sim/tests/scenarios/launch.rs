//! `background_task` in launch mode: L1 to L7.

use legwork_protocol::Status;
use legwork_sim::Story;

#[test]
fn l3_the_answer_comes_when_the_session_is_open_and_not_when_the_work_is_done() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 5000; say found it");
    let answer = story.world.calls.last().and_then(|call| call.text()).unwrap().to_owned();
    let session = story.session_of(task);
    assert!(answer.lines().any(|line| line == format!("Task ID: {task}")));
    assert!(answer.lines().any(|line| line == format!("Session ID: {session}")));
    assert!(answer.contains("notification"));
    assert_eq!(story.status(task), Some(Status::Running));
    insta::assert_snapshot!(story.end());
}
