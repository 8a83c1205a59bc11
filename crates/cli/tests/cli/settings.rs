//! The settings as a person meets them: mistakes that are said, and `legwork config`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use legwork_testkit::legwork::{Home, Ran, ran};
use serde_json::{Value, json};

fn settings(home: &Home) -> String {
    fs::read_to_string(home.path("legwork/config.toml")).unwrap()
}

fn lines_about_settings(ran: &Ran) -> Vec<&str> {
    ran.err.lines().filter(|line| line.contains("config.toml")).collect()
}

#[test]
fn p12_a_mistake_in_the_settings_is_said_once_by_every_command() {
    for (text, says) in [
        ("[limits]\nmax_costs = 1\n", ":2: there is no setting limits.max_costs; did you mean"),
        ("[limits]\nmax_running = \"many\"\n", ":2: limits.max_running: expected a whole number"),
        ("[limits\nmax_running = 1\n", ":1: "),
    ] {
        let home = Home::new();
        home.configure(text);
        let list = &["list"][..];
        let run = &["run", "--agent", "rehearsal", "say hello"][..];
        for args in [list, run, list, &["cost"], &["agents", "--no-start"], &["show", "nothing"]] {
            let ran = ran(home.command(args));
            let said = lines_about_settings(&ran);
            assert_eq!(said.len(), 1, "{args:?}: {ran:?}");
            assert!(said[0].starts_with("legwork: ") && said[0].contains(says), "{said:?}");
        }
        let doctor = home.run(["doctor"]);
        assert!(doctor.out.contains(says) && doctor.err.is_empty(), "{doctor:?}");
        let completion = home.run(["complete", "bash", "--", "show", ""]).with_code(0);
        assert_eq!(completion.err, "", "another program reads it");
    }
}

#[test]
fn p12_several_mistakes_are_one_line_that_says_where_the_others_are() {
    let home = Home::new();
    home.configure("[limits]\nmax_costs = 1\nmax_dept = 2\n[ui]\nport = 1\n");
    let said = home.run(["list"]).with_code(0).err;
    assert!(said.ends_with("did you mean limits.max_cost? (2 more: `legwork config check`)\n"));
    assert_eq!(said.lines().count(), 1, "{said}");
    let as_json = home.run(["list", "--json"]).with_code(0).err;
    let warning: Value = serde_json::from_str(&as_json).unwrap();
    assert!(warning["warning"].as_str().unwrap().contains("limits.max_cost?"), "{warning}");
    let check = home.run(["config", "check"]).with_code(1);
    assert_eq!((check.out.lines().count(), check.err.as_str()), (3, ""), "{check:?}");
    for meant in ["limits.max_cost?", "limits.max_depth?", "expected a port"] {
        assert!(check.out.contains(meant), "{check:?}");
    }
    let checked = home.run(["config", "check", "--json"]).with_code(1).json();
    assert_eq!(checked["mistakes"].as_array().unwrap().len(), 3, "{checked}");
}

#[test]
fn p12_config_shows_what_counts_and_where_it_comes_from() {
    let home = Home::new();
    let shown = home.run(["config"]).with_code(0).out;
    let file = home.path("legwork/config.toml");
    assert!(shown.starts_with(&format!("{} is not there", file.display())), "{shown}");
    home.configure("# mine\n[limits]\nmax_cost = 2.50\n");
    let shown = home.run(["config"]).with_code(0).out;
    let row = |name: &str| -> Vec<String> {
        let row = shown.lines().find(|line| line.starts_with(name)).unwrap();
        row.split("  ").filter(|cell| !cell.is_empty()).map(|cell| cell.trim().to_owned()).collect()
    };
    assert_eq!(row("limits.max_cost ")[1..3], ["2.5", "line 3"]);
    assert_eq!(row("limits.max_running ")[1..3], ["16", "default"]);
    assert_eq!(home.run(["config", "path"]).with_code(0).out.trim(), file.to_str().unwrap());
    let all = home.run(["config", "--json"]).with_code(0).json();
    assert_eq!((&all["file"], &all["mistakes"]), (&json!(file), &json!([])));
    let one = |name: &str| {
        let all = all["settings"].as_array().unwrap().iter();
        all.into_iter().find(|setting| setting["name"] == name).unwrap()
    };
    let cost = one("limits.max_cost");
    assert_eq!(
        (&cost["value"], &cost["source"], &cost["line"]),
        (&json!(2.5), &json!("file"), &json!(3))
    );
    let wake = one("notices.wake");
    assert_eq!((&wake["value"], &wake["source"]), (&json!("each"), &json!("default")));
    assert_eq!(one("notify.command")["value"], json!(null));
    assert!(home.run(["config", "check"]).with_code(0).out.contains("no mistake"));
}

#[test]
fn p12_config_sets_one_key_and_leaves_the_rest_as_it_is() {
    let home = Home::new();
    let said = home.run(["config", "set", "limits.max_cost", "2.5"]).with_code(0).out;
    assert!(said.contains("limits.max_cost = 2.5 (was 0)"), "{said}");
    assert_eq!(settings(&home), "[limits]\nmax_cost = 2.5\n");
    let mode = fs::metadata(home.path("legwork/config.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = "# mine\r\n[limits] # of all\r\nmax_cost  = 1 # a dollar\r\n\r\n[ui]\r\nport = 8000";
    fs::write(home.path("legwork/config.toml"), text).unwrap();
    home.run(["config", "set", "limits.max_cost", "2.5"]).with_code(0);
    assert_eq!(settings(&home), text.replace("= 1 #", "= 2.5 #"));
    home.run(["config", "set", "limits.max_cost", "1"]).with_code(0);
    assert_eq!(settings(&home), text);
    for (name, value, why) in [
        ("limits.max_costs", "1", "did you mean limits.max_cost? Nothing was changed."),
        ("limits.max_cost", "much", "expected an amount like 2.50"),
    ] {
        let refused = home.run(["config", "set", name, value]).with_code(2);
        assert!(refused.err.contains(why), "{refused:?}");
    }
    assert_eq!(settings(&home), text, "a refusal changes nothing");
    let inside = ran({
        let mut command = home.command(["config", "set", "limits.max_cost", "0"]);
        command.env("LEGWORK_INSIDE", "1");
        command
    });
    assert!(inside.code == 1 && inside.err.contains("a helper's own shell"), "{inside:?}");
}

#[test]
fn p12_a_daemon_that_has_read_the_old_settings_is_named() {
    let home = Home::new();
    let quiet = home.run(["config", "set", "limits.max_running", "3"]).with_code(0).out;
    assert!(!quiet.contains("daemon stop"), "{quiet}");
    home.run(["daemon", "start"]).with_code(0);
    let said = home.run(["config", "set", "limits.max_running", "4"]).with_code(0).out;
    assert!(said.contains("legwork daemon stop"), "{said}");
    let anew = home.run(["config", "set", "run.agent", "rehearsal"]).with_code(0).out;
    assert!(!anew.contains("daemon stop"), "agents are read for each launch: {anew}");
}
