//! The header lines above a statement in a slow log of MySQL, Percona Server or MariaDB.

use super::entry::{Figures, SampledBy, Sampling, banner, is_below_banner};
use super::timestamp::{self, Clock, SECOND};
use memchr::{memchr, memmem, memrchr};

/// The values in the lines above a statement.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) thread: Option<u64>,
    /// When the statement ended, from the line `# Time`.
    pub(super) end: Option<(i64, Clock)>,
    /// When it began, from `Start`, which `log_slow_extra` adds.
    pub(super) start: Option<i64>,
    /// When it began, to the second, from `SET timestamp`.
    pub(super) timestamp: Option<i64>,
    /// The schema from the line `use`.
    pub(super) used: Option<Vec<u8>>,
    /// The schema that MariaDB and Percona Server write in every header; empty if there is none.
    pub(super) schema: Option<Vec<u8>>,
    /// Whether the next line may go on with `schema`: a name can have a line end.
    is_schema_open: bool,
    pub(super) figures: Figures,
    pub(super) bytes_received: Option<u64>,
    pub(super) bytes_sent: Option<u64>,
    pub(super) sampling: Option<Sampling>,
    pub(super) in_routine: bool,
    pub(super) is_mariadb: bool,
    /// Whether the line `# Query_time` was read.
    pub(super) has_figures: bool,
}

/// The kind of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A line above a statement.
    Header,
    /// The last line above a statement.
    Last,
    /// The first line above the next statement: this one has no text.
    Next,
    /// A line at the top of a file. The first of these has the server's version.
    Top(Option<String>),
    /// Any other line: the statement, or text that belongs to no entry.
    Other,
}

/// Whether a line, without its line end, is one with which a header may begin. All come before `# Query_time`.
pub(super) fn may_begin_header(line: &[u8]) -> bool {
    line.strip_prefix(b"#").and_then(named).is_some_and(|(name, _)| begins_header(name))
}

fn begins_header(name: &[u8]) -> bool {
    matches!(name, b"Time" | b"User@Host" | b"User" | b"Client" | b"Thread_id" | b"Schema" | b"Query_time")
}

/// The name with which a line begins after its `#`, and the text after the name's colon.
fn named(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_prefix(b" ")?;
    let colon = memchr(b':', line)?;
    Some((&line[..colon], &line[colon + 1..]))
}

impl Header {
    /// Read a line, without its line end, and return its kind.
    pub(super) fn take(&mut self, line: &[u8]) -> Kind {
        match line {
            [b'#', rest @ ..] => match named(rest) {
                Some((name, _)) if self.has_figures && begins_header(name) => Kind::Next,
                Some((name, value)) => {
                    self.field(name, value, rest);
                    Kind::Header
                }
                None => Kind::Header,
            },
            [b'S', b'E', b'T', b' ', rest @ .., b';'] if self.has_figures => {
                self.timestamp = rest.strip_prefix(b"timestamp=").and_then(timestamp::seconds);
                if self.timestamp.is_none() {
                    if !is_set_by_server(rest) {
                        return Kind::Other;
                    }
                    self.timestamp = memmem::find(rest, b"timestamp=").and_then(|at| timestamp::seconds(&rest[at + 10..]));
                }
                Kind::Last
            }
            [b'u', b's', b'e', b' ', schema @ .., b';'] if self.has_figures => {
                self.used = Some(unquoted(schema));
                Kind::Header
            }
            _ => match banner(line) {
                Some(version) => Kind::Top(Some(version)),
                None if is_below_banner(line) => Kind::Top(None),
                None if self.is_schema_open && !self.has_figures => self.rest_of_schema(line),
                None => Kind::Other,
            },
        }
    }

    /// Read the field with which a line begins, and those that follow it in `line`.
    fn field(&mut self, name: &[u8], value: &[u8], line: &[u8]) {
        match name {
            b"Query_time" => {
                self.has_figures = true;
                let (duration, rest) = first_word(value);
                self.figures.duration = timestamp::seconds(duration);
                self.fields(rest);
            }
            b"Time" => {
                // Servers up to 5.1 write the user on the same line.
                let user = memmem::find(value, b" # User@Host:");
                let text = value[..user.unwrap_or(value.len())].trim_ascii();
                self.end = timestamp::iso(text).map(|at| (at, Clock::Microsecond)).or_else(|| timestamp::short(text));
                if let Some(user) = user {
                    self.user(&value[user..]);
                }
            }
            b"User@Host" => self.user(value),
            b"Thread_id" => {
                let value = value.trim_ascii_start();
                let end = value.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(value.len());
                self.thread = number(&value[..end]);
                if let Some(schema) = value[end..].trim_ascii_start().strip_prefix(b"Schema:") {
                    self.schema(schema);
                }
            }
            b"Schema" => self.schema(value),
            b"Rows_affected" => self.fields(line),
            b"Log_slow_rate_type" => self.sampling = sampling(value),
            b"Stored_routine" => self.in_routine = true,
            _ => {}
        }
    }

    fn user(&mut self, value: &[u8]) {
        // A user name may contain `Id:`. The number is the last thing on the line.
        let value = value.trim_ascii_end();
        let digits = value.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
        if value[..digits].trim_ascii_end().ends_with(b"Id:") {
            self.thread = number(&value[digits..]);
        }
    }

    /// Read a schema and what follows it: `QC_hit` of MariaDB, `Last_errno` and `Killed` of Percona Server, or nothing.
    fn schema(&mut self, value: &[u8]) {
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let after = |name| memmem::rfind(value, name).filter(|at| *at == 0 || value[at - 1] == b' ');
        let (end, is_mariadb) = match after(b"QC_hit: ") {
            Some(end) => (end, true),
            None => (after(b"Last_errno: ").unwrap_or(value.len()), false),
        };
        self.is_mariadb |= is_mariadb;
        self.is_schema_open = end == value.len();
        self.fields(&value[end..]);
        // No name ends with a blank.
        self.schema = Some(value[..end].trim_ascii_end().to_vec());
    }

    /// Read the second line of a schema whose name has a line end.
    fn rest_of_schema(&mut self, line: &[u8]) -> Kind {
        let mut name = self.schema.take().unwrap_or_default();
        name.push(b'\n');
        self.schema(line);
        if std::mem::take(&mut self.is_schema_open) {
            return Kind::Other;
        }
        name.extend_from_slice(self.schema.as_deref().unwrap_or_default());
        self.schema = Some(name);
        Kind::Header
    }

    /// Read the pairs of a name and a value.
    fn fields(&mut self, line: &[u8]) {
        let mut rest = line;
        while let Some(colon) = memchr(b':', rest) {
            let name = &rest[memrchr(b' ', &rest[..colon]).map_or(0, |blank| blank + 1)..colon];
            let value;
            (value, rest) = first_word(&rest[colon + 1..]);
            let to = match name {
                b"Rows_sent" => &mut self.figures.rows_sent,
                b"Rows_examined" => &mut self.figures.rows_examined,
                b"Rows_affected" => &mut self.figures.rows_affected,
                b"Errno" | b"Last_errno" => &mut self.figures.error,
                b"Thread_id" => &mut self.thread,
                b"Bytes_received" => &mut self.bytes_received,
                b"Bytes_sent" => &mut self.bytes_sent,
                b"Start" => {
                    self.start = timestamp::iso(value);
                    continue;
                }
                _ => continue,
            };
            if let Some(value) = number(value) {
                *to = Some(value);
            }
        }
    }

    /// When the statement began, and the resolution of that time. `now` is the last time above this header, to the second.
    pub(super) fn begin(&self, now: Option<i64>) -> Option<(i64, Clock)> {
        let duration = self.figures.duration.unwrap_or(0);
        let exact = |at| (at, Clock::Microsecond);
        self.start.map(exact).or(match self.end {
            Some((end, Clock::Microsecond)) => Some(exact(end - duration)),
            local => {
                let end = local.map(|(end, _)| end).or(now);
                let start = self.timestamp.or_else(|| end.map(|end| end - duration / SECOND * SECOND));
                start.map(|start| (start, Clock::Second))
            }
        })
    }
}

/// Whether these are the assignments that servers write above a statement, such as `last_insert_id=3,timestamp=1795860001`.
fn is_set_by_server(assignments: &[u8]) -> bool {
    assignments.split(|byte| *byte == b',').all(|each| {
        let names: [&[u8]; 3] = [b"timestamp=", b"insert_id=", b"last_insert_id="];
        let value = names.iter().find_map(|name| each.strip_prefix(*name));
        value.is_some_and(|value| !value.is_empty() && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'))
    })
}

/// The sampling of a line such as `# Log_slow_rate_type: query  Log_slow_rate_limit: 100`, after its first colon.
fn sampling(value: &[u8]) -> Option<Sampling> {
    let limit = memmem::find(value, b"Log_slow_rate_limit:")?;
    let one_of = number(first_word(&value[limit + 20..]).0).filter(|one_of| *one_of > 1)?;
    let by = if value[..limit].trim_ascii() == b"session" { SampledBy::Session } else { SampledBy::Query };
    Some(Sampling { one_of, by })
}

/// The first word of a text, and what follows it.
fn first_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    text.split_at(memchr(b' ', text).unwrap_or(text.len()))
}

/// The number of a session, or a count.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.len() > 12 { std::str::from_utf8(digits).ok()?.parse().ok() } else { timestamp::number(digits).map(|n| n as u64) }
}

/// The name of a schema from the line `use`, without the backticks that MariaDB writes.
pub(super) fn unquoted(name: &[u8]) -> Vec<u8> {
    match name.trim_ascii() {
        [b'`', inner @ .., b'`'] => {
            let mut name = Vec::with_capacity(inner.len());
            for byte in inner {
                // A backtick in a name is written twice.
                if *byte == b'`' && name.last() == Some(&b'`') {
                    continue;
                }
                name.push(*byte);
            }
            name
        }
        name => name.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(lines: &[&str]) -> Header {
        let mut header = Header::default();
        for line in lines {
            assert_eq!(header.take(line.as_bytes()), Kind::Header, "{line}");
        }
        header
    }

    #[test]
    fn a_user_may_be_called_anything() {
        let header = header(&["# User@Host: Id: 7[x] # Id: 9 @ [] @ localhost []  Id:    24"]);
        assert_eq!(header.thread, Some(24));
    }

    #[test]
    fn lines_at_the_top_of_a_file_are_known() {
        let mut header = Header::default();
        let line = b"/usr/sbin/mysqld, Version: 9.7.4 (MySQL Community Server - GPL). started with:";
        assert_eq!(header.take(line), Kind::Top(Some("9.7.4".into())));
        assert_eq!(header.take(b"Tcp port: 3306  Unix socket: /tmp/mysql.sock"), Kind::Top(None));
        assert_eq!(header.take(b"Time                 Id Command    Argument"), Kind::Top(None));
        assert_eq!(header.take(b"select 1"), Kind::Other);
    }

    #[test]
    fn schemas_lose_their_backticks() {
        assert_eq!(unquoted(b"`a``b`"), b"a`b");
        assert_eq!(unquoted(b"t"), b"t");
    }

    #[test]
    fn numbers_may_have_as_many_digits_as_the_server_writes() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!((number(b"18446744073709551616"), number(b"-1"), number(b"")), (None, None, None));
    }
}
