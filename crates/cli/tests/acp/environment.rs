//! A helper gets the environment of whoever launched it.

use std::fs;
use std::path::Path;

use legwork_testkit::legwork::{Home, ran, script_agent};

const SECRET: &str = "sk-0123456789-very-secret";

fn home() -> Home {
    let home = Home::new();
    let work = r#"say "[$OWN][$CLAUDECODE][$TMUX][$OPENCODE_PID][$(umask)]""#;
    home.configure(&script_agent("teller", work));
    let mut daemon = home.command(["daemon", "start"]);
    daemon.env("OWN", "of the daemon").env("CLAUDECODE", "1").env("OPENCODE_PID", "1");
    ran(daemon).with_code(0);
    home
}

#[test]
fn p2_a_helper_has_the_variables_of_its_terminal_and_not_those_of_the_daemon() {
    let home = home();
    let mut command = home.command(["run", "--agent", "teller", "go"]);
    command.env("OWN", SECRET).env("CLAUDECODE", "1").env("TMUX", "/tmp/x,1,0");
    let said = ran(command).with_code(0).out;
    assert!(said.starts_with(&format!("[{SECRET}][][][][")), "{said}");
    // Without it: not even those that the daemon has.
    let mut command = home.command(["run", "--agent", "teller", "go"]);
    command.env("TMUX", "");
    assert!(ran(command).with_code(0).out.starts_with("[][][][]["));
}

#[cfg(target_os = "linux")]
#[test]
fn p2_a_helper_has_the_file_mode_mask_of_its_terminal() {
    let home = home();
    for mask in ["0027", "0002"] {
        let like = home.command(["x"]);
        let mut command = std::process::Command::new("sh");
        let legwork = env!("CARGO_BIN_EXE_legwork");
        let script = format!("umask {mask}; exec {legwork} run --agent teller go");
        command.args(["-c", &script]).env_clear().stdin(std::process::Stdio::null());
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let said = ran(command).with_code(0).out;
        assert_eq!(said.trim(), format!("[][][][][{mask}]"));
    }
}

#[test]
fn p2_the_values_are_nowhere_but_in_memory() {
    let home = home();
    let mut command = home.command(["run", "--agent", "teller", "--detach", "go"]);
    command.env("NOT_SAID", SECRET);
    let task = ran(command).with_code(0).out.trim().to_owned();
    home.run(["wait", &task]).with_code(0);
    for shown in [["show", &task, "--json"], ["log", &task, "--json"], ["output", &task, "--json"]]
    {
        assert!(!home.run(shown).out.contains(SECRET));
    }
    let found = files_with(&home.path("legwork"), SECRET.as_bytes());
    assert_eq!(found, Vec::<String>::new());
}

fn files_with(folder: &Path, secret: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, secret));
        } else if let Ok(bytes) = fs::read(&path)
            && bytes.windows(secret.len()).any(|window| window == secret)
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn p2_a_resumed_helper_has_the_variables_of_whoever_resumes_it() {
    let home = home();
    let run = |args: &[&str], own: &str| {
        let mut command = home.command(args);
        command.env("OWN", own);
        ran(command).with_code(0).out
    };
    home.run(["daemon", "stop", "--yes"]).with_code(0);
    let said = run(&["run", "--agent", "rehearsal", "env OWN"], "first");
    assert_eq!(said.trim(), "first");
    let task = home.run(["list", "--json"]).json()["tasks"][0]["id"].as_str().unwrap().to_owned();
    let said = run(&["run", "--resume", &task, "env OWN"], "second");
    assert_eq!(said.trim(), "second");
    home.run(["daemon", "stop", "--yes"]).with_code(0);
    let said = run(&["resume", &task, "env OWN"], "third");
    assert_eq!(said.trim(), "third");
    let mut fails = home.command(["resume", &task, "fail here"]);
    fails.env("OWN", "fourth");
    ran(fails).with_code(3);
    let said = run(&["resume", &task, "env OWN"], "fifth");
    assert_eq!(said.trim(), "fifth", "however its last run ended");
}

#[test]
fn p2_an_agent_on_the_terminals_path_is_found_and_so_is_what_it_calls() {
    let home = home();
    fs::create_dir(home.path("bin")).unwrap();
    let gemini = home.path("bin/gemini");
    let legwork = env!("CARGO_BIN_EXE_legwork");
    fs::write(&gemini, format!("#!/bin/sh\nexec {legwork} rehearsal\n")).unwrap();
    fs::set_permissions(&gemini, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    let mut command = home.command(["run", "--agent", "gemini", "env PATH"]);
    command.env("PATH", &path);
    assert_eq!(ran(command).with_code(0).out.trim(), path);
}

#[test]
fn l7_a_daemon_that_is_out_of_files_waits_instead_of_failing_runs() {
    let home = Home::new();
    home.configure("");
    let legwork = env!("CARGO_BIN_EXE_legwork");
    let mut start = home.command(["daemon", "start"]);
    let (vars, mut limited) = (start.get_envs(), std::process::Command::new("sh"));
    limited.args(["-c", &format!("ulimit -n 40; exec {legwork} daemon start")]).env_clear();
    limited.envs(vars.filter_map(|(name, value)| Some((name, value?))));
    ran({
        limited.stdin(std::process::Stdio::null());
        limited
    })
    .with_code(0);
    start.env_clear();
    let prompts: Vec<String> = (0..12).map(|n| format!("wait 1s\nsay number {n}")).collect();
    let mut args = vec!["run", "--agent", "rehearsal", "--detach"];
    args.extend(prompts.iter().map(String::as_str));
    let ids = ran(home.command(args)).with_code(0).out;
    let ids: Vec<&str> = ids.split_whitespace().collect();
    assert_eq!(ids.len(), 12);
    let waited: Vec<&str> = ["wait"].into_iter().chain(ids).collect();
    ran(home.command(waited)).with_code(0);
}
