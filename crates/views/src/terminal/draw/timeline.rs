//! When a task was at work: a bar that ends now. Heavy is at work, dashed is in the queue, dots are
//! neither; a part in which it waits for a person, and the end, have their colours beside that.

use crate::model::State;
use legwork_protocol::Time;
use legwork_protocol::view::TaskView;

use super::canvas::state_ink;
use crate::terminal::paper::{Ink, Piece};

/// What a task did in one cell; of several the last one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Did {
    Nothing,
    Waited,
    Worked,
    Asked,
    Ended,
}

/// The last so many milliseconds in so many columns.
pub fn bar(task: &TaskView, now: Time, span_ms: u64, columns: usize) -> Vec<Piece> {
    let mut cells = vec![Did::Nothing; columns];
    let begin = now.0.saturating_sub(span_ms);
    let cell = |time: Time| -> usize {
        let passed = time.0.saturating_sub(begin).min(span_ms);
        let at = u128::from(passed) * columns as u128 / u128::from(span_ms.max(1));
        usize::try_from(at).unwrap_or(columns).min(columns.saturating_sub(1))
    };
    let mut paint = |from: Time, to: Time, did: Did| {
        if to.0 >= begin && from <= to && columns > 0 {
            cells[cell(from)..=cell(to)].fill(did);
        }
    };
    let is_queued = State::of(task) == State::Queued;
    let last = task.runs.len().saturating_sub(1);
    if task.runs.first().is_some_and(|run| run.started > task.created) {
        paint(task.created, task.runs[0].started, Did::Waited);
    }
    for (number, run) in task.runs.iter().enumerate() {
        let end = run.ended.unwrap_or(now);
        let did = if is_queued && number == last { Did::Waited } else { Did::Worked };
        paint(run.started, end, did);
        if run.ended.is_some() && number == last {
            paint(end, end, Did::Ended);
        }
    }
    if let Some(since) = task.questions.iter().map(|question| question.since).min() {
        paint(since, now, Did::Asked);
    }
    pieces(&cells, State::of(task))
}

fn pieces(cells: &[Did], state: State) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for did in cells {
        let (sign, ink) = match did {
            Did::Nothing => ('·', Ink::Faint),
            Did::Waited => ('╌', Ink::Faint),
            Did::Worked => ('━', Ink::Live),
            Did::Asked => ('━', Ink::Mind),
            Did::Ended => ('━', state_ink(state)),
        };
        match pieces.last_mut() {
            Some(last) if last.ink == ink => last.text.push(sign),
            _ => pieces.push(Piece { text: sign.to_string(), ink }),
        }
    }
    pieces
}
