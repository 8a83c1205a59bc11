//! The real host as the subject of the tests. One server is shared by all that do not restart it;
//! each test sees its own sessions only. What a script waits for is over when the test waits for
//! quiet, so that nothing depends on how fast the machine is.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

use legwork_protocol::ids::MessageUse;
use legwork_protocol::{MessageId, SessionId, TaskId, Time};
use legwork_sim::host::{ApiError, Event, NewSession, ProcessNo, Prompt, Question, Reply, Status};
use legwork_testkit::{
    Client, DEADLINE, Event as Announced, Events, Home, Model, Request, Serve, block_on, script,
};
use serde_json::{Value, json};

use crate::contract::{Contract, Read};
use crate::words;

/// In the virtual host hours pass at once; here nothing that comes takes longer than this.
const LONGEST_WAIT: Duration = Duration::from_millis(1_000);
/// Between the two idles of an error were up to 300 ms (seen in 1.18.33).
const SETTLED: Duration = Duration::from_millis(600);

static SHARED: LazyLock<Arc<Running>> = LazyLock::new(|| Arc::new(Running::start()));

pub struct Running {
    pub model: Model,
    pub home: Home,
    pub serve: Serve,
}

impl Running {
    fn start() -> Self {
        let model = Model::start();
        let bash = json!({ "*": "allow", "echo*": "ask", "bash*": "ask" });
        let home = Home::build(&model)
            .without_catalogue()
            .git()
            .settings(json!({ "permission": { "bash": bash }, "snapshot": true }))
            .make();
        let serve = block_on(home.serve());
        warm(&serve);
        Self { model, home, serve }
    }
}

/// One turn: an abort in the middle of an instance's very first one spoils the instance for good
/// (seen in 1.18.33).
fn warm(serve: &Serve) {
    let client = serve.client();
    block_on(async {
        let session = client.create(json!({ "title": "warm" })).await;
        assert_eq!(client.ask(&session, &script(&["say warm"])).await, "warm");
    });
}

pub struct Subject {
    pub running: Arc<Running>,
    pub client: Client,
    stream: Events,
    drained: usize,
    events: Vec<Event>,
    prompts: Vec<String>,
    /// The sessions that this test has to do with.
    mine: Vec<SessionId>,
    /// The ids that were sent, by the ids that the test knows, and back.
    sent: BTreeMap<MessageId, String>,
    given: BTreeMap<String, MessageId>,
    /// Where the stream was at the last prompt.
    mark: usize,
    gate: String,
}

pub fn host() -> Subject {
    Subject::new(SHARED.clone())
}

pub fn host_alone() -> Subject {
    Subject::new(Arc::new(Running::start()))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    since.as_nanos() as u64
}

impl Subject {
    fn new(running: Arc<Running>) -> Self {
        let client = running.serve.client();
        let stream = block_on(client.events());
        Self {
            running,
            client,
            stream,
            drained: 0,
            events: Vec::new(),
            prompts: Vec::new(),
            mine: Vec::new(),
            sent: BTreeMap::new(),
            given: BTreeMap::new(),
            mark: 0,
            gate: format!("gate-{}", now()),
        }
    }

    /// The id that goes out: as legwork makes them, with the time in it, because the order of ids
    /// may matter to the host.
    fn sent(&mut self, message: &MessageId) -> String {
        if !message.as_str().starts_with("msg") {
            return message.to_string();
        }
        let known = self.sent.entry(message.clone()).or_insert_with(|| {
            let (nanos, task) = (now(), TaskId::from_number(now()));
            MessageId::make(Time(nanos / 1_000_000), task, 0, MessageUse::Prompt(0)).to_string()
        });
        self.given.insert(known.clone(), message.clone());
        known.clone()
    }

    fn part(&self, message: &str, part: &str) -> String {
        let number = part.get(part.len().saturating_sub(3)..).unwrap_or("");
        match part.strip_prefix("prt_") {
            Some(_) => format!("{}{number}", message.replacen("msg", "prt", 1)),
            None => part.to_owned(),
        }
    }

    fn drain(&mut self) {
        let news = self.stream.since(self.drained);
        self.drained += news.len();
        for event in news {
            let Some(session) = event.session().and_then(|id| id.parse::<SessionId>().ok()) else {
                continue;
            };
            if !self.mine.contains(&session) {
                continue;
            }
            if let Some(kind) = words::event(&event, &mut self.prompts) {
                let (at, process) = (Time(now() / 1_000_000), ProcessNo(0));
                self.events.push(Event { at, process, session, kind });
            }
        }
    }

    fn know(&mut self, session: &SessionId) {
        if !self.mine.contains(session) {
            self.mine.push(session.clone());
        }
    }

    /// Lets pass what the scripts wait for, and goes on with new gates.
    fn let_pass(&mut self) {
        self.running.model.open(&self.gate);
        std::fs::write(self.running.home.root().join("tmp").join(&self.gate), "").unwrap();
        self.gate = format!("gate-{}", now());
    }

    /// Whether the last prompt came to something, no answer is open, and nothing has happened for a
    /// while. Without the second, a prompt after an error would fall between its two idles.
    fn settled(&self, session: &SessionId) -> bool {
        let is_mine = |event: &&Announced| event.session() == Some(session.as_str());
        let ends = ["session.idle", "session.error", "session.deleted"];
        let over = self.stream.look(|all| {
            let mut open = BTreeMap::new();
            for event in all.iter().filter(is_mine) {
                let info = &event.properties["info"];
                if event.kind == "message.updated" && info["role"] == "assistant" {
                    open.insert(info["id"].to_string(), info["time"]["completed"].is_null());
                }
            }
            let mut since = all[self.mark..].iter().filter(is_mine);
            let last = since.clone().next_back().map(|event| event.at);
            since.any(|event| ends.contains(&&*event.kind))
                && last.is_some_and(|last| last.elapsed() > SETTLED)
                && !open.values().any(|open| *open)
        });
        over && self.status(session).is_none()
    }
}

impl Contract for Subject {
    fn create(&mut self, new: NewSession) -> SessionId {
        // A session without a title would have the model make one.
        let mut body = json!({ "title": "contract" });
        if let Some(parent) = &new.parent {
            body["parentID"] = json!(parent);
        }
        if let Some(mark) = new.mark {
            body["metadata"] = json!({ "legwork": mark });
        }
        let session: SessionId = block_on(self.client.create(body)).parse().unwrap();
        self.know(&session);
        session
    }
    fn marked(&self, mark: TaskId) -> Vec<SessionId> {
        let sessions = block_on(self.client.sessions(1_000));
        let mark = json!(mark);
        let marked = sessions.iter().filter(|session| session["metadata"]["legwork"] == mark);
        marked.map(|session| session["id"].as_str().unwrap().parse().unwrap()).collect()
    }
    fn prompt(&mut self, session: &SessionId, prompt: Prompt) -> Result<(), ApiError> {
        self.know(session);
        self.mark = self.stream.len();
        let message = self.sent(&prompt.message);
        let mut body = json!({ "messageID": message, "parts": [] });
        for part in &prompt.parts {
            let tmp = self.running.home.root().join("tmp");
            let words::Translated { text, model } = words::translate(&part.text, &self.gate, &tmp);
            let id = self.part(&message, part.id.as_str());
            let part = json!({ "type": "text", "id": id, "text": text });
            body["parts"].as_array_mut().unwrap().push(part);
            if let Some(model) = model {
                body["model"] = model;
            }
        }
        if let Some(agent) = &prompt.agent {
            body["agent"] = json!(agent);
        }
        if prompt.no_reply {
            body["noReply"] = json!(true);
        }
        let answer = block_on(self.client.prompt(session.as_str(), body));
        words::refused(&answer).map_or(Ok(()), Err)
    }
    fn abort(&mut self, session: &SessionId) -> bool {
        self.know(session);
        block_on(self.client.abort(session.as_str())).ok() == true
    }
    fn delete(&mut self, session: &SessionId) -> Result<bool, ApiError> {
        let answer = block_on(self.client.delete(session.as_str()));
        words::refused(&answer).map_or(Ok(answer.body == true), Err)
    }
    fn messages(&self, session: &SessionId) -> Result<Vec<Read>, ApiError> {
        let answer = block_on(self.client.messages(session.as_str()));
        if let Some(why) = words::refused(&answer) {
            return Err(why);
        }
        let messages = answer.body.as_array().unwrap().iter();
        Ok(messages.map(|message| words::read(&self.given, message)).collect())
    }
    fn status(&self, session: &SessionId) -> Option<Status> {
        block_on(self.client.status()).get(session.as_str()).map(words::status)
    }
    fn questions(&self) -> Vec<Question> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let question = |asked: &Value| Question {
            id: text(&asked["id"]).parse().unwrap(),
            session: text(&asked["sessionID"]).parse().unwrap(),
            text: text(&asked["patterns"][0]).into(),
        };
        let asked = block_on(self.client.permissions());
        let asked = asked.iter().map(question);
        asked.filter(|question| self.mine.contains(&question.session)).collect()
    }
    fn reply(&mut self, question: &Question, reply: Reply) -> Result<bool, ApiError> {
        let (word, words) = match &reply {
            Reply::Yes => ("once", None),
            Reply::No => ("reject", None),
            Reply::NoBut(words) => ("reject", Some(&**words)),
        };
        let answer = block_on(self.client.permit(question.id.as_str(), word, words));
        words::refused(&answer).map_or(Ok(answer.body == true), Err)
    }
    fn restart(&mut self) {
        let running = Arc::get_mut(&mut self.running).unwrap();
        running.serve.kill9();
        running.serve = block_on(running.home.serve());
        warm(&running.serve);
        self.client = running.serve.client();
        self.stream = block_on(self.client.events());
        self.drained = 0;
        self.mark = 0;
    }
    fn wait(&mut self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms).min(LONGEST_WAIT));
        self.drain();
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
    fn forget_events(&mut self) {
        self.wait(0);
        self.events.clear();
    }
    fn until(&mut self, there: impl Fn(&Self) -> bool) {
        let end = Instant::now() + DEADLINE;
        while Instant::now() < end {
            self.drain();
            if there(self) {
                return;
            }
            self.wait(20);
        }
        panic!("it never came to that\n{}\n{}", self.running.model.told(), self.stream.told());
    }
    /// And until the model is at it: an abort before that is another matter.
    fn until_busy(&mut self, session: &SessionId) {
        let session = session.clone();
        self.until(|host| {
            let open = |request: &Request| {
                request.session.as_deref() == Some(session.as_str()) && request.end.is_none()
            };
            host.running.model.look(|requests| requests.iter().any(open))
                && host.status(&session).is_some()
        });
    }
    fn until_quiet(&mut self, session: &SessionId) {
        self.let_pass();
        let session = session.clone();
        self.until(|host| host.settled(&session));
        self.drain();
    }
}
