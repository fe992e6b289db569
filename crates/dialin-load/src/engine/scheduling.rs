//! How the kernel schedules a load thread.
//!
//! In a closed loop a load thread with many connections has the policy `SCHED_BATCH` and a long time slice (sched(7),
//! sched_setattr(2)): when it wakes up, it does not interrupt what runs, and its turn comes later, for a thread that asks for more at
//! a time gets it less often. Where the CPUs are busy, the server goes on instead, and the load thread has several answers to work
//! through when its turn comes. Where a CPU idles, it runs at once, as with any other policy. With few connections the server would be
//! without work before the load thread's turn comes, and at a rate its transactions would be late. Linux has such slices from 6.12 on,
//! and ignores them before.

use std::ffi::{c_long, c_uint};
use std::time::Duration;

/// The longest slice that Linux allows (BENCHMARKS.md).
const LONG: Duration = Duration::from_millis(100);

/// The policy of the thread that makes it.
#[derive(Debug)]
pub struct Scheduling {
    /// Whether the policy is ours to choose: whoever started the driver with another one than the usual wants it so.
    may_change: bool,
    is_batch: bool,
}

impl Scheduling {
    /// The policy that this thread has now.
    #[must_use]
    pub fn of_this_thread() -> Self {
        let is_usual = attributes().is_some_and(|now| now.sched_policy == libc::SCHED_OTHER.cast_unsigned());
        Self { may_change: is_usual, is_batch: false }
    }

    /// Choose between `SCHED_BATCH` and the usual policy. Where the kernel refuses, the thread goes on as it is.
    pub fn set_batch(&mut self, batch: bool) {
        if self.may_change && batch != self.is_batch {
            set_policy(if batch { libc::SCHED_BATCH } else { libc::SCHED_OTHER }, if batch { LONG } else { Duration::ZERO });
            self.is_batch = batch;
        }
    }
}

/// How the kernel schedules this thread; None where it does not say.
#[expect(unsafe_code, reason = "rustix has no such call")]
fn attributes() -> Option<libc::sched_attr> {
    // SAFETY: all of its fields are numbers, for which zeros are values.
    let mut now: libc::sched_attr = unsafe { std::mem::zeroed() };
    let size = c_uint::try_from(size_of_val(&now)).ok()?;
    // SAFETY: the kernel writes `size` bytes at the most, which `now` has; 0 stands for the calling thread.
    let result: c_long = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, size, 0) };
    (result == 0).then_some(now)
}

/// Set the policy of this thread and its slice, zero for the usual one; its nice value stays.
#[expect(unsafe_code, reason = "rustix has no such call")]
fn set_policy(policy: i32, slice: Duration) {
    let Some(now) = attributes() else { return };
    let next = libc::sched_attr {
        sched_policy: policy.cast_unsigned(),
        sched_runtime: u64::try_from(slice.as_nanos()).unwrap_or(0),
        ..now
    };
    // SAFETY: the attributes live until the call returns, and the kernel only reads them; 0 stands for the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const next, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn policy() -> i32 {
        attributes().unwrap().sched_policy.cast_signed()
    }

    #[test]
    fn a_thread_changes_its_policy_and_slice_and_back() {
        let scheduled = thread::spawn(|| {
            let mut scheduling = Scheduling::of_this_thread();
            [true, true, false].map(|batch| {
                scheduling.set_batch(batch);
                attributes().unwrap()
            })
        });
        let usual = attributes().unwrap();
        let [batch, again, back] = scheduled.join().unwrap();
        assert_eq!(
            [batch, again, back].map(|one| one.sched_policy),
            [libc::SCHED_BATCH, libc::SCHED_BATCH, 0].map(i32::cast_unsigned)
        );
        assert_eq!([batch, back].map(|one| one.sched_nice), [usual.sched_nice; 2]);
        // Before Linux 6.12 there are no slices, and all are 0.
        assert!(batch.sched_runtime == usual.sched_runtime || Duration::from_nanos(batch.sched_runtime) == LONG);
        assert_eq!(back.sched_runtime, usual.sched_runtime);
        assert_eq!(policy(), libc::SCHED_OTHER);
    }

    #[test]
    fn a_policy_that_somebody_else_chose_stays() {
        let chosen = thread::spawn(|| {
            set_policy(libc::SCHED_IDLE, Duration::ZERO);
            Scheduling::of_this_thread().set_batch(true);
            policy()
        });
        assert_eq!(chosen.join().unwrap(), libc::SCHED_IDLE);
    }
}
