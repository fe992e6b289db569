//! How the kernel schedules a load thread.
//!
//! In a closed loop a load thread with many connections has the policy `SCHED_BATCH` (sched(7)): when it wakes up, it does not
//! interrupt what runs. Where the CPUs are busy, the server goes on instead, and the load thread has several answers to work through
//! when its turn comes. Where a CPU idles, it runs at once, as with any other policy. With few connections the server would be without
//! work before the load thread's turn comes, and at a rate its transactions would be late.

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
        Self { may_change: policy() == libc::SCHED_OTHER, is_batch: false }
    }

    /// Choose between `SCHED_BATCH` and the usual policy. Where the kernel refuses, the thread goes on as it is.
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
    fn a_policy_that_somebody_else_chose_stays() {
        let chosen = thread::spawn(|| {
            set_policy(libc::SCHED_IDLE);
            Scheduling::of_this_thread().set_batch(true);
            policy()
        });
        assert_eq!(chosen.join().unwrap(), libc::SCHED_IDLE);
    }
}
