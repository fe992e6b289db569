//! Captures: the statements of a server's own logs, in a format of their own.
//!
//! [`logs`] are read entry by entry, whatever wrote them; a [`recorder`] follows sessions and transactions, writes the records of a
//! [`format`], and sums up what they come to as digests. What is in memory does not grow with a log, but with what is open in it: the
//! longest statement, at most 50,000 sessions, at most 20,000 digests. Where both logs are given, the numbers of all sessions are in memory, too.

pub mod class;
pub mod counters;
pub mod digest;
mod digests;
pub mod entry;
mod files;
pub mod format;
pub mod general_log;
pub mod log_times;
mod logs;
mod packed;
pub mod quoting;
pub mod recorder;
mod sessions;
mod slow_header;
pub mod slow_log;
pub mod summary;
pub mod timestamp;
mod transactions;
mod window;

pub use files::{Request, STATEMENTS, SUMMARY, capture};
