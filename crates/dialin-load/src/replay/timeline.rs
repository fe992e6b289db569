//! The records of a capture in the order in which they ended, with times that are as exact as the capture allows.

use crate::capture::format::{Reader, Record};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::{BufRead, Result};
use std::sync::Arc;

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;
/// Logs are in the order in which statements end, but for entries that waited for the log's lock: at most so long, in microseconds.
const DISORDER: i64 = SECOND;

/// A statement as it was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text.
    pub sql: Box<[u8]>,
    /// The default schema.
    pub schema: Option<Arc<[u8]>>,
    /// How long it took, in microseconds.
    pub duration: Option<i64>,
    /// The number of its error; 0 without one.
    pub error: Option<u64>,
    /// Rows sent.
    pub rows: Option<u64>,
    /// What the server took for the present time, in microseconds since 1970.
    pub clock: i64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A session began.
    Connect,
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
    /// When it ended; where the capture does not say, when it began.
    pub end: i64,
    /// What it was.
    pub what: What,
}

/// Reads a capture's events in the order in which they ended; those of a session keep the capture's order.
///
/// Servers that write times to the second only still write entries in order: the entries of a second are spread evenly over it, so that
/// what ended before another one began is known well enough, and a replay does not come in bursts.
pub struct Timeline<R> {
    reader: Reader<R>,
    to_the_second: bool,
    /// The entries of the second that is being read, which is the last of the two.
    same: VecDeque<Event>,
    second: i64,
    heap: BinaryHeap<Reverse<Ordered>>,
    number: u64,
    newest: i64,
    last_of: HashMap<u64, i64>,
    schemas: HashMap<Box<[u8]>, Arc<[u8]>>,
    is_read: bool,
}

struct Ordered {
    end: i64,
    number: u64,
    event: Event,
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        (self.end, self.number) == (other.end, other.number)
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.end, self.number).cmp(&(other.end, other.number))
    }
}

impl<R: BufRead> Timeline<R> {
    /// Of a capture that is open behind its header; `to_the_second` is how exact its times are.
    pub fn new(reader: Reader<R>, to_the_second: bool) -> Self {
        Self {
            reader,
            to_the_second,
            same: VecDeque::new(),
            second: i64::MIN,
            heap: BinaryHeap::new(),
            number: 0,
            newest: i64::MIN,
            last_of: HashMap::new(),
            schemas: HashMap::new(),
            is_read: false,
        }
    }

    /// The next event; None at the end.
    ///
    /// # Errors
    /// The capture cannot be read.
    pub fn next_event(&mut self) -> Result<Option<Event>> {
        loop {
            let is_settled = |first: &Reverse<Ordered>| self.is_read || first.0.end + DISORDER < self.newest;
            if self.heap.peek().is_some_and(is_settled) {
                return Ok(self.heap.pop().map(|Reverse(ordered)| ordered.event));
            }
            if self.is_read {
                return Ok(None);
            }
            self.read()?;
        }
    }

    fn read(&mut self) -> Result<()> {
        let Some(record) = self.reader.next_record()? else {
            self.spread();
            self.is_read = true;
            return Ok(());
        };
        let event = match record {
            Record::Connect { thread, at, .. } => Event { thread, start: at, end: at, what: What::Connect },
            Record::Quit { thread, at } => Event { thread, start: at, end: at, what: What::Quit },
            Record::Statement(line) => {
                let schema = line.schema.map(|name| {
                    // A capture has few schemas: each name is kept once.
                    Arc::clone(self.schemas.entry(name.into()).or_insert_with(|| name.into()))
                });
                let statement = Statement {
                    sql: line.sql.into(),
                    schema,
                    duration: line.duration,
                    error: line.error,
                    rows: line.rows_sent,
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
        if second > self.second {
            self.spread();
            self.second = second;
        }
        self.same.push_back(event);
        Ok(())
    }

    /// Give the entries of one second times within it.
    fn spread(&mut self) {
        let count = self.same.len() as i64;
        for place in 0..count {
            let Some(mut event) = self.same.pop_front() else { break };
            let length = event.end - event.start;
            event.end = self.second * SECOND + (2 * place + 1) * SECOND / (2 * count);
            event.start = event.end - length;
            self.insert(event);
        }
    }

    fn insert(&mut self, mut event: Event) {
        let last = self.last_of.entry(event.thread).or_insert(event.end);
        event.end = event.end.max(*last);
        *last = event.end;
        if event.what == What::Quit {
            self.last_of.remove(&event.thread);
        }
        self.newest = self.newest.max(event.end);
        self.number += 1;
        self.heap.push(Reverse(Ordered { end: event.end, number: self.number, event }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{capture, statement};
    use super::*;

    fn ends(records: &[Record<'_>], to_the_second: bool) -> Vec<(u64, i64, i64)> {
        let bytes = capture(records);
        let (_, reader) = Reader::open(&bytes[..]).unwrap();
        let mut timeline = Timeline::new(reader, to_the_second);
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
}
