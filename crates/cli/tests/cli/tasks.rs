//! Seeing what helpers do, and how waiting for them ends.

use std::time::Duration;

use legwork_testkit::legwork::{Home, Host, Ran, eventually, ran};
use legwork_testkit::{Lines, ended, output_of};

/// So long a line is waited for before something else happens.
const SOON: Duration = Duration::from_millis(200);

#[test]
fn a_completed_task_is_listed_shown_told_and_read() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("count\nthe 日本 files\u{1b}[31m");
    let running = home.run(["list", "--status", "running"]).with_code(0);
    assert!(running.out.contains(&task) && running.out.contains("general"), "{running:?}");
    assert!(!running.out.contains('\u{1b}'), "{running:?}");
    assert_eq!(running.out.lines().count(), 2);
    let early = home.run(["output", &task]).with_code(1);
    assert!(early.out.is_empty() && early.err.contains("legwork wait"), "{early:?}");

    host.finish(&session, "seven\n  of them");
    home.run(["wait", &task]).with_code(0);
    assert_eq!(home.run(["output", &task]).with_code(0).out, "seven\n  of them\n");
    let json = home.run(["output", &task, "--json"]).with_code(0).json();
    assert_eq!(json["text"], "seven\n  of them");
    assert_eq!(json["task"]["status"], "completed");
    let shown = home.run(["show", &task]).with_code(0);
    assert!(shown.out.contains("completed") && !shown.out.contains("ses_"), "{shown:?}");
    let verbose = home.run(["show", &task, "--verbose"]).with_code(0);
    assert!(verbose.out.contains(&session), "{verbose:?}");
    assert_eq!(home.run(["show", &task, "--json"]).json()["id"], task);
    assert_eq!(home.run(["list", "--json"]).json()["total"], 1);
    let log = home.run(["log", &task]).with_code(0);
    assert!(log.out.contains("run 0") && log.out.contains("It completed after "), "{log:?}");
    let timeline = home.run(["log", &task, "--json"]).with_code(0).json();
    assert!(timeline["timeline"].as_array().unwrap().len() > 2, "{timeline}");
}

#[test]
fn waiting_ends_with_the_worst_outcome() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (good, good_session) = host.launch("good");
    let (bad, bad_session) = host.launch("bad");
    let (off, _) = host.launch("off");
    let (open, _) = host.launch("open");
    host.finish(&good_session, "done");
    host.fail(&bad_session, "the provider is down");
    home.run(["cancel", &off]).with_code(0);

    home.run(["wait", &good]).with_code(0);
    home.run(["wait", &good, &off]).with_code(4);
    let failed = home.run(["wait", &good, &off, &bad, "--json"]).with_code(3).json();
    assert_eq!(failed.as_array().unwrap().len(), 3);
    home.run(["wait", &good, &bad, &open, "--timeout", "1s"]).with_code(5);

    let why = home.run(["output", &bad]).with_code(3);
    assert!(why.out.contains("the provider is down"), "{why:?}");
    home.run(["output", &off]).with_code(4);
}

#[test]
fn waiting_ends_when_the_task_does() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("wait for it");
    let connections = || home.run(["daemon", "log"]).out.matches("a program of").count();
    let before = connections();
    let waiting = home.command(["wait", &task]).spawn().unwrap();
    eventually("it waits on a link of its own", || (connections() == before + 2).then_some(()));
    host.finish(&session, "at last");
    let waited = Ran::from(output_of(waiting)).with_code(0);
    assert!(waited.err.is_empty(), "no progress line in a pipe: {waited:?}");
}

#[test]
fn the_beginning_of_an_id_is_enough_if_it_fits_one_task() {
    let home = Home::new();
    home.configure("[limits]\nmax_running = 0\n");
    let mut host = Host::connect(&home);
    let (task, _) = host.launch("one");
    for short in [&task[..7], &task[3..8], &task[3..], &task[3..].to_uppercase()] {
        assert_eq!(home.run(["show", short, "--json"]).with_code(0).json()["id"], task);
    }
    // More tasks than there are first characters.
    for number in 0..36 {
        host.launch(&format!("number {number}"));
    }
    let all = home.run(["list", "--json"]).json();
    let first = |id: &serde_json::Value| id.as_str().unwrap()[..4].to_owned();
    let mut firsts: Vec<String> =
        all["tasks"].as_array().unwrap().iter().map(|task| first(&task["id"])).collect();
    firsts.sort();
    let shared = firsts.windows(2).find(|two| two[0] == two[1]).unwrap();
    let several = home.run(["show", &shared[0]]).with_code(1);
    assert!(several.err.contains("Write more of the id"), "{several:?}");
    for wrong in ["zzzzzzzzz", "bg_", "", "../x", "\u{1b}[2J"] {
        let ran = home.run(["show", wrong]).with_code(1);
        assert!(!ran.err.contains('\u{1b}') && ran.err.contains("legwork list"), "{ran:?}");
    }
}

#[test]
fn what_happens_is_seen_as_it_happens() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let mut watch = home.command(["watch", "--json"]).spawn().unwrap();
    let mut lines = Lines::of(watch.stdout.take().unwrap());
    let mut tasks = Vec::new();
    // It tells what happens from then on when it watches, and nobody else knows when that is.
    let told = eventually("it watches", || {
        let (task, session) = host.launch("watched");
        tasks.push(task);
        host.finish(&session, "done");
        lines.soon(SOON)
    });
    let news: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert!(tasks.iter().any(|task| news["task"] == **task), "{news}");
    home.run(["daemon", "stop"]).with_code(0);
    assert_eq!(ended(&mut watch).code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let home = Home::new();
    let mut list = home.command(["list"]).spawn().unwrap();
    drop(list.stdout.take());
    let ran = Ran::from(output_of(list));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
}

/// On a terminal it does not; that is shown where there is one.
#[test]
fn what_steers_a_terminal_passes_a_pipe_unchanged_and_is_escaped_in_json() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("steering");
    let text = "a\u{202e}b\u{9b}2Jc\u{1b}[2J\u{7f}\u{2066}d";
    host.finish(&session, text);
    home.run(["wait", &task]).with_code(0);
    assert_eq!(home.run(["output", &task]).with_code(0).out, format!("{text}\n"));
    let json = home.run(["output", &task, "--json"]).with_code(0);
    assert_eq!(json.json()["text"], text);
    let raw = ['\u{202e}', '\u{9b}', '\u{1b}', '\u{7f}', '\u{2066}'];
    assert!(!json.out.contains(raw), "{:?}", json.out);
}

#[test]
fn p8_clear_forgets_all_that_was_asked_for_however_much_it_is() {
    let home = Home::new();
    home.configure("[limits]\nmax_running = 0\nmax_tasks_per_root = 0\n");
    let mut host = Host::connect(&home);
    for number in 0..250 {
        host.launch(&format!("number {number}"));
    }
    assert_eq!(home.run(["list", "--json"]).json()["total"], 250);
    let cleared = home.run(["clear", "--yes"]).with_code(0);
    assert_eq!(cleared.out, "Cancelled 250 unfinished tasks and cleared 250 tasks.\n");
    assert_eq!(home.run(["list", "--json"]).json()["total"], 0);
    let again = home.run(["clear", "--yes", "--json"]).with_code(0).json();
    assert_eq!(again["text"], "There are no tasks to clear.");
}

#[test]
fn p5_what_is_at_work_is_listed_first_and_programs_can_page_and_search() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (open, _) = host.launch("still open");
    let done: Vec<String> = ["one", "two", "three"]
        .map(|name| {
            let (task, session) = host.launch(&format!("file number {name}"));
            host.finish(&session, "done");
            home.run(["wait", &task]).with_code(0);
            task
        })
        .into();
    let newest = [&open, &done[2], &done[1], &done[0]];
    let ids = |page: &serde_json::Value| {
        let tasks = page["tasks"].as_array().unwrap().iter();
        tasks.map(|task| task["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = home.run(["list", "--json", "--limit", "3"]).with_code(0).json();
    assert_eq!(
        (ids(&first), &first["total"]),
        (newest[..3].iter().map(ToString::to_string).collect(), &4.into())
    );
    let next = first["next"].as_str().unwrap();
    let second = home.run(["list", "--json", "--after", next]).with_code(0).json();
    assert_eq!((ids(&second), second.get("next")), (vec![done[0].clone()], None));
    let found = home.run(["list", "--json", "--search", "NUMBER TWO"]).with_code(0).json();
    assert_eq!(ids(&found), [done[1].clone()]);
    let cut = home.run(["list", "--limit", "1"]).with_code(0);
    assert!(cut.out.contains(&open) && cut.out.contains("(1 of 4 are shown"), "{cut:?}");
    home.run(["list", "--after", "nonsense"]).with_code(2);
}

#[test]
fn p5_of_320_tasks_those_at_work_come_first_and_every_listed_one_can_be_shown() {
    let home = Home::new();
    home.configure("[limits]\nmax_running = 0\nmax_tasks_per_root = 0\n");
    let mut host = Host::connect(&home);
    let mut open: Vec<String> =
        (0..4).map(|number| host.launch(&format!("open {number}")).0).collect();
    open.reverse();
    for number in 0..316 {
        let (_, session) = host.launch(&format!("number {number}"));
        host.finish(&session, "done");
    }
    let all = eventually("all but four are done", || {
        let all = home.run(["list", "--json"]).with_code(0).json();
        let open = |task: &&serde_json::Value| task["status"] == "running";
        (all["tasks"].as_array().unwrap().iter().filter(open).count() == 4).then_some(all)
    });
    let tasks = all["tasks"].as_array().unwrap();
    let ids: Vec<&str> = tasks.iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), &all["total"], all.get("next")), (320, &320.into(), None));
    assert_eq!(ids[..4], open);
    let text = home.run(["list", "--limit", "10"]).with_code(0);
    let rows: Vec<&str> = text.out.lines().collect();
    assert_eq!(rows.len(), 12, "headings, ten rows and how many there are: {text:?}");
    assert!(open.iter().zip(&rows[1..]).all(|(id, row)| row.starts_with(id)), "{text:?}");
    assert!(rows[11].contains("10 of 320"), "{text:?}");
    assert_eq!(home.run(["list", "--all"]).with_code(0).out.lines().count(), 321);
    // Also those that no first page has.
    for id in [ids[0], ids[199], ids[200], ids[319]] {
        let unique = |length: &usize| {
            ids.iter().filter(|other| other.starts_with(&id[..*length])).count() == 1
        };
        let length = (4..=id.len()).find(unique).unwrap();
        for name in [id, &id[..length], &id[3..length]] {
            assert_eq!(home.run(["show", name, "--json"]).with_code(0).json()["id"], id);
        }
    }
}

#[test]
fn p5_the_row_of_a_failure_has_its_reason_and_every_row_its_project_and_age() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (bad, session) = host.launch("bad");
    host.fail(&session, "the provider is down");
    home.run(["wait", &bad]).with_code(3);
    let listed = home.run(["list", "--status", "error"]).with_code(0);
    let [heading, row] = listed.out.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(["AGE", "PROJECT"].iter().all(|name| heading.contains(name)), "{listed:?}");
    assert!(row.contains("the provider is down"), "{listed:?}");
    // Its folder is /d.
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((words[3], words[2].ends_with('s')), ("d", true), "{listed:?}");
    let shown = home.run(["show", &bad, "--json"]).json();
    assert!(shown["reason"].as_str().unwrap().contains("the provider is down"), "{shown}");
    assert_eq!(shown["directory"], "/d");
}

#[test]
fn p5_a_listing_of_here_has_this_project_only() {
    let home = Home::new();
    for folder in ["shop/.git", "shop/src", "bank"] {
        std::fs::create_dir_all(home.path(folder)).unwrap();
    }
    let run = |folder: &str, args: &[&str]| {
        let mut command = home.command(args);
        command.current_dir(home.path(folder));
        ran(command).with_code(0)
    };
    for folder in ["shop", "shop/src", "bank"] {
        run(folder, &["run", "--agent", "rehearsal", &format!("say {folder}")]);
    }
    let here = |folder: &str| {
        let listed = run(folder, &["list", "--here", "--json"]).json();
        let all = listed["tasks"].as_array().unwrap().iter();
        all.map(|task| task["description"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(here("shop/src"), ["say shop/src", "say shop"]);
    assert_eq!(here("bank"), ["say bank"]);
    let listed = run("shop", &["list", "--here"]);
    assert!(listed.out.contains("  shop  ") && !listed.out.contains("bank"), "{listed:?}");
    let found = run("bank", &["list", "--json", "--search", "shop/src"]).json();
    assert_eq!(found["total"], 1, "a folder can be searched for");
    let none = run("shop/.git", &["list", "--status", "cancelled"]);
    assert!(none.out.contains("No such tasks"), "{none:?}");
}

#[test]
fn p10_show_tells_a_person_all_and_names_nothing_that_only_programs_know() {
    let home = Home::new();
    std::fs::create_dir(home.path("shop")).unwrap();
    let prompt = "say one\nsay two\nsay three\nsay four\nsay five";
    let mut command = home.command(["run", "--agent", "rehearsal", "--detach", prompt]);
    command.current_dir(home.path("shop"));
    let task = ran(command).with_code(0).out.trim().to_owned();
    home.run(["wait", &task]).with_code(0);
    home.run(["resume", &task, "recall"]).with_code(0);
    let shown = home.run(["show", &task]).with_code(0).out;
    let folder = home.path("shop").display().to_string();
    for known in ["say one", &task, "completed", "rehearsal", &folder, "Launched", "Run 0", "Run 1"]
    {
        assert!(shown.contains(known), "{known}: {shown}");
    }
    assert!(!shown.contains("say four") && shown.contains("2 more lines (--full)"), "{shown}");
    assert!(home.run(["show", &task, "--full"]).with_code(0).out.contains("say five"));
    let log = home.run(["log", &task]).with_code(0).out;
    for page in [&shown, &log, &home.run(["list"]).with_code(0).out] {
        for internal in ["term_", "msg_", "acp_", "background_", "acp/"] {
            assert!(!page.contains(internal), "{internal}: {page}");
        }
    }
    let verbose = home.run(["show", &task, "--verbose"]).with_code(0).out;
    assert!(verbose.contains("term_") && verbose.contains("acp_"), "{verbose}");
    let json = home.run(["show", &task, "--json"]).with_code(0).json();
    assert_eq!(json["runs"][0]["prompt"], prompt);
    assert_eq!((&json["runs"][1]["run"], &json["id"]), (&1.into(), &task.into()));
}

#[test]
fn p8_clear_says_in_short_what_would_go() {
    let home = Home::new();
    home.configure("[limits]\nmax_running = 0\nmax_tasks_per_root = 0\n");
    let mut host = Host::connect(&home);
    for number in 0..12 {
        let (task, session) = host.launch(&format!("number {number}"));
        if number > 1 {
            host.finish(&session, "done");
            home.run(["wait", &task, "--json"]).with_code(0);
        }
    }
    let asked = home.run(["clear"]).with_code(2);
    assert!(asked.err.contains("2 unfinished tasks of "), "{asked:?}");
    assert!(asked.err.contains("10 finished tasks of "), "{asked:?}");
    assert!(asked.err.contains("Forget 12 tasks and cancel 2 of them?"), "{asked:?}");
    assert!(asked.err.lines().count() <= 5, "{asked:?}");
    assert_eq!(home.run(["list", "--json"]).json()["total"], 12);
}

/// `running` is what the records say; what a person has to know is finer.
#[test]
fn p5_a_list_says_who_asks_and_who_is_queued_and_shows_only_those() {
    let home = Home::new();
    home.configure("[limits]\nmax_running = 2\n");
    let mut host = Host::connect(&home);
    let (asks, session) = host.launch("asks");
    let (works, _) = host.launch("works");
    let launched = host.try_launch("is queued");
    let queued = launched.lines().find_map(|line| line.strip_prefix("Task ID: ")).unwrap().into();
    host.ask(&session, "per_1");
    for (task, word) in [(&asks, "asks you"), (&works, "working"), (&queued, "queued")] {
        let row = eventually(word, || {
            let list = home.run(["list"]).with_code(0).out;
            let row = list.lines().find(|line| line.starts_with(task.as_str())).unwrap();
            row.contains(word).then(|| row.to_owned())
        });
        assert!(!row.contains("running"), "{row}");
        let shown = home.run(["show", task]).with_code(0).out;
        assert!(shown.contains(word) && !shown.contains("running"), "{shown}");
    }
    for (kind, task) in [("asks", &asks), ("queued", &queued), ("working", &works)] {
        let only = home.run(["list", "--status", kind, "--json"]).with_code(0).json();
        assert_eq!((&only["total"], &only["tasks"][0]["id"]), (&1.into(), &task.as_str().into()));
        assert_eq!(only["tasks"][0]["status"], "running");
    }
    assert_eq!(home.run(["list", "--status", "running", "--json"]).json()["total"], 3);
    let unknown = home.run(["list", "--status", "waiting"]).with_code(2);
    assert!(unknown.err.contains("asks, queued, working"), "{unknown:?}");
}
