//! What statements lock, as far as their texts show. Transactions that overlap lock a row in the captured order.
//!
//! A server releases the locks of a transaction before it logs the end of the transaction. A statement that gets such
//! a lock next may therefore have ended before that time.

use super::accesses::Access;
use foldhash::HashMap;
use std::collections::VecDeque;

/// How many locks on a table a transaction has one by one. With more, it has the whole table.
const MOST_LOCKS: usize = 400;
/// How many locks of ended transactions are remembered for each table: the newest ones.
const MOST_ENDED: usize = 4_096;

/// A statement waits until a transaction has executed this many statements, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The number of the transaction.
    pub transaction: u64,
    /// How many statements.
    pub statements: usize,
}

/// What a transaction locked.
#[derive(Debug)]
struct Lock {
    transaction: u64,
    /// The number of the first statement that locked it, from 1.
    statements: usize,
    access: Access,
}

/// The locks on one table.
#[derive(Debug, Default)]
struct Locks {
    /// Those of transactions that have not ended, in the order in which they were taken.
    open: Vec<Lock>,
    /// Those of ended transactions, with how many transactions ended before; in that order.
    ended: VecDeque<(u64, Lock)>,
}

/// The locks of the transactions that may overlap with the next one.
#[derive(Debug, Default)]
pub struct Conflicts {
    tables: HashMap<u64, Locks>,
    /// The tables on which each transaction that has not ended has locks.
    locked: HashMap<u64, Vec<u64>>,
}

impl Conflicts {
    /// Returns what a statement of a transaction has to wait for. The transaction begins when `after` others have ended.
    #[must_use]
    pub fn dependencies(&self, accesses: &[Access], transaction: u64, after: u64) -> Box<[Dependency]> {
        let mut all: Vec<Dependency> = Vec::new();
        for access in accesses.iter().filter(|access| access.locks()) {
            let Some(locks) = self.tables.get(&access.table) else { continue };
            let is_held = |lock: &Lock| lock.transaction == transaction && lock.access.has_same_rows(access);
            if locks.open.iter().any(is_held) {
                continue;
            }
            // The statement that locked the same rows already waits for those that locked them before.
            let mut is_last = |lock: &Lock| {
                let Lock { transaction: other, statements, .. } = *lock;
                match all.iter_mut().find(|one| one.transaction == other) {
                    _ if other == transaction || !lock.access.may_share_a_lock(access) => {}
                    Some(one) => one.statements = one.statements.max(statements),
                    None => all.push(Dependency { transaction: other, statements }),
                }
                lock.access.has_same_rows(access)
            };
            let _ = locks.open.iter().rev().any(&mut is_last);
            let _ = locks.ended.iter().rev().take_while(|(place, _)| *place >= after).any(|(_, lock)| is_last(lock));
        }
        all.into()
    }

    /// Records a statement of a transaction. `statements` is its number in the transaction, from 1.
    pub fn lock(&mut self, transaction: u64, statements: usize, accesses: &[Access]) {
        for access in accesses.iter().filter(|access| access.locks()) {
            let open = &mut self.tables.entry(access.table).or_default().open;
            let own = || open.iter().filter(|lock| lock.transaction == transaction);
            if own().any(|lock| lock.access.has_same_rows(access)) {
                continue;
            }
            if let (MOST_LOCKS.., Some(first)) = (own().count(), own().next()) {
                let whole = Access::whole(access.table, first.access.does.clone());
                let statements = first.statements;
                open.retain(|lock| lock.transaction != transaction);
                open.push(Lock { transaction, statements, access: whole });
            } else {
                open.push(Lock { transaction, statements, access: access.clone() });
            }
            let tables = self.locked.entry(transaction).or_default();
            if !tables.contains(&access.table) {
                tables.push(access.table);
            }
        }
    }

    /// Records the end of a transaction. `place` is how many transactions ended before it.
    pub fn end(&mut self, transaction: u64, place: u64) {
        for table in self.locked.remove(&transaction).unwrap_or_default() {
            let Some(Locks { open, ended }) = self.tables.get_mut(&table) else { continue };
            ended.extend(open.extract_if(.., |lock| lock.transaction == transaction).map(|lock| (place, lock)));
            ended.drain(..ended.len().saturating_sub(MOST_ENDED));
        }
    }

    /// Forgets a transaction that is not played.
    pub fn forget(&mut self, transaction: u64) {
        for table in self.locked.remove(&transaction).unwrap_or_default() {
            if let Some(locks) = self.tables.get_mut(&table) {
                locks.open.retain(|lock| lock.transaction != transaction);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::digest::Digester;
    use crate::replay::accesses::TouchedTables;
    use crate::replay::literals::Literals;

    fn accesses(sql: &str) -> Vec<Access> {
        let mut literals = Literals::default();
        literals.shape(sql.as_bytes()).unwrap();
        TouchedTables::of(Digester::default().digest(sql.as_bytes()).0).accesses(sql.as_bytes(), Some(&literals)).unwrap()
    }

    fn conflict(one: &str, other: &str) -> bool {
        let mut conflicts = Conflicts::default();
        conflicts.lock(7, 2, &accesses(one));
        let all = conflicts.dependencies(&accesses(other), 8, 1_000);
        assert!(conflicts.dependencies(&accesses(other), 7, 0).is_empty());
        conflicts.end(7, 3);
        assert_eq!(conflicts.dependencies(&accesses(other), 8, 3), all);
        assert!(all.iter().all(|one| *one == Dependency { transaction: 7, statements: 2 }));
        assert!(conflicts.dependencies(&accesses(other), 8, 4).is_empty());
        !all.is_empty()
    }

    #[test]
    fn statements_that_may_lock_the_same_row_wait_for_each_other() {
        let one = "update t set a = 9 where id = 5";
        for other in [
            "delete from shop.t where id = '5'",
            "insert into t (id, a) values (4, 1), (5, 1)",
            "update `t` set a = a + 1 where b = 1 and id in (4, 5)",
            "update t set a = 0",
            "delete from t where id < 9",
            "insert into t (a) values (6)",
            "replace t select * from u",
            "select a, b from t where id = 5 for update",
            "select a from t where id < 9 lock in share mode",
            "select a from u join t on t.id = u.t where u.id = 5 for update",
        ] {
            assert!(conflict(one, other), "{other}");
            assert!(conflict(other, one), "{other}");
        }
        let apart =
            ["update t set a = 5 where id = 6", "delete from u where id = 5", "insert into t (id, b) values (6, now())"];
        for other in apart.into_iter().chain(["select a from t where id = 6 for share", "select a from t where id = 5"]) {
            assert!(!conflict(one, other), "{other}");
        }
        let key = "update t set a = 9 where one = 1 and other = 'x'";
        assert!(conflict(key, "delete from t where other = 'x' and one = 1"));
        for other in ["delete from t where one = 2 and other = 'x'", "delete from t where one = 1 and other = 'y'"] {
            assert!(!conflict(key, other), "{other}");
        }
    }

    #[test]
    fn the_first_statement_on_a_row_counts_and_those_before_it_are_waited_for_once() {
        let mut conflicts = Conflicts::default();
        let sql = accesses("update t set a = 1 where id = 5");
        for (transaction, statements) in [(6, 1), (7, 2), (7, 4)] {
            conflicts.lock(transaction, statements, &sql);
        }
        let waits = [Dependency { transaction: 7, statements: 2 }];
        assert_eq!(conflicts.dependencies(&sql, 8, 0)[..], waits);
        conflicts.end(6, 0);
        conflicts.end(7, 1);
        assert_eq!(conflicts.dependencies(&sql, 8, 0)[..], waits);
        let whole = conflicts.dependencies(&accesses("update t set a = 1"), 8, 0);
        assert_eq!(whole[..], [waits[0], Dependency { transaction: 6, statements: 1 }]);
        let open = accesses("insert into t (a) values (now())");
        conflicts.lock(3, 1, &open);
        let both = conflicts.dependencies(&open, 8, 0);
        assert_eq!(both[..2], [Dependency { transaction: 3, statements: 1 }, waits[0]]);
        conflicts.forget(3);
        conflicts.lock(8, 1, &sql);
        conflicts.forget(8);
        assert_eq!(conflicts.dependencies(&sql, 9, 0)[..], waits);
    }

    #[test]
    fn memory_is_limited() {
        let mut conflicts = Conflicts::default();
        let of = |id: usize| accesses(&format!("update t set a = 1 where id = {id}"));
        (0..MOST_LOCKS + 2).for_each(|id| conflicts.lock(7, id + 3, &of(id)));
        assert_eq!(conflicts.dependencies(&of(1_000_000), 8, 0)[..], [Dependency { transaction: 7, statements: 3 }]);
        for transaction in 8..8 + MOST_ENDED as u64 {
            conflicts.lock(transaction, 1, &of(1));
            conflicts.end(transaction, transaction);
        }
        conflicts.end(7, 9_999);
        let locks = conflicts.tables.values().next().unwrap();
        assert_eq!((locks.open.len(), locks.ended.len(), conflicts.locked.len()), (0, MOST_ENDED, 0));
    }
}
