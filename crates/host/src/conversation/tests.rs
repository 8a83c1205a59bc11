//! What readers are told, page by page.

use legwork_protocol::api::transcript::{EntryKind, ToolState, ToolUse};

use super::*;

fn text(key: &str, text: &str, open: bool) -> Entry {
    Entry { key: key.to_owned(), text: text.into(), open, ..Entry::default() }
}

fn tool(key: &str, state: ToolState, output: &str) -> Entry {
    let open = !state.is_over();
    let tool = ToolUse { state, output: output.into(), ..ToolUse::default() };
    Entry { kind: EntryKind::Tool, tool: Some(tool), ..text(key, "", open) }
}

fn after(page: &Page) -> Reading {
    Reading { after: Some(page.next.clone()), ..Reading::default() }
}

fn keys(page: &Page) -> Vec<&str> {
    page.entries.iter().map(|entry| entry.key.as_str()).collect()
}

#[test]
fn p3_a_reader_is_told_what_is_new_and_no_more() {
    let mut all = vec![text("a", "do it", false), text("b", "I beg", true)];
    let first = page(all.clone(), &Reading::default());
    assert_eq!((keys(&first), first.more), (vec!["a", "b"], false));
    assert!(!page(all.clone(), &after(&first)).has_news());

    all[1] = text("b", "I begin", true);
    let second = page(all.clone(), &after(&first));
    assert_eq!(keys(&second), ["b"]);
    assert_eq!((second.entries[0].text.text.as_str(), second.entries[0].from), ("in", 5));

    all[1] = text("b", "I begin", false);
    all.push(tool("c", ToolState::Running, ""));
    all.push(tool("d", ToolState::Running, ""));
    let third = page(all.clone(), &after(&second));
    assert_eq!(keys(&third), ["b", "c", "d"], "that it ended is news");
    assert_eq!((third.entries[0].text.text.as_str(), third.entries[0].from), ("", 7));

    all[3] = tool("d", ToolState::Done, "found");
    let fourth = page(all.clone(), &after(&third));
    assert_eq!(keys(&fourth), ["d"], "the one that ends first is told first");
    all[2] = tool("c", ToolState::Failed, "");
    let fifth = page(all.clone(), &after(&fourth));
    assert_eq!(keys(&fifth), ["c"]);
    assert!(!page(all, &after(&fifth)).has_news());
    assert_eq!(fifth.next, Position { settled: Some("d".to_owned()), open: Vec::new() });
}

#[test]
fn p3_a_text_whose_beginning_was_missing_is_told_again_whole() {
    let late = Entry { beginning_missing: true, ..text("a", "the end", true) };
    let first = page(vec![late], &Reading::default());
    let second = page(vec![text("a", "this is the end", false)], &after(&first));
    assert_eq!(second.entries, [text("a", "this is the end", false)]);
}

#[test]
fn p3_a_position_that_is_gone_begins_again() {
    let first = page(vec![text("a", "1", false), text("b", "2", false)], &Reading::default());
    let again = page(vec![text("a", "1", false)], &after(&first));
    assert_eq!((keys(&again), again.restarted), (vec!["a"], true));
}

#[test]
fn p3_a_host_may_leave_out_what_is_settled() {
    let all = [text("a", "1", false), text("b", "2", false), text("c", "3", false)];
    let first = page(all[..2].to_vec(), &Reading::default());
    assert_eq!(keys(&page(all[1..].to_vec(), &after(&first))), ["c"]);
}

#[test]
fn g3_a_page_is_bounded_and_the_next_goes_on() {
    let long = "x".repeat(400 << 10);
    let all: Vec<Entry> = (0..9).map(|n| text(&n.to_string(), &long, false)).collect();
    let (mut reading, mut seen, mut pages) = (Reading::default(), Vec::new(), 0);
    loop {
        let page = page(all.clone(), &reading);
        reading = after(&page);
        seen.extend(page.entries);
        pages += 1;
        if !page.more {
            break;
        }
    }
    assert_eq!((seen, pages), (all, 3));
}

#[test]
fn g3_what_tools_say_is_told_in_short_unless_all_is_wanted() {
    let long = "é".repeat(100_000);
    let all = vec![tool("a", ToolState::Done, &long)];
    let short = page(all.clone(), &Reading::default());
    let output = &short.entries[0].tool.as_ref().unwrap().output;
    assert_eq!(output.text.chars().count() as u64 + output.left_out, 100_000);
    assert!(output.text.len() <= TRANSCRIPT_SHORT_BYTES && output.left_out > 0);
    let whole = page(all, &Reading { whole: true, ..Reading::default() });
    assert_eq!(whole.entries[0].tool.as_ref().unwrap().output, long.as_str().into());
}

#[test]
fn g3_the_longest_entries_fit_into_a_line() {
    let worst = "\u{1}".repeat(8 << 20);
    let mut entry = tool("a", ToolState::Done, &worst);
    entry.text = worst.as_str().into();
    let tool = entry.tool.as_mut().unwrap();
    (tool.input, tool.error) = (worst.as_str().into(), worst.as_str().into());
    let all = page(vec![entry], &Reading { whole: true, ..Reading::default() });
    let written = serde_json::to_vec(&all.entries).unwrap();
    assert!(written.len() < legwork_protocol::limits::LINE_MAX_BYTES - (64 << 10));
    assert!(all.entries[0].text.left_out > 0);
}

#[test]
fn g3_what_never_ends_does_not_make_a_position_grow_for_ever() {
    let mut all = vec![tool("stuck", ToolState::Running, "")];
    all.extend((0..200).map(|n| text(&n.to_string(), "x", false)));
    let first = page(all.clone(), &Reading::default());
    assert_eq!(first.next.open.len(), TRANSCRIPT_OPEN_MAX);
    assert!(!page(all, &after(&first)).has_news());
}

#[test]
fn p3_one_run_is_told_without_the_others() {
    let all = vec![text("a", "1", false), Entry { run: 1, ..text("b", "2", false) }];
    let page = page(all, &Reading { run: Some(1), ..Reading::default() });
    assert_eq!(keys(&page), ["b"]);
}

#[test]
fn v1_one_entry_is_read_alone_and_whole() {
    let long = "x".repeat(TRANSCRIPT_SHORT_BYTES + 1);
    let all = vec![text("a", "do it", false), tool("b", ToolState::Done, &long)];
    let short = page(all.clone(), &Reading::default());
    assert_eq!(short.entries[1].tool.as_ref().unwrap().output.left_out, 1);
    let reading = Reading { entry: Some("b".to_owned()), whole: true, ..Reading::default() };
    let whole = page(all, &reading);
    assert_eq!(keys(&whole), ["b"]);
    assert_eq!(whole.entries[0].tool.as_ref().unwrap().output.text, long);
}
