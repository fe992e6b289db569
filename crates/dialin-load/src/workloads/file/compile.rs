//! Turns the transactions of a workload file into the flat operations of a plan.

use super::number::Sizes;
use super::read::{Fields, Kind as StepKind, Node, Place, Value};
use super::sql;
use super::values::{Lists, Scope, Source, amount, source, test};
use crate::errors::Result;
use crate::plan::{
    Execute, Keep, Kind, NoRow, Op, Parameter, Register, Retry, Statement, Test, Transaction, Value as Sql, Which,
};
use crate::random::{Distribution, Generator, Integers};
use std::collections::BTreeMap;
use std::time::Duration;

/// A repeat of more rounds than this is taken for one that was never meant to end.
const MOST_ROUNDS: i64 = 1_000_000;

const TRANSACTION: [&str; 6] = ["name", "weight", "retry", "pause", "expected", "steps"];
const STEP: [StepKind; 6] = [
    ("let", &["let"]),
    ("sql", &["sql", "keep", "empty", "text"]),
    ("when", &["when", "steps", "else"]),
    ("repeat", &["repeat", "index", "steps"]),
    ("think", &["think"]),
    ("end", &["end"]),
];

/// The transactions of a file, with the statements that they share.
#[derive(Debug, PartialEq)]
pub struct Compiled {
    /// Statements, each once.
    pub statements: Vec<Statement>,
    /// Transactions.
    pub transactions: Vec<Transaction>,
    /// How many slots they need.
    pub slots: usize,
}

/// Compiles all `[[transaction]]`.
///
/// # Errors
/// There is none, or something in one is wrong.
pub fn compile(list: &[Node], sizes: &Sizes, lists: &Lists, place: &Place) -> Result<Compiled> {
    if list.is_empty() {
        return Err(place.wrong("it has no transaction", "Add [[transaction]] with name, weight and steps"));
    }
    let mut all = Compiled { statements: vec![], transactions: vec![], slots: 0 };
    for (index, node) in list.iter().enumerate() {
        let (fields, name) = Fields::named(node, place, "transaction", index + 1, &TRANSACTION)?;
        if all.transactions.iter().any(|other| other.name == name) {
            return Err(fields.place.wrong("there is another of this name", "Give each its own name"));
        }
        let mut body =
            Body { scope: Scope::transaction(sizes, lists), ops: vec![], indexes: vec![], statements: &mut all.statements };
        body.steps(steps(&fields, "steps")?, &fields.place, "step")?;
        if !body.ops.iter().any(|op| matches!(op, Op::Execute(_))) {
            return Err(fields.place.wrong("it sends no statement", "Add a step with sql"));
        }
        let (ops, slots) = (body.ops, body.scope.slots());
        all.slots = all.slots.max(slots);
        all.transactions.push(Transaction {
            name: name.to_owned(),
            weight: weight(&fields)?,
            ops,
            retry: retry(&fields)?,
            expected: expected(&fields)?,
        });
    }
    Ok(all)
}

fn weight(fields: &Fields) -> Result<f64> {
    match fields.number("weight")?.unwrap_or(1.0) {
        weight if weight > 0.0 => Ok(weight),
        weight => Err(fields
            .place_of("weight")
            .wrong(format!("its weight is {weight}"), "Give a weight above 0, or take the transaction out")),
    }
}

fn retry(fields: &Fields) -> Result<Retry> {
    let mut retry = Retry::default();
    if fields.get("retry").is_some() {
        retry.errors = BTreeMap::new();
        for (code, times) in fields.table("retry")? {
            let wrong = || {
                fields.place.on(times).wrong(
                    format!("retry has {code:?} with {}", times.kind()),
                    "Write an error code of the server and how often, as 1213 = 10, or 1213 = \"always\"",
                )
            };
            let times = match &times.value {
                Value::Whole(times) => u32::try_from(*times).map_err(|_| wrong())?,
                Value::Text(always) if always == "always" => u32::MAX,
                _ => return Err(wrong()),
            };
            retry.errors.insert(code.parse().ok().filter(|code| *code > 0).ok_or_else(wrong)?, times);
        }
    }
    if let Some(pause) = fields.text("pause")? {
        retry.pause = duration(pause, &fields.place_of("pause"))?;
    }
    Ok(retry)
}

fn expected(fields: &Fields) -> Result<Vec<u16>> {
    let code = |node: &Node| match node.value {
        Value::Whole(code @ 1..=0xFFFF) => Ok(code as u16),
        _ => Err(fields
            .place
            .on(node)
            .wrong("\"expected\" has what is no error code", "List error codes of the server, as [1644]")),
    };
    fields.list("expected")?.iter().map(code).collect()
}

fn steps<'a>(fields: &Fields<'a>, key: &str) -> Result<&'a [Node]> {
    match fields.list(key)? {
        [] => Err(fields.place.wrong(format!("it has no {key}"), format!("Add {key} = [...]"))),
        steps => Ok(steps),
    }
}

/// A time such as "250us", "10ms" or "2s".
fn duration(text: &str, place: &Place) -> Result<Duration> {
    let wrong = || {
        place.wrong(
            format!("{text:?} is no time"),
            "Write a whole number of us, ms or s, such as \"10ms\", of an hour at the most",
        )
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

/// What a transaction's steps have come to so far.
struct Body<'a> {
    scope: Scope<'a>,
    ops: Vec<Op>,
    /// Of the repeats that are open.
    indexes: Vec<Register>,
    statements: &'a mut Vec<Statement>,
}

impl Body<'_> {
    fn steps(&mut self, list: &[Node], place: &Place, word: &str) -> Result<()> {
        for (index, node) in list.iter().enumerate() {
            self.step(node, &place.at(format_args!("{word} {}", index + 1)))?;
        }
        Ok(())
    }

    fn step(&mut self, node: &Node, place: &Place) -> Result<()> {
        let (fields, which) = Fields::of_kind(node, place, &STEP, &[])?;
        match which {
            "let" => self.set(&fields),
            "sql" => self.execute(&fields),
            "when" => self.when(&fields),
            "repeat" => self.repeat(&fields),
            "think" => self.think(&fields),
            _ => self.end(&fields),
        }
    }

    fn set(&mut self, fields: &Fields) -> Result<()> {
        for (name, node) in fields.table("let")? {
            let place = fields.place.on(node).at(format_args!("let {name}"));
            let parameter = match source(node, &place, &self.scope, &[])? {
                Source::Parameter(parameter) => parameter,
                Source::Scaled { .. } => {
                    return Err(place.wrong("\"times\" and \"modulo\" are for fills", "Let SQL calculate it where it is used"));
                }
            };
            let slot = self.define(name, &place)?;
            self.ops.push(Op::Set(slot, parameter));
        }
        Ok(())
    }

    /// The slot of a name that is given a value here.
    fn define(&mut self, name: &str, place: &Place) -> Result<Register> {
        let slot = self.scope.define(name, place)?;
        if self.indexes.contains(&slot) {
            return Err(place
                .wrong(format!(":{name} counts the rounds of a repeat, which might then never end"), "Choose another name"));
        }
        Ok(slot)
    }

    fn execute(&mut self, fields: &Fields) -> Result<()> {
        let place = &fields.place_of("sql");
        let scanned = sql::scan(fields.needed_text("sql")?, self.scope.sizes, place)?;
        let parameters = scanned
            .names
            .iter()
            .map(|name| self.scope.slot(name, place).map(Parameter::Register))
            .collect::<Result<Vec<_>>>()?;
        let kind = sql::kind(&scanned.sql);
        let names = fields.texts("keep")?;
        if kind == Kind::Write && !names.is_empty() {
            return Err(place.wrong(
                "a statement that changes rows returns none to keep",
                "Keep the columns of a SELECT, such as SELECT ROW_COUNT() behind it",
            ));
        }
        let mut keep = vec![];
        for (column, name) in names.into_iter().enumerate().filter(|(_, name)| *name != "_") {
            keep.push(Keep { column, slot: self.define(name, place)? });
        }
        let no_row = match fields.text("empty")? {
            Some("fail") if keep.is_empty() => {
                return Err(place.wrong("\"empty\" needs \"keep\"", "Keep a column of the row that must be there"));
            }
            None | Some("null") => NoRow::Null,
            Some("fail") => NoRow::Fail,
            Some(other) => {
                return Err(place.wrong(format!("\"empty\" is {other:?}"), "Write \"null\" or \"fail\""));
            }
        };
        // BEGIN and the like cannot be prepared on old servers, and gain nothing by it.
        let text = fields.truth("text")? || kind == Kind::Other && parameters.is_empty();
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

    fn when(&mut self, fields: &Fields) -> Result<()> {
        let test = match fields.get("when") {
            Some(node) => test(node, &fields.place, &self.scope)?,
            None => return Ok(()),
        };
        if fields.get("else").is_none() {
            steps(fields, "steps")?;
        }
        let unless = self.ops.len();
        self.ops.push(Op::Unless(test.clone(), 0));
        self.steps(fields.list("steps")?, &fields.place, "step")?;
        let otherwise = if fields.get("else").is_some() {
            let jump = self.ops.len();
            self.ops.push(Op::Jump(0));
            let otherwise = self.ops.len();
            self.steps(steps(fields, "else")?, &fields.place, "else, step")?;
            self.ops[jump] = Op::Jump(self.ops.len());
            otherwise
        } else {
            self.ops.len()
        };
        self.ops[unless] = Op::Unless(test, otherwise);
        Ok(())
    }

    fn repeat(&mut self, fields: &Fields) -> Result<()> {
        let place = &fields.place;
        let index = match fields.text("index")? {
            Some(name) => self.define(name, place)?,
            None => self.scope.hidden("#index"),
        };
        let rounds = self.rounds(fields)?;
        self.ops.push(Op::Set(index, Parameter::Fixed(Sql::Int(0))));
        let top = self.ops.len();
        self.ops.push(Op::Jump(0));
        self.ops.push(Op::Set(index, Parameter::Plus(index, 1)));
        self.indexes.push(index);
        self.steps(steps(fields, "steps")?, place, "step")?;
        self.indexes.pop();
        self.ops.push(Op::Jump(top));
        self.ops[top] = Op::Unless(Test::Less(index, rounds), self.ops.len());
        Ok(())
    }

    /// How often a repeat goes round; what a variable says is copied, lest a step changes it on the way.
    fn rounds(&mut self, fields: &Fields) -> Result<Parameter> {
        let place = &fields.place;
        let given = fields.get("repeat").map(|node| amount(node, place, &self.scope)).transpose()?;
        match given {
            Some(Parameter::Fixed(Sql::Int(rounds))) if !(0..=MOST_ROUNDS).contains(&rounds) => Err(place.wrong(
                format!("it repeats {rounds} times"),
                format!("Give a number up to {MOST_ROUNDS}; a transaction must end"),
            )),
            Some(Parameter::Register(slot)) => {
                let copy = self.scope.hidden("#rounds");
                self.ops.push(Op::Set(copy, Parameter::Register(slot)));
                Ok(Parameter::Register(copy))
            }
            Some(fixed) => Ok(fixed),
            None => Err(place.wrong("\"repeat\" says no number", "Write repeat = 10, or repeat = \":name\"")),
        }
    }

    fn think(&mut self, fields: &Fields) -> Result<()> {
        let place = &fields.place_of("think");
        let micros = |text: &str| duration(text, place).map(|time| i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
        let generator = match fields.get("think") {
            Some(node) if node.table().is_some() => match source(node, place, &self.scope, &[])? {
                Source::Parameter(Parameter::Draw(generator)) if generator.is_integer() => generator,
                _ => {
                    return Err(place.wrong(
                        "the time to think is no draw of whole numbers",
                        "Write think = { integer = [1000, 5000] }, in microseconds",
                    ));
                }
            },
            Some(_) => {
                let times = fields.texts("think")?;
                let (low, high) = match times[..] {
                    [time] => (micros(time)?, micros(time)?),
                    [low, high] => (micros(low)?, micros(high)?),
                    _ => {
                        return Err(place.wrong(
                            "\"think\" is neither a time nor a range of times",
                            "Write \"10ms\" or [\"5ms\", \"20ms\"]",
                        ));
                    }
                };
                Generator::Integer(
                    Integers::new(low, high, Distribution::Uniform).map_err(|error| place.wrong(error.what, error.remedy))?,
                )
            }
            None => return Ok(()),
        };
        self.ops.push(Op::Think(generator));
        Ok(())
    }

    fn end(&mut self, fields: &Fields) -> Result<()> {
        if !fields.truth("end")? {
            return Err(fields.place.wrong("\"end\" is false", "Write end = true, or leave the step out"));
        }
        self.ops.push(Op::End);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
