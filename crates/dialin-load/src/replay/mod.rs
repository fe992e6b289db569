//! Replays captures: turns a capture into an ordered schedule, which connections play.
//!
//! A capture is read once before the replay, to count its sessions and transactions ([`Facts`]), and again while it
//! is played. A capture whose log may lack BEGINs is read once more, before these. Apart from a few bytes
//! for each session and for each INSERT that took an `AUTO_INCREMENT` value, memory does not grow with the capture: the
//! reading thread is ahead of the replay by a limited number of bytes.

mod accesses;
mod auto_increment;
mod backups;
mod conflicts;
mod digest_properties;
mod feed;
mod footprint;
mod kinds;
mod literals;
mod missing_begins;
mod planner;
mod seats;
mod templates;
mod timeline;

pub use auto_increment::AutoIncrements;
pub use backups::{Backup, Moment};
pub use conflicts::Dependency;
pub use feed::{Batch, Feed};
pub use kinds::{Kinds, Shape};
pub use planner::{ChangedRows, DEADLOCK, Omissions, Piece, Step};
pub use templates::{Execution, Template, Templates};

use crate::capture::STATEMENTS;
use crate::capture::class::Obstacle;
use crate::capture::format::{Reader, SessionStarts, why_not_replayed};
use crate::capture::session_state::Start;
use crate::errors::{Error, Result};
use crate::net::client::Client;
use crate::net::connect::Connector;
use auto_increment::{Ids, Sequences};
use planner::{Begins, Planner, Prepared};
use seats::{Seats, Spans};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use templates::Learner;
use timeline::Timeline;

/// How fast a capture is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the order of transactions allows.
    Full,
    /// This many times as fast as it was captured.
    Times(f64),
}

/// A second, in microseconds.
const SECOND: i64 = 1_000_000;

/// What to replay, and how fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The capture's directory.
    pub directory: PathBuf,
    /// How fast.
    pub pace: Pace,
    /// Transactions that ended at this time or before, in microseconds since 1970, are left out: the data already has
    /// them. None to replay all.
    pub from: Option<i64>,
}

/// How many prepared statements a server keeps open by default (max_prepared_stmt_count), with a margin: a statement that is closed on a
/// connection that waits for an answer stays open until then.
const OPEN_STATEMENTS: usize = with_margin(16_382);

const fn with_margin(statements: usize) -> usize {
    statements - statements / 64
}

/// How many further prepared statements a server keeps open, with a margin.
///
/// # Errors
/// The server cannot be reached, or refuses the account.
pub fn read_open_statements(connector: &Connector<'_>) -> Result<usize> {
    let mut client = Client::connect(connector)?;
    let mut number = |sql: &[u8]| {
        let rows = client.rows(sql).unwrap_or_default();
        rows.first().and_then(|row| row.last()?.as_ref()?.parse::<usize>().ok())
    };
    let most = number(b"SELECT @@GLOBAL.max_prepared_stmt_count");
    let open = number(b"SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'");
    Ok(most.map_or(OPEN_STATEMENTS, |most| with_margin(most.saturating_sub(open.unwrap_or_default()))))
}

/// Facts about the replay of a capture, collected before it is played.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The largest number of sessions that were open at the same time.
    pub connections: usize,
    /// Number of sessions.
    pub sessions: usize,
    /// Number of transactions. Statements outside of transactions do not count.
    pub transactions: u64,
    /// Number of statements of the capture that are played.
    pub statements: u64,
    /// When the first statement was sent, in microseconds since 1970, but not before [`Request::from`].
    pub begin: i64,
    /// When the last statement was sent, in microseconds since 1970.
    pub end: i64,
    /// What is left out.
    pub omissions: Omissions,
    /// Backups that were taken during the capture.
    pub backups: Vec<Backup>,
    /// The `AUTO_INCREMENT` values of inserted rows.
    ids: Arc<Ids>,
    /// The kinds of its transactions.
    pub kinds: Arc<Kinds>,
    /// The most prepared statements that all connections together may keep open.
    pub open_statements: usize,
    /// The prepared statements.
    pub templates: Arc<Templates>,
    /// The numbers of the digests that begin a transaction if none is open; None if the log has every BEGIN.
    begins: Option<Arc<HashSet<usize>>>,
    /// The numbers of the sessions whose transactions no other session may execute.
    bound: Arc<HashSet<u64>>,
    seats: Seats,
}

impl Facts {
    /// Reads a capture, to be replayed on a server with these columns.
    ///
    /// # Errors
    /// Fails if the capture cannot be read, or has no transaction that can be replayed.
    pub fn of(request: &Request, columns: AutoIncrements) -> Result<Self> {
        let unreadable = |error: io::Error| unreadable(&request.directory, &error);
        let mut spans = Spans::default();
        let begins = learn_missing_begins(request).map_err(unreadable)?;
        let mut schedule =
            Schedule::open(request, Prepared::Learned(Learner::default()), begins.clone()).map_err(unreadable)?;
        if let Some((why, remedy)) = &schedule.why_not {
            return Err(Error::user(format!("{} cannot be replayed: {why}", request.directory.display()), *remedy));
        }
        schedule.planner.sequences = Sequences::learn(Arc::new(columns), request.from, schedule.uncertainty);
        let (begin, end, open_statements) = (i64::MAX, i64::MIN, OPEN_STATEMENTS);
        let mut facts = Self { begin, end, begins, open_statements, ..Self::default() };
        let mut kinds = kinds::Learner::default();
        while let Some(pieces) = schedule.next_pieces().map_err(unreadable)? {
            for (session, piece) in &pieces {
                kinds.take(*session, piece);
                match piece {
                    Piece::Begin { transaction, .. } => facts.transactions += u64::from(transaction.is_some()),
                    Piece::Step(step) if !step.is_added => {
                        facts.statements += 1;
                        facts.begin = facts.begin.min(step.start);
                        facts.end = facts.end.max(step.start);
                    }
                    _ => {}
                }
            }
            spans.take(&pieces);
        }
        facts.kinds = Arc::new(kinds.finish());
        facts.omissions = std::mem::take(&mut schedule.planner.omissions);
        for (reason, statements) in std::mem::take(&mut schedule.dropped) {
            *facts.omissions.skipped.entry(reason).or_default() += statements;
        }
        facts.backups = std::mem::take(&mut schedule.planner.backups);
        facts.bound = Arc::new(std::mem::take(&mut schedule.planner.uses_session));
        let (templates, ids) = schedule.planner.learned();
        (facts.templates, facts.ids) = (Arc::new(templates), Arc::new(ids));
        facts.seats = Seats::of(&spans);
        (facts.sessions, facts.connections) = (spans.sessions(), facts.seats.count);
        if facts.transactions == 0 {
            return Err(Error::user(
                format!("{} has no transaction that can be replayed", request.directory.display()),
                "To see what it contains, run: dialin capture show",
            ));
        }
        // Statements that were sent before the backup was taken are played immediately.
        facts.begin = facts.begin.max(request.from.unwrap_or(i64::MIN)).min(facts.end);
        Ok(facts)
    }
}

/// Learn where transactions begin if the log of the capture may lack BEGINs; None if it has all of them.
fn learn_missing_begins(request: &Request) -> io::Result<Option<Arc<HashSet<usize>>>> {
    let mut schedule = Schedule::open(request, Prepared::default(), None)?;
    if !schedule.may_lack_begins {
        return Ok(None);
    }
    let learner = Begins::Learned(missing_begins::Learner::default());
    schedule.planner = Planner::new(None, Prepared::default(), learner).with_default(schedule.default);
    while schedule.next_pieces()?.is_some() {}
    Ok(Some(Arc::new(schedule.planner.begins())))
}

/// The schedule of a capture, piece by piece.
struct Schedule {
    timeline: Timeline<BufReader<zstd::Decoder<'static, BufReader<File>>>>,
    planner: Planner,
    is_read: bool,
    /// Whether its log leaves out statements of less than a microsecond, and there is no other log with them.
    may_lack_begins: bool,
    /// Why the capture cannot be replayed, and the remedy.
    why_not: Option<(String, &'static str)>,
    /// Statements that were not written to the capture, by reason.
    dropped: BTreeMap<Obstacle, u64>,
    /// How a session is after a reset.
    default: Start,
    /// By how much the times of the capture may be wrong, in microseconds.
    uncertainty: i64,
}

impl Schedule {
    fn open(request: &Request, prepared: Prepared, begins: Option<Arc<HashSet<usize>>>) -> io::Result<Self> {
        let file = File::open(request.directory.join(STATEMENTS))?;
        let (header, reader) = Reader::open(BufReader::new(zstd::Decoder::new(file)?))?;
        let is_coarse = header["clock"] == "second";
        let part = |name: &str| header.get(name).cloned();
        let starts: SessionStarts = part("starts").map(serde_json::from_value).transpose()?.unwrap_or_default();
        let dropped = part("dropped").map(serde_json::from_value).transpose()?.unwrap_or_default();
        let default = starts.default;
        let timeline = Timeline::new(reader, is_coarse, starts);
        let server = header["server"].as_str().unwrap_or_default();
        let may_lack_begins = header["source"] == "slow"
            && !server.contains("MariaDB")
            && ["5.1.", "5.5.", "5.6."].iter().any(|version| server.starts_with(version));
        let begins = begins.map_or(Begins::Logged, Begins::Inferred);
        Ok(Self {
            timeline,
            planner: Planner::new(request.from, prepared, begins).with_default(default),
            is_read: false,
            may_lack_begins,
            dropped,
            default,
            why_not: why_not_replayed(&header),
            uncertainty: if is_coarse { SECOND } else { 0 },
        })
    }

    /// The next pieces, in order; None at the end.
    fn next_pieces(&mut self) -> io::Result<Option<planner::Out>> {
        let mut pieces = Vec::new();
        while pieces.is_empty() && !self.is_read {
            match self.timeline.next_event()? {
                Some(event) => self.planner.take(event, &mut pieces),
                None => {
                    self.is_read = true;
                    self.planner.finish(&mut pieces);
                }
            }
        }
        Ok((!pieces.is_empty()).then_some(pieces))
    }
}

fn unreadable(directory: &Path, error: &io::Error) -> Error {
    let what = format!("{} cannot be replayed: {error}", directory.display());
    if error.kind() == io::ErrorKind::NotFound && directory.is_dir() {
        return Error::user(what, "It has no statements (perhaps because of --forget-text): capture the log again");
    }
    if directory.join(STATEMENTS).is_file() && error.kind() != io::ErrorKind::PermissionDenied {
        return Error::user(what, "Its statements are damaged: make the capture again");
    }
    Error::user(what, "Name the directory of a capture, which dialin capture from makes")
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::capture::format::{Header, Line, Record, SCHEMA};

    /// A statement. `duration` is in microseconds.
    pub fn statement(thread: u64, at: i64, duration: i64, sql: &str) -> Record<'_> {
        Record::Statement(Line {
            thread,
            at,
            duration: Some(duration),
            is_prepared: None,
            error: None,
            rows_sent: None,
            rows_examined: None,
            rows_affected: None,
            schema: None,
            sql: sql.as_bytes(),
        })
    }

    /// The bytes of a capture.
    pub fn capture(records: &[Record<'_>]) -> Vec<u8> {
        let header = Header {
            schema: SCHEMA.into(),
            server: None,
            source: "slow".into(),
            clock: Some("microsecond"),
            lack: None,
            sampling: None,
            sql_mode: None,
            time_zone: None,
            questions: None,
            statements: 0,
        };
        let mut bytes = serde_json::to_vec(&header).unwrap();
        bytes.push(b'\n');
        records.iter().for_each(|record| record.write(&mut bytes));
        bytes
    }
}
