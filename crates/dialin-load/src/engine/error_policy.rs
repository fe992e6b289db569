//! How a transaction, its connection and the run react to an error of the server.

use crate::errors::Error;
use crate::plan::Transaction;
use crate::protocol::Malformed;
use crate::protocol::response::TOO_LONG;
use crate::protocol::value::FEWER_COLUMNS;
use std::time::Duration;

/// The error code under which lost connections are counted: "Lost connection to server during query" of the client library.
pub const LOST: u16 = 2013;
/// The error code under which a transaction is counted that needs a row and got none.
pub const NO_ROW: u16 = 1329;

/// Error codes after which the server may close the connection: it shuts down (1053; MySQL 5.6 sends 1317, as for KILL QUERY, after which the
/// connection lives), the command was too long (1153), or the connection was killed (1927, 3169) or idle for too long (4031, which is another
/// error in MariaDB). KILL itself closes the connection without an error.
const MAY_CLOSE: [u16; 8] = [1053, 1077, 1079, 1153, 1317, 1927, 3169, 4031];
/// "Can't create more than max_prepared_stmt_count statements": the statement is sent as text instead, and counted as unprepared.
pub const TOO_MANY_STATEMENTS: u16 = 1461;
/// "This command is not supported in the prepared statement protocol yet": the statement is sent as text instead.
pub const NOT_PREPARABLE: u16 = 1295;
/// Error codes that no retry can resolve, with what to do about them.
const FATAL: [(&[u16], &str); 5] = [
    (&[1146, 1051, 1109], "Fill the schema first: dialin-load prepare, with the same workload and options"),
    (&[1044, 1045, 1142, 1143, 1370], "Grant the account the privileges that the workload needs"),
    (&[1290, 1792, 1836, 3100], "The server is read-only: run against the primary, or use a read-only workload"),
    (
        &[1054, 1064, 1305, 1136, 1210],
        "Correct the statement in the workload, or run it against the server that it was written for",
    ),
    (&[1114, 1021, 1041], "Free disk space or memory on the server, or use a workload whose data does not grow"),
];

/// How the engine reacts to an error.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The workload expects this error: the transaction counts as successful.
    Expected,
    /// The transaction is retried after a pause.
    Retry(Duration),
    /// The transaction continues with its next statement. The value says whether the error is counted.
    Continue(bool),
    /// The transaction fails, and the error is counted.
    Counted,
    /// The whole run ends with this error.
    Fatal(Error),
}

/// Whether the server may close the connection after this error. Only another command shows whether it does.
#[must_use]
pub fn may_end_connection(code: u16) -> bool {
    MAY_CLOSE.contains(&code)
}

/// Decides about an error by the transaction's policy. `retries` is how often the transaction has been retried so far.
#[must_use]
pub fn judge(transaction: &Transaction, code: u16, message: &str, retries: u32) -> Verdict {
    if transaction.expected.contains(&code) {
        return Verdict::Expected;
    }
    if transaction.retry.errors.get(&code).is_some_and(|most| retries < *most) {
        return Verdict::Retry(transaction.retry.pause.saturating_mul(2_u32.saturating_pow(retries.min(10))));
    }
    match FATAL.iter().find(|(codes, _)| codes.contains(&code)) {
        Some((_, remedy)) => Verdict::Fatal(refused(&transaction.name, code, message, remedy)),
        None => Verdict::Counted,
    }
}

/// The error that ends a run because the server refuses `what`, and would refuse it again.
#[must_use]
pub fn refused(what: &str, code: u16, message: &str, remedy: &str) -> Error {
    Error::workload(format!("The server refuses {what} with error {code}: {}", one_line(message)), remedy)
}

/// The error that ends a run because the server's answer cannot be read.
#[must_use]
pub fn unreadable_answer(why: Malformed) -> Error {
    if why == FEWER_COLUMNS {
        return Error::workload(
            "A statement's result has fewer columns than the workload keeps of it",
            "Make the statement return the columns that `keep` names, or keep fewer of them",
        );
    }
    if why == TOO_LONG {
        return Error::workload(
            "A row that the workload keeps values of is longer than 1 MiB",
            "Make the statement return only the columns that `keep` names",
        );
    }
    Error::driver(
        format!("The server's answer cannot be read: {why}"),
        "Check that no proxy between driver and server changes the data; otherwise report this as a bug of dialin-load",
    )
}

/// A server's message as one line of at most 300 characters, without control characters and a final full stop.
#[must_use]
pub fn one_line(message: &str) -> String {
    let printable: String = message.chars().map(|each| if each.is_control() { ' ' } else { each }).take(300).collect();
    printable.trim().trim_end_matches('.').to_string()
}

/// SQL as one line of at most 120 characters.
#[must_use]
pub fn shortened(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 120 { line } else { line.chars().take(119).chain(['…']).collect() }
}

/// What to do about an error in a statement that each session begins with.
#[must_use]
pub fn remedy(code: u16) -> &'static str {
    match FATAL.iter().find(|(codes, _)| codes.contains(&code)) {
        Some((_, remedy)) => remedy,
        None => "Correct the statement in the workload",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Fault;
    use crate::plan::Retry;

    fn transaction() -> Transaction {
        let retry = Retry { errors: [(1213, 2)].into(), pause: Duration::from_millis(5) };
        Transaction { name: "pay".into(), weight: 1.0, ops: vec![], retry, expected: vec![1644] }
    }

    #[test]
    fn deadlocks_are_retried_as_often_as_the_policy_says_with_growing_pauses() {
        let again = |retries| judge(&transaction(), 1213, "Deadlock found", retries);
        assert_eq!(again(0), Verdict::Retry(Duration::from_millis(5)));
        assert_eq!(again(1), Verdict::Retry(Duration::from_millis(10)));
        assert_eq!(again(2), Verdict::Counted);
    }

    #[test]
    fn by_default_deadlocks_are_retried_forever_without_a_pause() {
        let transaction = Transaction { retry: Retry::default(), ..transaction() };
        assert_eq!(judge(&transaction, 1213, "", 1_000_000), Verdict::Retry(Duration::ZERO));
    }

    #[test]
    fn what_the_workload_expects_is_no_error() {
        assert_eq!(judge(&transaction(), 1644, "rolled back as asked", 0), Verdict::Expected);
    }

    #[test]
    fn a_missing_table_ends_the_run_and_names_the_remedy() {
        let Verdict::Fatal(error) = judge(&transaction(), 1146, "Table 'a.b'\ndoesn't exist", 0) else { panic!() };
        assert_eq!(error.fault, Fault::Workload);
        assert_eq!(error.what, "The server refuses pay with error 1146: Table 'a.b' doesn't exist");
        assert!(error.remedy.contains("dialin-load prepare"));
    }

    #[test]
    fn an_error_of_one_statement_is_counted_whether_or_not_the_connection_ends_with_it() {
        let verdicts = [1062, 1317, 3024, 1969, 1053, 1927].map(|code| judge(&transaction(), code, "", 0));
        assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Counted), "{verdicts:?}");
        assert_eq!([1053, 1317, 1062, 1205, 3024].map(may_end_connection), [true, true, false, false, false]);
    }

    #[test]
    fn sql_is_shortened_to_one_line_of_120_characters() {
        assert_eq!(shortened("SELECT 1\n  FROM t"), "SELECT 1 FROM t");
        assert_eq!(shortened(&"é".repeat(500)).chars().count(), 120);
    }
}
