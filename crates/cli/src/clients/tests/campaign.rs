//! Random settings of people, edited and restored. `PROPTEST_CASES=3000 cargo test -p legwork --bin
//! legwork p14_whatever -- --nocapture` tries more of them and prints how many were refused.

use super::people::{Dice, Habit, OLD, said, text};
use super::{settings, words};
use crate::clients::editor::{Format, Left, Settings, Unclear};
use crate::clients::tree::{Kind, Node};

const NEW: &str = "/new/bin/legwork";

/// Of one client's files.
#[derive(Debug, Default)]
struct Count {
    files: usize,
    with_ours: usize,
    not_understood: usize,
}

fn cases() -> u64 {
    let named = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    named.unwrap_or(200)
}

/// What a file says besides what names one of our programs, by another way than the editor's.
fn others(settings: &Settings, text: &str) -> Node {
    let bare = text.trim_start_matches('\u{feff}');
    let tree = settings.format.read(bare).unwrap_or_else(|| panic!("unreadable: {text}"));
    pruned(without_ours(tree))
}

fn is_ours(node: &Node) -> bool {
    let is_named = |node: &Node| {
        let text = node.text().unwrap_or_default();
        let end = text.strip_prefix(OLD).or_else(|| text.strip_prefix(NEW));
        end.is_some_and(|end| end.is_empty() || end.starts_with(" hook "))
    };
    node.get("command").or_else(|| node.get("cmd")).is_some_and(is_named)
}

fn is_our_word(node: &Node) -> bool {
    node.text().or_else(|| node.items().first()?.text()) == Some("./ours.js")
}

fn without_ours(mut node: Node) -> Node {
    match &mut node.kind {
        Kind::Map(members) => {
            members.retain(|member| !is_ours(&member.value));
            for member in members {
                // Of YAML: a name without a value, to which ours was added.
                if member.value.is_unsaid() {
                    member.value.kind = Kind::Map(Vec::new());
                }
                member.value = without_ours(member.value.clone());
            }
        }
        Kind::List(items) => {
            items.retain(|item| !is_ours(item) && !is_our_word(item));
            *items = items.drain(..).map(without_ours).collect();
        }
        Kind::Text(_) | Kind::Other(_) => {}
    }
    node
}

/// Without the maps and lists in it that have nothing in them.
fn pruned(mut node: Node) -> Node {
    match &mut node.kind {
        Kind::Map(members) => {
            for member in members.iter_mut() {
                member.value = pruned(member.value.clone());
            }
            members.retain(|member| !member.value.is_empty());
        }
        Kind::List(items) => {
            *items = items.drain(..).map(pruned).filter(|item| !item.is_empty()).collect();
        }
        Kind::Text(_) | Kind::Other(_) => {}
    }
    node
}

/// The text with something of a person's own beside what we have added.
fn with_neighbours(format: Format, with: &str) -> String {
    match format {
        Format::Json => with
            .replacen("\"legwork\": {", "\"zzz\": { \"command\": \"z\" }, \"legwork\": {", 1)
            .replace(
                &format!("{{ \"command\": \"{NEW} hook"),
                &format!("{{ \"command\": \"./z.sh\" }}, {{ \"command\": \"{NEW} hook"),
            ),
        Format::Toml => format!("{with}\n[mcp_servers.zzz]\ncommand = \"z\"\n"),
        Format::Yaml => {
            let lines = with.split_inclusive('\n').map(|line| {
                let space = &line[..line.len() - line.trim_start().len()];
                let is_ours = line.trim() == "legwork:";
                let more =
                    if is_ours { format!("{space}zzz:\n{space}  cmd: z\n") } else { String::new() };
                more + line
            });
            lines.collect()
        }
    }
}

fn beside(settings: &Settings, with: &str, count: &mut Count) {
    let beside = with_neighbours(settings.format, with);
    if settings.format.read(beside.trim_start_matches('\u{feff}')).is_none() {
        return;
    }
    let left = settings.remove(&beside);
    if left == Err(Unclear::NotUnderstood) {
        println!("refused: {beside:?}");
        count.not_understood += 1;
        return;
    }
    let Ok(Some(Left::Text(left))) = left else { panic!("{left:?}: {beside}") };
    assert!(!settings.has_any(&left), "{beside}\n=>\n{left}");
    assert_eq!(others(settings, &beside), others(settings, &left), "{beside}\n=>\n{left}");
}

fn one(settings: &Settings, before: &str, count: &mut Count) {
    let bare = before.trim_start_matches('\u{feff}');
    assert!(settings.format.read(bare).is_some(), "the text is wrong: {before}");
    count.files += 1;
    let had_ours = settings.has_any(before);
    count.with_ours += usize::from(had_ours);
    let with = match settings.add(before, NEW, false) {
        Ok(with) => with,
        Err(Unclear::NotUnderstood) => {
            count.not_understood += 1;
            println!("refused: {before:?}");
            return;
        }
        Err(Unclear::Foreign) => panic!("nobody else has our name: {before}"),
    };
    assert!(settings.has_all(&with, NEW), "{before}\n=>\n{with}");
    assert_eq!(others(settings, before), others(settings, &with), "{before}\n=>\n{with}");
    assert_eq!(settings.add(&with, NEW, false).as_ref(), Ok(&with), "twice: {before}");
    beside(settings, &with, count);
    let left = settings.remove(&with);
    if !had_ours {
        let restored = Ok(Some(Left::Text(before.to_owned())));
        assert_eq!(left, restored, "{before}\n=>\n{with}");
        assert_eq!(settings.remove(before), Ok(None), "{before}");
        return;
    }
    // What a person had of ours goes, and nothing else.
    for left in [left, settings.remove(before)] {
        match left {
            Ok(Some(Left::Text(left))) => {
                assert!(!settings.has_any(&left), "{before}\n=>\n{left}");
                assert_eq!(
                    others(settings, before),
                    others(settings, &left),
                    "{before}\n=>\n{left}"
                );
            }
            Ok(Some(Left::Nothing { .. })) => {
                assert!(others(settings, before) == others(settings, &settings.base), "{before}");
            }
            Err(Unclear::NotUnderstood) => {
                println!("refused: {with:?}");
                count.not_understood += 1;
            }
            other => panic!("{other:?}: {before}"),
        }
    }
}

fn campaign(name: &str, settings: &Settings, habit: Habit) {
    let mut count = Count::default();
    for seed in 0..cases() {
        let mut dice = Dice::new(seed);
        let said = said(&mut dice, habit);
        let text = text(&mut dice, &said, habit.format);
        one(settings, &text, &mut count);
    }
    println!("{name}: {count:?}");
    assert!(count.not_understood * 10 < count.files, "{name}: {count:?}");
}

const PLAIN: Habit = Habit {
    format: Format::Json,
    servers: "mcpServers",
    command: "command",
    events: &[],
    client: "",
    is_grouped: false,
    word: "",
};

#[test]
fn p14_whatever_stands_in_a_file_stays_and_every_edit_is_undone_to_the_byte() {
    let hooks = Habit { servers: "", events: &["stop"], client: "cursor", ..PLAIN };
    let grouped = Habit { is_grouped: true, ..PLAIN };
    let events = &["SessionStart", "UserPromptSubmit"];
    let claude = Habit { servers: "", events, client: "claude", ..grouped };
    let gemini = Habit { events: &["BeforeAgent", "AfterTool"], client: "gemini", ..grouped };
    for (name, settings, habit) in [
        ("opencode", words(), Habit { servers: "", word: "./ours.js", ..PLAIN }),
        ("claude, server", settings("claude", "plugin.json"), PLAIN),
        ("claude, hooks", settings("claude", "hooks.json"), claude),
        ("gemini", settings("gemini", "settings.json"), gemini),
        ("cursor, servers", settings("cursor", "mcp.json"), PLAIN),
        ("cursor, hooks", settings("cursor", "hooks.json"), hooks),
        ("vscode", settings("vscode", "mcp.json"), Habit { servers: "servers", ..PLAIN }),
        (
            "codex",
            settings("codex", "config.toml"),
            Habit { format: Format::Toml, servers: "mcp_servers", ..PLAIN },
        ),
        (
            "goose",
            settings("goose", "config.yaml"),
            Habit { format: Format::Yaml, servers: "extensions", command: "cmd", ..PLAIN },
        ),
    ] {
        campaign(name, &settings, habit);
    }
}
