//! sysbench's bulk_insert: each connection fills its own table.

use super::options::Options;
use super::{Script, plan_of};
use crate::account::Account;
use crate::errors::Result;
use crate::net::client::Client;
use crate::net::connect::Connector;
use crate::plan::{Batch, FIRST_FREE, Op, Plan};
use crate::workloads::loading::refused;

/// The size of sysbench's buffer, 512 KiB, minus the byte after the text.
const LIMIT: usize = 512 * 1024 - 1;

/// A transaction is a row. The server receives a statement only when the collected rows fill it.
pub(super) fn plan() -> Plan {
    let batch = Batch { head: "INSERT INTO sbtest{connection} VALUES".into(), row: "({turn},{turn})".into(), limit: LIMIT };
    plan_of(Script::BulkInsert, vec![], vec![Op::Batch(batch)], FIRST_FREE)
}

/// Creates a table for each thread unless it exists.
pub(super) fn prepare(account: &Account, options: &Options, say: &(dyn Fn(String) + Sync)) -> Result<()> {
    let mut client = Client::connect(&Connector::new(account))?;
    for table in 1..=options.threads {
        client.run(create(table).as_bytes()).map_err(|error| refused(&error))?;
        say(format!("Table sbtest{table} created"));
    }
    Ok(())
}

fn create(table: i64) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS sbtest{table} \
         (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))"
    )
}
