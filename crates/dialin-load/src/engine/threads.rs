//! The number of load threads for each phase of a run.
//!
//! Where client and server share the CPUs and there are few connections, three pairs of load threads for every 16 connections perform
//! best. The kernel then lets a server thread and the load thread that it answers take turns on one CPU: the load thread preempts the
//! server thread just after it has answered, and the server finds the next statement without waiting for it. A single event loop for
//! all connections would make every server thread wait each time, which with few connections costs up to half of the throughput. One
//! thread for each connection, as in sysbench, needs more context switches. With many connections, one event loop for every four CPUs
//! costs least: it does not preempt the server when it wakes up ([`super::scheduling`]), and there are always enough answers to process.
//! The more CPUs there are, the smaller is the step between the two rules; from 16 CPUs on there is none.

use crate::account::Address;
use crate::run::{Phase, Run};
use std::fs;
use std::net::IpAddr;
use std::thread;

/// Up to this number of connections, the rule for few connections applies; measured (benchmarks/README.md).
pub const FEW: usize = 7;
/// The number of connections for three pairs of load threads.
const CONNECTIONS: usize = 16;
/// The number of CPUs that one event loop can keep busy: it takes at most a quarter of the CPU time that the server takes for its
/// answers.
const CPUS_OF_A_LOOP: usize = 4;

/// The number of load threads of each phase of a run on this machine: the number that the phase sets, or the number that suits it. It
/// does not depend on the other phases, so that the steps of a scaling curve measure the same as single runs.
pub fn of_phases(run: &Run) -> Vec<usize> {
    let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let shares_cpus = is_here(&run.account.address) && online().is_none_or(|all| all == cpus);
    let of_phase = |phase: &Phase| {
        let connections = phase.connections.max(1);
        // An open loop needs few threads: each transaction is sent when it is due, and the server does not wait for the driver.
        let shares = phase.rate.is_none() && shares_cpus;
        phase.load_threads.unwrap_or_else(|| suitable(connections, cpus, shares)).clamp(1, connections)
    };
    run.phases.iter().map(of_phase).collect()
}

/// The number of load threads that suits a number of connections. `shares`: whether the server runs on the same CPUs and waits for the
/// driver.
fn suitable(connections: usize, cpus: usize, shares: bool) -> usize {
    let pairs = (3 * connections).div_ceil(CONNECTIONS);
    let most = if shares && connections <= FEW { connections } else { (cpus / CPUS_OF_A_LOOP).max(1) };
    (2 * pairs).min(connections).min(most)
}

/// Whether the server at this address runs on this machine.
fn is_here(address: &Address) -> bool {
    match address {
        Address::Socket(_) => true,
        Address::Tcp(host, _) => {
            host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

/// The number of CPUs of this machine, whether or not this process may use them; None if `/proc/stat` cannot be read.
fn online() -> Option<usize> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    Some(stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUS: std::ops::RangeInclusive<usize> = 1..=64;
    const MOST: usize = 10_000;

    /// The number of load threads for 1 to 10,000 connections.
    fn curve(cpus: usize, shares: bool) -> Vec<usize> {
        (1..=MOST).map(|connections| suitable(connections, cpus, shares)).collect()
    }

    #[test]
    fn a_few_connections_have_three_threads_for_eight_and_many_a_loop_for_four_cpus() {
        let of = |cpus, shares| [1, 2, 3, 5, 6, 7, 8, 16, 43, 10_000].map(|many| suitable(many, cpus, shares));
        assert_eq!(of(2, true), [1, 2, 2, 2, 4, 4, 1, 1, 1, 1]);
        assert_eq!(of(2, false), [1; 10]);
        assert_eq!(of(16, true), [1, 2, 2, 2, 4, 4, 4, 4, 4, 4]);
        assert_eq!(of(64, true), [1, 2, 2, 2, 4, 4, 4, 6, 16, 16]);
        assert_eq!(of(64, false), of(64, true));
        assert_eq!([42, 43, 128, 768, 769].map(|many| suitable(many, 64, true)), [16; 5]);
    }

    #[test]
    fn there_are_never_more_threads_than_connections_nor_none() {
        for cpus in CPUS {
            for shares in [true, false] {
                let curve = curve(cpus, shares);
                assert!(curve.iter().zip(1..).all(|(threads, connections)| (1..=connections).contains(threads)), "{cpus}");
                assert_eq!(curve[MOST - 1], (cpus / 4).max(1), "one loop for four CPUs");
            }
        }
    }

    #[test]
    fn more_connections_never_have_fewer_threads_but_where_they_stop_being_few() {
        for cpus in CPUS {
            for shares in [true, false] {
                let curve = curve(cpus, shares);
                for (two, connections) in curve.windows(2).zip(1..) {
                    assert!(two[1] <= two[0] + 2, "{connections} and one more on {cpus} CPUs: {two:?}");
                    let is_at_step = shares && connections == FEW;
                    assert!(two[1] >= two[0] || is_at_step, "{connections} and one more on {cpus} CPUs: {two:?}");
                }
            }
        }
    }

    #[test]
    fn the_step_shrinks_with_more_cpus_and_there_is_none_on_many() {
        let step = |cpus| suitable(FEW, cpus, true).saturating_sub(suitable(FEW + 1, cpus, true));
        assert!(CPUS.map(step).is_sorted_by(|one, next| one >= next));
        assert!((16..=64).map(step).all(|step| step == 0));
    }

    #[test]
    fn more_cpus_never_have_fewer_threads() {
        for connections in (1..200).chain((200..=MOST).step_by(97)) {
            for shares in [true, false] {
                let threads = CPUS.map(|cpus| suitable(connections, cpus, shares));
                assert!(threads.is_sorted(), "{connections}");
            }
        }
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
