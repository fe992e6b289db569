//! How long a log was at which time, as dialin noted it while the log was written: when entries ended whose log has times to the
//! second only.
//!
//! A line holds a time, in microseconds since 1970, and a length in bytes. Between two lines the log grew evenly, as far as anybody
//! knows.

use crate::errors::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Reads the times of a log along with the log.
#[derive(Debug)]
pub struct LogTimes<R = BufReader<File>> {
    from: R,
    line: String,
    before: (i64, u64),
    now: (i64, u64),
}

impl LogTimes {
    /// Open the file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)
            .map_err(|error| Error::user(format!("{}: {error}", path.display()), "Name a file of times that you may read"))?;
        Ok(Self::new(BufReader::new(file)))
    }
}

impl<R: BufRead> LogTimes<R> {
    /// Read lines.
    pub fn new(from: R) -> Self {
        Self { from, line: String::new(), before: (0, 0), now: (0, 0) }
    }

    /// When the log had so many bytes, which are never fewer than in the call before; None where no line says.
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

    /// None at the end, and where the file holds anything else.
    fn next_line(&mut self) -> Option<(i64, u64)> {
        self.line.clear();
        // A line that cannot be read ends the times; the log has its own.
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
