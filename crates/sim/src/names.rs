//! Names for ids, in the order in which they appear: a reader remembers `task-2`, and nobody
//! remembers thirty deliveries.

use std::collections::BTreeMap;

/// The names given so far.
#[derive(Debug, Default)]
pub struct Names {
    known: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, u32>,
    /// What a session is called that has no name yet.
    session: &'static str,
}

const KINDS: [(&str, usize, &str); 4] =
    [("bg_", 11, "task"), ("ses_", 30, ""), ("msg_", 30, "message"), ("per_", 30, "question")];

impl Names {
    /// Some ids that have names already, and the word for sessions that have none.
    pub fn new(known: BTreeMap<String, String>, session: &'static str) -> Self {
        Self { known, counts: BTreeMap::new(), session }
    }

    /// A line with names instead of ids.
    pub fn apply(&mut self, line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let kind = KINDS.iter().find(|(prefix, length, _)| {
                rest.starts_with(prefix)
                    && rest.get(..*length).is_some_and(|id| {
                        id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                    })
            });
            let length = kind.map_or(first.len_utf8(), |(_, length, _)| *length);
            let (piece, after) = rest.split_at(length);
            match kind {
                Some((_, _, "")) => out.push_str(&self.name(piece, self.session)),
                Some((_, _, word)) => out.push_str(&self.name(piece, word)),
                None => out.push_str(piece),
            }
            rest = after;
        }
        out
    }

    fn name(&mut self, id: &str, word: &'static str) -> String {
        if let Some(name) = self.known.get(id) {
            return name.clone();
        }
        let count = self.counts.entry(word).or_default();
        *count += 1;
        let name = format!("{word}-{count}");
        self.known.insert(id.to_owned(), name.clone());
        name
    }
}
