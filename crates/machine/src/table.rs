//! The process table, as far as it tells who has started what. Only Linux shows it; elsewhere it is
//! not there.

use std::collections::BTreeMap;
use std::io;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who started it, or who has it now that its parent is gone.
    pub parent: u32,
    pub group: u32,
    /// When it began, in ticks since the boot.
    pub start: u64,
    /// `Z` or `X` if only its exit code is left, `T` if a signal has stopped it.
    pub state: char,
    /// The name of its program, cut to 15 bytes.
    pub name: String,
}

impl Entry {
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// All processes at about one moment.
#[derive(Debug, Default)]
pub struct Table(pub BTreeMap<u32, Entry>);

/// Parents that are followed at the most: no real chain is so long, and one that changes while it
/// is read could have a loop.
const CHAIN_MAX: usize = 1_000;

impl Table {
    /// Reads it; nothing where there is none.
    pub fn read() -> Option<Self> {
        let mut all = BTreeMap::new();
        for process in std::fs::read_dir("/proc").ok()?.flatten() {
            let name = process.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            if let Some(entry) = entry(id) {
                all.insert(id, entry);
            }
        }
        // Elsewhere there may be a folder of that name which is something else.
        all.contains_key(&std::process::id()).then_some(Self(all))
    }

    /// Reads a process and all below it, which takes far less time than reading all. One that has
    /// just lost its parent may be missing. Nothing where there is no table.
    pub fn below(root: u32) -> Option<Self> {
        // Not every kernel tells children.
        if !std::path::Path::new(&format!("/proc/{root}/task/{root}/children")).exists() {
            return Self::read();
        }
        let (mut all, mut open) = (BTreeMap::new(), vec![root]);
        while let Some(id) = open.pop() {
            if let Some(entry) = entry(id)
                && all.insert(id, entry).is_none()
            {
                open.extend(children(id));
            }
        }
        Some(Self(all))
    }

    /// The process itself and its ancestors, the nearest first.
    pub fn line_of(&self, id: u32) -> impl Iterator<Item = (u32, &Entry)> {
        let next = |(_, entry): &(u32, &Entry)| self.found(entry.parent);
        std::iter::successors(self.found(id), next).take(CHAIN_MAX)
    }

    fn found(&self, id: u32) -> Option<(u32, &Entry)> {
        self.0.get(&id).map(|entry| (id, entry))
    }
}

/// The children of all threads of a process.
fn children(id: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{id}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| {
        let list = std::fs::read_to_string(thread.path().join("children")).ok()?;
        Some(list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>())
    });
    lists.flatten().collect()
}

/// One process; nothing if there is none with this number.
pub fn entry(id: u32) -> Option<Entry> {
    parse(&stat(id).ok()?)
}

pub(crate) fn stat(id: u32) -> io::Result<String> {
    let stat = std::fs::read(format!("/proc/{id}/stat"))?;
    Ok(String::from_utf8_lossy(&stat).into_owned())
}

/// Fields 2 to 5 and 22. The second, the program's name, may hold spaces and brackets.
pub(crate) fn parse(stat: &str) -> Option<Entry> {
    let (before, fields) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let mut fields = fields.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let start = fields.nth(16)?.parse().ok()?;
    Some(Entry { parent, group, start, state, name })
}

/// The time of the processor that a process has used, in ticks: fields 14 and 15.
pub(crate) fn used(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

/// A variable in a process's environment. Only that of our own user's processes can be read.
pub fn variable(id: u32, name: &str) -> Option<String> {
    variable_in(&std::fs::read(format!("/proc/{id}/environ")).ok()?, name)
}

fn variable_in(environment: &[u8], name: &str) -> Option<String> {
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(value.to_vec()).ok()
}

/// The arguments of a process, its own name first.
pub fn arguments(id: u32) -> Vec<String> {
    let all = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words = all.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_name_does_not_shift_the_fields() {
        let rest = (6..=21).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        let read = parse(&format!("7 (a) b) Z (c) S 4 5 {rest} 2222 23 24")).unwrap();
        let name = "a) b) Z (c".to_owned();
        let expected = Entry { parent: 4, group: 5, start: 2222, state: 'S', name };
        assert_eq!(read, expected);
        assert_eq!(parse("7 (a) S 1"), None);
        assert_eq!(used(&format!("7 (a) b) Z (c) S 4 5 {rest} 2222 23 24")), Some(14 + 15));
        assert_eq!(used("7 (a) S 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn our_own_line_leads_to_the_first_process() {
        let table = Table::read().unwrap();
        let line: Vec<u32> = table.line_of(std::process::id()).map(|(id, _)| id).collect();
        assert_eq!(line.first(), Some(&std::process::id()));
        assert!(line.len() > 1, "{line:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_below_us_is_found_without_reading_all() {
        use std::process::{Command, Stdio};
        let script = "cat & read line";
        let mut child = Command::new("sh");
        let child = child.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = child.spawn().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        loop {
            let table = Table::below(std::process::id()).unwrap();
            let is_below = |(id, _): &(&u32, &Entry)| {
                table.line_of(**id).any(|(above, _)| above == child.id())
            };
            if table.0.iter().filter(is_below).count() == 2 {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{table:?}");
            std::thread::yield_now();
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_chain_that_is_a_loop_has_an_end() {
        let entry = |parent| {
            let name = String::new();
            Entry { parent, group: 1, start: 1, state: 'S', name }
        };
        let table = Table(BTreeMap::from([(1, entry(2)), (2, entry(1))]));
        assert_eq!(table.line_of(1).count(), CHAIN_MAX);
    }

    #[test]
    fn a_variable_that_only_looks_like_it_is_none() {
        let read = |environment: &[u8]| variable_in(environment, "LEGWORK_INSIDE");
        assert_eq!(read(b"A=1\0LEGWORK_INSIDE=7-8-9\0B=2").as_deref(), Some("7-8-9"));
        assert_eq!(read(b"A=1\0LEGWORK_INSIDES=7\0X_LEGWORK_INSIDE=7"), None);
        assert_eq!(read(b""), None);
    }
}
