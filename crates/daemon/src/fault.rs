//! Why the daemon could not start, for the operator: what was tried, on what, and what to do.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("The daemon cannot open its records.")]
    Store(#[from] legwork_store::Fault),
    /// The socket's folder is no safe place.
    #[error(transparent)]
    Folder(#[from] legwork_machine::Fault),
    /// A file or folder could not be made, opened or protected.
    #[error(
        "The daemon could not {tried} {}. Check that it belongs to you and that its disk has room.",
        path.display()
    )]
    File { tried: &'static str, path: PathBuf, source: io::Error },
    /// Somebody answers on our socket, though nobody else has our records open.
    #[error(
        "Another legwork daemon, with other records, listens on {}. Stop that one first, or set \
         LEGWORK_HOME to a folder of your own.",
        socket.display()
    )]
    SocketTaken { socket: PathBuf },
    /// The system refuses what every process may have.
    #[error("The daemon could not {tried}. The system may be out of memory or files.")]
    System { tried: &'static str, source: io::Error },
}

impl Fault {
    pub(crate) fn file(
        tried: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Fault {
        let path = path.into();
        move |source| Self::File { tried, path, source }
    }

    pub(crate) fn system(tried: &'static str) -> impl FnOnce(io::Error) -> Fault {
        move |source| Self::System { tried, source }
    }
}

/// A fault with its causes.
pub(crate) fn chain(fault: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(fault), |fault| fault.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
