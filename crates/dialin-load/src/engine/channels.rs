//! The channels between the load threads, and between them and the thread that collects the seconds.

use super::clock::Clock;
use super::collect::ThreadReport;
use super::dealing::Handover;
use crate::record::Tally;
use std::sync::mpsc::{Receiver, Sender, SyncSender};

/// The channels of one load thread.
pub struct Channels<S> {
    /// Reports to the collecting thread: all connections are open, a second has ended, the thread has ended.
    pub filled: SyncSender<ThreadReport>,
    /// Receives the run's clock, once all connections of all threads are open.
    pub begin: Receiver<Clock>,
    /// Receives cleared tallies to reuse.
    pub empty: Receiver<Box<Tally>>,
    /// Receives the connections that other load threads hand over.
    pub passed: Receiver<Handover<S>>,
    /// Hands connections over to each load thread, by thread number.
    pub passing: Vec<Sender<Handover<S>>>,
}
