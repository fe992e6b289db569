//! What a conductor orders of its agents: each its share of a run.

use crate::account::Account;
use crate::errors::{Error, Result};
use crate::run::{HIGHEST_RATE, Phase, Rate, Run};
use crate::workloads::{Workload, file, find_for};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const MOST_CONNECTIONS: usize = 1_000_000;
const DECADE: Duration = Duration::from_secs(10 * 366 * 86_400);

/// The workload of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// One that every dialin-load knows.
    Known(String),
    /// A workload file, whole: agents open no file that a conductor names.
    File {
        /// What the conductor calls it.
        path: String,
        /// Its text.
        text: String,
    },
}

impl Source {
    /// A workload as the user names it: a path that ends in `.toml` is a file and is read, anything else is a known one.
    ///
    /// # Errors
    /// Of the user: the file cannot be read.
    pub fn of(name: &str) -> Result<Self> {
        if name.ends_with(".toml") {
            Ok(Source::File { path: name.to_owned(), text: file::text(name)? })
        } else {
            Ok(Source::Known(name.to_owned()))
        }
    }

    /// The workload, with its options, for a run of so many connections and this seed.
    ///
    /// # Errors
    /// There is none of that name, its text is wrong, or its options are.
    pub fn workload(&self, options: &[(String, String)], connections: usize, seed: u64) -> Result<Box<dyn Workload>> {
        match self {
            Source::Known(name) if name.ends_with(".toml") => Err(Error::driver(
                "The conductor named a file instead of sending it",
                "Install the same build of dialin-load on all hosts",
            )),
            Source::Known(name) => find_for(name, options, connections, seed),
            Source::File { path, text } => file::of_text(path, text, options),
        }
    }
}

/// One agent's share of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The workload.
    pub source: Source,
    /// Its options.
    pub options: Vec<(String, String)>,
    /// Connections of the whole run at its widest, which some workloads depend on.
    pub connections: usize,
    /// The run with the agent's own share of connections, rates and transactions.
    pub run: Run,
}

/// Divide a run among agents. Connections differ by one at the most, and a rate follows the connections.
///
/// # Errors
/// Of the user: there are fewer connections or transactions than agents.
pub fn divide(run: &Run, source: &Source, options: &[(String, String)], agents: usize) -> Result<Vec<Order>> {
    if let Some(phase) = run.phases.iter().find(|phase| phase.connections < agents) {
        let what = format!("{} connections cannot be divided among {agents} agents", phase.connections);
        return Err(Error::user(what, "Ask for a connection for each agent at least, or name fewer agents"));
    }
    if let Some(few) = run.transactions.filter(|whole| *whole < agents as u64) {
        let what = format!("{few} transactions cannot be divided among {agents} agents");
        return Err(Error::user(what, "Ask for a transaction of each agent at least, or name fewer agents"));
    }
    let most = run.phases.iter().map(|phase| phase.connections).max().unwrap_or_default();
    let order = |agent: usize| Order {
        source: source.clone(),
        options: options.to_vec(),
        connections: most,
        run: Run {
            account: Account::default(),
            phases: run.phases.iter().map(|phase| share_of_phase(phase, agent, agents)).collect(),
            first: agent as u64,
            stride: agents as u64,
            transactions: run.transactions.map(|whole| share(whole, agent as u64, agents as u64)),
            backlog: part(run.backlog, share(most as u64, agent as u64, agents as u64), most as u64),
            ..run.clone()
        },
    };
    Ok((0..agents).map(order).collect())
}

/// The share of one of several, who come before each other where it does not divide.
fn share(whole: u64, one: u64, of: u64) -> u64 {
    whole / of + u64::from(one < whole % of)
}

/// What comes to `own` out of `all` connections, rounded up.
fn part(whole: u64, own: u64, all: u64) -> u64 {
    let part = (u128::from(whole) * u128::from(own)).div_ceil(u128::from(all.max(1)));
    u64::try_from(part).unwrap_or(u64::MAX)
}

fn share_of_phase(phase: &Phase, agent: usize, agents: usize) -> Phase {
    let connections = phase.connections / agents + usize::from(agent < phase.connections % agents);
    let part = connections as f64 / phase.connections as f64;
    let rate = phase.rate.map(|rate| Rate { per_second: rate.per_second * part, ..rate });
    Phase { connections, rate, ..phase.clone() }
}

impl Order {
    /// The run that is ordered, at the agent's own server.
    ///
    /// # Errors
    /// Of the driver: no conductor of this version orders such a thing.
    pub fn run_at(&self, account: &Account) -> Result<Run> {
        let run = &self.run;
        let phases = !run.phases.is_empty() && run.phases.iter().all(sound);
        if run.first >= run.stride || !phases || run.timeout > DECADE || run.reconnect_for > DECADE {
            let remedy = "Install the same build of dialin-load on all hosts";
            return Err(Error::driver("The conductor orders a run that cannot be", remedy));
        }
        Ok(Run { account: account.clone(), ..run.clone() })
    }
}

fn sound(phase: &Phase) -> bool {
    (1..=MOST_CONNECTIONS).contains(&phase.connections)
        && phase.seconds.is_none_or(|seconds| seconds <= DECADE.as_secs())
        && phase.rate.is_none_or(|rate| rate.per_second > 0.0 && rate.per_second <= HIGHEST_RATE)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::account::{Address, Tls};
    use crate::errors::Fault;
    use crate::run::{Arrivals, Gather, Purpose};

    /// An account that nothing in these tests connects to.
    pub fn account() -> Account {
        Account {
            address: Address::Tcp("nowhere".into(), 1),
            user: "user".into(),
            password: "password of the conductor".into(),
            database: "database".into(),
            tls: Tls::default(),
        }
    }

    /// A warm-up of 2 seconds, and 3 measured ones.
    pub fn run(connections: usize, rate: Option<f64>) -> Run {
        let phase = |purpose, seconds| Phase {
            purpose,
            step: 1,
            seconds: Some(seconds),
            connections,
            rate: rate.map(|per_second| Rate { per_second, arrivals: Arrivals::Poisson }),
            load_threads: Some(2),
            gather: Gather::Off,
        };
        Run {
            account: account(),
            phases: vec![phase(Purpose::WarmUp, 2), phase(Purpose::Measure, 3)],
            seed: u64::MAX,
            first: 0,
            stride: 1,
            transactions: None,
            text: true,
            backlog: 1000,
            timeout: Duration::from_millis(1500),
            reconnect_for: Duration::from_secs(30),
        }
    }

    fn source() -> Source {
        Source::Known("noop".into())
    }

    fn orders(run: &Run, agents: usize) -> Vec<Order> {
        divide(run, &source(), &[("tables".into(), "2".into())], agents).unwrap()
    }

    /// Something of each agent's run.
    fn shares<T>(run: &Run, agents: usize, of: impl Fn(&Run) -> T) -> Vec<T> {
        orders(run, agents).iter().map(|order| of(&order.run)).collect()
    }

    #[test]
    fn connections_are_divided_evenly_and_none_is_lost() {
        for (connections, agents) in [(4, 2), (5, 2), (16, 3), (7, 7), (1, 1)] {
            let shares = shares(&run(connections, None), agents, |run| run.phases[0].connections);
            assert_eq!(shares.iter().sum::<usize>(), connections);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1, "{shares:?}");
        }
    }

    #[test]
    fn a_rate_follows_the_connections_transactions_are_divided_and_agents_take_turns_in_one_sequence() {
        assert_eq!(shares(&run(4, Some(100.0)), 3, |run| run.phases[1].rate.unwrap().per_second), [50.0, 25.0, 25.0]);
        let limited = Run { transactions: Some(11), ..run(3, None) };
        assert_eq!(shares(&limited, 3, |run| run.transactions), [Some(4), Some(4), Some(3)]);
        let turns = [0, 1, 2].map(|first| (first, 3, u64::MAX));
        assert_eq!(shares(&run(3, None), 3, |run| (run.first, run.stride, run.seed)), turns);
    }

    #[test]
    fn fewer_connections_or_transactions_than_agents_are_a_fault_of_the_user() {
        let limited = Run { transactions: Some(2), ..run(3, None) };
        for (run, words) in [(run(2, None), "2 connections"), (limited, "2 transactions")] {
            let error = divide(&run, &source(), &[], 3).unwrap_err();
            assert!(error.fault == Fault::User && error.what.contains(words), "{error}");
        }
    }

    #[test]
    fn an_order_crosses_whole_and_nothing_secret_with_it() {
        for order in orders(&run(5, Some(0.1)), 2) {
            let crossed = serde_json::to_string(&order).unwrap();
            assert_eq!(serde_json::from_str::<Order>(&crossed).unwrap(), order);
            for secret in ["password", "nowhere", "user", "database"] {
                assert!(!crossed.contains(secret), "{crossed}");
            }
        }
        let whole = serde_json::to_string(&run(1, None)).unwrap();
        assert!(!whole.contains("password of the conductor"), "{whole}");
    }

    #[test]
    fn an_ordered_run_is_that_of_the_conductor_at_the_server_of_the_agent() {
        let whole = run(5, None);
        let ordered = orders(&whole, 1)[0].run_at(&Account { user: "agent".into(), ..account() }).unwrap();
        assert_eq!(ordered.account.user, "agent");
        assert_eq!((ordered.phases, ordered.seed, ordered.text), (whole.phases, whole.seed, whole.text));
        assert_eq!((ordered.timeout, ordered.reconnect_for), (whole.timeout, whole.reconnect_for));
    }

    #[test]
    fn an_order_that_cannot_be_is_refused() {
        let whole = orders(&run(2, Some(1.0)), 1).remove(0);
        let rate = |per_second| Some(Rate { per_second, arrivals: Arrivals::Constant });
        let changes: [&dyn Fn(&mut Run); 9] = [
            &|run| run.stride = 0,
            &|run| run.first = 1,
            &|run| run.phases.clear(),
            &|run| run.phases[1].connections = 0,
            &|run| run.phases[0].seconds = Some(u64::MAX),
            &|run| run.timeout = Duration::MAX,
            &|run| run.phases[0].rate = rate(0.0),
            &|run| run.phases[0].rate = rate(1e300),
            &|run| run.phases[0].rate = rate(f64::NAN),
        ];
        assert!(whole.run_at(&account()).is_ok());
        for (place, change) in changes.iter().enumerate() {
            let mut order = whole.clone();
            change(&mut order.run);
            assert!(order.run_at(&account()).is_err(), "{place}");
        }
    }

    #[test]
    fn a_path_is_read_by_the_conductor_and_never_by_an_agent() {
        let path = std::env::temp_dir().join(format!("dialin-load-order-{}.toml", std::process::id()));
        let name = path.display().to_string();
        std::fs::write(&path, "name = 'own'").unwrap();
        assert_eq!(Source::of(&name).unwrap(), Source::File { path: name.clone(), text: "name = 'own'".into() });
        let named = Source::Known(name.clone()).workload(&[], 1, 1);
        assert_eq!(named.err().map(|error| error.fault), Some(Fault::Driver));
        std::fs::remove_file(&path).unwrap();
        assert!(Source::of(&name).unwrap_err().what.contains(&name));
    }

    #[test]
    fn every_agent_makes_the_workload_that_one_host_alone_would() {
        let options = [("tables".to_owned(), "2".to_owned())];
        let plan = |source: &Source, options: &[_]| source.workload(options, 16, 7).unwrap().plan().unwrap();
        let known = Source::of("oltp_read_only").unwrap();
        assert_eq!(plan(&known, &options), find_for("oltp_read_only", &options, 16, 7).unwrap().plan().unwrap());
        let shipped = Source::File { path: "own.toml".into(), text: file::text("bank-transfer").unwrap() };
        assert_eq!(
            plan(&shipped, &[]).transactions,
            find_for("bank-transfer", &[], 1, 1).unwrap().plan().unwrap().transactions
        );
        let broken = Source::File { path: "own.toml".into(), text: "[".into() }.workload(&[], 1, 1);
        assert_eq!(broken.err().map(|error| error.fault), Some(Fault::User));
    }
}
