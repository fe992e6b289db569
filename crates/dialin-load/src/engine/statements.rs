//! The open statements of a connection, and how many all connections may have open together.

use super::script::Digest;
use crate::protocol::command::Execution;
use crate::protocol::text::Template;
use crate::protocol::value::Columns;
use foldhash::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a statement is sent on a connection.
#[derive(Debug)]
pub enum Prepared {
    /// As a prepared statement, in the binary protocol.
    Binary(Execution),
    /// As text, with its parameters written into the SQL.
    Text(Template),
}

/// How many prepared statements all connections of this process have open, and the most that they may have.
#[derive(Debug)]
pub struct Budget {
    most: usize,
    open: AtomicUsize,
}

/// The part of the budget that is closed at a time, so that the least recently used statements are searched for only rarely.
const CLOSED_AT_ONCE: usize = 64;

impl Budget {
    /// Creates the budget for at most `most` prepared statements.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), open: AtomicUsize::new(0) }
    }

    /// How many statements are to be closed before another one is prepared: none, or a part of all.
    #[must_use]
    pub fn excess(&self) -> usize {
        let excess = (self.open.load(Ordering::Relaxed) + 1).saturating_sub(self.most);
        if excess == 0 { 0 } else { excess.max(self.most / CLOSED_AT_ONCE) }
    }
}

/// An open statement.
#[derive(Debug)]
pub struct Open {
    digest: Digest,
    /// When the statement was last used, in nanoseconds since the load began.
    used: u64,
    /// How the statement is sent.
    pub prepared: Prepared,
    /// The columns of the statement's result.
    pub columns: Columns,
}

/// The open statements of a connection, by the digest of their text.
#[derive(Debug)]
pub struct Statements {
    budget: Arc<Budget>,
    open: Vec<Open>,
    /// A hash table with linear probing: from digest to index in `open`. Its length is a power of 2 and at least twice the number of
    /// statements. It is compact because ten thousand connections may have one each.
    table: Vec<u32>,
    /// The statements that were closed to make room for others.
    closed: HashSet<Digest>,
}

/// A free slot of the hash table.
const NONE: u32 = u32::MAX;

impl Statements {
    /// Creates an empty collection, whose prepared statements count against the budget.
    #[must_use]
    pub fn new(budget: Arc<Budget>) -> Self {
        Self { budget, open: Vec::new(), table: vec![NONE; 8], closed: HashSet::default() }
    }

    /// The index of a statement that is used now; None if it is not open.
    pub fn find(&mut self, digest: Digest, now: u64) -> Option<usize> {
        let mask = self.table.len() - 1;
        let mut slot = digest.number() & mask;
        loop {
            // `open` has no element with the index of a free slot, so `get_mut` ends the search.
            let place = self.table[slot] as usize;
            let open = self.open.get_mut(place)?;
            if open.digest == digest {
                open.used = now;
                return Some(place);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The statement at an index that [`find`](Self::find) or [`insert`](Self::insert) returned. [`evict`](Self::evict) invalidates indexes.
    pub fn at(&mut self, place: usize) -> &mut Open {
        &mut self.open[place]
    }

    /// Whether a statement was closed to make room for others, and is not open.
    #[must_use]
    pub fn was_evicted(&self, digest: Digest) -> bool {
        self.closed.contains(&digest)
    }

    /// When each prepared statement was last used.
    pub fn uses(&self) -> impl Iterator<Item = u64> {
        self.open.iter().filter(|open| number(open).is_some()).map(|open| open.used)
    }

    /// Removes the statements that were last used at this time or before. Adds the numbers of the prepared statements that the server has
    /// to close to `closing`.
    pub fn evict(&mut self, last: u64, closing: &mut Vec<u32>) {
        let before = self.open.len();
        let (closed, budget) = (&mut self.closed, &self.budget);
        self.open.retain(|open| {
            let stays = open.used > last;
            if !stays && let Some(id) = number(open) {
                budget.open.fetch_sub(1, Ordering::Relaxed);
                closed.insert(open.digest);
                closing.push(id);
            }
            stays
        });
        if self.open.len() < before {
            self.rebuild_table();
        }
    }

    /// Adds a statement that is used now, and returns its index.
    pub fn insert(&mut self, digest: Digest, prepared: Prepared, columns: Columns, now: u64) -> usize {
        let place = self.open.len();
        self.open.push(Open { digest, used: now, prepared, columns });
        if number(&self.open[place]).is_some() {
            self.budget.open.fetch_add(1, Ordering::Relaxed);
        }
        self.closed.remove(&digest);
        if 2 * self.open.len() > self.table.len() {
            self.rebuild_table();
        } else {
            self.enter(place);
        }
        place
    }

    fn rebuild_table(&mut self) {
        let length = (2 * self.open.len()).next_power_of_two().max(8);
        self.table.clear();
        self.table.resize(length, NONE);
        (0..self.open.len()).for_each(|place| self.enter(place));
    }

    #[expect(clippy::cast_possible_truncation, reason = "servers number statements by 32 bits")]
    fn enter(&mut self, place: usize) {
        let mask = self.table.len() - 1;
        let mut slot = self.open[place].digest.number() & mask;
        while self.table[slot] != NONE {
            slot = (slot + 1) & mask;
        }
        self.table[slot] = place as u32;
    }

    /// The server's numbers of all prepared statements.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.open.iter().filter_map(number)
    }
}

impl Drop for Statements {
    /// The server closes the statements of a connection that ends.
    fn drop(&mut self) {
        self.budget.open.fetch_sub(self.numbers().count(), Ordering::Relaxed);
    }
}

fn number(open: &Open) -> Option<u32> {
    match &open.prepared {
        Prepared::Binary(execution) => Some(execution.id()),
        Prepared::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(statements: &mut Statements, sql: &str, id: u32, now: u64) {
        statements.insert(Digest::of(sql), Prepared::Binary(Execution::new(id, 0)), Columns::default(), now);
    }

    fn evicted(statements: &mut Statements, last: u64) -> Vec<u32> {
        let mut closing = Vec::new();
        statements.evict(last, &mut closing);
        closing
    }

    #[test]
    fn a_statement_is_found_by_its_text_until_it_is_evicted() {
        let mut statements = Statements::new(Arc::new(Budget::new(3)));
        let find = |statements: &mut Statements, sql, now| statements.find(Digest::of(sql), now).is_some();
        (1..).zip(["a", "b", "c"]).for_each(|(id, sql)| insert(&mut statements, sql, id, u64::from(id)));
        assert!(find(&mut statements, "a", 4));
        assert_eq!(evicted(&mut statements, 2), [2]);
        assert!(!find(&mut statements, "b", 5) && find(&mut statements, "a", 6) && find(&mut statements, "c", 7));
        assert!(statements.was_evicted(Digest::of("b")) && !statements.was_evicted(Digest::of("a")));
        insert(&mut statements, "b", 9, 8);
        assert!(!statements.was_evicted(Digest::of("b")));
        assert_eq!((statements.uses().collect::<Vec<_>>(), evicted(&mut statements, 7)), (vec![6, 7, 8], vec![1, 3]));
    }

    #[test]
    fn the_budget_is_that_of_all_connections_and_what_ends_gives_its_part_back() {
        let budget = Arc::new(Budget::new(3));
        let [mut one, mut other] = [0, 1].map(|_| Statements::new(Arc::clone(&budget)));
        insert(&mut one, "a", 1, 1);
        insert(&mut one, "b", 2, 2);
        assert_eq!(budget.excess(), 0);
        insert(&mut other, "a", 1, 3);
        assert_eq!(budget.excess(), 1);
        evicted(&mut one, 1);
        assert_eq!(budget.excess(), 0);
        insert(&mut other, "b", 2, 4);
        drop(one);
        assert_eq!(budget.excess(), 0);
        assert_eq!(Budget::new(usize::MAX).excess(), 0);
        let large = Budget::new(6_400);
        large.open.store(6_400, Ordering::Relaxed);
        assert_eq!(large.excess(), 100, "many are closed at once");
    }

    #[test]
    fn thousands_are_found_and_what_was_closed_is_not() {
        let mut statements = Statements::new(Arc::new(Budget::new(9_000)));
        let texts: Vec<String> = (0..3_000).map(|number| format!("SELECT {number}")).collect();
        for (text, id) in texts.iter().zip(0..) {
            assert_eq!(statements.find(Digest::of(text), 0), None);
            insert(&mut statements, text, id, u64::from(id));
        }
        assert_eq!(evicted(&mut statements, 1_999).len(), 2_000);
        let open = |text: &String| statements.find(Digest::of(text), 0).map(|place| number(statements.at(place)));
        let numbers: Vec<Option<Option<u32>>> = texts.iter().map(open).collect();
        assert!(numbers[..2_000].iter().all(Option::is_none));
        assert!(numbers[2_000..].iter().zip(2_000..).all(|(number, id)| *number == Some(Some(id))));
    }

    #[test]
    fn a_statement_that_is_sent_as_text_is_neither_closed_nor_counted() {
        let budget = Arc::new(Budget::new(1));
        let mut statements = Statements::new(Arc::clone(&budget));
        statements.insert(Digest::of("a"), Prepared::Text(Template::new("a")), Columns::default(), 1);
        assert_eq!((statements.numbers().count(), budget.excess()), (0, 0));
        assert!(evicted(&mut statements, 1).is_empty());
    }
}
