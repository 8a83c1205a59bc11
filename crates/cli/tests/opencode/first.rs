//! The first path.

use legwork_testkit::block_on;

use crate::stage::Stage;

#[test]
fn n2_a_result_of_8_kb_is_told_once_in_full_and_starts_a_turn() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "Explore", &["repeat 8192 result"]).await;
        let notices = stage.until_notices(&parent, 1).await;
        stage.until_settled(&task).await;
        assert!(notices[0].headline.starts_with("[BACKGROUND TASK COMPLETED]"), "{notices:?}");
        assert!(notices[0].hidden.len() >= 8192);
        stage
            .model
            .wait_for("the turn of the notice", |request| {
                request.session.as_deref() == Some(parent.as_str())
                    && request.said("user", "[BACKGROUND TASK COMPLETED]")
            })
            .await;
        assert_eq!(stage.notices(&parent).await.len(), 1);
    });
}
