//! What is wrong with a folder. Each text says what is so and what to do.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("There is no home folder. Set HOME, or LEGWORK_HOME to a folder for all of legwork.")]
    NoHome,
    #[error(
        "The folder {} cannot be looked at. Check that it and the folders above it are yours.",
        folder.display()
    )]
    Folder { folder: PathBuf, source: io::Error },
    #[error(
        "The folder {} has a name that is not UTF-8, which legwork cannot pass on to agents. Set \
         LEGWORK_HOME to a folder with another name.",
        folder.display()
    )]
    NotUtf8 { folder: PathBuf },
    #[error("{}", foreign(path, *owner, *user))]
    Foreign {
        path: PathBuf,
        owner: u32,
        /// Who we are.
        user: u32,
    },
    #[error(
        "The folder {0} of legwork's socket {why}, so it is not used. {remedy} (`{command} {0}`), \
         or set LEGWORK_HOME to another folder.",
        folder.display()
    )]
    NotPrivate { folder: PathBuf, why: &'static str, remedy: &'static str, command: &'static str },
}

/// Files that one user leaves in another's folder lock that one out.
fn foreign(path: &Path, owner: u32, user: u32) -> String {
    let path = path.display();
    if user == 0 {
        return format!(
            "{path} belongs to user {owner}, and this is root: legwork would leave files there \
             that user {owner} could not use. Run it without sudo, or set LEGWORK_HOME to a folder \
             of root's own."
        );
    }
    format!(
        "{path} belongs to user {owner}, not to you, so legwork cannot use it. It may come from a \
         legwork that was run with sudo. Make it yours (`sudo chown -R {user} {path}`), or set \
         LEGWORK_HOME to another folder."
    )
}
