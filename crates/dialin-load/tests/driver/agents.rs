//! Tests with agents and a conductor as separate processes. Each agent has its own server.

use dialin_load::BUILD;
use dialin_load::mock_server::{Answer, Command as Asked, MockServer};
use dialin_load::record::Times;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const TOKEN: &str = "c29tZSBieXRlcyB0aGF0IHNlcnZlIGFzIGEgdG9rZW4h";
const PASSWORD: &str = "password-of-the-database";

fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dialin-load"));
    command.args(arguments.split_whitespace()).env("MYSQL_PWD", PASSWORD).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Files of one test.
struct Files(PathBuf);

impl Files {
    fn of(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dialin-load-agents-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn token(&self, secret: &str) -> PathBuf {
        let path = self.0.join(format!("token-{}", secret.len()));
        fs::write(&path, secret).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn run(&self, agents: &[&str], more: &str) -> Command {
        command(&format!("run noop --agents {} --token-file {} {more}", agents.join(","), self.token(TOKEN).display()))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An agent's process, and the server that it drives.
struct Agent {
    address: String,
    child: Child,
    stderr: BufReader<ChildStderr>,
    played: Arc<AtomicU64>,
    _server: MockServer,
}

impl Agent {
    fn start(files: &Files, name: &str) -> Self {
        let played = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&played);
        let socket = files.0.join(format!("{name}.sock"));
        let server = MockServer::listen(&socket, move |asked| {
            if matches!(asked, Asked::Query(sql) | Asked::Execute(sql) if sql.starts_with("DO")) {
                counted.fetch_add(1, Relaxed);
            }
            // A closed loop then leaves the CPUs to other tests.
            Answer::After(Duration::from_millis(1), Box::new(Answer::Ok))
        });
        let mut child = agent(&socket, &files.token(TOKEN)).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening at ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { address, child, stderr, played, _server: server.unwrap() }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn wait_for_line_with(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(self.stderr.read_line(&mut line).unwrap() > 0, "{words:?} was never printed");
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn agent(socket: &Path, token: &Path) -> Command {
    command(&format!("agent --listen 127.0.0.1:0 --socket {} --token-file {}", socket.display(), token.display()))
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn error_of(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    text.lines().last().unwrap().to_owned()
}

/// Start a conductor, and wait until it has reported its first second.
fn conducting(files: &Files, agents: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = files.run(agents, "--connections 2 --time 0").spawn().unwrap();
    let mut stream = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"second\":1,") {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the run ended");
    }
    (child, stream)
}

#[test]
fn two_agents_make_the_stream_of_one_run() {
    let files = Files::of("stream");
    let agents = ["a", "b"].map(|name| Agent::start(&files, name));
    let output = files.run(&[&agents[0].address, &agents[1].address], "--connections 3 --warmup 1 --time 2").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = lines(&output);
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["start", "second", "second", "second", "summary"]);
    let mut sum = Times::new();
    for (line, phase) in lines[1..4].iter().zip(["warm-up", "measure", "measure"]) {
        assert_eq!((&line["phase"], &line["connections"], &line["seconds"]), (&phase.into(), &3.into(), &1.0.into()));
        assert!(line["driver_cpu"].as_f64().unwrap() > 0.0, "{line}");
        if phase == "measure" {
            sum.add(&Times::decoded(line["latency_histogram"].as_str().unwrap()).unwrap());
        }
    }
    let total = &lines[4]["total"];
    assert_eq!(total["latency_histogram"].as_str().unwrap(), sum.encoded());
    assert_eq!(total["transactions"].as_u64().unwrap(), sum.count());
    assert!(agents.iter().all(|agent| agent.played.load(Relaxed) > 100));
}

#[test]
fn agents_play_as_many_transactions_as_were_asked_for_together() {
    let files = Files::of("limit");
    let agents = ["a", "b", "c"].map(|name| Agent::start(&files, name));
    let addresses: Vec<&str> = agents.iter().map(|agent| agent.address.as_str()).collect();
    for _ in 0..2 {
        agents.iter().for_each(|agent| agent.played.store(0, Relaxed));
        let output = files.run(&addresses, "--connections 4 --transactions 1000").output().unwrap();
        assert_eq!(lines(&output).pop().unwrap()["total"]["transactions"], 1000);
        let played: Vec<u64> = agents.iter().map(|agent| agent.played.load(Relaxed)).collect();
        assert_eq!(played, [334, 333, 333]);
    }
}

#[test]
fn a_killed_agent_fails_the_run_by_its_name_and_stops_the_others() {
    let files = Files::of("killed");
    let mut agents = ["a", "b"].map(|name| Agent::start(&files, name));
    let (child, _stream) = conducting(&files, &[&agents[0].address, &agents[1].address]);
    agents[1].signal(Signal::KILL);
    let error = error_of(&child.wait_with_output().unwrap(), 1);
    assert!(error.contains(&agents[1].address) && error.contains("lost"), "{error}");
    agents[0].wait_for_line_with("the load was stopped");
    let played = agents[0].played.load(Relaxed);
    thread::sleep(Duration::from_millis(200));
    // Its server may have received the last statement of each of the two connections, and not counted it yet.
    assert!(agents[0].played.load(Relaxed) <= played + 2, "the load goes on");
}

#[test]
fn a_signal_at_the_conductor_ends_all_with_the_summary_of_what_was_measured() {
    let files = Files::of("signal");
    let mut agent = Agent::start(&files, "a");
    for _ in 0..2 {
        let (child, mut stream) = conducting(&files, &[&agent.address]);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        let summary: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
        assert_eq!((&summary["type"], &summary["stopped"]), (&"summary".into(), &true.into()));
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
        agent.wait_for_line_with("played for");
    }
}

#[test]
fn an_agent_whose_conductor_was_killed_stops_and_serves_the_next() {
    let files = Files::of("vanished");
    let mut agent = Agent::start(&files, "a");
    let (mut child, _stream) = conducting(&files, &[&agent.address]);
    child.kill().unwrap();
    child.wait().unwrap();
    agent.wait_for_line_with("the load was stopped");
    let output = files.run(&[&agent.address], "--transactions 10").output().unwrap();
    assert_eq!(lines(&output).pop().unwrap()["total"]["transactions"], 10);
}

#[test]
fn an_agent_ends_on_sigterm_and_fails_its_run() {
    let files = Files::of("term");
    let mut agent = Agent::start(&files, "a");
    let (child, _stream) = conducting(&files, &[&agent.address]);
    agent.signal(Signal::TERM);
    assert!(error_of(&child.wait_with_output().unwrap(), 1).contains("stopped by a signal"));
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_server_that_is_not_there_fails_the_run_with_its_own_exit_code_and_the_agents_name() {
    let files = Files::of("server");
    let mut child = agent(&files.0.join("nowhere.sock"), &files.token(TOKEN)).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening at ").unwrap();
    let error = error_of(&files.run(&[address], "").output().unwrap(), 3);
    assert!(error.contains(address) && error.contains("nowhere.sock"), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn invalid_arguments_are_exit_code_2() {
    let files = Files::of("wrong");
    let agent = Agent::start(&files, "a");
    let address = agent.address.as_str();
    let refused = |agents: &[&str], more: &str| error_of(&files.run(agents, more).output().unwrap(), 2);
    assert!(refused(&[address, address], "").contains("named twice"));
    assert!(refused(&[address, "127.0.0.1:1"], "").contains("1 connections"));
    assert!(refused(&["127.0.0.1:1"], "").contains("cannot be reached"));
    let other = files.token("b3RoZXIgYnl0ZXMgdGhhdCBzZXJ2ZSBhcyBhIHRva2VuLCBsb25n");
    let output = command(&format!("run noop --agents {address} --token-file {}", other.display())).output().unwrap();
    assert!(error_of(&output, 2).contains("another token"));
    fs::set_permissions(&other, fs::Permissions::from_mode(0o644)).unwrap();
    let output = command(&format!("run noop --agents {address} --token-file {}", other.display())).output().unwrap();
    assert!(error_of(&output, 2).contains("chmod 600"));
}

/// Copy all bytes from one connection to the other, and record them.
fn overhear(mut from: TcpStream, mut to: TcpStream, heard: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        heard.lock().unwrap().extend_from_slice(&chunk[..count]);
        let _ = to.write_all(&chunk[..count]);
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn nothing_crosses_in_clear() {
    let files = Files::of("secret");
    let agent = Agent::start(&files, "a");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (between, beyond) = (listener.local_addr().unwrap().to_string(), agent.address.clone());
    let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
    let hearing = Arc::clone(&heard);
    let listening = thread::spawn(move || {
        let here = listener.accept().unwrap().0;
        let there = TcpStream::connect(beyond).unwrap();
        let (here_too, there_too, hearing_too) = (here.try_clone().unwrap(), there.try_clone().unwrap(), Arc::clone(&hearing));
        let back = thread::spawn(move || overhear(there_too, here_too, hearing_too));
        overhear(here, there, hearing);
        back.join().unwrap();
    });
    let output = files.run(&[&between], "--transactions 10 --user someone").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    listening.join().unwrap();
    let heard = String::from_utf8_lossy(&heard.lock().unwrap()).into_owned();
    assert!(heard.len() > 1000, "{} bytes", heard.len());
    for secret in [TOKEN, PASSWORD, "someone", "a.sock", "noop", "seconds", "ended"] {
        assert!(!heard.contains(secret), "{secret}");
    }
}

#[test]
fn strangers_neither_end_an_agent_nor_hold_it_up() {
    let files = Files::of("strangers");
    let agent = Agent::start(&files, "a");
    let run = || {
        let began = Instant::now();
        let output = files.run(&[&agent.address], "--transactions 10").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        began.elapsed()
    };
    let alone = run();
    let mut strangers: Vec<TcpStream> = (0..30).map(|_| TcpStream::connect(&agent.address).unwrap()).collect();
    for (number, stranger) in strangers.iter_mut().enumerate() {
        let said: Vec<u8> = (0..number * 97).map(|place| (place * number * 31 % 256) as u8).collect();
        let _ = stranger.write_all(&said);
    }
    // As soon as without strangers, to each of whom an agent would listen for five seconds.
    assert!(run() < alone + Duration::from_secs(4), "{alone:?} without strangers");
}

/// Peak resident memory of a process so far, in bytes.
fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// A conductor with another token sends its handshake message, and receives the agent's, which it cannot decrypt.
fn greet(stream: &mut TcpStream) {
    let protocol = "Noise_NNpsk2_25519_ChaChaPoly_SHA256".parse().unwrap();
    let mut noise = snow::Builder::new(protocol).psk(2, &[7; 32]).unwrap().build_initiator().unwrap();
    let mut message = [0; 256];
    let length = noise.write_message(BUILD.as_bytes(), &mut message).unwrap();
    stream.write_all(&[&(length as u16).to_be_bytes(), &message[..length]].concat()).unwrap();
    let mut length = [0; 2];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(noise.read_message(&answer, &mut message), Err(snow::Error::Decrypt));
}

#[test]
fn strangers_who_say_much_cost_little_memory() {
    let files = Files::of("talkative");
    let agent = Agent::start(&files, "a");
    // As many strangers as an agent listens to at a time. Each sends as much as it may without the token, and then far more.
    let mut strangers: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(&agent.address).unwrap()).collect();
    let before = peak_memory(agent.child.id());
    for stranger in &mut strangers {
        greet(stranger);
        stranger.write_all(&4096_u16.to_be_bytes()).unwrap();
        stranger.write_all(&[b'x'; 4095]).unwrap();
    }
    let much = vec![b'x'; 1 << 20];
    for stranger in &mut strangers {
        let _ = stranger.write_all(&much);
        let _ = stranger.read_to_end(&mut vec![]);
    }
    let grown = peak_memory(agent.child.id()) - before;
    // This includes the stacks of the threads that listen, which are large in a build without optimisation. The strangers sent 64 MiB.
    assert!(grown < 64 * (128 << 10), "{grown} bytes");
    let output = files.run(&[&agent.address], "--transactions 10").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
