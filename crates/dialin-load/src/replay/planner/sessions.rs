//! The beginnings, resets and ends of sessions in the schedule.

use super::pieces::{Begins, Out, Piece, Session, Settings, added, put};
use super::{Loose, Planner};
use crate::capture::session_state::{SessionState, Start};

impl Planner {
    /// Open a session that began so, with what these statements set.
    pub(super) fn open_session(&mut self, thread: u64, at: i64, (start, sets): (Start, &[String]), out: &mut Out) {
        let number = self.begun;
        self.begun += 1;
        let mut session = Box::new(Session {
            number,
            state: SessionState::new(start),
            lacks_begin: start == Start::InTransaction,
            settings: Settings::default(),
            open: None,
            ended: None,
            backup: None,
            loose: Loose::default(),
        });
        out.push((number, Piece::Connect(at)));
        self.enter(&mut session, at, start, sets, out);
        self.sessions.insert(thread, session);
    }

    /// Bring a new session into the state in which it began in the capture.
    fn enter(&mut self, session: &mut Session, at: i64, start: Start, sets: &[String], out: &mut Out) {
        let autocommit = (start == Start::Off).then_some("SET autocommit = 0");
        let sets: Vec<&str> = autocommit.into_iter().chain(sets.iter().map(String::as_str)).collect();
        if sets.is_empty() {
            return;
        }
        let mut open = self.begin(session, at, false, out);
        for (place, set) in sets.iter().enumerate() {
            // No digest has such a number.
            session.settings.set(usize::MAX - place, set.as_bytes());
            put(session.number, &mut open, added(set.as_bytes(), at), out);
        }
        self.end(session, *open, false, out);
    }

    /// The client reset the session: the open transaction is rolled back, and everything is as at its beginning.
    pub(super) fn reset(&mut self, session: &mut Session, at: i64, out: &mut Out) {
        self.leave(session, at, out);
        out.push((session.number, Piece::Reset(at)));
        (session.state, session.settings) = (SessionState::new(self.default), Settings::default());
        session.lacks_begin = false;
        self.enter(session, at, self.default, &[], out);
    }

    pub(super) fn end_session(&mut self, mut session: Box<Session>, at: i64, out: &mut Out) {
        self.leave(&mut session, at, out);
        if at < i64::MAX {
            out.push((session.number, Piece::Quit(at)));
        }
    }

    /// End what is open of a session that ends or is reset.
    fn leave(&mut self, session: &mut Session, at: i64, out: &mut Out) {
        self.note_end(session, at, out);
        if let Begins::Learned(learner) = &mut self.begins {
            learner.settle(&mut session.loose, false);
        }
        if let Some(mut open) = session.open.take() {
            (open.end, open.is_end_known) = (at, true);
            self.roll_back(session, open, out);
        }
        self.sequences.quit(session.number);
    }
}
