//! Captures: the statements in a server's logs, written in dialin's capture format.
//!
//! [`logs`] reads slow logs and general logs of MySQL and MariaDB as one series of entries. The [`recorder`] tracks
//! sessions and transactions, writes the records ([`format`]), and adds up counts by digest and by transaction shape.
//! Memory does not grow with the size of a log. Its limits are the longest statement, 50,000 sessions, 20,000 digests
//! and 5,000 transaction shapes. If both logs are read, the numbers of all sessions in the slow log are in memory as
//! well.

pub mod class;
pub mod counters;
pub mod digest;
mod digests;
pub mod entry;
mod files;
pub mod format;
pub mod general_log;
mod line_ends;
pub mod log_times;
mod logs;
mod open_sessions;
mod other_files;
mod outline;
mod packed;
mod prepared;
pub mod quoting;
pub mod recorder;
pub mod session_state;
mod sessions;
pub mod set_statement;
mod several_statements;
mod slow_header;
pub mod slow_log;
pub mod start_state;
pub mod summary;
pub mod timestamp;
pub mod transactions;
mod window;

pub use files::{Request, STATEMENTS, SUMMARY, capture};
