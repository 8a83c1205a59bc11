//! The process table as `ps` tells it, on systems that do not show it as files: macOS above all.
//!
//! A system has calls for this, but none that is safe to make from here, and the crates that wrap
//! them want a C compiler's headers. So `ps` is run, at most a few times a second: what it said is
//! good for a moment, for whoever asks about a process that it named. One that it did not name may
//! have begun since, so then it is asked again.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::lock;
use crate::table::{Entry, Table};

/// How long what was said of a process is believed.
const FRESH: Duration = Duration::from_millis(250);
/// It takes some 20 ms.
const PS_MAX: Duration = Duration::from_secs(5);
/// Thousands of processes with all of their arguments and variables.
const SAID_MAX_BYTES: u64 = 64 << 20;
/// As much of a name as Linux has.
const NAME_MAX_BYTES: usize = 15;
/// A header's text reaches to the end of its word, so each column is a word of its own.
const COLUMNS: [&str; 7] = ["pid=", "ppid=", "pgid=", "stat=", "lstart=", "time=", "comm="];
/// Shows variables behind the arguments.
const WITH_VARIABLES: &str = if cfg!(target_os = "linux") { "axeww" } else { "-axEww" };

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    entry: Entry,
    used: u64,
}

type Rows = BTreeMap<u32, Row>;

static LAST: Mutex<Option<(Instant, Rows)>> = Mutex::new(None);

pub fn all() -> Option<Table> {
    let rows = look()?;
    Some(Table(rows.into_iter().map(|(id, row)| (id, row.entry)).collect()))
}

pub fn below(_: u32) -> Option<Table> {
    all()
}

pub fn entry(id: u32) -> Option<Entry> {
    find(id)?.map(|row| row.entry)
}

pub fn used(id: u32) -> Option<u64> {
    find(id)?.map(|row| row.used)
}

/// A process, if there is one with this number; nothing if that cannot be told.
pub fn known(id: u32) -> Option<Option<Entry>> {
    Some(find(id)?.map(|row| row.entry))
}

fn find(id: u32) -> Option<Option<Row>> {
    if let Some((at, rows)) = &*lock(&LAST)
        && at.elapsed() < FRESH
        && let Some(row) = rows.get(&id)
    {
        return Some(Some(row.clone()));
    }
    Some(look()?.remove(&id))
}

/// Asks for all of them.
fn look() -> Option<Rows> {
    let at = Instant::now();
    let columns = COLUMNS.iter().flat_map(|column| ["-o", column]);
    let rows: Rows = said(["-axww"].into_iter().chain(columns))?.lines().filter_map(row).collect();
    // Whatever else it said, it has to name us.
    if !rows.contains_key(&std::process::id()) {
        return None;
    }
    *lock(&LAST) = Some((at, rows.clone()));
    Some(rows)
}

/// As in `  7  1  7 Ss   Wed Nov 18 05:09:09 2026   0:17.25 /usr/sbin/a b`.
fn row(line: &str) -> Option<(u32, Row)> {
    let mut words = line.split_whitespace();
    let mut number = || words.next()?.parse().ok();
    let (id, parent, group) = (number()?, number()?, number()?);
    let state = match words.next()?.chars().next()? {
        // Waits for a disk, in the words of the BSDs.
        'U' => 'D',
        state => state,
    };
    let _weekday = words.next()?;
    let start = start([words.next()?, words.next()?, words.next()?, words.next()?])?;
    let used = words.next()?.chars().filter(char::is_ascii_digit).collect::<String>();
    let path = words.collect::<Vec<_>>().join(" ");
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name[..name.floor_char_boundary(NAME_MAX_BYTES)].to_owned();
    let entry = Entry { parent, group, start, state, name };
    Some((id, Row { entry, used: used.parse().ok()? }))
}

/// A number that grows with the date, a different one for each second.
fn start([month, day, time, year]: [&str; 4]) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| *name == month)? as u64;
    let mut clock = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let days = (year.parse::<u64>().ok()? * 12 + month) * 31 + day.parse::<u64>().ok()?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

pub fn variable(id: u32, name: &str) -> Option<String> {
    variables(std::iter::once(id), name).remove(&id)
}

/// Apple's own programs hide theirs.
pub fn variables(ids: impl Iterator<Item = u32>, name: &str) -> BTreeMap<u32, String> {
    let all = said([WITH_VARIABLES, "-o", "pid=", "-o", "command="]).unwrap_or_default();
    let mut found: BTreeMap<u32, String> =
        all.lines().filter_map(|line| variable_in(line, name)).collect();
    ids.filter_map(|id| found.remove_entry(&id)).collect()
}

/// The last word that could be it: variables come after arguments.
fn variable_in(line: &str, name: &str) -> Option<(u32, String)> {
    let mut words = line.split_whitespace();
    let id = words.next()?.parse().ok()?;
    let value = words.rev().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
    Some((id, value.to_owned()))
}

pub fn arguments(id: u32) -> Vec<String> {
    let said = said(["-ww", "-p", &id.to_string(), "-o", "command="]).unwrap_or_default();
    said.split_whitespace().map(str::to_owned).collect()
}

/// What `ps` says, in numbers and dates that are the same everywhere.
fn said<'a>(args: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut ps = Command::new("/bin/ps");
    ps.args(args).env("LC_ALL", "C").env("TZ", "UTC");
    ps.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = ps.spawn().ok()?;
    let out = child.stdout.take()?;
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = out.take(SAID_MAX_BYTES).read_to_end(&mut text);
        // Nobody listens if it took too long.
        let _ = tell.send(read.map(|_| text));
    });
    let said = told.recv_timeout(PS_MAX);
    if said.is_err() {
        // It may have ended in this very moment.
        let _ = child.kill();
    }
    child.wait().ok()?;
    Some(String::from_utf8_lossy(&said.ok()?.ok()?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i4_a_line_of_each_system_is_read() {
        let mac = "  501   1   501 Us   Sat Jan  3 05:09:09 2026   0:17.25 /Applications/A B/c d e f g h i j";
        let (id, row) = row(mac).unwrap();
        let Row { entry, used } = row;
        assert_eq!((id, entry.parent, entry.group, entry.state), (501, 1, 501, 'D'));
        assert_eq!((entry.name.as_str(), used), ("c d e f g h i j", 1725));
        let (_, linux) =
            super::row("7 1 7 SLl Wed Nov 18 05:09:09 2026 00:00:17 kthreadd").unwrap();
        assert!(linux.entry.start > entry.start);
        for line in ["", "PID PPID", "1 2 3 S", "1 2 3 S Wed Foo 18 05:09:09 2026 0:00.01 sh"] {
            assert_eq!(super::row(line), None, "{line}");
        }
    }

    #[test]
    fn i4_a_later_second_is_a_larger_number() {
        let moments = [
            ["Dec", "31", "23:59:59", "2025"],
            ["Jan", "1", "00:00:00", "2026"],
            ["Jan", "31", "23:59:59", "2026"],
            ["Feb", "1", "00:00:00", "2026"],
            ["Feb", "1", "00:01:00", "2026"],
        ];
        let numbers = moments.map(|moment| start(moment).unwrap());
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        assert_eq!(start(["anF", "1", "00:00:00", "2026"]), None);
    }

    /// The very `ps` of this machine.
    #[test]
    fn i4_ps_tells_of_us_and_of_a_child_and_no_more_when_it_has_ended() {
        let mut cat = Command::new("cat");
        let cat = cat.env("LEGWORK_INSIDE", "7-8-9").stdin(Stdio::piped());
        let mut child = cat.spawn().unwrap();
        let (id, ourselves) = (child.id(), std::process::id());
        // It is this program until it has become the other one.
        let deadline = Instant::now() + Duration::from_secs(180);
        while entry(id).unwrap().name != "cat" {
            assert!(Instant::now() < deadline, "{:?}", entry(id));
        }
        let entry = known(id).unwrap().unwrap();
        assert_eq!(entry.parent, ourselves);
        assert!(!entry.is_zombie() && entry.start >= self::entry(ourselves).unwrap().start);
        assert!(used(id).is_some() && below(ourselves).unwrap().line_of(id).count() > 1);
        assert_eq!(variable(id, "LEGWORK_INSIDE").as_deref(), Some("7-8-9"));
        assert_eq!(variable(id, "LEGWORK_INSID"), None);
        assert_eq!(arguments(id), ["cat"]);
        drop(child.stdin.take());
        child.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(180);
        while known(id).unwrap().is_some() {
            assert!(Instant::now() < deadline, "what was said of it is believed for ever");
        }
    }

    #[test]
    fn i4_a_variable_is_the_last_word_that_could_be_it() {
        let line = "12 env LEGWORK_INSIDE=1 sh -c x PATH=/bin LEGWORK_INSIDE=2 X_LEGWORK_INSIDE=3";
        assert_eq!(variable_in(line, "LEGWORK_INSIDE"), Some((12, "2".to_owned())));
        assert_eq!(variable_in("12 sh LEGWORK_INSIDES=2", "LEGWORK_INSIDE"), None);
        assert_eq!(variable_in("a line of a text", "LEGWORK_INSIDE"), None);
    }
}
