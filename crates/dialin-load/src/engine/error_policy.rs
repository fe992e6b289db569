//! What an error of the server means for a transaction.

use crate::errors::Error;
use crate::plan::Transaction;
use crate::protocol::Malformed;
use crate::protocol::response::TOO_LONG;
use crate::protocol::value::FEWER_COLUMNS;
use std::time::Duration;

/// The code under which lost connections are counted: the client library's "Lost connection to server during query".
pub const LOST: u16 = 2013;
/// The code under which a row is counted that a transaction needs and did not get.
pub const NO_ROW: u16 = 1329;

/// Codes after which the server closes the connection: it shuts down, the connection was killed, or idle for too long.
const CLOSED: [u16; 5] = [1053, 1077, 1079, 1927, 4031];
/// A statement that was interrupted because its connection is being killed.
const INTERRUPTED: u16 = 1317;
/// "Can't create more than max_prepared_stmt_count statements": it is sent as text, and that is counted.
pub const TOO_MANY_STATEMENTS: u16 = 1461;
/// "This command is not supported in the prepared statement protocol yet": it is sent as text.
pub const NOT_PREPARABLE: u16 = 1295;
/// Codes that no repetition heals, with what to do.
const FATAL: [(&[u16], &str); 5] = [
    (&[1146, 1051, 1109], "Fill the schema first: dialin-load prepare, with the same workload and options"),
    (&[1044, 1045, 1142, 1143, 1370], "Grant the account what the workload needs"),
    (&[1290, 1792, 1836, 3100], "The server takes no writes: load the primary, or a workload that only reads"),
    (
        &[1054, 1064, 1305, 1136, 1210],
        "Correct the statement in the workload, or run it against the server that it was written for",
    ),
    (&[1114, 1021, 1041], "Make room on the server, or take a workload that does not grow"),
];

/// What follows from an error.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The workload asks for it: the transaction ends well.
    Expected,
    /// The transaction is played again after a pause.
    Again(Duration),
    /// The transaction goes on with its next statement; whether the error is counted.
    GoesOn(bool),
    /// The transaction ends, and the error is counted.
    Counted,
    /// The connection is gone.
    Lost,
    /// The whole run ends.
    Fatal(Error),
}

/// Whether the server ends the connection with such an error.
#[must_use]
pub fn ends_connection(code: u16) -> bool {
    CLOSED.contains(&code) || code == INTERRUPTED
}

/// Judge an error by the transaction's policy; it was played again `retries` times so far.
#[must_use]
pub fn judge(transaction: &Transaction, code: u16, message: &str, retries: u32) -> Verdict {
    if transaction.expected.contains(&code) {
        return Verdict::Expected;
    }
    if transaction.retry.errors.get(&code).is_some_and(|most| retries < *most) {
        return Verdict::Again(transaction.retry.pause.saturating_mul(2_u32.saturating_pow(retries.min(10))));
    }
    if ends_connection(code) {
        return Verdict::Lost;
    }
    match FATAL.iter().find(|(codes, _)| codes.contains(&code)) {
        Some((_, remedy)) => Verdict::Fatal(refused(&transaction.name, code, message, remedy)),
        None => Verdict::Counted,
    }
}

/// The error that ends a run in which a transaction cannot succeed.
#[must_use]
pub fn refused(what: &str, code: u16, message: &str, remedy: &str) -> Error {
    Error::workload(format!("The server refuses {what} with error {code}: {}", one_line(message)), remedy)
}

/// The error that ends a run in which the server sent what is no answer.
#[must_use]
pub fn garbled(why: Malformed) -> Error {
    if why == FEWER_COLUMNS {
        return Error::workload(
            "A statement's result has fewer columns than the workload keeps of it",
            "Have the statement return what `keep` names, or keep less of it",
        );
    }
    if why == TOO_LONG {
        return Error::workload(
            "A row that the workload keeps values of is longer than 1 MiB",
            "Have the statement return only the columns that `keep` names",
        );
    }
    Error::driver(
        format!("The server's answer cannot be read: {why}"),
        "See that nothing between driver and server changes what is sent; else report this as a defect of dialin-load",
    )
}

/// A server's message as one line without control characters.
#[must_use]
pub fn one_line(message: &str) -> String {
    let plain: String = message.chars().map(|each| if each.is_control() { ' ' } else { each }).take(300).collect();
    plain.trim().trim_end_matches('.').to_string()
}

/// SQL in one line, shortened.
#[must_use]
pub fn shortened(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 120 { line } else { line.chars().take(119).chain(['…']).collect() }
}

/// What to do about an error of a statement that a connection begins with.
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
    fn deadlocks_are_played_again_as_often_as_the_policy_says_with_growing_pauses() {
        let again = |retries| judge(&transaction(), 1213, "Deadlock found", retries);
        assert_eq!(again(0), Verdict::Again(Duration::from_millis(5)));
        assert_eq!(again(1), Verdict::Again(Duration::from_millis(10)));
        assert_eq!(again(2), Verdict::Counted);
    }

    #[test]
    fn by_default_deadlocks_are_played_again_for_ever_and_at_once() {
        let transaction = Transaction { retry: Retry::default(), ..transaction() };
        assert_eq!(judge(&transaction, 1213, "", 1_000_000), Verdict::Again(Duration::ZERO));
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
    fn a_killed_connection_is_lost_and_a_duplicate_key_is_counted() {
        assert_eq!(judge(&transaction(), 1317, "", 0), Verdict::Lost);
        assert_eq!(judge(&transaction(), 1053, "", 0), Verdict::Lost);
        assert_eq!(judge(&transaction(), 1062, "", 0), Verdict::Counted);
    }

    #[test]
    fn sql_is_named_in_one_line_of_bearable_length() {
        assert_eq!(shortened("SELECT 1\n  FROM t"), "SELECT 1 FROM t");
        assert_eq!(shortened(&"é".repeat(500)).chars().count(), 120);
    }
}
