//! The record of the running front, beside the daemon's socket: where it listens, and the key for
//! which it gives out codes. The lock on the file says whether it is there; it is the user's alone,
//! and so is its folder.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use legwork_machine::process::{is_alive, process_mark};
use legwork_machine::{
    Folders, check_owner_of, create_folder, make_private, private_file, protect,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::page::fault::Fault;
use crate::page::guard::CODE_PATH;
use crate::page::limits::{CODE_ASKED_MAX, RECORD_MAX_BYTES, START_MAX};
use crate::page::server::{Front, address};

const NAME: &str = "ui.json";
/// Between two looks at a front that is just being started.
const PAUSE: Duration = Duration::from_millis(15);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    /// The process for good.
    mark: String,
    port: u16,
    key: String,
    build: String,
}

/// The folder for our files: that of the socket, or that of the records if that one is somebody
/// else's.
pub fn folder(folders: &Folders) -> Result<PathBuf, Fault> {
    let beside = folders.socket.parent().unwrap_or(&folders.store);
    match prepare(beside) {
        Err(Fault::Machine(legwork_machine::Fault::Foreign { .. })) => prepare(&folders.store),
        prepared => prepared,
    }
}

fn prepare(folder: &Path) -> Result<PathBuf, Fault> {
    check_owner_of(folder)?;
    create_folder(folder).map_err(Fault::file("make", folder))?;
    make_private(folder)?;
    Ok(folder.to_owned())
}

/// Whether there is a front.
#[derive(Debug)]
pub enum Found {
    /// Nobody is there, and nobody else can be while this is held.
    Nobody(Place),
    /// One is, with a new code for its page.
    Running { pid: Option<u32>, port: u16, address: String },
}

/// The right to be the front of this user.
#[derive(Debug)]
pub struct Place {
    file: File,
    path: PathBuf,
}

impl Place {
    /// Writes down where this front listens.
    pub fn take(&mut self, front: &Front) -> Result<(), Fault> {
        let record = Record {
            mark: process_mark(std::process::id()).unwrap_or_default(),
            port: front.port(),
            key: front.key().reveal().to_owned(),
            build: env!("CARGO_PKG_VERSION").to_owned(),
        };
        // Numbers and texts can always be written.
        let text = serde_json::to_string(&record).unwrap_or_default();
        self.write(&text).map_err(Fault::file("write", &self.path))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The file stays, empty: whoever has it open waits for its lock.
        let _ = self.write("");
    }
}

/// Finds the running front and has it give out a code, or takes its place.
pub fn find(folders: &Folders) -> Result<Found, Fault> {
    let path = folder(folders)?.join(NAME);
    let deadline = Instant::now() + START_MAX;
    loop {
        let open = private_file().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(Fault::file("open", &path))?;
        protect(&path).map_err(Fault::file("protect", &path))?;
        match file.try_lock() {
            Ok(()) => return Ok(Found::Nobody(Place { file, path })),
            Err(TryLockError::Error(source)) => return Err(Fault::file("lock", &path)(source)),
            Err(TryLockError::WouldBlock) => {}
        }
        // It may just be starting, or ending.
        let asked = read(&mut file).map(|record| code(&record).map(|code| (record, code)));
        match asked {
            Some(Ok((record, code))) => {
                let pid = record.mark.split('-').next().and_then(|pid| pid.parse().ok());
                let address = address(record.port, &code);
                return Ok(Found::Running { pid, port: record.port, address });
            }
            Some(Err(source)) if Instant::now() >= deadline => return Err(Fault::Silent(source)),
            None if Instant::now() >= deadline => {
                return Err(Fault::Silent(io::ErrorKind::InvalidData.into()));
            }
            _ => thread::sleep(PAUSE),
        }
    }
}

/// Whether a front is there. Changes nothing.
pub fn is_running(folders: &Folders) -> bool {
    places(folders).iter().any(|path| {
        let locked = File::open(path).map(|file| file.try_lock());
        matches!(locked, Ok(Err(TryLockError::WouldBlock)))
    })
}

/// Where records of fronts may lie.
pub fn places(folders: &Folders) -> Vec<PathBuf> {
    let beside = folders.socket.parent().map(|folder| folder.join(NAME));
    beside.into_iter().chain([folders.store.join(NAME)]).collect()
}

fn read(file: &mut File) -> Option<Record> {
    let mut text = String::new();
    file.take(RECORD_MAX_BYTES).read_to_string(&mut text).ok()?;
    let record: Record = serde_json::from_str(&text).ok()?;
    is_alive(&record.mark).then_some(record)
}

/// A code from a running front, which knows its key.
fn code(record: &Record) -> io::Result<String> {
    let Record { port, key, .. } = record;
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
    let mut stream = TcpStream::connect_timeout(&to, CODE_ASKED_MAX)?;
    stream.set_read_timeout(Some(CODE_ASKED_MAX))?;
    stream.set_write_timeout(Some(CODE_ASKED_MAX))?;
    write!(
        stream,
        "POST {CODE_PATH} HTTP/1.1\r\nhost: {to}\r\norigin: http://{to}\r\n\
         authorization: Bearer {key}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
    )?;
    let mut answer = String::new();
    stream.take(RECORD_MAX_BYTES).read_to_string(&mut answer)?;
    let is_done = answer.starts_with("HTTP/1.1 200 ");
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).filter(|_| is_done);
    let body: Option<Value> = body.and_then(|body| serde_json::from_str(body).ok());
    let code = body.as_ref().and_then(|body| body["code"].as_str()).map(str::to_owned);
    code.ok_or_else(|| io::ErrorKind::InvalidData.into())
}
