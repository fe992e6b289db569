//! Transactions by shape: which statements in which order, as digests.

use std::collections::HashMap;

/// The most statements that a shape tells apart; what follows is left out of it.
const LONGEST: usize = 48;
/// The most shapes that are told apart; transactions of others are counted together.
const MOST: usize = 5_000;

/// A statement of a shape: the number of its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Of the digest.
    pub digest: u32,
    /// It came several times in a row.
    pub is_repeated: bool,
}

/// A transaction that is open.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    steps: Vec<Step>,
    statements: u64,
    begin: i64,
    end: i64,
    is_longer: bool,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was committed.
    Committed,
    /// Its client or the server rolled it back, or its session ended.
    RolledBack,
    /// The log ends before it does.
    Open,
}

/// What transactions of one shape come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// How many.
    pub transactions: u64,
    /// Statements of all of them.
    pub statements: u64,
    /// From the start of the first to the end of the last statement, of all of them, in microseconds.
    pub microseconds: i64,
    /// How many were rolled back.
    pub rolled_back: u64,
    /// How many the log does not have the end of.
    pub unfinished: u64,
}

/// Transactions by shape.
#[derive(Debug, Default)]
pub struct Shapes {
    by_steps: HashMap<Vec<Step>, Sums>,
    /// Of shapes beyond [`MOST`].
    pub others: Sums,
}

impl Transaction {
    /// Take the next statement.
    pub fn add(&mut self, digest: u32, start: i64, duration: Option<i64>) {
        if self.statements == 0 {
            self.begin = start;
        }
        self.statements += 1;
        self.end = self.end.max(start.saturating_add(duration.unwrap_or(0)));
        let is_full = self.steps.len() == LONGEST;
        match self.steps.last_mut() {
            Some(last) if last.digest == digest && !self.is_longer => last.is_repeated = true,
            _ if is_full => self.is_longer = true,
            _ => self.steps.push(Step { digest, is_repeated: false }),
        }
    }
}

impl Shapes {
    /// Count a transaction that ended.
    pub fn add(&mut self, transaction: &Transaction, ending: Ending) {
        let is_full = self.by_steps.len() >= MOST;
        let sums = match self.by_steps.get_mut(&transaction.steps) {
            Some(sums) => sums,
            None if is_full => &mut self.others,
            None => self.by_steps.entry(transaction.steps.clone()).or_default(),
        };
        sums.transactions += 1;
        sums.statements += transaction.statements;
        sums.microseconds = sums.microseconds.saturating_add(transaction.end.saturating_sub(transaction.begin).max(0));
        sums.rolled_back += u64::from(ending == Ending::RolledBack);
        sums.unfinished += u64::from(ending == Ending::Open);
    }

    /// The shapes, the most frequent first.
    #[must_use]
    pub fn sorted(&self) -> Vec<(&[Step], &Sums)> {
        let mut shapes: Vec<(&[Step], &Sums)> = self.by_steps.iter().map(|(steps, sums)| (&steps[..], sums)).collect();
        let key = |steps: &[Step]| steps.iter().map(|step| (step.digest, step.is_repeated)).collect::<Vec<_>>();
        shapes.sort_by(|(a, x), (b, y)| y.transactions.cmp(&x.transactions).then_with(|| key(a).cmp(&key(b))));
        shapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(digests: &[u32]) -> Transaction {
        let mut transaction = Transaction::default();
        for (at, digest) in (0..).zip(digests) {
            transaction.add(*digest, at * 100, Some(30));
        }
        transaction
    }

    #[test]
    fn repetitions_are_one_step_whatever_their_number() {
        let mut shapes = Shapes::default();
        shapes.add(&transaction(&[1, 2, 2, 2, 3]), Ending::Committed);
        shapes.add(&transaction(&[1, 2, 2, 3]), Ending::RolledBack);
        shapes.add(&transaction(&[1, 2, 3]), Ending::Open);
        let steps = |repeated| [1, 2, 3].map(|digest| Step { digest, is_repeated: repeated && digest == 2 }).to_vec();
        let two = Sums { transactions: 2, statements: 9, microseconds: 430 + 330, rolled_back: 1, unfinished: 0 };
        let one = Sums { transactions: 1, statements: 3, microseconds: 230, rolled_back: 0, unfinished: 1 };
        assert_eq!(shapes.sorted(), [(&steps(true)[..], &two), (&steps(false)[..], &one)]);
    }

    #[test]
    fn neither_long_transactions_nor_many_shapes_take_memory_without_end() {
        let mut shapes = Shapes::default();
        let long: Vec<u32> = (0..1_000).collect();
        shapes.add(&transaction(&long), Ending::Committed);
        assert_eq!(shapes.sorted()[0].0.len(), LONGEST);
        for digest in 0..MOST as u32 + 10 {
            shapes.add(&transaction(&[digest]), Ending::Committed);
        }
        assert_eq!((shapes.sorted().len(), shapes.others.transactions), (MOST, 11));
    }
}
