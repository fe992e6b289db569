//! Tests of the command line: output streams, errors and exit codes.

use dialin_load::mock_server::{Answer, Command as Asked, MockServer};
use dialin_load::record::Times;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dialin-load"));
    command.args(arguments.split_whitespace()).env_remove("MYSQL_PWD").stdin(Stdio::null());
    command
}

fn done(arguments: &str) -> Output {
    command(arguments).output().unwrap()
}

fn socket(test: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dialin-load-command-{test}-{}.sock", std::process::id()))
}

/// A server for one test, and the option that names its socket.
fn server(test: &str, answers: fn(Asked<'_>) -> Answer) -> (MockServer, String) {
    let path = socket(test);
    (MockServer::listen(&path, answers).unwrap(), format!("--socket {}", path.display()))
}

/// Answers after a millisecond, so that a closed loop leaves the CPUs to other tests.
fn soon(_: Asked<'_>) -> Answer {
    Answer::After(Duration::from_millis(1), Box::new(Answer::Ok))
}

fn slowly(asked: Asked<'_>) -> Answer {
    match asked {
        Asked::Query(_) => Answer::After(Duration::from_millis(50), Box::new(Answer::Ok)),
        _ => Answer::Ok,
    }
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn types(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["type"].as_str().unwrap()).collect()
}

/// The error on stderr, which is one line without a stack trace.
fn error(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.starts_with("error: ") && text.lines().count() == 1 && !text.contains("panicked"), "{text}");
    text
}

#[test]
fn a_run_reports_each_second_and_its_histograms_add_up() {
    let (_server, at) = server("run", soon);
    let output = done(&format!("run noop {at} --connections 4 --warmup 1 --time 2"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = lines(&output);
    assert_eq!(types(&lines), ["start", "second", "second", "second", "summary"]);
    let phases: Vec<&str> = lines[1..4].iter().map(|line| line["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["warm-up", "measure", "measure"]);
    let mut sum = Times::new();
    lines[2..4].iter().for_each(|line| sum.add(&Times::decoded(line["latency_histogram"].as_str().unwrap()).unwrap()));
    let total = &lines[4]["total"];
    assert_eq!(total["latency_histogram"].as_str().unwrap(), sum.encoded());
    assert_eq!(total["transactions"].as_u64().unwrap(), sum.count());
    assert!(sum.count() > 100 && total["driver_cpu"].as_f64().unwrap() > 0.0, "{total}");
}

#[test]
fn a_step_of_each_listed_connection_count_has_its_own_total() {
    let (_server, at) = server("steps", soon);
    let lines = lines(&done(&format!("run noop {at} --connections 1,3 --time 1")));
    let steps: Vec<_> =
        lines.last().unwrap()["steps"].as_array().unwrap().iter().map(|step| step["connections"].as_u64()).collect();
    assert_eq!(steps, [Some(1), Some(3)]);
}

#[test]
fn a_rate_that_is_not_reached_is_exit_code_5_and_latency_counts_from_when_it_was_due() {
    let (_server, at) = server("rate", slowly);
    let output = done(&format!("run noop {at} --rate 100 --time 2 --backlog 20"));
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = lines(&output).pop().unwrap();
    assert_eq!((&summary["rate_reached"], &summary["reached_backlog_cap"]), (&Value::Bool(false), &Value::Bool(true)));
    let (latency, service) = (&summary["total"]["latency"]["p50"], &summary["total"]["service"]["p50"]);
    assert!(latency.as_f64().unwrap() > 5.0 * service.as_f64().unwrap(), "{latency} {service}");
}

#[test]
fn a_rate_that_is_reached_is_exit_code_0() {
    let (_server, at) = server("reached", soon);
    // Each of the few transactions has half a second.
    let output = done(&format!("run noop {at} --rate 2 --time 2"));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(lines(&output).pop().unwrap()["rate_reached"], true);
}

/// Start a run without a time limit, and wait until it has reported its first second.
fn running(arguments: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child =
        command(&format!("run {arguments} --time 0")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stream = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"second\":1,") {
        let last = std::mem::take(&mut line);
        assert!(stream.read_line(&mut line).unwrap() > 0, "the run ended with {last}");
    }
    (child, stream)
}

#[test]
fn a_signal_ends_a_run_with_the_summary_of_what_was_measured() {
    let (_server, at) = server("signal", soon);
    for signal in [Signal::INT, Signal::TERM] {
        let (mut child, mut stream) = running(&format!("noop {at}"));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        let summary: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
        assert_eq!((&summary["type"], &summary["stopped"]), (&"summary".into(), &true.into()));
        assert!(summary["total"]["transactions"].as_u64().unwrap() > 0);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

/// Peak resident memory, in bytes, of a run with this many connections, after all of them have prepared their statements.
fn memory(at: &str, connections: usize) -> u64 {
    let (mut child, _stream) = running(&format!("oltp_read_write {at} --load-threads 1 --connections {connections}"));
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn ten_thousand_connections_stay_below_200_mb() {
    let (_server, at) = server("memory", |asked| match asked {
        Asked::Prepare(_) => Answer::Ok,
        _ => soon(asked),
    });
    let (few, many) = (memory(&at, 1), memory(&at, 401));
    let each = many.saturating_sub(few) / 400;
    assert!(few + 10_000 * each < 200_000_000, "{few} bytes, and {each} for each connection");
}

#[test]
fn a_closed_pipe_ends_a_run_quietly() {
    let (_server, at) = server("pipe", soon);
    let (mut child, stream) = running(&format!("noop {at}"));
    drop(stream);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
}

#[test]
fn a_server_that_is_not_there_is_one_line_and_exit_code_3() {
    let output = done("run noop --socket /nowhere/s.sock --time 1");
    assert_eq!(output.status.code(), Some(3));
    assert!(error(&output).contains("/nowhere/s.sock"));
    let last = lines(&output).pop().unwrap();
    assert_eq!((&last["type"], &last["fault"]), (&"error".into(), &"connection".into()));
}

#[test]
fn invalid_arguments_are_one_line_and_exit_code_2() {
    for arguments in [
        "run noop --connections 0",
        "run noop --rate 0",
        "run noop --time -1",
        "run nothing-of-that-name",
        "run noop --option tables=3",
        "run noop --defaults-file /nowhere/my.cnf",
        "run noop --password=hunter2",
        "show nothing-of-that-name",
        "self-test --connections 0",
        "no-such-command",
    ] {
        let output = done(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!error(&output).contains("hunter2"));
    }
}

#[test]
fn errors_are_json_if_json_was_requested() {
    for (arguments, json) in [("workloads --nothing --json", true), ("workloads --nothing", false)] {
        assert_eq!(!done(arguments).stdout.is_empty(), json, "{arguments}");
    }
}

#[test]
fn workloads_are_listed_and_shown() {
    let listed = done("workloads");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("oltp_read_write"));
    let shown = done("show noop");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("DO 0") && shown.status.success());
}

#[test]
fn the_self_test_reports_the_limits_of_the_driver() {
    let lines = lines(&done("self-test --connections 2 --load-threads 1 --seconds 1"));
    assert_eq!((types(&lines), lines[0]["load_threads"].as_u64()), (vec!["self-test"], Some(1)));
    for kind in ["noop", "noop_bytes", "point_select", "point_select_bytes"] {
        assert!(lines[0][kind]["ceiling"].as_f64().unwrap() > 1_000.0, "{}", lines[0]);
    }
}
