//! Mistakes in the settings: every command says once that there are some, whatever it does. A wrong
//! setting counts for nothing, so that who wrote it would believe in a limit that is none.

use crate::config::Config;
use legwork_machine::Folders;

use crate::screen::warn;

/// Names the first one, in one line on stderr, and says where the others are named.
pub fn tell() {
    // Without its folders the command says so itself.
    let Ok(folders) = Folders::from_env() else { return };
    let (_, mistakes) = Config::read(&folders.config);
    match mistakes.as_slice() {
        [] => {}
        [only] => warn(only),
        [first, more @ ..] => {
            let more = more.len();
            warn(&format!("{first} ({more} more: `legwork config check`)"));
        }
    }
}
