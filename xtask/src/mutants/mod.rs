//! Planted defects: each is put into a copy of the workspace, and the simulation must catch it.
//!
//! One that survives means that the checkers are too weak. The defects are data in
//! `xtask/mutants.txt`; This crate only reads them, plants them, and reads what the simulation
//! says: a line `broken: <checker>: ...`, and `seeds: <n>` for how many histories it took.

pub(crate) mod copy;
pub mod list;
mod trial;

pub use list::Mutant;
pub use trial::{Plan, Trial, Verdict, run_all};

use crate::{Fault, say, tree};
use std::process::ExitCode;
use std::time::Duration;

/// The list, from the root of the workspace.
pub const LIST: &str = "xtask/mutants.txt";

const DEFAULT_SEEDS: u64 = 50_000;
/// A healthy run of the default seeds takes seconds; a defect may make each history longer.
const DEFAULT_LIMIT: Duration = Duration::from_secs(120);

const USAGE: &str = "\
Plants each defect of xtask/mutants.txt in a copy of the workspace (target/mutants/) and checks
that the simulation catches it. Fails if one survives.

Usage: cargo xtask sim --mutants [options]

Options:
  --only NAME    plant this one only; may be given more than once
  --seeds N      histories to run against each defect (50000)
  --limit S      seconds until a run counts as one without end (120)
  --list         print the names and what each breaks
  --help         print this";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    Help,
    List,
    Plant { only: Vec<String>, seeds: u64, limit: Duration },
}

/// The chore: plants the defects, prints a table, and fails if one survived.
pub fn run(args: &[String]) -> ExitCode {
    let wish = match read_words(args) {
        Ok(wish) => wish,
        Err(fault) => {
            eprintln!("{fault}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match fulfil(wish) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("The defects could not be planted. {fault}");
            ExitCode::FAILURE
        }
    }
}

fn read_words(args: &[String]) -> Result<Wish, Fault> {
    let (mut only, mut seeds, mut limit) = (Vec::new(), DEFAULT_SEEDS, DEFAULT_LIMIT);
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut value =
            || words.next().ok_or_else(|| Fault::new(format!("`{word}` needs a value behind it.")));
        match word {
            "--help" | "-h" => return Ok(Wish::Help),
            "--list" => return Ok(Wish::List),
            "--only" => only.push(value()?.to_owned()),
            "--seeds" => seeds = number(word, value()?)?,
            "--limit" => limit = Duration::from_secs(number(word, value()?)?),
            _ => return Err(Fault::new(format!("`{word}` is no option of this chore."))),
        }
    }
    Ok(Wish::Plant { only, seeds, limit })
}

fn number(option: &str, text: &str) -> Result<u64, Fault> {
    let wrong = || Fault::new(format!("`{option}` wants a number over 0, not `{text}`."));
    text.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)
}

fn fulfil(wish: Wish) -> Result<bool, Fault> {
    let root = tree::root();
    let (only, seeds, limit) = match wish {
        Wish::Help => {
            say(USAGE);
            return Ok(true);
        }
        Wish::List => {
            for mutant in list::load(&root)? {
                say(format_args!("{}: {}", mutant.name, mutant.breaks));
            }
            return Ok(true);
        }
        Wish::Plant { only, seeds, limit } => (only, seeds, limit),
    };
    let mutants = chosen(list::load(&root)?, &only)?;
    let plan = Plan { root, mutants, seeds, limit };
    let trials = run_all(&plan, &mut |line| say(line))?;
    if !trials.is_empty() {
        say(format_args!("\n{}", trial::table(&trials)));
    }
    Ok(trials.iter().all(|trial| matches!(trial.verdict, Verdict::Caught { .. })))
}

fn chosen(mutants: Vec<Mutant>, only: &[String]) -> Result<Vec<Mutant>, Fault> {
    if let Some(name) = only.iter().find(|name| !mutants.iter().any(|m| m.name == **name)) {
        let names: Vec<String> = mutants.into_iter().map(|mutant| mutant.name).collect();
        let known = format!("There is no defect `{name}`. Known: {}", names.join(", "));
        return Err(Fault::new(known));
    }
    Ok(mutants.into_iter().filter(|m| only.is_empty() || only.contains(&m.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Wish, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        read_words(&words).map_err(|fault| fault.to_string())
    }

    #[test]
    fn the_command_line_is_read() {
        let plain = Wish::Plant { only: Vec::new(), seeds: DEFAULT_SEEDS, limit: DEFAULT_LIMIT };
        assert_eq!(read(""), Ok(plain));
        let only = vec!["a".to_owned(), "b".to_owned()];
        let limit = Duration::from_secs(9);
        let wish = Wish::Plant { only, seeds: 7, limit };
        assert_eq!(read("--only a --seeds 7 --limit 9 --only b"), Ok(wish));
        assert_eq!(read("--help"), Ok(Wish::Help));
        assert_eq!(read("--list"), Ok(Wish::List));
    }

    #[test]
    fn a_wrong_command_line_is_refused_in_words() {
        let refused = |text: &str| read(text).unwrap_err();
        assert_eq!(refused("--seeds"), "`--seeds` needs a value behind it.");
        assert_eq!(refused("--seeds 0"), "`--seeds` wants a number over 0, not `0`.");
        assert_eq!(refused("--seeds x"), "`--seeds` wants a number over 0, not `x`.");
        assert_eq!(refused("more"), "`more` is no option of this chore.");
    }
}
