//! Transactions whose BEGIN is not in the log: MySQL 5.6 leaves statements of less than a microsecond out of its slow log.
//!
//! A COMMIT without a BEGIN shows that the statements before it were a transaction. A capture is read twice: the first time, the
//! digests are learned that are mostly part of transactions; the second time, such a statement begins one where none is open.

use std::collections::{HashMap, HashSet};

/// The most statements of a session that may turn out to be a transaction.
const MOST: usize = 1_000;

/// How often statements of a digest were part of a transaction, and how often they were not.
#[derive(Debug, Default)]
pub struct Learner {
    digests: HashMap<usize, (u64, u64)>,
}

/// What a session executed since its last transaction, by the numbers of digests.
#[derive(Debug, Default)]
pub struct Loose(Vec<usize>);

impl Loose {
    /// A statement was executed while no transaction was open, as far as the log says.
    pub fn add(&mut self, digest: usize) {
        if self.0.len() < MOST {
            self.0.push(digest);
        }
    }
}

impl Learner {
    /// A statement was executed in a transaction.
    pub fn within(&mut self, digest: usize) {
        self.digests.entry(digest).or_default().0 += 1;
    }

    /// What a session executed was a transaction, because its end follows, or was none.
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
