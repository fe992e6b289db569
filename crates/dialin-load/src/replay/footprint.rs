//! What a transaction reads and writes, as far as the texts of its statements show. Two transactions *meet* if they
//! must run in the captured order; otherwise they may run in any order.
//!
//! An access is a table and, if all of its conditions compare a column with values (`=` or `BETWEEN`, joined by
//! `AND`), the rows that satisfy them. Two accesses do not meet if their whole numbers for a common column differ.
//! Values that are text do not separate accesses, because their equality depends on the collation. Other operators
//! and joins access the whole table. What a text does not show, such as a view or a trigger, is ignored.
//!
//! A replay is the same work if its queries return the same number of rows, because the client that used their
//! content is not part of the replay. So a query does not meet an UPDATE of columns that it only returns, or a row
//! that is deleted and inserted again. `SELECT DISTINCT` does not either, although an UPDATE of one row may change its
//! number of rows by one: waiting for each such UPDATE costs a replay a tenth of its speed or more. The replay counts
//! other numbers of rows.

mod ended;

pub use ended::{EndedFootprints, MAX_TRANSACTIONS};

use super::literals::Literals;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

/// The tables that statements of a digest touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TouchedTables {
    /// They may touch anything.
    Unknown,
    /// These tables.
    Tables(Vec<Table>),
}

/// A table that statements of a digest touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    name: u64,
    does: Does,
    rows: Rows,
}

/// What a statement does with rows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Does {
    /// It returns them to the client. Their number depends on these columns; None if it may depend on any column.
    Read(Option<Arc<[u64]>>),
    /// It locks them, or uses their content.
    Use,
    /// It changes these columns.
    Update(Arc<[u64]>),
    /// It inserts them.
    Insert,
    /// It deletes them.
    Delete,
}

impl Does {
    /// Whether the order matters if both are done to one row.
    fn matters_to(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Read(_), Self::Read(_) | Self::Use) | (Self::Use, Self::Read(_)) => false,
            (Self::Read(Some(counted)), Self::Update(changed)) | (Self::Update(changed), Self::Read(Some(counted))) => {
                changed.iter().any(|column| counted.contains(column))
            }
            _ => true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rows {
    All,
    /// The rows that satisfy these conditions, which are the whole WHERE clause. `values` is the number of values after WHERE.
    Where {
        conditions: Vec<Condition>,
        values: usize,
    },
    /// Inserted rows, which have these columns.
    Inserted(Vec<u64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Condition {
    /// The column; None if the statement may change it.
    column: Option<u64>,
    is_range: bool,
}

/// The rows of a table that a statement touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    table: u64,
    does: Does,
    /// Columns with their smallest and largest value.
    columns: Box<[(u64, i64, i64)]>,
}

impl Access {
    /// Whether the order of two accesses to one table matters.
    fn meets(&self, other: &Self) -> bool {
        let are_apart =
            |one: &(u64, i64, i64), other: &(u64, i64, i64)| one.0 == other.0 && (one.1 > other.2 || other.1 > one.2);
        let is_apart = self.columns.iter().any(|one| other.columns.iter().any(|other| are_apart(one, other)));
        !is_apart && self.does.matters_to(&other.does)
    }
}

/// What a transaction touches.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    reads: Vec<Access>,
    /// All other accesses.
    writes: Vec<Access>,
    /// The position in `writes` of the last DELETE that deleted one row at most.
    deleted: Option<usize>,
    is_unknown: bool,
}

/// A transaction with more accesses is treated as one that may touch anything.
const MAX_ACCESSES: usize = 400;

impl Footprint {
    /// Add a statement. `touches` belongs to its digest; `examined` is the number of rows that it examined.
    pub fn add(&mut self, touches: &TouchedTables, sql: &[u8], literals: Option<&Literals>, examined: Option<u64>) {
        match touches {
            TouchedTables::Tables(tables) if self.reads.len() + self.writes.len() < MAX_ACCESSES => {
                for table in tables {
                    let is_read = matches!(table.does, Does::Read(_));
                    let before = self.writes.len();
                    table.accesses(sql, literals, if is_read { &mut self.reads } else { &mut self.writes });
                    match (&table.does, &table.rows) {
                        (Does::Delete, _) if examined == Some(1) => self.deleted = Some(before),
                        (Does::Insert, Rows::Inserted(names)) => self.insert_again(before, names),
                        _ => {}
                    }
                }
            }
            _ => self.is_unknown = true,
        }
    }

    /// If a row is inserted that was deleted before, both count as an UPDATE, because no other transaction sees the
    /// row missing.
    fn insert_again(&mut self, inserted: usize, names: &[u64]) {
        let Some(deleted) = self.deleted.take() else { return };
        if self.writes.len() != inserted + 1 {
            return;
        }
        let [one, another] = [deleted, inserted].map(|at| &self.writes[at]);
        let is_same = |column: &(u64, i64, i64)| column.1 == column.2 && another.columns.contains(column);
        if one.table == another.table && !one.columns.is_empty() && one.columns.iter().all(is_same) {
            let is_other = |name: &&u64| !one.columns.iter().any(|column| column.0 == **name);
            let changed = Does::Update(names.iter().filter(is_other).copied().collect());
            self.writes[deleted].does = changed.clone();
            self.writes[inserted].does = changed;
        }
    }

    /// Whether the transaction may touch anything.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.is_unknown
    }
}

impl Table {
    fn accesses(&self, sql: &[u8], literals: Option<&Literals>, to: &mut Vec<Access>) {
        let mut put = |columns| to.push(Access { table: self.name, does: self.does.clone(), columns });
        let whole = |literals: &Literals, at: usize| -> Option<i64> {
            let text = literals.found[at].of(sql);
            std::str::from_utf8(text).ok()?.trim_matches(['\'', '"']).parse().ok()
        };
        match (&self.rows, literals) {
            (Rows::Where { conditions, values }, Some(literals)) => {
                let begin = literals.behind_where.unwrap_or(usize::MAX);
                let first = literals.found.iter().position(|literal| literal.range().start >= begin);
                let first = first.unwrap_or(literals.found.len());
                if literals.found.len() - first != *values {
                    return put(Box::default());
                }
                let mut at = first;
                let mut columns = Vec::with_capacity(conditions.len());
                for condition in conditions {
                    let least = whole(literals, at);
                    let most = if condition.is_range { whole(literals, at + 1) } else { least };
                    at += 1 + usize::from(condition.is_range);
                    if let (Some(column), Some(least), Some(most)) = (condition.column, least, most) {
                        columns.push((column, least, most));
                    }
                }
                put(columns.into());
            }
            (Rows::Inserted(names), Some(literals))
                if !literals.found.is_empty() && literals.found.len().is_multiple_of(names.len()) =>
            {
                for row in (0..literals.found.len()).step_by(names.len()) {
                    // The server may store another value for 0, as for NULL.
                    let of = |(at, column): (usize, &u64)| {
                        whole(literals, row + at).filter(|one| *one != 0).map(|one| (*column, one, one))
                    };
                    put(names.iter().enumerate().filter_map(of).collect());
                }
            }
            _ => put(Box::default()),
        }
    }
}

impl TouchedTables {
    /// The tables that statements of this digest touch.
    #[must_use]
    pub fn of(digest: &[u8]) -> Self {
        let tokens: Vec<&[u8]> = Tokens(digest).collect();
        let tokens = &tokens[..];
        let (verb, behind) = match tokens {
            [verb, behind @ ..] => (*verb, behind),
            [] => return Self::Unknown,
        };
        let mut tables = Vec::new();
        let has = |word: &[u8]| behind.contains(&word);
        let is_plain = !has(b"select") && !has(b"join") && !has(b"union");
        match verb {
            b"select" => {
                let uses = has(b"update") || has(b"share") || has(b"into");
                let from = behind.iter().position(|token| *token == b"from");
                match (from.map(|from| &behind[from + 1..]), is_plain) {
                    (None, true) => {}
                    (Some([name, rest @ ..]), true) if begins_conditions(rest) => {
                        let rows = rows_of(rest, &[]);
                        let is_grouped = has(b"group") || has(b"having");
                        let counted = match &rows {
                            _ if is_grouped => Some(hashes(behind)),
                            Rows::Where { conditions, .. } => Some(conditions.iter().filter_map(|one| one.column).collect()),
                            _ if has(b"where") => None,
                            _ => Some(Arc::default()),
                        };
                        let does = if uses { Does::Use } else { Does::Read(counted) };
                        tables.push(Table { name: hash_last(name), does, rows });
                    }
                    _ => mentioned(behind, &if uses { Does::Use } else { Does::Read(None) }, &mut tables),
                }
            }
            b"insert" | b"replace" => {
                let Some((name, rest)) = named(behind) else { return Self::Unknown };
                let rows = if verb == b"insert" { inserted(rest) } else { Rows::All };
                tables.push(Table { name, does: Does::Insert, rows });
                mentioned(rest, &Does::Use, &mut tables);
            }
            b"update" => {
                let Some((name, [b"set", rest @ ..])) = named(behind) else { return Self::Unknown };
                let from = rest.iter().position(|token| *token == b"where").unwrap_or(rest.len());
                let rows = if is_plain { rows_of(&rest[from..], &rest[..from]) } else { Rows::All };
                tables.push(Table { name, does: Does::Update(hashes(&rest[..from])), rows });
                mentioned(rest, &Does::Use, &mut tables);
            }
            b"delete" => {
                let Some((name, rest)) = named(behind) else { return Self::Unknown };
                if !begins_conditions(rest) {
                    return Self::Unknown;
                }
                let rows = if is_plain { rows_of(rest, &[]) } else { Rows::All };
                tables.push(Table { name, does: Does::Delete, rows });
                mentioned(rest, &Does::Use, &mut tables);
            }
            _ => return Self::Unknown,
        }
        Self::Tables(tables)
    }
}

/// The hashes of all words, since any of them may be a column.
fn hashes(tokens: &[&[u8]]) -> Arc<[u64]> {
    tokens.iter().filter(|token| is_name(token)).map(|token| hash_last(token)).collect()
}

/// The first table, after keywords that may come before it, and the tokens that follow it.
fn named<'a>(tokens: &'a [&'a [u8]]) -> Option<(u64, &'a [&'a [u8]])> {
    let keywords: [&[u8]; 7] = [b"low_priority", b"high_priority", b"delayed", b"quick", b"ignore", b"into", b"from"];
    let at = tokens.iter().position(|token| !keywords.contains(token))?;
    is_name(tokens[at]).then(|| (hash_last(tokens[at]), &tokens[at + 1..]))
}

/// Whether `rest`, which follows the name of a table, begins with neither an alias nor another table.
fn begins_conditions(rest: &[&[u8]]) -> bool {
    rest.first().is_none_or(|token| *token == b"where" || is_tail(token))
}

fn is_tail(token: &[u8]) -> bool {
    [&b"order"[..], b"group", b"having", b"limit", b"for", b"lock"].contains(&token)
}

/// The rows that satisfy the conditions in `tokens`; `changed` are the tokens of the SET clause.
fn rows_of(tokens: &[&[u8]], changed: &[&[u8]]) -> Rows {
    let [b"where", behind @ ..] = tokens else { return Rows::All };
    if behind.contains(&&b"..."[..]) || behind.contains(&&b"or"[..]) {
        return Rows::All;
    }
    let values = behind.iter().filter(|token| **token == b"?").count();
    let (mut rest, mut conditions) = (behind, Vec::new());
    loop {
        let (name, is_range, next) = match rest {
            [name, b"=", b"?", next @ ..] => (name, false, next),
            [name, b"between", b"?", b"and", b"?", next @ ..] => (name, true, next),
            _ => return Rows::All,
        };
        if !is_name(name) {
            return Rows::All;
        }
        let last = hash_last(name);
        let is_changed = changed.iter().any(|word| is_name(word) && hash_last(word) == last);
        conditions.push(Condition { column: (!is_changed).then_some(last), is_range });
        match next {
            [b"and", next @ ..] => rest = next,
            [] => break,
            [token, ..] if is_tail(token) => break,
            _ => return Rows::All,
        }
    }
    Rows::Where { conditions, values }
}

/// The rows that `(columns) values (...)` inserts.
fn inserted(tokens: &[&[u8]]) -> Rows {
    let [b"(", rest @ ..] = tokens else { return Rows::All };
    let Some(close) = rest.iter().position(|token| *token == b")") else { return Rows::All };
    let names = rest[..close].iter().filter(|token| **token != b",");
    match &rest[close + 1..] {
        [b"values" | b"value", b"(", b"..." | b"?", b")"] => Rows::Inserted(names.map(|name| hash_last(name)).collect()),
        _ => Rows::All,
    }
}

/// Add all rows of all tables after FROM and JOIN.
fn mentioned(tokens: &[&[u8]], does: &Does, to: &mut Vec<Table>) {
    for (at, token) in tokens.iter().enumerate() {
        if *token != b"from" && *token != b"join" {
            continue;
        }
        let mut rest = &tokens[at + 1..];
        while let [name, behind @ ..] = rest {
            if is_name(name) {
                to.push(Table { name: hash_last(name), does: does.clone(), rows: Rows::All });
            }
            // `a, b c, d`: another table follows a comma, which may come after an alias.
            rest = match behind {
                [b",", next @ ..] | [_, b",", next @ ..] | [b"as", _, b",", next @ ..] => next,
                _ => break,
            };
        }
    }
}

fn is_name(token: &[u8]) -> bool {
    token.first().is_some_and(|first| is_of_name(*first)) && token != b"..."
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'`' | b'.') || !byte.is_ascii()
}

/// The hash of the part of a name after its last dot.
fn hash_last(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.rsplit(|byte| *byte == b'.').next().unwrap_or_default());
    hasher.finish()
}

/// Iterates over the words and signs of a digest.
struct Tokens<'a>(&'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.0.trim_ascii_start();
        let first = *text.first()?;
        let length = if is_of_name(first) { text.iter().take_while(|byte| is_of_name(**byte)).count() } else { 1 };
        let (token, rest) = text.split_at(length);
        self.0 = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::digest::Digester;

    fn footprint(statements: &[&str]) -> Footprint {
        let mut footprint = Footprint::default();
        for sql in statements {
            let mut literals = Literals::default();
            literals.shape(sql.as_bytes()).unwrap();
            let touches = TouchedTables::of(Digester::default().digest(sql.as_bytes()).0);
            footprint.add(&touches, sql.as_bytes(), Some(&literals), Some(1));
        }
        footprint
    }

    fn meet(one: &[&str], other: &str) -> bool {
        let meets = |one: &[&str], other: &[&str]| {
            let (mut ended, footprint_of_other) = (EndedFootprints::default(), footprint(other));
            ended.add(7, footprint(one));
            footprint_of_other.is_unknown() || !ended.meeting(&footprint_of_other, 0..1).is_empty()
        };
        let meet = meets(one, &[other]);
        assert_eq!(meets(&["select 1", other], one), meet, "{one:?} / {other}");
        meet
    }

    #[test]
    fn statements_that_may_touch_the_same_row_meet_if_it_matters() {
        let update = "UPDATE shop.t SET a = a + 1, b = 7 WHERE id = 5";
        for other in [
            "select a from t where id = 5 for update",
            "select c from t where id = '5' and b = 9",
            "select b, max(a) from t where id between 3 and 8 group by b",
            "select a, count(*) from t group by a",
            "select c from t where b = 6",
            "select c from t where a > 4",
            "select c from t where id = 6 or a = 5",
            "select c from t where a in (4, 6)",
            "select c from t where name = 'x' and a = 1",
            "select a into @a from t where id = 5",
            "select x from u, t where u.id = 6",
            "select x from u join t on t.id = u.t where u.id = 6",
            "select x from u where id = 6 and a = (select max(a) from t)",
            "insert into u (id) select id from t",
            "insert into t (a, b) values (6, 6)",
            "insert into t (id, b) values (0, 6), (5, 1)",
            "insert into t values (6, 6)",
            "insert into t (id) values (6) on duplicate key update a = 1",
            "replace into t (id, a) values (6, 1)",
            "update t set id = 9 where id = 6",
            "update t set c = 9 where id = 5",
            "delete from t",
            "call anything(6)",
            "update t, u set t.a = 1 where t.id = 6",
        ] {
            assert!(meet(&[update], other), "{other}");
        }
    }

    #[test]
    fn queries_do_not_meet_nor_does_what_is_on_other_rows_or_tables_or_returns_other_values_only() {
        let update = "update t set a = a + 1 where id = 5";
        for other in [
            "select a from t where id = 5",
            "select sum(a) from t where id between 3 and 8",
            "select a from t order by a limit 10",
            "select a from t where a = 1 and id = 6 for update",
            "select distinct a from t where id between 3 and 8 order by a limit 10",
            "select c, max(b) from t where id between 3 and 8 group by c",
            "select a from u where id = 5",
            "insert into t (b, id) values (5, 6)",
            "insert into t (id) values (6), (7)",
            "update t set b = 5 where id = 6",
            "delete from t where id = 6 limit 1",
            "select 5",
        ] {
            assert!(!meet(&[update], other), "{other}");
        }
        assert!(!meet(&["delete from t where id = 5"], "select a from t where id between 6 and 9"));
        assert!(meet(&["delete from t where id = 5"], "select a from t where id between 3 and 8"));
        assert!(meet(&["select a from t where id = 5 for update"], "select a from t lock in share mode"));
        assert!(!meet(&["select a from t where id = 5 for update"], "select a from t"));
        assert!(footprint(&["set @a = 1"]).is_unknown());
    }

    #[test]
    fn a_row_that_is_deleted_and_inserted_again_is_changed() {
        let again = ["delete from t where id = 5", "insert into t (id, a, name) values (5, 8, 'x')"];
        assert!(!meet(&again, "select a from t where id between 3 and 8"));
        for other in
            ["select max(b) from t where id = 5 group by a", "select b from t where a = 7", "delete from t where id = 5"]
        {
            assert!(meet(&again, other), "{other}");
        }
        let another = ["delete from t where id = 5", "insert into t (id, a) values (6, 8)"];
        assert!(meet(&another, "select a from t where id between 3 and 8"));
    }

    #[test]
    fn a_transaction_of_very_many_statements_may_touch_anything() {
        let statements = vec!["select a from t where id = 5"; MAX_ACCESSES + 1];
        assert!(footprint(&statements).is_unknown());
        assert!(!footprint(&statements[1..]).is_unknown());
    }
}
