//! Why there is no page. Each text says what is so and what to do.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Machine(#[from] legwork_machine::Fault),
    #[error("Could not {tried} {}.", path.display())]
    File { tried: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "Port {port} of this machine cannot be used. Choose another one with --port, or leave it \
         out to take any that is free."
    )]
    Port { port: u16, source: io::Error },
    #[error("The page cannot be served.")]
    Serve(#[source] io::Error),
    #[error(
        "Another `legwork ui` of yours runs but does not answer. End it with Ctrl-C where it was \
         started, then try again."
    )]
    Silent(#[source] io::Error),
}

impl Fault {
    /// What to make of the error that came of trying something with this file.
    pub fn file(tried: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::File { tried, path: path.to_owned(), source }
    }
}
