//! Load from several hosts: agents apply it, and a conductor starts them together and adds up what they tell.
//!
//! They speak JSON, a line at a time, over TCP, and prove that they have the same token before anything else is said (`link`). What
//! they say is in `wire`. The conductor gives each agent its share of the run (`order`), waits until all have opened their
//! connections, finds out how their clocks stand to its own (`clock_offset`), and names one instant to start at. The seconds that
//! they tell become seconds of one run (`merge`). An agent that is lost fails the run.

mod clock_offset;
mod conductor;
mod link;
mod merge;
mod order;
mod serve;
mod strangers;
mod token;
mod wire;

#[cfg(test)]
mod tests;

pub use order::Source;

use crate::account::Account;
use crate::engine::{self, Played, Second};
use crate::errors::{Error, Result};
use crate::options::raise_limit;
use crate::run::Run;
use conductor::{Conductor, Host};
use order::divide;
use serve::{Agent, Play};
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use token::{Nonce, Token};

/// What an agent is told by its options.
#[derive(Clone, Debug)]
pub struct Serve {
    /// Where it waits for conductors: host and port; port 0 takes one that is free.
    pub listen: String,
    /// The file with the token.
    pub token_file: PathBuf,
    /// The server that it drives, and as whom. It never crosses.
    pub account: Account,
}

/// What a conductor is told by its options, beside the run.
#[derive(Clone, Debug)]
pub struct Conduct {
    /// The agents: host and port of each.
    pub agents: Vec<String>,
    /// The file with the token.
    pub token_file: PathBuf,
    /// The workload.
    pub source: Source,
    /// Its options.
    pub options: Vec<(String, String)>,
}

/// Wait for conductors and play what they order, one run at a time, until `stop` is set. `say` is told what happens, a line each,
/// first the address that is listened at.
///
/// # Errors
/// Of the user: the token cannot be read, or the address is not to be had.
pub fn serve(serve: &Serve, stop: &AtomicBool, say: &(dyn Fn(String) + Sync)) -> Result<()> {
    let token = Token::read(&serve.token_file)?;
    let refused = |cause: io::Error| {
        let what = format!("Cannot listen at {}: {cause}", serve.listen);
        Error::user(what, "Give an address of this host and a port that is free, as in --listen 0.0.0.0:7306")
    };
    let listener = TcpListener::bind(&serve.listen).map_err(refused)?;
    say(format!("listening at {}", listener.local_addr().map_err(refused)?));
    let play: &Play<'_> = &|order, stop, ready, seconds| {
        let plan = order.source.workload(&order.options, order.connections, order.run.seed)?.plan()?;
        let run = order.run_at(&serve.account)?;
        raise_limit(run.phases.iter().map(|phase| phase.connections).max().unwrap_or_default())?;
        engine::play_when(&plan, &run, stop, ready, seconds)
    };
    Agent { token, play, timeout: Timeout::default(), stop, say }.serve(&listener)
}

/// Have agents play a run together; each second is told once all agents told theirs, as [`engine::play`] would tell it. The run's
/// account is not used: each agent has its own. `say` is told how the agents were found, a line each.
///
/// # Errors
/// Of the user: an agent cannot be reached, has another token, is another build, or plays another run, or there are too few
/// connections for all. Of the driver: an agent is lost. Else what an agent tells: whatever [`engine::play`] may fail with.
pub fn conduct(
    conduct: &Conduct,
    run: &Run,
    stop: &AtomicBool,
    say: &mut dyn FnMut(String),
    seconds: &mut dyn FnMut(Second),
) -> Result<Played> {
    let token = Token::read(&conduct.token_file)?;
    let hosts = conductor::hosts(&conduct.agents)?;
    let orders = divide(run, &conduct.source, &conduct.options, hosts.len())?;
    let hosts: Vec<Host> = hosts.into_iter().zip(orders).map(|(name, order)| Host { name, order }).collect();
    Conductor { token, timeout: Timeout::default(), stop, say }.conduct(hosts, run, seconds)
}

/// How long conductors and agents wait for each other.
#[derive(Clone, Copy, Debug)]
struct Timeout {
    /// For somebody to be reached, to prove itself, or to take a line.
    greeting: Duration,
    /// For a sign of life; then it counts as lost.
    silence: Duration,
    /// Between two signs of life.
    beat: Duration,
    /// From when the common start is named until it comes, beside what the network takes.
    lead: Duration,
    /// For a load that was told to stop, beside what its statements may take.
    stopping: Duration,
    /// For somebody to leave.
    parting: Duration,
}

impl Default for Timeout {
    fn default() -> Self {
        Self {
            greeting: Duration::from_secs(5),
            silence: Duration::from_secs(10),
            beat: Duration::from_secs(1),
            lead: Duration::from_millis(500),
            stopping: Duration::from_secs(30),
            parting: Duration::from_secs(1),
        }
    }
}

/// Bytes that nobody can guess.
fn nonce() -> io::Result<Nonce> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(nonce)
}
