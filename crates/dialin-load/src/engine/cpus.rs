//! How much of the machine's CPU time is idle.

use std::fs;

/// Tells which share of the machine's CPU time was idle since it was last asked, from `/proc/stat` (proc_stat(5)).
#[derive(Debug, Default)]
pub struct Idle {
    last: Option<(u64, u64)>,
}

impl Idle {
    /// The share from 0 to 1; None the first time, and where the kernel does not tell.
    pub fn share(&mut self) -> Option<f64> {
        let now = times(&fs::read_to_string("/proc/stat").ok()?)?;
        let before = self.last.replace(now)?;
        share(before, now)
    }
}

/// Idle and all ticks: idle is the fourth and the wait for disks the fifth; the ninth and tenth are in the first two already.
fn times(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
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

    #[test]
    fn waiting_for_disks_is_idle_and_guests_are_counted_once() {
        let before = times("cpu  100 0 50 800 40 1 9 0 70 0\ncpu0 1 2 3\n").unwrap();
        let after = times("cpu  190 0 90 850 50 1 9 10 150 0\n").unwrap();
        assert_eq!((before, after), ((840, 1000), (900, 1200)));
        assert_eq!(share(before, after), Some(0.3));
    }

    #[test]
    fn what_is_not_told_is_not_known() {
        assert_eq!(times("intr 1 2 3"), None);
        assert_eq!(share((1, 10), (1, 10)), None);
        assert_eq!(Idle::default().share(), None);
    }
}
