//! What a conductor and an agent say to each other once they know each other.

use super::order::Order;
use crate::engine::{Played, Second};
use crate::errors::Error;
use crate::record::Times;
use serde::{Deserialize, Serialize};

/// What a conductor says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// The first thing, and the proof that the conductor has the token.
    Conduct,
    /// Play this, but do not begin.
    Order(Box<Order>),
    /// Tell what your clock shows, and repeat this: what the conductor's shows, in nanoseconds. Asked every second, it shows that
    /// the conductor is there.
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
    /// The first thing: the conductor may stay.
    Welcome,
    /// Or not, for another one was first.
    Busy,
    /// What the clock shows.
    Clock {
        /// What was asked.
        ask: u64,
        /// Nanoseconds of the steady clock.
        nanoseconds: u64,
    },
    /// All connections are open.
    Ready,
    /// A second is over.
    Second(Box<Second>),
    /// The run is over, and went well.
    Played(Played),
    /// It did not go well.
    Failed(Error),
}

/// Whether a second can have come to that, so that adding up many of them cannot overflow.
#[must_use]
pub fn is_plausible(second: &Second) -> bool {
    let tally = &second.merged.tally;
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
        tally.busiest_cpu_ns,
        tally.latency.count(),
        tally.service.count(),
        tally.failed.count(),
        second.merged.driver_cpu_ns,
        second.connections as u64,
        second.load_threads as u64,
    ];
    let by_kind: Vec<u64> = tally.latency_by.iter().map(Times::count).collect();
    let all = counts.iter().chain(&by_kind).chain(&tally.transactions).chain(&tally.statements).chain(tally.errors.values());
    all.into_iter().all(|count| *count < 1 << 40) && (0.0..=2.0).contains(&second.seconds)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::record::Merged;
    use crate::run::Purpose;
    use serde_json::{from_str, json, to_value};

    /// A second of the warm-up in which one connection played so many transactions.
    pub fn told(number: u64, transactions: u64) -> Second {
        let mut merged = Merged::new(1);
        for each in 0..transactions {
            merged.tally.transaction(0, 1_000_000 * (each + 1), 500_000);
        }
        let (purpose, step, connections, load_threads) = (Purpose::WarmUp, 1, 3, 2);
        let gather = Some(number > 1);
        Second { number, purpose, step, connections, load_threads, gather, rate: None, at: 1e9, seconds: 1.0, merged }
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
        assert_eq!(to_value(Report::Failed(Error::server("a", "b"))).unwrap()["failed"]["fault"], json!("server"));
    }

    #[test]
    fn counts_that_cannot_be_are_not_plausible() {
        assert!(is_plausible(&told(1, 5)));
        assert!(!is_plausible(&Second { seconds: f64::NAN, ..told(1, 5) }));
        let mut mad = told(1, 5);
        mad.merged.tally.errors.insert(1213, u64::MAX);
        assert!(!is_plausible(&mad));
    }
}
