//! What comes in from models as it should not: call ids that are repeated or empty, arguments that
//! are valid JSON and still cannot be passed on. Every call is answered, and a turn never hangs.

use legwork_testkit::{Request, block_on, script};
use serde_json::json;

use crate::stage::{Stage, launch};

/// Providers number calls anew in every answer, or not at all.
#[test]
fn l6_calls_whose_ids_the_provider_repeats_or_leaves_empty_are_calls_of_their_own() {
    let stage = Stage::shared();
    block_on(async {
        for id in ["call_0", "-"] {
            let parent = stage.parent().await;
            let line = |name: &str| {
                let arguments = launch(name, &[&format!("say {name}")]);
                format!("call-as {id} background_task {arguments}")
            };
            stage.turn(&parent, &[&line("first"), "say ok"]).await;
            stage.turn(&parent, &[&line("second"), "say ok"]).await;
            let calls = stage.calls(&parent).await;
            assert!(calls.iter().all(|call| !call.refused()), "{calls:?}");
            let tasks = stage.tasks(&calls).await;
            assert_eq!(tasks.len(), 2, "{calls:?}");
            assert_ne!(tasks[0].id, tasks[1].id, "{calls:?}");
            for task in &tasks {
                stage.until_settled(task).await;
            }
            assert_eq!(stage.client.children(&parent).await.len(), 2);
            let told: String =
                stage.notices(&parent).await.iter().map(|one| one.hidden.clone()).collect();
            assert!(told.contains("first") && told.contains("second"), "{told}");
        }
    });
}

/// Also that what OpenCode keeps of such a call does not keep the parent from being told.
#[test]
fn g2_a_call_that_cannot_be_passed_on_is_refused_in_words_and_its_parent_is_told_all_the_same() {
    let stage = Stage::shared();
    block_on(async {
        let deep = format!("{}1{}", "[".repeat(129), "]".repeat(129));
        let many = format!("[{}0]", "0,".repeat(600_000));
        for (gate, more, why) in [
            ("deep", deep, "nested deeper than 100 levels"),
            ("many", many, "more than 500000 values"),
        ] {
            let parent = stage.parent().await;
            let helper = format!("gate {gate}\nsay told {gate}");
            let task = stage.launch(&parent, gate, &[&helper]).await;
            let line = format!(r#"call background_list {{"all":false,"more":{more}}}"#);
            stage.say(&parent, &[&line, "say ok"]).await;
            let refused =
                |one: &Request| one.session.as_deref() == Some(&parent) && one.said("tool", why);
            stage.model.wait_for("the refusal", refused).await;
            stage.model.open(gate);
            stage.until_asked(&parent, &format!("told {gate}")).await;
            stage.until_settled(&task).await;
        }
    });
}

#[test]
fn g2_half_a_character_in_a_call_is_repaired_and_the_call_is_done() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let prompt = json!(script(&["say done"])).to_string();
        let half = r#""description":"half \ud83d of it""#;
        let line =
            format!(r#"call background_task {{{half},"prompt":{prompt},"agent":"general"}}"#);
        stage.say(&parent, &[&line, "say ok"]).await;
        stage.until_asked(&parent, "[BACKGROUND TASK COMPLETED]").await;
        let listed = stage.legwork(&["list", "--json"]);
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.contains("half \u{fffd} of it"), "{listed}");
    });
}
