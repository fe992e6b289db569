//! Callers who have not yet proved that they have the token.
//!
//! There is room for a few at a time. When there is none left, the oldest caller of the address with the most callers is sent away,
//! not the new one: a crowd of silent callers cannot keep the conductor out, and one from another address cannot push it out.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The callers at the door.
#[derive(Debug)]
pub struct Strangers {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    born: u64,
    callers: VecDeque<Caller>,
}

#[derive(Debug)]
struct Caller {
    number: u64,
    address: IpAddr,
    stream: TcpStream,
}

impl Strangers {
    /// Room for so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, waiting: Mutex::default() }
    }

    /// Let a caller wait, if need be in another one's place; return its number.
    ///
    /// # Errors
    /// The process has no file left.
    pub fn admit(&self, stream: &TcpStream, address: IpAddr) -> io::Result<u64> {
        let stream = stream.try_clone()?;
        let mut waiting = self.lock();
        if waiting.callers.len() >= self.most {
            waiting.send_one_away();
        }
        waiting.born += 1;
        let number = waiting.born;
        waiting.callers.push_back(Caller { number, address, stream });
        Ok(number)
    }

    /// A caller has proved itself, or is gone.
    pub fn leave(&self, number: u64) {
        self.lock().callers.retain(|caller| caller.number != number);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn send_one_away(&mut self) {
        let mut counts = BTreeMap::<IpAddr, usize>::new();
        for caller in &self.callers {
            *counts.entry(caller.address).or_default() += 1;
        }
        let Some(busiest) = counts.into_iter().max_by_key(|(_, count)| *count).map(|(address, _)| address) else { return };
        let oldest = self.callers.iter().position(|caller| caller.address == busiest);
        if let Some(caller) = oldest.and_then(|place| self.callers.remove(place)) {
            // The thread that listens to it learns that it is closed.
            let _ = caller.stream.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;
    use std::time::Duration;

    #[test]
    fn the_oldest_of_the_address_with_the_most_callers_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let call = || (TcpStream::connect(listener.local_addr().unwrap()).unwrap(), listener.accept().unwrap().0);
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let strangers = Strangers::new(3);
        let calls: Vec<_> = [one, other, other, one]
            .into_iter()
            .map(|address| {
                let (here, there) = call();
                let number = strangers.admit(&there, address).unwrap();
                (here, there, number)
            })
            .collect();
        let is_closed = |place: usize| {
            let mut stream = &calls[place].0;
            stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            matches!(stream.read(&mut [0]), Ok(0))
        };
        assert_eq!([0, 1, 2, 3].map(is_closed), [false, true, false, false]);
        calls.iter().for_each(|(_, _, number)| strangers.leave(*number));
        assert!(strangers.lock().callers.is_empty());
    }
}
