//! The results of each second: counted by load threads, merged, written as a line, and summed up by step.
//!
//! Memory use does not grow with the length of a run: a [`Tally`] is one second of one load thread, and a [`Merged`] is one second of all
//! load threads. [`Steps`] keeps one total for the current step, one for the whole run, and a line for each finished step.

mod cpu;
pub mod human;
mod line;
mod lines;
mod replay;
mod self_test;
mod start;
mod summary;
mod tally;
mod times;

pub use cpu::{Meter, process_cpu, thread_cpu};
pub use line::Line;
pub use lines::{DriverShareLine, ErrorLine, GatheringLine, LatencyLine, SecondLine, Statements, TimersLine, When};
pub use replay::{BackupLine, DigestLine, MarkLine, ReplayCounts, ReplayFact, ReplayLine, ReplayTally};
pub use self_test::{CeilingLine, LatenessLine, SelfTestLine};
pub use start::{PhaseFact, SCHEMA, StartLine, TransactionFact};
pub use summary::{End, StepLine, Steps, SummaryLine, reached};
pub use tally::{Merged, Tally};
pub use times::{Percentiles, Times, UNIT_NS};
