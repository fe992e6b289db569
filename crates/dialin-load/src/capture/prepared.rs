//! Which statements of a session were executed as prepared statements, in logs that do not say so.
//!
//! Such a log has the command that prepares a statement without its text. What a session executes after it and has not
//! executed before is taken for that statement. Applications prepare a statement right before they execute it, or all of
//! theirs at first.

use foldhash::HashSet;

/// A session's prepared statements of which the digests are remembered at most.
const MOST: usize = 1_000;

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub(super) struct PreparedStatements {
    /// Their digests, as far as they are known.
    digests: HashSet<u32>,
    /// How many commands prepared a statement that was not executed since.
    waiting: usize,
    /// Whether the last command prepared a statement.
    was_last: bool,
    /// Whether any command prepared a statement.
    pub(super) are_any: bool,
}

impl PreparedStatements {
    /// Process the command that prepares a statement.
    pub(super) fn prepare(&mut self) {
        self.waiting = if self.was_last { self.waiting + 1 } else { 1 };
        (self.was_last, self.are_any) = (true, true);
    }

    /// Process the command that closes a statement.
    pub(super) fn close(&mut self) {
        (self.waiting, self.was_last) = (0, false);
    }

    /// Process a statement of a digest. Return true if it was executed as a prepared statement; None if that is unknown.
    pub(super) fn execute(&mut self, digest: u32) -> Option<bool> {
        self.was_last = false;
        if !self.digests.contains(&digest) {
            if self.waiting == 0 || self.digests.len() == MOST {
                return None;
            }
            self.waiting -= 1;
            self.digests.insert(digest);
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the digests were prepared; `p` prepares a statement and `c` closes one.
    fn prepared(events: &str) -> String {
        let mut all = PreparedStatements::default();
        let was_prepared = |event: &char| match event {
            'p' => {
                all.prepare();
                false
            }
            'c' => {
                all.close();
                false
            }
            digest => all.execute(u32::from(*digest)) == Some(true),
        };
        events.chars().filter(|event| *event != ' ').filter(was_prepared).collect()
    }

    #[test]
    fn what_a_session_executes_after_it_prepared_a_statement_is_that_statement() {
        for (events, expected) in [
            ("A B A", ""),
            ("p A B A p C C B", "A A C C"),
            ("p p p A A A B A C D", "A A A B A C"),
            // Each execution is prepared, and its statement closed.
            ("B p A c B p A c B", "A A"),
            // A statement that is never executed stands for no later one.
            ("p p A p B C", "A B"),
        ] {
            assert_eq!(prepared(events), expected.replace(' ', ""), "{events}");
        }
    }

    #[test]
    fn the_digests_of_a_session_are_limited() {
        let mut all = PreparedStatements::default();
        let mut execute = |digest| {
            all.prepare();
            all.execute(digest)
        };
        assert!((0..MOST as u32).all(|digest| execute(digest) == Some(true)));
        assert_eq!([MOST as u32, 0].map(execute), [None, Some(true)]);
    }
}
