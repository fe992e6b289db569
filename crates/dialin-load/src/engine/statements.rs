//! The statements that are open on a connection.

use super::script::Digest;
use crate::protocol::command::Execution;
use crate::protocol::text::Template;
use crate::protocol::value::Columns;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// How a statement is sent on a connection.
#[derive(Debug)]
pub enum Prepared {
    /// Prepared, in the binary protocol.
    Binary(Execution),
    /// As text.
    Text(Template),
}

/// A statement that is open.
#[derive(Debug)]
pub struct Open {
    digest: Digest,
    /// When it was last used, as the connection counts.
    used: u64,
    /// How it is sent.
    pub prepared: Prepared,
    /// The columns of its result.
    pub columns: Columns,
}

/// The statements of a connection by the digest of their text, at most so many.
#[derive(Debug)]
pub struct Statements {
    most: usize,
    open: Vec<Open>,
    places: HashMap<Digest, usize, BuildHasherDefault<DigestHasher>>,
    uses: u64,
}

impl Statements {
    /// None yet, and `most` at the most.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), open: Vec::new(), places: HashMap::default(), uses: 0 }
    }

    /// The place of a statement that is about to be used; None where it is not open.
    pub fn find(&mut self, digest: Digest) -> Option<usize> {
        let place = *self.places.get(&digest)?;
        self.uses += 1;
        self.open[place].used = self.uses;
        Some(place)
    }

    /// The statement at a place that [`find`](Self::find) or [`insert`](Self::insert) returned last.
    pub fn at(&mut self, place: usize) -> &mut Open {
        &mut self.open[place]
    }

    /// Make room for one more; return the number of the prepared statement that the server has to close for it.
    pub fn make_room(&mut self) -> Option<u32> {
        if self.open.len() < self.most {
            return None;
        }
        let (oldest, _) = self.open.iter().enumerate().min_by_key(|(_, open)| open.used)?;
        let closed = self.open.swap_remove(oldest);
        self.places.remove(&closed.digest);
        if let Some(moved) = self.open.get(oldest) {
            self.places.insert(moved.digest, oldest);
        }
        number(&closed)
    }

    /// Add a statement, for which there is room; return its place.
    pub fn insert(&mut self, digest: Digest, prepared: Prepared, columns: Columns) -> usize {
        let place = self.open.len();
        self.uses += 1;
        self.open.push(Open { digest, used: self.uses, prepared, columns });
        self.places.insert(digest, place);
        place
    }

    /// The numbers of all that are prepared.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.open.iter().filter_map(number)
    }
}

fn number(open: &Open) -> Option<u32> {
    match &open.prepared {
        Prepared::Binary(execution) => Some(execution.id()),
        Prepared::Text(_) => None,
    }
}

/// Takes the lower half of a digest, which is as good as random.
#[derive(Debug, Default)]
struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    fn write_u128(&mut self, digest: u128) {
        self.0 = digest as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(statements: &mut Statements, sql: &str, id: u32) -> Option<u32> {
        let closed = statements.make_room();
        statements.insert(Digest::of(sql), Prepared::Binary(Execution::new(id, 0)), Columns::default());
        closed
    }

    #[test]
    fn a_statement_is_known_by_its_text_until_it_was_not_used_for_longest() {
        let mut statements = Statements::new(3);
        let find = |statements: &mut Statements, sql| statements.find(Digest::of(sql)).map(|place| statements.at(place).used);
        assert_eq!([("a", 1), ("b", 2), ("c", 3)].map(|(sql, id)| insert(&mut statements, sql, id)), [None; 3]);
        assert!(find(&mut statements, "a").is_some());
        assert_eq!(insert(&mut statements, "d", 4), Some(2));
        assert_eq!(find(&mut statements, "b"), None);
        assert!(["a", "c", "d"].iter().all(|sql| find(&mut statements, sql).is_some()));
        assert_eq!(insert(&mut statements, "e", 5), Some(1));
        let mut numbers: Vec<u32> = statements.numbers().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [3, 4, 5]);
    }

    #[test]
    fn a_statement_that_is_sent_as_text_needs_not_be_closed() {
        let mut statements = Statements::new(1);
        statements.insert(Digest::of("a"), Prepared::Text(Template::new("a")), Columns::default());
        assert_eq!((statements.numbers().count(), insert(&mut statements, "b", 7)), (0, None));
        assert_eq!(insert(&mut statements, "c", 8), Some(7));
    }
}
