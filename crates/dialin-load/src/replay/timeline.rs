//! The records of a capture in the order in which they ended, with times that are as exact as the capture allows.

use crate::capture::format::{Reader, Record, SessionStarts};
use crate::capture::session_state::Start;
use foldhash::HashMap;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::collections::binary_heap::{BinaryHeap, PeekMut};
use std::io::{BufRead, Result};
use std::sync::Arc;

/// Microseconds per second.
const SECOND: i64 = 1_000_000;
/// How late an entry may be in a log, in microseconds. Logs are in the order in which statements end, except for
/// entries that waited for the log's lock.
const DISORDER: i64 = SECOND;

/// A statement as it was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text.
    pub sql: Box<[u8]>,
    /// The default schema.
    pub schema: Option<Arc<[u8]>>,
    /// Whether the capture shows that it was prepared.
    pub is_prepared: bool,
    /// How long it took, in microseconds.
    pub duration: Option<i64>,
    /// Its error number; 0 if there was no error.
    pub error: Option<u64>,
    /// Rows sent.
    pub rows: Option<u64>,
    /// Rows examined.
    pub examined: Option<u64>,
    /// Rows changed, inserted or deleted.
    pub affected: Option<u64>,
    /// The server's current time for this statement, in microseconds since 1970.
    pub clock: i64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A session began, with what these statements set.
    Connect(Start, Vec<String>),
    /// A session was reset to how it began.
    Reset,
    /// A statement was executed.
    Statement(Statement),
    /// A session ended.
    Quit,
}

/// What happened when, in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number of the session.
    pub thread: u64,
    /// When it began.
    pub start: i64,
    /// When it ended; when it began if the capture does not have the end.
    pub end: i64,
    /// What happened.
    pub what: What,
}

/// Reads a capture's events in the order in which they ended; those of a session keep the capture's order.
///
/// Servers that write times to the second still write entries in order. The entries of a second are therefore spread
/// evenly over it. This shows well enough what ended before something else began, and it avoids bursts in a replay.
pub struct Timeline<R> {
    reader: Reader<R>,
    to_the_second: bool,
    starts: SessionStarts,
    /// How many records of beginnings were read.
    begun: u64,
    /// The entries of the second that is being read, and of the one before.
    same: Entries,
    before: Entries,
    /// The second before that, and how many entries it had.
    earlier: (i64, i64),
    sessions: HashMap<u64, Pending>,
    /// The first event of each session that has any.
    first: BinaryHeap<Reverse<Place>>,
    number: u64,
    newest: i64,
    /// How much later than the first event of all the newest one must be, so that no event before the first one can follow.
    disorder: i64,
    schemas: HashMap<Box<[u8]>, Arc<[u8]>>,
    is_read: bool,
}

/// The entries of one second.
#[derive(Debug, Default)]
struct Entries {
    second: i64,
    events: VecDeque<Event>,
}

/// The place of an event in the order of all events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    end: i64,
    /// The place in the capture.
    number: u64,
    thread: u64,
}

/// The events of a session that were read and not yet returned, in order.
#[derive(Debug)]
struct Pending {
    events: VecDeque<(u64, Event)>,
    /// When the last of them ended, or the last one before.
    last: i64,
}

impl<R: BufRead> Timeline<R> {
    /// Read the records after the header of a capture. `to_the_second` says whether its times are whole seconds; `starts`, how its
    /// sessions began.
    pub fn new(reader: Reader<R>, to_the_second: bool, starts: SessionStarts) -> Self {
        Self {
            reader,
            to_the_second,
            starts,
            begun: 0,
            same: Entries::default(),
            before: Entries::default(),
            earlier: (i64::MIN, 0),
            sessions: HashMap::default(),
            first: BinaryHeap::new(),
            number: 0,
            newest: i64::MIN,
            disorder: if to_the_second { 0 } else { DISORDER },
            schemas: HashMap::default(),
            is_read: false,
        }
    }

    /// The next event; None at the end.
    ///
    /// # Errors
    /// The capture cannot be read.
    pub fn next_event(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.first_event() {
                return Ok(Some(event));
            }
            if self.is_read {
                return Ok(None);
            }
            self.read()?;
        }
    }

    fn read(&mut self) -> Result<()> {
        let Some(record) = self.reader.next_record()? else {
            self.close_second(i64::MIN);
            self.close_second(i64::MIN);
            self.is_read = true;
            return Ok(());
        };
        let event = match record {
            Record::Connect { thread, at, .. } => {
                let what = What::Connect(self.starts.of(self.begun), self.starts.sets.remove(&self.begun).unwrap_or_default());
                self.begun += 1;
                Event { thread, start: at, end: at, what }
            }
            Record::Reset { thread, at } => Event { thread, start: at, end: at, what: What::Reset },
            Record::Quit { thread, at } => Event { thread, start: at, end: at, what: What::Quit },
            Record::Statement(line) => {
                let schema = line.schema.map(|name| {
                    // A capture has few schemas, so each name is stored once.
                    Arc::clone(self.schemas.entry(name.into()).or_insert_with(|| name.into()))
                });
                let statement = Statement {
                    sql: line.sql.into(),
                    schema,
                    is_prepared: line.is_prepared == Some(true),
                    duration: line.duration,
                    error: line.error,
                    rows: line.rows_sent,
                    examined: line.rows_examined,
                    affected: line.rows_affected,
                    clock: line.at,
                };
                let end = line.at.saturating_add(line.duration.unwrap_or(0));
                Event { thread: line.thread, start: line.at, end, what: What::Statement(statement) }
            }
        };
        if !self.to_the_second {
            self.insert(event);
            return Ok(());
        }
        let second = event.end.div_euclid(SECOND);
        if second > self.same.second {
            self.close_second(second);
        }
        self.same.events.push_back(event);
        Ok(())
    }

    /// Begin the second `next`: the entries in `before` get times within their second, and those in `same` take their place.
    ///
    /// A capture begins and ends in the middle of a second. The entries of these two seconds are spread over a part
    /// of the second only, at the rate of the second beside it.
    fn close_second(&mut self, next: i64) {
        let last = std::mem::replace(&mut self.same, Entries { second: next, events: VecDeque::new() });
        let Entries { second, mut events } = std::mem::replace(&mut self.before, last);
        let (count, after) = (events.len() as i64, &self.before);
        let is_first = self.earlier.1 == 0;
        let is_last = after.events.is_empty();
        let beside = match (is_first, is_last) {
            (true, false) if after.second == second + 1 => after.events.len() as i64,
            (false, true) if self.earlier.0 == second - 1 => self.earlier.1,
            _ => count,
        };
        let length = if beside > count { SECOND * count / beside } else { SECOND };
        let begin = second * SECOND + if is_first { SECOND - length } else { 0 };
        for place in 0..count {
            let Some(mut event) = events.pop_front() else { break };
            let duration = event.end - event.start;
            event.end = begin + (2 * place + 1) * length / (2 * count);
            event.start = event.end - duration;
            self.insert(event);
        }
        if count > 0 {
            self.earlier = (second, count);
        }
    }

    fn insert(&mut self, mut event: Event) {
        let Event { thread, end, .. } = event;
        let session = self.sessions.entry(thread).or_insert_with(|| Pending { events: VecDeque::new(), last: end });
        event.end = end.max(session.last);
        session.last = event.end;
        self.newest = self.newest.max(event.end);
        self.number += 1;
        if session.events.is_empty() {
            self.first.push(Reverse(Place { end: event.end, number: self.number, thread }));
        }
        session.events.push_back((self.number, event));
    }

    /// The first event of all, unless an event that is read later may come before it.
    fn first_event(&mut self) -> Option<Event> {
        let mut first = self.first.peek_mut()?;
        let Place { end, thread, .. } = first.0;
        if !self.is_read && end.saturating_add(self.disorder) >= self.newest {
            return None;
        }
        let session = self.sessions.get_mut(&thread)?;
        let (_, event) = session.events.pop_front()?;
        if let Some((number, next)) = session.events.front() {
            *first = Reverse(Place { end: next.end, number: *number, thread });
        } else {
            PeekMut::pop(first);
            session.events = VecDeque::new(); // frees the memory: the session may never have as many again
            if event.what == What::Quit {
                self.sessions.remove(&thread);
            }
        }
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{capture, statement};
    use super::*;

    fn ends(records: &[Record<'_>], to_the_second: bool) -> Vec<(u64, i64, i64)> {
        let bytes = capture(records);
        let (_, reader) = Reader::open(&bytes[..]).unwrap();
        let mut timeline = Timeline::new(reader, to_the_second, SessionStarts::default());
        let mut events = Vec::new();
        while let Some(event) = timeline.next_event().unwrap() {
            events.push((event.thread, event.start, event.end));
        }
        events
    }

    #[test]
    fn entries_that_are_out_of_order_are_put_in_the_order_of_their_ends() {
        let records = [statement(1, 100, 900, "a"), statement(2, 0, 500, "b"), statement(1, 1_000, 5, "c")];
        assert_eq!(ends(&records, false), [(2, 0, 500), (1, 100, 1_000), (1, 1_000, 1_005)]);
    }

    #[test]
    fn a_session_keeps_its_order_though_its_clock_goes_back() {
        let records = [statement(1, 100, 900, "a"), statement(1, 90, 5, "b"), statement(2, 500, 5, "c")];
        assert_eq!(ends(&records, false), [(2, 500, 505), (1, 100, 1_000), (1, 90, 1_000)]);
    }

    #[test]
    fn the_events_of_many_sessions_are_in_the_order_of_their_ends_and_then_of_the_capture() {
        let ends_at = |number: i64| number * 1_000 + number * 7_919 % 500 * 1_000;
        let records: Vec<Record<'_>> = (0..3_000).map(|number| statement(number as u64 % 7, ends_at(number), 0, "a")).collect();
        let mut last = [0; 7];
        let mut expected: Vec<(i64, i64)> = Vec::new();
        for number in 0..3_000 {
            let last = &mut last[number as usize % 7];
            *last = ends_at(number).max(*last);
            expected.push((*last, number));
        }
        expected.sort_unstable();
        let expected: Vec<(u64, i64)> = expected.into_iter().map(|(end, number)| (number as u64 % 7, end)).collect();
        let ends: Vec<(u64, i64)> = ends(&records, false).into_iter().map(|(thread, _, end)| (thread, end)).collect();
        assert_eq!(ends, expected);
    }

    #[test]
    fn the_entries_of_a_second_are_spread_over_it_in_the_order_of_the_log() {
        let records = [
            statement(1, 4_000_000, 1_000_000, "a"),
            statement(2, 5_000_000, 0, "b"),
            statement(3, 4_999_000, 1_000, "c"),
            statement(4, 5_000_000, 0, "d"),
            statement(1, 7_000_000, 0, "e"),
        ];
        let expected = [
            (1, 4_125_000, 5_125_000),
            (2, 5_375_000, 5_375_000),
            (3, 5_624_000, 5_625_000),
            (4, 5_875_000, 5_875_000),
            (1, 7_500_000, 7_500_000),
        ];
        assert_eq!(ends(&records, true), expected);
    }

    #[test]
    fn a_capture_that_begins_and_ends_within_a_second_takes_the_part_of_it_that_its_entries_would() {
        let at = |second: i64, count| std::iter::repeat_n(second, count);
        let seconds: Vec<i64> = at(5, 2).chain(at(6, 8)).chain(at(7, 8)).chain(at(8, 4)).collect();
        let records: Vec<Record<'_>> = (0..).zip(&seconds).map(|(thread, at)| statement(thread, at * SECOND, 0, "a")).collect();
        let ends: Vec<i64> = ends(&records, true).into_iter().map(|(_, _, end)| end).collect();
        assert_eq!((ends[0], ends[1]), (5_812_500, 5_937_500));
        assert_eq!((ends[2], ends[9]), (6_062_500, 6_937_500));
        assert_eq!((ends[18], ends[21]), (8_062_500, 8_437_500));
    }
}
