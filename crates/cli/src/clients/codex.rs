//! Codex: a table in `config.toml`. It is edited as text, because the file has comments and an
//! order of its own; what comes of it is read again, and must say the same as before but for our
//! table.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::notation::{ARGS, Entry, Left, Notation, Unclear};

/// The path of our table.
const TABLE: [&str; 2] = ["mcp_servers", "legwork"];

/// Codex starts its servers with a dozen variables. These say where legwork keeps its files and
/// what its agents need; one that is not set is not passed on.
const VARIABLES: [&str; 18] = [
    "CODEX_HOME",
    "LEGWORK_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "OPENCODE_CONFIG_DIR",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// In seconds: a call that waits for helpers may take eleven minutes. Codex ends others after five.
const CALL_MAX: u64 = 660;

#[derive(Debug)]
pub struct CodexFile;

impl Notation for CodexFile {
    fn entry(&self, text: &str) -> Result<Option<Entry>, Unclear> {
        let file = read(text)?;
        let ours = &file[TABLE[0]][TABLE[1]];
        if ours.is_null() {
            return Ok(None);
        }
        super::json_file::entry_of(ours).map(Some).ok_or(Unclear::Foreign)
    }

    fn add(&self, text: Option<&str>, program: &str, force: bool) -> Result<String, Unclear> {
        let table = self.by_hand(program);
        let Some(text) = text else { return Ok(format!("{table}\n")) };
        let file = read(text)?;
        let new = match self.entry(text) {
            Ok(None) => {
                // A file without a last line end is given none, so that it can be given back.
                let (gap, end) = if text.ends_with('\n') { ("\n", "\n") } else { ("\n\n", "") };
                format!("{text}{gap}{table}{end}")
            }
            Ok(Some(entry)) if entry.is_ours() && entry.command == program => {
                return Ok(text.to_owned());
            }
            Ok(Some(entry)) if entry.is_ours() => renamed(text, program)?,
            _ if force => {
                let less = self.without(text)?;
                return self.add(Some(&less), program, false);
            }
            _ => return Err(Unclear::Foreign),
        };
        let is_right = self.entry(&new) == Ok(Some(Entry::of(program)));
        if is_right && others(file) == others(read(&new)?) {
            Ok(new)
        } else {
            Err(Unclear::NotUnderstood)
        }
    }

    fn remove(&self, text: &str) -> Result<Option<Left>, Unclear> {
        match self.entry(text)? {
            None => return Ok(None),
            Some(entry) if !entry.is_ours() => return Err(Unclear::Foreign),
            Some(_) => {}
        }
        let left = self.without(text)?;
        // One that was empty before has lost no line end.
        let was_made = left.is_empty() && text.ends_with('\n');
        Ok(Some(if was_made { Left::Nothing } else { Left::Text(left) }))
    }

    fn by_hand(&self, program: &str) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let list = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
            format!("[{}]", texts.join(", "))
        };
        format!(
            "[{}]\ncommand = {}\nargs = {}\nenv_vars = {}\ntool_timeout_sec = {CALL_MAX}",
            TABLE.join("."),
            quoted(program),
            list(&ARGS),
            list(&VARIABLES)
        )
    }
}

impl CodexFile {
    /// The text without our table and the tables in it.
    fn without(&self, text: &str) -> Result<String, Unclear> {
        let file = read(text)?;
        let mut left = text.to_owned();
        while let Some(block) = blocks(&left).into_iter().next() {
            let before = &left[..block.start];
            // The line ends that came with it.
            let gap = match left[..block.end].ends_with('\n') {
                false => before.len() - before.strip_suffix("\n\n").unwrap_or(before).len(),
                true => usize::from(before.ends_with("\n\n") || before == "\n"),
            };
            left.replace_range(block.start - gap..block.end, "");
        }
        let is_gone = read(&left)?[TABLE[0]][TABLE[1]].is_null();
        if is_gone && others(file) == others(read(&left)?) {
            Ok(left)
        } else {
            Err(Unclear::NotUnderstood)
        }
    }
}

impl Entry {
    fn of(program: &str) -> Self {
        Self { command: program.to_owned(), args: ARGS.map(str::to_owned).to_vec() }
    }
}

/// Where our table and the tables in it stand, each from its header to its last line with a value.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    let (mut at, mut is_ours) = (0, false);
    for line in text.split_inclusive('\n') {
        let (from, content) = (at, line.trim());
        at += line.len();
        if content.starts_with('[') {
            is_ours =
                header(content).is_some_and(|path| path.starts_with(&TABLE.map(str::to_owned)));
            if is_ours {
                all.push(from..at);
            }
        } else if let Some(last) = all.last_mut()
            && is_ours
            && !content.is_empty()
            && !content.starts_with('#')
        {
            last.end = at;
        }
    }
    all
}

/// The names in a header like `[a."b".c]`.
fn header(line: &str) -> Option<Vec<String>> {
    let inside = line.trim_start_matches('[').split(']').next()?;
    let name = |part: &str| part.trim().trim_matches(['"', '\'']).to_owned();
    Some(inside.split('.').map(name).collect())
}

/// The text with another command in our table.
fn renamed(text: &str, program: &str) -> Result<String, Unclear> {
    let block = blocks(text).into_iter().next().ok_or(Unclear::NotUnderstood)?;
    let mut at = block.start;
    for line in text[block].split_inclusive('\n') {
        let (name, _) = line.split_once('=').unwrap_or_default();
        if name.trim() == "command" {
            let new = format!("command = {}", Value::from(program));
            return Ok(super::json_place::put(text, at..at + line.trim_end().len(), &new));
        }
        at += line.len();
    }
    Err(Unclear::NotUnderstood)
}

fn read(text: &str) -> Result<Value, Unclear> {
    let table = DeTable::parse(text).map_err(|_| Unclear::NotUnderstood)?;
    Ok(object(table.get_ref()))
}

fn object(table: &DeTable<'_>) -> Value {
    let pair = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = name.get_ref();
        (name.to_string(), plain(value.get_ref()))
    };
    Value::Object(table.iter().map(pair).collect::<Map<_, _>>())
}

/// Numbers and dates as they are written: they are only compared.
fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => format!("{}:{}", number.radix(), number.as_str()).into(),
        DeValue::Float(number) => number.as_str().into(),
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Datetime(date) => date.to_string().into(),
        DeValue::Array(items) => items.iter().map(|item| plain(item.get_ref())).collect(),
        DeValue::Table(table) => object(table),
    }
}

/// All but our table.
fn others(mut file: Value) -> Value {
    let servers = file.as_object_mut().and_then(|file| file.get_mut(TABLE[0])?.as_object_mut());
    if let Some(servers) = servers {
        servers.remove(TABLE[1]);
        if servers.is_empty() {
            file.as_object_mut().map(|file| file.remove(TABLE[0]));
        }
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str) -> String {
        CodexFile
            .add(Some(text), "/opt/legwork", false)
            .unwrap_or_else(|why| panic!("{why:?}: {text}"))
    }

    #[test]
    fn m7_our_table_comes_and_goes_and_every_other_byte_stays() {
        for text in [
            "",
            "\n",
            "model = \"x\"",
            "model = \"x\"\n",
            "# mine\nmodel = 'x'  # why\n\n",
            "[mcp_servers.other]\ncommand = \"y\"\n",
            "[mcp_servers.legworks]\ncommand = \"y\"\n[a]\nb = \"\"\"\n[mcp_servers.x]\n\"\"\"",
            "x.y = 1\r\n[z]\r\n\"a b\" = 2021-01-01\r\n",
        ] {
            let with = added(text);
            assert_eq!(CodexFile.entry(&with), Ok(Some(Entry::of("/opt/legwork"))), "{with}");
            assert!(with.starts_with(text), "{with}");
            assert_eq!(added(&with), with);
            assert_eq!(CodexFile.remove(&with), Ok(Some(Left::Text(text.to_owned()))), "{with:?}");
            assert_eq!(CodexFile.remove(text), Ok(None));
        }
        let made = CodexFile.add(None, "/opt/legwork", false).unwrap();
        assert_eq!(CodexFile.remove(&made), Ok(Some(Left::Nothing)));
    }

    #[test]
    fn m7_what_follows_our_table_and_what_was_added_to_it_is_understood() {
        let before = "a = 1\n";
        let with = format!(
            "{}[mcp_servers.legwork.env]\nX = \"y\"\n\n# next\n[b]\nc = 2\n",
            added(before)
        );
        assert_eq!(added(&with), with);
        let left = "a = 1\n\n# next\n[b]\nc = 2\n";
        assert_eq!(CodexFile.remove(&with), Ok(Some(Left::Text(left.to_owned()))));
        let moved = CodexFile.add(Some(&with), "/new/legwork", false).unwrap();
        assert_eq!(moved, with.replace("/opt/legwork", "/new/legwork"));
    }

    #[test]
    fn m7_a_table_in_another_form_or_of_somebody_else_is_left_alone() {
        for (text, why) in [
            ("mcp_servers = { }\n", Unclear::NotUnderstood),
            ("a = ", Unclear::NotUnderstood),
            ("mcp_servers.legwork.url = \"x\"\n", Unclear::Foreign),
            ("[mcp_servers]\nlegwork = { command = \"a\", args = [\"b\"] }\n", Unclear::Foreign),
            (
                "[mcp_servers]\nlegwork = { command = \"a\", args = [\"mcp\"] }\n",
                Unclear::NotUnderstood,
            ),
            ("[mcp_servers.legwork]\ncommand = \"a\"\n", Unclear::Foreign),
        ] {
            assert_eq!(CodexFile.add(Some(text), "/opt/legwork", false), Err(why), "{text}");
            if text.contains("legwork") {
                assert_eq!(CodexFile.remove(text), Err(why), "{text}");
            }
        }
        let foreign = "[mcp_servers.legwork]\ncommand = \"a\"\n";
        let forced = CodexFile.add(Some(foreign), "/opt/legwork", true).unwrap();
        assert_eq!(CodexFile.entry(&forced), Ok(Some(Entry::of("/opt/legwork"))));
    }
}
