//! How many load threads suit each phase of a run.
//!
//! Where client and server share the CPUs and there are few connections, it pays to have three load threads for eight of them. The
//! kernel then lets a server thread and the load thread that it answers take turns on one CPU: the load thread interrupts it just as
//! it has answered, and the server finds the next statement without waiting for it. One loop for all would have every server thread
//! wait each time, which with few connections costs up to two thirds of the throughput; one thread for each connection, as sysbench
//! has them, switches more often. With many connections a loop for every four CPUs costs least, for it gathers answers and there are
//! always enough of them. Where statements write there are enough sooner: the server is longer at each of them, and its threads wait
//! for each other anyway. On two CPUs what lies between the two costs more than either (BENCHMARKS.md), so there is one step from the
//! one to the other. The more CPUs there are, the smaller it is, and from 40 on there is none.

use crate::account::Address;
use crate::plan::{Kind, Plan};
use crate::run::{Phase, Run};
use std::fs;
use std::net::IpAddr;
use std::thread;

/// Up to so many connections are few where statements only read, and where some write; found by trying (BENCHMARKS.md).
const FEW_READING: usize = 24;
const FEW_WRITING: usize = 10;
/// So many connections have three pairs of threads.
const CONNECTIONS: usize = 16;
/// The CPUs that one loop keeps busy: it takes a quarter of the CPU time that the server takes for its answers, or less.
const CPUS_OF_A_LOOP: usize = 4;

/// How many load threads each phase of a run has on this machine: as many as a run of this phase alone, so that the steps of a
/// scaling curve are what single runs would have measured; where a phase asks for a number, that many.
pub fn of_phases(plan: &Plan, run: &Run) -> Vec<usize> {
    let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let shares_cpus = is_here(&run.account.address) && online().is_none_or(|all| all == cpus);
    let of_phase = |phase: &Phase| {
        let connections = phase.connections.max(1);
        // At a rate few threads are enough: each transaction is sent when it is due, and the server does not wait for the driver.
        let shares = phase.rate.is_none() && shares_cpus;
        phase.load_threads.unwrap_or_else(|| suitable(connections, cpus, few(plan), shares)).clamp(1, connections)
    };
    run.phases.iter().map(of_phase).collect()
}

/// How many load threads suit so many connections, of which up to `few` are few; `shares`: whether the server runs on the same CPUs
/// and waits for the driver.
fn suitable(connections: usize, cpus: usize, few: usize, shares: bool) -> usize {
    let pairs = (3 * connections).div_ceil(CONNECTIONS);
    let most = if shares && connections <= few { connections } else { (cpus / CPUS_OF_A_LOOP).max(1) };
    (2 * pairs).min(connections).min(most)
}

/// Up to how many connections are few.
fn few(plan: &Plan) -> usize {
    if plan.statements.iter().any(|statement| statement.kind == Kind::Write) { FEW_WRITING } else { FEW_READING }
}

/// Whether a server of this address runs on this machine.
fn is_here(address: &Address) -> bool {
    match address {
        Address::Socket(_) => true,
        Address::Tcp(host, _) => {
            host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

/// The CPUs of this machine, whether or not this process may use them; None where the kernel does not tell.
fn online() -> Option<usize> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    Some(stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Statement;

    const CPUS: std::ops::RangeInclusive<usize> = 1..=64;
    const MOST: usize = 10_000;

    /// The load threads of 1 to 10,000 connections.
    fn curve(cpus: usize, few: usize, shares: bool) -> Vec<usize> {
        (1..=MOST).map(|connections| suitable(connections, cpus, few, shares)).collect()
    }

    #[test]
    fn a_few_connections_have_three_threads_for_eight_and_many_a_loop_for_four_cpus() {
        let of = |cpus, shares| [1, 2, 3, 4, 8, 16, 24, 25, 10_000].map(|many| suitable(many, cpus, FEW_READING, shares));
        assert_eq!(of(2, true), [1, 2, 2, 2, 4, 6, 10, 1, 1]);
        assert_eq!(of(2, false), [1; 9]);
        assert_eq!(of(16, true), [1, 2, 2, 2, 4, 6, 10, 4, 4]);
        assert_eq!(of(64, true), [1, 2, 2, 2, 4, 6, 10, 10, 16]);
        assert_eq!(of(64, false), of(64, true));
        assert_eq!([42, 43, 128, 768, 769].map(|many| suitable(many, 64, FEW_READING, true)), [16; 5]);
    }

    #[test]
    fn there_are_never_more_threads_than_connections_nor_none() {
        for cpus in CPUS {
            for (few, shares) in [(FEW_READING, true), (FEW_WRITING, true), (FEW_READING, false)] {
                let curve = curve(cpus, few, shares);
                assert!(curve.iter().zip(1..).all(|(threads, connections)| (1..=connections).contains(threads)), "{cpus}");
                assert_eq!(curve[MOST - 1], (cpus / 4).max(1), "one loop for four CPUs");
            }
        }
    }

    #[test]
    fn more_connections_never_have_fewer_threads_but_where_they_stop_being_few() {
        for cpus in CPUS {
            for (few, shares) in [(FEW_READING, true), (FEW_WRITING, true), (FEW_READING, false)] {
                let curve = curve(cpus, few, shares);
                for (two, connections) in curve.windows(2).zip(1..) {
                    assert!(two[1] <= two[0] + 2, "{connections} and one more on {cpus} CPUs: {two:?}");
                    let is_the_step = shares && connections == few;
                    assert!(two[1] >= two[0] || is_the_step, "{connections} and one more on {cpus} CPUs: {two:?}");
                }
            }
        }
    }

    #[test]
    fn the_step_shrinks_with_more_cpus_and_there_is_none_on_many() {
        for few in [FEW_READING, FEW_WRITING] {
            let step = |cpus| suitable(few, cpus, few, true).saturating_sub(suitable(few + 1, cpus, few, true));
            assert!(CPUS.map(step).is_sorted_by(|one, next| one >= next));
            assert!((40..=64).map(step).all(|step| step == 0));
        }
    }

    #[test]
    fn more_cpus_never_have_fewer_threads() {
        for connections in (1..200).chain((200..=MOST).step_by(97)) {
            for (few, shares) in [(FEW_READING, true), (FEW_WRITING, true), (FEW_READING, false)] {
                let threads = CPUS.map(|cpus| suitable(connections, cpus, few, shares));
                assert!(threads.is_sorted(), "{connections}");
            }
        }
    }

    #[test]
    fn fewer_connections_are_many_where_a_statement_writes() {
        let plan = |kinds: &[Kind]| Plan {
            name: "mine".into(),
            statements: kinds
                .iter()
                .map(|kind| Statement { sql: "DO 1".into(), parameters: 0, kind: *kind, text: false })
                .collect(),
            transactions: vec![],
            slots: 0,
            session: vec![],
        };
        assert_eq!(few(&plan(&[Kind::Other, Kind::Read])), 24);
        assert_eq!(few(&plan(&[Kind::Read, Kind::Write, Kind::Other])), 10);
    }

    #[test]
    fn a_server_is_here_by_its_socket_or_a_loopback_address() {
        let tcp = |host: &str| is_here(&Address::Tcp(host.into(), 3306));
        assert!(is_here(&Address::Socket("/tmp/s.sock".into())));
        assert!(tcp("localhost") && tcp("127.0.0.1") && tcp("::1"));
        assert!(!tcp("10.0.0.7") && !tcp("db.example"));
    }

    #[test]
    fn this_machine_has_as_many_cpus_as_may_be_used_at_least() {
        let usable = thread::available_parallelism().unwrap().get();
        assert!(online().is_none_or(|all| all >= usable));
    }
}
