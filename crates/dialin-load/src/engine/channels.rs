//! How load threads speak with the thread that collects seconds, and with the one that reconnects.

use super::collect::Told;
use super::connection::Connection;
use super::dealing::Passed;
use crate::record::Tally;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Instant;

/// A connection that was lost: whose it is.
#[derive(Clone, Copy, Debug)]
pub struct LostConnection {
    /// The load thread.
    pub thread: usize,
    /// Its place there.
    pub place: usize,
    /// When it was lost.
    pub since: Instant,
}

/// A connection that is there again.
pub struct Reconnected {
    /// Its place in its load thread.
    pub place: usize,
    /// The connection.
    pub connection: Connection,
}

/// How a load thread speaks with the others.
pub struct Channels {
    /// Where seconds that are over are told.
    pub filled: SyncSender<Told>,
    /// Tallies to use again, which are clear.
    pub empty: Receiver<Box<Tally>>,
    /// Connections that are there again.
    pub reconnected: Receiver<Reconnected>,
    /// Connections that other load threads pass on.
    pub passed: Receiver<Passed>,
}
