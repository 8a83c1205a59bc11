//! How tasks are put in groups: by whom they need, or by their project or agent.

use crate::model::board::Item;
use crate::model::row::Group;

/// What tasks are grouped by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum Grouping {
    #[default]
    Need,
    Project,
    Agent,
}

impl Grouping {
    /// The one that a key goes on to.
    pub fn next(self) -> Self {
        match self {
            Self::Need => Self::Project,
            Self::Project => Self::Agent,
            Self::Agent => Self::Need,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Need => "need",
            Self::Project => "project",
            Self::Agent => "agent",
        }
    }

    fn heading(self, item: &Item) -> Heading {
        match self {
            Self::Need => Heading::Need(item.row.group),
            Self::Project => Heading::Named(item.row.project.clone()),
            Self::Agent => Heading::Named(item.task.agent.clone()),
        }
    }
}

/// What stands above the tasks of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heading {
    /// Whom they need.
    Need(Group),
    /// Their project or agent.
    Named(String),
}

/// Tasks under one heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    pub heading: Heading,
    pub items: Vec<&'a Item>,
}

impl Section<'_> {
    /// How many of them ask a person.
    pub fn asking(&self) -> usize {
        self.items.iter().filter(|item| item.row.group == Group::Asks).count()
    }
}

/// The tasks in their groups. Groups with a task that asks come first, then those with one at work;
/// tasks of the same need stay in their order.
pub fn sections<'a>(items: impl IntoIterator<Item = &'a Item>, by: Grouping) -> Vec<Section<'a>> {
    let mut items: Vec<&Item> = items.into_iter().collect();
    items.sort_by_key(|item| item.row.group);
    let mut sections: Vec<Section<'a>> = Vec::new();
    for item in items {
        let heading = by.heading(item);
        match sections.iter_mut().find(|section| section.heading == heading) {
            Some(section) => section.items.push(item),
            None => sections.push(Section { heading, items: vec![item] }),
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use legwork_protocol::Outcome;
    use legwork_protocol::view::TaskView;

    use super::*;
    use crate::model::example::{finished, permission, task};

    #[test]
    fn v2_tasks_stand_in_groups_by_need_project_or_agent_with_who_asks_first() {
        let of = |agent: &str, folder: &str, task: TaskView| {
            Item::from(TaskView { agent: agent.to_owned(), directory: folder.to_owned(), ..task })
        };
        let asks = TaskView { questions: vec![permission("x")], ..task(2) };
        // The newest launch first, as a board has them.
        let items = [
            of("general", "/nowhere/docs", finished(5, Outcome::Completed)),
            of("explore", "/nowhere/web", task(4)),
            of("general", "/nowhere/shop", finished(3, Outcome::Failed)),
            of("general", "/nowhere/shop", asks),
            of("explore", "/nowhere/shop", task(1)),
        ];
        let seen = |by| {
            let section = |section: Section<'_>| {
                let name = match &section.heading {
                    Heading::Need(group) => group.title().to_owned(),
                    Heading::Named(name) => name.clone(),
                };
                let tasks: Vec<u64> = section.items.iter().map(|item| item.task.seq).collect();
                (name, section.asking(), tasks)
            };
            sections(&items, by).into_iter().map(section).collect::<Vec<_>>()
        };
        let is = |name: &str, asking, tasks: &[u64]| (name.to_owned(), asking, tasks.to_vec());
        let by_need =
            [is("Asks you", 1, &[2]), is("Working", 0, &[4, 1]), is("Finished", 0, &[5, 3])];
        assert_eq!(seen(Grouping::Need), by_need);
        let by_project = [is("shop", 1, &[2, 1, 3]), is("web", 0, &[4]), is("docs", 0, &[5])];
        assert_eq!(seen(Grouping::Project), by_project);
        let by_agent = [is("general", 1, &[2, 5, 3]), is("explore", 0, &[4, 1])];
        assert_eq!(seen(Grouping::Agent), by_agent);
    }
}
