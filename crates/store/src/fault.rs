//! What can go wrong with the store, for the operator: what was tried, on what, the cause, and
//! what to do. SQLite's codes are told apart here and nowhere else.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// The store could not do it. Nothing was saved by halves.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error(
        "the store in {} is in use by another legwork daemon; stop that one first, or set \
         LEGWORK_HOME to another folder", dir.display()
    )]
    Locked { dir: PathBuf },
    #[error("there are no records in {}", dir.display())]
    Removed { dir: PathBuf },
    #[error(
        "could not {tried} {}; check that it belongs to you and that its disk is there",
        path.display()
    )]
    File { tried: &'static str, path: PathBuf, source: io::Error },
    /// The file was written by a newer legwork. It was left as it is.
    #[error(
        "{} has the format {found}, and this legwork knows formats up to {known}; install the \
         newer legwork again", path.display()
    )]
    TooNew { path: PathBuf, found: u32, known: u32 },
    #[error("could not {tried}: the disk is full; nothing is lost, make room and go on")]
    Full { tried: &'static str, source: rusqlite::Error },
    #[error(
        "could not {tried}: the file could not be read or written; check its disk and permissions"
    )]
    Io { tried: &'static str, source: rusqlite::Error },
    #[error("could not {tried}: another program holds the file locked; close that program")]
    Busy { tried: &'static str, source: rusqlite::Error },
    #[error(
        "could not remove what was forgotten: another program reads the file; it is tried again"
    )]
    Reading,
    #[error("could not {tried}: the file is damaged; a restart sets it aside if it must")]
    Damaged { tried: &'static str, source: rusqlite::Error },
    #[error("{} is not a store of legwork; move it away", path.display())]
    Foreign { path: PathBuf },
    #[error(
        "the store holds something unknown: {what}; was it changed by hand? Move the file away \
         to begin anew"
    )]
    Unknown { what: String },
    /// A change does not follow from what is there. A bug, not a condition.
    #[error("a change that cannot be: {what}; nothing was saved, please report this")]
    Impossible { what: String },
    #[error("could not {tried}; please report this")]
    Database { tried: &'static str, source: rusqlite::Error },
}

impl Fault {
    /// Turns SQLite's error into ours, for `map_err`.
    pub(crate) fn when(tried: &'static str) -> impl Fn(rusqlite::Error) -> Fault {
        move |source| Self::classify(tried, source)
    }

    fn classify(tried: &'static str, source: rusqlite::Error) -> Fault {
        use rusqlite::Error as E;
        if let E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::Utf8Error(..) = &source
        {
            return Self::Unknown { what: format!("{source} while trying to {tried}") };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { tried, source },
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied,
            ) => Self::Io { tried, source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { tried, source }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { tried, source }
            }
            _ => Self::Database { tried, source },
        }
    }

    pub(crate) fn file(
        tried: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Fault {
        let path = path.into();
        move |source| Self::File { tried, path, source }
    }

    pub(crate) fn impossible(what: impl Into<String>) -> Fault {
        Self::Impossible { what: what.into() }
    }
}
