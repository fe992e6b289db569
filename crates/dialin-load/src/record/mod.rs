//! What each second came to: counted by load threads, merged, told as a line, summed up by step.
//!
//! Nothing here grows with the length of a run: a [`Tally`] is one second of one load thread, a [`Merged`] one second of all of
//! them, [`Steps`] keeps one total for the step that is measured, one for the whole run, and a line for each step behind it.

mod cpu;
pub mod human;
mod line;
mod lines;
mod replay;
mod start;
mod summary;
mod tally;
mod times;

pub use cpu::{Meter, process_cpu, thread_cpu};
pub use line::Line;
pub use lines::{CeilingLine, ErrorLine, GatheringLine, LatencyLine, SecondLine, SelfTestLine, Statements, TimersLine, When};
pub use replay::{BackupLine, MarkLine, ReplayCounts, ReplayFact, ReplayLine, ReplayTally};
pub use start::{PhaseFact, SCHEMA, StartLine, TransactionFact};
pub use summary::{End, StepLine, Steps, SummaryLine, reached};
pub use tally::{Merged, Tally};
pub use times::{Percentiles, Times, UNIT_NS};
