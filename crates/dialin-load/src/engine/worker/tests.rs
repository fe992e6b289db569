use super::*;
use crate::account::{Account, Address};
use crate::engine::dealing::Dealing;
use crate::engine::player::{Player, Source};
use crate::engine::statements::{Budget, Statements};
use crate::net::connect::Connector;
use crate::net::stream::Stream;
use crate::run::{Gather, Phase, Purpose, Run};
use crate::workloads;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{channel, sync_channel};

/// An OK packet, a server's answer to a command.
const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
/// `DO 0`, sent as text.
const COMMAND: &[u8] = b"\x05\0\0\0\x03DO 0";

fn closed_loop(connections: usize) -> Run {
    let phase = Phase {
        purpose: Purpose::Measure,
        step: 1,
        seconds: None,
        connections,
        rate: None,
        load_threads: Some(1),
        gather: Gather::Off,
    };
    let address = Address::Socket("/nowhere".into());
    let [user, password, database] = [const { String::new() }; 3];
    Run {
        account: Account { address, user, password, database, ..Account::default() },
        phases: vec![phase],
        seed: 1,
        first: 0,
        stride: 1,
        transactions: None,
        text: false,
        backlog: 0,
        timeout: Duration::from_secs(20),
        reconnect_for: Duration::ZERO,
    }
}

/// What the load thread has sent to a server since the last call.
fn received(server: &mut UnixStream) -> Vec<u8> {
    let mut buffer = [0; 1024];
    let count = server.read(&mut buffer).unwrap_or(0);
    buffer[..count].to_vec()
}

#[test]
fn the_next_transaction_begins_within_the_turn_in_which_an_answer_ends_the_last_one() {
    let (plan, run, stop) = (workloads::find("noop", &[]).unwrap().plan().unwrap(), closed_loop(2), AtomicBool::new(false));
    let (ours, mut servers): (Vec<_>, Vec<_>) = (0..2).map(|_| UnixStream::pair().unwrap()).unzip();
    servers.iter().for_each(|server| server.set_nonblocking(true).unwrap());
    let (connector, source) = (Connector::new(&run.account), Source::of(&plan, &run));
    let shared = Shared::new(source.setup(), &run, &connector, Dealing::of(vec![1]), &stop);
    let ((filled, _told), (_empties, empty), (_begins, begin), (passing, passed)) =
        (sync_channel(9), channel(), channel(), channel());
    let lines = Channels { filled, begin, empty, passed, passing: vec![passing] };
    let mut worker = Worker::<Player<'_>>::new(&shared, &source, 0, 2, lines).unwrap();
    for (place, socket) in ours.into_iter().enumerate() {
        let statements = Statements::new(Arc::new(Budget::new(1)));
        let connection = Connection::new(Stream::session_over(socket), statements);
        worker.waiter.watch(connection.socket(), place, false).unwrap();
        worker.slots[place].connection = Some(connection);
        worker.rest(place);
    }
    worker.enter(0).unwrap();
    worker.start(0).unwrap();
    for server in &mut servers {
        assert_eq!(received(server), COMMAND);
        server.write_all(OK).unwrap();
    }
    worker.listen().unwrap();
    // Only the answers were processed; `start` was not called again.
    for server in &mut servers {
        assert_eq!(received(server), COMMAND);
    }
}
