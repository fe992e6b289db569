//! Which rows statements lock, as far as their texts show. Transactions that overlap lock a row in the captured order.
//!
//! A row is identified by its table and a value in the statement: a value after WHERE in an UPDATE, a DELETE or a
//! SELECT ... FOR UPDATE, any value in an INSERT. Anything else, such as a range, is the whole table. If two
//! statements lock the same row by different values, their conflict is not detected.
//!
//! A server releases the locks of a transaction before it logs the end of the transaction. A statement that gets such
//! a lock next may therefore have ended before that time.

use super::literals::Literals;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher as _};

/// A statement with more values locks the whole table.
const MOST_VALUES: usize = 100;
/// A value of more bytes does not identify a row.
const LONGEST: usize = 100;
/// The place of a transaction that has not ended: after all others.
const OPEN: u64 = u64::MAX;
/// How many rows of ended transactions are remembered: the newest ones, which transactions in progress may lock.
const MAX_ROWS: usize = 200_000;

/// The last transaction that locked a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Writer {
    transaction: u64,
    /// How many transactions had ended before it did; [`OPEN`] until then.
    place: u64,
    /// The number of its first statement on the row, from 1.
    statements: usize,
}

/// A statement waits until a transaction has executed this many statements, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The number of the transaction.
    pub transaction: u64,
    /// How many statements.
    pub statements: usize,
}

/// The rows that statements of a digest lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    table: u64,
    rows: Rows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// Any value identifies a row.
    OfValues,
    /// A value after WHERE identifies a row.
    OfWhere,
    /// All rows of the table.
    All,
}

impl Target {
    /// The rows that statements of this digest lock; None if they lock no rows.
    #[must_use]
    pub fn of(digest: &[u8]) -> Option<Self> {
        let mut words = digest.split(|byte| matches!(byte, b' ' | b'(' | b',')).filter(|word| !word.is_empty());
        let has = |part: &[u8]| memchr::memmem::find(digest, part).is_some();
        let is_insert = match words.next()? {
            b"insert" | b"replace" => true,
            b"update" | b"delete" => false,
            b"select" if has(b" for update") || has(b" for share") || has(b" lock in share mode") => {
                words.find(|word| *word == b"from")?;
                false
            }
            _ => return None,
        };
        let keywords: [&[u8]; 7] = [b"low_priority", b"high_priority", b"delayed", b"quick", b"ignore", b"into", b"from"];
        let table = words.find(|word| !keywords.contains(word))?;
        let table = table.rsplit(|byte| *byte == b'.').next()?;
        let rows = match is_insert {
            _ if memchr::memmem::rfind(digest, b"select ").is_some_and(|at| at > 0) || has(b" join ") => Rows::All,
            true => Rows::OfValues,
            false if has(b"<") || has(b">") || has(b" between ") || has(b" like ") || has(b"!=") => Rows::All,
            false => Rows::OfWhere,
        };
        Some(Self { table: hash(0, table), rows })
    }
}

/// The rows that one statement locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockedRows {
    rows: Vec<u64>,
    table: u64,
    is_all: bool,
}

impl LockedRows {
    /// The rows that a statement with these values locks.
    #[must_use]
    pub fn by(target: Target, sql: &[u8], literals: &Literals) -> Self {
        let from = match target.rows {
            Rows::OfValues => Some(0),
            Rows::OfWhere => literals.behind_where,
            Rows::All => None,
        };
        let found = from.map(|from| literals.found.iter().filter(move |literal| literal.range().start >= from));
        let values = found.into_iter().flatten().map(|literal| literal.of(sql)).filter(|value| value.len() <= LONGEST);
        let rows: Vec<u64> = values.take(MOST_VALUES + 1).map(|value| hash(target.table, unquoted(value))).collect();
        if rows.is_empty() || rows.len() > MOST_VALUES {
            return Self { rows: vec![], table: target.table, is_all: true };
        }
        Self { rows, table: target.table, is_all: false }
    }

    /// The keys under which it is remembered.
    fn marks(&self) -> impl Iterator<Item = u64> + '_ {
        let all = self.is_all.then_some(hash(self.table, ALL));
        self.rows.iter().copied().chain(all).chain([hash(self.table, ANY)])
    }

    /// The keys of the rows with which it conflicts.
    fn meets(&self) -> impl Iterator<Item = u64> + '_ {
        let table = hash(self.table, if self.is_all { ANY } else { ALL });
        self.rows.iter().copied().chain([table])
    }
}

/// Stands for a lock on all rows of a table. No value is equal to it.
const ALL: &[u8] = b"\0all\0";
/// Stands for a lock on any row of a table. No value is equal to it.
const ANY: &[u8] = b"\0any\0";

fn hash(table: u64, value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(table);
    hasher.write(value);
    hasher.finish()
}

/// A value without quotes: `'5'` and `5` identify the same row.
fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
        _ => value,
    }
}

/// The transaction that locked each row last.
#[derive(Debug, Default)]
pub struct Conflicts {
    last: HashMap<u64, Writer>,
    /// The rows of ended transactions, with the places of these, in the order in which they ended.
    order: VecDeque<(u64, u64)>,
}

impl Conflicts {
    /// What a statement of a transaction has to wait for. The transaction begins when `after` others have ended.
    #[must_use]
    pub fn dependencies(&self, written: &LockedRows, transaction: u64, after: u64) -> Box<[Dependency]> {
        let writers = written.meets().filter_map(|key| self.last.get(&key));
        let mut all: Vec<Dependency> = Vec::new();
        for Writer { transaction, statements, .. } in
            writers.filter(|writer| writer.place >= after && writer.transaction != transaction)
        {
            match all.iter_mut().find(|one| one.transaction == *transaction) {
                Some(one) => one.statements = one.statements.max(*statements),
                None => all.push(Dependency { transaction: *transaction, statements: *statements }),
            }
        }
        all.into()
    }

    /// Record a statement of a transaction. `statements` is its number in the transaction, from 1.
    pub fn write(&mut self, transaction: u64, statements: usize, written: &LockedRows) {
        for key in written.marks() {
            let last = self.last.entry(key).or_insert(Writer { transaction, place: OPEN, statements });
            // The first statement on a row takes its lock.
            if last.transaction != transaction {
                *last = Writer { transaction, place: OPEN, statements };
            }
        }
    }

    /// Record the end of a transaction. `place` is how many transactions ended before it, `wrote` is what it locked.
    pub fn end(&mut self, transaction: u64, place: u64, wrote: &[LockedRows]) {
        for key in wrote.iter().flat_map(LockedRows::marks) {
            if let Some(last) = self.last.get_mut(&key).filter(|last| last.transaction == transaction && last.place == OPEN) {
                last.place = place;
                self.order.push_back((key, place));
            }
        }
        while self.order.len() > MAX_ROWS {
            let Some((key, place)) = self.order.pop_front() else { break };
            if self.last.get(&key).is_some_and(|writer| writer.place == place) {
                self.last.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::digest::Digester;

    fn written(sql: &str) -> LockedRows {
        let mut literals = Literals::default();
        literals.shape(sql.as_bytes()).unwrap();
        let target = Target::of(Digester::default().digest(sql.as_bytes()).0).unwrap();
        LockedRows::by(target, sql.as_bytes(), &literals)
    }

    fn meet(one: &str, other: &str) -> bool {
        let mut conflicts = Conflicts::default();
        conflicts.write(7, 2, &written(one));
        let all = conflicts.dependencies(&written(other), 8, 1_000);
        assert!(conflicts.dependencies(&written(other), 7, 0).is_empty());
        conflicts.end(7, 3, &[written(one)]);
        assert_eq!(conflicts.dependencies(&written(other), 8, 3), all);
        assert!(all.iter().all(|one| *one == Dependency { transaction: 7, statements: 2 }));
        assert!(conflicts.dependencies(&written(other), 8, 4).is_empty());
        !all.is_empty()
    }

    #[test]
    fn statements_meet_where_they_may_write_the_same_row() {
        let one = "update t set a = 9 where id = 5";
        for other in [
            "delete from shop.t where id = '5'",
            "insert into t (id, a) values (4, 1), (5, 1)",
            "update `t` set a = a + 1 where b = 1 and id in (4, 5)",
            "update t set a = 0",
            "delete from t where id < 9",
            "replace t select * from u",
            "select a, b from t where id = 5 for update",
            "select a from t where id < 9 lock in share mode",
        ] {
            assert!(meet(one, other), "{other}");
            assert!(meet(other, one), "{other}");
        }
        let apart = ["update t set a = 5 where id = 6", "delete from u where id = 5", "insert into t (a) values (6)"];
        for other in apart.into_iter().chain(["select a from t where id = 6 for share"]) {
            assert!(!meet(one, other), "{other}");
        }
    }

    #[test]
    fn the_first_statement_on_a_row_counts_and_what_is_old_is_forgotten() {
        let mut conflicts = Conflicts::default();
        let sql = "update t set a = 1 where id = 5";
        conflicts.write(7, 2, &written(sql));
        conflicts.write(7, 4, &written(sql));
        conflicts.end(7, 0, &[written(sql), written(sql)]);
        assert_eq!(conflicts.dependencies(&written(sql), 8, 0)[..], [Dependency { transaction: 7, statements: 2 }]);
        let other = written("update u set a = 1 where id = 1");
        for each in 0..MAX_ROWS as u64 {
            conflicts.write(8 + each, 1, &other);
            conflicts.end(8 + each, 1 + each, std::slice::from_ref(&other));
        }
        assert!(conflicts.dependencies(&written(sql), 7 + MAX_ROWS as u64, 0).is_empty());
        assert!(conflicts.last.len() < 10);
    }
}
