//! Mail of builds that delivered it into files: what nobody has read is delivered again, from the
//! outbox. Taken over a second time, it changes nothing.

use legwork_engine::record::DeliveryEnd;
use legwork_protocol::{MessageId, SessionId};
use rusqlite::Connection;

use crate::columns::all;
use crate::fault::Fault;
use crate::outbox::end_delivery;
use crate::save::{begin, run};
use crate::words;

/// What the files say.
#[derive(Debug, Default)]
pub struct OldMail {
    /// What nobody has read, the oldest first: the delivery, its recipient, and the lines that it
    /// begins with, among which are the headlines of its notices.
    pub unread: Vec<(MessageId, SessionId, Vec<String>)>,
    pub shown: Vec<MessageId>,
}

const TRIED: &str = "take over the mail of an older build";

pub fn take_over(db: &mut Connection, mail: &OldMail) -> Result<(), Fault> {
    let tx = begin(db, TRIED)?;
    for delivery in &mail.shown {
        let open = "SELECT id FROM deliveries WHERE id = ?1";
        if !all(&tx, TRIED, open, [delivery.as_str()], |row| row.plain::<String>())?.is_empty() {
            end_delivery(&tx, delivery, words::delivery_end(DeliveryEnd::Delivered))?;
        }
    }
    // The newest first: of two runs that ended alike it tells of the later one.
    for (delivery, recipient, lines) in mail.unread.iter().rev() {
        let delivery = delivery.as_str();
        let mut found = run(&tx, "UPDATE deliveries SET counts = '' WHERE id = ?1", [delivery])?;
        for (spot, line) in (0i64..).zip(lines) {
            found += run(
                &tx,
                "UPDATE notices SET state = 'pending', delivery = ?1, spot = ?2
                 WHERE (task, run, question) IN (
                     SELECT task, run, question FROM notices
                     WHERE recipient = ?3 AND headline = ?4 AND question = -1
                         AND state = 'delivered'
                     ORDER BY run DESC LIMIT 1
                 )",
                (delivery, spot, recipient.as_str(), line),
            )?;
        }
        if found > 0 {
            run(
                &tx,
                "INSERT OR IGNORE INTO deliveries (id, recipient, counts) VALUES (?1, ?2, '')",
                (delivery, recipient.as_str()),
            )?;
        }
    }
    tx.commit().map_err(Fault::when(TRIED))
}
