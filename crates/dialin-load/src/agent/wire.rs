//! What a conductor and an agent say to each other once they know each other.

use super::order::Order;
use crate::engine::{Played, Second};
use crate::errors::{Error, Fault};
use crate::record::{Merged, Times};
use crate::run::Purpose;
use serde::{Deserialize, Serialize};

/// What a conductor says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// The first thing: play this, but do not begin.
    Order(Box<Order>),
    /// Tell what your clock shows. Asked every second, it shows that the conductor is there.
    Ask(u64),
    /// Begin when your steady clock shows so many nanoseconds.
    Start(u64),
    /// End now, and tell what was measured.
    Stop,
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// What the clock shows.
    Clock {
        /// The number of the question.
        ask: u64,
        /// Nanoseconds of the steady clock.
        nanoseconds: u64,
        /// Unix time, in seconds.
        unix: f64,
    },
    /// All connections are open.
    Ready,
    /// A second is over.
    Second(Box<Told>),
    /// The run is over, and went well.
    Played(Ended),
    /// It did not go well.
    Failed(Failure),
}

/// A second of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// See [`Second`].
    pub number: u64,
    /// See [`Second`].
    pub purpose: Purpose,
    /// See [`Second`].
    pub step: usize,
    /// See [`Second`].
    pub connections: usize,
    /// See [`Second`].
    pub load_threads: usize,
    /// See [`Second`].
    pub at: f64,
    /// See [`Second`].
    pub seconds: f64,
    /// See [`Second`].
    pub merged: Merged,
}

impl From<Second> for Told {
    fn from(second: Second) -> Self {
        Self {
            number: second.number,
            purpose: second.purpose,
            step: second.step,
            connections: second.connections,
            load_threads: second.load_threads,
            at: second.at,
            seconds: second.seconds,
            merged: second.merged,
        }
    }
}

impl Told {
    /// Whether a second can have come to that, so that adding up many of them cannot overflow.
    #[must_use]
    pub fn plausible(&self) -> bool {
        let tally = &self.merged.tally;
        let counts = [
            tally.retries,
            tally.reconnects,
            tally.unprepared,
            tally.dropped,
            tally.backlog,
            tally.busy,
            tally.timers,
            tally.gather_pauses,
            tally.gather_ns,
            tally.latency.count(),
            tally.service.count(),
            tally.failed.count(),
            self.merged.driver_cpu_ns,
            self.connections as u64,
            self.load_threads as u64,
        ];
        let by_kind: Vec<u64> = tally.latency_by.iter().map(Times::count).collect();
        let all =
            counts.iter().chain(&by_kind).chain(&tally.transactions).chain(&tally.statements).chain(tally.errors.values());
        all.into_iter().all(|count| *count < 1 << 40) && self.at.is_finite() && (0.0..=2.0).contains(&self.seconds)
    }
}

/// How a run ended that went well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// See [`Played`].
    pub reached_backlog_cap: bool,
}

impl From<&Played> for Ended {
    fn from(played: &Played) -> Self {
        Self { reached_backlog_cap: played.reached_backlog_cap }
    }
}

/// An error, as it crosses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Whose fault it is.
    pub fault: Fault,
    /// See [`Error`].
    pub what: String,
    /// See [`Error`].
    pub remedy: String,
}

impl From<Error> for Failure {
    fn from(Error { fault, what, remedy }: Error) -> Self {
        Self { fault, what, remedy }
    }
}

impl Failure {
    /// The error again, with the agent that told it.
    #[must_use]
    pub fn of(self, agent: &str) -> Error {
        Error { fault: self.fault, what: format!("Agent {agent}: {}", self.what), remedy: self.remedy }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::{from_str, json, to_value};

    /// A second of the warm-up in which one connection played so many transactions.
    pub fn told(number: u64, transactions: u64) -> Told {
        let mut merged = Merged::new(1);
        for each in 0..transactions {
            merged.tally.transaction(0, 1_000_000 * (each + 1), 500_000);
        }
        Told { number, purpose: Purpose::WarmUp, step: 1, connections: 3, load_threads: 2, at: 1e9, seconds: 1.0, merged }
    }

    #[test]
    fn a_second_crosses_with_its_whole_histograms() {
        let told = told(1, 1000);
        let crossed = serde_json::to_string(&Report::Second(Box::new(told.clone()))).unwrap();
        assert!(crossed.len() < 20_000, "{}", crossed.len());
        assert_eq!(from_str::<Report>(&crossed).unwrap(), Report::Second(Box::new(told)));
    }

    #[test]
    fn the_words_are_those_of_the_stream() {
        assert_eq!(to_value(told(1, 0)).unwrap()["purpose"], json!(Purpose::WarmUp.word()));
        assert_eq!(to_value(Command::Stop).unwrap(), json!("stop"));
        assert_eq!(to_value(Report::Failed(Error::server("a", "b").into())).unwrap()["failed"]["fault"], json!("server"));
    }

    #[test]
    fn an_error_keeps_its_fault_and_remedy_and_names_the_agent() {
        let error = Failure::from(Error::workload("Table t is missing", "Prepare")).of("host:1");
        assert_eq!(error, Error::workload("Agent host:1: Table t is missing", "Prepare"));
    }

    #[test]
    fn counts_that_cannot_be_are_not_plausible() {
        assert!(told(1, 5).plausible());
        assert!(!Told { seconds: f64::NAN, ..told(1, 5) }.plausible());
        assert!(!Told { at: f64::INFINITY, ..told(1, 5) }.plausible());
        let mut mad = told(1, 5);
        mad.merged.tally.errors.insert(1213, u64::MAX);
        assert!(!mad.plausible());
    }
}
