//! The first use, with what is on the PATH and nothing else: what is missing is said everywhere, in
//! one line that a person can run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use legwork_testkit::legwork::{Home, Ran, ran};
use legwork_testkit::{Played, act_as_program};

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");
const CLAUDE: &str = "npm install -g @agentclientprotocol/claude-agent-acp";
const CODEX: &str = "npm install -g @agentclientprotocol/codex-acp";

/// A home with these programs on the PATH, and no others.
fn home_with(programs: &[&str]) -> Home {
    let home = Home::new();
    fs::create_dir(home.path("bin")).unwrap();
    programs.iter().for_each(|program| add(&home, program));
    home
}

/// One that speaks ACP, whatever its name.
fn add(home: &Home, program: &str) {
    let file = home.path("bin").join(program);
    fs::write(&file, format!("#!/bin/sh\nexec {LEGWORK} rehearsal\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
}

fn run(home: &Home, args: &[&str]) -> Ran {
    run_with(home, args, &[])
}

fn run_with(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = home.command(args);
    command.env("PATH", home.path("bin")).envs(variables.iter().copied());
    ran(command)
}

/// A Claude Code of this version that somebody is logged in with or nobody, and that answers.
fn add_claude(home: &Home, version: &str, is_logged_in: bool) {
    let file = home.path("bin/claude");
    let script = format!(
        r#"#!/bin/sh
case "$1" in
--version) echo "{version} (Claude Code)"; exit ;;
auth) echo '{{"loggedIn":{is_logged_in},"authMethod":"claude.ai","email":"a@b.c"}}'; exit ;;
esac
while read -r line; do
  case "$line" in
  *'"initialize"'*)
    echo '{{"type":"control_response","response":{{"subtype":"success","request_id":"legwork-1","response":{{"models":[]}}}}}}' ;;
  *'"type":"user"'*)
    echo '{{"type":"system","subtype":"init","model":"m","claude_code_version":"{version}"}}'
    echo '{{"type":"assistant","message":{{"id":"1","content":[{{"type":"text","text":"All is well."}}]}}}}'
    echo '{{"type":"result","subtype":"success","is_error":false,"result":"All is well."}}' ;;
  esac
done
"#
    );
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn h1_p13_with_only_claude_on_the_path_helpers_run_on_it_at_once() {
    let home = home_with(&[]);
    add_claude(&home, "2.1.325", true);
    let said = run(&home, &["run", "look around"]).with_code(0);
    assert_eq!(said.out, "All is well.\n");
    let agents = run(&home, &["agents"]).with_code(0);
    for words in ["native", "2.1.325", "logged in: claude.ai", "bin/claude"] {
        assert!(agents.out.contains(words), "{words}: {agents:?}");
    }
    assert!(!agents.out.contains("a@b.c"), "whose login it is concerns nobody: {agents:?}");
    let doctor = run(&home, &["doctor"]).with_code(0);
    let installed = run(&home, &["install", "claude"]).with_code(0);
    for said in [agents.out, doctor.out, installed.out] {
        assert!(!said.contains("npm install"), "{said}");
    }

    add_claude(&home, "2.1.325", false);
    let agents = run(&home, &["agents"]).with_code(0);
    assert!(agents.out.contains("nobody is logged in: run `claude`"), "{agents:?}");

    add_claude(&home, "2.1.73", true);
    let agents = run(&home, &["agents"]).with_code(1);
    for words in ["2.1.73", "too old", "claude update", CLAUDE] {
        assert!(agents.out.contains(words), "{words}: {agents:?}");
    }
    run(&home, &["run", "look around"]).with_code(3);
    add(&home, "claude-agent-acp");
    let said = run(&home, &["run", "say x"]).with_code(0);
    assert_eq!(said.out, "x\n", "an adapter goes first");
}

#[test]
fn p13_with_nothing_on_the_path_it_is_said_what_could_be_there() {
    let home = home_with(&[]);
    let installed = run(&home, &["install", "cursor"]).with_code(0);
    let doctor = run(&home, &["doctor"]).with_code(1);
    for said in [installed.out, doctor.out, run(&home, &["run", "x"]).err] {
        assert!(said.contains("opencode, claude, codex, gemini or goose"), "{said}");
        assert!(!said.contains("npm install"), "{said}");
    }
}

/// The program, if this one was started as it.
#[test]
fn this_program_is_played_if_it_is_started_so() {
    act_as_program();
}

const CODEX_ANSWERS: &str = r#"
* initialize {"id":"$id","result":{"userAgent":"legwork/0.169.0 (Debian 12.0.0; x86_64) dumb (legwork; 0.1.0)"}}
* account/read {"id":"$id","result":{"account":{"type":"chatgpt","email":"a@b.c","planType":"plus"},"requiresOpenaiAuth":true}}
* thread/start {"id":"$id","result":{"thread":{"id":"T"},"model":"gpt-6"}}
* model/list {"id":"$id","result":{"data":[],"nextCursor":null}}
* turn/start {"id":"$id","result":{"turn":{"id":"U","status":"inProgress"}}}
* turn/start {"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"m","text":"All is well."}}}
* turn/start {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}
"#;

#[test]
fn h1_p13_with_only_codex_on_the_path_helpers_run_on_it_at_once() {
    let home = home_with(&[]);
    let is_program = "first_use::this_program_is_played_if_it_is_started_so";
    let codex = Played::new(&home.path("bin"), "codex", is_program);
    codex.plays(CODEX_ANSWERS);
    let said = run(&home, &["run", "look around"]).with_code(0);
    assert_eq!(said.out, "All is well.\n");
    let agents = run(&home, &["agents"]).with_code(0);
    for words in ["native", "0.169.0", "logged in: ChatGPT, plus", "bin/codex"] {
        assert!(agents.out.contains(words), "{words}: {agents:?}");
    }
    assert!(!agents.out.contains("a@b.c"), "whose login it is concerns nobody: {agents:?}");
    let doctor = run(&home, &["doctor"]).with_code(0);
    assert!(doctor.out.contains("logged in: ChatGPT, plus"), "{doctor:?}");
    for said in [agents.out, doctor.out] {
        assert!(!said.contains("npm install"), "{said}");
    }

    let nobody = r#"{"type":"chatgpt","email":"a@b.c","planType":"plus"}"#;
    codex.plays(&CODEX_ANSWERS.replace(nobody, "null"));
    let agents = run(&home, &["agents"]).with_code(0);
    assert!(agents.out.contains("nobody is logged in: run `codex login`"), "{agents:?}");
    let doctor = run(&home, &["doctor"]).with_code(0);
    assert!(doctor.out.contains("Log in: run `codex login`."), "{doctor:?}");
    let refused = run(&home, &["run", "look around"]).with_code(3);
    assert!(refused.err.contains("wants somebody to log in first"), "{refused:?}");

    codex.plays("stderr error: unrecognized subcommand 'app-server'\nexit 2");
    let agents = run(&home, &["agents"]).with_code(1);
    for words in ["app-server", "codex update", CODEX] {
        assert!(agents.out.contains(words), "{words}: {agents:?}");
    }
    add(&home, "codex-acp");
    let said = run(&home, &["run", "say x"]).with_code(0);
    assert_eq!(said.out, "x\n", "an adapter goes first");
}

#[test]
fn p13_an_adapter_runs_the_persons_own_program() {
    let home = home_with(&["claude", "claude-agent-acp", "codex", "codex-acp"]);
    home.configure(&format!("[agents.mine]\ncommand = [{:?}]\n", home.path("bin/codex-acp")));
    for (agent, variable, program) in [
        ("claude", "CLAUDE_CODE_EXECUTABLE", "bin/claude"),
        ("codex", "CODEX_PATH", "bin/codex"),
        ("mine", "CODEX_PATH", "bin/codex"),
    ] {
        let prompt = format!("env {variable}");
        let args = ["run", "--agent", agent, &prompt];
        let said = run(&home, &args).with_code(0).out;
        assert_eq!(said.trim(), home.path(program).display().to_string());
        let said = run_with(&home, &args, &[(variable, "/my/own")]).with_code(0).out;
        assert_eq!(said.trim(), "/my/own", "what is set stays");
    }
    let said = run(&home, &["run", "--agent", "claude", "env CODEX_PATH"]).with_code(0).out;
    assert_eq!(said.trim(), "CODEX_PATH is not set");
    fs::remove_file(home.path("bin/claude")).unwrap();
    let args = ["run", "--agent", "claude", "env CLAUDE_CODE_EXECUTABLE"];
    let said = run(&home, &args).with_code(0).out;
    assert_eq!(said.trim(), "CLAUDE_CODE_EXECUTABLE is not set", "it brings one along");
}

#[test]
fn p13_an_agent_whose_name_has_a_slip_is_asked_about() {
    let home = home_with(&["gemini"]);
    let refused = run(&home, &["run", "--agent", "gemni", "x"]).with_code(1);
    assert!(refused.err.contains("Did you mean gemini?"), "{refused:?}");
    assert!(refused.err.contains("There are: gemini and rehearsal"), "{refused:?}");
    let refused = run(&home, &["agents", "gemni"]).with_code(1);
    assert!(refused.err.contains("Did you mean gemini?"), "{refused:?}");
    fs::remove_file(home.path("bin/gemini")).unwrap();
    let refused = run(&home, &["run", "--agent", "rehersal", "x"]).with_code(1);
    assert!(refused.err.contains("Did you mean rehearsal?"), "{refused:?}");
    assert!(refused.err.contains("There is only rehearsal"), "{refused:?}");
}
