//! A real browser without a window: Chromium, driven over its debugging pipe. One for all tests of
//! a process; each test has a context of its own, with storage that no other sees.

mod find;
mod page;
mod pipe;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};

use serde_json::json;

use self::find::Chromium;
use self::pipe::Pipe;
use crate::sweep::Sweep;

pub use self::page::{Answered, Page};

/// A name that leads to this machine though it is not ours: for pages that do as if they were here.
pub const REBOUND: &str = "evil.test";

/// The pipe is on 3 and 4, where the browser looks for it.
const START: &str = r#"exec "$@" 3<&0 4>&1 0</dev/null 1>/dev/null"#;

const ARGUMENTS: [&str; 12] = [
    "--headless=new",
    "--remote-debugging-pipe",
    // As root there is no sandbox; what the tests show it is ours.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
];

/// A browser that runs.
#[derive(Debug)]
pub struct Browser {
    pipe: Arc<Pipe>,
    _child: Child,
    /// Ends it when the test process does, and removes what it wrote.
    _sweep: Sweep,
}

/// Storage of its own: what one context knows no other does. Its pages are closed with it.
#[derive(Debug)]
pub struct BrowserContext {
    pipe: Arc<Pipe>,
    id: String,
}

impl Browser {
    /// The one of this process.
    pub fn get() -> &'static Self {
        static ONCE: OnceLock<Browser> = OnceLock::new();
        ONCE.get_or_init(Self::start)
    }

    /// Starts one.
    pub fn start() -> Self {
        let (chromium, sweep) = (Chromium::get(), Sweep::new());
        let profile = sweep.folder().join("profile");
        let mut command = Command::new("sh");
        command
            .args(["-c", START, "sh"])
            .arg(&chromium.program)
            .args(ARGUMENTS)
            .arg(format!("--host-resolver-rules=MAP {REBOUND} 127.0.0.1"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .env("HOME", sweep.folder().join("home"))
            .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(libraries) = &chromium.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        let mut child = command.spawn().expect("sh is there");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let pipe = Pipe::new(input.expect("a pipe"), output.expect("a pipe"));
        let browser = Self { pipe, _child: child, _sweep: sweep };
        browser.pipe.send(None, "Browser.getVersion", json!({}));
        browser
    }

    /// Storage of its own for a test.
    pub fn context(&self) -> BrowserContext {
        let made = self.pipe.send(None, "Target.createBrowserContext", json!({}));
        let id = made["browserContextId"].as_str().expect("its id").to_owned();
        BrowserContext { pipe: self.pipe.clone(), id }
    }
}

impl BrowserContext {
    /// A new tab that shows this.
    pub fn open(&self, url: &str) -> Page {
        let page = self.blank();
        page.open(url);
        page
    }

    /// A new tab that shows nothing yet.
    pub fn blank(&self) -> Page {
        Page::new(self.pipe.clone(), &self.id)
    }

    /// A new tab that shows this file.
    pub fn open_file(&self, path: &Path) -> Page {
        self.open(&format!("file://{}", path.display()))
    }
}

impl Drop for BrowserContext {
    fn drop(&mut self) {
        let context = json!({ "browserContextId": self.id });
        // The browser may be gone, and with it the context.
        let _ = self.pipe.try_send(None, "Target.disposeBrowserContext", context);
    }
}
