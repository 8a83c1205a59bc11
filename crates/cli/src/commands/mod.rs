//! The commands, one file each. A command reads its arguments, asks, and shows the answer.

mod agents;
mod answer;
mod bridge;
mod cancel;
mod clear;
mod complete;
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

use crate::exit::Exit;
use crate::fault::Fault;
use crate::inside;
use crate::screen::Screen;

/// All commands, in the order of the help, which is that in which one meets them: begin, have work
/// done, look, answer and end, keep house.
#[derive(Subcommand)]
pub enum Command {
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
    Complete(complete::Complete),
    #[command(hide = true)]
    Mcp(mcp::Mcp),
    #[command(hide = true)]
    Bridge(bridge::Bridge),
    #[command(hide = true)]
    Hook(hook::Hook),
    #[command(hide = true)]
    Rehearsal(rehearsal::Rehearsal),
}

impl Command {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        match self {
            Self::Demo(command) => command.run(screen),
            Self::Install(command) => command.run(screen),
            Self::Uninstall(command) => command.run(screen),
            Self::Update(command) => command.run(screen),
            Self::Doctor(command) => command.run(screen),
            Self::Run(command) => command.run(screen),
            Self::Resume(command) => command.run(screen),
            Self::Retry(command) => command.run(screen),
            Self::Agents(command) => command.run(screen),
            Self::List(command) => command.run(screen),
            Self::Show(command) => command.run(screen),
            Self::Output(command) => command.run(screen),
            Self::Transcript(command) => command.run(screen),
            Self::Wait(command) => command.run(screen),
            Self::Watch(command) => command.run(screen),
            Self::Ui(command) => command.run(screen),
            Self::Top(command) => command.run(screen),
            Self::Log(command) => command.run(screen),
            Self::Cost(command) => command.run(screen),
            Self::Mail(command) => command.run(screen),
            Self::Man(command) => command.run(screen),
            Self::Answer(command) => command.run(screen),
            Self::Cancel(command) => command.run(screen),
            Self::Clear(command) => command.run(screen),
            Self::Config(command) => command.run(screen),
            Self::Daemon(command) => command.run(screen),
            Self::Completions(command) => command.run(screen),
            Self::Complete(command) => command.run(screen),
            Self::Mcp(command) => command.run(),
            Self::Bridge(command) => command.run(),
            Self::Hook(command) => Ok(command.run()),
            Self::Rehearsal(command) => command.run(),
        }
    }

    /// Refuses what acts, where only looking is allowed.
    pub fn check_place(&self) -> Result<(), Fault> {
        let acts = match self {
            Self::Run(_)
            | Self::Resume(_)
            | Self::Retry(_)
            | Self::Cancel(_)
            | Self::Clear(_)
            | Self::Ui(_)
            | Self::Uninstall(_) => true,
            Self::Answer(command) => command.acts(),
            Self::Config(command) => command.acts(),
            Self::Daemon(command) => command.ends_it(),
            _ => false,
        };
        if acts && inside::is_inside() { Err(inside::refusal()) } else { Ok(()) }
    }

    /// Whether it may say on stderr what is beside the point. What another program started has its
    /// stderr read by that program; a script for a shell is read with every new one. `doctor` and
    /// `config` say themselves what is wrong with the settings.
    pub fn is_for_people(&self) -> bool {
        match self {
            Self::Doctor(_)
            | Self::Config(_)
            | Self::Completions(_)
            | Self::Complete(_)
            | Self::Mcp(_)
            | Self::Bridge(_)
            | Self::Hook(_)
            | Self::Rehearsal(_) => false,
            Self::Daemon(command) => !command.is_it(),
            Self::Ui(command) => !command.is_left_running(),
            _ => true,
        }
    }

    /// Whether a person who is there to read it gets their mail with it.
    pub fn shows_mail(&self) -> bool {
        !matches!(
            self,
            Self::Demo(_)
                | Self::Mail(_)
                | Self::Ui(_)
                | Self::Top(_)
                | Self::Install(_)
                | Self::Uninstall(_)
                | Self::Update(_)
                | Self::Doctor(_)
                | Self::Config(_)
                | Self::Daemon(_)
                | Self::Complete(_)
                | Self::Completions(_)
                | Self::Man(_)
                | Self::Mcp(_)
                | Self::Bridge(_)
                | Self::Hook(_)
                | Self::Rehearsal(_)
        )
    }
}
