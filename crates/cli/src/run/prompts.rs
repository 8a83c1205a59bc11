//! What a person wants done: prompts as they were typed, and what each task is called.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use legwork_protocol::limits::PROMPT_MAX_BYTES;
use legwork_protocol::refusal::plain;
use legwork_views::model::text::first_line;

use crate::fault::Fault;

/// Whether words may be prompts of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    Each,
    /// Several of them are more likely one prompt without its quotes.
    Suspicious,
}

/// The prompts, `-` replaced by what is read there.
pub fn read(typed: &[String], words: Words, stdin: &mut dyn Read) -> Result<Vec<String>, Fault> {
    let is_sentence = |prompt: &String| prompt == "-" || prompt.contains(char::is_whitespace);
    if words == Words::Suspicious && typed.len() > 1 && !typed.iter().any(is_sentence) {
        let together = plain(&typed.join(" "), 200);
        return Err(Fault::Usage(format!(
            "Each of these {} words would be a task of its own. Quote a prompt that has several:\n\
             \n  legwork run \"{together}\"\n\nIf it is meant so, add --each.",
            typed.len()
        )));
    }
    if typed.iter().filter(|prompt| *prompt == "-").count() > 1 {
        return Err(Fault::Usage("`-` reads all of stdin, so it can be given once.".to_owned()));
    }
    let mut prompts = Vec::new();
    for prompt in typed {
        let text = match prompt.as_str() {
            "-" => read_all(stdin, "on stdin").map_err(Fault::Input)??,
            typed => typed.to_owned(),
        };
        prompts.push(checked(text)?);
    }
    Ok(prompts)
}

/// The prompt that is in this file.
pub fn of_file(path: &Path) -> Result<String, Fault> {
    let fault = Fault::file("read", path);
    let mut file = File::open(path).map_err(&fault)?;
    let place = format!("in {}", path.display());
    checked(read_all(&mut file, &place).map_err(fault)??)
}

fn checked(prompt: String) -> Result<String, Fault> {
    if prompt.trim().is_empty() {
        return Err(Fault::Usage("A prompt is empty. Say what is to be done.".to_owned()));
    }
    if prompt.len() > PROMPT_MAX_BYTES {
        return Err(Fault::Usage(format!(
            "A prompt has at most {PROMPT_MAX_BYTES} bytes. Put it into a file, and say where it is."
        )));
    }
    Ok(prompt)
}

/// All that can be read there, or that it is no prompt.
fn read_all(from: &mut dyn Read, place: &str) -> io::Result<Result<String, Fault>> {
    let mut bytes = Vec::new();
    from.take(PROMPT_MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    // The limit may have cut a character in half.
    if bytes.len() > PROMPT_MAX_BYTES {
        return Ok(Ok(String::from_utf8_lossy(&bytes).into_owned()));
    }
    let text = String::from_utf8(bytes);
    Ok(text.map_err(|_| Fault::Usage(format!("The prompt {place} is not UTF-8."))))
}

/// What the task of a prompt is called: as asked, numbered if there are several, else after the
/// first line of the prompt.
pub fn description(asked: Option<&str>, prompt: &str, number: usize, of: usize) -> String {
    match asked {
        Some(asked) if of > 1 => format!("{asked} ({} of {of})", number + 1),
        Some(asked) => asked.to_owned(),
        None => first_line(prompt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompts(typed: &[&str], words: Words, stdin: &str) -> Result<Vec<String>, String> {
        let typed: Vec<String> = typed.iter().map(|prompt| (*prompt).to_owned()).collect();
        read(&typed, words, &mut stdin.as_bytes()).map_err(|fault| fault.to_string())
    }

    #[test]
    fn prompts_are_taken_as_typed_and_a_dash_is_stdin() {
        for (typed, stdin, expected) in [
            (&["fix the bug"][..], "", &["fix the bug"][..]),
            (&["fix"], "", &["fix"]),
            (&["fix the bug", "test"], "", &["fix the bug", "test"]),
            (&["-"], "from\nhere\n", &["from\nhere\n"]),
            (&["-", "test"], "from here", &["from here", "test"]),
        ] {
            let expected = expected.iter().map(|prompt| (*prompt).to_owned()).collect();
            assert_eq!(prompts(typed, Words::Suspicious, stdin), Ok(expected), "{typed:?}");
        }
        let each = prompts(&["lint", "test"], Words::Each, "");
        assert_eq!(each.unwrap(), ["lint", "test"]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_do() {
        let long = "x".repeat(PROMPT_MAX_BYTES + 1);
        for (typed, stdin, hint) in [
            (&["fix", "the", "bug"][..], "", "legwork run \"fix the bug\""),
            (&["fix", "bug"], "", "--each"),
            (&["-", "-"], "x", "once"),
            (&["-"], "", "empty"),
            (&[" \n"], "", "empty"),
            (&["-"], &long, "at most"),
            (&[&long], "", "at most"),
        ] {
            let why = prompts(typed, Words::Suspicious, stdin).unwrap_err();
            assert!(why.contains(hint), "{hint}: {why}");
        }
        let binary = read(&["-".to_owned()], Words::Each, &mut &b"\xff"[..]).unwrap_err();
        assert!(binary.to_string().contains("UTF-8"), "{binary}");
    }

    #[test]
    fn a_task_is_called_as_asked_or_after_the_first_line() {
        assert_eq!(description(None, "\n  fix\tit\nand more", 0, 1), "fix it");
        assert_eq!(description(None, &"é".repeat(61), 0, 1), format!("{}…", "é".repeat(59)));
        assert_eq!(description(Some("Mine"), "fix it", 0, 1), "Mine");
        assert_eq!(description(Some("Mine"), "fix it", 1, 3), "Mine (2 of 3)");
    }
}
