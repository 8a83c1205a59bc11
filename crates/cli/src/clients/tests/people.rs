//! Settings as people have them: made at random from a number, in every form that the formats
//! have, with servers and hooks of their own and sometimes ours among them.

use serde_json::Value;

use crate::clients::editor::Format;

/// A legwork of before, which is ours.
pub const OLD: &str = "/old/bin/legwork";

/// What a file says.
pub enum Said {
    Map(Vec<(String, Said)>),
    List(Vec<Said>),
    Text(String),
    Number(u64),
    Flag(bool),
}

use Said::{Flag, List, Map, Number, Text};

/// Dice that fall the same for the same number.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// What is in the file of a client, and how that client has its servers and hooks.
#[derive(Debug, Clone, Copy)]
pub struct Habit {
    pub format: Format,
    pub servers: &'static str,
    pub command: &'static str,
    pub events: &'static [&'static str],
    /// The client that hooks are of, and whether it has them in groups.
    pub client: &'static str,
    pub is_grouped: bool,
    pub word: &'static str,
}

const NAMES: [&str; 11] =
    ["theme", "model", "a b", "über", "x-y", "legworks", "list", "n\"q", "a.b", "0", "env"];
const TEXTS: [&str; 14] = [
    "nord",
    "",
    "a # b",
    "// no",
    "it's",
    "x: y",
    "é \"quoted\"",
    "legwork",
    "two\nlines",
    "- a",
    "{",
    "true",
    "12",
    "tab\there",
];

pub fn said(dice: &mut Dice, habit: Habit) -> Said {
    let mut members = some_members(dice, 2);
    let mut sections = Vec::new();
    if !habit.servers.is_empty() && !dice.one_in(3) {
        sections.push((habit.servers.to_owned(), servers(dice, habit)));
    }
    if !habit.events.is_empty() && !dice.one_in(3) {
        sections.push(("hooks".to_owned(), hooks(dice, habit)));
    }
    if !habit.word.is_empty() && !dice.one_in(3) {
        let mut words: Vec<Said> =
            (0..dice.below(3)).map(|_| Text(dice.pick(&TEXTS).into())).collect();
        if dice.one_in(4) {
            let ours = Text(habit.word.to_owned());
            let ours = if dice.one_in(2) { ours } else { List(vec![ours, Flag(true)]) };
            words.insert(dice.below(words.len() + 1), ours);
        }
        sections.push(("plugin".to_owned(), List(words)));
    }
    for section in sections {
        members.insert(dice.below(members.len() + 1), section);
    }
    Map(members)
}

fn servers(dice: &mut Dice, habit: Habit) -> Said {
    let mut all: Vec<(String, Said)> = ["files", "web.x", "my server"]
        .into_iter()
        .filter(|_| dice.one_in(2))
        .map(|name| (name.to_owned(), Map(Vec::new())))
        .collect();
    for (_, server) in &mut all {
        let args = List(vec![Text("mcp".to_owned())]);
        let command = (habit.command.to_owned(), Text("other".to_owned()));
        let mut members = vec![command, ("args".to_owned(), args)];
        members.extend(some_members(dice, 1));
        *server = Map(members);
    }
    if dice.one_in(4) {
        let args = List(vec![Text("mcp".to_owned())]);
        let envs = Map(vec![(habit.command.to_owned(), Text("mine".to_owned()))]);
        let mut ours =
            vec![(habit.command.to_owned(), Text(OLD.to_owned())), ("args".to_owned(), args)];
        if dice.one_in(2) {
            ours.insert(dice.below(3), ("envs".to_owned(), envs));
        }
        all.insert(dice.below(all.len() + 1), ("legwork".to_owned(), Map(ours)));
    }
    Map(all)
}

fn hooks(dice: &mut Dice, habit: Habit) -> Said {
    let hook = |dice: &mut Dice| {
        let call = format!("{OLD} hook {}", habit.client);
        let mine =
            ["./mine.sh", "cd ~/legwork && ./notify.sh hook cursor", "legwork hook gemini; ./x"];
        let command = if dice.one_in(3) { call } else { dice.pick(&mine).to_owned() };
        let mut members = vec![("command".to_owned(), Text(command))];
        if dice.one_in(2) {
            members.insert(0, ("type".to_owned(), Text("command".to_owned())));
        }
        Map(members)
    };
    let mut events = Vec::new();
    for event in habit.events.iter().chain(&["Other"]) {
        if dice.one_in(3) {
            continue;
        }
        let items: Vec<Said> = (0..dice.below(3))
            .map(|_| {
                if !habit.is_grouped {
                    return hook(dice);
                }
                let inner: Vec<Said> = (0..dice.below(4)).map(|_| hook(dice)).collect();
                let mut group = vec![("hooks".to_owned(), List(inner))];
                if dice.one_in(3) {
                    group.insert(0, ("matcher".to_owned(), Text("*".to_owned())));
                }
                Map(group)
            })
            .collect();
        events.push(((*event).to_owned(), List(items)));
    }
    Map(events)
}

fn some_members(dice: &mut Dice, depth: usize) -> Vec<(String, Said)> {
    let names = NAMES.iter().filter(|_| dice.one_in(4)).copied().collect::<Vec<_>>();
    names.into_iter().map(|name| (name.to_owned(), some_value(dice, depth))).collect()
}

fn some_value(dice: &mut Dice, depth: usize) -> Said {
    match dice.below(if depth == 0 { 3 } else { 5 }) {
        0 => Text(dice.pick(&TEXTS).to_owned()),
        1 => Number(dice.below(100) as u64),
        2 => Flag(dice.one_in(2)),
        3 => Map(some_members(dice, depth - 1)),
        _ => List((0..dice.below(3)).map(|_| some_value(dice, depth - 1)).collect()),
    }
}

/// The text of a file that says this.
pub fn text(dice: &mut Dice, said: &Said, format: Format) -> String {
    let mut text = match format {
        Format::Json => json_file(dice, said),
        Format::Toml => toml_file(dice, said),
        Format::Yaml => yaml_file(dice, said),
    };
    if dice.one_in(6) {
        text = text.trim_end().to_owned();
    }
    // Lines of texts would say something else.
    if dice.one_in(5) && !text.contains("two") {
        text = text.replace('\n', "\r\n");
    }
    if dice.one_in(12) { format!("\u{feff}{text}") } else { text }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn json_file(dice: &mut Dice, said: &Said) -> String {
    let step = dice.pick(&["  ", "    ", "\t", ""]);
    let has_comments = dice.one_in(2);
    let mut out = String::new();
    if has_comments && dice.one_in(3) {
        out.push_str("// settings, mine\n");
    }
    json(dice, said, step, 0, has_comments, &mut out);
    out + dice.pick(&["\n", "", "\n// end\n", " \n"])
}

fn json(
    dice: &mut Dice,
    said: &Said,
    step: &str,
    depth: usize,
    has_comments: bool,
    out: &mut String,
) {
    let (open, close, count) = match said {
        Map(members) => ('{', '}', members.len()),
        List(items) => ('[', ']', items.len()),
        Text(text) => return out.push_str(&quoted(text)),
        Number(number) => return out.push_str(&number.to_string()),
        Flag(flag) => return out.push_str(&flag.to_string()),
    };
    let is_short = step.is_empty() || (count < 2 && dice.one_in(2));
    let gap = |depth: usize| match (is_short, step) {
        (true, "") => String::new(),
        (true, _) => " ".to_owned(),
        (false, _) => format!("\n{}", step.repeat(depth)),
    };
    let comment = |dice: &mut Dice| match (has_comments && dice.one_in(5), is_short) {
        (false, _) => String::new(),
        (true, true) => " /* so, { */".to_owned(),
        (true, false) => " // why, } \"".to_owned(),
    };
    out.push(open);
    out.push_str(&comment(dice));
    for at in 0..count {
        out.push_str(&gap(depth + 1));
        match said {
            Map(members) => {
                out.push_str(&format!(
                    "{}:{}",
                    quoted(&members[at].0),
                    if step.is_empty() { "" } else { " " }
                ));
                json(dice, &members[at].1, step, depth + 1, has_comments, out);
            }
            List(items) => json(dice, &items[at], step, depth + 1, has_comments, out),
            _ => {}
        }
        if has_comments && is_short && dice.one_in(6) {
            out.push_str("/* , */");
        }
        if at + 1 < count || (has_comments && dice.one_in(4)) {
            out.push(',');
        }
        out.push_str(&comment(dice));
    }
    if count > 0 || out.ends_with('"') || dice.one_in(4) {
        out.push_str(&gap(depth));
    }
    out.push(close);
}

fn toml_key(dice: &mut Dice, name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if is_bare && !dice.one_in(8) { name.to_owned() } else { quoted(name) }
}

fn toml_value(dice: &mut Dice, said: &Said) -> String {
    match said {
        Text(text) if text.contains('\n') && dice.one_in(2) => {
            format!("\"\"\"\n[mcp_servers.legwork]\n{text}\"\"\"")
        }
        Text(text) if !text.contains(['\'', '\n', '\t']) && dice.one_in(3) => format!("'{text}'"),
        Text(text) => quoted(text),
        Number(number) => number.to_string(),
        Flag(flag) => flag.to_string(),
        List(items) => {
            let items: Vec<String> = items.iter().map(|item| toml_value(dice, item)).collect();
            match dice.below(3) {
                0 if !items.is_empty() => format!("[ # these\n  {},\n]", items.join(",\n  ")),
                _ => format!("[{}]", items.join(", ")),
            }
        }
        Map(members) => {
            let pairs = members.iter().map(|(name, value)| {
                let key = toml_key(dice, name);
                // A table between brackets stands on one line.
                let value =
                    toml_value(dice, value).replace(" # these\n  ", "").replace(",\n]", "]");
                format!("{key} = {}", value.replace("\"\"\"\n[", "\"\"\"["))
            });
            let pairs: Vec<String> = pairs.collect();
            if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
        }
    }
}

fn toml_file(dice: &mut Dice, said: &Said) -> String {
    let mut out = if dice.one_in(3) { "# my settings\n\n".to_owned() } else { String::new() };
    if let Map(members) = said {
        toml_table(dice, members, &[], &mut out);
    }
    if dice.one_in(4) {
        out.push_str("\n# end\n");
    }
    out
}

fn toml_table(dice: &mut Dice, members: &[(String, Said)], way: &[String], out: &mut String) {
    let mut tables = Vec::new();
    for (name, value) in members {
        let key = toml_key(dice, name);
        match value {
            Map(inner) if !inner.is_empty() && dice.one_in(5) => {
                for (name, value) in inner {
                    let inner = toml_key(dice, name);
                    out.push_str(&format!("{key}.{inner} = {}\n", toml_value(dice, value)));
                }
            }
            Map(inner) if !dice.one_in(4) => tables.push((key, inner)),
            _ => {
                let comment = if dice.one_in(5) { " # why" } else { "" };
                out.push_str(&format!("{key} = {}{comment}\n", toml_value(dice, value)));
            }
        }
    }
    for (key, inner) in tables {
        let way: Vec<String> = way.iter().cloned().chain([key]).collect();
        out.push_str(dice.pick(&["", "\n", "\n\n", "\n# about this\n"]));
        let is_implied =
            !inner.is_empty() && inner.iter().all(|(_, value)| matches!(value, Map(_)));
        if !(is_implied && dice.one_in(2)) {
            out.push_str(&format!("[{}]{}\n", way.join("."), dice.pick(&["", " # it"])));
            toml_table(dice, inner, &way, out);
            continue;
        }
        for (name, value) in inner {
            let Map(inner) = value else { continue };
            let way: Vec<String> = way.iter().cloned().chain([toml_key(dice, name)]).collect();
            out.push_str(&format!("[{}]\n", way.join(".")));
            toml_table(dice, inner, &way, out);
        }
    }
}

fn yaml_file(dice: &mut Dice, said: &Said) -> String {
    let mut out = dice.pick(&["", "", "# my settings\n", "---\n", "\n"]).to_owned();
    let depth = if dice.one_in(6) { 2 } else { 0 };
    match said {
        Map(members) if members.is_empty() => {}
        Map(_) if dice.one_in(12) => out.push_str(&format!("{}\n", yaml_flow(dice, said))),
        _ => {
            let mut lines = String::new();
            yaml_block(dice, said, depth, &mut lines);
            out.push_str(&lines);
        }
    }
    out + dice.pick(&["", "", "\n# end\n"])
}

fn yaml_word(dice: &mut Dice, text: &str) -> String {
    let is_word =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic() || "/.".contains(c));
    match dice.below(3) {
        0 if is_word && text != "true" => text.to_owned(),
        1 if !text.contains(['\n', '\t']) => format!("'{}'", text.replace('\'', "''")),
        _ => quoted(text),
    }
}

fn yaml_flow(dice: &mut Dice, said: &Said) -> String {
    match said {
        Map(members) => {
            let pairs = members.iter().map(|(name, value)| {
                let key = yaml_word(dice, name);
                format!("{key}: {}", yaml_flow(dice, value))
            });
            let pairs: Vec<String> = pairs.collect();
            let between = dice.pick(&[", ", ",\n     "]);
            match dice.below(2) {
                0 => format!("{{{}}}", pairs.join(between)),
                _ => format!("{{ {} }}", pairs.join(between)),
            }
        }
        List(items) => {
            let items: Vec<String> = items.iter().map(|item| yaml_flow(dice, item)).collect();
            format!("[{}]", items.join(", "))
        }
        Text(text) => yaml_word(dice, text),
        Number(number) => number.to_string(),
        Flag(flag) => flag.to_string(),
    }
}

fn yaml_block(dice: &mut Dice, said: &Said, depth: usize, out: &mut String) {
    let space = " ".repeat(depth);
    match said {
        Map(members) => {
            for (name, value) in members {
                if dice.one_in(8) {
                    out.push_str(dice.pick(&["\n", "# about it\n", "      # so\n"]));
                }
                out.push_str(&format!("{space}{}:", yaml_word(dice, name)));
                yaml_value(dice, value, depth, out);
            }
        }
        List(items) => {
            for item in items {
                out.push_str(&format!("{space}- {}\n", yaml_flow(dice, item).replace('\n', " ")));
            }
        }
        Text(_) | Number(_) | Flag(_) => {}
    }
}

fn yaml_value(dice: &mut Dice, value: &Said, depth: usize, out: &mut String) {
    let mark = if dice.one_in(10) { format!(" &x{}", out.len()) } else { String::new() };
    let comment = if dice.one_in(8) { " # why" } else { "" };
    match value {
        Map(members) if members.is_empty() && dice.one_in(2) => {
            out.push_str(&format!("{comment}\n"))
        }
        Map(members) if !members.is_empty() && !dice.one_in(5) => {
            out.push_str(&format!("{mark}{comment}\n"));
            let step = 1 + dice.below(4);
            yaml_block(dice, value, depth + step, out);
        }
        Map(_) if dice.one_in(3) => {
            let flow = yaml_flow(dice, value).replace("\n", &format!("\n{}", " ".repeat(depth)));
            out.push_str(&format!("{mark}\n{}{flow}{comment}\n", " ".repeat(depth + 2)));
        }
        List(items) if !items.is_empty() && !dice.one_in(3) => {
            out.push_str(&format!("{mark}{comment}\n"));
            let step = if depth > 0 { dice.below(3) } else { 2 };
            yaml_block(dice, value, depth + step, out);
        }
        Text(text) if text.contains('\n') && dice.one_in(2) => {
            let inner = " ".repeat(depth + 2);
            let lines = text.replace('\n', &format!("\n{inner}"));
            out.push_str(&format!(
                "{mark} {}\n{inner}{lines}\n{inner}# text\n",
                dice.pick(&["|", ">-", "|+"])
            ));
        }
        _ => {
            let flow = yaml_flow(dice, value).replace('\n', &format!("\n{}", " ".repeat(depth)));
            out.push_str(&format!("{mark} {flow}{comment}\n"));
        }
    }
}
