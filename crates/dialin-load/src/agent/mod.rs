//! Load from several hosts: agents apply it, and a conductor starts them together and adds up their reports.
//!
//! Conductor and agents share a secret, the token, and communicate over encrypted connections (`link`). The conductor sends
//! each agent its share of the run (`order`), and then requests a report from each several times per second (`messages`). An
//! agent sends nothing unless asked, so each side notices from the requests and reports whether the other is alive. When all
//! agents have opened their connections to their servers, the conductor measures the offsets of their clocks and announces one
//! instant to start at. The seconds that the agents report are added up to the seconds of one run (`merge`). If an agent is
//! lost, the run fails.

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

use crate::account::{Account, Listener};
use crate::engine::{self, RunResult, Second};
use crate::errors::{Error, Result};
use crate::options::raise_limit;
use crate::run::Run;
use conductor::Conductor;
use order::divide;
use serve::{Agent, Play};
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use token::Token;

/// The time without a message after which the other side counts as lost. Half of this time is the limit for connecting, for the
/// handshake, and for the answer to the order.
const SILENCE: Duration = Duration::from_secs(10);

/// The options of an agent.
#[derive(Clone, Debug)]
pub struct Serve {
    /// The address to listen on for conductors, as host:port; port 0 selects a free port.
    pub listen: String,
    /// The file with the token.
    pub token_file: PathBuf,
    /// The server that the agent loads, and the account to log in with. It is never sent to another host.
    pub account: Account,
}

/// The options of a conductor, except the run.
#[derive(Clone, Debug)]
pub struct Conduct {
    /// The agents, each as host:port.
    pub agents: Vec<String>,
    /// The file with the token.
    pub token_file: PathBuf,
    /// The workload.
    pub source: Source,
    /// The options of the workload: names and values.
    pub options: Vec<(String, String)>,
}

/// Wait for conductors and play their orders, one run at a time, until `stop` is set. `say` receives a line about each event;
/// the first one has the address that the agent listens on.
///
/// # Errors
/// [`Fault::User`](crate::errors::Fault::User): the token cannot be read, or the agent cannot listen on the address.
pub fn serve(serve: &Serve, stop: &AtomicBool, say: &(dyn Fn(String) + Sync)) -> Result<()> {
    let token = Token::read(&serve.token_file)?;
    let refused = |cause: io::Error| {
        let what = format!("Cannot listen at {}: {cause}", serve.listen);
        Error::user(what, "Give an address of this host and a port that is free, as in --listen 0.0.0.0:7306")
    };
    let socket = TcpListener::bind(&serve.listen).map_err(refused)?;
    say(format!("listening at {}", socket.local_addr().map_err(refused)?));
    let (listener, opened) = Listener::new();
    let account = Account { listener, ..serve.account.clone() };
    let play: &Play<'_> = &|order, stop, ready, seconds| {
        let plan = order.source.workload(&order.options, order.connections, order.run.seed)?.plan()?;
        let run = order.run_at(&account)?;
        raise_limit(run.phases.iter().map(|phase| phase.connections).max().unwrap_or_default())?;
        engine::play_when(&plan, &run, stop, ready, seconds)
    };
    Agent { token, play, opened: Mutex::new(opened), silence: SILENCE, stop, say }.serve(&socket).map_err(refused)
}

/// Have agents play a run together; `seconds` receives each second once all agents have reported it, as from [`engine::play`].
/// Each agent has its own account; that of the run only says in which file their sessions are on record. `say` receives a line about each agent.
///
/// # Errors
/// [`Fault::User`](crate::errors::Fault::User): an agent cannot be reached, has another token, is another build, or plays
/// another run, or there are fewer connections or transactions than agents. [`Fault::Driver`](crate::errors::Fault::Driver): an
/// agent is lost. Otherwise the error of [`engine::play`] on an agent.
pub fn conduct(
    conduct: &Conduct,
    run: &Run,
    stop: &AtomicBool,
    say: &mut dyn FnMut(String),
    seconds: &mut dyn FnMut(Second),
) -> Result<RunResult> {
    let token = Token::read(&conduct.token_file)?;
    conductor::check_names(&conduct.agents)?;
    let orders = divide(run, &conduct.source, &conduct.options, conduct.agents.len())?;
    let orders: Vec<_> = conduct.agents.iter().cloned().zip(orders).collect();
    Conductor { token, silence: SILENCE, stop, say }.conduct(&orders, run, seconds)
}
