//! Goose: a key in the `extensions` of `config.yaml`. There is no reader of YAML here, so only what
//! is written plainly is changed: block style, one document, texts that end on their own line.
//! Anything else is left to the person.

use serde_json::Value;

use super::notation::{ARGS, Entry, Left, Notation, Unclear};

const MAP: &str = "extensions:";
const KEY: &str = "legwork:";
/// Goose's own default.
const CALL_MAX_S: u64 = 300;
/// A file that was made here ends with an empty line, and so is told from an empty one.
const FRESH_END: &str = "\n\n";

#[derive(Debug)]
pub struct GooseFile;

/// A file of which we know where the extensions stand.
struct Outline<'a> {
    lines: Vec<&'a str>,
    /// The line of the extensions, and how far those in it are indented.
    map: Option<(usize, usize)>,
}

impl<'a> Outline<'a> {
    fn of(text: &'a str) -> Result<Self, Unclear> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        if !lines.iter().enumerate().all(|(at, line)| is_plain(at, line)) {
            return Err(Unclear::NotUnderstood);
        }
        let is_map = |line: &&str| line.starts_with("extensions") || line.starts_with("\"ext");
        let mut maps = lines.iter().enumerate().filter(|(_, line)| is_map(line));
        let map = match (maps.next(), maps.next()) {
            (None, _) => None,
            (Some((at, line)), None) if line.trim_end() == MAP => {
                let child = lines[at + 1..].iter().find(|line| is_content(line));
                let indent = child.map_or(0, |line| indent(line));
                // Without anything in it, it is not known how it would be written.
                let is_block = indent > 0 && child.is_some_and(|line| !is_item(line));
                Some((at, is_block.then_some(indent).ok_or(Unclear::NotUnderstood)?))
            }
            _ => return Err(Unclear::NotUnderstood),
        };
        Ok(Self { lines, map })
    }

    /// The lines of our extension, from its key to its last line.
    fn ours(&self) -> Result<Option<(usize, usize)>, Unclear> {
        let Some((map, depth)) = self.map else { return Ok(None) };
        let mut found = None;
        let mut at = map + 1;
        while at < self.lines.len() {
            let line = self.lines[at];
            if is_content(line) && indent(line) == 0 {
                break;
            }
            let is_child = is_content(line) && indent(line) == depth;
            let key = line.trim();
            if is_child && (key.starts_with(KEY) || key.starts_with("\"legwork\"")) {
                if found.is_some() || key != KEY {
                    return Err(Unclear::NotUnderstood);
                }
                found = Some((at, self.end_of(at, depth)));
            }
            at += 1;
        }
        Ok(found)
    }

    /// Behind the last line that is further in than this one.
    fn end_of(&self, from: usize, depth: usize) -> usize {
        let mut end = from + 1;
        for (at, line) in self.lines.iter().enumerate().skip(from + 1) {
            // A list may stand as far in as its key.
            if is_content(line) && indent(line) <= depth {
                break;
            }
            if is_content(line) {
                end = at + 1;
            }
        }
        end
    }

    fn joined(&self, from: usize, to: usize) -> String {
        self.lines[from..to].concat()
    }

    fn entry(&self) -> Result<Option<Entry>, Unclear> {
        let Some((from, to)) = self.ours()? else { return Ok(None) };
        let (mut command, mut args, mut in_args) = (None, Vec::new(), false);
        for line in self.lines[from + 1..to].iter().filter(|line| is_content(line)) {
            let content = line.trim();
            if let Some(value) = content.strip_prefix("cmd:") {
                command = scalar(value);
            }
            if let Some(item) = content.strip_prefix("- ").filter(|_| in_args) {
                args.push(scalar(item).ok_or(Unclear::Foreign)?);
                continue;
            }
            in_args = content == "args:";
        }
        let command = command.ok_or(Unclear::Foreign)?;
        Ok(Some(Entry { command, args }))
    }
}

impl Notation for GooseFile {
    fn entry(&self, text: &str) -> Result<Option<Entry>, Unclear> {
        Outline::of(text)?.entry()
    }

    fn add(&self, text: Option<&str>, program: &str, force: bool) -> Result<String, Unclear> {
        let Some(text) = text else { return Ok(self.by_hand(program) + FRESH_END) };
        let outline = Outline::of(text)?;
        let Outline { lines, map } = &outline;
        let all = lines.len();
        match (outline.entry(), map) {
            (Ok(None), Some((map, depth))) => {
                let ours = extension(program, *depth);
                let before = outline.joined(0, map + 1);
                Ok(format!("{before}{ours}{}", outline.joined(map + 1, all)))
            }
            // At the top, where the end of the file does not matter.
            (Ok(None), None) => {
                let top = usize::from(lines.first().is_some_and(|line| line.trim_end() == "---"));
                let (before, after) = (outline.joined(0, top), outline.joined(top, all));
                Ok(format!("{before}{}\n{after}", self.by_hand(program)))
            }
            (Ok(Some(entry)), _) if entry.is_ours() && entry.command == program => {
                Ok(text.to_owned())
            }
            (Ok(Some(entry)), _) if entry.is_ours() => renamed(&outline, program),
            (Ok(Some(_)) | Err(Unclear::Foreign), Some((_, depth))) if force => {
                let (from, to) = outline.ours()?.ok_or(Unclear::NotUnderstood)?;
                let ours = extension(program, *depth);
                Ok(format!("{}{ours}{}", outline.joined(0, from), outline.joined(to, all)))
            }
            (Err(why), _) => Err(why),
            _ => Err(Unclear::Foreign),
        }
    }

    fn remove(&self, text: &str) -> Result<Option<Left>, Unclear> {
        let outline = Outline::of(text)?;
        match outline.entry()? {
            None => return Ok(None),
            Some(entry) if !entry.is_ours() => return Err(Unclear::Foreign),
            Some(_) => {}
        }
        let (Some((from, to)), Some((map, depth))) = (outline.ours()?, outline.map) else {
            return Err(Unclear::NotUnderstood);
        };
        // The map goes too if nothing else is in it: Goose expects something there.
        let rest = outline.lines[to..].iter().find(|line| is_content(line));
        let is_only = from == map + 1 && rest.is_none_or(|line| indent(line) < depth);
        let from = if is_only { map } else { from };
        let left = outline.joined(0, from) + &outline.joined(to, outline.lines.len());
        Ok(Some(if left == "\n" { Left::Nothing } else { Left::Text(left) }))
    }

    fn by_hand(&self, program: &str) -> String {
        format!("{MAP}\n{}", extension(program, 2)).trim_end().to_owned()
    }
}

/// The lines of our extension, so far in.
fn extension(program: &str, depth: usize) -> String {
    let outer = " ".repeat(depth);
    let inner = " ".repeat(depth + 2);
    let args: String = ARGS.iter().map(|arg| format!("{inner}- {arg}\n")).collect();
    let more = format!("{inner}timeout: {CALL_MAX_S}\n{inner}envs: {{}}\n");
    format!(
        "{outer}{KEY}\n{inner}type: stdio\n{inner}name: legwork\n{inner}description: Background \
         helpers\n{inner}enabled: true\n{inner}cmd: {}\n{inner}args:\n{args}{more}",
        // What JSON quotes YAML reads the same.
        Value::from(program)
    )
}

fn renamed(outline: &Outline<'_>, program: &str) -> Result<String, Unclear> {
    let (from, to) = outline.ours()?.ok_or(Unclear::NotUnderstood)?;
    let is_command = |at: &usize| outline.lines[*at].trim().starts_with("cmd:");
    let at = (from..to).find(is_command).ok_or(Unclear::NotUnderstood)?;
    let line = outline.lines[at];
    let (space, end) = (&line[..indent(line)], &line[line.trim_end().len()..]);
    let new = format!("{space}cmd: {}{end}", Value::from(program));
    Ok(outline.joined(0, at) + &new + &outline.joined(at + 1, outline.lines.len()))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_content(line: &str) -> bool {
    let content = line.trim();
    !content.is_empty() && !content.starts_with('#')
}

fn is_item(line: &str) -> bool {
    let content = line.trim();
    content == "-" || content.starts_with("- ")
}

/// Whether a line means by itself what it seems to.
fn is_plain(at: usize, line: &str) -> bool {
    let content = line.trim();
    if !is_content(line) || (at == 0 && content == "---") {
        return true;
    }
    let is_key = |text: &str| {
        let name = text.split_once(':').map(|(name, _)| name);
        let is_word = |c: char| c.is_alphanumeric() || "_-. \"'/@".contains(c);
        name.is_some_and(|name| !name.is_empty() && name.chars().all(is_word))
    };
    let starts_well = indent(line) > 0 || is_item(line) || is_key(content);
    let value = content.split_once(": ").map_or(content, |(_, value)| value);
    let value = value.trim_start_matches("- ").trim();
    // A text or a list that goes on in the next line.
    let is_open = |open: char, close: char| {
        value.starts_with(open) && (value.len() == 1 || !value.ends_with(close))
    };
    let goes_on = [('"', '"'), ('\'', '\''), ('{', '}'), ('[', ']')];
    starts_well && !line.contains('\t') && !goes_on.iter().any(|(a, b)| is_open(*a, *b))
}

/// A text on one line.
fn scalar(value: &str) -> Option<String> {
    let value = value.trim();
    if value.starts_with('"') {
        return serde_json::from_str(value).ok();
    }
    let unquoted = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@, ".contains(c);
    match unquoted {
        Some(text) => Some(text.replace("''", "'")),
        None => (!value.is_empty() && value.chars().all(is_plain)).then(|| value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str) -> String {
        let added = GooseFile.add(Some(text), "/opt/a b/legwork", false);
        added.unwrap_or_else(|why| panic!("{why:?}: {text}"))
    }

    #[test]
    fn m7_our_extension_comes_and_goes_and_every_other_byte_stays() {
        for text in [
            "",
            "GOOSE_MODE: auto",
            "# mine\nGOOSE_MODE: auto # why\nlist:\n- a\n- b\n",
            "---\nGOOSE_MODE: auto\n",
            "extensions:\n  developer:\n    enabled: true\n    args: []\nGOOSE_MODE: auto\n",
            "a: 1\nextensions:\n\n    # these\n    developer:\n        args:\n        - x",
            "extensions:\r\n  memory:\r\n    type: builtin\r\n",
        ] {
            let with = added(text);
            let entry = GooseFile.entry(&with).unwrap().unwrap();
            assert!(entry.is_ours() && entry.command == "/opt/a b/legwork", "{with}");
            assert_eq!(added(&with), with);
            let left = GooseFile.remove(&with);
            assert_eq!(left, Ok(Some(Left::Text(text.to_owned()))), "{with}");
            assert_eq!(GooseFile.remove(text), Ok(None));
            let moved = GooseFile.add(Some(&with), "/new/legwork", false).unwrap();
            assert_eq!(moved, with.replace("/opt/a b/legwork", "/new/legwork"));
        }
        let made = GooseFile.add(None, "/opt/legwork", false).unwrap();
        assert_eq!(GooseFile.remove(&made), Ok(Some(Left::Nothing)));
    }

    #[test]
    fn m7_what_goose_has_written_itself_is_understood() {
        let text = "extensions:\n  legwork:\n    enabled: true\n    type: stdio\n    cmd: \
                    /opt/legwork\n    args:\n    - mcp\n    envs: {}\n  memory:\n    x: 1\n";
        let entry = GooseFile.entry(text).unwrap().unwrap();
        assert!(entry.is_ours() && entry.command == "/opt/legwork");
        let left = "extensions:\n  memory:\n    x: 1\n".to_owned();
        assert_eq!(GooseFile.remove(text), Ok(Some(Left::Text(left))));
    }

    #[test]
    fn m7_what_is_not_written_plainly_is_left_alone() {
        for text in [
            "extensions: {}\n",
            "extensions:\n",
            "extensions:\n- a\n",
            "{extensions: {a: 1}}\n",
            "a: \"x\nextensions:\n  b: 1\n\"\n",
            "a: [\n1\n]\n",
            "\ta: 1\n",
            "a: 1\n---\nb: 2\n",
            "extensions:\n  a: 1\nextensions:\n  b: 1\n",
            "extensions:\n  legwork: {}\n",
        ] {
            let why = Err(Unclear::NotUnderstood);
            assert_eq!(GooseFile.add(Some(text), "/opt/legwork", true), why, "{text}");
        }
        let foreign = "extensions:\n  legwork:\n    type: sse\n    uri: x\n  b:\n    c: 1\n";
        let refused = GooseFile.add(Some(foreign), "/opt/legwork", false);
        assert_eq!(refused, Err(Unclear::Foreign));
        assert_eq!(GooseFile.remove(foreign), Err(Unclear::Foreign));
        let forced = GooseFile.add(Some(foreign), "/opt/legwork", true).unwrap();
        assert!(GooseFile.entry(&forced).unwrap().unwrap().is_ours(), "{forced}");
    }
}
