//! A program that speaks in lines of JSON, played from a script: it waits for what it is told, and
//! says what the real program has said.
//!
//! A script has one step a line:
//! - `< METHOD` waits for the next request or notification with this method, or of this `type`
//! - `< #ID` waits for the answer to a request of the program's own
//! - `> JSON` says that; `"$id"` in it is the id of the last request that was waited for
//! - `* METHOD JSON` says that whenever this is asked, all of them if there are several
//! - `wait MS`, `exit CODE`, `stderr TEXT`
//!
//! What comes while nothing is waited for is kept until it is; what is never waited for is passed
//! over. At the end of the script the program reads until its input ends.

use std::env;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, Lines, StdinLock, Write, stderr, stdin};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

const VARIABLE: &str = "LEGWORK_TEST_PLAYED";
/// Libtest writes to stdout, so the program's is another one.
const OUTPUT: &str = "/dev/fd/3";

/// A program that is played by a test program.
#[derive(Debug)]
pub struct Played {
    /// It can be started, with any arguments.
    pub program: PathBuf,
    script: PathBuf,
    heard: PathBuf,
}

impl Played {
    /// A program of this name in a folder. The test `is_program` of this test program has to call
    /// [`act_as_program`].
    pub fn new(folder: &Path, name: &str, is_program: &str) -> Self {
        let at = |ending: &str| folder.join(format!("{name}.{ending}"));
        let played = Self { program: folder.join(name), script: at("script"), heard: at("heard") };
        let test = env::current_exe().expect("a program has a path");
        let script = played.script.display();
        let text = format!(
            "#!/bin/sh\n{VARIABLE}='{script}' exec {test:?} --exact {is_program} --nocapture \
             3>&1 >/dev/null\n"
        );
        let template = at("text");
        fs::write(&template, text).expect("a folder to write to");
        let mode = Permissions::from_mode(0o755);
        fs::set_permissions(&template, mode).expect("a file of ours");
        // A file that this process has open for writing cannot be started, and what another thread
        // starts at the same moment has it open too.
        let copied = Command::new("cp").arg("-p").args([&template, &played.program]).status();
        assert!(copied.is_ok_and(|status| status.success()), "a program can be made");
        played
    }

    /// Whoever starts it from now on gets this.
    pub fn plays(&self, script: &str) {
        fs::write(&self.script, script).expect("a folder to write to");
        let _ = fs::remove_file(&self.heard);
    }

    /// All that it was told since then.
    pub fn heard(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.heard).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// The parameters of all requests with this method that it got since then.
    pub fn heard_of(&self, method: &str) -> Vec<Value> {
        let all = self.heard().into_iter().filter(|told| told["method"] == method);
        all.map(|mut told| told["params"].take()).collect()
    }
}

/// Plays the program and ends the process, if it was started as one.
pub fn act_as_program() {
    let Some(script) = env::var_os(VARIABLE).map(PathBuf::from) else { return };
    let heard = File::options().create(true).append(true).open(script.with_extension("heard"));
    let output = File::options().write(true).open(OUTPUT);
    let mut player = Player {
        output: output.expect("the program's stdout"),
        heard: heard.expect("a folder to write to"),
        lines: stdin().lock().lines(),
        early: Vec::new(),
        always: Vec::new(),
        id: Value::Null,
    };
    let script = fs::read_to_string(script).expect("a script");
    for step in script.lines().filter_map(|step| step.trim().strip_prefix("* ")) {
        let (method, json) = step.split_once(' ').expect("a method and what is said");
        player.always.push((method.to_owned(), json.to_owned()));
    }
    for step in script.lines().map(str::trim).filter(|step| !step.is_empty()) {
        player.step(step);
    }
    while player.hear().is_some() {}
    exit(0);
}

struct Player<'a> {
    output: File,
    heard: File,
    lines: Lines<StdinLock<'a>>,
    early: Vec<Value>,
    always: Vec<(String, String)>,
    id: Value,
}

impl Player<'_> {
    fn step(&mut self, step: &str) {
        let (what, rest) = step.split_once(' ').unwrap_or((step, ""));
        match what {
            "<" => self.wait_for(rest.trim()),
            ">" => self.say(rest.trim()),
            "*" => {}
            "wait" => sleep(Duration::from_millis(rest.parse().expect("a number"))),
            "exit" => exit(rest.parse().expect("a number")),
            "stderr" => writeln!(stderr(), "{rest}").expect("somebody reads"),
            _ => panic!("no step: {step}"),
        }
    }

    fn wait_for(&mut self, what: &str) {
        let is_it = |told: &Value| match what.strip_prefix('#') {
            Some(id) => {
                let id = serde_json::from_str::<Value>(id).expect("an id");
                told.get("method").is_none() && told["id"] == id
            }
            None => told["method"] == what || told["type"] == what,
        };
        let at = self.early.iter().position(is_it);
        let told = match at.map(|at| self.early.remove(at)) {
            Some(told) => told,
            None => loop {
                match self.hear() {
                    Some(told) if is_it(&told) => break told,
                    Some(told) => self.early.push(told),
                    None => exit(0),
                }
            },
        };
        if told.get("method").is_some() {
            self.id = told["id"].clone();
        }
    }

    fn say(&mut self, json: &str) {
        let line = json.replace("\"$id\"", &self.id.to_string());
        writeln!(self.output, "{line}").expect("somebody reads");
    }

    /// What comes next and is not answered at once.
    fn hear(&mut self) -> Option<Value> {
        loop {
            let line = self.lines.next()?.ok()?;
            writeln!(self.heard, "{line}").expect("a folder to write to");
            let told: Value = serde_json::from_str(&line).expect("a line of JSON");
            let is_it = |(method, _): &&(String, String)| told["method"] == **method;
            let said: Vec<String> =
                self.always.iter().filter(is_it).map(|(_, json)| json.clone()).collect();
            if said.is_empty() {
                return Some(told);
            }
            self.id = told["id"].clone();
            said.iter().for_each(|json| self.say(json));
        }
    }
}
