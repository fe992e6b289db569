//! The sessions that were open on a server when its log began, read from the file that `dialin capture start` writes.

use super::session_state::Start;
use super::start_state::{Known, Starts};
use crate::errors::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The name of the format.
pub const SCHEMA: &str = "dialin/capture-sessions/1";

/// The sessions that were open.
#[derive(Debug, Deserialize)]
struct OpenSessions {
    schema: String,
    /// The server's global `autocommit`, with which a session begins.
    autocommit: bool,
    sessions: Vec<OpenSession>,
}

/// A session that was open.
#[derive(Debug, Deserialize)]
struct OpenSession {
    id: u64,
    /// Its `autocommit`; None if the server does not say it.
    autocommit: Option<bool>,
    /// Whether it had a transaction open.
    in_transaction: bool,
    /// What else it had set, by the names of the variables.
    #[serde(default)]
    settings: BTreeMap<String, String>,
}

impl OpenSession {
    fn known(&self) -> Known {
        Known { start: self.start(), sets: self.settings.iter().filter_map(|(name, value)| set(name, value)).collect() }
    }

    fn start(&self) -> Option<Start> {
        Some(match (self.autocommit?, self.in_transaction) {
            (false, _) => Start::Off,
            (true, true) => Start::InTransaction,
            (true, false) => Start::On,
        })
    }
}

/// The statement that gives a variable of a session this value; None if one of them is none.
fn set(name: &str, value: &str) -> Option<String> {
    let all = |text: &str, fits: fn(u8) -> bool| text.bytes().all(fits);
    if name == "transaction_isolation" {
        // The name of the variable depends on the build, this statement does not.
        let is_level = all(value, |byte| byte.is_ascii_uppercase() || byte == b'-');
        return is_level.then(|| format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", value.replace('-', " ")));
    }
    let is_name = all(name, |byte| byte.is_ascii_lowercase() || byte == b'_');
    // Without quotes and backslashes, whose meaning depends on sql_mode.
    let is_value = all(value, |byte| byte == b' ' || byte.is_ascii_graphic() && !matches!(byte, b'\'' | b'\\'));
    (is_name && is_value).then(|| format!("SET SESSION {name} = '{value}'"))
}

/// Read such a file.
///
/// # Errors
/// It cannot be read, or has another format.
pub(super) fn read(path: &Path) -> Result<Starts> {
    let remedy = "Name the file sessions.json of a capture, which dialin capture start writes";
    let text = std::fs::read(path).map_err(|error| Error::user(format!("{}: {error}", path.display()), remedy))?;
    match serde_json::from_slice::<OpenSessions>(&text) {
        Ok(open) if open.schema == SCHEMA => {
            let sessions = open.sessions.iter().map(|session| (session.id, session.known())).collect();
            Ok(Starts::of_server(sessions, if open.autocommit { Start::On } else { Start::Off }))
        }
        Ok(_) => Err(Error::user(format!("{} has another format than {SCHEMA}", path.display()), remedy)),
        Err(error) => Err(Error::user(format!("{} has no sessions: {error}", path.display()), remedy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_had_set_is_set_again_and_nothing_that_could_be_another_statement() {
        let set = |name, value| set(name, value).unwrap_or_default();
        assert_eq!(set("sql_mode", ""), "SET SESSION sql_mode = ''");
        assert_eq!(set("time_zone", "+03:00"), "SET SESSION time_zone = '+03:00'");
        assert_eq!(set("transaction_isolation", "READ-COMMITTED"), "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
        for (name, value) in [("time_zone", "a'; DROP"), ("time_zone", "\\"), ("time_zone", "\n"), ("time_zone = 1; --", "UTC")]
        {
            assert_eq!(set(name, value), "", "{name} {value}");
        }
    }
}
