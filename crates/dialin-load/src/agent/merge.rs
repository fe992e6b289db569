//! Adds up the seconds of several agents to the seconds of one run.

use crate::engine::Second;
use crate::errors::{Error, Result};
use crate::record::Times;
use crate::run::Phase;
use std::collections::VecDeque;

/// The highest number of seconds that an agent may be ahead of another one.
const FURTHEST_APART: usize = 30;
const OTHER_BUILD: &str = "Install the same build of dialin-load on all hosts";

/// Adds up the seconds of several agents. A second is complete when each agent has reported it or has ended before.
#[derive(Debug)]
pub struct Merger {
    phases: Vec<Phase>,
    agents: Vec<Agent>,
    /// The number of completed seconds.
    completed: u64,
    /// Unix time of the common start by the conductor's clock, in seconds.
    started_at: f64,
}

#[derive(Debug)]
struct Agent {
    name: String,
    /// Its seconds that are not complete yet, in order.
    waiting: VecDeque<Second>,
    has_ended: bool,
    /// The number of its load threads.
    threads: usize,
}

impl Agent {
    /// The CPU time of each of its load threads in its next second, in nanoseconds. Those of an agent that has ended used none.
    fn thread_cpu_ns(&mut self) -> Vec<u64> {
        let next = self.waiting.front().map(|second| second.merged.thread_cpu_ns.clone());
        let times = next.unwrap_or_else(|| vec![0; self.threads]);
        self.threads = times.len();
        times
    }

    fn lags(&self) -> bool {
        self.waiting.is_empty() && !self.has_ended
    }
}

impl Merger {
    /// A merger for a run with these phases on agents with these names. `started_at` is the Unix time of the start, in seconds.
    #[must_use]
    pub fn new(phases: &[Phase], names: impl IntoIterator<Item = String>, started_at: f64) -> Self {
        let agent = |name| Agent { name, waiting: VecDeque::new(), has_ended: false, threads: 0 };
        Self { phases: phases.to_vec(), agents: names.into_iter().map(agent).collect(), completed: 0, started_at }
    }

    /// Add a second of the agent with index `place`.
    ///
    /// # Errors
    /// [`Fault::Driver`](crate::errors::Fault::Driver): the second does not belong to the ordered run, or another agent lags
    /// too far behind this one.
    pub fn take(&mut self, place: usize, second: Second) -> Result<()> {
        let agent = &mut self.agents[place];
        let is_ordered = self.phases.iter().any(|phase| (phase.purpose, phase.step) == (second.purpose, second.step));
        let problem = if second.number != self.completed + agent.waiting.len() as u64 + 1 || agent.has_ended {
            "out of turn"
        } else if !is_ordered {
            "of a phase that was not ordered"
        } else if !is_plausible(&second) {
            "with impossible counts"
        } else {
            agent.waiting.push_back(second);
            let is_far_ahead = agent.waiting.len() > FURTHEST_APART;
            return match self.agents.iter().find(|other| is_far_ahead && other.lags()) {
                None => Ok(()),
                Some(slow) => {
                    let what = format!("Agent {} is more than {FURTHEST_APART} seconds behind another", slow.name);
                    Err(Error::machine(what, "See what keeps that host busy, and run again"))
                }
            };
        };
        Err(Error::driver(format!("Agent {} sent second {} {problem}", agent.name, second.number), OTHER_BUILD))
    }

    /// Note that an agent has ended and has no more seconds.
    pub fn end(&mut self, place: usize) {
        self.agents[place].has_ended = true;
    }

    /// The next second, if it is complete.
    ///
    /// # Errors
    /// [`Fault::Driver`](crate::errors::Fault::Driver): the agents are in different phases in this second.
    pub fn complete(&mut self) -> Result<Option<Second>> {
        if self.agents.iter().any(Agent::lags) {
            return Ok(None);
        }
        let thread_cpu_ns = self.agents.iter_mut().flat_map(Agent::thread_cpu_ns).collect();
        let seconds = self.agents.iter_mut().filter_map(|agent| agent.waiting.pop_front());
        let Some(mut second) = seconds.map(Ok).reduce(|sum, more| sum_of(sum?, &more?)).transpose()? else { return Ok(None) };
        second.merged.thread_cpu_ns = thread_cpu_ns;
        let phase = self.phases.iter().find(|phase| (phase.purpose, phase.step) == (second.purpose, second.step));
        // All agents began at the same instant, so their reported times are not needed.
        let at = self.started_at + self.completed as f64 + second.seconds;
        self.completed += 1;
        Ok(Some(Second { at, rate: phase.and_then(|phase| phase.rate), ..second }))
    }

    /// The number of completed seconds.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.completed
    }
}

/// The sum of a second of two agents, without its time, its rate and the CPU times of load threads.
fn sum_of(mut sum: Second, more: &Second) -> Result<Second> {
    if (sum.purpose, sum.step) != (more.purpose, more.step) {
        return Err(Error::driver(format!("Agents are in different phases in second {}", sum.number), OTHER_BUILD));
    }
    sum.connections += more.connections;
    sum.load_threads += more.load_threads;
    sum.gather = sum.gather.filter(|gather| more.gather == Some(*gather));
    sum.seconds = sum.seconds.max(more.seconds);
    sum.merged.merge(&more.merged);
    Ok(sum)
}

/// Whether the counts of a second are plausible, so that the sums over many agents cannot overflow.
fn is_plausible(second: &Second) -> bool {
    let tally = &second.merged.tally;
    let counts = [
        tally.retries,
        tally.reconnects,
        tally.unprepared,
        tally.prepared_again,
        tally.dropped,
        tally.backlog,
        tally.busy,
        tally.late.count(),
        tally.gather_pauses,
        tally.gather_ns,
        tally.cpu_ns,
        tally.latency.count(),
        tally.service.count(),
        tally.failed.count(),
        tally.undelayed.count(),
        second.merged.driver_cpu_ns,
        second.connections as u64,
        second.load_threads as u64,
    ];
    let by_kind: Vec<u64> = tally.latency_by.iter().map(Times::count).collect();
    let mut all = counts
        .iter()
        .chain(&by_kind)
        .chain(&second.merged.thread_cpu_ns)
        .chain(&tally.transactions)
        .chain(&tally.statements)
        .chain(tally.errors.values());
    all.all(|count| *count < 1 << 40) && (0.0..=2.0).contains(&second.seconds) && tally.replay.is_none()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::agent::order::tests::run;
    use crate::record::Merged;
    use crate::run::Purpose;

    /// A second of the warm-up in which three connections played this many transactions.
    pub fn second(number: u64, transactions: u64) -> Second {
        let mut merged = Merged::new(1);
        for each in 0..transactions {
            merged.tally.transaction(0, 1_000_000 * (each + 1), 500_000, 0);
        }
        let (purpose, step, connections, load_threads) = (Purpose::WarmUp, 1, 3, 1);
        let gather = Some(number > 1);
        Second { number, purpose, step, connections, load_threads, gather, rate: None, at: 1e9, seconds: 1.0, merged }
    }

    fn merger(agents: usize) -> Merger {
        Merger::new(&run(6, Some(90.0)).phases, (1..=agents).map(|each| format!("host{each}:1")), 999.0)
    }

    fn completed(merger: &mut Merger) -> Option<Second> {
        merger.complete().unwrap()
    }

    #[test]
    fn a_second_is_complete_when_all_reported_it_and_is_their_sum_by_the_conductors_clock() {
        let mut merger = merger(2);
        merger.take(0, second(1, 10)).unwrap();
        merger.take(0, Second { seconds: 0.25, ..second(2, 10) }).unwrap();
        assert!(completed(&mut merger).is_none());
        merger.take(1, Second { at: 7000.0, ..second(1, 5) }).unwrap();
        merger.take(1, Second { seconds: 0.5, ..second(2, 1) }).unwrap();
        let first = completed(&mut merger).unwrap();
        assert_eq!((first.number, first.connections, first.load_threads), (1, 6, 2));
        assert_eq!((first.merged.tally.all_transactions(), first.merged.tally.latency.count()), (15, 15));
        assert_eq!((first.at, first.seconds, first.rate.unwrap().per_second), (1000.0, 1.0, 90.0));
        assert_eq!(completed(&mut merger).map(|second| (second.at, second.seconds)), Some((1000.5, 0.5)));
        assert_eq!((completed(&mut merger), merger.completed()), (None, 2));
    }

    #[test]
    fn gather_is_reported_if_all_agents_agree() {
        let merged = |others: Option<bool>| {
            let mut merger = merger(3);
            for (agent, gather) in [Some(true), others, Some(true)].into_iter().enumerate() {
                merger.take(agent, Second { gather, ..second(1, 1) }).unwrap();
            }
            completed(&mut merger).unwrap().gather
        };
        assert_eq!([Some(true), Some(false), None].map(merged), [Some(true), None, None]);
    }

    #[test]
    fn an_agent_that_ended_is_waited_for_no_longer() {
        let mut merger = merger(2);
        merger.take(0, second(1, 10)).unwrap();
        merger.take(1, second(1, 10)).unwrap();
        merger.take(1, second(2, 7)).unwrap();
        merger.end(0);
        assert_eq!(completed(&mut merger).map(|second| second.number), Some(1));
        let last = completed(&mut merger).unwrap();
        assert_eq!((last.number, last.merged.tally.all_transactions()), (2, 7));
    }

    #[test]
    fn the_load_threads_of_all_agents_keep_their_places_after_one_has_ended() {
        let used = |number, thread_cpu_ns: &[u64]| {
            let mut second = second(number, 1);
            second.merged.thread_cpu_ns = thread_cpu_ns.into();
            second
        };
        let mut merger = merger(2);
        merger.take(0, used(1, &[1, 2])).unwrap();
        merger.take(1, used(1, &[3])).unwrap();
        merger.take(1, used(2, &[4])).unwrap();
        merger.end(0);
        let times = [completed(&mut merger), completed(&mut merger)].map(|second| second.unwrap().merged.thread_cpu_ns);
        assert_eq!(times, [vec![1, 2, 3], vec![0, 0, 4]]);
    }

    #[test]
    fn impossible_seconds_and_seconds_of_different_phases_are_refused() {
        let with = |change: fn(&mut Second)| {
            let mut second = second(1, 5);
            change(&mut second);
            second
        };
        for (second, words) in [
            (second(2, 1), "out of turn"),
            (with(|second| second.step = 9), "not ordered"),
            (with(|second| second.seconds = f64::NAN), "impossible"),
            (with(|second| second.merged.tally.retries = u64::MAX), "impossible"),
            (with(|second| second.merged.tally.errors.extend([(1213, u64::MAX)])), "impossible"),
        ] {
            let error = merger(1).take(0, second).unwrap_err();
            assert!(error.what.contains("host1:1") && error.what.contains(words), "{error}");
        }
        let mut ended = merger(1);
        ended.end(0);
        assert!(ended.take(0, second(1, 1)).unwrap_err().what.contains("out of turn"));
        let mut two = merger(2);
        two.take(0, second(1, 1)).unwrap();
        two.take(1, Second { purpose: Purpose::Measure, ..second(1, 1) }).unwrap();
        assert!(two.complete().unwrap_err().what.contains("different phases"));
    }

    #[test]
    fn an_agent_that_lags_far_behind_is_named() {
        let mut merger = merger(2);
        let all = (1..=31).try_for_each(|number| merger.take(0, second(number, 1)));
        assert!(all.unwrap_err().what.contains("host2:1"));
    }
}
