//! Where values come from: what a `let`, a column or a condition of a workload file says, checked, as the plan has it.

use super::number::{Sizes, check_name, field, is_name, whole};
use super::read::{Fields, Kind, Node, Place, Value, meant};
use crate::errors::Result;
use crate::plan::{CONNECTION, Parameter, Register, SEQUENCE, TURN, Test, Value as Sql};
use crate::random::{Distribution, Generator, Integers};
use std::collections::BTreeMap;

/// Named lists of texts.
pub type Lists = BTreeMap<String, Vec<String>>;

/// The names that can be used at a place, and what they stand for.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    /// Sizes of the file.
    pub sizes: &'a Sizes,
    /// Lists of the file.
    pub lists: &'a Lists,
    names: Vec<String>,
    own: usize,
}

impl<'a> Scope<'a> {
    /// The beginning of a transaction.
    #[must_use]
    pub fn transaction(sizes: &'a Sizes, lists: &'a Lists) -> Self {
        let mut names = vec![String::new(); 3];
        for (slot, name) in [(CONNECTION, "connection"), (TURN, "turn"), (SEQUENCE, "sequence")] {
            names[slot] = name.to_owned();
        }
        Self { sizes, lists, own: names.len(), names }
    }

    /// The beginning of a fill.
    #[must_use]
    pub fn fill(sizes: &'a Sizes, lists: &'a Lists) -> Self {
        Self { sizes, lists, own: 1, names: vec!["number".to_owned()] }
    }

    /// How many slots there are.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.names.len()
    }

    /// The slot of a name.
    ///
    /// # Errors
    /// Nothing has it.
    pub fn slot(&self, name: &str, place: &Place) -> Result<Register> {
        self.names.iter().position(|each| each == name).ok_or_else(|| {
            let known: Vec<&str> = self.names.iter().map(String::as_str).filter(|each| !each.starts_with('#')).collect();
            place.wrong(format!("nothing before it gives :{name} a value"), meant(name, &known))
        })
    }

    /// The slot of a name that gets a value here, a new one or that which it has.
    ///
    /// # Errors
    /// It is no name, or one of the driver's own.
    pub fn define(&mut self, name: &str, place: &Place) -> Result<Register> {
        check_name(name, place)?;
        match self.names.iter().position(|each| each == name) {
            Some(slot) if slot < self.own => Err(place.wrong(format!(":{name} is the driver's own"), "Choose another name")),
            Some(slot) => Ok(slot),
            None => Ok(self.hidden(name)),
        }
    }

    /// A new slot that the file does not name.
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

    fn list(&self, node: &Node, place: &Place) -> Result<Vec<String>> {
        let place = &place.on(node);
        let found = match &node.value {
            Value::Text(name) => self.lists.get(name).cloned().ok_or_else(|| {
                let known: Vec<&str> = self.lists.keys().map(String::as_str).collect();
                place.wrong(format!("there is no list {name:?}"), meant(name, &known))
            })?,
            _ => node
                .texts()
                .ok_or_else(|| {
                    place.wrong(
                        format!("expected a list of texts, not {}", node.kind()),
                        "Write [\"a\", \"b\"], or the name of a list",
                    )
                })?
                .into_iter()
                .map(str::to_owned)
                .collect(),
        };
        if found.is_empty() { Err(place.wrong("the list is empty", "Give it at least one text")) } else { Ok(found) }
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// What the plan knows.
    Parameter(Parameter),
    /// A slot's whole number × `times`, modulo `modulo`, + `plus`.
    Scaled {
        /// The slot.
        slot: Register,
        /// Its factor.
        times: i64,
        /// At least 1.
        modulo: Option<i64>,
        /// What is added in the end.
        plus: i64,
    },
}

const KINDS: [Kind; 9] = [
    ("integer", &["integer", "distribution", "iterations", "percent", "resolution", "h", "exponent", "a", "c"]),
    ("decimal", &["decimal"]),
    ("template", &["template"]),
    ("text", &["text"]),
    ("choice", &["choice", "weights"]),
    ("words", &["words", "list"]),
    ("value", &["value", "times", "modulo", "plus"]),
    ("size", &["size"]),
    ("null", &["null"]),
];

/// What a value says of where it comes from: `":name"`, a constant, or a table such as `{ integer = [1, 10] }`. Tables may have
/// the keys `extra` as well.
///
/// # Errors
/// It says nothing sound.
pub fn source(node: &Node, place: &Place, scope: &Scope, extra: &[&str]) -> Result<Source> {
    match &node.value {
        Value::Text(text) => Ok(Source::Parameter(match scope.reference(text, &place.on(node))? {
            Some(slot) => Parameter::Register(slot),
            None => Parameter::Fixed(Sql::Bytes(text.clone().into_bytes())),
        })),
        Value::Table(_) => drawn(node, place, scope, extra),
        _ => Ok(Source::Parameter(Parameter::Fixed(constant(node, place)?))),
    }
}

fn constant(node: &Node, place: &Place) -> Result<Sql> {
    match &node.value {
        Value::Text(text) => Ok(Sql::Bytes(text.clone().into_bytes())),
        Value::Whole(whole) => Ok(Sql::Int(*whole)),
        Value::Truth(truth) => Ok(Sql::Int(i64::from(*truth))),
        Value::Number(number) if number.is_finite() => Ok(Sql::Double(*number)),
        _ => {
            let what = format!("{} is no value of SQL", node.kind());
            Err(place.on(node).wrong(what, "Write text or a number; dates are text in quotes"))
        }
    }
}

fn drawn(node: &Node, place: &Place, scope: &Scope, extra: &[&str]) -> Result<Source> {
    let (fields, which) = Fields::of_kind(node, place, &KINDS, extra)?;
    let generator = match which {
        "integer" => Generator::Integer(integers(&fields, scope)?),
        "decimal" => decimal(&fields)?,
        "template" => Generator::Template(fields.needed_text("template")?.as_bytes().to_vec()),
        "text" => text(&fields, scope)?,
        "choice" => choice(&fields, scope)?,
        "words" => words(&fields, scope)?,
        "value" => return scaled(&fields, scope),
        "size" => {
            return Ok(Source::Parameter(Parameter::Fixed(Sql::Int(field(&fields, "size", scope.sizes)?.unwrap_or_default()))));
        }
        _ => return null(&fields),
    };
    Ok(Source::Parameter(Parameter::Draw(generator)))
}

/// The two ends of a range under a key.
fn range(fields: &Fields, key: &str, scope: &Scope) -> Result<(i64, i64)> {
    let place = &fields.place_of(key);
    let [low, high] = fields.list(key)? else {
        return Err(place.wrong(format!("{key:?} has no two ends"), format!("Write {key} = [lowest, highest]")));
    };
    let (low, high) = (whole(low, scope.sizes, place)?, whole(high, scope.sizes, place)?);
    if low > high {
        return Err(place
            .wrong(format!("there is no number from {low} to {high}"), "Give the lower end first; a size may be too small"));
    }
    Ok((low, high))
}

const DISTRIBUTIONS: [(&str, &[&str]); 6] = [
    ("uniform", &[]),
    ("gaussian", &["iterations"]),
    ("special", &["iterations", "percent", "resolution"]),
    ("pareto", &["h"]),
    ("zipfian", &["exponent"]),
    ("nurand", &["a", "c"]),
];

fn integers(fields: &Fields, scope: &Scope) -> Result<Integers> {
    let (low, high) = range(fields, "integer", scope)?;
    let distribution = distribution(fields, scope)?;
    Integers::new(low, high, distribution).map_err(|error| fields.place.wrong(error.what, error.remedy))
}

fn distribution(fields: &Fields, scope: &Scope) -> Result<Distribution> {
    let name = fields.text("distribution")?.unwrap_or("uniform");
    let Some((_, parameters)) = DISTRIBUTIONS.iter().find(|(each, _)| *each == name) else {
        return Err(fields
            .place
            .wrong(format!("there is no distribution {name:?}"), meant(name, &DISTRIBUTIONS.map(|(each, _)| each))));
    };
    let mut allowed = vec!["integer", "distribution", "when"];
    allowed.extend(*parameters);
    fields.nothing_but(&allowed, &format!("distribution = {name}"))?;
    let count = |key: &str, default: u32| -> Result<u32> {
        let given = field(fields, key, scope.sizes)?.unwrap_or(i64::from(default));
        u32::try_from(given)
            .map_err(|_| fields.place.wrong(format!("{key:?} is {given}"), "Give a number from 0, such as the default"))
    };
    let constant = |key: &str| -> Result<i64> {
        field(fields, key, scope.sizes)?.ok_or_else(|| {
            fields
                .place
                .wrong(format!("nurand has no {key:?}"), "Give TPC-C's constants: a = 255, 1023 or 8191, and c from 0 to a")
        })
    };
    Ok(match name {
        "gaussian" => Distribution::Gaussian { iterations: count("iterations", 12)? },
        "special" => Distribution::Special {
            iterations: count("iterations", 12)?,
            percent: count("percent", 1)?,
            resolution: count("resolution", 75)?,
        },
        "pareto" => Distribution::Pareto { h: fields.number("h")?.unwrap_or(0.2) },
        "zipfian" => Distribution::Zipfian { exponent: fields.number("exponent")?.unwrap_or(0.8) },
        "nurand" => Distribution::NuRand { a: constant("a")?, c: constant("c")? },
        _ => Distribution::Uniform,
    })
}

fn decimal(fields: &Fields) -> Result<Generator> {
    let ends = fields.texts("decimal")?;
    let wrong = || {
        fields
            .place
            .wrong("\"decimal\" has no two ends that are texts of decimal numbers", "Write decimal = [\"0.01\", \"99.99\"]")
    };
    let [low, high] = ends[..] else {
        return Err(wrong());
    };
    let digits = fraction(low).max(fraction(high));
    let (low, high) = (scaled_up(low, digits).ok_or_else(wrong)?, scaled_up(high, digits).ok_or_else(wrong)?);
    if low > high {
        return Err(fields.place.wrong("the range of \"decimal\" is empty", "Give the lower end first"));
    }
    Ok(Generator::Decimal { low, high, digits: u32::try_from(digits).map_err(|_| wrong())? })
}

fn fraction(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, digits)| digits.len())
}

fn scaled_up(text: &str, digits: usize) -> Option<i64> {
    let (before, after) = text.split_once('.').unwrap_or((text, ""));
    let sound =
        digits <= 18 && after.bytes().all(|byte| byte.is_ascii_digit()) && before.bytes().any(|byte| byte.is_ascii_digit());
    if sound { format!("{before}{after:0<digits$}").parse().ok() } else { None }
}

fn text(fields: &Fields, scope: &Scope) -> Result<Generator> {
    const LONGEST: i64 = 1 << 20;
    let (least, most) = range(fields, "text", scope)?;
    if least < 0 || most > LONGEST {
        return Err(fields
            .place
            .wrong(format!("text of {least} to {most} letters"), format!("Give lengths from 0 to {LONGEST}")));
    }
    let length = |number: i64| usize::try_from(number).unwrap_or_default();
    Ok(Generator::Text { least: length(least), most: length(most) })
}

fn choice(fields: &Fields, scope: &Scope) -> Result<Generator> {
    let place = &fields.place;
    let values = match fields.get("choice") {
        Some(Node { value: Value::List(values), .. }) => {
            values.iter().map(|value| constant(value, place)).collect::<Result<Vec<_>>>()?
        }
        Some(name) => scope.list(name, place)?.into_iter().map(|text| Sql::Bytes(text.into_bytes())).collect(),
        None => vec![],
    };
    let weights = match fields.list("weights")? {
        [] => vec![1.0; values.len()],
        given => given.iter().filter_map(Node::number).filter(|weight| *weight >= 0.0).collect(),
    };
    let total: f64 = weights.iter().sum();
    if values.is_empty() || weights.len() != values.len() || total <= 0.0 || !total.is_finite() {
        return Err(place
            .wrong("the choice has no weight for each of its values", "Give values, and as many weights from 0, not all 0"));
    }
    Ok(Generator::Choice { values, weights })
}

fn words(fields: &Fields, scope: &Scope) -> Result<Generator> {
    let place = &fields.place;
    let name = fields.needed_text("words")?;
    let slot = scope.reference(name, place)?.ok_or_else(|| {
        place.wrong(format!("{name:?} is no variable"), "Write words = \":name\", where :name is a number from 0 to 999")
    })?;
    let list = fields
        .get("list")
        .ok_or_else(|| place.wrong("it has no \"list\"", "Add list = [ten words]"))
        .and_then(|list| scope.list(list, place))?;
    if list.len() != 10 {
        return Err(place.wrong(format!("the list has {} words", list.len()), "Give ten, one for each digit"));
    }
    Ok(Generator::Words { slot, list })
}

fn scaled(fields: &Fields, scope: &Scope) -> Result<Source> {
    let place = &fields.place;
    let value = fields.get("value").ok_or_else(|| place.wrong("it has no value", "Write value = \":name\""))?;
    let times = field(fields, "times", scope.sizes)?;
    let modulo = field(fields, "modulo", scope.sizes)?;
    let plus = field(fields, "plus", scope.sizes)?;
    if modulo.is_some_and(|modulo| modulo < 1) {
        return Err(place.wrong("\"modulo\" is below 1", "Give a number from 1; a size may be too small"));
    }
    let slot = value.text().map_or(Ok(None), |text| scope.reference(text, &place.on(value)))?;
    match (slot, times, modulo, plus) {
        (Some(slot), None, None, None) => Ok(Source::Parameter(Parameter::Register(slot))),
        (Some(slot), None, None, Some(plus)) => Ok(Source::Parameter(Parameter::Plus(slot, plus))),
        (Some(slot), times, modulo, plus) => {
            Ok(Source::Scaled { slot, times: times.unwrap_or(1), modulo, plus: plus.unwrap_or(0) })
        }
        (None, None, None, None) => Ok(Source::Parameter(Parameter::Fixed(constant(value, place)?))),
        (None, ..) => {
            Err(place
                .wrong("\"times\", \"modulo\" and \"plus\" need a variable", "Write value = \":name\", or the result itself"))
        }
    }
}

fn null(fields: &Fields) -> Result<Source> {
    if fields.truth("null")? {
        return Ok(Source::Parameter(Parameter::Fixed(Sql::Null)));
    }
    Err(fields.place.wrong("\"null\" is false", "Write null = true, or say what the value is"))
}

/// A whole number of a size, a calculation of sizes, or a variable: how often, or how much.
///
/// # Errors
/// It is none of these.
pub fn amount(node: &Node, place: &Place, scope: &Scope) -> Result<Parameter> {
    if let Some(text) = node.text()
        && let Some(slot) = scope.reference(text, &place.on(node))?
    {
        return Ok(Parameter::Register(slot));
    }
    whole(node, scope.sizes, place).map(|number| Parameter::Fixed(Sql::Int(number)))
}

/// A condition: `{ null = ":a" }`, `{ less = [":a", 5] }`, `{ equal = [":a", "x"] }` or `{ chance = 0.1 }`.
///
/// # Errors
/// It is none of these.
pub fn test(node: &Node, place: &Place, scope: &Scope) -> Result<Test> {
    const TESTS: [Kind; 4] = [("null", &["null"]), ("less", &["less"]), ("equal", &["equal"]), ("chance", &["chance"])];
    let (fields, which) = Fields::of_kind(node, &place.at("when"), &TESTS, &[])?;
    let place = &fields.place;
    let variable = |text: Option<&str>| {
        let name = text.unwrap_or_default();
        scope
            .reference(name, place)?
            .ok_or_else(|| place.wrong(format!("{name:?} is no variable"), "A condition begins with a variable, as :name"))
    };
    let pair = |key: &str| match fields.list(key)? {
        [first, second] => Ok((variable(first.text())?, second)),
        _ => Err(place.wrong(format!("{key:?} does not compare two"), format!("Write {key} = [\":name\", value]"))),
    };
    match which {
        "null" => Ok(Test::IsNull(variable(fields.text("null")?)?)),
        "less" => {
            let (slot, other) = pair("less")?;
            Ok(Test::Less(slot, amount(other, place, scope)?))
        }
        "equal" => {
            let (slot, other) = pair("equal")?;
            match other.text().map_or(Ok(None), |text| scope.reference(text, &place.on(other)))? {
                Some(other) => Ok(Test::Equal(slot, Parameter::Register(other))),
                None => Ok(Test::Equal(slot, Parameter::Fixed(constant(other, place)?))),
            }
        }
        _ => match fields.number("chance")? {
            Some(chance) if (0.0..=1.0).contains(&chance) => Ok(Test::Chance(chance)),
            _ => Err(place.wrong("\"chance\" is no probability", "Give a number from 0 to 1, such as 0.01")),
        },
    }
}

#[cfg(test)]
mod tests;
