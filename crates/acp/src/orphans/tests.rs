//! Real processes that were left, with marks of daemons that never were.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use legwork_machine::process::process_mark;

use super::*;

/// One that has answered: for a moment after its start its environment cannot be read.
fn cat(mark: &str) -> std::process::Child {
    let mut cat = Command::new("cat");
    cat.env(INSIDE, mark).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut cat = cat.process_group(0).spawn().unwrap();
    cat.stdin.as_ref().unwrap().write_all(b"?").unwrap();
    cat.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    cat
}

fn processes(store: &Path) -> Arc<ProcessTree> {
    ProcessTree::new(store, Box::new(|| vec!["kept".to_owned()]), Arc::default())
}

/// A daemon of this process's boot and namespace that is no more.
fn gone() -> String {
    let own = own_mark();
    format!("{}-1-{}", std::process::id(), own.rsplit_once('-').unwrap().1)
}

/// Whether it ends by itself when its stdin is closed, instead of having been ended.
fn was_left_alone(mut child: std::process::Child) -> bool {
    drop(child.stdin.take());
    child.wait().unwrap().success()
}

#[test]
fn k5_what_a_dead_daemon_of_this_store_left_is_ended_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let store = store_name(folder.path());
    let (gone, own) = (gone(), own_mark());
    let elsewhere = format!("{}.1", gone.rsplit_once('.').unwrap().0);
    let earlier = format!("{}-1-00000000.1", std::process::id());
    let alone = [
        ("a living daemon's", format!("{own}-{store}-7")),
        ("another store's", format!("{gone}-0badcafe-7")),
        ("another namespace's", format!("{elsewhere}-{store}-7")),
        ("another boot's", format!("{earlier}-{store}-7")),
        ("one of legwork 0.1", format!("{gone}-7")),
        ("no mark", String::new()),
    ]
    .map(|(what, mark)| (what, cat(&mark)));
    let mut orphan = cat(&format!("{gone}-{store}-7"));
    assert_eq!(processes.end_all_left(), 1);
    assert!(!orphan.wait().unwrap().success(), "it was ended");
    for (what, child) in alone {
        assert!(was_left_alone(child), "{what}");
    }
}

#[test]
fn what_one_agent_left_is_ended_and_another_ones_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let (mut left, kept) = (cat("one"), cat("other"));
    assert_eq!(processes.end_left_by("one", u32::MAX, Pace::Gently), 1);
    assert!(!left.wait().unwrap().success(), "it was ended");
    assert!(was_left_alone(kept));
}

#[test]
fn who_ignores_being_asked_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let processes = processes(folder.path());
    let script = "trap '' TERM; echo ready; read line";
    let mut deaf = Command::new("sh");
    deaf.args(["-c", script]).env(INSIDE, "deaf").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut deaf = deaf.process_group(0).spawn().unwrap();
    let mut ready = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(deaf.stdout.take().unwrap()),
        &mut ready,
    )
    .unwrap();
    assert_eq!(processes.end_left_by("deaf", u32::MAX, Pace::Gently), 1);
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(deaf.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_store_has_one_name_and_another_store_another() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [one, other] = folders.each_ref().map(|folder| store_name(folder.path()));
    assert_eq!(one, store_name(folders[0].path()));
    assert_ne!(one, other);
    let processes = processes(folders[0].path());
    let mark = process_mark(std::process::id()).unwrap();
    assert!(processes.is_mark(&format!("{mark}-{one}-3")));
    for none in [format!("{mark}-{other}-3"), mark, String::new(), "a-b".to_owned()] {
        assert!(!processes.is_mark(&none), "{none}");
    }
}

/// Numbers that no process has, so that only the table speaks of them.
const AGENT: u32 = 4_000_000_000;
const OTHER: u32 = AGENT + 1;
const CHILD: u32 = AGENT + 10;

fn entry(parent: u32, group: u32, start: u64) -> Entry {
    Entry { parent, group, start, state: 'S', name: "x".to_owned() }
}

/// A table of these processes and ourselves.
fn table<const N: usize>(all: [(u32, Entry); N]) -> Table {
    let ourselves = (std::process::id(), entry(1, std::process::id(), 1));
    Table(all.into_iter().chain([ourselves]).collect())
}

/// Two agents that began at 100 and 200, in a daemon that is_subreaper.
fn adopting(folder: &Path) -> Arc<ProcessTree> {
    let processes = processes(folder);
    processes.is_subreaper.store(true, Ordering::Relaxed);
    let started = |mark: &str, at| Started { mark: mark.to_owned(), at };
    let agents = [(AGENT, started("one", 100)), (OTHER, started("two", 200))];
    lock(&processes.known).agents.extend(agents);
    processes
}

fn left(processes: &ProcessTree, table: &Table, mark: &str, agent: u32) -> Vec<u32> {
    processes.left_by(table, mark, agent, &[])
}

#[test]
fn x1_what_was_seen_below_an_agent_is_its_own_wherever_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (processes, daemon) = (adopting(folder.path()), std::process::id());
    let agents =
        || [(AGENT, entry(daemon, AGENT, 100)), (OTHER, entry(daemon, OTHER, 200))].into_iter();
    let with = |more: &[(u32, Entry)]| {
        let mut all = table([]);
        all.0.extend(agents().chain(more.iter().cloned()));
        all
    };
    let below = with(&[(CHILD, entry(OTHER, CHILD, 300)), (CHILD + 1, entry(CHILD, CHILD, 301))]);
    lock(&processes.known).record(&below);
    // It has lost its parent and a child of it was started since.
    let orphaned = with(&[(CHILD, entry(daemon, CHILD, 300)), (CHILD + 2, entry(CHILD, 7, 400))]);
    assert_eq!(left(&processes, &orphaned, "one", AGENT), [AGENT]);
    assert_eq!(left(&processes, &orphaned, "two", OTHER), [OTHER, CHILD, CHILD + 2]);
    // Another process that has its number is not it.
    let again = with(&[(CHILD, entry(1, CHILD, 900))]);
    assert_eq!(left(&processes, &again, "two", OTHER), [OTHER]);
}

#[test]
fn x1_an_orphan_that_nobody_saw_ends_when_no_agent_is_left_that_can_have_started_it() {
    let folder = tempfile::tempdir().unwrap();
    let (processes, daemon) = (adopting(folder.path()), std::process::id());
    let mut all = table([
        (AGENT, entry(daemon, AGENT, 100)),
        (OTHER, entry(daemon, OTHER, 200)),
        (CHILD, entry(daemon, CHILD, 150)),
        (CHILD + 1, entry(daemon, CHILD + 1, 250)),
        (CHILD + 2, entry(daemon, daemon, 250)),
    ]);
    assert_eq!(
        left(&processes, &all, "two", OTHER),
        [OTHER],
        "the first agent may have started it"
    );
    assert_eq!(
        left(&processes, &all, "one", AGENT),
        [AGENT, CHILD],
        "the second was not there yet"
    );
    processes.forget(AGENT);
    all.0.remove(&AGENT);
    let left = left(&processes, &all, "two", OTHER);
    assert_eq!(left, [OTHER, CHILD + 1], "what is in our own group is no orphan");
}

#[test]
fn a_number_that_is_used_again_is_not_the_agents() {
    let folder = tempfile::tempdir().unwrap();
    let processes = adopting(folder.path());
    let all = table([(AGENT, entry(1, AGENT, 500)), (CHILD, entry(AGENT, AGENT, 501))]);
    assert_eq!(left(&processes, &all, "one", AGENT), Vec::<u32>::new());
}
