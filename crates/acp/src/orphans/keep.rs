//! Services that a helper starts on demand and that others use as well: they are not its own, and
//! ending them would end others' work. They are known by their names.

use legwork_machine::table::{Entry, Table, arguments};

/// What is kept if the settings do not say otherwise: each is started by whoever needs it first,
/// and serves all of the user's programs from then on.
pub const KEPT: [&str; 15] = [
    "tmux",
    "screen",
    "gpg-agent",
    "keyboxd",
    "dirmngr",
    "scdaemon",
    "ssh-agent",
    "dbus-daemon",
    "gnome-keyring-daemon",
    "GradleDaemon",
    "KotlinCompileDaemon",
    "bazel",
    "watchman",
    "sccache",
    "adb",
];

/// Linux cuts the names of programs.
const NAME_MAX_BYTES: usize = 15;

/// True if a process or one of its ancestors below the agent is a kept service.
pub fn is_kept(table: &Table, id: u32, agent: u32, keep: &[String]) -> bool {
    let ourselves = std::process::id();
    table
        .line_of(id)
        .take_while(|(above, _)| ![agent, ourselves, 1].contains(above))
        .any(|(above, entry)| has_name(above, entry, keep))
}

fn has_name(id: u32, entry: &Entry, keep: &[String]) -> bool {
    // As in `tmux: server` and `bazel(work)`.
    let name = entry.name.split([':', '(']).next().unwrap_or_default();
    let cut = |wanted: &String| wanted.bytes().take(NAME_MAX_BYTES).eq(name.bytes());
    // Java's programs are all called java; what they are says the class that they begin with.
    let is_class = || {
        let words = arguments(id);
        keep.iter().any(|wanted| words.iter().any(|word| class_of(word) == wanted))
    };
    keep.iter().any(cut) || name == "java" && is_class()
}

fn class_of(word: &str) -> &str {
    word.rsplit('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn entry(parent: u32, name: &str) -> Entry {
        let (group, start, state) = (1, 1, 'S');
        Entry { parent, group, start, state, name: name.to_owned() }
    }

    #[test]
    fn what_is_below_a_kept_one_is_kept_and_what_is_above_it_is_not() {
        let table = Table(BTreeMap::from([
            (100, entry(1, "tmux")),
            (101, entry(100, "sh")),
            (102, entry(101, "tmux: server")),
            (103, entry(102, "bash")),
            (104, entry(101, "tmux2")),
            (105, entry(101, "gnome-keyring-d")),
        ]));
        let keep = KEPT.map(str::to_owned);
        let kept = |id| is_kept(&table, id, 100, &keep);
        assert!(kept(102) && kept(103) && kept(105));
        assert!(!kept(101) && !kept(104));
        assert!(!kept(100), "an agent of that name is an agent");
        assert!(!is_kept(&table, 103, 100, &[]));
    }

    #[test]
    fn a_program_of_javas_is_known_by_its_class() {
        let word = "org.gradle.launcher.daemon.bootstrap.GradleDaemon";
        assert_eq!(class_of(word), "GradleDaemon");
        assert_eq!(class_of("-Xmx1g"), "-Xmx1g");
    }
}
