//! The idle share of the CPUs that the driver may use.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::fs;

/// Measures the share of CPU time that was idle since the last call, from `/proc/stat` (proc_stat(5)). Only the CPUs on which the
/// calling thread may run are counted: a driver that is pinned to separate CPUs takes none from a server that is busy on others.
#[derive(Debug, Default)]
pub struct Idle {
    last: Option<(u64, u64)>,
}

impl Idle {
    /// The idle share from 0 to 1; None on the first call, and where `/proc/stat` or the CPU affinity cannot be read.
    pub fn share(&mut self) -> Option<f64> {
        let usable = sched_getaffinity(None).ok()?;
        let now = times(&fs::read_to_string("/proc/stat").ok()?, |cpu| cpu < CpuSet::MAX_CPU && usable.is_set(cpu))?;
        let before = self.last.replace(now)?;
        share(before, now)
    }
}

/// The idle ticks and the total ticks of the CPUs that `counts` selects; None if `stat` lists none of them.
fn times(stat: &str, counts: impl Fn(usize) -> bool) -> Option<(u64, u64)> {
    let lines = stat.lines().filter_map(|line| {
        let (cpu, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
        counts(cpu.parse().ok()?).then(|| ticks_of(ticks))?
    });
    lines.reduce(|(idle, all), (more_idle, more)| (idle + more_idle, all + more))
}

/// The idle ticks and the total ticks of a line: the fourth field is idle, the fifth is iowait. The ninth and tenth (guest times) are
/// left out, because the first two include them.
fn ticks_of(line: &str) -> Option<(u64, u64)> {
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|each| each.parse().ok()).collect();
    (ticks.len() >= 5).then(|| (ticks[3] + ticks[4], ticks.iter().sum()))
}

#[expect(clippy::cast_precision_loss, reason = "the ticks of about a second")]
fn share((idle_before, all_before): (u64, u64), (idle, all): (u64, u64)) -> Option<f64> {
    let passed = all.checked_sub(all_before).filter(|passed| *passed > 0)?;
    Some(idle.saturating_sub(idle_before) as f64 / passed as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "cpu  100 0 50 800 40 1 9 0 70 0\ncpu0 60 0 20 400 20 0 0 0 35 0\ncpu1 40 0 30 400 20 1 9 0 35 0\nintr 1\n";

    #[test]
    fn waiting_for_disks_is_idle_and_guests_are_counted_once() {
        let before = times(BEFORE, |_| true).unwrap();
        let after = times("cpu0 150 0 60 450 30 0 0 10 95 0\ncpu1 40 0 30 400 20 1 9 0 55 0\n", |_| true).unwrap();
        assert_eq!((before, after), ((840, 1000), (900, 1200)));
        assert_eq!(share(before, after), Some(0.3));
    }

    #[test]
    fn only_the_cpus_count_that_the_driver_may_use() {
        assert_eq!(times(BEFORE, |cpu| cpu == 1), Some((420, 500)));
        assert_eq!(times(BEFORE, |cpu| cpu == 7), None);
    }

    #[test]
    fn missing_or_unchanged_ticks_give_no_share() {
        assert_eq!(times("intr 1 2 3", |_| true), None);
        assert_eq!(share((1, 10), (1, 10)), None);
        assert_eq!(Idle::default().share(), None);
    }
}
