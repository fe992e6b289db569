//! Turns the events of a capture into an ordered schedule: transactions, what each has to wait for, and statements
//! that are added.
//!
//! The planner neither waits nor sends; docs/capture.md has the rules. A transaction begins when all transactions have ended that ended
//! before it began in the capture. Of the last few of these, it waits only for those that it may not overtake, because one writes what
//! the other reads or writes. To compare them, the planner holds a transaction back until it has all of its statements. If the capture
//! shows a rollback by the server, a ROLLBACK is added. If the server commits the open transaction before another statement, a COMMIT
//! is added, so that nothing waits for its turn while it holds locks.

mod pieces;
mod sessions;

pub use pieces::{Begins, ChangedRows, Omissions, Out, Piece, Prepared, Step};

use super::accesses::{Access, TouchedTables};
use super::auto_increment::{Ids, Sequences};
use super::backups::{Backup, Moment};
use super::conflicts::Conflicts;
use super::digest_properties::DigestProperties;
use super::footprint::{EndedFootprints, Footprint, MAX_TRANSACTIONS};
use super::literals::Literals;
use super::missing_begins::Loose;
use super::templates::{Execution, Templates};
use super::timeline::{Event, Statement, What};
use crate::capture::class::{Class, Effect, Obstacle};
use crate::capture::digest::Digester;
use crate::capture::session_state::{Place, Start};
use crate::capture::set_statement::executed;
use crate::plan::Kind;
use foldhash::HashMap;
use pieces::{Ended, Open, Session, added, put, release};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// The error number of a transaction that the server rolled back because of a deadlock.
pub const DEADLOCK: u64 = 1213;
/// How many digests are remembered.
const MOST_DIGESTS: usize = 20_000;
/// How many ends of transactions are remembered. One that began before all of them waits for a few more than it has to.
const MOST_ENDS: usize = 1 << 20;

/// How many transactions a transaction may overtake for each connection of the replay, and at least: while one takes long, the
/// other connections continue with those behind it.
const WINDOW_PER_CONNECTION: u64 = 8;
const SMALLEST_WINDOW: u64 = 64;
/// How long a transaction is held back at most, in microseconds of captured time. A longer transaction overtakes none.
const LONGEST_HELD: i64 = 1_000_000;
/// How many pieces of a transaction are held back at most. A transaction with more pieces overtakes none.
const MOST_HELD: usize = 256;

/// Makes the schedule.
#[derive(Debug, Default)]
pub struct Planner {
    /// Transactions that ended at this time or before are left out.
    from: Option<i64>,
    prepared: Prepared,
    begins: Begins,
    /// How a session is after a reset.
    default: Start,
    /// How many of the transactions that ended before it began a transaction may overtake.
    window: u64,
    /// The numbers of the sessions that execute all of their transactions themselves; None if the schedule is not played.
    bound: Option<Arc<HashSet<u64>>>,
    literals: Literals,
    conflicts: Conflicts,
    /// The `AUTO_INCREMENT` values of inserted rows.
    pub sequences: Sequences,
    digester: Digester,
    classes: HashMap<Vec<u8>, DigestProperties>,
    sessions: HashMap<u64, Box<Session>>,
    begun: u64,
    transactions: u64,
    ends: VecDeque<i64>,
    forgotten: u64,
    touches: Vec<TouchedTables>,
    /// What the transactions touched that ended last.
    footprints: EndedFootprints,
    /// When the transactions began that may be held back, and the threads of their sessions.
    holding: VecDeque<(i64, u64)>,
    /// The sessions, so far, that use something of their session other than its settings, or whose default schema is unknown.
    pub uses_session: HashSet<u64>,
    /// What is left out.
    pub omissions: Omissions,
    /// Backups that were taken during the capture, in the order in which they began.
    pub backups: Vec<Backup>,
}

impl Planner {
    /// A planner for the whole capture, or without the transactions that ended at the time `from` or before.
    #[must_use]
    pub fn new(from: Option<i64>, prepared: Prepared, begins: Begins) -> Self {
        Self { from, prepared, begins, ..Self::default() }
    }

    /// Sessions are like this after a reset.
    #[must_use]
    pub fn with_default(self, default: Start) -> Self {
        Self { default, ..self }
    }

    /// Let transactions overtake others, and sessions other than those in `bound` execute transactions of each other.
    pub fn relax_order(&mut self, connections: usize, bound: Arc<HashSet<u64>>) {
        let connections = u64::try_from(connections).unwrap_or(u64::MAX);
        self.window = connections.saturating_mul(WINDOW_PER_CONNECTION).clamp(SMALLEST_WINDOW, MAX_TRANSACTIONS);
        self.bound = Some(bound);
    }

    /// The numbers of the digests that were learned to be mostly part of transactions.
    #[must_use]
    pub fn begins(self) -> HashSet<usize> {
        match self.begins {
            Begins::Learned(learner) => learner.finish(),
            Begins::Logged | Begins::Inferred(..) => HashSet::new(),
        }
    }

    /// What was learned: the templates of prepared statements, and the `AUTO_INCREMENT` values of inserted rows.
    #[must_use]
    pub fn learned(self) -> (Templates, Ids) {
        let templates = match self.prepared {
            Prepared::Learned(learner) => learner.finish(),
            Prepared::Executed(..) => Templates::default(),
        };
        (templates, self.sequences.finish())
    }

    /// Process the next event, and append pieces to `out`. Events come in the order in which they ended.
    pub fn take(&mut self, event: Event, out: &mut Out) {
        let Event { thread, start, end, what } = event;
        while let Some((began, holder)) = self.holding.front().copied()
            && began + LONGEST_HELD < end
        {
            self.holding.pop_front();
            if let Some(session) = self.sessions.get_mut(&holder)
                && let Some(open) = session.open.as_mut().filter(|open| open.start == began)
            {
                release(session.number, open, out);
            }
        }
        match what {
            What::Connect(state, sets) => {
                if !self.sessions.contains_key(&thread) {
                    self.open_session(thread, start, (state, &sets), out);
                }
            }
            What::Reset => {
                if let Some(mut session) = self.sessions.remove(&thread) {
                    self.reset(&mut session, start, out);
                    self.sessions.insert(thread, session);
                }
            }
            What::Quit => {
                if let Some(session) = self.sessions.remove(&thread) {
                    self.end_session(session, start, out);
                }
            }
            What::Statement(statement) => {
                if !self.sessions.contains_key(&thread) {
                    self.open_session(thread, start, (Start::On, &[]), out);
                }
                // The session is removed while its pieces are made, because making them changes the planner, too.
                if let Some(mut session) = self.sessions.remove(&thread) {
                    self.statement(&mut session, start, end, statement, out);
                    if let Some(open) = session.open.as_mut().filter(|open| open.held.is_some() && !open.may_be_left_out) {
                        if open.start == start {
                            self.holding.push_back((start, thread));
                        }
                        if open.held.as_ref().is_some_and(|held| held.len() > MOST_HELD) {
                            release(session.number, open, out);
                        }
                    }
                    self.sessions.insert(thread, session);
                }
            }
        }
    }

    /// End the schedule: transactions that are open are rolled back.
    pub fn finish(&mut self, out: &mut Out) {
        let mut left: Vec<Box<Session>> = self.sessions.drain().map(|(_, session)| session).collect();
        left.sort_by_key(|session| session.number);
        for session in left {
            self.end_session(session, i64::MAX, out);
        }
    }

    fn statement(&mut self, session: &mut Session, start: i64, end: i64, statement: Statement, out: &mut Out) {
        self.note_end(session, start, out);
        let digest = self.properties_of(&statement.sql);
        if let Some(by) = digest.backup {
            self.note_backup(session, by, end);
        }
        let (class, was_victim) = (digest.class, statement.error == Some(DEADLOCK));
        self.learn_or_add_begin(session, &digest, start, out);
        let followed = session.state.follow(class, class.set(&statement.sql), was_victim);
        if followed.commits_before
            && let Some(open) = session.open.take()
        {
            self.commit(session, open, start, out);
        }
        if let Some(obstacle) = followed.obstacle {
            *self.omissions.skipped.entry(obstacle).or_default() += 1;
            return;
        }
        self.omissions.random += u64::from(digest.is_random);
        let sets_in_transaction = digest.sets && session.open.is_some();
        if digest.uses_session || statement.schema.is_none() || digest.number.is_none() || sets_in_transaction {
            self.uses_session.insert(session.number);
        }
        if let Some(number) = digest.number.filter(|_| digest.sets) {
            session.settings.set(number, &statement.sql);
        }
        let lacks_begin = session.lacks_begin && class.effect != Effect::Begins;
        session.lacks_begin &= session.state.is_chained();
        if session.state.is_chained() {
            // The next transaction has begun on this connection.
            self.uses_session.insert(session.number);
        }
        let examined = statement.examined;
        let is_end_known = statement.duration.is_some();
        let Inspection { execution, insert_id, accesses } = self.inspect(session.number, &statement, &digest, start);
        let mut step = Box::new(Step {
            execution,
            digest: digest.number,
            duration: statement.duration,
            dependencies: Box::default(),
            schema: statement.schema,
            start,
            error: statement.error,
            rows: statement.rows.filter(|_| digest.kind == Kind::Read),
            changed: ChangedRows::of(&digest, statement.affected, examined),
            kind: digest.kind,
            clock: digest.asks_for_time.then_some(statement.clock),
            insert_id,
            is_added: false,
            sets: digest.sets,
            sql: statement.sql,
        });
        if followed.ends_session {
            // The session ends with the next piece.
            step.sql = match class.effect {
                Effect::RollsBack(_) => b"ROLLBACK NO RELEASE"[..].into(),
                _ => b"COMMIT NO RELEASE"[..].into(),
            };
        }
        let was_open = session.open.is_some();
        let counts = matches!(followed.place, Place::Single | Place::Joins);
        let mut open = match session.open.take() {
            Some(open) => open,
            None => {
                let mut open = self.begin(session, start, counts, out);
                if lacks_begin && counts {
                    self.omissions.begins_added += 1;
                    put(session.number, &mut open, added(b"BEGIN", start), out);
                }
                open
            }
        };
        (open.end, open.is_end_known) = (end, is_end_known);
        if let Some(transaction) = open.transaction
            && matches!(class.effect, Effect::Belongs | Effect::CommitsItself)
            && !self.is_learning()
        {
            if let Some(accesses) = &accesses {
                step.dependencies = self.conflicts.dependencies(accesses, transaction, open.after);
                if step.error.is_none_or(|error| error == 0) {
                    self.conflicts.lock(transaction, open.statements + 1, accesses);
                }
            }
            open.footprint.add(accesses, examined);
        }
        put(session.number, &mut open, Piece::Step(step), out);
        let stays_open = followed.ends.is_none() && (was_open || followed.place == Place::Joins);
        if stays_open {
            session.open = Some(open);
        } else if was_victim && followed.place == Place::Joins {
            self.roll_back(session, open, out);
        } else {
            self.end(session, *open, matches!(class.effect, Effect::RollsBack(_)), out);
        }
    }

    /// Learn from a statement where transactions begin, or begin a transaction whose BEGIN is not in the log.
    fn learn_or_add_begin(&mut self, session: &mut Session, digest: &DigestProperties, start: i64, out: &mut Out) {
        let (Class { effect, obstacle: None, .. }, digest) = (digest.class, digest.number) else { return };
        let is_loose = session.state.is_single();
        match &mut self.begins {
            Begins::Logged => {}
            Begins::Learned(learner) => match (effect, digest) {
                (Effect::Belongs, Some(digest)) if is_loose => session.loose.add(digest),
                (Effect::Belongs, Some(digest)) => learner.within(digest),
                (Effect::Commits(_) | Effect::RollsBack(_), _) => learner.settle(&mut session.loose, is_loose),
                (Effect::Begins | Effect::CommitsItself | Effect::LocksTables, _) => learner.settle(&mut session.loose, false),
                _ => {}
            },
            Begins::Inferred(digests) => {
                if is_loose && effect == Effect::Belongs && digest.is_some_and(|digest| digests.contains(&digest)) {
                    self.omissions.begins_added += 1;
                    session.state.begin();
                    let mut open = self.begin(session, start, true, out);
                    put(session.number, &mut open, added(b"BEGIN", start), out);
                    session.open = Some(open);
                }
            }
        }
    }

    fn begin(&mut self, session: &Session, start: i64, counts: bool, out: &mut Out) -> Box<Open> {
        let may_be_left_out = counts && self.from.is_some_and(|from| start <= from);
        let transaction = counts.then(|| {
            self.transactions += 1;
            self.transactions - 1
        });
        let held = counts.then(Vec::new);
        let after = if counts { self.ended_before(start) } else { 0 };
        let mut open = Box::new(Open {
            transaction,
            start,
            held,
            may_be_left_out,
            footprint: Footprint::default(),
            after,
            end: start,
            is_end_known: true,
            statements: 0,
        });
        let settings =
            self.bound.as_ref().filter(|bound| counts && !bound.contains(&session.number)).map(|_| session.settings.hash);
        put(session.number, &mut open, Piece::Begin { transaction, start, after, awaits: Box::default(), settings }, out);
        open
    }

    /// How many transactions ended before a time.
    fn ended_before(&self, start: i64) -> u64 {
        self.forgotten + self.ends.partition_point(|end| *end < start) as u64
    }

    /// Add the COMMIT of a transaction that the server committed because of the statement after it.
    fn commit(&mut self, session: &mut Session, mut open: Box<Open>, at: i64, out: &mut Out) {
        let commit = added(b"COMMIT", open.end);
        put(session.number, &mut open, commit, out);
        (open.end, open.is_end_known) = (open.end.max(at), true);
        self.end(session, *open, false, out);
    }

    /// Add the ROLLBACK of a transaction that the server rolled back.
    fn roll_back(&mut self, session: &mut Session, mut open: Box<Open>, out: &mut Out) {
        if open.transaction.is_some() {
            let rollback = added(b"ROLLBACK", open.end);
            put(session.number, &mut open, rollback, out);
        }
        self.end(session, *open, true, out);
    }

    fn end(&mut self, session: &mut Session, mut open: Open, is_rolled_back: bool, out: &mut Out) {
        self.sequences.end(session.number, open.statements);
        if let Some(held) = open.held.take() {
            if open.may_be_left_out && self.from.is_some_and(|from| open.end <= from) {
                // No statement waits for a transaction that is never played.
                open.transaction.into_iter().for_each(|left_out| self.conflicts.forget(left_out));
                return;
            }
            let mut held = held;
            if let Some(Piece::Begin { after, awaits, .. }) = held.first_mut() {
                (*after, *awaits) = self.order(open.after, &open.footprint);
            }
            out.extend(held.into_iter().map(|piece| (session.number, piece)));
        }
        out.push((session.number, Piece::Finish { is_rolled_back, end: open.end }));
        let Some(transaction) = open.transaction else { return };
        let ended = Ended { transaction, footprint: open.footprint };
        if open.is_end_known {
            self.ended(session.number, ended, open.end, out);
        } else {
            session.ended = Some(ended);
        }
    }

    /// Record the end of the session's last transaction if it was unknown. The next event of the session shows that
    /// it has ended.
    fn note_end(&mut self, session: &mut Session, at: i64, out: &mut Out) {
        if let Some(ended) = session.ended.take() {
            self.ended(session.number, ended, at, out);
        }
    }

    /// Whether this schedule is made to learn from the capture: nothing plays it, so what transactions touch does not matter.
    fn is_learning(&self) -> bool {
        self.bound.is_none()
    }

    /// What a transaction has to wait for, if `after` transactions had ended when it began: how many of these, in the
    /// order of their ends, and which of the others.
    fn order(&self, after: u64, footprint: &Footprint) -> (u64, Box<[u64]>) {
        if footprint.is_unknown() || self.is_learning() {
            return (after, Box::default());
        }
        let from = after.saturating_sub(self.window).max(self.footprints.oldest()).min(after);
        (from, self.footprints.meeting(footprint, from..after))
    }

    fn ended(&mut self, session: u64, ended: Ended, at: i64, out: &mut Out) {
        let place = self.forgotten + self.ends.len() as u64;
        if !self.is_learning() {
            self.footprints.add(ended.transaction, ended.footprint);
        }
        self.conflicts.end(ended.transaction, place);
        let last = self.ends.back().copied().unwrap_or(i64::MIN);
        self.ends.push_back(at.max(last));
        if self.ends.len() > MOST_ENDS {
            self.ends.pop_front();
            self.forgotten += 1;
        }
        out.push((session, Piece::Ended(ended.transaction)));
    }

    fn note_backup(&mut self, session: &mut Session, by: Moment, at: i64) {
        let place = *session.backup.get_or_insert(self.backups.len());
        match self.backups.get_mut(place) {
            Some(backup) if by >= backup.by => *backup = Backup { at, by },
            Some(_) => {}
            None => self.backups.push(Backup { at, by }),
        }
    }

    /// Determine what the text of a statement that was sent at a time shows.
    fn inspect(&mut self, session: u64, statement: &Statement, digest: &DigestProperties, start: i64) -> Inspection {
        if let Begins::Learned(_) = self.begins {
            return Inspection::default();
        }
        let touches = digest.number.and_then(|number| self.touches.get(number)).unwrap_or(&TouchedTables::Unknown);
        let insert_id = self.sequences.take(session, touches, statement, start, &mut self.literals);
        let templates = match &mut self.prepared {
            Prepared::Learned(learner) => {
                if statement.is_prepared {
                    learner.take(&statement.sql);
                }
                return Inspection::default();
            }
            Prepared::Executed(templates) => templates,
        };
        let has_values = statement.is_prepared || digest.kind != Kind::Other;
        let shape = if has_values { self.literals.shape(&statement.sql) } else { None };
        let execution = shape.filter(|_| statement.is_prepared).and_then(|shape| templates.execution(shape, &self.literals));
        let accesses = touches.accesses(&statement.sql, shape.filter(|_| !digest.is_wrapped).map(|_| &self.literals));
        Inspection { execution, insert_id, accesses }
    }

    fn properties_of(&mut self, sql: &[u8]) -> DigestProperties {
        let (digest, findings) = self.digester.digest(sql);
        let obstacle = match findings {
            _ if findings.about_accounts => Some(Obstacle::Account),
            _ if findings.is_open => Some(Obstacle::OpenQuote),
            _ => None,
        };
        let mut properties = match self.classes.get(digest) {
            Some(properties) => *properties,
            None => {
                let mut properties = DigestProperties::of(digest);
                if self.classes.len() < MOST_DIGESTS {
                    properties.number = Some(self.classes.len());
                    self.touches.push(TouchedTables::of(executed(digest)));
                    self.classes.insert(digest.to_vec(), properties);
                }
                self.sequences.add(digest, &properties);
                properties
            }
        };
        properties.class.obstacle = properties.class.obstacle.or(obstacle);
        properties
    }
}

/// What the text of a statement shows.
#[derive(Debug, Default)]
struct Inspection {
    /// How it is executed as a prepared statement; None if it is sent as text.
    execution: Option<Execution>,
    /// The `AUTO_INCREMENT` value that its first row gets; None if the server chooses it.
    insert_id: Option<u64>,
    /// What it accesses; None if it may access anything.
    accesses: Option<Vec<Access>>,
}

#[cfg(test)]
mod tests;
