//! A store of every version that was ever released opens, is brought to the newest format, and
//! reads back. `schemas/v{N}.sql` fills a store of version N, on top of what earlier versions could
//! hold; it is never edited, and neither are the steps that make the tables.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::open;
use legwork_engine::Usage;
use legwork_engine::record::{About, Journal, Saved, Target};
use legwork_engine::task::{Outcome, Stage};
use legwork_engine::text::timeline::sentence;
use legwork_protocol::Time;
use legwork_protocol::api::CostBy;
use legwork_protocol::timeline::Event;
use legwork_store::{Prompts, SCHEMA_VERSION, Store};
use rusqlite::Connection;
use tempfile::TempDir;

fn rows(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/schemas/v{version}.sql"))
}

fn step(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/schema/v{version}.sql"))
}

/// A store as that version left it.
fn make(home: &Path, version: u32) {
    let db = Connection::open(home.join("legwork.db")).unwrap();
    for earlier in 1..=version {
        for sql in [step(earlier), rows(earlier)] {
            db.execute_batch(&fs::read_to_string(sql).unwrap()).unwrap();
        }
    }
    db.pragma_update(None, "application_id", i32::from_be_bytes(*b"legw")).unwrap();
    db.pragma_update(None, "user_version", version).unwrap();
}

fn opened(version: u32) -> (TempDir, Store) {
    let home = TempDir::new().unwrap();
    make(home.path(), version);
    let store = open(home.path());
    (home, store)
}

fn schema(store: &Store) -> Vec<(String, Option<String>)> {
    let db = Connection::open(store.path()).unwrap();
    let mut read = db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
    let rows = read.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn every_version_has_a_store_to_try() {
    for version in 1..=SCHEMA_VERSION {
        assert!(rows(version).is_file(), "add {}", rows(version).display());
    }
}

#[test]
fn a_migrated_store_is_like_a_new_one() {
    let home = TempDir::new().unwrap();
    let new = schema(&open(home.path()));
    for version in 1..=SCHEMA_VERSION {
        let (_home, store) = opened(version);
        assert_eq!(schema(&store), new, "from version {version}");
    }
}

#[test]
fn k2_a_store_of_every_version_reads_back() {
    for version in 1..=SCHEMA_VERSION {
        let (_home, mut store) = opened(version);
        let saved = store.load().unwrap();
        check(&saved);
        let first = saved.tasks[0].id;
        assert_eq!(store.detail(first, 0).unwrap().as_deref(), Some("It is in src/login.rs."));
        assert_eq!(store.detail(first, 1).unwrap().as_deref(), Some("Two tests, both pass."));
        assert_eq!(
            store.timeline(first).unwrap(),
            [
                (Time(1_700_000_000_000), 0, kept_sentence("launched", false)),
                (Time(1_700_000_090_000), 1, kept_sentence("completed", false))
            ]
        );
        store.probe().unwrap();
    }
}

fn kept_sentence(text: &str, detail: bool) -> Event {
    Event::Sentence { text: text.to_owned(), detail }
}

#[test]
fn v6_the_sentences_of_earlier_versions_stay_and_are_details_or_not_as_they_were() {
    let details = [
        "opening its session",
        "handing over the prompt",
        "the host has the prompt",
        "notice of its end queued",
        "notice of its question: on its way",
        "notice of its end not needed any more",
        "notice of its end: not sent yet (an undo is pending there, its program does not run, or \
         it is not needed any more)",
        "its session is to be stopped",
        "what was opened for it is to be deleted",
        "nothing of it runs any more",
    ];
    let facts = [
        "launched as \"notice of its end queued\" for general, opening its session",
        "completed after 4s: on its way",
        "notice of its end: told",
        "asks for a permission: {\"code\":\"stopped\"}",
        "resumed by a person, handing over the prompt",
        "waits for a place elsewhere",
        "its result was read",
    ];
    let sentences =
        || details.iter().map(|text| (text, true)).chain(facts.iter().map(|text| (text, false)));
    for version in 1..6 {
        let home = TempDir::new().unwrap();
        make(home.path(), version);
        let db = Connection::open(home.path().join("legwork.db")).unwrap();
        for (number, (text, _)) in (1..).zip(sentences()) {
            let sql = "INSERT INTO timeline VALUES ('bg_00000002', ?1, 1, 0, ?2)";
            db.execute(sql, (number, text)).unwrap();
        }
        drop(db);
        let found = open(home.path()).timeline("bg_00000002".parse().unwrap()).unwrap();
        let found: Vec<Event> = found.into_iter().map(|(_, _, event)| event).collect();
        let kept: Vec<Event> =
            sentences().map(|(text, detail)| kept_sentence(text, detail)).collect();
        assert_eq!(found, kept, "from version {version}");
        for event in &found {
            assert_eq!(
                Event::Sentence { text: sentence(event), detail: event.is_detail() },
                *event
            );
        }
    }
}

#[test]
fn v6_every_code_of_a_timeline_reads_back() {
    let (_home, store) = opened(6);
    let found = store.timeline("bg_00000002".parse().unwrap()).unwrap();
    let sentences: Vec<String> = found.iter().map(|(_, _, event)| sentence(event)).collect();
    insta::assert_snapshot!(sentences.join("\n"));
}

fn check(saved: &Saved) {
    let [done, busy] = &saved.tasks[..] else { panic!("{saved:#?}") };
    assert_eq!(done.stage, Stage::Finished(Outcome::Completed));
    assert_eq!((done.seq, done.run.number), (1, 1));
    assert_eq!(done.run.prompt, None);
    assert_eq!(done.run.ended, Some(Time(1_700_000_090_000)));
    assert_eq!(done.retrieved, Some(Time(1_700_000_050_000)));
    assert_eq!(busy.stage, Stage::Working("msg_prompt".parse().unwrap()));
    assert_eq!(busy.run.prompt.as_deref(), Some("Write the change log."));
    assert_eq!(busy.run.asked.ids, ["per_1".parse().unwrap(), "per_2".parse().unwrap()]);
    assert_eq!(busy.session, Some("ses_child_2".parse().unwrap()));
    for task in [done, busy] {
        assert_eq!((task.realm.as_str(), task.directory.as_ref()), ("project", "/project"));
    }

    let abouts: Vec<About> = saved.notices.iter().map(|notice| notice.id.about).collect();
    assert_eq!(abouts, [About::Question(1), About::End], "what was told is not pending");
    assert_eq!(saved.notices[1].id.run, 1);
    let [delivery] = &saved.deliveries[..] else { panic!("{saved:#?}") };
    assert_eq!(delivery.notices, [saved.notices[0].id, saved.notices[1].id]);
    let targets: Vec<&Target> = saved.stops.iter().map(|stop| &stop.target).collect();
    let (gone, new) = ("ses_gone".parse().unwrap(), "ses_new".parse().unwrap());
    assert_eq!(targets, [&Target::Session(gone), &Target::Marked, &Target::Opened(new)]);
    assert_eq!(saved.parents.len(), 2);
    assert_eq!(saved.parents[0].active_host, Some("host-1".parse().unwrap()));
    assert_eq!(saved.parents[1].active_host, None);
}

#[test]
fn p4_of_runs_from_before_their_figures_were_kept_the_cost_is_unknown() {
    for version in 1..=3 {
        let (_home, mut store) = opened(version);
        let saved = store.load().unwrap();
        assert!(saved.tasks.iter().all(|task| task.run.usage == Usage::default()));
        let runs = store.runs(saved.tasks[0].id, Prompts::With).unwrap();
        let calls: Vec<_> = runs.iter().map(|run| (run.tool_calls, run.usage.tokens)).collect();
        assert_eq!(calls, [(None, None), (Some(4), None)], "from version {version}");
        let total = store.costs(CostBy::Day, None, &Default::default()).unwrap().total;
        assert_eq!((total.runs, total.cost_unknown, total.costs.len()), (3, 3, 0));
    }
    let (_home, mut store) = opened(4);
    let saved = store.load().unwrap();
    let run = &saved.tasks[1].run;
    assert_eq!((run.usage.tokens, run.used_before.tokens), (Some(41), Some(11)));
    assert_eq!(run.usage.model.as_deref(), Some("p/m"));
    assert_eq!(saved.ledgers[0].micros, 120);
    let total = store.costs(CostBy::Day, None, &Default::default()).unwrap().total;
    assert_eq!((total.runs, total.cost_unknown, total.costs[0].micros), (3, 1, 140));
}

#[test]
fn k4_what_can_be_read_of_a_store_of_every_version_is_taken_over() {
    for version in 1..=SCHEMA_VERSION {
        let home = TempDir::new().unwrap();
        make(home.path(), version);
        let db = Connection::open(home.path().join("legwork.db")).unwrap();
        db.execute("UPDATE stops SET task = 'no task' WHERE task = 'bg_00000003'", ()).unwrap();
        drop(db);
        let opened = Store::open(home.path()).unwrap();
        assert_eq!(opened.set_aside.unwrap().rescued, 2, "from version {version}");
        let mut store = opened.store;
        let saved = store.load().unwrap();
        for task in &saved.tasks {
            assert_eq!((&task.realm, task.directory.as_ref()), (&task.place, "/project"));
        }
        assert_eq!(saved.deliveries.len(), 1, "from version {version}");
        let pending = saved.notices.iter().filter(|notice| notice.delivery.is_some());
        assert_eq!(pending.count(), 2, "from version {version}");
        let active = saved.parents.iter().find(|parent| parent.active_host.is_some());
        assert_eq!(active.unwrap().session.as_str(), "ses_parent", "from version {version}");
    }
}

#[test]
fn k4_a_timeline_that_cannot_be_brought_to_the_newest_format_is_taken_over() {
    for version in 1..6 {
        let home = TempDir::new().unwrap();
        make(home.path(), version);
        let db = Connection::open(home.path().join("legwork.db")).unwrap();
        let odd = "CREATE TRIGGER odd AFTER UPDATE ON timeline BEGIN DELETE FROM nowhere; END";
        db.execute_batch(odd).unwrap();
        drop(db);
        let opened = Store::open(home.path()).unwrap();
        assert_eq!(opened.set_aside.unwrap().rescued, 2, "from version {version}");
        let told = opened.store.timeline("bg_0000000a".parse().unwrap()).unwrap();
        let events: Vec<Event> = told.into_iter().map(|(_, _, event)| event).collect();
        let kept = ["launched", "completed"].map(|text| kept_sentence(text, false));
        assert_eq!(events, kept, "from version {version}");
    }
}
