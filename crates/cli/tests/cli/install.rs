//! Putting the plugin in its place, and taking it away, without touching anything else.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use legwork_testkit::legwork::{Home, ran};

#[test]
fn installing_is_done_once_and_said() {
    let home = Home::new();
    let file = home.path("home/.config/opencode/plugin/legwork.js");
    let first = home.run(["install", "opencode"]).with_code(0);
    assert!(first.out.contains("written") && first.out.contains("Restart OpenCode"), "{first:?}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("// legwork for OpenCode"));
    assert!(text.contains(env!("CARGO_BIN_EXE_legwork")) && !text.contains("@LEGWORK"), "{text}");
    let again = home.run(["install", "opencode"]).with_code(0);
    assert!(again.out.contains("already up to date"), "{again:?}");
    fs::write(&file, format!("{text}// older")).unwrap();
    let third = home.run(["install", "opencode", "--global", "--json"]).with_code(0).json();
    assert_eq!(third["done"], "updated");
    assert_eq!(third["file"], file.to_str().unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let folder = fs::read_dir(file.parent().unwrap()).unwrap();
    assert_eq!(folder.count(), 1, "nothing else is left in the folder");
}

#[test]
fn a_project_and_a_named_folder_are_places_too() {
    let home = Home::new();
    fs::create_dir_all(home.path("project")).unwrap();
    let project = home.path("project");
    home.run(["install", "opencode", "--project", project.to_str().unwrap()]).with_code(0);
    assert!(home.path("project/.opencode/plugin/legwork.js").exists());
    home.run(["install", "opencode", "--project", "/does/not/exist"]).with_code(1);

    let mut command = home.command(["install", "opencode"]);
    command.env("OPENCODE_CONFIG_DIR", home.path("own"));
    ran(command).with_code(0);
    assert!(home.path("own/plugin/legwork.js").exists());
    assert!(!home.path("home/.config").exists());
}

#[test]
fn a_file_of_somebody_else_is_neither_overwritten_nor_removed() {
    let home = Home::new();
    let file = home.path("home/.config/opencode/plugin/legwork.js");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "// mine").unwrap();
    let refused = home.run(["install", "opencode"]).with_code(1);
    assert!(refused.err.contains("--force"), "{refused:?}");
    home.run(["uninstall", "opencode"]).with_code(1);
    assert_eq!(fs::read_to_string(&file).unwrap(), "// mine");
    home.run(["install", "opencode", "--force"]).with_code(0);
    assert_ne!(fs::read_to_string(&file).unwrap(), "// mine");
}

#[test]
fn uninstalling_removes_our_file_and_nothing_else() {
    let home = Home::new();
    let folder = home.path("home/.config/opencode");
    home.run(["install", "opencode"]).with_code(0);
    fs::write(folder.join("opencode.json"), "{}").unwrap();
    let removed = home.run(["uninstall", "opencode"]).with_code(0);
    assert!(removed.out.contains("removed") && removed.out.contains("Tasks are kept"));
    assert!(!folder.join("plugin").exists() && !folder.join("legwork").exists());
    assert!(!folder.join("tui.json").exists());
    assert_eq!(fs::read_to_string(folder.join("opencode.json")).unwrap(), "{}");
    let again = home.run(["uninstall", "opencode", "--json"]).with_code(0).json();
    assert_eq!(again["done"], "not installed");

    home.run(["install", "opencode"]).with_code(0);
    fs::write(folder.join("plugin/other.js"), "").unwrap();
    home.run(["uninstall", "opencode"]).with_code(0);
    assert!(folder.join("plugin/other.js").exists());
}

#[test]
fn a_project_that_links_elsewhere_is_left_alone_and_nothing_is_written_through_the_link() {
    let home = Home::new();
    for (number, link) in
        [".opencode", ".opencode/plugin", ".opencode/plugin/legwork.js"].into_iter().enumerate()
    {
        let (project, target) =
            (home.path(&format!("p{number}")), home.path(&format!("t{number}")));
        let link = project.join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::create_dir_all(&target).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for command in ["install", "uninstall"] {
            let folder = project.to_str().unwrap();
            let refused = home.run([command, "opencode", "--project", folder]).with_code(1);
            assert!(refused.err.contains("is a symbolic link"), "{refused:?}");
        }
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "nothing was written");
    }
}

#[test]
fn a_planted_draft_is_neither_followed_nor_overwritten() {
    let home = Home::new();
    let folder = home.path("home/.config/opencode/plugin");
    fs::create_dir_all(&folder).unwrap();
    let victim = home.path("victim");
    fs::write(&victim, "mine").unwrap();
    // Whichever process it is that writes the plugin.
    for pid in 1..=65_536 {
        std::os::unix::fs::symlink(&victim, folder.join(format!("legwork.{pid}.draft"))).unwrap();
    }
    home.run(["install", "opencode"]).with_code(0);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    let text = fs::read_to_string(folder.join("legwork.js")).unwrap();
    assert!(text.starts_with("// legwork for OpenCode"));
    assert!(!fs::symlink_metadata(folder.join("legwork.js")).unwrap().is_symlink());
}

const WORD: &str = "\"./legwork/tui.js\"";

#[test]
fn v5_one_install_writes_both_parts_and_says_so() {
    let home = Home::new();
    let folder = home.path("home/.config/opencode");
    let (file, settings) = (folder.join("legwork/tui.js"), folder.join("tui.json"));
    let first = home.run(["install", "opencode", "--json"]).with_code(0).json();
    let ui = &first["terminal_ui"];
    assert_eq!(ui["file"], file.to_str().unwrap());
    assert_eq!(ui["settings"], settings.to_str().unwrap());
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("// legwork for OpenCode"), "{text}");
    assert!(text.contains(env!("CARGO_BIN_EXE_legwork")) && !text.contains("@LEGWORK"));
    assert!(fs::read_to_string(&settings).unwrap().contains(WORD));
    let again = home.run(["install", "opencode"]).with_code(0);
    assert_eq!(again.out.matches("already").count(), 3, "{again:?}");
    assert!(!again.out.contains("Restart"), "{again:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap().matches(WORD).count(), 1);
    let without = home.run(["install", "opencode", "--no-tui"]).with_code(0);
    assert!(without.out.contains("tui.js: removed"), "{without:?}");
    assert!(!file.exists() && !settings.exists() && folder.join("plugin/legwork.js").exists());
}

#[test]
fn v5_settings_of_the_terminal_ui_are_the_same_after_an_install_and_an_uninstall() {
    let home = Home::new();
    let folder = home.path("home/.config/opencode");
    fs::create_dir_all(&folder).unwrap();
    let own =
        "{\n  // mine\n  \"theme\": \"nord\", // dark\n  \"plugin\": [\n    \"other\"\n  ]\n}\n";
    for (name, before) in [("tui.json", own), ("tui.jsonc", own), ("tui.json", "{}\n")] {
        let settings = folder.join(name);
        fs::write(&settings, before).unwrap();
        fs::set_permissions(&settings, fs::Permissions::from_mode(0o640)).unwrap();
        home.run(["install", "opencode"]).with_code(0);
        let after = fs::read_to_string(&settings).unwrap();
        assert!(after.contains(WORD), "{after}");
        for kept in before.lines() {
            assert!(before == "{}\n" || after.contains(kept), "{kept} in {after}");
        }
        let mode = fs::metadata(&settings).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o640);
        home.run(["uninstall", "opencode"]).with_code(0);
        assert_eq!(fs::read_to_string(&settings).unwrap(), before);
        fs::remove_file(&settings).unwrap();
    }
}

#[test]
fn v5_settings_that_are_a_link_stay_one() {
    let home = Home::new();
    let (folder, real) = (home.path("home/.config/opencode"), home.path("dotfiles.json"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(&real, "{\"theme\": \"nord\"}").unwrap();
    std::os::unix::fs::symlink(&real, folder.join("tui.json")).unwrap();
    home.run(["install", "opencode"]).with_code(0);
    assert!(fs::symlink_metadata(folder.join("tui.json")).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains(WORD));
    home.run(["uninstall", "opencode"]).with_code(0);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\"theme\": \"nord\"}");
}

#[test]
fn v5_settings_that_are_not_understood_are_left_alone_and_the_line_to_add_is_said() {
    let home = Home::new();
    let folder = home.path("home/.config/opencode");
    fs::create_dir_all(&folder).unwrap();
    let settings = folder.join("tui.json");
    for odd in ["{ theme: 1 }", "{\"plugin\": \"one\"}", "[1]", ""] {
        fs::write(&settings, odd).unwrap();
        let refused = home.run(["install", "opencode"]).with_code(1);
        assert!(refused.err.contains(WORD) && refused.err.contains("--no-tui"), "{refused:?}");
        assert_eq!(fs::read_to_string(&settings).unwrap(), odd);
        assert!(!folder.join("plugin").exists() && !folder.join("legwork").exists());
    }
    // Somebody did what was said.
    let by_hand = format!("{{ theme: 1, plugin: [{WORD}] }}");
    fs::write(&settings, &by_hand).unwrap();
    home.run(["install", "opencode"]).with_code(0);
    let refused = home.run(["uninstall", "opencode"]).with_code(1);
    assert!(refused.err.contains(WORD), "{refused:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), by_hand);
    assert!(folder.join("legwork/tui.js").exists(), "what is named is still there");
}

#[test]
fn v5_a_project_gets_no_part_for_the_terminal_ui_and_a_file_of_somebody_else_stays() {
    let home = Home::new();
    let project = home.path("project");
    fs::create_dir_all(&project).unwrap();
    let said = home.run(["install", "opencode", "--project", project.to_str().unwrap()]);
    assert!(said.with_code(0).out.contains("without --project"));
    assert!(!project.join(".opencode/legwork").exists());
    assert!(!project.join(".opencode/tui.json").exists() && !project.join("tui.json").exists());

    let file = home.path("home/.config/opencode/legwork/tui.js");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "// mine").unwrap();
    let refused = home.run(["install", "opencode"]).with_code(1);
    assert!(refused.err.contains("--force"), "{refused:?}");
    assert!(!home.path("home/.config/opencode/plugin").exists(), "nothing is done by halves");
    home.run(["uninstall", "opencode"]).with_code(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "// mine");
}
