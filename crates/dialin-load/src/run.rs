//! What a run is: its phases, how fast, and on how many connections.

use crate::account::Account;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How transactions arrive that come at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// One after the other at equal distances.
    Constant,
    /// At random, as many customers who know nothing of each other do.
    Poisson,
}

/// The highest rate that can be asked for, in transactions per second: each one that is due takes the driver some nanoseconds, also
/// when it is dropped.
pub const HIGHEST_RATE: f64 = 1e7;

/// A rate that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Transactions per second, all connections together; above 0, at most [`HIGHEST_RATE`].
    pub per_second: f64,
    /// How they arrive.
    pub arrivals: Arrivals,
}

/// Whether load threads wait a little for further answers before they work through those that are there. They never do so in an open
/// loop, where a transaction is sent when it is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gather {
    /// If the CPUs that the driver may use are mostly busy. Each step decides this once, before it is measured.
    #[default]
    Auto,
    /// Whenever enough connections wait.
    On,
    /// Never.
    Off,
}

/// Whether what happens in a phase counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// It does not.
    WarmUp,
    /// It does.
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
    /// Whether it counts.
    pub purpose: Purpose,
    /// Which of the listed connection counts and rates it belongs to, from 1.
    pub step: usize,
    /// How long; None until the run is stopped. Whole seconds.
    pub seconds: Option<u64>,
    /// Connections at work.
    pub connections: usize,
    /// The rate asked for; None for a closed loop.
    pub rate: Option<Rate>,
    /// Load threads asked for, the same in all phases of a step; None for as many as suit the machine.
    pub load_threads: Option<usize>,
    /// Whether they gather answers in a closed loop; the same in all phases of a step.
    pub gather: Gather,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The server, and as whom. It is nothing that anybody else is told.
    #[serde(skip)]
    pub account: Account,
    /// Its phases, in order; at least one.
    pub phases: Vec<Phase>,
    /// Of all randomness.
    pub seed: u64,
    /// Transactions are numbered from `first` in steps of `stride`: hosts that drive together take turns.
    pub first: u64,
    /// See `first`.
    pub stride: u64,
    /// The run ends after so many transactions; None for no end.
    pub transactions: Option<u64>,
    /// Whether statements are sent as text instead of prepared.
    pub text: bool,
    /// Due transactions that may wait for a connection; further ones are dropped, and counted.
    pub backlog: u64,
    /// How long a statement may take before its connection counts as lost.
    pub timeout: Duration,
    /// How long a connection may stay lost before the run fails.
    pub reconnect_for: Duration,
}
