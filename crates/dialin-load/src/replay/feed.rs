//! Reads the schedule of a capture in a separate thread, ahead of the connections that play it.

use super::auto_increment::Sequences;
use super::planner::Prepared;
use super::seats::Seats;
use super::{Facts, Piece, Request, Schedule, unreadable};
use crate::errors::{Error, Result};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

/// How many pieces are handed over at a time, at least.
const BATCH: usize = 512;
/// How many batches may wait to be taken.
const WAITING: usize = 8;

/// Pieces of the schedule, each with the number of the connection that plays it.
pub type Batch = Vec<(usize, Piece)>;

/// The schedule, batch by batch.
pub struct Feed {
    batches: Receiver<Result<Batch>>,
}

impl Feed {
    /// Start to read the capture that `facts` describe.
    ///
    /// # Errors
    /// The capture cannot be opened, or the thread cannot be started.
    pub fn start(request: &Request, facts: &Facts) -> Result<Self> {
        let prepared = Prepared::Executed(Arc::clone(&facts.templates));
        let mut schedule =
            Schedule::open(request, prepared, facts.begins.clone()).map_err(|error| unreadable(&request.directory, &error))?;
        schedule.planner.relax_order(facts.connections, Arc::clone(&facts.bound));
        schedule.planner.sequences = Sequences::give(Arc::clone(&facts.ids));
        let (sender, batches) = sync_channel(WAITING);
        let (seats, directory) = (facts.seats.clone(), request.directory.clone());
        let read = move || {
            let mut last = sender.clone();
            if let Err(error) = read(schedule, seats, &mut last) {
                let _ = sender.send(Err(unreadable(&directory, &error)));
            }
        };
        thread::Builder::new().name("read-capture".into()).spawn(read).map_err(|error| {
            Error::machine(format!("A thread cannot be started: {error}"), "See the limit of processes (ulimit -u)")
        })?;
        Ok(Self { batches })
    }

    /// Wait for the next batch; None at the end.
    ///
    /// # Errors
    /// The capture cannot be read.
    pub fn wait(&self) -> Result<Option<Batch>> {
        self.batches.recv().ok().transpose()
    }

    /// The next batch if it is ready, else None; `Some(None)` at the end.
    ///
    /// # Errors
    /// The capture cannot be read.
    pub fn take(&self) -> Result<Option<Option<Batch>>> {
        match self.batches.try_recv() {
            Ok(batch) => batch.map(|batch| Some(Some(batch))),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Ok(Some(None)),
        }
    }
}

/// Read until the end of the capture, or until the [`Feed`] is dropped.
fn read(mut schedule: Schedule, mut seats: Seats, to: &mut SyncSender<Result<Batch>>) -> std::io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    while let Some(pieces) = schedule.next_pieces()? {
        seats.place(pieces, |seat, piece| batch.push((seat, piece)));
        if batch.len() >= BATCH && to.send(Ok(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)))).is_err() {
            return Ok(());
        }
    }
    let _ = to.send(Ok(batch));
    Ok(())
}
