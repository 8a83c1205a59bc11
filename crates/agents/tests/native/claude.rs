//! What Claude Code (2.1.325) has said is in `claude/`, recorded with a scripted model and
//! shortened.

use std::fs;

use legwork_acp::wire::{Message, SPENT, WORDS, answer};
use legwork_agents::native::claude::Claude;
use legwork_agents::native::uuid;
use legwork_machine::table::entry;
use legwork_testkit::Played;
use legwork_testkit::agent::{AgentClient, Heard};
use serde_json::{Value, json};
use tempfile::TempDir;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("claude/", $name))
    };
}

const ANSWER: &str = recorded!("answer.script");

/// The first lines of a recording, until this one.
fn until<'a>(recording: &'a str, line: &str) -> &'a str {
    &recording[..recording.find(line).unwrap()]
}

/// Until a session is open.
fn opens() -> &'static str {
    until(ANSWER, "< user")
}

/// Until a turn works.
fn begins() -> &'static str {
    let all = until(ANSWER, "> {\"type\":\"assistant\"");
    &all[opens().len()..]
}

struct Stage {
    folder: TempDir,
    claude: Played,
    client: AgentClient,
    session: String,
}

/// With a session open in a program that then plays all of these after each other.
async fn open(scripts: &[&str]) -> Stage {
    opened(&[&[opens()], scripts].concat().concat()).await
}

/// With a program that plays this, with a session open.
async fn opened(script: &str) -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let claude = Played::new(folder.path(), "claude", super::IS_PROGRAM);
    claude.plays(script);
    let mut client = of(&claude, &folder);
    let params = json!({ "cwd": folder.path(), "mcpServers": [] });
    let opened = client.call("session/new", params).await.outcome.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    Stage { folder, claude, client, session }
}

fn of(claude: &Played, folder: &TempDir) -> AgentClient {
    let files = folder.path().join("files");
    AgentClient::of_agent(Claude::with_folder(claude.program.clone(), files))
}

impl Stage {
    async fn send(&mut self, text: &str, message: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        let about = json!({ "legwork.dev/message": message });
        let params = json!({ "sessionId": self.session, "prompt": prompt, "_meta": about });
        self.client.send("session/prompt", params).await
    }

    async fn prompt(&mut self, text: &str, message: &str) -> Heard {
        let id = self.send(text, message).await;
        self.client.hear(id).await
    }

    /// The next question, with what was shown before.
    async fn asked(&mut self) -> (Value, Value) {
        loop {
            match self.client.message().await {
                Some(Message::Request { id, params, .. }) => return (id, params),
                Some(Message::Notification { .. }) => {}
                other => panic!("no question: {other:?}"),
            }
        }
    }

    async fn reply(&mut self, question: &Value, option: &str, words: Option<&str>) {
        let outcome = json!({ "outcome": "selected", "optionId": option });
        let reply = json!({ "outcome": outcome, "_meta": { WORDS: words } });
        self.client.write(&answer(question, &reply)).await;
    }

    /// What Claude Code was told, as the answers to its requests.
    fn told(&self) -> Vec<Value> {
        let all = self.claude.heard().into_iter();
        let answers = all.filter(|line| line["type"] == "control_response");
        answers.map(|mut line| line["response"].take()).collect()
    }

    /// Leaves this transcript of the session.
    fn transcript(&self, lines: &str) {
        let project = self.folder.path().join("files/projects/-p");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join(format!("{}.jsonl", self.session)), lines).unwrap();
    }

    async fn look(&mut self, message: &str) -> Value {
        let params = json!({ "sessionId": self.session, "message": message });
        self.client.call("_legwork/look", params).await.outcome.unwrap()
    }
}

fn cost(amount: f64) -> Value {
    json!({ "amount": amount, "currency": "USD" })
}

fn end(text: &str) -> String {
    let result =
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": text });
    format!("> {result}\n")
}

#[tokio::test]
async fn h1_h5_a_turn_is_shown_and_answered() {
    let mut stage = opened(ANSWER).await;
    let heard = stage.prompt("look around", "msg_1").await;
    assert_eq!((heard.stop_reason(), &*heard.said()), ("end_turn", "I look.One file."));
    let waits = "Waiting: 500 server_error, attempt 1 of 10 in 1 s\n";
    assert_eq!(heard.texts("agent_thought_chunk"), [waits]);
    let of = |kind: &str| -> Vec<&Value> {
        heard.updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
    };
    let (began, ended) = (of("tool_call"), of("tool_call_update"));
    let title = json!("Bash: ls -d .");
    assert_eq!((&began[0]["title"], &began[0]["kind"]), (&title, &json!("execute")));
    assert_eq!(ended[0]["status"], "completed");
    assert_eq!(ended[0]["content"][0]["content"]["text"], ".");
    let result = heard.outcome.unwrap();
    assert_eq!(result["usage"]["totalTokens"], 205);
    let spent = json!({ "cost": cost(0.0009), "model": "claude-opus-5-5" });
    assert_eq!(result["_meta"][SPENT], spent);
    let again = stage.prompt("and again", "msg_2").await.outcome.unwrap();
    assert_eq!(again["_meta"][SPENT]["cost"], cost(0.00134 - 0.0009), "of this turn alone");
    let prompts = stage.claude.heard().into_iter().filter(|line| line["type"] == "user");
    let prompts: Vec<_> = prompts
        .map(|line| (line["uuid"].clone(), line["message"]["content"][0]["text"].clone()))
        .collect();
    let sent = |message, text: &str| (json!(uuid(message)), json!(text));
    assert_eq!(prompts, [sent("msg_1", "look around"), sent("msg_2", "and again")]);
}

#[tokio::test]
async fn h5_a_chosen_model_is_set_before_the_turn() {
    let set = r#"
< control_request
> {"type":"control_response","response":{"subtype":"success","request_id":"legwork-2"}}
"#;
    let mut stage = open(&[set, begins(), &end("x")]).await;
    let choice =
        |model: &str| json!({ "sessionId": stage.session, "configId": "model", "value": model });
    let (haiku, other) = (choice("haiku"), choice("other"));
    let chosen = stage.client.call("session/set_config_option", haiku).await.outcome.unwrap();
    assert_eq!(chosen["configOptions"][0]["currentValue"], "haiku");
    stage.client.call("session/set_config_option", other).await.error();
    stage.prompt("x", "msg_1").await;
    let request = &stage.claude.heard()[1]["request"];
    assert_eq!(request, &json!({ "subtype": "set_model", "model": "haiku" }));
}

#[tokio::test]
async fn h3_a_yes_for_the_session_grants_what_it_says_and_no_more() {
    let mut stage = opened(recorded!("session.script")).await;
    let prompt = stage.send("x", "msg_1").await;
    let (question, about) = stage.asked().await;
    assert_eq!(about["toolCall"]["title"], "Bash: touch b");
    assert_eq!(about["options"][1]["name"], "Allow in this session: Bash(touch b *)");
    stage.reply(&question, "session", None).await;
    // The same call is not asked for again.
    let (question, about) = stage.asked().await;
    assert_eq!(about["toolCall"]["title"], "Bash: rm -rf zzz");
    stage.reply(&question, "no", Some("not here")).await;
    assert_eq!(stage.client.hear(prompt).await.said(), "done");
    let told = stage.told();
    let rules = json!([{ "toolName": "Bash", "ruleContent": "touch b *" }]);
    let granted = json!([{
        "type": "addRules", "rules": rules, "behavior": "allow", "destination": "session",
    }]);
    let input = json!({ "command": "touch b", "description": "d" });
    let allowed =
        json!({ "behavior": "allow", "updatedInput": input, "updatedPermissions": granted });
    assert_eq!(told[0]["response"], allowed);
    assert_eq!(told[1]["response"]["behavior"], "deny");
    let words = told[1]["response"]["message"].as_str().unwrap();
    assert!(words.ends_with("says: not here"), "{words}");
}

#[tokio::test]
async fn h3_the_models_questions_are_asked_and_answered_together() {
    let mut stage = opened(recorded!("questions.script")).await;
    let prompt = stage.send("x", "msg_1").await;
    let (first, about) = stage.asked().await;
    assert_eq!(about["_meta"][WORDS], json!({ "kind": "question", "words": true }));
    assert_eq!(about["toolCall"]["title"], "Which colour?");
    stage.reply(&first, "1", None).await;
    let (second, _) = stage.asked().await;
    let nothing = json!({ "outcome": "cancelled" });
    let words = json!({ "outcome": nothing, "_meta": { WORDS: "Monday, Friday" } });
    stage.client.write(&answer(&second, &words)).await;
    stage.client.hear(prompt).await;
    assert_eq!(
        stage.told()[0]["response"]["updatedInput"]["answers"],
        json!({ "Which colour?": "Blue", "Which days?": "Monday, Friday" })
    );
}

#[tokio::test]
async fn h3_a_plan_is_shown_whole_before_it_is_carried_out() {
    let mut stage = opened(recorded!("plan.script")).await;
    stage.prompt("plan", "msg_1").await;
    let prompt = stage.send("go on", "msg_2").await;
    let (question, about) = stage.asked().await;
    let title = about["toolCall"]["title"].as_str().unwrap();
    assert!(title.ends_with("# Plan\n1. Look\n2. Leap"), "{title}");
    stage.reply(&question, "once", None).await;
    stage.client.hear(prompt).await;
    assert_eq!(stage.told()[0]["response"]["behavior"], "allow");
}

#[tokio::test]
async fn h7_what_is_not_known_is_refused_and_nobody_is_asked() {
    let mut stage = open(&[
        begins(),
        r#"
> {"type":"control_request","request_id":"odd","request":{"subtype":"read_minds"}}
< control_response
> {"type":"control_request","request_id":"star","request":{"subtype":"can_use_tool","tool_name":"PickAStar","input":{},"tool_use_id":"t0","requires_user_interaction":true}}
< control_response
> {"type":"something_new","of":"a later version"}
"#,
        &end("done"),
    ])
    .await;
    assert_eq!(stage.prompt("x", "msg_1").await.said(), "done");
    let told = stage.told();
    assert_eq!((&told[0]["request_id"], &told[0]["subtype"]), (&json!("odd"), &json!("error")));
    assert_eq!(told[1]["response"]["behavior"], "deny");
}

#[tokio::test]
async fn h4_a_turn_that_is_called_off_is_interrupted() {
    let mut stage =
        opened(&[recorded!("interrupt.script"), begins(), &end("went on")].concat()).await;
    let prompt = stage.send("x", "msg_1").await;
    let (question, _) = stage.asked().await;
    stage.client.cancel(&stage.session).await;
    let nobody = json!({ "outcome": { "outcome": "cancelled" } });
    stage.client.write(&answer(&question, &nobody)).await;
    let heard = stage.client.hear(prompt).await;
    assert_eq!(heard.stop_reason(), "cancelled");
    assert_eq!(heard.outcome.unwrap()["_meta"][SPENT]["cost"], cost(0.00042));
    assert_eq!(stage.told(), Vec::<Value>::new(), "what was called off is not answered");
    assert_eq!(stage.prompt("y", "msg_2").await.said(), "went on");
}

#[tokio::test]
async fn h4_what_does_not_heed_an_interrupt_is_killed_and_started_again() {
    let mut stage = open(&[begins()]).await;
    let prompt = stage.send("x", "msg_1").await;
    assert!(stage.client.message().await.is_some());
    stage.client.cancel(&stage.session).await;
    assert_eq!(stage.client.hear(prompt).await.stop_reason(), "cancelled");
    stage.claude.plays(&[opens(), begins(), &end("again")].concat());
    assert_eq!(stage.prompt("y", "msg_2").await.said(), "again");
}

#[tokio::test]
async fn h5_a_failure_is_told_as_one_whatever_the_subtype_says() {
    let mut limited = opened(recorded!("limit.script")).await;
    let heard = limited.prompt("x", "msg_1").await;
    let (code, why) = heard.error();
    assert!(code == -32603 && why.starts_with("You've hit your 5-hour limit"), "{why}");
    assert!(why.ends_with(" (until 2026-11-20 02:52 UTC)"), "{why}");
    assert_eq!(heard.said(), "", "a refusal is no answer");
    let mut nobody = opened(recorded!("no_login.script")).await;
    assert_eq!(nobody.prompt("x", "msg_1").await.error().0, -32000, "somebody has to log in");
    let mut dying = open(&[begins(), "stderr out of luck\nexit 3"]).await;
    let heard = dying.prompt("x", "msg_1").await;
    let (_, why) = heard.error();
    assert!(why.contains("exit status: 3") && why.contains("out of luck"), "{why}");
}

#[tokio::test]
async fn h7_a_version_that_is_too_old_does_nothing() {
    let mut stage = open(&[&begins().replace("2.1.325", "2.1.73")]).await;
    let heard = stage.prompt("x", "msg_1").await;
    assert!(heard.error().1.contains("claude update"), "{heard:?}");
}

#[tokio::test]
async fn h2_what_became_of_a_prompt_can_be_asked_after_a_crash() {
    let mut stage = open(&[]).await;
    let greeting = stage.client.initialize().await;
    assert_eq!(greeting["agentCapabilities"]["_meta"]["legwork.dev/look"], true);
    assert_eq!(stage.look("msg_1").await, json!({ "taken": false }), "there is no transcript");
    stage.transcript(recorded!("cut.jsonl"));
    assert_eq!(stage.look("msg_1").await, json!({ "taken": true }));
    assert_eq!(stage.look("msg_2").await, json!({ "taken": false }));
    stage.transcript(recorded!("interrupted.jsonl"));
    assert_eq!(stage.look("msg_1").await, json!({ "taken": true }));
    stage.transcript(recorded!("answered.jsonl"));
    let spent = json!({ SPENT: { "model": "claude-opus-5-5" } });
    let end = json!({ "text": "One file.", "usage": { "totalTokens": 205 }, "_meta": spent });
    assert_eq!(stage.look("msg_1").await, json!({ "taken": true, "end": end }));
    assert_eq!(stage.look("msg_2").await["end"]["text"], "Again.");
    stage.transcript(recorded!("limit.jsonl"));
    let failure = stage.look("msg_1").await["end"]["failure"].take();
    assert!(failure.as_str().unwrap().ends_with(" (until 2026-11-20 02:52 UTC)"), "{failure}");
    assert_eq!(stage.claude.heard().len(), 1, "a look says nothing to Claude Code");
}

#[tokio::test]
async fn h2_a_prompt_that_was_taken_is_not_sent_again() {
    let mut stage = open(&[begins(), &end("new")]).await;
    stage.transcript(recorded!("answered.jsonl"));
    let again = stage.prompt("x", "msg_1").await;
    assert_eq!((again.stop_reason(), &*again.said()), ("end_turn", "One file."));
    stage.transcript(recorded!("cut.jsonl"));
    assert!(stage.prompt("x", "msg_1").await.error().1.contains("cut off"));
    assert_eq!(stage.prompt("x", "msg_3").await.said(), "new");
    let prompts = stage.claude.heard().into_iter().filter(|line| line["type"] == "user");
    let prompts: Vec<Value> = prompts.map(|line| line["uuid"].clone()).collect();
    assert_eq!(prompts, [uuid("msg_3")]);
}

#[tokio::test]
async fn h2_h5_a_session_goes_on_and_its_cost_with_it() {
    let mut stage = open(&[]).await;
    let params =
        json!({ "sessionId": stage.session, "cwd": stage.folder.path(), "mcpServers": [] });
    let mut other = of(&stage.claude, &stage.folder);
    assert_eq!(other.call("session/resume", params.clone()).await.error().0, -32002);
    stage.transcript(recorded!("answered.jsonl"));
    let total = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "more",
        "total_cost_usd": 0.00184,
    });
    stage.claude.plays(&[opens(), begins(), &format!("> {total}\n")].concat());
    stage.client = of(&stage.claude, &stage.folder);
    let loaded = stage.client.call("session/load", params).await;
    assert_eq!(loaded.said(), "I look.One file.Again.");
    assert_eq!(loaded.texts("user_message_chunk").len(), 2);
    let more = stage.prompt("x", "msg_3").await.outcome.unwrap();
    let spent = more["_meta"][SPENT]["cost"]["amount"].as_f64().unwrap();
    assert!((spent - 0.0005).abs() < 1e-9, "{spent}: what the session had cost is not this turn's");
}

#[tokio::test]
async fn h2_another_process_in_the_session_is_waited_for() {
    let mut stage = open(&[]).await;
    // A shell that the process table shows as Claude Code, and that is no child of ours.
    let other = stage.folder.path().join("other/claude");
    fs::create_dir(other.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/bin/sh", &other).unwrap();
    let script = "\"$0\" -c 'sleep 0.5; true' --resume \"$1\" >/dev/null 2>&1 & echo $!";
    let mut command = std::process::Command::new("/bin/sh");
    let said = command.args(["-c", script]).arg(&other).arg(&stage.session).output().unwrap();
    let id = String::from_utf8(said.stdout).unwrap().trim().parse().unwrap();
    let is_at_work = || entry(id).is_some_and(|entry| !entry.is_zombie());
    assert!(is_at_work());
    assert_eq!(stage.look("msg_1").await, json!({ "taken": false }));
    assert!(!is_at_work(), "what it says would not have been the end");
}
