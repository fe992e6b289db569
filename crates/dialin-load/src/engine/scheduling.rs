//! The scheduling policy of a load thread.
//!
//! In a closed loop, a load thread with many connections uses the policy `SCHED_BATCH` (sched(7)): when it wakes up, it does not preempt
//! the running thread. Where the CPUs are busy, the server continues instead, and the load thread finds several answers to process when
//! it gets the CPU. Where a CPU is idle, the load thread runs at once, as with any other policy. With few connections the server would
//! run out of work before the load thread gets the CPU, and in an open loop transactions would begin late.

/// The scheduling policy of the thread that created this value.
#[derive(Debug)]
pub struct Scheduling {
    /// Whether the driver may change the policy: one other than the default was set on purpose when the driver was started.
    may_change: bool,
    is_batch: bool,
}

impl Scheduling {
    /// Reads the current policy of the calling thread.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self { may_change: policy() == libc::SCHED_OTHER, is_batch: false }
    }

    /// Switches between `SCHED_BATCH` and the default policy. If the kernel refuses, the policy stays as it is.
    pub fn set_batch(&mut self, batch: bool) {
        if self.may_change && batch != self.is_batch {
            set_policy(if batch { libc::SCHED_BATCH } else { libc::SCHED_OTHER });
            self.is_batch = batch;
        }
    }
}

#[expect(unsafe_code, reason = "rustix has no such call")]
fn policy() -> i32 {
    // SAFETY: it takes no pointer; 0 stands for the calling thread.
    unsafe { libc::sched_getscheduler(0) }
}

#[expect(unsafe_code, reason = "rustix has no such call")]
fn set_policy(policy: i32) {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters live until the call returns, and the kernel only reads them; 0 stands for the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_thread_changes_its_own_policy_and_back() {
        let policies = thread::spawn(|| {
            let mut scheduling = Scheduling::of_this_thread();
            [true, true, false].map(|batch| {
                scheduling.set_batch(batch);
                policy()
            })
        });
        assert_eq!(policies.join().unwrap(), [libc::SCHED_BATCH, libc::SCHED_BATCH, libc::SCHED_OTHER]);
        assert_eq!(policy(), libc::SCHED_OTHER);
    }

    #[test]
    fn a_policy_that_was_set_from_outside_stays() {
        let chosen = thread::spawn(|| {
            set_policy(libc::SCHED_IDLE);
            Scheduling::of_this_thread().set_batch(true);
            policy()
        });
        assert_eq!(chosen.join().unwrap(), libc::SCHED_IDLE);
    }
}
