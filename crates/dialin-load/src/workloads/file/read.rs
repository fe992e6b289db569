//! Parses a workload file piece by piece. serde reports what is wrong with a piece; the piece has its position in the file.

use crate::errors::{Error, Result};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;
use toml_edit::{ImDocument, InlineTable, Item, TableLike, Value};

/// The remedy for a piece that serde refuses; the message of serde says what it expected.
const MANUAL: &str = "Correct it: docs/workload-files.md has the keys and values that belong there";

/// A value of a file, with its place.
#[derive(Clone, Debug)]
pub struct Piece {
    item: Item,
    /// The place where it begins: that of its key, or in a list, of the value itself.
    pub place: Place,
}

impl Piece {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// It is not valid TOML.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let place = Place { file: Arc::new((file.to_owned(), text.to_owned())), begins: None, parts: String::new() };
        match ImDocument::parse(text) {
            Ok(document) => Ok(Self { item: document.as_item().clone(), place }),
            Err(error) => {
                // The parser's own message spans lines and shows the text.
                let remedy = "Correct its TOML; a table within { } must be on one line, a list within [ ] may span several";
                Err(place.on(error.span().or(Some(0..0))).wrong(error.message().replace('\n', ", "), remedy))
            }
        }
    }

    /// The value as a `T`.
    ///
    /// # Errors
    /// It is not a valid `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        let Ok(value) = self.item.clone().into_value() else { return Err(self.place.wrong("it has no value", MANUAL)) };
        T::deserialize(value.into_deserializer())
            .map_err(|error| self.place.on(error.span()).wrong(error.message().replace('\n', ", "), remedy(error.message())))
    }

    /// The table as the variant `kind` of the enum `T`.
    ///
    /// # Errors
    /// A key or a value is not valid for this kind.
    pub fn read_as<T: DeserializeOwned>(&self, kind: &str) -> Result<T> {
        let table = InlineTable::from_iter([(kind, self.item.clone().into_value().unwrap_or(Value::from("")))]);
        Self { item: Item::Value(Value::InlineTable(table)), place: self.place.clone() }.read()
    }

    /// The same piece, with a part appended to its place.
    #[must_use]
    pub fn at(mut self, part: impl Display) -> Self {
        self.place = self.place.at(part);
        self
    }

    /// The value of a key; None if this is not a table with that key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Self> {
        let table = self.item.as_table_like()?;
        Some(self.part(table.get(key)?, table.key(key)?.span()))
    }

    /// The place of a key; that of the table if the key is missing.
    #[must_use]
    pub fn place_of(&self, key: &str) -> Place {
        self.get(key).map_or_else(|| self.place.clone(), |value| value.place)
    }

    /// The keys of a table with their values, in their order.
    ///
    /// # Errors
    /// It is not a table.
    pub fn entries(&self) -> Result<Vec<(String, Self)>> {
        let keys = self.table()?.iter().map(|(key, _)| key.to_owned());
        Ok(keys.filter_map(|key| self.get(&key).map(|value| (key, value))).collect())
    }

    /// The keys and values of the table under a key; none if the key is missing.
    ///
    /// # Errors
    /// It is not a table.
    pub fn entries_of(&self, key: &str) -> Result<Vec<(String, Self)>> {
        self.get(key).map_or(Ok(vec![]), |table| table.entries())
    }

    /// The elements of a list; None if it is not a list.
    #[must_use]
    pub fn list(&self) -> Option<Vec<Self>> {
        let items: Vec<Item> = match &self.item {
            Item::Value(Value::Array(list)) => list.iter().cloned().map(Item::Value).collect(),
            Item::ArrayOfTables(list) => list.iter().cloned().map(Item::Table).collect(),
            _ => return None,
        };
        Some(items.iter().map(|item| self.part(item, item.span())).collect())
    }

    /// The elements of the list under a key; none if the key is missing.
    ///
    /// # Errors
    /// It is not a list.
    pub fn list_of(&self, key: &str) -> Result<Vec<Self>> {
        let Some(value) = self.get(key) else { return Ok(vec![]) };
        let what = || value.place.wrong(format!("{key:?} is not a list, but {}", value.item.type_name()), "Make it a list");
        value.list().ok_or_else(what)
    }

    /// Whether it is a table.
    #[must_use]
    pub fn is_table(&self) -> bool {
        self.item.is_table_like()
    }

    /// The kind of a table: the one of `kinds` that is a key of the table.
    ///
    /// # Errors
    /// The table has none of these keys, or several.
    pub fn kind<'k>(&self, kinds: &[&'k str]) -> Result<&'k str> {
        let table = self.table()?;
        let present: Vec<&str> = kinds.iter().copied().filter(|kind| table.contains_key(kind)).collect();
        match present[..] {
            [kind] => Ok(kind),
            [one, other, ..] => Err(self.place_of(other).wrong(format!("it is both {one:?} and {other:?}"), "Split it in two")),
            [] => match table.iter().find(|(key, _)| nearest(key, kinds).is_some()) {
                Some((key, _)) => Err(self.place_of(key).wrong(format!("unknown key {key:?}"), meant(key, kinds))),
                None => Err(self.place.wrong("it does not say what it is", format!("Give one of: {}", kinds.join(", ")))),
            },
        }
    }

    /// The same table without a key.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        let mut rest = self.clone();
        if let Some(table) = rest.item.as_table_like_mut() {
            table.remove(key);
        }
        rest
    }

    fn table(&self) -> Result<&dyn TableLike> {
        let wrong = || self.place.wrong(format!("expected a table, not {}", self.item.type_name()), MANUAL);
        self.item.as_table_like().ok_or_else(wrong)
    }

    fn part(&self, item: &Item, span: Option<Range<usize>>) -> Self {
        Self { item: item.clone(), place: self.place.on(span) }
    }
}

/// One text, or a list of them.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected text, or a list of texts")]
pub enum Texts {
    One(String),
    Several(Vec<String>),
}

impl Texts {
    /// All of them.
    #[must_use]
    pub fn all(self) -> Vec<String> {
        match self {
            Texts::One(text) => vec![text],
            Texts::Several(texts) => texts,
        }
    }
}

/// A place in a file, as error messages show it: "bank.toml:12:9, transaction transfer, step 3".
#[derive(Clone, Debug)]
pub struct Place {
    /// The name of the file, and its text.
    file: Arc<(String, String)>,
    /// The offset in bytes where it begins; None for the file as a whole.
    begins: Option<usize>,
    parts: String,
}

impl Place {
    /// A part of this place.
    #[must_use]
    pub fn at(&self, part: impl Display) -> Self {
        Self { parts: format!("{}, {part}", self.parts), ..self.clone() }
    }

    /// This place, but beginning at the start of `span`; unchanged without a span.
    #[must_use]
    fn on(&self, span: Option<Range<usize>>) -> Self {
        Self { begins: span.map(|span| span.start).or(self.begins), ..self.clone() }
    }

    /// A user error at this place.
    #[must_use]
    pub fn wrong(&self, what: impl Display, remedy: impl Into<String>) -> Error {
        let (file, text) = &*self.file;
        let position = self.begins.and_then(|begins| text.get(..begins)).map(|before| {
            let line = before.rsplit('\n').next().unwrap_or_default();
            format!(":{}:{}", before.matches('\n').count() + 1, line.chars().count() + 1)
        });
        Error::user(format!("{file}{}{}: {what}", position.unwrap_or_default(), self.parts), remedy)
    }
}

/// The remedy for an error of serde: for an unknown key, the most similar one of the known keys that the message quotes.
fn remedy(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown field").then(|| names.next()).flatten();
    let nearest = unknown.and_then(|unknown| nearest(unknown, &names.collect::<Vec<_>>()));
    nearest.map_or_else(|| MANUAL.to_owned(), |name| format!("Did you mean {name:?}?"))
}

/// The remedy for an unknown name: the most similar known name, or a list of all.
#[must_use]
pub fn meant(unknown: &str, known: &[&str]) -> String {
    match nearest(unknown, known) {
        Some(nearest) => format!("Did you mean {nearest:?}?"),
        None if known.is_empty() => "There is none".to_owned(),
        None => format!("There are: {}", known.join(", ")),
    }
}

fn nearest<'k>(unknown: &str, known: &[&'k str]) -> Option<&'k str> {
    let likeness = |name: &&str| strsim::normalized_damerau_levenshtein(unknown, name);
    let nearest = known.iter().copied().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    nearest.filter(|name| likeness(name) > 0.6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece {
        Piece::parse("bank.toml", text).unwrap().at("step 3")
    }

    #[test]
    fn an_error_of_serde_has_its_place() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only its errors are looked at")]
        struct Step {
            weight: f64,
            keep: Option<Texts>,
        }
        let what = |text: &str| piece(text).read::<Step>().unwrap_err().what;
        assert_eq!(what("weight = 1\n  wait = 1"), "bank.toml:2:3, step 3: unknown field `wait`, expected `weight` or `keep`");
        let remedy = |text: &str| piece(text).read::<Step>().unwrap_err().remedy;
        assert_eq!(remedy("wieght = 1"), "Did you mean \"weight\"?");
        assert_eq!(remedy("wait = 1"), MANUAL);
        assert_eq!(what("weight = 'ü'"), "bank.toml:1:10, step 3: invalid type: string \"ü\", expected f64");
        assert_eq!(what("weight = 1\nkeep = 5"), "bank.toml:2:8, step 3: expected text, or a list of texts");
        assert!(what("keep = 'a'").ends_with("missing field `weight`"));
    }

    #[test]
    fn only_one_kind_is_taken() {
        let kind_of = |text: &str| piece(text).kind(&["sql", "think", "end"]);
        assert_eq!(kind_of("keep = 'a'\nsql = 'DO 0'"), Ok("sql"));
        assert_eq!(
            kind_of("sql = 'DO 0'\nthink = '1ms'").unwrap_err().what,
            "bank.toml:2:1, step 3: it is both \"sql\" and \"think\""
        );
        assert!(kind_of("keep = 'a'").unwrap_err().what.ends_with("it does not say what it is"));
        let misspelt = kind_of("keep = 'a'\nthnk = '1ms'").unwrap_err();
        assert_eq!(misspelt.what, "bank.toml:2:1, step 3: unknown key \"thnk\"");
        assert_eq!(misspelt.remedy, "Did you mean \"think\"?");
    }

    #[test]
    fn a_name_unlike_all_others_gets_a_list_of_them() {
        assert_eq!(meant("zzz", &["sql", "let"]), "There are: sql, let");
        assert_eq!(meant("zzz", &[]), "There is none");
    }

    #[test]
    fn every_value_knows_where_it_begins() {
        let root = Piece::parse(
            "bank.toml",
            "[a]\nb = 1\nc = { e = \"ü\", d = [1, {d = 2}] }\n[[e]]\nf = \"\"\"\nlong\"\"\"\n  [[e]]\ng.h = 1",
        );
        let position = |keys: &[&str]| {
            let found = keys.iter().fold(root.clone().unwrap(), |piece, key| match key.parse::<usize>() {
                Ok(number) => piece.list().unwrap()[number].clone(),
                Err(_) => piece.get(key).unwrap(),
            });
            found.place.wrong("", "").what
        };
        for (keys, expected) in [
            (&["a"][..], "1:2"),
            (&["a", "b"], "2:1"),
            (&["a", "c"], "3:1"),
            (&["a", "c", "d"], "3:16"),
            (&["a", "c", "d", "1", "d"], "3:25"),
            (&["e", "0"], "4:1"),
            (&["e", "1"], "7:3"),
            (&["e", "1", "g", "h"], "8:3"),
        ] {
            assert_eq!(position(keys), format!("bank.toml:{expected}: "), "{keys:?}");
        }
    }
}
