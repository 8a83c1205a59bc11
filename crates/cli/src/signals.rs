//! Ctrl-C and SIGTERM, told to somebody instead of ending the process.

use std::io;
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Exit;

/// Tells on a thread of its own with which exit each of them would end the process.
pub fn listen(mut tell: impl FnMut(Exit) + Send + 'static) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tell(tokio::select! {
                    Some(()) = interrupt.recv() => Exit::Interrupted,
                    Some(()) = terminate.recv() => Exit::Terminated,
                    else => return,
                });
            }
        });
    });
    Ok(())
}

/// The same for somebody who holds the terminal, and has to give it back when it is closed too.
pub fn listen_and_hang_up(mut tell: impl FnMut(Exit) + Send + Clone + 'static) -> io::Result<()> {
    listen(tell.clone())?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut hangup = {
        let _inside = runtime.enter();
        signal(SignalKind::hangup())?
    };
    thread::spawn(move || {
        runtime.block_on(async {
            while hangup.recv().await.is_some() {
                tell(Exit::Terminated);
            }
        });
    });
    Ok(())
}
