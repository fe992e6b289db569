use super::*;
use crate::account::{Account, Address};
use crate::engine::dealing::Dealing;
use crate::engine::player::{Player, Source};
use crate::engine::poller::Until;
use crate::engine::slot::What;
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

/// Runs a test with a load thread that is in a closed loop, and the servers of its connections.
fn in_a_closed_loop(connections: usize, test: impl for<'w> FnOnce(Worker<'w, 'w, Player<'w>>, Vec<UnixStream>)) {
    let plan = workloads::find("noop", &[]).unwrap().plan().unwrap();
    let (run, stop) = (closed_loop(connections), AtomicBool::new(false));
    let (ours, servers): (Vec<_>, Vec<_>) = (0..connections).map(|_| UnixStream::pair().unwrap()).unzip();
    servers.iter().for_each(|server| server.set_nonblocking(true).unwrap());
    let (connector, source) = (Connector::new(&run.account), Source::of(&plan, &run));
    let shared = Shared::new(source.setup(), &run, &connector, Dealing::of(vec![1]), &stop);
    let ((filled, _told), (_empties, empty), (_begins, begin), (passing, passed)) =
        (sync_channel(9), channel(), channel(), channel());
    let lines = Channels { filled, begin, empty, passed, passing: vec![passing] };
    let mut worker = Worker::<Player>::new(&shared, &source, 0, connections, lines).unwrap();
    for (place, socket) in ours.into_iter().enumerate() {
        let statements = Statements::new(Arc::new(Budget::new(1)));
        let connection = Connection::new(Stream::session_over(socket), statements);
        worker.waiter.watch(connection.socket(), place, false).unwrap();
        worker.slots[place].connection = Some(connection);
        worker.rest(place);
    }
    worker.enter(0).unwrap();
    worker.start(0).unwrap();
    test(worker, servers);
}

#[test]
fn the_next_transaction_begins_within_the_turn_in_which_an_answer_ends_the_last_one() {
    in_a_closed_loop(2, |mut worker, mut servers| {
        for server in &mut servers {
            assert_eq!(received(server), COMMAND);
            server.write_all(OK).unwrap();
        }
        worker.listen().unwrap();
        // Only the answers were processed; `start` was not called again.
        for server in &mut servers {
            assert_eq!(received(server), COMMAND);
        }
    });
}

#[test]
fn a_thread_wakes_up_early_only_for_what_has_a_due_time() {
    in_a_closed_loop(3, |mut worker, _servers| {
        assert_eq!(worker.next_due(0), Until::Tick);
        let at = worker.clock.to_monotonic(1_000);
        worker.timers.set(1_000, 0);
        for (state, is_held, until) in [
            (State::Idles, false, Until::Exactly(at)),
            (State::Pauses(What::Transaction), false, Until::Exactly(at)),
            (State::Free, false, Until::Exactly(at)),
            // It waits for other connections at most until then.
            (State::Idles, true, Until::At(at)),
            (State::Lost, false, Until::At(at)),
            (State::Connects, false, Until::At(at)),
        ] {
            (worker.slots[0].state, worker.slots[0].is_held) = (state, is_held);
            assert_eq!(worker.next_due(0), until, "{state:?}");
            assert_eq!(worker.next_due(1_000), Until::Now);
        }
        // The replay asks to be called before that.
        worker.poll_by = Some(500);
        assert_eq!(worker.next_due(0), Until::At(worker.clock.to_monotonic(500)));
    });
}
