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

/// How many bytes of a log are read to detect its kind.
const TOP: u64 = 1 << 20;

/// The logs that a capture is made from.
#[derive(Debug, Default)]
pub struct Logs {
    slow: Option<(PathBuf, File)>,
    general: Option<(PathBuf, File)>,
    /// Their total size in bytes.
    pub bytes: u64,
    /// The recorded times of a single log.
    times: Option<LogTimes>,
}

impl Logs {
    /// Open logs, and detect the kind of each. `times` is a file with recorded times for a single log.
    ///
    /// # Errors
    /// A file cannot be read, a log has no entry in its first MiB, two logs are of the same kind, or `times` is given
    /// without exactly one log.
    pub fn open(paths: &[PathBuf], times: Option<&Path>) -> Result<Self> {
        if times.is_some() && paths.len() != 1 {
            return Err(Error::user("--times works with a single log only", "Name one log"));
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

    /// Pass all entries to `take`: those of one log in its order, those of two logs merged by time. Return the kinds
    /// of the logs, such as `slow+general`, and the facts about them.
    ///
    /// # Errors
    /// A log cannot be read, or `take` fails.
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

/// Merge a slow log and a general log. The statements of a session that is in the slow log come from the slow log,
/// because it has durations. The statements of all other sessions, such as those that began before the slow log was
/// switched on, and the beginnings and ends of sessions come from the general log.
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

/// The sessions with statements in a slow log, and how many microseconds the server's time zone is ahead of UTC (0 if unknown).
fn threads(slow: &File) -> io::Result<(HashSet<u64>, i64)> {
    let (mut log, mut threads) = (SlowLog::new(slow), HashSet::new());
    while let Some(Entry { thread, event, .. }) = log.next_entry()? {
        if matches!(event, Event::Statement(_)) {
            threads.insert(thread);
        }
    }
    Ok((threads, log.about().zone.unwrap_or(0)))
}

/// When an entry of a slow log was written: at the end of its statement.
fn end_of(entry: &Entry<'_>) -> i64 {
    let duration = match &entry.event {
        Event::Statement(statement) => statement.figures.duration,
        _ => None,
    };
    entry.start + duration.unwrap_or(0)
}

/// The time by which an entry of a general log is merged. If times are to the second, the end of a session comes last
/// in its second.
fn due(entry: &Entry<'_>, zone: i64) -> i64 {
    let is_end = matches!(entry.event, Event::Command { name: b"Quit" | b"Change user", .. });
    let late = if is_end && entry.clock == Clock::Second { SECOND } else { 0 };
    entry.start - zone_of(entry, zone) + late
}

/// How far the time of an entry is ahead of UTC. Servers that write times to the second write them in their own time zone.
fn zone_of(entry: &Entry<'_>, zone: i64) -> i64 {
    if entry.clock == Clock::Second { zone } else { 0 }
}
