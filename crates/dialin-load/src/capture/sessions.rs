//! The sessions of a log: the state of each while the log is read.

use super::prepared::PreparedStatements;
use super::transactions::{Ending, Shapes, Transaction};
use std::collections::HashMap;

/// The maximum number of sessions in memory. Old servers do not log the end of a session, so beyond this number the sessions
/// that have been idle longest are forgotten.
const MAX_SESSIONS: usize = 50_000;

/// The state of a session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) schema: Option<Vec<u8>>,
    pub(super) autocommit: bool,
    pub(super) transaction: Option<Transaction>,
    /// What it prepared through the protocol.
    pub(super) prepared: PreparedStatements,
    /// Whether its last statement was an EXECUTE sent as text. A general log has the statement that it ran as the next entry.
    pub(super) executes: bool,
    /// In microseconds since 1970.
    begin: i64,
    /// The value of [`Sessions::clock`] at its last entry.
    last_seen: u64,
}

/// The open sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_thread: HashMap<u64, Session>,
    /// Counts the lookups, to find the sessions that have been idle longest.
    clock: u64,
}

impl Sessions {
    /// The session of a thread, and whether it is new. A new session begins at `at`, in microseconds since 1970.
    pub(super) fn find(&mut self, thread: u64, at: i64, shapes: &mut Shapes) -> (&mut Session, bool) {
        self.clock += 1;
        if self.by_thread.len() >= MAX_SESSIONS && !self.by_thread.contains_key(&thread) {
            self.forget(shapes);
        }
        let clock = self.clock;
        let mut is_new = false;
        let session = self.by_thread.entry(thread).or_insert_with(|| {
            is_new = true;
            let (schema, transaction, prepared) = (None, None, PreparedStatements::default());
            Session { schema, autocommit: true, transaction, prepared, executes: false, begin: at, last_seen: clock }
        });
        session.last_seen = clock;
        (session, is_new)
    }

    /// Whether the thread has an open session that began within these times.
    pub(super) fn has_begun(&self, thread: u64, times: std::ops::RangeInclusive<i64>) -> bool {
        self.by_thread.get(&thread).is_some_and(|session| times.contains(&session.begin))
    }

    /// End the session of a thread. Return whether there was one.
    pub(super) fn end(&mut self, thread: u64, shapes: &mut Shapes) -> bool {
        let session = self.by_thread.remove(&thread);
        if let Some(Session { transaction: Some(transaction), .. }) = &session {
            shapes.add(transaction, Ending::RolledBack);
        }
        session.is_some()
    }

    /// Count the transactions that are open when the log ends.
    pub(super) fn finish(&mut self, shapes: &mut Shapes) {
        for (_, session) in self.by_thread.drain() {
            if let Some(transaction) = &session.transaction {
                shapes.add(transaction, Ending::Open);
            }
        }
    }

    /// Forget the half of the sessions that have been idle longest.
    fn forget(&mut self, shapes: &mut Shapes) {
        let mut last_seen: Vec<u64> = self.by_thread.values().map(|session| session.last_seen).collect();
        let middle = last_seen.len() / 2;
        let (_, &mut median, _) = last_seen.select_nth_unstable(middle);
        self.by_thread.retain(|_, session| {
            let stays = session.last_seen > median;
            if let (false, Some(transaction)) = (stays, &session.transaction) {
                shapes.add(transaction, Ending::Open);
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
        let (mut sessions, mut shapes) = (Sessions::default(), Shapes::default());
        let news = (0..4 * MAX_SESSIONS as u64).filter(|thread| sessions.find(*thread, 0, &mut shapes).1).count();
        assert_eq!(news, 4 * MAX_SESSIONS);
        assert!(sessions.by_thread.len() <= MAX_SESSIONS);
        assert!(!sessions.find(4 * MAX_SESSIONS as u64 - 1, 0, &mut shapes).1);
        assert!(sessions.find(0, 0, &mut shapes).1);
    }
}
