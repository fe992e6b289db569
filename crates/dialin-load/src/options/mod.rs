//! The command line: commands, options, and the errors in them.

mod account;
mod capture;
mod files;
mod load;
mod replay;

pub use account::{AccountOptions, Environment, ResolvedAccount};
pub use capture::CaptureOptions;
pub use files::raise_limit;
pub use load::{ArrivalsOption, RunOptions};
pub use replay::shown_capture;

use crate::BUILD;
use crate::errors::{Error, Result};
use crate::record::SCHEMA;
use clap::builder::RangedI64ValueParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  dialin-load prepare oltp_read_write -o tables=8 -o table-size=100000
  dialin-load run oltp_read_write -o tables=8 -o table-size=100000 --connections 16 --time 60
  dialin-load run oltp_read_write -o tables=8 -o table-size=100000 --connections 1,4,16,64 --warmup 5 --time 20
  dialin-load run oltp_point_select --connections 64 --rate 5000 --arrivals poisson
  dialin-load run my-workload.toml --defaults-file ~/.load.cnf --json >seconds.jsonl
  dialin-load show tpcc-like
  dialin-load capture slow.log --out shop.capture

The password comes from [client] of --defaults-file or from the environment's MYSQL_PWD, never from an argument.

Exit codes: 0 success, 1 the driver failed, 2 wrong options or workload, 3 the server failed, 4 the workload does not fit
the server's data, 5 the run completed but did not reach the requested rate.";

const RUN_EXAMPLES: &str = "\
Without --rate, each connection begins a transaction when its last one ended: a closed loop, which shows what the server can do.
With --rate, transactions become due at that rate, however slow the server is, and their latency counts from then: an open loop,
which shows what users experience. A list of connections or rates runs one step per value; two lists must have the same length.

Examples:
  dialin-load run oltp_read_write --connections 1,4,16,64 --warmup 5 --time 20     the scaling curve
  dialin-load run oltp_read_write --connections 64 --rate 200,400,800 --time 60    latency under three loads
  dialin-load run oltp_read_write --connections 4,64 --load-threads 3,1 --gather off,on    the choices of an earlier run
  dialin-load run capture:shop.capture --pace 1 --warmup 30                       a capture at its original pace
  dialin-load run noop --connections 16 --time 0                                   until Ctrl-C
  dialin-load run bank-transfer --connections 8 --transactions 100000 --seed 7     the same work each time";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "dialin-load",
    version,
    about = "A load driver for MySQL and MariaDB that costs little CPU and hides no stall",
    after_help = EXAMPLES,
    arg_required_else_help = true
)]
pub struct Cli {
    /// Write the stream and errors as JSON lines; the default if the output is not a terminal
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Apply a workload to a server and report every second
    #[command(after_help = RUN_EXAMPLES, allow_negative_numbers = true)]
    Run(Box<RunOptions>),
    /// Create and fill a workload's tables
    #[command(allow_negative_numbers = true)]
    Prepare(PrepareOptions),
    /// Drop a workload's tables
    Cleanup(TableOptions),
    /// Check a workload's conditions on its data, such as that no money was lost
    Check(TableOptions),
    /// Apply load for a conductor on another host: see `run --agents`
    Agent(AgentOptions),
    /// Make a capture of a server's slow log, its general log, or both
    Capture(CaptureOptions),
    /// Make a copy of a stopped server's data equal to it again, by copying what was changed only
    Restore(RestoreOptions),
    /// Measure the limit of the driver itself on this machine
    #[command(allow_negative_numbers = true)]
    SelfTest(SelfTestOptions),
    /// List the workloads
    Workloads,
    /// Show a workload's transactions and statements
    Show(WorkloadOptions),
}

/// The workload and its options.
#[derive(Args, Clone, Debug)]
pub struct WorkloadOptions {
    /// Its name, as `dialin-load workloads` lists it, or the path of a workload file ending in .toml
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,
    /// An option of the workload, such as table-size=100000; see `dialin-load show WORKLOAD`
    #[arg(short = 'o', long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
}

impl WorkloadOptions {
    /// The workload's options by name.
    ///
    /// # Errors
    ///
    /// An option has no name or no `=`.
    pub fn pairs(&self) -> Result<Vec<(String, String)>> {
        let pair = |text: &String| match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
            _ => Err(Error::user(
                format!("`--option {text}` is not an option of a workload"),
                "Write it as name=value, such as --option table-size=100000",
            )),
        };
        self.options.iter().map(pair).collect()
    }
}

/// Options of the commands that use a workload's tables on a server.
#[derive(Args, Debug)]
pub struct TableOptions {
    /// Which workload
    #[command(flatten)]
    pub workload: WorkloadOptions,
    /// Which server
    #[command(flatten)]
    pub account: AccountOptions,
}

/// Options of `dialin-load prepare`.
#[derive(Args, Debug)]
pub struct PrepareOptions {
    /// Which tables
    #[command(flatten)]
    pub tables: TableOptions,
    /// Connections that fill them in parallel [default: number of CPUs]
    #[arg(long, value_name = "N", value_parser = within::<usize>(1..=1_000))]
    pub threads: Option<usize>,
    /// Tables to prepare, such as sbtest3,sbtest4: of sysbench's workloads [default: all]
    #[arg(long, value_name = "TABLES", value_delimiter = ',')]
    pub only: Vec<String>,
}

/// Options of `dialin-load agent`.
#[derive(Args, Debug)]
pub struct AgentOptions {
    /// The server that this host loads
    #[command(flatten)]
    pub account: AccountOptions,
    /// Address to listen on for conductors
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7306")]
    pub listen: String,
    /// The file with the secret that agents and conductor share, readable by its owner only
    #[arg(long, value_name = "FILE")]
    pub token_file: PathBuf,
}

/// Options of `dialin-load restore`.
#[derive(Args, Debug)]
pub struct RestoreOptions {
    /// The data directory of a server that was stopped cleanly
    #[arg(value_name = "ORIGINAL")]
    pub original: PathBuf,
    /// The copy, which is created if it does not exist; files that the original does not have are removed from it
    #[arg(value_name = "COPY")]
    pub copy: PathBuf,
    /// The file with digests of the original's pages, which is made if it does not exist
    #[arg(long, value_name = "FILE")]
    pub index: PathBuf,
    /// The file with the state of the copy: which files nobody wrote since
    #[arg(long, value_name = "FILE")]
    pub state: PathBuf,
    /// Compare all bytes of all files
    #[arg(long)]
    pub whole: bool,
    /// Compare all bytes of files that were written: by another load than before
    #[arg(long)]
    pub prove: bool,
}

/// Options of `dialin-load self-test`.
#[derive(Args, Debug)]
pub struct SelfTestOptions {
    /// Concurrent connections
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = within::<usize>(1..=10_000))]
    pub connections: usize,
    /// Load threads; 1 measures the limit of a single one [default: chosen for the machine]
    #[arg(long, value_name = "N", value_parser = within::<usize>(1..=1_024))]
    pub load_threads: Option<usize>,
    /// Seconds of each measurement: of two kinds of statements, of sending and receiving only their bytes, and of lateness at a rate
    #[arg(long, value_name = "S", default_value_t = 3, value_parser = within::<u64>(1..=600))]
    pub seconds: u64,
}

/// A parser for whole numbers of a range.
fn within<T>(range: RangeInclusive<i64>) -> RangedI64ValueParser<T>
where
    T: TryFrom<i64, Error: std::error::Error + Send + Sync> + Clone + Send + Sync + 'static,
{
    RangedI64ValueParser::new().range(range)
}

/// The result of parsing the arguments.
#[derive(Debug)]
pub enum Parsed {
    /// A command to run.
    Cli(Box<Cli>),
    /// A text to print: the help, or the version.
    Text(String),
}

/// Parse the arguments, the program's name first.
///
/// # Errors
///
/// An argument is unknown, missing or wrong.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed> {
    match Cli::try_parse_from(arguments) {
        Ok(cli) => Ok(Parsed::Cli(Box::new(cli))),
        Err(error) => match error.kind() {
            ErrorKind::DisplayVersion => Ok(Parsed::Text(version())),
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Ok(Parsed::Text(error.to_string())),
            _ => Err(error_from_clap(&error.to_string())),
        },
    }
}

/// The version, the build, and the schema of the stream; dialin parses this text.
fn version() -> String {
    format!("dialin-load {} (build {BUILD}, stream {SCHEMA})", env!("CARGO_PKG_VERSION"))
}

/// Convert an error text of clap, which has several paragraphs, to an error of one line; its remedy is clap's tip or the usage.
fn error_from_clap(text: &str) -> Error {
    let paragraph: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let what = paragraph.join(" ");
    let what = what.strip_prefix("error: ").unwrap_or(&what);
    if what.contains("'--password") || what.contains("'-p'") {
        let remedy =
            "Write the password into [client] of a file for --defaults-file, or into MYSQL_PWD: anybody can read arguments";
        return Error::user("A password is never taken from an argument", remedy);
    }
    if let Some((what, (least, most))) = what.rsplit_once(": ").and_then(|(what, why)| Some((what, bounds(why)?))) {
        return Error::user(what, format!("Give a number from {least} to {most}"));
    }
    let after = |word: &str| text.lines().find_map(|line| line.trim().strip_prefix(word)).map(str::trim);
    let remedy = match (after("tip: "), after("Usage: ")) {
        (Some(tip), _) => format!("Perhaps: {tip}"),
        (None, Some(usage)) => format!("Usage: {usage}"),
        (None, None) => "See `dialin-load --help`".to_owned(),
    };
    Error::user(what, remedy)
}

/// The bounds in clap's message about a number that is out of range.
fn bounds(why: &str) -> Option<(&str, &str)> {
    why.split_once(" is not in ")?.1.split_once("..=")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parsed(line: &str) -> Result<Parsed> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn refused(line: &str) -> Error {
        parsed(line).err().unwrap_or_else(|| panic!("{line} is taken"))
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_helps() {
        for command in Cli::command().get_subcommands().map(clap::Command::get_name) {
            let text = parsed(&format!("dialin-load {command} --help"));
            assert!(matches!(text, Ok(Parsed::Text(text)) if text.contains("Usage: dialin-load")), "{command}");
        }
    }

    #[test]
    fn the_examples_in_the_help_can_be_parsed() {
        let examples = [EXAMPLES, RUN_EXAMPLES].into_iter().flat_map(str::lines).map(str::trim);
        let examples: Vec<&str> = examples.filter(|line| line.starts_with("dialin-load")).collect();
        assert!(examples.len() > 8);
        for example in examples {
            // Three blanks begin a comment, and > a redirection of the shell.
            let line = example.split("   ").next().unwrap().split('>').next().unwrap();
            assert!(matches!(parsed(line), Ok(Parsed::Cli(_))), "{line}");
        }
    }

    #[test]
    fn no_arguments_show_the_help_and_version_shows_the_version() {
        assert!(matches!(parsed("dialin-load"), Ok(Parsed::Text(text)) if text.contains("Examples:")));
        let Ok(Parsed::Text(version)) = parsed("dialin-load --version") else { panic!("no version") };
        assert!(version.starts_with("dialin-load ") && version.contains(BUILD) && version.contains(SCHEMA), "{version}");
    }

    #[test]
    fn errors_have_one_line_and_a_remedy() {
        for line in [
            "dialin-load run",
            "dialin-load nothing",
            "dialin-load run noop --rat 5",
            "dialin-load run noop --rate five",
            "dialin-load run noop --arrivals seldom",
            "dialin-load run noop --socket /s --host h",
            "dialin-load agent",
        ] {
            let error = refused(line);
            assert!(!error.what.contains('\n') && !error.remedy.contains('\n') && !error.remedy.is_empty(), "{error:?}");
            assert!(!error.what.starts_with("error"), "{error:?}");
        }
        assert!(refused("dialin-load run noop --rat 5").remedy.contains("--rate"));
    }

    #[test]
    fn a_password_in_an_argument_is_refused_and_not_repeated() {
        for line in [
            "dialin-load run noop --password=hunter2",
            "dialin-load run noop -phunter2",
            "dialin-load run noop --password hunter2",
        ] {
            let error = refused(line);
            assert!(error.what.contains("never taken from an argument") && error.remedy.contains("MYSQL_PWD"), "{error:?}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }

    #[test]
    fn json_may_be_given_before_and_after_the_command() {
        for line in ["dialin-load --json run noop", "dialin-load run noop --json"] {
            assert!(matches!(parsed(line), Ok(Parsed::Cli(cli)) if cli.json), "{line}");
        }
    }

    fn workload(options: &[&str]) -> WorkloadOptions {
        WorkloadOptions { workload: "noop".into(), options: options.iter().map(|each| (*each).to_owned()).collect() }
    }

    #[test]
    fn options_of_a_workload_have_a_name_and_a_value() {
        let pairs = workload(&["tables=8", "note = a=b", "empty="]).pairs().unwrap();
        let texts: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(texts, [("tables", "8"), ("note", "a=b"), ("empty", "")]);
        for bad in ["tables", "=8", ""] {
            assert!(workload(&[bad]).pairs().unwrap_err().remedy.contains("name=value"));
        }
    }

    #[test]
    fn numbers_have_bounds() {
        for (line, least, most) in [
            ("prepare noop --threads 0", "1", "1000"),
            ("prepare noop --threads 1001", "1", "1000"),
            ("self-test --connections 0", "1", "10000"),
            ("self-test --connections -1", "1", "10000"),
            ("self-test --seconds 601", "1", "600"),
            ("self-test --load-threads 0", "1", "1024"),
        ] {
            let error = refused(&format!("dialin-load {line}"));
            assert_eq!(error.remedy, format!("Give a number from {least} to {most}"));
            assert!(error.what.ends_with('\'') || error.what.ends_with(">'"), "{error}");
        }
    }
}
