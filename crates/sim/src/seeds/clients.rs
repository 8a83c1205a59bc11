//! What clients that poll do in a random history: they launch, die, come back and lie.

use legwork_protocol::Ask;
use legwork_protocol::limits::{COLLECT_LEASE_MS, COLLECT_WAIT_MAX_MS};

use super::Play;
use crate::clients::{Kept, RunNo};
use crate::conditions::LONGEST_RUN_MS;
use crate::host::SPECIALIST;

impl Play {
    pub(super) fn start_clients(&mut self) {
        for _ in 0..self.dice.between(1, 3) {
            let client = self.world.client();
            self.world.clients.all[client].has_inbox = self.dice.chance(600);
        }
    }

    fn some_client(&mut self) -> usize {
        self.dice.below(self.world.clients.all.len() as u64) as usize
    }

    /// A run that the client knows of.
    fn some_run(&mut self, client: usize) -> Option<RunNo> {
        let runs: Vec<RunNo> = self.world.clients.all[client].runs.keys().copied().collect();
        if runs.is_empty() { None } else { Some(*self.dice.pick(&runs)) }
    }

    fn task_of(&mut self, client: usize) -> String {
        match self.some_run(client) {
            Some((task, _)) if self.dice.chance(900) => task.to_string(),
            _ => self.some_task(),
        }
    }

    pub(super) fn client_acts(&mut self) {
        let client = self.some_client();
        let most = if self.calm { 66 } else { 100 };
        match self.dice.below(most) {
            0..=31 => self.client_launches(client),
            32..=39 => self.client_resumes(client),
            40..=43 => {
                let task = self.task_of(client);
                self.world.client_asks(client, Ask::Cancel { task });
            }
            44 => {
                self.world.client_asks(client, Ask::Clear);
            }
            45..=48 => {
                let task = self.task_of(client);
                self.world.client_asks(client, Ask::Output { task, offset: 0 });
            }
            49..=51 => {
                let tasks = vec![self.task_of(client)];
                let timeout_ms = *self.dice.pick(&[500, 5_000, 60_000]);
                self.world.client_asks(client, Ask::Wait { tasks, any: false, timeout_ms });
            }
            52..=54 => self.reply(),
            55..=59 => self.client_polls_twice(client),
            60..=65 => self.client_lies(client),
            66..=72 => self.world.kill_front(client),
            73..=75 => self.client_reads_and_polls(client),
            76..=80 => self.world.connect_front(client),
            81..=90 => {
                self.world.kill_client(client);
                if self.dice.chance(600) {
                    let ms = *self.dice.pick(&[10, 500, 3_000, 15_000, 60_000]);
                    self.world.return_later(client, ms);
                }
            }
            91..=95 => self.world.return_client(client),
            _ => self.world.restart_daemon(),
        }
    }

    fn client_launches(&mut self, client: usize) {
        let prompt = self.script();
        let agent = if self.dice.chance(30) { "nobody" } else { SPECIALIST }.to_owned();
        let description = format!("work {}", self.said);
        let collects = self.dice.chance(850);
        let launch = Ask::Launch { prompt, description, agent, fork: false, collects };
        let call = self.world.client_asks(client, launch);
        // The same call twice, as after a broken pipe.
        if let Some(call) = call.filter(|_| self.dice.chance(50)) {
            self.world.send_call(call);
        }
    }

    fn client_resumes(&mut self, client: usize) {
        let (told, prompt) = (self.told_run(client), self.script());
        let task = match told {
            Some((task, _)) if self.dice.chance(700) => task.to_string(),
            _ => self.task_of(client),
        };
        if self.dice.chance(200) {
            return self.step_in(task, prompt);
        }
        let collects = self.dice.chance(850);
        self.world.client_asks(client, Ask::Resume { task, prompt, collects });
    }

    /// A run whose end the client has.
    fn told_run(&mut self, client: usize) -> Option<RunNo> {
        let runs = self.world.clients.all[client].runs.iter().rev();
        let mut told = runs.filter(|(_, kept)| matches!(kept, Kept::Told(_)));
        told.next().map(|(run, _)| *run)
    }

    fn client_polls_twice(&mut self, client: usize) {
        if let Some(run) = self.some_run(client) {
            let wait_ms = *self.dice.pick(&[0, 1_000, 60_000]);
            self.world.client_collects(client, run, wait_ms);
        }
    }

    /// Its front was away for longer than a lease, and the next one reads what waits and polls at
    /// the same moment. The daemon may die of it.
    fn client_reads_and_polls(&mut self, client: usize) {
        self.world.kill_front(client);
        self.world.run_for(2 * COLLECT_LEASE_MS);
        self.world.connect_front(client);
        for run in self.world.clients.all[client].open() {
            let wait_ms = *self.dice.pick(&[0, 20_000]);
            if self.dice.chance(500) {
                self.world.client_collects(client, run, wait_ms);
            }
        }
        let reads = Ask::List(legwork_protocol::api::List::default());
        self.world.client_asks(client, reads);
        let ms = self.dice.between(0, 40);
        self.world.run_for(ms);
        for run in self.world.clients.all[client].open() {
            self.world.client_collects(client, run, 20_000);
        }
        if self.dice.chance(500) {
            self.world.restart_daemon();
        }
    }

    /// It says that it has what it does not have, or asks for what is not there.
    fn client_lies(&mut self, client: usize) {
        let collect = |task: String, run: u32| {
            let (questions, wait_ms) = (Vec::new(), 60_000);
            Some(Ask::Collect { task, run, questions, wait_ms })
        };
        let has = |run: Option<RunNo>| {
            run.map(|(task, run)| Ask::HandedOver { task: task.to_string(), run })
        };
        let lie = match self.dice.below(8) {
            0 => has(self.told_run(client)),
            1..=3 => has(self.owed_to_another(client)),
            4..=5 => has(self.at_work(client)),
            6 => match self.some_run(client) {
                Some((task, run)) => collect(task.to_string(), run + 7),
                None => None,
            },
            _ => collect("bg_nobody00".to_owned(), 0),
        };
        if let Some(lie) = lie {
            self.world.client_asks(client, lie);
        }
    }

    /// A run that has ended, and that another session has not been told of yet.
    fn owed_to_another(&mut self, client: usize) -> Option<RunNo> {
        let session = self.world.clients.all[client].session.clone();
        let audit = self.world.audit();
        let mut others = audit
            .pending
            .iter()
            .filter(|notice| audit.pending_for.get(notice).is_some_and(|to| *to != session));
        others.next().map(|notice| (notice.task, notice.run))
    }

    /// A run that has not ended. Of its own runs it lies only about those that it polls for: who
    /// says that it has the only message that it would get does not get it.
    fn at_work(&mut self, client: usize) -> Option<RunNo> {
        let session = self.world.clients.all[client].session.clone();
        let polled = self.world.clients.all[client].open();
        let rows = self.world.audit().rows.values().map(|row| &row.task);
        let mut at_work = rows.filter(|task| !task.is_finished());
        let lie = at_work
            .find(|task| task.run.asker != session || polled.contains(&(task.id, task.run.number)));
        lie.map(|task| (task.id, task.run.number))
    }

    /// Some clients come back, and some whose front died go on without one.
    pub(super) fn settle_clients(&mut self) {
        self.world.forget_returns();
        for client in 0..self.world.clients.all.len() {
            if self.dice.chance(600) {
                self.world.return_client(client);
            }
        }
        // Who launched something without hearing so is told once it speaks.
        self.world.run_for(3_000);
        self.clients_speak();
    }

    fn clients_speak(&mut self) {
        for client in 0..self.world.clients.all.len() {
            self.world.client_asks(client, Ask::List(legwork_protocol::api::List::default()));
        }
    }

    /// Whoever still runs gets a front again, and polls for what it does not know the end of. Then
    /// nothing is left of all polls.
    pub(super) fn end_clients(&mut self) {
        for client in 0..self.world.clients.all.len() {
            self.world.connect_front(client);
        }
        self.clients_speak();
        let end = self.world.now.plus(LONGEST_RUN_MS);
        while !self.is_settled() && self.world.now < end && self.world.step() {}
        self.world.run_for(COLLECT_WAIT_MAX_MS + COLLECT_LEASE_MS + 1_000);
        // Each reads what is left.
        self.clients_speak();
        self.world.run_for(1_000);
        self.world.check_no_leases();
    }
}
