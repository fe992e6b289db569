//! A workload as the engine plays it: statements, and transactions that are flat lists of operations.
//!
//! Workloads of sysbench and workload files both come to this form, so there is one way in which load is applied. A transaction
//! is played by a program counter over [`Op`]s with a row of value slots: loops and conditions are jumps. Everything random is
//! drawn from the transaction's own generator, which (seed, sequence number) decide.

use crate::random::{Generator, Rng};
use rand::Rng as _;
use std::collections::BTreeMap;
use std::time::Duration;

/// The place of a value in a transaction.
pub type Register = usize;

/// Register 0: the number of the connection, from 0.
pub const CONNECTION: Register = 0;
/// Register 1: how many transactions this connection began, this one included, from 1.
pub const TURN: Register = 1;
/// Register 2: the sequence number of the transaction, from 0.
pub const SEQUENCE: Register = 2;
/// The first slot that a workload names itself.
pub const FIRST_FREE: Register = 3;

/// A value of SQL, as a statement takes or returns it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Text or bytes; numbers of DECIMAL are text too.
    Bytes(Vec<u8>),
}

impl Value {
    /// The whole number that it is: text is read as one, fractions are cut off, and what is none is 0.
    #[must_use]
    pub fn integer(&self) -> i64 {
        match self {
            Value::Null => 0,
            Value::Int(number) => *number,
            #[expect(clippy::cast_possible_truncation, reason = "saturates, as SQL does")]
            Value::Double(number) => *number as i64,
            Value::Bytes(bytes) => std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.split('.').next().and_then(|whole| whole.trim().parse().ok()))
                .unwrap_or(0),
        }
    }
}

/// What load drivers count a statement as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It reads rows.
    Read,
    /// It changes rows.
    Write,
    /// It does neither: BEGIN, COMMIT, SET.
    Other,
}

/// A statement. It is prepared once on each connection, unless `text`, or the server cannot prepare it.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Its SQL, with a `?` for each parameter.
    pub sql: String,
    /// How many parameters it has.
    pub parameters: usize,
    /// What it counts as.
    pub kind: Kind,
    /// Whether it is always sent as text.
    pub text: bool,
}

/// Where the value of a parameter comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// A slot.
    Register(Register),
    /// A slot's whole number, and this more.
    Plus(Register, i64),
    /// Drawn when it is sent.
    Draw(Generator),
    /// The same each time.
    Fixed(Value),
}

impl Parameter {
    /// Its value in a transaction with these slots and this randomness.
    pub fn evaluate(&self, slots: &[Value], rng: &mut Rng, into: &mut Value) {
        match self {
            Parameter::Register(slot) => into.clone_from(&slots[*slot]),
            Parameter::Plus(slot, more) => *into = Value::Int(slots[*slot].integer().saturating_add(*more)),
            Parameter::Draw(generator) => generator.draw(rng, slots, into),
            Parameter::Fixed(value) => into.clone_from(value),
        }
    }
}

/// Which statement an operation executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// This one.
    One(usize),
    /// The one at `first` + slot's number − 1: the same statement for each of several tables.
    Nth {
        /// The statement for number 1.
        first: usize,
        /// The slot with the number, from 1.
        slot: Register,
    },
}

/// What is kept of a result's first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The column, from 0.
    pub column: usize,
    /// Where its value goes.
    pub slot: Register,
}

/// What happens when a result that values are kept of has no row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoRow {
    /// The kept slots become NULL.
    #[default]
    Null,
    /// The transaction fails; it is counted as an error and not retried.
    Fail,
}

/// A statement with where its parameters come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    /// The statement.
    pub which: Which,
    /// One for each of its parameters.
    pub parameters: Vec<Parameter>,
    /// What is kept of its first row.
    pub keep: Vec<Keep>,
    /// What a missing row means, where something is kept.
    pub no_row: NoRow,
}

/// Rows that are collected over transactions of one connection and sent as one INSERT, as sysbench's bulk_insert does.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The INSERT up to `VALUES`, with `{connection}` for the number of the connection, from 1.
    pub head: String,
    /// A row's text, with `{turn}` for the slot [`TURN`].
    pub row: String,
    /// It is sent before it would grow beyond so many bytes.
    pub limit: usize,
}

/// A comparison of a slot with a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// The slot is NULL.
    IsNull(Register),
    /// The slot's whole number is below that of the parameter.
    Less(Register, Parameter),
    /// The slot equals the parameter.
    Equal(Register, Parameter),
    /// With this probability.
    Chance(f64),
}

impl Test {
    /// Whether it holds in a transaction with these slots and this randomness. NULL equals nothing.
    #[must_use]
    pub fn holds(&self, slots: &[Value], rng: &mut Rng) -> bool {
        let mut other = Value::Null;
        match self {
            Test::IsNull(slot) => slots[*slot] == Value::Null,
            Test::Less(slot, parameter) => {
                parameter.evaluate(slots, rng, &mut other);
                slots[*slot].integer() < other.integer()
            }
            Test::Equal(slot, parameter) => {
                parameter.evaluate(slots, rng, &mut other);
                match (&slots[*slot], &other) {
                    (Value::Null, _) | (_, Value::Null) => false,
                    (one @ Value::Int(_), other) | (one, other @ Value::Int(_)) => one.integer() == other.integer(),
                    (one, other) => one == other,
                }
            }
            Test::Chance(probability) => rng.random::<f64>() < *probability,
        }
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// The slot takes a value.
    Set(Register, Parameter),
    /// A statement is executed, and its whole result read.
    Execute(Execute),
    /// A row is added to the connection's batch.
    Batch(Batch),
    /// Nothing for a while: the time is drawn in microseconds.
    Think(Generator),
    /// Go on at another operation.
    Jump(usize),
    /// Go on at another operation unless the test holds.
    Unless(Test, usize),
    /// The transaction ends here and counts; what is open in it was rolled back or committed before.
    End,
}

/// Which errors of the server are met by playing the transaction again from its beginning, with the same random values.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// By error code, how many times at the most.
    pub errors: BTreeMap<u16, u32>,
    /// How long to wait before; doubled each time.
    pub pause: Duration,
}

impl Default for Retry {
    /// As sysbench does: deadlock (1213), lock wait timeout (1205) and snapshot too old (1020), again at once.
    fn default() -> Self {
        Self { errors: [(1020, u32::MAX), (1205, u32::MAX), (1213, u32::MAX)].into(), pause: Duration::ZERO }
    }
}

/// A transaction: what is counted and timed as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction {
    /// Its name in the stream.
    pub name: String,
    /// How often it comes, relative to the others.
    pub weight: f64,
    /// What it does.
    pub ops: Vec<Op>,
    /// Its policy for errors. Others end the transaction, and are counted.
    pub retry: Retry,
    /// Error codes that end the transaction early but are no error: a rollback that the workload asks for.
    pub expected: Vec<u16>,
}

/// A workload, ready to be played.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// All statements.
    pub statements: Vec<Statement>,
    /// At least one.
    pub transactions: Vec<Transaction>,
    /// How many slots a transaction has, the first [`FIRST_FREE`] included.
    pub slots: usize,
    /// Sent to each connection once it is open, as text.
    pub session: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_a_whole_number_where_one_is_needed() {
        let read = |text: &str| Value::Bytes(text.into()).integer();
        assert_eq!(["12", "-3.75", "none", ""].map(read), [12, -3, 0, 0]);
        assert_eq!([Value::Null, Value::Int(7), Value::Double(2.9)].map(|value| value.integer()), [0, 7, 2]);
    }
}
