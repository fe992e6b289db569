//! The readers of logs: no input makes them fail, and the records that they write can be read.
//!
//! The first byte gives the size of the pieces in which the log is read. The rest is the log, read as a slow log and
//! as a general log with tabs and with spaces.
#![no_main]

use dialin_load::capture::format::{Reader, SCHEMA};
use dialin_load::capture::general_log::{Columns, GeneralLog};
use dialin_load::capture::recorder::Recorder;
use dialin_load::capture::slow_log::SlowLog;
use libfuzzer_sys::fuzz_target;
use std::io::Read;

struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().min(self.1).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fn records(log: &[u8], piece: usize) -> Vec<u8> {
    let mut recorder = Recorder::default();
    let mut records = format!("{{\"schema\":\"{SCHEMA}\"}}\n").into_bytes();
    let mut slow = SlowLog::new(Pieces(log, piece));
    while let Some(entry) = slow.next_entry().expect("memory can be read") {
        recorder.take(&entry, &mut records);
    }
    for columns in [Columns::Tabs, Columns::Blanks] {
        let mut general = GeneralLog::new(Pieces(log, piece), columns);
        while let Some(entry) = general.next_entry().expect("memory can be read") {
            recorder.take(&entry, &mut records);
        }
    }
    records
}

fuzz_target!(|input: &[u8]| {
    let [piece, log @ ..] = input else { return };
    let whole = records(log, log.len().max(1));
    assert_eq!(whole, records(log, usize::from(*piece) + 1));
    let (_, mut reader) = Reader::open(&whole[..]).expect("it has a header");
    while reader.next_record().expect("what was written can be read").is_some() {}
});
