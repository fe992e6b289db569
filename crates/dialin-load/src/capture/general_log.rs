//! Reads general logs of MySQL and MariaDB.
//!
//! An entry ends where a line begins in the way that entries do. Quoted text may contain such lines, and statements
//! with open quotes are logged, too. A line inside quoted text is therefore accepted if its time and its session
//! number fit the log so far.

use super::entry::{About, Entry, Event, Figures, MAX_STATEMENT, Protocol, Schema, Statement, banner, is_below_banner};
use super::log_times::LogTimes;
use super::quoting::Quoting;
use super::slow_header::number;
use super::timestamp::{self, Clock, SECOND};
use super::window::Window;
use memchr::{memchr, memmem};
use std::io::{Read, Result};

/// The commands that servers write.
const COMMANDS: [&[u8]; 34] = [
    b"Query",
    b"Execute",
    b"Prepare",
    b"Close stmt",
    b"Connect",
    b"Quit",
    b"Init DB",
    b"Ping",
    b"Reset stmt",
    b"Statistics",
    b"Field List",
    b"Change user",
    b"Reset Connection",
    b"Reset connection",
    b"Long Data",
    b"Fetch",
    b"Set option",
    b"Kill",
    b"Processlist",
    b"Refresh",
    b"Shutdown",
    b"Debug",
    b"Sleep",
    b"Time",
    b"Delayed insert",
    b"Binlog Dump",
    b"Binlog Dump GTID",
    b"Table Dump",
    b"Connect Out",
    b"Register Slave",
    b"Register Replica",
    b"Daemon",
    b"Bulk Execute",
    b"Error",
];
/// The part of an entry before its argument is shorter than this, in bytes.
const MOST_OF_A_PREFIX: usize = 96;
/// The first line of a file, which names the path of the server, is shorter than this, in bytes.
const LONGEST_BANNER: usize = 4_096 + 128;
/// A line inside quoted text is accepted only if its time is at most this much later than the current entry's.
const NEXT: i64 = 3_600 * SECOND;
/// A line inside quoted text is accepted only if its session number exceeds the highest one so far by at most this.
const MORE_SESSIONS: u64 = 1_000;

/// The part of an entry before its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prefix {
    at: Option<(i64, Clock)>,
    thread: u64,
    command: &'static [u8],
    length: usize,
}

/// Reads a general log.
#[derive(Debug)]
pub struct GeneralLog<R> {
    window: Window<R>,
    /// The length of the entry that was returned last, in bytes.
    given: usize,
    about: About,
    /// The time of the last entry that has one, in microseconds since 1970.
    now: i64,
    highest_thread: u64,
    /// When entries were written, recorded for a log with times to the second.
    times: Option<LogTimes>,
}

impl<R: Read> GeneralLog<R> {
    /// Read a log from its beginning, or from anywhere in it.
    pub fn new(log: R) -> Self {
        Self { window: Window::new(log), given: 0, about: About::default(), now: i64::MIN, highest_thread: 0, times: None }
    }

    /// Use recorded times for when entries were written.
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
        let (prefix, end) = loop {
            if !self.window.has(1)? {
                return Ok(None);
            }
            self.window.has(MOST_OF_A_PREFIX)?;
            match prefix(self.window.bytes()) {
                // A log that begins in the middle may have entries before its first time. When they ran is unknown.
                Some(found) if found.at.is_some() || self.now > i64::MIN => match self.argument_end(&found)? {
                    Some(end) => break (found, end),
                    None => continue,
                },
                _ => self.skip_line()?,
            }
        };
        self.given = (end + 1).min(self.window.bytes().len());
        let passed = self.window.passed() + self.given as u64;
        let noted = self.times.as_mut().and_then(|times| times.at(passed));
        if let Some((at, clock)) = prefix.at {
            self.now = at;
            let clock = noted.map_or(clock, |_| Clock::Microsecond);
            self.about.clock = Some(self.about.clock.map_or(clock, |coarsest| coarsest.min(clock)));
        }
        let clock = prefix.at.map_or(Clock::Second, |(_, clock)| clock);
        let (start, clock) = noted.map_or((self.now, clock), |at| (at, Clock::Microsecond));
        self.highest_thread = self.highest_thread.max(prefix.thread);
        let argument = &self.window.bytes()[prefix.length..end];
        Ok(Some(Entry { thread: prefix.thread, start, clock, event: event(prefix.command, argument) }))
    }

    fn skip_line(&mut self) -> Result<()> {
        let end = self.window.line_end(0, MAX_STATEMENT)?;
        let line = &self.window.bytes()[..end];
        match banner(line) {
            Some(version) => self.about.server = Some(version),
            None if is_below_banner(line) => {}
            None => self.about.unread.skipped_bytes += end as u64 + 1,
        }
        self.window.consume(end + 1);
        Ok(())
    }

    /// The position of the line end that ends an entry. None if the entry is too long or cut off: then what was read
    /// of it is consumed.
    fn argument_end(&mut self, this: &Prefix) -> Result<Option<usize>> {
        let begin = this.length;
        let (mut from, mut followed, mut quoting) = (begin, begin, Quoting::Plain);
        loop {
            if let Some(found) = memchr(b'\n', &self.window.bytes()[from..]) {
                let (end, next) = (from + found, from + found + 1);
                if end - begin > MAX_STATEMENT {
                    return Ok(self.too_long(begin));
                }
                from = next;
                self.window.line_end(next, LONGEST_BANNER)?;
                let rest = &self.window.bytes()[next..];
                let Some(begins) = begins(rest) else { continue };
                let continues = match begins {
                    Begins::File => true,
                    Begins::Entry(prefix) => self.continues(this, &prefix),
                };
                if !continues {
                    quoting = quoting.after(&self.window.bytes()[followed..next]);
                    followed = next;
                    if quoting != Quoting::Plain {
                        continue;
                    }
                }
                return Ok(Some(end));
            }
            let length = self.window.bytes().len();
            from = length.max(begin);
            if length - begin > MAX_STATEMENT {
                return Ok(self.too_long(begin));
            }
            if !self.window.more()? {
                // The last line has no line end, so a part of it may be missing.
                self.about.unread.cut_off += 1;
                self.window.consume(length);
                return Ok(None);
            }
        }
    }

    /// Skip a statement that is too long.
    fn too_long(&mut self, begin: usize) -> Option<usize> {
        self.about.unread.too_long += 1;
        self.window.consume(begin + MAX_STATEMENT);
        None
    }

    /// Whether the time and the session number of `next` fit after the current entry.
    fn continues(&self, this: &Prefix, next: &Prefix) -> bool {
        let now = this.at.map_or(self.now, |(at, _)| at);
        let known = next.thread <= self.highest_thread.max(this.thread).saturating_add(MORE_SESSIONS);
        known && next.at.is_none_or(|(at, _)| (0..=NEXT).contains(&(at - now)))
    }
}

enum Begins {
    Entry(Prefix),
    File,
}

/// What begins with a line: an entry or the top of a file; None for any other line. The end of the log counts as the
/// top of a file.
fn begins(rest: &[u8]) -> Option<Begins> {
    match rest {
        [] => Some(Begins::File),
        [b'0'..=b'9' | b'\t', ..] => prefix(rest).map(Begins::Entry),
        _ => {
            let rest = &rest[..rest.len().min(LONGEST_BANNER)];
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            (banner(&rest[..end]).is_some()).then_some(Begins::File)
        }
    }
}

/// Parse the time, session and command at the start of an entry. Older servers write the time only when the second changes.
fn prefix(line: &[u8]) -> Option<Prefix> {
    let line = &line[..line.len().min(MOST_OF_A_PREFIX)];
    let tab = memchr(b'\t', line)?;
    let (at, mut length) = match &line[..tab] {
        [] => (None, if line.get(1) == Some(&b'\t') { 2 } else { return None }),
        time if time.len() > 15 => (Some((timestamp::iso(time)?, Clock::Microsecond)), tab + 1),
        time => (Some((timestamp::short(time)?, Clock::Second)), tab + 1),
    };
    length += line[length..].iter().take_while(|byte| **byte == b' ').count();
    let digits = line[length..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let thread = number(&line[length..length + digits])?;
    length += digits;
    let rest = line[length..].strip_prefix(b" ")?;
    let command = COMMANDS
        .into_iter()
        .find(|command| rest.strip_prefix(*command).is_some_and(|rest| matches!(rest.first(), Some(b'\t'))))?;
    Some(Prefix { at, thread, command, length: length + 1 + command.len() + 1 })
}

fn event<'a>(command: &'static [u8], argument: &'a [u8]) -> Event<'a> {
    match command {
        b"Query" => statement(argument, Protocol::Text),
        b"Execute" | b"Bulk Execute" => statement(argument, Protocol::Prepared),
        b"Connect" if argument.starts_with(b"Access denied ") => Event::Refused,
        b"Connect" => Event::Connect { schema: schema_of(argument) },
        b"Change user" => Event::Command { name: command, argument: schema_of(argument).unwrap_or_default() },
        b"Init DB" => Event::Command { name: command, argument },
        // The arguments of other commands, such as the text of a Prepare, are not needed. Text that is not kept cannot leak.
        _ => Event::Command { name: command, argument: b"" },
    }
}

fn statement(sql: &[u8], protocol: Protocol) -> Event<'_> {
    Event::Statement(Statement { sql, schema: Schema::Session, protocol, in_routine: false, figures: Figures::default() })
}

/// The schema of `root@localhost on t using SSL/TLS`.
fn schema_of(argument: &[u8]) -> Option<&[u8]> {
    let end = memmem::rfind(argument, b" using ").unwrap_or(argument.len());
    let schema = &argument[memmem::find(&argument[..end], b" on ")? + 4..end];
    (!schema.is_empty()).then_some(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_entry_is_known_on_every_build() {
        let time = Some((timestamp::iso(b"2026-11-23T05:59:36.294380Z").unwrap(), Clock::Microsecond));
        let line = b"2026-11-23T05:59:36.294380Z\t   18 Execute\tselect 1";
        assert_eq!(prefix(line), Some(Prefix { at: time, thread: 18, command: b"Execute", length: line.len() - 8 }));
        let time = Some((timestamp::short(b"261123  5:59:43").unwrap(), Clock::Second));
        let line = b"261123  5:59:43\t    6 Connect\troot@localhost on ";
        assert_eq!(prefix(line), Some(Prefix { at: time, thread: 6, command: b"Connect", length: 30 }));
        let line = b"\t\t    6 Query\tSET NAMES utf8mb4";
        assert_eq!(prefix(line), Some(Prefix { at: None, thread: 6, command: b"Query", length: 14 }));
    }

    #[test]
    fn other_lines_are_none() {
        for line in
            ["", "\t", "\t    6 Query\tx", "\t\t    6 Nothing\tx", "\t\t    6 Query", "2026-11-23 05:59:36\t 6 Query\t", "x"]
        {
            assert_eq!(prefix(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn the_first_line_of_another_file_ends_an_entry_even_if_only_a_part_of_it_is_in_memory() {
        let entry = "2026-11-23T05:59:36.294380Z\t   18 Query\tselect 1\n";
        let banner = format!("/{}/mysqld, Version: 9.7.4 (MySQL Community Server - GPL). started with:\n", "x".repeat(300));
        let log = [entry, &banner, "Tcp port: 3306  Unix socket: s\nTime    Id Command    Argument\n", entry].concat();
        let (begin, rest) = log.as_bytes().split_at(entry.len() + 200);
        let mut log = GeneralLog::new(begin.chain(rest));
        for _ in 0..2 {
            let entry = log.next_entry().unwrap().unwrap();
            assert!(matches!(entry.event, Event::Statement(Statement { sql: b"select 1", .. })), "{entry:?}");
        }
        assert!(log.next_entry().unwrap().is_none());
    }

    #[test]
    fn the_schema_of_a_login_is_read() {
        assert_eq!(schema_of(b"root@localhost on t using SSL/TLS"), Some(&b"t"[..]));
        assert_eq!(schema_of(b"root@localhost on "), None);
        assert_eq!(schema_of(b"root@localhost on  using Socket"), None);
        assert_eq!(schema_of(b"root@localhost"), None);
    }
}
