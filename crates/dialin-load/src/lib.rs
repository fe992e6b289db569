//! The load driver of dialin: it applies a workload to a MySQL or MariaDB server, second by second.
//!
//! Data flows one way: [`options`] say what to run, [`workloads`] make a [`plan`] of it, the [`engine`] plays the plan over
//! connections ([`net`], [`protocol`]), and [`record`] tells what each second came to. [`agent`] does so from several hosts.
//! [`capture`] reads the logs of servers.

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
pub mod run;
pub mod self_test;
pub mod show;
pub mod sql_tokens;
pub mod workloads;

/// Which build this is: the version, and a digest of sources and locked crates (`build.rs`).
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("DIALIN_LOAD_DIGEST"));
