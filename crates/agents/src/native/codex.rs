//! The person's `codex`, driven by its app-server: one server for all sessions, a thread for each.
//!
//! Seen in 0.142, 0.161, 0.166 and 0.169. A thread without a turn leaves nothing; a prompt whose
//! start was answered may not be recorded for some 20 ms, and then its model was not asked. Two
//! writers of one thread are refused by newer versions.

mod asks;
mod items;
mod server;
mod turn;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legwork_acp::wire::{BAD_PARAMS, INTERNAL, LOGIN_NEEDED, NOT_FOUND, RpcError};
use legwork_machine::lock;
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::timeout;

use self::server::Server;
use self::turn::Turn;
use super::uuid;
use crate::serve::{
    Agent, Answered, Client, End, Greeting, Load, Look, Object, Offer, Program, Prompt, chunk,
    error, no_session,
};

/// Which models there are may have to be asked of the provider; nothing waits longer for it.
const MODELS_MAX: Duration = Duration::from_secs(3);
/// Turns that a look reads at once. The one that is looked for is nearly always the last.
const TURNS_READ: usize = 5;
const LOG_IN: &str = "run `codex login`";

#[derive(Debug)]
pub struct Codex {
    program: PathBuf,
    server: AsyncMutex<Option<Arc<Server>>>,
    threads: Mutex<BTreeMap<String, Thread>>,
}

#[derive(Debug, Clone, Default)]
struct Thread {
    /// The one that was chosen here.
    chosen: Option<String>,
    offer: Offer,
}

impl Codex {
    pub fn new(program: PathBuf) -> Self {
        Self { program, server: AsyncMutex::default(), threads: Mutex::default() }
    }

    /// The server. Started if it is not there yet; one that has ended is not started again, because
    /// it knows no thread.
    async fn server(&self) -> Answered<Arc<Server>> {
        let mut kept = self.server.lock().await;
        if let Some(server) = &*kept {
            return Ok(server.clone());
        }
        let server = Server::start(&self.program).await.map_err(|why| self.unfit(&why))?;
        Ok(kept.insert(Arc::new(server)).clone())
    }

    /// That it cannot be used, and the way out.
    fn unfit(&self, why: &RpcError) -> RpcError {
        let program = self.program.display();
        error(
            INTERNAL,
            format!(
                "{program} cannot be used as an app-server: {} Update it (`codex update`, or \
                 `npm install -g @openai/codex`), or install the adapter that brings its own: \
                 npm install -g @agentclientprotocol/codex-acp",
                sentence(&why.message)
            ),
        )
    }

    /// Begins a thread or takes one up, and asks which models there are.
    async fn begin(server: &Server, method: &str, params: Value) -> (Answered<Value>, Value) {
        let models = timeout(MODELS_MAX, server.call("model/list", json!({})));
        let (began, models) = tokio::join!(server.call(method, params), models);
        (began, models.ok().and_then(Result::ok).unwrap_or_default())
    }

    fn offer(listed: &Value, current: Option<String>) -> Offer {
        let model = |model: &Value| {
            let id = model["model"].as_str().or_else(|| model["id"].as_str())?;
            let name = model["displayName"].as_str().unwrap_or(id);
            (model["hidden"] != true).then(|| (id.to_owned(), name.to_owned()))
        };
        let mut models: Vec<(String, String)> =
            listed["data"].as_array().into_iter().flatten().filter_map(model).collect();
        if let Some(current) = &current
            && !models.iter().any(|(id, _)| id == current)
        {
            models.insert(0, (current.clone(), current.clone()));
        }
        Offer { current, models }
    }

    /// Keeps a thread that was begun or taken up, and says which models it offers.
    fn keep(&self, id: &str, began: &Value, models: &Value) -> Offer {
        let offer = Self::offer(models, began["model"].as_str().map(str::to_owned));
        let thread = Thread { chosen: None, offer: offer.clone() };
        lock(&self.threads).insert(id.to_owned(), thread);
        offer
    }

    /// The turn with the user's message of this id, and its items, newest turns first. Err if that
    /// cannot be said for certain.
    async fn find_turn(&self, server: &Server, thread: &str, id: &str) -> Answered<Option<Value>> {
        let mut cursor = Value::Null;
        loop {
            let params = json!({ "threadId": thread, "cursor": cursor, "limit": TURNS_READ });
            let page = match server.call("thread/turns/list", params).await {
                Ok(page) => page,
                Err(_) => return Self::find_in_whole(server, thread, id).await,
            };
            if let Some(turn) = page["data"].as_array().and_then(|turns| with_message(turns, id)) {
                return Ok(Some(turn));
            }
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                return Ok(None);
            }
        }
    }

    /// The same in versions that know no pages, or of a thread that is not there.
    async fn find_in_whole(server: &Server, thread: &str, id: &str) -> Answered<Option<Value>> {
        let params = json!({ "threadId": thread, "includeTurns": true });
        match server.call("thread/read", params).await {
            Ok(read) => {
                Ok(read["thread"]["turns"].as_array().and_then(|all| with_message(all, id)))
            }
            Err(why) if is_unknown_thread(&why) => Ok(None),
            Err(why) => Err(why),
        }
    }
}

impl Agent for Codex {
    async fn greet(&self, check: bool) -> Answered<Greeting> {
        let server = self.server().await?;
        let version = version(&server.user_agent);
        let login = if check { login(&server).await.ok() } else { None };
        Ok(Greeting {
            name: "codex".to_owned(),
            version: version.clone(),
            loads: true,
            looks: true,
            logins: vec![LOG_IN.to_owned()],
            program: Some(Program { path: self.program.clone(), version, login }),
        })
    }

    async fn open(&self, cwd: PathBuf) -> Answered<(String, Offer)> {
        let server = self.server().await?;
        // One that does not know the question says itself what is missing.
        if matches!(login(&server).await, Ok(None)) {
            return Err(error(LOGIN_NEEDED, "Nobody is logged in"));
        }
        let mut params = json!({});
        in_folder(&mut params, &cwd);
        let (began, models) = Self::begin(&server, "thread/start", params).await;
        let began = began?;
        let id = began["thread"]["id"].as_str().map(str::to_owned);
        let id = id.ok_or_else(|| error(INTERNAL, "codex began a thread without an id"))?;
        let offer = self.keep(&id, &began, &models);
        Ok((id, offer))
    }

    async fn load(&self, load: Load) -> Answered<Offer> {
        let Load { session, cwd, replay } = load;
        let server = self.server().await?;
        let mut params = json!({ "threadId": session });
        in_folder(&mut params, &cwd);
        let (resumed, models) = Self::begin(&server, "thread/resume", params).await;
        let resumed = resumed
            .map_err(|why| if is_unknown_thread(&why) { no_session(&session) } else { why })?;
        if let Some(client) = replay {
            retell(&client, &resumed["thread"]["turns"]);
        }
        Ok(self.keep(&session, &resumed, &models))
    }

    async fn choose(&self, session: &str, model: &str) -> Answered<Offer> {
        let mut threads = lock(&self.threads);
        let thread = threads.get_mut(session).ok_or_else(|| no_session(session))?;
        if !thread.offer.models.iter().any(|(id, _)| id == model) {
            return Err(error(BAD_PARAMS, format!("codex does not offer the model {model}")));
        }
        thread.chosen = Some(model.to_owned());
        thread.offer.current = Some(model.to_owned());
        Ok(thread.offer.clone())
    }

    async fn prompt(&self, prompt: Prompt) -> End {
        let server = match self.server().await {
            Ok(server) => server,
            Err(why) => return End::Failed(why),
        };
        let Some(thread) = lock(&self.threads).get(&prompt.session).cloned() else {
            return End::Failed(no_session(&prompt.session));
        };
        let Thread { chosen, offer } = thread;
        Turn::new(server, &prompt, offer.current).run(&prompt, chosen.as_deref()).await
    }

    async fn look(&self, session: &str, message: &str) -> Answered<Look> {
        let server = self.server().await?;
        let found = self.find_turn(&server, session, &uuid(message)).await?;
        let Some(turn) = found else { return Ok(Look::NotTaken) };
        let over = |end| Look::Over { end, result: Object::new() };
        Ok(match turn["status"].as_str() {
            Some("completed") => {
                let items = turn["items"].as_array().map_or(&[][..], Vec::as_slice);
                over(Ok(items::answer(items)))
            }
            Some("failed") => over(Err(turn::why(&turn["error"], &server.limits()))),
            _ => Look::Taken,
        })
    }

    async fn close(&self) {
        if let Some(server) = self.server.lock().await.take() {
            server.end().await;
        }
    }
}

/// Names the folder only where the server is in another one: 0.142.0 writes a folder that is named
/// into the person's settings as one that they trust, if their settings let codex write in it.
fn in_folder(params: &mut Value, cwd: &Path) {
    if env::current_dir().is_ok_and(|ours| ours != cwd) {
        params["cwd"] = json!(cwd);
    }
}

/// How somebody is logged in, in words. None if nobody is and somebody has to be.
async fn login(server: &Server) -> Answered<Option<String>> {
    let read = server.call("account/read", json!({ "refreshToken": false })).await?;
    let account = &read["account"];
    Ok(match account["type"].as_str() {
        Some("apiKey") => Some("an API key".to_owned()),
        Some("chatgpt") => match account["planType"].as_str() {
            Some(plan) => Some(format!("ChatGPT, {plan}")),
            None => Some("ChatGPT".to_owned()),
        },
        Some(other) => Some(other.to_owned()),
        None if read["requiresOpenaiAuth"] == false => {
            Some("a provider of the settings, which needs no login".to_owned())
        }
        None => None,
    })
}

/// `0.169.0` of `legwork/0.169.0 (Ubuntu 24.4.0; x86_64) …`
fn version(user_agent: &str) -> String {
    let after = user_agent.split_once('/').map_or("", |(_, after)| after);
    after.split_whitespace().next().unwrap_or_default().to_owned()
}

fn is_unknown_thread(why: &RpcError) -> bool {
    why.code == NOT_FOUND || why.message.contains("no rollout found")
}

fn with_message(turns: &[Value], id: &str) -> Option<Value> {
    let is_it = |item: &Value| item["type"] == "userMessage" && item["clientId"] == id;
    let has_it = |turn: &&Value| turn["items"].as_array().is_some_and(|all| all.iter().any(is_it));
    turns.iter().find(has_it).cloned()
}

/// Shows what was said in a thread that was taken up.
fn retell(client: &Client, turns: &Value) {
    let turns = turns.as_array().into_iter().flatten();
    for item in turns.flat_map(|turn| turn["items"].as_array().into_iter().flatten()) {
        match item["type"].as_str() {
            Some("userMessage") => {
                let content = item["content"].as_array().into_iter().flatten();
                for text in content.filter_map(|part| part["text"].as_str()) {
                    client.post_update(chunk("user_message_chunk", text));
                }
            }
            Some("agentMessage") => {
                let text = item["text"].as_str().unwrap_or_default();
                client.post_update(chunk("agent_message_chunk", text));
            }
            _ => {}
        }
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h7_the_version_stands_in_the_name_that_it_gives_itself() {
        let said = "legwork/0.169.0 (Debian 12.0.0; x86_64) dumb (legwork; 0.1.0)";
        assert_eq!(version(said), "0.169.0");
        assert_eq!((version(""), version("codex")), (String::new(), String::new()));
    }

    #[test]
    fn h2_a_turn_is_found_by_the_id_of_its_message() {
        let turn = |id: &str| {
            let message = json!({ "type": "userMessage", "clientId": id });
            json!({ "id": id, "items": [{ "type": "reasoning", "clientId": "x" }, message] })
        };
        let turns = [turn("a"), turn("b")];
        assert_eq!(with_message(&turns, "b").unwrap()["id"], "b");
        assert_eq!(with_message(&turns, "x"), None);
    }
}
