//! A workload as the engine executes it: statements, and transactions that are flat lists of operations.
//!
//! Workloads of sysbench and workload files are both translated to this form, so that the engine needs to know only one. A
//! transaction is a list of [`Op`]s that a program counter goes through, and an array of value slots; loops and conditions are
//! jumps. All random values are drawn from the transaction's own generator, whose seed is (seed of the run, sequence number).

use crate::random::{Generator, Rng};
use rand::Rng as _;
use std::collections::BTreeMap;
use std::time::Duration;

/// The index of a value slot of a transaction.
pub type Register = usize;

/// Slot 0: the number of the connection, from 0.
pub const CONNECTION: Register = 0;
/// Slot 1: the number of transactions that this connection has begun, including this one.
pub const TURN: Register = 1;
/// Slot 2: the sequence number of the transaction in the run, from 0.
pub const SEQUENCE: Register = 2;
/// The first slot that a workload may use for its variables.
pub const FIRST_FREE: Register = 3;

/// An SQL value: a parameter of a statement, or a column of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// Text or bytes; DECIMAL numbers are text, too.
    Bytes(Vec<u8>),
}

impl Value {
    /// The value as a whole number: text is parsed and fractions are cut off; NULL and text that is not a number are 0.
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

/// How a statement is counted.
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
    /// The number of parameters.
    pub parameters: usize,
    /// How it is counted.
    pub kind: Kind,
    /// Whether it is always sent as text instead of being prepared.
    pub text: bool,
}

/// Where the value of a parameter comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// The value of a slot.
    Register(Register),
    /// The whole number in a slot, plus a constant.
    Plus(Register, i64),
    /// A value drawn each time that the parameter is evaluated.
    Draw(Generator),
    /// A constant.
    Fixed(Value),
}

impl Parameter {
    /// Write the value for a transaction with these slots into `into`; draw what is random from `rng`.
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
    /// The statement with this index.
    One(usize),
    /// The statement with index `first` + number in the slot − 1: the same statement for one of several tables.
    Nth {
        /// The index of the statement for number 1.
        first: usize,
        /// The slot with the number, from 1.
        slot: Register,
    },
}

/// A column of a result's first row that is stored in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The column, from 0.
    pub column: usize,
    /// The slot that its value is stored in.
    pub slot: Register,
}

/// What happens if a statement should store values from its first row, and returns no row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoRow {
    /// The slots become NULL.
    #[default]
    Null,
    /// The transaction fails; it is counted as an error and not retried.
    Fail,
}

/// The execution of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    /// The statement.
    pub which: Which,
    /// Where the value of each of its parameters comes from.
    pub parameters: Vec<Parameter>,
    /// The columns of its first row to store.
    pub keep: Vec<Keep>,
    /// What happens if it returns no row and `keep` is not empty.
    pub no_row: NoRow,
}

/// A row per transaction. The rows of several transactions of a connection are collected and sent as one INSERT, as sysbench's
/// bulk_insert does.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The INSERT up to `VALUES`, with `{connection}` for the number of the connection, from 1.
    pub head: String,
    /// The text of a row, with `{turn}` for the value of slot [`TURN`].
    pub row: String,
    /// The largest INSERT in bytes: it is sent before another row would exceed this.
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
    /// A random choice that is true with this probability.
    Chance(f64),
}

impl Test {
    /// Whether the test holds in a transaction with these slots; draws what is random from `rng`. NULL equals nothing.
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
    /// Store a value in a slot.
    Set(Register, Parameter),
    /// Execute a statement and read its whole result.
    Execute(Execute),
    /// Add a row to the connection's batch.
    Batch(Batch),
    /// Wait for a drawn time, in microseconds.
    Think(Generator),
    /// Continue at the operation with this index.
    Jump(usize),
    /// Continue at the operation with this index unless the test holds.
    Unless(Test, usize),
    /// End the transaction and count it as successful. The workload has to commit or roll back before.
    End,
}

/// The server errors after which a transaction is retried from its beginning, with the same random values.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// The highest number of retries by error code; `u32::MAX` for no limit.
    pub errors: BTreeMap<u16, u32>,
    /// The wait before the first retry; it doubles for each further one, up to ten times.
    pub pause: Duration,
}

impl Default for Retry {
    /// As sysbench does: retry after a deadlock (1213), a lock wait timeout (1205) and a changed record (1020), at once and
    /// without a limit.
    fn default() -> Self {
        Self { errors: [(1020, u32::MAX), (1205, u32::MAX), (1213, u32::MAX)].into(), pause: Duration::ZERO }
    }
}

/// A kind of transaction: the unit that is counted and timed.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction {
    /// Its name in the stream.
    pub name: String,
    /// How often it is played, relative to the others.
    pub weight: f64,
    /// Its operations.
    pub ops: Vec<Op>,
    /// The errors after which it is retried. Other errors end the transaction and are counted.
    pub retry: Retry,
    /// Error codes that end the transaction but do not count as errors, such as a rollback that the workload intends.
    pub expected: Vec<u16>,
}

/// A workload, ready to be played.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// The statements that the transactions refer to by index.
    pub statements: Vec<Statement>,
    /// The kinds of transactions; at least one.
    pub transactions: Vec<Transaction>,
    /// The number of slots of a transaction, including the first [`FIRST_FREE`].
    pub slots: usize,
    /// Statements that each new connection executes first, sent as text.
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
