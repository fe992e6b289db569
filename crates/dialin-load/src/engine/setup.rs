//! Opens a connection: login, the workload's own commands, and its statements prepared.

use super::connection::{Connection, Prepared};
use super::error_policy::{TOO_MANY_STATEMENTS, ends_connection, one_line, refused, remedy};
use crate::errors::Error;
use crate::net::connect::Connector;
use crate::plan::{Plan, Statement};
use crate::protocol::command::Execution;
use crate::protocol::response::Outcome;
use crate::protocol::text::Template;
use crate::run::Run;
use std::time::{Duration, Instant};

/// "This command is not supported in the prepared statement protocol yet": it is sent as text.
const NOT_PREPARABLE: u16 = 1295;

/// Why there is no connection.
pub struct Refused {
    /// What is wrong.
    pub error: Error,
    /// Whether trying again may help.
    pub heals: bool,
}

/// Open a connection of a run.
///
/// # Errors
///
/// The server cannot be reached, or refuses the login or a statement.
pub fn open(plan: &Plan, run: &Run, connector: &Connector<'_>, timeout: Duration) -> Result<Connection, Refused> {
    let session = connector.connect(timeout).map_err(|error| Refused { heals: error.heals(), error: error.into() })?;
    let mut connection = Connection::new(session.stream, session.dialect, session.status);
    let mut buffer = vec![0; 16 * 1024];
    for sql in &plan.session {
        connection.text(sql.as_bytes());
        if let Outcome::Error { code, message, .. } = answer(&mut connection, &mut buffer, timeout)? {
            return Err(refusal(sql, code, &message));
        }
    }
    for statement in &plan.statements {
        let prepared = prepare(&mut connection, statement, run.text, &mut buffer, timeout)?;
        connection.add(prepared);
    }
    Ok(connection)
}

fn prepare(
    connection: &mut Connection,
    statement: &Statement,
    text: bool,
    buffer: &mut [u8],
    timeout: Duration,
) -> Result<Prepared, Refused> {
    if text || statement.text {
        return Ok(Prepared::Text(Template::new(&statement.sql)));
    }
    connection.prepare(statement.sql.as_bytes());
    match answer(connection, buffer, timeout)? {
        Outcome::Prepared { id, parameters, .. } if usize::from(parameters) == statement.parameters => {
            Ok(Prepared::Binary(Execution::new(id, statement.parameters)))
        }
        Outcome::Prepared { parameters, .. } => Err(never(Error::workload(
            format!("`{}` has {parameters} parameters, not {}", shortened(&statement.sql), statement.parameters),
            "Correct the statement in the workload",
        ))),
        Outcome::Error { code: NOT_PREPARABLE, .. } => Ok(Prepared::Text(Template::new(&statement.sql))),
        Outcome::Error { code, message, .. } => Err(refusal(&statement.sql, code, &message)),
        _ => Err(never(Error::server("The server answers a preparation with rows", "See that it is MySQL or MariaDB"))),
    }
}

fn answer(connection: &mut Connection, buffer: &mut [u8], timeout: Duration) -> Result<Outcome, Refused> {
    connection
        .round_trip(buffer, Instant::now() + timeout)
        .map_err(|error| Refused { error: ended(&error.to_string()), heals: true })
}

/// The server answers SQL that a connection begins with by an error.
fn refusal(sql: &str, code: u16, message: &str) -> Refused {
    if ends_connection(code) {
        return Refused { error: ended(&format!("{} ({code})", one_line(message))), heals: true };
    }
    // Statements of a connection that was lost count until the server has noticed.
    let heals = code == TOO_MANY_STATEMENTS;
    Refused { error: refused(&format!("`{}`", shortened(sql)), code, message, remedy(code)), heals }
}

fn ended(why: &str) -> Error {
    Error::server(format!("The server ended a connection while it was opened: {why}"), "See the server's error log")
}

fn never(error: Error) -> Refused {
    Refused { error, heals: false }
}

/// SQL in one line, shortened.
fn shortened(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 120 { line } else { line.chars().take(119).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_since_the_connection_or_its_forerunner_ends_may_be_tried_again() {
        let heals = |code| refusal("SELECT 1", code, "why").heals;
        assert_eq!([1053, 1317, 1461, 1064].map(heals), [true, true, true, false]);
        assert!(
            refusal("SELECT 1", 1927, "Connection was killed").error.what.ends_with("opened: Connection was killed (1927)")
        );
    }

    #[test]
    fn sql_is_named_in_one_line_of_bearable_length() {
        assert_eq!(shortened("SELECT 1\n  FROM t"), "SELECT 1 FROM t");
        assert_eq!(shortened(&"é".repeat(500)).chars().count(), 120);
    }
}
