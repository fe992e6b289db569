//! Opens a connection: login, the workload's own commands, and its statements prepared.

use super::connection::{Connection, Prepared};
use super::outcome::{refused, remedy};
use crate::errors::Error;
use crate::net::connect::connect;
use crate::plan::{Plan, Statement};
use crate::protocol::command::Execution;
use crate::protocol::response::Outcome;
use crate::protocol::text::Template;
use crate::run::Run;
use std::io;
use std::time::Duration;

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
pub fn open(plan: &Plan, run: &Run, patience: Duration) -> Result<Connection, Refused> {
    let session = connect(&run.account, patience).map_err(|error| Refused { heals: error.heals(), error: error.into() })?;
    let mut connection = Connection::new(session.stream, session.dialect, session.status);
    let mut buffer = vec![0; 16 * 1024];
    for sql in &plan.session {
        connection.text(sql.as_bytes());
        if let Outcome::Error { code, message, .. } = answer(&mut connection, &mut buffer, patience)? {
            return Err(never(refused(&format!("`{}`", shortened(sql)), code, &message, remedy(code))));
        }
    }
    for statement in &plan.statements {
        let prepared = prepare(&mut connection, statement, run.text, &mut buffer, patience)?;
        connection.add(prepared);
    }
    Ok(connection)
}

fn prepare(
    connection: &mut Connection,
    statement: &Statement,
    text: bool,
    buffer: &mut [u8],
    patience: Duration,
) -> Result<Prepared, Refused> {
    if text || statement.text {
        return Ok(Prepared::Text(Template::new(&statement.sql)));
    }
    connection.prepare(statement.sql.as_bytes());
    match answer(connection, buffer, patience)? {
        Outcome::Prepared { id, parameters, .. } if usize::from(parameters) == statement.parameters => {
            Ok(Prepared::Binary(Execution::new(id, statement.parameters)))
        }
        Outcome::Prepared { parameters, .. } => Err(never(Error::workload(
            format!("`{}` has {parameters} parameters, not {}", shortened(&statement.sql), statement.parameters),
            "Correct the statement in the workload",
        ))),
        Outcome::Error { code: NOT_PREPARABLE, .. } => Ok(Prepared::Text(Template::new(&statement.sql))),
        Outcome::Error { code, message, .. } => {
            Err(never(refused(&format!("`{}`", shortened(&statement.sql)), code, &message, remedy(code))))
        }
        _ => Err(never(Error::server("The server answers a preparation with rows", "See that it is MySQL or MariaDB"))),
    }
}

fn answer(connection: &mut Connection, buffer: &mut [u8], patience: Duration) -> Result<Outcome, Refused> {
    connection.round_trip(buffer, patience).map_err(|error| Refused { error: silent(&error), heals: true })
}

fn silent(error: &io::Error) -> Error {
    Error::server(format!("The server ended a connection while it was opened: {error}"), "See the server's error log")
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
    fn sql_is_named_in_one_line_of_bearable_length() {
        assert_eq!(shortened("SELECT 1\n  FROM t"), "SELECT 1 FROM t");
        assert_eq!(shortened(&"é".repeat(500)).chars().count(), 120);
    }
}
