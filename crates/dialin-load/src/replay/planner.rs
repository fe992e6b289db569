//! Turns the events of a capture into an ordered schedule: transactions, what each has to wait for, and what repairs it.
//!
//! Nothing here waits or sends; docs/capture.md has the rules. A transaction begins when all that ended before it began have ended, as
//! in the capture; of the last [`WINDOW`] of these only those matter that it may not overtake, because one writes what the other
//! reads or writes. For that, a transaction is held back here until it is known whole. Where the capture shows a rollback by the
//! server, a ROLLBACK is added; where the server commits what is open before another statement, a COMMIT is added, so that
//! nothing waits for its turn while it holds locks.

mod pieces;

pub use pieces::{Begins, Omissions, Out, Piece, Prepared, Step};

use super::backups::{Backup, Moment};
use super::conflicts::{Conflicts, Written};
use super::footprint::{Footprint, Touches};
use super::known::Known;
use super::literals::Literals;
use super::missing_begins::Loose;
use super::templates::{Execution, Templates};
use super::timeline::{Event, Statement, What};
use crate::capture::class::{Effect, Obstacle, turns_autocommit_on};
use crate::capture::digest::Digester;
use crate::plan::Kind;
use pieces::{Ended, Open, Session};
use std::collections::{HashMap, HashSet, VecDeque};

/// The error of a transaction that the server rolled back as the victim of a deadlock.
pub const DEADLOCK: u64 = 1213;
/// The most digests that are remembered.
const MOST_DIGESTS: usize = 20_000;
/// The most ends of transactions that are remembered; one that began before all of them waits for a few more than it has to.
const MOST_ENDS: usize = 1 << 20;

/// A transaction may overtake so many that ended before it began.
const WINDOW: u64 = 32;
/// The footprints of so many transactions are remembered: of those that a transaction may overtake, when it is known whole.
const FOOTPRINTS: usize = 256;
/// A transaction that is held back for longer in captured time, in microseconds, or has more pieces, overtakes none.
const LONGEST_HELD: i64 = 1_000_000;
const MOST_HELD: usize = 256;

/// Makes the schedule.
#[derive(Debug, Default)]
pub struct Planner {
    /// Transactions that ended at this time or before are left out.
    from: Option<i64>,
    prepared: Prepared,
    begins: Begins,
    literals: Literals,
    conflicts: Conflicts,
    digester: Digester,
    classes: HashMap<Vec<u8>, Known>,
    sessions: HashMap<u64, Session>,
    begun: u64,
    transactions: u64,
    ends: VecDeque<i64>,
    forgotten: u64,
    touches: Vec<Touches>,
    /// The last transactions that ended.
    footprints: VecDeque<(u64, Footprint)>,
    /// Sessions with transactions that may be held back, by when these began.
    holding: VecDeque<(i64, u64)>,
    /// What is left out.
    pub omissions: Omissions,
    /// Backups that were taken meanwhile, in the order of their beginning.
    pub backups: Vec<Backup>,
}

impl Planner {
    /// For the whole capture, or without the transactions that ended at a time or before.
    #[must_use]
    pub fn new(from: Option<i64>, prepared: Prepared, begins: Begins) -> Self {
        Self { from, prepared, begins, ..Self::default() }
    }

    /// What was learned of where transactions begin.
    #[must_use]
    pub fn begins(self) -> HashSet<usize> {
        match self.begins {
            Begins::Learned(learner) => learner.finish(),
            Begins::Logged | Begins::Inferred(..) => HashSet::new(),
        }
    }

    /// What was learned of prepared statements.
    #[must_use]
    pub fn templates(self) -> Templates {
        match self.prepared {
            Prepared::Learned(learner) => learner.finish(),
            Prepared::Executed(..) => Templates::default(),
        }
    }

    /// Take the next event, in the order of their ends, and write its pieces.
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
            What::Connect => {
                if !self.sessions.contains_key(&thread) {
                    let number = self.open_session(thread);
                    out.push((number, Piece::Connect(start)));
                }
            }
            What::Quit => {
                if let Some(session) = self.sessions.remove(&thread) {
                    self.end_session(session, start, out);
                }
            }
            What::Statement(statement) => {
                if !self.sessions.contains_key(&thread) {
                    self.open_session(thread);
                }
                // Taken out while its pieces are made, which are this planner's business too.
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

    /// The capture is over: what is open is rolled back.
    pub fn finish(&mut self, out: &mut Out) {
        let mut left: Vec<Session> = self.sessions.drain().map(|(_, session)| session).collect();
        left.sort_by_key(|session| session.number);
        for session in left {
            self.end_session(session, i64::MAX, out);
        }
    }

    fn open_session(&mut self, thread: u64) -> u64 {
        let number = self.begun;
        self.begun += 1;
        let session = Session {
            number,
            is_autocommit: true,
            open: None,
            ended: None,
            in_xa: false,
            backup: None,
            loose: Loose::default(),
        };
        self.sessions.insert(thread, session);
        number
    }

    fn end_session(&mut self, mut session: Session, at: i64, out: &mut Out) {
        self.note_end(&mut session, at, out);
        if let Begins::Learned(learner) = &mut self.begins {
            learner.settle(&mut session.loose, false);
        }
        if let Some(open) = session.open.take() {
            let open = Open { end: at, is_end_known: true, ..open };
            self.roll_back(&mut session, open, out);
        }
        if at < i64::MAX {
            out.push((session.number, Piece::Quit(at)));
        }
    }

    fn statement(&mut self, session: &mut Session, start: i64, end: i64, statement: Statement, out: &mut Out) {
        self.note_end(session, start, out);
        let known = self.known(&statement.sql);
        if let Some(by) = known.backup {
            self.note_backup(session, by, end);
        }
        let obstacle = known.class.obstacle.or((session.in_xa).then_some(Obstacle::Xa));
        if let Some(obstacle) = obstacle {
            if obstacle == Obstacle::Xa {
                session.in_xa = !known.ends_xa;
            }
            *self.omissions.skipped.entry(obstacle).or_default() += 1;
            return;
        }
        self.omissions.random += u64::from(known.is_random);
        let effect = match known.class.effect {
            Effect::CommitsItself if known.locks_tables => Effect::Begins,
            Effect::CommitsItself if known.unlocks_tables => Effect::Commits,
            other => other,
        };
        let examined = statement.examined;
        let was_victim = statement.error == Some(DEADLOCK);
        let (is_end_known, turns_on) = (statement.duration.is_some(), turns_autocommit_on(&statement.sql));
        let Looked { execution, written, is_found } = self.look_into(&statement, &known);
        let mut step = Box::new(Step {
            execution,
            digest: known.number,
            duration: statement.duration,
            dependencies: Box::default(),
            schema: statement.schema,
            start,
            error: statement.error,
            rows: statement.rows.filter(|_| known.kind == Kind::Read),
            kind: known.kind,
            clock: known.asks_for_time.then_some(statement.clock),
            is_added: false,
            sql: statement.sql,
        });
        if matches!(effect, Effect::Begins | Effect::CommitsItself)
            && let Some(open) = session.open.take()
        {
            self.commit(session, open, start, out);
        }
        self.begin_as_others(session, effect, known.number, start, out);
        let is_single = match effect {
            Effect::Begins => false,
            Effect::Belongs => session.open.is_none() && session.is_autocommit,
            _ => session.open.is_none(),
        };
        let counts = !matches!(effect, Effect::Outside | Effect::SetsAutocommit);
        let mut open = match session.open.take() {
            Some(open) => open,
            None => self.begin(session.number, start, counts, out),
        };
        (open.end, open.is_end_known) = (end, is_end_known);
        if let Some((written, transaction)) = written.zip(open.transaction) {
            step.dependencies = self.conflicts.dependencies(&written, transaction, open.after);
            if step.error.is_none_or(|error| error == 0) {
                self.conflicts.write(transaction, open.statements + 1, &written);
                open.wrote.push(written);
            }
        }
        if open.transaction.is_some() && matches!(effect, Effect::Belongs | Effect::CommitsItself) {
            let touches = known.number.and_then(|number| self.touches.get(number)).unwrap_or(&Touches::Unknown);
            open.footprint.add(touches, &step.sql, is_found.then_some(&self.literals), examined);
        }
        put(session.number, &mut open, Piece::Step(step), out);
        if effect == Effect::SetsAutocommit {
            session.is_autocommit = turns_on;
        }
        let ends = match effect {
            Effect::Commits | Effect::RollsBack => true,
            Effect::SetsAutocommit => is_single || turns_on,
            _ => is_single,
        };
        if was_victim && !ends {
            self.roll_back(session, open, out);
        } else if ends {
            self.end(session, open, effect == Effect::RollsBack, out);
        } else {
            session.open = Some(open);
        }
    }

    /// Learn from a statement where transactions begin, or begin one where its BEGIN is not in the log.
    fn begin_as_others(&mut self, session: &mut Session, effect: Effect, digest: Option<usize>, start: i64, out: &mut Out) {
        let is_loose = session.open.is_none() && session.is_autocommit;
        match &mut self.begins {
            Begins::Logged => {}
            Begins::Learned(learner) => match (effect, digest) {
                (Effect::Belongs, Some(digest)) if is_loose => session.loose.add(digest),
                (Effect::Belongs, Some(digest)) => learner.within(digest),
                (Effect::Commits | Effect::RollsBack, _) => learner.settle(&mut session.loose, is_loose),
                (Effect::Begins | Effect::CommitsItself, _) => learner.settle(&mut session.loose, false),
                _ => {}
            },
            Begins::Inferred(digests) => {
                if is_loose && effect == Effect::Belongs && digest.is_some_and(|digest| digests.contains(&digest)) {
                    self.omissions.begins_added += 1;
                    let mut open = self.begin(session.number, start, true, out);
                    put(session.number, &mut open, added(b"BEGIN", start), out);
                    session.open = Some(open);
                }
            }
        }
    }

    fn begin(&mut self, session: u64, start: i64, counts: bool, out: &mut Out) -> Open {
        let may_be_left_out = counts && self.from.is_some_and(|from| start <= from);
        let transaction = counts.then(|| {
            self.transactions += 1;
            self.transactions - 1
        });
        let held = counts.then(Vec::new);
        let after = if counts { self.ended_before(start) } else { 0 };
        let mut open = Open {
            transaction,
            start,
            held,
            may_be_left_out,
            footprint: Footprint::default(),
            after,
            end: start,
            is_end_known: true,
            statements: 0,
            wrote: vec![],
        };
        put(session, &mut open, Piece::Begin { transaction, start, after, awaits: Box::default() }, out);
        open
    }

    /// How many transactions ended before a time.
    fn ended_before(&self, start: i64) -> u64 {
        self.forgotten + self.ends.partition_point(|end| *end < start) as u64
    }

    /// Commit a transaction that the server committed because of the statement behind it.
    fn commit(&mut self, session: &mut Session, mut open: Open, at: i64, out: &mut Out) {
        let commit = added(b"COMMIT", open.end);
        put(session.number, &mut open, commit, out);
        (open.end, open.is_end_known) = (open.end.max(at), true);
        self.end(session, open, false, out);
    }

    /// Roll back a transaction that the server rolled back by itself.
    fn roll_back(&mut self, session: &mut Session, mut open: Open, out: &mut Out) {
        if open.transaction.is_some() {
            let rollback = added(b"ROLLBACK", open.end);
            put(session.number, &mut open, rollback, out);
        }
        self.end(session, open, true, out);
    }

    fn end(&mut self, session: &mut Session, mut open: Open, is_rolled_back: bool, out: &mut Out) {
        if let Some(held) = open.held.take() {
            if open.may_be_left_out && self.from.is_some_and(|from| open.end <= from) {
                // What is never played is waited for by nobody.
                open.transaction.into_iter().for_each(|left_out| self.conflicts.end(left_out, 0, &open.wrote));
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
        let ended = Ended { transaction, footprint: open.footprint, wrote: open.wrote };
        if open.is_end_known {
            self.ended(session.number, ended, open.end, out);
        } else {
            session.ended = Some(ended);
        }
    }

    /// That a session goes on shows that its transaction had ended.
    fn note_end(&mut self, session: &mut Session, at: i64, out: &mut Out) {
        if let Some(ended) = session.ended.take() {
            self.ended(session.number, ended, at, out);
        }
    }

    /// What a transaction has to wait for before which so many had ended: how many of them, and which others.
    fn order(&self, after: u64, footprint: &Footprint) -> (u64, Box<[u64]>) {
        let ended = self.forgotten + self.ends.len() as u64;
        let oldest = ended - self.footprints.len() as u64;
        let from = after.saturating_sub(WINDOW).max(oldest).min(after);
        if footprint.is_unknown() || matches!(self.prepared, Prepared::Learned(..)) {
            return (after, Box::default());
        }
        let window = (from..after).filter_map(|place| self.footprints.get(usize::try_from(place - oldest).ok()?));
        (from, window.filter(|(_, other)| other.meets(footprint)).map(|(transaction, _)| *transaction).collect())
    }

    fn ended(&mut self, session: u64, ended: Ended, at: i64, out: &mut Out) {
        let place = self.forgotten + self.ends.len() as u64;
        if self.footprints.len() == FOOTPRINTS {
            self.footprints.pop_front();
        }
        self.footprints.push_back((ended.transaction, ended.footprint));
        self.conflicts.end(ended.transaction, place, &ended.wrote);
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

    /// How a statement is executed, and what it writes.
    fn look_into(&mut self, statement: &Statement, known: &Known) -> Looked {
        let templates = match &mut self.prepared {
            Prepared::Learned(learner) => {
                if statement.is_prepared {
                    learner.take(&statement.sql);
                }
                return Looked::default();
            }
            Prepared::Executed(templates) => templates,
        };
        if !statement.is_prepared && known.kind == Kind::Other {
            return Looked::default();
        }
        let Some(shape) = self.literals.shape(&statement.sql) else { return Looked::default() };
        let execution = statement.is_prepared.then(|| templates.execution(shape, &self.literals)).flatten();
        let written = known.target.map(|target| Written::by(target, &statement.sql, &self.literals));
        Looked { execution, written, is_found: true }
    }

    fn known(&mut self, sql: &[u8]) -> Known {
        let (digest, findings) = self.digester.digest(sql);
        let obstacle = match findings {
            _ if findings.about_accounts => Some(Obstacle::Account),
            _ if findings.is_open => Some(Obstacle::OpenQuote),
            _ => None,
        };
        let mut known = match self.classes.get(digest) {
            Some(known) => *known,
            None => {
                let mut known = Known::of(digest);
                if self.classes.len() < MOST_DIGESTS {
                    known.number = Some(self.classes.len());
                    self.touches.push(Touches::of(digest));
                    self.classes.insert(digest.to_vec(), known);
                }
                known
            }
        };
        known.class.obstacle = known.class.obstacle.or(obstacle);
        known
    }
}

/// What the text of a statement shows.
#[derive(Debug, Default)]
struct Looked {
    /// How it is executed, where it was prepared.
    execution: Option<Execution>,
    /// What it writes.
    written: Option<Written>,
    /// Its values were found.
    is_found: bool,
}

/// Let go of a transaction that is held back: it overtakes none.
fn release(session: u64, open: &mut Open, out: &mut Out) {
    if !open.may_be_left_out {
        out.extend(open.held.take().into_iter().flatten().map(|piece| (session, piece)));
    }
}

fn put(session: u64, open: &mut Open, piece: Piece, out: &mut Out) {
    open.statements += usize::from(matches!(piece, Piece::Step(_)));
    match &mut open.held {
        Some(held) => held.push(piece),
        None => out.push((session, piece)),
    }
}

fn added(sql: &[u8], start: i64) -> Piece {
    Piece::Step(Box::new(Step {
        sql: sql.into(),
        start,
        schema: None,
        error: None,
        rows: None,
        kind: Kind::Other,
        clock: None,
        execution: None,
        digest: None,
        duration: None,
        dependencies: Box::default(),
        is_added: true,
    }))
}

#[cfg(test)]
mod tests;
