//! `legwork completions`, and `legwork complete`, which its scripts ask.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use super::{Exit, Fault, Screen};
use crate::Legwork;
use crate::complete::{Candidate, Machine, candidates};

/// Print a completion script for a shell
///
/// Prints a script that completes legwork's commands in a shell, and in bash, zsh and fish also the
/// ids of tasks, the agents and the statuses.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork completions bash > ~/.local/share/bash-completion/completions/legwork
  legwork completions zsh > \"${fpath[1]}/_legwork\"
  legwork completions fish > ~/.config/fish/completions/legwork.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl super::Command for Completions {
    const IS_FOR_PEOPLE: bool = false;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let script = script(self.shell);
        let shell = self.shell.to_string();
        let value = || serde_json::json!({ "shell": shell, "script": script });
        screen.report(value, || vec![script.trim_end()])
    }
}

/// A script that asks `legwork complete`; for other shells one that knows the commands only.
fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => BASH.into(),
        Shell::Zsh => ZSH.into(),
        Shell::Fish => FISH.into(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Legwork::command(), "legwork", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    }
}

const BASH: &str = r#"# Completes legwork in bash.
_legwork() {
    local IFS=$'\n'
    COMPREPLY=($(legwork complete bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _legwork legwork
"#;

const ZSH: &str = r#"#compdef legwork
# Completes legwork in zsh.
_legwork() {
    local -a all
    all=("${(@f)$(legwork complete zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if (( ${#all} )) && [[ -n "${all[1]}" ]]; then
        _describe 'legwork' all
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_legwork" ]; then
    _legwork "$@"
else
    compdef _legwork legwork
fi
"#;

const FISH: &str = r#"# Completes legwork in fish.
function __legwork_complete
    set -l before (commandline -opc)
    legwork complete fish -- $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c legwork -a '(__legwork_complete)'
"#;

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
