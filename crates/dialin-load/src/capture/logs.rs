//! The logs of one server: a slow log, a general log, or both.

use super::entry::{About, Entry, Event};
use super::general_log::GeneralLog;
use super::log_times::LogTimes;
use super::slow_log::SlowLog;
use super::timestamp::{Clock, SECOND};
use crate::errors::{Error, Result};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How much of a log is looked at to find out which kind it is.
const TOP: u64 = 1 << 20;

/// Logs that are open.
#[derive(Debug, Default)]
pub struct Logs {
    slow: Option<(PathBuf, File)>,
    general: Option<(PathBuf, File)>,
    /// How many bytes they have.
    pub bytes: u64,
    /// The times of a single log.
    times: Option<LogTimes>,
}

impl Logs {
    /// Open logs, and find out which kind each is.
    ///
    /// # Errors
    /// One cannot be read, or has no entry; or two are of a kind.
    pub fn open(paths: &[PathBuf], times: Option<&Path>) -> Result<Self> {
        if times.is_some() && paths.len() != 1 {
            return Err(Error::user("--times is about one log", "Name one log"));
        }
        let mut logs = Self { times: times.map(LogTimes::open).transpose()?, ..Self::default() };
        for path in paths {
            let unreadable =
                |error: io::Error| Error::user(format!("{}: {error}", path.display()), "Name a log that you may read");
            let mut file = File::open(path).map_err(unreadable)?;
            logs.bytes += file.metadata().map_err(unreadable)?.len();
            let mut top = Vec::new();
            file.by_ref().take(TOP).read_to_end(&mut top).map_err(unreadable)?;
            file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
            let place = if matches!(SlowLog::new(&top[..]).next_entry(), Ok(Some(_))) {
                &mut logs.slow
            } else if matches!(GeneralLog::new(&top[..]).next_entry(), Ok(Some(_))) {
                &mut logs.general
            } else {
                let remedy = "Name a slow log or a general log of MySQL or MariaDB, not compressed";
                return Err(Error::user(format!("{} has no entry of a slow log or a general log", path.display()), remedy));
            };
            if let Some((other, _)) = place.replace((path.clone(), file)) {
                let what = format!("{} and {} are logs of the same kind", other.display(), path.display());
                return Err(Error::user(what, "Name one slow log, one general log, or one of each"));
            }
        }
        Ok(logs)
    }

    /// Give all entries, of one log in its order, of two by time; which logs they were, and what is known of them.
    ///
    /// # Errors
    /// A log cannot be read, or the entry cannot be taken.
    pub fn play(self, mut take: impl FnMut(&Entry<'_>) -> io::Result<()>) -> io::Result<(&'static str, About)> {
        match (self.slow.map(|(_, file)| file), self.general.map(|(_, file)| file)) {
            (Some(slow), Some(general)) => both(slow, general, take),
            (Some(slow), None) => {
                let mut log = SlowLog::new(slow).timed_by(self.times);
                while let Some(entry) = log.next_entry()? {
                    take(&entry)?;
                }
                Ok((if log.about().has_errors { "slow+extra" } else { "slow" }, log.about().clone()))
            }
            (None, Some(general)) => {
                let mut log = GeneralLog::new(general).timed_by(self.times);
                while let Some(entry) = log.next_entry()? {
                    take(&entry)?;
                }
                Ok(("general", log.about().clone()))
            }
            (None, None) => Ok(("none", About::default())),
        }
    }
}

/// Give the statements of sessions that the slow log has from there, which knows what they took; from the general log the
/// statements of all other sessions, such as those that were open before the slow log was on, and when sessions begin and end.
fn both(
    mut slow: File,
    general: File,
    mut take: impl FnMut(&Entry<'_>) -> io::Result<()>,
) -> io::Result<(&'static str, About)> {
    let (threads, zone) = threads(&slow)?;
    slow.seek(SeekFrom::Start(0))?;
    let (mut slow, mut general) = (SlowLog::new(slow), GeneralLog::new(general));
    let mut of_slow = slow.next_entry()?;
    let mut of_general = general.next_entry()?;
    loop {
        let slow_is_next = match (&of_slow, &of_general) {
            (None, None) => break,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(statement), Some(other)) => end_of(statement) < due(other, zone),
        };
        if let (true, Some(entry)) = (slow_is_next, &of_slow) {
            // The general log has all other commands.
            if matches!(entry.event, Event::Statement(_)) {
                take(entry)?;
            }
            of_slow = slow.next_entry()?;
        } else if let Some(entry) = &of_general {
            if !(matches!(entry.event, Event::Statement(_)) && threads.contains(&entry.thread)) {
                take(&Entry { start: entry.start - zone_of(entry, zone), ..entry.clone() })?;
            }
            of_general = general.next_entry()?;
        }
    }
    let (first, second) = (slow.about(), general.about());
    let mut about = first.clone();
    about.server = about.server.or_else(|| second.server.clone());
    about.clock = first.clock.into_iter().chain(second.clock).min();
    about.unread.skipped_bytes += second.unread.skipped_bytes;
    about.unread.cut_off += second.unread.cut_off;
    about.unread.too_long += second.unread.too_long;
    Ok((if about.has_errors { "slow+extra+general" } else { "slow+general" }, about))
}

/// The sessions with statements in a slow log, and the time zone of the server.
fn threads(slow: &File) -> io::Result<(HashSet<u64>, i64)> {
    let (mut log, mut threads) = (SlowLog::new(slow), HashSet::new());
    while let Some(Entry { thread, event, .. }) = log.next_entry()? {
        if matches!(event, Event::Statement(_)) {
            threads.insert(thread);
        }
    }
    Ok((threads, log.about().zone.unwrap_or(0)))
}

/// When a slow log has an entry.
fn end_of(entry: &Entry<'_>) -> i64 {
    let duration = match &entry.event {
        Event::Statement(statement) => statement.figures.duration,
        _ => None,
    };
    entry.start + duration.unwrap_or(0)
}

/// When an entry of a general log is due: where times are to the second, the end of a session comes last in its second.
fn due(entry: &Entry<'_>, zone: i64) -> i64 {
    let is_end = matches!(entry.event, Event::Command { name: b"Quit" | b"Change user", .. });
    let late = if is_end && entry.clock == Clock::Second { SECOND } else { 0 };
    entry.start - zone_of(entry, zone) + late
}

/// Servers that write times to the second write them in their own time zone.
fn zone_of(entry: &Entry<'_>, zone: i64) -> i64 {
    if entry.clock == Clock::Second { zone } else { 0 }
}
