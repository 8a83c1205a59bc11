//! A list of words in somebody's JSON file with comments, and changes to it that leave every other
//! byte as it is. What is not understood is not touched.

use std::ops::Range;

/// Deeper than any settings.
pub const DEPTH_MAX: usize = 64;

/// A file whose text is an object.
#[derive(Debug, PartialEq, Eq)]
pub struct Outline {
    /// Behind its opening bracket.
    open: usize,
    is_empty: bool,
    /// The array that was looked for, if the object has it.
    array: Option<Array>,
}

#[derive(Debug, PartialEq, Eq)]
struct Array {
    /// Behind its opening bracket.
    open: usize,
    items: Vec<Item>,
}

#[derive(Debug, PartialEq, Eq)]
struct Item {
    at: Range<usize>,
    /// The text, if it is one or an array that begins with one.
    word: Option<String>,
}

impl Outline {
    /// Reads a text and looks for the array of this name; nothing if it is no such file.
    pub fn of(text: &str, name: &str) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        reader.take('\u{feff}');
        reader.space()?;
        let outline = reader.object(name)?;
        reader.space()?;
        (reader.at == text.len()).then_some(outline)
    }

    /// Whether the array has one of these words.
    pub fn contains(&self, words: &[&str]) -> bool {
        self.array.iter().flat_map(|array| &array.items).any(|item| item.is_one_of(words))
    }

    /// The words in the array, those that begin an array of their own among them.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let items = self.array.iter().flat_map(|array| &array.items);
        items.filter_map(|item| item.word.as_deref())
    }

    /// The text with this word in the array, as its first.
    pub fn with(&self, text: &str, name: &str, word: &str) -> String {
        let quoted = serde_json::Value::from(word);
        let (at, new) = match &self.array {
            None => (self.open, member(self.is_empty, name, word)),
            Some(Array { open, items }) if items.is_empty() => (*open, quoted.to_string()),
            Some(Array { open, .. }) => {
                let rest = &text[*open..];
                let space = &rest[..rest.len() - rest.trim_start().len()];
                let between = if space.is_empty() { " " } else { space };
                (open + space.len(), format!("{quoted},{between}"))
            }
        };
        format!("{}{new}{}", &text[..at], &text[at..])
    }

    /// The text without these words in the array, and without the array if [`Outline::with`] has
    /// made it. Takes one of them out; to be called again with what comes of it.
    pub fn without(&self, text: &str, name: &str, words: &[&str]) -> Option<String> {
        for (is_empty, word) in [true, false].into_iter().zip([words.first()?; 2]) {
            let made = member(is_empty, name, word);
            if text[self.open..].starts_with(&made) {
                return Some(cut(text, self.open..self.open + made.len()));
            }
        }
        let items = &self.array.as_ref()?.items;
        let place = items.iter().position(|item| item.is_one_of(words))?;
        let own = &items[place].at;
        // With the comma behind it, or for the last one with the comma before it.
        let range = match (items.get(place + 1), place.checked_sub(1)) {
            (Some(next), _) => own.start..plain_gap(text, own.end, next.at.start),
            (None, Some(before)) => {
                let before = items[before].at.end;
                if text[before..own.start].trim() == "," { before..own.end } else { own.clone() }
            }
            (None, None) => own.clone(),
        };
        Some(cut(text, range))
    }
}

/// A member as it is put into an object.
fn member(is_only: bool, name: &str, word: &str) -> String {
    let end = if is_only { "\n" } else { "," };
    let (name, word) = (serde_json::Value::from(name), serde_json::Value::from(word));
    format!("\n  {name}: [\n    {word}\n  ]{end}")
}

/// The end of a gap between two items that has nothing but a comma; of one with comments, the end
/// of its comma.
fn plain_gap(text: &str, from: usize, to: usize) -> usize {
    let gap = &text[from..to];
    if gap.trim() == "," { to } else { from + gap.find(',').map_or(0, |at| at + 1) }
}

fn cut(text: &str, range: Range<usize>) -> String {
    format!("{}{}", &text[..range.start], &text[range.end..])
}

impl Item {
    fn is_one_of(&self, words: &[&str]) -> bool {
        self.word.as_deref().is_some_and(|word| words.contains(&word))
    }
}

/// Reads JSON with comments from a place on.
#[derive(Debug)]
pub struct Reader<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl Reader<'_> {
    pub fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    pub fn take(&mut self, wanted: char) -> Option<()> {
        let found = self.rest().starts_with(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found.then_some(())
    }

    /// Skips spaces and comments.
    pub fn space(&mut self) -> Option<()> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            let skipped = rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/")? + 2
            } else {
                0
            };
            self.at += skipped + comment;
            if comment == 0 {
                return Some(());
            }
        }
    }

    pub fn string(&mut self) -> Option<String> {
        let rest = self.rest().strip_prefix('"')?;
        let mut escaped = false;
        let end = rest.char_indices().find_map(|(at, c)| {
            let is_end = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            is_end.then_some(at)
        })?;
        let whole = &self.rest()[..end + 2];
        let read = serde_json::from_str(whole).ok()?;
        self.at += whole.len();
        Some(read)
    }

    /// The object that begins here, and the array of this name in it.
    fn object(&mut self, name: &str) -> Option<Outline> {
        self.take('{')?;
        let mut outline = Outline { open: self.at, is_empty: true, array: None };
        loop {
            self.space()?;
            if self.take('}').is_some() {
                return Some(outline);
            }
            outline.is_empty = false;
            let key = self.string()?;
            self.space()?;
            self.take(':')?;
            self.space()?;
            if key == name {
                // Two of them: nobody knows which one counts.
                let array = self.array()?;
                outline.array.replace(array).is_none().then_some(())?;
            } else {
                self.value(DEPTH_MAX)?;
            }
            self.space()?;
            if self.take(',').is_none() {
                self.take('}')?;
                return Some(outline);
            }
        }
    }

    fn array(&mut self) -> Option<Array> {
        self.take('[')?;
        let mut array = Array { open: self.at, items: Vec::new() };
        loop {
            self.space()?;
            if self.take(']').is_some() {
                return Some(array);
            }
            let from = self.at;
            self.value(DEPTH_MAX)?;
            let mut inner = Reader { text: self.text, at: from };
            inner.take('[');
            let word = inner.space().and_then(|()| inner.string());
            array.items.push(Item { at: from..self.at, word });
            self.space()?;
            if self.take(',').is_none() {
                self.take(']')?;
                return Some(array);
            }
        }
    }

    pub fn value(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let close = match self.rest().chars().next()? {
            '"' => return self.string().map(drop),
            '{' => '}',
            '[' => ']',
            _ => {
                let is_end = |c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c));
                let rest = self.rest();
                let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
                serde_json::from_str::<serde_json::Value>(word).ok()?;
                self.at += word.len();
                return Some(());
            }
        };
        self.at += 1;
        loop {
            self.space()?;
            if self.take(close).is_some() {
                return Some(());
            }
            if close == '}' {
                self.string()?;
                self.space()?;
                self.take(':')?;
                self.space()?;
            }
            self.value(depth)?;
            self.space()?;
            if self.take(',').is_none() {
                return self.take(close);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: [&str; 2] = ["./ours.js", "/abs/ours.js"];

    fn added(text: &str) -> String {
        Outline::of(text, "plugin").unwrap().with(text, "plugin", OURS[0])
    }

    fn removed(text: &str) -> Option<String> {
        Outline::of(text, "plugin").unwrap().without(text, "plugin", &OURS)
    }

    #[test]
    fn v5_what_is_added_is_there_once_and_taking_it_out_restores_every_byte() {
        for text in [
            "{}",
            "{ }\n",
            "{\n  // nothing yet\n}\n",
            "{\n  \"theme\": \"nord\" // dark\n}",
            "{\"plugin\":[]}",
            "{\"plugin\":[\"a\"]}",
            "{\n  \"plugin\": [],\n  \"theme\": \"x\"\n}",
            "{ \"plugin\": [\n    \"a\", // why\n    [\"b\", { \"c\": [1, null, -2.5e3] }],\n  ] }",
            "\u{feff}/* mine */ {\r\n\t\"plugin\": [ /* none */ ],\r\n}\r\n// end",
            "{\"a\": {\"plugin\": [\"./ours.js\"]}, \"b\\\"\": \"// no comment\"}",
        ] {
            let with = added(text);
            let outline = Outline::of(&with, "plugin").unwrap_or_else(|| panic!("{with}"));
            assert!(outline.contains(&OURS), "{with}");
            assert!(!Outline::of(text, "plugin").unwrap().contains(&OURS), "{text}");
            assert_eq!(removed(&with).as_deref(), Some(text), "{with}");
            assert_eq!(removed(text), None);
        }
    }

    #[test]
    fn v5_a_word_that_somebody_moved_or_gave_options_is_found_and_taken_out() {
        for (text, without) in [
            (r#"{"plugin": ["a", "./ours.js"]}"#, r#"{"plugin": ["a"]}"#),
            (r#"{"plugin": ["a", "./ours.js",]}"#, r#"{"plugin": ["a",]}"#),
            (r#"{"plugin": ["/abs/ours.js"]}"#, r#"{"plugin": []}"#),
            (r#"{"plugin": [["./ours.js", {"key": "f4"}], "a"]}"#, r#"{"plugin": ["a"]}"#),
            ("{\"plugin\": [\"./ours.js\", // x\n \"a\"]}", "{\"plugin\": [ // x\n \"a\"]}"),
        ] {
            assert!(Outline::of(text, "plugin").unwrap().contains(&OURS), "{text}");
            assert_eq!(removed(text).as_deref(), Some(without));
            assert!(Outline::of(without, "plugin").is_some(), "{without}");
        }
    }

    #[test]
    fn v5_what_is_not_understood_is_not_touched() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(100), "]".repeat(100));
        for text in [
            "",
            "[]",
            "{",
            "{]",
            "{'plugin': []}",
            "{\"plugin\": \"a\"}",
            "{\"plugin\": {}}",
            "{\"plugin\": [], \"plugin\": []}",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": nope}",
            "{} x",
            "{ /* }",
            "{\"a\": \"",
            &deep,
        ] {
            assert_eq!(Outline::of(text, "plugin"), None, "{text}");
        }
    }
}
