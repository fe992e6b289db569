//! Makes a capture from logs: a directory that only its owner can read, with `statements.zst` and `summary.json`.

use super::class::Obstacle;
use super::counters::Difference;
use super::format::{self, Header, SessionStarts};
use super::logs::Logs;
use super::open_sessions;
use super::packed::{RecordWriter, create};
use super::recorder::{Recorder, Source};
use super::session_state::Start;
use super::start_state::Starts;
use super::summary::Summary;
use super::timestamp::Clock;
use crate::errors::{Error, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// The file with the statements of a capture.
pub const STATEMENTS: &str = "statements.zst";
/// The file with the summary of a capture.
pub const SUMMARY: &str = "summary.json";

/// What to make a capture from, and where.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// A slow log, a general log, or both.
    pub logs: Vec<PathBuf>,
    /// A file with the length of the log over time, for a single log with times to the second.
    pub times: Option<PathBuf>,
    /// The files with the server's counters, before and after.
    pub counters: Option<(PathBuf, PathBuf)>,
    /// The file with the sessions that were open when the log began, as `dialin capture start` writes it.
    pub sessions: Option<PathBuf>,
    /// Whether autocommit was on when sessions began of which neither the log nor `sessions` says it; None to infer it.
    pub autocommit: Option<bool>,
    /// The directory to create.
    pub out: PathBuf,
    /// Whether to write the summary only, without the statements.
    pub forget_text: bool,
}

/// The first line of a capture.
#[derive(Serialize)]
struct FirstLine<'a> {
    #[serde(flatten)]
    header: &'a Header,
    starts: &'a SessionStarts,
    /// Statements that are not in the capture because they are not replayed, by the reason.
    dropped: &'a BTreeMap<Obstacle, u64>,
}

/// Make a capture, and return its summary.
///
/// # Errors
/// A log or the counters cannot be read or have another format, or the capture cannot be written. A partial capture is removed.
pub fn capture(request: &Request) -> Result<Summary> {
    let logs = Logs::open(&request.logs, request.times.as_deref())?;
    let counters = request.counters.as_ref().map(|(before, after)| Difference::read(before, after)).transpose()?;
    if counters.as_ref().is_some_and(|counters| counters.after().sql_mode.contains("NO_BACKSLASH_ESCAPES")) {
        return Err(Error::user(
            "The server runs with sql_mode NO_BACKSLASH_ESCAPES, in which a backslash does not escape a quote",
            "Logs of such servers cannot be captured",
        ));
    }
    let decided = request.autocommit.map(|is_on| if is_on { Start::On } else { Start::Off });
    let mut starts = request.sessions.as_deref().map(open_sessions::read).transpose()?.unwrap_or_default();
    starts.decided = decided;
    let out = &request.out;
    let unwritable =
        |error: io::Error| Error::user(format!("{} cannot be written: {error}", out.display()), "Name another --out");
    DirBuilder::new().mode(0o700).create(out).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::user(format!("{} exists", out.display()), "Name another --out, or remove it"),
        _ => unwritable(error),
    })?;
    write(request, logs, counters.as_ref(), starts).map_err(|error| {
        let _ = fs::remove_dir_all(out);
        unwritable(error)
    })
}

fn write(request: &Request, logs: Logs, counters: Option<&Difference>, starts: Starts) -> io::Result<Summary> {
    let out = &request.out;
    let log_bytes = logs.bytes;
    let mut recorder = Recorder::new(counters.map(Difference::times), starts);
    let mut packed = RecordWriter::begin((!request.forget_text).then_some(out.as_path()))?;
    let (source, about) = logs.play(|entry| {
        recorder.take(entry, &mut packed.records);
        packed.flush_if_full()
    })?;
    let after = counters.map(Difference::after);
    let header = Header {
        schema: format::SCHEMA.into(),
        server: after.map(|after| after.server.clone()).or(about.server),
        source: source.into(),
        clock: about.clock.map(|clock| match clock {
            Clock::Second => "second",
            Clock::Microsecond => "microsecond",
        }),
        lack: recorder.lack(),
        sampling: about.sampling,
        sql_mode: after.map(|after| after.sql_mode.clone()),
        time_zone: after.map(|after| after.time_zone.clone()),
        questions: counters.map(Difference::questions),
        statements: recorder.statements(),
    };
    let (starts, dropped) = recorder.end_log();
    let mut line = serde_json::to_vec(&FirstLine { header: &header, starts: &starts, dropped: &dropped })?;
    line.push(b'\n');
    packed.finish(&out.join(STATEMENTS), &line)?;
    let digests = counters.and_then(Difference::digests);
    digests.iter().flatten().for_each(|(text, count)| recorder.count_on_server(text.as_bytes(), *count));
    let summary = recorder.finish(header, &Source { log_bytes, has_server_digests: digests.is_some(), unread: about.unread });
    // The summary is written last, so a capture that has one is complete.
    let mut text = serde_json::to_vec(&summary)?;
    text.push(b'\n');
    let mut file = create(&out.join(SUMMARY))?;
    file.write_all(&text)?;
    file.sync_all()?;
    Ok(summary)
}
