//! Reads the tables of a workload file key by key, so that whatever is wrong is told with where it stands and what to do.

use crate::errors::{Error, Result};
use std::fmt::Display;
use toml::{Table, Value};

/// Where in a file something stands: "bank.toml, transaction transfer, step 3".
#[derive(Clone, Debug)]
pub struct Place(String);

impl Place {
    /// The whole file.
    #[must_use]
    pub fn file(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A part of this place.
    #[must_use]
    pub fn at(&self, part: impl Display) -> Self {
        Self(format!("{}, {part}", self.0))
    }

    /// An error of the user's at this place.
    #[must_use]
    pub fn wrong(&self, what: impl Display, remedy: impl Into<String>) -> Error {
        Error::user(format!("{}: {what}", self.0), remedy)
    }
}

/// A table of which the keys are known.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    table: &'a Table,
    /// Where it stands.
    pub place: Place,
}

impl<'a> Fields<'a> {
    /// # Errors
    /// It is no table, or has a key that is not among `known`; the nearest known one is named.
    pub fn of(value: &'a Value, place: Place, known: &[&str]) -> Result<Self> {
        let table = value.as_table().ok_or_else(|| {
            place.wrong(
                format!("{} stands where a table belongs", kind(value)),
                format!("Write a table with some of: {}", known.join(", ")),
            )
        })?;
        Self::of_table(table, place, known)
    }

    /// # Errors
    /// It has a key that is not among `known`.
    pub fn of_table(table: &'a Table, place: Place, known: &[&str]) -> Result<Self> {
        match table.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(Self { table, place }),
            Some(unknown) => Err(place.wrong(format!("unknown key {unknown:?}"), meant(unknown, known))),
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.table.get(key)
    }

    /// Whether it has the key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Text.
    ///
    /// # Errors
    /// It is something else.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.typed(key, "text", Value::as_str)
    }

    /// Text that must be there.
    ///
    /// # Errors
    /// It is missing, empty or something else.
    pub fn needed_text(&self, key: &str) -> Result<&'a str> {
        match self.text(key)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.place.wrong(format!("{key:?} is missing or empty"), format!("Add {key} = \"...\""))),
        }
    }

    /// A list; an empty one where the key is missing.
    ///
    /// # Errors
    /// It is something else.
    pub fn list(&self, key: &str) -> Result<&'a [Value]> {
        Ok(self.typed(key, "a list", Value::as_array)?.map_or(&[], Vec::as_slice))
    }

    /// A list of texts; one text alone is a list of one.
    ///
    /// # Errors
    /// It is something else.
    pub fn texts(&self, key: &str) -> Result<Vec<&'a str>> {
        match self.get(key) {
            None => Ok(vec![]),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(value) => texts(value).ok_or_else(|| self.mistyped(key, "a list of texts", value)),
        }
    }

    /// A table.
    ///
    /// # Errors
    /// It is something else.
    pub fn table(&self, key: &str) -> Result<Option<&'a Table>> {
        self.typed(key, "a table", Value::as_table)
    }

    /// True or false; false where the key is missing.
    ///
    /// # Errors
    /// It is something else.
    pub fn truth(&self, key: &str) -> Result<bool> {
        Ok(self.typed(key, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    /// A finite number.
    ///
    /// # Errors
    /// It is something else.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        self.typed(key, "a number", number)
    }

    /// The one among `kinds` that it has.
    ///
    /// # Errors
    /// It has none of them, or several.
    pub fn only<'k>(&self, kinds: &[&'k str]) -> Result<&'k str> {
        let found: Vec<&str> = kinds.iter().copied().filter(|kind| self.has(kind)).collect();
        match found[..] {
            [one] => Ok(one),
            [] => Err(self.place.wrong("it does not say what it is", format!("Give one of: {}", kinds.join(", ")))),
            [one, other, ..] => Err(self.place.wrong(format!("it is both {one:?} and {other:?}"), "Make two of it")),
        }
    }

    /// That it has no keys but these.
    ///
    /// # Errors
    /// It has another.
    pub fn nothing_but(&self, allowed: &[&str], beside: &str) -> Result<()> {
        match self.table.keys().find(|key| !allowed.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(self.place.wrong(
                format!("{key:?} means nothing beside {beside:?}"),
                format!("Take it away, or use it with its own kind; {beside} takes: {}", allowed.join(", ")),
            )),
        }
    }

    /// The error of a key whose value is of another type than it should be.
    #[must_use]
    pub fn mistyped(&self, key: &str, expected: &str, value: &Value) -> Error {
        self.place.wrong(format!("{key:?} is {}, not {expected}", kind(value)), format!("Make it {expected}"))
    }

    fn typed<T>(&self, key: &str, expected: &str, take: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => take(value).map(Some).ok_or_else(|| self.mistyped(key, expected, value)),
        }
    }
}

/// A finite number, whole or not.
#[must_use]
pub fn number(value: &Value) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "weights and the like are small")]
    let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
    number.is_finite().then_some(number)
}

/// A list of texts.
#[must_use]
pub fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// What a value is, in words.
#[must_use]
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// The remedy for an unknown name: the nearest one that is known, or all of them.
#[must_use]
pub fn meant(unknown: &str, known: &[&str]) -> String {
    let likeness = |name: &&&str| strsim::normalized_damerau_levenshtein(unknown, name);
    match known.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other))) {
        Some(nearest) if likeness(&nearest) > 0.6 => format!("Did you mean {nearest:?}?"),
        Some(_) => format!("There are: {}", known.join(", ")),
        None => "There is none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Value {
        Value::Table(text.parse().unwrap())
    }

    fn place() -> Place {
        Place::file("bank.toml").at("step 3")
    }

    #[test]
    fn an_unknown_key_is_told_with_its_place_and_the_nearest_known_one() {
        let error = Fields::of(&table("distibution = 1"), place(), &["integer", "distribution"]).unwrap_err();
        assert_eq!(error.what, "bank.toml, step 3: unknown key \"distibution\"");
        assert_eq!(error.remedy, "Did you mean \"distribution\"?");
    }

    #[test]
    fn a_name_like_none_is_told_all_that_there_are() {
        assert_eq!(meant("zzz", &["sql", "let"]), "There are: sql, let");
        assert_eq!(meant("zzz", &[]), "There is none");
    }

    #[test]
    fn a_value_of_another_type_is_told_by_both_types() {
        let value = table("weight = 'much'");
        let fields = Fields::of(&value, place(), &["weight"]).unwrap();
        assert_eq!(fields.number("weight").unwrap_err().what, "bank.toml, step 3: \"weight\" is text, not a number");
        assert_eq!(fields.number("other").unwrap(), None);
    }

    #[test]
    fn one_text_is_a_list_of_one() {
        let value = table("keep = 'a'\nall = ['b', 'c']\nwrong = [1]");
        let fields = Fields::of(&value, place(), &["keep", "all", "wrong"]).unwrap();
        assert_eq!(fields.texts("keep").unwrap(), ["a"]);
        assert_eq!(fields.texts("all").unwrap(), ["b", "c"]);
        assert!(fields.texts("wrong").is_err());
    }

    #[test]
    fn only_one_kind_is_taken() {
        let value = table("sql = 'DO 0'\nthink = '1ms'");
        let fields = Fields::of(&value, place(), &["sql", "think", "end"]).unwrap();
        assert!(fields.only(&["sql", "think"]).unwrap_err().what.ends_with("it is both \"sql\" and \"think\""));
        assert!(fields.only(&["end"]).is_err());
        assert_eq!(fields.only(&["end", "sql"]).unwrap(), "sql");
    }

    #[test]
    fn infinite_numbers_are_none() {
        assert_eq!(number(&Value::Float(f64::INFINITY)), None);
        assert_eq!(number(&Value::Integer(3)), Some(3.0));
    }
}
