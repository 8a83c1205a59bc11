//! What the model is asked because of helpers: requests, the text of their prompts, and what the
//! definitions of the tools add to each. Counted, not timed.

use std::time::Duration;

use legwork_testkit::{Request, script};

use super::arm::{Arm, CONFIG};
use crate::fault::{Done, Fault};
use crate::page::Table;
use crate::progress::{note, until};
use crate::stage::{Furniture, Stage};
use crate::statistics::median;

const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(120);
/// What is quiet twice, so far apart, is.
const QUIET: Duration = Duration::from_millis(1_500);
/// Helpers that end one after the other.
const LOT: usize = 8;
const OVER: Duration = Duration::from_secs(3);
/// Characters of a token, as it is usually estimated. No tokenizer is asked.
const CHARS_PER_TOKEN: f64 = 4.0;

/// What some work cost its parent, one sample for each time that it was done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asked {
    /// The work.
    pub what: String,
    /// Who looked after the helpers.
    pub of: String,
    /// Model requests of the parent until all was told.
    pub requests: Vec<f64>,
    /// Of them: after the turn of the launch.
    pub later: Vec<f64>,
    /// The characters of messages and tool definitions in all of them, as JSON.
    pub chars: Vec<f64>,
    /// Model requests of the helpers.
    pub of_helpers: Vec<f64>,
}

/// What tool definitions add to each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Whose tools.
    pub of: String,
    /// How many.
    pub tools: usize,
    /// Their characters, as JSON.
    pub chars: usize,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Model {
    /// Work.
    pub asked: Vec<Asked>,
    /// Tools.
    pub offers: Vec<Offer>,
}

/// Each arm in an OpenCode of its own, one after the other.
///
/// # Errors
/// When something does not happen at all.
pub async fn measure(repeats: usize) -> Done<Model> {
    let mut model = Model::default();
    let native = Arm::Native.open().await?;
    model.add(&native, Arm::Native, Arm::Native.name(), repeats).await?;
    drop(native);
    for wake in ["each", "last"] {
        let config = format!("{CONFIG}[notices]\nwake = \"{wake}\"\n");
        let furniture = Furniture { config: Some(&config), ..Furniture::default() };
        let stage = Stage::open(&furniture).await?;
        stage.until_connected().await?;
        model.add(&stage, Arm::Legwork, &format!("legwork, wake = \"{wake}\""), repeats).await?;
    }
    Ok(model)
}

impl Model {
    async fn add(&mut self, stage: &Stage, arm: Arm, of: &str, repeats: usize) -> Done<()> {
        let lot = format!("{LOT} helpers that end over {} s", OVER.as_secs());
        let mut one = Asked { what: "one helper".into(), of: of.into(), ..Asked::default() };
        let mut waited = Asked { what: "one that is waited for".into(), ..one.clone() };
        let mut many = Asked { what: lot, ..one.clone() };
        for repeat in 0..repeats {
            note(format!("{of}: model requests {repeat} of {repeats}"));
            self.told(stage, arm, 1, &mut one).await?;
            self.told(stage, arm, LOT, &mut many).await?;
            wait(stage, arm, &mut waited).await?;
        }
        self.asked.extend([one, waited, many]);
        Ok(())
    }

    /// Helpers that are launched in one step, and end at equal distances.
    async fn told(&mut self, stage: &Stage, arm: Arm, lot: usize, into: &mut Asked) -> Done<()> {
        let parent = stage.parent().await;
        let gate = |number: usize| format!("{parent}-{number}");
        let launch = |number: usize| {
            let steps = format!("gate {}\nsay what helper {number} found.", gate(number));
            arm.launch(&format!("Helper {number}"), "general", &[&steps])
        };
        let launches: Vec<String> = (0..lot).map(launch).collect();
        stage.client.ask(&parent, &script(&[&launches.join("\n"), "say launched"])).await;
        let at_work = async || (count(stage, |one| one != parent).0 >= lot).then_some(());
        until("the helpers are at work", PATIENCE, LOOK, at_work).await?;
        self.offered(stage, arm, &parent, &into.of)?;
        let before = count(stage, |one| one == parent).0;
        for number in 0..lot {
            stage.model.open(&gate(number));
            tokio::time::sleep(OVER / LOT as u32).await;
        }
        let told = async || {
            let told = arm.notices(&stage.messages(&parent).await).len();
            (told >= lot).then_some(())
        };
        until("all is told", PATIENCE, LOOK, told).await?;
        until_quiet(stage, arm).await?;
        into.take(stage, &parent, before);
        Ok(())
    }

    /// What the definitions of an arm's tools add, as the model was sent them.
    fn offered(&mut self, stage: &Stage, arm: Arm, parent: &str, of: &str) -> Done<()> {
        if self.offers.iter().any(|offer| offer.of.starts_with(of)) {
            return Ok(());
        }
        let is_its = |one: &&Request| is_of(one, |session| session == parent);
        let tools = stage.model.look(|requests| {
            let tools = requests.iter().find(is_its)?.raw["tools"].as_array().cloned()?;
            let own = |name: &str| match arm {
                Arm::Native => name == arm.tool(),
                Arm::Direct | Arm::Legwork => name.starts_with("background_"),
            };
            let name = |tool: &serde_json::Value| tool["function"]["name"].as_str().map(own);
            let sizes = tools.iter().map(|tool| (name(tool) == Some(true), tool.to_string()));
            Some(sizes.map(|(own, text)| (own, text.chars().count())).collect::<Vec<_>>())
        });
        let tools = tools.ok_or_else(|| Fault::new("the model was offered no tools"))?;
        for (name, own) in [("what it adds", true), ("all others", false)] {
            let sizes = || tools.iter().filter(|(is_own, _)| *is_own == own).map(|(_, size)| *size);
            let of = format!("{of}: {name}");
            self.offers.push(Offer { of, tools: sizes().count(), chars: sizes().sum() });
        }
        Ok(())
    }

    /// The work.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            "work",
            "whose",
            "n",
            "parent's model requests",
            "after the launch",
            "most",
            "prompt characters",
            "tokens (characters / 4)",
            "helpers' model requests",
        ]);
        for asked in &self.asked {
            let chars = median(&asked.chars);
            let most = asked.later.iter().copied().fold(0.0, f64::max);
            let numbers = [
                asked.requests.len() as f64,
                median(&asked.requests),
                median(&asked.later),
                most,
                chars,
                chars / CHARS_PER_TOKEN,
                median(&asked.of_helpers),
            ];
            let head = [asked.what.clone(), asked.of.clone()].into_iter();
            table.push(head.chain(numbers.map(|number| format!("{number:.0}"))).collect());
        }
        table
    }

    /// The tools.
    pub fn offers(&self) -> Table {
        let head = ["tool definitions", "tools", "characters", "tokens (characters / 4)"];
        let mut table = Table::new(&head);
        for offer in &self.offers {
            let tokens = format!("{:.0}", offer.chars as f64 / CHARS_PER_TOKEN);
            let (tools, chars) = (offer.tools.to_string(), offer.chars.to_string());
            table.push(vec![offer.of.clone(), tools, chars, tokens]);
        }
        table
    }
}

impl Asked {
    /// With what the model was asked since it was last forgotten.
    fn take(&mut self, stage: &Stage, parent: &str, before: usize) {
        let (requests, chars) = count(stage, |session| session == parent);
        self.requests.push(requests as f64);
        self.later.push((requests - before) as f64);
        self.chars.push(chars as f64);
        self.of_helpers.push(count(stage, |session| session != parent).0 as f64);
        stage.model.forget();
    }
}

/// A helper whose parent waits for it in the turn of the launch.
async fn wait(stage: &Stage, arm: Arm, into: &mut Asked) -> Done<()> {
    let parent = stage.parent().await;
    let steps = arm.wait_for("One", &["wait 300\nsay what it found."]);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    stage.client.ask(&parent, &script(&steps)).await;
    let before = count(stage, |session| session == parent).0;
    until_quiet(stage, arm).await?;
    into.take(stage, &parent, before);
    Ok(())
}

async fn until_quiet(stage: &Stage, arm: Arm) -> Done<()> {
    let asked = || stage.model.look(<[Request]>::len);
    let quiet = async || {
        let before = asked();
        tokio::time::sleep(QUIET).await;
        let idle = stage.client.status().await.as_object().is_some_and(serde_json::Map::is_empty);
        (idle && asked() == before).then_some(())
    };
    if arm == Arm::Legwork {
        stage.until_settled(PATIENCE).await?;
    }
    until("nobody asks the model any more", PATIENCE, LOOK, quiet).await
}

/// Requests of these sessions that were not forgotten, and the characters of their prompts. A
/// request for a title has no tools and is OpenCode's own affair.
fn count(stage: &Stage, wanted: impl Fn(&str) -> bool) -> (usize, usize) {
    stage.model.look(|requests| {
        let of = || requests.iter().filter(|one| is_of(one, &wanted));
        let size = |one: &Request| {
            let parts = [&one.raw["messages"], &one.raw["tools"]];
            parts.map(|part| part.to_string().chars().count()).iter().sum::<usize>()
        };
        (of().count(), of().map(size).sum())
    })
}

fn is_of(request: &Request, wanted: impl Fn(&str) -> bool) -> bool {
    !request.tools.is_empty() && request.session.as_deref().is_some_and(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_shown_as_medians_and_characters_as_tokens_too() {
        let asked = Asked {
            what: "one".into(),
            of: "legwork".into(),
            requests: vec![3.0, 4.0, 9.0],
            later: vec![1.0, 2.0, 7.0],
            chars: vec![100.0, 400.0, 900.0],
            of_helpers: vec![1.0; 3],
        };
        let offers = vec![Offer { of: "legwork".into(), tools: 6, chars: 4_000 }];
        let model = Model { asked: vec![asked], offers };
        let row = ["one", "legwork", "3", "4", "2", "7", "400", "100", "1"];
        assert_eq!(model.table().rows, [row]);
        assert_eq!(model.offers().rows, [["legwork", "6", "4000", "1000"]]);
    }
}
