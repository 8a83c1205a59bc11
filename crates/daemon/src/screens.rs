//! When a host's screen shows progress: only news, not more often than a person wants to read, and
//! never over a more important toast.

use std::collections::BTreeMap;

use legwork_engine::text::toast::Toast;
use legwork_protocol::{HostId, Time};

use crate::limits::{PROGRESS_EVERY_MS, PROGRESS_PAUSE_FIRST_MS, PROGRESS_PAUSE_MAX_MS};

#[derive(Debug, Default)]
pub struct Screens {
    /// Whether something happened since the screens were last looked after.
    stale: bool,
    looked_after: Time,
    screens: BTreeMap<HostId, Screen>,
}

/// What was last said about progress on one.
#[derive(Debug)]
struct Screen {
    title: String,
    message: String,
    /// Before that it is left alone.
    quiet_until: Time,
    pause_ms: u64,
}

impl Screens {
    pub fn stir(&mut self) {
        self.stale = true;
    }

    pub fn due(&self) -> Option<Time> {
        self.stale.then(|| self.looked_after.plus(PROGRESS_EVERY_MS))
    }

    /// They are, for these hosts.
    pub fn look_after(&mut self, now: Time, hosts: &[HostId]) {
        (self.stale, self.looked_after) = (false, now);
        self.screens.retain(|host, _| hosts.contains(host));
    }

    /// Something else is shown there; a screen has one toast at a time.
    pub fn taken(&mut self, host: &HostId, toast: &Toast, now: Time) {
        if let Some(screen) = self.screens.get_mut(host) {
            let until = now.plus(u64::from(toast.duration_ms));
            screen.quiet_until = screen.quiet_until.max(until);
        }
    }

    /// What to show on this screen, if it says something new and it is time. The pauses grow for as
    /// long as the same number of tasks runs.
    pub fn news(&mut self, host: &HostId, toast: Option<Toast>, now: Time) -> Option<Toast> {
        let Some(toast) = toast else {
            self.screens.remove(host);
            return None;
        };
        let mut pause_ms = PROGRESS_PAUSE_FIRST_MS;
        if let Some(screen) = self.screens.get(host) {
            let same = screen.title == toast.title;
            if now < screen.quiet_until || same && screen.message == toast.message {
                return None;
            }
            if same {
                pause_ms = screen.pause_ms.saturating_mul(2).min(PROGRESS_PAUSE_MAX_MS);
            }
        }
        let (title, message) = (toast.title.clone(), toast.message.clone());
        let screen = Screen { title, message, quiet_until: now.plus(pause_ms), pause_ms };
        self.screens.insert(host.clone(), screen);
        Some(toast)
    }
}

#[cfg(test)]
mod tests {
    use legwork_engine::text::toast::ToastKind;

    use super::*;

    fn toast(title: &str, message: &str) -> Option<Toast> {
        let (title, message) = (title.to_owned(), message.to_owned());
        Some(Toast { title, message, kind: ToastKind::Info, duration_ms: 6_000 })
    }

    /// The seconds at which something was shown that changes all the time.
    fn shown(screens: &mut Screens, host: &HostId, seconds: u64) -> Vec<u64> {
        let at = |second: &u64| {
            let words = toast("1 running", &second.to_string());
            screens.news(host, words, Time(second * 1000)).is_some()
        };
        (0..seconds).filter(at).collect()
    }

    #[test]
    fn n8_progress_is_shown_at_once_and_then_with_growing_pauses() {
        let (mut screens, host) = (Screens::default(), "h".parse().unwrap());
        assert_eq!(shown(&mut screens, &host, 300), [0, 10, 30, 70, 130, 190, 250]);
        let more = Time(310_000);
        assert!(screens.news(&host, toast("2 running", "x"), more).is_some());
        assert!(screens.news(&host, toast("2 running", "y"), more.plus(9_999)).is_none());
        assert!(screens.news(&host, toast("2 running", "y"), more.plus(10_000)).is_some());
    }

    #[test]
    fn the_same_words_are_shown_once() {
        let (mut screens, host) = (Screens::default(), "h".parse().unwrap());
        let hour = Time(3_600_000);
        assert!(screens.news(&host, toast("1 running", "a"), Time(0)).is_some());
        assert!(screens.news(&host, toast("1 running", "a"), hour).is_none());
        assert!(screens.news(&host, None, hour).is_none());
        assert!(screens.news(&host, toast("1 running", "a"), hour).is_some(), "it is another");
        screens.look_after(hour, &[]);
        assert!(screens.news(&host, toast("1 running", "a"), hour).is_some(), "it left and came");
    }

    #[test]
    fn n8_an_outcome_is_not_covered_by_progress() {
        let (mut screens, host) = (Screens::default(), "h".parse().unwrap());
        assert!(screens.news(&host, toast("2 running", "a"), Time(0)).is_some());
        screens.taken(&host, &toast("Completed", "b").unwrap(), Time(9_000));
        assert!(screens.news(&host, toast("1 running", "a"), Time(14_999)).is_none());
        assert!(screens.news(&host, toast("1 running", "a"), Time(15_000)).is_some());
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
