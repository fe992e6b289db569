//! Callers who have not yet proved that they have the token.
//!
//! There is room for a few at a time. A further one takes the place of another: of the network with the most callers, the new one
//! included. Where several networks have as many, it is a caller of one from which nobody with the token ever came, and among those
//! the oldest, for who has the token proves it within a round trip. So neither a crowd of silent callers nor callers from many
//! networks keep the conductor out or push it out. A network is an IPv4 address, or the /64 of an IPv6 one: whoever has one address
//! of a /64 has them all.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Networks that are remembered because somebody with the token came from there.
const MOST_KNOWN: usize = 16;

/// The callers at the door.
#[derive(Debug)]
pub struct Strangers {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    born: u64,
    /// In the order in which they came.
    callers: Vec<Caller>,
    /// Where callers with the token came from, the latest last.
    known: Vec<IpAddr>,
}

#[derive(Debug)]
struct Caller {
    number: u64,
    network: IpAddr,
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
        waiting.born += 1;
        let number = waiting.born;
        waiting.callers.push(Caller { number, network: network(address), stream });
        if waiting.callers.len() > self.most {
            waiting.send_one_away();
        }
        Ok(number)
    }

    /// A caller is gone, or has proved that it has the token.
    pub fn leave(&self, number: u64, proved: bool) {
        let mut waiting = self.lock();
        let Some(place) = waiting.callers.iter().position(|caller| caller.number == number) else { return };
        let network = waiting.callers.remove(place).network;
        if proved {
            waiting.known.retain(|known| *known != network);
            waiting.known.push(network);
            let surplus = waiting.known.len().saturating_sub(MOST_KNOWN);
            waiting.known.drain(..surplus);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn send_one_away(&mut self) {
        let mut counts = BTreeMap::<IpAddr, usize>::new();
        for caller in &self.callers {
            *counts.entry(caller.network).or_default() += 1;
        }
        // Of several that are equal, `min_by_key` takes the first: the oldest.
        let rank = |caller: &Caller| (usize::MAX - counts[&caller.network], self.known.contains(&caller.network));
        let chosen = self.callers.iter().enumerate().min_by_key(|(_, caller)| rank(caller)).map(|(place, _)| place);
        if let Some(place) = chosen {
            // The thread that listens to it learns that it is closed.
            let _ = self.callers.remove(place).stream.shutdown(Shutdown::Both);
        }
    }
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
    use std::io::Read;
    use std::net::TcpListener;
    use std::time::Duration;

    /// Strangers who come one after the other, and who of them is still there.
    struct Door {
        strangers: Strangers,
        listener: TcpListener,
        calls: Vec<(TcpStream, TcpStream, u64)>,
    }

    impl Door {
        fn of(most: usize) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            Self { strangers: Strangers::new(most), listener, calls: vec![] }
        }

        fn admit(&mut self, address: &str) -> u64 {
            let here = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
            let there = self.listener.accept().unwrap().0;
            let number = self.strangers.admit(&there, address.parse().unwrap()).unwrap();
            self.calls.push((here, there, number));
            number
        }

        fn admit_all(&mut self, addresses: &[&str]) {
            for address in addresses {
                self.admit(address);
            }
        }

        /// The places of those who were sent away.
        fn closed(&self) -> Vec<usize> {
            let is_closed = |mut stream: &TcpStream| {
                stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
                matches!(stream.read(&mut [0]), Ok(0))
            };
            (0..self.calls.len()).filter(|place| is_closed(&self.calls[*place].0)).collect()
        }
    }

    fn closed(most: usize, addresses: &[&str]) -> Vec<usize> {
        let mut door = Door::of(most);
        door.admit_all(addresses);
        door.closed()
    }

    #[test]
    fn the_oldest_of_the_network_with_the_most_callers_makes_room() {
        assert_eq!(closed(3, &["10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.1"]), [0]);
        assert_eq!(closed(3, &["10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.3"]), [1]);
    }

    #[test]
    fn who_calls_again_and_again_pushes_out_its_own_callers_only() {
        assert_eq!(closed(3, &["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.3", "10.0.0.3"]), [2, 3]);
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_and_ipv4_within_ipv6_by_its_address() {
        let crowd = ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:2:ffff::1", "2001:db8:0:3::1"];
        assert_eq!(closed(3, &crowd), [1]);
        // All of these have the same first 64 bits.
        assert_eq!(closed(3, &["::ffff:10.0.0.1", "::ffff:10.0.0.2", "10.0.0.2", "::ffff:10.0.0.3"]), [1]);
    }

    #[test]
    fn among_equal_networks_the_oldest_caller_goes_whatever_the_addresses_are() {
        for conductor in ["1.1.1.1", "200.0.0.1", "2001:db8::1", "ffff::1"] {
            let mut door = Door::of(4);
            door.admit_all(&["10.0.0.1", "10.0.0.2", "10.0.0.3", conductor, "10.0.0.4", "10.0.0.5"]);
            assert_eq!(door.closed(), [0, 1], "{conductor}");
        }
    }

    #[test]
    fn a_network_that_had_the_token_goes_last_among_equals_but_not_where_it_has_the_most() {
        let mut door = Door::of(2);
        let proved = door.admit("10.0.0.9");
        door.strangers.leave(proved, true);
        door.admit_all(&["10.0.0.9", "10.0.0.1", "10.0.0.2", "10.0.0.3"]);
        assert_eq!(door.closed(), [2, 3]);
        door.admit("10.0.0.9");
        assert_eq!(door.closed(), [1, 2, 3], "it has two callers, the others have one");
    }

    #[test]
    fn a_caller_that_left_without_a_proof_is_not_remembered_and_few_are() {
        let mut door = Door::of(1);
        for last in 0..100 {
            let number = door.admit(&format!("10.0.0.{last}"));
            door.strangers.leave(number, last % 2 == 0);
        }
        let waiting = door.strangers.lock();
        assert!(waiting.callers.is_empty());
        assert_eq!(waiting.known.len(), MOST_KNOWN);
        assert!(
            waiting.known.contains(&"10.0.0.98".parse().unwrap()) && !waiting.known.contains(&"10.0.0.99".parse().unwrap())
        );
    }
}
