//! Reads general logs of MySQL and MariaDB.
//!
//! An entry ends where a line begins in the way that entries do. Quoted text may contain such lines, and statements
//! with open quotes are logged, too. A line inside quoted text is therefore accepted if its time and its session
//! number fit the log so far.

use super::entry::{About, Entry, Event, Figures, MAX_STATEMENT, Protocol, Schema, Statement, banner, is_below_banner};
use super::log_times::LogTimes;
use super::quoting::Quoting;
use super::several_statements::first_of_several;
use super::slow_header::number;
use super::timestamp::{self, Clock, SECOND};
use super::window::Window;
use memchr::{memchr, memmem};
use std::io::{Read, Result};
use std::ops::Range;

/// The commands that servers write.
static COMMANDS: [&[u8]; 34] = [
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

/// A line without a time begins with blanks up to this column, counted from 0. Tabs go to the next multiple of 8.
const COLUMN_OF_THREAD: usize = 16;

/// What separates the columns of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Tabs, as servers from 5.5 on write them.
    #[default]
    Tabs,
    /// Tabs or spaces: servers up to 5.1 pad commands with spaces, and a terminal turns tabs into spaces.
    Blanks,
}

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
    columns: Columns,
    /// The length of the entry that was returned last, in bytes.
    given: usize,
    /// The part before the argument of the entry after it, if the end of that entry showed it.
    ahead: Option<Prefix>,
    /// The statements of that entry that were not returned yet, and their place in the window.
    rest: Option<(Placed, Range<usize>)>,
    about: About,
    /// The time of the last entry that has one, in microseconds since 1970.
    now: Option<i64>,
    highest_thread: u64,
    /// When entries were written, recorded for a log with times to the second.
    times: Option<LogTimes>,
}

impl<R: Read> GeneralLog<R> {
    /// Read a log from its beginning, or from anywhere in it.
    pub fn new(log: R, columns: Columns) -> Self {
        Self {
            window: Window::new(log),
            columns,
            given: 0,
            ahead: None,
            rest: None,
            about: About::default(),
            now: None,
            highest_thread: 0,
            times: None,
        }
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
        let (placed, mut argument) = match self.rest.take() {
            Some(rest) => rest,
            None => match self.read_entry()? {
                Some(entry) => entry,
                None => return Ok(None),
            },
        };
        let Placed { thread, start, clock, command } = placed;
        if command == b"Query"
            && let Some((end, next)) = first_of_several(&self.window.bytes()[argument.clone()])
        {
            self.rest = Some((placed, argument.start + next..argument.end));
            argument.end = argument.start + end;
        }
        let event = event(command, &self.window.bytes()[argument]);
        Ok(Some(Entry { thread: Some(thread), start, clock, event }))
    }

    /// Read an entry, and return the place of its argument in the window; None at the end of the log.
    fn read_entry(&mut self) -> Result<Option<(Placed, Range<usize>)>> {
        self.window.consume(std::mem::take(&mut self.given));
        let (prefix, end) = loop {
            let ahead = self.ahead.take();
            if ahead.is_none() {
                if !self.window.has(1)? {
                    return Ok(None);
                }
                self.window.has(MOST_OF_A_PREFIX)?;
            }
            match ahead.or_else(|| prefix(self.window.bytes(), self.columns)) {
                Some(found) => match self.argument_end(&found)? {
                    Some(end) => break (found, end),
                    None => continue,
                },
                None => self.skip_line()?,
            }
        };
        self.given = (end + 1).min(self.window.bytes().len());
        let passed = self.window.passed() + self.given as u64;
        let noted = self.times.as_mut().and_then(|times| times.at(passed));
        if let Some((at, clock)) = prefix.at {
            self.now = Some(at);
            self.about.note_clock(noted.map_or(clock, |_| Clock::Microsecond));
        }
        let clock = prefix.at.map_or(Clock::Second, |(_, clock)| clock);
        let (start, clock) = noted.map_or((self.now, clock), |at| (Some(at), Clock::Microsecond));
        self.highest_thread = self.highest_thread.max(prefix.thread);
        Ok(Some((Placed { thread: prefix.thread, start, clock, command: prefix.command }, prefix.length..end)))
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
                // All of a prefix is to be in memory, or of a line that may be the top of a file.
                if self.window.has(next + MOST_OF_A_PREFIX)? && !matches!(self.window.bytes()[next], b'0'..=b'9' | b'\t' | b' ')
                {
                    self.window.line_end(next, LONGEST_BANNER)?;
                }
                let rest = &self.window.bytes()[next..];
                let Some(begins) = begins(rest, self.columns) else { continue };
                let (continues, ahead) = match begins {
                    Begins::File => (true, None),
                    Begins::Entry(prefix) => (self.continues(this, &prefix), Some(prefix)),
                };
                if !continues {
                    quoting = quoting.after(&self.window.bytes()[followed..next]);
                    followed = next;
                    if quoting != Quoting::Plain {
                        continue;
                    }
                }
                self.ahead = ahead;
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
        let now = this.at.map(|(at, _)| at).or(self.now);
        let known = next.thread <= self.highest_thread.max(this.thread).saturating_add(MORE_SESSIONS);
        known && next.at.zip(now).is_none_or(|((at, _), now)| (0..=NEXT).contains(&(at - now)))
    }
}

/// An entry without its argument.
#[derive(Clone, Copy, Debug)]
struct Placed {
    thread: u64,
    start: Option<i64>,
    clock: Clock,
    command: &'static [u8],
}

enum Begins {
    Entry(Prefix),
    File,
}

/// What begins with a line: an entry or the top of a file; None for any other line. The end of the log counts as the
/// top of a file.
fn begins(rest: &[u8], columns: Columns) -> Option<Begins> {
    match rest {
        [] => Some(Begins::File),
        [b'0'..=b'9' | b'\t', ..] => prefix(rest, columns).map(Begins::Entry),
        [b' ', ..] if columns == Columns::Blanks => prefix(rest, columns).map(Begins::Entry),
        _ => {
            let rest = &rest[..rest.len().min(LONGEST_BANNER)];
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            (banner(&rest[..end]).is_some()).then_some(Begins::File)
        }
    }
}

/// Parse the time, session and command at the start of an entry. Older servers write the time only when the second changes.
fn prefix(line: &[u8], columns: Columns) -> Option<Prefix> {
    let line = &line[..line.len().min(MOST_OF_A_PREFIX)];
    let (at, mut length) = match columns {
        Columns::Tabs => time_before_tab(line)?,
        Columns::Blanks => time_before_blanks(line)?,
    };
    length += blanks(&line[length..], b" ");
    let digits = line[length..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let thread = number(&line[length..length + digits])?;
    length += digits;
    let rest = line[length..].strip_prefix(b" ")?;
    let ends = |rest: &[u8]| match columns {
        Columns::Tabs => rest.starts_with(b"\t"),
        Columns::Blanks => rest.first().is_none_or(|byte| matches!(byte, b'\t' | b' ' | b'\n')),
    };
    let is_it = |command: &&[u8]| rest.strip_prefix(*command).is_some_and(ends);
    let command = match columns {
        Columns::Tabs => COMMANDS.iter().copied().find(is_it)?,
        // Between blanks, `Connect Out` also begins with `Connect`.
        Columns::Blanks => COMMANDS.iter().copied().filter(is_it).max_by_key(|command| command.len())?,
    };
    length += 1 + command.len();
    length += match columns {
        Columns::Tabs => 1,
        Columns::Blanks => blanks(&line[length..], b" \t"),
    };
    Some(Prefix { at, thread, command, length })
}

/// The time that a line begins with, and the number of bytes up to the column of the session.
fn time_before_tab(line: &[u8]) -> Option<(Option<(i64, Clock)>, usize)> {
    let tab = memchr(b'\t', line)?;
    match &line[..tab] {
        [] => (line.get(1) == Some(&b'\t')).then_some((None, 2)),
        time if time.len() > 15 => Some((Some((timestamp::iso(time)?, Clock::Microsecond)), tab + 1)),
        time => Some((Some(timestamp::short(time)?), tab + 1)),
    }
}

/// The same for lines whose columns may be separated by spaces.
fn time_before_blanks(line: &[u8]) -> Option<(Option<(i64, Clock)>, usize)> {
    let word = |from: usize| from + line[from..].iter().take_while(|byte| !matches!(byte, b' ' | b'\t' | b'\n')).count();
    let first = word(0);
    let (at, end) = match first {
        0 => (None, 0),
        6 => {
            let end = word(first + blanks(&line[first..], b" "));
            (Some(timestamp::short(&line[..end])?), end)
        }
        _ => (Some((timestamp::iso(&line[..first])?, Clock::Microsecond)), first),
    };
    let length = end + blanks(&line[end..], b" \t");
    let column = line[..length].iter().fold(0, |column, byte| if *byte == b'\t' { column / 8 * 8 + 8 } else { column + 1 });
    (length > end && (at.is_some() || column >= COLUMN_OF_THREAD)).then_some((at, length))
}

/// How many of these bytes a text begins with.
fn blanks(text: &[u8], which: &[u8]) -> usize {
    text.iter().take_while(|byte| which.contains(byte)).count()
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
        assert_eq!(
            prefix(line, Columns::Tabs),
            Some(Prefix { at: time, thread: 18, command: b"Execute", length: line.len() - 8 })
        );
        let time = timestamp::short(b"261123  5:59:43");
        let line = b"261123  5:59:43\t    6 Connect\troot@localhost on ";
        assert_eq!(prefix(line, Columns::Tabs), Some(Prefix { at: time, thread: 6, command: b"Connect", length: 30 }));
        let line = b"\t\t    6 Query\tSET NAMES utf8mb4";
        assert_eq!(prefix(line, Columns::Tabs), Some(Prefix { at: None, thread: 6, command: b"Query", length: 14 }));
    }

    #[test]
    fn other_lines_are_none() {
        for line in
            ["", "\t", "\t    6 Query\tx", "\t\t    6 Nothing\tx", "\t\t    6 Query", "2026-11-23 05:59:36\t 6 Query\t", "x"]
        {
            assert_eq!(prefix(line.as_bytes(), Columns::Tabs), None, "{line}");
        }
    }

    #[test]
    fn the_first_line_of_another_file_ends_an_entry_even_if_only_a_part_of_it_is_in_memory() {
        let entry = "2026-11-23T05:59:36.294380Z\t   18 Query\tselect 1\n";
        let banner = format!("/{}/mysqld, Version: 9.7.4 (MySQL Community Server - GPL). started with:\n", "x".repeat(300));
        let log = [entry, &banner, "Tcp port: 3306  Unix socket: s\nTime    Id Command    Argument\n", entry].concat();
        let (begin, rest) = log.as_bytes().split_at(entry.len() + 200);
        let mut log = GeneralLog::new(begin.chain(rest), Columns::Tabs);
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
