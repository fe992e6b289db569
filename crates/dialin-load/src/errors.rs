//! Errors by their cause, each with a remedy.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What caused an error; it determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The request is wrong: options, files.
    User,
    /// The server refuses the connection, or answers what no server answers.
    Server,
    /// The server cannot be reached, or a connection to it broke: the network or the server is the reason.
    Connection,
    /// The workload does not fit the data: a table is missing, the server refuses a statement, the data is inconsistent.
    Workload,
    /// The machine that the load runs on lacks room for it: open files, threads, memory; or another machine of the load is gone.
    Machine,
    /// The driver itself failed.
    Driver,
}

impl Fault {
    /// The process's exit code.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Fault::User => 2,
            Fault::Server | Fault::Connection => 3,
            Fault::Workload => 4,
            Fault::Driver | Fault::Machine => 1,
        }
    }
}

/// The exit code of a run that completed but did not reach the requested rate.
pub const RATE_NOT_REACHED: u8 = 5;

/// What is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// What caused it.
    pub fault: Fault,
    /// What happened, without a full stop.
    pub what: String,
    /// What to do about it, without a full stop.
    pub remedy: String,
}

/// The result of functions that can fail with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error in the request: see [`Fault::User`].
    pub fn user(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(Fault::User, what, remedy)
    }

    /// See [`Fault::Server`].
    pub fn server(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(Fault::Server, what, remedy)
    }

    /// See [`Fault::Connection`].
    pub fn connection(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(Fault::Connection, what, remedy)
    }

    /// See [`Fault::Machine`].
    pub fn machine(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(Fault::Machine, what, remedy)
    }

    /// See [`Fault::Workload`].
    pub fn workload(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(Fault::Workload, what, remedy)
    }

    /// See [`Fault::Driver`].
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
