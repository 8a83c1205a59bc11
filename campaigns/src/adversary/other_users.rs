//! Another user of the same machine: connects, and plants folders and sockets where legwork looks.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::report::{Attack, Kind, Report, Trial};
use super::socket;
use crate::fault::{Done, Fault};
use crate::files;
use crate::progress::{note, say};
use crate::terminal::Terminal;

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "other-users",
    does: "another user connects, reads, and plants sockets and folders where legwork looks",
    holds: "the other is refused; nobody speaks to planted sockets; files are the user's alone",
    run: attack,
};

/// Everybody has one.
const NOBODY: u32 = 65_534;

/// Say one line to a socket and print what comes back (for `adversary`)
#[derive(Args)]
pub struct Knock {
    socket: PathBuf,
    line: String,
}

impl Knock {
    /// Knocks.
    pub fn run(self) -> Done<()> {
        socket::answer(&self.socket, &self.line).map(say)
    }
}

fn attack(_: &Trial, report: &mut Report) -> Done<()> {
    if !rustix::process::getuid().is_root() {
        report.skip("it needs root to be another user");
        return Ok(());
    }
    if !Command::new("setpriv").arg("--version").output().is_ok_and(|it| it.status.success()) {
        report.skip("there is no setpriv");
        return Ok(());
    }
    visits(report)?;
    for way in [Plant::Folder, Plant::Link] {
        planted(way, report)?;
    }
    Ok(())
}

/// The other user finds everything open that legwork has not closed itself.
fn visits(report: &mut Report) -> Done<()> {
    note("another user connects and reads");
    let terminal = Terminal::open("")?;
    let own = terminal.own_folder();
    // Whoever starts the daemon may be careless.
    let daemon = terminal.start_with(|command| careless(&command))?;
    terminal.run(&["run", "--agent", "rehearsal", "say private"])?;
    report.tasks += 1;
    for path in files::all(&own).iter().filter(|path| !path.ends_with("config.toml")) {
        let mode = fs::metadata(path).map_or(0, |found| found.mode() & 0o777);
        report.rounds += 1;
        report.expect(mode & 0o077 == 0, Kind::Wrong, || {
            format!("{} has the mode {mode:o}", path.display())
        });
    }
    let path = socket::of(daemon)?;
    let hello = socket::hello(&path)?;
    let tools = Tools::new(&terminal)?;
    open_up(terminal.home.root(), 0o755)?;
    report.rounds += 2;
    let listed = tools.nobody("legwork", &["list", "--json"], &own)?;
    report.expect(!listed.0, Kind::Wrong, || format!("another user lists the tasks: {}", listed.1));
    // Even if somebody has opened the folder and the socket.
    open_up(&own, 0o755)?;
    open_up(&path, 0o666)?;
    let knocked = tools.nobody("campaigns", &["knock", &path.to_string_lossy(), &hello], &own)?;
    note(format!("it was told: {}", knocked.1.trim()));
    let greeted = knocked.0 && knocked.1.contains("\"hello\"");
    report.expect(!greeted, Kind::Wrong, || "another user is greeted by the daemon".to_owned());
    open_up(&own, 0o700)?;
    report.daemons(&terminal);
    Ok(())
}

/// What is planted.
#[derive(Debug, Clone, Copy)]
enum Plant {
    /// A folder of the name that legwork would give its own.
    Folder,
    /// A link of that name to a folder of another user.
    Link,
}

/// Commands do not speak to a socket that somebody else has put there.
fn planted(way: Plant, report: &mut Report) -> Done<()> {
    note(format!("another user has planted: {way:?}"));
    let terminal = Terminal::open("")?;
    let fault = |why: std::io::Error| Fault::trying("planting", why);
    let shared = terminal.home.root().join("shared");
    fs::create_dir(&shared).map_err(fault)?;
    open_up(&shared, 0o1777)?;
    let name = shared.join(format!("legwork-{}", rustix::process::getuid().as_raw()));
    let folder = if matches!(way, Plant::Link) { shared.join("elsewhere") } else { name.clone() };
    fs::create_dir(&folder).map_err(fault)?;
    if folder != name {
        symlink(&folder, &name).map_err(fault)?;
    }
    let listener = UnixListener::bind(folder.join("legwork.sock")).map_err(fault)?;
    listener.set_nonblocking(true).map_err(fault)?;
    open_up(&folder, 0o777)?;
    open_up(&folder.join("legwork.sock"), 0o666)?;
    for path in [folder.join("legwork.sock"), folder] {
        chown(&path, Some(NOBODY), Some(NOBODY)).map_err(fault)?;
    }
    terminal.home.set_env("LEGWORK_HOME", "");
    terminal.home.set_env("XDG_RUNTIME_DIR", "");
    terminal.home.set_env("TMPDIR", &shared.to_string_lossy());
    for args in [&["list", "--json"][..], &["run", "--agent", "rehearsal", "say x"]] {
        report.rounds += 1;
        let ran = terminal.run(args)?;
        report.expect(listener.accept().is_err(), Kind::Wrong, || {
            format!("{way:?}: `legwork {}` spoke to it: {}", args.join(" "), ran.said())
        });
        // It may find another way, or say what is in its way.
        report.expect(ran.is_done() || !ran.err.trim().is_empty(), Kind::Wrong, || {
            format!("{way:?}: it failed without a word: {}", ran.said())
        });
    }
    Ok(())
}

fn open_up(path: &Path, mode: u32) -> Done<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|why| Fault::trying(format!("changing {}", path.display()), why))
}

/// The same command with a mask that hides nothing.
fn careless(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0; exec \"$@\"", "careless"]).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// Copies of the programs that everybody may run; a build folder may be closed to others.
struct Tools(PathBuf);

impl Tools {
    fn new(terminal: &Terminal) -> Done<Self> {
        let fault = |why: std::io::Error| Fault::trying("copying programs", why);
        let folder = terminal.home.root().join("bin");
        fs::create_dir(&folder).map_err(fault)?;
        let own = std::env::current_exe().map_err(fault)?;
        for (name, program) in [("legwork", terminal.legwork.path()), ("campaigns", &*own)] {
            fs::copy(program, folder.join(name)).map_err(fault)?;
            open_up(&folder.join(name), 0o755)?;
        }
        open_up(&folder, 0o755)?;
        Ok(Self(folder))
    }

    /// Runs one as nobody; whether it was done, and what it printed.
    fn nobody(&self, name: &str, args: &[&str], own: &Path) -> Done<(bool, String)> {
        let id = NOBODY.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]);
        command.arg(self.0.join(name)).args(args).current_dir("/").env("LEGWORK_HOME", own);
        let output = crate::legwork::finish(command).map_err(Fault::new)?;
        let text = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
    }
}
