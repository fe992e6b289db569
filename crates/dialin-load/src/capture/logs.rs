//! The logs of one server: a slow log, a general log, or both.

use super::entry::{About, Entry, Event, Lack};
use super::general_log::{Columns, GeneralLog};
use super::line_ends::{UnixLines, is_windows};
use super::log_times::LogTimes;
use super::other_files;
use super::slow_log::SlowLog;
use super::timestamp::{Clock, SECOND};
use crate::errors::{Error, Result};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How many bytes of a log are read to detect its kind.
const TOP: u64 = 1 << 20;
/// The bytes that some editors write at the beginning of a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The logs that a capture is made from.
#[derive(Debug, Default)]
pub struct Logs {
    slow: Option<Log>,
    general: Option<(Log, Columns)>,
    /// Their total size in bytes.
    pub bytes: u64,
    /// The recorded times of a single log.
    times: Option<LogTimes>,
}

/// A log that was opened.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: File,
    /// The position of its first line.
    begin: u64,
    is_windows: bool,
    /// What its first entry lacks.
    lack: Option<Lack>,
}

/// The kind of a log.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Slow,
    General(Columns),
}

impl Log {
    /// Read it from its beginning.
    fn read(mut self) -> io::Result<UnixLines<File>> {
        self.file.seek(SeekFrom::Start(self.begin))?;
        Ok(UnixLines::new(self.file, self.is_windows))
    }
}

impl Logs {
    /// Open logs, and detect the kind of each. `times` is a file with recorded times for a single log.
    ///
    /// # Errors
    /// A file cannot be read, a log has no entry in its first MiB, two logs are of the same kind, the entries of two logs cannot
    /// be matched, or `times` is given without exactly one log.
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
            let text = top.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&top);
            let begin = (top.len() - text.len()) as u64;
            let is_windows = is_windows(text);
            let Some((kind, lack)) = kind_of(text, is_windows) else {
                let (what, remedy) = other_files::describe(text);
                let name = path.display().to_string();
                return Err(Error::user(format!("{name} {what}"), remedy.replace("FILE", &name)));
            };
            let log = Log { path: path.clone(), file, begin, is_windows, lack };
            let other = match kind {
                Kind::Slow => logs.slow.replace(log),
                Kind::General(columns) => logs.general.replace((log, columns)).map(|(log, _)| log),
            };
            if let Some(Log { path: other, .. }) = other {
                let what = format!("{} and {} are logs of the same kind", other.display(), path.display());
                return Err(Error::user(what, "Name one slow log, one general log, or one of each"));
            }
        }
        logs.check_match()?;
        Ok(logs)
    }

    /// Make sure that the statements of a slow log can be found in the general log.
    fn check_match(&self) -> Result<()> {
        let (Some(Log { path, lack: Some(lack), .. }), Some(_)) = (&self.slow, &self.general) else { return Ok(()) };
        let lacking = match lack {
            Lack::Sessions => "session numbers",
            Lack::Times => "times",
        };
        let what = format!("{} has no {lacking}: its statements cannot be found in the general log", path.display());
        Err(Error::user(what, "Name the general log alone"))
    }

    /// Pass all entries to `take`: those of one log in its order, those of two logs merged by time. Return the kinds
    /// of the logs, such as `slow+general`, and the facts about them.
    ///
    /// # Errors
    /// A log cannot be read, or `take` fails.
    pub fn play(self, mut take: impl FnMut(&Entry<'_>) -> io::Result<()>) -> io::Result<(&'static str, About)> {
        match (self.slow, self.general) {
            (Some(slow), Some((general, columns))) => both(slow, general, columns, take),
            (Some(slow), None) => {
                let mut log = SlowLog::new(slow.read()?).timed_by(self.times);
                while let Some(entry) = log.next_entry()? {
                    take(&entry)?;
                }
                Ok((if log.about().has_errors { "slow+extra" } else { "slow" }, log.about().clone()))
            }
            (None, Some((general, columns))) => {
                let mut log = GeneralLog::new(general.read()?, columns).timed_by(self.times);
                while let Some(entry) = log.next_entry()? {
                    take(&entry)?;
                }
                Ok(("general", log.about().clone()))
            }
            (None, None) => Ok(("none", About::default())),
        }
    }
}

/// The kind of a log that begins with `top`, and what its first entry lacks; None if it is no log.
///
/// A statement may contain the text of another log: the log is of the kind whose first entry comes first.
fn kind_of(top: &[u8], is_windows: bool) -> Option<(Kind, Option<Lack>)> {
    let lines = || UnixLines::new(top, is_windows);
    let is_part = top.len() as u64 == TOP;
    // An entry whose end is not in the first MiB is one, too. What it lacks is seen later.
    let first = |lack: Option<Option<Lack>>, about: &About| {
        let lack = lack.or_else(|| (is_part && about.unread.cut_off > 0).then_some(None));
        lack.map(|lack| (about.unread.skipped_bytes, lack))
    };
    let slow = {
        let mut log = SlowLog::new(lines());
        let lack = log.next_entry().ok().flatten().map(|entry| entry.place().err());
        first(lack, log.about()).map(|(skipped, lack)| (skipped, (Kind::Slow, lack)))
    };
    let general = |columns| {
        let mut log = GeneralLog::new(lines(), columns);
        let lack = log.next_entry().ok().flatten().map(|entry| entry.place().err());
        first(lack, log.about()).map(|(skipped, lack)| (skipped, (Kind::General(columns), lack)))
    };
    let strict = slow.into_iter().chain(general(Columns::Tabs)).min_by_key(|(skipped, _)| *skipped);
    strict.or_else(|| general(Columns::Blanks)).map(|(_, kind)| kind)
}

/// Merge a slow log and a general log. The statements of a session that is in the slow log come from the slow log,
/// because it has durations. The statements of all other sessions, such as those that began before the slow log was
/// switched on, and the beginnings and ends of sessions come from the general log.
fn both(
    slow: Log,
    general: Log,
    columns: Columns,
    mut take: impl FnMut(&Entry<'_>) -> io::Result<()>,
) -> io::Result<(&'static str, About)> {
    let (threads, zone) = threads(Log { file: slow.file.try_clone()?, path: PathBuf::new(), ..slow })?;
    let (mut slow, mut general) = (SlowLog::new(slow.read()?), GeneralLog::new(general.read()?, columns));
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
            let is_in_slow = entry.thread.is_some_and(|thread| threads.contains(&thread));
            if !(matches!(entry.event, Event::Statement(_)) && is_in_slow) {
                let start = entry.start.map(|start| start - zone_of(entry, zone));
                take(&Entry { start, ..entry.clone() })?;
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
fn threads(slow: Log) -> io::Result<(HashSet<u64>, i64)> {
    let (mut log, mut threads) = (SlowLog::new(slow.read()?), HashSet::new());
    while let Some(Entry { thread, event, .. }) = log.next_entry()? {
        if matches!(event, Event::Statement(_)) {
            threads.extend(thread);
        }
    }
    Ok((threads, log.about().zone.unwrap_or(0)))
}

/// When an entry of a slow log was written: at the end of its statement. None, which comes first, if the log has no time.
fn end_of(entry: &Entry<'_>) -> Option<i64> {
    let duration = match &entry.event {
        Event::Statement(statement) => statement.figures.duration,
        _ => None,
    };
    entry.start.map(|start| start + duration.unwrap_or(0))
}

/// The time by which an entry of a general log is merged. If times are to the second, the end of a session comes last
/// in its second.
fn due(entry: &Entry<'_>, zone: i64) -> Option<i64> {
    let is_end = matches!(entry.event, Event::Command { name: b"Quit" | b"Change user", .. });
    let late = if is_end && entry.clock == Clock::Second { SECOND } else { 0 };
    entry.start.map(|start| start - zone_of(entry, zone) + late)
}

/// How far the time of an entry is ahead of UTC. Servers that write times to the second write them in their own time zone.
fn zone_of(entry: &Entry<'_>, zone: i64) -> i64 {
    if entry.clock == Clock::Second { zone } else { 0 }
}
