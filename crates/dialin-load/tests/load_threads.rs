//! Tests which load threads work in which step, by the kernel's counters. It is the only test of its process, because
//! it looks at all threads of the process.

use dialin_load::engine::play;
use dialin_load::mock_server::{Answer, MockServer};
use dialin_load::run::{Gather, Phase, Purpose, Run};
use dialin_load::workloads;
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How often each load thread has waited so far (voluntary context switches), by name of the thread.
fn waits() -> BTreeMap<String, u64> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let of_thread = |task: fs::DirEntry| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?.trim().to_owned();
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let waits = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()?;
        name.starts_with("load-").then_some((name, waits))
    };
    tasks.filter_map(of_thread).collect()
}

#[test]
fn only_the_threads_of_a_step_work_in_it() {
    let socket = std::env::temp_dir().join(format!("dialin-load-threads-{}.sock", std::process::id()));
    let server = MockServer::listen(&socket, |_| Answer::After(Duration::from_millis(2), Box::new(Answer::Ok))).unwrap();
    let connections = [1, 4, 2, 3];
    let phase = |(place, connections): (usize, &usize)| Phase {
        purpose: Purpose::Measure,
        step: place + 1,
        seconds: Some(3),
        connections: *connections,
        rate: None,
        load_threads: Some(4),
        gather: Gather::Auto,
    };
    let run = Run {
        account: server.account(),
        phases: connections.iter().enumerate().map(phase).collect(),
        seed: 1,
        first: 0,
        stride: 1,
        transactions: None,
        text: false,
        backlog: 0,
        timeout: Duration::from_secs(20),
        reconnect_for: Duration::ZERO,
    };
    let mut seen = Vec::new();
    let plan = workloads::find("noop", &[]).unwrap().plan().unwrap();
    play(&plan, &run, &AtomicBool::new(false), &mut |_| seen.push((Instant::now(), waits()))).unwrap();
    // The second second of each step, in which connections do not move between threads.
    for (step, connections) in connections.iter().enumerate() {
        let ((from, before), (to, after)) = (&seen[3 * step], &seen[3 * step + 1]);
        // A thread without a connection wakes up ten times per second to check whether it has one; one with a connection hundreds of
        // times, or a few dozen on a busy machine.
        let most = 20.0 * (*to - *from).as_secs_f64();
        let working: Vec<&str> =
            after.iter().filter(|(name, waits)| (*waits - before[*name]) as f64 > most).map(|(name, _)| &**name).collect();
        let expected: Vec<String> = (0..*connections).map(|place| format!("load-{place}")).collect();
        assert_eq!(working, expected, "step {}", step + 1);
    }
}
