//! The sessions that were open on a server when its log began, read from the file that `dialin capture start` writes.

use super::session_state::Start;
use super::start_state::Starts;
use crate::errors::{Error, Result};
use serde::Deserialize;
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
}

impl OpenSession {
    fn start(&self) -> Option<Start> {
        Some(match (self.autocommit?, self.in_transaction) {
            (false, _) => Start::Off,
            (true, true) => Start::InTransaction,
            (true, false) => Start::On,
        })
    }
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
            let sessions = open.sessions.iter().map(|session| (session.id, session.start())).collect();
            Ok(Starts::of_server(sessions, if open.autocommit { Start::On } else { Start::Off }))
        }
        Ok(_) => Err(Error::user(format!("{} has another format than {SCHEMA}", path.display()), remedy)),
        Err(error) => Err(Error::user(format!("{} has no sessions: {error}", path.display()), remedy)),
    }
}
