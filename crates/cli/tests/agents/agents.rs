//! `legwork agents`, and what the doctor says of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use legwork_testkit::agent::{Misbehaviour, act_as_agent, agent_of};
use legwork_testkit::legwork::Home;

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");

/// The agent of the test kit, if this program was started as one.
#[test]
fn this_program_is_an_agent_if_it_is_started_as_one() {
    act_as_agent();
}

/// An agent that does what its script says, also what no good agent does.
pub fn bad_agent(name: &str, how: Option<Misbehaviour>) -> String {
    agent_of(name, "agents::this_program_is_an_agent_if_it_is_started_as_one", how)
}

fn bad(name: &str, how: Misbehaviour) -> String {
    bad_agent(name, Some(how))
}

#[test]
fn each_agent_says_who_it_is_or_what_is_wrong() {
    let home = Home::new();
    home.configure(&format!(
        "[agents.gone]\ncommand = [\"/nowhere/x\"]\n{}{}{}start_seconds = 1\n\
         [run]\nagent = \"rehearsal\"\n",
        bad("ends", Misbehaviour::Exit),
        bad("other", Misbehaviour::Version),
        bad("mute", Misbehaviour::Silent)
    ));
    let ran = home.run(["agents"]).with_code(1);
    let line = |name: &str| ran.out.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line("rehearsal (default)").contains("built in"), "{ran:?}");
    assert!(line("rehearsal (default)").contains("ok, rehearsal 0."), "{ran:?}");
    assert!(line("rehearsal (default)").contains(", resumes"), "{ran:?}");
    for (name, wrong) in
        [("gone", "No such file"), ("ends", "3"), ("other", "99"), ("mute", "within 1 s")]
    {
        assert!(line(name).contains("settings"), "{ran:?}");
        assert!(line(&format!("✗ {name}:")).contains(wrong), "{name}: {ran:?}");
    }
    home.run(["agents", "rehearsal"]).with_code(0);
    let unknown = home.run(["agents", "nobody"]).with_code(1);
    assert!(unknown.err.contains("gone, ends"), "{unknown:?}");
}

#[test]
fn programs_get_the_same_and_nothing_is_started_if_not_wanted() {
    let home = Home::new();
    home.configure(&bad("ends", Misbehaviour::Exit));
    let all = home.run(["agents", "--json"]).with_code(1).json();
    assert_eq!((&all[0]["name"], &all[0]["default"]), (&"ends".into(), &true.into()));
    assert!(all[0]["starts"]["wrong"].as_str().unwrap().contains("ends"), "{all}");
    let last = all.as_array().unwrap().last().unwrap();
    assert_eq!((&last["from"], &last["starts"]["resumes"]), (&"built in".into(), &true.into()));
    let looked = home.run(["agents", "--json", "--no-start"]).with_code(0).json();
    assert_eq!(looked[0]["starts"], serde_json::Value::Null);
}

#[test]
fn g1_agents_that_somebody_else_could_have_written_are_not_started_and_it_is_said() {
    let home = Home::new();
    home.configure(&bad("planted", Misbehaviour::Exit));
    let config = home.path("legwork/config.toml");
    fs::set_permissions(&config, PermissionsExt::from_mode(0o666)).unwrap();
    let remedy = format!("chmod go-w {}", config.display());
    let shown = home.run(["agents"]).with_code(0);
    assert!(shown.err.contains(&remedy) && !shown.out.contains("planted"), "{shown:?}");
    let run = home.run(["run", "--agent", "planted", "say hello"]).with_code(1);
    assert!(run.err.contains(&remedy), "{run:?}");
    let doctor = home.run(["doctor"]).with_code(1);
    assert!(doctor.out.contains(&remedy), "{doctor:?}");
    let log = fs::read_to_string(home.path("legwork/daemon.log")).unwrap();
    assert!(log.contains(&remedy), "{log}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_writes_and_opens_as_whoever_started_the_daemon_may() {
    let home = Home::new();
    let seen = home.path("seen");
    let script =
        format!("umask > {0}; ulimit -Sn >> {0}; exec {LEGWORK} rehearsal", seen.display());
    home.configure(&format!("[agents.mine]\ncommand = [\"sh\", \"-c\", {script:?}]\n"));
    let legwork = home.command(["run", "--agent", "mine", "say hello"]);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "umask 027; ulimit -Sn 300; exec \"$0\" \"$@\""]);
    shell.arg(legwork.get_program()).args(legwork.get_args()).env_clear();
    shell.envs(legwork.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(shell.output().unwrap().status.success());
    assert_eq!(fs::read_to_string(seen).unwrap(), "0027\n300\n");
}

#[test]
fn the_doctor_counts_them_and_finds_a_default_that_is_none() {
    let home = Home::new();
    home.configure("[run]\nagent = \"nobody\"\n");
    let line = |text: &str| text.lines().find(|line| line.contains(" agents ")).unwrap().to_owned();
    let ill = home.run(["doctor"]).with_code(1);
    assert!(line(&ill.out).contains("nobody"), "{ill:?}");
    fs::write(home.path("legwork/config.toml"), "[agents.mine]\ncommand = [\"x\"]\n").unwrap();
    let well = home.run(["doctor"]);
    assert!(line(&well.out).contains("the default is mine"), "{well:?}");
}
