//! Compiles the transactions of a workload file to the flat operations of a plan.

use super::number::{Sizes, Whole};
use super::read::{Piece, Place, Texts};
use super::sql;
use super::values::{Lists, Scope, Source, amount, source, test};
use crate::errors::Result;
use crate::plan::{
    Execute, Keep, Kind, NoRow, Op, Parameter, Register, Retry, Statement, Test, Transaction, Value as Sql, Which,
};
use crate::random::{Distribution, Generator, Integers};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::time::Duration;

/// The highest number of rounds of a repeat; more are refused, because a transaction must end.
const MOST_ROUNDS: i64 = 1_000_000;

/// A `[[transaction]]`; its steps are parsed one by one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "steps")]
struct Header {
    name: String,
    weight: Option<f64>,
    retry: Option<BTreeMap<String, Times>>,
    pause: Option<String>,
    expected: Option<Vec<NonZeroU16>>,
    steps: IgnoredAny,
}

/// How often a transaction is retried after an error.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected how often, as 1213 = 10, or 1213 = \"always\"")]
enum Times {
    AtMost(u32),
    For(Ever),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ever {
    Always,
}

const STEPS: [&str; 6] = ["let", "sql", "when", "repeat", "think", "end"];

/// A step, by its kind; nested parts are parsed separately.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "parts of their own")]
enum Step {
    Let { r#let: IgnoredAny },
    Sql { sql: String, keep: Option<Texts>, empty: Option<Empty>, text: Option<bool> },
    When { when: IgnoredAny, steps: Option<IgnoredAny>, r#else: Option<IgnoredAny> },
    Repeat { repeat: Whole, index: Option<String>, steps: IgnoredAny },
    Think { think: IgnoredAny },
    End { end: bool },
}

/// What happens if a result has no row to store values from.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Empty {
    Null,
    Fail,
}

/// The transactions of a file, with the statements that they share.
#[derive(Debug, PartialEq)]
pub struct Compiled {
    /// The statements; transactions share equal ones.
    pub statements: Vec<Statement>,
    /// The kinds of transactions.
    pub transactions: Vec<Transaction>,
    /// The number of slots that a transaction needs, at most.
    pub slots: usize,
}

/// Compiles all `[[transaction]]`.
///
/// # Errors
/// There is no transaction, or something in one is wrong.
pub fn compile(list: &[Piece], sizes: &Sizes, lists: &Lists, place: &Place) -> Result<Compiled> {
    if list.is_empty() {
        return Err(place.wrong("it has no transaction", "Add [[transaction]] with name, weight and steps"));
    }
    let mut all = Compiled { statements: vec![], transactions: vec![], slots: 0 };
    for (index, piece) in list.iter().enumerate() {
        let header: Header = piece.clone().at(format_args!("transaction {}", index + 1)).read()?;
        let piece = &piece.clone().at(format_args!("transaction {}", header.name));
        if header.name.trim().is_empty() {
            return Err(piece.place_of("name").wrong("it has no name", "Add name = \"...\""));
        }
        if all.transactions.iter().any(|other| other.name == header.name) {
            return Err(piece.place.wrong("there is another of this name", "Give each its own name"));
        }
        let weight = header.weight.unwrap_or(1.0);
        if !(weight > 0.0 && weight.is_finite()) {
            let what = format!("its weight is {weight}");
            return Err(piece.place_of("weight").wrong(what, "Give a weight above 0, or take the transaction out"));
        }
        let mut body =
            Body { scope: Scope::transaction(sizes, lists), ops: vec![], indexes: vec![], statements: &mut all.statements };
        body.steps(piece, "steps", "step")?;
        if !body.ops.iter().any(|op| matches!(op, Op::Execute(_))) {
            return Err(piece.place.wrong("it sends no statement", "Add a step with sql"));
        }
        let (ops, slots) = (body.ops, body.scope.slots());
        all.slots = all.slots.max(slots);
        let expected = header.expected.iter().flatten().map(|code| code.get()).collect();
        let retry = retry(&header, piece)?;
        all.transactions.push(Transaction { name: header.name, weight, ops, retry, expected });
    }
    Ok(all)
}

fn retry(header: &Header, piece: &Piece) -> Result<Retry> {
    let mut retry = Retry::default();
    if let Some(errors) = &header.retry {
        let error = |(code, times): (&String, &Times)| {
            let wrong =
                || piece.place_of("retry").wrong(format!("{code:?} is not an error code"), "Write one, such as 1213 = 10");
            let code = code.parse().ok().filter(|code| *code > 0).ok_or_else(wrong)?;
            Ok((code, if let Times::AtMost(times) = times { *times } else { u32::MAX }))
        };
        retry.errors = errors.iter().map(error).collect::<Result<_>>()?;
    }
    if let Some(pause) = &header.pause {
        retry.pause = duration(pause, &piece.place_of("pause"))?;
    }
    Ok(retry)
}

/// A time such as "250us", "10ms" or "2s".
fn duration(text: &str, place: &Place) -> Result<Duration> {
    let wrong = || {
        place.wrong(format!("{text:?} is not a time"), "Write a whole number of us, ms or s, such as \"10ms\", up to an hour")
    };
    let digits = text.find(|each: char| !each.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let micros = match unit.trim() {
        "us" => Some(number),
        "ms" => number.checked_mul(1000),
        "s" => number.checked_mul(1_000_000),
        _ => None,
    };
    micros.filter(|micros| *micros <= 3_600_000_000).map(Duration::from_micros).ok_or_else(wrong)
}

/// The steps of a transaction that have been compiled so far.
struct Body<'a> {
    scope: Scope<'a>,
    ops: Vec<Op>,
    /// The index variables of the repeats around the current step.
    indexes: Vec<Register>,
    statements: &'a mut Vec<Statement>,
}

impl Body<'_> {
    /// Compiles the steps under a key, of which there must be at least one; errors call each of them `word` and its number.
    fn steps(&mut self, piece: &Piece, key: &str, word: &str) -> Result<()> {
        let steps = piece.list_of(key)?;
        if steps.is_empty() {
            return Err(piece.place.wrong(format!("it has no {key}"), format!("Add {key} = [...]")));
        }
        for (number, step) in (1..).zip(steps) {
            self.step(&step.at(format_args!("{word} {number}")))?;
        }
        Ok(())
    }

    fn step(&mut self, piece: &Piece) -> Result<()> {
        match piece.read_as(piece.kind(&STEPS)?)? {
            Step::Let { .. } => self.set(piece),
            Step::Sql { sql, keep, empty, text } => self.execute(
                &sql,
                keep.map(Texts::all).unwrap_or_default(),
                empty,
                text.unwrap_or(false),
                &piece.place_of("sql"),
            ),
            Step::When { .. } => self.when(piece),
            Step::Repeat { repeat, index, .. } => self.repeat(&repeat, index.as_deref(), piece),
            Step::Think { .. } => self.think(piece),
            Step::End { end: true } => {
                self.ops.push(Op::End);
                Ok(())
            }
            Step::End { end: false } => Err(piece.place.wrong("\"end\" is false", "Write end = true, or leave the step out")),
        }
    }

    fn set(&mut self, piece: &Piece) -> Result<()> {
        for (name, value) in piece.entries_of("let")? {
            let value = value.at(format_args!("let {name}"));
            let parameter = match source(&value, &self.scope)? {
                Source::Parameter(parameter) => parameter,
                Source::Scaled { .. } => {
                    let what = "\"times\" and \"modulo\" are for fills";
                    return Err(value.place.wrong(what, "Let SQL calculate it where it is used"));
                }
            };
            let slot = self.define(&name, &value.place)?;
            self.ops.push(Op::Set(slot, parameter));
        }
        Ok(())
    }

    /// The slot for a variable that is set here; an error for the index of a repeat around this step.
    fn define(&mut self, name: &str, place: &Place) -> Result<Register> {
        let slot = self.scope.define(name, place)?;
        if self.indexes.contains(&slot) {
            return Err(place
                .wrong(format!(":{name} counts the rounds of a repeat, which might then never end"), "Choose another name"));
        }
        Ok(slot)
    }

    fn execute(&mut self, sql: &str, names: Vec<String>, empty: Option<Empty>, text: bool, place: &Place) -> Result<()> {
        let scanned = sql::scan(sql, self.scope.sizes, place)?;
        if scanned.sql.is_empty() {
            return Err(place.wrong("the SQL is empty", "Write a statement"));
        }
        let parameter = |name: &String| self.scope.slot(name, place).map(Parameter::Register);
        let parameters = scanned.names.iter().map(parameter).collect::<Result<Vec<_>>>()?;
        let kind = sql::kind(&scanned.sql);
        if kind == Kind::Write && !names.is_empty() && !sql::is_returning(&scanned.sql) {
            return Err(place.wrong(
                "a statement that changes rows without RETURNING returns none to keep",
                "Keep the columns of a SELECT, such as SELECT ROW_COUNT() after it",
            ));
        }
        let mut keep = vec![];
        for (column, name) in names.iter().enumerate().filter(|(_, name)| *name != "_") {
            keep.push(Keep { column, slot: self.define(name, place)? });
        }
        if empty == Some(Empty::Fail) && keep.is_empty() {
            return Err(place.wrong("\"empty\" needs \"keep\"", "Keep a column of the row that must be there"));
        }
        let no_row = if empty == Some(Empty::Fail) { NoRow::Fail } else { NoRow::Null };
        // Old servers cannot prepare BEGIN and similar statements, and preparing them would gain nothing.
        let text = text || kind == Kind::Other && parameters.is_empty();
        let statement = self.statement(Statement { sql: scanned.sql, parameters: parameters.len(), kind, text });
        self.ops.push(Op::Execute(Execute { which: Which::One(statement), parameters, keep, no_row }));
        Ok(())
    }

    fn statement(&mut self, statement: Statement) -> usize {
        match self.statements.iter().position(|other| *other == statement) {
            Some(known) => known,
            None => {
                self.statements.push(statement);
                self.statements.len() - 1
            }
        }
    }

    fn when(&mut self, piece: &Piece) -> Result<()> {
        let Some(condition) = piece.get("when") else { return Ok(()) };
        let test = test(&condition, &self.scope)?;
        let has_else = piece.get("else").is_some();
        let unless = self.ops.len();
        self.ops.push(Op::Unless(test.clone(), 0));
        if !has_else || !piece.list_of("steps")?.is_empty() {
            self.steps(piece, "steps", "step")?;
        }
        let mut otherwise = self.ops.len();
        if has_else {
            self.ops.push(Op::Jump(0));
            otherwise += 1;
            self.steps(piece, "else", "else, step")?;
            self.ops[otherwise - 1] = Op::Jump(self.ops.len());
        }
        self.ops[unless] = Op::Unless(test, otherwise);
        Ok(())
    }

    fn repeat(&mut self, times: &Whole, index: Option<&str>, piece: &Piece) -> Result<()> {
        let index = match index {
            Some(name) => self.define(name, &piece.place)?,
            None => self.scope.hidden("#index"),
        };
        let rounds = self.rounds(times, &piece.place)?;
        self.ops.push(Op::Set(index, Parameter::Fixed(Sql::Int(0))));
        let top = self.ops.len();
        self.ops.push(Op::Jump(0));
        self.ops.push(Op::Set(index, Parameter::Plus(index, 1)));
        self.indexes.push(index);
        self.steps(piece, "steps", "step")?;
        self.indexes.pop();
        self.ops.push(Op::Jump(top));
        self.ops[top] = Op::Unless(Test::Less(index, rounds), self.ops.len());
        Ok(())
    }

    /// The number of rounds of a repeat. The value of a variable is copied, so that the steps of the repeat cannot change it.
    fn rounds(&mut self, times: &Whole, place: &Place) -> Result<Parameter> {
        match amount(times, place, &self.scope)? {
            Parameter::Fixed(Sql::Int(rounds)) if !(0..=MOST_ROUNDS).contains(&rounds) => Err(place.wrong(
                format!("it repeats {rounds} times"),
                format!("Give a number up to {MOST_ROUNDS}; a transaction must end"),
            )),
            Parameter::Register(slot) => {
                let copy = self.scope.hidden("#rounds");
                self.ops.push(Op::Set(copy, Parameter::Register(slot)));
                Ok(Parameter::Register(copy))
            }
            fixed => Ok(fixed),
        }
    }

    fn think(&mut self, piece: &Piece) -> Result<()> {
        let Some(time) = piece.get("think") else { return Ok(()) };
        let place = &time.place;
        if time.is_table() {
            return match source(&time, &self.scope)? {
                Source::Parameter(Parameter::Draw(generator)) if generator.is_integer() => {
                    self.ops.push(Op::Think(generator));
                    Ok(())
                }
                _ => {
                    let what = "the think time is not drawn from whole numbers";
                    Err(place.wrong(what, "Write think = { integer = [1000, 5000] }, in microseconds"))
                }
            };
        }
        let micros = |text: &str| duration(text, place).map(|time| i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
        let (low, high) = match &time.read::<Texts>()?.all()[..] {
            [time] => (micros(time)?, micros(time)?),
            [low, high] => (micros(low)?, micros(high)?),
            _ => {
                let what = "\"think\" is neither a time nor a range of times";
                return Err(place.wrong(what, "Write \"10ms\" or [\"5ms\", \"20ms\"]"));
            }
        };
        let range = Integers::new(low, high, Distribution::Uniform).map_err(|error| place.wrong(error.what, error.remedy))?;
        self.ops.push(Op::Think(Generator::Integer(range)));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
