//! Messages to sessions of programs which cannot be told at any moment: a terminal that waits for
//! its shell, a client whose model is idle. They wait here until they are shown.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::{fs, io};

use legwork_protocol::view::Mail;
use legwork_protocol::{MessageId, TaskId};
use serde::{Deserialize, Serialize};

use crate::lines::{append_line, draft_of, read_lines, rewrite_lines};

/// Ids of shown messages that are remembered, so that one sent twice is taken once. A message is
/// sent again within a minute if at all.
const SHOWN_MAX: usize = 1_000;
/// How the id of a task begins, and how long it is.
const ID_BEGINS: &str = "bg_";
const ID_BYTES: usize = 11;

#[derive(Debug)]
pub struct Mailbox {
    path: PathBuf,
    unread: Vec<Delivery>,
    /// The newest last.
    shown: VecDeque<MessageId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    #[serde(flatten)]
    pub mail: Mail,
    /// The tasks that it is about; missing in files of builds that did not keep them.
    pub tasks: Option<Vec<TaskId>>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
enum Line {
    Came(Delivery),
    Shown { message: MessageId },
}

impl Mailbox {
    /// Reads the file, and writes it anew without what nobody needs any more.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut mailbox = Self { path: path.to_owned(), unread: vec![], shown: VecDeque::new() };
        // What a crash has left of writing it anew may hold what is forgotten later.
        let _ = fs::remove_file(draft_of(path));
        let lines = read_lines(path)?.unwrap_or_default();
        let had = lines.len();
        for line in lines {
            match line {
                Line::Came(delivery) => mailbox.unread.push(delivery),
                Line::Shown { message } => mailbox.mark(&message),
            }
        }
        if had > mailbox.unread.len() + SHOWN_MAX {
            mailbox.rewrite()?;
        }
        Ok(mailbox)
    }

    /// Takes a message in, if it is not there already.
    pub fn put(&mut self, delivery: Delivery) -> io::Result<()> {
        let message = &delivery.mail.message;
        if !self.is_unread(message) && !self.shown.contains(message) {
            append_line(&self.path, &Line::Came(delivery.clone()))?;
            self.unread.push(delivery);
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What nobody has seen yet, oldest first.
    pub fn unread(&self) -> Vec<Mail> {
        let mail = |delivery: &Delivery| Mail {
            tasks: delivery.tasks.clone().unwrap_or_default(),
            ..delivery.mail.clone()
        };
        self.unread.iter().map(mail).collect()
    }

    pub fn shown(&mut self, messages: &[MessageId]) -> io::Result<()> {
        for message in messages {
            if self.is_unread(message) {
                append_line(&self.path, &Line::Shown { message: message.clone() })?;
                self.mark(message);
            }
        }
        Ok(())
    }

    /// Removes every line about these tasks, from the file too, and messages that tell of no other.
    pub fn forget(&mut self, tasks: &[TaskId]) -> io::Result<()> {
        let gone: BTreeSet<TaskId> = tasks.iter().copied().collect();
        // One look at a text, however many tasks there are.
        let is_about = |line: &str| {
            let ids = line.match_indices(ID_BEGINS).map(|(at, _)| line.get(at..at + ID_BYTES));
            ids.flatten().filter_map(|id| id.parse().ok()).any(|id: TaskId| gone.contains(&id))
        };
        if !fs::read_to_string(&self.path).is_ok_and(|text| is_about(&text)) {
            return Ok(());
        }
        for Delivery { mail, tasks: about } in &mut self.unread {
            let lines = mail.text.lines().filter(|line| !is_about(line));
            mail.text = lines.collect::<Vec<_>>().join("\n");
            about.iter_mut().for_each(|about| about.retain(|task| !gone.contains(task)));
        }
        self.unread.retain(|delivery| match &delivery.tasks {
            Some(about) => !about.is_empty(),
            // What is left without a headline only counts what is not there any more.
            None => delivery.mail.text.lines().any(|line| line.starts_with('[')),
        });
        self.rewrite()
    }

    fn is_unread(&self, message: &MessageId) -> bool {
        self.unread.iter().any(|delivery| delivery.mail.message == *message)
    }

    fn mark(&mut self, message: &MessageId) {
        self.unread.retain(|delivery| delivery.mail.message != *message);
        self.shown.push_back(message.clone());
        if self.shown.len() > SHOWN_MAX {
            self.shown.pop_front();
        }
    }

    fn rewrite(&self) -> io::Result<()> {
        let shown = self.shown.iter().map(|message| Line::Shown { message: message.clone() });
        let came = self.unread.iter().map(|delivery| Line::Came(delivery.clone()));
        rewrite_lines(&self.path, shown.chain(came))
    }
}

#[cfg(test)]
mod tests {
    use legwork_protocol::Time;

    use super::*;

    fn mail(number: usize) -> Mail {
        Mail {
            message: format!("msg_{number}").parse().unwrap(),
            session: "term_1".parse().unwrap(),
            at: Time(7),
            text: "done".to_owned(),
            tasks: Vec::new(),
        }
    }

    fn delivery(number: usize) -> Delivery {
        Delivery { mail: mail(number), tasks: None }
    }

    #[test]
    fn what_came_is_there_once_until_it_was_seen_and_never_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail");
        let mut mailbox = Mailbox::open(&path).unwrap();
        for number in [1, 2, 1] {
            mailbox.put(delivery(number)).unwrap();
        }
        let mut mailbox = Mailbox::open(&path).unwrap();
        assert_eq!(mailbox.unread(), [mail(1), mail(2)]);
        mailbox.shown(&[mail(1).message, mail(9).message]).unwrap();
        let mut mailbox = Mailbox::open(&path).unwrap();
        mailbox.put(delivery(1)).unwrap();
        assert_eq!(mailbox.unread(), [mail(2)]);
    }

    /// `headline` begins every line about a task.
    fn forgets(headline: &str, keeps_tasks: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail");
        let mut mailbox = Mailbox::open(&path).unwrap();
        let [gone, stays] = [1, 2].map(TaskId::from_number);
        let line = |task: &TaskId| format!("{headline} {task} Look (2s)");
        for (number, tasks) in [(1, vec![gone]), (2, vec![gone, stays]), (3, vec![gone])] {
            let lines: Vec<String> = tasks.iter().map(line).collect();
            let text = format!("{}\n1 background task finished.", lines.join("\n"));
            let mail = Mail { text, ..mail(number) };
            mailbox.put(Delivery { mail, tasks: keeps_tasks.then_some(tasks) }).unwrap();
        }
        mailbox.shown(&[mail(3).message]).unwrap();
        mailbox.forget(&[gone]).unwrap();
        let mut again = Mailbox::open(&path).unwrap();
        for mailbox in [&mailbox, &again] {
            let text = format!("{}\n1 background task finished.", line(&stays));
            let tasks = if keeps_tasks { vec![stays] } else { Vec::new() };
            assert_eq!(mailbox.unread(), [Mail { text, tasks, ..mail(2) }]);
        }
        assert!(!fs::read_to_string(&path).unwrap().contains(&gone.to_string()));
        again.put(delivery(3)).unwrap();
        assert_eq!(again.unread().len(), 1, "what was seen is not shown again");
    }

    #[test]
    fn p8_what_was_told_of_a_forgotten_task_is_removed_from_the_file_too() {
        forgets("Completed:", true);
    }

    #[test]
    fn p8_a_file_of_a_build_that_did_not_keep_the_tasks_goes_by_its_headlines() {
        forgets("[BACKGROUND TASK COMPLETED]", false);
        let old = r#"{"is":"came","message":"msg_1","session":"term_1","at":7,"text":"done"}"#;
        let Line::Came(read) = serde_json::from_str(old).unwrap() else { panic!() };
        assert_eq!(read, delivery(1));
    }

    #[test]
    fn p8_a_file_of_which_nothing_is_left_is_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail");
        let mut mailbox = Mailbox::open(&path).unwrap();
        let gone = TaskId::from_number(1);
        let mail = Mail { text: format!("Completed: {gone}"), ..mail(1) };
        mailbox.put(Delivery { mail, tasks: Some(vec![gone]) }).unwrap();
        mailbox.forget(&[gone]).unwrap();
        assert!(mailbox.unread().is_empty());
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn p8_what_a_crash_left_of_writing_the_file_anew_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail");
        fs::write(folder.path().join("mail.new"), "a secret").unwrap();
        Mailbox::open(&path).unwrap();
        assert!(!folder.path().join("mail.new").exists());
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail");
        let mut mailbox = Mailbox::open(&path).unwrap();
        for number in 0..2 * SHOWN_MAX {
            mailbox.put(delivery(number)).unwrap();
            mailbox.shown(&[mail(number).message]).unwrap();
        }
        mailbox.put(delivery(9_999)).unwrap();
        drop(mailbox);
        let mailbox = Mailbox::open(&path).unwrap();
        assert_eq!(mailbox.unread(), [mail(9_999)]);
        let lines: Vec<Line> = read_lines(&path).unwrap().unwrap();
        assert_eq!(lines.len(), SHOWN_MAX + 1);
    }
}
