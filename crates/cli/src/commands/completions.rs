//! `legwork completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Legwork;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::Screen;

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
        screen.report(value, || vec![script.trim_end()]).map(|()| Exit::Done)
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
