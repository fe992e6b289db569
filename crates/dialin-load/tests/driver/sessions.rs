//! Logs of sessions that are hard to follow, each with what it has: its transactions, and those that were rolled back.

use dialin_load::capture::summary::Summary;
use dialin_load::capture::{Request, capture};
use dialin_load::replay::{self, AutoIncrements, Facts, Pace};
use std::fs;
use std::path::{Path, PathBuf};

/// What a log has, as the capture's summary and as the plan of its replay.
struct Case {
    summary: Summary,
    facts: Facts,
}

impl Case {
    /// Reads a log of `capture/cases`.
    fn of(log: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/capture/cases").join(log);
        let out = std::env::temp_dir().join(format!("dialin-load-{}-{}", log.replace('/', "-"), std::process::id()));
        let request = Request { logs: vec![path], times: None, counters: None, out: out.clone(), forget_text: false };
        let summary = capture(&request).unwrap();
        let request = replay::Request { directory: PathBuf::from(&out), pace: Pace::Full, from: None };
        let facts = Facts::of(&request, AutoIncrements::default()).unwrap();
        fs::remove_dir_all(out).unwrap();
        Self { summary, facts }
    }

    /// The transactions that were committed, that were rolled back, and that have no end in the log. The plan has as many.
    fn transactions(&self) -> (u64, u64, u64) {
        let sum =
            |count: fn(&dialin_load::capture::summary::Shape) -> u64| self.summary.transactions.iter().map(count).sum::<u64>();
        let (all, rolled_back, open) = (sum(|one| one.transactions), sum(|one| one.rolled_back), sum(|one| one.unfinished));
        assert_eq!(self.facts.transactions, all, "the plan and the summary differ");
        (all - rolled_back - open, rolled_back, open)
    }
}

#[test]
fn a_commit_or_rollback_without_a_transaction_is_none() {
    let case = Case::of("20-lone-rollbacks/slow.log");
    assert_eq!(case.transactions(), (1, 1, 0));
    assert_eq!(case.facts.statements, 7, "they are replayed all the same");
}
