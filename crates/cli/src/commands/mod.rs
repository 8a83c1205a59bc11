//! The commands, one file each. A command reads its arguments, asks, and shows the answer. A new
//! one is a file, which says what is special about it, and a row here.

mod adapt;
mod agents;
mod answer;
mod bridge;
mod cancel;
mod clear;
mod completions;
mod config;
mod cost;
mod daemon;
mod demo;
mod doctor;
mod hook;
mod install;
mod list;
mod log;
mod mail;
mod man;
mod mcp;
mod output;
mod rehearsal;
mod resume;
mod retry;
mod run;
mod show;
mod top;
mod transcript;
mod ui;
mod uninstall;
mod update;
mod wait;
mod watch;

use clap::Subcommand;

pub use self::list::kinds;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::Screen;

/// A command: what it does, and what is special about it.
pub trait Command: Sized {
    /// It changes something, which a helper in its own shell may not do.
    const ACTS: bool = false;
    /// A person who is there to read it gets their mail with it.
    const SHOWS_MAIL: bool = false;
    /// It may say on stderr what is beside the point. What another program started has its stderr
    /// read by that program; a script for a shell is read with every new one. `doctor` and `config`
    /// say themselves what is wrong with the settings.
    const IS_FOR_PEOPLE: bool = true;

    /// The same of the arguments that were typed.
    fn acts(&self) -> bool {
        Self::ACTS
    }

    /// The same of the arguments that were typed.
    fn is_for_people(&self) -> bool {
        Self::IS_FOR_PEOPLE
    }

    fn run(self, screen: &Screen) -> Result<Exit, Fault>;
}

macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($command:ty),)*) => {
        /// All commands, in the order of the help, which is that in which one meets them: begin,
        /// have work done, look, answer and end, keep house.
        #[derive(Subcommand)]
        pub enum Commands {
            $($(#[$attribute])* $name($command),)*
        }

        impl Commands {
            pub fn acts(&self) -> bool {
                match self { $(Self::$name(command) => command.acts(),)* }
            }

            pub fn is_for_people(&self) -> bool {
                match self { $(Self::$name(command) => command.is_for_people(),)* }
            }

            pub fn shows_mail(&self) -> bool {
                match self { $(Self::$name(_) => <$command as Command>::SHOWS_MAIL,)* }
            }

            pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
                match self { $(Self::$name(command) => command.run(screen),)* }
            }
        }
    };
}

commands! {
    Demo(demo::Demo),
    Install(install::Install),
    Doctor(doctor::Doctor),
    Agents(agents::Agents),
    Run(run::Run),
    Wait(wait::Wait),
    Output(output::Output),
    Resume(resume::Resume),
    Retry(retry::Retry),
    #[command(visible_aliases = ["ls", "ps"])]
    List(list::List),
    Show(show::Show),
    Transcript(transcript::Transcript),
    Top(top::Top),
    Ui(ui::Ui),
    Watch(watch::Watch),
    #[command(visible_alias = "logs")]
    Log(log::Log),
    Cost(cost::Cost),
    Mail(mail::Mail),
    Answer(answer::Answer),
    #[command(visible_alias = "stop")]
    Cancel(cancel::Cancel),
    #[command(visible_alias = "rm")]
    Clear(clear::Clear),
    Config(config::ConfigCommand),
    Daemon(daemon::Daemon),
    Update(update::Update),
    Uninstall(uninstall::Uninstall),
    Completions(completions::Completions),
    Man(man::Man),
    #[command(hide = true)]
    Complete(completions::Complete),
    #[command(hide = true)]
    Mcp(mcp::Mcp),
    #[command(hide = true)]
    Bridge(bridge::Bridge),
    #[command(hide = true)]
    Hook(hook::Hook),
    #[command(hide = true)]
    Adapt(adapt::Adapt),
    #[command(hide = true)]
    Rehearsal(rehearsal::Rehearsal),
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use clap::{Arg, CommandFactory};

    use crate::{Legwork, docs};

    const HEAD: &str = "\
# The commands

Everything that `legwork COMMAND --help` says. `legwork man DIR` writes the same as manual pages.
";

    /// What all commands have stands with the first one only.
    fn add(page: &mut String, command: &clap::Command) {
        let name = command.get_bin_name().unwrap_or("legwork");
        let is_common = |arg: &Arg| arg.is_global_set() || arg.get_id() == "help";
        let mut shown = command.clone();
        if name != "legwork" {
            let hide = |arg: Arg| if is_common(&arg) { arg.hide(true) } else { arg };
            shown = shown.mut_args(hide);
        }
        let help = shown.render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        let help = lines.join("\n");
        write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
        let all = command.get_subcommands();
        let all = all.filter(|command| !command.is_hide_set() && command.get_name() != "help");
        all.for_each(|command| add(page, command));
    }

    #[test]
    fn p7_every_command_is_on_its_page_of_docs() {
        let mut root = Legwork::command().term_width(98);
        root.build();
        let mut page = HEAD.to_owned();
        add(&mut page, &root);
        docs::check("commands.md", &page);
    }
}
