//! A home with a front that runs, and a browser to look at it with.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering};

use legwork_testkit::legwork::{Home, Ran, eventually, ran};
use legwork_testkit::{Browser, BrowserContext, Lines, Page, output_of};
use serde_json::Value;

use crate::look::{CLOCK, TELLINGS};

/// True when the page shows what is so now.
pub const LIVE: &str = "document.querySelector('[role=status]')?.innerText.includes('live')";

pub struct Stage {
    pub home: Home,
    front: Option<Front>,
    /// Storage of its own in the browser.
    pub context: BrowserContext,
}

/// A free port below those that the system gives to whoever wants just any: nobody else has it when
/// a front comes back to it.
pub fn own_port() -> u16 {
    static LAST: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 1_000).unwrap() * 10;
    loop {
        let port = first + LAST.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A `legwork ui` in the foreground.
pub struct Front {
    /// Nothing if somebody else started it.
    child: Option<Child>,
    pub port: u16,
    /// With a code that nobody has used.
    pub address: String,
}

impl Front {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let Some(line) = Lines::of(child.stdout.take().unwrap()).next() else {
            panic!("it told nothing: {:?}", output_of(child));
        };
        let told: Value = serde_json::from_str(&line).unwrap();
        let mut front = Self::elsewhere(&told);
        front.child = Some(child);
        front
    }

    /// One that was started otherwise, as it was told of.
    pub fn elsewhere(told: &Value) -> Self {
        let port = u16::try_from(told["port"].as_u64().unwrap()).unwrap();
        Self { child: None, port, address: told["address"].as_str().unwrap().to_owned() }
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Stage {
    pub fn new() -> Self {
        Self::with("")
    }

    /// With a daemon that runs: a request is told of one that takes seconds to start, and does not
    /// wait for it.
    pub fn with_daemon() -> Self {
        let stage = Self::new();
        stage.daemon();
        stage
    }

    /// With these settings.
    pub fn with(settings: &str) -> Self {
        let home = Home::new();
        home.configure(settings);
        fs::create_dir(home.path("work")).unwrap();
        let mut stage = Self { home, front: None, context: Browser::get().context() };
        stage.start_front(0);
        stage
    }

    /// Starts a front on this port; 0 for any.
    pub fn start_front(&mut self, port: u16) {
        let port = port.to_string();
        self.start_front_by(self.home.command(["ui", "--no-open", "--json", "--port", &port]));
    }

    /// Starts a front by this command.
    pub fn start_front_by(&mut self, command: Command) {
        self.front = Some(Front::start(command));
    }

    pub fn front(&self) -> &Front {
        self.front.as_ref().unwrap()
    }

    /// Kills it, as a person who closes a terminal for good.
    pub fn kill_front(&mut self) -> u16 {
        let port = self.front().port;
        self.front = None;
        port
    }

    /// Where the page is, without a code.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.front().port)
    }

    /// The address of the page with a code that nobody has used.
    pub fn address(&self) -> String {
        let told = self.home.run(["ui", "--no-open", "--json"]).with_code(0).json();
        told["address"].as_str().unwrap().to_owned()
    }

    /// A tab that has come in and shows the board.
    pub fn open(&self) -> Page {
        self.open_with(&[])
    }

    /// The same with scripts of a test in the page.
    pub fn open_with(&self, scripts: &[&str]) -> Page {
        let page = self.tab(&self.address(), scripts);
        page.wait_for(LIVE);
        page
    }

    /// A tab that shows this, with scripts of a test in the page.
    pub fn tab(&self, url: &str, scripts: &[&str]) -> Page {
        let page = self.context.blank();
        for script in [&[TELLINGS, CLOCK], scripts].concat() {
            page.add_script(script);
        }
        page.open(url);
        page
    }

    /// A command in the project's folder.
    pub fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.home.command(args);
        command.current_dir(self.home.path("work"));
        ran(command)
    }

    /// Launches a helper with this script; its id.
    pub fn launch(&self, script: &str) -> String {
        let launched = self.run(&["run", "--agent", "rehearsal", "--detach", script]).with_code(0);
        launched.out.trim().to_owned()
    }

    /// A task as `legwork show --json` has it.
    pub fn task(&self, task: &str) -> Value {
        let shown = self.run(&["show", task, "--json"]).with_code(0).json();
        shown.get("task").cloned().unwrap_or(shown)
    }

    /// Waits until a task is so.
    pub fn until(&self, task: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        eventually(what, || Some(self.task(task)).filter(|task| is_so(task)))
    }

    /// The process of the daemon.
    pub fn daemon(&self) -> u32 {
        let told = self.run(&["daemon", "start", "--json"]).with_code(0).json();
        u32::try_from(told["daemon"]["pid"].as_u64().unwrap()).unwrap()
    }
}
