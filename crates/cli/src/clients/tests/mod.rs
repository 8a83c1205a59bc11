//! What an edit of other programs' settings may and may not do, on texts.

mod campaign;
mod people;

use super::editor::{Format, Left, Settings, Unclear};
use super::ours::{Item, Leaf};
use super::spec::CLIENTS;

const PROGRAM: &str = "/opt/a b/legwork";

/// The settings of a client, by its name and the end of the file's.
fn settings(client: &str, file: &str) -> Settings {
    let spec = CLIENTS.iter().find(|spec| spec.word == client).unwrap();
    spec.files.iter().find(|spec| spec.path.ends_with(file)).unwrap().settings()
}

/// The settings of OpenCode's terminal UI.
fn words() -> Settings {
    let words = vec!["./ours.js".to_owned(), "/abs/ours.js".to_owned()];
    Settings {
        format: Format::Json,
        items: vec![Item { way: &["plugin"], leaf: Leaf::Word(words) }],
        base: "{ \"plugin\": [] }".to_owned(),
        is_own: false,
    }
}

fn added(settings: &Settings, text: &str) -> String {
    settings.add(text, PROGRAM, false).unwrap_or_else(|why| panic!("{why:?}: {text}"))
}

fn removed(settings: &Settings, text: &str) -> String {
    match settings.remove(text) {
        Ok(Some(Left::Text(left))) => left,
        other => panic!("{other:?}: {text}"),
    }
}

const JSON: [&str; 17] = [
    "{}",
    "{ }\n",
    "{\n}\n",
    "{\n  // nothing yet\n}\n",
    "{\n  \"theme\": \"nord\" // dark\n}",
    "{ \"theme\": 1, }",
    "{\"mcpServers\":{}, \"servers\": {}, \"plugin\": []}",
    "{\n  \"mcpServers\": {}, \"theme\": 1\n}",
    "{\n  \"mcpServers\": { // mine\n    \"a\": {}\n  }, \"plugin\": [ // mine\n \"a\" ]\n}",
    "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, /* b */\n  }\n}\n",
    "\u{feff}/* x */ {\r\n\t\"hooks\": { \"stop\": [ /* none */ ] },\r\n}\r\n// end",
    "{\"hooks\": {\"BeforeAgent\": [{\"hooks\": []}], \"stop\": []}, \"b\\\"\": \"// no\"}",
    "{\"hooks\": {}, \"plugin\": [\"a\", [\"b\", { \"c\": [1, null, -2.5e3] }],]}",
    "{\n  \"hooks\": {},\n  \"theme\": 1\n}\n",
    "{\"plugin\": [\n  // first\n  \"a\"\n]}",
    "{\"text\": \"two\nlines\", \"mcpServers\": {\n\"a\": 1, /* , */}}",
    "{\"a\": {\"plugin\": [\"./ours.js\"], \"mcpServers\": {\"legwork\": 1}}}",
];

const TOML: [&str; 14] = [
    "",
    "\n",
    "\n\n",
    "model = \"x\"",
    "model = \"x\"\n",
    "# mine\nmodel = 'x'  # why\n\n",
    "[mcp_servers.other]\ncommand = \"y\"\n",
    "[mcp_servers.legworks]\ncommand = \"y\"\n[a]\nb = \"\"\"\n[mcp_servers.legwork]\n\"\"\"",
    "x.y = 1\r\n[z]\r\n\"a b\" = 2021-01-01\r\n",
    "mcp_servers = { a = { command = \"x\" } } # mine\n",
    "mcp_servers = {}\n",
    "mcp_servers.a.command = \"x\"\n\n[[b]]\nc = 1\n[[b]]\nc = 2\n# end",
    "[mcp_servers]\na = { command = \"x\" }\n# about it\n",
    "\u{feff}a = 1\n",
];

const YAML: [&str; 25] = [
    "",
    "\n",
    "\n\n",
    "# only\n",
    "---\n",
    "GOOSE_MODE: auto",
    "# mine\nGOOSE_MODE: auto # why\nlist:\n- a\n- b\n",
    "---\nGOOSE_MODE: auto\n",
    "extensions:\n  developer:\n    enabled: true\n    args: []\nGOOSE_MODE: auto\n",
    "a: 1\nextensions:\n\n    # these\n    developer:\n        args:\n        - x",
    "extensions:\r\n  memory:\r\n    type: builtin\r\n",
    "  a: 1\n  extensions:\n    b: {}\n  c: 2\n",
    "   a: 1\n   c:\n   - 2\n",
    "extensions:\n  {a: {b: 1},\n   c: 2}\nd: 1\n",
    "extensions:\n  !!map\n  a: 1\n",
    "extensions: &all # mine\n  a: 1\nb: *all\n",
    "extensions: {}\n",
    "extensions:\n",
    "extensions: # none\nb: 1\n",
    "{a: 1, extensions: {b: 2}}\n",
    "{a: 1}\n",
    "{\"extensions\": {}, a: 1}\n",
    "a: \"x\n  extensions:\n    b: 1\n \"\n",
    "a: [\n  1\n  ]\nb: |\n  extensions:\n    c: 1\n\n  # no comment\n",
    "\u{feff}a: é # ü\nextensions:\n  \"ö b\":\n    c: 1\n\n# end\n",
];

#[test]
fn p14_what_is_added_to_any_file_is_there_once_and_comes_out_again_to_the_byte() {
    let json = ["gemini/settings.json", "cursor/mcp.json", "cursor/hooks.json", "vscode/mcp.json"];
    let mut all = vec![
        (settings("codex", "config.toml"), &TOML[..]),
        (settings("goose", "config.yaml"), &YAML[..]),
        (words(), &JSON[..]),
    ];
    for name in json {
        let (client, file) = name.split_once('/').unwrap();
        all.push((settings(client, file), &JSON[..]));
    }
    for (settings, texts) in all {
        for text in texts {
            assert!(!settings.has_any(text), "{text}");
            let with = added(&settings, text);
            assert!(settings.has_all(&with, PROGRAM), "{with}");
            assert_eq!(added(&settings, &with), with);
            assert_eq!(removed(&settings, &with), *text, "{with}");
            assert_eq!(settings.remove(text), Ok(None), "{text}");
        }
        for folders in [0, 3] {
            let made = settings.fresh(PROGRAM, folders).unwrap();
            assert!(settings.has_all(&made, PROGRAM), "{made}");
            assert_eq!(settings.remove(&made), Ok(Some(Left::Nothing { folders })), "{made:?}");
        }
    }
}

#[test]
fn p14_a_program_that_has_moved_is_named_anew_and_nothing_else_changes() {
    let goose = settings("goose", "config.yaml");
    let own = "extensions:\n  legwork:\n    envs:\n      cmd: mine\n    cmd: /old/legwork # why\n    \
               args: [mcp]\n    type: stdio\n";
    let marked = "extensions:\n  a: &a 1\n  legwork:\n    cmd: !!str &x '/old/legwork'\n    args: \
                  [mcp]\n  c: *a\n";
    let codex = settings("codex", "config.toml");
    let table = "[mcp_servers.legwork]\nenv = { command = \"mine\" }\ncommand = '/old/legwork' # why\n\
                 args = [\n  \"mcp\" ]\n";
    let inline = "mcp_servers = { legwork = { command = \"/old/legwork\", args = [\"mcp\"] } }\n";
    for (settings, text) in [(&goose, own), (&goose, marked), (&codex, table), (&codex, inline)] {
        let new = settings.add(text, "/new/legwork", false).unwrap();
        let quoted = |text: &str| text.replace(['\'', '"'], "").replace("/old", "/new");
        assert_eq!(new.replace('"', ""), quoted(text));
        assert_eq!(new.matches("mine").count(), text.matches("mine").count());
    }
}

#[test]
fn p14_ours_is_taken_out_in_whichever_form_it_stands_and_what_is_around_it_stays() {
    let json = "cursor/mcp.json";
    for (name, text, without) in [
        (json, r#"{"mcpServers": {"a": 1, "legwork": X}}"#, r#"{"mcpServers": {"a": 1}}"#),
        (json, r#"{"mcpServers": {"a": 1, "legwork": X,}}"#, r#"{"mcpServers": {"a": 1,}}"#),
        (json, r#"{"mcpServers": {"legwork": X,   "a": 1}}"#, r#"{"mcpServers": {  "a": 1}}"#),
        (json, r#"{"mcpServers": {"legwork": X , }}"#, r#"{"mcpServers": {  }}"#),
        (
            json,
            "{\"mcpServers\": {\"a\": 1, // why,\n \"legwork\": X // x\n}}",
            "{\"mcpServers\": {\"a\": 1 // why,\n  // x\n}}",
        ),
        (
            json,
            "{\"mcpServers\": {\"legwork\": X /* , */, \"a\": 1}}",
            "{\"mcpServers\": { /* , */ \"a\": 1}}",
        ),
        (
            "codex/config.toml",
            "a = 1\n\n# about ours\n[mcp_servers.legwork]\ncommand='/l/legwork'\nargs=['mcp']\n\
             [mcp_servers.legwork.env]\nX = 'y'\n\n# next\n[b]\nc = 2\n",
            "a = 1\n\n# about ours\n\n# next\n[b]\nc = 2\n",
        ),
        (
            "codex/config.toml",
            "mcp_servers.legwork.command = '/l/legwork'\nmcp_servers.a.command = 'b'\n\
             mcp_servers.legwork.args = ['mcp']\n",
            "mcp_servers.a.command = 'b'\n",
        ),
        (
            "codex/config.toml",
            "[mcp_servers]\nlegwork = {command='/l/legwork', args=['mcp']} # ours\nb = {}\n",
            "[mcp_servers]\nb = {}\n",
        ),
        (
            "goose/config.yaml",
            "extensions:\n  legwork:\n    enabled: true\n    cmd: /l/legwork\n    args:\n    - \
             mcp\n    envs: {}\n\n  # of memory\n  memory:\n    x: 1\n",
            "extensions:\n\n  # of memory\n  memory:\n    x: 1\n",
        ),
        (
            "goose/config.yaml",
            "extensions: # mine\n  legwork:\n    cmd: /l/legwork\n    args: [mcp]\n",
            "extensions: {} # mine\n",
        ),
        (
            "goose/config.yaml",
            "extensions: !!map &x # mine\n  legwork: {cmd: /l/legwork, args: [mcp]}\n",
            "extensions: !!map &x {} # mine\n",
        ),
        (
            "goose/config.yaml",
            "extensions: {a: {b: 1}, legwork: {cmd: /l/legwork, args: [mcp]}} # c\n",
            "extensions: {a: {b: 1}} # c\n",
        ),
    ] {
        let (client, file) = name.split_once('/').unwrap();
        let ours = r#"{"command": "/l/legwork", "args": ["mcp"]}"#;
        let text = text.replace('X', if file.ends_with("json") { ours } else { "X" });
        assert_eq!(removed(&settings(client, file), &text), without, "{text}");
    }
    for (text, without) in [
        (r#"{"plugin": ["a", "./ours.js"]}"#, r#"{"plugin": ["a"]}"#),
        (r#"{"plugin": ["/abs/ours.js"]}"#, r#"{"plugin": []}"#),
        (r#"{"plugin": [["./ours.js", {"key": "f4"}], "a"]}"#, r#"{"plugin": ["a"]}"#),
    ] {
        assert_eq!(removed(&words(), text), without);
    }
}

#[test]
fn p14_a_hook_of_a_persons_own_is_never_taken_for_ours() {
    for (client, event, theirs) in [
        ("gemini", "BeforeAgent", "/opt/legwork/notify hook gemini"),
        ("gemini", "AfterTool", "echo legwork hook gemini 2>/dev/null || :"),
        ("gemini", "AfterTool", "/opt/legwork hook gemini && ./mine.sh"),
        ("cursor", "stop", "cd ~/src/legwork && ./notify.sh hook cursor"),
        ("cursor", "stop", "./mine.sh # /opt/legwork hook cursor"),
    ] {
        let hook = format!("{{\"command\": {}}}", serde_json::Value::from(theirs));
        let group = if client == "gemini" { format!("{{\"hooks\": [{hook}]}}") } else { hook };
        let text = format!("{{\"hooks\": {{\"{event}\": [{group}]}}}}");
        let file = if client == "gemini" { "settings.json" } else { "hooks.json" };
        let settings = settings(client, file);
        assert_eq!(settings.remove(&text), Ok(None), "{text}");
        let with = added(&settings, &text);
        assert!(with.contains(&group), "{with}");
        assert_eq!(removed(&settings, &with), text);
    }
}

#[test]
fn p14_a_hook_in_one_group_with_ours_stays_and_a_group_goes_only_when_it_is_empty() {
    let ours = "{\"type\": \"command\", \"command\": \"/l/legwork hook gemini 2>/dev/null || :\"}";
    let mine = "{\"command\": \"./mine.sh\"}";
    let gemini = settings("gemini", "settings.json");
    let file = |group: &str| format!("{{\"hooks\": {{\"AfterTool\": [{group}]}}}}");
    for (group, left) in [
        (format!("{{\"hooks\": [{mine}, {ours}]}}"), format!("{{\"hooks\": [{mine}]}}")),
        (format!("{{\"hooks\": [{ours}, {mine}]}}"), format!("{{\"hooks\": [{mine}]}}")),
        (
            format!("{{\"matcher\": \"x\", \"hooks\": [{ours}]}}"),
            "{\"matcher\": \"x\", \"hooks\": []}".to_owned(),
        ),
        (format!("{{\"hooks\": [{ours}]}}"), String::new()),
        (format!("{{\"hooks\": [{ours}, {ours}]}}"), String::new()),
    ] {
        assert_eq!(removed(&gemini, &file(&group)), file(&left));
        let with = added(&gemini, &file(&group));
        assert!(with.matches("mine.sh").count() == group.matches("mine.sh").count(), "{with}");
        assert!(!with.contains("/l/legwork"), "{with}");
    }
}

#[test]
fn p14_a_second_install_in_claude_code_keeps_what_a_person_has_added() {
    let hooks = settings("claude", "hooks.json");
    let made = hooks.fresh(PROGRAM, 0).unwrap();
    let mine = "\"Stop\": [{\"hooks\": [{\"command\": \"./mine.sh\"}]}]";
    let with = made.replacen("\"hooks\": {", &format!("\"hooks\": {{ {mine},"), 1);
    assert_eq!(added(&hooks, &with), with);
    assert!(removed(&hooks, &with).contains(mine));
    // As an earlier version has written it.
    let manifest = settings("claude", "plugin.json");
    let older = "{\n  \"description\": \"Background helpers: hand over a piece of work, go on, and \
                 be told once when it is done\",\n  \"mcpServers\": {\n    \"legwork\": {\n      \
                 \"alwaysLoad\": true,\n      \"args\": [\n        \"mcp\"\n      ],\n      \
                 \"command\": \"/opt/a b/legwork\"\n    }\n  },\n  \"name\": \"legwork\",\n  \
                 \"version\": \"0.0.1\"\n}\n";
    assert_eq!(added(&manifest, older), older.replace("0.0.1", env!("CARGO_PKG_VERSION")));
    assert_eq!(manifest.remove(older), Ok(Some(Left::Nothing { folders: 0 })));
    let newer = manifest.fresh(PROGRAM, 4).unwrap().replace(env!("CARGO_PKG_VERSION"), "9.0.0");
    assert_eq!(manifest.remove(&newer), Ok(Some(Left::Nothing { folders: 4 })));
}

#[test]
fn p14_a_server_of_another_program_is_somebody_elses_whatever_it_is_called() {
    for (client, file, theirs) in [
        ("codex", "config.toml", "[mcp_servers.legwork]\ncommand = \"x\"\nargs = [\"mcp\"]\n"),
        ("codex", "config.toml", "mcp_servers.legwork.url = \"x\"\n"),
        ("codex", "config.toml", "[mcp_servers.legwork]\ncommand = \"/opt/legwork\"\n"),
        (
            "gemini",
            "settings.json",
            "{\"mcpServers\": {\"legwork\": {\"command\": \"/opt/legwork/run\", \"args\": [\"mcp\"]}}}",
        ),
        ("cursor", "mcp.json", "{\"mcpServers\": {\"legwork\": {\"url\": \"legwork\"}}}"),
        ("vscode", "mcp.json", "{\"servers\": {\"legwork\": 1, \"a\": {}}}"),
        (
            "goose",
            "config.yaml",
            "extensions:\n  legwork:\n    cmd: my-legwork\n    args: [mcp]\n  b:\n    c: 1\n",
        ),
    ] {
        let settings = settings(client, file);
        assert_eq!(settings.add(theirs, PROGRAM, false), Err(Unclear::Foreign), "{theirs}");
        assert_eq!(settings.entry(theirs), Err(Unclear::Foreign));
        assert_eq!(settings.remove(theirs), Err(Unclear::Foreign), "{theirs}");
        let forced = settings.add(theirs, PROGRAM, true).unwrap();
        assert!(settings.has_all(&forced, PROGRAM), "{forced}");
    }
}

#[test]
fn p14_what_is_not_understood_is_not_touched() {
    for (client, file, texts) in [
        (
            "gemini",
            "settings.json",
            &[
                "",
                "[]",
                "{",
                "{]",
                "{'mcpServers': {}}",
                "{mcpServers: {}}",
                "{\"mcpServers\": []}",
                "{\"mcpServers\": {}, \"mcpServers\": {}}",
                "{\"hooks\": []}",
                "{\"hooks\": {\"AfterTool\": {}}}",
                "{\"a\": 1 \"b\": 2}",
                "{\"a\": nope}",
                "{} x",
                "{ /* }",
            ][..],
        ),
        ("codex", "config.toml", &["a = ", "mcp_servers = 1\n", "a = 1\na = 2\n"]),
        (
            "goose",
            "config.yaml",
            &[
                "extensions:\n- a\n",
                "extensions: ~\n",
                "extensions: x\n",
                "- a\n",
                "a: 1\n---\nb: 2\n",
                "a: [\n",
                "extensions:\n  a: 1\nextensions:\n  b: 1\n",
                "a: 1\rb: 2\r",
            ],
        ),
    ] {
        let settings = settings(client, file);
        for text in texts {
            let refused = settings.add(text, PROGRAM, true);
            assert_eq!(refused, Err(Unclear::NotUnderstood), "{text}");
        }
    }
    let deep = |text: &str| text.repeat(20_000);
    for (settings, text) in [
        (words(), format!("{{\"a\": {}{}}}", deep("["), deep("]"))),
        (settings("codex", "config.toml"), format!("a = {}{}", deep("["), deep("]"))),
        (settings("codex", "config.toml"), format!("[{}a]\n", deep("a."))),
        (settings("goose", "config.yaml"), format!("a: {}{}", deep("["), deep("]"))),
        (settings("goose", "config.yaml"), format!("a:\n  {}b", deep("- "))),
        (settings("goose", "config.yaml"), format!("a:\n  {}b", deep("? "))),
    ] {
        assert_eq!(settings.add(&text, PROGRAM, false), Err(Unclear::NotUnderstood));
    }
}

#[test]
fn p14_the_white_space_of_a_file_is_the_same_after_many_rounds() {
    let before = "{\"plugin\": [\n  // first\n  \"a\", // x\n  \"b\"\n]}";
    let mut text = before.to_owned();
    for _ in 0..20 {
        text = removed(&words(), &added(&words(), &text));
    }
    assert_eq!(text, before);
    // So many that comparing each with each would never end.
    let many: Vec<String> = (0..100_000).map(|number| format!("\"k{number}\": 1")).collect();
    let many = format!("{{{}}}", many.join(","));
    assert_eq!(removed(&words(), &added(&words(), &many)), many);
}
