//! The header lines above a statement in a slow log of MySQL or MariaDB.

use super::entry::{Figures, banner, is_below_banner};
use super::timestamp::{self, Clock};

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
    /// The schema that MariaDB writes in every header; empty if there is none.
    pub(super) schema: Option<Vec<u8>>,
    pub(super) figures: Figures,
    pub(super) bytes_received: Option<u64>,
    pub(super) bytes_sent: Option<u64>,
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
    /// A line at the top of a file. The first of these has the server's version.
    Top(Option<String>),
    /// Any other line: the statement, or text that belongs to no entry.
    Other,
}

impl Header {
    /// Read a line, without its line end, and return its kind.
    pub(super) fn take(&mut self, line: &[u8]) -> Kind {
        match line {
            [b'#', rest @ ..] => {
                self.comment(rest);
                Kind::Header
            }
            [b'S', b'E', b'T', b' ', rest @ ..] if self.has_figures && line.ends_with(b";") => {
                match memchr::memmem::find(rest, b"timestamp=") {
                    Some(at) => {
                        self.timestamp = timestamp::seconds(&rest[at + 10..rest.len() - 1]);
                        Kind::Last
                    }
                    None => Kind::Other,
                }
            }
            [b'u', b's', b'e', b' ', schema @ .., b';'] if self.has_figures => {
                self.used = Some(unquoted(schema));
                Kind::Header
            }
            _ => match banner(line) {
                Some(version) => Kind::Top(Some(version)),
                None if is_below_banner(line) => Kind::Top(None),
                None => Kind::Other,
            },
        }
    }

    fn comment(&mut self, line: &[u8]) {
        if let Some(fields) = line.strip_prefix(b" Query_time: ") {
            self.has_figures = true;
            self.figures.duration = fields.split(|byte| *byte == b' ').next().and_then(timestamp::seconds);
            self.fields(fields);
        } else if let Some(text) = line.strip_prefix(b" Time: ") {
            let text = text.trim_ascii();
            let exact = timestamp::iso(text).map(|at| (at, Clock::Microsecond));
            self.end = exact.or_else(|| timestamp::short(text).map(|at| (at, Clock::Second)));
        } else if line.starts_with(b" User@Host: ") {
            // A user name may contain `Id:`. The number is the last thing on the line.
            if let Some(at) = memchr::memmem::rfind(line, b"Id:") {
                self.thread = number(line[at + 3..].trim_ascii());
            }
        } else if let Some(fields) = line.strip_prefix(b" Thread_id: ") {
            self.is_mariadb = true;
            let end = fields.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(fields.len());
            self.thread = number(&fields[..end]);
            if let Some(schema) = fields[end..].strip_prefix(b"  Schema: ") {
                let end = memchr::memmem::rfind(schema, b"  QC_hit: ").unwrap_or(schema.len());
                self.schema = Some(schema[..end].to_vec());
            }
        } else if line.starts_with(b" Rows_affected: ") {
            self.fields(line);
        } else if line.starts_with(b" Stored_routine: ") {
            self.in_routine = true;
        }
    }

    /// Read the pairs of a name and a value.
    fn fields(&mut self, line: &[u8]) {
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        while let Some(name) = words.next() {
            if !name.ends_with(b":") {
                continue;
            }
            let to = match name {
                b"Rows_sent:" => &mut self.figures.rows_sent,
                b"Rows_examined:" => &mut self.figures.rows_examined,
                b"Rows_affected:" => &mut self.figures.rows_affected,
                b"Errno:" => &mut self.figures.error,
                b"Thread_id:" => &mut self.thread,
                b"Bytes_received:" => &mut self.bytes_received,
                b"Bytes_sent:" => &mut self.bytes_sent,
                b"Start:" => {
                    self.start = words.next().and_then(timestamp::iso);
                    continue;
                }
                _ => continue,
            };
            if let Some(value) = words.next().and_then(number) {
                *to = Some(value);
            }
        }
    }

    /// When the statement began, and the resolution of that time.
    pub(super) fn begin(&self) -> Option<(i64, Clock)> {
        let exact = |at| (at, Clock::Microsecond);
        self.start.map(exact).or(match self.end {
            Some((end, Clock::Microsecond)) => Some(exact(end - self.figures.duration.unwrap_or(0))),
            local => self.timestamp.map(|at| (at, Clock::Second)).or(local),
        })
    }
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
