//! A daemon of an older legwork, which a test plays: it greets, and does not know what a board is.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use legwork_client::Record;
use legwork_machine::{Folders, STORE_LOCK};
use legwork_protocol::api::Refusal;
use legwork_protocol::line::{FromDaemon, LINE_VERSION, ToDaemon, decode_to_daemon, encode};
use legwork_protocol::tools::tools;
use legwork_testkit::legwork::{Home, Shell};

fn serve(stream: UnixStream) -> Option<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line).ok().filter(|read| *read > 0)?;
        let said = match decode_to_daemon(&line).ok()? {
            ToDaemon::Hello { .. } => {
                FromDaemon::Hello { version: LINE_VERSION, build: "0.0.1".into(), tools: tools() }
            }
            ToDaemon::Request { id, .. } => {
                let why = "The call could not be understood: unknown variant `board`";
                FromDaemon::refused(id, Refusal::BadRequest(why.to_owned()))
            }
            _ => continue,
        };
        lines.get_mut().write_all(&encode(&said)).ok()?;
    }
}

#[test]
fn v8_an_old_daemon_is_said_to_be_one_and_the_next_one_heals_it() {
    let home = Home::new();
    home.configure("");
    let Folders { store, socket, .. } = Folders::in_home(&home.path("legwork"));
    let listener = UnixListener::bind(&socket).unwrap();
    fs::create_dir(&store).unwrap();
    let mut lock = File::create(store.join(STORE_LOCK)).unwrap();
    lock.lock().unwrap();
    let mut record = Record::of_this_process("0.0.1", 1);
    record.socket = Some(socket.clone());
    lock.write_all(record.text().as_bytes()).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    let old = thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept()
            && !over.load(Ordering::SeqCst)
        {
            serve(stream);
        }
    });
    let terminal = Shell::run(&home, (124, 24), "legwork top");
    terminal.until("what to do", |screen| {
        screen.contains("older legwork") && screen.contains("`legwork daemon stop`")
    });
    // First, so that nobody takes this process for a daemon that has lost its socket.
    record.leaving = true;
    lock.rewind().unwrap();
    lock.write_all(record.text().as_bytes()).unwrap();
    is_over.store(true, Ordering::SeqCst);
    let _ = UnixStream::connect(&socket);
    old.join().unwrap();
    fs::remove_file(&socket).unwrap();
    drop(lock);
    terminal.until_has("Nobody is out on an errand.");
    terminal.keys(&["q"]);
    terminal.until_left(0);
}
