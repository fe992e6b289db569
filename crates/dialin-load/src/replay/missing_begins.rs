//! Transactions whose BEGIN is not in the log: MySQL 5.6 leaves statements of less than a microsecond out of its slow log.
//!
//! A COMMIT without a BEGIN shows that the statements before it were a transaction. The first pass over a capture
//! learns which digests are mostly part of transactions. In later passes, a statement with one of these digests
//! begins a transaction if none is open.

use std::collections::{HashMap, HashSet};

/// How many statements of a session are remembered until it is known whether they were a transaction.
const MAX_LOOSE: usize = 1_000;

/// How often statements of a digest were part of a transaction, and how often they were not.
#[derive(Debug, Default)]
pub struct Learner {
    digests: HashMap<usize, (u64, u64)>,
}

/// The statements that a session executed since its last transaction, as numbers of digests.
#[derive(Debug, Default)]
pub struct Loose(Vec<usize>);

impl Loose {
    /// Add a statement that was executed while no transaction was open according to the log.
    pub fn add(&mut self, digest: usize) {
        if self.0.len() < MAX_LOOSE {
            self.0.push(digest);
        }
    }
}

impl Learner {
    /// Count a statement that was executed in a transaction.
    pub fn within(&mut self, digest: usize) {
        self.digests.entry(digest).or_default().0 += 1;
    }

    /// Count the statements in `loose`, and clear it. They are a transaction if a COMMIT or ROLLBACK follows them.
    pub fn settle(&mut self, loose: &mut Loose, is_transaction: bool) {
        for digest in loose.0.drain(..) {
            let (within, outside) = self.digests.entry(digest).or_default();
            *(if is_transaction { within } else { outside }) += 1;
        }
    }

    /// The digests that are mostly part of transactions.
    #[must_use]
    pub fn finish(self) -> HashSet<usize> {
        self.digests.into_iter().filter(|(_, (within, outside))| within > outside).map(|(digest, _)| digest).collect()
    }
}
