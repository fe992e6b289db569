//! The open statements of a connection.

use super::script::Digest;
use crate::protocol::command::Execution;
use crate::protocol::text::Template;
use crate::protocol::value::Columns;

/// How a statement is sent on a connection.
#[derive(Debug)]
pub enum Prepared {
    /// As a prepared statement, in the binary protocol.
    Binary(Execution),
    /// As text, with its parameters written into the SQL.
    Text(Template),
}

/// An open statement.
#[derive(Debug)]
pub struct Open {
    digest: Digest,
    /// The connection's use counter when the statement was last used.
    used: u64,
    /// How the statement is sent.
    pub prepared: Prepared,
    /// The columns of the statement's result.
    pub columns: Columns,
}

/// The open statements of a connection, by the digest of their text, up to a maximum number.
#[derive(Debug)]
pub struct Statements {
    most: usize,
    open: Vec<Open>,
    /// A hash table with linear probing: from digest to index in `open`. Its length is a power of 2 and at least twice the number of
    /// statements. It is compact because ten thousand connections may have one each.
    table: Vec<u32>,
    /// How often statements were used.
    uses: u64,
}

/// A free slot of the hash table.
const NONE: u32 = u32::MAX;

impl Statements {
    /// Creates an empty collection for at most `most` statements.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), open: Vec::new(), table: vec![NONE; 8], uses: 0 }
    }

    /// The index of a statement that is about to be used; None if it is not open.
    pub fn find(&mut self, digest: Digest) -> Option<usize> {
        let mask = self.table.len() - 1;
        let mut slot = digest.number() & mask;
        loop {
            // `open` has no element with the index of a free slot, so `get_mut` ends the search.
            let place = self.table[slot] as usize;
            let open = self.open.get_mut(place)?;
            if open.digest == digest {
                self.uses += 1;
                open.used = self.uses;
                return Some(place);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The statement at an index that [`find`](Self::find) or [`insert`](Self::insert) returned. [`make_room`](Self::make_room) invalidates
    /// indexes.
    pub fn at(&mut self, place: usize) -> &mut Open {
        &mut self.open[place]
    }

    /// Makes room for one more statement: removes the least recently used one if the maximum is reached. Returns the number of the prepared
    /// statement that the server has to close.
    pub fn make_room(&mut self) -> Option<u32> {
        if self.open.len() < self.most {
            return None;
        }
        let (oldest, _) = self.open.iter().enumerate().min_by_key(|(_, open)| open.used)?;
        let closed = self.open.swap_remove(oldest);
        self.rebuild_table();
        number(&closed)
    }

    /// Adds a statement and returns its index. There must be room for it.
    pub fn insert(&mut self, digest: Digest, prepared: Prepared, columns: Columns) -> usize {
        let place = self.open.len();
        self.uses += 1;
        self.open.push(Open { digest, used: self.uses, prepared, columns });
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

fn number(open: &Open) -> Option<u32> {
    match &open.prepared {
        Prepared::Binary(execution) => Some(execution.id()),
        Prepared::Text(_) => None,
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
    fn a_statement_is_found_by_its_text_until_it_is_the_least_recently_used() {
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
    fn thousands_are_found_and_what_was_closed_is_not() {
        let mut statements = Statements::new(1_000);
        let texts: Vec<String> = (0..3_000).map(|number| format!("SELECT {number}")).collect();
        for (text, id) in texts.iter().zip(0..) {
            assert_eq!(statements.find(Digest::of(text)), None);
            assert_eq!(insert(&mut statements, text, id), id.checked_sub(1_000));
        }
        let open = |text: &String| statements.find(Digest::of(text)).map(|place| number(statements.at(place)));
        let numbers: Vec<Option<Option<u32>>> = texts.iter().map(open).collect();
        assert!(numbers[..2_000].iter().all(Option::is_none));
        assert!(numbers[2_000..].iter().zip(2_000..).all(|(number, id)| *number == Some(Some(id))));
    }

    #[test]
    fn a_statement_that_is_sent_as_text_is_not_closed() {
        let mut statements = Statements::new(1);
        statements.insert(Digest::of("a"), Prepared::Text(Template::new("a")), Columns::default());
        assert_eq!((statements.numbers().count(), insert(&mut statements, "b", 7)), (0, None));
        assert_eq!(insert(&mut statements, "c", 8), Some(7));
    }
}
