//! Reads `config.toml`. Everything in it is optional. What is wrong is named with its line and what
//! would be right, all of it at once; a wrong key costs that key only, because a daemon that has
//! tasks to look after does not stay down for a slip of the pen.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use legwork_protocol::limits::ECHO_MAX_CHARS;
use legwork_protocol::refusal::plain;
use legwork_protocol::{Interrupted, Settings};
use toml::de::{DeTable, DeValue};

use crate::limits::CONFIG_MAX_BYTES;

/// Every setting there is.
const NAMES: [&str; 8] = [
    "limits.max_running",
    "limits.max_tasks_per_root",
    "limits.max_depth",
    "limits.max_run_minutes",
    "limits.max_quiet_minutes",
    "notices.max_result_chars",
    "notices.start_turns",
    "recovery.interrupted",
];

/// What is wrong with a config file. Displays as a line for each problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file.
    pub path: PathBuf,
    /// All that is wrong, in the order of the file.
    pub problems: Vec<Problem>,
    /// What is used all the same: the settings that are right, and the defaults of the others.
    pub settings: Settings,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, counted from 1; nothing if it is about the whole file.
    pub line: Option<usize>,
    /// What, and what would be right.
    pub what: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Problem { line, what }) in self.problems.iter().enumerate() {
            let gap = if number > 0 { "\n" } else { "" };
            match line {
                Some(line) => write!(out, "{gap}{}:{line}: {what}", self.path.display())?,
                None => write!(out, "{gap}{}: {what}", self.path.display())?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigFault {}

/// Reads the settings in this file; a file that is not there sets nothing.
pub fn read_config(path: &Path) -> Result<Settings, ConfigFault> {
    let mut reading = Reading::default();
    match text(path) {
        Ok(text) => reading.read(&text),
        Err(why) => reading.problems.push(Problem { line: None, what: why }),
    }
    let Reading { settings, mut problems } = reading;
    if problems.is_empty() {
        return Ok(settings);
    }
    problems.sort_by_key(|problem| problem.line);
    Err(ConfigFault { path: path.to_owned(), problems, settings })
}

fn text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(CONFIG_MAX_BYTES + 1).read_to_string(&mut text));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("the file cannot be read: {error}")),
        Ok(_) if text.len() as u64 > CONFIG_MAX_BYTES => {
            Err(format!("the file has more than {CONFIG_MAX_BYTES} bytes and was not read"))
        }
        Ok(_) => Ok(text),
    }
}

#[derive(Default)]
struct Reading {
    settings: Settings,
    problems: Vec<Problem>,
}

impl Reading {
    fn read(&mut self, text: &str) {
        let line_of = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        let (file, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let line = error.span().map(|span| line_of(span.start));
            self.problems.push(Problem { line, what: plain(error.message(), 200) });
        }
        for (section, inside) in file.get_ref() {
            let mut wrong = |at: usize, what: String| {
                self.problems.push(Problem { line: Some(line_of(at)), what });
            };
            let Some(keys) = inside.get_ref().as_table() else {
                wrong(section.span().start, unknown(section.get_ref()));
                continue;
            };
            for (key, value) in keys {
                let name = format!("{}.{}", section.get_ref(), key.get_ref());
                if let Err(what) = set(&mut self.settings, &name, value.get_ref()) {
                    wrong(key.span().start, what);
                }
            }
        }
    }
}

fn set(settings: &mut Settings, name: &str, value: &DeValue<'_>) -> Result<(), String> {
    let number = || whole_number(name, value);
    match name {
        "limits.max_running" => settings.max_running = number()?,
        "limits.max_tasks_per_root" => settings.max_tasks_per_root = number()?,
        "limits.max_depth" => settings.max_depth = number()?,
        "limits.max_run_minutes" => settings.max_run_minutes = number()?,
        "limits.max_quiet_minutes" => settings.max_quiet_minutes = number()?,
        "notices.max_result_chars" => settings.max_result_chars = number()?,
        "notices.start_turns" => match value {
            DeValue::Boolean(yes) => settings.start_turns = *yes,
            _ => return Err(format!("{name}: expected true or false")),
        },
        "recovery.interrupted" => match value.as_str() {
            Some("fail") => settings.interrupted = Interrupted::Fail,
            Some("continue") => settings.interrupted = Interrupted::Continue,
            _ => return Err(format!("{name}: expected \"fail\" or \"continue\"")),
        },
        _ => return Err(unknown(name)),
    }
    Ok(())
}

fn whole_number(name: &str, value: &DeValue<'_>) -> Result<u32, String> {
    let number = value.as_integer().and_then(|number| {
        i128::from_str_radix(number.as_str(), number.radix())
            .ok()
            .and_then(|number| u32::try_from(number).ok())
    });
    number
        .ok_or_else(|| format!("{name}: expected a whole number from 0 (no limit) to {}", u32::MAX))
}

fn unknown(name: &str) -> String {
    let shown = plain(name, ECHO_MAX_CHARS);
    match nearest(name) {
        Some(near) => format!("there is no setting {shown}; did you mean {near}?"),
        None => format!("there is no setting {shown}; there are {}", NAMES.join(", ")),
    }
}

/// The setting whose name is this one but for a slip, or whose section was left out or is another.
fn nearest(name: &str) -> Option<&'static str> {
    // No name is so long, and the work grows with the length.
    if name.len() > 2 * ECHO_MAX_CHARS {
        return None;
    }
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let slips = |known: &&str| distance(known, name).min(distance(&last(known), &last(name)));
    let best = NAMES.into_iter().min_by_key(slips)?;
    (slips(&best) <= last(name).len() / 3).then_some(best)
}

/// How many characters must be put in, taken out or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, here) in one.chars().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (column, there) in other.iter().enumerate() {
            let changed = diagonal + usize::from(here != *there);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, ConfigFault> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        read_config(&path).map_err(|fault| ConfigFault { path: "c".into(), ..fault })
    }

    fn problems(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn a_file_that_is_missing_or_empty_sets_nothing() {
        assert_eq!(read_config(Path::new("/nowhere/config.toml")), Ok(Settings::default()));
        assert_eq!(read("# nothing\n"), Ok(Settings::default()));
    }

    #[test]
    fn every_setting_can_be_set() {
        let settings = read(
            "[limits]\nmax_running = 1\nmax_tasks_per_root = 0x02\nmax_depth = 3\n\
             max_run_minutes = 4\nmax_quiet_minutes = 0\n\
             [notices]\nmax_result_chars = 1_000\nstart_turns = false\n\
             [recovery]\ninterrupted = \"continue\"\n",
        );
        let expected = Settings {
            max_running: 1,
            max_tasks_per_root: 2,
            max_depth: 3,
            max_run_minutes: 4,
            max_quiet_minutes: 0,
            max_result_chars: 1_000,
            start_turns: false,
            interrupted: Interrupted::Continue,
        };
        assert_eq!(settings, Ok(expected));
        for name in NAMES {
            assert_ne!(set(&mut Settings::default(), name, &DeValue::Boolean(true)), {
                Err(unknown(name))
            });
        }
    }

    #[test]
    fn every_problem_is_named_with_its_line_and_the_rest_counts() {
        let fault = read(
            "[limits]\nmax_runing = 3\nmax_depth = -1\nmax_run_minutes = 7\n\n[notices]\n\
             start_turns = \"yes\"\nmax_result_chars = 4294967296\n[recovery]\ninterrupted = 1\n",
        )
        .unwrap_err();
        let expected = "\
c:2: there is no setting limits.max_runing; did you mean limits.max_running?
c:3: limits.max_depth: expected a whole number from 0 (no limit) to 4294967295
c:7: notices.start_turns: expected true or false
c:8: notices.max_result_chars: expected a whole number from 0 (no limit) to 4294967295
c:10: recovery.interrupted: expected \"fail\" or \"continue\"";
        assert_eq!(fault.to_string(), expected);
        assert_eq!(fault.settings, Settings { max_run_minutes: 7, ..Settings::default() });
    }

    #[test]
    fn a_setting_in_the_wrong_section_is_found() {
        let expected = "c:1: there is no setting max_running; did you mean limits.max_running?";
        assert_eq!(problems("max_running = 3\n"), expected);
        let expected =
            "c:2: there is no setting limits.start_turns; did you mean notices.start_turns?";
        assert_eq!(problems("[limits]\nstart_turns = true\n"), expected);
        assert!(problems("colour = 1\n").contains("there are limits.max_running, "));
    }

    #[test]
    fn a_line_that_is_no_toml_costs_little_else() {
        let fault = read("[limits]\nmax_running = 3\nmax_depth = = 2\n").unwrap_err();
        assert!(fault.to_string().starts_with("c:3: "), "{fault}");
        assert_eq!(fault.settings.max_running, 3);
    }

    #[test]
    fn g2_rubbish_is_a_problem_and_not_a_crash() {
        for text in ["\0\0", "[[limits]]\n", "limits = 3", "[limits", "= \n=", "a.b.c.d = 1"] {
            assert!(!problems(text).is_empty(), "{text:?}");
        }
        let huge = "x".repeat(CONFIG_MAX_BYTES as usize + 1);
        assert!(problems(&huge).contains("bytes"));
        assert!(problems(&format!("{} = 1", "x".repeat(50_000))).len() < 600);
    }
}
