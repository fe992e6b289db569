//! The tables of sysbench's oltp_ and select_random_ scripts as SQL: how they are created, and their rows.
//!
//! A row depends only on the seed, the table and the id, not on the connection or the time of the INSERT.

use super::Script;
use super::options::Options;
use crate::errors::{Error, Result};
use crate::random::{Integers, of_transaction, template, whole_number};
use std::ops::RangeInclusive;

/// Column c: ten groups of eleven digits.
pub(super) const C: &str = "###########-###########-###########-###########-###########-\
                            ###########-###########-###########-###########-###########";
/// Column pad: five groups of eleven digits.
pub(super) const PAD: &str = "###########-###########-###########-###########-###########";

/// The length of the longest row in bytes, including its comma.
const ROW: usize = 220;

/// All tables of a script.
pub(super) struct Tables {
    pub count: i64,
    /// The number of rows of each table.
    pub rows: i64,
    secondary: bool,
    auto_inc: bool,
    index: bool,
    engine: String,
    ks: Integers,
    seed: u64,
}

impl Tables {
    pub(super) fn new(script: Script, options: &Options) -> Result<Self> {
        // The ids that oltp_insert generates could collide with those of existing rows.
        let empty = script == Script::Insert && !options.auto_inc;
        Ok(Self {
            count: options.tables,
            rows: if empty { 0 } else { options.table_size },
            secondary: options.secondary,
            auto_inc: options.auto_inc,
            index: options.create_secondary,
            engine: options.engine.clone(),
            ks: options.ids()?,
            seed: options.seed,
        })
    }

    /// The numbers of the tables with these names.
    ///
    /// # Errors
    /// There is no table of that name.
    pub(super) fn numbers(&self, names: &[String]) -> Result<Vec<i64>> {
        let number = |name: &String| {
            let number: Option<i64> = name.strip_prefix("sbtest").and_then(|digits| digits.parse().ok());
            number.filter(|number| (1..=self.count).contains(number)).ok_or_else(|| {
                Error::user(format!("there is no table {name}"), format!("The tables are sbtest1 to sbtest{}", self.count))
            })
        };
        names.iter().map(number).collect()
    }

    /// The statement that creates a table.
    pub(super) fn create(&self, table: i64) -> String {
        let increment = if self.auto_inc { " AUTO_INCREMENT" } else { "" };
        let key = if self.secondary { "KEY xid" } else { "PRIMARY KEY" };
        format!(
            "CREATE TABLE sbtest{table} (id INTEGER NOT NULL{increment}, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, {key} (id)) ENGINE = {}",
            self.engine
        )
    }

    /// The statement that adds the secondary index to a filled table; None if `create-secondary` is off.
    pub(super) fn index(&self, table: i64) -> Option<String> {
        self.index.then(|| format!("CREATE INDEX k_{table} ON sbtest{table}(k)"))
    }

    /// Sends the rows with these ids, at least one, in INSERTs of at most `limit` bytes. An INSERT of a single row may be
    /// longer.
    ///
    /// The INSERTs contain the ids even if the server could assign them, so that `auto_increment_increment` does not matter.
    pub(super) fn insert(
        &self,
        table: i64,
        ids: RangeInclusive<i64>,
        limit: usize,
        mut send: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let head = format!("INSERT INTO sbtest{table}(id, k, c, pad) VALUES").into_bytes();
        let mut sql = head.clone();
        for id in ids {
            if sql.len() > head.len() {
                if sql.len() + ROW > limit {
                    send(&sql)?;
                    sql.truncate(head.len());
                } else {
                    sql.push(b',');
                }
            }
            self.row(table, id, &mut sql);
        }
        send(&sql)
    }

    fn row(&self, table: i64, id: i64, sql: &mut Vec<u8>) {
        let mut rng = of_transaction(self.seed, (table.unsigned_abs() << 32) + id.unsigned_abs());
        sql.push(b'(');
        whole_number(id, sql);
        sql.push(b',');
        whole_number(self.ks.draw(&mut rng), sql);
        sql.extend_from_slice(b",'");
        template(C.as_bytes(), &mut rng, sql);
        sql.extend_from_slice(b"','");
        template(PAD.as_bytes(), &mut rng, sql);
        sql.extend_from_slice(b"')");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(script: Script, given: &[(&str, &str)]) -> Tables {
        let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Tables::new(script, &Options::read(script, &given).unwrap()).unwrap()
    }

    fn inserted(tables: &Tables, table: i64, ids: RangeInclusive<i64>, limit: usize) -> Vec<String> {
        let mut sent = Vec::new();
        let insert = tables.insert(table, ids, limit, |sql| {
            sent.push(String::from_utf8(sql.to_vec()).unwrap());
            Ok(())
        });
        insert.unwrap();
        sent
    }

    fn rows(statements: &[String], table: i64) -> Vec<String> {
        let head = format!("INSERT INTO sbtest{table}(id, k, c, pad) VALUES(");
        let rows = statements.iter().flat_map(|sql| {
            let rows = sql.strip_prefix(&head).unwrap().strip_suffix(')').unwrap();
            rows.split("),(").map(str::to_owned)
        });
        rows.collect()
    }

    #[test]
    fn tables_are_those_of_sysbench() {
        let usual = tables(Script::ReadWrite, &[]);
        assert_eq!(
            usual.create(3),
            "CREATE TABLE sbtest3 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = innodb"
        );
        assert_eq!(usual.index(3).as_deref(), Some("CREATE INDEX k_3 ON sbtest3(k)"));
        let given = [("auto-inc", "off"), ("secondary", "on"), ("create-secondary", "off"), ("mysql-storage-engine", "aria")];
        let other = tables(Script::ReadWrite, &given);
        assert!(other.create(1).starts_with("CREATE TABLE sbtest1 (id INTEGER NOT NULL, k"));
        assert!(other.create(1).ends_with("KEY xid (id)) ENGINE = aria"));
        assert_eq!(other.index(1), None);
    }

    #[test]
    fn some_tables_are_named_and_only_those_that_exist() {
        let tables = tables(Script::ReadWrite, &[("tables", "12")]);
        let numbers = |names: &[&str]| tables.numbers(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(numbers(&["sbtest3", "sbtest12"]), Ok(vec![3, 12]));
        for name in ["sbtest13", "sbtest0", "sbtest", "accounts"] {
            let error = numbers(&["sbtest1", name]).unwrap_err();
            assert_eq!(error.what, format!("there is no table {name}"));
            assert_eq!(error.remedy, "The tables are sbtest1 to sbtest12");
        }
    }

    #[test]
    fn rows_come_in_the_order_of_their_ids() {
        let tables = tables(Script::ReadWrite, &[("table-size", "9001")]);
        let all = rows(&inserted(&tables, 2, 1..=9_001, 1 << 20), 2);
        let ids: Vec<i64> = all.iter().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
        assert_eq!(ids, (1..=9_001).collect::<Vec<_>>());
    }

    #[test]
    fn a_row_has_a_k_of_the_table_and_the_two_templates() {
        let tables = tables(Script::ReadWrite, &[("table-size", "10")]);
        for row in rows(&inserted(&tables, 1, 1..=10, 1 << 20), 1) {
            let columns: Vec<&str> = row.split(',').collect();
            assert!((1..=10).contains(&columns[1].parse::<i64>().unwrap()), "{row}");
            for (column, template) in [(columns[2], C), (columns[3], PAD)] {
                let text = column.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap();
                let shape: String = text.chars().map(|each| if each.is_ascii_digit() { '#' } else { each }).collect();
                assert_eq!(shape, template);
            }
        }
        assert_eq!((C.len(), PAD.len()), (119, 59));
    }

    #[test]
    fn rows_do_not_depend_on_how_they_are_sent_but_on_seed_table_and_id() {
        let one = tables(Script::ReadWrite, &[("table-size", "500")]);
        let other = tables(Script::ReadWrite, &[("table-size", "500"), ("rand-seed", "2")]);
        let all = rows(&inserted(&one, 1, 1..=500, 1 << 20), 1);
        assert_eq!(all, rows(&inserted(&one, 1, 1..=500, 1_000), 1));
        assert_ne!(all, rows(&inserted(&one, 2, 1..=500, 1 << 20), 2));
        assert_ne!(all, rows(&inserted(&other, 1, 1..=500, 1 << 20), 1));
    }

    #[test]
    fn statements_stay_below_their_limit_however_long_the_numbers() {
        let tables = tables(Script::ReadWrite, &[("table-size", "2147483647")]);
        let ids = 2_147_480_000..=2_147_483_647;
        for limit in [500, 10_000, 524_288] {
            let sent = inserted(&tables, 100_000, ids.clone(), limit);
            assert!(sent.iter().all(|sql| sql.len() <= limit), "limit {limit}");
            assert!(sent.iter().rev().skip(1).all(|sql| sql.len() + ROW > limit), "limit {limit}");
        }
        assert_eq!(inserted(&tables, 1, 1..=5, 0).len(), 5);
    }

    #[test]
    fn insert_with_ids_of_its_own_begins_with_empty_tables() {
        assert_eq!(tables(Script::Insert, &[("auto-inc", "off")]).rows, 0);
        assert_eq!(tables(Script::Insert, &[]).rows, 10_000);
        assert_eq!(tables(Script::Delete, &[("auto-inc", "off")]).rows, 10_000);
    }
}
