//! What a transaction reads and writes, as far as the texts of its statements show. Two transactions *meet* if they
//! must run in the captured order; otherwise they may run in any order.
//!
//! A replay is the same work if its queries return the same number of rows, because the client that used their
//! content is not part of the replay. So a query does not meet an UPDATE of columns that it only returns, or a row
//! that is deleted and inserted again. A query that returns one row in any case, because it is an aggregate without
//! GROUP BY, meets nothing. `SELECT DISTINCT` does not meet an UPDATE either, although that may change its number of
//! rows by one: waiting for each such UPDATE costs a replay a tenth of its speed or more. The replay counts other
//! numbers of rows.

mod ended;

pub use ended::{EndedFootprints, MAX_TRANSACTIONS};

use super::accesses::{Access, Does};

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
    /// Adds the accesses of a statement; None if it may access anything. `examined` is the number of rows that it examined.
    pub fn add(&mut self, accesses: Option<Vec<Access>>, examined: Option<u64>) {
        let Some(accesses) = accesses.filter(|_| self.reads.len() + self.writes.len() < MAX_ACCESSES) else {
            self.is_unknown = true;
            return;
        };
        let is_one = accesses.len() == 1;
        for access in accesses {
            let at = self.writes.len();
            match &access.does {
                Does::Read(_) => {
                    self.reads.push(access);
                    continue;
                }
                Does::Delete if examined == Some(1) => self.deleted = Some(at),
                _ => {}
            }
            self.writes.push(access);
            if is_one {
                self.insert_again(at);
            }
        }
    }

    /// If a row is inserted that was deleted before, both count as an UPDATE, because no other transaction sees the
    /// row missing.
    fn insert_again(&mut self, at: usize) {
        let Does::Insert(names) = &self.writes[at].does else { return };
        let Some(deleted) = self.deleted.take() else { return };
        if self.writes[at].inserts_again(&self.writes[deleted]) {
            let changed = names.iter().copied().filter(|name| !self.writes[deleted].names(*name));
            let changed = Does::Update(changed.collect());
            self.writes[deleted].does = changed.clone();
            self.writes[at].does = changed;
        }
    }

    /// Whether the transaction may touch anything.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.is_unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::digest::Digester;
    use crate::replay::accesses::TouchedTables;
    use crate::replay::literals::Literals;

    fn footprint(statements: &[&str]) -> Footprint {
        let mut footprint = Footprint::default();
        for sql in statements {
            let mut literals = Literals::default();
            literals.shape(sql.as_bytes()).unwrap();
            let touches = TouchedTables::of(Digester::default().digest(sql.as_bytes()).0);
            footprint.add(touches.accesses(sql.as_bytes(), Some(&literals)), Some(1));
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
            "select x from u, t where u.id = 6 and b = x",
            "select x from u join t on t.a = u.t where u.id = 6",
            "select x from u natural join t where u.id = 6",
            "select id, row_number() over (order by id) from t where a = 1",
            "select c from t where b > 1 union select c from t where c = 1 and id = 6",
            "select c from t where id = 6 and `order` > 3 or a = 5",
            "select /*!40001 c, */ b from t where id = 6 and a in (5, 6)",
            "select x from u where id = 6 union select x from t",
            "select x from u join t on t.id = u.t where u.id = 6 for update",
            "select x from u where id in (select t from t where u.id = 6 and b = 7)",
            "select x from u where id = 6 and a = (select max(a) from t)",
            "insert into u (id) select id from t",
            "insert into t (a, b) values (6, 6)",
            "insert into t (id, b) values (5 + 1, 6)",
            "insert into t (id, b) values (0, 6), (5, 1)",
            "insert into t values (6, 6)",
            "insert into t (id) values (6) on duplicate key update a = 1",
            "replace into t (id, a) values (6, 1)",
            "update t set id = 9 where id = 6",
            "update t set c = 9 where id = 5",
            "update t set c = 9 where id = 6 or c = 1",
            "update t set c = 9 where id not in (6, 7)",
            "update t set c = 9 where case when b = 7 and id = 6 and c = 1 then 0 else 1 end",
            "update t set c = 9 where b = 0x41 and id = 5 and c in (6, 7)",
            "update t set c = 9 where c in (0x41) and b = 7",
            "update u set x = 1 where id = 6 and x = (select max(b) from t where c = 6)",
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
            "select x, a from u join t on t.id = u.t where u.id = 6 order by a",
            "select c from t where id in (6, 7) and b > 3 for update",
            "select c from t where id = 6 limit 5, 6 for update",
            "select c from t where b between 3 and 8 and id = 6 for update",
            "insert into t (b, id) values (5, 6)",
            "insert into t (b, id) values (now(), 6)",
            "update t set a = concat(id, 5, 6), b = if(a > 1, 5, 5) where id = 6",
            "update u set x = (select b from t where id = 6 for share) where id = 5",
            "insert into t (id) values (6), (7)",
            "update t set b = 5 where id = 6",
            "delete from t where id = 6 limit 1",
            "select 5",
        ] {
            assert!(!meet(&[update], other), "{other}");
        }
        assert!(!meet(&["delete from t where id = 5"], "select a from t where id between 6 and 9"));
        assert!(!meet(&["delete from t"], "select (max(a) + 1) / 2, count(*) from t"));
        assert!(meet(&["delete from t"], "select count(*) from t having count(*) > 1"));
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
