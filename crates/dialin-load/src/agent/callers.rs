//! Callers that have not proved yet that they have the token.
//!
//! Their number is limited. If a further one connects, one caller is closed, perhaps the new one: a caller of the network with
//! the most callers. Of several such networks, those from which somebody with the token has called before are spared. Of the
//! remaining callers, the oldest is closed, because a caller with the token proves it within a round trip. So neither many
//! callers from one network nor callers from many networks lock the conductor out. A network is an IPv4 address, or the /64 of
//! an IPv6 address, because the owner of one address of a /64 has all of them.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The highest number of callers at a time.
const MOST: usize = 64;

/// The callers that have not proved that they have the token.
#[derive(Debug, Default)]
pub struct Callers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of callers so far, and the number of those whose threads have ended.
    came: usize,
    left: usize,
    /// The number, network and connection of the present callers, in the order in which they connected.
    open: Vec<(usize, IpAddr, TcpStream)>,
    /// The networks from which somebody with the token has called.
    known: BTreeSet<IpAddr>,
}

/// The place of a caller; dropping it makes room for another one.
pub struct Place<'a> {
    callers: &'a Callers,
    number: usize,
}

impl Callers {
    /// Admit a caller. If there are too many then, close the connection of one of them.
    ///
    /// # Errors
    /// The process has too many open files.
    pub fn admit(&self, stream: &TcpStream, address: IpAddr) -> io::Result<Place<'_>> {
        let stream = stream.try_clone()?;
        let mut state = self.lock();
        state.came += 1;
        let number = state.came;
        state.open.push((number, network(address), stream));
        if state.open.len() > MOST {
            let networks: Vec<IpAddr> = state.open.iter().map(|(_, network, _)| *network).collect();
            let place = one_to_close(&networks, &state.known);
            // The thread that reads from it notices that it is closed.
            let _ = state.open.remove(place).2.shutdown(Shutdown::Both);
        }
        Ok(Place { callers: self, number })
    }

    /// Whether so many threads of callers exist, including those of closed ones, that no further caller should be accepted now.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        let state = self.lock();
        state.came - state.left > 2 * MOST
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Remember the network of this caller, which has proved that it has the token.
    pub fn mark_proved(&self) {
        let mut state = self.callers.lock();
        let network = state.open.iter().find(|(number, ..)| *number == self.number).map(|(_, network, _)| *network);
        state.known.extend(network);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.callers.lock();
        state.open.retain(|(number, ..)| *number != self.number);
        state.left += 1;
    }
}

/// The index of the caller to close, given the networks of all callers in the order in which they connected; 0 if there are
/// none.
fn one_to_close(callers: &[IpAddr], known: &BTreeSet<IpAddr>) -> usize {
    let rank = |place: &usize| {
        let network = callers[*place];
        (Reverse(callers.iter().filter(|other| **other == network).count()), known.contains(&network))
    };
    // Of several equal ones, `min_by_key` returns the first, which is the oldest.
    (0..callers.len()).min_by_key(rank).unwrap_or_default()
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_oldest_of_the_network_with_the_most_callers_is_closed_and_a_known_network_is_spared_on_a_tie() {
        for (callers, known, closed) in [
            ("10.0.0.1 10.0.0.2 10.0.0.2 10.0.0.3", "", 1),
            ("10.0.0.1 10.0.0.2 10.0.0.2 10.0.0.1", "", 0),
            ("10.0.0.9 10.0.0.1 10.0.0.2", "", 0),
            ("10.0.0.9 10.0.0.1 10.0.0.2", "10.0.0.9", 1),
            ("10.0.0.1 10.0.0.9 10.0.0.9", "10.0.0.9", 1),
            // The /64 counts of IPv6, and the address of IPv4 within IPv6.
            ("2001:db8:0:1::1 2001:db8:0:2::1 2001:db8:0:2:ffff::1 2001:db8:0:3::1", "", 1),
            ("::ffff:10.0.0.1 ::ffff:10.0.0.2 10.0.0.2 ::ffff:10.0.0.3", "", 1),
        ] {
            let callers: Vec<IpAddr> = callers.split(' ').map(|caller| network(address(caller))).collect();
            let known = known.split_terminator(' ').map(address).collect();
            assert_eq!(one_to_close(&callers, &known), closed, "{callers:?} {known:?}");
        }
    }

    #[test]
    fn callers_beyond_the_limit_are_closed_and_those_that_left_make_room() {
        let (listener, callers) = (TcpListener::bind("127.0.0.1:0").unwrap(), Callers::default());
        let admit = |host: usize| {
            let _caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let stream = listener.accept().unwrap().0;
            callers.admit(&stream, address(&format!("10.0.0.{host}"))).unwrap()
        };
        let numbers = || callers.lock().open.iter().map(|(number, ..)| *number).collect::<Vec<_>>();
        let first = admit(1);
        first.mark_proved();
        drop(first);
        let _crowd: Vec<Place<'_>> = (1..=MOST).map(admit).collect();
        assert_eq!(numbers(), (2..=MOST + 1).collect::<Vec<_>>());
        let _further = [200, 201].map(admit);
        assert_eq!(numbers()[..2], [2, 5], "the first is of a known network, and the two after it made room");
        let more: Vec<Place<'_>> = (0..MOST).map(admit).collect();
        assert!(callers.is_crowded(), "the threads of closed callers have not ended yet");
        drop(more);
        assert!(!callers.is_crowded());
    }
}
