//! The process table, as far as it tells who has started what. Linux shows it as files; elsewhere
//! `ps` is asked.

use std::collections::BTreeMap;

#[cfg(target_os = "linux")]
use crate::proc as system;
#[cfg(not(target_os = "linux"))]
use crate::ps as system;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who started it, or who has it now that its parent is gone.
    pub parent: u32,
    pub group: u32,
    /// When it began: in ticks since the boot on Linux, else a number that grows with the date.
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

/// Whether [`Table::below`] may leave out what is there.
pub const IS_PARTIAL: bool = cfg!(target_os = "linux");

impl Table {
    /// Reads it; nothing if it cannot be read.
    pub fn read() -> Option<Self> {
        system::all()
    }

    /// Reads a process and all below it, which takes far less time than reading all where that can
    /// be done. One that has just lost its parent may be missing.
    pub fn below(root: u32) -> Option<Self> {
        system::below(root)
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

/// One process; nothing if there is none with this number.
pub fn entry(id: u32) -> Option<Entry> {
    system::entry(id)
}

/// A number that is another one when the process has used the processor meanwhile.
pub(crate) fn used(id: u32) -> Option<u64> {
    system::used(id)
}

/// A variable in a process's environment. Only that of our own user's processes can be read.
pub fn variable(id: u32, name: &str) -> Option<String> {
    system::variable(id, name)
}

/// The same for all of these processes that have it.
pub fn variables(ids: impl Iterator<Item = u32>, name: &str) -> BTreeMap<u32, String> {
    system::variables(ids, name)
}

/// The arguments of a process, its own name first.
pub fn arguments(id: u32) -> Vec<String> {
    system::arguments(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_line_leads_to_the_first_process() {
        let table = Table::read().unwrap();
        let line: Vec<u32> = table.line_of(std::process::id()).map(|(id, _)| id).collect();
        assert_eq!(line.first(), Some(&std::process::id()));
        assert!(line.len() > 1, "{line:?}");
    }

    #[test]
    fn what_is_below_us_is_found_without_reading_all() {
        use std::process::{Command, Stdio};
        // In the background it would have no input, and end before anybody looks.
        let script = "exec 3<&0; cat <&3 & read line";
        let mut child = Command::new("sh");
        let child = child.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = child.spawn().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(180);
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
}
