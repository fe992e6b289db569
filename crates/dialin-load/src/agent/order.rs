//! Orders: the share of a run that a conductor sends to each agent.

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
    /// The name of a workload that comes with dialin-load.
    Known(String),
    /// A workload file with its text, because agents do not open files that a conductor names.
    File {
        /// Its path on the conductor's host, for error messages.
        path: String,
        /// Its text.
        text: String,
    },
}

impl Source {
    /// The workload that a user names: a path that ends in `.toml` is a file, which is read; anything else is the name of a
    /// workload.
    ///
    /// # Errors
    /// [`Fault::User`](crate::errors::Fault::User): the file cannot be read.
    pub fn of(name: &str) -> Result<Self> {
        if name.ends_with(".toml") {
            Ok(Source::File { path: name.to_owned(), text: file::text(name)? })
        } else {
            Ok(Source::Known(name.to_owned()))
        }
    }

    /// The workload with its options, for a run with this number of connections and this seed.
    ///
    /// # Errors
    /// There is no workload of that name, or its text or an option is wrong.
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
    /// The options of the workload: names and values.
    pub options: Vec<(String, String)>,
    /// The highest number of connections of the whole run, on which some workloads depend.
    pub connections: usize,
    /// The run with the agent's share of connections, rates and transactions.
    pub run: Run,
}

/// Divide a run among agents. Their numbers of connections differ by at most one; a rate is divided in proportion to them.
///
/// # Errors
/// [`Fault::User`](crate::errors::Fault::User): there are fewer connections or transactions than agents.
pub fn divide(run: &Run, source: &Source, options: &[(String, String)], agents: usize) -> Result<Vec<Order>> {
    if let Some(phase) = run.phases.iter().find(|phase| phase.connections < agents) {
        let what = format!("{} connections cannot be divided among {agents} agents", phase.connections);
        return Err(Error::user(what, "Request at least one connection per agent, or name fewer agents"));
    }
    if let Some(few) = run.transactions.filter(|whole| *whole < agents as u64) {
        let what = format!("{few} transactions cannot be divided among {agents} agents");
        return Err(Error::user(what, "Request at least one transaction per agent, or name fewer agents"));
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

/// The share of number `one` (from 0) of `of`; the first ones get 1 more if `whole` cannot be divided evenly.
fn share(whole: u64, one: u64, of: u64) -> u64 {
    whole / of + u64::from(one < whole % of)
}

/// The part of `whole` that is proportional to `connections` out of `all` connections, rounded up.
fn part(whole: u64, connections: u64, all: u64) -> u64 {
    let part = (u128::from(whole) * u128::from(connections)).div_ceil(u128::from(all.max(1)));
    u64::try_from(part).unwrap_or(u64::MAX)
}

fn share_of_phase(phase: &Phase, agent: usize, agents: usize) -> Phase {
    let connections = phase.connections / agents + usize::from(agent < phase.connections % agents);
    let part = connections as f64 / phase.connections as f64;
    let rate = phase.rate.map(|rate| Rate { per_second: rate.per_second * part, ..rate });
    Phase { connections, rate, ..phase.clone() }
}

impl Order {
    /// The ordered run, with the agent's server and account.
    ///
    /// # Errors
    /// [`Fault::Driver`](crate::errors::Fault::Driver): a value is out of the limits that every conductor of this version
    /// respects.
    pub fn run_at(&self, account: &Account) -> Result<Run> {
        let run = &self.run;
        let phases = !run.phases.is_empty() && run.phases.iter().all(is_valid);
        if run.first >= run.stride || !phases || run.timeout > DECADE || run.reconnect_for > DECADE {
            let remedy = "Install the same build of dialin-load on all hosts";
            return Err(Error::driver("The conductor ordered an invalid run", remedy));
        }
        Ok(Run { account: account.clone(), ..run.clone() })
    }
}

fn is_valid(phase: &Phase) -> bool {
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
            ..Account::default()
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

    /// A value of each agent's run.
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
    fn an_order_survives_json_and_contains_no_secret() {
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
    fn an_invalid_order_is_refused() {
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
