//! Why the view could not go on. Each text says what is so and what to do.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error(
        "This is no terminal, and `legwork top` needs one to draw on. `legwork list` shows the \
         same for a pipe, and `legwork watch --json` tells programs what happens."
    )]
    NoTerminal,
    #[error("The terminal cannot be drawn on. Is it closed?")]
    Terminal(#[source] io::Error),
    #[error("Signals cannot be heard, so the terminal could not be left whole. Try again.")]
    Signals(#[source] io::Error),
    #[error("A thread could not be started. Is the machine out of processes?")]
    Thread(#[source] io::Error),
}
