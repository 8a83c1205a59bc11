//! Reads a row from left to right, and shares values that many rows have in common. A value that is
//! not of the wanted type is a fault that names its column.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use legwork_protocol::{HostId, Place, SessionId, Time};
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row};

use crate::fault::Fault;
use crate::words;

/// Every row of a query, each made into a value.
pub fn all<T>(
    db: &Connection,
    tried: &'static str,
    sql: &str,
    values: impl Params,
    mut make: impl FnMut(&mut Columns<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut query = db.prepare_cached(sql).map_err(Fault::when(tried))?;
    let mut rows = query.query(values).map_err(Fault::when(tried))?;
    let mut made = Vec::new();
    while let Some(row) = rows.next().map_err(Fault::when(tried))? {
        made.push(make(&mut Columns { row, next: 0, tried })?);
    }
    Ok(made)
}

/// The columns of a row that have not been read yet.
pub struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
    tried: &'static str,
}

impl<'r> Columns<'r> {
    /// A value as SQLite has it.
    pub fn plain<T: FromSql>(&mut self) -> Result<T, Fault> {
        let value = self.row.get(self.next).map_err(Fault::when(self.tried))?;
        self.next += 1;
        Ok(value)
    }

    /// One of our numbers without sign.
    pub fn number(&mut self) -> Result<u64, Fault> {
        Ok(self.plain::<i64>()?.cast_unsigned())
    }

    pub fn maybe_number(&mut self) -> Result<Option<u64>, Fault> {
        Ok(self.plain::<Option<i64>>()?.map(i64::cast_unsigned))
    }

    pub fn time(&mut self) -> Result<Time, Fault> {
        self.number().map(Time)
    }

    pub fn maybe_time(&mut self) -> Result<Option<Time>, Fault> {
        Ok(self.plain::<Option<i64>>()?.map(|at| Time(at.cast_unsigned())))
    }

    pub fn text(&mut self) -> Result<&'r str, Fault> {
        self.maybe_text()?.ok_or_else(|| Fault::Unknown {
            what: format!("{} is empty", self.name(self.next - 1)),
        })
    }

    pub fn maybe_text(&mut self) -> Result<Option<&'r str>, Fault> {
        let at = self.next;
        self.next += 1;
        let value = self.row.get_ref(at).map_err(Fault::when(self.tried))?;
        value
            .as_str_or_null()
            .map_err(|why| Fault::Unknown { what: format!("{}: {why}", self.name(at)) })
    }

    pub fn parsed<T: FromStr<Err: Display>>(&mut self) -> Result<T, Fault> {
        let text = self.text()?;
        self.parse(text)
    }

    pub fn maybe_parsed<T: FromStr<Err: Display>>(&mut self) -> Result<Option<T>, Fault> {
        self.maybe_text()?.map(|text| self.parse(text)).transpose()
    }

    fn parse<T: FromStr<Err: Display>>(&self, text: &str) -> Result<T, Fault> {
        text.parse().map_err(|why| words::unknown(&self.name(self.next - 1), text, why))
    }

    fn name(&self, at: usize) -> String {
        self.row.as_ref().column_name(at).map_or_else(|_| at.to_string(), str::to_owned)
    }
}

#[derive(Default)]
pub struct Known {
    pub places: Once<Place>,
    pub sessions: Once<SessionId>,
    pub hosts: Once<HostId>,
    texts: HashSet<Arc<str>>,
}

impl Known {
    /// The next column, as a text that many rows share.
    pub fn shared(&mut self, from: &mut Columns<'_>) -> Result<Arc<str>, Fault> {
        let text = from.text()?;
        Ok(self.keep(text))
    }

    /// The same, where there may be none.
    pub fn maybe_shared(&mut self, from: &mut Columns<'_>) -> Result<Option<Arc<str>>, Fault> {
        Ok(from.maybe_text()?.map(|text| self.keep(text)))
    }

    fn keep(&mut self, text: &str) -> Arc<str> {
        if let Some(text) = self.texts.get(text) {
            return text.clone();
        }
        let text: Arc<str> = text.into();
        self.texts.insert(text.clone());
        text
    }
}

/// Ids of one kind, each kept once.
pub struct Once<T>(HashMap<String, T>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: FromStr<Err: Display> + Clone> Once<T> {
    /// The next column, as an id that many rows share.
    pub fn one(&mut self, from: &mut Columns<'_>) -> Result<T, Fault> {
        let text = from.text()?;
        if let Some(id) = self.0.get(text) {
            return Ok(id.clone());
        }
        let id: T = from.parse(text)?;
        self.0.insert(text.to_owned(), id.clone());
        Ok(id)
    }
}
