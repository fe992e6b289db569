//! The `dialin-load` command: parses the arguments, runs the subcommand, and reports errors.

use dialin_load::account::{Account, Listener};
use dialin_load::agent::{self, Conduct, Serve, Source};
use dialin_load::engine::{self, Second};
use dialin_load::errors::{Error, Result};
use dialin_load::net::connect::Connector;
use dialin_load::net::leftover::{self, Leftover};
use dialin_load::options::{
    self, AccountOptions, AgentOptions, Cli, Command, Environment, Parsed, PrepareOptions, RestoreOptions, RunOptions,
    SelfTestOptions, TableOptions,
};
use dialin_load::output::{Output, Report};
use dialin_load::record::{ErrorLine, Line, ReplayFact, StartLine};
use dialin_load::replay::{AutoIncrements, Facts, Request, read_open_statements};
use dialin_load::{capture, restore, self_test, show, workloads};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

/// The place and the message of the first panic of any thread.
static PANIC: OnceLock<String> = OnceLock::new();

/// The schema with a workload's tables, as sysbench names it.
const SCHEMA: &str = "sbtest";

fn main() -> ExitCode {
    let stop = Arc::new(AtomicBool::new(false));
    record_panics(&stop);
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let asked_for_json = arguments.iter().any(|argument| argument == "--json");
    let parsed = options::parse(arguments);
    let json = match &parsed {
        Ok(Parsed::Cli(cli)) => cli.json || (writes_stream(cli) && !io::stdout().is_terminal()),
        _ => asked_for_json,
    };
    let outcome = parsed.and_then(|parsed| {
        let panicked = |_| Err(Error::driver("The driver failed", "Report this as a defect of dialin-load"));
        catch_unwind(AssertUnwindSafe(|| run_command(parsed, json, &stop))).unwrap_or_else(panicked)
    });
    let outcome = match PANIC.get() {
        Some(panic) => Err(Error::driver(panic, "Report this as a defect of dialin-load")),
        None => outcome,
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            report_error(&error, json);
            ExitCode::from(error.fault.exit_code())
        }
    }
}

/// Whether a command writes a stream: JSON lines by default, unless standard output is a terminal.
fn writes_stream(cli: &Cli) -> bool {
    matches!(cli.command, Command::Run(_) | Command::SelfTest(_))
}

/// On a panic of any thread, record the first one and stop the run, instead of printing Rust's message of several lines.
fn record_panics(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        PANIC.get_or_init(|| format!("The driver failed at {place}: {}", text.unwrap_or("for an unknown reason")));
        stop.store(true, Ordering::Relaxed);
    }));
}

/// Print an error as one line on standard error, and with `json` also as one line of the stream.
fn report_error(error: &Error, json: bool) {
    let line = format!("error: {error}").replace('\n', " ");
    let _ = writeln!(io::stderr(), "{line}");
    Output::new(io::stdout(), json).line(&Line::Error(&ErrorLine::from(error)));
}

fn say(text: String) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn run_command(parsed: Parsed, json: bool, stop: &Arc<AtomicBool>) -> Result<u8> {
    let mut output = Output::new(io::stdout(), json);
    let cli = match parsed {
        Parsed::Cli(cli) => cli,
        Parsed::Text(text) => {
            output.text(text.trim_end());
            return output.result().map(|()| 0);
        }
    };
    match cli.command {
        Command::Run(options) => {
            watch_signals(stop)?;
            return run(&options, &mut output, stop);
        }
        Command::Prepare(options) => prepare(&options)?,
        Command::Cleanup(TableOptions { workload, account }) => {
            interruptible(account_of(&account, SCHEMA)?, |account| {
                workloads::find(&workload.workload, &workload.pairs()?)?.cleanup(account)?;
                Connector::new(account).forget_sessions();
                Ok(())
            })?;
        }
        Command::Check(options) => check(&options, &mut output)?,
        Command::Agent(options) => {
            watch_signals(stop)?;
            wait_as_agent(options, stop)?;
        }
        Command::Capture(options) => {
            let request = options.request()?;
            let summary = capture::capture(&request)?;
            say(format!("{}: {}", summary.size(), request.out.display()));
        }
        Command::Restore(RestoreOptions { original, copy, index, state, whole, prove }) => {
            let done = restore::restore(&restore::Request { original, copy, index, state, whole, prove })?;
            output.text(&serde_json::to_string(&done).expect("it is plain data"));
        }
        Command::SelfTest(options) => {
            watch_signals(stop)?;
            let SelfTestOptions { connections, load_threads, seconds } = options;
            options::raise_limit(2 * connections)?;
            output.line(&Line::SelfTest(&self_test::run(connections, load_threads, seconds, stop)?));
        }
        Command::Workloads => output.text(&show::workloads(&workloads::names())),
        Command::Show(options) => {
            if let Some(request) = options::shown_capture(&options)? {
                let fact = ReplayFact::of(&request, &Facts::of(&request, AutoIncrements::default())?);
                output.text(&serde_json::to_string(&fact).expect("a fact is plain data"));
                return output.result().map(|()| 0);
            }
            output.text(&show::plan(&workloads::find(&options.workload, &options.pairs()?)?.plan()?));
        }
    }
    output.result().map(|()| 0)
}

/// The first SIGINT, SIGTERM or SIGHUP stops the run, which still writes its summary and ends its statements on the server; a second one ends
/// the process at once. A SIGHUP that is ignored, as with nohup, stays ignored.
fn watch_signals(stop: &Arc<AtomicBool>) -> Result<()> {
    for signal in heeded() {
        register_conditional_shutdown(signal, 128 + signal, Arc::clone(stop))
            .and_then(|_| register(signal, Arc::clone(stop)))
            .map_err(|error| no_signals(&error))?;
    }
    Ok(())
}

fn heeded() -> impl Iterator<Item = i32> {
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !ignores(SIGHUP))
}

fn no_signals(error: &io::Error) -> Error {
    Error::driver(format!("Cannot install signal handlers: {error}"), "Report this as a defect of dialin-load")
}

/// Runs a command that waits for one statement after the other. The first SIGINT, SIGTERM or SIGHUP ends its sessions on the server, and then
/// this process; a second one does not wait for the server.
fn interruptible<T>(account: Account, command: impl FnOnce(&Account) -> Result<T>) -> Result<T> {
    let (listener, opened) = Listener::new();
    let account = Account { listener, ..account };
    let (server, stop) = (account.clone(), Arc::default());
    watch_signals(&stop)?;
    let mut signals = Signals::new(heeded()).map_err(|error| no_signals(&error))?;
    let watching = thread::Builder::new().spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        let sessions: Vec<_> = opened.try_iter().collect();
        report_leftover(leftover::end(&Connector::new(&server), &sessions));
        process::exit(128 + signal);
    });
    watching.map_err(|error| {
        Error::machine(format!("No thread can be started: {error}"), "Check the limit of processes (ulimit -u)")
    })?;
    let outcome = command(&account);
    while stop.load(Ordering::Relaxed) {
        thread::park(); // its statements are being ended
    }
    outcome
}

/// Whether this process was started with the signal ignored.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The account; where none is named, its schema is `schema`.
fn account_of(options: &AccountOptions, schema: &str) -> Result<Account> {
    let around = Environment { variable: &|name| std::env::var(name).ok(), exists: &|path| path.exists() };
    let resolved = options.account(schema, &around)?;
    resolved.warnings.iter().for_each(|warning| say(format!("warning: {warning}")));
    Ok(resolved.account)
}

fn run(options: &RunOptions, output: &mut Output<io::Stdout>, stop: &AtomicBool) -> Result<u8> {
    if let Some(request) = options.replay()? {
        return replay(options, &request, output, stop);
    }
    let run = options.run(account_of(&options.account, SCHEMA)?)?;
    let connections = run.phases.iter().map(|phase| phase.connections).max().unwrap_or(1);
    let pairs = options.workload.pairs()?;
    let name = &options.workload.workload;
    let plan = workloads::find_for(name, &pairs, connections, run.seed)?.plan()?;
    let agents = match &options.token_file {
        Some(token_file) if !options.agents.is_empty() => Some(Conduct {
            agents: options.agents.clone(),
            token_file: token_file.clone(),
            source: Source::of(name)?,
            options: pairs,
        }),
        _ => None,
    };
    if agents.is_none() {
        options::raise_limit(connections)?;
    }
    let load_threads = if agents.is_none() { engine::load_threads(&run) } else { vec![] };
    let mut report = Report::begin(output, &StartLine::of(&plan, &run, &load_threads, &options.agents));
    let mut second = |second: Second| report_second(&mut report, &second, stop);
    let played = match agents {
        Some(agents) => agent::conduct(&agents, &run, stop, &mut say, &mut second)?,
        None => engine::play(&plan, &run, stop, &mut second)?,
    };
    report_leftover(played.leftover);
    report.end(played, stop.load(Ordering::Relaxed))
}

fn report_leftover(Leftover { ended, left }: Leftover) {
    if ended > 0 {
        say(format!("{} still running at the end: ended on the server (KILL)", statements(ended)));
    }
    if left > 0 {
        say(format!(
            "warning: {} may still run on the server: KILL did not end it; see SHOW PROCESSLIST there",
            statements(left)
        ));
    }
}

fn statements(count: usize) -> String {
    if count == 1 { "1 statement".into() } else { format!("{count} statements") }
}

/// Report a second; stop the run if its output cannot be written, for example because the reader closed the pipe.
fn report_second(report: &mut Report<'_, io::Stdout>, second: &Second, stop: &AtomicBool) {
    if !report.second(second) {
        stop.store(true, Ordering::Relaxed);
    }
}

fn replay(options: &RunOptions, request: &Request, output: &mut Output<io::Stdout>, stop: &AtomicBool) -> Result<u8> {
    let account = account_of(&options.account, "")?;
    let connector = Connector::new(&account);
    let mut facts = Facts::of(request, AutoIncrements::read(&connector)?)?;
    facts.open_statements = read_open_statements(&connector)?;
    options::raise_limit(facts.connections)?;
    let run = options.replay_run(account, &facts);
    let start = StartLine::of_replay(&options.workload.workload, &run, ReplayFact::of(request, &facts), &facts.kinds);
    let mut report = Report::begin(output, &start);
    let played = engine::replay(request, &facts, &run, stop, &mut |second| report_second(&mut report, &second, stop))?;
    report_leftover(played.leftover);
    report.end(played, stop.load(Ordering::Relaxed))
}

fn prepare(options: &PrepareOptions) -> Result<()> {
    let TableOptions { workload, account } = &options.tables;
    let threads = options.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    interruptible(account_of(account, SCHEMA)?, |account| {
        let workload = workloads::find_for(&workload.workload, &workload.pairs()?, threads, 1)?;
        match options.only.as_slice() {
            [] => workload.prepare(account, threads, &say)?,
            names => workload.prepare_only(names, account, threads, &say)?,
        }
        Connector::new(account).forget_sessions();
        Ok(())
    })
}

fn check(options: &TableOptions, output: &mut Output<io::Stdout>) -> Result<()> {
    let TableOptions { workload, account } = options;
    let check = |account: &Account| workloads::find(&workload.workload, &workload.pairs()?)?.check(account);
    let violations = interruptible(account_of(account, SCHEMA)?, check)?;
    if violations.is_empty() {
        output.text("All conditions hold");
        return Ok(());
    }
    violations.iter().for_each(|condition| output.text(condition));
    let what = format!("{} of the conditions on the data of {} do not hold", violations.len(), workload.workload);
    Err(Error::workload(what, "See the lines above for which"))
}

fn wait_as_agent(options: AgentOptions, stop: &AtomicBool) -> Result<()> {
    options::raise_limit(1)?;
    let AgentOptions { account, listen, token_file } = options;
    agent::serve(&Serve { listen, token_file, account: account_of(&account, SCHEMA)? }, stop, &say)
}
