//! What `legwork demo` shows: a story in commands, each of which is really run. What comes of it is
//! checked on the way, so that a demo that ends well is true.

mod stage;

use crate::fault::Fault;
use crate::screen::{BOLD, DIM, Screen, paint};

use self::stage::Stage;

pub struct Show<'a> {
    stage: Stage,
    screen: &'a Screen,
    /// Whether the helpers are quicker than a person can follow.
    fast: bool,
}

/// What the first helper finds out; its follow-up must know it.
const FOUND: &str = "The program begins in src/main.rs and reads its settings first.";

impl<'a> Show<'a> {
    pub fn open(fast: bool, screen: &'a Screen) -> Result<Self, Fault> {
        Ok(Self { stage: Stage::open()?, screen, fast })
    }

    pub fn play(mut self) -> Result<(), Fault> {
        self.introduce()?;
        let first = self.three_at_once()?;
        self.one_remembers(&first)?;
        self.one_is_called_off()?;
        self.the_daemon_is_killed()?;
        self.tidy_up()
    }

    fn introduce(&self) -> Result<(), Fault> {
        self.screen.line(paint(BOLD, "legwork: helpers that work in the background"))?;
        self.screen.line("")?;
        self.screen.line(
            "Everything you see is real: the daemon, its records, the helpers as processes of\n\
             their own. Only the model is missing: these helpers follow a script.",
        )
    }

    fn three_at_once(&mut self) -> Result<String, Fault> {
        self.chapter("Three helpers at once. The terminal is free again at once.")?;
        let [short, long] = [1, 2].map(|seconds| self.seconds(seconds));
        let script =
            format!("tool list the files for {short}; tool read main.rs for {long}; say {FOUND}");
        let map = self.launch("Map the code", &script)?;
        // Not quicker for anybody: it must be at work still when they are listed.
        let script = "tool search for tests for 3s; say There are 212 tests in 14 files.";
        let count = self.launch("Count the tests", script)?;
        let script = format!("tool ask the provider for {long}; fail the provider answered 503");
        let fails = self.launch("Review the last change", &script)?;
        self.command(&["list"], 0)?;
        self.chapter("Nobody has to wait. Whoever wants to sees how they are doing.")?;
        // One of them fails, and the exit code says so.
        self.command(&["wait", &map, &count, &fails], 3)?;
        self.stage.until_told()?;
        self.chapter("A result is read whole. What nobody saw end is told once.")?;
        self.command(&["output", &map], 0)?;
        self.expect(&map, FOUND)?;
        self.command(&["output", &fails], 3)?;
        Ok(map)
    }

    fn one_remembers(&mut self, task: &str) -> Result<(), Fault> {
        self.chapter("A helper remembers: it can be asked on about what it did.")?;
        let script = format!("tool think back for {}; recall", self.seconds(1));
        self.command(&["resume", task, &script], 0)?;
        self.expect(task, FOUND)
    }

    fn one_is_called_off(&mut self) -> Result<(), Fault> {
        self.chapter("One that is not needed any more is cancelled, with all that it started.")?;
        let task = self.launch("Rewrite everything", "tool rewrite the world for 600s")?;
        self.command(&["cancel", &task], 0)?;
        self.stage.until_told()
    }

    fn the_daemon_is_killed(&mut self) -> Result<(), Fault> {
        self.chapter("The worst case: the daemon is killed in the middle of a helper's work.")?;
        // Before there is a helper that could be done meanwhile.
        let daemon = self.stage.daemon()?;
        // Not quicker for anybody: it must be at work still when the daemon is killed.
        let task = self.launch("Survive", "tool a long look for 3s; say Nothing was lost.")?;
        self.stage.until_at_work(&task)?;
        self.stage.kill(daemon)?;
        let id = daemon.as_raw_nonzero();
        self.screen.line(paint(DIM, format_args!("$ kill -9 {id}")))?;
        self.screen
            .line("The next command starts another daemon. It finds the helper, which goes on.")?;
        self.command(&["wait", &task], 0)?;
        self.stage.until_told()?;
        self.command(&["output", &task], 0)?;
        self.expect(&task, "Nothing was lost.")?;
        self.screen.line("What happened to it is on record:")?;
        self.command(&["log", &task], 0)
    }

    fn tidy_up(self) -> Result<(), Fault> {
        self.chapter("All tasks are kept until somebody clears them.")?;
        self.command(&["list"], 0)?;
        self.command(&["clear", "--yes"], 0)?;
        self.stage.close()?;
        self.chapter("That was it. What next?")?;
        self.screen.line(
            "  legwork install opencode    give the models in OpenCode these helpers\n  \
             legwork agents              see which agents can be helpers from a terminal\n  \
             legwork run \"...\"           have one of them do something\n  \
             legwork --help              everything else",
        )
    }

    fn launch(&self, description: &str, script: &str) -> Result<String, Fault> {
        let arguments =
            ["run", "--detach", "--agent", "rehearsal", "--description", description, script];
        self.typed(&arguments)?;
        let task = self.stage.ask(&arguments)?.trim().to_owned();
        self.screen.line(&task)?;
        Ok(task)
    }

    fn command(&self, arguments: &[&str], exit: i32) -> Result<(), Fault> {
        self.typed(arguments)?;
        self.stage.show(arguments, exit)
    }

    fn typed(&self, arguments: &[&str]) -> Result<(), Fault> {
        self.screen.line(paint(DIM, format_args!("$ legwork {}", quoted(arguments))))
    }

    fn chapter(&self, title: &str) -> Result<(), Fault> {
        self.screen.line("")?;
        self.screen.line(paint(BOLD, title))
    }

    fn expect(&self, task: &str, wanted: &str) -> Result<(), Fault> {
        let result = self.stage.result(task)?;
        if result.contains(wanted) {
            return Ok(());
        }
        Err(stage::wrong(format_args!("{wanted:?} is not in {result:?}")))
    }

    /// So many seconds, at this pace.
    fn seconds(&self, seconds: u32) -> String {
        if self.fast { format!("{seconds}00ms") } else { format!("{seconds}s") }
    }
}

fn quoted(arguments: &[&str]) -> String {
    let quote = |argument: &&str| {
        if argument.contains([' ', ';']) {
            format!("\"{argument}\"")
        } else {
            (*argument).to_owned()
        }
    };
    arguments.iter().map(quote).collect::<Vec<_>>().join(" ")
}
