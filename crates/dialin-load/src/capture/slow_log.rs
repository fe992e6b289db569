//! Reads slow logs of MySQL and MariaDB.
//!
//! An entry ends at a `;` and a line end that are outside quoted text and comments and are followed by a header.
//! Quoted text may contain lines that look like headers. MariaDB also logs statements that it could not parse, in
//! which a quote may be open. In its logs, a header inside quoted text is therefore accepted if its time fits the
//! current entry.

use super::entry::{About, Entry, Event, Figures, MAX_STATEMENT, Protocol, Sampling, Schema, Statement, banner};
use super::log_times::LogTimes;
use super::quoting::Quoting;
use super::slow_header::{Header, Kind, may_begin_header, unquoted};
use super::timestamp::{Clock, SECOND};
use super::window::Window;
use std::io::{Read, Result};
use std::ops::Range;

const COMMAND: &[u8] = b"# administrator command: ";
/// The maximum length of a line above a statement, in bytes. Servers write no longer ones.
const MOST_OF_A_LINE: usize = 64 * 1024;
/// The most lines from the first of a header to `# Query_time`.
const MOST_LINES_TO_FIGURES: usize = 6;
/// What follows the `use` line of a schema whose name has a line end, and the most bytes up to it.
const AFTER_SCHEMA: &[u8] = b";\nSET timestamp=";
const MOST_OF_A_SCHEMA: usize = 600;
/// A header inside quoted text is accepted only if its time is at most this much later than the current entry's.
const NEXT: i64 = 3_600 * SECOND;

/// Reads a slow log.
#[derive(Debug)]
pub struct SlowLog<R> {
    window: Window<R>,
    /// The length of the entry that was returned last, in bytes.
    given: usize,
    header: Header,
    about: About,
    /// The schema of the last `use` line: servers write that line only when the schema changes.
    schema: Option<Vec<u8>>,
    /// The last time in the log, in microseconds since 1970: old servers write the time only when the second changes.
    now: Option<i64>,
    /// When entries ended, recorded for a log with times to the second.
    times: Option<LogTimes>,
}

impl<R: Read> SlowLog<R> {
    /// Read a log from its beginning, or from anywhere in it.
    pub fn new(log: R) -> Self {
        Self {
            window: Window::new(log),
            given: 0,
            header: Header::default(),
            about: About::default(),
            schema: None,
            now: None,
            times: None,
        }
    }

    /// Use recorded times for the ends of entries.
    #[must_use]
    pub fn timed_by(self, times: Option<LogTimes>) -> Self {
        Self { times, ..self }
    }

    /// Facts about the log, as far as it was read.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The next entry; None at the end of the log.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>> {
        self.window.consume(std::mem::take(&mut self.given));
        let Some((text, given)) = self.find()? else { return Ok(None) };
        self.given = given;
        let header = &self.header;
        let mut begin = header.begin(self.now);
        self.now = header.end.map(|(end, _)| end).or(self.now).or(header.timestamp);
        let end = self.window.passed() + given as u64;
        if let Some(ended) = self.times.as_mut().and_then(|times| times.at(end)) {
            begin = Some((ended - header.figures.duration.unwrap_or(0), Clock::Microsecond));
        }
        if let Some((_, clock)) = begin {
            self.about.note_clock(clock);
        }
        self.about.has_errors |= header.figures.error.is_some();
        let rarest = |a: &Sampling, b: &Sampling| a.one_of.cmp(&b.one_of);
        self.about.sampling = self.about.sampling.into_iter().chain(header.sampling).max_by(rarest);
        if let (Some((end, Clock::Second)), Some(at)) = (header.end, header.timestamp) {
            // Both times are the end of the statement. Time zones differ by multiples of 15 minutes.
            let quarter = 900 * SECOND;
            let ended = at + header.figures.duration.unwrap_or(0);
            self.about.zone = Some((end - ended + quarter / 2).div_euclid(quarter) * quarter);
        }
        if let Some(used) = self.header.used.take() {
            self.schema = Some(used);
        }
        let sql = &self.window.bytes()[text];
        let (start, clock) = (begin.map(|(start, _)| start), begin.map_or(Clock::Second, |(_, clock)| clock));
        Ok(Some(Entry { thread: self.header.thread, start, clock, event: event(sql, &self.header, self.schema.as_deref()) }))
    }

    /// The position of the next statement in the window, and the length of its entry in bytes.
    fn find(&mut self) -> Result<Option<(Range<usize>, usize)>> {
        loop {
            let Some(begin) = self.statement_begin()? else { return Ok(None) };
            if let Some(end) = self.statement_end(begin)? {
                return Ok(Some((begin..end, (end + 2).min(self.window.bytes().len()))));
            }
        }
    }

    /// Read a header, and return where the statement below it begins. Everything before the header is consumed.
    fn statement_begin(&mut self) -> Result<Option<usize>> {
        self.header = Header::default();
        let (mut at, mut use_line) = (0, None);
        loop {
            if !self.window.has(at + 1)? {
                self.about.unread.cut_off += u64::from(self.header.has_figures);
                return Ok(None);
            }
            let end = self.window.line_end(at, MOST_OF_A_LINE)?;
            let line = &self.window.bytes()[at..end];
            let kind = if line.starts_with(COMMAND) { Kind::Other } else { self.header.take(line) };
            let next = (end + 1).min(self.window.bytes().len());
            match kind {
                Kind::Header => {
                    use_line = line.starts_with(b"use ").then_some(at);
                    at = next;
                }
                Kind::Last => return Ok(Some(next)),
                // Below a header, without a line that the server writes after it, `use` is the statement.
                Kind::Next if use_line.is_some() => return Ok(use_line),
                Kind::Next => {
                    self.about.unread.cut_off += 1;
                    self.pass(at);
                    at = 0;
                }
                Kind::Other if self.header.has_figures => match self.schema_end(at)? {
                    Some(end) => {
                        self.header.used = Some(unquoted(&self.window.bytes()[at + 4..end]));
                        at = end + 2;
                    }
                    None => return Ok(Some(at)),
                },
                Kind::Top(version) => {
                    if version.is_some() {
                        self.about.server = version;
                    }
                    self.pass(next);
                    at = 0;
                }
                Kind::Other => {
                    self.about.unread.skipped_bytes += next as u64;
                    self.pass(next);
                    at = 0;
                }
            }
        }
    }

    /// Where the schema ends that a `use` line at a position begins, if its name has a line end.
    fn schema_end(&mut self, at: usize) -> Result<Option<usize>> {
        if !self.window.bytes()[at..].starts_with(b"use ") {
            return Ok(None);
        }
        self.window.has(at + MOST_OF_A_SCHEMA)?;
        let rest = &self.window.bytes()[at..];
        let rest = &rest[..rest.len().min(MOST_OF_A_SCHEMA)];
        Ok(memchr::memmem::find(rest, AFTER_SCHEMA).map(|found| at + found))
    }

    /// Skip bytes that belong to no entry.
    fn pass(&mut self, count: usize) {
        self.window.consume(count);
        self.header = Header::default();
    }

    /// The position of the `;` that ends the statement. None if it has no end or is too long: then what was read of
    /// it is consumed.
    fn statement_end(&mut self, begin: usize) -> Result<Option<usize>> {
        let (mut from, mut followed, mut quoting) = (begin, begin, Quoting::Plain);
        let mut in_quotes = None;
        loop {
            if let Some(found) = semicolon_at_line_end(&self.window.bytes()[from..]) {
                let (end, next) = (from + found, from + found + 2);
                if end - begin > MAX_STATEMENT {
                    return Ok(self.too_long(begin, in_quotes));
                }
                from = next;
                if !self.is_header(next)? {
                    continue;
                }
                quoting = quoting.after(&self.window.bytes()[followed..next]);
                followed = next;
                if quoting == Quoting::Plain {
                    return Ok(Some(end));
                }
                if self.header.is_mariadb && self.continues(next)? {
                    self.about.unread.open_quotes += 1;
                    return Ok(Some(end));
                }
                in_quotes.get_or_insert(end);
                continue;
            }
            let length = self.window.bytes().len();
            from = from.max(length.saturating_sub(1));
            if length - begin > MAX_STATEMENT {
                return Ok(self.too_long(begin, in_quotes));
            }
            if self.window.more()? {
                continue;
            }
            if in_quotes.is_some() {
                self.about.unread.open_quotes += 1;
                return Ok(in_quotes);
            }
            let rest = self.window.bytes()[begin..].trim_ascii_end();
            if rest.ends_with(b";") && quoting.after(&self.window.bytes()[followed..begin + rest.len()]) == Quoting::Plain {
                return Ok(Some(begin + rest.len() - 1));
            }
            self.about.unread.cut_off += 1;
            self.window.consume(length);
            return Ok(None);
        }
    }

    /// Handle a statement of more than [`MAX_STATEMENT`] bytes: it ends where a header was found inside quoted text.
    /// If there was none, it is skipped.
    fn too_long(&mut self, begin: usize, in_quotes: Option<usize>) -> Option<usize> {
        match in_quotes {
            Some(_) => self.about.unread.open_quotes += 1,
            None => {
                self.about.unread.too_long += 1;
                self.window.consume(begin + MAX_STATEMENT);
            }
        }
        in_quotes
    }

    /// Whether the header of an entry or the top of a file begins at a position. The end of the log counts as one.
    fn is_header(&mut self, at: usize) -> Result<bool> {
        const USER: &[u8] = b"# User@Host: ";
        if !self.window.has(at + USER.len())? && self.window.bytes().len() == at {
            return Ok(true);
        }
        let rest = &self.window.bytes()[at..];
        if rest.starts_with(b"#") {
            return Ok(rest.starts_with(b"# Time: ") || rest.starts_with(USER) || self.leads_to_figures(at)?);
        }
        let end = self.window.line_end(at, 4_096)?;
        Ok(banner(&self.window.bytes()[at..end]).is_some())
    }

    /// Whether the lines at a position are those of a header up to `# Query_time`. Logs that programs write may lack others.
    fn leads_to_figures(&mut self, mut at: usize) -> Result<bool> {
        for _ in 0..MOST_LINES_TO_FIGURES {
            let end = self.window.line_end(at, MOST_OF_A_LINE)?;
            let line = &self.window.bytes()[at..end];
            if line.starts_with(b"# Query_time: ") {
                return Ok(true);
            }
            if !may_begin_header(line) {
                return Ok(false);
            }
            at = end + 1;
            if !self.window.has(at + 1)? {
                break;
            }
        }
        Ok(false)
    }

    /// Whether the lines at a position are the complete header of an entry, with a time that fits after the current entry's.
    /// The top of a file counts as one.
    fn continues(&mut self, mut at: usize) -> Result<bool> {
        let mut header = Header::default();
        for _ in 0..64 {
            let end = self.window.line_end(at, MOST_OF_A_LINE)?;
            match header.take(&self.window.bytes()[at..end]) {
                Kind::Header => at = end + 1,
                Kind::Top(_) => return Ok(true),
                Kind::Last => break,
                Kind::Other | Kind::Next => return Ok(false),
            }
            if !self.window.has(at + 1)? {
                return Ok(false);
            }
        }
        let times = header.timestamp.zip(self.header.timestamp);
        Ok(header.thread.is_some() && times.is_some_and(|(next, this)| (0..=NEXT).contains(&(next - this))))
    }
}

/// The position of the first `;` that a line ends with.
fn semicolon_at_line_end(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', text).find_map(|end| end.checked_sub(1).filter(|last| text[*last] == b';'))
}

fn event<'a>(sql: &'a [u8], header: &'a Header, schema: Option<&'a [u8]>) -> Event<'a> {
    if let Some(name) = sql.strip_prefix(COMMAND) {
        return Event::Command { name, argument: b"" };
    }
    let protocol = match (header.bytes_received, header.bytes_sent) {
        // It came in the packet of the statement before it: only text can hold several statements.
        (Some(0), _) => Protocol::Text,
        (Some(bytes), _) => Protocol::Bytes(bytes),
        (None, Some(0)) if header.is_mariadb => Protocol::Prepared,
        (None, Some(_)) if header.is_mariadb => Protocol::Text,
        _ => Protocol::Unknown,
    };
    let schema = match &header.schema {
        Some(schema) => Schema::Known(schema),
        None => schema.map_or(Schema::Session, Schema::Known),
    };
    let figures = Figures { ..header.figures };
    Event::Statement(Statement { sql, schema, protocol, in_routine: header.in_routine, figures })
}
