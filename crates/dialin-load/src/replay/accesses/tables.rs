//! Which tables the statements of a digest touch, and where their texts have the values that identify rows.

use super::Does;
use crate::capture::digest::LONGEST;
use crate::sql_tokens::{is_of_name, token_at};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

/// The tables that statements of a digest touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TouchedTables {
    /// They may touch anything.
    Unknown,
    /// These tables.
    Tables(Vec<Table>),
}

/// A table that statements of a digest touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub(super) name: u64,
    pub(super) does: Does,
    pub(super) rows: Rows,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    All,
    /// The rows that satisfy these conditions. The statement has this number of values; more, if `is_exact` is false.
    Where {
        conditions: Vec<Condition>,
        values: usize,
        is_exact: bool,
    },
    /// Inserted rows, which have these columns.
    Inserted(Arc<[u64]>),
}

/// A column has one of the values between two positions, or a value between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) column: u64,
    pub(super) first: Position,
    pub(super) last: Position,
}

/// The position of a value among all values of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// This many values come before it.
    FromStart(usize),
    /// It is the last one for 1, the one before for 2.
    FromEnd(usize),
}

impl TouchedTables {
    /// Hashes of all words of a digest.
    pub fn words(digest: &[u8]) -> impl Iterator<Item = u64> {
        tokens(digest).filter(|token| is_name(token)).map(hash_of)
    }

    /// The table into which statements insert rows, and the columns that they name.
    #[must_use]
    pub fn inserts(&self) -> Option<(u64, &[u64])> {
        let Self::Tables(tables) = self else { return None };
        tables.iter().find_map(|table| match &table.does {
            Does::Insert(names) => Some((table.name, &names[..])),
            _ => None,
        })
    }

    /// The tables that statements of this digest touch.
    #[must_use]
    pub fn of(digest: &[u8]) -> Self {
        let tokens: Vec<&[u8]> = tokens(digest).collect();
        let has = |word: &[u8]| tokens.contains(&word);
        let mut tables = Vec::new();
        match tokens.first().filter(|_| digest.len() <= LONGEST) {
            Some(&b"select") => {
                let does = if has(b"update") || has(b"share") || has(b"into") { Does::Use } else { Does::Read(None) };
                if does == Does::Use || !returns_one_row(&tokens) {
                    selected(&tokens, 1, &does, &mut tables);
                }
            }
            Some(&(b"insert" | b"replace")) => {
                let Some(at) = named(&tokens) else { return Self::Unknown };
                let (names, is_understood) = inserted(&tokens, at + 1);
                let rows = if is_understood && tokens[0] == b"insert" { Rows::Inserted(Arc::clone(&names)) } else { Rows::All };
                tables.push(Table { name: hash_of(tokens[at]), does: Does::Insert(names), rows });
                selected(&tokens, at + 1, &Does::Use, &mut tables);
            }
            Some(&b"update") => {
                let Some(at) = named(&tokens).filter(|at| tokens.get(at + 1) == Some(&&b"set"[..])) else {
                    return Self::Unknown;
                };
                let from = at + 2 + depths(&tokens[at + 2..]).position(is_where).unwrap_or(tokens.len() - at - 2);
                let changed = assigned(&tokens[at + 2..from]);
                let rows = rows_of(&tokens, from, &changed, None);
                tables.push(Table { name: hash_of(tokens[at]), does: Does::Update(changed), rows });
                selected(&tokens, at + 1, &Does::Use, &mut tables);
            }
            Some(&b"delete") => {
                let Some(at) = named(&tokens).filter(|at| begins_conditions(&tokens[at + 1..])) else { return Self::Unknown };
                tables.push(Table { name: hash_of(tokens[at]), does: Does::Delete, rows: rows_of(&tokens, at + 1, &[], None) });
                selected(&tokens, at + 1, &Does::Use, &mut tables);
            }
            _ => return Self::Unknown,
        }
        Self::Tables(tables)
    }
}

/// The verb of a digest and the first table that it names, without its schema; None for an empty digest.
#[must_use]
pub fn verb_and_table(digest: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let tokens: Vec<&[u8]> = tokens(digest).filter(|token| *token != b"(").collect();
    let verb = *tokens.first()?;
    let at = match verb {
        b"insert" | b"replace" | b"update" | b"call" => named(&tokens),
        b"select" | b"delete" | b"with" | b"load" => tokens.iter().position(|token| *token == b"from").map(|from| from + 1),
        _ => tokens.iter().position(|token| *token == b"table").map(|table| table + 1),
    };
    let table = at.and_then(|at| tokens.get(at)).filter(|token| is_name(token));
    Some((verb, table.map(|name| parts(name).1)))
}

/// Whether statements of a digest change the rows of one table in which one column has a value, and no others.
#[must_use]
pub fn is_lookup(digest: &[u8]) -> bool {
    let tokens: Vec<&[u8]> = tokens(digest).collect();
    let changes_one = match tokens.first() {
        Some(&b"update") => named(&tokens).is_some_and(|at| tokens.get(at + 1) == Some(&&b"set"[..])),
        Some(&b"delete") => named(&tokens).is_some_and(|at| tokens.get(at + 1) == Some(&&b"where"[..])),
        _ => false,
    };
    changes_one
        && matches!(tokens[..], [.., b"where", column, b"=", b"?"] if is_name(column))
        && tokens.iter().filter(|token| **token == b"where").count() == 1
}

/// Whether a query returns one row whatever the tables have: an aggregate of all rows.
fn returns_one_row(tokens: &[&[u8]]) -> bool {
    let mut list = tokens[1..].iter().skip_while(|token| **token == b"(");
    let aggregates: [&[u8]; 5] = [b"count", b"sum", b"min", b"max", b"avg"];
    let others: [&[u8]; 4] = [b"group", b"having", b"union", b"over"];
    list.next().is_some_and(|first| aggregates.contains(first))
        && list.next() == Some(&&b"("[..])
        && !tokens.iter().any(|token| others.contains(token))
}

/// Adds the tables after each FROM and JOIN, from a token on.
fn selected(tokens: &[&[u8]], from: usize, does: &Does, to: &mut Vec<Table>) {
    let has = |words: &[&[u8]]| tokens.iter().any(|token| words.contains(token));
    for (at, (depth, token)) in depths(tokens).enumerate().skip(from) {
        if token != b"from" && token != b"join" {
            continue;
        }
        let does = match does {
            Does::Read(_) if has(&[b"union", b"natural"]) => Does::Read(None),
            Does::Read(_) if depth > 0 || has(&[b"group", b"having"]) => Does::Read(Some(hashes(tokens))),
            Does::Read(_) => {
                // The columns that it only returns, or sorts by, do not change the number of rows.
                let sorts = |(depth, token): (usize, &[u8])| depth == 0 && token == b"order";
                let end = depths(&tokens[at..]).position(sorts).filter(|end| tokens.get(at + end + 1) == Some(&&b"by"[..]));
                Does::Read(Some(hashes(&tokens[at..end.map_or(tokens.len(), |end| at + end)])))
            }
            other => other.clone(),
        };
        let mut rest = &tokens[at + 1..];
        let is_alone = token == b"from" && begins_conditions(rest.get(1..).unwrap_or_default());
        while let [name, behind @ ..] = rest {
            if is_name(name) {
                let of = (depth > 0).then_some(*name);
                let rows = if is_alone { rows_of(tokens, at + 2, &[], of) } else { Rows::All };
                to.push(Table { name: hash_of(name), does: does.clone(), rows });
            }
            // `a, b c, d`: another table follows a comma, which may come after an alias.
            rest = match behind {
                [b",", next @ ..] | [_, b",", next @ ..] | [b"as", _, b",", next @ ..] => next,
                _ => break,
            };
        }
    }
}

/// The hashes of all words, since any of them may be a column.
fn hashes(tokens: &[&[u8]]) -> Arc<[u64]> {
    tokens.iter().filter(|token| is_name(token)).map(|token| hash_of(token)).collect()
}

/// The columns to which a SET clause assigns values; all of its words, if it is not understood.
fn assigned(tokens: &[&[u8]]) -> Arc<[u64]> {
    let ends = depths(tokens).enumerate().filter(|(_, (depth, token))| *depth == 0 && *token == b",").map(|(at, _)| at + 1);
    let targets = std::iter::once(0).chain(ends).map(|at| match tokens.get(at..) {
        Some([name, b"=", ..]) if is_name(name) => Some(hash_of(name)),
        _ => None,
    });
    targets.collect::<Option<_>>().unwrap_or_else(|| hashes(tokens))
}

/// The position of the first table, after the verb and keywords that may come before it.
fn named(tokens: &[&[u8]]) -> Option<usize> {
    let keywords: [&[u8]; 7] = [b"low_priority", b"high_priority", b"delayed", b"quick", b"ignore", b"into", b"from"];
    let at = 1 + tokens.get(1..)?.iter().position(|token| !keywords.contains(token))?;
    is_name(tokens[at]).then_some(at)
}

/// Whether `rest`, which follows the name of a table, begins with neither an alias nor another table.
fn begins_conditions(rest: &[&[u8]]) -> bool {
    rest.first().is_none_or(|token| *token == b"where" || ends_conditions(token))
}

fn ends_conditions(token: &[u8]) -> bool {
    [&b"order"[..], b"group", b"having", b"limit", b"for", b"lock", b")"].contains(&token)
}

fn is_where((depth, token): (usize, &[u8])) -> bool {
    depth == 0 && token == b"where"
}

/// Each token with how many parentheses are open before it.
fn depths<'a>(tokens: &'a [&'a [u8]]) -> impl Iterator<Item = (usize, &'a [u8])> {
    let mut depth: usize = 0;
    tokens.iter().map(move |token| {
        let before = depth;
        match *token {
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        (before, *token)
    })
}

/// The rows that satisfy the WHERE clause that begins at a token, without conditions on columns that the statement changes. In a
/// subquery on the table `of`, a condition on a column of another table does not count.
fn rows_of(tokens: &[&[u8]], at: usize, changed: &[u64], of: Option<&[u8]>) -> Rows {
    if tokens.get(at) != Some(&&b"where"[..]) || has_alternatives(&tokens[at..]) {
        return Rows::All;
    }
    let (mut at, mut conditions) = (at + 1, Vec::new());
    loop {
        let (range, next) = match tokens[at..] {
            [_, b"=", b"?", ..] => (Some((at + 2, at + 2)), at + 3),
            [_, b"between", b"?", b"and", b"?", ..] => (Some((at + 2, at + 4)), at + 5),
            [_, b"in", b"(", b"..." | b"?", b")", ..] => (Some((at + 3, at + 3)), at + 5),
            _ => (None, at),
        };
        let is_whole = tokens.get(next).is_none_or(|token| *token == b"and" || ends_conditions(token));
        if let Some((first, last)) = range.filter(|_| is_whole && is_name(tokens[at]) && is_of(tokens[at], of)) {
            let column = hash_of(tokens[at]);
            if let Some((first, last)) = position(tokens, first, false).zip(position(tokens, last, true))
                && !changed.contains(&column)
            {
                conditions.push(Condition { column, first, last });
            }
        }
        let end = end_of_condition(tokens, if is_whole { next } else { at });
        match tokens.get(end) {
            Some(&b"and") => at = end + 1,
            _ => break,
        }
    }
    let is_exact = !tokens.contains(&&b"..."[..]);
    Rows::Where { conditions, values: tokens.iter().filter(|token| **token == b"?").count(), is_exact }
}

/// Whether a column has no qualifier, or the name of this table.
fn is_of(column: &[u8], table: Option<&[u8]>) -> bool {
    parts(column).0.zip(table).is_none_or(|(qualifier, table)| qualifier == table)
}

/// The token behind a condition that goes on at a token: AND, or what ends all conditions.
fn end_of_condition(tokens: &[&[u8]], at: usize) -> usize {
    let mut awaits_and = false;
    for (offset, (depth, token)) in depths(&tokens[at..]).enumerate() {
        match token {
            b"between" if depth == 0 => awaits_and = true,
            b"and" if depth == 0 && !std::mem::take(&mut awaits_and) => return at + offset,
            _ if depth == 0 && ends_conditions(token) => return at + offset,
            _ => {}
        }
    }
    tokens.len()
}

/// Whether something other than AND joins the conditions of a WHERE clause, or a set operation follows it.
fn has_alternatives(tokens: &[&[u8]]) -> bool {
    let words: [&[u8]; 7] = [b"or", b"xor", b"|", b"case", b"union", b"except", b"intersect"];
    let mut clause = depths(tokens).take_while(|(depth, token)| *depth > 0 || *token != b")");
    clause.any(|(depth, token)| depth == 0 && words.contains(&token))
}

/// The position of the first, or the last, value of a token. `...` stands for an unknown number of values: it is None if both before and
/// behind the token values are unknown.
fn position(tokens: &[&[u8]], at: usize, is_last: bool) -> Option<Position> {
    let count = |part: &[&[u8]]| match part.contains(&&b"..."[..]) {
        true => None,
        false => Some(part.iter().filter(|token| **token == b"?").count()),
    };
    let is_many = tokens[at] == b"...";
    if is_last && is_many {
        return count(&tokens[at + 1..]).map(|behind| Position::FromEnd(behind + 1));
    }
    count(&tokens[..at])
        .map(Position::FromStart)
        .or_else(|| count(&tokens[at + 1..]).filter(|_| !is_many).map(|behind| Position::FromEnd(behind + 1)))
}

/// The columns of `(columns) values ...`, which begins at a token, and whether the rows have no other values.
fn inserted(tokens: &[&[u8]], at: usize) -> (Arc<[u64]>, bool) {
    let close = tokens.iter().skip(at).position(|token| *token == b")").map_or(at, |close| at + close);
    let names = hashes(tokens.get(at..close).unwrap_or_default());
    let has = |word: &[u8]| tokens.contains(&word);
    let is_list = tokens.get(at) == Some(&&b"("[..]) && matches!(tokens.get(close + 1), Some(&(b"values" | b"value")));
    (names, is_list && tokens.last() == Some(&&b")"[..]) && !has(b"select") && !has(b"duplicate"))
}

fn is_name(token: &[u8]) -> bool {
    token.first().is_some_and(|first| *first == b'`' || is_of_name(*first))
}

/// The hash of a name without backticks, in lower case.
pub fn name_hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name);
    hasher.finish()
}

/// The hash of the last part of a name.
fn hash_of(name: &[u8]) -> u64 {
    name_hash(parts(name).1)
}

/// What is in front of the last dot of a name, and its last part without backticks.
fn parts(name: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let (mut begin, mut at) = (0, 0);
    while at < name.len() {
        if name[at] == b'.' {
            at += 1;
            begin = at;
        } else {
            at += token_at(&name[at..]).length;
        }
    }
    let last = &name[begin..];
    let bare = last.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(last);
    (begin.checked_sub(1).map(|dot| &name[..dot]), bare)
}

/// The words and signs of a digest. A name with its schema and table is one word; so are the dots that stand for values.
fn tokens(digest: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = digest;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let mut length = if rest.starts_with(b"...") { 3 } else { (!rest.is_empty()).then(|| token_at(rest).length)? };
        while is_name(rest) && rest.get(length) == Some(&b'.') && is_name(&rest[length + 1..]) {
            length += 1 + token_at(&rest[length + 1..]).length;
        }
        let token;
        (token, rest) = rest.split_at(length);
        Some(token)
    })
}
