//! The list: groups, rows that stay where they are, older tasks, searching, the timeline.

use std::fmt::Write as _;

use legwork_testkit::legwork::Host;
use serde_json::{Value, json};

use crate::look::{choose, find, group, press, reads, row, seen, tells, unseen};
use crate::stage::{LIVE, Stage};

/// A helper that is at work until the test is over.
const AT_WORK: &str = "tool grep\nwait 10m";

#[test]
fn v2_tasks_stand_in_groups_by_whom_they_need() {
    let stage = Stage::with("[limits]\nmax_running = 2\n");
    let done = stage.launch("say done");
    let failed = stage.launch("fail the provider refused");
    for over in [&done, &failed] {
        stage.until(over, "it is over", |task| !task["ended"].is_null());
    }
    let asks = stage.launch("ask to run the tests");
    stage.until(&asks, "it asks", |task| task["questions"] != json!([]));
    let works = stage.launch(AT_WORK);
    stage.until(&works, "it works", |task| task["tool_calls"] == 1);
    let queued = stage.launch("say later");

    let page = stage.open();
    for (task, name) in [
        (&asks, "Asks you 1"),
        (&works, "Working 1"),
        // Each host has its own: what is at work on all of them is no part of them.
        (&queued, "Queued 1, 2 slots on each host"),
        (&failed, "Finished 2"),
        (&done, "Finished 2"),
    ] {
        page.wait_for(&format!("{} === {}", group(task), json!(name)));
    }
    let says = [
        (&asks, "to run the tests"),
        (&works, "grep"),
        (&queued, "next in line"),
        (&failed, "the provider refused"),
    ];
    for (task, text) in says {
        page.wait_for(&reads(&row(task), text));
    }
    // Never by colour alone.
    let words =
        [(&asks, "Asks you"), (&works, "Working"), (&queued, "Queued"), (&done, "Completed")];
    for (task, word) in words {
        let told = format!("{}.querySelector('.sign').textContent", find(task));
        page.wait_for(&format!("{told} === {}", json!(word)));
    }
    let chips = "[...document.querySelectorAll('.chip')].map((chip) => chip.innerText).join()";
    page.wait_for(&format!("{chips} === 'All 5,Asks you 1,Working 1,Queued 1,Failed 1,Done 1'"));
    for (chip, left) in [("is-failed", &failed), ("is-asks", &asks), ("is-done", &done)] {
        page.click(&format!(".chip.{chip}"));
        page.wait_for("document.querySelectorAll('.row').length === 1");
        page.wait_for(&seen(&row(left)));
    }
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn v2_a_row_is_changed_in_place_and_goes_to_the_group_that_it_belongs_to() {
    let stage = Stage::new();
    let asks = stage.launch("ask to go on\nsay went on");
    let page = stage.open();
    page.wait_for(&format!("{}?.startsWith('Asks')", group(&asks)));
    page.eval(&format!("window.kept = {}; null", find(&asks)));
    stage.run(&["answer", &asks, "once"]).with_code(0);
    page.wait_for(&format!("{}?.startsWith('Finished')", group(&asks)));
    assert_eq!(page.eval(&format!("window.kept === {}", find(&asks))), true);
    page.wait_for(&unseen(".group.is-asks"));
}

/// Where a row is on the screen.
fn top(task: &str) -> String {
    format!("{}?.getBoundingClientRect().top", find(task))
}

#[test]
fn v2_rows_and_scroll_stay_where_they_are_when_others_come_and_go() {
    let stage = Stage::with("[limits]\nmax_running = 8\n");
    let mut finished = Vec::new();
    for number in 0..60 {
        finished.push(stage.launch(&format!("say {number}")));
    }
    let page = stage.open();
    page.wait_for("document.querySelectorAll('.row.one').length === 60");
    page.eval("document.querySelector('#board').scrollTop = 700; null");
    let task = &finished[28];
    choose(&page, task);
    let before = page.eval(&top(task));
    let rows =
        |count: usize| format!("document.querySelectorAll('.row:not(.one)').length === {count}");

    let new: Vec<String> = (0..4).map(|_| stage.launch(AT_WORK)).collect();
    page.wait_for(&rows(4));
    assert_eq!(page.eval(&top(task)), before, "four rows came above it");
    assert_eq!(page.eval(&format!("{}.ariaCurrent", find(task))), "true");
    for one in &new {
        stage.run(&["cancel", one]).with_code(0);
    }
    page.wait_for(&rows(0));
    assert_eq!(page.eval(&top(task)), before, "four rows went to the finished ones above it");
    stage.run(&["clear", "--yes", &new[0], &new[1]]).with_code(0);
    page.wait_for("document.querySelectorAll('.row').length === 62");
    assert_eq!(page.eval(&top(task)), before, "two rows are gone above it");
    // Who is at the top sees what is new there.
    page.eval("document.querySelector('#board').scrollTop = 0; null");
    stage.launch("ask for something");
    page.wait_for(&seen(".group.is-asks"));
    assert_eq!(page.eval("document.querySelector('#board').scrollTop"), 0);
}

#[test]
fn v2_over_a_thousand_tasks_are_there_by_scrolling_and_by_searching() {
    let stage = Stage::with("[limits]\nmax_tasks_per_root = 0\n");
    let (mut first, mut second) = (String::new(), String::new());
    for hundred in 0..11 {
        let mut all = vec!["run", "--agent", "rehearsal", "--detach"];
        let prompts: Vec<String> =
            (0..100).map(|number| format!("say errand {hundred}-{number}.")).collect();
        all.extend(prompts.iter().map(String::as_str));
        let launched = stage.run(&all).with_code(0);
        if hundred == 0 {
            let mut ids = launched.out.lines().map(str::to_owned);
            (first, second) = (ids.next().unwrap(), ids.next().unwrap());
        }
    }
    let page = stage.open();
    page.resize(1280, 800);
    page.wait_for(&reads(".chip.is-done", "1,100"));
    page.wait_for("document.querySelectorAll('.row').length >= 100");

    // Search, at the daemon: the first one is not on the board.
    page.key("/");
    page.type_text("ERRAND 0-0.");
    page.wait_for("document.querySelectorAll('.row').length === 1");
    page.wait_for(&seen(&row(&first)));
    choose(&page, &first);
    page.key("/");
    page.eval("document.querySelector('#find').select(); null");
    page.type_text("nothing is called so");
    page.wait_for(&reads("#more", "No task has"));
    page.key("Escape");
    page.key("Escape");
    page.wait_for("document.querySelectorAll('.row').length >= 100");

    // Scrolling, page by page, with a bounded number of rows.
    let down = "(() => { const board = document.querySelector('#board'); board.scrollTop += 2000; \
                window.most = Math.max(window.most ?? 0, document.querySelectorAll('.row').length); \
                return !!(LAST) })()";
    page.wait_for(&down.replace("LAST", &find(&second)));
    let most = page.eval("window.most").as_u64().unwrap();
    assert!((100..=300).contains(&most), "{most} rows in the document");

    // An old task by its address, in another tab.
    let other = stage.context.open(&format!("{}/#{first}", stage.origin()));
    other.wait_for(&reads("#title", "say errand 0-0."));
}

#[test]
fn v2_the_timeline_shows_queue_work_wait_and_end_and_earlier_runs() {
    let stage = Stage::with("[limits]\nmax_running = 2\n");
    let again = stage.launch("say once");
    stage.until(&again, "it is over", |task| !task["ended"].is_null());
    stage.run(&["resume", &again, "--detach", AT_WORK]).with_code(0);
    let asks = stage.launch("ask for it");
    let queued = stage.launch("say later");
    let page = stage.open();
    page.resize(1280, 800);
    let bars = |task: &str| {
        let bars = "[...LANE.querySelectorAll('.lane i')].map((bar) => bar.classList[0]).join()";
        bars.replace("LANE", &find(task))
    };
    for (task, wanted) in
        [(&again, "completed,working"), (&asks, "working,asks"), (&queued, "queued")]
    {
        page.wait_for(&format!("{} === '{wanted}'", bars(task)));
    }
    page.wait_for(&reads(&row(&again), "run 1"));
    // Wide, and other scales.
    page.key("g");
    page.wait_for(&unseen("#detail"));
    page.wait_for("document.querySelector('.lane').getBoundingClientRect().width > 500");
    assert_eq!(page.eval("document.querySelector('#view-timeline').ariaPressed"), "true");
    page.wait_for(&reads("#ticks", "5 min ago"));
    for (value, name) in [("30", "30 min ago"), ("120", "2 h ago"), ("1440", "a day ago")] {
        page.eval(&format!(
            "(() => {{ const scale = document.querySelector('#scale'); scale.value = '{value}'; \
             scale.dispatchEvent(new Event('change')) }})()"
        ));
        page.wait_for(&reads("#ticks", name));
    }
    // One task comes in front of it, and goes.
    page.click(&row(&asks));
    page.wait_for(&seen("#detail"));
    page.wait_for("document.querySelector('#detail').getBoundingClientRect().width > 500");
    page.wait_for("document.documentElement.scrollWidth <= 1280");
    page.key("Escape");
    page.wait_for(&unseen("#detail"));
    page.key("g");
    page.wait_for(&seen("#detail"));
}

#[test]
fn v2_rows_are_links_and_back_and_bookmarks_work() {
    let stage = Stage::new();
    let (one, two) = (stage.launch("say one"), stage.launch("say two"));
    // Rows move when their tasks end.
    for task in [&one, &two] {
        stage.until(task, "it is over", |task| !task["ended"].is_null());
    }
    let page = stage.open();
    assert_eq!(page.eval("location.hash"), "");
    choose(&page, &one);
    choose(&page, &two);
    assert_eq!(page.eval("location.hash"), format!("#{two}"));
    page.eval("history.back(); null");
    page.wait_for(&reads("#task-id", &one));
    page.eval("history.forward(); null");
    page.wait_for(&reads("#task-id", &two));
    let bookmark = stage.context.open(&format!("{}/#{one}", stage.origin()));
    bookmark.wait_for(&reads("#task-id", &one));
    let unknown = stage.tab(&format!("{}/#bg_00000000", stage.origin()), &[]);
    unknown.wait_for(&tells("Task not found"));
    unknown.wait_for(&seen(&row(&one)));
}

#[test]
fn v2_a_dot_says_what_this_person_has_not_opened() {
    let stage = Stage::new();
    let old = stage.launch("say old");
    stage.until(&old, "it is over", |task| !task["ended"].is_null());
    let watched = stage.launch("ask to stay in sight");
    let page = stage.open();
    page.wait_for(&reads("#task-id", &watched));
    let new = stage.launch("say new");
    let dot = |task: &str| seen(&format!("{} .new", row(task)));
    page.wait_for(&dot(&new));
    assert_eq!(page.eval(&dot(&old)), false, "it was over before this person came");
    choose(&page, &new);
    page.wait_for(&format!("!({})", dot(&new)));
    choose(&page, &watched);
    page.reload();
    page.wait_for(&seen(&row(&new)));
    page.wait_for(&reads("#task-id", &watched));
    assert_eq!(page.eval(&dot(&new)), false);
    // What a later run brings is new again.
    stage.run(&["resume", &new, "--detach", "say newer"]).with_code(0);
    page.wait_for(&dot(&new));
}

#[test]
fn v2_the_title_the_icon_and_notices_tell_who_does_not_look() {
    let stage = Stage::new();
    stage.launch("say nothing to see");
    // Notices cannot be seen in a browser without a screen, so what is asked of it is kept.
    let page = stage.open_with(&[
        "window.told = []; window.Notification = class { \
           static permission = 'granted'; \
           static requestPermission = async () => 'granted'; \
           constructor(title) { window.told.push(title) } }; \
         Object.defineProperty(document, 'visibilityState', { get: () => window.seen ?? 'visible' })",
    ]);
    assert_eq!(page.eval("document.title"), "legwork");
    assert_eq!(page.eval("document.querySelector('#bell').ariaPressed"), "false");
    let first = stage.launch("ask one");
    page.wait_for("document.title === '(1) legwork'");
    page.wait_for("document.querySelector('#icon').href.includes('icon-asks')");
    page.wait_for(&reads("#news", "asks you"));
    assert_eq!(page.eval("window.told"), json!([]), "nobody wanted notices");

    page.click("#bell");
    page.wait_for("document.querySelector('#bell').ariaPressed === 'true'");
    page.eval("window.seen = 'hidden'; null");
    stage.launch("ask two");
    stage.launch("say this is no news");
    page.wait_for("document.title === '(2) legwork'");
    stage.launch("wait 10ms\nfail for good");
    page.wait_for("window.told.length === 2");
    let told = page.eval("window.told.join()").as_str().unwrap().to_owned();
    assert!(told.contains("ask two asks you") && told.contains("failed"), "{told}");
    stage.run(&["answer", &first, "reject"]).with_code(0);
    page.wait_for("document.title === '(1) legwork'");
}

#[test]
fn v2_with_no_tasks_it_says_how_to_begin() {
    let stage = Stage::new();
    let page = stage.open();
    page.wait_for(&reads("main", "Nobody is out on an errand"));
    let commands =
        page.eval("[...document.querySelectorAll('.cmds code')].map((it) => it.innerText)");
    for command in commands.as_array().unwrap() {
        // Each is a command that there is.
        let words: Vec<&str> = command.as_str().unwrap().split_whitespace().take(2).collect();
        stage.run(&[words[1], "--help"]).with_code(0);
    }
    assert_eq!(commands.as_array().map(Vec::len), Some(3));
    page.wait_for(&unseen("#board"));
    let task = stage.launch("say hello");
    page.wait_for(&seen(&row(&task)));
    page.wait_for(&unseen("#empty"));
    stage.run(&["clear", "--yes", &task]).with_code(0);
    page.wait_for(&seen("#empty"));
}

#[test]
fn v2_a_narrow_screen_shows_one_half_at_a_time() {
    let stage = Stage::new();
    let task = stage.launch("ask to be seen");
    let page = stage.open();
    page.resize(390, 844);
    page.wait_for(&unseen("#detail"));
    page.click(&row(&task));
    page.wait_for(&seen("#detail"));
    page.wait_for(&seen(".ask-card"));
    page.wait_for("document.documentElement.scrollWidth <= 390");
    page.click("#back");
    page.wait_for(&unseen("#detail"));
    page.wait_for(&seen(&row(&task)));
    page.click(&row(&task));
    page.wait_for(&seen("#detail"));
    page.eval("history.back(); null");
    page.wait_for(&unseen("#detail"));
}

#[test]
fn v2_light_and_dark_follow_the_system_and_the_button() {
    let stage = Stage::new();
    let page = stage.open();
    let back = "getComputedStyle(document.body).backgroundColor";
    let wait = |colour: &str| page.wait_for(&format!("{back} === '{colour}'"));
    let (light, dark) = ("rgb(246, 246, 243)", "rgb(15, 17, 19)");
    page.dark(true);
    wait(dark);
    page.click("#theme");
    wait(light);
    page.reload();
    wait(light);
    page.dark(false);
    page.click("#theme");
    wait(dark);
    page.click("#theme");
    wait(light);
}

#[test]
fn v2_finished_tasks_are_cleared_after_a_question_with_their_number() {
    let stage = Stage::new();
    let mut said = String::new();
    for number in 0..3 {
        let _ = writeln!(said, "{}", stage.launch(&format!("say {number}")));
    }
    let stays = stage.launch("ask to stay");
    let page = stage.open();
    page.wait_for("document.querySelectorAll('.row.one').length === 3");
    page.wait_for("document.querySelectorAll('.row').length === 4");
    page.click(".group.is-finished button");
    page.wait_for(&reads("#ask", "Clear 3 finished tasks?"));
    press(&page, "#ask button", "Keep them");
    page.wait_for(&unseen("#ask"));
    assert_eq!(page.eval("document.querySelectorAll('.row').length"), 4);
    page.click(".group.is-finished button");
    page.wait_for(&reads("#ask", "Clear 3 finished tasks?"));
    let later = stage.launch("say what nobody has read");
    stage.until(&later, "it has ended", |task| task["status"] == "completed");
    press(&page, "#ask button", "Clear 3 tasks");
    page.wait_for(&tells("Cleared 3 tasks."));
    page.wait_for("document.querySelectorAll('.row').length === 2");
    page.wait_for(&seen(&row(&stays)));
    page.wait_for(&seen(&row(&later)));
    let left: Value = stage.run(&["list", "--json"]).with_code(0).json();
    assert!(!said.lines().any(|task| left.to_string().contains(task)), "{left}");
}

#[test]
fn v2_a_finished_row_says_how_long_it_took_what_it_cost_and_when_it_ended() {
    let stage = Stage::new();
    let mut host = Host::connect(&stage.home);
    let (task, session) = host.launch("count the routes");
    host.finish_for(&session, "There are 12.", 48_000, 0.18);
    let page = stage.open();
    page.wait_for(&format!("{}?.startsWith('Finished')", group(&task)));
    let part = |name: &str| format!("{} .num {name}", row(&task));
    page.wait_for(&reads(&part("small"), "$0.18"));
    for name in [".time", "small", "time"] {
        page.wait_for(&seen(&part(name)));
    }
    let hour = "/^\\d\\d:\\d\\d$/.test";
    page.wait_for(&format!("{hour}(document.querySelector({}).innerText)", json!(part("time"))));
    choose(&page, &task);
    page.wait_for(&reads("#facts", "ended "));
}

#[test]
fn v2_the_track_is_as_long_as_the_tasks_need() {
    let stage = Stage::new();
    let task = stage.launch(AT_WORK);
    stage.until(&task, "it works", |task| task["tool_calls"] == 1);
    let page = stage.open();
    page.wait_for(&reads("#ticks", "5 min ago"));
    // The same an hour later, of which the daemon tells nothing: its news set the clock.
    page.eval("{ const real = Date.now; Date.now = () => real() + 3_600_000 }; null");
    page.wait_for(&reads("#ticks", "2 h ago"));
}

#[test]
fn v2_tasks_are_grouped_by_project_or_agent() {
    let stage = Stage::new();
    let mut host = Host::connect(&stage.home);
    let (elsewhere, _) = host.launch("list the folder");
    let done = stage.launch("say done");
    stage.until(&done, "it is over", |task| !task["ended"].is_null());
    let asks = stage.launch("ask to go on");
    let page = stage.open();
    let by = |what: &str| {
        page.eval(&format!(
            "(() => {{ const by = document.querySelector('#grouping'); by.value = '{what}'; \
             by.dispatchEvent(new Event('change')) }})()"
        ));
    };
    let is_in = |task: &str, name: &str| page.wait_for(&format!("{} === '{name}'", group(task)));
    is_in(&asks, "Asks you 1");
    by("project");
    for task in [&asks, &done] {
        is_in(task, "work 2, asks you 1");
    }
    is_in(&elsewhere, "d 1");
    // Who asks stands first, and what is over last.
    let order = "[...document.querySelectorAll('a.row')].map((row) => row.hash.slice(1))";
    assert_eq!(page.eval(order), json!([asks, done, elsewhere]));
    by("agent");
    is_in(&asks, "rehearsal 2, asks you 1");
    is_in(&elsewhere, "general 1");
    page.reload();
    is_in(&elsewhere, "general 1");
    page.wait_for(LIVE);
    by("need");
    is_in(&asks, "Asks you 1");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn v2_on_a_phone_no_filter_is_cut() {
    let stage = Stage::new();
    stage.launch("ask to be seen");
    let page = stage.open();
    page.resize(390, 844);
    page.wait_for(
        "[...document.querySelectorAll('.chip')].every((chip) => { \
           const { left, right } = chip.getBoundingClientRect(); return left >= 0 && right <= 390 })",
    );
    page.wait_for("document.documentElement.scrollWidth <= 390");
    page.wait_for(&seen("#grouping"));
}
