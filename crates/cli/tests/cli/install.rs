//! Putting the plugin in its place, and taking it away, without touching anything else.

use std::fs;

use crate::home::{Home, ran};

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
    assert!(!folder.join("plugin").exists());
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
