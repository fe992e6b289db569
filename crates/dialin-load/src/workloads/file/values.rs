//! Parses the values and conditions of a workload file (in `let`, columns and `when`) into sources and tests of the plan.

use super::number::{Sizes, Whole, check_name, is_name};
use super::read::{Piece, Place, meant};
use crate::errors::Result;
use crate::plan::{CONNECTION, Parameter, Register, SEQUENCE, TURN, Test, Value as Sql};
use crate::random::{Distribution, Generator, Integers};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Named lists of texts.
pub type Lists = BTreeMap<String, Vec<String>>;

/// The names that can be used at a place of the file: sizes, lists, and variables with their slots.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    /// Sizes of the file.
    pub sizes: &'a Sizes,
    /// Lists of the file.
    pub lists: &'a Lists,
    names: Vec<String>,
    /// The first names are reserved: their values cannot be set by the file.
    reserved: usize,
}

impl<'a> Scope<'a> {
    /// The scope at the beginning of a transaction.
    #[must_use]
    pub fn transaction(sizes: &'a Sizes, lists: &'a Lists) -> Self {
        let mut names = vec![String::new(); 3];
        for (slot, name) in [(CONNECTION, "connection"), (TURN, "turn"), (SEQUENCE, "sequence")] {
            names[slot] = name.to_owned();
        }
        Self { sizes, lists, reserved: names.len(), names }
    }

    /// The scope at the beginning of a fill.
    #[must_use]
    pub fn fill(sizes: &'a Sizes, lists: &'a Lists) -> Self {
        Self { sizes, lists, reserved: 1, names: vec!["number".to_owned()] }
    }

    /// The number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.names.len()
    }

    /// The slot of a variable.
    ///
    /// # Errors
    /// No variable has this name.
    pub fn slot(&self, name: &str, place: &Place) -> Result<Register> {
        self.names.iter().position(|each| each == name).ok_or_else(|| {
            let known: Vec<&str> = self.names.iter().map(String::as_str).filter(|each| !each.starts_with('#')).collect();
            place.wrong(format!("nothing before it gives :{name} a value"), meant(name, &known))
        })
    }

    /// The slot for a variable that is set here: the one that it already has, or a new one.
    ///
    /// # Errors
    /// The name is invalid or reserved.
    pub fn define(&mut self, name: &str, place: &Place) -> Result<Register> {
        check_name(name, place)?;
        match self.names.iter().position(|each| each == name) {
            Some(slot) if slot < self.reserved => Err(place.wrong(format!(":{name} is reserved"), "Choose another name")),
            Some(slot) => Ok(slot),
            None => Ok(self.hidden(name)),
        }
    }

    /// A new slot for a variable that the file does not define; the name of an internal variable begins with `#`.
    pub fn hidden(&mut self, name: &str) -> Register {
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    fn reference(&self, text: &str, place: &Place) -> Result<Option<Register>> {
        match text.strip_prefix(':') {
            Some(name) if is_name(name) => self.slot(name, place).map(Some),
            _ => Ok(None),
        }
    }

    fn list(&self, list: List, place: &Place) -> Result<Vec<String>> {
        let texts = match list {
            List::Texts(texts) => texts,
            List::Name(name) => self.lists.get(&name).cloned().ok_or_else(|| {
                let known: Vec<&str> = self.lists.keys().map(String::as_str).collect();
                place.wrong(format!("there is no list {name:?}"), meant(&name, &known))
            })?,
        };
        if texts.is_empty() { Err(place.wrong("the list is empty", "Give it at least one text")) } else { Ok(texts) }
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A parameter of the plan.
    Parameter(Parameter),
    /// The whole number in a slot × `times`, modulo `modulo`, + `plus`.
    Scaled {
        /// The slot.
        slot: Register,
        /// The factor.
        times: i64,
        /// The modulus, at least 1; None for no modulo.
        modulo: Option<i64>,
        /// The number that is added at the end.
        plus: i64,
    },
}

const KINDS: [&str; 9] = ["integer", "decimal", "template", "text", "choice", "words", "value", "size", "null"];

/// Parses the source of a value: `":name"`, a constant, or a table such as `{ integer = [1, 10] }`.
///
/// # Errors
/// It is none of these, or something in it is wrong.
pub fn source(piece: &Piece, scope: &Scope) -> Result<Source> {
    if piece.is_table() { drawn(piece, scope) } else { Ok(Source::Parameter(constant(piece.read()?, &piece.place, scope)?)) }
}

/// A constant, or the variable that it names.
fn constant(constant: Constant, place: &Place, scope: &Scope) -> Result<Parameter> {
    if let Constant::Text(text) = &constant
        && let Some(slot) = scope.reference(text, place)?
    {
        return Ok(Parameter::Register(slot));
    }
    constant.value(place).map(Parameter::Fixed)
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected text or a number; dates are text in quotes")]
enum Constant {
    Whole(i64),
    Truth(bool),
    Number(f64),
    Text(String),
}

impl Constant {
    fn value(self, place: &Place) -> Result<Sql> {
        match self {
            Constant::Whole(whole) => Ok(Sql::Int(whole)),
            Constant::Truth(truth) => Ok(Sql::Int(i64::from(truth))),
            Constant::Number(number) if number.is_finite() => Ok(Sql::Double(number)),
            Constant::Number(number) => Err(place.wrong(format!("{number} is not a value of SQL"), "Write a finite number")),
            Constant::Text(text) => Ok(Sql::Bytes(text.into_bytes())),
        }
    }
}

/// Tables that describe the source of a value: all of [`KINDS`] except the first.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Drawn {
    Decimal { decimal: Vec<String> },
    Template { template: String },
    Text { text: Vec<Whole> },
    Choice { choice: Choices, weights: Option<Vec<f64>> },
    Words { words: String, list: List },
    Value { value: Constant, times: Option<Whole>, modulo: Option<Whole>, plus: Option<Whole> },
    Size { size: Whole },
    Null { null: bool },
}

/// The parameters of distributions.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Parameters {
    Uniform {},
    Gaussian { iterations: Option<Whole> },
    Special { iterations: Option<Whole>, percent: Option<Whole>, resolution: Option<Whole> },
    Pareto { h: Option<f64> },
    Zipfian { exponent: Option<f64> },
    NuRand { a: Whole, c: Whole },
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a list of texts, or the name of a list")]
enum List {
    Name(String),
    Texts(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a list of values, or the name of a list")]
enum Choices {
    Values(Vec<Constant>),
    Name(String),
}

fn drawn(piece: &Piece, scope: &Scope) -> Result<Source> {
    let place = &piece.place;
    let fixed = |value| Ok(Source::Parameter(Parameter::Fixed(value)));
    let kind = piece.kind(&KINDS)?;
    if kind == "integer" {
        return Ok(Source::Parameter(Parameter::Draw(integers(piece, scope)?)));
    }
    let generator = match piece.read_as(kind)? {
        Drawn::Decimal { decimal: ends } => decimal(&ends, place)?,
        Drawn::Template { template } if template.trim().is_empty() => {
            return Err(place.wrong("the template is empty", "Write # for a digit and @ for a letter"));
        }
        Drawn::Template { template } => Generator::Template(template.into_bytes()),
        Drawn::Text { text: ends } => text(range(&ends, "text", piece, scope)?, place)?,
        Drawn::Choice { choice: choices, weights } => choice(choices, weights, piece, scope)?,
        Drawn::Words { words: name, list } => words(&name, list, piece, scope)?,
        Drawn::Value { value, times, modulo, plus } => {
            let number = |whole: Option<Whole>| whole.map(|whole| whole.number(scope.sizes, place)).transpose();
            return scaled(value, number(times)?, number(modulo)?, number(plus)?, piece, scope);
        }
        Drawn::Size { size } => return fixed(Sql::Int(size.number(scope.sizes, place)?)),
        Drawn::Null { null: true } => return fixed(Sql::Null),
        Drawn::Null { null: false } => {
            return Err(place.wrong("\"null\" is false", "Write null = true, or say what the value is"));
        }
    };
    Ok(Source::Parameter(Parameter::Draw(generator)))
}

/// The two ends of a range under a key.
fn range(ends: &[Whole], key: &str, piece: &Piece, scope: &Scope) -> Result<(i64, i64)> {
    let place = &piece.place_of(key);
    let [low, high] = ends else {
        return Err(place.wrong(format!("{key:?} does not have two ends"), format!("Write {key} = [lowest, highest]")));
    };
    let (low, high) = (low.number(scope.sizes, place)?, high.number(scope.sizes, place)?);
    if low > high {
        return Err(place
            .wrong(format!("there is no number from {low} to {high}"), "Give the lower end first; a size may be too small"));
    }
    Ok((low, high))
}

fn integers(piece: &Piece, scope: &Scope) -> Result<Generator> {
    let ends: Vec<Whole> = piece.get("integer").map_or(Ok(vec![]), |ends| ends.read())?;
    let (low, high) = range(&ends, "integer", piece, scope)?;
    let distribution = distribution(&piece.without("integer"), scope)?;
    let integers = Integers::new(low, high, distribution).map_err(|error| piece.place.wrong(error.what, error.remedy))?;
    Ok(Generator::Integer(integers))
}

fn distribution(piece: &Piece, scope: &Scope) -> Result<Distribution> {
    const NAMES: [&str; 6] = ["uniform", "gaussian", "special", "pareto", "zipfian", "nurand"];
    let name = piece.get("distribution").map_or(Ok("uniform".to_owned()), |name| name.read())?;
    if !NAMES.contains(&name.as_str()) {
        let place = piece.place_of("distribution");
        return Err(place.wrong(format!("there is no distribution {name:?}"), meant(&name, &NAMES)));
    }
    let place = &piece.place;
    let number = |whole: Whole| whole.number(scope.sizes, place);
    let count = |given: Option<Whole>, default: u32| {
        let number = given.map_or(Ok(i64::from(default)), number)?;
        let wrong = |_| place.wrong(format!("a parameter of {name} is {number}"), "Give a number from 0, such as the default");
        u32::try_from(number).map_err(wrong)
    };
    Ok(match piece.without("distribution").read_as(&name)? {
        Parameters::Uniform {} => Distribution::Uniform,
        Parameters::Gaussian { iterations } => Distribution::Gaussian { iterations: count(iterations, 12)? },
        Parameters::Special { iterations, percent, resolution } => Distribution::Special {
            iterations: count(iterations, 12)?,
            percent: count(percent, 1)?,
            resolution: count(resolution, 75)?,
        },
        Parameters::Pareto { h } => Distribution::Pareto { h: h.unwrap_or(0.2) },
        Parameters::Zipfian { exponent } => Distribution::Zipfian { exponent: exponent.unwrap_or(0.8) },
        Parameters::NuRand { a, c } => Distribution::NuRand { a: number(a)?, c: number(c)? },
    })
}

fn decimal(ends: &[String], place: &Place) -> Result<Generator> {
    let wrong = || {
        let what = "\"decimal\" does not have two ends that are decimal numbers in quotes";
        place.wrong(what, "Write decimal = [\"0.01\", \"99.99\"]")
    };
    let [low, high] = ends else { return Err(wrong()) };
    let digits = fraction(low).max(fraction(high));
    let (low, high) = (scaled_up(low, digits).ok_or_else(wrong)?, scaled_up(high, digits).ok_or_else(wrong)?);
    if low > high {
        return Err(place.wrong("the range of \"decimal\" is empty", "Give the lower end first"));
    }
    Ok(Generator::Decimal { low, high, digits: u32::try_from(digits).map_err(|_| wrong())? })
}

fn fraction(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, digits)| digits.len())
}

fn scaled_up(text: &str, digits: usize) -> Option<i64> {
    let (before, after) = text.split_once('.').unwrap_or((text, ""));
    let is_valid =
        digits <= 18 && after.bytes().all(|byte| byte.is_ascii_digit()) && before.bytes().any(|byte| byte.is_ascii_digit());
    if is_valid { format!("{before}{after:0<digits$}").parse().ok() } else { None }
}

fn text((least, most): (i64, i64), place: &Place) -> Result<Generator> {
    const LONGEST: i64 = 1 << 20;
    if least < 0 || most > LONGEST {
        let what = format!("text of {least} to {most} letters");
        return Err(place.wrong(what, format!("Give lengths from 0 to {LONGEST}")));
    }
    let length = |number: i64| usize::try_from(number).unwrap_or_default();
    Ok(Generator::Text { least: length(least), most: length(most) })
}

fn choice(choices: Choices, weights: Option<Vec<f64>>, piece: &Piece, scope: &Scope) -> Result<Generator> {
    let place = &piece.place;
    let values: Vec<Sql> = match choices {
        Choices::Values(values) => values.into_iter().map(|value| value.value(place)).collect::<Result<_>>()?,
        Choices::Name(name) => {
            let texts = scope.list(List::Name(name), &piece.place_of("choice"))?;
            texts.into_iter().map(|text| Sql::Bytes(text.into_bytes())).collect()
        }
    };
    let weights = weights.unwrap_or_else(|| vec![1.0; values.len()]);
    let total: f64 = weights.iter().sum();
    let are_valid = total > 0.0 && total.is_finite() && weights.iter().all(|weight| *weight >= 0.0);
    if values.is_empty() || weights.len() != values.len() || !are_valid {
        return Err(place
            .wrong("the choice does not have a weight for each value", "Give values, and as many weights from 0, not all 0"));
    }
    Ok(Generator::Choice { values, weights })
}

fn words(name: &str, list: List, piece: &Piece, scope: &Scope) -> Result<Generator> {
    let place = &piece.place;
    let slot = scope.reference(name, place)?.ok_or_else(|| {
        place.wrong(format!("{name:?} is not a variable"), "Write words = \":name\", where :name is a number from 0 to 999")
    })?;
    let list = scope.list(list, &piece.place_of("list"))?;
    if list.len() != 10 {
        return Err(place.wrong(format!("the list has {} words", list.len()), "Give ten, one for each digit"));
    }
    Ok(Generator::Words { slot, list })
}

fn scaled(
    value: Constant,
    times: Option<i64>,
    modulo: Option<i64>,
    plus: Option<i64>,
    piece: &Piece,
    scope: &Scope,
) -> Result<Source> {
    let place = &piece.place;
    if modulo.is_some_and(|modulo| modulo < 1) {
        return Err(place.wrong("\"modulo\" is below 1", "Give a number from 1; a size may be too small"));
    }
    let slot = if let Constant::Text(text) = &value { scope.reference(text, place)? } else { None };
    match (slot, times, modulo, plus) {
        (Some(slot), None, None, None) => Ok(Source::Parameter(Parameter::Register(slot))),
        (Some(slot), None, None, Some(plus)) => Ok(Source::Parameter(Parameter::Plus(slot, plus))),
        (Some(slot), times, modulo, plus) => {
            Ok(Source::Scaled { slot, times: times.unwrap_or(1), modulo, plus: plus.unwrap_or(0) })
        }
        (None, None, None, None) => Ok(Source::Parameter(Parameter::Fixed(value.value(place)?))),
        (None, ..) => {
            Err(place
                .wrong("\"times\", \"modulo\" and \"plus\" need a variable", "Write value = \":name\", or the result itself"))
        }
    }
}

/// Parses an amount: a whole number, a calculation with sizes, or a variable.
///
/// # Errors
/// It is none of these.
pub fn amount(amount: &Whole, place: &Place, scope: &Scope) -> Result<Parameter> {
    if let Whole::Calculated(text) = amount
        && let Some(slot) = scope.reference(text, place)?
    {
        return Ok(Parameter::Register(slot));
    }
    Ok(Parameter::Fixed(Sql::Int(amount.number(scope.sizes, place)?)))
}

/// Conditions.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Condition {
    Null { null: String },
    Less { less: (String, Whole) },
    Equal { equal: (String, Constant) },
    Chance { chance: f64 },
}

/// Parses a condition: `{ null = ":a" }`, `{ less = [":a", 5] }`, `{ equal = [":a", "x"] }` or `{ chance = 0.1 }`.
///
/// # Errors
/// It is none of these.
pub fn test(piece: &Piece, scope: &Scope) -> Result<Test> {
    let piece = &piece.clone().at("when");
    let kind = piece.kind(&["null", "less", "equal", "chance"])?;
    let place = &piece.place_of(kind);
    // serde takes as many values as it needs and ignores further ones.
    if piece.get(kind).and_then(|compared| compared.list()).is_some_and(|list| list.len() > 2) {
        return Err(place.wrong(format!("{kind:?} does not compare two values"), format!("Write {kind} = [\":name\", value]")));
    }
    let variable = |name: &str| {
        let wrong = || place.wrong(format!("{name:?} is not a variable"), "A condition begins with a variable, such as :name");
        scope.reference(name, place)?.ok_or_else(wrong)
    };
    match piece.read_as(kind)? {
        Condition::Null { null } => Ok(Test::IsNull(variable(&null)?)),
        Condition::Less { less: (name, other) } => Ok(Test::Less(variable(&name)?, amount(&other, place, scope)?)),
        Condition::Equal { equal: (name, other) } => Ok(Test::Equal(variable(&name)?, constant(other, place, scope)?)),
        Condition::Chance { chance } if (0.0..=1.0).contains(&chance) => Ok(Test::Chance(chance)),
        Condition::Chance { chance } => {
            Err(place.wrong(format!("{chance} is not a probability"), "Give a number from 0 to 1, such as 0.01"))
        }
    }
}

#[cfg(test)]
mod tests;
