//! The scripts that sysbench 1.0.20 ships: the same tables, the same statements in the same order, the same distributions.

mod bulk_insert;
mod oltp;
mod options;
mod rows;
mod select_random;
mod tables;

use super::{About, Workload};
use crate::account::Account;
use crate::errors::Result;
use crate::plan::{Op, Plan, Retry, Statement, Transaction};
use crate::workloads::loading::all_together;
use options::Options;

/// One of sysbench's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Delete,
    Insert,
    PointSelect,
    ReadOnly,
    ReadWrite,
    UpdateIndex,
    UpdateNonIndex,
    WriteOnly,
    RandomPoints,
    RandomRanges,
    BulkInsert,
}

impl Script {
    const ALL: [Self; 11] = [
        Self::ReadWrite,
        Self::ReadOnly,
        Self::WriteOnly,
        Self::PointSelect,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::Insert,
        Self::Delete,
        Self::RandomPoints,
        Self::RandomRanges,
        Self::BulkInsert,
    ];

    fn name(self) -> &'static str {
        self.described().0
    }

    fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::ReadWrite => ("oltp_read_write", "reads, range reads and writes in one transaction"),
            Self::ReadOnly => ("oltp_read_only", "the reads of oltp_read_write"),
            Self::WriteOnly => ("oltp_write_only", "the writes of oltp_read_write"),
            Self::PointSelect => ("oltp_point_select", "one row by its primary key"),
            Self::UpdateIndex => ("oltp_update_index", "one row's indexed column changes"),
            Self::UpdateNonIndex => ("oltp_update_non_index", "one row's column without an index changes"),
            Self::Insert => ("oltp_insert", "one row is added"),
            Self::Delete => ("oltp_delete", "one row, if it is still there, is removed"),
            Self::RandomPoints => ("select_random_points", "rows by several values of a secondary index"),
            Self::RandomRanges => ("select_random_ranges", "rows by several ranges of a secondary index"),
            Self::BulkInsert => ("bulk_insert", "INSERTs of many rows, a table for each connection"),
        }
    }
}

/// A script with its options.
#[derive(Debug)]
struct Sysbench {
    script: Script,
    options: Options,
}

/// The workload of that name; None if sysbench has no such script.
///
/// # Errors
/// An option is unknown, or its value is wrong.
pub(super) fn find(name: &str, sizes: &[(String, String)]) -> Result<Option<Box<dyn Workload>>> {
    let Some(script) = Script::ALL.into_iter().find(|script| script.name() == name) else {
        return Ok(None);
    };
    Ok(Some(Box::new(Sysbench { script, options: Options::read(script, sizes)? })))
}

/// The names of all scripts, and what they do.
pub(super) fn scripts() -> impl Iterator<Item = About> {
    Script::ALL.into_iter().map(Script::described).map(|(name, about)| About { name: name.into(), about: about.into() })
}

impl Workload for Sysbench {
    fn plan(&self) -> Result<Plan> {
        match self.script {
            Script::RandomPoints | Script::RandomRanges => select_random::plan(self.script, &self.options),
            Script::BulkInsert => Ok(bulk_insert::plan()),
            script => oltp::plan(script, &self.options),
        }
    }

    fn prepare(&self, account: &Account, threads: usize, say: &(dyn Fn(String) + Sync)) -> Result<()> {
        match self.script {
            Script::BulkInsert => bulk_insert::prepare(account, &self.options, say),
            script => {
                let tables = rows::Tables::new(script, &self.options)?;
                let all: Vec<i64> = (1..=tables.count).collect();
                tables::prepare(account, &tables, &all, threads, say)
            }
        }
    }

    fn prepare_only(&self, names: &[String], account: &Account, threads: usize, say: &(dyn Fn(String) + Sync)) -> Result<()> {
        if self.script == Script::BulkInsert {
            return Err(all_together());
        }
        let tables = rows::Tables::new(self.script, &self.options)?;
        tables::prepare(account, &tables, &tables.numbers(names)?, threads, say)
    }

    fn cleanup(&self, account: &Account) -> Result<()> {
        let tables = if self.script == Script::BulkInsert { self.options.threads } else { self.options.tables };
        tables::cleanup(account, tables)
    }

    fn check(&self, _account: &Account) -> Result<Vec<String>> {
        Ok(vec![])
    }
}

/// A plan with the script's only transaction.
fn plan_of(script: Script, statements: Vec<Statement>, ops: Vec<Op>, slots: usize) -> Plan {
    let name = script.name().to_owned();
    let retry = Retry::default();
    let transactions = vec![Transaction { name: name.clone(), weight: 1.0, ops, retry, expected: vec![] }];
    Plan { name, statements, transactions, slots, session: vec![] }
}
