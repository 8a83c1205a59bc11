//! The doctor on clients: each test breaks an entry, sees it found, applies what is named, and sees
//! that it is found no more.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use legwork_testkit::legwork::{Home, ran};
use serde_json::Value;

use crate::doctor::{apply, executable, in_project};

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn home() -> Home {
    let home = Home::new();
    for folder in ["project", "bin", "other"] {
        fs::create_dir(home.path(folder)).unwrap();
    }
    home.run(["install", "opencode"]).with_code(0);
    home
}

/// What the doctor finds about a client.
fn found(home: &Home, client: &str) -> Vec<Value> {
    let all = ran(in_project(home, home.command(["doctor", "--json"]))).json();
    let all = all.as_array().unwrap().iter();
    all.filter(|one| one["check"] == client).cloned().collect()
}

fn codes(home: &Home, client: &str) -> Vec<String> {
    let all = found(home, client);
    all.iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect()
}

/// A server that says who it is, in the place of ours.
fn server(home: &Home, name: &str, version: &str) -> PathBuf {
    let program = home.path("other/legwork");
    let result = format!(r#"{{"serverInfo":{{"name":"{name}","version":"{version}"}}}}"#);
    executable(
        &program,
        &format!(
            "[ \"$*\" = mcp ] && read a && echo '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}'"
        ),
    );
    program
}

const FILES: [(&str, &str); 6] = [
    ("claude", "home/.claude/skills/legwork/.claude-plugin/plugin.json"),
    ("codex", "home/.codex/config.toml"),
    ("gemini", "home/.gemini/settings.json"),
    ("goose", "home/.config/goose/config.yaml"),
    ("cursor", "home/.cursor/mcp.json"),
    ("vscode", "home/.config/Code/User/mcp.json"),
];

#[test]
fn m7_the_doctor_is_quiet_about_clients_that_are_not_there_and_starts_what_the_others_start() {
    let home = home();
    for (client, _) in FILES {
        assert_eq!(found(&home, client), Vec::<Value>::new());
    }
    fs::create_dir_all(home.path("home/.claude")).unwrap();
    let without = found(&home, "claude");
    assert_eq!(without[0]["state"], "good", "{without:?}");
    assert!(without[0]["says"].as_str().unwrap().contains("legwork install claude"));
    fs::create_dir_all(home.path("home/.config/Code/User")).unwrap();
    let program = server(&home, "legwork", VERSION);
    // Without any agent there is a problem.
    executable(&home.path("bin/goose"), &format!("exec {LEGWORK} rehearsal"));
    let mut entries = Vec::new();
    for (client, file) in FILES {
        home.run(["install", client]).with_code(0);
        for part in [
            file,
            &file.replace("mcp.json", "hooks.json"),
            &file.replace(".claude-plugin/plugin", "hooks/hooks"),
        ] {
            let part = home.path(part);
            if let Ok(text) = fs::read_to_string(&part) {
                fs::write(&part, text.replace(LEGWORK, program.to_str().unwrap())).unwrap();
            }
        }
        entries.push(client);
    }
    let all = ran(in_project(&home, home.command(["doctor", "--json"]))).with_code(0).json();
    for client in entries {
        let one = all.as_array().unwrap().iter().find(|one| one["check"] == client).unwrap();
        let says = one["says"].as_str().unwrap();
        assert!(
            one["code"] == "ok" && says.contains(&format!("legwork {VERSION} answered")),
            "{one}"
        );
    }
}

#[test]
fn m7_an_entry_that_does_not_work_is_found_and_the_remedy_repairs_it() {
    let home = home();
    fs::create_dir_all(home.path("home/.config/Code/User")).unwrap();
    for (client, file) in FILES {
        home.run(["install", client]).with_code(0);
        let file = home.path(file);
        let good = fs::read_to_string(&file).unwrap();
        let program = home.path("other/legwork");
        let broken = good.replace(LEGWORK, program.to_str().unwrap());
        assert_ne!(broken, good);
        for (code, name, version) in [
            ("client.program-gone", "", ""),
            ("client.silent", "", ""),
            ("client.not-legwork", "other", "1"),
            ("client.older", "legwork", "0.0.1"),
        ] {
            match code {
                "client.program-gone" => {}
                "client.silent" => executable(&program, "echo wrong >&2; exit 1"),
                _ => drop(server(&home, name, version)),
            }
            fs::write(&file, &broken).unwrap();
            let finding = found(&home, client).remove(0);
            assert_eq!(finding["code"], code, "{finding}");
            apply(&home, &finding);
            assert_eq!(fs::read_to_string(&file).unwrap(), good, "{client} {code}");
        }
        fs::remove_file(&program).unwrap();
        home.run(["uninstall", client]).with_code(0);
    }
}

#[test]
fn m7_what_is_missing_foreign_or_unclear_is_found_and_a_project_starts_nothing() {
    let home = home();
    let program = server(&home, "legwork", VERSION);
    home.run(["install", "gemini"]).with_code(0);
    let file = home.path("home/.gemini/settings.json");
    let good = fs::read_to_string(&file).unwrap();
    let entry = format!(
        "{{\"mcpServers\": {{\"legwork\": {{\"command\": \"{}\", \"args\": [\"mcp\"]}}}}}}",
        program.display()
    );
    fs::write(&file, &entry).unwrap();
    let incomplete = found(&home, "gemini").remove(0);
    assert_eq!(
        (&incomplete["code"], &incomplete["state"]),
        (&"client.incomplete".into(), &"mind".into())
    );
    apply(&home, &incomplete);
    assert!(fs::read_to_string(&file).unwrap().contains("BeforeAgent"));
    fs::write(&file, good.replace("\"mcp\"", "\"other\"")).unwrap();
    let foreign = found(&home, "gemini").remove(0);
    assert_eq!(foreign["code"], "client.foreign");
    apply(&home, &foreign);
    assert_eq!(fs::read_to_string(&file).unwrap(), good);
    fs::write(&file, "{ legwork: 1 }").unwrap();
    assert_eq!(codes(&home, "gemini"), ["client.unclear"]);
    fs::remove_file(&file).unwrap();

    // Whoever wrote the project may have written this.
    let trace = home.path("trace");
    executable(&program, &format!("touch {}", trace.display()));
    fs::create_dir(home.path("project/.cursor")).unwrap();
    fs::write(home.path("project/.cursor/mcp.json"), &entry).unwrap();
    assert_eq!(codes(&home, "cursor"), ["client.other-program"]);
    assert!(!trace.exists(), "it was not started");
}

#[test]
fn m7_a_server_that_was_refused_in_claude_code_for_a_project_is_said_before_and_found_after() {
    let home = home();
    let project = home.path("project");
    let folder = project.to_str().unwrap();
    let said = home.run(["install", "claude", "--project", folder]).with_code(0);
    assert!(
        said.out.contains("\"Use this MCP server\"") && said.out.contains("for good"),
        "{said:?}"
    );
    assert_eq!(codes(&home, "claude"), ["ok"]);
    // As Claude Code writes it.
    let settings = project.join(".claude/settings.local.json");
    fs::write(
        &settings,
        "{\n  \"disabledMcpjsonServers\": [\n    \"plugin:legwork:legwork\"\n  ]\n}\n",
    )
    .unwrap();
    let refused = found(&home, "claude").remove(0);
    assert_eq!(refused["code"], "client.refused", "{refused}");
    assert!(refused["remedy"].as_str().unwrap().contains(settings.to_str().unwrap()), "{refused}");
    let again = home.run(["install", "claude", "--project", folder]).with_code(0);
    assert!(
        again.out.contains("was refused") && again.out.contains("disabledMcpjsonServers"),
        "{again:?}"
    );
    fs::write(&settings, "{\n  \"disabledMcpjsonServers\": []\n}\n").unwrap();
    assert_eq!(codes(&home, "claude"), ["ok"]);
}

#[test]
fn m7_who_uses_another_client_needs_no_opencode() {
    let home = home();
    home.run(["uninstall", "opencode"]).with_code(0);
    assert_eq!(codes(&home, "plugin"), ["plugin.missing"]);
    home.run(["install", "codex"]).with_code(0);
    assert_eq!(codes(&home, "plugin"), ["ok"]);
}

#[test]
fn m7_who_uses_legwork_without_opencode_hears_nothing_of_it() {
    for args in [&["install", "codex"][..], &["install", "claude", "--project", "."]] {
        let home = home();
        home.run(["uninstall", "opencode"]).with_code(0);
        executable(&home.path("bin/goose"), &format!("exec {LEGWORK} rehearsal"));
        // It is there, and is not used with legwork.
        executable(&home.path("bin/opencode"), "exit 7");
        let uses =
            "[agents.opencode]\ncommand = [\"/bin/sh\", \"-c\", \"exec legwork rehearsal\"]\n";
        fs::create_dir_all(home.path("legwork")).unwrap();
        fs::set_permissions(home.path("legwork"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::write(home.path("legwork/config.toml"), uses).unwrap();
        ran(in_project(&home, home.command(args))).with_code(0);
        let all = ran(in_project(&home, home.command(["doctor", "--json"]))).with_code(0).json();
        let minds = all.as_array().unwrap().iter().filter(|one| one["state"] != "good");
        let minds: Vec<&str> = minds.map(|one| one["code"].as_str().unwrap()).collect();
        assert_eq!(minds, ["program.in-build-folder"], "{all}");
        // A warning is no problem, and not nothing.
        let told = ran(in_project(&home, home.command(["doctor"]))).with_code(0).out;
        assert!(told.ends_with("\nNo problem, 1 warning.\n"), "{told}");
    }
}

#[test]
fn m7_a_missing_plugin_is_a_problem_only_where_opencode_is_all_that_there_is() {
    for (agent, is_there, wanted) in [
        // Who has legwork in a project elsewhere, or uses `legwork run` alone.
        (Some("goose"), true, "mind"),
        (Some("goose"), false, "mind"),
        (None, false, "mind"),
        (None, true, "problem"),
    ] {
        let home = home();
        home.run(["uninstall", "opencode"]).with_code(0);
        let as_agent = format!("exec {LEGWORK} rehearsal");
        if let Some(agent) = agent {
            executable(&home.path("bin").join(agent), &as_agent);
        }
        if is_there {
            let script = format!("case $1 in --version) echo 1.18.33;; acp) {as_agent};; esac");
            executable(&home.path("bin/opencode"), &script);
        }
        let exit = i32::from(wanted == "problem");
        let missing = crate::doctor::found(&home, exit, "plugin.missing");
        assert_eq!(missing["state"], wanted, "{agent:?} {is_there}");
    }
}
