//! The process table as Linux shows it, below `/proc`.

use std::collections::BTreeMap;
use std::io;

use crate::table::{Entry, Table};

pub fn all() -> Option<Table> {
    let mut all = BTreeMap::new();
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = process.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(entry) = entry(id) {
            all.insert(id, entry);
        }
    }
    // Elsewhere there may be a folder of that name which is something else.
    all.contains_key(&std::process::id()).then_some(Table(all))
}

pub fn below(root: u32) -> Option<Table> {
    // Not every kernel tells children.
    if !std::path::Path::new(&format!("/proc/{root}/task/{root}/children")).exists() {
        return self::all();
    }
    let (mut all, mut open) = (BTreeMap::new(), vec![root]);
    while let Some(id) = open.pop() {
        if let Some(entry) = entry(id)
            && all.insert(id, entry).is_none()
        {
            open.extend(children(id));
        }
    }
    Some(Table(all))
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

pub fn entry(id: u32) -> Option<Entry> {
    parse(&stat(id).ok()?)
}

pub fn stat(id: u32) -> io::Result<String> {
    let stat = std::fs::read(format!("/proc/{id}/stat"))?;
    Ok(String::from_utf8_lossy(&stat).into_owned())
}

/// Fields 2 to 5 and 22. The second, the program's name, may hold spaces and brackets.
pub fn parse(stat: &str) -> Option<Entry> {
    let (before, fields) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let mut fields = fields.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let start = fields.nth(16)?.parse().ok()?;
    Some(Entry { parent, group, start, state, name })
}

pub fn used(id: u32) -> Option<u64> {
    used_in(&stat(id).ok()?)
}

/// The time of the processor that a process has used, in ticks: fields 14 and 15.
fn used_in(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

pub fn variables(ids: impl Iterator<Item = u32>, name: &str) -> BTreeMap<u32, String> {
    ids.filter_map(|id| Some((id, variable(id, name)?))).collect()
}

pub fn variable(id: u32, name: &str) -> Option<String> {
    variable_in(&std::fs::read(format!("/proc/{id}/environ")).ok()?, name)
}

fn variable_in(environment: &[u8], name: &str) -> Option<String> {
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(value.to_vec()).ok()
}

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
        assert_eq!(used_in(&format!("7 (a) b) Z (c) S 4 5 {rest} 2222 23 24")), Some(14 + 15));
        assert_eq!(used_in("7 (a) S 1"), None);
    }

    #[test]
    fn a_variable_that_only_looks_like_it_is_none() {
        let read = |environment: &[u8]| variable_in(environment, "LEGWORK_INSIDE");
        assert_eq!(read(b"A=1\0LEGWORK_INSIDE=7-8-9\0B=2").as_deref(), Some("7-8-9"));
        assert_eq!(read(b"A=1\0LEGWORK_INSIDES=7\0X_LEGWORK_INSIDE=7"), None);
        assert_eq!(read(b""), None);
    }
}
