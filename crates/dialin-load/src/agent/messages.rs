//! The messages after the order: the conductor sends requests, and the agent answers each with a report.

use crate::engine::{RunResult, Second};
use crate::errors::Result;
use serde::{Deserialize, Serialize};

/// A message of the conductor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Report what happened since the last report.
    Report,
    /// Begin the load when the agent's monotonic clock shows this many nanoseconds.
    Start(u64),
    /// End the load.
    Stop,
}

/// The agent's answer to its order and to each request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The time of the agent's monotonic clock, in nanoseconds.
    pub clock: u64,
    /// Whether all its connections to the server are open.
    pub is_ready: bool,
    /// The server's numbers of the sessions that were opened since the last report.
    pub sessions: Vec<u32>,
    /// The seconds that ended since the last report.
    pub seconds: Vec<Second>,
    /// How the run ended; None if it is still running.
    pub ended: Option<Result<RunResult>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::merge::tests::second;
    use crate::errors::Error;
    use serde_json::{from_str, to_string};

    #[test]
    fn a_report_survives_json_with_whole_histograms() {
        for ended in [
            None,
            Some(Ok(RunResult { seconds: 1, reached_backlog_cap: true, ..RunResult::default() })),
            Some(Err(Error::server("a", "b"))),
        ] {
            let report = Report { clock: u64::MAX, is_ready: true, sessions: vec![9], seconds: vec![second(1, 1000)], ended };
            let crossed = to_string(&report).unwrap();
            assert!(crossed.len() < 20_000, "{}", crossed.len());
            assert_eq!(from_str::<Report>(&crossed).unwrap(), report);
        }
    }
}
