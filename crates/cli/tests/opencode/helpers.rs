//! Helpers inside of OpenCode's terminal UI: what a person sees of them there, and steers.

use legwork_testkit::{Home, Model, Request, Tui, block_on, call, script};
use serde_json::{Value, json};

use crate::processes::{daemon_of, signal, until_ended};
use crate::stage::{bash, cast, furnish_whole, launch, legwork, until};

/// How long a toast stays.
const TOAST: std::time::Duration = std::time::Duration::from_secs(5);

/// A terminal UI with helpers in it.
pub struct Screen<'a> {
    pub tui: Tui<'a>,
    home: &'a Home,
}

impl<'a> Screen<'a> {
    pub async fn open(home: &'a Home, columns: u16, rows: u16) -> Self {
        let tui = home.tui_of(columns, rows, &[]).await;
        tui.until("the prompt", |screen| screen.contains("Ask anything")).await;
        Self { tui, home }
    }

    /// The conversation that was last open, in a new window.
    pub async fn reopen(home: &'a Home, columns: u16, rows: u16) -> Self {
        let tui = home.tui_of(columns, rows, &["--continue"]).await;
        Self { tui, home }
    }

    /// A person's turn: pastes a script for the model and sends it.
    pub fn say(&self, steps: &[&str]) {
        self.tui.text(&script(steps));
        self.tui.keys(&["Enter"]);
    }

    pub async fn shows(&self, what: &str) -> String {
        self.tui.until(what, |screen| screen.contains(what)).await
    }

    /// Waits until the screen has all of these at once.
    pub async fn shows_all(&self, words: &[&str]) -> String {
        let has = |screen: &str| words.iter().all(|word| screen.contains(word));
        self.tui.until(&words.join(", "), has).await
    }

    /// Waits until the screen has the one and not the other any more.
    pub async fn shows_without(&self, what: &str, gone: &str) {
        let is_so = |screen: &str| screen.contains(what) && !screen.contains(gone);
        self.tui.until(&format!("{what}, without {gone}"), is_so).await;
    }

    pub async fn shows_line(&self, what: &str, words: &[&str]) -> String {
        let has = |line: &str| words.iter().all(|word| line.contains(word));
        self.tui.until(what, |screen| screen.lines().any(has)).await
    }

    /// The list of helpers, by its key. Both parts of the key are one write: OpenCode forgets the
    /// first after a while.
    pub async fn list(&self) -> String {
        self.tui.keys(&["C-x", "w"]);
        self.shows("ctrl+k call off").await
    }

    /// Waits until the question on the screen takes keys, and is the one with these words.
    pub async fn takes_keys(&self, words: &[&str]) -> String {
        self.shows_all(&[&["enter choose"], words].concat()).await
    }

    /// Leaves one way to answer by typing a part of its name.
    pub async fn search(&self, name: &str) {
        self.takes_keys(&["Open its session"]).await;
        self.tui.text(name);
        self.tui.until("one choice", |shown| !shown.contains("Open its session")).await;
        self.takes_keys(&[]).await;
    }

    /// A new session, by its key.
    fn new_session(&self) {
        self.tui.keys(&["C-x", "n"]);
    }

    /// Something is typed, and the model answers: it is not in the way of anybody.
    pub async fn works(&self) {
        self.say(&["repeat 30 works"]);
        self.shows("worksworksworks").await;
    }

    /// The first task, by the command line.
    pub fn task(&self) -> Value {
        let listed = legwork(self.home, &["list", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        listed["tasks"][0].clone()
    }

    pub async fn until_status(&self, status: &str) -> Value {
        until(&format!("it is {status}"), async || {
            let task = self.task();
            (task["status"] == status).then_some(task)
        })
        .await
    }
}

pub fn helper(agent: &str, description: &str, steps: &[&str]) -> String {
    let mut given = launch(description, steps);
    given["agent"] = json!(agent);
    call("background_task", &given)
}

#[test]
fn v5_the_sidebar_shows_the_helpers_of_a_session_as_they_change() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = Screen::open(&home, 160, 50).await;
        let both = [
            helper("general", "Explore the code", &["gate one\nsay found it"]),
            helper("general", "Write the changelog", &["gate two\nfail 400 no such luck"]),
        ];
        screen.say(&[&both.join("\n"), "say I asked two"]);
        screen.shows_line("one at work", &["● Explore the code", "s"]).await;
        screen.shows("Helpers ctrl+x w").await;
        screen.shows_line("the other", &["● Write the changelog"]).await;
        screen.shows("2 helpers").await;
        model.open("one");
        screen.shows_line("its end", &["✓ Explore the code", "completed"]).await;
        screen.shows("1 helper").await;
        model.open("two");
        screen.shows_line("a failure", &["✗ Write the changelog", "failed"]).await;
        let shown = screen.shows("Write the changelog · failed").await;
        // What stands behind it in its row is the sidebar's, where the other one has a tick.
        let launched = shown.lines().find_map(|line| line.split_once("· failed")).unwrap().0;
        assert!(!launched.contains('✓'), "a tick is no failure: {shown}");
        // What stands there is the helpers of this session, and of no other.
        screen.new_session();
        screen.shows("Ask anything").await;
        screen.say(&["repeat 30 other"]);
        screen.shows_without("otherotherother", "Explore the code").await;
    });
}

#[test]
fn v5_the_prompt_counts_helpers_on_a_narrow_screen_and_at_home() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = Screen::open(&home, 80, 30).await;
        let slow = helper("general", "Explore the code", &["gate one\nsay found it"]);
        screen.say(&[&slow, "say I asked one"]);
        screen.shows_line("at the prompt", &["Build", "1 helper"]).await;
        screen.new_session();
        screen.shows_without("Ask anything", "I asked one").await;
        screen.shows_line("at home", &["Build", "1 helper"]).await;
        model.open("one");
        screen.tui.until("nothing when it is over", |shown| !shown.contains("1 helper")).await;
        screen.works().await;
    });
}

#[test]
fn v5_the_list_opens_by_key_palette_and_slash_and_leads_into_the_helpers_session() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = Screen::open(&home, 100, 40).await;
        let steps = ["say the helper's own words\ngate one\nsay the end"];
        screen.say(&[&helper("general", "Explore the code", &steps), "say I asked one"]);
        // Its session is open by then.
        screen.shows("General Task (background) — Explore the code").await;
        screen.list().await;
        screen.shows_all(&["At work", "● Explore the code", "ctrl+k call off"]).await;
        screen.tui.keys(&["Enter"]);
        screen.shows_all(&["Subagent (1 of 1)", "the helper's own words"]).await;
        // Also from there.
        screen.list().await;
        screen.tui.keys(&["Escape"]);
        screen.tui.until("closed", |shown| !shown.contains("ctrl+k call off")).await;
        screen.tui.keys(&["Up"]);
        screen.shows("I asked one").await;
        screen.tui.keys(&["C-p"]);
        screen.shows("Commands").await;
        screen.tui.text("Helpers");
        screen.shows_line("in the palette", &["Helpers"]).await;
        screen.tui.keys(&["Enter"]);
        screen.shows("ctrl+k call off").await;
        // It is live while it is open.
        model.open("one");
        screen.shows_line("its end, in the list", &["✓ Explore the code", "completed"]).await;
        screen.tui.keys(&["Escape"]);
        screen.tui.until("closed", |shown| !shown.contains("ctrl+k call off")).await;
        screen.tui.text("/helpers");
        screen.shows_line("the command", &["/helpers"]).await;
        screen.tui.keys(&["Enter"]);
        screen.shows("ctrl+k call off").await;
        screen.tui.keys(&["Escape"]);
        screen.tui.until("closed", |shown| !shown.contains("ctrl+k call off")).await;
        screen.works().await;
    });
}

#[test]
fn v5_a_helper_is_called_off_from_the_list_by_the_person() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = Screen::open(&home, 100, 40).await;
        let steps = ["gate never\nsay the end"];
        screen.say(&[&helper("general", "Explore the code", &steps), "say I asked one"]);
        screen.shows("1 helper").await;
        screen.list().await;
        screen.tui.keys(&["C-k"]);
        screen.shows_all(&["Call off this helper?", "Explore the code"]).await;
        assert_eq!(screen.task()["status"], "running", "it was not confirmed yet");
        screen.tui.keys(&["Enter"]);
        let task = screen.until_status("cancelled").await;
        assert!(task["reason"].as_str().unwrap().contains("person"), "{task}");
        screen.shows("[BACKGROUND TASK CANCELLED]").await;
        screen.shows("Explore the code · cancelled").await;
        screen.works().await;
    });
}

#[test]
fn v5_a_permission_is_seen_whole_and_given_from_the_list() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = Screen::open(&home, 130, 50).await;
        let command = "echo one && \\\n  echo 'two  spaces' # \u{1b}[31mred\u{202e}";
        let steps = [&bash(command), "say was allowed"];
        screen.say(&[&helper("careful", "Run the tests", &steps), "say I asked one"]);
        screen.shows_line("in the sidebar", &["? Run the tests", "asks you"]).await;
        screen.list().await;
        screen.shows("Asks you").await;
        screen.tui.keys(&["Enter"]);
        let lines = ["Run the tests (careful) asks", "echo one && \\", "  echo 'two  spaces' #  "];
        let choices = ["Your answer", "Allow once", "Allow always", "Reject", "Open its session"];
        screen.takes_keys(&[&lines[..], &choices].concat()).await;
        screen.tui.keys(&["Enter"]);
        screen.until_status("completed").await;
        screen.shows_line("over", &["✓ Run the tests", "completed"]).await;
        screen.shows_without("✓ Run the tests", "Your answer").await;
        screen.works().await;
    });
}

#[test]
fn v5_a_permission_is_refused_with_words_in_the_list() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = Screen::open(&home, 100, 40).await;
        let steps = [&bash("echo hi"), "say I do something else"];
        screen.say(&[&helper("careful", "Paint it", &steps), "say I asked one"]);
        screen.shows("Paint it · asks you").await;
        screen.list().await;
        screen.tui.keys(&["Enter"]);
        screen.search("say why").await;
        screen.tui.keys(&["Enter"]);
        screen.shows("What instead?").await;
        screen.tui.text("-- use ls, please");
        screen.tui.keys(&["Enter"]);
        let words = |one: &Request| one.said("tool", "-- use ls, please");
        model.wait_for("the words", words).await;
        screen.until_status("completed").await;
        screen.works().await;
    });
}

/// OpenCode knows nothing of such a helper but its launch.
#[test]
fn v5_a_helper_outside_of_opencode_is_seen_and_answered_too() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = Screen::open(&home, 130, 50).await;
        let mut given = launch("Elsewhere", &[]);
        given["agent"] = json!("rehearsal");
        given["prompt"] = json!("ask to go on\nsay went on");
        screen.say(&[&call("background_task", &given), "say I asked one"]);
        screen.shows_line("in the sidebar", &["? Elsewhere", "asks you"]).await;
        screen.list().await;
        screen.tui.keys(&["Enter"]);
        screen.takes_keys(&["Elsewhere (rehearsal) asks"]).await;
        screen.tui.keys(&["Enter"]);
        screen.until_status("completed").await;
        screen.shows_line("over", &["✓ Elsewhere", "completed"]).await;
        // A screen has one toast: that of the end may come in between and cover the words, and then
        // they are asked for again.
        until("its words are named", async || {
            screen.list().await;
            screen.tui.keys(&["Enter"]);
            let said = screen.shows("legwork transcript bg_");
            tokio::time::timeout(TOAST, said).await.ok()
        })
        .await;
        screen.works().await;
    });
}

/// Also V8: what was shown stays, and is brought up to date when the daemon is back.
/// A window does not know the sessions that another one begins after its own start.
#[test]
fn v5_the_list_has_the_helpers_of_a_conversation_that_another_window_began() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let first = Screen::open(&home, 100, 40).await;
        first.say(&[&helper("general", "Here before", &["say the end"]), "say I asked one"]);
        first.shows("[BACKGROUND TASK COMPLETED]").await;
        let other = Screen::open(&home, 100, 40).await;
        other.say(&[&helper("careful", "Over there", &[&bash("echo hi")]), "say I asked one"]);
        other.shows("Over there · asks you").await;
        first.list().await;
        first.shows_all(&["Asks you", "? Over there", "Here before"]).await;
    });
}

#[test]
fn v5_a_daemon_that_is_killed_while_it_is_shown_is_back_before_anybody_notices() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = Screen::open(&home, 160, 50).await;
        let slow = helper("general", "Explore the code", &["gate one\nsay found it"]);
        screen.say(&[&slow, "say I asked one"]);
        screen.shows_line("at work", &["● Explore the code", "s"]).await;
        let first = daemon_of(&home, 1).await;
        signal(first, "KILL");
        until_ended(first).await;
        let second = daemon_of(&home, 1).await;
        assert_ne!(first, second);
        screen.shows("● Explore the code").await;
        // The stream outlives that, and is started again if it is killed itself.
        let pid = screen.tui.pid().unwrap();
        let stream = until("its stream", async || streams(pid).pop()).await;
        signal(stream, "KILL");
        until_ended(stream).await;
        model.open("one");
        screen.shows_line("its end", &["✓ Explore the code", "completed"]).await;
        screen.works().await;
    });
}

/// Its pipes are all that holds it: also when OpenCode is killed.
#[test]
fn v5_the_stream_ends_with_the_window_however_that_ends() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        for how in ["quit", "KILL"] {
            let screen = Screen::open(&home, 100, 40).await;
            let pid = screen.tui.pid().unwrap();
            let stream = until("its stream", async || streams(pid).pop()).await;
            if how == "quit" {
                screen.tui.keys(&["C-c"]);
            } else {
                signal(pid, how);
            }
            until_ended(pid).await;
            until_ended(stream).await;
        }
    });
}

/// The streams of the board that this OpenCode process has started.
fn streams(opencode: u32) -> Vec<u32> {
    let listed = std::process::Command::new("ps").args(["-A", "-o", "pid=,ppid=,args="]).output();
    let listed = String::from_utf8_lossy(&listed.unwrap().stdout).into_owned();
    let stream = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_ours =
            words.get(1)?.parse() == Ok(opencode) && words.ends_with(&["bridge", "board"]);
        is_ours.then(|| words[0].parse().ok())?
    };
    listed.lines().filter_map(stream).collect()
}
