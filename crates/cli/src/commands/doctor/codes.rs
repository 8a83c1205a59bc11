//! The codes of `legwork doctor`, a row each: whether it is a problem, the facts that a check
//! gives, the sentence, and what to do. A row is a function from facts to a finding, and
//! `docs/doctor.md` is made of the rows. A code whose remedy depends on the case has several rows.
//!
//! `run` names a command and what it does, and `words` says what to do. With `said` the sentence
//! itself says what to do. A comment is for the page, where the sentence is only a fact.

use std::fmt::Display;

use super::finding::{Finding, Remedy, State};

macro_rules! codes {
    ($($(#[doc = $means:literal])? $state:ident $name:ident $code:literal ($($fact:ident),*)
        $says:literal $kind:ident $($text:literal),*;)*) => {
        $(
            $(#[doc = $means])?
            pub fn $name($($fact: impl Display),*) -> Finding {
                Finding::of_code($code, State::$state, format!($says), remedy!($kind $($text),*))
            }
        )*

        /// What each row means if its sentence does not say it, and a finding of the row with the
        /// names of its facts in capitals.
        #[cfg(test)]
        fn examples() -> Vec<(&'static str, Finding)> {
            let named = |fact: &str| fact.trim_end_matches("_word").to_uppercase();
            vec![$((concat!("" $(, $means)?), $name($(named(stringify!($fact))),*))),*]
        }
    };
}

macro_rules! remedy {
    (run $command:literal, $says:literal) => {
        Some(Remedy::run(format!($command), format!($says)))
    };
    (restart $command:literal) => {
        remedy!(run $command, "then restart OpenCode")
    };
    (stop) => {
        remedy!(run "legwork daemon stop", "ends it; the next command starts another")
    };
    (words $says:literal) => {
        Some(Remedy::words(format!($says)))
    };
    (said) => {
        None
    };
}

codes! {
    Mind program_in_build_folder "program.in-build-folder" (version, binary)
        "legwork {version} at {binary}"
        run "cargo install --locked --path crates/cli",
            "it is in a build folder, which goes with the next `cargo clean`";
    Mind program_several "program.several" (other, version, other_word)
        "there is another one on the PATH: {other} ({version})"
        run "rm {other_word}",
            "if it is left over from an earlier installation; a package manager removes its own";
    Problem program_other_version "program.other-version" (other, version, other_word)
        "there is another one on the PATH: {other} ({version})"
        run "rm {other_word}",
            "if it is left over from an earlier installation; a package manager removes its own";
    /// the file of this program cannot be found
    Problem program_unknown "program.unknown" (fault) "{fault}" said;

    Mind files_few "files.few" (most, least)
        "processes here may have {most} files open, too few for many helpers"
        run "ulimit -Hn {least}", "as root, before the shell";

    /// `config.toml` says something that means nothing
    Problem settings_wrong "settings.wrong" (mistakes, file) "{mistakes}"
        words "Correct these lines of {file}. Until then the defaults are used for these settings.";

    /// there is no home
    Problem folders_unknown "folders.unknown" (fault) "{fault}" said;
    /// legwork's folders belong to another user
    Problem folders_foreign "folders.foreign" (fault, user, path)
        "{fault}" run "sudo chown -R {user} {path}", "makes it yours";
    Problem folders_of_a_user "folders.foreign" (fault)
        "{fault}" words "Run legwork as the user whose folders these are.";
    Problem folders_wrong_kind "folders.wrong-kind" (path, wanted, path_word)
        "{path} is not {wanted}, so the daemon cannot start"
        run "mv {path_word} {path_word}.away", "legwork makes its own";
    Problem folders_closed "folders.closed" (path, rights, path_word)
        "{path} cannot be written, so the daemon cannot start"
        run "chmod u+{rights} {path_word}", "opens it for you";
    Problem folders_writable_by_others "folders.writable-by-others" (path, path_word)
        "{path} can be changed by other users" run "chmod go-w {path_word}", "makes it yours alone";
    Problem folders_readable_by_others "folders.readable-by-others" (path, path_word)
        "{path} can be read by other users"
        run "chmod -R go-rwx {path_word}", "makes it yours alone";

    Problem disk_full "disk.full" (folder, left, folder_word)
        "the disk of {folder} is full ({left} left)"
        words "Make room there (`df -h {folder_word}` shows the disk); legwork goes on by itself, \
               and nothing is lost meanwhile.";
    Problem disk_unwritable "disk.unwritable" (folder, why, folder_word)
        "nothing can be written to {folder} ({why})"
        words "Make room there (`df -h {folder_word}` shows the disk); legwork goes on by itself, \
               and nothing is lost meanwhile.";
    Mind disk_scarce "disk.scarce" (left)
        "{left} left, which is little" run "legwork clear --finished", "forgets what is done with";

    /// the daemon was stopped by a signal
    Problem daemon_suspended "daemon.suspended" (fault, pid)
        "{fault}" run "kill -CONT {pid}", "lets it go on";
    /// the daemon hangs
    Problem daemon_silent "daemon.silent" (fault) "{fault}" stop;
    /// the daemon has begun and does not come to an end of it
    Problem daemon_not_ready "daemon.not-ready" (fault) "{fault}" stop;
    /// nobody answers on the daemon's socket
    Problem daemon_lost "daemon.lost" (fault) "{fault}" stop;
    /// the daemon is of another version, with another line format
    Problem daemon_other_version "daemon.other-version" (fault) "{fault}" stop;
    /// the daemon cannot be understood
    Problem daemon_garbled "daemon.garbled" (fault) "{fault}" stop;
    /// the daemon ends at once, with these words
    Problem daemon_cannot_start "daemon.cannot-start" (fault) "{fault}" said;
    /// a daemon in another container has the records open
    Problem daemon_elsewhere "daemon.elsewhere" (fault) "{fault}" said;
    /// others could put a socket of theirs there
    Problem daemon_socket_folder "daemon.socket-folder" (fault, command, folder)
        "{fault}" run "{command} {folder}", "makes it yours alone";
    /// the daemon cannot be reached for another reason
    Problem daemon_unreachable "daemon.unreachable" (fault) "{fault}" said;
    Mind daemon_newer "daemon.newer" (daemon, version)
        "{daemon}; this is legwork {version}, and both work together"
        run "legwork update", "says how to update this one";
    /// the daemon is older than this command; both work
    Mind daemon_older "daemon.older" (daemon, version) "{daemon}"
        run "legwork daemon stop",
            "lets this one start, which is legwork {version}; by itself it makes way when nothing \
             is unfinished";
    /// nobody knows where the daemon listens
    Problem socket_unreadable "socket.unknown" (fault) "{fault}" said;
    Mind socket_unknown "socket.unknown" () "the daemon has not written down where it listens"
        run "legwork daemon stop", "if its disk has room: it may be an older legwork";
    Mind socket_moved "socket.moved" (fault, socket)
        "{fault} The daemon listens on {socket} instead"
        words "That does no harm. If XDG_RUNTIME_DIR is another user's, unset it.";
    Mind hosts_none "hosts.none" () "no OpenCode is connected"
        words "Start OpenCode, or restart one that was open before `legwork install opencode`.";

    Problem records_damaged "records.damaged" (store, what)
        "the records in {store} are damaged ({what})"
        run "legwork daemon stop",
            "the next start sets them aside and takes over what can be read; nothing is deleted";
    Problem records_damaged_closed "records.damaged" (store, what, fault)
        "the records in {store} are damaged ({what})"
        words "Their folder cannot be written: {fault}.";
    Problem records_set_aside "records.set-aside" (records, files, words)
        "{records}; earlier records could not be read as a whole: {files}"
        run "rm -f {words}",
            "if nothing is missing. What could be read of them was taken over, and nothing of \
             them is deleted: results that are missing here may be in that file, and the \
             conversations of helpers are kept";
    /// a newer legwork has written the records
    Problem records_newer "records.newer" (fault, store) "{fault}"
        run "mv {store} {store}.newer",
            "or install the newer legwork again. This begins anew, and what is there stays for it";
    Problem records_cannot_be_saved "records.cannot-be-saved" (records)
        "{records}, which cannot be written"
        words "Make room on that disk; it goes on by itself. `legwork daemon log` says more.";
    /// the records cannot be read at the moment
    Problem records_unreadable "records.unreadable" (fault)
        "{fault}" words "`legwork daemon log` may say more.";

    Problem agents_no_default "agents.no-default" (count, name, file)
        "{count} for `legwork run`, and none is called {name}, the default"
        words "Name another one as run.agent in {file}; `legwork agents` shows them.";
    Problem agents_none "agents.none" (has, how)
        "{has}: helpers have nothing to run on" words "{how}";
    Problem agents_set_cannot_start "agents.cannot-start" (agent, wrong, file)
        "{agent} cannot be started: {wrong}"
        words "Correct agents.{agent} in {file}, or take it out; `legwork agents {agent}` tries \
               it.";
    Problem agents_found_cannot_start "agents.cannot-start" (agent, wrong, program, file)
        "{agent} cannot be started: {wrong}"
        words "Put {program} right or remove it, or name another one as run.agent in {file}; \
               `legwork agents {agent}` tries it.";
    Problem agents_own_cannot_start "agents.cannot-start" (agent, wrong)
        "{agent} cannot be started: {wrong}" words "Install legwork again.";

    Problem agents_nobody "agents.nobody-logged-in" (agent, ways)
        "{agent}; nobody is logged in" words "Log in: {ways}.";

    Problem notify_no_program "notify.no-program" (program, file)
        "notify.command: there is no program {program}"
        words "Install it, or name another one in {file}.";
    Problem notify_no_desktop "notify.no-desktop" (program, file)
        "notify.desktop needs {program}, which is not on the PATH"
        words "Install it, or take notify.desktop out of {file}.";

    /// it is not installed in OpenCode; a problem where helpers have no agent but OpenCode
    Problem plugin_missing "plugin.missing" (command)
        "it is not installed in OpenCode" restart "{command}";
    Mind plugin_not_used "plugin.missing" (command)
        "it is not installed in OpenCode"
        run "{command}", "if you want helpers in OpenCode; then restart OpenCode";
    Mind plugin_twice "plugin.twice" (first, other, command)
        "it is installed twice: {first} and {other}" run "{command}", "leaves the other";
    Problem plugin_outdated "plugin.outdated" (file, command)
        "{file} is of another version than this legwork" restart "{command}";
    Mind plugin_newer "plugin.newer" (file, newer, version)
        "{file} is of legwork {newer}, and this is {version}"
        run "legwork update", "says how to update this one; both work";
    Problem plugin_no_program "plugin.no-program" (file, command)
        "{file} names no program" restart "{command}";
    Problem plugin_program_gone "plugin.program-gone" (file, program, command)
        "{file} starts {program}, which is gone" restart "{command}";
    Mind plugin_other_program "plugin.other-program" (file, program, command)
        "{file} starts {program}, not this one" restart "{command}";
    /// the file of the plugin cannot be read
    Problem plugin_unreadable "plugin.unreadable" (fault) "{fault}" said;
    Mind plugin_npm_unpinned "plugin.npm-unpinned" (entry, command)
        "{entry}; without a whole number it never updates it" restart "{command}";
    Mind plugin_project_unpinned "plugin.npm-unpinned" (entry, version)
        "{entry}; without a whole number it never updates it"
        words "Write \"legwork@{version}\" there, for everybody who works on this project, and \
               restart OpenCode.";
    Mind plugin_npm_older "plugin.npm-older" (entry, version, command)
        "{entry}; this is legwork {version}" restart "{command}";
    Mind plugin_project_older "plugin.npm-older" (entry, version)
        "{entry}; this is legwork {version}"
        words "Write \"legwork@{version}\" there, for everybody who works on this project, and \
               restart OpenCode.";
    Mind plugin_npm_newer "plugin.npm-newer" (entry, version) "{entry}; this is legwork {version}"
        run "legwork update", "says how to update this one; both work";

    Problem screen_file_gone "screen.file-gone" (settings, file)
        "{settings} names {file}, which is not there" restart "legwork install opencode";
    Problem screen_not_named "screen.not-named" (file)
        "no tui.json names {file}, so it is not loaded" restart "legwork install opencode";
    Problem screen_outdated "screen.outdated" (file)
        "{file} is of another version than this legwork" restart "legwork install opencode";
    Problem screen_no_program "screen.no-program" (file)
        "{file} names no program" restart "legwork install opencode";
    Problem screen_program_gone "screen.program-gone" (file, program)
        "{file} starts {program}, which is gone" restart "legwork install opencode";
    Mind screen_other_program "screen.other-program" (file, program)
        "{file} starts {program}, not this one" restart "legwork install opencode";
    Problem screen_foreign "screen.foreign" (file)
        "{file} is not legwork's" run "legwork install opencode --force", "overwrites it";
    Problem screen_settings_unclear "screen.settings-unclear" (settings, word)
        "{settings} is not understood"
        words "Correct it, then run `legwork install opencode`; or add {word} to its \"plugin\" \
               list yourself.";
    /// a file of the part for the terminal UI cannot be read
    Problem screen_unreadable "screen.unreadable" (fault) "{fault}" said;

    Mind opencode_missing "opencode.missing" ()
        "it is not on the PATH" words "Install it from opencode.ai, version 1.18 or later.";
    Problem opencode_old "opencode.old" (version)
        "version {version} is too old" words "Install it from opencode.ai, version 1.18 or later.";
    Problem opencode_does_not_start "opencode.does-not-start" (program, how)
        "{program} does not work: {how}"
        words "Install it again from opencode.ai; `opencode --version` must print a version.";
    Problem opencode_ends "opencode.ends" (version, how)
        "version {version} ends at once here: {how}"
        words "Correct OpenCode's settings (opencode.json) until `opencode debug config` prints \
               them.";

    Mind project_gone "project.gone" ()
        "the folder that this is run in is gone" words "Change to another one.";
    Mind project_git_missing "project.git-missing" ()
        "git is not on the PATH, so OpenCode knows no projects" words "Install git.";
    Mind project_no_repository "project.no-repository" (folder)
        "{folder} is in no git repository: windows in other folders do not share its tasks"
        run "git init", "makes a project of it, once it has a commit";

    Problem client_program_gone "client.program-gone" (file, program, command, client)
        "{file} starts {program}, which is gone" run "{command}", "then restart {client}";
    Mind client_other_program "client.other-program" (file, program, command, client)
        "{file} starts {program}, not this one" run "{command}", "then restart {client}";
    Problem client_silent "client.silent" (file, program, why, command, client)
        "{file} starts {program}, but {why}" run "{command}", "then restart {client}";
    Problem client_of_this_silent "client.silent" (file, program, why, program_word)
        "{file} starts {program}, but {why}"
        words "Try `{program_word} mcp --help`; `legwork update` says how to update it.";
    Problem client_not_legwork "client.not-legwork" (file, program, name, command, client)
        "{file} starts {program}, which is {name}" run "{command}", "then restart {client}";
    Mind client_older "client.older" (file, older, version, command, client)
        "{file} starts legwork {older}, and this is {version}"
        run "{command}", "then restart {client}";
    Mind client_incomplete "client.incomplete" (file, command, client)
        "{file} lacks what shows {client} results by itself"
        run "{command}", "then restart {client}";
    Problem client_refused "client.refused" (file, how)
        "{file} is not used: this project's server was refused in Claude Code" words "{how}";
    Problem client_foreign "client.foreign" (file, command)
        "{file} has something else of the name legwork" run "{command} --force", "replaces it";
    Problem client_unclear "client.unclear" (file, command) "{file} is not understood"
        words "Correct it, then run `{command}`, which says what to add if it still cannot.";
    /// a client's file cannot be read
    Problem client_unreadable "client.unreadable" (fault) "{fault}" said;

    Problem check_slow "check.slow" (doing, seconds) "{doing}: not done within {seconds} s"
        words "A disk or a program there does not answer. Try again when it does.";
    Problem check_failed "check.failed" (doing)
        "{doing}: the check itself failed" words "Please report this.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs;
    use crate::plugin::on_path_as;

    const HEAD: &str = "\
# `legwork doctor`

Each check looks at one subject, within a bounded time. `--json` prints a list of findings; the exit
code is 1 if one of them is a problem.

| key | |
|---|---|
| `check` | the subject |
| `code` | what was found; `ok` if nothing is wrong. Codes stay the same from version to version |
| `state` | `good`, `mind` (it works, and you may want to know) or `problem` |
| `says` | the same for people |
| `remedy`, `command` | what to do in words, and the command that does it if there is one |

| code | state | what is so | what to do |
|---|---|---|---|
";

    fn remedy(finding: &Finding) -> String {
        let remedy = finding.remedy.as_ref().map(ToString::to_string).unwrap_or_default();
        if remedy.contains(char::is_lowercase) {
            return remedy.replacen(&on_path_as(), "legwork", 1);
        }
        "the finding says it".to_owned()
    }

    #[test]
    fn p7_every_code_is_on_its_page_of_docs() {
        let mut page = HEAD.to_owned();
        for rows in examples().chunk_by(|(_, a), (_, b)| a.code == b.code) {
            let (means, Finding { code, says, .. }) = &rows[0];
            let means = if means.is_empty() { says } else { means.trim() };
            let state = |(_, finding): &(_, Finding)| format!("{:?}", finding.state).to_lowercase();
            let mut states: Vec<String> = rows.iter().map(state).collect();
            states.dedup();
            let state = states.join(" or ");
            let mut ways: Vec<String> = rows.iter().map(|(_, finding)| remedy(finding)).collect();
            ways.dedup();
            page.push_str(&format!("| `{code}` | {state} | {means} | {} |\n", ways.join("; or: ")));
        }
        docs::check("doctor.md", &page);
    }
}
