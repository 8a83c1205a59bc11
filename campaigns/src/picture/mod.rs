//! `cargo xtask picture`: the moving picture of the README, recorded from the real OpenCode with
//! helpers in it. A person's prompt is typed on a real terminal; only the model is scripted. What
//! the terminal shows is kept with its times and becomes one SVG.

mod film;
mod paint;
mod record;
mod story;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use legwork_testkit::block_on;

use crate::Verdict;
use crate::fault::{Done, Fault};
use crate::progress::{note, say};
use film::Frame;

/// Longer than this nothing happens in the picture: what a busy machine takes is left out.
const STILL_MAX: Duration = Duration::from_millis(1_600);
/// How long the last screen is seen before it begins again.
const LAST: Duration = Duration::from_secs(4);
/// More than this is too much for a page.
const BYTES_MAX: usize = 400_000;

/// Record the picture of the README: the real OpenCode, with helpers
///
/// The exit code is 1 if the picture is larger than 400 KB. Look at it in a browser
/// before it goes in.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask picture                         half a minute
  cargo xtask picture --out target/try.svg    without touching the one in the README")]
pub struct Picture {
    /// Where it is written
    #[arg(long, value_name = "FILE", default_value = "docs/pictures/opencode.svg")]
    out: PathBuf,
}

impl Picture {
    /// Records it.
    pub fn run(self) -> Done<Verdict> {
        let screens = block_on(story::play())?;
        note(format!("{} screens", screens.len()));
        let frames = frames(&screens);
        let picture = film::svg(&frames, story::COLUMNS.into(), story::TITLE);
        let fault = |why| Fault::trying(format!("writing {}", self.out.display()), why);
        std::fs::write(&self.out, &picture).map_err(fault)?;
        let seconds: Duration = frames.iter().map(|frame| frame.lasts).sum();
        let (file, bytes) = (self.out.display(), picture.len());
        say(format!("{file}: {:.1} s, {} KB", seconds.as_secs_f64(), bytes / 1_000));
        Ok(if bytes <= BYTES_MAX { Verdict::Held } else { Verdict::Broken })
    }
}

/// Screens with the time at which each was there first, as frames.
fn frames(screens: &[(Duration, String)]) -> Vec<Frame> {
    let next = screens.iter().skip(1).map(|(at, _)| Some(*at)).chain([None]);
    let frame = |((at, screen), next): (&(Duration, String), Option<Duration>)| {
        let lasts = next.map_or(LAST, |next| next.saturating_sub(*at).min(STILL_MAX));
        Frame { rows: paint::rows(screen), lasts }
    };
    screens.iter().zip(next).map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i6_a_screen_lasts_until_the_next_but_not_for_ever() {
        let at = |ms: u64, text: &str| (Duration::from_millis(ms), text.to_owned());
        let frames = frames(&[at(0, "a"), at(300, "b"), at(9_000, "c")]);
        let lasts: Vec<Duration> = frames.iter().map(|frame| frame.lasts).collect();
        assert_eq!(lasts, [Duration::from_millis(300), STILL_MAX, LAST]);
        assert_eq!(frames[2].rows, paint::rows("c"));
    }
}
