//! Cuts Rust source into code, comments and string literals, and code into words.
//!
//! Just enough of the language for the tidy rules: a word in a comment or a string is not a use of
//! it. It does not judge; text that is not Rust gives some spans, never a panic.

/// What a stretch of source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Anything that is none of the others.
    Code,
    /// A comment, also a doc comment.
    Comment,
    /// A string, byte or character literal with its quotes.
    Text,
    /// A raw string literal with its quotes.
    RawText,
}

/// A stretch of source of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// What it is.
    pub kind: Kind,
    /// The byte where it begins.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}

/// A word, number or single sign of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// As written.
    pub text: String,
    /// The line that it stands on, from 1.
    pub line: usize,
}

/// The spans of a source file, in order, without gaps.
pub fn lex(source: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let (kind, end) = next_span(source, at);
        match spans.last_mut() {
            Some(last) if last.kind == Kind::Code && kind == Kind::Code => last.end = end,
            _ => spans.push(Span { kind, start: at, end }),
        }
        at = end;
    }
    spans
}

/// The source with everything but code blanked out; every character keeps its line and column.
pub fn code_only(source: &str, spans: &[Span]) -> String {
    let mut code = String::with_capacity(source.len());
    for span in spans {
        let part = &source[span.start..span.end];
        if span.kind == Kind::Code {
            code.push_str(part);
        } else {
            code.extend(part.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
    }
    code
}

/// The words and signs of code that [`code_only`] has prepared.
pub fn tokens(code: &str) -> Vec<Token> {
    let mut found = Vec::new();
    for (index, text) in code.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let length = if word == 0 { first.len_utf8() } else { word };
            found.push(Token { text: rest[..length].to_owned(), line: index + 1 });
            rest = rest[length..].trim_start();
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn next_span(source: &str, at: usize) -> (Kind, usize) {
    let rest = &source[at..];
    if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        return (Kind::Comment, at + length);
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, at + block_comment(rest));
    }
    if rest.starts_with('"') {
        return (Kind::Text, at + quoted(rest));
    }
    let begins_word = !source[..at].chars().next_back().is_some_and(is_word);
    if begins_word && let Some(length) = raw_text(rest) {
        return (Kind::RawText, at + length);
    }
    if let Some(length) = character(rest) {
        return (Kind::Text, at + length);
    }
    (Kind::Code, at + rest.chars().next().map_or(1, char::len_utf8))
}

/// The length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a string that begins with a quote and may hold escapes.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a raw string, if one begins here; `r#word` is a name.
fn raw_text(rest: &str) -> Option<usize> {
    let unprefixed = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    let after_r = unprefixed.strip_prefix('r')?;
    let body = after_r.trim_start_matches('#');
    let hashes = after_r.len() - body.len();
    let body = body.strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&closing).map_or(body.len(), |found| found + closing.len());
    Some(rest.len() - body.len() + end)
}

/// The length of a character literal, if one begins here; a lifetime is code.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    if first == '\\' {
        // The escaped sign may itself be a quote.
        let escaped = inside.chars().nth(1)?;
        let skipped = 2 + escaped.len_utf8();
        return rest[skipped..].find('\'').map(|found| skipped + found + 1);
    }
    let length = 1 + first.len_utf8();
    rest[length..].starts_with('\'').then_some(length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, code: &str) {
        let spans = lex(source);
        assert_eq!(code_only(source, &spans).trim_end(), code);
        let covered: String = spans.iter().map(|span| &source[span.start..span.end]).collect();
        assert_eq!(covered, source);
    }

    #[test]
    fn comments_and_strings_are_blanked() {
        check("let a = \"todo!()\"; // dbg!()", "let a =          ;");
        check("a /* b /* c */ d */ e", "a                   e");
        check("a\n/* b\nc */ d", "a\n    \n     d");
        check(r#"f("say \"no\" \\", b"x", c)"#, "f(               , b   , c)");
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        check("a(r\"\\\", b)", "a(    , b)");
        check("a(r#\"x \" y\"#, b)", "a(          , b)");
        check("a(br##\"\"#\"##, b)", "a(          , b)");
        check("r#type + xr", "r#type + xr");
    }

    #[test]
    fn characters_are_text_and_lifetimes_are_code() {
        check("('\"', 'x', '\\'', '\\u{1F600}', b)", "(   ,    ,     ,            , b)");
        check("('é', b)", "(   , b)");
        check("fn f<'a, 'b>(x: &'a str) {}", "fn f<'a, 'b>(x: &'a str) {}");
    }

    #[test]
    fn half_a_source_gives_spans_and_no_panic() {
        let whole = "r#\"é\"# 'é' \"\\é\" /* é */ // é\n'\\é' b'\\'' r##\"";
        for end in (0..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let part = &whole[..end];
            assert_eq!(lex(part).last().map_or(0, |span| span.end), part.len());
        }
    }

    #[test]
    fn words_keep_their_lines() {
        let found = tokens("use a::b_1;\n\n'é x");
        let seen: Vec<(&str, usize)> = found.iter().map(|t| (t.text.as_str(), t.line)).collect();
        let expected =
            [("use", 1), ("a", 1), (":", 1), (":", 1), ("b_1", 1), (";", 1), ("'", 3), ("é", 3)];
        assert_eq!(seen[..8], expected);
        assert_eq!(seen[8], ("x", 3));
    }
}
