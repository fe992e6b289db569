//! What the workloads share for creating and filling tables: threads, and remedies for errors of the server.

use crate::errors::{Error, Result};
use crate::net::client::SqlError;
use std::thread;

/// Runs `work` on a thread for each client; returns the error of the first client that failed, in the order of the clients.
pub(super) fn in_parallel<C: Send>(clients: &mut [C], work: impl Fn(&mut C) -> Result<()> + Sync) -> Result<()> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = clients.iter_mut().map(|client| scope.spawn(move || work(client))).collect();
        let panicked = || Error::driver("a thread of prepare panicked", "Report this defect");
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect();
        results.into_iter().collect()
    })
}

/// The error for a workload that cannot prepare some of its tables only.
pub(super) fn all_together() -> Error {
    Error::user("this workload prepares all of its tables together", "Leave --only out")
}

/// The error for a statement that the server refused, with a remedy.
pub(super) fn refused(error: &SqlError) -> Error {
    let remedy = match error.code {
        1050 => "Drop the tables of an earlier run with dialin-load cleanup, or name another schema",
        1146 => "Make the tables with dialin-load prepare, with the same options",
        1044 | 1142 | 1227 => "Grant the user CREATE, DROP, INDEX, INSERT, SELECT, UPDATE and DELETE on the schema",
        1046 | 1049 => "Create the schema, or name one that exists",
        1021 | 1114 => "Make room on the server's disk, or choose fewer or smaller tables",
        1286 => "Name a storage engine that the server has",
        _ => "Fix what the server reports, then clean up and prepare again",
    };
    Error::workload(format!("the server refused ({}): {}", error.code, error.message), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_a_thread_is_returned() {
        let failing = |number: &mut i32| match number {
            2 => Err(Error::workload("two", "none")),
            _ => Ok(()),
        };
        assert_eq!(in_parallel(&mut [1, 2, 3], failing).unwrap_err().what, "two");
        assert_eq!(in_parallel(&mut [1, 3], failing), Ok(()));
    }

    #[test]
    fn refusals_have_a_remedy() {
        let error = |code, message: &str| refused(&SqlError { code, message: message.into() });
        let exists = error(1050, "Table 'sbtest1' already exists");
        assert_eq!(exists.what, "the server refused (1050): Table 'sbtest1' already exists");
        assert!(exists.remedy.contains("cleanup"));
        assert!(error(1049, "Unknown database").remedy.contains("schema"));
        assert!(error(1146, "Table 'a' doesn't exist").remedy.contains("prepare"));
    }
}
