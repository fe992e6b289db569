//! Creating, filling and dropping the tables of sysbench's scripts, over several connections.

use super::rows::Tables;
use crate::account::Account;
use crate::errors::{Error, Result};
use crate::net::client::{Client, SqlError};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

/// Bytes of an INSERT at the most, where the server takes so many.
const STATEMENT: usize = 1 << 20;

/// Creates and fills all tables. Connections that have no table of their own left help with those that others began.
pub(super) fn prepare(account: &Account, tables: &Tables, threads: usize, say: &(dyn Fn(String) + Sync)) -> Result<()> {
    let useful = usize::try_from(tables.count * tables.chunks().max(1)).unwrap_or(usize::MAX);
    let connect = |_| Client::connect(account);
    let mut clients = (0..threads.clamp(1, useful)).map(connect).collect::<Result<Vec<_>>>()?;
    let one = |client: &mut Client, sql: &[u8]| client.run(sql).map(drop).map_err(|error| refused(&error));

    for_each_table(&mut clients, tables.count, |client, table| one(client, tables.create(table).as_bytes()))?;
    say(format!("{} tables created, {} rows each to insert", tables.count, tables.rows));

    let work = Work::new(tables.count, tables.chunks());
    in_parallel(&mut clients, |client| {
        let limit = STATEMENT.min(client.max_allowed_packet().saturating_sub(1));
        let mut at = None;
        while let Some((table, chunk)) = work.take(&mut at) {
            let sent = tables.insert(table, chunk, limit, |sql| one(client, sql));
            work.stop_unless(sent)?;
        }
        Ok(())
    })?;

    for_each_table(&mut clients, tables.count, |client, table| match tables.index(table) {
        Some(sql) => one(client, sql.as_bytes()),
        None => Ok(()),
    })?;
    say("All tables are ready".into());
    Ok(())
}

/// Drops the tables that are there.
pub(super) fn cleanup(account: &Account, count: i64) -> Result<()> {
    let mut client = Client::connect(account)?;
    for table in 1..=count {
        let sql = format!("DROP TABLE IF EXISTS sbtest{table}");
        client.run(sql.as_bytes()).map_err(|error| refused(&error))?;
    }
    Ok(())
}

/// A refusal of the server, with its remedy.
pub(super) fn refused(error: &SqlError) -> Error {
    let remedy = match error.code {
        1050 => "Drop the tables of an earlier run with dialin-load cleanup, or name another schema",
        1044 | 1142 | 1227 => "Grant the user CREATE, DROP, INDEX, INSERT, SELECT, UPDATE and DELETE on the schema",
        1046 | 1049 => "Create the schema, or name one that exists",
        1021 | 1114 => "Make room on the server's disk, or choose fewer or smaller tables",
        1286 => "Name a storage engine that the server has",
        _ => "Mend what the server says, then clean up and prepare again",
    };
    Error::workload(format!("the server refused ({}): {}", error.code, error.message), remedy)
}

/// Calls `work` once for each table, from 1.
fn for_each_table(
    clients: &mut [Client],
    count: i64,
    work: impl Fn(&mut Client, i64) -> Result<()> + Sync,
) -> Result<()> {
    let tables = Work::new(count, 1);
    in_parallel(clients, |client| {
        let mut at = None;
        while let Some((table, _)) = tables.take(&mut at) {
            tables.stop_unless(work(client, table))?;
        }
        Ok(())
    })
}

/// Runs `work` on a thread for each client; the first error is told.
fn in_parallel<C: Send>(clients: &mut [C], work: impl Fn(&mut C) -> Result<()> + Sync) -> Result<()> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = clients.iter_mut().map(|client| scope.spawn(move || work(client))).collect();
        let panicked = || Error::driver("a thread of prepare panicked", "Report this defect");
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect();
        results.into_iter().collect()
    })
}

/// What is left to do: chunks of tables, each handed out once.
struct Work {
    chunks: i64,
    /// The first table that nobody began, from 0.
    untouched: AtomicI64,
    /// The next chunk of each table.
    next: Vec<AtomicI64>,
    stopped: AtomicBool,
}

impl Work {
    fn new(tables: i64, chunks: i64) -> Self {
        let next = (0..tables).map(|_| AtomicI64::new(0)).collect();
        Self { chunks, untouched: AtomicI64::new(0), next, stopped: AtomicBool::new(false) }
    }

    /// A table, from 1, and one of its chunks, from 0: of the table that the caller is `at`, else of one that nobody began, else
    /// of the one that most is left of.
    fn take(&self, at: &mut Option<usize>) -> Option<(i64, i64)> {
        while !self.stopped.load(Ordering::Relaxed) {
            if let Some(table) = *at {
                let chunk = self.next[table].fetch_add(1, Ordering::Relaxed);
                if chunk < self.chunks {
                    return Some((table as i64 + 1, chunk));
                }
            }
            *at = Some(self.untouched().or_else(|| self.least_done())?);
        }
        None
    }

    fn untouched(&self) -> Option<usize> {
        let table = self.untouched.fetch_add(1, Ordering::Relaxed) as usize;
        (table < self.next.len()).then_some(table)
    }

    fn least_done(&self) -> Option<usize> {
        let done = |table: &usize| self.next[*table].load(Ordering::Relaxed);
        (0..self.next.len()).min_by_key(done).filter(|table| done(table) < self.chunks)
    }

    /// After an error nobody takes anything more.
    fn stop_unless(&self, result: Result<()>) -> Result<()> {
        self.stopped.fetch_or(result.is_err(), Ordering::Relaxed);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    fn all(tables: i64, chunks: i64) -> BTreeSet<(i64, i64)> {
        (1..=tables).flat_map(|table| (0..chunks).map(move |chunk| (table, chunk))).collect()
    }

    #[test]
    fn every_chunk_is_handed_out_once_however_many_take() {
        for (tables, chunks, takers) in [(1, 0, 3), (1, 50, 4), (8, 5, 3), (3, 7, 8)] {
            let work = Work::new(tables, chunks);
            let taken = Mutex::new(Vec::new());
            let taking = in_parallel(&mut vec![(); takers], |()| {
                let mut at = None;
                while let Some(chunk) = work.take(&mut at) {
                    taken.lock().unwrap().push(chunk);
                }
                Ok(())
            });
            taking.unwrap();
            let taken = taken.into_inner().unwrap();
            assert_eq!(taken.len() as i64, tables * chunks);
            assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), all(tables, chunks));
        }
    }

    #[test]
    fn each_taker_begins_a_table_of_its_own_and_helps_when_none_is_left() {
        let work = Work::new(2, 3);
        let (mut one, mut other, mut third) = (None, None, None);
        assert_eq!(work.take(&mut one), Some((1, 0)));
        assert_eq!(work.take(&mut other), Some((2, 0)));
        assert_eq!(work.take(&mut one), Some((1, 1)));
        assert_eq!(work.take(&mut third), Some((2, 1)));
        assert_eq!(work.take(&mut one), Some((1, 2)));
        assert_eq!(work.take(&mut one), Some((2, 2)));
        assert_eq!(work.take(&mut other), None);
    }

    #[test]
    fn nothing_is_handed_out_after_an_error() {
        let work = Work::new(2, 3);
        let mut at = None;
        assert!(work.take(&mut at).is_some());
        assert!(work.stop_unless(Err(Error::workload("it failed", "mend it"))).is_err());
        assert_eq!(work.take(&mut at), None);
    }

    #[test]
    fn the_first_error_of_a_thread_is_told() {
        let failing = |number: &mut i32| match number {
            2 => Err(Error::workload("two", "none")),
            _ => Ok(()),
        };
        assert_eq!(in_parallel(&mut [1, 2, 3], failing).unwrap_err().what, "two");
        assert_eq!(in_parallel(&mut [1, 3], failing), Ok(()));
    }

    #[test]
    fn refusals_tell_what_to_do() {
        let told = |code, message: &str| refused(&SqlError { code, message: message.into() });
        let exists = told(1050, "Table 'sbtest1' already exists");
        assert_eq!(exists.what, "the server refused (1050): Table 'sbtest1' already exists");
        assert!(exists.remedy.contains("cleanup"));
        assert!(told(1049, "Unknown database").remedy.contains("schema"));
    }
}
