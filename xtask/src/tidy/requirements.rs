//! The numbered requirements, and where each is shown by a test.
//!
//! A test carries the number in its name: `l4_unknown_agent_is_refused` shows L4, and a test whose
//! name begins `o2_o6_` shows both. Each number is shown in the simulated world and, unless
//! [`NOT_END_TO_END`] says why not, on the real OpenCode. A number without a test is a finding, and
//! so is a test for a number that does not exist.

use super::{Finding, Source};
use std::fmt::Write;

/// Where a requirement is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// By a test in the simulated world.
    Scenario,
    /// By a test of any crate.
    Crate,
    /// Only by a real process, and why.
    Process(&'static str),
}

/// A numbered requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// Letter and number, as in L4.
    pub number: &'static str,
    /// In short.
    pub says: &'static str,
    /// Where to look for its test.
    pub shown: Shown,
}

const SCENARIOS: &str = "crates/sim/tests/";
const END_TO_END: &str = "crates/cli/tests/opencode/";
const OWN_FILE: &str = "xtask/src/tidy/requirements.rs";

const fn scenario(number: &'static str, says: &'static str) -> Requirement {
    Requirement { number, says, shown: Shown::Scenario }
}

const fn in_crate(number: &'static str, says: &'static str) -> Requirement {
    Requirement { number, says, shown: Shown::Crate }
}

const fn process(number: &'static str, says: &'static str, why: &'static str) -> Requirement {
    Requirement { number, says, shown: Shown::Process(why) }
}

const TABLE: &[Requirement] = &[
    scenario("L1", "a launch names every missing argument and leaves nothing behind"),
    scenario("L2", "a new task is running, was never resumed, and knows its origin"),
    scenario("L3", "a launch is answered when it is saved and its agent is known"),
    scenario("L4", "an unknown agent is refused with the agents there are"),
    scenario("L5", "the session is a child without the six tools, down to the depth limit"),
    scenario("L6", "the same call twice makes one task"),
    scenario("L7", "over the limits a task is queued in order, or refused with reasons"),
    in_crate("L8", "the model is told which agents it can ask, in a line each"),
    scenario("L9", "a fork begins with a copy of the conversation, where the host can copy"),
    scenario("R1", "a resume needs a prompt"),
    scenario("R2", "a resume of an unknown id is refused"),
    scenario("R3", "of two resumes at once the first wins"),
    scenario("R4", "only a completed task can be resumed"),
    scenario("R5", "a session that is gone leaves the task completed"),
    scenario("R6", "a resume goes into the same session and counts"),
    scenario("R7", "agent and description are ignored with a note"),
    scenario("R8", "the notice of a resume carries the new answer only"),
    scenario("R9", "a resume that fails is an error with a notice"),
    scenario("O1", "output of an unknown id is refused"),
    scenario("O2", "output of unfinished work tells how it goes"),
    scenario("O3", "output of completed work is the whole result"),
    scenario("O4", "output of failed or cancelled work is its details"),
    scenario("O5", "a result that was read needs no notice"),
    scenario("O6", "waiting arguments of output get a note"),
    scenario("B1", "arguments of block are checked and cut"),
    scenario("B2", "finished tasks are not waited for"),
    scenario("B3", "block returns when all have finished or the time is up"),
    scenario("B4", "block answers with a summary of every id"),
    scenario("B5", "block waits for the end of a resume"),
    scenario("B6", "a caller that goes ends the waiting only; notices are held meanwhile"),
    scenario("B7", "a silent call is kept awake"),
    scenario("B8", "block returns with the first of any, and says which"),
    scenario("S1", "one line a task, newest first"),
    scenario("S2", "resumed tasks are marked behind the id"),
    scenario("S3", "the list is filtered by a status that exists"),
    scenario("S4", "own tasks, or all of the project"),
    scenario("S5", "an empty list says so"),
    scenario("S6", "no description breaks the listing"),
    scenario("X1", "cancel holds at once and the abort is tried until it is done"),
    scenario("X2", "finished or unknown tasks cannot be cancelled"),
    scenario("X3", "the parent that cancelled gets no notice, any other does"),
    scenario("C1", "clear aborts and forgets the tasks of the caller only"),
    scenario("C2", "nothing to clear says so"),
    scenario("C3", "a call blocked on a cleared task is answered"),
    scenario("D1", "events are quick, polling is sure"),
    scenario("D2", "an event alone concludes nothing"),
    scenario("D3", "each kind of failure gives the right status and cause"),
    scenario("D4", "too long or too quiet a run is ended, naming the setting"),
    scenario("D5", "a question is shown and can be answered"),
    scenario("D6", "a closed stream is opened again and caught up with"),
    scenario("D7", "the end of a run keeps its time and result"),
    scenario("N1", "each run that ends is told exactly once"),
    scenario("N2", "a notice has its headline, counts and result"),
    scenario("N3", "the end and its notice are saved together, before anything is sent"),
    scenario("N4", "a notice starts or joins a turn, or waits in the history"),
    scenario("N5", "notices that are pending at the same moment become one"),
    scenario("N6", "no notice into a session with an undo pending"),
    scenario("N7", "a lost sending is tried again until the parent is gone"),
    process("N8", "a toast shows progress and outcome", "needs a terminal UI"),
    scenario("N9", "with \"last\" only the last result starts a turn, and every failure"),
    scenario("N10", "what a helper wrote is data that nobody can take for a notice"),
    scenario("K1", "tasks stay until cleared or their parent is deleted"),
    scenario("K2", "after a crash every unfinished task is looked up"),
    scenario("K3", "a deleted parent takes its own descendants only"),
    scenario("K4", "an unreadable store is set aside, a full disk loses nothing"),
    scenario("K5", "several clients see one truth"),
    scenario("K6", "helpers outlive their window, and no process is left behind"),
    in_crate("G1", "files belong to the user alone"),
    scenario("G2", "bad input is refused and hurts nobody"),
    scenario("G3", "everything that waits or grows has a limit"),
    scenario("P1", "a person has any task go on that is over, and its parent is told"),
    in_crate("P2", "a helper gets the environment of whoever launched it, in memory only"),
    in_crate("P3", "the whole conversation of a helper is read and followed, live and afterwards"),
    scenario("P4", "what every run used up is kept, shown, summed and held against a budget"),
    in_crate("P5", "listings show what is unfinished first, and fit the screen"),
    in_crate("P6", "a question is shown whole, answered where the person is, and in the log"),
    in_crate("P7", "the doctor finds every known fault and names a remedy that works"),
    in_crate("P8", "what is cleared is removed from every file"),
    in_crate("P9", "the daemon is found, or the reason is said at once"),
    in_crate("P10", "texts for people name nothing that only programs or models know"),
    in_crate(
        "P11",
        "a yes means what was asked: no key allows by mistake, and what it was is said",
    ),
    in_crate("P12", "a mistake in the settings is said by every command, with what was meant"),
    in_crate("P13", "where helpers have no agent, everything says what to install in one line"),
    in_crate("P14", "what belongs to others stays theirs, and every edit is undone to the byte"),
    scenario("Q6", "a used up budget begins nothing more, of a session, a run or a day"),
    scenario("Q8", "the results that are told at once share one limit, whoever is told"),
    in_crate("V1", "views read all tasks as they change, and nothing is done while nobody looks"),
    in_crate("V2", "the page shows what needs the person first, and takes every decision"),
    in_crate("V3", "the page is closed to everybody else"),
    in_crate("V4", "the terminal view is the same, and leaves the terminal as it was"),
    in_crate("V5", "OpenCode shows the helpers of a conversation, whatever misbehaves"),
    in_crate("V6", "what happens is shown as a live table, how it happens only on demand"),
    in_crate("V7", "texts of helpers never act, on a page or in a terminal"),
    in_crate("V8", "a view says what it shows and since when, and heals by itself"),
    in_crate("V9", "the page is for everybody: by keyboard, by ear, without colours"),
    in_crate("I1", "one npm package is the plugin and the command, without install scripts"),
    in_crate("I2", "the script, the archives and every crate can be released"),
    in_crate("I3", "the newest runs the daemon, older ones find it, and paths stay valid"),
    in_crate("I4", "processes and files are told apart where there is no /proc"),
    in_crate("I5", "the released program is small and needs no new system"),
    in_crate("I6", "the README shows helpers at work, and what it tells people to do works"),
    in_crate("M1", "both eras of the protocol are spoken, each request by its own rules"),
    scenario("M2", "a client that polls is told by its polls, whole, whatever is killed"),
    scenario("M3", "a session that does not poll is told through its inbox, or with its next call"),
    in_crate("M4", "a thread of Codex is told through its queue"),
    in_crate("M5", "who cannot be woken reads what is new with the next answer, or waits for it"),
    scenario("M6", "who asks is known, and nobody else is told"),
    in_crate("M7", "clients are set up by their own files, which stay otherwise as they are"),
    in_crate("M8", "any client hands work to any agent"),
    in_crate("M9", "a helper finds no tools"),
    in_crate("M10", "a helper has what its client has, but not what names its session"),
    in_crate("H1", "a program of the person is a helper by itself, with their login and settings"),
    in_crate("H2", "what became of a prompt is asked before anything is sent again"),
    in_crate("H3", "permissions and questions of a program are answered by a person, no further"),
    in_crate("H4", "a program that is stopped leaves nothing at work"),
    in_crate("H5", "what a program tells of its work, its failures and its limits is shown"),
    in_crate("H7", "a program of another version is used as far as it goes, or says the way out"),
];

const PROGRAMS: &str = "about other programs; crates/agents/tests and crates/cli/tests/acp show it";
const CLIENTS: &str = "about other clients; crates/cli/tests/mcp and `cargo xtask clients` show it";

/// What no test on the real OpenCode shows, and why.
const NOT_END_TO_END: &[(&str, &str)] = &[
    ("N3", "only a crash between two writes of one moment could show it"),
    ("P2", "legwork does not start OpenCode's helpers; crates/cli/tests/acp shows it"),
    ("P5", "about our own listings; crates/cli/tests/cli shows it"),
    ("P6", "about our own terminal; crates/cli/tests/agents shows it in a real one"),
    ("P10", "about our own texts; crates/cli/tests/cli and agents show it"),
    ("P13", "about agents of other clients; crates/cli/tests/agents and mcp show it"),
    ("P9", "about our own processes; shown with the real ones in crates/cli/tests/cli"),
    ("P12", "about our own commands; crates/cli/tests/cli shows it"),
    ("P14", CLIENTS),
    ("Q6", "the budget of a session is shown as P4, the others in crates/cli/tests/acp"),
    ("Q8", "one text for all hosts; crates/sim and crates/cli/tests/mcp show it"),
    ("V1", "about our own daemon; crates/daemon/tests shows it"),
    ("V2", "about our own page; crates/cli/tests/page shows it in a real browser"),
    ("V3", "the same"),
    ("V4", "about our own screen; crates/cli/tests/top shows it in a real terminal"),
    ("V6", "about our own commands; crates/cli/tests/cli and agents show it"),
    ("V7", "about our own views; crates/cli/tests/page and top show it"),
    ("V8", "the same"),
    ("V9", "about our own page; crates/cli/tests/page shows it in a real browser"),
    ("I1", "crates/cli/tests/package shows it on the real OpenCode"),
    ("I2", "about our own releases; crates/cli/tests/package shows it"),
    ("I3", "about our own processes; crates/cli/tests/cli and crates/daemon/tests show it"),
    ("I4", "about systems that the tests do not run on"),
    ("I5", "about our own build; crates/cli/tests/package shows it"),
    ("I6", "about our own documents; crates/cli/tests/package shows it"),
    ("M1", CLIENTS),
    ("M2", CLIENTS),
    ("M3", CLIENTS),
    ("M4", CLIENTS),
    ("M5", CLIENTS),
    ("M6", CLIENTS),
    ("M7", "about files of other clients; crates/cli/tests/cli shows it"),
    ("M8", CLIENTS),
    ("M9", CLIENTS),
    ("M10", CLIENTS),
    ("H1", PROGRAMS),
    ("H2", PROGRAMS),
    ("H3", PROGRAMS),
    ("H4", PROGRAMS),
    ("H5", PROGRAMS),
    ("H7", PROGRAMS),
];

/// Adds the numbers without a test, and the tests without a number.
pub fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    let tests = tests(sources);
    check_end_to_end(&tests, findings);
    for requirement in TABLE {
        let wanted = match requirement.shown {
            Shown::Scenario => SCENARIOS,
            Shown::Crate => "any crate",
            Shown::Process(_) => continue,
        };
        if !tests.iter().any(|test| test.shows(requirement)) {
            let prefix = prefix(requirement.number);
            let what = format!(
                "{} ({}) has no test; write `fn {prefix}...` in {wanted}",
                requirement.number, requirement.says
            );
            findings.push(Finding { file: OWN_FILE.to_owned(), line: row(requirement), what });
        }
    }
    let numbered = |test: &&Test| [SCENARIOS, END_TO_END].iter().any(|p| test.path.starts_with(p));
    for test in tests.iter().filter(numbered) {
        if is_unknown(&test.name) {
            let what =
                format!("`{}` begins with a number that no requirement has; rename it", test.name);
            findings.push(Finding { file: test.path.clone(), line: test.line, what });
        }
    }
}

fn check_end_to_end(tests: &[Test], findings: &mut Vec<Finding>) {
    let exempt = |number: &str| NOT_END_TO_END.iter().any(|(exempt, _)| *exempt == number);
    for requirement in TABLE.iter().filter(|requirement| !exempt(requirement.number)) {
        let shown = |test: &Test| test.path.starts_with(END_TO_END) && test.names(requirement);
        if !tests.iter().any(shown) {
            let what = format!(
                "{} ({}) is not shown on the real OpenCode; write `fn {}...` in {END_TO_END}",
                requirement.number,
                requirement.says,
                prefix(requirement.number)
            );
            findings.push(Finding { file: OWN_FILE.to_owned(), line: row(requirement), what });
        }
    }
}

/// A page with each requirement and the tests that show it.
pub fn coverage(sources: &[Source]) -> String {
    let tests = tests(sources);
    let mut page = String::new();
    for requirement in TABLE {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "{:<3} {}", requirement.number, requirement.says);
        if let Shown::Process(why) = requirement.shown {
            let _ = writeln!(page, "      shown by a real process only: {why}");
        }
        for test in tests.iter().filter(|test| test.shows(requirement)) {
            let _ = writeln!(page, "      {}:{}: {}", test.path, test.line, test.name);
        }
    }
    let bare = TABLE.iter().filter(|number| !tests.iter().any(|test| test.shows(number))).count();
    let _ = write!(page, "{} requirements, {bare} without a test", TABLE.len());
    page
}

struct Test {
    path: String,
    line: usize,
    name: String,
}

impl Test {
    fn shows(&self, requirement: &Requirement) -> bool {
        let here = requirement.shown != Shown::Scenario || self.path.starts_with(SCENARIOS);
        here && self.names(requirement)
    }

    /// Whether the requirement's number is among those that the name begins with.
    fn names(&self, requirement: &Requirement) -> bool {
        let number = requirement.number.to_lowercase();
        self.name.split('_').take_while(|word| is_number(word)).any(|word| word == number)
    }
}

fn tests(sources: &[Source]) -> Vec<Test> {
    let crates = sources.iter().filter(|source| source.path.starts_with("crates/"));
    let tests = crates.flat_map(|source| {
        let tests = source.tests().into_iter();
        tests.map(|(line, name)| Test { path: source.path.clone(), line, name })
    });
    tests.collect()
}

fn prefix(number: &str) -> String {
    format!("{}_", number.to_lowercase())
}

/// A letter and digits, as in `l4`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(|c: char| c.is_ascii_lowercase()).unwrap_or_default();
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

/// Whether a name begins like a requirement, but like none of the table.
fn is_unknown(name: &str) -> bool {
    let known = |word: &str| {
        let number = word.to_uppercase();
        TABLE.iter().any(|requirement| requirement.number == number)
    };
    name.split('_').take_while(|word| is_number(word)).any(|word| !known(word))
}

/// The line of the table that speaks of the requirement.
fn row(requirement: &Requirement) -> usize {
    let quoted = format!("(\"{}\", ", requirement.number);
    let lines = include_str!("requirements.rs").lines();
    lines.zip(1..).find(|(line, _)| line.contains(&quoted)).map_or(1, |(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        check(&[Source::new(path, text.to_owned())], &mut findings);
        findings.retain(|finding| !finding.what.contains("the real OpenCode"));
        findings
    }

    fn missing_end_to_end(text: &str) -> usize {
        let source = Source::new("crates/cli/tests/opencode/launch.rs", text.to_owned());
        let mut findings = Vec::new();
        check_end_to_end(&tests(&[source]), &mut findings);
        findings.len()
    }

    #[test]
    fn a_number_that_is_not_shown_end_to_end_is_named() {
        let all = TABLE.len() - NOT_END_TO_END.len();
        assert_eq!(missing_end_to_end(""), all);
        assert_eq!(missing_end_to_end("#[test]\nfn l1_is_shown() {}\n"), all - 1);
        assert_eq!(missing_end_to_end("#[test]\nfn o3_o4_are_shown() {}\n"), all - 2);
        assert_eq!(missing_end_to_end("#[test]\nfn o3_is_not_o4() {}\n"), all - 1);
    }

    #[test]
    fn every_number_is_there_once_and_in_order() {
        let split = |requirement: &Requirement| {
            let (letter, number) = requirement.number.split_at(1);
            (letter.to_owned(), number.parse::<u32>().unwrap())
        };
        let numbers: Vec<(String, u32)> = TABLE.iter().map(split).collect();
        for pair in numbers.windows(2) {
            let is_next = pair[0].0 != pair[1].0 || pair[0].1 < pair[1].1;
            assert!(is_next, "{pair:?}");
        }
        let mut letters: Vec<&str> = numbers.iter().map(|(letter, _)| letter.as_str()).collect();
        letters.dedup();
        let letters: String = letters.concat();
        assert_eq!(letters, "LROBSXCDNKGPQVIMH");
    }

    #[test]
    fn a_number_without_a_test_is_named() {
        let bare = found("crates/sim/tests/launch.rs", "");
        assert_eq!(bare.len(), TABLE.len() - 1);
        assert!(bare[0].what.starts_with("L1 ("), "{}", bare[0]);
        let lines = include_str!("requirements.rs").lines().nth(bare[0].line - 1);
        assert!(lines.is_some_and(|line| line.contains("\"L1\"")));
    }

    #[test]
    fn only_a_marked_test_in_the_right_place_counts() {
        let test = "#[test]\nfn l1_is_shown() {}\n#[test]\nfn g1_is_shown() {}\n";
        let all = TABLE.len() - 1;
        assert_eq!(found("crates/sim/tests/launch.rs", test).len(), all - 2);
        assert_eq!(found("crates/store/src/open.rs", test).len(), all - 1);
        assert_eq!(found("crates/sim/tests/launch.rs", "fn l1_is_not() {}").len(), all);
        assert_eq!(
            found("crates/sim/tests/launch.rs", "#[test]\nfn l10_is_not() {}").len(),
            all + 1
        );
    }

    #[test]
    fn a_test_of_an_unknown_number_is_found() {
        let test = "#[test]\nfn l1_a() {}\n#[test]\nfn l10_b() {}\n#[test]\nfn a_name() {}\n";
        let findings = found("crates/sim/tests/launch.rs", test);
        let last = findings.last().map(ToString::to_string);
        let expected = "crates/sim/tests/launch.rs:4: `l10_b` begins with a number that no \
                        requirement has; rename it";
        assert_eq!(last.as_deref(), Some(expected));
    }
}
