//! The parameters of a run: its phases with their rates and numbers of connections.

use crate::account::Account;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How transactions are spread over time in an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal intervals.
    Constant,
    /// At random intervals, as from many independent users: a Poisson process.
    Poisson,
}

/// The highest rate that can be requested, in transactions per second. Each due transaction takes the driver some nanoseconds,
/// even if it is dropped.
pub const HIGHEST_RATE: f64 = 1e7;

/// A requested rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Transactions per second, all connections together; above 0, at most [`HIGHEST_RATE`].
    pub per_second: f64,
    /// How they arrive.
    pub arrivals: Arrivals,
}

/// Whether load threads gather answers, that is, wait a little for further answers before they process those that have arrived.
/// They never do so in an open loop, where a transaction is sent when it is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gather {
    /// If the CPUs that the driver may use are mostly busy. Each step decides this once: at the end of its warm-up, or without
    /// one, after its first second.
    #[default]
    Auto,
    /// If a load thread has enough connections.
    On,
    /// Never.
    Off,
}

/// Whether a phase is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The phase is not measured.
    WarmUp,
    /// The phase is measured.
    Measure,
}

impl Purpose {
    /// The word for it in the stream.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Purpose::WarmUp => "warm-up",
            Purpose::Measure => "measure",
        }
    }
}

/// A part of a run in which nothing changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Whether it is measured.
    pub purpose: Purpose,
    /// Which of the listed connection counts and rates it belongs to, from 1.
    pub step: usize,
    /// Its length in seconds; None if it lasts until the run is stopped.
    pub seconds: Option<u64>,
    /// The number of connections that play transactions.
    pub connections: usize,
    /// The requested rate; None for a closed loop.
    pub rate: Option<Rate>,
    /// The requested number of load threads, the same in all phases of a step; None if the driver chooses it for the machine.
    pub load_threads: Option<usize>,
    /// Whether load threads gather answers in a closed loop; the same in all phases of a step.
    pub gather: Gather,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The server and the account to log in with. It is never sent to another host.
    #[serde(skip)]
    pub account: Account,
    /// Its phases, in order; at least one.
    pub phases: Vec<Phase>,
    /// The random seed.
    pub seed: u64,
    /// Transactions are numbered from `first` in steps of `stride`, so that the hosts of a run use disjoint numbers.
    pub first: u64,
    /// See `first`.
    pub stride: u64,
    /// The number of transactions after which the run ends; None for no limit.
    pub transactions: Option<u64>,
    /// Whether statements are sent as text instead of prepared.
    pub text: bool,
    /// The number of due transactions that may wait for a connection; further ones are dropped and counted.
    pub backlog: u64,
    /// How long a statement may take before its connection counts as lost.
    pub timeout: Duration,
    /// How long a connection may stay lost before the run fails.
    pub reconnect_for: Duration,
}
