//! Installing legwork in clients that speak MCP: what is written into their files, and that nothing
//! else in them changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use legwork_testkit::legwork::{Home, ran};

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");
const CLIENTS: [&str; 6] = ["claude", "codex", "gemini", "goose", "cursor", "vscode"];

/// Files of a person's own, and the client that legwork is installed in.
const FILES: [(&str, &str, &[&str]); 6] = [
    (
        "codex",
        ".codex/config.toml",
        &[
            "",
            "model = \"x\"",
            "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n",
        ],
    ),
    (
        "gemini",
        ".gemini/settings.json",
        &[
            "{}\n",
            "{\n  // mine\n  \"theme\": \"x\", /* why */\n  \"mcpServers\": { \"a\": { \"command\": \"b\" } }\n}\n",
            "{\"hooks\": {\"BeforeAgent\": [{\"hooks\": [{\"command\": \"other hook gemini\"}]}]}}",
        ],
    ),
    (
        "goose",
        ".config/goose/config.yaml",
        &[
            "GOOSE_MODE: auto # why",
            "# mine\nextensions:\n  developer:\n    enabled: true\nGOOSE_MODEL: x\n",
        ],
    ),
    ("cursor", ".cursor/mcp.json", &["{}", "{ // mine\n  \"mcpServers\": {}, \"x\": 1\n}\n"]),
    (
        "cursor",
        ".cursor/hooks.json",
        &["{ \"version\": 1 }\n", "{\"hooks\": {\"stop\": [{\"command\": \"./mine.sh\"}]}}"],
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        &["{}", "{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": { \"url\": \"b\" },\n\t},\n}\n"],
    ),
];

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(inside) = fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<PathBuf> = inside
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect();
    all.sort();
    all
}

#[test]
fn m7_a_persons_files_are_the_same_after_an_install_and_an_uninstall() {
    let home = Home::new();
    for (client, name, texts) in FILES {
        let file = home.path("home").join(name);
        for before in texts {
            write(&file, before);
            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
            let said = home.run(["install", client]).with_code(0);
            assert!(said.out.contains("ask for helpers in your own words"), "{said:?}");
            let after = read(&file);
            assert!(after.contains(LEGWORK), "{client}: {after}");
            let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o640, "{client}");
            let again = home.run(["install", client, "--json"]).with_code(0).json();
            assert_eq!(again["done"], "already up to date", "{after}");
            assert_eq!(read(&file), after);
            home.run(["uninstall", client]).with_code(0);
            assert_eq!(read(&file), *before, "{client}: {after}");
            let none = home.run(["uninstall", client, "--json"]).with_code(0).json();
            assert_eq!(none["done"], "not installed");
            assert_eq!(read(&file), *before, "{client}");
        }
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn m7_what_is_made_for_a_client_names_the_program_and_goes_with_it() {
    let home = Home::new();
    fs::create_dir_all(home.path("home/.config/Code/User")).unwrap();
    for client in CLIENTS {
        let done = home.run(["install", client, "--json"]).with_code(0).json();
        assert_eq!((&done["done"], &done["client"]), (&"installed".into(), &client.into()));
        assert_eq!(done["binary"], LEGWORK);
        let written: Vec<PathBuf> = files(&home.path("home"));
        let said = done["files"].as_array().unwrap().iter().map(|file| file["file"].as_str());
        let mut said: Vec<PathBuf> = said.map(|file| PathBuf::from(file.unwrap())).collect();
        said.sort();
        assert_eq!(written, said, "{client}");
        let first = read(Path::new(done["files"][0]["file"].as_str().unwrap()));
        assert!(first.contains("\"mcp\"") || first.contains("- mcp"), "{first}");
        let said = home.run(["uninstall", client]).with_code(0);
        assert!(said.out.contains("Tasks are kept"), "{said:?}");
        assert_eq!(files(&home.path("home")), Vec::<PathBuf>::new(), "{client}");
    }
    let left: Vec<_> = fs::read_dir(home.path("home")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "the folders go too, but for the one of VS Code: {left:?}");
}

#[test]
fn m7_claude_code_gets_a_folder_of_its_own_that_never_changes_what_it_starts() {
    let home = Home::new();
    let folder = home.path("home/.claude/skills/legwork");
    home.run(["install", "claude"]).with_code(0);
    let plugin = folder.join(".claude-plugin/plugin.json");
    let manifest: serde_json::Value = serde_json::from_str(&read(&plugin)).unwrap();
    let server = serde_json::json!({ "command": LEGWORK, "args": ["mcp"], "alwaysLoad": true });
    assert_eq!(manifest["mcpServers"], serde_json::json!({ "legwork": server }));
    let hooks: serde_json::Value =
        serde_json::from_str(&read(&folder.join("hooks/hooks.json"))).unwrap();
    for event in ["SessionStart", "UserPromptSubmit"] {
        let command = hooks["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
        assert!(command.starts_with(LEGWORK) && command.contains("hook claude"), "{command}");
        // The program may be gone by then.
        let gone = command.replace(LEGWORK, "/no/such/legwork");
        for command in [command, &gone] {
            let ran = std::process::Command::new("/bin/sh").args(["-c", command]).output().unwrap();
            assert!(ran.status.success() && ran.stderr.is_empty(), "{command}: {ran:?}");
        }
    }
    // One that an earlier version wrote, with the same program by another path.
    let link = home.path("legwork-link");
    symlink(LEGWORK, &link).unwrap();
    let older = read(&plugin).replace(LEGWORK, link.to_str().unwrap());
    let older = older.replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    fs::write(&plugin, &older).unwrap();
    home.run(["install", "claude"]).with_code(0);
    let newer = read(&plugin);
    assert_eq!(newer, older.replace("0.0.1", env!("CARGO_PKG_VERSION")));

    let mut command = home.command(["install", "claude"]);
    command.env("CLAUDE_CONFIG_DIR", home.path("moved"));
    ran(command).with_code(0);
    assert!(home.path("moved/skills/legwork/hooks/hooks.json").exists());
    let mut command = home.command(["install", "codex"]);
    command.env("CODEX_HOME", home.path("codex"));
    ran(command).with_code(0);
    assert!(home.path("codex/config.toml").exists() && !home.path("home/.codex").exists());
}

#[test]
fn m7_files_that_are_links_stay_links() {
    let home = Home::new();
    for (client, name, texts) in FILES {
        let (file, real) = (home.path("home").join(name), home.path("dotfile"));
        let before = texts[texts.len() - 1];
        write(&real, before);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        symlink(&real, &file).unwrap();
        home.run(["install", client]).with_code(0);
        assert!(fs::symlink_metadata(&file).unwrap().is_symlink(), "{client}");
        assert!(read(&real).contains(LEGWORK));
        home.run(["uninstall", client]).with_code(0);
        assert!(fs::symlink_metadata(&file).unwrap().is_symlink(), "{client}");
        assert_eq!(read(&real), before);
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn m7_what_somebody_else_has_under_our_name_is_neither_replaced_nor_removed() {
    let home = Home::new();
    let json = "{ \"mcpServers\": { \"legwork\": { \"url\": \"x\" } } }";
    for (client, name, theirs) in [
        ("claude", ".claude/skills/legwork/.claude-plugin/plugin.json", "{\"name\": \"legwork\"}"),
        ("claude", ".claude/skills/legwork/hooks/hooks.json", "{\"hooks\": {\"Stop\": [1]}}"),
        ("codex", ".codex/config.toml", "[mcp_servers.legwork]\ncommand = \"x\"\n"),
        ("gemini", ".gemini/settings.json", json),
        ("goose", ".config/goose/config.yaml", "extensions:\n  legwork:\n    type: sse\n"),
        ("cursor", ".cursor/mcp.json", json),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "{\"servers\": {\"legwork\": {\"command\": \"a\", \"args\": [\"b\"]}}}",
        ),
    ] {
        let file = home.path("home").join(name);
        // The file does not say our name outside of the entry.
        let theirs = theirs.replace("[1]", "[{\"hooks\": [{\"command\": \"legwork other\"}]}]");
        write(&file, &theirs);
        let refused = home.run(["install", client]).with_code(1);
        assert!(refused.err.contains("--force"), "{refused:?}");
        let left = home.run(["uninstall", client]);
        if client == "claude" {
            assert!(
                left.with_code(0).out.contains("not installed"),
                "nothing of legwork's is there"
            );
        } else {
            assert!(left.with_code(1).err.contains("left alone"), "{client}");
        }
        assert_eq!(read(&file), theirs, "{client}");
        assert_eq!(
            files(&home.path("home")),
            std::slice::from_ref(&file),
            "nothing is done by halves"
        );
        home.run(["install", client, "--force"]).with_code(0);
        home.run(["uninstall", client]).with_code(0);
        if client == "claude" {
            assert_eq!(read(&file), theirs);
        }
        let _ = fs::remove_file(&file);
    }
    // A skill that happens to be called so.
    let skill = home.path("home/.claude/skills/legwork/SKILL.md");
    write(&skill, "mine");
    let refused = home.run(["install", "claude"]).with_code(1);
    assert!(refused.err.contains("--force"), "{refused:?}");
    home.run(["install", "claude", "--force"]).with_code(0);
    home.run(["uninstall", "claude"]).with_code(0);
    assert_eq!(files(&home.path("home")), [skill]);
}

#[test]
fn m7_a_file_that_is_not_understood_is_left_alone_and_what_to_add_is_said() {
    let home = Home::new();
    for (client, name, broken) in [
        ("codex", ".codex/config.toml", "model = "),
        ("codex", ".codex/config.toml", "mcp_servers = 1\n"),
        ("gemini", ".gemini/settings.json", "{ theme: 1 }"),
        ("gemini", ".gemini/settings.json", "{\"hooks\": []}"),
        ("goose", ".config/goose/config.yaml", "extensions: [\n"),
        ("cursor", ".cursor/mcp.json", ""),
        ("cursor", ".cursor/hooks.json", "[1]"),
        ("vscode", ".config/Code/User/mcp.json", "{\"servers\": 1}"),
    ] {
        let file = home.path("home").join(name);
        write(&file, broken);
        let refused = home.run(["install", client]).with_code(1);
        assert!(refused.err.contains("Add this to it yourself"), "{refused:?}");
        assert!(refused.err.contains(LEGWORK), "{refused:?}");
        assert_eq!(read(&file), broken);
        assert_eq!(
            files(&home.path("home")),
            std::slice::from_ref(&file),
            "nothing is done by halves"
        );
        // It does not name legwork, so there is nothing to take out of it.
        home.run(["uninstall", client]).with_code(0);
        let named = format!("{broken} legwork");
        fs::write(&file, &named).unwrap();
        let refused = home.run(["uninstall", client]).with_code(1);
        assert!(refused.err.contains("yourself"), "{refused:?}");
        assert_eq!(read(&file), named);
        fs::remove_file(&file).unwrap();
    }
    let refused = home.run(["install", "vscode"]);
    assert!(refused.with_code(0).out.contains("mcp.json"), "its folder is there by now");
}

#[test]
fn m7_what_a_person_added_to_our_entry_stays() {
    let home = Home::new();
    let file = home.path("home/.gemini/settings.json");
    let own = "{ \"mcpServers\": { \"legwork\": { \"command\": \"/gone/legwork\", // mine\n \
               \"args\": [\"mcp\"], \"trust\": true } } }";
    write(&file, own);
    home.run(["install", "gemini"]).with_code(0);
    let after = read(&file);
    let server = own.replace("/gone/legwork", LEGWORK);
    assert!(after.ends_with(server.trim_start_matches('{')), "{after}");
    assert!(after.contains("BeforeAgent") && after.contains("AfterTool"), "{after}");
}

#[test]
fn m7_a_project_has_its_own_entry_and_nothing_is_written_through_a_link() {
    let home = Home::new();
    let project = home.path("project");
    fs::create_dir(&project).unwrap();
    let folder = project.to_str().unwrap();
    for (client, name) in [
        ("claude", ".claude/skills/legwork/.claude-plugin/plugin.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
    ] {
        home.run(["install", client, "--project", folder]).with_code(0);
        assert!(read(&project.join(name)).contains(LEGWORK));
        assert!(!home.path("home").exists(), "{client}");
        home.run(["uninstall", client, "--project", folder]).with_code(0);
        assert_eq!(fs::read_dir(&project).unwrap().count(), 0, "{client}");

        let (target, link) = (home.path("target"), project.join(name.split('/').next().unwrap()));
        fs::create_dir(&target).unwrap();
        symlink(&target, &link).unwrap();
        for command in ["install", "uninstall"] {
            let refused = home.run([command, client, "--project", folder]).with_code(1);
            assert!(refused.err.contains("is a symbolic link"), "{refused:?}");
        }
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "nothing was written");
        fs::remove_file(&link).unwrap();
        fs::remove_dir(&target).unwrap();
    }
    let none = home.run(["install", "goose", "--project", folder]).with_code(2);
    assert!(none.err.contains("Goose"), "{none:?}");
    home.run(["install", "claude", "--no-tui"]).with_code(2);
    let no_profile = home.run(["install", "vscode"]).with_code(1);
    assert!(no_profile.err.contains("is not there"), "{no_profile:?}");
}

#[test]
fn m7_removing_everything_names_the_clients_that_still_start_it() {
    let home = Home::new();
    home.run(["install", "opencode"]).with_code(0);
    home.run(["install", "claude"]).with_code(0);
    home.run(["install", "codex"]).with_code(0);
    let purged = home.run(["uninstall", "codex", "--purge", "--yes"]).with_code(0);
    for command in ["legwork uninstall claude", "legwork uninstall opencode"] {
        assert!(purged.out.contains(command), "{purged:?}");
    }
    assert!(!purged.out.contains("legwork uninstall codex"), "{purged:?}");
    assert!(!home.path("home/.codex").exists());
    let json = home.run(["uninstall", "opencode", "--purge", "--yes", "--json"]).with_code(0);
    assert_eq!(json.json()["still_in"].as_array().unwrap().len(), 1);
}

#[test]
fn m7_a_planted_draft_of_a_clients_file_is_neither_followed_nor_overwritten() {
    let home = Home::new();
    let (victim, file) = (home.path("victim"), home.path("home/.gemini/settings.json"));
    write(&victim, "mine");
    write(&file, "{}");
    // Whichever process it is that writes the file.
    for pid in 1..=65_536 {
        symlink(&victim, file.with_extension(format!("{pid}.draft"))).unwrap();
    }
    for command in ["install", "uninstall"] {
        home.run([command, "gemini"]).with_code(0);
        assert_eq!(read(&victim), "mine");
        assert!(!fs::symlink_metadata(&file).unwrap().is_symlink());
    }
    assert_eq!(read(&file), "{}");
}
