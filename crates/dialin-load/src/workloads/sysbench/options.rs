//! The options of sysbench's scripts, under sysbench's names and with its defaults.

use super::Script;
use crate::errors::{Error, Result};
use crate::random::{Distribution, Integers};
use std::ops::RangeInclusive;

/// Options that sysbench has for every script.
const GENERAL: &[&str] = &[
    "rand-pareto-h",
    "rand-seed",
    "rand-spec-iter",
    "rand-spec-pct",
    "rand-spec-res",
    "rand-type",
    "rand-zipfian-exp",
    "threads",
];

/// Options of all scripts but bulk_insert.
const TABLES: &[&str] = &[
    "auto-inc",
    "create-secondary",
    "delete-inserts",
    "distinct-ranges",
    "index-updates",
    "mysql-storage-engine",
    "non-index-updates",
    "order-ranges",
    "point-selects",
    "range-selects",
    "range-size",
    "secondary",
    "simple-ranges",
    "skip-trx",
    "sum-ranges",
    "table-size",
    "tables",
];

/// The largest value of INTEGER.
const INTEGER: i64 = i32::MAX as i64;
/// The allowed number of executions of a statement in a transaction.
const TIMES: RangeInclusive<i64> = 0..=10_000;
/// The allowed number of tables, and of threads.
const MANY: RangeInclusive<i64> = 1..=100_000;

/// The values of the options.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    pub table_size: i64,
    pub tables: i64,
    pub range_size: i64,
    pub point_selects: i64,
    pub simple_ranges: i64,
    pub sum_ranges: i64,
    pub order_ranges: i64,
    pub distinct_ranges: i64,
    pub index_updates: i64,
    pub non_index_updates: i64,
    pub delete_inserts: i64,
    pub range_selects: bool,
    pub auto_inc: bool,
    pub skip_trx: bool,
    pub secondary: bool,
    pub create_secondary: bool,
    pub engine: String,
    pub random_points: i64,
    pub number_of_ranges: i64,
    pub delta: i64,
    pub threads: i64,
    pub seed: u64,
    random: Random,
}

/// The options of the distribution.
#[derive(Clone, Debug, PartialEq)]
struct Random {
    kind: String,
    iterations: u32,
    percent: u32,
    resolution: u32,
    h: f64,
    exponent: f64,
}

impl Default for Options {
    fn default() -> Self {
        let kind = "special".to_owned();
        Self {
            table_size: 10_000,
            tables: 1,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_selects: true,
            auto_inc: true,
            skip_trx: false,
            secondary: false,
            create_secondary: true,
            engine: "innodb".into(),
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            threads: 1,
            seed: 0,
            random: Random { kind, iterations: 12, percent: 1, resolution: 75, h: 0.2, exponent: 0.8 },
        }
    }
}

impl Options {
    /// Parses the given options, which override the defaults. If a name is given several times, the last value counts.
    pub(super) fn read(script: Script, given: &[(String, String)]) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in given {
            let known = name.replace('_', "-");
            if !names(script).any(|each| each == known) {
                return Err(unknown(script, name));
            }
            options.set(&known, value)?;
        }
        options.distribution()?;
        if matches!(script, Script::RandomPoints | Script::RandomRanges) && options.tables != 1 {
            let what = format!("{} has one table, not {}", script.name(), options.tables);
            return Err(Error::user(what, "Leave the option tables at 1"));
        }
        Ok(options)
    }

    /// The distribution that `rand-type` and its parameters describe.
    pub(super) fn distribution(&self) -> Result<Distribution> {
        let Random { kind, iterations, percent, resolution, h, exponent } = &self.random;
        let distribution = match kind.as_str() {
            "uniform" => Distribution::Uniform,
            "gaussian" => Distribution::Gaussian { iterations: *iterations },
            "special" => Distribution::Special { iterations: *iterations, percent: *percent, resolution: *resolution },
            "pareto" => Distribution::Pareto { h: *h },
            "zipfian" => Distribution::Zipfian { exponent: *exponent },
            other => {
                let what = format!("there is no distribution {other}");
                return Err(Error::user(what, "Set rand-type to uniform, gaussian, special, pareto or zipfian"));
            }
        };
        Integers::new(0, 1, distribution).map(|_| distribution)
    }

    /// The distribution of the ids of a table, and of the values of its column k.
    pub(super) fn ids(&self) -> Result<Integers> {
        Integers::new(1, self.table_size.max(1), self.distribution()?)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "table-size" => self.table_size = count(name, value, 0..=INTEGER)?,
            "tables" => self.tables = count(name, value, MANY)?,
            "range-size" => self.range_size = count(name, value, 0..=INTEGER)?,
            "point-selects" => self.point_selects = count(name, value, TIMES)?,
            "simple-ranges" => self.simple_ranges = count(name, value, TIMES)?,
            "sum-ranges" => self.sum_ranges = count(name, value, TIMES)?,
            "order-ranges" => self.order_ranges = count(name, value, TIMES)?,
            "distinct-ranges" => self.distinct_ranges = count(name, value, TIMES)?,
            "index-updates" => self.index_updates = count(name, value, TIMES)?,
            "non-index-updates" => self.non_index_updates = count(name, value, TIMES)?,
            "delete-inserts" => self.delete_inserts = count(name, value, TIMES)?,
            "range-selects" => self.range_selects = switch(name, value)?,
            "auto-inc" => self.auto_inc = switch(name, value)?,
            "skip-trx" => self.skip_trx = switch(name, value)?,
            "secondary" => self.secondary = switch(name, value)?,
            "create-secondary" => self.create_secondary = switch(name, value)?,
            "mysql-storage-engine" => self.engine = word(name, value)?,
            "random-points" => self.random_points = count(name, value, 1..=65_535)?,
            "number-of-ranges" => self.number_of_ranges = count(name, value, 1..=32_767)?,
            "delta" => self.delta = count(name, value, 0..=INTEGER)?,
            "threads" => self.threads = count(name, value, MANY)?,
            "rand-seed" => self.seed = value.parse().map_err(|_| wrong(name, value, "Give a whole number from 0"))?,
            "rand-type" => self.random.kind = word(name, value)?,
            "rand-spec-iter" => self.random.iterations = count(name, value, 1..=10_000)? as u32,
            "rand-spec-pct" => self.random.percent = count(name, value, 0..=100)? as u32,
            "rand-spec-res" => self.random.resolution = count(name, value, 0..=100)? as u32,
            "rand-pareto-h" => self.random.h = number(name, value)?,
            "rand-zipfian-exp" => self.random.exponent = number(name, value)?,
            _ => return Err(Error::driver(format!("option {name} is listed but not read"), "Report this defect")),
        }
        Ok(())
    }
}

/// The names of a script's options.
fn names(script: Script) -> impl Iterator<Item = &'static str> {
    let tables = if script == Script::BulkInsert { &[] } else { TABLES };
    let specific: &[&str] = match script {
        Script::RandomPoints => &["random-points"],
        Script::RandomRanges => &["delta", "number-of-ranges"],
        _ => &[],
    };
    [tables, specific, GENERAL].into_iter().flatten().copied()
}

fn unknown(script: Script, name: &str) -> Error {
    let existing: Vec<&str> = names(script).collect();
    Error::user(format!("{} has no option {name}", script.name()), format!("Its options are {}", existing.join(", ")))
}

fn wrong(name: &str, value: &str, wanted: impl Into<String>) -> Error {
    Error::user(format!("option {name} cannot be {value:?}"), wanted)
}

fn number(name: &str, value: &str) -> Result<f64> {
    let number = value.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| wrong(name, value, "Give a number"))
}

/// Parses a whole number, which may be written as 1e6.
fn whole(name: &str, value: &str) -> Result<i64> {
    const EXACT: f64 = (1_i64 << 53) as f64;
    if let Ok(number) = value.parse() {
        return Ok(number);
    }
    let number = number(name, value)?;
    if number.fract() != 0.0 || number.abs() > EXACT {
        return Err(wrong(name, value, "Give a whole number"));
    }
    Ok(number as i64)
}

fn count(name: &str, value: &str, within: RangeInclusive<i64>) -> Result<i64> {
    let limits = format!("Give a whole number from {} to {}", within.start(), within.end());
    match whole(name, value) {
        Ok(number) if within.contains(&number) => Ok(number),
        _ => Err(wrong(name, value, limits)),
    }
}

fn switch(name: &str, value: &str) -> Result<bool> {
    match value {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(wrong(name, value, "Give on or off")),
    }
}

fn word(name: &str, value: &str) -> Result<String> {
    let plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if plain { Ok(value.to_owned()) } else { Err(wrong(name, value, "Give a name of letters and digits")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(script: Script, given: &[(&str, &str)]) -> Result<Options> {
        let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Options::read(script, &given)
    }

    #[test]
    fn every_listed_option_is_read() {
        for script in Script::ALL {
            for name in names(script) {
                let tried = ["1", "on", "uniform", "0.5"];
                assert!(tried.iter().any(|value| read(script, &[(name, value)]).is_ok()), "{name} of {}", script.name());
            }
        }
    }

    #[test]
    fn options_replace_defaults_and_the_last_one_counts() {
        let given = [("tables", "8"), ("table_size", "1e5"), ("skip-trx", "on"), ("tables", "4")];
        let options = read(Script::ReadWrite, &given).unwrap();
        let expected = Options { tables: 4, table_size: 100_000, skip_trx: true, ..Options::default() };
        assert_eq!(options, expected);
    }

    #[test]
    fn the_default_distribution_is_that_of_sysbench() {
        assert_eq!(Options::default().distribution(), Ok(Distribution::default()));
    }

    #[test]
    fn each_distribution_takes_its_own_parameters() {
        let distribution = |given: &[_]| read(Script::ReadOnly, given).unwrap().distribution().unwrap();
        assert_eq!(distribution(&[("rand-type", "uniform")]), Distribution::Uniform);
        assert_eq!(
            distribution(&[("rand-type", "gaussian"), ("rand-spec-iter", "4")]),
            Distribution::Gaussian { iterations: 4 }
        );
        assert_eq!(
            distribution(&[("rand-spec-pct", "5"), ("rand-spec-res", "50")]),
            Distribution::Special { iterations: 12, percent: 5, resolution: 50 }
        );
        assert_eq!(distribution(&[("rand-type", "pareto"), ("rand-pareto-h", "0.3")]), Distribution::Pareto { h: 0.3 });
        assert_eq!(
            distribution(&[("rand-type", "zipfian"), ("rand-zipfian-exp", "1.1")]),
            Distribution::Zipfian { exponent: 1.1 }
        );
    }

    #[test]
    fn the_error_for_an_unknown_option_lists_those_that_exist() {
        let error = read(Script::ReadWrite, &[("table-sizes", "5")]).unwrap_err();
        assert_eq!(error.what, "oltp_read_write has no option table-sizes");
        assert!(error.remedy.contains("table-size, tables,"), "{}", error.remedy);
        assert!(error.remedy.contains("rand-type"), "{}", error.remedy);
        assert!(read(Script::ReadWrite, &[("delta", "5")]).is_err());
        assert!(read(Script::BulkInsert, &[("table-size", "5")]).is_err());
        assert!(read(Script::RandomRanges, &[("delta", "5"), ("number-of-ranges", "3")]).is_ok());
    }

    #[test]
    fn values_out_of_their_limits_are_refused() {
        let wrong = [
            ("table-size", "-1"),
            ("table-size", "3000000000"),
            ("table-size", "1.5"),
            ("table-size", "many"),
            ("tables", "0"),
            ("skip-trx", "perhaps"),
            ("rand-type", "normal"),
            ("rand-type", ""),
            ("rand-pareto-h", "2"),
            ("rand-pareto-h", "nan"),
            ("mysql-storage-engine", "innodb; DROP TABLE x"),
        ];
        for pair in wrong {
            let error = read(Script::ReadWrite, &[("rand-type", "pareto"), pair]).unwrap_err();
            assert_eq!(error.fault, crate::errors::Fault::User, "{pair:?}");
        }
    }

    #[test]
    fn a_seed_has_64_bits() {
        let largest = u64::MAX.to_string();
        assert_eq!(read(Script::Insert, &[("rand-seed", &largest)]).unwrap().seed, u64::MAX);
        assert!(read(Script::Insert, &[("rand-seed", "-1")]).is_err());
    }

    #[test]
    fn select_random_has_one_table() {
        assert!(read(Script::RandomPoints, &[("tables", "2")]).is_err());
        assert!(read(Script::RandomRanges, &[("tables", "1")]).is_ok());
    }
}
