//! Creates, fills and drops the tables of a workload file over several connections.

use super::fill::Rows;
use super::tables::{Fill, Table};
use crate::account::Account;
use crate::errors::Result;
use crate::net::client::Client;
use crate::net::connect::Connector;
use crate::workloads::loading::{in_parallel, refused};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The largest INSERT in bytes, unless the server's max_allowed_packet is smaller.
const STATEMENT: usize = 1 << 20;
/// The highest number of cells that a connection takes at once.
const SHARE: u64 = 20_000;
/// The random seed of the data: the same file with the same sizes results in the same rows everywhere.
const SEED: u64 = 1;

/// Creates all tables, fills them one after the other over all connections, and then executes their `after` statements.
///
/// # Errors
/// The server cannot be reached or refuses a statement, for example because a table exists.
pub fn prepare(tables: &[Table], account: &Account, threads: usize, say: &(dyn Fn(String) + Sync)) -> Result<()> {
    let connector = Connector::new(account);
    let mut clients = (0..threads.max(1)).map(|_| Client::connect(&connector)).collect::<Result<Vec<_>>>()?;
    for table in tables {
        run(&mut clients[0], table.create.as_bytes())?;
    }
    for table in tables {
        for fill in &table.fills {
            fill_with(&mut clients, fill)?;
        }
        if !table.fills.is_empty() {
            say(format!("{} is filled", table.name));
        }
    }
    let afterwards: Vec<&Table> = tables.iter().filter(|table| !table.after.is_empty()).collect();
    let shares = Shares::new(afterwards.len() as u64, 1);
    in_parallel(&mut clients, |client| {
        shares.each(|share| {
            let tables = &afterwards[position(share.start)..position(share.end)];
            tables.iter().flat_map(|table| &table.after).try_for_each(|sql| run(client, sql.as_bytes()))
        })
    })?;
    say("All tables are ready".into());
    Ok(())
}

/// Drops the tables that exist, the last one first.
///
/// # Errors
/// The server cannot be reached or refuses a statement.
pub fn cleanup(tables: &[Table], account: &Account) -> Result<()> {
    let mut client = Client::connect(&Connector::new(account))?;
    tables.iter().rev().try_for_each(|table| run(&mut client, format!("DROP TABLE IF EXISTS `{}`", table.name).as_bytes()))
}

fn fill_with(clients: &mut [Client], fill: &Fill) -> Result<()> {
    let even = fill.cells().div_ceil(clients.len() as u64 * 4);
    let shares = Shares::new(fill.cells(), even.clamp(1, SHARE));
    in_parallel(clients, |client| {
        let limit = STATEMENT.min(client.max_allowed_packet().saturating_sub(1));
        let mut rows = Rows::new(fill, SEED);
        shares.each(|cells| rows.insert(cells, limit, |sql| run(client, sql)))
    })
}

fn run(client: &mut Client, sql: &[u8]) -> Result<()> {
    client.run(sql).map(drop).map_err(|error| refused(&error))
}

fn position(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// Work that is divided into shares. Each share is handed out once; after an error, no more are.
struct Shares {
    all: u64,
    size: u64,
    next: AtomicU64,
    stopped: AtomicBool,
}

impl Shares {
    fn new(all: u64, size: u64) -> Self {
        Self { all, size, next: AtomicU64::new(0), stopped: AtomicBool::new(false) }
    }

    /// Takes shares and works on them until none is left or a thread has failed.
    fn each(&self, mut work: impl FnMut(Range<u64>) -> Result<()>) -> Result<()> {
        while !self.stopped.load(Ordering::Relaxed) {
            let begin = self.next.fetch_add(self.size, Ordering::Relaxed);
            if begin >= self.all {
                break;
            }
            let done = work(begin..self.all.min(begin + self.size));
            self.stopped.fetch_or(done.is_err(), Ordering::Relaxed);
            done?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Error;

    #[test]
    fn shares_cover_everything_once() {
        for (all, size) in [(0, 5), (1, 5), (10, 5), (11, 5)] {
            let mut taken = vec![];
            let take = |share| {
                taken.extend(share);
                Ok(())
            };
            Shares::new(all, size).each(take).unwrap();
            assert_eq!(taken, (0..all).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_is_handed_out_after_an_error() {
        let shares = Shares::new(10, 1);
        let mut taken = 0;
        let mut work = |_: Range<u64>| -> Result<()> {
            taken += 1;
            Err(Error::workload("no", "none"))
        };
        assert!(shares.each(&mut work).is_err());
        assert!(shares.each(&mut work).is_ok());
        assert_eq!(taken, 1);
    }
}
