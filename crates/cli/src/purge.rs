//! Removing everything that legwork keeps. What is removed is listed first, with its size. The
//! store's lock is held meanwhile, so that no daemon begins to write what is being removed.

use std::fs::{self, File, Metadata};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use legwork_client::{Client, Fault as ClientFault, Holder, Start, holder};
use legwork_machine::{Folders, STORE_LOCK, if_there};
use legwork_protocol::api::{Ask, List, Request};
use legwork_protocol::limits::LIST_MAX_TASKS;
use legwork_protocol::view::DaemonView;

use crate::asking::{connect_soon, get, list};
use crate::fault::Fault;
use crate::words::counted;
use crate::words::size;

const SETTINGS: &str = "settings";

/// A file or folder of legwork's.
#[derive(Debug)]
pub struct Item {
    what: &'static str,
    pub path: PathBuf,
    pub bytes: u64,
    /// Where it is, if it is a link of the person's.
    behind: Option<PathBuf>,
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
        match connect_soon(&folders, Start::Never) {
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
    pub fn shown(&self, plugin: Option<&Path>) -> Vec<String> {
        let mut shown = vec!["This removes for good:".to_owned()];
        shown.extend(lines(&self.items, plugin));
        if let Some(tasks) = self.tasks {
            shown.push(format!("The records hold {}.", counted(tasks, "task")));
        }
        shown
    }

    /// Ends the daemon and removes everything. Gives back what was removed.
    pub fn carry_out(mut self) -> Result<Vec<Item>, Fault> {
        let store = self.folders.store.clone();
        if let Some(mut client) = self.client.take() {
            call_off(&mut client)?;
            client.leave()?;
        } else if let Holder::Daemon(Some(record)) = holder(&store)? {
            record.end(&store)?;
        }
        let _lock = lock(&store)?;
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
    /// Whether the person has it elsewhere and it holds nothing that legwork has written.
    fn is_kept(&self) -> bool {
        self.behind.is_some() && self.what == SETTINGS
    }

    fn remove(&self) -> Result<(), Fault> {
        match &self.behind {
            _ if self.is_kept() => Ok(()),
            None => remove(&self.path),
            Some(real) if real.is_dir() => {
                let inside = fs::read_dir(real).map_err(Fault::file("read", real))?;
                inside.flatten().try_for_each(|entry| remove(&entry.path()))
            }
            Some(real) => remove(real),
        }
    }
}

fn remove(path: &Path) -> Result<(), Fault> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    if_there(removed).map(drop).map_err(Fault::file("remove", path))
}

fn check_idle(view: &DaemonView) -> Result<(), Fault> {
    if view.unfinished > 0 {
        return Err(Fault::Refused(format!(
            "{} not finished (`legwork list`). Wait, or call them off with --force. Nothing was \
             removed.",
            if view.unfinished == 1 {
                "1 task is".to_owned()
            } else {
                format!("{} are", counted(view.unfinished, "task"))
            }
        )));
    }
    if let Some(host) = view.hosts.first() {
        return Err(Fault::Refused(format!(
            "{} is open with legwork in it ({}) and would start the daemon again. Close it first, \
             or give --force. Nothing was removed.",
            host.kind, host.host
        )));
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

/// The lock of the store, if there is one: whoever has it keeps every daemon out.
fn lock(store: &Path) -> Result<Option<File>, Fault> {
    let path = store.join(STORE_LOCK);
    let Some(file) = if_there(File::open(&path)).map_err(Fault::file("open", &path))? else {
        return Ok(None);
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(_) => Err(Fault::Refused(
            "A daemon was started again meanwhile, by an OpenCode that is open perhaps. Close it, \
             then try again. The plugin is removed, the rest is not."
                .to_owned(),
        )),
    }
}

fn items(folders: &Folders) -> Vec<Item> {
    let Folders { config, store, sessions, socket, log } = folders;
    let mut all = vec![
        ("records", store.clone()),
        ("conversations", sessions.clone()),
        (SETTINGS, config.clone()),
        ("log", log.clone()),
        ("log", folders.headless_log()),
    ];
    let pages = legwork_views::page::left_behind(folders).into_iter();
    all.extend(pages.filter(|path| !path.starts_with(store)).map(|path| ("page", path)));
    all.extend((1..=9).map(|number| ("old log", log.with_extension(format!("log.{number}")))));
    // One that somebody listens on is another daemon's, with other records.
    let sockets = folders.other_sockets().into_iter().chain([socket.clone()]);
    let sockets = sockets.filter(|path| UnixStream::connect(path).is_err());
    all.extend(sockets.filter(|path| !path.starts_with(store)).map(|path| ("socket", path)));
    let found = all.into_iter().filter_map(|(what, path)| {
        let is_link = fs::symlink_metadata(&path).ok()?.is_symlink();
        let real = is_link.then(|| fs::canonicalize(&path)).transpose().ok()?;
        let bytes = weigh(real.as_ref().unwrap_or(&path), &fs::metadata(&path).ok()?);
        Some(Item { what, path, bytes, behind: real })
    });
    found.collect()
}

/// What is in it. What vanishes meanwhile weighs nothing.
fn weigh(path: &Path, found: &Metadata) -> u64 {
    if !found.is_dir() {
        return found.len();
    }
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    let weights = inside.filter_map(|entry| Some(weigh(&entry.path(), &entry.metadata().ok()?)));
    weights.sum()
}

/// A line for each.
pub fn lines(items: &[Item], plugin: Option<&Path>) -> Vec<String> {
    let plugin = plugin.map(|path| format!("  {:<14} {}", "plugin", path.display()));
    let item = |item: &Item| {
        let leads = item.behind.as_ref().map(|real| format!(" -> {}", real.display()));
        let (path, leads) = (item.path.display(), leads.unwrap_or_default());
        format!("  {:<14} {path}{leads} ({})", item.what, size(item.bytes))
    };
    let gone = items.iter().filter(|item| !item.is_kept());
    plugin.into_iter().chain(gone.map(item)).collect()
}

/// A line for each link of the person's, which stays.
pub fn left(items: &[Item]) -> Vec<String> {
    let line = |item: &Item| {
        let (path, real) = (item.path.display(), item.behind.as_ref()?.display());
        Some(match item.is_kept() {
            true => format!("{path} is a link of yours to {real}. Both are left."),
            false => format!("{path} is a link of yours to {real}. What was there is removed."),
        })
    };
    items.iter().filter_map(line).collect()
}
