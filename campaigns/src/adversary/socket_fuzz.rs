//! Rubbish on the daemon's socket, from many connections at once, beside an honest client.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use legwork_sim::host::Dice;

use super::lines::{mutated, rubbish, valid};
use super::report::{Attack, Kind, Report, Trial};
use super::socket;
use crate::fault::Done;
use crate::progress::note;
use crate::terminal::Terminal;

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "socket-fuzz",
    does: "mutated lines, rubbish, half lines and 600 idle connections on the daemon's socket",
    holds: "an honest client is always answered; no panic; the daemon holds at most 400 MB",
    run: attack,
};

const THREADS: u64 = 6;
const FUZZ: Duration = Duration::from_secs(25);
/// Idle connections that say nothing, and as many that have said hello.
const IDLE: usize = 300;
/// Connections that hold a line open, and how much of it they have sent.
const HALVES: usize = 40;
const HALF_BYTES: usize = 15 << 20;
/// A daemon that takes no more of them is not waited for.
const HOLD: Duration = Duration::from_secs(10);
/// The longest line may take some 300 MB while it is read; two of them may not be there at once.
const MOST_MB: u64 = 400;

fn attack(trial: &Trial, report: &mut Report) -> Done<()> {
    let terminal = Terminal::open("")?;
    let daemon = terminal.start()?;
    let path = socket::of(daemon)?;
    let hello = socket::hello(&path)?;
    fuzz(trial, &terminal, &path, &hello, report)?;
    for greeting in ["", &hello] {
        note(format!(
            "{IDLE} idle connections, {} greeting",
            if greeting.is_empty() { "no" } else { "a" }
        ));
        let idle = connect_many(&path, IDLE, greeting);
        honest(&terminal, report, "beside idle connections")?;
        drop(idle);
        report.rounds += IDLE;
    }
    note(format!("{HALVES} half lines"));
    let halves = hold_halves(&path, &hello);
    honest(&terminal, report, "beside half lines")?;
    report.rounds += HALVES;
    report.memory(daemon, MOST_MB);
    drop(halves);
    honest(&terminal, report, "afterwards")?;
    let now = terminal.daemon()?.map(|facts| facts.pid);
    report.expect(now == Some(daemon), Kind::Panic, || {
        format!("the daemon was process {daemon}, now it is {now:?}")
    });
    report.daemons(&terminal);
    Ok(())
}

/// An honest client has a helper work and looks at it.
fn honest(terminal: &Terminal, report: &mut Report, when: &str) -> Done<()> {
    let words = format!("answer-{}", report.tasks);
    report.tasks += 1;
    let ran = terminal.run(&["run", "--agent", "rehearsal", &format!("say {words}")])?;
    let good = ran.is_done() && ran.out.contains(&words);
    report.expect(good, Kind::Stuck, || {
        format!("{when}, an honest client got {} after {:?}", ran.said(), ran.took)
    });
    let ran = terminal.run(&["list", "--json"])?;
    report.expect(ran.is_done(), Kind::Stuck, || format!("{when}, a listing got {}", ran.said()));
    Ok(())
}

fn fuzz(
    trial: &Trial,
    terminal: &Terminal,
    path: &Path,
    hello: &str,
    report: &mut Report,
) -> Done<()> {
    let end = (Instant::now() + FUZZ).min(trial.until);
    let (over, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    let result = thread::scope(|scope| {
        for number in 0..THREADS {
            let mut dice = trial.dice(100 + number);
            let (over, sent) = (&over, &sent);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    sent.fetch_add(one_peer(&mut dice, path, hello), Ordering::Relaxed);
                }
            });
        }
        let mut result = Ok(());
        while result.is_ok() && Instant::now() < end {
            result = honest(terminal, report, "while rubbish came");
        }
        over.store(true, Ordering::Relaxed);
        result
    });
    let sent = sent.into_inner();
    note(format!("{sent} lines of rubbish"));
    report.rounds += sent;
    result
}

/// One connection of somebody who does not mean well. Gives back how many lines it sent.
fn one_peer(dice: &mut Dice, path: &Path, hello: &str) -> usize {
    let Ok(mut peer) = UnixStream::connect(path) else { return 0 };
    // It does not have to be read, nor to read.
    let _ = peer.set_write_timeout(Some(Duration::from_secs(2)));
    let _ = peer.set_read_timeout(Some(Duration::from_millis(1)));
    let greeting = if dice.chance(800) { hello.into() } else { mutated(dice, hello) };
    let mut sent = 0;
    let mut say = |line: &[u8]| peer.write_all(line).and_then(|()| peer.write_all(b"\n")).is_ok();
    if !say(&greeting) {
        return sent;
    }
    for id in 0..dice.between(1, 80) {
        let line = match dice.below(10) {
            0 => rubbish(dice),
            1 | 2 => valid(dice, id).into_bytes(),
            _ => {
                let line = valid(dice, id);
                mutated(dice, &line)
            }
        };
        sent += 1;
        if !say(&line) {
            break;
        }
    }
    if dice.chance(500) {
        let mut back = [0; 4_096];
        while peer.read(&mut back).is_ok_and(|count| count > 0) {}
    }
    sent
}

fn connect_many(path: &Path, count: usize, greeting: &str) -> Vec<UnixStream> {
    let one = |_| {
        let mut peer = UnixStream::connect(path).ok()?;
        peer.set_write_timeout(Some(Duration::from_secs(1))).ok()?;
        if !greeting.is_empty() {
            writeln!(peer, "{greeting}").ok()?;
        }
        Some(peer)
    };
    (0..count).filter_map(one).collect()
}

/// Connections that have sent most of a line, or as much of it as the daemon takes, and wait.
fn hold_halves(path: &Path, hello: &str) -> Vec<UnixStream> {
    let half = [br#"{"type":"call","id":1,"key":""#.to_vec(), vec![b'x'; HALF_BYTES]].concat();
    let mut peers: Vec<(UnixStream, &[u8])> = connect_many(path, HALVES, hello)
        .into_iter()
        .filter(|peer| peer.set_nonblocking(true).is_ok())
        .map(|peer| (peer, &half[..]))
        .collect();
    let end = Instant::now() + HOLD;
    while Instant::now() < end && peers.iter().any(|(_, rest)| !rest.is_empty()) {
        let mut moved = 0;
        for (peer, rest) in &mut peers {
            // The daemon may have had enough of it, or not be as far.
            let sent = peer.write(rest).unwrap_or_default();
            *rest = &rest[sent..];
            moved += sent;
        }
        if moved == 0 {
            thread::sleep(Duration::from_millis(10));
        }
    }
    peers.into_iter().map(|(peer, _)| peer).collect()
}
