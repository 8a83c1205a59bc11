//! What is offered for a line that is typed so far.

use clap::CommandFactory;

use super::*;
use crate::Legwork;

struct Some2;

impl Known for Some2 {
    fn tasks(&self) -> Vec<Candidate> {
        vec![Candidate::new("bg_one", "running: Work"), Candidate::new("bg_two", "")]
    }
    fn agents(&self) -> Vec<Candidate> {
        vec![Candidate::new("gemini", ""), Candidate::new("rehearsal", "")]
    }
}

fn complete(line: &str) -> Vec<String> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let mut root = Legwork::command();
    root.build();
    candidates(&root, &words, &Some2).into_iter().map(|candidate| candidate.word).collect()
}

#[test]
fn commands_options_tasks_agents_and_statuses_are_completed() {
    assert_eq!(complete("unin"), ["uninstall"]);
    assert!(complete("").contains(&"list".to_owned()));
    assert!(!complete("").contains(&"bridge".to_owned()), "what is hidden stays so");
    assert_eq!(complete("show "), ["bg_one", "bg_two"]);
    assert_eq!(complete("show bg_t"), ["bg_two"]);
    assert_eq!(complete("wait bg_one bg_"), ["bg_one", "bg_two"]);
    assert_eq!(complete("logs bg_o"), ["bg_one"], "by another name");
    assert_eq!(complete("answer bg_one "), ["once", "always", "reject"]);
    assert_eq!(complete("list --status c"), ["completed", "cancelled"]);
    assert_eq!(complete("list --status a"), ["asks"]);
    assert_eq!(complete("list --status q"), ["queued"]);
    assert_eq!(complete("list --status w"), ["working"]);
    assert_eq!(complete("run --agent g"), ["gemini"]);
    assert_eq!(complete("run -a g"), ["gemini"]);
    assert_eq!(complete("run --de"), ["--description", "--detach"]);
    assert_eq!(complete("--json show bg_o"), ["bg_one"]);
    assert_eq!(complete("-C /tmp show bg_o"), ["bg_one"]);
    assert_eq!(complete("show -- -"), Vec::<String>::new());
    assert_eq!(complete("daemon st"), ["status", "start", "stop"]);
    assert_eq!(complete("nonsense "), Vec::<String>::new());
}
