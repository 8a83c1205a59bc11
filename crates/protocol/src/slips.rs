//! What somebody meant who made a slip in a name.

use strsim::levenshtein;

use crate::limits::ECHO_MAX_CHARS;

/// The one of these names that is this one but for a slip, or whose section was left out or is
/// another.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // No name is so long, and the work grows with the length.
    if name.len() > 2 * ECHO_MAX_CHARS {
        return None;
    }
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let slips = |known: &str| levenshtein(known, name).min(levenshtein(&last(known), &last(name)));
    let best = names.into_iter().min_by_key(|known| slips(known))?;
    (slips(best) <= last(name).len() / 3).then_some(best)
}
