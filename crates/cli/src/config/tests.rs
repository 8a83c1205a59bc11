//! Every setting, and every way to get one wrong.

use std::time::Duration;

use legwork_acp::agents::{Permissions, Source};

use legwork_protocol::{Interrupted, WakeOn};
use toml::de::DeValue;

use super::*;

fn read(text: &str) -> (Config, String) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("config.toml");
    std::fs::write(&path, text).unwrap();
    let read = super::read(&path, Some(Path::new("/h/me")));
    (read.config, read.mistakes.join("\n").replace(path.to_str().unwrap(), "c"))
}

fn right(text: &str) -> Config {
    let (config, mistakes) = read(text);
    assert_eq!(mistakes, "");
    config
}

fn mistakes(text: &str) -> String {
    read(text).1
}

#[test]
fn a_file_that_is_missing_or_empty_sets_nothing() {
    assert_eq!(Config::read(Path::new("/nowhere/config.toml")), (Config::default(), Vec::new()));
    assert_eq!(right("# nothing\n"), Config::default());
}

#[test]
fn every_setting_can_be_set() {
    let config = right(
        "[limits]\nmax_running = 1\nmax_in_window = 9\nmax_tasks_per_root = 0x02\nmax_depth = 3\n\
         max_run_minutes = 4\nmax_quiet_minutes = 0\nmax_cost = 2.5\n\
         max_cost_per_run = 0.5\nmax_cost_per_day = 10\n\
         [notices]\nmax_result_chars = 1_000\nstart_turns = false\nwake = \"last\"\n\
         [recovery]\ninterrupted = \"fail\"\nheadless = false\n[run]\nagent = \"mine\"\n\
         [notify]\ncommand = [\"tell\", \"me\"]\ndesktop = true\non = [\"question\"]\n",
    );
    let settings = Settings {
        max_running: 1,
        max_in_window: 9,
        max_tasks_per_root: 2,
        max_depth: 3,
        max_run_minutes: 4,
        max_quiet_minutes: 0,
        max_cost_micros: 2_500_000,
        max_cost_per_run_micros: 500_000,
        max_cost_per_day_micros: 10_000_000,
        max_result_chars: 1_000,
        start_turns: false,
        wake: WakeOn::Last,
        interrupted: Interrupted::Fail,
        headless: false,
    };
    let run_agent = Some("mine".to_owned());
    let command = ["tell", "me"].map(str::to_owned).to_vec();
    let notify = Notify { command, desktop: true, ends: false, questions: true };
    assert_eq!(config, Config { settings, run_agent, notify, ..Config::default() });
    for setting in SETTINGS {
        let wrong = setting.read(&mut Config::default(), &DeValue::Array(Default::default()));
        let is_list = ["notify.on", "notify.command"].contains(&setting.name);
        let named = wrong.is_err_and(|what| what.starts_with(&format!("{}: ", setting.name)));
        assert!(named || is_list, "{}", setting.name);
    }
}

#[test]
fn p4_a_budget_is_an_amount_of_money() {
    for (text, micros) in
        [("0", 0), ("3", 3_000_000), ("0.05", 50_000), ("1_000.25", 1_000_250_000)]
    {
        let config = right(&format!("[limits]\nmax_cost = {text}\n"));
        assert_eq!(config.settings.max_cost_micros, micros, "{text}");
    }
    for text in ["-1", "-0.5", "nan", "inf", "1e30", "\"2\"", "true"] {
        let wrong = mistakes(&format!("[limits]\nmax_cost = {text}\n"));
        let expected = "c:2: limits.max_cost: expected an amount like 2.50, or 0 for no limit";
        assert_eq!(wrong, expected, "{text}");
    }
}

#[test]
fn g1_agents_that_others_could_have_written_are_not_used_and_limits_are() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("config.toml");
    std::fs::write(&path, "[limits]\nmax_depth = 3\n[agents.mine]\ncommand = [\"x\"]\n").unwrap();
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    open(&path, 0o644);
    assert_eq!(Config::read(&path).0.agents.len(), 1);
    open(&path, 0o646);
    let refused = |remedy: &str| {
        let (config, mistakes) = Config::read(&path);
        assert_eq!((config.agents.len(), config.settings.max_depth), (0, 3));
        let is_said = mistakes[0].contains("its agents") && mistakes[0].contains(remedy);
        assert!(is_said && mistakes.len() == 1, "{mistakes:?}");
    };
    refused("chmod go-w");
    open(&path, 0o600);
    open(home.path(), 0o777);
    refused("chmod go-w");
    open(home.path(), 0o700);
    // Only root can give a file away.
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(65_534), None).unwrap();
        refused("sudo chown 0");
        chown(&path, Some(0), Some(65_534)).unwrap();
        open(&path, 0o660);
        refused("chmod go-w");
        chown(&path, Some(0), Some(0)).unwrap();
        assert_eq!(Config::read(&path).0.agents.len(), 1, "a group of one's own");
    }
}

#[test]
fn every_problem_is_named_with_its_line_and_the_rest_counts() {
    let (config, wrong) = read(
        "[limits]\nmax_runing = 3\nmax_depth = -1\nmax_run_minutes = 7\n\n[notices]\n\
         start_turns = \"yes\"\nmax_result_chars = 4294967296\nwake = \"first\"\n\
         [recovery]\ninterrupted = 1\n",
    );
    let expected = "\
c:2: there is no setting limits.max_runing; did you mean limits.max_running?
c:3: limits.max_depth: expected a whole number from 0 (no limit) to 4294967295
c:7: notices.start_turns: expected true or false
c:8: notices.max_result_chars: expected a whole number from 0 (no limit) to 4294967295
c:9: notices.wake: expected \"each\" or \"last\"
c:11: recovery.interrupted: expected \"fail\" or \"continue\"";
    assert_eq!(wrong, expected);
    let settings = Settings { max_run_minutes: 7, ..Settings::default() };
    assert_eq!(config, Config { settings, ..Config::default() });
}

#[test]
fn a_setting_in_the_wrong_section_is_found() {
    let expected = "c:1: there is no setting max_running; did you mean limits.max_running?";
    assert_eq!(mistakes("max_running = 3\n"), expected);
    let expected = "c:2: there is no setting limits.start_turns; did you mean notices.start_turns?";
    assert_eq!(mistakes("[limits]\nstart_turns = true\n"), expected);
    let expected = "c:1: there is no setting colour; `legwork config` shows those there are";
    assert_eq!(mistakes("colour = 1\n"), expected);
}

#[test]
fn a_line_that_is_no_toml_costs_little_else() {
    let (config, wrong) = read("[limits]\nmax_running = 3\nmax_depth = = 2\n");
    assert!(wrong.starts_with("c:3: "), "{wrong}");
    assert_eq!(config.settings.max_running, 3);
}

#[test]
fn agents_come_in_the_order_of_the_file_with_all_that_is_said_of_them() {
    let config = right(
        "[agents.zed]\ncommand = [\"zed\"]\n\n[agents.my-own_2]\n\
         command = [\"~x\", \"--acp\", \"\"]\nenv = { A = \"1\", B = \"\" }\ncwd = \"~/x\"\n\
         permissions = \"allow\"\nstart_seconds = 5\n[agents.\"a.b\"]\ncommand = [\"b\"]\n\
         cwd = \"/x\"\npermissions = \"reject\"\n",
    );
    let plain = |name: &str, command: &[&str]| {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        Agent::new(name, command, Source::Config)
    };
    let expected = [
        plain("zed", &["zed"]),
        Agent {
            env: [("A", "1"), ("B", "")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            cwd: Some("/h/me/x".into()),
            permissions: Permissions::Allow,
            start_max: Duration::from_secs(5),
            ..plain("my-own_2", &["~x", "--acp", ""])
        },
        Agent { cwd: Some("/x".into()), permissions: Permissions::Reject, ..plain("a.b", &["b"]) },
    ];
    assert_eq!(config.agents, expected);
}

#[test]
fn what_is_wrong_with_an_agent_is_named_with_its_line() {
    const LIKE: &str = "like command = [\"program\", \"--acp\"]";
    const ENV: &str = "like env = { NAME = \"value\" }";
    let wrong_command =
        &format!("agents.x.command: expected a program and its arguments as texts, {LIKE}");
    let wrong_permissions = "agents.x.permissions: expected \"ask\", \"allow\" or \"reject\"";
    let wrong_folder = "agents.x.cwd: expected a folder like \"/srv/x\" or \"~/x\"";
    let wrong_seconds = "agents.x.start_seconds: expected a whole number of seconds from 1";
    for (key, what) in [
        (
            "command = \"gemini --acp\"",
            "agents.x.command: expected a list; write command = [\"gemini\", \"--acp\"]",
        ),
        ("command = []", wrong_command),
        ("command = [\" \"]", wrong_command),
        ("command = [\"a\", 1]", wrong_command),
        ("command = [\"a\", \"\\u0000\"]", wrong_command),
        ("command = 7", wrong_command),
        ("permissions = \"yes\"", wrong_permissions),
        ("permissions = true", wrong_permissions),
        ("cwd = \"x\"", wrong_folder),
        ("cwd = \"~you/x\"", wrong_folder),
        ("cwd = 1", wrong_folder),
        ("start_seconds = 0", wrong_seconds),
        ("start_seconds = \"9\"", wrong_seconds),
        ("env = [\"A=1\"]", &format!("agents.x.env: expected a table, {ENV}")),
        ("env = { A = 1 }", &format!("agents.x.env: A is no variable with a text, {ENV}")),
        (
            "env = { \"A=\" = \"1\" }",
            &format!("agents.x.env: A= is no variable with a text, {ENV}"),
        ),
        ("comand = 1", "there is no setting agents.x.comand; did you mean agents.x.command?"),
        (
            "colour = 1",
            "there is no setting agents.x.colour; \
             there are command, env, cwd, permissions, start_seconds",
        ),
    ] {
        let has_command = key.starts_with("command");
        let command = if has_command { "" } else { "command = [\"x\"]\n" };
        let (config, wrong) = read(&format!("[agents.x]\n{command}{key}\n"));
        let line = if has_command { 2 } else { 3 };
        assert_eq!(wrong, format!("c:{line}: {what}"), "{key}");
        assert_eq!(config.agents.len(), usize::from(!has_command), "{key}");
    }
}

#[test]
fn an_agent_that_cannot_be_started_is_left_out_and_the_others_are_not() {
    let (config, wrong) = read(
        "[agents]\nwrong = 1\n[agents.\"a b\"]\ncommand = [\"x\"]\n[agents.idle]\n\
         permissions = \"ask\"\n[agents.good]\ncommand = [\"x\"]\n[run]\nagent = \"\"\n",
    );
    let expected = "\
c:2: agents.wrong: expected a table, [agents.wrong]
c:3: \"a b\" is no name for an agent: use letters, digits, `-`, `_` and `.`
c:5: agents.idle is left out: it has no command, like command = [\"program\", \"--acp\"]
c:10: run.agent: \"\" is no name for an agent: use letters, digits, `-`, `_` and `.`";
    assert_eq!(wrong, expected);
    let names: Vec<&str> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!((names, config.run_agent), (vec!["good"], None));
    assert_eq!(mistakes("agents = 3\n"), "c:1: agents: expected tables, [agents.NAME]");
}

#[test]
fn without_a_home_folder_a_tilde_means_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, "[agents.x]\ncommand = [\"x\"]\ncwd = \"~\"\n").unwrap();
    let Contents { config, mistakes, .. } = super::read(&path, None);
    assert!(mistakes[0].ends_with("there is no home folder that ~ could mean"), "{mistakes:?}");
    assert_eq!((config.agents.len(), &config.agents[0].cwd), (1, &None));
}

#[test]
fn g2_rubbish_is_a_problem_and_not_a_crash() {
    for text in [
        "\0\0",
        "[[limits]]\n",
        "limits = 3",
        "[limits",
        "= \n=",
        "a.b.c.d = 1",
        "[[agents]]\n",
        "[agents.x",
        "[agents.x.command]\n",
        "agents.x.env = 1979-05-27",
    ] {
        assert!(!mistakes(text).is_empty(), "{text:?}");
    }
    let huge = "x".repeat(CONFIG_MAX_BYTES as usize + 1);
    assert!(mistakes(&huge).contains("bytes"));
    let long = "x".repeat(50_000);
    assert!(mistakes(&format!("{long} = 1")).len() < 600);
    assert!(mistakes(&format!("[agents.{long}]")).len() < 600);
    assert!(mistakes(&format!("[agents.x]\ncommand = \"{long}\"")).len() < 600);
    assert!(mistakes(&format!("[agents.x]\ncommand = [\"x\"]\n{long} = 1")).len() < 600);
}

#[test]
fn x1_what_is_kept_can_be_said_and_has_defaults() {
    let defaults = right("").keep;
    assert!(defaults.iter().any(|name| name == "tmux"), "{defaults:?}");
    let config = right("[agents]\nkeep = [\"tmux\", \"my-service\"]\n");
    assert_eq!(config.keep, ["tmux", "my-service"]);
    assert_eq!(right("[agents]\nkeep = []\n").keep, Vec::<String>::new());
    for wrong in ["7", "[7]", "[\"\"]", "[\"/bin/x\"]", "\"tmux\""] {
        let (config, mistakes) = read(&format!("[agents]\nkeep = {wrong}\n"));
        assert!(mistakes.contains("agents.keep: expected names"), "{mistakes}");
        assert_eq!(config.keep, defaults);
    }
    let agent = right("[agents.keep]\ncommand = [\"x\"]\n");
    assert_eq!((agent.agents.len(), agent.keep), (1, defaults));
}

#[test]
fn g1_a_program_to_notify_with_that_others_could_have_written_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("config.toml");
    std::fs::write(&path, "[notify]\ncommand = [\"x\"]\ndesktop = true\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o646)).unwrap();
    let (config, mistakes) = Config::read(&path);
    assert_eq!(config.notify, Notify { desktop: true, ..Notify::default() });
    assert!(mistakes[0].contains("notify.command"), "{mistakes:?}");
}

#[test]
fn what_is_wrong_with_a_notification_is_named_and_nothing_is_sent_by_default() {
    assert!(!right("").notify.is_on() && !right("[notify]\non = [\"end\"]\n").notify.is_on());
    assert!(!right("[notify]\ndesktop = true\non = []\n").notify.is_on());
    assert!(right("[notify]\ndesktop = true\n").notify.is_on());
    let like = "like command = [\"program\", \"--acp\"]";
    for (key, what) in [
        (
            "command = \"tell me\"",
            "notify.command: expected a list; write command = [\"tell\", \"me\"]",
        ),
        (
            "command = []",
            &format!("notify.command: expected a program and its arguments as texts, {like}"),
        ),
        ("desktop = 1", "notify.desktop: expected true or false"),
        ("on = \"end\"", "notify.on: expected a list of \"end\" and \"question\""),
        ("on = [\"ends\"]", "notify.on: expected a list of \"end\" and \"question\""),
    ] {
        assert_eq!(mistakes(&format!("[notify]\n{key}\n")), format!("c:2: {what}"));
    }
}

#[test]
fn p12_every_setting_is_shown_as_it_counts_with_the_line_that_says_so() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("config.toml");
    let text = "[limits]\nmax_cost = 2.50\nmax_depth = \"x\"\n\n[notify]\non = []\n\
                [agents.mine]\ncwd = \"/x\"\ncommand = [\"a\", \"b\"]\n";
    std::fs::write(&path, text).unwrap();
    let (all, mistakes) = Config::effective(&path);
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    let shown = |name: &str| {
        let found = all.iter().find(|setting| setting.name == name).unwrap();
        (found.value.to_string(), found.line)
    };
    assert_eq!(shown("limits.max_cost"), ("2.5".to_owned(), Some(2)));
    assert_eq!(shown("limits.max_depth"), ("1".to_owned(), None), "what is wrong does not count");
    assert_eq!(shown("notify.on"), ("[]".to_owned(), Some(6)));
    assert_eq!(shown("notices.wake"), ("\"each\"".to_owned(), None));
    assert_eq!(shown("notify.command"), ("-".to_owned(), None));
    assert_eq!(shown("ui.port"), ("5975".to_owned(), None));
    assert_eq!(shown("agents.keep").1, None);
    assert_eq!(shown("agents.mine.command"), ("[\"a\", \"b\"]".to_owned(), Some(9)));
    assert!(all.iter().all(|setting| !setting.about.is_empty()));
}

#[test]
fn p12_a_setting_is_set_and_every_other_byte_stays() {
    for (text, name, value, expected) in [
        ("", "limits.max_cost", "2.5", "[limits]\nmax_cost = 2.5\n"),
        ("# mine\n", "notices.wake", "last", "# mine\n\n[notices]\nwake = \"last\"\n"),
        ("# mine", "notices.wake", "\"last\"", "# mine\n\n[notices]\nwake = \"last\"\n"),
        (
            "[limits]\r\n max_cost   =  1 # a dollar\r\n# end\r\n",
            "limits.max_cost",
            "3",
            "[limits]\r\n max_cost   =  3 # a dollar\r\n# end\r\n",
        ),
        (
            "[limits]\nmax_depth = 2\r\n\n[ui]\nport = 8000",
            "limits.max_cost",
            "3",
            "[limits]\nmax_depth = 2\r\nmax_cost = 3\r\n\n[ui]\nport = 8000",
        ),
        (
            "limits.max_depth = 2\n",
            "limits.max_cost",
            "3",
            "limits.max_depth = 2\nlimits.max_cost = 3\n",
        ),
        (
            "limits = { max_depth = 2 }",
            "limits.max_cost",
            "3",
            "limits = { max_depth = 2 , max_cost = 3 }\n",
        ),
        ("[ui]\nprot = 1\n", "run.agent", "7", "[ui]\nprot = 1\n\n[run]\nagent = \"7\"\n"),
        ("\u{feff}[ui]\nport = 1024\n", "ui.port", "2000", "\u{feff}[ui]\nport = 2000\n"),
        (
            "[agents.x]\ncommand = [\"x\"]\n",
            "agents.a.b.command",
            "[\"y\"]",
            "[agents.x]\ncommand = [\"x\"]\n\n[agents.\"a.b\"]\ncommand = [\"y\"]\n",
        ),
        ("", "notify.on", "[]", "[notify]\non = []\n"),
    ] {
        assert_eq!(set(text, name, value).as_deref(), Ok(expected), "{text:?} {name}");
    }
}

#[test]
fn p12_what_cannot_be_set_is_refused_with_what_would_be_right() {
    for (text, name, value, why) in [
        ("", "limits.max_costs", "1", "did you mean limits.max_cost?"),
        ("", "max_cost", "1", "did you mean limits.max_cost?"),
        ("", "colour", "1", "`legwork config` shows"),
        ("", "limits.max_cost", "much", "limits.max_cost: expected an amount like 2.50"),
        ("[limits]\nmax_cost = \"much\"\n", "limits.max_cost", "more", "expected an amount"),
        ("", "notices.wake", "first", "expected \"each\" or \"last\""),
        ("", "notify.command", "tell me", "write command = [\"tell\", \"me\"]"),
        ("", "agents.a b.command", "[\"x\"]", "no name for an agent"),
        ("", "agents.x.comand", "[\"x\"]", "did you mean agents.x.command?"),
        ("[limits\n", "limits.max_cost", "1", "`legwork config check` names the line"),
        ("limits = 3\n", "limits.max_cost", "1", "write it there yourself"),
        ("agents = {}\n", "agents.x.command", "[\"x\"]", "write it there yourself"),
    ] {
        let said = set(text, name, value).unwrap_err();
        assert!(said.contains(why), "{text:?} {name} {value}: {said}");
    }
}

proptest::proptest! {
    #[test]
    fn p12_setting_twice_is_setting_once_and_the_other_lines_stay(
        lines in proptest::collection::vec(
            proptest::sample::select(vec![
                "# a comment", "", "max_depth = 2 # two", "max_cost = 9", "[limits]", "[notices]",
                "wake = \"last\"", "  ", "[agents.x]", "command = [\n  \"x\",\n]", "nonsense = 1",
                "[ui]\r", "port = 8000\r", "notify = { desktop = true }",
            ]),
            0..12,
        ),
    ) {
        let text = lines.join("\n");
        if let Ok(once) = set(&text, "limits.max_cost", "1.5") {
            proptest::prop_assert_eq!(set(&once, "limits.max_cost", "1.5"), Ok(once.clone()));
            let kept = |text: &str| -> Vec<String> {
                let kept = text.split('\n').filter(|line| !line.contains("max_cost"));
                kept.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
            };
            let mut wanted = kept(&text);
            let after = kept(&once);
            if !text.contains("[limits]") {
                wanted.push("[limits]".to_owned());
            }
            proptest::prop_assert_eq!(after, wanted);
        }
    }
}
