//! Listings for people: what is at work comes first, pages put together are the whole, and a search
//! finds what a person remembers of a task.

use legwork_engine::input::{Caller, Say};
use legwork_protocol::api::{Answer, Cursor, List};
use legwork_protocol::view::TasksView;
use legwork_protocol::{Ask, Settings, Status, TaskId};

use crate::desk::{Desk, answered, parent};

/// Six tasks, of which the second and the fifth are unfinished.
fn six() -> (Desk, Vec<TaskId>) {
    let mut desk = Desk::new(Settings::default());
    let launch = |number: usize| {
        let session = format!("ses_{number}");
        let description = format!("Task {number} of six");
        let task = desk.working(parent(&format!("call_{number}")), &description, &session);
        if number != 2 && number != 5 {
            desk.ends(&session, answered("Done."));
        }
        task
    };
    let tasks = (1..=6).map(launch).collect();
    (desk, tasks)
}

fn listed(desk: &mut Desk, caller: Caller, list: List) -> TasksView {
    let call = desk.ask(caller, Ask::List(list));
    let answer = desk.said.iter().rev().find(|(to, _)| *to == call).unwrap().1.clone();
    let Say::Answer(Ok(Answer::Listed(page))) = answer else { panic!("{answer:?}") };
    page
}

fn ids(page: &TasksView) -> Vec<TaskId> {
    page.tasks.iter().map(|task| task.id).collect()
}

#[test]
fn p5_a_person_sees_what_is_unfinished_first_and_a_session_what_is_newest() {
    let (mut desk, tasks) = six();
    let newest_first: Vec<TaskId> = tasks.iter().rev().copied().collect();
    let unfinished_first = [5, 2, 6, 4, 3, 1].map(|number| tasks[number - 1]);
    let all = listed(&mut desk, Caller::Person, List::default());
    assert_eq!((ids(&all), all.total, all.next), (unfinished_first.to_vec(), 6, None));
    assert_eq!(ids(&listed(&mut desk, parent("list"), List::default())), newest_first);
    let cut = listed(&mut desk, Caller::Person, List { limit: Some(2), ..List::default() });
    assert_eq!((ids(&cut), cut.total), (unfinished_first[..2].to_vec(), 6));
}

#[test]
fn p5_pages_put_together_are_the_whole_listing() {
    let (mut desk, _) = six();
    for caller in [Caller::Person, parent("list")] {
        let whole = ids(&listed(&mut desk, caller.clone(), List::default()));
        for limit in 1..=6 {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let list = List { limit: Some(limit), after, ..List::default() };
                let page = listed(&mut desk, caller.clone(), list);
                assert!(page.tasks.len() <= limit && page.total == 6, "{page:?}");
                all.extend(ids(&page));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(all, whole, "{limit} a page");
        }
    }
}

#[test]
fn p5_a_page_goes_on_where_it_was_though_its_last_task_is_forgotten() {
    let (mut desk, tasks) = six();
    let first = listed(&mut desk, Caller::Person, List { limit: Some(3), ..List::default() });
    assert_eq!(first.tasks[2].id, tasks[5]);
    desk.ask(Caller::Person, Ask::Forget { tasks: vec![tasks[5].to_string()] });
    let rest = listed(&mut desk, Caller::Person, List { after: first.next, ..List::default() });
    assert_eq!(ids(&rest), [4, 3, 1].map(|number| tasks[number - 1]));
    let past = Some(Cursor { finished: true, seq: 0 });
    assert!(
        listed(&mut desk, Caller::Person, List { after: past, ..List::default() }).tasks.is_empty()
    );
}

#[test]
fn p5_a_search_finds_ids_descriptions_and_agents_in_any_case() {
    let (mut desk, tasks) = six();
    let mut found = |text: &str, status| {
        let list = List { search: Some(text.to_owned()), status, ..List::default() };
        let page = listed(&mut desk, Caller::Person, list);
        assert_eq!(page.total, page.tasks.len());
        ids(&page)
    };
    assert_eq!(found("TASK 3", None), [tasks[2]]);
    assert_eq!(found(&tasks[3].to_string()[..9], None), [tasks[3]]);
    assert_eq!(found("explore", None).len(), 6, "the agent's name");
    assert_eq!(found("six", Some(Status::Running)).len(), 2);
    assert!(found("seven", None).is_empty());
}
