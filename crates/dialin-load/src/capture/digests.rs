//! The digests of a capture, and the totals of the statements of each.

use super::class::{Class, Obstacle};
use super::digest::{Digester, Findings};
use super::entry::Figures;
use super::outline::outline;
use foldhash::HashMap;

/// The maximum number of digests.
const MAX_DIGESTS: usize = 20_000;
/// The maximum number of outlines whose digests are remembered.
const MAX_OUTLINES: usize = 4_096;
/// Replaces the digest of a statement about accounts, whose words may be user data.
const ACCOUNT: &[u8] = b"(a statement about accounts, dropped)";
/// Replaces the digest of a statement with an open quote, whose words may be user data.
const OPEN: &[u8] = b"(a statement with an open quote)";
/// Replaces all digests beyond [`MAX_DIGESTS`].
const OTHERS: &[u8] = b"(other statements)";

/// Totals of the statements of a digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// Number of statements.
    pub(super) statements: u64,
    /// Number of statements between the two readings of the server's counters, without those that the server does not count.
    pub(super) counted: u64,
    pub(super) prepared: u64,
    pub(super) failed: u64,
    /// Total duration.
    pub(super) microseconds: Option<i64>,
    pub(super) rows_sent: Option<u64>,
    pub(super) rows_examined: Option<u64>,
    /// How many statements the server counted.
    pub(super) server: u64,
}

impl Sums {
    pub(super) fn add(&mut self, figures: &Figures, is_prepared: bool) {
        self.statements += 1;
        self.prepared += u64::from(is_prepared);
        self.failed += u64::from(figures.error.is_some_and(|error| error > 0));
        add(&mut self.microseconds, figures.duration);
        add(&mut self.rows_sent, figures.rows_sent);
        add(&mut self.rows_examined, figures.rows_examined);
    }
}

fn add<T: Copy + Default + std::ops::Add<Output = T>>(sum: &mut Option<T>, value: Option<T>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or_default() + value);
    }
}

/// A digest.
#[derive(Clone, Debug)]
pub(super) struct Digest {
    pub(super) text: Vec<u8>,
    pub(super) class: Class,
    pub(super) sums: Sums,
}

/// All digests, by number.
#[derive(Debug, Default)]
pub(super) struct Digests {
    digester: Digester,
    /// The outline of the last statement, and what was found for earlier ones.
    outline: Vec<u8>,
    of_outlines: HashMap<Vec<u8>, (u32, Class)>,
    numbers: HashMap<Vec<u8>, u32>,
    all: Vec<Digest>,
}

impl Digests {
    /// The number of a statement's digest, and the class of the statement.
    pub(super) fn of(&mut self, sql: &[u8]) -> (u32, Class) {
        if !outline(sql, &mut self.outline) {
            return self.find(sql);
        }
        if let Some(found) = self.of_outlines.get(&self.outline) {
            return *found;
        }
        let found = self.find(sql);
        if self.of_outlines.len() == MAX_OUTLINES {
            self.of_outlines.clear();
        }
        self.of_outlines.insert(self.outline.clone(), found);
        found
    }

    fn find(&mut self, sql: &[u8]) -> (u32, Class) {
        let (words, findings) = self.digester.digest(sql);
        let (text, obstacle) = match findings {
            Findings { about_accounts: true, .. } => (ACCOUNT, Some(Obstacle::Account)),
            Findings { is_open: true, .. } => (OPEN, Some(Obstacle::OpenQuote)),
            _ => (words, None),
        };
        if let Some(number) = self.numbers.get(text) {
            return (*number, self.all[*number as usize].class);
        }
        let class = match obstacle {
            Some(_) => Class { obstacle, ..Class::of(words) },
            None => Class::of(words),
        };
        let text = if self.all.len() < MAX_DIGESTS { text } else { OTHERS };
        if let Some(number) = self.numbers.get(text) {
            return (*number, class);
        }
        let (number, text) = (self.all.len() as u32, text.to_vec());
        self.numbers.insert(text.clone(), number);
        self.all.push(Digest { text, class, sums: Sums::default() });
        (number, class)
    }

    pub(super) fn sums(&mut self, number: u32) -> &mut Sums {
        &mut self.all[number as usize].sums
    }

    pub(super) fn all(&self) -> &[Digest] {
        &self.all
    }
}
