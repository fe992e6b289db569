//! Tests that each step of a run is measured as a separate run would be.

use super::{at_rate, plan, played, run, socket, soon, sum, transactions, with_load_threads};
use dialin_load::mock_server::{Answer, MockServer};
use dialin_load::plan::{Kind, Plan};
use dialin_load::run::{Phase, Run};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A plan whose two statements only read.
fn reading() -> Plan {
    let mut plan = plan();
    plan.statements.iter_mut().for_each(|statement| statement.kind = Kind::Read);
    plan
}

/// The steps as one run.
fn in_steps(steps: &[Run]) -> Run {
    let phase = |(place, run): (usize, &Run)| Phase { step: place + 1, ..run.phases[0].clone() };
    Run { phases: steps.iter().enumerate().map(phase).collect(), ..steps[0].clone() }
}

#[test]
fn each_step_has_the_load_threads_of_a_run_of_its_own() {
    let server = MockServer::listen(&socket("step-threads"), |_| soon(Answer::Ok)).unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get();
    let few = run(&server, 4, Some(1));
    let steps = [few.clone(), at_rate(few.clone(), 100.0), run(&server, 12 * cpus.min(2) + 1, Some(1)), few];
    let load_threads = |run: &Run| played(&reading(), run).1.iter().map(|second| second.load_threads).collect::<Vec<_>>();
    let alone: Vec<usize> = steps.iter().flat_map(load_threads).collect();
    assert_eq!(load_threads(&in_steps(&steps)), alone);
    let asked = with_load_threads(3, in_steps(&[run(&server, 8, Some(1)), run(&server, 2, Some(1))]));
    assert_eq!(load_threads(&asked), [3, 2], "no more than connections");
    let mut each = in_steps(&[run(&server, 8, Some(1)), run(&server, 8, Some(1))]);
    (each.phases[0].load_threads, each.phases[1].load_threads) = (Some(3), Some(1));
    assert_eq!(load_threads(&each), [3, 1]);
}

#[test]
fn every_connection_works_in_each_step_whichever_thread_has_it() {
    // A transaction takes 20 ms, so a connection that does no work is noticed.
    let server = MockServer::listen(&socket("step-connections"), |command| match command.sql() {
        "" => Answer::Ok,
        _ => Answer::After(Duration::from_millis(10), Box::new(Answer::Ok)),
    });
    let server = server.unwrap();
    let steps = [1, 8, 5, 8, 8].map(|connections| run(&server, connections, Some(2)));
    let run = with_load_threads(3, in_steps(&steps));
    let (ended, seconds) = played(&plan(), &run);
    ended.unwrap();
    for (second, step) in seconds.iter().skip(1).step_by(2).zip(&steps) {
        assert_eq!(second.merged.tally.busy, step.phases[0].connections as u64, "second {}", second.number);
    }
    assert_eq!(sum(&seconds, |second| second.merged.tally.reconnects), 0);
}

#[test]
fn a_connection_that_is_busy_at_the_end_of_a_step_or_lost_there_goes_to_its_thread_later() {
    let lost = AtomicBool::new(false);
    let server = MockServer::listen(&socket("step-late"), move |command| match command.sql() {
        "" => Answer::Ok,
        _ if !lost.swap(true, Ordering::Relaxed) => Answer::After(Duration::from_millis(1100), Box::new(Answer::Close)),
        _ => Answer::After(Duration::from_millis(350), Box::new(Answer::Ok)),
    });
    let server = server.unwrap();
    let steps = [run(&server, 1, Some(1)), run(&server, 6, Some(1)), run(&server, 6, Some(3)), run(&server, 2, Some(2))];
    let (ended, seconds) = played(&plan(), &with_load_threads(3, in_steps(&steps)));
    ended.unwrap();
    let busy: Vec<u64> = seconds.iter().map(|second| second.merged.tally.busy).collect();
    assert_eq!(busy[4], 6, "{busy:?}");
    assert!(busy[6] >= 2, "{busy:?}");
    assert!(transactions(&seconds) > 0);
}
