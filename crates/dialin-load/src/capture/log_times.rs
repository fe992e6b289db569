//! The length of a log over time, which dialin recorded while the server wrote the log. It shows when the entries of a log with
//! times to the second were written.
//!
//! A line holds a time, in microseconds since 1970, and the length of the log in bytes. Between two lines the log is
//! assumed to grow evenly.

use crate::errors::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Reads the recorded times while the log is read.
#[derive(Debug)]
pub struct LogTimes<R = BufReader<File>> {
    from: R,
    line: String,
    /// Time and length of the two lines that were read last.
    before: (i64, u64),
    now: (i64, u64),
}

impl LogTimes {
    /// Open the file with the times.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)
            .map_err(|error| Error::user(format!("{}: {error}", path.display()), "Name a file of times that you may read"))?;
        Ok(Self::new(BufReader::new(file)))
    }
}

impl<R: BufRead> LogTimes<R> {
    /// Read the times from lines of text.
    pub fn new(from: R) -> Self {
        Self { from, line: String::new(), before: (0, 0), now: (0, 0) }
    }

    /// The time at which the log reached a length, in microseconds since 1970; None if the lines do not show it.
    ///
    /// `length` must not be less than in the previous call.
    pub fn at(&mut self, length: u64) -> Option<i64> {
        while self.now.1 < length {
            let next = self.next_line()?;
            self.before = if self.now.0 == 0 { (next.0, 0) } else { self.now };
            self.now = next;
        }
        let ((from, shorter), (until, longer)) = (self.before, self.now);
        let grown = longer.checked_sub(shorter).filter(|grown| *grown > 0)?;
        let share = length.saturating_sub(shorter) as f64 / grown as f64;
        Some(from + ((until - from) as f64 * share) as i64)
    }

    /// The time and length in the next line; None at the end of the file and for any other line.
    fn next_line(&mut self) -> Option<(i64, u64)> {
        self.line.clear();
        // If a line cannot be read, the caller uses the times in the log itself.
        self.from.read_line(&mut self.line).ok()?;
        let (at, length) = self.line.trim_end().split_once(' ')?;
        Some((at.parse().ok()?, length.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_grows_evenly_between_two_looks() {
        let mut times = LogTimes::new(&b"1000 0\n2000 100\n9000 100\n10000 300\n"[..]);
        let found: Vec<_> = [50, 100, 101, 200, 300, 301].map(|length| times.at(length)).to_vec();
        assert_eq!(found, [Some(1_500), Some(2_000), Some(9_005), Some(9_500), Some(10_000), None]);
    }

    #[test]
    fn the_first_look_may_see_a_log_that_has_something() {
        let mut times = LogTimes::new(&b"2000 100\nnothing\n3000 200\n"[..]);
        assert_eq!([times.at(10), times.at(100), times.at(150)], [Some(2_000), Some(2_000), None]);
    }
}
