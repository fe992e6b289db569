//! Groups transactions by shape: the sequence of the digests of their statements.

use foldhash::HashMap;

/// The maximum number of steps of a shape. Further statements of a transaction are not part of its shape.
const MAX_STEPS: usize = 48;
/// The maximum number of shapes. Transactions of all further shapes are counted together.
const MAX_SHAPES: usize = 5_000;

/// A step of a shape: a statement, or several statements in a row with the same digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The number of the digest.
    pub digest: u32,
    /// Whether several statements in a row have this digest.
    pub is_repeated: bool,
}

/// A transaction that is open.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    steps: Vec<Step>,
    statements: u64,
    begin: i64,
    end: i64,
    is_truncated: bool,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The transaction was committed.
    Committed,
    /// The client or the server rolled it back, or its session ended.
    RolledBack,
    /// The log does not show how it ended.
    Open,
}

/// Totals of the transactions of one shape.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Number of transactions.
    pub transactions: u64,
    /// Number of statements in these transactions.
    pub statements: u64,
    /// Sum of the durations in microseconds. A duration runs from the start of the first statement to the latest end
    /// of a statement.
    pub microseconds: i64,
    /// How many were rolled back.
    pub rolled_back: u64,
    /// How many have no end in the log.
    pub unfinished: u64,
}

/// Transactions by shape.
#[derive(Debug, Default)]
pub struct Shapes {
    by_steps: HashMap<Vec<Step>, Sums>,
    /// Totals of all transactions of shapes beyond [`MAX_SHAPES`].
    pub others: Sums,
}

impl Transaction {
    /// Add the next statement. `start` and `duration` are in microseconds.
    pub fn add(&mut self, digest: u32, start: i64, duration: Option<i64>) {
        if self.statements == 0 {
            self.begin = start;
        }
        self.statements += 1;
        self.end = self.end.max(start.saturating_add(duration.unwrap_or(0)));
        let is_full = self.steps.len() == MAX_STEPS;
        match self.steps.last_mut() {
            Some(last) if last.digest == digest && !self.is_truncated => last.is_repeated = true,
            _ if is_full => self.is_truncated = true,
            _ => self.steps.push(Step { digest, is_repeated: false }),
        }
    }
}

impl Shapes {
    /// Count a transaction.
    pub fn add(&mut self, transaction: &Transaction, ending: Ending) {
        let is_full = self.by_steps.len() >= MAX_SHAPES;
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
        assert_eq!(shapes.sorted()[0].0.len(), MAX_STEPS);
        for digest in 0..MAX_SHAPES as u32 + 10 {
            shapes.add(&transaction(&[digest]), Ending::Committed);
        }
        assert_eq!((shapes.sorted().len(), shapes.others.transactions), (MAX_SHAPES, 11));
    }
}
