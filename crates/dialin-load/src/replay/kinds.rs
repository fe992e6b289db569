//! The kinds of transactions of a capture: which tables their statements use, and how, in order.
//!
//! A kind has a name that a reader recognizes, such as `select basket, insert line, update stock`. Statements that begin or end
//! a transaction add nothing to it, and several statements in a row with the same verb and table count once.

use super::accesses::verb_and_table;
use super::planner::Piece;
use crate::capture::class::{Class, Effect};
use crate::capture::digest::Digester;
use crate::capture::set_statement::executed;
use foldhash::HashMap;

/// How many kinds are counted one by one: the most frequent ones. All others are counted together.
const MOST_KINDS: usize = 12;
/// How many kinds are told apart while a capture is read.
const MOST_COUNTED: usize = 5_000;
/// How many statements of a transaction its name shows.
const MOST_NAMED: usize = 8;
/// The name of all other kinds together.
const OTHERS: &str = "other transactions";
/// The name of a transaction of which no statement is named.
const NAMELESS: &str = "transaction";

/// What a statement adds to the kind of its transaction; None if it adds nothing.
type Label = Option<u32>;

/// The kind of a transaction, as far as its statements were added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape {
    hash: u64,
    last: Label,
}

impl Shape {
    /// Adds the next statement; returns whether it changed the kind.
    pub fn add(&mut self, label: Label) -> bool {
        let Some(number) = label.filter(|_| label != self.last) else { return false };
        self.last = label;
        // FNV-1a, by whole numbers.
        self.hash = (self.hash ^ u64::from(number + 1)).wrapping_mul(0x0000_0100_0000_01b3);
        true
    }
}

/// The kinds of a capture's transactions.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    /// By number of the digest.
    labels: Vec<Label>,
    numbers: HashMap<u64, usize>,
    /// The name of each kind and its number of transactions, the most frequent kind first; the last one may be all others.
    pub all: Vec<(String, u64)>,
}

impl Kinds {
    /// What a statement of a digest adds to the kind of its transaction.
    #[must_use]
    pub fn label(&self, digest: Option<usize>) -> Label {
        digest.and_then(|number| *self.labels.get(number)?)
    }

    /// The number of a kind.
    #[must_use]
    pub fn number(&self, shape: Shape) -> usize {
        self.numbers.get(&shape.hash).copied().unwrap_or(self.all.len().saturating_sub(1))
    }
}

/// Learns the kinds of a capture's transactions.
#[derive(Debug, Default)]
pub struct Learner {
    digester: Digester,
    /// By number of the digest; None if no statement of it was seen.
    labels: Vec<Option<Label>>,
    /// The verb and the table of each label.
    names: Vec<String>,
    by_name: HashMap<String, u32>,
    /// The open transaction of each session: its kind, and the labels that its name shows.
    open: HashMap<u64, (Shape, Vec<u32>)>,
    counted: HashMap<u64, (Vec<u32>, u64)>,
    others: u64,
}

impl Learner {
    /// Learns from the next piece of a session.
    pub fn take(&mut self, session: u64, piece: &Piece) {
        match piece {
            Piece::Begin { transaction: Some(_), .. } => {
                self.open.insert(session, (Shape::default(), Vec::new()));
            }
            Piece::Step(step) => {
                let Some(number) = step.digest.filter(|_| !step.is_added) else { return };
                let label = self.label(number, &step.sql);
                if let Some((shape, named)) = self.open.get_mut(&session)
                    && shape.add(label)
                    && named.len() <= MOST_NAMED
                {
                    named.extend(label);
                }
            }
            Piece::Finish { .. } => {
                let Some((shape, named)) = self.open.remove(&session) else { return };
                if let Some((_, transactions)) = self.counted.get_mut(&shape.hash) {
                    *transactions += 1;
                } else if self.counted.len() < MOST_COUNTED {
                    self.counted.insert(shape.hash, (named, 1));
                } else {
                    self.others += 1;
                }
            }
            _ => {}
        }
    }

    fn label(&mut self, digest: usize, sql: &[u8]) -> Label {
        if digest >= self.labels.len() {
            self.labels.resize(digest + 1, None);
        }
        if let Some(label) = self.labels[digest] {
            return label;
        }
        let (text, _) = self.digester.digest(sql);
        let belongs = matches!(Class::of(text).effect, Effect::Belongs | Effect::CommitsItself);
        let label = verb_and_table(executed(text)).filter(|_| belongs).map(|(verb, table)| {
            let words = [verb, table.unwrap_or_default()].map(String::from_utf8_lossy);
            let name = words.join(" ").trim_end().to_owned();
            let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
            *self.by_name.entry(name.clone()).or_insert_with(|| {
                self.names.push(name);
                next
            })
        });
        self.labels[digest] = Some(label);
        label
    }

    /// Returns the kinds.
    #[must_use]
    pub fn finish(self) -> Kinds {
        let Self { labels, names, counted, mut others, .. } = self;
        let name = |labels: &[u32]| -> String {
            let shown: Vec<&str> = labels.iter().take(MOST_NAMED).map(|label| names[*label as usize].as_str()).collect();
            let more = if labels.len() > MOST_NAMED { ", …" } else { "" };
            if shown.is_empty() { NAMELESS.to_owned() } else { shown.join(", ") + more }
        };
        let mut kinds: Vec<(u64, String, u64)> =
            counted.iter().map(|(hash, (labels, transactions))| (*hash, name(labels), *transactions)).collect();
        kinds.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (&a.1, a.0).cmp(&(&b.1, b.0))));
        let rare = kinds.split_off(kinds.len().min(MOST_KINDS));
        others += rare.iter().map(|(_, _, transactions)| transactions).sum::<u64>();
        let mut all: Vec<(String, u64)> = Vec::with_capacity(kinds.len() + 1);
        let mut numbers = HashMap::default();
        for (hash, name, transactions) in kinds {
            numbers.insert(hash, all.len());
            let same = all.iter().filter(|(other, _)| other.starts_with(&name)).count();
            all.push((if same > 0 { format!("{name} ({})", same + 1) } else { name }, transactions));
        }
        if others > 0 {
            all.push((OTHERS.into(), others));
        }
        Kinds { labels: labels.into_iter().map(Option::flatten).collect(), numbers, all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::format::{Reader, SessionStarts};
    use crate::replay::planner::{Begins, Planner, Prepared};
    use crate::replay::tests::{capture, statement};
    use crate::replay::timeline::Timeline;

    /// The kinds of what one session executes, and the kind of each of its transactions.
    fn kinds(statements: &[&str]) -> (Kinds, Vec<usize>) {
        let records: Vec<_> = (0..).zip(statements).map(|(at, sql)| statement(7, 10 * at, 1, sql)).collect();
        let bytes = capture(&records);
        let mut timeline = Timeline::new(Reader::open(&bytes[..]).unwrap().1, false, SessionStarts::default());
        let (mut planner, mut pieces) = (Planner::new(None, Prepared::default(), Begins::Logged), Vec::new());
        while let Some(event) = timeline.next_event().unwrap() {
            planner.take(event, &mut pieces);
        }
        let mut learner = Learner::default();
        pieces.iter().for_each(|(session, piece)| learner.take(*session, piece));
        let kinds = learner.finish();
        let (mut shape, mut numbers) = (Shape::default(), Vec::new());
        for (_, piece) in &pieces {
            match piece {
                Piece::Step(step) => {
                    shape.add(kinds.label(step.digest));
                }
                Piece::Finish { .. } => numbers.push(kinds.number(std::mem::take(&mut shape))),
                _ => {}
            }
        }
        (kinds, numbers)
    }

    #[test]
    fn a_kind_has_the_verbs_and_tables_of_its_statements_in_order() {
        let (kinds, numbers) = kinds(&[
            "BEGIN",
            "select a from shop.basket where id = 1",
            "insert into line (a) values (1)",
            "insert into line (a) values (2), (3)",
            "update `stock` set a = a - 1 where id = 2",
            "COMMIT",
            "START TRANSACTION",
            "select b from basket as c where c.id in (1, 2)",
            "insert into line (b) values (1)",
            "update stock set b = 1",
            "COMMIT",
            "delete from basket where id = 1",
            "BEGIN",
            "COMMIT",
        ]);
        let all = [("select basket, insert line, update stock", 2), ("delete basket", 1), ("transaction", 1)];
        assert_eq!(kinds.all, all.map(|(name, transactions)| (name.to_owned(), transactions)));
        assert_eq!(numbers, [0, 0, 1, 2]);
    }

    #[test]
    fn rare_kinds_are_counted_together() {
        let texts: Vec<String> = (0..30).map(|number| format!("select a from t{number}")).collect();
        let mut statements: Vec<&str> = texts.iter().map(String::as_str).collect();
        statements.extend(["select a from t29", "select b, c from t29"]);
        let (kinds, numbers) = kinds(&statements);
        assert_eq!(kinds.all.len(), MOST_KINDS + 1);
        assert_eq!((&kinds.all[0], &kinds.all[MOST_KINDS]), (&("select t29".into(), 3), &(OTHERS.into(), 18)));
        assert_eq!((numbers[29], numbers.iter().filter(|number| **number == MOST_KINDS).count()), (0, 18));
        assert_eq!(kinds.all.iter().map(|(_, transactions)| transactions).sum::<u64>(), 32);
    }

    #[test]
    fn two_kinds_never_have_the_same_name() {
        let long: Vec<String> = (0..20).map(|number| format!("update t{} set a = 1", number % 10)).collect();
        let mut statements = vec!["BEGIN"];
        statements.extend(long[..10].iter().map(String::as_str));
        statements.extend(["COMMIT", "BEGIN"]);
        statements.extend(long[..9].iter().map(String::as_str));
        statements.push("COMMIT");
        let (kinds, _) = kinds(&statements);
        assert_eq!(kinds.all.len(), 2);
        assert!(kinds.all[0].0.ends_with("update t7, …") && kinds.all[1].0 == format!("{} (2)", kinds.all[0].0), "{kinds:?}");
    }
}
