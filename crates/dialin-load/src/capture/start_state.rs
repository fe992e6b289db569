//! Finds out whether autocommit was on when the log of a session began.
//!
//! Connection pools switch autocommit off when they open a connection, often long before the log begins. A COMMIT or ROLLBACK that no
//! BEGIN comes before, but changes do, shows that: with autocommit on, it would end nothing. One alone may be the end of a transaction in
//! whose middle the log began; a second one, or the end of the log, decides.

use super::class::{Class, Effect};
use super::format::SessionStarts;
use super::session_state::Start;
use super::set_statement::SetStatement;
use super::summary::Autocommit;
use std::collections::BTreeMap;

/// What a session did until it is known how it began.
#[derive(Debug)]
pub(super) struct Undecided<P> {
    /// Its statements.
    pub(super) past: Vec<P>,
    /// Whether it changed or locked rows since its last COMMIT or ROLLBACK.
    has_changes: bool,
    /// Whether a COMMIT or ROLLBACK ended changes that no BEGIN comes before.
    has_ended: bool,
}

impl<P> Default for Undecided<P> {
    fn default() -> Self {
        Self { past: Vec::new(), has_changes: false, has_ended: false }
    }
}

impl<P> Undecided<P> {
    /// How the session began, if its next statement shows that.
    pub(super) fn decide(&mut self, class: Class, set: SetStatement) -> Option<Start> {
        if class.obstacle.is_some() {
            return None;
        }
        let (or_on, or_open) = if self.has_ended { (Start::Off, Start::InTransaction) } else { (Start::On, Start::On) };
        match class.effect {
            Effect::Begins => return Some(or_open),
            Effect::Sets => {
                let turns_on = set.autocommit?;
                // Nobody switches on what is on.
                return Some(if turns_on && self.has_changes { Start::Off } else { or_on });
            }
            Effect::Commits(_) | Effect::RollsBack(_) if self.has_changes => {
                self.has_changes = false;
                if std::mem::replace(&mut self.has_ended, true) {
                    return Some(Start::Off);
                }
            }
            Effect::CommitsItself => self.has_changes = false,
            Effect::Belongs => self.has_changes |= class.changes,
            _ => {}
        }
        None
    }

    /// How the session began if it has no further statement; None if its statements do not show that.
    pub(super) fn at_end(&self) -> Option<Start> {
        self.has_ended.then_some(Start::Off)
    }
}

/// What a server said about a session that was there before the log.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// How it began; None if the server did not say it.
    pub(super) start: Option<Start>,
    /// The statements that set what else it began with.
    pub(super) sets: Vec<String>,
}

/// How the sessions of a capture began, and how that is known.
#[derive(Debug, Default)]
pub struct Starts {
    /// The sessions that were there before the log, by their numbers; None if the server was not asked.
    by_server: Option<BTreeMap<u64, Known>>,
    /// How a session begins, and how it is after a reset.
    pub(super) default: Start,
    /// How all sessions began of which neither the log nor the server says it; None to infer it from their statements.
    pub decided: Option<Start>,
    /// The sessions that began otherwise than with autocommit on, by their place in the capture.
    others: BTreeMap<u64, Start>,
    /// The statements that set what else sessions began with, by their place.
    sets: BTreeMap<u64, Vec<String>>,
    /// How many sessions there are of each kind.
    counts: Autocommit,
}

impl Starts {
    /// What a server said about the sessions that were there before the log, and about sessions that begin later.
    pub(super) fn of_server(sessions: BTreeMap<u64, Known>, default: Start) -> Self {
        Self { by_server: Some(sessions), default, ..Self::default() }
    }

    /// How a session began whose beginning is not in the log, and that has this place in the capture; None if that has to be inferred.
    pub(super) fn of(&mut self, thread: u64, place: u64) -> Option<Start> {
        let default = Known { start: Some(self.default), sets: vec![] };
        let known = self.by_server.as_mut().map(|known| known.remove(&thread).unwrap_or(default)).unwrap_or_default();
        if !known.sets.is_empty() {
            self.sets.insert(place, known.sets);
        }
        let start = known.start.or(self.decided);
        self.counts.known += u64::from(start.is_some());
        start
    }

    /// Record how the session began that has this place in the capture.
    pub(super) fn note(&mut self, place: u64, start: Start) {
        self.counts.off += u64::from(start == Start::Off);
        if start != Start::On {
            self.others.insert(place, start);
        }
    }

    /// Count a session of which the log shows how it began.
    pub(super) fn count_begun(&mut self) {
        self.counts.known += 1;
    }

    /// Count a session whose statements show how it began.
    pub(super) fn count_inferred(&mut self, start: Start) {
        *(if start == Start::Off { &mut self.counts.inferred_off } else { &mut self.counts.inferred_on }) += 1;
    }

    /// Count a session of which nothing shows how it began.
    pub(super) fn count_unknown(&mut self) {
        self.counts.unknown += 1;
    }

    /// Count a statement of such a session that is a transaction by itself, unless autocommit was off.
    pub(super) fn count_unknown_statement(&mut self, changes: bool) {
        self.counts.unknown_statements += 1;
        self.counts.unknown_changes += u64::from(changes);
    }

    /// How a session began whose statements do not show it: as all others whose statements do.
    pub(super) fn like_others(&self) -> Option<Start> {
        (self.counts.inferred_off > 0 && self.counts.inferred_on == 0).then_some(Start::Off)
    }

    /// The part of the first line of a capture.
    pub(super) fn of_sessions(&self) -> SessionStarts {
        let places = |of: Start| self.others.iter().filter(|(_, start)| **start == of).map(|(place, _)| *place).collect();
        SessionStarts {
            off: places(Start::Off),
            in_transaction: places(Start::InTransaction),
            sets: self.sets.clone(),
            default: self.default,
        }
    }

    pub(super) fn counts(&self) -> Autocommit {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::digest::Digester;

    /// How a session began that executes these statements; `?` if they do not show it.
    fn start(statements: &[&str]) -> &'static str {
        let mut undecided = Undecided::<()>::default();
        let decide = |sql: &&str| {
            let class = Class::of(Digester::default().digest(sql.as_bytes()).0);
            undecided.decide(class, class.set(sql.as_bytes()))
        };
        match statements.iter().find_map(decide).or_else(|| undecided.at_end()) {
            Some(Start::On) => "on",
            Some(Start::Off) => "off",
            Some(Start::InTransaction) => "in a transaction",
            None => "?",
        }
    }

    #[test]
    fn the_statements_of_a_session_show_how_it_began() {
        let update = "update t set a = 1";
        for (statements, expected) in [
            (&[update, "rollback", update, "commit"][..], "off"),
            (&[update, "commit"], "off"),
            (&["select a from t", "rollback", "select a from t", "rollback"], "?"),
            (&["select a from t for update", "rollback"], "off"),
            (&[update, update], "?"),
            (&[update, "begin"], "on"),
            (&["begin"], "on"),
            (&[update, "commit", "begin", update, "commit"], "in a transaction"),
            (&[update, "commit", "select a from t", "rollback", update, "commit"], "off"),
            (&[update, "set autocommit = 0"], "on"),
            (&[update, "set autocommit = 1"], "off"),
            (&["set names utf8mb4, autocommit = 1", update], "on"),
            (&[update, "alter table t add b int", "commit"], "?"),
            (&["flush tables", "set a = 1", "xa recover"], "?"),
        ] {
            assert_eq!(start(statements), expected, "{statements:?}");
        }
    }
}
