//! Ctrl-C and SIGTERM, told to the loop instead of ending the process.

use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::Event;

pub fn listen(tell: Sender<Event>) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let event = tokio::select! {
                    Some(()) = interrupt.recv() => Event::Interrupt,
                    Some(()) = terminate.recv() => Event::Terminate,
                    else => return,
                };
                if tell.send(event).is_err() {
                    return;
                }
            }
        });
    });
    Ok(())
}
