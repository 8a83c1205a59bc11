//! The doctor beside the real OpenCode.

use legwork_testkit::{Installed, Model, block_on};
use serde_json::{Value, json};

use crate::stage::{LEGWORK, furnish, until};

#[test]
fn p7_an_opencode_that_cannot_read_its_settings_is_found_with_what_it_says() {
    let model = Model::start();
    let home = furnish(&model, json!({}), "");
    let doctor = || {
        let folder = Installed::get().binary().parent().unwrap().display().to_string();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let output = home.command(LEGWORK).args(["doctor", "--json"]).env("PATH", path).output();
        let all: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        let found = all.as_array().unwrap().iter().find(|one| one["check"] == "opencode");
        found.unwrap().clone()
    };
    // On a machine that is busy enough it says that OpenCode takes too long.
    let until = |what: &str, is_so: fn(&Value) -> bool| {
        block_on(until(what, async || Some(doctor()).filter(is_so)))
    };
    until("it is well", |found| found["state"] == "good");
    let settings = home.project().join("opencode.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("{text}{{ not this")).unwrap();
    let ill = until("it ends", |found| found["code"] == "opencode.ends");
    assert!(ill["says"].as_str().unwrap().contains("not this"), "{ill}");
    std::fs::write(&settings, text).unwrap();
    until("it is well again", |found| found["state"] == "good");
}
