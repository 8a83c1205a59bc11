//! Conversations as a person reads them.

use legwork_protocol::Time;

use super::*;

fn entry(key: &str, kind: EntryKind, text: &str) -> Entry {
    let at = Some(Time(1_700_000_000_000));
    Entry { key: key.to_owned(), kind, at, text: text.into(), ..Entry::default() }
}

fn growing(key: &str, from: u64, text: &str) -> Entry {
    Entry { open: true, from, ..entry(key, EntryKind::Text, text) }
}

fn tool(key: &str, state: ToolState, output: &str) -> Entry {
    let tool = ToolUse {
        name: "bash".to_owned(),
        title: "ls -la".to_owned(),
        state,
        output: output.into(),
        ..ToolUse::default()
    };
    let ended = state.is_over().then_some(Time(1_700_000_001_500));
    let open = !state.is_over();
    Entry { tool: Some(tool), ended, open, ..entry(key, EntryKind::Tool, "") }
}

/// As it looks in a pipe, without times.
fn told(depth: Depth, entries: &[Entry]) -> String {
    let mut teller = Teller::new("general", depth);
    let mut out: String = entries.iter().map(|entry| teller.tell(entry, false)).collect();
    out.push_str(&teller.end());
    let out = anstream::adapter::strip_str(&out).to_string();
    let clock = clock(Time(1_700_000_000_000));
    let moment = moment(Time(1_700_000_000_000));
    out.replace(&moment, "MOMENT").replace(&clock, "TIME")
}

#[test]
fn p3_a_conversation_reads_as_who_said_what() {
    let mut failed = tool("d", ToolState::Failed, "");
    failed.tool.as_mut().unwrap().error = "no such file".into();
    let resumed = Entry { run: 1, ..entry("f", EntryKind::Prompt, "and now?") };
    let entries = [
        entry("a", EntryKind::Prompt, "find it\nand say why"),
        entry("b", EntryKind::Thought, "hm"),
        tool("c", ToolState::Done, "a\nb\n"),
        failed,
        entry("e", EntryKind::Text, "It is here."),
        resumed,
        Entry { run: 1, ..entry("g", EntryKind::Error, "no luck") },
    ];
    let expected = "\
── launched, MOMENT ──
TIME  asked
    find it
    and say why
TIME  general thinks
    hm
TIME  ✓ bash  ls -la  1.5s
    a
    b
TIME  ✗ bash  ls -la  1.5s
    no such file
TIME  general
    It is here.

── resumed (run 1), MOMENT ──
TIME  asked
    and now?
TIME  failed
    no luck
";
    assert_eq!(told(Depth::Short, &entries), expected);
}

#[test]
fn p3_a_text_grows_on_its_own_lines_also_around_a_tool_call() {
    let entries = [
        growing("a", 0, "Let me "),
        growing("a", 7, "look\nat it"),
        Entry { open: false, ..growing("a", 17, ".") },
        tool("b", ToolState::Running, ""),
        tool("b", ToolState::Running, "so far"),
        tool("b", ToolState::Done, "found"),
        growing("c", 0, "It is"),
        Entry { open: false, ..growing("c", 5, "") },
    ];
    let expected = "\
── launched, MOMENT ──
TIME  general
    Let me look
    at it.
TIME  → bash  ls -la
TIME  ✓ bash  ls -la  1.5s
    found
TIME  general
    It is
";
    assert_eq!(told(Depth::Short, &entries), expected);
}

#[test]
fn p3_who_comes_in_the_middle_of_a_text_gets_it_whole_in_the_end() {
    let late = Entry { beginning_missing: true, ..growing("a", 0, "the end") };
    let whole = entry("a", EntryKind::Text, "this is the end");
    let expected = "\
── launched, MOMENT ──
TIME  general (from here on)
    the end
TIME  general (the whole text)
    this is the end
";
    assert_eq!(told(Depth::Short, &[late, whole]), expected);
}

#[test]
fn p3_what_tools_give_back_is_cut_with_a_count_unless_all_is_wanted() {
    let long: String = (0..100).map(|n| format!("line {n}\n")).collect();
    let short = told(Depth::Short, &[tool("a", ToolState::Done, &long)]);
    assert!(short.contains("line 7\n") && !short.contains("line 8"), "{short}");
    let left = long.trim_end().chars().count() - "line 0\n".len() * 8 + 1;
    assert!(short.contains(&format!("… {left} more characters; --full shows them")), "{short}");
    let full = told(Depth::Full, &[tool("a", ToolState::Done, &long)]);
    assert!(full.contains("line 99") && !full.contains('…'), "{full}");
    let mut cut = tool("a", ToolState::Done, "x");
    cut.tool.as_mut().unwrap().output.left_out = 5;
    assert!(told(Depth::Full, &[cut]).contains("… 5 more characters; which were not kept"));
}

#[test]
fn p3_nothing_that_a_helper_writes_steers_a_terminal() {
    let nasty = "a\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}b\r\u{2066}c\nd";
    let mut tool = tool("b", ToolState::Done, nasty);
    let of_tool = tool.tool.as_mut().unwrap();
    (of_tool.title, of_tool.name) = (nasty.to_owned(), nasty.to_owned());
    (of_tool.error, of_tool.input) = (nasty.into(), nasty.into());
    let kinds = [EntryKind::Prompt, EntryKind::Text, EntryKind::Thought, EntryKind::Error];
    let entries = kinds.iter().enumerate().map(|(n, kind)| entry(&n.to_string(), *kind, nasty));
    let entries: Vec<Entry> = entries.chain([tool]).collect();
    let mut teller = Teller::new(nasty, Depth::Full);
    let out: String = entries.iter().map(|entry| teller.tell(entry, false)).collect();
    // Only our own colours are left, which end with an `m`.
    let own = anstream::adapter::strip_str(&out).to_string();
    let steers = |c: char| c != '\n' && legwork_protocol::refusal::steers(c);
    assert!(!own.chars().any(steers), "{own:?}");
    assert!(out.split('\u{1b}').skip(1).all(|rest| rest.starts_with('[') && rest.contains('m')));
    assert!(!out.contains("\u{1b}[2J") && !out.contains("\u{1b}]"), "{out:?}");
}

#[test]
fn p3_a_prompt_that_the_records_told_is_not_told_twice() {
    let mut teller = Teller::new("general", Depth::Short);
    let prompt = entry("a", EntryKind::Prompt, "do it");
    assert!(!teller.tell(&prompt, true).is_empty());
    teller.restart();
    assert!(teller.tell(&prompt, false).is_empty());
    assert!(!teller.tell(&entry("b", EntryKind::Text, "done"), false).is_empty());
}
