//! Records that cannot be read any more: nothing that may belong to them is removed, and everybody
//! who looks is told.

use std::fs;
use std::path::Path;

use crate::stage::Stage;

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn k4_records_that_are_set_aside_take_no_conversation_along_and_everybody_says_so() {
    let mut stage = Stage::new();
    let task = stage.launch("say what was found");
    stage.finish(&task);
    let home = stage.home.path("legwork");
    let kept = files(&home.join("sessions"));
    assert!(kept >= 2, "the terminal's and the helper's");
    stage.home.run(["daemon", "stop"]).with_code(0);
    let store = home.join("store/legwork.db");
    let whole = fs::read(&store).unwrap();
    fs::write(&store, "this is no database ".repeat(1_000)).unwrap();

    // In the life that sets it aside, and in the next one, which finds nothing wrong.
    for _ in 0..2 {
        let mut listed = stage.home.run(["list"]).with_code(0);
        let aside = home.join("store/legwork.db.unreadable-1");
        assert!(listed.out.contains(&aside.display().to_string()), "{listed:?}");
        assert!(listed.out.contains("legwork doctor"), "{listed:?}");
        listed = stage.home.run(["list", "--json"]).with_code(0);
        assert_eq!(listed.json()["incomplete"], true, "{listed:?}");
        let doctor = stage.home.run(["doctor"]).with_code(1);
        assert!(doctor.out.contains("earlier records could not be read as a whole"), "{doctor:?}");
        assert!(doctor.out.contains("nothing of them is deleted"), "{doctor:?}");
        assert_eq!(files(&home.join("sessions")), kept, "nothing is removed");
        stage.home.run(["daemon", "stop"]).with_code(0);
    }

    // A person puts the records back.
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(home.join(format!("store/legwork.db{end}")));
    }
    fs::write(&store, whole).unwrap();
    fs::remove_file(home.join("store/legwork.db.unreadable-1")).unwrap();
    let found = stage.home.run(["output", &task]).with_code(0);
    assert_eq!(found.out.trim_end(), "what was found");
    let again = ["run", "--resume", &task, "say more"];
    assert!(stage.home.run(again).with_code(0).out.contains("more"));
}
