//! Creating, filling and dropping the tables of sysbench's scripts.

use super::rows::Tables;
use crate::account::Account;
use crate::errors::Result;
use crate::net::client::Client;
use crate::net::connect::Connector;
use crate::workloads::loading::{in_parallel, refused};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The largest INSERT in bytes, unless the server's max_allowed_packet is smaller.
const STATEMENT: usize = 1 << 20;

/// Creates and fills the tables with these numbers. Each is filled over one connection in the order of its ids, so its pages
/// are the same each time.
pub(super) fn prepare(
    account: &Account,
    tables: &Tables,
    numbers: &[i64],
    threads: usize,
    say: &(dyn Fn(String) + Sync),
) -> Result<()> {
    let connector = Connector::new(account);
    let useful = threads.min(numbers.len()).max(1);
    let mut clients = (0..useful).map(|_| Client::connect(&connector)).collect::<Result<Vec<_>>>()?;
    let queue = Queue::new(numbers);
    in_parallel(&mut clients, |client| {
        while let Some(table) = queue.take() {
            let made = make(client, tables, table);
            queue.stop_unless(made)?;
            say(format!("Table sbtest{table} is ready, with {} rows", tables.rows));
        }
        Ok(())
    })
}

/// Drops the tables that exist.
pub(super) fn cleanup(account: &Account, count: i64) -> Result<()> {
    let mut client = Client::connect(&Connector::new(account))?;
    (1..=count).try_for_each(|table| run(&mut client, format!("DROP TABLE IF EXISTS sbtest{table}").as_bytes()))
}

fn make(client: &mut Client, tables: &Tables, table: i64) -> Result<()> {
    run(client, tables.create(table).as_bytes())?;
    if tables.rows > 0 {
        let limit = STATEMENT.min(client.max_allowed_packet().saturating_sub(1));
        tables.insert(table, 1..=tables.rows, limit, |sql| run(client, sql))?;
    }
    match tables.index(table) {
        Some(sql) => run(client, sql.as_bytes()),
        None => Ok(()),
    }
}

fn run(client: &mut Client, sql: &[u8]) -> Result<()> {
    client.run(sql).map(drop).map_err(|error| refused(&error))
}

/// The tables that no thread has taken yet; each is handed out once.
struct Queue<'a> {
    numbers: &'a [i64],
    next: AtomicUsize,
    stopped: AtomicBool,
}

impl<'a> Queue<'a> {
    fn new(numbers: &'a [i64]) -> Self {
        Self { numbers, next: AtomicUsize::new(0), stopped: AtomicBool::new(false) }
    }

    fn take(&self) -> Option<i64> {
        let table = self.numbers.get(self.next.fetch_add(1, Ordering::Relaxed)).copied();
        table.filter(|_| !self.stopped.load(Ordering::Relaxed))
    }

    /// Returns `result`; if it is an error, no thread gets another table.
    fn stop_unless(&self, result: Result<()>) -> Result<()> {
        self.stopped.fetch_or(result.is_err(), Ordering::Relaxed);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Error;
    use std::sync::Mutex;

    #[test]
    fn every_table_is_handed_out_once_however_many_take() {
        for (tables, takers) in [(0, 2), (1, 3), (9, 2), (3, 8)] {
            let numbers: Vec<i64> = (1..=tables).collect();
            let queue = Queue::new(&numbers);
            let taken = Mutex::new(Vec::new());
            let taking = in_parallel(&mut vec![(); takers], |()| {
                while let Some(table) = queue.take() {
                    taken.lock().unwrap().push(table);
                }
                Ok(())
            });
            taking.unwrap();
            let mut taken = taken.into_inner().unwrap();
            taken.sort_unstable();
            assert_eq!(taken, numbers);
        }
    }

    #[test]
    fn nothing_is_handed_out_after_an_error() {
        let queue = Queue::new(&[4, 7, 9]);
        assert_eq!(queue.take(), Some(4));
        assert!(queue.stop_unless(Ok(())).is_ok());
        assert_eq!(queue.take(), Some(7));
        assert!(queue.stop_unless(Err(Error::workload("it failed", "fix it"))).is_err());
        assert_eq!(queue.take(), None);
    }
}
