//! The format `dialin/capture/1`: a header line in JSON, then one line per record. The line of a statement is
//! followed by its text.
//!
//! docs/capture.md describes the format. Everything is compressed with zstd, the header as a separate frame.

use super::entry::{Lack, Sampling};
use super::session_state::Start;
use super::timestamp;
use crate::random::digits_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, Error, ErrorKind, Read, Result, Write};

/// The name of the format.
pub const SCHEMA: &str = "dialin/capture/1";

/// The maximum length of the first line: it names sessions.
const LONGEST_HEADER: u64 = 64 << 20;

/// The first line of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// The server's version.
    pub server: Option<String>,
    /// The logs that it was made from: `slow`, `slow+extra`, `general`, `slow+general` or `slow+extra+general`.
    pub source: String,
    /// The resolution of its times: `second` or `microsecond`; None if the logs have no times.
    pub clock: Option<&'static str>,
    /// What all statements lack, so that none can be replayed.
    pub lack: Option<Lack>,
    /// Which part of the statements the server wrote to the slow log; None for all.
    pub sampling: Option<Sampling>,
    /// The server's SQL mode.
    pub sql_mode: Option<String>,
    /// The server's time zone.
    pub time_zone: Option<String>,
    /// The increase of the server's `Questions` between the two readings of its counters.
    pub questions: Option<u64>,
    /// The number of statements.
    pub statements: u64,
}

/// What the first line of a capture has besides the [`Header`]: what a replay needs to see the same transactions as the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionStarts {
    /// The sessions that began with autocommit off, by the number of their `C` record, from 0.
    pub off: Vec<u64>,
    /// The sessions in whose transaction the log begins.
    pub in_transaction: Vec<u64>,
    /// The statements that set what else these sessions began with.
    pub sets: BTreeMap<u64, Vec<String>>,
    /// How a session is after a reset.
    pub default: Start,
}

impl SessionStarts {
    /// How a session began.
    #[must_use]
    pub fn of(&self, place: u64) -> Start {
        match (self.off.binary_search(&place), self.in_transaction.binary_search(&place)) {
            (Ok(_), _) => Start::Off,
            (_, Ok(_)) => Start::InTransaction,
            _ => Start::On,
        }
    }
}

/// Why a capture with this header cannot be replayed, and the remedy; None if it may be.
#[must_use]
pub fn why_not_replayed(header: &serde_json::Value) -> Option<(String, &'static str)> {
    match header["lack"].as_str() {
        Some("sessions") => return Some(("its log has no session numbers".into(), "Capture a general log, which has them")),
        Some(_) => return Some(("its log has no times".into(), "Capture a whole log, from a line with a time on")),
        None => {}
    }
    let sampling = &header["sampling"];
    (sampling["by"] == "query").then(|| {
        let why = format!("its log has 1 of {} statements (log_slow_rate_limit): no transaction is whole", sampling["one_of"]);
        (why, "Capture again with log_slow_rate_limit = 1")
    })
}

/// A line after the header, and the text that follows the line of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A session begins.
    Connect {
        /// Its number.
        thread: u64,
        /// In microseconds since 1970.
        at: i64,
        /// The default schema; None if it is unknown.
        schema: Option<&'a [u8]>,
    },
    /// A statement.
    Statement(Line<'a>),
    /// A session is reset: its transaction is rolled back, and it is as at its beginning.
    Reset {
        /// Its number.
        thread: u64,
        /// In microseconds since 1970.
        at: i64,
    },
    /// A session ends.
    Quit {
        /// Its number.
        thread: u64,
        /// In microseconds since 1970.
        at: i64,
    },
}

/// A statement in a capture. A value is None if the log does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The number of its session.
    pub thread: u64,
    /// When it began, in microseconds since 1970.
    pub at: i64,
    /// How long it took, in microseconds.
    pub duration: Option<i64>,
    /// Whether it was executed as a prepared statement; false if it was sent as text.
    pub is_prepared: Option<bool>,
    /// Its error number; 0 if there was no error.
    pub error: Option<u64>,
    /// Rows sent.
    pub rows_sent: Option<u64>,
    /// Rows examined.
    pub rows_examined: Option<u64>,
    /// Rows changed, inserted or deleted.
    pub rows_affected: Option<u64>,
    /// The default schema.
    pub schema: Option<&'a [u8]>,
    /// The text.
    pub sql: &'a [u8],
}

impl Record<'_> {
    /// Write the record.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Connect { thread, at, schema } => {
                begin(out, b'C', *thread, *at);
                name(out, *schema);
            }
            Self::Reset { thread, at } => begin(out, b'R', *thread, *at),
            Self::Quit { thread, at } => begin(out, b'Q', *thread, *at),
            Self::Statement(line) => {
                begin(out, b'S', line.thread, line.at);
                number(out, b" d=", line.duration.map(i64::unsigned_abs));
                if let Some(is_prepared) = line.is_prepared {
                    out.extend_from_slice(if is_prepared { b" p=b" } else { b" p=t" });
                }
                number(out, b" e=", line.error);
                number(out, b" r=", line.rows_sent);
                number(out, b" x=", line.rows_examined);
                number(out, b" a=", line.rows_affected);
                name(out, line.schema);
                number(out, b" l=", Some(line.sql.len() as u64));
                out.push(b'\n');
                out.extend_from_slice(line.sql);
            }
        }
        out.push(b'\n');
    }
}

fn begin(out: &mut Vec<u8>, kind: u8, thread: u64, at: i64) {
    out.push(kind);
    number(out, b" ", Some(thread));
    out.push(b' ');
    timestamp::write(out, at);
}

fn number(out: &mut Vec<u8>, key: &[u8], value: Option<u64>) {
    if let Some(value) = value {
        out.extend_from_slice(key);
        digits_of(value, 1, out);
    }
}

/// Write the name of a schema. Blanks, control characters, `%` and `=` are written as `%` and two hexadecimal digits.
fn name(out: &mut Vec<u8>, schema: Option<&[u8]>) {
    let Some(schema) = schema else { return };
    out.extend_from_slice(b" db=");
    let is_escaped = |byte: &u8| matches!(byte, b'%' | b'=' | 0..=b' ' | 0x7F);
    if !schema.iter().any(is_escaped) {
        return out.extend_from_slice(schema);
    }
    for byte in schema {
        if is_escaped(byte) {
            let _ = write!(out, "%{byte:02x}");
        } else {
            out.push(*byte);
        }
    }
}

/// Reads an uncompressed capture record by record.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    line: Vec<u8>,
    schema: Vec<u8>,
    sql: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Read the header. Return its JSON and a reader of the records.
    ///
    /// # Errors
    /// The header cannot be read, or is not one of this format.
    pub fn open(mut from: R) -> Result<(serde_json::Value, Self)> {
        let mut line = Vec::new();
        from.by_ref().take(LONGEST_HEADER).read_until(b'\n', &mut line)?;
        let header: serde_json::Value = serde_json::from_slice(&line)?;
        if header["schema"] != SCHEMA {
            return Err(bad("its format is not dialin/capture/1"));
        }
        Ok((header, Self { from, line, schema: vec![], sql: vec![] }))
    }

    /// The next record; None at the end.
    ///
    /// # Errors
    /// The record cannot be read, or is invalid.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>> {
        self.line.clear();
        if self.from.by_ref().take(1 << 20).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        let line = self.line.strip_suffix(b"\n").ok_or_else(|| bad("a record is cut off"))?;
        let mut words = line.split(|byte| *byte == b' ');
        let mut word = || words.next().unwrap_or_default();
        let (kind, thread, at) = (word(), whole(word())?, time(word())?);
        let mut parsed = Line {
            thread,
            at,
            duration: None,
            is_prepared: None,
            error: None,
            rows_sent: None,
            rows_examined: None,
            rows_affected: None,
            schema: None,
            sql: b"",
        };
        let (mut has_schema, mut length) = (false, 0);
        for word in words {
            match word.split_at_checked(2) {
                Some((b"d=", value)) => parsed.duration = Some(whole(value)? as i64),
                Some((b"p=", value)) => parsed.is_prepared = Some(value == b"b"),
                Some((b"e=", value)) => parsed.error = Some(whole(value)?),
                Some((b"r=", value)) => parsed.rows_sent = Some(whole(value)?),
                Some((b"x=", value)) => parsed.rows_examined = Some(whole(value)?),
                Some((b"a=", value)) => parsed.rows_affected = Some(whole(value)?),
                Some((b"l=", value)) => length = whole(value)?,
                Some((b"db", [b'=', value @ ..])) => {
                    has_schema = true;
                    unescape(value, &mut self.schema)?;
                }
                // Another version may have further keys.
                _ => {}
            }
        }
        let schema = has_schema.then_some(&self.schema[..]);
        match kind {
            b"C" => Ok(Some(Record::Connect { thread, at, schema })),
            b"R" => Ok(Some(Record::Reset { thread, at })),
            b"Q" => Ok(Some(Record::Quit { thread, at })),
            b"S" => {
                self.sql.clear();
                let read = self.from.by_ref().take(length + 1).read_to_end(&mut self.sql)? as u64;
                if read != length + 1 || self.sql.pop() != Some(b'\n') {
                    return Err(bad("a statement is cut off"));
                }
                Ok(Some(Record::Statement(Line { schema, sql: &self.sql, ..parsed })))
            }
            _ => Err(bad("a record has an unknown type")),
        }
    }
}

fn bad(why: &str) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}

fn whole(text: &[u8]) -> Result<u64> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| bad("a number is invalid"))
}

fn time(text: &[u8]) -> Result<i64> {
    match text.strip_prefix(b"-") {
        Some(text) => timestamp::seconds(text).map(|at| -at),
        None => timestamp::seconds(text),
    }
    .ok_or_else(|| bad("a time is invalid"))
}

fn unescape(text: &[u8], to: &mut Vec<u8>) -> Result<()> {
    to.clear();
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        if *byte != b'%' {
            to.push(*byte);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        to.push(digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or_else(|| bad("a name is invalid"))?);
        rest = &after[2..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line<'a>() -> Line<'a> {
        Line {
            thread: 24,
            at: 1_795_413_685_834_397,
            duration: Some(560),
            is_prepared: Some(false),
            error: Some(0),
            rows_sent: Some(1),
            rows_examined: Some(1),
            rows_affected: Some(0),
            schema: Some(b"t"),
            sql: b"select id,a from p where id=1",
        }
    }

    fn header() -> Vec<u8> {
        let header = Header {
            schema: SCHEMA.into(),
            server: None,
            source: "slow".into(),
            clock: Some("second"),
            lack: None,
            sampling: None,
            sql_mode: None,
            time_zone: None,
            questions: None,
            statements: 0,
        };
        let mut text = serde_json::to_vec(&header).unwrap();
        text.push(b'\n');
        text
    }

    #[test]
    fn records_look_as_documented() {
        let mut out = Vec::new();
        Record::Connect { thread: 24, at: 1_795_413_685_834_228, schema: Some(b"t") }.write(&mut out);
        Record::Statement(line()).write(&mut out);
        Record::Quit { thread: 24, at: 1_795_413_685_906_000 }.write(&mut out);
        let expected = "C 24 1795413685.834228 db=t\n\
            S 24 1795413685.834397 d=560 p=t e=0 r=1 x=1 a=0 db=t l=29\n\
            select id,a from p where id=1\n\
            Q 24 1795413685.906000\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn a_capture_that_is_cut_off_is_an_error() {
        let mut out = header();
        Record::Statement(line()).write(&mut out);
        for length in header().len() + 1..out.len() {
            let (_, mut reader) = Reader::open(&out[..length]).unwrap();
            assert!(reader.next_record().is_err(), "{length}");
        }
        assert!(Reader::open(&b"{\"schema\":\"dialin/capture/2\"}\n"[..]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            sql in prop::collection::vec(any::<u8>(), 0..200), schema in prop::collection::vec(any::<u8>(), 0..20),
            figures in any::<[Option<u32>; 5]>(), is_prepared in any::<Option<bool>>(), thread in any::<u64>(), at in 0..i64::MAX / 1000,
        ) {
            let [duration, error, rows_sent, rows_examined, rows_affected] = figures.map(|figure| figure.map(u64::from));
            let duration = duration.map(|figure| figure as i64);
            let line = Line { duration, is_prepared, error, rows_sent, rows_examined, rows_affected, schema: Some(&schema), sql: &sql, thread, at };
            let mut out = header();
            let records = [Record::Connect { thread, at, schema: None }, Record::Statement(line), Record::Quit { thread, at }];
            records.iter().for_each(|record| record.write(&mut out));
            let (_, mut reader) = Reader::open(&out[..]).unwrap();
            for record in &records {
                let read = reader.next_record().unwrap();
                prop_assert_eq!(read.as_ref(), Some(record));
            }
            prop_assert_eq!(reader.next_record().unwrap(), None);
        }
    }
}
