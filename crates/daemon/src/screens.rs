//! When a host's screen shows how its helpers are doing: not more often than a person can read, and
//! only when there is something new to say.

use std::collections::BTreeMap;

use legwork_engine::text::toast::Toast;
use legwork_protocol::{HostId, Time};

use crate::limits::PROGRESS_EVERY_MS;

#[derive(Debug, Default)]
pub struct Screens {
    /// Whether something happened since the screens were last looked after.
    stale: bool,
    looked_after: Time,
    /// The last words on each.
    words: BTreeMap<HostId, (String, String)>,
}

impl Screens {
    /// Something happened.
    pub fn stir(&mut self) {
        self.stale = true;
    }

    /// When the screens are to be looked after next.
    pub fn due(&self) -> Option<Time> {
        self.stale.then(|| self.looked_after.plus(PROGRESS_EVERY_MS))
    }

    /// They are, for these hosts.
    pub fn look_after(&mut self, now: Time, hosts: &[HostId]) {
        (self.stale, self.looked_after) = (false, now);
        self.words.retain(|host, _| hosts.contains(host));
    }

    /// What to show on this screen, if it says something new.
    pub fn news(&mut self, host: &HostId, toast: Option<Toast>) -> Option<Toast> {
        let Some(toast) = toast else {
            self.words.remove(host);
            return None;
        };
        let words = (toast.title.clone(), toast.message.clone());
        let before = self.words.insert(host.clone(), words.clone());
        (before != Some(words)).then_some(toast)
    }
}

#[cfg(test)]
mod tests {
    use legwork_engine::text::toast::ToastKind;

    use super::*;

    fn toast(message: &str) -> Toast {
        let (title, message) = ("1 running".to_owned(), message.to_owned());
        Toast { title, message, kind: ToastKind::Info, duration_ms: 1 }
    }

    #[test]
    fn the_same_words_are_shown_once() {
        let (mut screens, host) = (Screens::default(), "h".parse().unwrap());
        assert!(screens.news(&host, Some(toast("a"))).is_some());
        assert!(screens.news(&host, Some(toast("a"))).is_none());
        assert!(screens.news(&host, Some(toast("b"))).is_some());
        assert!(screens.news(&host, None).is_none());
        assert!(screens.news(&host, Some(toast("b"))).is_some());
        screens.look_after(Time(1), &[]);
        assert!(screens.news(&host, Some(toast("b"))).is_some(), "it left and came again");
    }

    #[test]
    fn nothing_is_due_when_nothing_happens_and_what_happens_is_shown_soon() {
        let mut screens = Screens::default();
        assert_eq!(screens.due(), None);
        screens.stir();
        assert_eq!(screens.due(), Some(Time(PROGRESS_EVERY_MS)));
        screens.look_after(Time(10_000), &[]);
        assert_eq!(screens.due(), None);
        screens.stir();
        assert_eq!(screens.due(), Some(Time(10_000 + PROGRESS_EVERY_MS)));
    }
}
