//! Seconds of several agents become seconds of one run.

use super::wire::is_plausible;
use crate::engine::Second;
use crate::errors::{Error, Result};
use crate::run::Phase;
use std::collections::BTreeMap;

/// A second of which not all have told yet is kept so long: the others are not to run far ahead of one that lags.
const FURTHEST_APART: u64 = 30;

/// Adds up seconds as they are told. A second is complete when every agent told it, or had no more to tell.
#[derive(Debug)]
pub struct Merger {
    phases: Vec<Phase>,
    names: Vec<String>,
    last: Vec<u64>,
    ended: Vec<bool>,
    begun: BTreeMap<u64, Second>,
    handed: u64,
    /// Unix time of the common start by the conductor's clock, in seconds.
    pub started_at: f64,
}

impl Merger {
    /// For a run of these phases, by agents of these names.
    #[must_use]
    pub fn new(phases: &[Phase], names: &[String]) -> Self {
        Self {
            phases: phases.to_vec(),
            names: names.to_vec(),
            last: vec![0; names.len()],
            ended: vec![false; names.len()],
            begun: BTreeMap::new(),
            handed: 0,
            started_at: 0.0,
        }
    }

    /// Take a second that an agent told.
    ///
    /// # Errors
    /// Of the driver: agents do not play the same run, or one lags too far behind another.
    pub fn take(&mut self, agent: usize, told: Second) -> Result<()> {
        let name = &self.names[agent];
        let odd = |why: &str| {
            let what = format!("Agent {name} sent second {} {why}", told.number);
            Error::driver(what, "Install the same build of dialin-load on all hosts")
        };
        if told.number != self.last[agent] + 1 || self.ended[agent] {
            return Err(odd("out of turn"));
        }
        if !is_plausible(&told) {
            return Err(odd("with counts that cannot be"));
        }
        let phase = self.phases.iter().find(|phase| (phase.purpose, phase.step) == (told.purpose, told.step));
        let phase = phase.ok_or_else(|| odd("of a phase that was not ordered"))?;
        self.last[agent] = told.number;
        match self.begun.get_mut(&told.number) {
            None => {
                self.begun.insert(told.number, Second { rate: phase.rate, ..told });
            }
            Some(second) if (second.purpose, second.step) != (told.purpose, told.step) => {
                return Err(odd("of another phase than the others"));
            }
            Some(second) => {
                second.connections += told.connections;
                second.load_threads += told.load_threads;
                second.gather = second.gather.filter(|gather| told.gather == Some(*gather));
                second.seconds = second.seconds.max(told.seconds);
                second.merged.merge(&told.merged);
            }
        }
        self.keep_together()
    }

    /// An agent has no more to tell.
    pub fn end(&mut self, agent: usize) {
        self.ended[agent] = true;
    }

    /// The next second, if it is complete.
    pub fn complete(&mut self) -> Option<Second> {
        let next = self.handed + 1;
        let all = self.last.iter().zip(&self.ended).all(|(last, ended)| *last >= next || *ended);
        let second = if all { self.begun.remove(&next) } else { None }?;
        // All began at the same instant, so no agent's own time is needed.
        let at = self.started_at + self.handed as f64 + second.seconds;
        self.handed = next;
        Some(Second { at, ..second })
    }

    /// How many seconds were complete.
    #[must_use]
    pub fn handed(&self) -> u64 {
        self.handed
    }

    fn keep_together(&self) -> Result<()> {
        let lags = (0..self.last.len()).filter(|agent| !self.ended[*agent]).min_by_key(|agent| self.last[*agent]);
        let furthest = self.last.iter().max().copied().unwrap_or_default();
        match lags {
            Some(agent) if furthest - self.last[agent] > FURTHEST_APART => {
                let what = format!("Agent {} is more than {FURTHEST_APART} seconds behind another", self.names[agent]);
                Err(Error::driver(what, "See what keeps that host busy, and run again"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::order::tests::run;
    use crate::agent::wire::tests::told;
    use crate::run::Purpose;

    fn merger(agents: usize) -> Merger {
        let names: Vec<String> = (1..=agents).map(|each| format!("host{each}:1")).collect();
        Merger::new(&run(6, Some(90.0)).phases, &names)
    }

    #[test]
    fn a_second_is_complete_when_all_told_it() {
        let mut merger = merger(2);
        merger.take(0, told(1, 10)).unwrap();
        merger.take(0, told(2, 10)).unwrap();
        assert!(merger.complete().is_none());
        merger.take(1, told(1, 5)).unwrap();
        let second = merger.complete().unwrap();
        assert_eq!((second.number, second.merged.tally.all_transactions(), second.connections), (1, 15, 6));
        assert!(merger.complete().is_none());
        assert_eq!(merger.handed(), 1);
    }

    #[test]
    fn histograms_are_added_and_the_rate_is_the_whole_one() {
        let mut merger = merger(3);
        for agent in 0..3 {
            merger.take(agent, told(1, 100)).unwrap();
        }
        let second = merger.complete().unwrap();
        assert_eq!(second.merged.tally.latency.count(), 300);
        assert_eq!(second.rate.map(|rate| rate.per_second), Some(90.0));
    }

    #[test]
    fn whether_answers_were_gathered_is_known_where_all_agents_did_the_same() {
        let merged = |others: Option<bool>| {
            let mut merger = merger(3);
            for (agent, gather) in [Some(true), others, Some(true)].into_iter().enumerate() {
                merger.take(agent, Second { gather, ..told(1, 1) }).unwrap();
            }
            merger.complete().unwrap().gather
        };
        assert_eq!([Some(true), Some(false), None].map(merged), [Some(true), None, None]);
    }

    #[test]
    fn an_agent_that_ended_is_waited_for_no_longer() {
        let mut merger = merger(2);
        merger.take(0, told(1, 10)).unwrap();
        merger.take(1, told(1, 10)).unwrap();
        merger.take(1, told(2, 7)).unwrap();
        merger.end(0);
        assert_eq!(merger.complete().map(|second| second.number), Some(1));
        let last = merger.complete().unwrap();
        assert_eq!((last.number, last.merged.tally.all_transactions()), (2, 7));
    }

    #[test]
    fn times_are_the_conductors_and_the_latest_end_counts() {
        let mut merger = merger(2);
        merger.started_at = 999.0;
        for (agent, at) in [(0, 5000.0), (1, 7000.0)] {
            merger.take(agent, Second { at, ..told(1, 1) }).unwrap();
            merger.take(agent, Second { at, seconds: 0.25 * (1 + agent) as f64, ..told(2, 1) }).unwrap();
        }
        assert_eq!(merger.complete().map(|second| (second.at, second.seconds)), Some((1000.0, 1.0)));
        assert_eq!(merger.complete().map(|second| (second.at, second.seconds)), Some((1000.5, 0.5)));
    }

    #[test]
    fn seconds_that_do_not_belong_together_are_refused() {
        assert!(merger(1).take(0, told(2, 1)).unwrap_err().what.contains("out of turn"));
        let mut ended = merger(1);
        ended.end(0);
        assert!(ended.take(0, told(1, 1)).is_err());
        let foreign = Second { step: 9, ..told(1, 1) };
        assert!(merger(1).take(0, foreign).unwrap_err().what.contains("not ordered"));
        let mut two = merger(2);
        two.take(0, told(1, 1)).unwrap();
        let other = Second { purpose: Purpose::Measure, ..told(1, 1) };
        assert!(two.take(1, other).unwrap_err().what.contains("another phase"));
    }

    #[test]
    fn counts_that_no_second_has_are_refused_before_they_are_added() {
        let mut mad = told(1, 1);
        mad.merged.tally.retries = u64::MAX;
        assert!(merger(1).take(0, mad).unwrap_err().what.contains("cannot be"));
    }

    #[test]
    fn one_that_lags_far_behind_is_named() {
        let mut merger = merger(2);
        let told_all = (1..=31).try_for_each(|number| merger.take(0, told(number, 1)));
        assert!(told_all.unwrap_err().what.contains("host2:1"));
    }
}
