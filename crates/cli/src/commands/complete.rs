//! `legwork complete`: what the completion scripts ask.

use clap::{Args, CommandFactory, ValueEnum};

use crate::Legwork;
use crate::complete::{Candidate, Machine, candidates};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::Screen;

/// Print what could stand where the cursor is
///
/// For completion scripts: prints what could stand in the place of the last word, a line each, in
/// the way in which the shell wants it.
#[derive(Args)]
pub struct Complete {
    shell: Form,
    /// The words after `legwork`; the last one is what is typed so far, perhaps nothing
    #[arg(last = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    Bash,
    Zsh,
    Fish,
}

impl super::Command for Complete {
    const IS_FOR_PEOPLE: bool = false;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut root = Legwork::command();
        root.build();
        for Candidate { word, means } in candidates(&root, &self.words, &Machine) {
            let escaped = word.replace(':', "\\:");
            screen.line(match self.shell {
                Form::Bash => word,
                Form::Zsh if means.is_empty() => escaped,
                Form::Zsh => format!("{escaped}:{means}"),
                Form::Fish => format!("{word}\t{means}"),
            })?;
        }
        Ok(Exit::Done)
    }
}
