//! Removing everything that legwork keeps. What is removed is listed first, with its size. The
//! store's lock is held meanwhile, so that no daemon begins to write what is being removed.
//!
//! In the folders that legwork keeps, only files that bear its names are removed: a person may have
//! linked such a folder to one of their own, or put things beside the records.

mod ours;

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use legwork_client::{Client, Fault as ClientFault, Holder, Start, holder};
use legwork_machine::{Folders, STORE_LOCK, if_there};
use legwork_protocol::api::{Ask, List, Request};
use legwork_protocol::limits::LIST_MAX_TASKS;
use legwork_protocol::line::HostLifetime;
use legwork_protocol::view::{DaemonView, HostView};

use self::ours::{Contents, Kind};
use crate::asking::{get, list, reach};
use crate::fault::Fault;
use crate::screen::harmless;
use crate::words::{counted, size};

/// Things of the person's that are named of one folder.
const NAMED: usize = 5;
/// Daemons that are ended before whatever starts them is to be closed by the person.
const ENDS_MAX: usize = 20;

/// A file or folder of legwork's.
#[derive(Debug)]
pub struct Item {
    what: &'static str,
    pub path: PathBuf,
    pub bytes: u64,
    /// Where it is, if it is a link of the person's.
    behind: Option<PathBuf>,
    contents: Contents,
}

pub struct Plan {
    folders: Folders,
    items: Vec<Item>,
    tasks: Option<usize>,
    client: Option<Client>,
}

impl Plan {
    /// Finds what there is to remove. Refuses while somebody works with it, unless told not to.
    pub fn new(force: bool) -> Result<Self, Fault> {
        let folders = Folders::from_env()?;
        legwork_machine::check_owner(&folders)?;
        if !force && legwork_views::page::is_running(&folders) {
            return Err(Fault::Refused(
                "The page is open (`legwork ui`) and would start the daemon again. End it first, \
                 with Ctrl-C where it runs, or give --force. Nothing was removed."
                    .to_owned(),
            ));
        }
        let (mut client, mut tasks) = (None, None);
        match reach(&folders, Start::Never) {
            Err(ClientFault::NotRunning) => {}
            // It is ended by its record.
            Err(_) if force => {}
            Err(fault) => return Err(fault.into()),
            Ok(mut found) => {
                let view: DaemonView = get(&mut found, Request::Status)?;
                if !force {
                    check_idle(&view)?;
                }
                (client, tasks) = (Some(found), Some(view.tasks));
            }
        }
        let items = items(&folders);
        Ok(Self { folders, items, tasks, client })
    }

    /// What would be removed, for a person to read.
    pub fn shown(&self, plugin: &[PathBuf]) -> Vec<String> {
        let mut shown = vec!["This removes for good:".to_owned()];
        shown.extend(lines(&self.items, plugin));
        shown.extend(left(&self.items));
        if let Some(tasks) = self.tasks {
            shown.push(format!("The records hold {}.", counted(tasks, "task")));
        }
        shown
    }

    /// Ends the daemon and removes everything. Gives back what was removed.
    pub fn carry_out(mut self) -> Result<Vec<Item>, Fault> {
        if let Some(mut client) = self.client.take() {
            call_off(&mut client)?;
            client.leave()?;
        }
        let _lock = keep_out_daemons(&self.folders.store)?;
        // The daemon may have written until its end.
        let items = items(&self.folders);
        for item in &items {
            item.remove()?;
            // Fails if anything else is in the folder, and that is right.
            let _ = item.path.parent().map(fs::remove_dir);
        }
        Ok(items)
    }
}

impl Item {
    /// Finds what there is of ours at a path. A single file behind a link of the person's may be
    /// one of theirs, so it is not ours.
    fn find(what: &'static str, kind: Option<Kind>, path: PathBuf) -> Option<Self> {
        let found = fs::symlink_metadata(&path).ok()?;
        let behind = found.is_symlink().then(|| fs::canonicalize(&path)).transpose().ok()?;
        let real = behind.as_ref().unwrap_or(&path);
        let contents = match kind {
            Some(kind) if real.is_dir() => Contents::of(real, kind),
            None if behind.is_none() && !real.is_dir() => {
                Contents { files: vec![path.clone()], ..Contents::default() }
            }
            _ => Contents::default(),
        };
        let weigh = |file: &PathBuf| fs::symlink_metadata(file).map_or(0, |found| found.len());
        let bytes = contents.files.iter().map(weigh).sum();
        Some(Self { what, path, bytes, behind, contents })
    }

    /// Whether nothing of it is removed.
    fn is_kept(&self) -> bool {
        self.contents.files.is_empty() && self.contents.folders.is_empty()
    }

    fn remove(&self) -> Result<(), Fault> {
        for file in &self.contents.files {
            if_there(fs::remove_file(file)).map_err(Fault::file("remove", file))?;
        }
        let folders = self.contents.folders.iter();
        for folder in folders.filter(|folder| self.behind.as_ref() != Some(folder)) {
            // Fails if something of the person's is in it, and that is right.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// A sentence for each thing that stays.
    fn left(&self) -> Vec<String> {
        let link = |path: &Path, real: &Path, stays| {
            format!("{} is a link of yours to {}. {stays}", path.display(), real.display())
        };
        let own = match (&self.behind, self.is_kept()) {
            (Some(real), true) => Some(link(&self.path, real, "Both stay.")),
            (Some(real), false) => Some(link(&self.path, real, "The link stays.")),
            (None, true) => Some(format!("{} is not legwork's, and stays.", self.path.display())),
            (None, false) => None,
        };
        let inner = self.contents.links.iter().map(|(path, real)| link(path, real, "Both stay."));
        let foreign = self.contents.foreign.iter().map(|(folder, names)| {
            let more = if names.len() > NAMED { ", …" } else { "" };
            let some = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let some = harmless(&some);
            format!("{} holds what is not legwork's, which stays: {some}{more}", folder.display())
        });
        own.into_iter().chain(inner).chain(foreign).collect()
    }
}

fn check_idle(view: &DaemonView) -> Result<(), Fault> {
    if view.unfinished > 0 {
        return Err(Fault::Refused(format!(
            "{} not finished (`legwork list`). Wait, or cancel them with --force. Nothing was \
             removed.",
            if view.unfinished == 1 {
                "1 task is".to_owned()
            } else {
                format!("{} are", counted(view.unfinished, "task"))
            }
        )));
    }
    let has_window = |host: &&HostView| host.lifetime != HostLifetime::Headless;
    if let Some(host) = view.hosts.iter().find(has_window) {
        return Err(Fault::Refused(format!(
            "{} is open with legwork in it ({}) and would start the daemon again. Close it first, \
             or give --force. Nothing was removed.",
            host.kind, host.host
        )));
    }
    if !view.hosts.is_empty() {
        return Err(Fault::Refused(
            "An OpenCode without a window, which legwork started, is about to end. Try again in \
             half a minute, or give --force. Nothing was removed."
                .to_owned(),
        ));
    }
    Ok(())
}

/// Forgets all tasks, so that those at work are stopped in their hosts too.
fn call_off(client: &mut Client) -> Result<(), Fault> {
    let tasks = list(client, List::default(), usize::MAX)?.tasks;
    let ids: Vec<String> = tasks.iter().map(|task| task.id.to_string()).collect();
    for some in ids.chunks(LIST_MAX_TASKS) {
        // What cannot be forgotten is removed all the same.
        let _ = client
            .request::<legwork_protocol::api::Answer>(Ask::Forget { tasks: some.to_vec() })?;
    }
    Ok(())
}

/// Ends the daemon, if there is one, and takes the lock of its store. A `legwork top` that is open
/// may start another daemon before the lock is taken.
fn keep_out_daemons(store: &Path) -> Result<Option<File>, Fault> {
    let mut ends_left = ENDS_MAX;
    loop {
        if let Holder::Daemon(Some(record)) = holder(store)? {
            record.end(store)?;
        }
        match lock(store) {
            Err(_) if ends_left > 0 => ends_left -= 1,
            lock => return lock,
        }
    }
}

/// The lock of the store, if there is one: whoever has it keeps every daemon out.
fn lock(store: &Path) -> Result<Option<File>, Fault> {
    let path = store.join(STORE_LOCK);
    let Some(file) = if_there(File::open(&path)).map_err(Fault::file("open", &path))? else {
        return Ok(None);
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(_) => Err(Fault::Refused(
            "A daemon was started again meanwhile: by an OpenCode, a client, or a `legwork top`, \
             `watch` or `ui` that is open. Close it, then try again. The plugin is removed, the \
             rest is not."
                .to_owned(),
        )),
    }
}

fn items(folders: &Folders) -> Vec<Item> {
    let Folders { config, store, sessions, socket, log } = folders;
    let mut all = vec![
        ("records", Some(Kind::Records), store.clone()),
        ("conversations", Some(Kind::Sessions), sessions.clone()),
        ("settings", None, config.clone()),
        ("log", None, log.clone()),
        ("log", None, folders.headless_log()),
    ];
    let pages = legwork_views::page::left_behind(folders).into_iter();
    all.extend(pages.filter(|path| !path.starts_with(store)).map(|path| ("page", None, path)));
    let old_log = |number| ("old log", None, log.with_extension(format!("log.{number}")));
    all.extend((1..=9).map(old_log));
    // One that somebody listens on is another daemon's, with other records.
    let sockets = folders.other_sockets().into_iter().chain([socket.clone()]);
    let sockets = sockets.filter(|path| UnixStream::connect(path).is_err());
    all.extend(sockets.filter(|path| !path.starts_with(store)).map(|path| ("socket", None, path)));
    all.into_iter().filter_map(|(what, kind, path)| Item::find(what, kind, path)).collect()
}

/// A line for each.
pub fn lines(items: &[Item], plugin: &[PathBuf]) -> Vec<String> {
    let plugin = plugin.iter().map(|path| format!("  {:<14} {}", "plugin", path.display()));
    let item = |item: &Item| {
        let leads = item.behind.as_ref().map(|real| format!(" -> {}", real.display()));
        let (path, leads) = (item.path.display(), leads.unwrap_or_default());
        format!("  {:<14} {path}{leads} ({})", item.what, size(item.bytes))
    };
    let gone = items.iter().filter(|item| !item.is_kept());
    plugin.chain(gone.map(item)).collect()
}

/// A sentence for each thing of the person's, which stays.
pub fn left(items: &[Item]) -> Vec<String> {
    items.iter().flat_map(Item::left).collect()
}
