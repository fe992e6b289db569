//! How many load threads suit each phase of a run.
//!
//! Where client and server share the CPUs and each CPU has a few connections, it pays to have a load thread for every two or three
//! of them. The kernel then lets a server thread and the load thread that it answers take turns on one CPU: the load thread
//! interrupts it just as it has answered, and the server finds the next statement without waiting for it. Threads are as many on
//! each CPU, so that none is left without. One loop for all would have every server thread wait each time, which with few
//! connections costs up to two thirds of the throughput; one thread for each connection, as sysbench has them, switches more often.
//! With many connections a loop that gathers answers costs least, and there are always enough of them. Where statements write there
//! are enough sooner: the server is longer at each of them, and its threads wait for each other anyway. What lies between the two
//! costs more than either (BENCHMARKS.md), so there is one step from the one to the other. It comes at a few dozen connections however
//! many CPUs there are, where one loop has nine tenths of the throughput for less CPU.

use crate::account::Address;
use crate::plan::{Kind, Plan};
use crate::run::{Phase, Run};
use std::fs;
use std::net::IpAddr;
use std::thread;

/// Up to so many connections on each CPU are shared out among threads where statements only read, and where some write; found, as
/// what follows, by trying on machines of so many CPUs (BENCHMARKS.md).
const FEW_READING: usize = 12;
const FEW_WRITING: usize = 5;
const TRIED_CPUS: usize = 2;
/// So many connections have so many load threads.
const CONNECTIONS: usize = 8;
const THREADS: usize = 3;
/// Connections of a loop that gathers, at least, and the CPUs that one loop keeps busy: it takes a quarter of the CPU time that the
/// server takes for its answers, or less.
const GATHERED: usize = 4;
const CPUS_OF_A_LOOP: usize = 4;

/// How many load threads each phase of a run has on this machine: as many as a run of this phase alone, so that the steps of a
/// scaling curve are what single runs would have measured; where a phase asks for a number, that many.
pub fn of_phases(plan: &Plan, run: &Run) -> Vec<usize> {
    let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let shares_cpus = is_here(&run.account.address) && online().is_none_or(|all| all == cpus);
    let of_phase = |phase: &Phase| {
        let connections = phase.connections.max(1);
        // At a rate few threads are enough: each transaction is sent when it is due, and the server does not wait for the driver.
        let suitable = if phase.rate.is_none() && shares_cpus && connections <= few(plan) * cpus.min(TRIED_CPUS) {
            beside(connections, cpus)
        } else {
            gathering(connections, cpus)
        };
        phase.load_threads.unwrap_or(suitable).clamp(1, connections)
    };
    run.phases.iter().map(of_phase).collect()
}

/// Up to how many connections on each CPU are few.
fn few(plan: &Plan) -> usize {
    if plan.statements.iter().any(|statement| statement.kind == Kind::Write) { FEW_WRITING } else { FEW_READING }
}

/// As many threads on each CPU, with two or three connections each.
fn beside(connections: usize, cpus: usize) -> usize {
    let per_cpu = (THREADS * connections).div_ceil(CONNECTIONS * cpus);
    (per_cpu * cpus).clamp(1, connections)
}

/// A loop for so many CPUs, with so many connections at least.
fn gathering(connections: usize, cpus: usize) -> usize {
    (cpus / CPUS_OF_A_LOOP).clamp(1, connections.div_ceil(GATHERED))
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

    #[test]
    fn a_few_connections_have_a_thread_for_two_or_three_and_each_cpu_as_many() {
        let on_two = [1, 2, 3, 4, 8, 16, 24].map(|connections| beside(connections, 2));
        assert_eq!(on_two, [1, 2, 2, 2, 4, 6, 10]);
        assert_eq!(beside(6, 64), 6);
        assert_eq!(beside(128, 64), 64);
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
        assert_eq!(few(&plan(&[Kind::Other, Kind::Read])), 12);
        assert_eq!(few(&plan(&[Kind::Read, Kind::Write, Kind::Other])), 5);
    }

    #[test]
    fn many_share_a_loop_for_each_four_cpus() {
        assert_eq!(gathering(150, 2), 1);
        assert_eq!([25, 60, 64, 768, 769, 10_000].map(|connections| gathering(connections, 64)), [7, 15, 16, 16, 16, 16]);
        assert_eq!(gathering(4, 64), 1);
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
