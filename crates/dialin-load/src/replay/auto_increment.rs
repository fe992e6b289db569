//! The `AUTO_INCREMENT` values of inserted rows.
//!
//! An application inserts a row and uses its id in the next statements. Logs do not have the id, and the server gives it
//! in the order of the inserts, which differs in a replay if transactions overlap, or one is replayed again. So the ids
//! are counted: the first pass over a capture counts the rows that each INSERT into a table adds, in the order in which
//! the INSERTs were sent. Of two INSERTs that ran at the same time, the second one may have got its id first. Their ids
//! are exchanged if the next statements of their transactions contain other ids than their own, and one contains that of
//! the other. Before each INSERT the replay sets `insert_id` to its id. The ids are those of the capture only if the data
//! are those from the beginning of the capture.
//!
//! Only ids that are used are set: a statement of the capture, or a foreign key, names the column. A table is left to the
//! server if the ids of one of its INSERTs cannot be counted, such as those of INSERT ... SELECT; all tables are, if any
//! statement may insert rows without saying so, such as CALL, or change the count, such as TRUNCATE.

use super::accesses::{TouchedTables, name_hash};
use super::digest_properties::DigestProperties;
use super::literals::Literals;
use super::timeline::Statement;
use crate::errors::Result;
use crate::net::client::Client;
use crate::net::connect::Connector;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

const COLUMNS: &[u8] = b"SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, AUTO_INCREMENT FROM information_schema.COLUMNS \
    JOIN information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME) WHERE EXTRA LIKE '%auto_increment%' \
    AND ENGINE = 'InnoDB' AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')";
const REFERENCED: &[u8] = b"SELECT DISTINCT REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME \
    FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL";
const NAMES: &[u8] = b"SELECT TABLE_NAME FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')";
/// Triggers, and functions that may change data: they may insert rows that no log shows.
const HIDDEN: &[u8] = b"SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN ('mysql', 'sys') \
    UNION ALL SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION' \
    AND SQL_DATA_ACCESS NOT IN ('READS SQL DATA', 'NO SQL') AND ROUTINE_SCHEMA NOT IN ('mysql', 'sys')";
const STEP: &[u8] = b"SELECT @@global.auto_increment_increment";
/// Without this, MySQL 8.0 and newer return values of up to a day ago. Other servers do not have the variable.
const FRESH: &[u8] = b"SET SESSION information_schema_stats_expiry = 0";

/// Errors of an INSERT that has taken its ids: duplicate key (1062, 1586), lock wait timeout (1205), deadlock (1213), foreign key (1452).
const TAKING_ERRORS: [u64; 5] = [1062, 1205, 1213, 1452, 1586];
/// How many of the next statements of a transaction are searched for an id.
const MOST_STATEMENTS: usize = 20;
/// How many numbers are kept for each INSERT: those closest to its id.
const MOST_MENTIONED: usize = 4;
/// Numbers that differ from the id by more are ignored.
const NEAR: u64 = 1_000;
/// The `AUTO_INCREMENT` column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column {
    name: u64,
    next: u64,
    is_referenced: bool,
}

/// The `AUTO_INCREMENT` columns of a server, by a hash of the table's name. Tables of the same name in several schemas are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoIncrements(HashMap<u64, Column>);

impl AutoIncrements {
    /// Asks a server. The account sees the tables for which it has privileges. None are returned if ids do not
    /// increase by 1, or if triggers or functions may insert rows.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or refuses the account.
    pub fn read(connector: &Connector<'_>) -> Result<Self> {
        let mut client = Client::connect(connector)?;
        let mut ask = |sql: &[u8]| -> Vec<Vec<String>> {
            let rows = client.rows(sql).unwrap_or_default();
            rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect()
        };
        ask(FRESH);
        for row in ask(COLUMNS) {
            // MySQL 8.0 and newer show the last value instead of the next one until a table has been opened.
            if let [schema, table, ..] = &row[..] {
                let [schema, table] = [schema, table].map(|name| name.replace('`', "``"));
                ask(format!("SELECT 1 FROM `{schema}`.`{table}` LIMIT 0").as_bytes());
            }
        }
        let (columns, referenced) = (ask(COLUMNS), ask(REFERENCED));
        let names = ask(NAMES).into_iter().flatten().collect::<Vec<String>>();
        let can_be_counted = ask(STEP) == [["1"]] && ask(HIDDEN).is_empty();
        Ok(if can_be_counted { Self::of(&names, &columns, &referenced) } else { Self::default() })
    }

    /// Makes them of the names of all tables, and of rows: schema, table, column and next value; table and column that foreign keys refer to.
    #[must_use]
    pub fn of(names: &[String], columns: &[Vec<String>], referenced: &[Vec<String>]) -> Self {
        let mut all = HashMap::new();
        let mut schemas: HashMap<String, usize> = HashMap::new();
        names.iter().for_each(|name| *schemas.entry(name.to_lowercase()).or_default() += 1);
        let hash = |name: &str| name_hash(name.to_lowercase().as_bytes());
        for row in columns {
            let [_, table, column, next] = &row[..] else { continue };
            if schemas.get(&table.to_lowercase()).is_some_and(|schemas| *schemas > 1) {
                continue;
            }
            let is_referenced = referenced.iter().any(|row| matches!(&row[..], [of, name] if of == table && name == column));
            let column = Column { name: hash(column), next: next.parse().unwrap_or(1), is_referenced };
            all.insert(hash(table), column);
        }
        Self(all)
    }
}

/// An INSERT that took ids.
#[derive(Clone, Copy, Debug)]
struct Insert {
    start: i64,
    end: i64,
    /// How many ids it took.
    rows: u64,
    /// The numbers closest to its id that the next statements of its transaction contain; 0 for none.
    mentioned: [u64; MOST_MENTIONED],
}

/// The INSERTs of one table, in the order of the log.
#[derive(Debug, Default)]
struct Taken {
    inserts: Vec<Insert>,
    is_uncountable: bool,
    /// How many ids were taken since the moment of the backup.
    counted: u64,
}

/// An INSERT whose id may follow in its session.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    table: u64,
    insert: usize,
    /// The id that it would have if ids had been taken in the order of the log.
    near: u64,
    statements_left: usize,
    /// Whether the INSERT was a transaction by itself. Its id may follow until the session inserts into the table again.
    is_single: bool,
}

/// Counts the ids that INSERTs took.
#[derive(Debug, Default)]
pub struct Learner {
    columns: Arc<AutoIncrements>,
    from: Option<i64>,
    /// How much earlier or later INSERTs may have been executed than the log says, in microseconds.
    uncertainty: i64,
    tables: HashMap<u64, Taken>,
    /// By session.
    awaited: HashMap<u64, Vec<Awaited>>,
    /// When the last INSERT of each session was sent.
    last: HashMap<u64, i64>,
    is_uncountable: bool,
    /// Hashes of all words of the digests, since any of them may name a column.
    words: HashSet<u64>,
}

/// By table: the first id of each INSERT that took ids, in the order of the log.
pub type Ids = HashMap<u64, Vec<u64>>;

/// What is done about ids.
#[derive(Debug, Default)]
pub enum Sequences {
    /// Nothing: the schedule is made to learn something else.
    #[default]
    Ignored,
    /// They are counted; nothing is played.
    Learned(Learner),
    /// INSERTs get them. With how many INSERTs of each table have got theirs.
    Given(Arc<Ids>, HashMap<u64, usize>),
}

impl Sequences {
    /// Returns sequences that count ids, for a server with these columns. Those that were taken until the time `from` are in
    /// its data. INSERTs may have been executed by `uncertainty` earlier or later than the log says, in microseconds.
    #[must_use]
    pub fn learn(columns: Arc<AutoIncrements>, from: Option<i64>, uncertainty: i64) -> Self {
        Self::Learned(Learner { columns, from, uncertainty, ..Learner::default() })
    }

    /// Returns sequences that give these ids to the INSERTs, in the order of the log.
    #[must_use]
    pub fn give(ids: Arc<Ids>) -> Self {
        Self::Given(ids, HashMap::new())
    }

    /// Adds a digest, which has no number if there are too many.
    pub fn add(&mut self, digest: &[u8], properties: &DigestProperties) {
        if let Self::Learned(learner) = self {
            learner.is_uncountable |= properties.hides_ids || properties.number.is_none();
            learner.words.extend(TouchedTables::words(digest));
        }
    }

    /// Records that a session has ended.
    pub fn quit(&mut self, session: u64) {
        if let Self::Learned(learner) = self {
            learner.awaited.remove(&session);
            learner.last.remove(&session);
        }
    }

    /// Records that a transaction of a session has ended, which had this number of statements.
    pub fn end(&mut self, session: u64, statements: usize) {
        let Self::Learned(learner) = self else { return };
        if statements > 1 {
            learner.awaited.remove(&session);
        } else if let Some(awaited) = learner.awaited.get_mut(&session) {
            awaited.iter_mut().for_each(|one| one.is_single = true);
        }
    }

    /// Adds a statement of a session, which was sent at a time; returns the id of its first row if it is given. `literals` finds its values.
    pub fn take(
        &mut self,
        session: u64,
        touches: &TouchedTables,
        statement: &Statement,
        start: i64,
        literals: &mut Literals,
    ) -> Option<u64> {
        if let Self::Learned(learner) = self {
            learner.look_for_ids(session, &statement.sql, literals);
        }
        let (table, names) = touches.inserts()?;
        let has_taken = statement.error.is_none_or(|error| error == 0 || TAKING_ERRORS.contains(&error));
        match self {
            Self::Ignored => {}
            Self::Learned(learner) => {
                let column = *learner.columns.0.get(&table).filter(|_| !learner.is_uncountable)?;
                let rows = literals.shape(&statement.sql).and_then(|_| touches.inserted_rows(&statement.sql, literals));
                let end = start.saturating_add(statement.duration.unwrap_or_default()).saturating_add(learner.uncertainty);
                if !has_taken && rows == Some(1) {
                    return None;
                }
                let start = *learner.last.entry(session).and_modify(|last| *last = start.max(*last)).or_insert(start);
                // With several rows, another error may have come after the first of them.
                let rows = rows.filter(|_| has_taken);
                let insert = rows.map(|rows| Insert { start, end, rows, mentioned: [0; MOST_MENTIONED] });
                learner.add(session, table, column, insert.filter(|_| !names.contains(&column.name)));
            }
            Self::Given(ids, taken) => {
                let ids = ids.get(&table).filter(|_| has_taken)?;
                let number = taken.entry(table).or_default();
                *number += 1;
                return ids.get(*number - 1).copied();
            }
        }
        None
    }

    /// Returns the ids that were counted.
    #[must_use]
    pub fn finish(self) -> Ids {
        let Self::Learned(Learner { columns, from, tables, words, is_uncountable: false, .. }) = self else {
            return Ids::new();
        };
        let ids = |(table, taken): (u64, Taken)| {
            let column = columns.0.get(&table)?;
            let is_used = column.is_referenced || words.contains(&column.name);
            (is_used && !taken.is_uncountable).then(|| (table, taken.ids(column.next, from)))
        };
        tables.into_iter().filter_map(ids).collect()
    }
}

impl Learner {
    /// Looks for ids of rows that a session has inserted in its next statement.
    fn look_for_ids(&mut self, session: u64, sql: &[u8], literals: &mut Literals) {
        let Some(awaited) = self.awaited.get_mut(&session).filter(|awaited| !awaited.is_empty()) else { return };
        let found = literals.shape(sql).map_or(&[][..], |_| &literals.found);
        let numbers = || found.iter().filter_map(|one| std::str::from_utf8(one.of(sql)).ok()?.parse::<u64>().ok());
        awaited.retain_mut(|one| {
            let insert = self.tables.get_mut(&one.table).and_then(|taken| taken.inserts.get_mut(one.insert));
            let Some(Insert { mentioned, .. }) = insert else { return false };
            let distance = |number: u64| if number == 0 { u64::MAX } else { number.abs_diff(one.near) };
            for number in numbers().filter(|number| distance(*number) <= NEAR) {
                let is_new = !mentioned.contains(&number);
                if let Some(farthest) = mentioned.iter_mut().max_by_key(|other| distance(**other))
                    && is_new
                    && distance(number) < distance(*farthest)
                {
                    *farthest = number;
                }
            }
            one.statements_left -= 1;
            one.statements_left > 0
        });
    }

    /// Adds an INSERT into a table with this column; None if its ids cannot be counted.
    fn add(&mut self, session: u64, table: u64, column: Column, insert: Option<Insert>) {
        let taken = self.tables.entry(table).or_default();
        let Some(insert) = insert else {
            *taken = Taken { is_uncountable: true, ..Taken::default() };
            return;
        };
        if taken.is_uncountable {
            return;
        }
        if self.from.is_none_or(|from| insert.start > from) {
            let near = column.next.saturating_add(taken.counted);
            let awaited = self.awaited.entry(session).or_default();
            awaited.retain(|one| one.table != table || !one.is_single);
            let (number, statements_left) = (taken.inserts.len(), MOST_STATEMENTS);
            awaited.push(Awaited { table, insert: number, near, statements_left, is_single: false });
            taken.counted += insert.rows;
        }
        taken.inserts.push(insert);
    }
}

impl Taken {
    fn ids(&self, next: u64, from: Option<i64>) -> Vec<u64> {
        let mut order: Vec<usize> = (0..self.inserts.len()).collect();
        order.sort_by_key(|insert| self.inserts[*insert].start);
        let before = self.inserts.iter().filter(|insert| from.is_some_and(|from| insert.start <= from));
        let mut id = next.wrapping_sub(before.map(|insert| insert.rows).sum());
        let (mut ids, mut by_id) = (vec![0; order.len()], HashMap::new());
        for insert in order {
            ids[insert] = id;
            by_id.insert(id, insert);
            id = id.wrapping_add(self.inserts[insert].rows);
        }
        for one in 0..ids.len() {
            if !self.inserts[one].mentions_others_than(ids[one]) {
                continue;
            }
            // Those that have the ids that this one mentions, and that should have other ids, too.
            let others = self.inserts[one].mentioned.iter().filter_map(|mentioned| by_id.get(mentioned).copied());
            let mut others = others.filter(|other| {
                self.inserts[*other].mentions_others_than(ids[*other])
                    && self.inserts[one].may_precede_or_follow(&self.inserts[*other])
            });
            let first = others.next();
            let mutual = first.into_iter().chain(others).find(|other| self.inserts[*other].mentioned.contains(&ids[one]));
            if let Some(other) = mutual.or(first) {
                by_id.extend([(ids[other], one), (ids[one], other)]);
                ids.swap(one, other);
            }
        }
        ids
    }
}

impl Insert {
    /// Whether the next statements contain numbers close to its id, but not this one.
    fn mentions_others_than(&self, id: u64) -> bool {
        !self.mentioned.contains(&id) && self.mentioned.iter().any(|mentioned| *mentioned != 0)
    }

    /// Whether either of two INSERTs may have taken its ids first: they ran at the same time, and took as many.
    fn may_precede_or_follow(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end && self.rows == other.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::digest::Digester;

    fn columns() -> Arc<AutoIncrements> {
        let rows = |rows: &[&[&str]]| -> Vec<Vec<String>> {
            rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect()
        };
        let all = rows(&[
            &["s", "Line", "ID", "100"],
            &["s", "log", "no", "5"],
            &["s", "parent", "key", ""],
            &["s", "x", "id", "1"],
            &["t", "x", "id", "1"],
        ]);
        let names = all.iter().map(|row| row[1].clone()).collect::<Vec<String>>();
        Arc::new(AutoIncrements::of(&names, &all, &rows(&[&["parent", "key"]])))
    }

    /// The ids of statements: their session, when they were sent, their text and their error. Each took 10.
    fn ids(from: Option<i64>, statements: &[(u64, i64, &str, u64)]) -> Vec<Option<u64>> {
        let pass = |sequences: &mut Sequences| -> Vec<Option<u64>> {
            let take = |(session, start, sql, error): &(u64, i64, &str, u64)| {
                let (mut digester, mut literals) = (Digester::default(), Literals::default());
                let (digest, _) = digester.digest(sql.as_bytes());
                sequences.add(digest, &DigestProperties { number: Some(0), ..DigestProperties::of(digest) });
                let statement = Statement {
                    sql: sql.as_bytes().into(),
                    schema: None,
                    is_prepared: false,
                    duration: Some(10),
                    error: Some(*error),
                    rows: None,
                    examined: None,
                    affected: None,
                    clock: 0,
                };
                sequences.take(*session, &TouchedTables::of(digest), &statement, *start, &mut literals)
            };
            statements.iter().map(take).collect()
        };
        let mut sequences = Sequences::learn(columns(), from, 0);
        assert!(pass(&mut sequences).iter().all(Option::is_none));
        pass(&mut Sequences::give(Arc::new(sequences.finish())))
    }

    #[test]
    fn inserts_get_ids_in_the_order_in_which_they_were_sent() {
        let statements = [
            (1, 10, "insert into line (a) values (1)", 0),
            (1, 30, "insert into shop.`line` (a) values (2), (now())", 0),
            (2, 20, "insert into line (a) values (3)", 0),
            (2, 35, "insert into line (a) values (4)", 1048),
            (2, 40, "insert into line (a) values (5)", 1213),
            (2, 50, "insert into line (a) values (6)", 0),
            (2, 60, "select a from line where id = 7", 0),
        ];
        let expected = [Some(100), Some(102), Some(101), None, Some(104), Some(105), None];
        assert_eq!(ids(None, &statements), expected);
        assert_eq!(ids(Some(20), &statements), expected.map(|id| id.map(|id| id - 2)));
    }

    #[test]
    fn the_inserts_of_a_session_keep_their_order() {
        let insert = "insert into parent (a) values (1)";
        assert_eq!(ids(None, &[(1, 20, insert, 0), (1, 15, insert, 0), (2, 18, insert, 0)]), [Some(2), Some(3), Some(1)]);
    }

    #[test]
    fn the_next_statements_of_overlapping_inserts_show_which_one_had_which_id() {
        let insert = "insert into line (a) values (1)";
        let with = |second: i64, of_second: &'static str| {
            let statements = [
                (1, 10, insert, 0),
                (2, second, insert, 0),
                (1, 31, "update line set a = 2 where id = 101", 0),
                (2, 32, of_second, 0),
            ];
            ids(None, &statements)[..2].to_vec()
        };
        let (as_sent, exchanged) = (vec![Some(100), Some(101)], vec![Some(101), Some(100)]);
        assert_eq!(with(15, "insert into other (line, a) values (100, 7)"), exchanged);
        assert_eq!(with(15, "insert into other (line, a) values (100, 99)"), exchanged);
        assert_eq!(with(15, "insert into other (line, a) values (100, 101)"), as_sent, "the second has its own");
        assert_eq!(with(15, "insert into other (line, a) values (9000, 7.5)"), as_sent, "the second has none");
        assert_eq!(with(21, "insert into other (line, a) values (100, 7)"), as_sent, "they did not overlap");
    }

    #[test]
    fn only_ids_that_are_used_and_can_be_counted_are_given() {
        let insert = (1, 1, "insert into line (a) values (1)", 0);
        assert_eq!(ids(None, &[insert]), [None], "nothing names the column");
        assert_eq!(ids(None, &[(1, 1, "insert into parent (a) values (1)", 0)]), [Some(1)], "a foreign key does");
        let named = (1, 2, "select id from other", 0);
        assert_eq!(ids(None, &[insert, named]), [Some(100), None]);
        for other in [
            "insert into line (id, a) values (7, 1)",
            "insert into line (a) select 1",
            "replace into line (a) values (1)",
            "insert into line values (1, 2)",
            "insert into line (a) values (1), (2) on duplicate key update a = 3",
        ] {
            assert_eq!(ids(None, &[insert, named, (1, 3, other, 0)]), [None; 3], "{other}");
        }
        let failed = (1, 3, "insert into line (a) values (1), (2)", 1048);
        assert_eq!(ids(None, &[insert, named, failed]), [None; 3], "its first row may have taken an id");
        for other in ["call anything()", "truncate line"] {
            assert_eq!(ids(None, &[insert, named, (1, 3, other, 0)]), [None; 3], "{other}");
        }
        assert_eq!(ids(None, &[(1, 1, "insert into x (a) values (1)", 0), named]), [None; 2], "it is in two schemas");
    }
}
