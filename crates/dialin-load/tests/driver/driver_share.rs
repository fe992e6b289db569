//! Tests that what the driver adds to latency is reported as the driver's, and what the server takes is not.

use dialin_load::mock_server::{Answer, Command as Asked, MockServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// The total of a run of `noop` against a server with these answers, whose process is stopped `stops` times for a fifth of a second each.
fn total(test: &str, answers: fn(Asked<'_>) -> Answer, options: &str, stops: usize) -> Value {
    let path = std::env::temp_dir().join(format!("dialin-load-share-{test}-{}.sock", std::process::id()));
    let _server = MockServer::listen(&path, answers).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dialin-load"));
    command.args(["run", "noop", "--json", "--socket"]).arg(&path).args(options.split_whitespace());
    let child = command.env_remove("MYSQL_PWD").stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let driver = Pid::from_child(&child);
    for _ in 0..stops {
        thread::sleep(Duration::from_millis(300));
        kill_process(driver, Signal::STOP).unwrap();
        thread::sleep(Duration::from_millis(200));
        kill_process(driver, Signal::CONT).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.iter().find(|line| line["type"] == "summary").unwrap_or_else(|| panic!("{text}"))["total"].clone()
}

#[test]
fn a_driver_that_is_stopped_while_transactions_become_due_says_that_it_delayed_them() {
    let total = total("stopped", |_| Answer::Ok, "--connections 8 --rate 500 --time 4", 7);
    let share = &total["driver_share"];
    assert!(share["p99"].as_f64() > Some(0.3) && share["p99_added"].as_f64() > Some(50.0), "{share}");
    // Most of the transactions that were due meanwhile found no connection free, because the others waited for the driver, too.
    let late = &total["timers"];
    assert!(late["count"].as_f64().unwrap() > 0.5 * total["transactions"].as_f64().unwrap(), "{late}");
    assert!(late["late_p99"].as_f64() > Some(50.0), "{late}");
}

#[test]
fn a_server_that_is_slow_is_not_the_drivers_delay() {
    fn slow(asked: Asked<'_>) -> Answer {
        match asked {
            Asked::Query(_) => Answer::After(Duration::from_millis(700), Box::new(Answer::Ok)),
            _ => Answer::Ok,
        }
    }
    for (test, options) in [("slow", "--connections 4 --time 3"), ("slow-rate", "--connections 4 --rate 50 --time 3")] {
        let total = total(test, slow, options, 0);
        // However busy the machine is, the driver delays no answer for as long as this server takes.
        assert!(total["driver_share"]["mean"].as_f64() < Some(0.3), "{options}: {}", total["driver_share"]);
    }
}
