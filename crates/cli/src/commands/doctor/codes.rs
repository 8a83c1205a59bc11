//! The codes of `legwork doctor`, a row each: whether it is a problem, what the page says of it,
//! the facts that a check gives, the sentence, and what to do. `docs/doctor.md` is made of these
//! rows. A row is a function from facts to a finding. A code whose remedy depends on the case has
//! several rows; the first of them says what it means.
//!
//! `run` names a command and what it does, `words` says what to do; with `said` the sentence itself
//! says it.

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

        /// The rows as `docs/doctor.md` shows them.
        #[cfg(test)]
        pub const CODES: &[Row] = &[$(Row {
            code: $code,
            state: State::$state,
            means: concat!("" $(, $means)?),
            remedy: &[$($text),*],
        }),*];
    };
}

macro_rules! remedy {
    (run $command:literal, $says:literal) => {
        Some(Remedy::run(format!($command), format!($says)))
    };
    (words $says:literal) => {
        Some(Remedy::words(format!($says)))
    };
    (said) => {
        None
    };
}

#[cfg(test)]
pub struct Row {
    pub code: &'static str,
    pub state: State,
    /// Empty in the second row of a code.
    pub means: &'static str,
    /// The words, or a command and what it does.
    pub remedy: &'static [&'static str],
}

codes! {
    /// this legwork goes with the next `cargo clean`
    Mind program_in_build_folder "program.in-build-folder" (version, binary)
        "legwork {version} at {binary}"
        run "cargo install --locked --path crates/cli",
            "it is in a build folder, which goes with the next `cargo clean`";
    /// another legwork of this version is on the PATH
    Mind program_several "program.several" (other, version, other_word)
        "there is another one on the PATH: {other} ({version})"
        run "rm {other_word}",
            "if it is left over from an earlier installation; a package manager removes its own";
    /// a legwork of another version is on the PATH
    Problem program_other_version "program.other-version" (other, version, other_word)
        "there is another one on the PATH: {other} ({version})"
        run "rm {other_word}",
            "if it is left over from an earlier installation; a package manager removes its own";
    /// the file of this program cannot be found
    Problem program_unknown "program.unknown" (fault) "{fault}" said;

    /// processes may open too few files for many helpers
    Mind files_few "files.few" (most, least)
        "processes here may have {most} files open, too few for many helpers"
        run "ulimit -Hn {least}", "as root, before the shell";

    /// `config.toml` says something that means nothing
    Problem settings_wrong "settings.wrong" (mistakes, file) "{mistakes}"
        words "Correct these lines of {file}. Until then the defaults are used for these settings.";

    /// there is no home
    Problem folders_unknown "folders.unknown" (fault) "{fault}" said;
    /// legwork's folders belong to another user
    Problem folders_foreign "folders.foreign" (fault, user, path) "{fault}"
        run "sudo chown -R {user} {path}", "makes it yours";
    Problem folders_of_a_user "folders.foreign" (fault) "{fault}"
        words "Run legwork as the user whose folders these are.";
    /// a folder where a file belongs, or the other way round
    Problem folders_wrong_kind "folders.wrong-kind" (path, wanted, path_word)
        "{path} is not {wanted}, so the daemon cannot start"
        run "mv {path_word} {path_word}.away", "legwork makes its own";
    /// you may not write there
    Problem folders_closed "folders.closed" (path, rights, path_word)
        "{path} cannot be written, so the daemon cannot start"
        run "chmod u+{rights} {path_word}", "opens it for you";
    /// others may write there
    Problem folders_writable_by_others "folders.writable-by-others" (path, path_word)
        "{path} can be changed by other users"
        run "chmod go-w {path_word}", "makes it yours alone";
    /// others may read there
    Problem folders_readable_by_others "folders.readable-by-others" (path, path_word)
        "{path} can be read by other users"
        run "chmod -R go-rwx {path_word}", "makes it yours alone";

    /// there is no room
    Problem disk_full "disk.full" (folder, left, folder_word)
        "the disk of {folder} is full ({left} left)"
        words "Make room there (`df -h {folder_word}` shows the disk); legwork goes on by itself, \
               and nothing is lost meanwhile.";
    /// nothing can be written
    Problem disk_unwritable "disk.unwritable" (folder, why, folder_word)
        "nothing can be written to {folder} ({why})"
        words "Make room there (`df -h {folder_word}` shows the disk); legwork goes on by itself, \
               and nothing is lost meanwhile.";
    /// there is little room
    Mind disk_scarce "disk.scarce" (left) "{left} left, which is little"
        run "legwork clear --finished", "forgets what is done with";

    /// the daemon was stopped by a signal
    Problem daemon_suspended "daemon.suspended" (fault, pid) "{fault}"
        run "kill -CONT {pid}", "lets it go on";
    /// the daemon hangs
    Problem daemon_silent "daemon.silent" (fault) "{fault}"
        run "legwork daemon stop", "ends it; the next command starts another";
    /// the daemon has begun and does not come to an end of it
    Problem daemon_not_ready "daemon.not-ready" (fault) "{fault}"
        run "legwork daemon stop", "ends it; the next command starts another";
    /// nobody answers on the daemon's socket
    Problem daemon_lost "daemon.lost" (fault) "{fault}"
        run "legwork daemon stop", "ends it; the next command starts another";
    /// the daemon is of another version, with another line format
    Problem daemon_other_version "daemon.other-version" (fault) "{fault}"
        run "legwork daemon stop", "ends it; the next command starts another";
    /// the daemon cannot be understood
    Problem daemon_garbled "daemon.garbled" (fault) "{fault}"
        run "legwork daemon stop", "ends it; the next command starts another";
    /// the daemon ends at once, with these words
    Problem daemon_cannot_start "daemon.cannot-start" (fault) "{fault}" said;
    /// a daemon in another container has the records open
    Problem daemon_elsewhere "daemon.elsewhere" (fault) "{fault}" said;
    /// others could put a socket of theirs there
    Problem daemon_socket_folder "daemon.socket-folder" (fault, command, folder) "{fault}"
        run "{command} {folder}", "makes it yours alone";
    /// the daemon cannot be reached for another reason
    Problem daemon_unreachable "daemon.unreachable" (fault) "{fault}" said;
    /// the daemon is newer than this command; both work
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
    /// the daemon listens elsewhere than usual
    Mind socket_moved "socket.moved" (fault, socket)
        "{fault} The daemon listens on {socket} instead"
        words "That does no harm. If XDG_RUNTIME_DIR is another user's, unset it.";
    /// no OpenCode is connected
    Mind hosts_none "hosts.none" () "no OpenCode is connected"
        words "Start OpenCode, or restart one that was open before `legwork install opencode`.";

    /// a page cannot be read; the next start sets the file aside
    Problem records_damaged "records.damaged" (store, what)
        "the records in {store} are damaged ({what})"
        run "legwork daemon stop",
            "the next start sets them aside and takes over what can be read; nothing is deleted";
    Problem records_damaged_closed "records.damaged" (store, what, fault)
        "the records in {store} are damaged ({what})"
        words "Their folder cannot be written: {fault}.";
    /// earlier records could not be read as a whole and lie beside
    Problem records_set_aside "records.set-aside" (records, files, words)
        "{records}; earlier records could not be read as a whole: {files}"
        run "rm -f {words}",
            "if nothing is missing. What could be read of them was taken over, and nothing of them \
             is deleted: results that are missing here may be in that file, and the conversations \
             of helpers are kept";
    /// a newer legwork has written the records
    Problem records_newer "records.newer" (fault, store) "{fault}"
        run "mv {store} {store}.newer",
            "or install the newer legwork again. This begins anew, and what is there stays for it";
    /// the records cannot be written at the moment
    Problem records_cannot_be_saved "records.cannot-be-saved" (records)
        "{records}, which cannot be written"
        words "Make room on that disk; it goes on by itself. `legwork daemon log` says more.";
    /// the records cannot be read at the moment
    Problem records_unreadable "records.unreadable" (fault) "{fault}"
        words "`legwork daemon log` may say more.";

    /// `run.agent` names none
    Problem agents_no_default "agents.no-default" (count, name, file)
        "{count} for `legwork run`, and none is called {name}, the default"
        words "Name another one as run.agent in {file}; `legwork agents` shows them.";
    /// a client has legwork, and there is no agent that helpers could run on
    Problem agents_none_but_npm "agents.none" (has, command, agent)
        "{has}: helpers have nothing to run on"
        run "{command}", "then helpers can run on {agent}";
    Problem agents_none_yet "agents.none" (has, how, agent)
        "{has}: helpers have nothing to run on"
        words "Run {how}; then helpers can run on {agent}.";
    Problem agents_none "agents.none" (has, how)
        "{has}: helpers have nothing to run on" words "{how}";
    /// an agent does not start; only to be minded if nobody has chosen it
    Problem agents_set_cannot_start "agents.cannot-start" (agent, wrong, file)
        "{agent} cannot be started: {wrong}"
        words "Correct agents.{agent} in {file}, or take it out; `legwork agents {agent}` tries it.";
    Problem agents_found_cannot_start "agents.cannot-start" (agent, wrong, program, file)
        "{agent} cannot be started: {wrong}"
        words "Put {program} right or remove it, or name another one as run.agent in {file}; \
               `legwork agents {agent}` tries it.";
    Problem agents_own_cannot_start "agents.cannot-start" (agent, wrong)
        "{agent} cannot be started: {wrong}" words "Install legwork again.";

    /// the program that shall notify is not there
    Problem notify_no_program "notify.no-program" (program, file)
        "notify.command: there is no program {program}"
        words "Install it, or name another one in {file}.";
    /// the program that notifies on this desktop is not there
    Problem notify_no_desktop "notify.no-desktop" (program, file)
        "notify.desktop needs {program}, which is not on the PATH"
        words "Install it, or take notify.desktop out of {file}.";

    /// OpenCode has no plugin
    Problem plugin_missing "plugin.missing" (command) "it is not installed in OpenCode"
        run "{command}", "then restart OpenCode";
    /// OpenCode has two plugins (a file and an npm entry among them)
    Mind plugin_twice "plugin.twice" (first, other, command)
        "it is installed twice: {first} and {other}"
        run "{command}", "leaves the other";
    /// the plugin is of another version
    Problem plugin_outdated "plugin.outdated" (file, command)
        "{file} is of another version than this legwork"
        run "{command}", "then restart OpenCode";
    /// the plugin is of a newer legwork
    Mind plugin_newer "plugin.newer" (file, newer, version)
        "{file} is of legwork {newer}, and this is {version}"
        run "legwork update", "says how to update this one; both work";
    /// the plugin names no program
    Problem plugin_no_program "plugin.no-program" (file, command) "{file} names no program"
        run "{command}", "then restart OpenCode";
    /// the plugin starts a program that is gone
    Problem plugin_program_gone "plugin.program-gone" (file, program, command)
        "{file} starts {program}, which is gone"
        run "{command}", "then restart OpenCode";
    /// the plugin starts another legwork
    Mind plugin_other_program "plugin.other-program" (file, program, command)
        "{file} starts {program}, not this one"
        run "{command}", "then restart OpenCode";
    /// the file of the plugin cannot be read
    Problem plugin_unreadable "plugin.unreadable" (fault) "{fault}" said;
    /// an npm entry names no version, so OpenCode never updates it
    Mind plugin_npm_unpinned "plugin.npm-unpinned" (entry, command)
        "{entry}; without a whole number it never updates it"
        run "{command}", "then restart OpenCode";
    Mind plugin_project_unpinned "plugin.npm-unpinned" (entry, version)
        "{entry}; without a whole number it never updates it"
        words "Write \"legwork@{version}\" there, for everybody who works on this project, and \
               restart OpenCode.";
    /// an npm entry names an older version
    Mind plugin_npm_older "plugin.npm-older" (entry, version, command)
        "{entry}; this is legwork {version}"
        run "{command}", "then restart OpenCode";
    Mind plugin_project_older "plugin.npm-older" (entry, version)
        "{entry}; this is legwork {version}"
        words "Write \"legwork@{version}\" there, for everybody who works on this project, and \
               restart OpenCode.";
    /// an npm entry names a newer version
    Mind plugin_npm_newer "plugin.npm-newer" (entry, version)
        "{entry}; this is legwork {version}"
        run "legwork update", "says how to update this one; both work";

    /// `tui.json` names the part for OpenCode's terminal UI, which is missing
    Problem screen_file_gone "screen.file-gone" (settings, file)
        "{settings} names {file}, which is not there"
        run "legwork install opencode", "then restart OpenCode";
    /// no `tui.json` names the part for the terminal UI
    Problem screen_not_named "screen.not-named" (file)
        "no tui.json names {file}, so it is not loaded"
        run "legwork install opencode", "then restart OpenCode";
    /// the part for the terminal UI is of another version
    Problem screen_outdated "screen.outdated" (file)
        "{file} is of another version than this legwork"
        run "legwork install opencode", "then restart OpenCode";
    /// the part for the terminal UI names no program
    Problem screen_no_program "screen.no-program" (file) "{file} names no program"
        run "legwork install opencode", "then restart OpenCode";
    /// the part for the terminal UI starts a program that is gone
    Problem screen_program_gone "screen.program-gone" (file, program)
        "{file} starts {program}, which is gone"
        run "legwork install opencode", "then restart OpenCode";
    /// the part for the terminal UI starts another legwork
    Mind screen_other_program "screen.other-program" (file, program)
        "{file} starts {program}, not this one"
        run "legwork install opencode", "then restart OpenCode";
    /// a file of somebody else is in the place of the part for the terminal UI
    Problem screen_foreign "screen.foreign" (file) "{file} is not legwork's"
        run "legwork install opencode --force", "overwrites it";
    /// `tui.json` cannot be understood
    Problem screen_settings_unclear "screen.settings-unclear" (settings, word)
        "{settings} is not understood"
        words "Correct it, then run `legwork install opencode`; or add {word} to its \"plugin\" \
               list yourself.";
    /// a file of the part for the terminal UI cannot be read
    Problem screen_unreadable "screen.unreadable" (fault) "{fault}" said;

    /// OpenCode is not on the PATH
    Mind opencode_missing "opencode.missing" () "it is not on the PATH"
        words "Install it from opencode.ai, version 1.18 or later.";
    /// OpenCode is too old
    Problem opencode_old "opencode.old" (version) "version {version} is too old"
        words "Install it from opencode.ai, version 1.18 or later.";
    /// `opencode --version` fails
    Problem opencode_does_not_start "opencode.does-not-start" (program, how)
        "{program} does not work: {how}"
        words "Install it again from opencode.ai; `opencode --version` must print a version.";
    /// OpenCode cannot read its own settings, and ends at once
    Problem opencode_ends "opencode.ends" (version, how)
        "version {version} ends at once here: {how}"
        words "Correct OpenCode's settings (opencode.json) until `opencode debug config` prints \
               them.";

    /// the folder that this is run in is gone
    Mind project_gone "project.gone" () "the folder that this is run in is gone"
        words "Change to another one.";
    /// there is no git, so OpenCode knows no projects
    Mind project_git_missing "project.git-missing" ()
        "git is not on the PATH, so OpenCode knows no projects" words "Install git.";
    /// the folder is in no git repository, so OpenCode knows no project here
    Mind project_no_repository "project.no-repository" (folder)
        "{folder} is in no git repository: windows in other folders do not share its tasks"
        run "git init", "makes a project of it, once it has a commit";

    /// what a client starts is gone
    Problem client_program_gone "client.program-gone" (file, program, command, client)
        "{file} starts {program}, which is gone"
        run "{command}", "then restart {client}";
    /// a project starts another program, which is not tried
    Mind client_other_program "client.other-program" (file, program, command, client)
        "{file} starts {program}, not this one"
        run "{command}", "then restart {client}";
    /// what a client starts does not answer
    Problem client_silent "client.silent" (file, program, why, command, client)
        "{file} starts {program}, but {why}"
        run "{command}", "then restart {client}";
    Problem client_of_this_silent "client.silent" (file, program, why, program_word)
        "{file} starts {program}, but {why}"
        words "Try `{program_word} mcp --help`; `legwork update` says how to update it.";
    /// something else answers
    Problem client_not_legwork "client.not-legwork" (file, program, name, command, client)
        "{file} starts {program}, which is {name}"
        run "{command}", "then restart {client}";
    /// an older legwork answers
    Mind client_older "client.older" (file, older, version, command, client)
        "{file} starts legwork {older}, and this is {version}"
        run "{command}", "then restart {client}";
    /// the hooks of an entry are missing
    Mind client_incomplete "client.incomplete" (file, command, client)
        "{file} lacks what shows {client} results by itself"
        run "{command}", "then restart {client}";
    /// Claude Code was told not to use the server of this project
    Problem client_refused "client.refused" (file, how)
        "{file} is not used: this project's server was refused in Claude Code" words "{how}";
    /// a client's file has something else of the name
    Problem client_foreign "client.foreign" (file, command)
        "{file} has something else of the name legwork"
        run "{command} --force", "replaces it";
    /// a client's file is not understood
    Problem client_unclear "client.unclear" (file, command) "{file} is not understood"
        words "Correct it, then run `{command}`, which says what to add if it still cannot.";
    /// a client's file cannot be read
    Problem client_unreadable "client.unreadable" (fault) "{fault}" said;

    /// the check did not come to an end in time
    Problem check_slow "check.slow" (doing, seconds) "{doing}: not done within {seconds} s"
        words "A disk or a program there does not answer. Try again when it does.";
    /// the check itself failed
    Problem check_failed "check.failed" (doing) "{doing}: the check itself failed"
        words "Please report this.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs;

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

    /// A text with the names of its facts in capitals.
    fn shown(text: &str) -> String {
        let mut pieces = text.replace("_word}", "}");
        while let Some((start, end)) = pieces.find('{').zip(pieces.find('}')) {
            let name = pieces[start + 1..end].to_uppercase();
            pieces.replace_range(start..=end, &name);
        }
        pieces
    }

    fn remedy(row: &Row) -> String {
        match row.remedy {
            [] => "the finding says it".to_owned(),
            [only] if only.starts_with('{') && only.ends_with('}') => "the finding says it".into(),
            [words] => shown(words),
            [command, says, ..] => format!("`{}`: {}", shown(command), shown(says)),
        }
    }

    #[test]
    fn p7_every_code_is_on_its_page_of_docs() {
        let mut page = HEAD.to_owned();
        for rows in CODES.chunk_by(|a, b| a.code == b.code) {
            let Row { code, state, means, .. } = &rows[0];
            let mut ways: Vec<String> = rows.iter().map(remedy).collect();
            ways.dedup();
            let state = format!("{state:?}").to_lowercase();
            let ways = ways.join(" Or: ");
            page.push_str(&format!("| `{code}` | {state} | {} | {ways} |\n", means.trim()));
        }
        docs::check("doctor.md", &page);
    }
}
