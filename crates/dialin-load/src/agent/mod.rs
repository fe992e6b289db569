//! Load from several hosts: agents apply it, and a conductor starts them together and adds up what they report.
//!
//! The two sides have the same token and an encrypted connection (`link`). The conductor gives each agent its share of the run
//! (`order`), and then asks each again and again for a report (`messages`), by which both see that the other is there: an agent sends
//! nothing unasked. Once all have opened their connections, the conductor knows how their clocks stand to its own,
//! and names one instant to start at. The reported seconds become seconds of one run (`merge`). An agent that is lost fails the run.

mod callers;
mod conductor;
mod link;
mod merge;
mod messages;
mod order;
mod serve;
mod token;

#[cfg(test)]
mod tests;

pub use order::Source;

use crate::account::Account;
use crate::engine::{self, Played, Second};
use crate::errors::{Error, Result};
use crate::options::raise_limit;
use crate::run::Run;
use conductor::Conductor;
use order::divide;
use serve::{Agent, Play};
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use token::Token;

/// How long the other side may send nothing; then it counts as lost. It has half as long to be reached and to prove that it has the
/// token.
const SILENCE: Duration = Duration::from_secs(10);

/// The options of an agent.
#[derive(Clone, Debug)]
pub struct Serve {
    /// Where it waits for conductors: host and port; port 0 takes one that is free.
    pub listen: String,
    /// The file with the token.
    pub token_file: PathBuf,
    /// The server that it drives, and as whom. It never crosses.
    pub account: Account,
}

/// The options of a conductor, beside the run.
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

/// Wait for conductors and play their orders, one run at a time, until `stop` is set. `say` receives a line about each thing that
/// happens, first the address that it listens at.
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
    Agent { token, play, silence: SILENCE, stop, say }.serve(&listener).map_err(refused)
}

/// Have agents play a run together; `seconds` receives each second once all agents have reported theirs, as from [`engine::play`]. The
/// run's account is not used: each agent has its own. `say` receives a line about each agent.
///
/// # Errors
/// Of the user: an agent cannot be reached, has another token, is another build, or plays another run, or there are too few
/// connections for all. Of the driver: an agent is lost. Otherwise what [`engine::play`] fails with on an agent.
pub fn conduct(
    conduct: &Conduct,
    run: &Run,
    stop: &AtomicBool,
    say: &mut dyn FnMut(String),
    seconds: &mut dyn FnMut(Second),
) -> Result<Played> {
    let token = Token::read(&conduct.token_file)?;
    conductor::check_names(&conduct.agents)?;
    let orders = divide(run, &conduct.source, &conduct.options, conduct.agents.len())?;
    let orders: Vec<_> = conduct.agents.iter().cloned().zip(orders).collect();
    Conductor { token, silence: SILENCE, stop, say }.conduct(&orders, run, seconds)
}
