//! What is written reads back, and what is not ours is an error of the right kind.

use super::*;
use crate::tools::tools;

fn assert_is_one_line(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap();
    let inside = text.strip_suffix('\n').unwrap();
    assert!(!inside.contains(['\n', '\r', '\u{2028}', '\u{2029}']), "{inside}");
}

/// The plugin is written against `lines.jsonl`, in another language. Compared as values: in which
/// order the fields of free JSON are written depends on what else is built with the workspace.
#[test]
fn every_line_is_written_as_it_was_read() {
    for line in include_str!("../../../tests/lines.jsonl").lines() {
        let to_daemon = decode_to_daemon(line.as_bytes()).map(|line| encode(&line));
        let from_daemon = decode_from_daemon(line.as_bytes()).map(|line| match line {
            FromDaemon::Refused { id, refusal, .. } => encode(&FromDaemon::refused(id, refusal)),
            line => encode(&line),
        });
        let written = to_daemon.or(from_daemon).expect(line);
        assert_is_one_line(&written);
        let value = |line: &[u8]| serde_json::from_slice::<Value>(line).unwrap();
        assert_eq!(value(&written), value(line.as_bytes()));
    }
    let hello = FromDaemon::Hello { version: LINE_VERSION, build: "0.1.0".into(), tools: tools() };
    assert_eq!(decode_from_daemon(&encode(&hello)), Ok(hello));
}

#[test]
fn data_reads_the_same_in_whatever_order_its_fields_come() {
    let data = Answer::Cleared { tasks: 2, unfinished: 1 };
    let data = FromDaemon::Data { id: 7, data };
    assert!(encode(&data).starts_with(DATA_BEGINS.as_bytes()));
    let of = r#""data":{"new":1,"of":{"unfinished":1,"tasks":2},"is":"cleared"}"#;
    for line in [
        format!(r#"{{"type":"data",{of},"new":[{{}}],"id":7}}"#),
        format!(r#"{{{of},"id":7,"type":"data"}}"#),
    ] {
        assert_eq!(decode_from_daemon(line.as_bytes()), Ok(data.clone()), "{line}");
    }
    let what = |line: &str| decode_from_daemon(line.as_bytes()).unwrap_err().to_string();
    let unknown = r#"{"type":"data","id":7,"data":{"is":"none","of":1}}"#;
    assert!(what(unknown).contains("unknown variant `none`"), "{}", what(unknown));
}

#[test]
fn fields_that_are_not_known_are_passed_over() {
    let line = br#"{"new":[1],"type":"cancel","id":7,"reason":"esc"}"#;
    assert_eq!(decode_to_daemon(line), Ok(ToDaemon::Cancel { id: 7 }));
}

#[test]
fn a_hello_of_another_version_is_known_for_what_it_is() {
    let other = Err(BadLine::OtherVersion { theirs: 3 });
    for line in [
        r#"{"type":"hello","version":3,"build":"9","role":{"is":"client"}}"#,
        r#"{"type":"hello","version":3,"build":9,"role":"of a later time"}"#,
    ] {
        assert_eq!(decode_to_daemon(line.as_bytes()), other);
    }
    let daemon = br#"{"type":"hello","version":3}"#;
    assert_eq!(decode_from_daemon(daemon), Err(BadLine::OtherVersion { theirs: 3 }));
    let broken = br#"{"type":"hello","version":2}"#;
    assert!(matches!(decode_to_daemon(broken), Err(BadLine::NotALine { .. })));
}

#[test]
fn a_call_that_does_not_read_still_says_who_waits() {
    let long = format!(
        r#"{{"type":"call","id":9,"key":"k","tool":"t","context":{{"session":"s","message":"m",
        "agent":"a","directory":"{}"}}}}"#,
        "x".repeat(5000)
    );
    for line in [r#"{"type":"call","id":9}"#, r#"{"id":9,"type":"call","key":""}"#, &long] {
        let error = decode_to_daemon(line.as_bytes()).unwrap_err();
        assert!(matches!(error, BadLine::NotALine { .. }), "{error:?}");
        assert_eq!(waiter_of(line.as_bytes()), Some(Waiter::Call(9)), "{line}");
    }
}

#[test]
fn a_result_has_a_status_or_an_error_and_not_both() {
    for line in [
        r#"{"type":"result","id":1}"#,
        r#"{"type":"result","id":1,"status":200,"error":"x"}"#,
        r#"{"type":"result","id":1,"body":{}}"#,
        r#"{"type":"result","id":1,"status":70000}"#,
    ] {
        let error = decode_to_daemon(line.as_bytes()).unwrap_err();
        assert!(matches!(error, BadLine::NotALine { .. }), "{line}: {error:?}");
    }
}

#[test]
fn rubbish_is_an_error_of_its_kind() {
    let not_json = [
        "{",
        r#"{"type":"cancel","id":1} x"#,
        r#"{"type":"cancel","id":1}{"type":"cancel","id":1}"#,
        &"{\"a\":".repeat(100_000),
    ];
    for line in not_json {
        let error = decode_to_daemon(line.as_bytes()).unwrap_err();
        assert!(matches!(error, BadLine::NotJson { .. }), "{error:?}");
    }
    let no_line = [
        "",
        "\n",
        "nonsense",
        "[]",
        "3",
        "null",
        r#"["cancel",1]"#,
        "{}",
        r#"{"type":1}"#,
        r#"{"type":"answer","id":1,"text":""}"#,
        r#"{"type":"cancel"}"#,
        r#"{"type":"cancel","id":-1}"#,
        r#"{"type":"cancel","id":1.5}"#,
        r#"{"type":"cancel","id":1,"id":2}"#,
        r#"{"type":"cancel","type":"cancel","id":2}"#,
    ];
    for line in no_line {
        let error = decode_to_daemon(line.as_bytes()).unwrap_err();
        assert!(matches!(error, BadLine::NotALine { .. }), "{line}: {error:?}");
    }
    assert_eq!(decode_to_daemon(b"{\"type\":\"\xff\"}"), Err(BadLine::NotUtf8));
}

#[test]
fn g2_half_a_character_does_not_lose_the_line() {
    let line = br#"{"type":"bye","why":"a \ud83d b"}"#;
    let why = "a \u{fffd} b".to_owned();
    assert_eq!(decode_from_daemon(line), Ok(FromDaemon::Bye { why, leaving: false }));
}

#[test]
fn length_and_number_of_values_are_bounded() {
    let longest = vec![b' '; LINE_MAX_BYTES];
    assert!(matches!(decode_to_daemon(&longest), Err(BadLine::NotALine { .. })));
    let too_long = vec![b' '; LINE_MAX_BYTES + 1];
    let error = Err(BadLine::TooLong { max_bytes: LINE_MAX_BYTES, waiter: None });
    assert_eq!(decode_to_daemon(&too_long), error);

    let event = |values: usize| {
        let listed = vec!["0"; values].join(",");
        format!(r#"{{"type":"event","name":"n","properties":[{listed}]}}"#)
    };
    assert!(decode_to_daemon(event(LINE_MAX_VALUES - 10).as_bytes()).is_ok());
    let many = decode_to_daemon(event(LINE_MAX_VALUES + 10).as_bytes());
    assert_eq!(many, Err(BadLine::TooMany));
    let prose = format!(r#"{{"type":"bye","why":"\"\\{}"}}"#, "[{,".repeat(LINE_MAX_VALUES));
    assert!(decode_from_daemon(prose.as_bytes()).is_ok());
}

#[test]
fn no_input_makes_an_error_long_or_many_lined() {
    let huge = "\\u0000\\n\u{85}x".repeat(100_000);
    for line in [
        format!(r#"{{"type":"{huge}"}}"#),
        format!(r#"{{"type":"cancel","id":"{huge}"}}"#),
        format!(r#"{{"type":"call","id":1,"tool":{{"{huge}":1}}}}"#),
        format!("{{{huge}"),
    ] {
        let text = decode_to_daemon(line.as_bytes()).unwrap_err().to_string();
        assert!(text.chars().count() <= BAD_LINE_MAX_CHARS, "{text}");
        assert!(!text.chars().any(char::is_control), "{text}");
    }
}

#[test]
fn g3_a_beginning_takes_as_much_room_as_it_may_and_no_more() {
    let text: String = (0..0x3000).filter_map(char::from_u32).cycle().take(50_000).collect();
    let room = |text: &str| encode(&FromDaemon::Bye { why: text.to_owned(), leaving: false }).len();
    let most = 20_000;
    let begun = beginning(&text, most);
    let next = text[begun.len()..].chars().next().unwrap();
    let taken = room(begun) - room("");
    assert!(taken <= most && taken + 6 > most, "{taken}");
    assert!(room(&format!("{begun}{next}")) - room("") > most);
    assert_eq!(beginning("whole", 5), "whole");
    assert_eq!(beginning("\n", 1), "");
}
