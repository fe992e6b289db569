//! Errors by whose fault they are, each with what to do about it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Whose fault an error is; the exit code follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// What was asked for is wrong: options, files, passwords.
    User,
    /// The server cannot be reached, refuses, or went away for good.
    Server,
    /// The workload does not fit: a table is missing, SQL is refused, data is inconsistent.
    Workload,
    /// The driver itself is at fault.
    Driver,
}

impl Fault {
    /// The process's exit code, the same as dialin's own for that fault.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Fault::User => 2,
            Fault::Server => 3,
            Fault::Workload => 4,
            Fault::Driver => 1,
        }
    }
}

/// The exit code of a run that went well but did not reach the rate that was asked for.
pub const RATE_NOT_REACHED: u8 = 5;

/// What went wrong, in one line, and the remedy in another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// Whose fault it is.
    pub fault: Fault,
    /// What happened, without a full stop.
    pub what: String,
    /// What to do about it, without a full stop.
    pub remedy: String,
}

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error in what was asked for.
    pub fn user(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(Fault::User, what, remedy)
    }

    /// An error of the server.
    pub fn server(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(Fault::Server, what, remedy)
    }

    /// An error of the workload on this server.
    pub fn workload(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(Fault::Workload, what, remedy)
    }

    /// An error of the driver.
    pub fn driver(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(Fault::Driver, what, remedy)
    }

    fn of(fault: Fault, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { fault, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}. {}", self.what, self.remedy)
    }
}

impl std::error::Error for Error {}
