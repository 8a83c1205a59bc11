//! How arguments are read: what is taken, what is noted, what is refused and in which words.

use legwork_protocol::api::{Ask, List, Note, ToolCall};
use legwork_protocol::limits::{BLOCK_MAX_TASKS, PROMPT_MAX_BYTES, REFUSAL_MAX_CHARS};
use legwork_protocol::{Refusal, Status};
use serde_json::{Value, json};

const TOOLS: [&str; 6] = [
    "background_task",
    "background_output",
    "background_block",
    "background_list",
    "background_cancel",
    "background_clear",
];

fn read(tool: &str, arguments: Value) -> ToolCall {
    ToolCall::read(tool, arguments.clone()).unwrap_or_else(|why| panic!("{arguments}: {why}"))
}

fn ask(tool: &str, arguments: Value) -> Ask {
    read(tool, arguments).ask
}

/// The refusal's text, after checking what holds for all of them.
#[track_caller]
fn refused(tool: &str, arguments: Value) -> String {
    let text = match ToolCall::read(tool, arguments) {
        Err(refusal) => refusal.text(),
        Ok(ask) => panic!("taken: {ask:?}"),
    };
    assert!(text.chars().count() <= REFUSAL_MAX_CHARS, "{text}");
    assert!(!text.chars().any(char::is_control), "{text}");
    assert!(!text.is_empty());
    text
}

fn task(arguments: Value) -> Ask {
    ask("background_task", arguments)
}

fn block(arguments: Value) -> (Vec<String>, u64) {
    match ask("background_block", arguments) {
        Ask::Wait { tasks, timeout_ms, .. } => (tasks, timeout_ms),
        other => panic!("{other:?}"),
    }
}

#[test]
fn l1_missing_arguments_are_all_named() {
    let table = [
        (json!({}), "description, prompt, agent"),
        (json!(null), "description, prompt, agent"),
        (json!({ "prompt": null }), "description, prompt, agent"),
        (json!({ "prompt": "p" }), "description, agent"),
        (json!({ "prompt": "p", "agent": "a" }), "description"),
        (json!({ "prompt": "p", "description": "d" }), "agent"),
        (json!({ "description": "d", "agent": "a" }), "prompt"),
        (
            json!({ "prompt": " \n", "description": "\t", "agent": "" }),
            "description, prompt, agent",
        ),
        (json!({ "prompt": "p", "description": null, "agent": " " }), "description, agent"),
    ];
    for (arguments, missing) in table {
        let text = refused("background_task", arguments.clone());
        assert!(text.contains(&format!("Missing: {missing}. ")), "{arguments}: {text}");
    }
}

#[test]
fn l1_all_three_make_a_launch() {
    let launch = Ask::Launch {
        prompt: " do it ".into(),
        description: "d".into(),
        agent: "a".into(),
        fork: false,
        collects: false,
    };
    let given = json!({ "prompt": " do it ", "description": "d", "agent": "a" });
    assert_eq!(task(given.clone()), launch);
    for resume in [json!(null), json!(false), json!("")] {
        let mut given = given.clone();
        given["resume"] = resume;
        assert_eq!(task(given), launch);
    }
}

#[test]
fn r1_blank_prompt_is_refused_when_resuming() {
    for prompt in [json!(""), json!("  "), json!("\n\t\u{a0}"), json!(null)] {
        let text = refused("background_task", json!({ "resume": "bg_1", "prompt": prompt }));
        assert_eq!(text, "Prompt is required when resuming a task");
    }
    let text = refused("background_task", json!({ "resume": "bg_1" }));
    assert_eq!(text, "Prompt is required when resuming a task");
}

#[test]
fn r2_any_other_string_is_a_resume() {
    for id in ["bg_00000001", " ", "false", "null", "no such id", "\u{0}"] {
        let resume = Ask::Resume { task: id.into(), prompt: "go on".into(), collects: false };
        assert_eq!(task(json!({ "resume": id, "prompt": "go on" })), resume);
    }
    for wrong in [json!(true), json!(1), json!([]), json!({}), json!(["bg_00000001"])] {
        let text = refused("background_task", json!({ "resume": wrong, "prompt": "go on" }));
        assert!(text.contains("resume: expected the id of a task"), "{text}");
    }
}

#[test]
fn r7_agent_or_description_beside_resume_is_noted() {
    let table = [
        (json!({}), false),
        (json!({ "agent": "" }), false),
        (json!({ "agent": " ", "description": null }), false),
        (json!({ "agent": "a" }), true),
        (json!({ "description": "d" }), true),
        (json!({ "agent": "a", "description": "d" }), true),
    ];
    for (mut arguments, noted) in table {
        arguments["resume"] = json!("bg_00000001");
        arguments["prompt"] = json!("p");
        let call = read("background_task", arguments.clone());
        assert!(matches!(call.ask, Ask::Resume { .. }), "{call:?}");
        assert_eq!(call.note, noted.then_some(Note::ResumeIgnores), "{arguments}");
    }
}

#[test]
fn o3_offset_reads_on_and_defaults_to_the_start() {
    let table = [
        (json!({}), 0),
        (json!({ "offset": null }), 0),
        (json!({ "offset": 40 }), 40),
        (json!({ "offset": 40.0 }), 40),
        (json!({ "offset": u64::MAX }), u64::MAX),
    ];
    for (mut arguments, expected) in table {
        arguments["task_id"] = json!("bg_00000001");
        match ask("background_output", arguments) {
            Ask::Output { offset, .. } => assert_eq!(offset, expected),
            other => panic!("{other:?}"),
        }
    }
    for wrong in [json!(-1), json!("4"), json!(true), json!([])] {
        let arguments = json!({ "task_id": "bg_00000001", "offset": wrong });
        assert!(refused("background_output", arguments).contains("offset: expected a whole"));
    }
}

#[test]
fn o6_block_and_timeout_are_taken_and_noted() {
    let table = [
        (json!({}), false),
        (json!({ "block": null, "timeout": null }), false),
        (json!({ "block": true }), true),
        (json!({ "block": false }), true),
        (json!({ "timeout": 1000 }), true),
        (json!({ "block": "yes", "timeout": -1 }), true),
        (json!({ "timeout": { "any": ["thing"] } }), true),
    ];
    for (mut arguments, noted) in table {
        arguments["task_id"] = json!("bg_00000001");
        let ask = Ask::Output { task: "bg_00000001".into(), offset: 0 };
        let note = noted.then_some(Note::OutputNeverWaits);
        assert_eq!(read("background_output", arguments), ToolCall { ask, note });
    }
}

#[test]
fn b1_an_empty_list_is_refused() {
    let text = refused("background_block", json!({ "task_ids": [] }));
    assert!(text.contains("name at least one task"), "{text}");
}

#[test]
fn b1_timeout_has_a_default() {
    let table = [
        (json!(null), 60_000),
        (json!(0), 0),
        (json!(-0.0), 0),
        (json!(1), 1),
        (json!(1500.0), 1500),
        (json!(600_001), 600_001),
        (json!(u64::MAX), u64::MAX),
        (json!(1e300), u64::MAX),
    ];
    for (timeout, expected) in table {
        let arguments = json!({ "task_ids": ["a"], "timeout": timeout });
        assert_eq!(block(arguments.clone()).1, expected, "{arguments}");
    }
    assert_eq!(block(json!({ "task_ids": ["a"] })).1, 60_000);
}

#[test]
fn b1_a_timeout_that_is_negative_or_no_number_is_refused() {
    let wrong = [
        json!(-1),
        json!(i64::MIN),
        json!(-0.5),
        json!(-1e300),
        json!("60000"),
        json!(""),
        json!(true),
        json!([1]),
        json!({}),
    ];
    for timeout in wrong {
        let text = refused("background_block", json!({ "task_ids": ["a"], "timeout": timeout }));
        assert!(text.contains("timeout: expected a whole number, 0 or more"), "{text}");
    }
}

#[test]
fn s3_unknown_status_names_the_five() {
    for status in ["done", "Running", "queued", "running ", "\n", "✓"] {
        let text = refused("background_list", json!({ "status": status }));
        for word in Status::ALL {
            assert!(text.contains(word.as_str()), "{text}");
        }
    }
}

#[test]
fn s3_each_status_filters_and_none_shows_all() {
    for status in Status::ALL {
        let list = Ask::List(List { status: Some(status), ..List::default() });
        assert_eq!(ask("background_list", json!({ "status": status.as_str() })), list);
    }
    for none in [json!({}), json!(null), json!({ "status": null }), json!({ "status": "" })] {
        assert_eq!(ask("background_list", none), Ask::List(List::default()));
    }
}

#[test]
fn s4_all_is_false_unless_given() {
    for (all, expected) in [(json!(null), false), (json!(false), false), (json!(true), true)] {
        let list = Ask::List(List { all: expected, ..List::default() });
        assert_eq!(ask("background_list", json!({ "all": all })), list);
    }
    assert!(refused("background_list", json!({ "all": "true" })).contains("all: "));
}

#[test]
fn c1_clear_takes_nothing() {
    assert_eq!(ask("background_clear", json!({})), Ask::Clear);
    assert_eq!(ask("background_clear", json!(null)), Ask::Clear);
    refused("background_clear", json!({ "task_id": "bg_00000001" }));
}

#[test]
fn g2_wrong_types_are_refused_by_name() {
    let wrong = [json!(1), json!(1.5), json!(true), json!([]), json!({ "a": 1 }), json!([null])];
    let table = [
        ("background_task", "prompt"),
        ("background_task", "description"),
        ("background_task", "agent"),
        ("background_output", "task_id"),
        ("background_cancel", "task_id"),
        ("background_list", "status"),
    ];
    for (tool, field) in table {
        for value in &wrong {
            let mut arguments = serde_json::Map::new();
            arguments.insert(field.to_owned(), value.clone());
            let text = refused(tool, Value::Object(arguments));
            assert!(text.starts_with(&format!("{tool}: {field}")), "{text}");
        }
    }
    for ids in [json!("bg_00000001"), json!([1]), json!(["a", null]), json!({ "0": "a" })] {
        let text = refused("background_block", json!({ "task_ids": ids }));
        assert!(text.starts_with("background_block: task_ids"), "{text}");
    }
}

#[test]
fn g2_missing_fields_are_named() {
    for (tool, field) in [
        ("background_output", "task_id"),
        ("background_block", "task_ids"),
        ("background_cancel", "task_id"),
    ] {
        assert!(refused(tool, json!({})).contains(field));
        assert!(refused(tool, json!(null)).contains(field));
        assert!(refused(tool, json!({ field: null })).contains(field));
    }
}

#[test]
fn g2_unknown_fields_are_named() {
    for tool in TOOLS {
        let text = refused(tool, json!({ "colour": "red" }));
        assert!(text.contains("unknown field `colour`"), "{text}");
    }
}

#[test]
fn g2_arguments_that_are_no_object_are_refused() {
    for tool in TOOLS {
        for arguments in [json!("{}"), json!([]), json!(["bg_00000001"]), json!(1), json!(true)] {
            let text = refused(tool, arguments);
            assert!(text.contains("the arguments must be one JSON object"), "{text}");
        }
    }
}

#[test]
fn g2_huge_texts_are_refused_or_taken_but_never_repeated() {
    let huge = "x".repeat(10 << 20);
    let launch = |field: &str| {
        let mut arguments = json!({ "prompt": "p", "description": "d", "agent": "a" });
        arguments[field] = json!(huge);
        arguments
    };
    let text = refused("background_task", launch("prompt"));
    assert!(text.contains(&PROMPT_MAX_BYTES.to_string()), "{text}");
    assert!(refused("background_task", launch("agent")).contains("agent: "));
    assert!(refused("background_task", launch(&huge)).contains("unknown field"));
    refused("background_list", json!({ "status": huge }));
    let text = refused("background_list", json!({ "all": huge }));
    assert!(text.ends_with("expected a boolean"), "{text}");
    let text = refused("background_block", json!({ "task_ids": huge }));
    assert!(text.ends_with("expected a sequence"), "{text}");
    refused(&huge, json!({}));
    // A description is cut where it is kept; an id is looked up and not found.
    assert!(matches!(task(launch("description")), Ask::Launch { .. }));
    assert!(matches!(task(launch("resume")), Ask::Resume { .. }));
    assert!(matches!(ask("background_cancel", json!({ "task_id": huge })), Ask::Cancel { .. }));
    assert!(Refusal::NotFound(huge).text().chars().count() <= REFUSAL_MAX_CHARS);
}

#[test]
fn g2_control_characters_never_reach_a_refusal() {
    let nasty = "\u{0}\n\r\u{1b}[31m\u{7f}\u{85}\u{2028}";
    for tool in TOOLS {
        refused(tool, json!({ nasty: nasty }));
    }
    refused(nasty, json!({}));
    refused("background_list", json!({ "status": nasty }));
    refused("background_list", json!({ "all": nasty }));
    let launch = json!({ "prompt": nasty, "description": nasty, "agent": nasty });
    assert!(refused("background_task", launch).contains("agent: "));
    let text = Refusal::NotFound(nasty.to_owned()).text();
    assert!(!text.chars().any(char::is_control), "{text}");
}

#[test]
fn g2_control_characters_in_a_prompt_are_the_helpers() {
    let launch = json!({ "prompt": "a\u{0}\nb", "description": "d\n", "agent": "a" });
    assert!(matches!(task(launch), Ask::Launch { prompt, .. } if prompt == "a\u{0}\nb"));
}

#[test]
fn g2_a_list_of_100_000_ids_is_refused() {
    let ids: Vec<String> = (0..100_000).map(|number| format!("bg_{number:08}")).collect();
    let text = refused("background_block", json!({ "task_ids": ids }));
    assert!(text.contains("100000 ids given, at most 256 allowed"), "{text}");
    let most: Vec<&String> = ids.iter().take(BLOCK_MAX_TASKS).collect();
    assert_eq!(block(json!({ "task_ids": most })).0.len(), BLOCK_MAX_TASKS);
}

#[test]
fn g2_a_tool_that_does_not_exist_is_refused_with_the_six() {
    for name in ["", "background_resume", "Background_Task", "background_task ", "\n"] {
        let text = refused(name, json!({}));
        for tool in TOOLS {
            assert!(text.contains(tool), "{text}");
        }
    }
}
