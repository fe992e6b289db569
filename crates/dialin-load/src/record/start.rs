//! The first line of the output stream.

use super::replay::ReplayFact;
use super::times::UNIT_NS;
use crate::plan::{Plan, Retry, Transaction};
use crate::replay::Kinds;
use crate::run::{Arrivals, Gather, Phase, Rate, Run};
use serde::Serialize;

/// The name and version of the schema of the output stream.
pub const SCHEMA: &str = "dialin/load/2";

/// The settings of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartLine {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The driver's version.
    pub version: &'static str,
    /// The workload's name.
    pub workload: String,
    /// The workload's transactions.
    pub transactions: Vec<TransactionFact>,
    /// The number of different statements of the workload.
    pub statements: usize,
    /// Whether statements are sent as text instead of prepared.
    pub text: bool,
    /// The server: the path of a socket, or host and port; None if agents run the load, because each is given its own address.
    pub server: Option<String>,
    /// The hosts whose agents run the load; empty if this host runs it alone.
    pub agents: Vec<String>,
    /// The mechanism with which load threads wait for the server.
    pub engine: &'static str,
    /// The random seed.
    pub seed: u64,
    /// The number of transactions after which the run ends; null if it has no such limit.
    pub transaction_limit: Option<u64>,
    /// The most transactions that may wait for a connection.
    pub backlog_cap: u64,
    /// The phases, in order.
    pub phases: Vec<PhaseFact>,
    /// The unit of the values in the histograms, in nanoseconds.
    pub histogram_unit_ns: u64,
    /// What is replayed; missing for other loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayFact>,
}

/// A transaction of a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransactionFact {
    /// The transaction's name.
    pub name: String,
    /// The relative frequency of the transaction.
    pub weight: f64,
}

/// A phase of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseFact {
    /// `warm-up` or `measure`.
    pub phase: &'static str,
    /// The step of the run that it belongs to, from 1. Each listed number of connections or rate is a step.
    pub step: usize,
    /// The length in seconds; null if the phase lasts until the run is stopped.
    pub seconds: Option<u64>,
    /// The number of connections.
    pub connections: usize,
    /// The target rate in transactions per second; null in a closed loop.
    pub rate: Option<f64>,
    /// `constant` or `poisson`; null in a closed loop.
    pub arrivals: Option<&'static str>,
    /// The number of load threads; if agents run the load, the number that each of them is to use, or null if each chooses it.
    pub load_threads: Option<usize>,
    /// Whether load threads gather answers: `on` if one of them has 32 connections or more, `off`, or `auto` if the driver decides
    /// before it measures.
    pub gather: Gather,
}

impl StartLine {
    /// The line of a run. `load_threads` is the number of load threads of each phase; it is empty if agents run the load, because it is then
    /// not known.
    #[must_use]
    pub fn of(plan: &Plan, run: &Run, load_threads: &[usize], agents: &[String]) -> Self {
        let fact = |each: &Transaction| TransactionFact { name: each.name.clone(), weight: each.weight };
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            workload: plan.name.clone(),
            transactions: plan.transactions.iter().map(fact).collect(),
            statements: plan.statements.len(),
            text: run.text,
            server: agents.is_empty().then(|| run.account.address.to_string()),
            agents: agents.to_vec(),
            engine: "epoll",
            seed: run.seed,
            transaction_limit: run.transactions,
            backlog_cap: run.backlog,
            phases: run.phases.iter().enumerate().map(|(place, phase)| PhaseFact::of(phase, load_threads.get(place))).collect(),
            histogram_unit_ns: UNIT_NS,
            replay: None,
        }
    }
}

impl StartLine {
    /// The line of a replay.
    #[must_use]
    pub fn of_replay(name: &str, run: &Run, replay: ReplayFact, kinds: &Kinds) -> Self {
        let transaction = |(name, transactions): &(String, u64)| {
            let weight = *transactions as f64;
            Transaction { name: name.clone(), weight, ops: vec![], retry: Retry::default(), expected: vec![] }
        };
        let transactions = kinds.all.iter().map(transaction).collect();
        let plan = Plan { name: name.into(), statements: vec![], transactions, slots: 0, session: vec![] };
        Self { replay: Some(replay), ..Self::of(&plan, run, &[1; 2], &[]) }
    }
}

impl PhaseFact {
    fn of(phase: &Phase, load_threads: Option<&usize>) -> Self {
        Self {
            phase: phase.purpose.word(),
            step: phase.step,
            seconds: phase.seconds,
            connections: phase.connections,
            rate: phase.rate.map(|rate| rate.per_second),
            arrivals: phase.rate.map(arrivals),
            load_threads: load_threads.copied().or(phase.load_threads),
            gather: if phase.rate.is_some() { Gather::Off } else { phase.gather },
        }
    }
}

/// How transactions arrive, as a value of `arrivals`.
pub(super) fn arrivals(rate: Rate) -> &'static str {
    match rate.arrivals {
        Arrivals::Constant => "constant",
        Arrivals::Poisson => "poisson",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Account, Address, Tls};
    use crate::run::Purpose;
    use std::time::Duration;

    fn run() -> Run {
        let account = Account {
            address: Address::Socket("/run/s.sock".into()),
            user: "someone".into(),
            password: "hunter2".into(),
            database: "sbtest".into(),
            tls: Tls::default(),
            ..Account::default()
        };
        let rate = Rate { per_second: 100.0, arrivals: Arrivals::Poisson };
        let phase = |purpose, seconds, rate| Phase {
            purpose,
            step: 1,
            seconds,
            connections: 8,
            rate,
            load_threads: Some(2),
            gather: Gather::Auto,
        };
        Run {
            account,
            phases: vec![phase(Purpose::WarmUp, Some(5), Some(rate)), phase(Purpose::Measure, None, None)],
            seed: 3,
            first: 0,
            stride: 1,
            transactions: None,
            text: true,
            backlog: 100,
            timeout: Duration::from_secs(60),
            reconnect_for: Duration::from_secs(60),
        }
    }

    fn plan() -> Plan {
        let transaction = Transaction {
            name: "pay".into(),
            weight: 2.0,
            ops: vec![],
            retry: crate::plan::Retry::default(),
            expected: vec![],
        };
        Plan { name: "bank".into(), statements: vec![], transactions: vec![transaction], slots: 3, session: vec![] }
    }

    #[test]
    fn the_start_line_describes_the_run() {
        let line = serde_json::to_value(StartLine::of(&plan(), &run(), &[], &["other:4321".into()])).unwrap();
        assert_eq!(line["schema"], SCHEMA);
        assert_eq!((&line["workload"], &line["transactions"][0]["name"]), (&"bank".into(), &"pay".into()));
        assert_eq!((&line["server"], &line["agents"][0]), (&serde_json::Value::Null, &"other:4321".into()));
        let alone = StartLine::of(&plan(), &run(), &[3, 1], &[]);
        assert_eq!(alone.server.as_deref(), Some("/run/s.sock"));
        let phases = serde_json::json!([
            {"phase": "warm-up", "step": 1, "seconds": 5, "connections": 8, "rate": 100.0, "arrivals": "poisson",
             "load_threads": 2, "gather": "off"},
            {"phase": "measure", "step": 1, "seconds": null, "connections": 8, "rate": null, "arrivals": null,
             "load_threads": 2, "gather": "auto"},
        ]);
        assert_eq!(line["phases"], phases);
        assert_eq!(alone.phases.iter().map(|phase| phase.load_threads).collect::<Vec<_>>(), [Some(3), Some(1)]);
    }

    #[test]
    fn the_start_line_contains_no_password() {
        assert!(!serde_json::to_string(&StartLine::of(&plan(), &run(), &[3, 1], &[])).unwrap().contains("hunter2"));
    }
}
