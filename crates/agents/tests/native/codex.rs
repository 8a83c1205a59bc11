//! Codex: what its app-server says becomes ACP, and the other way round.

use legwork_acp::wire::{Message, SPENT, WORDS, answer};
use legwork_agents::native::codex::Codex;
use legwork_agents::native::uuid;
use legwork_testkit::Played;
use legwork_testkit::agent::{AgentClient, Heard};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Until a thread is open.
const OPEN: &str = r#"
< initialize
> {"id":"$id","result":{"userAgent":"legwork/0.169.0 (Debian 12.0.0; x86_64) dumb (legwork; 0.1.0)","codexHome":"/h/.codex"}}
< account/read
> {"id":"$id","result":{"account":{"type":"chatgpt","email":"a@b.c","planType":"plus"},"requiresOpenaiAuth":true}}
< thread/start
> {"id":"$id","result":{"thread":{"id":"T","status":{"type":"idle"},"turns":[]},"model":"gpt-6","modelProvider":"openai"}}
> {"method":"thread/started","params":{"thread":{"id":"T"}}}
< model/list
> {"id":"$id","result":{"data":[{"id":"gpt-6","model":"gpt-6","displayName":"GPT 6","hidden":false},{"id":"gpt-6-mini","model":"gpt-6-mini","displayName":"GPT 6 mini"},{"id":"old","model":"old","hidden":true}],"nextCursor":null}}
"#;

/// Until a turn works.
const BEGIN: &str = r#"
< turn/start
> {"id":"$id","result":{"turn":{"id":"U","status":"inProgress","items":[],"error":null}}}
> {"method":"turn/started","params":{"threadId":"T","turn":{"id":"U","status":"inProgress"}}}
"#;

const END: &str = r#"
> {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed","items":[],"error":null}}}
"#;

struct Stage {
    _folder: TempDir,
    codex: Played,
    client: AgentClient,
    session: String,
}

/// With a program that plays all of these after each other.
fn played(scripts: &[&str]) -> (TempDir, Played, AgentClient) {
    let folder = tempfile::tempdir().unwrap();
    let codex = Played::new(folder.path(), "codex", super::IS_PROGRAM);
    codex.plays(&scripts.concat());
    let client = AgentClient::of_agent(Codex::new(codex.program.clone()));
    (folder, codex, client)
}

/// With a thread open.
async fn open(scripts: &[&str]) -> Stage {
    let (folder, codex, client) = played(&[&[OPEN], scripts].concat());
    let (client, session) = client.opened().await;
    Stage { _folder: folder, codex, client, session }
}

impl Stage {
    async fn prompt(&mut self, text: &str) -> Heard {
        let prompt = json!([{ "type": "text", "text": text }]);
        let params = json!({
            "sessionId": self.session, "prompt": prompt, "_meta": { "legwork.dev/message": "msg_1" },
        });
        self.client.call("session/prompt", params).await
    }
}

fn reply(told: &[Value], id: u64) -> &Value {
    told.iter().find(|told| told.get("method").is_none() && told["id"] == id).unwrap()
}

#[tokio::test]
async fn h1_h5_a_turn_is_shown_and_answered() {
    let mut stage = open(&[
        BEGIN,
        r#"
> {"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"other","tokenUsage":{"total":{"totalTokens":7},"last":{"totalTokens":7}}}}
> {"method":"item/reasoning/summaryTextDelta","params":{"threadId":"T","turnId":"U","itemId":"r","delta":"Hm.","summaryIndex":0}}
> {"method":"turn/plan/updated","params":{"threadId":"T","turnId":"U","plan":[{"step":"look","status":"completed"},{"step":"say","status":"inProgress"}]}}
> {"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"m1","text":""}}}
> {"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"m1","delta":"I look."}}
> {"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":"c","command":"ls","status":"inProgress"}}}
> {"method":"item/commandExecution/outputDelta","params":{"threadId":"T","turnId":"U","itemId":"c","delta":"a\n"}}
> {"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":"c","command":"ls","status":"completed","aggregatedOutput":"a\n","exitCode":0}}}
> {"method":"error","params":{"threadId":"T","turnId":"U","willRetry":true,"error":{"message":"Reconnecting... 2/5","additionalDetails":"429"}}}
> {"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U","tokenUsage":{"total":{"totalTokens":1100},"last":{"totalTokens":100}}}}
> {"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U","tokenUsage":{"total":{"totalTokens":1250},"last":{"totalTokens":150}}}}
> {"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"m2","text":""}}}
> {"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"m2","delta":"One "}}
> {"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"m2","delta":"file."}}
> {"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"m2","text":"One file."}}}
> {"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"m3","text":"That is all."}}}
> {"method":"something/new","params":{"threadId":"T"}}
"#,
        END,
    ])
    .await;
    let heard = stage.prompt("look around").await;
    assert_eq!(heard.stop_reason(), "end_turn");
    assert_eq!(heard.said(), "I look.One file.\n\nThat is all.");
    assert_eq!(heard.texts("agent_thought_chunk"), ["Hm.", "Waiting: Reconnecting... 2/5: 429\n"]);
    let of = |kind: &str| -> Vec<&Value> {
        heard.updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
    };
    assert_eq!(of("plan")[0]["entries"][1]["status"], "in_progress");
    let (began, ended) = (of("tool_call"), of("tool_call_update"));
    assert_eq!((&began[0]["title"], &began[0]["status"]), (&json!("ls"), &json!("in_progress")));
    assert_eq!(ended[0]["content"][0]["content"]["text"], "a\n");
    let result = heard.outcome.unwrap();
    assert_eq!(result["usage"]["totalTokens"], 250, "of this turn alone");
    assert_eq!(result["_meta"][SPENT]["model"], "gpt-6");
    let asked = &stage.codex.heard_of("turn/start")[0];
    assert_eq!(asked["input"], json!([{ "type": "text", "text": "look around" }]));
    assert_eq!(asked["clientUserMessageId"], uuid("msg_1"));
    assert!(asked.get("model").is_none() && asked.get("approvalPolicy").is_none(), "{asked}");
}

#[tokio::test]
async fn h1_who_is_logged_in_is_told_and_nobody_opens_nothing() {
    let greeting = r#"
< initialize
> {"id":"$id","result":{"userAgent":"legwork/0.169.0 (x)"}}
< account/read
> {"id":"$id","result":{"account":null,"requiresOpenaiAuth":true}}
< account/read
> {"id":"$id","result":{"account":null,"requiresOpenaiAuth":true}}
"#;
    let (_folder, codex, mut client) = played(&[greeting]);
    let check = json!({ "protocolVersion": 1, "_meta": { "legwork.dev/check": true } });
    let told = client.call("initialize", check).await.outcome.unwrap();
    let program = &told["_meta"]["legwork.dev/program"];
    assert_eq!((&program["version"], &program["login"]), (&json!("0.169.0"), &Value::Null));
    assert!(program.as_object().unwrap().contains_key("login"));
    let opened = client.call("session/new", json!({ "cwd": "/", "mcpServers": [] })).await;
    assert_eq!(opened.error().0, -32000);
    assert!(codex.heard_of("thread/start").is_empty());
}

#[tokio::test]
async fn h5_a_chosen_model_is_that_of_the_turn() {
    let mut stage = open(&[BEGIN, END]).await;
    let choice = json!({ "sessionId": stage.session, "configId": "model", "value": "gpt-6-mini" });
    let chosen = stage.client.call("session/set_config_option", choice).await.outcome.unwrap();
    let option = &chosen["configOptions"][0];
    assert_eq!(option["currentValue"], "gpt-6-mini");
    assert_eq!(option["options"].as_array().unwrap().len(), 2, "a hidden one is not offered");
    stage.prompt("x").await;
    assert_eq!(stage.codex.heard_of("turn/start")[0]["model"], "gpt-6-mini");
    let other = json!({ "sessionId": stage.session, "configId": "model", "value": "old" });
    stage.client.call("session/set_config_option", other).await.error();
}

#[tokio::test]
async fn h3_a_person_allows_or_refuses_with_words() {
    let mut stage = open(&[
        BEGIN,
        r#"
> {"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"fileChange","id":"f","status":"inProgress","changes":[{"path":"a.rs","diff":"+x"}]}}}
> {"id":1,"method":"item/fileChange/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"f","reason":null}}
> {"id":2,"method":"item/commandExecution/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c","command":"rm x"}}
> {"id":3,"method":"item/tool/call","params":{"threadId":"T","turnId":"U"}}
< #3
< #1
< #2
< turn/steer
> {"id":"$id","result":{"turnId":"U"}}
"#,
        END,
    ])
    .await;
    let prompt = stage.client.send_prompt(&stage.session, "x").await;
    let mut asked = Vec::new();
    while asked.len() < 2 {
        if let Some(Message::Request { id, params, .. }) = stage.client.message().await {
            asked.push((id, params));
        }
    }
    let (edit, about_edit) = &asked[0];
    assert_eq!(about_edit["toolCall"]["title"], "Change a.rs");
    assert!(about_edit["options"][1]["name"].as_str().unwrap().contains("in this session"));
    stage.client.choose(edit.as_u64().unwrap(), "acceptForSession").await;
    let (command, about_command) = &asked[1];
    assert_eq!(about_command["_meta"][WORDS], json!({ "kind": "permission", "words": true }));
    let outcome = json!({ "outcome": "selected", "optionId": "decline" });
    let no = json!({ "outcome": outcome, "_meta": { WORDS: "use trash" } });
    stage.client.write(&answer(command, &no)).await;
    assert_eq!(stage.client.hear(prompt).await.stop_reason(), "end_turn");
    let heard = stage.codex.heard();
    assert_eq!(reply(&heard, 1)["result"]["decision"], "acceptForSession");
    assert_eq!(reply(&heard, 2)["result"]["decision"], "decline");
    assert!(reply(&heard, 3)["error"].is_object(), "what is not known is refused");
    let steer = &stage.codex.heard_of("turn/steer")[0];
    assert_eq!(
        (&steer["expectedTurnId"], &steer["input"][0]["text"]),
        (&json!("U"), &json!("use trash"))
    );
}

#[tokio::test]
async fn h4_a_turn_that_is_called_off_is_interrupted_and_cleaned_up_after() {
    let mut stage = open(&[
        BEGIN,
        r#"
> {"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"m","delta":"begun"}}
< turn/interrupt
> {"id":"$id","result":{}}
> {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"interrupted","items":[],"error":null}}}
< thread/backgroundTerminals/clean
> {"id":"$id","result":{}}
"#,
    ])
    .await;
    let prompt = stage.client.send_prompt(&stage.session, "x").await;
    assert!(matches!(stage.client.message().await, Some(Message::Notification { .. })));
    stage.client.cancel(&stage.session).await;
    assert_eq!(stage.client.hear(prompt).await.stop_reason(), "cancelled");
    let interrupt = &stage.codex.heard_of("turn/interrupt")[0];
    assert_eq!(interrupt, &json!({ "threadId": "T", "turnId": "U" }));
    assert_eq!(stage.codex.heard_of("thread/backgroundTerminals/clean").len(), 1);
}

#[tokio::test]
async fn h5_a_turn_that_failed_is_an_error_with_the_end_of_the_limit() {
    let mut stage = open(&[
        BEGIN,
        r#"
> {"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"windowDurationMins":300,"resetsAt":1795000000}}}}
> {"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U","tokenUsage":{"total":{"totalTokens":9},"last":{"totalTokens":9}}}}
> {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"failed","items":[],"error":{"message":"You’ve hit your usage limit.","codexErrorInfo":"usageLimitExceeded","additionalDetails":null}}}}
"#,
    ])
    .await;
    let heard = stage.prompt("x").await;
    let (_, why) = heard.error();
    let expected = "You’ve hit your usage limit. (the limit resets at 2026-11-18 11:06 UTC)";
    assert_eq!(why, expected);
    assert_eq!(heard.outcome.unwrap_err().data["usage"]["totalTokens"], 9);
}

#[tokio::test]
async fn h5_a_program_that_ends_in_a_turn_is_an_error_with_its_last_words() {
    let mut stage = open(&[BEGIN, "stderr out of luck\nexit 3"]).await;
    let heard = stage.prompt("x").await;
    let (_, why) = heard.error();
    assert!(why.contains("exit status: 3") && why.contains("out of luck"), "{why}");
}

/// What it says of a message, by what the program has of it.
async fn looked(turns: &str) -> Value {
    let script = format!(
        r#"
< initialize
> {{"id":"$id","result":{{"userAgent":"legwork/0.169.0 (x)"}}}}
< thread/turns/list
> {{"id":"$id",{turns}}}
< thread/read
> {{"id":"$id",{turns}}}
"#
    );
    let (_folder, codex, mut client) = played(&[&script]);
    let greeting = client.initialize().await;
    assert_eq!(greeting["agentCapabilities"]["_meta"]["legwork.dev/look"], true);
    let params = json!({ "sessionId": "T", "message": "msg_1" });
    let told = client.call("_legwork/look", params).await.outcome.unwrap();
    assert!(codex.heard_of("thread/resume").is_empty(), "nothing is started by a look");
    told
}

#[tokio::test]
async fn h2_what_became_of_a_prompt_can_be_asked_after_a_crash() {
    let id = uuid("msg_1");
    let turn = |status: &str, error: &str| {
        let items = format!(
            r#"[{{"type":"userMessage","id":"1","clientId":"{id}","content":[]}},{{"type":"agentMessage","id":"2","text":"Done."}}]"#
        );
        format!(
            r#""result":{{"data":[{{"id":"U","status":"{status}","error":{error},"items":{items}}}],"nextCursor":null}}"#
        )
    };
    let answered = looked(&turn("completed", "null")).await;
    assert_eq!(answered, json!({ "taken": true, "end": { "text": "Done." } }));
    let failed = looked(&turn("failed", r#"{"message":"no"}"#)).await;
    assert_eq!(failed, json!({ "taken": true, "end": { "failure": "no" } }));
    for status in ["interrupted", "inProgress"] {
        assert_eq!(looked(&turn(status, "null")).await, json!({ "taken": true }));
    }
    let other = turn("completed", "null").replace(&id, "another");
    assert_eq!(looked(&other).await, json!({ "taken": false }));
    let none = r#""error":{"code":-32600,"message":"no rollout found for thread id T"}"#;
    assert_eq!(looked(none).await, json!({ "taken": false }));
}

#[tokio::test]
async fn h7_a_codex_that_does_not_fit_says_what_to_do() {
    let (_folder, _codex, mut client) = played(&["stderr error: unexpected argument\nexit 2"]);
    let heard = client.call("initialize", json!({ "protocolVersion": 1 })).await;
    let (_, why) = heard.error();
    for words in ["exit status: 2", "unexpected argument", "codex update", "codex-acp"] {
        assert!(why.contains(words), "{why}");
    }
}
