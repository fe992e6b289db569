//! The load driver of dialin: it applies a workload to a MySQL or MariaDB server, second by second.
//!
//! Data flows one way: [`options`] parses the command line, [`workloads`] turns the workload into a [`plan`], the [`engine`]
//! executes the plan over connections ([`net`], [`protocol`]), and [`record`] counts and reports what happened in each second.
//! [`agent`] divides a run among several hosts. [`capture`] reads the logs of servers, and [`replay`] replays such a capture.

pub mod account;
pub mod account_file;
pub mod agent;
pub mod capture;
pub mod engine;
pub mod errors;
pub mod mock_server;
pub mod net;
pub mod options;
pub mod output;
pub mod plan;
pub mod protocol;
pub mod random;
pub mod record;
pub mod replay;
pub mod restore;
pub mod run;
pub mod self_test;
pub mod show;
pub mod sql_tokens;
pub mod workloads;

/// The build: the version, and a digest of the sources and of the locked crates (`build.rs`).
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("DIALIN_LOAD_DIGEST"));
