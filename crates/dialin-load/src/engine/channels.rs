//! How load threads speak with each other, and with the thread that collects seconds.

use super::clock::Clock;
use super::collect::Told;
use super::dealing::Passed;
use crate::record::Tally;
use std::sync::mpsc::{Receiver, Sender, SyncSender};

/// How a load thread speaks with the others.
pub struct Channels<S> {
    /// Where it reports that its connections are open, and each second that is over.
    pub filled: SyncSender<Told>,
    /// The run's time, once all connections of all threads are open.
    pub begin: Receiver<Clock>,
    /// Tallies to use again, which are clear.
    pub empty: Receiver<Box<Tally>>,
    /// Connections that other load threads pass on.
    pub passed: Receiver<Passed<S>>,
    /// Where connections are passed on to each thread.
    pub passing: Vec<Sender<Passed<S>>>,
}
