//! The sessions of a log: the state of each while the log is read.

use super::class::{Class, Effect, Obstacle};
use super::prepared::PreparedStatements;
use super::session_state::{Place, SessionState, Start};
use super::set_statement::SetStatement;
use super::start_state::{Starts, Undecided};
use super::transactions::{Ending, Shapes, Transaction};
use foldhash::HashMap;
use std::collections::BTreeMap;

/// The maximum number of sessions in memory. Old servers do not log the end of a session, so beyond this number the sessions
/// that have been idle longest are forgotten.
const MAX_SESSIONS: usize = 50_000;
/// How many statements of a session are remembered at most until it is known how the session began, and how many of all sessions.
const MAX_UNDECIDED: usize = 1_000;
const MAX_UNDECIDED_IN_ALL: usize = 100_000;

/// What is added up over all sessions.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) shapes: Shapes,
    /// Statements that are not replayed.
    pub(super) obstacles: BTreeMap<Obstacle, u64>,
    pub(super) starts: Starts,
    /// Number of sessions.
    pub(super) begun: u64,
    /// How many statements are remembered of sessions of which it is not known how they began.
    undecided: usize,
}

impl Totals {
    pub(super) fn count_obstacle(&mut self, obstacle: Obstacle) {
        *self.obstacles.entry(obstacle).or_default() += 1;
    }
}

/// A statement, as far as transactions are concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) digest: u32,
    /// In microseconds since 1970.
    pub(super) start: i64,
    /// In microseconds.
    pub(super) duration: Option<i64>,
    pub(super) class: Class,
    pub(super) set: SetStatement,
    /// Whether the server rolled its transaction back because of a deadlock.
    pub(super) was_victim: bool,
}

/// The state of a session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) schema: Option<Vec<u8>>,
    /// What it prepared through the protocol.
    pub(super) prepared: PreparedStatements,
    /// Whether its last statement was an EXECUTE sent as text. A general log has the statement that it ran as the next entry.
    pub(super) executes: bool,
    state: SessionState,
    transaction: Option<Transaction>,
    /// What it did so far, if it is not known yet how it began.
    undecided: Option<Box<Undecided<Step>>>,
    /// Whether nothing shows how it began.
    is_unknown: bool,
    /// Its place among all sessions.
    place: u64,
    /// In microseconds since 1970.
    begin: i64,
    /// The value of [`Sessions::clock`] at its last entry.
    last_seen: u64,
}

impl Session {
    fn new(place: u64, begin: i64, start: Option<Start>) -> Self {
        Self {
            schema: None,
            prepared: PreparedStatements::default(),
            executes: false,
            state: SessionState::new(start.unwrap_or_default()),
            transaction: None,
            undecided: start.is_none().then(Box::default),
            is_unknown: false,
            place,
            begin,
            last_seen: 0,
        }
    }

    /// Follow a statement. Return whether the session ends after it.
    pub(super) fn follow(&mut self, step: Step, totals: &mut Totals) -> bool {
        if let Some(undecided) = &mut self.undecided {
            let Some(start) = undecided.decide(step.class, step.set) else {
                undecided.past.push(step);
                totals.undecided += 1;
                if undecided.past.len() >= MAX_UNDECIDED || totals.undecided >= MAX_UNDECIDED_IN_ALL {
                    self.settle(totals);
                }
                return false;
            };
            totals.starts.count_inferred(start);
            self.decide(start, totals);
        }
        self.apply(step, totals)
    }

    /// Its beginning is in the log.
    pub(super) fn begins_here(&mut self, totals: &mut Totals) {
        if self.undecided.is_some() {
            totals.starts.count_begun();
            self.decide(totals.starts.default, totals);
        }
    }

    /// The client resets it: the open transaction is rolled back, and everything is as at the beginning.
    pub(super) fn reset(&mut self, totals: &mut Totals) {
        self.end(Ending::RolledBack, totals);
        (self.state, self.is_unknown) = (SessionState::new(totals.starts.default), false);
        (self.prepared, self.executes) = (PreparedStatements::default(), false);
    }

    /// The open transaction ends with the session, or with the log.
    fn end(&mut self, ending: Ending, totals: &mut Totals) {
        self.settle(totals);
        if let Some(transaction) = self.transaction.take() {
            totals.shapes.add(&transaction, ending);
        }
    }

    /// Decide how it began: no further statement will show it.
    fn settle(&mut self, totals: &mut Totals) {
        let Some(undecided) = &self.undecided else { return };
        match undecided.at_end().or_else(|| totals.starts.like_others()) {
            Some(start) => {
                totals.starts.count_inferred(start);
                self.decide(start, totals);
            }
            None => {
                totals.starts.count_unknown();
                self.is_unknown = true;
                self.decide(Start::On, totals);
            }
        }
    }

    /// It began like this: follow what it did since.
    fn decide(&mut self, start: Start, totals: &mut Totals) {
        let Some(undecided) = self.undecided.take() else { return };
        totals.undecided -= undecided.past.len();
        totals.starts.note(self.place, start);
        self.state = SessionState::new(start);
        for step in undecided.past {
            self.apply(step, totals);
        }
    }

    fn apply(&mut self, step: Step, totals: &mut Totals) -> bool {
        let Step { digest, start, duration, class, set, was_victim } = step;
        let followed = self.state.follow(class, set, was_victim);
        if let Some(obstacle) = followed.obstacle {
            totals.count_obstacle(obstacle);
        }
        if followed.commits_before
            && let Some(transaction) = self.transaction.take()
        {
            totals.shapes.add(&transaction, Ending::Committed);
        }
        if matches!(followed.place, Place::Single | Place::Joins) {
            self.transaction.get_or_insert_default().add(digest, start, duration);
            if self.is_unknown && followed.place == Place::Single && class.effect == Effect::Belongs {
                totals.starts.count_unknown_statement(class.changes);
            }
        }
        if let Some(ending) = followed.ends
            && let Some(transaction) = self.transaction.take()
        {
            totals.shapes.add(&transaction, ending);
        }
        followed.ends_session
    }
}

/// The open sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_thread: HashMap<u64, Session>,
    /// Counts the lookups, to find the sessions that have been idle longest.
    clock: u64,
}

impl Sessions {
    /// The session of a thread, and whether it is new. A new session begins at `at`, in microseconds since 1970, if the log shows its
    /// beginning (`begins`), or before.
    pub(super) fn find(&mut self, thread: u64, at: i64, begins: bool, totals: &mut Totals) -> (&mut Session, bool) {
        self.clock += 1;
        if self.by_thread.len() >= MAX_SESSIONS && !self.by_thread.contains_key(&thread) {
            self.forget(totals);
        }
        let mut is_new = false;
        let session = self.by_thread.entry(thread).or_insert_with(|| {
            is_new = true;
            let place = totals.begun;
            totals.begun += 1;
            let start = if begins {
                totals.starts.count_begun();
                Some(totals.starts.default)
            } else {
                totals.starts.of(thread, place)
            };
            if let Some(start) = start {
                totals.starts.note(place, start);
            }
            Session::new(place, at, start)
        });
        session.last_seen = self.clock;
        (session, is_new)
    }

    /// The open session of a thread.
    pub(super) fn open(&mut self, thread: u64) -> Option<&mut Session> {
        self.by_thread.get_mut(&thread)
    }

    /// Whether the thread has an open session that began within these times.
    pub(super) fn has_begun(&self, thread: u64, times: std::ops::RangeInclusive<i64>) -> bool {
        self.by_thread.get(&thread).is_some_and(|session| times.contains(&session.begin))
    }

    /// End the session of a thread. Return whether there was one.
    pub(super) fn end(&mut self, thread: u64, totals: &mut Totals) -> bool {
        let session = self.by_thread.remove(&thread);
        session.map(|mut session| session.end(Ending::RolledBack, totals)).is_some()
    }

    /// Count the transactions that are open when the log ends.
    pub(super) fn finish(&mut self, totals: &mut Totals) {
        let mut left: Vec<Session> = self.by_thread.drain().map(|(_, session)| session).collect();
        // What the statements of one session show may decide about another one.
        left.sort_by_key(|session| {
            (session.undecided.as_ref().is_some_and(|undecided| undecided.at_end().is_none()), session.place)
        });
        left.iter_mut().for_each(|session| session.end(Ending::Open, totals));
    }

    /// Forget the half of the sessions that have been idle longest.
    fn forget(&mut self, totals: &mut Totals) {
        let mut last_seen: Vec<u64> = self.by_thread.values().map(|session| session.last_seen).collect();
        let middle = last_seen.len() / 2;
        let (_, &mut median, _) = last_seen.select_nth_unstable(middle);
        self.by_thread.retain(|_, session| {
            let stays = session.last_seen > median;
            if !stays {
                session.end(Ending::Open, totals);
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_without_an_end_are_forgotten_the_longest_idle_first() {
        let (mut sessions, mut totals) = (Sessions::default(), Totals::default());
        let news = (0..4 * MAX_SESSIONS as u64).filter(|thread| sessions.find(*thread, 0, false, &mut totals).1).count();
        assert_eq!(news, 4 * MAX_SESSIONS);
        assert!(sessions.by_thread.len() <= MAX_SESSIONS);
        assert!(!sessions.find(4 * MAX_SESSIONS as u64 - 1, 0, false, &mut totals).1);
        assert!(sessions.find(0, 0, false, &mut totals).1);
    }
}
