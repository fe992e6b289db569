//! The line of a self-test.

use super::lines::{DriverShareLine, TimersLine, rounded};
use super::tally::Tally;
use super::times::Percentiles;
use serde::Serialize;

/// The highest throughput of the driver on this machine, measured with a mock server that does nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfTestLine {
    /// See [`SCHEMA`](super::SCHEMA).
    pub schema: &'static str,
    /// The driver's version.
    pub version: &'static str,
    /// The number of connections.
    pub connections: usize,
    /// The number of load threads.
    pub load_threads: usize,
    /// The cheapest statement, which does nothing.
    pub noop: CeilingLine,
    /// Only sending and receiving the bytes of these statements.
    pub noop_bytes: CeilingLine,
    /// A prepared SELECT of one row by its key.
    pub point_select: CeilingLine,
    /// Only sending and receiving the bytes of these statements.
    pub point_select_bytes: CeilingLine,
    /// The same statements at a rate that leaves the driver idle most of the time.
    pub lateness: LatenessLine,
}

/// The highest throughput of the driver for one kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CeilingLine {
    /// The measured time, in seconds.
    pub seconds: f64,
    /// The measured statements per second; the mock server used part of the machine.
    pub per_second: f64,
    /// The CPU time of the load threads per statement, in microseconds; where only bytes are sent and received, that of the only thread.
    pub cpu_us: f64,
    /// The statements per second that one load thread could execute if it had a CPU to itself.
    pub ceiling: f64,
}

/// How late the driver is at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatenessLine {
    /// The measured time, in seconds.
    pub seconds: f64,
    /// The rate, in transactions per second.
    pub rate: f64,
    /// Successful transactions.
    pub transactions: u64,
    /// The lateness of the driver's timers.
    pub timers: TimersLine,
    /// The time since transactions were due.
    pub latency: Percentiles,
    /// The time since they began.
    pub service: Percentiles,
    /// What the driver added to latency.
    pub driver_share: DriverShareLine,
}

impl LatenessLine {
    /// The line of a run at `rate`, whose counters are in `tally`.
    #[must_use]
    pub fn of(tally: &Tally, rate: f64, seconds: f64) -> Self {
        Self {
            seconds: rounded(seconds, 1e2),
            rate,
            transactions: tally.all_transactions(),
            timers: TimersLine::of(tally),
            latency: tally.latency.percentiles(),
            service: tally.service.percentiles(),
            driver_share: DriverShareLine::of(tally),
        }
    }
}
