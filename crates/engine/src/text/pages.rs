//! How much of a long result is shown at once, and how to read the rest.

use legwork_protocol::TaskId;
use legwork_protocol::limits::{PAGE_MAX_BYTES, PAGE_MAX_LINES};

use super::View;

/// The part of a kept result that a view shows.
pub fn show(task: TaskId, kept: &str, view: View) -> String {
    match view {
        View::Page { offset } => page(task, kept, offset),
        View::Start { max_chars } => start(task, kept, max_chars),
    }
}

fn page(task: TaskId, kept: &str, offset: u64) -> String {
    let all = kept.chars().count() as u64;
    if offset > 0 && offset >= all {
        return format!("(The result has {all} characters; there is nothing from {offset} on.)");
    }
    let mut bytes = 0;
    let mut lines = 0;
    let mut shown = String::new();
    let mut next = offset;
    for c in kept.chars().skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
        bytes += c.len_utf8();
        lines += usize::from(c == '\n');
        if bytes > PAGE_MAX_BYTES || lines >= PAGE_MAX_LINES {
            break;
        }
        shown.push(c);
        next += 1;
    }
    if next < all {
        shown.push_str(&format!(
            "\n\n(Characters {offset} to {next} of {all}. Read on with \
             background_output(task_id: \"{task}\", offset: {next}).)"
        ));
    }
    shown
}

fn start(task: TaskId, kept: &str, max_chars: u32) -> String {
    let all = kept.chars().count();
    let max = max_chars as usize;
    if max_chars == 0 || all <= max {
        return kept.to_owned();
    }
    let shown: String = kept.chars().take(max).collect();
    format!(
        "{shown}\n\n(The first {max} of {all} characters. Read on with \
         background_output(task_id: \"{task}\", offset: {max}).)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> TaskId {
        TaskId::from_number(1)
    }

    #[test]
    fn a_short_result_is_shown_whole() {
        assert_eq!(show(task(), "hello", View::Page { offset: 0 }), "hello");
        assert_eq!(show(task(), "hello", View::Start { max_chars: 5 }), "hello");
        assert_eq!(show(task(), "", View::Page { offset: 0 }), "");
    }

    #[test]
    fn pages_put_together_are_the_result() {
        let kept: String = (0..60_000).map(|n| if n % 7 == 0 { 'é' } else { 'x' }).collect();
        let mut all = String::new();
        let mut offset = 0;
        while (offset as usize) < kept.chars().count() {
            let page = page(task(), &kept, offset);
            let body = page.split("\n\n(Characters").next().unwrap_or_default();
            offset += body.chars().count() as u64;
            all.push_str(body);
        }
        assert_eq!(all, kept);
    }

    #[test]
    fn many_lines_are_cut_too() {
        let kept = "line\n".repeat(5000);
        let page = page(task(), &kept, 0);
        assert!(page.lines().count() < 2000);
        assert!(page.contains("Read on with"));
    }

    #[test]
    fn an_offset_past_the_end_says_so() {
        assert!(show(task(), "abc", View::Page { offset: u64::MAX }).contains("3 characters"));
    }

    #[test]
    fn a_notice_is_cut_at_its_limit_with_the_call_for_the_rest() {
        let shown = show(task(), "abcdef", View::Start { max_chars: 3 });
        assert!(shown.starts_with("abc\n"));
        assert!(shown.contains("offset: 3"));
    }
}
