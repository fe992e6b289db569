//! Agents and a conductor over real connections, with a load that is played without a server.

use super::conductor::{Conductor, Host};
use super::link::Link;
use super::order::{Order, Source, divide, tests::run};
use super::serve::Agent;
use super::token::Token;
use super::wire::{Command, Report, tests::told};
use super::{Nonce, Timeout};
use crate::engine::{Played, Second, play_when};
use crate::errors::{Error, Fault, Result};
use crate::mock_server::{Answer, Command as Asked, MockServer};
use crate::record::Merged;
use crate::run::Purpose;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const SECRET: &[u8] = b"c29tZSBieXRlcyB0aGF0IHNlcnZlIGFzIGEgdG9rZW4h";
const SOON: Duration = Duration::from_secs(10);

fn timeout() -> Timeout {
    Timeout {
        greeting: Duration::from_secs(2),
        silence: Duration::from_secs(1),
        beat: Duration::from_millis(50),
        lead: Duration::from_millis(300),
        stopping: Duration::from_secs(2),
        parting: Duration::from_secs(1),
    }
}

fn token(secret: &[u8]) -> Token {
    Token::of(secret).unwrap()
}

type Playing = Box<
    dyn Fn(&Order, &AtomicBool, &mut dyn FnMut() -> Result<Instant>, &mut dyn FnMut(Second)) -> Result<Played> + Send + Sync,
>;

/// An agent in a thread of its own.
struct Stage {
    address: String,
    stop: Arc<AtomicBool>,
    said: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Stage {
    fn of(play: Playing) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, said) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (stopped, saying) = (Arc::clone(&stop), Arc::clone(&said));
        let thread = thread::spawn(move || {
            let say = move |line| saying.lock().unwrap().push(line);
            Agent { token: token(SECRET), play: &*play, timeout: timeout(), stop: &stopped, say: &say }.serve(&listener)
        });
        Self { address, stop, said, thread: Some(thread) }
    }

    fn wait_until_said(&self, words: &str) {
        let since = Instant::now();
        while !self.said.lock().unwrap().iter().any(|line| line.contains(words)) {
            assert!(since.elapsed() < SOON, "{words:?} was never said: {:?}", self.said.lock().unwrap());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap().unwrap();
        }
    }
}

/// A second in which each of the agent's connections played ten transactions.
fn second(order: &Order, number: u64) -> Second {
    let connections = order.run.phases[0].connections;
    let mut merged = Merged::new(1);
    (0..10 * connections).for_each(|_| merged.tally.transaction(0, 1_000_000, 500_000));
    let purpose = if number <= 2 { Purpose::WarmUp } else { Purpose::Measure };
    Second { number, purpose, step: 1, connections, load_threads: 1, gather: None, rate: None, at: 1e9, seconds: 1.0, merged }
}

/// Seconds of ten milliseconds, until there are so many or it is stopped; `starts` is told when the load began, `ends` that it ended.
fn steady(count: u64, starts: &Arc<Mutex<Vec<Instant>>>, ends: &Arc<AtomicBool>) -> Playing {
    let (starts, ends) = (Arc::clone(starts), Arc::clone(ends));
    Box::new(move |order, stop, ready, seconds| {
        let start = ready()?;
        thread::sleep(start.saturating_duration_since(Instant::now()));
        starts.lock().unwrap().push(start);
        let mut number = 0;
        while number < count && !stop.load(Relaxed) {
            thread::sleep(Duration::from_millis(10));
            number += 1;
            seconds(second(order, number));
        }
        ends.store(true, Relaxed);
        Ok(Played { seconds: number, reached_backlog_cap: false })
    })
}

fn playing(count: u64) -> Playing {
    steady(count, &Arc::default(), &Arc::default())
}

struct Outcome {
    played: Result<Played>,
    seconds: Vec<Second>,
}

/// Conduct a run of six connections; `stop_after` so many seconds were told.
fn conduct(secret: &[u8], addresses: &[&str], stop_after: usize) -> Outcome {
    let (stop, mut seconds) = (AtomicBool::new(stop_after == 0), Vec::new());
    let run = run(6, None);
    let orders = divide(&run, &Source::Known("noop".into()), &[], addresses.len()).unwrap();
    let hosts = addresses.iter().zip(orders).map(|(name, order)| Host { name: (*name).to_owned(), order }).collect();
    let mut conductor = Conductor { token: token(secret), timeout: timeout(), stop: &stop, say: &mut |_| {} };
    let played = conductor.conduct(hosts, &run, &mut |second| {
        seconds.push(second);
        assert!(seconds.len() < 1000, "the run goes on for ever");
        stop.store(seconds.len() >= stop_after, Relaxed);
    });
    Outcome { played, seconds }
}

/// A conductor or an agent that a test plays by hand.
struct ByHand(Link);

impl ByHand {
    fn call(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        Self(Link::call(stream, &token(SECRET), &Nonce::default(), SOON).unwrap())
    }

    fn send(&mut self, message: &impl Serialize) {
        self.0.writer.send(message).unwrap();
    }

    fn receive<T: DeserializeOwned>(&mut self) -> T {
        self.0.reader.receive(Instant::now() + SOON).unwrap()
    }

    fn order(&mut self) {
        let order = divide(&run(1, None), &Source::Known("noop".into()), &[], 1).unwrap().remove(0);
        self.send(&Command::Order(Box::new(order)));
    }

    /// Skip to what is looked for.
    fn hear_until(&mut self, wanted: impl Fn(&Report) -> bool) {
        while !wanted(&self.receive()) {}
    }
}

/// Leave in good order: what was said arrives.
fn leave(mut agent: ByHand) {
    agent.0.writer.finish();
    agent.0.reader.drain(Instant::now() + SOON);
}

/// An agent that answers all questions, says `sayings` once it is told to start, and then does as `end` says.
fn by_hand(sayings: Vec<Report>, end: fn(ByHand)) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let agent = thread::spawn(move || {
        let stream = listener.accept().unwrap().0;
        let mut agent = ByHand(Link::answer(stream, &token(SECRET), &Nonce::default(), SOON).unwrap());
        agent.send(&Report::Welcome);
        agent.send(&Report::Ready);
        loop {
            match agent.receive() {
                Command::Ask(ask) => agent.send(&Report::Clock { ask, nanoseconds: ask }),
                Command::Start(_) => break,
                Command::Conduct | Command::Order(_) | Command::Stop => {}
            }
        }
        sayings.iter().for_each(|report| agent.send(report));
        end(agent);
    });
    (address, agent)
}

#[test]
fn agents_start_together_and_their_seconds_are_those_of_one_run() {
    let starts = Arc::default();
    let stages = [(); 3].map(|()| Stage::of(steady(5, &starts, &Arc::default())));
    let addresses: Vec<&str> = stages.iter().map(|stage| stage.address.as_str()).collect();
    let Outcome { played, seconds } = conduct(SECRET, &addresses, usize::MAX);
    assert_eq!(played, Ok(Played { seconds: 5, reached_backlog_cap: false }));
    assert_eq!(seconds.iter().map(|second| second.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    for second in &seconds {
        assert_eq!(
            (
                second.connections,
                second.load_threads,
                second.merged.tally.all_transactions(),
                second.merged.tally.latency.count()
            ),
            (6, 3, 60, 60)
        );
        assert_eq!(second.purpose, if second.number <= 2 { Purpose::WarmUp } else { Purpose::Measure });
    }
    let starts = starts.lock().unwrap();
    let apart = starts.iter().max().unwrap().duration_since(*starts.iter().min().unwrap());
    assert!(starts.len() == 3 && apart < Duration::from_millis(20), "{apart:?}");
}

/// Plays the order with the real engine against a server that does nothing; `starts` receives the agreed start, `first` when the
/// first statement of a transaction arrived.
fn real_engine(name: &str, starts: &Arc<Mutex<Vec<Instant>>>, first: &Arc<Mutex<Vec<Instant>>>) -> Playing {
    let path = std::env::temp_dir().join(format!("dialin-load-agents-{name}-{}.sock", std::process::id()));
    let (starts, first, arrived) = (Arc::clone(starts), Arc::clone(first), AtomicBool::new(false));
    let server = MockServer::listen(&path, move |asked| {
        if matches!(asked, Asked::Query(_) | Asked::Execute(_)) && !arrived.swap(true, Relaxed) {
            first.lock().unwrap().push(Instant::now());
        }
        Answer::Ok
    });
    let server = Mutex::new(server.unwrap());
    Box::new(move |order, stop, ready, seconds| {
        let account = server.lock().unwrap().account();
        let plan = order.source.workload(&order.options, order.connections, order.run.seed)?.plan()?;
        let mut agreed = || ready().inspect(|start| starts.lock().unwrap().push(*start));
        play_when(&plan, &order.run_at(&account)?, stop, &mut agreed, seconds)
    })
}

#[test]
fn the_engine_sends_nothing_before_the_agreed_start() {
    let (starts, first) = (Arc::default(), Arc::default());
    let stages = ["one", "two"].map(|name| Stage::of(real_engine(name, &starts, &first)));
    let addresses: Vec<&str> = stages.iter().map(|stage| stage.address.as_str()).collect();
    let Outcome { played, seconds } = conduct(SECRET, &addresses, 1);
    played.unwrap();
    let (starts, first) = (starts.lock().unwrap(), first.lock().unwrap());
    let (agreed, began) = (starts.iter().min().unwrap(), first.iter().min().unwrap());
    assert_eq!(first.len(), 2);
    assert!(began >= agreed, "the load began {:?} too early", agreed.duration_since(*began));
    let shortest = seconds[0].merged.tally.latency.percentiles().p50.unwrap();
    assert!(shortest > 0.0, "half of the transactions took no time");
}

#[test]
fn an_agent_plays_one_run_after_the_other() {
    let stage = Stage::of(playing(3));
    for _ in 0..3 {
        assert_eq!(conduct(SECRET, &[&stage.address], usize::MAX).played.unwrap().seconds, 3);
    }
}

#[test]
fn a_lost_agent_fails_the_run_and_stops_the_others() {
    let ends = Arc::default();
    let stage = Stage::of(steady(u64::MAX, &Arc::default(), &ends));
    let (lost, agent) = by_hand(vec![Report::Second(Box::new(told(1, 5)))], drop);
    let Outcome { played, seconds } = conduct(SECRET, &[&stage.address, &lost], usize::MAX);
    let error = played.unwrap_err();
    assert_eq!(error.fault, Fault::Driver);
    assert!(error.what.contains(&lost) && error.what.contains("lost"), "{error}");
    assert!(seconds.len() <= 1, "a smaller load was handed on");
    agent.join().unwrap();
    stage.wait_until_said("closed the connection, and the load was stopped");
    assert!(ends.load(Relaxed));
}

#[test]
fn an_agent_that_falls_silent_is_lost() {
    let (silent, agent) =
        by_hand(vec![], |mut agent| while agent.0.reader.receive::<Command>(Instant::now() + SOON).is_ok() {});
    let error = conduct(SECRET, &[&silent], usize::MAX).played.unwrap_err();
    assert!(error.what.contains("sent nothing for too long"), "{error}");
    agent.join().unwrap();
}

#[test]
fn an_agent_that_talks_nonsense_is_lost() {
    let nonsense = vec![Report::Second(Box::new(told(7, 1)))];
    let (odd, agent) = by_hand(nonsense, leave);
    let error = conduct(SECRET, &[&odd], usize::MAX).played.unwrap_err();
    assert!(error.what.contains("out of turn"), "{error}");
    agent.join().unwrap();
}

#[test]
fn an_agent_that_played_may_leave_before_the_others() {
    let stage = Stage::of(playing(5));
    let ended = Played { seconds: 1, reached_backlog_cap: true };
    let (early, agent) = by_hand(vec![Report::Second(Box::new(told(1, 5))), Report::Played(ended)], leave);
    let Outcome { played, seconds } = conduct(SECRET, &[&stage.address, &early], usize::MAX);
    assert_eq!(played, Ok(Played { seconds: 5, reached_backlog_cap: true }));
    let counts: Vec<u64> = seconds.iter().map(|second| second.merged.tally.all_transactions()).collect();
    assert_eq!(counts, [35, 30, 30, 30, 30]);
    agent.join().unwrap();
}

#[test]
fn a_stop_ends_all_with_what_was_measured() {
    let stages = [(); 2].map(|()| Stage::of(playing(u64::MAX)));
    let Outcome { played, seconds } = conduct(SECRET, &[&stages[0].address, &stages[1].address], 4);
    assert!(played.unwrap().seconds >= 4 && seconds.len() >= 4);
    stages.iter().for_each(|stage| stage.wait_until_said("played for"));
}

#[test]
fn a_stop_before_the_start_is_no_error() {
    let stage = Stage::of(playing(5));
    let Outcome { played, seconds } = conduct(SECRET, &[&stage.address], 0);
    assert_eq!((played.unwrap().seconds, seconds.len()), (0, 0));
}

#[test]
fn an_agent_whose_conductor_vanished_stops_and_waits_for_the_next() {
    let ends = Arc::default();
    let stage = Stage::of(steady(u64::MAX, &Arc::default(), &ends));
    let vanishing: [fn(&ByHand); 2] = [|conductor| conductor.0.writer.close(), |_| thread::sleep(2 * timeout().silence)];
    for vanish in vanishing {
        let mut conductor = ByHand::call(&stage.address);
        conductor.order();
        conductor.hear_until(|report| *report == Report::Ready);
        conductor.send(&Command::Ask(1));
        let mut shown = 0;
        while shown == 0 {
            if let Report::Clock { nanoseconds, .. } = conductor.receive() {
                shown = nanoseconds;
            }
        }
        conductor.send(&Command::Start(shown + 300_000_000));
        conductor.hear_until(|report| matches!(report, Report::Second(_)));
        vanish(&conductor);
        stage.wait_until_said("and the load was stopped");
        assert!(ends.swap(false, Relaxed));
        stage.said.lock().unwrap().clear();
    }
    assert!(conduct(SECRET, &[&stage.address], 2).played.is_ok());
}

#[test]
fn a_conductor_that_talks_nonsense_is_left_and_the_next_one_served() {
    let stage = Stage::of(playing(3));
    let mut conductor = ByHand::call(&stage.address);
    conductor.send(&["nonsense"]);
    stage.wait_until_said("makes no sense");
    let mut conductor = ByHand::call(&stage.address);
    conductor.send(&Command::Stop);
    stage.wait_until_said("ordered nothing");
    let mut conductor = ByHand::call(&stage.address);
    conductor.order();
    conductor.order();
    stage.wait_until_said("makes no sense, and the load was stopped");
    let mut conductor = ByHand::call(&stage.address);
    conductor.order();
    conductor.send(&Command::Start(u64::MAX));
    stage.wait_until_said("had already passed");
    drop(conductor);
    assert_eq!(conduct(SECRET, &[&stage.address], usize::MAX).played.unwrap().seconds, 3);
}

#[test]
fn what_fails_at_an_agent_fails_the_run_with_its_fault_and_remedy() {
    let stages =
        [Stage::of(playing(u64::MAX)), Stage::of(Box::new(|_, _, _, _| Err(Error::workload("Table is missing", "Prepare"))))];
    let error = conduct(SECRET, &[&stages[0].address, &stages[1].address], usize::MAX).played.unwrap_err();
    assert_eq!((error.fault, error.remedy.as_str()), (Fault::Workload, "Prepare"));
    assert_eq!(error.what, format!("Agent {}: Table is missing", stages[1].address));
    stages[1].wait_until_said("Table is missing");
}

#[test]
fn a_defect_of_an_agent_is_told_and_does_not_end_it() {
    let stage = Stage::of(Box::new(|_, _, _, _| panic!("on purpose")));
    for _ in 0..2 {
        let error = conduct(SECRET, &[&stage.address], usize::MAX).played.unwrap_err();
        assert!(error.fault == Fault::Driver && error.what.contains("defect"), "{error}");
    }
}

#[test]
fn an_agent_that_is_told_to_end_fails_the_run() {
    let stage = Stage::of(playing(u64::MAX));
    let address = stage.address.clone();
    let conductor = thread::spawn(move || conduct(SECRET, &[&address], usize::MAX).played);
    stage.wait_until_said("conducts");
    thread::sleep(Duration::from_millis(300));
    drop(stage);
    let error = conductor.join().unwrap().unwrap_err();
    assert!(error.what.contains("stopped by a signal"), "{error}");
}

#[test]
fn another_token_a_busy_agent_and_nobody_are_faults_of_the_user() {
    let stage = Stage::of(playing(u64::MAX));
    let refused = |secret: &[u8], address: &str| {
        let error = conduct(secret, &[address], usize::MAX).played.unwrap_err();
        assert_eq!(error.fault, Fault::User, "{error}");
        error
    };
    assert!(refused(b"b3RoZXIgYnl0ZXMgdGhhdCBzZXJ2ZSBhcyBhIHRva2Vu", &stage.address).what.contains("another token"));
    stage.wait_until_said("another token");
    let mut first = ByHand::call(&stage.address);
    first.order();
    thread::spawn(move || {
        while first.0.writer.send(&Command::Ask(1)).is_ok() {
            thread::sleep(timeout().beat);
        }
    });
    assert!(refused(SECRET, &stage.address).what.contains("plays another run"));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    assert!(refused(SECRET, &free).what.contains("cannot be reached"));
}

#[test]
fn strangers_who_say_nothing_keep_nobody_waiting() {
    let stage = Stage::of(playing(3));
    let strangers: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&stage.address).unwrap()).collect();
    assert_eq!(conduct(SECRET, &[&stage.address], usize::MAX).played.unwrap().seconds, 3);
    stage.wait_until_said("sent nothing for too long");
    drop(strangers);
}

#[test]
fn a_crowd_of_strangers_does_not_lock_the_conductor_out() {
    let stage = Stage::of(playing(3));
    let strangers: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&stage.address).unwrap()).collect();
    assert_eq!(conduct(SECRET, &[&stage.address], usize::MAX).played.unwrap().seconds, 3);
    drop(strangers);
}

#[test]
fn agents_are_named_once_each_with_their_ports() {
    let named = |names: &[&str]| super::conductor::hosts(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(named(&["a:1", "[::1]:2"]).unwrap(), ["a:1", "[::1]:2"]);
    for wrong in [&["a"][..], &["a:"], &[":1"], &["a:0"], &["a:70000"], &["a:1", "a:1"], &[]] {
        assert_eq!(named(wrong).unwrap_err().fault, Fault::User, "{wrong:?}");
    }
}
