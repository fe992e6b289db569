//! The state of a session as far as it decides which of its statements are one transaction.
//!
//! The recorder, which counts transactions, and the planner, which replays them, follow each session with this state machine, so both
//! see the same transactions.

use super::class::{Class, Effect, End, Obstacle};
use super::set_statement::{Completion, SetStatement};
use super::transactions::Ending;
use serde::{Deserialize, Serialize};

/// The state of a session when its first statement was logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Autocommit is on, and no transaction is open.
    #[default]
    On,
    /// Autocommit is on, and a transaction is open.
    InTransaction,
    /// Autocommit is off.
    Off,
}

/// The state of a session between two of its statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionState {
    is_autocommit: bool,
    /// Whether a transaction was begun explicitly, or by the end of the one before it, and is open.
    was_begun: bool,
    /// Whether statements that are one transaction have no end yet.
    is_open: bool,
    has_table_locks: bool,
    in_xa: bool,
    completion: Completion,
}

/// Where a statement belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// To no transaction, and it is not replayed.
    Dropped,
    /// To no transaction, but it is replayed.
    Outside,
    /// It is a transaction by itself.
    Single,
    /// To the open transaction. If none is open, it is the first statement of one.
    Joins,
}

/// What a statement does to the transactions of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The server commits the open transaction before the statement.
    pub commits_before: bool,
    /// Where the statement belongs.
    pub place: Place,
    /// How the transaction ends with the statement, or after it; None if it stays open.
    pub ends: Option<Ending>,
    /// Why it cannot be replayed.
    pub obstacle: Option<Obstacle>,
    /// The session ends after it.
    pub ends_session: bool,
}

impl SessionState {
    /// The state of a session at its start.
    #[must_use]
    pub fn new(start: Start) -> Self {
        Self {
            is_autocommit: start != Start::Off,
            was_begun: start == Start::InTransaction,
            is_open: false,
            has_table_locks: false,
            in_xa: false,
            completion: Completion::Plain,
        }
    }

    /// What a later log of the same session has to begin with, to have the same transactions from here on. Locks on tables and XA
    /// transactions are not part of it.
    #[must_use]
    pub fn as_start(&self) -> Start {
        match (self.is_autocommit, self.was_begun) {
            (false, _) => Start::Off,
            (true, true) => Start::InTransaction,
            (true, false) => Start::On,
        }
    }

    /// Whether a statement would be a transaction by itself.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.is_autocommit && !self.was_begun && !self.is_open && !self.has_table_locks && !self.in_xa
    }

    /// Whether a transaction is open that has no statement yet.
    #[must_use]
    pub fn is_chained(&self) -> bool {
        self.was_begun && !self.is_open
    }

    /// A transaction begins whose BEGIN is not in the log.
    pub fn begin(&mut self) {
        (self.was_begun, self.is_open) = (true, true);
    }

    /// Follow a statement. `set` is what it sets ([`Class::set`]). `was_victim` says whether the server rolled its transaction back, because of a deadlock.
    pub fn follow(&mut self, class: Class, set: SetStatement, was_victim: bool) -> Step {
        let obstacle = class.obstacle.or(self.in_xa.then_some(Obstacle::Xa));
        match class.effect {
            Effect::BeginsXa => self.in_xa = true,
            Effect::EndsXa => self.in_xa = false,
            _ => {}
        }
        if obstacle.is_some() {
            let commits_before = class.effect == Effect::CommitsItself && obstacle != Some(Obstacle::Xa) && self.commit();
            return Step { commits_before, place: Place::Dropped, ends: None, obstacle, ends_session: false };
        }
        let step = |place, ends| Step { commits_before: false, place, ends, obstacle: None, ends_session: false };
        match class.effect {
            Effect::Begins => {
                let commits_before = self.commit();
                (self.was_begun, self.is_open, self.has_table_locks) = (true, true, false);
                Step { commits_before, ..step(Place::Joins, None) }
            }
            Effect::LocksTables => {
                let commits_before = self.commit();
                (self.is_open, self.has_table_locks) = (true, true);
                Step { commits_before, ..step(Place::Joins, None) }
            }
            Effect::UnlocksTables if self.has_table_locks => {
                self.end();
                step(Place::Joins, Some(Ending::Committed))
            }
            Effect::UnlocksTables => step(Place::Outside, None),
            Effect::Commits(end) => self.finish(end, Ending::Committed),
            Effect::RollsBack(end) => self.finish(end, Ending::RolledBack),
            Effect::CommitsItself if self.has_table_locks => step(Place::Joins, None),
            Effect::CommitsItself => Step { commits_before: self.commit(), ..step(Place::Single, Some(Ending::Committed)) },
            Effect::Sets => step(Place::Outside, self.set(set)),
            Effect::Outside | Effect::BeginsXa | Effect::EndsXa => step(Place::Outside, None),
            Effect::Belongs if self.has_table_locks => step(Place::Joins, None),
            Effect::Belongs if self.is_single() => {
                step(Place::Single, Some(if was_victim { Ending::RolledBack } else { Ending::Committed }))
            }
            Effect::Belongs if was_victim => {
                self.end();
                step(Place::Joins, Some(Ending::RolledBack))
            }
            Effect::Belongs => {
                self.is_open = true;
                step(Place::Joins, None)
            }
        }
    }

    /// Commit the open transaction, as a statement does that cannot be part of one. Return whether one was open.
    fn commit(&mut self) -> bool {
        let was_open = self.is_open;
        self.end();
        was_open
    }

    fn end(&mut self) {
        (self.was_begun, self.is_open, self.has_table_locks) = (false, false, false);
    }

    /// Follow a COMMIT or ROLLBACK. Without a transaction, it ends nothing: connection pools send it when they take a connection back.
    fn finish(&mut self, end: End, ending: Ending) -> Step {
        let chains = end.chains.unwrap_or(self.completion == Completion::Chain);
        let ends_session = end.releases.unwrap_or(self.completion == Completion::Release && !chains);
        let was_open = self.is_open;
        self.was_begun = chains;
        // Locks on tables stay, and so does what was executed under them.
        self.is_open = self.has_table_locks;
        let (place, ends) = match was_open {
            true if self.has_table_locks => (Place::Joins, None),
            true => (Place::Joins, Some(ending)),
            false => (Place::Outside, None),
        };
        Step { commits_before: false, place, ends, obstacle: None, ends_session }
    }

    /// Follow a SET of variables that matter. Return how the open transaction ends with it.
    fn set(&mut self, set: SetStatement) -> Option<Ending> {
        let SetStatement { autocommit, completion, .. } = set;
        self.completion = completion.unwrap_or(self.completion);
        let was_on = self.is_autocommit;
        self.is_autocommit = autocommit.unwrap_or(was_on);
        let commits = self.is_autocommit && !was_on && !self.has_table_locks;
        (commits && self.commit()).then_some(Ending::Committed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::digest::Digester;
    use proptest::prelude::*;

    fn follow(state: &mut SessionState, sql: &str) -> Step {
        let class = Class::of(Digester::default().digest(sql.as_bytes()).0);
        state.follow(class, class.set(sql.as_bytes()), false)
    }

    /// What becomes of each statement: `(` before the first one of a transaction, `)` and `X` where it is committed and rolled back, `.`
    /// for a statement of a transaction, `o` for one outside, `-` for one that is not replayed.
    fn draw(state: &mut SessionState, statements: &[&str]) -> Vec<String> {
        let drawn = |sql: &&str| {
            let was_open = state.is_open;
            let step = follow(state, sql);
            let place = match step.place {
                Place::Dropped => "-",
                Place::Outside => "o",
                Place::Joins if was_open && !step.commits_before => ".",
                Place::Single | Place::Joins => "(.",
            };
            let end = step.ends.map_or("", |ending| if ending == Ending::RolledBack { "X" } else { ")" });
            [if step.commits_before { ")" } else { "" }, place, end].concat()
        };
        statements.iter().map(drawn).collect()
    }

    fn drawn(start: Start, statements: &[&str]) -> String {
        draw(&mut SessionState::new(start), statements).concat()
    }

    #[test]
    fn statements_are_transactions_as_autocommit_says() {
        let statements = ["update t set a = 1", "update t set a = 2", "rollback", "rollback", "update t set a = 3", "commit"];
        assert_eq!(drawn(Start::On, &statements), "(.)(.)oo(.)o");
        assert_eq!(drawn(Start::Off, &statements), "(...Xo(..)");
        assert_eq!(drawn(Start::InTransaction, &statements), "(...Xo(.)o");
    }

    #[test]
    fn each_statement_does_what_the_server_does() {
        let update = "update t set a = 1";
        for (statements, expected) in [
            (&["begin", update, "begin", "commit"][..], "(..)(..)"),
            (&["begin", update, "alter table t add b int", update], "(..)(.)(.)"),
            (&["begin", update, "create temporary table u (a int)", "commit"], "(....)"),
            (&["begin", update, "commit and chain", update, update, "rollback", update], "(...)(...X(.)"),
            (&["begin", "commit and chain", "commit", update], "(..)o(.)"),
            (
                &["set completion_type = 'CHAIN'", "begin", update, "commit", update, "commit and no chain", update],
                "o(...)(..)(.)",
            ),
            (&["set autocommit = 0", update, "set autocommit = 1", update], "o(.o)(.)"),
            (&["begin", update, "set autocommit = 1", update, "commit"], "(..o..)"),
            (&["lock tables t write", update, "commit", update, "unlock tables", update], "(.....)(.)"),
            (&["unlock tables", update], "o(.)"),
            (&["lock tables t write", update, "begin", update, "commit"], "(..)(...)"),
            (&["xa start 'a'", update, "xa end 'a'", "xa commit 'a' one phase", update], "----(.)"),
            (&["xa start 'a'", update, "xa end 'a'", "xa prepare 'a'", update, "xa commit 'a'"], "----(.)-"),
            (&["xa recover", update], "-(.)"),
            (&["begin", update, "flush tables", update], "(..)-(.)"),
            (&["begin", update, "load data infile 'a' into table t", "commit"], "(..-.)"),
            (&["begin", update, "savepoint a", "rollback to a", "commit"], "(.....)"),
            (&["set names utf8mb4, autocommit = 0", update, "set statement max_statement_time=1 for commit"], "o(..)"),
        ] {
            assert_eq!(drawn(Start::On, statements), expected, "{statements:?}");
        }
        let mut state = SessionState::new(Start::On);
        let releases = ["begin", "commit release"].map(|sql| follow(&mut state, sql).ends_session);
        assert_eq!(releases, [false, true]);
        follow(&mut state, "set completion_type = 2");
        let releases = ["commit", "rollback and chain", "commit no release"].map(|sql| follow(&mut state, sql).ends_session);
        assert_eq!(releases, [true, false, false]);
    }

    #[test]
    fn a_deadlock_ends_the_transaction_of_its_victim() {
        let class = Class::of(b"update t set a = ?");
        let mut state = SessionState::new(Start::On);
        follow(&mut state, "begin");
        let victim = state.follow(class, SetStatement::default(), true);
        assert_eq!((victim.place, victim.ends), (Place::Joins, Some(Ending::RolledBack)));
        assert_eq!(follow(&mut state, "update t set a = 1").place, Place::Single);
    }

    const STATEMENTS: [&str; 22] = [
        "update t set a = 1",
        "select a from t",
        "insert into t values (1)",
        "begin",
        "start transaction read only",
        "commit",
        "rollback",
        "commit and chain",
        "rollback and no chain",
        "rollback to a",
        "set autocommit = 0",
        "set autocommit = 1",
        "set a = 1, @@autocommit := off",
        "alter table t add b int",
        "create temporary table u (a int)",
        "truncate table t",
        "xa recover",
        "flush tables",
        "load data infile 'a' into table t",
        "call p()",
        "set global a = 1",
        "use shop",
    ];

    proptest! {
        #[test]
        fn a_log_that_begins_anywhere_has_the_same_transactions_if_the_state_at_its_start_is_known(
            numbers in prop::collection::vec(0..STATEMENTS.len(), 0..40), at in 0..40_usize,
        ) {
            let statements: Vec<&str> = numbers.iter().map(|number| STATEMENTS[*number]).collect();
            let (before, after) = statements.split_at(at.min(statements.len()));
            let mut whole = SessionState::new(Start::On);
            draw(&mut whole, before);
            // Only the transaction in whose middle the log begins may differ.
            let (was_open, mut part) = (whole.is_open, SessionState::new(whole.as_start()));
            let (whole, part) = (draw(&mut whole, after), draw(&mut part, after));
            let ends = |text: &String| text.contains([')', 'X']);
            let same = if was_open { whole.iter().position(ends).map_or(whole.len(), |end| end + 1) } else { 0 };
            prop_assert_eq!(&whole[same..], &part[same..], "{:?}", after);
        }
    }
}
