//! Options of the replay of a capture.

use super::{RunOptions, WorkloadOptions};
use crate::account::Account;
use crate::errors::{Error, Result};
use crate::replay::{Facts, Pace, Request};
use crate::run::{Gather, Phase, Purpose, Run};
use std::time::Duration;

/// The prefix of a workload's name that makes the rest the directory of a capture.
pub const CAPTURE: &str = "capture:";
/// The slowest and the fastest pace.
const PACES: std::ops::RangeInclusive<f64> = 0.01..=100.0;

/// The capture to show, without transactions that ended at or before its option `from`; None if the workload is not a capture.
///
/// # Errors
///
/// It has another option, or `from` is not a number.
pub fn shown_capture(options: &WorkloadOptions) -> Result<Option<Request>> {
    let Some(directory) = options.workload.strip_prefix(CAPTURE) else { return Ok(None) };
    let mut from = None;
    for (name, value) in options.pairs()? {
        if name != "from" {
            let what = format!("A capture has no option {name}");
            return Err(Error::user(what, "Its only option is from, in seconds since 1970"));
        }
        let seconds = seconds_since_1970(&value);
        let wrong = |why| Error::user(format!("from={value}: {why}"), "Give a time such as 1790000000.5");
        from = Some(microseconds(seconds.map_err(wrong)?));
    }
    Ok(Some(Request { directory: directory.into(), pace: Pace::Times(1.0), from }))
}

/// A time in seconds since 1970.
///
/// # Errors
///
/// The text is not a number, or one below 0.
pub(super) fn seconds_since_1970(text: &str) -> std::result::Result<f64, String> {
    text.parse().ok().filter(|seconds| (0.0..=f64::MAX).contains(seconds)).ok_or_else(|| "not seconds since 1970".to_owned())
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn microseconds(seconds: f64) -> i64 {
    (seconds * 1e6) as i64
}

impl RunOptions {
    /// The requested replay; None if the workload is not a capture.
    ///
    /// # Errors
    ///
    /// An option cannot be used for this workload, or the value of `--pace` is wrong.
    pub fn replay(&self) -> Result<Option<Request>> {
        let Some(directory) = self.workload.workload.strip_prefix(CAPTURE) else {
            return match (&self.pace, self.from) {
                (None, None) => Ok(None),
                _ => Err(Error::user("--pace and --from need a capture to replay", "Name it as the workload: capture:DIR")),
            };
        };
        let unfit = [
            ("--connections", self.connections != [1]),
            ("--rate", !self.rate.is_empty()),
            ("--transactions", self.transactions.is_some()),
            ("--option", !self.workload.options.is_empty()),
            ("--load-threads", !self.load_threads.is_empty()),
            ("--agents", !self.agents.is_empty()),
        ];
        if let Some((name, _)) = unfit.iter().find(|(_, is_given)| *is_given) {
            return Err(Error::user(format!("{name} cannot be used with the replay of a capture"), "Leave it out"));
        }
        let pace = match self.pace.as_deref().unwrap_or("1") {
            "full" => Pace::Full,
            text => match text.parse() {
                Ok(times) if PACES.contains(&times) => Pace::Times(times),
                _ => {
                    return Err(Error::user(format!("--pace {text} is not a pace"), "Give full, or a number from 0.01 to 100"));
                }
            },
        };
        Ok(Some(Request { directory: directory.into(), pace, from: self.from.map(microseconds) }))
    }

    /// The run of a replay: on as many connections as the capture has concurrent sessions, until the capture or `--time` is
    /// over.
    #[must_use]
    pub fn replay_run(&self, account: Account, facts: &Facts) -> Run {
        let phase = |purpose, seconds| Phase {
            purpose,
            step: 1,
            seconds,
            connections: facts.connections,
            rate: None,
            load_threads: Some(1),
            gather: Gather::Off,
        };
        let warm_up = (self.warmup > 0).then(|| phase(Purpose::WarmUp, Some(self.warmup)));
        let measured = phase(Purpose::Measure, self.time.filter(|seconds| *seconds > 0));
        Run {
            account,
            phases: warm_up.into_iter().chain([measured]).collect(),
            seed: self.seed,
            first: 0,
            stride: 1,
            transactions: None,
            text: true,
            backlog: self.backlog,
            timeout: Duration::from_secs(self.timeout),
            reconnect_for: Duration::from_secs(self.reconnect_for),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(option: &str) -> Result<Option<Request>> {
        shown_capture(&WorkloadOptions { workload: "capture:shop".into(), options: vec![option.into()] })
    }

    #[test]
    fn a_capture_is_shown_from_a_time_since_1970() {
        assert_eq!(shown("from=1790000000.5").unwrap().unwrap().from, Some(1_790_000_000_500_000));
    }

    #[test]
    fn a_wrong_time_and_an_unknown_option_are_named() {
        for value in ["abc", "-1", "nan", "inf"] {
            let what = shown(&format!("from={value}")).err().map(|error| error.what);
            assert_eq!(what, Some(format!("from={value}: not seconds since 1970")));
        }
        assert_eq!(shown("pace=2").err().unwrap().what, "A capture has no option pace");
    }
}
