//! A server's counters before and after a capture, read from files that `dialin capture counters` writes.

use crate::errors::{Error, Result};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;

/// The name of the format.
pub const SCHEMA: &str = "dialin/capture-counters/1";

/// The counters of a server at one time.
#[derive(Clone, Debug, Deserialize)]
pub struct Counters {
    /// [`SCHEMA`].
    pub schema: String,
    /// The server's version.
    pub server: String,
    /// When they were read, by the server's clock, in seconds since 1970.
    pub time: f64,
    /// `Questions`.
    pub questions: u64,
    /// `Uptime`, in seconds.
    pub uptime: u64,
    /// The server's SQL mode.
    pub sql_mode: String,
    /// The server's time zone.
    pub time_zone: String,
    /// Counts by digest; None if the performance schema is off.
    pub digests: Option<Vec<ServerDigest>>,
}

/// A digest of the performance schema.
#[derive(Clone, Debug, Deserialize)]
pub struct ServerDigest {
    /// The default schema.
    pub schema_name: Option<String>,
    /// `DIGEST_TEXT`; None for the row that counts all digests for which the table has no room.
    pub digest_text: Option<String>,
    /// `COUNT_STAR`.
    pub count: u64,
}

/// Two readings of one server's counters.
#[derive(Clone, Debug)]
pub struct Difference {
    before: Counters,
    after: Counters,
}

impl Difference {
    /// Read both files.
    ///
    /// # Errors
    /// A file cannot be read or has another format, the files are in the wrong order, or the server was restarted between the
    /// two readings.
    pub fn read(before: &Path, after: &Path) -> Result<Self> {
        let difference = Self { before: read(before)?, after: read(after)? };
        let (first, last) = (&difference.before, &difference.after);
        let up_for_longer = last.uptime as f64 + 1.5 >= first.uptime as f64 + (last.time - first.time);
        if first.time > last.time || first.questions > last.questions || !up_for_longer {
            return Err(Error::user(
                format!(
                    "{} and {} are not readings from before and after on one server that was not restarted in between",
                    before.display(),
                    after.display()
                ),
                "Name the earlier file first; a server's counters start at 0 when it starts",
            ));
        }
        Ok(difference)
    }

    /// The times of the two readings, in microseconds since 1970.
    #[must_use]
    pub fn times(&self) -> std::ops::RangeInclusive<i64> {
        let microseconds = |time: f64| (time * 1e6) as i64;
        microseconds(self.before.time)..=microseconds(self.after.time)
    }

    /// The second reading.
    #[must_use]
    pub fn after(&self) -> &Counters {
        &self.after
    }

    /// How many questions the server counted between the readings.
    #[must_use]
    pub fn questions(&self) -> u64 {
        self.after.questions - self.before.questions
    }

    /// How many statements the server counted between the readings, by digest text; None if it does not count them.
    #[must_use]
    pub fn digests(&self) -> Option<Vec<(&str, u64)>> {
        let mut before: HashMap<_, u64> = HashMap::new();
        for each in self.before.digests.as_ref()? {
            *before.entry((&each.schema_name, &each.digest_text)).or_default() += each.count;
        }
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for each in self.after.digests.as_ref()? {
            // Several rows can have the same text. The earlier count is subtracted from the first of them; what
            // exceeds its count is subtracted from the next one.
            let old = before.get_mut(&(&each.schema_name, &each.digest_text));
            let taken = old.map_or(0, |old| {
                let taken = each.count.min(*old);
                *old -= taken;
                taken
            });
            if let Some(text) = &each.digest_text {
                *counts.entry(text).or_default() += each.count - taken;
            }
        }
        Some(counts.into_iter().filter(|(_, count)| *count > 0).collect())
    }
}

fn read(path: &Path) -> Result<Counters> {
    let remedy = "Write such files with: dialin capture counters";
    let text = std::fs::read(path).map_err(|error| Error::user(format!("{}: {error}", path.display()), remedy))?;
    match serde_json::from_slice::<Counters>(&text) {
        Ok(counters) if counters.schema == SCHEMA => Ok(counters),
        Ok(_) => Err(Error::user(format!("{} has another format than {SCHEMA}", path.display()), remedy)),
        Err(error) => Err(Error::user(format!("{} has no counters: {error}", path.display()), remedy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: Option<&str>, count: u64) -> ServerDigest {
        ServerDigest { schema_name: None, digest_text: text.map(str::to_owned), count }
    }

    fn counters(questions: u64, digests: Vec<ServerDigest>) -> Counters {
        let text = format!(
            r#"{{"schema":"{SCHEMA}","server":"9.7.4","time":1.5,"questions":{questions},"uptime":9,"sql_mode":"","time_zone":"UTC","digests":null}}"#
        );
        Counters { digests: Some(digests), ..serde_json::from_str(&text).unwrap() }
    }

    #[test]
    fn what_was_counted_before_is_taken_off() {
        let before = counters(10, vec![digest(Some("SELECT ?"), 4), digest(None, 7), digest(Some("COMMIT"), 1)]);
        let now = vec![digest(Some("SELECT ?"), 9), digest(None, 8), digest(Some("BEGIN"), 2), digest(Some("COMMIT"), 1)];
        let difference = Difference { before, after: counters(25, now) };
        let mut digests = difference.digests().unwrap();
        digests.sort_unstable();
        assert_eq!((difference.questions(), digests), (15, vec![("BEGIN", 2), ("SELECT ?", 5)]));
    }
}
