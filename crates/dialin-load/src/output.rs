//! Writes the stream of a run, as JSON lines or as text.

use crate::engine::{RunResult, Second};
use crate::errors::{Error, RATE_NOT_REACHED, Result};
use crate::record::{End, Line, StartLine, Steps, When, human};
use std::io::{ErrorKind, Write};

/// Writes whole lines, and flushes after each.
#[derive(Debug)]
pub struct Output<W> {
    to: W,
    json: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Open,
    /// The reader closed the pipe.
    Closed,
    Failed(String),
}

impl<W: Write> Output<W> {
    /// Write to `to`: JSON lines if `json`, else text.
    pub fn new(to: W, json: bool) -> Self {
        Self { to, json, state: State::Open }
    }

    /// Write a line of the stream. As text, an error is not part of the stream: it goes to standard error.
    pub fn line(&mut self, line: &Line<'_>) {
        let text = if self.json {
            serde_json::to_string(line).expect("a line is plain data")
        } else {
            match line {
                Line::Start(line) => human::start(line),
                Line::Second(line) => human::second(line),
                Line::Summary(line) => format!("\n{}", human::summary(line)),
                Line::SelfTest(line) => human::self_test(line),
                Line::Error(_) => return,
            }
        };
        self.text(&text);
    }

    /// Write text and a line end.
    pub fn text(&mut self, text: &str) {
        if !self.is_open() {
            return;
        }
        let bytes = [text.as_bytes(), b"\n"].concat();
        if let Err(error) = self.to.write_all(&bytes).and_then(|()| self.to.flush()) {
            self.state = match error.kind() {
                ErrorKind::BrokenPipe => State::Closed,
                _ => State::Failed(error.to_string()),
            };
        }
    }

    /// Whether nothing has failed to be written so far.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Whether everything could be written. A reader that closed the pipe is not an error.
    ///
    /// # Errors
    ///
    /// Writing failed, for example because the disk is full.
    pub fn result(&self) -> Result<()> {
        match &self.state {
            State::Open | State::Closed => Ok(()),
            State::Failed(why) => {
                Err(Error::user(format!("The output cannot be written: {why}"), "Free space where standard output goes"))
            }
        }
    }
}

/// Reports a run: each second when it ends, and a summary. Its memory does not grow with the length of the run.
#[derive(Debug)]
pub struct Report<'a, W> {
    output: &'a mut Output<W>,
    names: Vec<String>,
    steps: Steps,
}

impl<'a, W: Write> Report<'a, W> {
    /// Write the `start` line.
    pub fn begin(output: &'a mut Output<W>, start: &StartLine) -> Self {
        output.line(&Line::Start(start));
        let names: Vec<String> = start.transactions.iter().map(|each| each.name.clone()).collect();
        Self { output, steps: Steps::new(names.clone()), names }
    }

    /// Write a second. False if the reader closed the pipe, or writing failed.
    pub fn second(&mut self, second: &Second) -> bool {
        let when = When {
            second: second.number,
            at: second.at,
            seconds: second.seconds,
            purpose: second.purpose,
            step: second.step,
            connections: second.connections,
            load_threads: second.load_threads,
            gather: second.gather,
            rate: second.rate,
        };
        self.steps.add(&when, &second.merged);
        self.output.line(&Line::Second(&second.merged.line(&when, &self.names)));
        self.output.is_open()
    }

    /// Write the summary; return the exit code.
    ///
    /// # Errors
    ///
    /// The output could not be written.
    pub fn end(self, played: RunResult, stopped: bool) -> Result<u8> {
        let RunResult { seconds, reached_backlog_cap, .. } = played;
        let closed = matches!(self.output.state, State::Closed);
        let summary = self.steps.finish(End { seconds, reached_backlog_cap, stopped });
        self.output.line(&Line::Summary(&summary));
        self.output.result()?;
        Ok(if summary.rate_reached == Some(false) && !closed { RATE_NOT_REACHED } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::leftover::Leftover;
    use crate::record::{ErrorLine, Merged, SCHEMA, Tally, TransactionFact};
    use crate::run::{Arrivals, Purpose, Rate};
    use std::io;

    const PLAYED: RunResult = RunResult { seconds: 2, reached_backlog_cap: false, leftover: Leftover { ended: 0, left: 0 } };

    fn start() -> StartLine {
        StartLine {
            schema: SCHEMA,
            version: "1",
            workload: "bank".into(),
            transactions: vec![TransactionFact { name: "pay".into(), weight: 1.0 }],
            statements: 1,
            text: false,
            server: Some("/s.sock".into()),
            agents: vec![],
            engine: "epoll",
            seed: 1,
            transaction_limit: None,
            backlog_cap: 1,
            phases: vec![],
            histogram_unit_ns: 100,
            replay: None,
        }
    }

    fn second(number: u64, transactions: u64, rate: Option<f64>) -> Second {
        let mut tally = Tally::new(1);
        (0..transactions).for_each(|_| tally.transaction(0, 1_000_000, 1_000_000, 0));
        let mut merged = Merged::new(1);
        merged.add(0, &tally);
        let rate = rate.map(|per_second| Rate { per_second, arrivals: Arrivals::Constant });
        Second {
            number,
            purpose: Purpose::Measure,
            step: 1,
            connections: 1,
            load_threads: 1,
            gather: Some(false),
            rate,
            at: 0.0,
            seconds: 1.0,
            merged,
        }
    }

    fn reported(json: bool, rate: Option<f64>) -> (u8, String) {
        let mut bytes = Vec::new();
        let mut output = Output::new(&mut bytes, json);
        let mut report = Report::begin(&mut output, &start());
        assert!(report.second(&second(1, 10, rate)) && report.second(&second(2, 10, rate)));
        let code = report.end(PLAYED, false).unwrap();
        (code, String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_stream_is_a_start_its_seconds_and_a_summary() {
        let (code, text) = reported(true, None);
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!((code, types), (0, vec!["start", "second", "second", "summary"]));
        assert_eq!(lines[3]["total"]["transactions"], 20);
    }

    #[test]
    fn text_has_the_same_figures() {
        let (_, text) = reported(false, None);
        assert!(text.starts_with("bank on /s.sock") && text.contains("20 transactions") && !text.contains('{'), "{text}");
    }

    #[test]
    fn a_rate_that_was_not_reached_is_an_exit_code() {
        assert_eq!(reported(true, Some(10.0)).0, 0);
        assert_eq!(reported(true, Some(20.0)).0, RATE_NOT_REACHED);
    }

    #[test]
    fn errors_are_lines_for_programs_only() {
        for (json, lines) in [(true, 1), (false, 0)] {
            let mut bytes = Vec::new();
            Output::new(&mut bytes, json).line(&Line::Error(&ErrorLine::from(&Error::user("a", "b"))));
            assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), lines);
        }
    }

    /// Accepts so many writes, then fails with an error of this kind.
    struct Fails(usize, ErrorKind);

    impl Write for Fails {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(self.1)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn after(writes: usize, kind: ErrorKind) -> (Vec<bool>, Result<u8>) {
        let mut output = Output::new(Fails(writes, kind), true);
        let mut report = Report::begin(&mut output, &start());
        let open = (1..=3).map(|number| report.second(&second(number, 1, Some(9.0)))).collect();
        (open, report.end(PLAYED, true))
    }

    #[test]
    fn a_closed_pipe_ends_the_run_quietly() {
        assert_eq!(after(2, ErrorKind::BrokenPipe), (vec![true, false, false], Ok(0)));
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let (open, result) = after(2, ErrorKind::StorageFull);
        assert_eq!(open, [true, false, false]);
        assert!(result.unwrap_err().what.contains("cannot be written"));
    }
}
