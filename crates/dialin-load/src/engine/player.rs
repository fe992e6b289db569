//! The script of one connection that runs the transactions of a plan: the current position and the values of the slots. Nothing here
//! waits or sends.

use super::error_policy::{Verdict, judge};
use super::script::{Action, Digest, Query, RowCounts, Script, Setup};
use crate::plan::{
    CONNECTION, Execute, FIRST_FREE, Keep, NoRow, Op, Parameter, Plan, Register, SEQUENCE, Statement, TURN, Value, Which,
};
use crate::protocol::parameters::Parameters;
use crate::random::{Rng, of_transaction};
use crate::run::Run;
use rand::Rng as _;

/// The data that all players of a run share.
#[derive(Debug)]
pub struct Source<'a> {
    plan: &'a Plan,
    weights: Weights,
    seed: u64,
    queries: Vec<Query<'a>>,
}

impl<'a> Source<'a> {
    /// Creates the shared data of a plan for a run.
    #[must_use]
    pub fn of(plan: &'a Plan, run: &Run) -> Self {
        let query = |statement: &'a Statement| Query {
            sql: &statement.sql,
            digest: Digest::of(&statement.sql),
            parameters: statement.parameters,
            kind: statement.kind,
            is_text: statement.text || run.text,
        };
        Self { plan, weights: Weights::of(plan), seed: run.seed, queries: plan.statements.iter().map(query).collect() }
    }

    /// What the players require of the connections. All statements stay open, because a plan executes them repeatedly.
    #[must_use]
    pub fn setup(&self) -> Setup<'a> {
        let Plan { transactions, session, .. } = self.plan;
        Setup { kinds: transactions.len(), session, open_statements: usize::MAX }
    }
}

/// Runs the transactions of one connection, one at a time.
#[derive(Debug)]
pub struct Player<'a> {
    source: &'a Source<'a>,
    /// The index of the current transaction in the plan.
    transaction: usize,
    /// The values of the current transaction.
    slots: Vec<Value>,
    /// The random number generator of the current transaction.
    rng: Rng,
    /// The sequence number of the current transaction.
    sequence: u64,
    /// The index of the next operation.
    next: usize,
    /// How many transactions this connection has begun.
    turn: i64,
    /// A buffer for the value that is being drawn.
    drawn: Value,
}

impl<'a> Script<'a> for Player<'a> {
    type Source = Source<'a>;

    fn new(source: &'a Source<'a>, connection: usize) -> Self {
        let mut slots = vec![Value::Null; source.plan.slots.max(FIRST_FREE)];
        slots[CONNECTION] = Value::Int(i64::try_from(connection).unwrap_or(i64::MAX));
        let (rng, drawn) = (of_transaction(0, 0), Value::Null);
        Self { source, transaction: 0, slots, rng, sequence: 0, next: 0, turn: 0, drawn }
    }

    fn begin(&mut self, sequence: u64) {
        self.sequence = sequence;
        self.turn += 1;
        self.rewind();
    }

    fn rewind(&mut self) {
        self.rng = of_transaction(self.source.seed, self.sequence);
        self.transaction = self.source.weights.choose(&mut self.rng);
        self.next = 0;
        self.slots[FIRST_FREE..].fill(Value::Null);
        self.slots[TURN] = Value::Int(self.turn);
        self.slots[SEQUENCE] = Value::Int(i64::try_from(self.sequence).unwrap_or(i64::MAX));
    }

    fn kind(&self) -> usize {
        self.transaction
    }

    /// Executes the operations that need no server, and returns the next action that does.
    fn next(&mut self, _now: u64) -> Action<'a> {
        let ops = &self.source.plan.transactions[self.transaction].ops;
        loop {
            match ops.get(self.next) {
                None | Some(Op::End) => return Action::End,
                Some(Op::Execute(execute)) => {
                    return Action::Execute { query: self.query(execute.which), keeps: !execute.keep.is_empty() };
                }
                Some(Op::Batch(batch)) => {
                    let [connection, turn] = [CONNECTION, TURN].map(|slot| self.slots[slot].integer());
                    return Action::Collect { batch, connection, turn };
                }
                Some(Op::Think(generator)) => {
                    let micros = generator.draw_integer(&mut self.rng, &self.slots).max(0).unsigned_abs();
                    self.next += 1;
                    return Action::Pause(micros.saturating_mul(1000));
                }
                Some(Op::Set(slot, parameter)) => {
                    self.set(*slot, parameter);
                    self.next += 1;
                }
                Some(Op::Jump(to)) => self.next = *to,
                Some(Op::Unless(test, to)) => {
                    self.next = if test.holds(&self.slots, &mut self.rng) { self.next + 1 } else { *to }
                }
            }
        }
    }

    fn write(&mut self, mut parameters: impl Parameters) -> u8 {
        let values = self.execute().map_or(&[][..], |execute| &execute.parameters);
        for parameter in values {
            match parameter {
                Parameter::Draw(generator) if generator.is_integer() => {
                    parameters.integer(generator.draw_integer(&mut self.rng, &self.slots));
                }
                Parameter::Draw(generator) => {
                    parameters.written(|out| generator.write_text(&mut self.rng, &self.slots, out));
                }
                Parameter::Register(slot) => parameters.value(&self.slots[*slot]),
                Parameter::Plus(slot, more) => parameters.integer(self.slots[*slot].integer().saturating_add(*more)),
                Parameter::Fixed(value) => parameters.value(value),
            }
        }
        parameters.end()
    }

    fn kept(&mut self) -> (&[Keep], &mut [Value]) {
        (self.execute().map_or(&[][..], |execute| &execute.keep), &mut self.slots)
    }

    fn succeed(&mut self, rows: RowCounts) -> bool {
        if let Some(Execute { keep, no_row, .. }) = self.execute()
            && rows.returned == 0
            && !keep.is_empty()
        {
            keep.iter().for_each(|keep| self.slots[keep.slot] = Value::Null);
            if *no_row == NoRow::Fail {
                return false;
            }
        }
        self.next += 1;
        true
    }

    fn refuse(&mut self, code: u16, message: &str, retries: u32) -> Verdict {
        judge(&self.source.plan.transactions[self.transaction], code, message, retries)
    }
}

impl<'a> Player<'a> {
    /// The next operation, if it executes a statement.
    fn execute(&self) -> Option<&'a Execute> {
        match self.source.plan.transactions[self.transaction].ops.get(self.next) {
            Some(Op::Execute(execute)) => Some(execute),
            _ => None,
        }
    }

    /// The statement that `which` selects. The workload ensures that it exists; an index out of range is clamped, so that it cannot end
    /// the process.
    fn query(&self, which: Which) -> Query<'a> {
        let number = match which {
            Which::One(statement) => statement,
            Which::Nth { first, slot } => {
                first + usize::try_from(self.slots[slot].integer().saturating_sub(1)).unwrap_or_default()
            }
        };
        self.source.queries[number.min(self.source.queries.len() - 1)]
    }

    fn set(&mut self, slot: Register, parameter: &Parameter) {
        parameter.evaluate(&self.slots, &mut self.rng, &mut self.drawn);
        std::mem::swap(&mut self.slots[slot], &mut self.drawn);
    }
}

/// The relative frequency of each transaction of a plan.
#[derive(Clone, Debug)]
pub struct Weights {
    below: Vec<f64>,
}

impl Weights {
    /// The weights of a plan, as cumulative shares.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let total: f64 = plan.transactions.iter().map(|each| each.weight).sum();
        let mut sum = 0.0;
        let below = plan.transactions.iter().map(|each| {
            sum += each.weight;
            sum / total
        });
        Self { below: below.collect() }
    }

    /// Draws the index of a transaction; if there is only one, nothing is drawn from `rng`.
    pub fn choose(&self, rng: &mut Rng) -> usize {
        if self.below.len() < 2 {
            return 0;
        }
        let drawn = rng.random::<f64>();
        self.below.iter().position(|limit| drawn < *limit).unwrap_or(self.below.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Retry, Test, Transaction};
    use crate::random::{Distribution, Generator, Integers};

    fn plan(kinds: &[(f64, Vec<Op>)]) -> Plan {
        let transaction = |(weight, ops): &(f64, Vec<Op>)| Transaction {
            name: String::new(),
            weight: *weight,
            ops: ops.clone(),
            retry: Retry::default(),
            expected: vec![],
        };
        let transactions = kinds.iter().map(transaction).collect();
        Plan { name: String::new(), statements: vec![], transactions, slots: 6, session: vec![] }
    }

    fn number() -> Generator {
        Generator::Integer(Integers::new(1, 1_000_000, Distribution::Uniform).unwrap())
    }

    fn source(plan: &Plan, seed: u64) -> Source<'_> {
        Source { plan, weights: Weights::of(plan), seed, queries: vec![] }
    }

    fn begun<'a>(source: &'a Source<'a>, sequence: u64) -> Player<'a> {
        let mut player = Player::new(source, 4);
        player.begin(sequence);
        player
    }

    #[test]
    fn seed_and_sequence_number_decide_all_that_is_random() {
        let plan =
            plan(&[(1.0, vec![Op::Set(3, Parameter::Draw(number()))]), (1.0, vec![Op::Set(4, Parameter::Draw(number()))])]);
        let played = |seed, sequence| {
            let source = source(&plan, seed);
            let mut player = begun(&source, sequence);
            player.next(0);
            (player.transaction, player.slots[3..].to_vec())
        };
        assert_eq!(played(1, 9), played(1, 9));
        assert_ne!(played(1, 9), played(1, 10));
        assert_ne!(played(1, 9), played(2, 9));
    }

    #[test]
    fn a_retried_transaction_draws_the_same_values() {
        let plan = plan(&[(1.0, vec![Op::Set(3, Parameter::Draw(number()))])]);
        let source = source(&plan, 1);
        let mut player = begun(&source, 9);
        player.next(0);
        let first = player.slots.clone();
        player.rewind();
        player.next(0);
        assert_eq!(player.slots, first);
    }

    #[test]
    fn jumps_make_loops_and_conditions() {
        let loops = vec![
            Op::Set(3, Parameter::Fixed(Value::Int(0))),
            Op::Set(3, Parameter::Plus(3, 1)),
            Op::Unless(Test::Equal(3, Parameter::Fixed(Value::Int(5))), 1),
            Op::Unless(Test::IsNull(4), 5),
            Op::Set(5, Parameter::Register(3)),
            Op::End,
        ];
        let plan = plan(&[(1.0, loops)]);
        let source = source(&plan, 1);
        let mut player = begun(&source, 0);
        assert_eq!(player.next(0), Action::End);
        assert_eq!(player.slots[5], Value::Int(5));
    }

    #[test]
    fn the_built_in_slots_hold_connection_turn_and_sequence() {
        let plan = plan(&[(1.0, vec![])]);
        let source = source(&plan, 1);
        let mut player = begun(&source, 70);
        player.begin(71);
        assert_eq!(player.slots[..FIRST_FREE], [Value::Int(4), Value::Int(2), Value::Int(71)]);
    }

    #[test]
    fn think_time_is_a_pause() {
        let think = Generator::Integer(Integers::new(250, 250, Distribution::Uniform).unwrap());
        let plan = plan(&[(1.0, vec![Op::Think(think)])]);
        let source = source(&plan, 1);
        let mut player = begun(&source, 0);
        assert_eq!(player.next(7_000), Action::Pause(250_000));
        assert_eq!(player.next(257_000), Action::End);
    }

    #[test]
    fn transactions_come_by_their_weights() {
        let plan = plan(&[(45.0, vec![]), (43.0, vec![]), (12.0, vec![])]);
        let source = source(&plan, 1);
        let mut counts = [0; 3];
        for sequence in 0..100_000 {
            counts[begun(&source, sequence).transaction] += 1;
        }
        for (count, percent) in counts.into_iter().zip([45, 43, 12]) {
            assert!((count - percent * 1000_i32).abs() < 600, "{counts:?}");
        }
    }
}
