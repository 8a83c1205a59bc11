//! Claude Code (2.1.x) by its stream-json: one process for each session, which takes prompts on its
//! stdin, and tells on its stdout what it does and asks whether it may.
//!
//! The session's id is ours, and so is that of each prompt, which Claude Code keeps in its own
//! transcript of the session (`transcript`): that tells whether a prompt was taken, and what became
//! of it while nobody listened.
//!
//! Claude Code has no lock on a session. Two processes in one would each go on without the other's
//! turns, so none is started while another one is at work there.

mod installed;
mod permission;
mod process;
mod transcript;
mod turn;
mod under_way;
mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use legwork_acp::wire::{BAD_PARAMS, LOGIN_NEEDED, RpcError};
use legwork_machine::{lock, var};
use serde_json::json;
use tokio::sync::Mutex as AsyncMutex;

use self::installed::Installed;
use self::process::Process;
use self::transcript::Taken;
use self::under_way::UnderWay;
use super::{Shown, Spent, Window, answered, failed, new_uuid, refused, uuid};
use crate::serve::{
    Agent, Answered, End, Greeting, Load, Look, Offer, Program, Prompt, chunk, error, no_session,
};

const NAME: &str = "claude";
const LOGIN: &str = "run `claude` in a terminal and type /login";

/// The agent that starts the person's Claude Code.
#[derive(Debug)]
pub struct Claude {
    installed: Arc<Installed>,
    sessions: Mutex<BTreeMap<String, Arc<AsyncMutex<Session>>>>,
}

#[derive(Debug)]
struct Session {
    installed: Arc<Installed>,
    id: String,
    cwd: PathBuf,
    /// Whether Claude Code may know it already.
    is_old: bool,
    /// What somebody chose.
    model: Option<String>,
    models: Vec<(String, String)>,
    process: Option<Process>,
}

impl Claude {
    /// With the transcripts where the variables of this process say.
    pub fn new(program: PathBuf) -> Self {
        Self::with_folder(program, transcript::folder(var).unwrap_or_default())
    }

    /// With Claude Code's files in this folder.
    pub fn with_folder(program: PathBuf, folder: PathBuf) -> Self {
        Self { installed: Arc::new(Installed { program, folder }), sessions: Mutex::default() }
    }

    fn session(&self, id: &str) -> Answered<Arc<AsyncMutex<Session>>> {
        lock(&self.sessions).get(id).cloned().ok_or_else(|| no_session(id))
    }

    /// Starts Claude Code in a session, and keeps both.
    async fn begin(&self, id: &str, cwd: PathBuf, is_old: bool) -> Answered<Offer> {
        let mut session = Session {
            installed: self.installed.clone(),
            id: id.to_owned(),
            cwd,
            is_old,
            model: None,
            models: Vec::new(),
            process: None,
        };
        session.start().await?;
        let offer = session.offer();
        lock(&self.sessions).insert(id.to_owned(), Arc::new(AsyncMutex::new(session)));
        Ok(offer)
    }
}

impl Agent for Claude {
    async fn greet(&self, check: bool) -> Answered<Greeting> {
        let mut greeting = Greeting {
            name: NAME.to_owned(),
            loads: true,
            looks: true,
            logins: vec![LOGIN.to_owned()],
            ..Greeting::default()
        };
        // A helper need not wait for this: each turn begins with the version.
        if check {
            let (version, login) = tokio::join!(self.installed.version(), self.installed.login());
            let version = version?;
            greeting.version.clone_from(&version);
            let path = self.installed.program.clone();
            greeting.program = Some(Program { path, version, login });
        }
        Ok(greeting)
    }

    async fn open(&self, cwd: PathBuf) -> Answered<(String, Offer)> {
        let id = new_uuid();
        let offer = self.begin(&id, cwd, false).await?;
        Ok((id, offer))
    }

    async fn load(&self, load: Load) -> Answered<Offer> {
        let Load { session: id, cwd, replay } = load;
        if !self.installed.has(&id).await? {
            return Err(no_session(&id));
        }
        if let Some(client) = replay {
            for (is_prompt, text) in self.installed.said(&id).await? {
                let kind = if is_prompt { "user_message_chunk" } else { "agent_message_chunk" };
                client.post_update(chunk(kind, &text));
            }
        }
        match self.session(&id) {
            Ok(session) => Ok(session.lock().await.offer()),
            Err(_) => self.begin(&id, cwd, true).await,
        }
    }

    async fn choose(&self, session: &str, model: &str) -> Answered<Offer> {
        let session = self.session(session)?;
        let mut session = session.lock().await;
        if !session.models.iter().any(|(id, _)| id == model) {
            return Err(error(BAD_PARAMS, "There is no such model here"));
        }
        session.model = Some(model.to_owned());
        if session.process.is_some() {
            session.set_model().await?;
        }
        Ok(session.offer())
    }

    async fn prompt(&self, prompt: Prompt) -> End {
        let session = match self.session(&prompt.session) {
            Ok(session) => session,
            Err(error) => return End::Failed(error),
        };
        let mut session = session.lock().await;
        session.turn(&prompt).await.unwrap_or_else(End::Failed)
    }

    async fn look(&self, session: &str, message: &str) -> Answered<Look> {
        self.installed.alone(session).await?;
        Ok(match self.installed.taken(session, &uuid(message)).await? {
            Taken::No => Look::NotTaken,
            Taken::Unfinished => Look::Taken,
            Taken::Over { outcome, spent } => {
                let end = outcome.map_err(|failure| failure.why);
                Look::Over { end, result: spent.result() }
            }
        })
    }

    async fn close(&self) {
        let sessions: Vec<_> = std::mem::take(&mut *lock(&self.sessions)).into_values().collect();
        for session in sessions {
            if let Some(process) = session.lock().await.process.take() {
                process.end().await;
            }
        }
    }
}

impl Session {
    fn offer(&self) -> Offer {
        let current = self.model.clone().or_else(|| Some(self.models.first()?.0.clone()));
        Offer { current, models: self.models.clone() }
    }

    /// Starts Claude Code in the session, if it does not run.
    async fn start(&mut self) -> Answered<()> {
        if self.process.is_some() {
            return Ok(());
        }
        if self.is_old {
            self.installed.alone(&self.id).await?;
        }
        // One that was killed before it wrote anything down knows nothing of the session.
        let is_known = self.is_old && self.installed.has(&self.id).await?;
        let id = if is_known { "--resume" } else { "--session-id" };
        let cost = if is_known { self.installed.cost(&self.id).await? } else { 0.0 };
        let mut process = Process::start(&self.installed.program, [id, &self.id], &self.cwd)?;
        process.cost = cost;
        self.is_old = true;
        let models = process.initialize().await?;
        if self.models.is_empty() {
            self.models = models;
        }
        self.process = Some(process);
        self.set_model().await
    }

    async fn set_model(&mut self) -> Answered<()> {
        if let (Some(process), Some(model)) = (&mut self.process, &self.model) {
            process.ask(&json!({ "subtype": "set_model", "model": model })).await?;
        }
        Ok(())
    }

    async fn turn(&mut self, prompt: &Prompt) -> Answered<End> {
        let uuid = prompt.message.as_deref().map_or_else(new_uuid, uuid);
        // One that is handed over again to another process may be run again (seen from 2.1.258 on).
        if let Some(end) = self.taken(prompt, &uuid).await? {
            return Ok(end);
        }
        tokio::select! {
            biased;
            () = prompt.cancelled() => return Ok(End::cancelled()),
            started = self.start() => started?,
        }
        let Some(process) = &mut self.process else { return refused("Claude Code is not there") };
        process.prompt(&self.id, &uuid, &prompt.text);
        let end = UnderWay::new(process, prompt).run().await;
        if process.is_busy {
            // It has ended in the middle of the turn, or was killed.
            self.process = None;
        }
        end
    }

    /// The end of a prompt that was taken before.
    async fn taken(&self, prompt: &Prompt, uuid: &str) -> Answered<Option<End>> {
        match self.installed.taken(&self.id, uuid).await? {
            Taken::No => Ok(None),
            Taken::Unfinished => {
                refused("Claude Code has this prompt already, and its turn was cut off")
            }
            Taken::Over { outcome: Ok(text), spent } => {
                Window::new(prompt.client.clone()).show(Shown::Text(text)).await;
                Ok(Some(answered(&spent)))
            }
            Taken::Over { outcome: Err(failure), spent } => Ok(Some(failure.end(&spent))),
        }
    }
}

impl turn::Failure {
    fn end(&self, spent: &Spent) -> End {
        match failed(&self.why, spent) {
            End::Failed(error) if self.is_login => {
                End::Failed(RpcError { code: LOGIN_NEEDED, ..error })
            }
            end => end,
        }
    }
}
