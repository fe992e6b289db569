//! Writes the records of a capture from the entries of logs, and adds up its summary.

use super::class::Obstacle;
use super::digests::Digests;
use super::entry::{Entry, Event, Lack, Protocol, Schema, Statement, Unread};
use super::format::{Line, Record, SessionStarts};
use super::sessions::{Session, Sessions, Step, Totals};
use super::start_state::Starts;
use super::summary;
use super::timestamp::{Clock, SECOND};
use super::transactions::Sums;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Commands that servers do not count as questions.
const NOT_COUNTED: [&[u8]; 7] = [b"Prepare", b"Close stmt", b"Reset stmt", b"Ping", b"Statistics", b"Daemon", b"Sleep"];
/// The error number of a transaction that the server rolled back because of a deadlock.
const DEADLOCK: u64 = 1213;

/// Makes a capture from log entries.
#[derive(Debug, Default)]
pub struct Recorder {
    digests: Digests,
    sessions: Sessions,
    totals: Totals,
    /// Statements that are not in the records, by the reason why they are not replayed.
    dropped: BTreeMap<Obstacle, u64>,
    /// When the server's counters were read before and after, in microseconds since 1970.
    between: Option<RangeInclusive<i64>>,
    /// When the first and the last statement began.
    times: Option<(i64, i64)>,
    questions: u64,
    questions_between: u64,
    statements: u64,
    /// What the first statement that has no place in the series of records lacks.
    unplaced: Option<Lack>,
}

impl Recorder {
    /// A recorder that also counts separately what was logged between two readings of the server's counters. `starts` says what is
    /// known about the beginnings of sessions.
    #[must_use]
    pub fn new(between: Option<RangeInclusive<i64>>, starts: Starts) -> Self {
        let mut recorder = Self { between, ..Self::default() };
        recorder.totals.starts = starts;
        recorder
    }

    /// Process an entry, and append its records to `out`.
    pub fn take(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        let (thread, start) = match entry.place() {
            Ok(place) => place,
            Err(lack) => return self.count_unplaced(entry, lack),
        };
        let Entry { clock, event, .. } = entry;
        match event {
            Event::Connect { schema } => {
                // After a restart, a server uses session numbers again. With two logs, the slow log may already have
                // begun this session.
                if !self.sessions.has_begun(thread, start - SECOND..=start + SECOND) {
                    self.end(thread, start, out);
                }
                self.begin(thread, start, *schema, out);
            }
            Event::Refused => self.end(thread, start, out),
            Event::Command { name, argument } => self.command(thread, start, *clock, (name, argument), out),
            Event::Statement(statement) => self.statement(thread, start, *clock, statement, out),
        }
    }

    /// Count an entry that has no place in the series of records, because the log lacks its session or its time.
    fn count_unplaced(&mut self, entry: &Entry<'_>, lack: Lack) {
        // Without times, the log is taken to be from between the two readings.
        let is_between = self.between.is_some() && entry.start.is_none_or(|start| self.is_between(start, entry.clock));
        match &entry.event {
            Event::Statement(Statement { in_routine: true, .. }) => return self.drop(Obstacle::InRoutine),
            Event::Statement(Statement { sql, protocol, figures, .. }) => {
                let (digest, class) = self.digests.of(sql);
                let sums = self.digests.sums(digest);
                sums.add(figures, *protocol == Protocol::Prepared);
                sums.counted += u64::from(is_between);
                let no_place = match lack {
                    Lack::Sessions => Obstacle::NoSession,
                    Lack::Times => Obstacle::NoTime,
                };
                self.drop(class.obstacle.unwrap_or(no_place));
                self.unplaced.get_or_insert(lack);
            }
            Event::Command { name, .. } if !NOT_COUNTED.contains(name) => {}
            _ => return,
        }
        self.questions += 1;
        self.questions_between += u64::from(is_between);
    }

    /// What all statements lack, so that none was written; None if at least one was written.
    #[must_use]
    pub fn lack(&self) -> Option<Lack> {
        self.unplaced.filter(|_| self.statements == 0)
    }

    fn command(&mut self, thread: u64, start: i64, clock: Clock, (name, argument): (&[u8], &[u8]), out: &mut Vec<u8>) {
        if !NOT_COUNTED.contains(&name) {
            self.count(start, clock);
        }
        match name {
            b"Quit" => self.end(thread, start, out),
            b"Prepare" => self.session(thread, start, None, out).prepared.prepare(),
            b"Close stmt" => self.session(thread, start, None, out).prepared.close(),
            b"Init DB" if !argument.is_empty() => {
                self.session(thread, start, Some(argument), out).schema = Some(argument.to_vec());
            }
            b"Change user" => {
                self.end(thread, start, out);
                self.begin(thread, start, (!argument.is_empty()).then_some(argument), out);
            }
            b"Reset Connection" | b"Reset connection" => {
                if let Some(session) = self.sessions.open(thread) {
                    session.reset(&mut self.totals);
                    Record::Reset { thread, at: start }.write(out);
                }
            }
            b"Fetch" => self.drop(Obstacle::Cursor),
            _ => {}
        }
    }

    fn statement(&mut self, thread: u64, start: i64, clock: Clock, statement: &Statement<'_>, out: &mut Vec<u8>) {
        let Statement { sql, schema, protocol, in_routine, figures } = statement;
        let (first, last) = self.times.unwrap_or((start, start));
        self.times = Some((first.min(start), last.max(start)));
        if *in_routine {
            return self.drop(Obstacle::InRoutine);
        }
        let (digest, class) = self.digests.of(sql);
        let known = match schema {
            Schema::Known(schema) => Some(*schema),
            Schema::Session => None,
        };
        let (session, is_new) = self.sessions.find(thread, start, false, &mut self.totals);
        if is_new {
            Record::Connect { thread, at: start, schema: known.filter(|schema| !schema.is_empty()) }.write(out);
        }
        if let Some(known) = known
            && session.schema.as_deref().unwrap_or_default() != known
        {
            session.schema = (!known.is_empty()).then(|| known.to_vec());
        }
        let is_prepared = match protocol {
            Protocol::Text => Some(false),
            Protocol::Prepared => Some(true),
            Protocol::Unknown if class.obstacle.is_none() => session.prepared.execute(digest),
            Protocol::Unknown => None,
            Protocol::Bytes(bytes) => Some(was_prepared(*bytes, sql.len() as u64, session.prepared.are_any)),
        };
        // In a general log, the entry after an EXECUTE is the statement that it ran. The server counts both as one question.
        let is_counted = !(std::mem::take(&mut session.executes) && is_prepared == Some(true));
        session.executes = class.obstacle == Some(Obstacle::SqlPrepare)
            && sql.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"execute"));
        let schema = session.schema.as_deref();
        let is_dropped = matches!(class.obstacle, Some(Obstacle::Account | Obstacle::SqlPrepare));
        if !is_dropped {
            let line = Line {
                thread,
                at: start,
                duration: figures.duration,
                is_prepared,
                error: figures.error,
                rows_sent: figures.rows_sent,
                rows_examined: figures.rows_examined,
                rows_affected: figures.rows_affected,
                schema,
                sql,
            };
            Record::Statement(line).write(out);
            self.statements += 1;
        }
        let step = Step {
            digest,
            start,
            duration: figures.duration,
            class,
            set: class.set(sql),
            was_victim: figures.error == Some(DEADLOCK),
        };
        if session.follow(step, &mut self.totals) {
            self.end(thread, start, out);
        }
        if is_counted {
            self.count(start, clock);
        }
        let is_between = is_counted && self.is_between(start, clock);
        let sums = self.digests.sums(digest);
        sums.add(figures, is_prepared == Some(true));
        sums.counted += u64::from(is_between);
        if let Some(obstacle) = class.obstacle.filter(|_| is_dropped) {
            *self.dropped.entry(obstacle).or_default() += 1;
        }
    }

    /// The session of a thread. If it is not open, its record is written; it began before.
    fn session(&mut self, thread: u64, at: i64, schema: Option<&[u8]>, out: &mut Vec<u8>) -> &mut Session {
        let (session, is_new) = self.sessions.find(thread, at, false, &mut self.totals);
        if is_new {
            Record::Connect { thread, at, schema }.write(out);
        }
        session
    }

    /// The session of a thread begins.
    fn begin(&mut self, thread: u64, at: i64, schema: Option<&[u8]>, out: &mut Vec<u8>) {
        let (session, is_new) = self.sessions.find(thread, at, true, &mut self.totals);
        session.begins_here(&mut self.totals);
        session.schema = session.schema.take().or_else(|| schema.map(<[u8]>::to_vec));
        if is_new {
            Record::Connect { thread, at, schema }.write(out);
        }
    }

    fn end(&mut self, thread: u64, at: i64, out: &mut Vec<u8>) {
        if self.sessions.end(thread, &mut self.totals) {
            Record::Quit { thread, at }.write(out);
        }
    }

    /// Count a statement that is not in the records.
    fn drop(&mut self, obstacle: Obstacle) {
        self.totals.count_obstacle(obstacle);
        *self.dropped.entry(obstacle).or_default() += 1;
    }

    fn count(&mut self, start: i64, clock: Clock) {
        self.questions += 1;
        self.questions_between += u64::from(self.is_between(start, clock));
    }

    fn is_between(&self, start: i64, clock: Clock) -> bool {
        self.between.as_ref().is_some_and(|between| match clock {
            Clock::Microsecond => between.contains(&start),
            Clock::Second => (between.start() / SECOND * SECOND..=*between.end()).contains(&start),
        })
    }

    /// How many statements were written.
    #[must_use]
    pub fn statements(&self) -> u64 {
        self.statements
    }

    /// The log has ended. Return what the first line of the capture says about its sessions, and how many statements are not in its
    /// records, by the reason why they are not replayed.
    pub fn end_log(&mut self) -> (SessionStarts, BTreeMap<Obstacle, u64>) {
        self.sessions.finish(&mut self.totals);
        (self.totals.starts.of_sessions(), self.dropped.clone())
    }

    /// Add the server's count of the statements with a `DIGEST_TEXT`.
    pub fn count_on_server(&mut self, digest_text: &[u8], statements: u64) {
        // MySQL 9 also has digests for statements that are prepared, executed and closed through the protocol. In
        // these, the text of the statement follows the verb; in SQL, a name in backticks follows it.
        let of_protocol = |verb: &[u8]| {
            digest_text.strip_prefix(verb).filter(|rest| !rest.starts_with(b"`") && !rest.starts_with(b"PREPARE"))
        };
        if of_protocol(b"PREPARE ").or(of_protocol(b"DEALLOCATE ")).is_some() {
            return;
        }
        let text = of_protocol(b"EXECUTE ").filter(|rest| !rest.starts_with(b"IMMEDIATE"));
        let (digest, _) = self.digests.of(text.unwrap_or(digest_text));
        self.digests.sums(digest).server += statements;
    }

    /// Finish the capture, and return its summary.
    #[must_use]
    pub fn finish(mut self, capture: super::format::Header, about: &Source) -> summary::Summary {
        self.sessions.finish(&mut self.totals);
        let all = self.digests.all();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|a, b| {
            let key = |at: usize| (all[at].sums.statements, all[at].sums.server);
            key(*b).cmp(&key(*a)).then_with(|| all[*a].text.cmp(&all[*b].text))
        });
        let mut places = vec![0; all.len()];
        (0..).zip(&order).for_each(|(place, number)| places[*number] = place);
        let digest = |number: &usize| {
            let (text, sums) = (&all[*number].text, &all[*number].sums);
            summary::Digest {
                digest: String::from_utf8_lossy(text).into_owned(),
                statements: sums.statements,
                prepared: sums.prepared,
                failed: sums.failed,
                seconds: sums.microseconds.map(seconds),
                rows_sent: sums.rows_sent,
                rows_examined: sums.rows_examined,
                logged: self.between.is_some().then_some(sums.counted),
                counted: (about.has_server_digests && sums.server > 0).then_some(sums.server),
            }
        };
        let mut transactions: Vec<summary::Shape> = self
            .totals
            .shapes
            .sorted()
            .iter()
            .map(|(steps, sums)| {
                let step = |step: &super::transactions::Step| summary::Step {
                    digest: places[step.digest as usize],
                    repeated: step.is_repeated,
                };
                shape(steps.iter().map(step).collect(), sums)
            })
            .collect();
        if self.totals.shapes.others.transactions > 0 {
            transactions.push(shape(vec![], &self.totals.shapes.others));
        }
        let not_replayed = self
            .totals
            .obstacles
            .iter()
            .map(|(reason, statements)| summary::NotReplayed { reason: *reason, statements: *statements });
        summary::Summary {
            schema: summary::SCHEMA,
            log_bytes: about.log_bytes,
            begin: self.times.map(|(first, _)| seconds(first)),
            end: self.times.map(|(_, last)| seconds(last)),
            sessions: self.totals.begun,
            questions_logged: self.questions,
            coverage: capture.questions.map(|questions| summary::Coverage { questions, logged: self.questions_between }),
            digests: order.iter().map(digest).collect(),
            transactions,
            autocommit: self.totals.starts.counts(),
            not_replayed: not_replayed.collect(),
            unread: about.unread,
            capture,
        }
    }
}

/// Facts about the logs that were read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    /// Size of the logs in bytes.
    pub log_bytes: u64,
    /// Whether the server's own digests were counted.
    pub has_server_digests: bool,
    /// What could not be read.
    pub unread: Unread,
}

/// Whether a statement was executed as a prepared statement, derived from the size of its packet in bytes.
///
/// A statement that is sent as text takes `length` bytes, a header of four bytes and one byte for the command; query
/// attributes add two bytes. A smaller packet holds parameters instead of their text. A larger packet holds several
/// statements, or long parameters of a short statement: then it counts as prepared if its session prepares
/// statements.
fn was_prepared(bytes: u64, length: u64, session_prepares: bool) -> bool {
    match bytes.checked_sub(length + 5) {
        None => true,
        Some(0 | 2) => false,
        Some(_) => session_prepares,
    }
}

fn shape(steps: Vec<summary::Step>, sums: &Sums) -> summary::Shape {
    summary::Shape {
        steps,
        transactions: sums.transactions,
        statements: sums.statements,
        seconds: seconds(sums.microseconds),
        rolled_back: sums.rolled_back,
        unfinished: sums.unfinished,
    }
}

fn seconds(microseconds: i64) -> f64 {
    microseconds as f64 / SECOND as f64
}
