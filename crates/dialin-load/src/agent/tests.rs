//! Agents and a conductor over real connections, mostly with a load that needs no server.

use super::conductor::{Conductor, check_names};
use super::link::Link;
use super::merge::tests::second;
use super::messages::{Report, Request};
use super::order::{Order, Source, divide, tests::account, tests::run};
use super::serve::Agent;
use super::token::Token;
use crate::BUILD;
use crate::account::Account;
use crate::engine::{RunResult, Second, play_when};
use crate::errors::{Error, Fault, Result};
use crate::mock_server::{Answer, Command as Asked, MockServer};
use crate::run::{Purpose, Run};
use serde::Serialize;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const SECRET: &[u8] = b"c29tZSBieXRlcyB0aGF0IHNlcnZlIGFzIGEgdG9rZW4h";
const OTHER_SECRET: &[u8] = b"b3RoZXIgYnl0ZXMgdGhhdCBzZXJ2ZSBhcyBhIHRva2Vu";
const SILENCE: Duration = Duration::from_secs(3);
const SOON: Duration = Duration::from_secs(20);

fn token(secret: &[u8]) -> Token {
    Token::of(secret).unwrap()
}

type Playing = Box<
    dyn Fn(&Order, &AtomicBool, &mut dyn FnMut() -> Result<Instant>, &mut dyn FnMut(Second)) -> Result<RunResult> + Send + Sync,
>;

/// An agent in a thread of its own.
struct Stage {
    address: String,
    stop: Arc<AtomicBool>,
    said: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Stage {
    fn of(play: Playing) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, said) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (stopped, saying) = (Arc::clone(&stop), Arc::clone(&said));
        let thread = thread::spawn(move || {
            let say = move |line| saying.lock().unwrap().push(line);
            let opened = Mutex::new(channel().1);
            Agent { token: token(SECRET), play: &*play, opened, silence: SILENCE, stop: &stopped, say: &say }.serve(&listener)
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

/// A load that reports `count` seconds of ten milliseconds each, with ten transactions per connection, unless it is stopped
/// before. `starts` receives the time of its start; `ends` is set at its end.
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
            let purpose = if number <= 2 { Purpose::WarmUp } else { Purpose::Measure };
            let connections = order.run.phases[0].connections;
            seconds(Second { purpose, connections, ..second(number, 10 * connections as u64) });
        }
        ends.store(true, Relaxed);
        Ok(RunResult { seconds: number, reached_backlog_cap: false, ..RunResult::default() })
    })
}

fn playing(count: u64) -> Playing {
    steady(count, &Arc::default(), &Arc::default())
}

struct Outcome {
    played: Result<RunResult>,
    seconds: Vec<Second>,
    /// The longest round trip to an agent.
    round_trip: Duration,
}

impl Outcome {
    fn error(self) -> Error {
        self.played.unwrap_err()
    }
}

/// Conduct a run of six connections, and stop it after `stop_after` seconds.
fn conduct(secret: &[u8], addresses: &[&str], stop_after: usize) -> Outcome {
    conduct_run(&run(6, None), secret, addresses, stop_after)
}

fn conduct_run(run: &Run, secret: &[u8], addresses: &[&str], stop_after: usize) -> Outcome {
    let (stop, mut seconds) = (AtomicBool::new(stop_after == 0), Vec::new());
    let orders = divide(run, &Source::Known("noop".into()), &[], addresses.len()).unwrap();
    let orders: Vec<_> = addresses.iter().map(|name| (*name).to_owned()).zip(orders).collect();
    let mut round_trip = Duration::ZERO;
    let mut say = |line: String| {
        let milliseconds = line.rsplit_once("round trip ").unwrap().1.trim_end_matches(" ms").parse::<f64>().unwrap();
        round_trip = round_trip.max(Duration::from_secs_f64(milliseconds / 1e3));
    };
    let mut conductor = Conductor { token: token(secret), silence: SILENCE, stop: &stop, say: &mut say };
    let played = conductor.conduct(&orders, run, &mut |second| {
        seconds.push(second);
        assert!(seconds.len() < 1000, "the run does not end");
        stop.store(seconds.len() >= stop_after, Relaxed);
    });
    Outcome { played, seconds, round_trip }
}

/// A conductor whose messages the test sends one by one.
struct ByHand(Link);

impl ByHand {
    fn call(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        Self(Link::call(stream, &token(SECRET), BUILD, SOON).unwrap())
    }

    /// A conductor that has given an order.
    fn ordering(address: &str) -> Self {
        let mut conductor = Self::call(address);
        let order = divide(&run(1, None), &Source::Known("noop".into()), &[], 1).unwrap().remove(0);
        conductor.ask(&order);
        conductor
    }

    fn ask(&mut self, message: &impl Serialize) -> Report {
        self.0.send(message).unwrap();
        self.0.receive(Instant::now() + SOON).unwrap()
    }

    fn ask_until(&mut self, is_wanted: impl Fn(&Report) -> bool) -> Report {
        loop {
            let report = self.ask(&Request::Report);
            if is_wanted(&report) {
                return report;
            }
        }
    }
}

/// An agent of the given build that is ready at once. After the start it answers each request with the next one of `reports`,
/// then calls `end`.
fn agent_by_hand(build: &'static str, reports: Vec<Report>, end: fn(Link)) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let agent = thread::spawn(move || {
        let Ok(mut link) = Link::answer(listener.accept().unwrap().0, &token(SECRET), build, SOON) else { return };
        let _: Order = link.receive(Instant::now() + SOON).unwrap();
        let ready = Report { is_ready: true, ..Report::default() };
        link.send(&ready).unwrap();
        while !matches!(link.receive(Instant::now() + SOON), Ok(Request::Start(_))) {
            link.send(&ready).unwrap();
        }
        link.send(&ready).unwrap();
        for report in reports {
            let _: Request = link.receive(Instant::now() + SOON).unwrap();
            link.send(&report).unwrap();
        }
        end(link);
    });
    (address, agent)
}

#[test]
fn agents_start_together_and_their_seconds_are_those_of_one_run() {
    let starts = Arc::default();
    let stages = [(); 3].map(|()| Stage::of(steady(5, &starts, &Arc::default())));
    let addresses: Vec<&str> = stages.iter().map(|stage| stage.address.as_str()).collect();
    let Outcome { played, seconds, round_trip } = conduct(SECRET, &addresses, usize::MAX);
    assert_eq!(played, Ok(RunResult { seconds: 5, reached_backlog_cap: false, ..RunResult::default() }));
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
    // Each clock is read with an error of at most half a round trip, which is shown in microseconds.
    assert!(starts.len() == 3 && apart <= round_trip + Duration::from_micros(1), "{apart:?}, round trip {round_trip:?}");
}

/// Plays the order with the real engine against a mock server. `starts` receives the agreed start, `first` the arrival of the
/// first statement of a transaction.
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
    let Outcome { played, seconds, .. } = conduct(SECRET, &addresses, 1);
    played.unwrap();
    let (starts, first) = (starts.lock().unwrap(), first.lock().unwrap());
    let (agreed, began) = (starts.iter().min().unwrap(), first.iter().min().unwrap());
    assert_eq!(first.len(), 2);
    assert!(began >= agreed, "the load began {:?} too early", agreed.duration_since(*began));
    let shortest = seconds[0].merged.tally.latency.percentiles().p50.unwrap();
    assert!(shortest > 0.0, "half of the transactions took no time");
}

#[test]
fn an_agent_that_is_lost_or_sends_nonsense_fails_the_run_and_the_others_stop() {
    let one = |number| Report { seconds: vec![second(number, 5)], ..Report::default() };
    let wait = |mut link: Link| while link.receive::<Request>(Instant::now() + SOON).is_ok() {};
    let nonsense = |mut link: Link| link.send(&["nonsense"]).unwrap();
    for (number, end, words) in [
        (1, drop as fn(Link), "is lost: it closed the connection"),
        (1, wait, "is lost: it sent nothing for too long"),
        (1, nonsense, "is lost: it sent a message that makes no sense"),
        (7, drop, "out of turn"),
    ] {
        let ends = Arc::default();
        let stage = Stage::of(steady(u64::MAX, &Arc::default(), &ends));
        let (lost, agent) = agent_by_hand(BUILD, vec![one(number)], end);
        let outcome = conduct(SECRET, &[&stage.address, &lost], usize::MAX);
        assert!(outcome.seconds.len() <= 1, "a smaller load was handed on");
        let error = outcome.error();
        assert!(error.what.contains(&lost) && error.what.contains(words), "{error}");
        assert_eq!(error.fault, if words == "out of turn" { Fault::Driver } else { Fault::Machine });
        agent.join().unwrap();
        stage.wait_until_said("and the load was stopped");
        assert!(ends.load(Relaxed));
    }
}

#[test]
fn the_sessions_of_an_agent_that_is_lost_stay_on_record_and_those_of_a_run_that_ended_do_not() {
    let path = std::env::temp_dir().join(format!("dialin-load-sessions-{}", std::process::id()));
    let account = Account { sessions_file: Some(path.clone()), ..account() };
    let run = Run { account, ..run(6, None) };
    let on_record = || {
        let text = std::fs::read_to_string(&path).unwrap();
        text.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (ended, expected) in [(None, vec!["7", "8"]), (Some(Ok(RunResult::default())), vec![])] {
        let report = Report { sessions: vec![7, 8], ended, ..Report::default() };
        let (address, agent) = agent_by_hand(BUILD, vec![report], drop);
        let outcome = conduct_run(&run, SECRET, &[&address], usize::MAX);
        assert_eq!(
            (outcome.played.is_ok(), on_record()),
            (expected.is_empty(), expected.into_iter().map(str::to_owned).collect())
        );
        agent.join().unwrap();
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn an_agent_that_played_may_leave_before_the_others() {
    let stage = Stage::of(playing(5));
    let ended = Some(Ok(RunResult { seconds: 1, reached_backlog_cap: true, ..RunResult::default() }));
    let (early, agent) = agent_by_hand(BUILD, vec![Report { seconds: vec![second(1, 5)], ended, ..Report::default() }], drop);
    let Outcome { played, seconds, .. } = conduct(SECRET, &[&stage.address, &early], usize::MAX);
    assert_eq!(played, Ok(RunResult { seconds: 5, reached_backlog_cap: true, ..RunResult::default() }));
    let counts: Vec<u64> = seconds.iter().map(|second| second.merged.tally.all_transactions()).collect();
    assert_eq!(counts, [35, 30, 30, 30, 30]);
    agent.join().unwrap();
}

#[test]
fn a_stop_ends_all_with_what_was_measured_and_is_no_error_before_the_start() {
    let stages = [(); 2].map(|()| Stage::of(playing(u64::MAX)));
    let addresses = [stages[0].address.as_str(), &stages[1].address];
    let Outcome { played, seconds, .. } = conduct(SECRET, &addresses, 4);
    assert!(played.unwrap().seconds >= 4 && seconds.len() >= 4);
    stages.iter().for_each(|stage| stage.wait_until_said("played for"));
    let Outcome { played, seconds, .. } = conduct(SECRET, &addresses, 0);
    assert_eq!((played.unwrap().seconds, seconds.len()), (0, 0));
}

#[test]
fn a_load_that_does_not_stop_is_an_error() {
    let (stuck, agent) = agent_by_hand(BUILD, vec![Report { seconds: vec![second(1, 5)], ..Report::default() }], |mut link| {
        while link.receive::<Request>(Instant::now() + SOON).is_ok_and(|_| link.send(&Report::default()).is_ok()) {}
    });
    let error = conduct(SECRET, &[&stuck], 1).error();
    assert!(error.what.contains("does not end its load"), "{error}");
    agent.join().unwrap();
}

#[test]
fn an_agent_whose_conductor_vanished_stops_and_serves_the_next() {
    let ends = Arc::default();
    let stage = Stage::of(steady(u64::MAX, &Arc::default(), &ends));
    for silence in [Duration::ZERO, 2 * SILENCE] {
        let mut conductor = ByHand::ordering(&stage.address);
        let clock = conductor.ask_until(|report| report.is_ready).clock;
        conductor.ask(&Request::Start(clock + 300_000_000));
        conductor.ask_until(|report| !report.seconds.is_empty());
        thread::sleep(silence);
        drop(conductor);
        stage.wait_until_said("and the load was stopped");
        assert!(ends.swap(false, Relaxed));
        stage.said.lock().unwrap().clear();
    }
    assert!(conduct(SECRET, &[&stage.address], 2).played.is_ok());
}

#[test]
fn a_conductor_that_sends_nonsense_is_left_and_the_next_one_served() {
    let stage = Stage::of(playing(3));
    for nonsense in [serde_json::json!(["nonsense"]), serde_json::json!({ "source": 1 }), serde_json::json!("stop")] {
        ByHand::call(&stage.address).0.send(&nonsense).unwrap();
        stage.wait_until_said("is refused: it sent a message that makes no sense");
        ByHand::ordering(&stage.address).0.send(&[nonsense]).unwrap();
        stage.wait_until_said("makes no sense, and the load was stopped");
        stage.said.lock().unwrap().clear();
    }
    let mut conductor = ByHand::ordering(&stage.address);
    let mut ended = conductor.ask(&Request::Start(u64::MAX)).ended;
    while ended.is_none() {
        ended = conductor.ask(&Request::Report).ended;
    }
    assert!(ended.unwrap().unwrap_err().what.contains("more than a minute ahead"));
    assert_eq!(conduct(SECRET, &[&stage.address], usize::MAX).played.unwrap().seconds, 3);
}

#[test]
fn what_fails_at_an_agent_fails_the_run_with_its_fault_and_remedy_and_does_not_end_the_agent() {
    let steady = Stage::of(playing(u64::MAX));
    let failing = Stage::of(Box::new(|_, _, _, _| Err(Error::workload("Table is missing", "Prepare"))));
    let broken = Stage::of(Box::new(|_, _, _, _| panic!("on purpose")));
    for _ in 0..2 {
        let error = conduct(SECRET, &[&steady.address, &failing.address], usize::MAX).error();
        assert_eq!((error.fault, error.remedy.as_str()), (Fault::Workload, "Prepare"));
        assert_eq!(error.what, format!("Agent {}: Table is missing", failing.address));
        failing.wait_until_said("Table is missing");
        let error = conduct(SECRET, &[&broken.address], usize::MAX).error();
        assert!(error.fault == Fault::Driver && error.what.contains("defect"), "{error}");
    }
}

#[test]
fn an_agent_that_is_stopped_ends_and_fails_the_run() {
    let stage = Stage::of(playing(u64::MAX));
    let address = stage.address.clone();
    let conductor = thread::spawn(move || conduct(SECRET, &[&address], usize::MAX));
    stage.wait_until_said("conducts");
    thread::sleep(Duration::from_millis(100));
    drop(stage);
    let error = conductor.join().unwrap().error();
    assert!(error.what.contains("stopped by a signal"), "{error}");
}

#[test]
fn another_token_another_build_a_busy_agent_and_nobody_are_faults_of_the_user() {
    let stage = Stage::of(playing(u64::MAX));
    let refused = |secret: &[u8], address: &str, words: &[&str]| {
        let error = conduct(secret, &[address], usize::MAX).error();
        assert_eq!(error.fault, Fault::User, "{error}");
        assert!(words.iter().all(|words| error.to_string().contains(words)), "{error}");
    };
    refused(OTHER_SECRET, &stage.address, &["has another token"]);
    let (other, agent) = agent_by_hand("9.9.9+0123456789abcdef", vec![], drop);
    refused(SECRET, &other, &["9.9.9+0123456789abcdef", BUILD, "Install the same build"]);
    agent.join().unwrap();
    let mut first = ByHand::ordering(&stage.address);
    thread::spawn(move || {
        while first.0.send(&Request::Report).is_ok_and(|()| first.0.receive::<Report>(Instant::now() + SOON).is_ok()) {}
    });
    refused(SECRET, &stage.address, &["plays another run"]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for nobody in [free.as_str(), "127.0.0.1", "127.0.0.1:"] {
        refused(SECRET, nobody, &["cannot be reached", "--listen HOST:PORT"]);
    }
}

#[test]
fn neither_silent_strangers_nor_a_crowd_of_them_lock_the_conductor_out() {
    for count in [40, 200] {
        let stage = Stage::of(playing(3));
        let strangers: Vec<TcpStream> = (0..count).map(|_| TcpStream::connect(&stage.address).unwrap()).collect();
        assert_eq!(conduct(SECRET, &[&stage.address], usize::MAX).played.unwrap().seconds, 3);
        stage.wait_until_said("sent nothing for too long");
        drop(strangers);
    }
}

#[test]
fn an_agent_is_named_once() {
    let check = |names: [&str; 2]| check_names(&names.map(str::to_owned));
    assert_eq!(check(["a:1", "a:2"]), Ok(()));
    assert!(check(["a:1", "a:1"]).unwrap_err().what.contains("a:1 is named twice"));
}
