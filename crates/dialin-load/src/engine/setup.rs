//! Opens a connection: login, and the workload's own commands.

use super::connection::Connection;
use super::error_policy::{ends_connection, one_line, refused, remedy, shortened};
use crate::errors::Error;
use crate::net::connect::Connector;
use crate::plan::Plan;
use crate::protocol::response::Outcome;
use std::time::{Duration, Instant};

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
pub fn open(plan: &Plan, connector: &Connector<'_>, timeout: Duration) -> Result<Connection, Refused> {
    let session = connector.connect(timeout).map_err(|error| Refused { heals: error.heals(), error: error.into() })?;
    let mut connection = Connection::new(session.stream, session.dialect, session.status);
    let mut buffer = vec![0; 16 * 1024];
    for sql in &plan.session {
        connection.text(sql.as_bytes());
        if let Outcome::Error { code, message, .. } = answer(&mut connection, &mut buffer, timeout)? {
            return Err(refusal(sql, code, &message));
        }
    }
    Ok(connection)
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
    Refused { error: refused(&format!("`{}`", shortened(sql)), code, message, remedy(code)), heals: false }
}

fn ended(why: &str) -> Error {
    Error::server(format!("The server ended a connection while it was opened: {why}"), "See the server's error log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_since_the_connection_ends_may_be_tried_again() {
        let heals = |code| refusal("SELECT 1", code, "why").heals;
        assert_eq!([1053, 1317, 1064].map(heals), [true, true, false]);
        assert!(
            refusal("SELECT 1", 1927, "Connection was killed").error.what.ends_with("opened: Connection was killed (1927)")
        );
    }
}
