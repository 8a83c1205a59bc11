//! What belongs to others in the settings that an install changes: it stays, whatever it is called
//! and wherever it stands.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use legwork_testkit::legwork::Home;

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn p14_hooks_of_a_persons_own_beside_ours_survive_installs_and_uninstalls() {
    let home = Home::new();
    for (client, file, mine) in [
        (
            "gemini",
            ".gemini/settings.json",
            "{ \"type\": \"command\", \"command\": \"./mine.sh\" }, ",
        ),
        ("cursor", ".cursor/hooks.json", "{ \"command\": \"./mine.sh\" }, "),
        (
            "claude",
            ".claude/skills/legwork/hooks/hooks.json",
            "{ \"type\": \"command\", \"command\": \"./mine.sh\" }, ",
        ),
    ] {
        let file = home.path("home").join(file);
        home.run(["install", client]).with_code(0);
        let made = read(&file);
        // In one group with ours, in front of it.
        let at = made[..made.find(" hook ").unwrap()].rfind('{').unwrap();
        let with = format!("{}{mine}{}", &made[..at], &made[at..]);
        fs::write(&file, &with).unwrap();
        let again = home.run(["install", client, "--json"]).with_code(0).json();
        assert_eq!(again["done"], "already up to date", "{client}");
        assert_eq!(read(&file), with);
        home.run(["uninstall", client]).with_code(0);
        let left = read(&file);
        assert!(left.contains("./mine.sh") && !left.contains(LEGWORK), "{left}");
        assert!(serde_json::from_str::<serde_json::Value>(&left).is_ok(), "{left}");
    }
    let file = home.path("home/.cursor/hooks.json");
    let mine = "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"cd ~/src/legwork && \
                ./notify.sh hook cursor\"}]}}\n";
    fs::write(&file, mine).unwrap();
    home.run(["install", "cursor"]).with_code(0);
    assert!(read(&file).contains("./notify.sh hook cursor"), "{}", read(&file));
    home.run(["uninstall", "cursor"]).with_code(0);
    assert_eq!(read(&file), mine);
}

#[test]
fn p14_a_server_of_another_program_is_replaced_only_if_it_is_forced() {
    let home = Home::new();
    let server = "{\"command\": \"/opt/other/run\", \"args\": [\"mcp\"]}";
    let json = format!("{{\"mcpServers\": {{\"legwork\": {server}}}}}");
    let yaml = "extensions:\n  legwork:\n    cmd: /opt/other/run\n    args: [mcp]\n";
    let toml = "[mcp_servers.legwork]\ncommand = \"/opt/other/run\"\nargs = [\"mcp\"]\n";
    for (client, file, theirs) in [
        ("gemini", ".gemini/settings.json", json.as_str()),
        ("cursor", ".cursor/mcp.json", &json),
        ("vscode", ".config/Code/User/mcp.json", &json.replace("mcpServers", "servers")),
        ("codex", ".codex/config.toml", toml),
        ("goose", ".config/goose/config.yaml", yaml),
    ] {
        let file = home.path("home").join(file);
        write(&file, theirs);
        let refused = home.run(["install", client]).with_code(1);
        assert!(refused.err.contains("--force"), "{refused:?}");
        home.run(["uninstall", client]).with_code(1);
        assert_eq!(read(&file), theirs);
        home.run(["install", client, "--force"]).with_code(0);
        assert!(read(&file).contains(LEGWORK) && !read(&file).contains("/opt/other"), "{client}");
    }
}

#[test]
fn p14_folders_and_links_of_a_person_stay_and_those_that_were_made_go() {
    let home = Home::new();
    let at = |name: &str| home.path("home").join(name);
    for folder in [".gemini", ".codex", ".claude/skills", ".config/opencode/plugin"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for client in ["gemini", "codex", "claude", "cursor", "goose", "opencode"] {
        home.run(["install", client]).with_code(0);
        home.run(["uninstall", client]).with_code(0);
    }
    for folder in [".gemini", ".codex", ".claude/skills", ".config/opencode/plugin"] {
        assert_eq!(fs::read_dir(at(folder)).unwrap().count(), 0, "{folder}");
    }
    for made in [".cursor", ".config/goose", ".config/opencode/legwork"] {
        assert!(!at(made).exists(), "{made}");
    }
    // What was made here and has been moved into a person's own collection.
    for (client, file) in [
        ("gemini", ".gemini/settings.json"),
        ("goose", ".config/goose/config.yaml"),
        ("codex", ".codex/config.toml"),
        ("opencode", ".config/opencode/tui.json"),
    ] {
        home.run(["install", client]).with_code(0);
        let (link, kept) = (at(file), home.path("kept"));
        fs::rename(&link, &kept).unwrap();
        symlink(&kept, &link).unwrap();
        home.run(["uninstall", client]).with_code(0);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{client}");
        assert!(!read(&kept).contains("legwork"), "{}", read(&kept));
        home.run(["install", client]).with_code(0);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{client}");
        home.run(["uninstall", client]).with_code(0);
        fs::remove_file(&link).unwrap();
    }
    let (plugin, kept) = (at(".config/opencode/plugin/legwork.js"), home.path("kept.js"));
    home.run(["install", "opencode"]).with_code(0);
    fs::rename(&plugin, &kept).unwrap();
    symlink(&kept, &plugin).unwrap();
    fs::write(&kept, read(&kept) + "// older\n").unwrap();
    home.run(["install", "opencode"]).with_code(0);
    assert!(fs::symlink_metadata(&plugin).unwrap().is_symlink() && !read(&kept).contains("older"));
    let refused = home.run(["uninstall", "opencode"]).with_code(1);
    assert!(refused.err.contains("is a link of yours"), "{refused:?}");
    assert!(plugin.exists() && at(".config/opencode/tui.json").exists());
}
