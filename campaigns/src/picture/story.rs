//! The story that the picture tells: somebody asks for two helpers, the model launches them, goes
//! on with its work, and is told once of each. Everything happens; only the model has learned its
//! part.

use std::time::Duration;

use legwork_testkit::{Home, Model, Tui, call, script};
use serde_json::json;

use super::record::{Screen, record};
use crate::fault::{Done, Fault};
use crate::legwork::Legwork;

/// OpenCode shows its sidebar from 121 columns on.
pub const COLUMNS: u16 = 122;
const ROWS: u16 = 38;
/// For those who do not see it.
pub const TITLE: &str = "OpenCode with legwork: a person asks for two background helpers, the model \
                         launches them and goes on with its work; a notice arrives for each when it \
                         is done, and the model uses the result";

const PROMPT: &str = "Have two background helpers review the error handling and look for missing \
                      tests. Rename parse to readConfig meanwhile.";
const REVIEW: &str = "Review the error handling";
const TESTS: &str = "Look for missing tests";
/// The last words of each turn.
const RENAMED: &str = "Both helpers are still at work.";
const FIXED: &str = "a wrong port is an error now.";
const ALL_DONE: &str = "with a missing and with a wrong port?";
const FILE: &str = "src/config.ts";
const SOURCE: &str = "\
/** Reads the settings of the user. */
export function parse(text: string): Settings {
  const port = Number(text.trim());
  return { port };
}
";

const END: &str = "  return { port };";
const CHECKED: &str = "  if (!port) throw new Error(`not a port: ${text}`);\n  return { port };";

/// Between three letters, two words of the model, two steps of it, and two parts of the story.
const LETTERS: Duration = Duration::from_millis(60);
const WORD_MS: u64 = 60;
const THINK_MS: u64 = 800;
const PAUSE: Duration = Duration::from_millis(1_600);

/// Plays it, and gives back what was on the screen.
pub async fn play() -> Done<Vec<Screen>> {
    let model = Model::start();
    learn(&model);
    let home = furnish(&model)?;
    let tui = home.tui_of(COLUMNS, ROWS, &[]).await;
    tui.until("the prompt", |screen| screen.contains("Ask anything")).await;
    // What it loads after its first screen is no part of the story.
    tokio::time::sleep(PAUSE * 2).await;
    let mut screens = Vec::new();
    tokio::select! {
        never = record(&tui, &mut screens) => match never {},
        () = tell(&tui, &model) => {}
    }
    // One line of OpenCode's names the temporary folder all the same.
    let folder = home.project().to_string_lossy().into_owned();
    let shown = format!("{:<width$}", "~/project", width = folder.len());
    screens.iter_mut().for_each(|(_, screen)| *screen = screen.replace(&folder, &shown));
    Ok(screens)
}

async fn tell(tui: &Tui<'_>, model: &Model) {
    tokio::time::sleep(PAUSE).await;
    let letters: Vec<char> = PROMPT.chars().collect();
    for some in letters.chunks(3) {
        tui.keys(&["-l", &some.iter().collect::<String>()]);
        tokio::time::sleep(LETTERS).await;
    }
    tokio::time::sleep(PAUSE / 2).await;
    tui.keys(&["Enter"]);
    for (words, gate) in [(RENAMED, "review"), (FIXED, "tests")] {
        tui.until(words, |screen| is_quiet(screen, words)).await;
        tokio::time::sleep(PAUSE).await;
        model.open(gate);
    }
    tui.until(ALL_DONE, |screen| is_quiet(screen, ALL_DONE)).await;
    tui.until("no toast", |screen| !screen.contains("Completed: ")).await;
    tokio::time::sleep(PAUSE).await;
}

/// Whether the last words were said and the turn is over. Lines are broken, so the end must do.
fn is_quiet(screen: &str, words: &str) -> bool {
    let end = words.rsplit(' ').take(2).collect::<Vec<_>>();
    end.iter().all(|word| screen.contains(word)) && !screen.contains("esc interrupt")
}

fn speak(words: &str) -> String {
    format!("speak {WORD_MS} {words}")
}

/// What the model says and does when it reads which words.
fn learn(model: &Model) {
    model.entitle("Rename parse to readConfig");
    let edit = |old: &str, new: &str| {
        let file = json!({ "filePath": FILE, "oldString": old, "newString": new });
        call("edit", &file)
    };
    let helper = |description: &str, prompt: &str| {
        let launch = json!({ "description": description, "prompt": prompt, "agent": "general" });
        call("background_task", &launch)
    };
    let read = call("read", &json!({ "filePath": FILE }));

    let begin = [
        speak("I hand both over and do the rename myself."),
        helper(REVIEW, "Read src and say what is wrong."),
        helper(TESTS, "Say which functions have no test."),
    ];
    let look = format!("wait {THINK_MS}\n{read}");
    let rename = edit("function parse(", "function readConfig(");
    let rename = format!("wait {THINK_MS}\n{rename}");
    let renamed = speak(&format!("Renamed. {RENAMED}"));
    model.learn("two background helpers", script(&[&begin.join("\n"), &look, &rename, &renamed]));

    let wrong = "say src/config.ts:3 takes any text as a port.";
    model.learn("say what is wrong", script(&[&read, &format!("gate review\n{wrong}")]));
    let untested = "say Nothing tests readConfig.";
    let search = call("grep", &json!({ "pattern": "test\\(" }));
    model.learn("have no test", script(&[&search, &format!("gate tests\n{untested}")]));

    let fix = [
        speak("The review found that src/config.ts:3 takes any text as a port. I fix it."),
        edit(END, CHECKED),
    ];
    let fixed = speak(&format!("Done: {FIXED}"));
    model.learn(&format!("{REVIEW} ("), script(&[&fix.join("\n"), &fixed]));
    let end = format!(
        "The other helper found that nothing tests readConfig. Shall I add tests {ALL_DONE}"
    );
    model.learn(&format!("{TESTS} ("), script(&[&speak(&end)]));
}

/// A small project, and OpenCode as somebody has it who installed legwork.
fn furnish(model: &Model) -> Done<Home> {
    let names = json!({ "name": "for a demo", "models": { "fake": { "name": "Scripted model" } } });
    let settings = json!({ "lsp": false, "formatter": false, "provider": { "fake": names } });
    let home = Home::build(model).git().settings(settings).make();
    let fault = |why| Fault::trying("writing the project", why);
    std::fs::create_dir(home.project().join("src")).map_err(fault)?;
    std::fs::write(home.project().join(FILE), SOURCE).map_err(fault)?;
    home.set_env("COLORTERM", "truecolor");
    // Paths on the screen begin with ~ then, and not with a temporary folder.
    home.set_env("HOME", &home.root().to_string_lossy());
    let legwork = Legwork::find()?;
    legwork.furnish(&home, "")?;
    let done = legwork.run(&home, &["install", "opencode"])?;
    if !done.status.success() {
        return Err(Fault::trying("legwork install", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(home)
}
