//! Reads the tables of a workload file key by key, so that whatever is wrong is reported with where it stands and what to do.

use crate::errors::{Error, Result};
use std::fmt::Display;
use std::ops::Range;
use toml_edit::{ImDocument, Item, Key, TableLike, Value as Toml};

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    line: usize,
    column: usize,
}

/// A value of a file, and where it begins: at its key, or in a list by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    begins: Position,
    /// What it is.
    pub value: Value,
}

/// What a value is; a table has its keys in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Whole(i64),
    Number(f64),
    Truth(bool),
    Date,
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no TOML.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let positions = Positions::of(text);
        match ImDocument::parse(text) {
            Ok(document) => Ok(Self { begins: positions.at(None), value: positions.table(document.as_table()) }),
            Err(error) => {
                // The parser's own message spans lines and shows the text.
                let place = Place { begins: Some(positions.at(error.span())), ..Place::file(file) };
                let remedy = "Correct its TOML; a table within { } must be on one line, a list within [ ] may span several";
                Err(place.wrong(error.message().replace('\n', ", "), remedy))
            }
        }
    }

    /// The value of a key, if it is a table that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.table()?.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// A list.
    #[must_use]
    pub fn list(&self) -> Option<&[Self]> {
        if let Value::List(list) = &self.value { Some(list) } else { None }
    }

    /// A table.
    #[must_use]
    pub fn table(&self) -> Option<&[(String, Self)]> {
        if let Value::Table(entries) = &self.value { Some(entries) } else { None }
    }

    /// A list of texts.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<&str>> {
        self.list()?.iter().map(Self::text).collect()
    }

    /// A finite number, whole or not.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self.value {
            #[expect(clippy::cast_precision_loss, reason = "weights and the like are small")]
            Value::Whole(whole) => Some(whole as f64),
            Value::Number(number) => Some(number).filter(|number| number.is_finite()),
            _ => None,
        }
    }

    /// What it is, in words.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "text",
            Value::Whole(_) => "a whole number",
            Value::Number(_) => "a number",
            Value::Truth(_) => "true or false",
            Value::Date => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Makes nodes of what the parser found in a text.
struct Positions<'t> {
    text: &'t str,
    /// Where its lines begin, in bytes.
    lines: Vec<usize>,
}

impl<'t> Positions<'t> {
    fn of(text: &'t str) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(end, _)| end + 1)).collect();
        Self { text, lines }
    }

    fn at(&self, span: Option<Range<usize>>) -> Position {
        let begin = span.map_or(0, |span| span.start);
        let line = self.lines.partition_point(|line| *line <= begin);
        let before = self.text.get(self.lines[line - 1]..begin).unwrap_or_default();
        Position { line, column: before.chars().count() + 1 }
    }

    fn table(&self, table: &dyn TableLike) -> Value {
        let entry = |(key, item): (&str, &Item)| {
            let begins = self.at(table.key(key).and_then(Key::span));
            (key.to_owned(), Node { begins, value: self.item(item) })
        };
        Value::Table(table.iter().map(entry).collect())
    }

    fn item(&self, item: &Item) -> Value {
        match item {
            Item::None => Value::Table(vec![]),
            Item::Value(value) => self.value(value),
            Item::Table(table) => self.table(table),
            Item::ArrayOfTables(tables) => {
                let node = |table: &toml_edit::Table| Node { begins: self.at(table.span()), value: self.table(table) };
                Value::List(tables.iter().map(node).collect())
            }
        }
    }

    fn value(&self, value: &Toml) -> Value {
        match value {
            Toml::String(text) => Value::Text(text.value().clone()),
            Toml::Integer(whole) => Value::Whole(*whole.value()),
            Toml::Float(number) => Value::Number(*number.value()),
            Toml::Boolean(truth) => Value::Truth(*truth.value()),
            Toml::Datetime(_) => Value::Date,
            Toml::Array(list) => {
                let node = |value: &Toml| Node { begins: self.at(value.span()), value: self.value(value) };
                Value::List(list.iter().map(node).collect())
            }
            Toml::InlineTable(table) => self.table(table),
        }
    }
}

/// Where in a file something stands: "bank.toml:12:9, transaction transfer, step 3".
#[derive(Clone, Debug)]
pub struct Place {
    file: String,
    begins: Option<Position>,
    parts: String,
}

impl Place {
    /// The whole file.
    #[must_use]
    pub fn file(name: &str) -> Self {
        Self { file: name.to_owned(), begins: None, parts: String::new() }
    }

    /// A part of this place.
    #[must_use]
    pub fn at(&self, part: impl Display) -> Self {
        Self { parts: format!("{}, {part}", self.parts), ..self.clone() }
    }

    /// A value at this place.
    #[must_use]
    pub fn on(&self, node: &Node) -> Self {
        Self { begins: Some(node.begins), ..self.clone() }
    }

    /// An error of the user's at this place.
    #[must_use]
    pub fn wrong(&self, what: impl Display, remedy: impl Into<String>) -> Error {
        let begins = self.begins.map(|Position { line, column }| format!(":{line}:{column}")).unwrap_or_default();
        Error::user(format!("{}{begins}{}: {what}", self.file, self.parts), remedy)
    }
}

/// A kind of table: its name, which is also a key that it has, and all keys that it may have.
pub type Kind<'k> = (&'k str, &'k [&'k str]);

/// A table of which the keys are known.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    node: &'a Node,
    /// Where it stands.
    pub place: Place,
}

impl<'a> Fields<'a> {
    /// # Errors
    /// It is no table, or has a key that is not among `known`; the nearest known one is named.
    pub fn of(node: &'a Node, place: &Place, known: &[&str]) -> Result<Self> {
        let place = place.on(node);
        let entries = node.table().ok_or_else(|| {
            place.wrong(
                format!("expected a table, not {}", node.kind()),
                format!("Write a table with some of: {}", known.join(", ")),
            )
        })?;
        match entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            None => Ok(Self { node, place }),
            Some((unknown, value)) => Err(place.on(value).wrong(format!("unknown key {unknown:?}"), meant(unknown, known))),
        }
    }

    /// A table of one of several kinds: each has a key of its name, and may have other keys. Any kind may have the keys `extra`.
    ///
    /// # Errors
    /// It is of none of them or of several, or has a key of another kind.
    pub fn of_kind<'k>(node: &'a Node, place: &Place, kinds: &[Kind<'k>], extra: &[&str]) -> Result<(Self, &'k str)> {
        let keys_of = |which: Option<&str>| -> Vec<&str> {
            let keys = kinds.iter().filter(|(name, _)| which.is_none_or(|which| which == *name)).flat_map(|(_, keys)| *keys);
            keys.chain(extra).copied().collect()
        };
        let fields = Self::of(node, place, &keys_of(None))?;
        let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
        let found: Vec<&str> = names.iter().copied().filter(|name| node.get(name).is_some()).collect();
        match found[..] {
            [which] => {
                fields.nothing_but(&keys_of(Some(which)), which)?;
                Ok((fields, which))
            }
            [] => Err(fields.place.wrong("it does not say what it is", format!("Give one of: {}", names.join(", ")))),
            [one, other, ..] => {
                Err(fields.place_of(other).wrong(format!("it is both {one:?} and {other:?}"), "Make two of it"))
            }
        }
    }

    /// A table with a name, which becomes part of its place; before that is known, its number among the others does.
    ///
    /// # Errors
    /// As [`Fields::of`], or it has no name.
    pub fn named(node: &'a Node, place: &Place, word: &str, number: usize, known: &[&str]) -> Result<(Self, &'a str)> {
        let fields = Self::of(node, &place.at(format_args!("{word} {number}")), known)?;
        let name = fields.needed_text("name")?;
        Ok((Self { place: place.on(node).at(format_args!("{word} {name}")), ..fields }, name))
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.node.get(key)
    }

    /// Where a key stands; where it belongs if it is missing.
    #[must_use]
    pub fn place_of(&self, key: &str) -> Place {
        self.get(key).map_or_else(|| self.place.clone(), |node| self.place.on(node))
    }

    /// Text.
    ///
    /// # Errors
    /// It is something else.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.typed(key, "text", Node::text)
    }

    /// Text that must be there.
    ///
    /// # Errors
    /// It is missing, empty or something else.
    pub fn needed_text(&self, key: &str) -> Result<&'a str> {
        match self.text(key)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.place_of(key).wrong(format!("{key:?} is missing or empty"), format!("Add {key} = \"...\""))),
        }
    }

    /// A list; an empty one where the key is missing.
    ///
    /// # Errors
    /// It is something else.
    pub fn list(&self, key: &str) -> Result<&'a [Node]> {
        Ok(self.typed(key, "a list", Node::list)?.unwrap_or_default())
    }

    /// A list of texts; one text alone is a list of one.
    ///
    /// # Errors
    /// It is something else.
    pub fn texts(&self, key: &str) -> Result<Vec<&'a str>> {
        let one_or_more = |node: &'a Node| node.text().map(|text| vec![text]).or_else(|| node.texts());
        Ok(self.typed(key, "a list of texts", one_or_more)?.unwrap_or_default())
    }

    /// A table; an empty one where the key is missing.
    ///
    /// # Errors
    /// It is something else.
    pub fn table(&self, key: &str) -> Result<&'a [(String, Node)]> {
        Ok(self.typed(key, "a table", Node::table)?.unwrap_or_default())
    }

    /// True or false; false where the key is missing.
    ///
    /// # Errors
    /// It is something else.
    pub fn truth(&self, key: &str) -> Result<bool> {
        let truth = |node: &Node| if let Value::Truth(truth) = node.value { Some(truth) } else { None };
        Ok(self.typed(key, "true or false", truth)?.unwrap_or(false))
    }

    /// A finite number.
    ///
    /// # Errors
    /// It is something else.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        self.typed(key, "a number", Node::number)
    }

    /// That it has no keys but these.
    ///
    /// # Errors
    /// It has another.
    pub fn nothing_but(&self, allowed: &[&str], beside: &str) -> Result<()> {
        match self.node.table().unwrap_or_default().iter().find(|(key, _)| !allowed.contains(&key.as_str())) {
            None => Ok(()),
            Some((key, value)) => Err(self.place.on(value).wrong(
                format!("{key:?} means nothing beside {beside:?}"),
                format!("Remove it, or use it with its kind; {beside} accepts: {}", allowed.join(", ")),
            )),
        }
    }

    fn typed<T>(&self, key: &str, expected: &str, take: impl Fn(&'a Node) -> Option<T>) -> Result<Option<T>> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let mistyped = || {
            let what = format!("{key:?} is {}, not {expected}", node.kind());
            self.place.on(node).wrong(what, format!("Make it {expected}"))
        };
        take(node).map(Some).ok_or_else(mistyped)
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

    fn table(text: &str) -> Node {
        Node::parse("bank.toml", text).unwrap()
    }

    fn place() -> Place {
        Place::file("bank.toml").at("step 3")
    }

    #[test]
    fn an_unknown_key_is_told_with_its_place_and_the_nearest_known_one() {
        let error = Fields::of(&table("integer = 1\n  distibution = 1"), &place(), &["integer", "distribution"]).unwrap_err();
        assert_eq!(error.what, "bank.toml:2:3, step 3: unknown key \"distibution\"");
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
        let fields = Fields::of(&value, &place(), &["weight"]).unwrap();
        assert_eq!(fields.number("weight").unwrap_err().what, "bank.toml:1:1, step 3: \"weight\" is text, not a number");
        assert_eq!(fields.number("other").unwrap(), None);
    }

    #[test]
    fn one_text_is_a_list_of_one() {
        let value = table("keep = 'a'\nall = ['b', 'c']\nwrong = [1]");
        let fields = Fields::of(&value, &place(), &["keep", "all", "wrong"]).unwrap();
        assert_eq!(fields.texts("keep").unwrap(), ["a"]);
        assert_eq!(fields.texts("all").unwrap(), ["b", "c"]);
        assert!(fields.texts("wrong").is_err());
    }

    #[test]
    fn only_one_kind_is_taken_and_only_with_its_keys() {
        const KINDS: [Kind; 3] = [("sql", &["sql", "keep"]), ("think", &["think"]), ("end", &["end"])];
        let kind_of = |text: &str| Fields::of_kind(&table(text), &place(), &KINDS, &["when"]).map(|(_, kind)| kind);
        assert_eq!(kind_of("sql = 'DO 0'\nkeep = 'a'\nwhen = 1"), Ok("sql"));
        let both = kind_of("sql = 'DO 0'\nthink = '1ms'").unwrap_err();
        assert_eq!(both.what, "bank.toml:2:1, step 3: it is both \"sql\" and \"think\"");
        let beside = kind_of("keep = 'a'\nend = true").unwrap_err();
        assert_eq!(beside.what, "bank.toml:1:1, step 3: \"keep\" means nothing beside \"end\"");
        assert!(kind_of("keep = 'a'").unwrap_err().what.ends_with("it does not say what it is"));
        assert_eq!(kind_of("thnk = '1ms'").unwrap_err().remedy, "Did you mean \"think\"?");
    }

    #[test]
    fn infinite_numbers_are_none() {
        let value = table("a = inf\nb = 3\nc = 1.5");
        assert_eq!(["a", "b", "c"].map(|key| value.get(key).unwrap().number()), [None, Some(3.0), Some(1.5)]);
    }

    #[test]
    fn every_value_knows_where_it_begins() {
        let root = table("[a]\nb = 1\nc = { e = \"ü\", d = [1, {d = 2}] }\n[[e]]\nf = \"\"\"\nlong\"\"\"\n  [[e]]\ng.h = 1");
        let position = |keys: &[&str]| {
            let node = keys.iter().fold(&root, |node, key| match key.parse::<usize>() {
                Ok(place) => &node.list().unwrap()[place],
                Err(_) => node.get(key).unwrap(),
            });
            (node.begins.line, node.begins.column)
        };
        assert_eq!((position(&["a"]), position(&["a", "b"]), position(&["a", "c"])), ((1, 2), (2, 1), (3, 1)));
        assert_eq!((position(&["a", "c", "d"]), position(&["a", "c", "d", "1", "d"])), ((3, 16), (3, 25)));
        assert_eq!((position(&["e", "0"]), position(&["e", "1"]), position(&["e", "1", "g", "h"])), ((4, 1), (7, 3), (8, 3)));
    }
}
