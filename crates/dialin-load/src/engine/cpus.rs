//! How much of the CPU time that the driver may use is idle.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::fs;

/// Tells which share of the CPUs' time was idle since it was last asked, from `/proc/stat` (proc_stat(5)). Only the CPUs count on
/// which this thread may run: one that has CPUs of its own takes none from a server that is busy on others.
#[derive(Debug, Default)]
pub struct Idle {
    last: Option<(u64, u64)>,
}

impl Idle {
    /// The share from 0 to 1; None the first time, and where the kernel does not tell.
    pub fn share(&mut self) -> Option<f64> {
        let usable = sched_getaffinity(None).ok()?;
        let now = times(&fs::read_to_string("/proc/stat").ok()?, |cpu| cpu < CpuSet::MAX_CPU && usable.is_set(cpu))?;
        let before = self.last.replace(now)?;
        share(before, now)
    }
}

/// Idle and all ticks of some CPUs; None if none of them is told.
fn times(stat: &str, counts: impl Fn(usize) -> bool) -> Option<(u64, u64)> {
    let lines = stat.lines().filter_map(|line| {
        let (cpu, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
        counts(cpu.parse().ok()?).then(|| ticks_of(ticks))?
    });
    lines.reduce(|(idle, all), (more_idle, more)| (idle + more_idle, all + more))
}

/// Idle and all ticks: idle is the fourth and the wait for disks the fifth; the ninth and tenth are in the first two already.
fn ticks_of(line: &str) -> Option<(u64, u64)> {
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|each| each.parse().ok()).collect();
    (ticks.len() >= 5).then(|| (ticks[3] + ticks[4], ticks.iter().sum()))
}

#[expect(clippy::cast_precision_loss, reason = "ticks of a second or so")]
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
    fn what_is_not_told_is_not_known() {
        assert_eq!(times("intr 1 2 3", |_| true), None);
        assert_eq!(share((1, 10), (1, 10)), None);
        assert_eq!(Idle::default().share(), None);
    }
}
