//! Plays one transaction: where it stands, and what its values are. Nothing here waits or sends.

use crate::plan::{Batch, CONNECTION, Execute, FIRST_FREE, Op, Parameter, Plan, Register, SEQUENCE, TURN, Value, Which};
use crate::random::{Rng, of_transaction};
use rand::Rng as _;

/// What a transaction does next.
#[derive(Debug, PartialEq)]
pub enum Action<'p> {
    /// It executes a statement.
    Execute(&'p Execute),
    /// It adds a row to its connection's batch.
    Batch(&'p Batch),
    /// It does nothing for so many nanoseconds.
    Think(u64),
    /// It is over.
    End,
}

/// A transaction that is being played.
#[derive(Debug)]
pub struct Player {
    /// Which of the plan's transactions it is.
    pub transaction: usize,
    /// Its values.
    pub slots: Vec<Value>,
    /// Its randomness.
    pub rng: Rng,
    /// Its number.
    pub sequence: u64,
    /// When it was due, in nanoseconds since the load began; in a closed loop, when it began.
    pub due: u64,
    /// When it began.
    pub began: u64,
    /// How often it was played again.
    pub retries: u32,
    next: usize,
    turn: i64,
    /// A value that is being drawn.
    drawn: Value,
}

impl Player {
    /// A connection's player, before its first transaction.
    #[must_use]
    pub fn new(plan: &Plan, connection: usize) -> Self {
        let mut slots = vec![Value::Null; plan.slots.max(FIRST_FREE)];
        slots[CONNECTION] = Value::Int(i64::try_from(connection).unwrap_or(i64::MAX));
        Self {
            transaction: 0,
            slots,
            rng: of_transaction(0, 0),
            sequence: 0,
            due: 0,
            began: 0,
            retries: 0,
            next: 0,
            turn: 0,
            drawn: Value::Null,
        }
    }

    /// Begin transaction number `sequence`: (seed, sequence) decide all that is random in it, its kind included.
    pub fn begin(&mut self, weights: &Weights, seed: u64, sequence: u64, (due, now): (u64, u64)) {
        self.sequence = sequence;
        self.due = due;
        self.began = now;
        self.retries = 0;
        self.turn += 1;
        self.rewind(weights, seed);
    }

    /// Play the same transaction again from its beginning, with the same random values.
    pub fn rewind(&mut self, weights: &Weights, seed: u64) {
        self.rng = of_transaction(seed, self.sequence);
        self.transaction = weights.choose(&mut self.rng);
        self.next = 0;
        self.slots[FIRST_FREE..].fill(Value::Null);
        self.slots[TURN] = Value::Int(self.turn);
        self.slots[SEQUENCE] = Value::Int(i64::try_from(self.sequence).unwrap_or(i64::MAX));
    }

    /// What comes next; what needs no server is done on the way.
    pub fn action<'p>(&mut self, plan: &'p Plan) -> Action<'p> {
        let ops = &plan.transactions[self.transaction].ops;
        loop {
            match ops.get(self.next) {
                None | Some(Op::End) => return Action::End,
                Some(Op::Execute(execute)) => return Action::Execute(execute),
                Some(Op::Batch(batch)) => return Action::Batch(batch),
                Some(Op::Think(generator)) => {
                    let micros = generator.draw_integer(&mut self.rng, &self.slots).max(0).unsigned_abs();
                    self.next += 1;
                    return Action::Think(micros.saturating_mul(1000));
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

    /// The statement or row was done: go on behind it.
    pub fn done(&mut self) {
        self.next += 1;
    }

    /// The number of the statement that is executed.
    #[must_use]
    pub fn statement(&self, which: Which) -> usize {
        match which {
            Which::One(statement) => statement,
            Which::Nth { first, slot } => {
                first + usize::try_from(self.slots[slot].integer().saturating_sub(1)).unwrap_or_default()
            }
        }
    }

    fn set(&mut self, slot: Register, parameter: &Parameter) {
        parameter.evaluate(&self.slots, &mut self.rng, &mut self.drawn);
        std::mem::swap(&mut self.slots[slot], &mut self.drawn);
    }
}

/// How often each transaction of a plan comes.
#[derive(Clone, Debug)]
pub struct Weights {
    below: Vec<f64>,
}

impl Weights {
    /// Those of a plan; an only transaction costs no draw.
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

    /// The number of a transaction.
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

    fn begun(plan: &Plan, seed: u64, sequence: u64) -> Player {
        let mut player = Player::new(plan, 4);
        player.begin(&Weights::of(plan), seed, sequence, (0, 0));
        player
    }

    #[test]
    fn seed_and_sequence_number_decide_all_that_is_random() {
        let plan =
            plan(&[(1.0, vec![Op::Set(3, Parameter::Draw(number()))]), (1.0, vec![Op::Set(4, Parameter::Draw(number()))])]);
        let played = |seed, sequence| {
            let mut player = begun(&plan, seed, sequence);
            player.action(&plan);
            (player.transaction, player.slots[3..].to_vec())
        };
        assert_eq!(played(1, 9), played(1, 9));
        assert_ne!(played(1, 9), played(1, 10));
        assert_ne!(played(1, 9), played(2, 9));
    }

    #[test]
    fn a_transaction_played_again_draws_the_same() {
        let plan = plan(&[(1.0, vec![Op::Set(3, Parameter::Draw(number()))])]);
        let mut player = begun(&plan, 1, 9);
        player.action(&plan);
        let first = player.slots.clone();
        player.rewind(&Weights::of(&plan), 1);
        player.action(&plan);
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
        let mut player = begun(&plan, 1, 0);
        assert_eq!(player.action(&plan), Action::End);
        assert_eq!(player.slots[5], Value::Int(5));
    }

    #[test]
    fn the_built_in_slots_tell_connection_turn_and_sequence() {
        let plan = plan(&[(1.0, vec![])]);
        let mut player = begun(&plan, 1, 70);
        player.begin(&Weights::of(&plan), 1, 71, (5, 6));
        assert_eq!(player.slots[..FIRST_FREE], [Value::Int(4), Value::Int(2), Value::Int(71)]);
        assert_eq!((player.due, player.began), (5, 6));
    }

    #[test]
    fn thinking_is_told_in_nanoseconds_and_then_over() {
        let think = Generator::Integer(Integers::new(250, 250, Distribution::Uniform).unwrap());
        let plan = plan(&[(1.0, vec![Op::Think(think)])]);
        let mut player = begun(&plan, 1, 0);
        assert_eq!(player.action(&plan), Action::Think(250_000));
        assert_eq!(player.action(&plan), Action::End);
    }

    #[test]
    fn transactions_come_by_their_weights() {
        let plan = plan(&[(45.0, vec![]), (43.0, vec![]), (12.0, vec![])]);
        let mut counts = [0; 3];
        for sequence in 0..100_000 {
            counts[begun(&plan, 1, sequence).transaction] += 1;
        }
        for (count, percent) in counts.into_iter().zip([45, 43, 12]) {
            assert!((count - percent * 1000_i32).abs() < 600, "{counts:?}");
        }
    }
}
