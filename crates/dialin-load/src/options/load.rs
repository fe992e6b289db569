//! Options of `dialin-load run`.

use super::replay::seconds_since_1970;
use super::{AccountOptions, WorkloadOptions, within};
use crate::account::Account;
use crate::errors::{Error, Result};
use crate::run::{Arrivals, Gather, HIGHEST_RATE, Phase, Purpose, Rate, Run};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// The default length of the measured part of a step, in seconds.
const TIME: u64 = 60;
/// The longest phase or timeout: a year, in seconds.
const LONGEST: i64 = 366 * 86_400;

/// How transactions are spread over time with --rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsOption {
    /// At equal intervals
    Constant,
    /// At random intervals (Poisson), as from many independent users
    Poisson,
}

/// Whether load threads gather answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GatherOption {
    /// On if less than 40 % of the driver's CPUs is idle in the second half of a step's warm-up (without one: in its first second)
    Auto,
    /// If a load thread has 32 connections or more
    On,
    /// Never
    Off,
}

/// Options of `dialin-load run`.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Which workload
    #[command(flatten)]
    pub workload: WorkloadOptions,
    /// Which server
    #[command(flatten)]
    pub account: AccountOptions,
    /// Concurrent connections; a list runs one step per value
    #[arg(
        long,
        value_name = "N[,N...]",
        value_delimiter = ',',
        default_value = "1",
        value_parser = within::<usize>(1..=1_000_000)
    )]
    pub connections: Vec<usize>,
    /// Transactions per second, all connections together; a list runs one step per value [default: closed loop]
    #[arg(long, value_name = "N[,N...]", value_delimiter = ',')]
    pub rate: Vec<f64>,
    /// How transactions are spread over time with --rate
    #[arg(long, value_enum, default_value_t = ArrivalsOption::Constant)]
    pub arrivals: ArrivalsOption,
    /// Warm-up before each step, seconds
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = within::<u64>(0..=LONGEST))]
    pub warmup: u64,
    /// Seconds that each step is measured; 0: until stopped [default: 60; with --transactions, until they are done]
    #[arg(long, value_name = "S", value_parser = within::<u64>(0..=LONGEST))]
    pub time: Option<u64>,
    /// End after this many transactions, including those of warm-ups
    #[arg(long, value_name = "N", value_parser = within::<u64>(1..=i64::MAX))]
    pub transactions: Option<u64>,
    /// Random seed: the same seed gives the same transactions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Load threads, one number for all steps or one per step [default: chosen for the machine]
    #[arg(long, value_name = "N[,N...]", value_delimiter = ',', value_parser = within::<usize>(1..=1_024))]
    pub load_threads: Vec<usize>,
    /// Whether load threads wait a little for further answers before they process those that have arrived (closed loop only);
    /// one value for all steps or one per step
    #[arg(long, value_enum, value_name = "MODE[,MODE...]", value_delimiter = ',', default_value = "auto")]
    pub gather: Vec<GatherOption>,
    /// Send statements as text instead of preparing them
    #[arg(long)]
    pub text: bool,
    /// Due transactions that may wait for a connection; further ones are dropped and counted
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = within::<u64>(0..=100_000_000))]
    pub backlog: u64,
    /// Seconds that a statement may take before its connection counts as lost
    #[arg(long, value_name = "S", default_value_t = 120, value_parser = within::<u64>(1..=LONGEST))]
    pub timeout: u64,
    /// Seconds that a connection may stay lost before the run fails
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = within::<u64>(0..=LONGEST))]
    pub reconnect_for: u64,
    /// Speed of the replay: 1 as captured, 2 twice as fast, or full: as fast as the order of transactions allows [default: 1]
    #[arg(long, value_name = "N|full", help_heading = "Replay of a capture (capture:DIR)")]
    pub pace: Option<String>,
    /// Leave out transactions that ended at or before this time, in seconds since 1970: a restored backup contains them already
    #[arg(long, value_name = "TIME", value_parser = seconds_since_1970, help_heading = "Replay of a capture (capture:DIR)")]
    pub from: Option<f64>,
    /// Apply the load from agents on these hosts; each has its own account
    #[arg(
        long,
        value_name = "HOST:PORT[,...]",
        value_delimiter = ',',
        requires = "token_file",
        help_heading = "Several hosts"
    )]
    pub agents: Vec<String>,
    /// The file with the secret that agents and conductor share, readable by its owner only
    #[arg(long, value_name = "FILE", help_heading = "Several hosts")]
    pub token_file: Option<PathBuf>,
}

impl RunOptions {
    /// The run that the options describe.
    ///
    /// # Errors
    ///
    /// A rate is out of range, or the lengths of the lists do not match.
    pub fn run(&self, account: Account) -> Result<Run> {
        let steps = self.steps()?;
        let measured = self.measured(steps.len())?;
        Ok(Run {
            account,
            phases: self.phases(&steps, measured)?,
            seed: self.seed,
            first: 0,
            stride: 1,
            transactions: self.transactions,
            text: self.text,
            backlog: self.backlog,
            timeout: Duration::from_secs(self.timeout),
            reconnect_for: Duration::from_secs(self.reconnect_for),
        })
    }

    /// Connections and rate of each step.
    fn steps(&self) -> Result<Vec<(usize, Option<Rate>)>> {
        let connections = &self.connections;
        let rates = self.rate.iter().map(|rate| self.rate(*rate)).collect::<Result<Vec<Rate>>>()?;
        let steps = connections.len().max(rates.len());
        if connections.len().min(rates.len().max(1)) != 1 && connections.len() != rates.len() {
            let (one, other) = (connections.len(), rates.len());
            let remedy = "Give one of them as one value, or both as lists of the same length";
            return Err(Error::user(format!("{one} connection counts and {other} rates do not go together"), remedy));
        }
        let step = |place: usize| (of_step(connections, place).unwrap_or(1), of_step(&rates, place));
        Ok((0..steps).map(step).collect())
    }

    /// The phases of all steps.
    fn phases(&self, steps: &[(usize, Option<Rate>)], measured: Option<u64>) -> Result<Vec<Phase>> {
        for (name, values) in [("--load-threads", self.load_threads.len()), ("--gather", self.gather.len())] {
            if values > 1 && values != steps.len() {
                let what = format!("{name} has {values} values, and the run has {} steps", steps.len());
                return Err(Error::user(what, "Give one value for all steps, or one per step"));
            }
        }
        let mut phases = Vec::new();
        for (place, (connections, rate)) in steps.iter().enumerate() {
            let phase = |purpose, seconds| Phase {
                purpose,
                step: place + 1,
                seconds,
                connections: *connections,
                rate: *rate,
                load_threads: of_step(&self.load_threads, place),
                gather: of_step(&self.gather, place).map_or(Gather::Auto, Gather::from),
            };
            if self.warmup > 0 {
                phases.push(phase(Purpose::WarmUp, Some(self.warmup)));
            }
            phases.push(phase(Purpose::Measure, measured));
        }
        Ok(phases)
    }

    fn rate(&self, per_second: f64) -> Result<Rate> {
        if !(per_second > 0.0 && per_second <= HIGHEST_RATE) {
            let remedy =
                format!("Give transactions per second above 0 and up to {HIGHEST_RATE}, or leave out --rate for a closed loop");
            return Err(Error::user(format!("--rate {per_second} is out of range"), remedy));
        }
        let arrivals = match self.arrivals {
            ArrivalsOption::Constant => Arrivals::Constant,
            ArrivalsOption::Poisson => Arrivals::Poisson,
        };
        Ok(Rate { per_second, arrivals })
    }

    /// The seconds for which each step is measured; None if it runs until it is stopped.
    fn measured(&self, steps: usize) -> Result<Option<u64>> {
        let seconds = match self.time {
            Some(seconds) => seconds,
            None if self.transactions.is_some() && steps == 1 => 0,
            None => TIME,
        };
        if seconds == 0 && steps > 1 {
            let remedy = "Give the seconds of each step with --time, or run only one step";
            return Err(Error::user(format!("--time 0 never ends the first of {steps} steps"), remedy));
        }
        Ok((seconds > 0).then_some(seconds))
    }
}

impl From<GatherOption> for Gather {
    fn from(option: GatherOption) -> Self {
        match option {
            GatherOption::Auto => Self::Auto,
            GatherOption::On => Self::On,
            GatherOption::Off => Self::Off,
        }
    }
}

/// The value for the step with index `place`, from a list with one value for all steps or one per step; None if it is empty.
fn of_step<T: Copy>(values: &[T], place: usize) -> Option<T> {
    values.get(place).or(values.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Parsed, parse};
    use super::*;
    use crate::account::Address;
    use std::ffi::OsString;

    fn run(options: &str) -> Result<Run> {
        let line = format!("dialin-load run noop {options}");
        let Parsed::Cli(cli) = parse(line.split_whitespace().map(OsString::from))? else { panic!("no command") };
        let Command::Run(options) = cli.command else { panic!("no run") };
        options.run(Account { address: Address::Socket("/s".into()), ..Account::default() })
    }

    type Step = (&'static str, usize, Option<u64>, usize, Option<f64>);

    fn steps_of(options: &str) -> Vec<Step> {
        let phase = |each: &Phase| {
            (each.purpose.word(), each.step, each.seconds, each.connections, each.rate.map(|rate| rate.per_second))
        };
        run(options).unwrap().phases.iter().map(phase).collect()
    }

    #[test]
    fn the_default_is_a_minute_of_one_connection_in_a_closed_loop() {
        assert_eq!(steps_of(""), [("measure", 1, Some(60), 1, None)]);
    }

    #[test]
    fn each_step_has_its_own_warm_up() {
        assert_eq!(
            steps_of("--connections 1,4 --warmup 5 --time 20"),
            [
                ("warm-up", 1, Some(5), 1, None),
                ("measure", 1, Some(20), 1, None),
                ("warm-up", 2, Some(5), 4, None),
                ("measure", 2, Some(20), 4, None),
            ]
        );
    }

    #[test]
    fn two_lists_have_the_same_length_or_one_has_a_single_value() {
        let steps = |options: &str| steps_of(options).iter().map(|step| (step.3, step.4)).collect::<Vec<_>>();
        assert_eq!(steps("--connections 8 --rate 1,2.5"), [(8, Some(1.0)), (8, Some(2.5))]);
        assert_eq!(steps("--connections 8,9 --rate 3"), [(8, Some(3.0)), (9, Some(3.0))]);
        assert_eq!(steps("--connections 8,9 --rate 3,4"), [(8, Some(3.0)), (9, Some(4.0))]);
        assert!(run("--connections 8,9 --rate 3,4,5").unwrap_err().what.contains("do not go together"));
        assert!(run("--connections 8,9,10 --rate 3,4").is_err());
    }

    #[test]
    fn each_step_may_have_its_own_load_threads_and_gathering() {
        let choices = |options: &str| {
            let phases = run(options).unwrap().phases;
            phases.iter().map(|phase| (phase.step, phase.load_threads, phase.gather)).collect::<Vec<_>>()
        };
        assert_eq!(choices(""), [(1, None, Gather::Auto)]);
        assert_eq!(
            choices("--connections 4,64 --load-threads 3,1 --gather off,on --warmup 1"),
            [(1, Some(3), Gather::Off), (1, Some(3), Gather::Off), (2, Some(1), Gather::On), (2, Some(1), Gather::On)]
        );
        assert_eq!(
            choices("--connections 4,64 --load-threads 2 --gather on"),
            [(1, Some(2), Gather::On), (2, Some(2), Gather::On)]
        );
        for options in ["--connections 1,2,3 --load-threads 1,2", "--load-threads 1,2", "--gather on,off"] {
            let error = run(options).unwrap_err();
            assert!(error.what.contains("2 values") && error.remedy.contains("one per step"), "{options}: {error}");
        }
    }

    #[test]
    fn a_run_without_an_end_has_one_step() {
        assert_eq!(steps_of("--time 0"), [("measure", 1, None, 1, None)]);
        assert_eq!(steps_of("--transactions 100"), [("measure", 1, None, 1, None)]);
        assert_eq!(steps_of("--transactions 100 --time 5"), [("measure", 1, Some(5), 1, None)]);
        assert!(run("--time 0 --connections 1,2").unwrap_err().what.contains("never ends"));
    }

    #[test]
    fn numbers_out_of_bounds_are_refused_with_a_remedy() {
        for options in [
            "--connections 0",
            "--connections -4",
            "--connections 1,0",
            "--rate 0",
            "--rate -1",
            "--rate nan",
            "--rate inf",
            "--rate 20000000",
            "--time -1",
            "--warmup -1",
            "--transactions 0",
            "--load-threads 0",
            "--backlog -1",
            "--timeout 0",
            "--reconnect-for -1",
            "--time 99999999999",
            "--connections 9999999999",
        ] {
            let error = run(options).err().unwrap_or_else(|| panic!("{options} is taken"));
            assert!(error.fault == crate::errors::Fault::User && error.remedy.starts_with("Give "), "{options}: {error}");
        }
    }

    #[test]
    fn all_options_are_in_the_run() {
        let run =
            run("--seed 7 --text --backlog 10 --timeout 5 --reconnect-for 6 --load-threads 2 --rate 9 --arrivals poisson")
                .unwrap();
        assert_eq!((run.seed, run.text, run.backlog, run.phases[0].load_threads), (7, true, 10, Some(2)));
        assert_eq!((run.timeout, run.reconnect_for), (Duration::from_secs(5), Duration::from_secs(6)));
        assert_eq!(run.phases[0].rate, Some(Rate { per_second: 9.0, arrivals: Arrivals::Poisson }));
        assert_eq!((run.first, run.stride), (0, 1));
    }
}
