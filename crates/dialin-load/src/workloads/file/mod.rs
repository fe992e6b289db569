//! Workload files: user-defined transactions, tables and conditions, in TOML. See docs/workload-files.md.

mod check;
mod compile;
mod fill;
mod load;
mod model;
mod number;
mod read;
mod sql;
mod tables;
mod values;

use super::{About, Workload};
use crate::account::Account;
use crate::errors::{Error, Result};
use crate::plan::Plan;
use model::File;

/// The files that come with the driver: their names and texts.
const SHIPPED: [(&str, &str); 4] = [
    ("bank-transfer", include_str!("../../../workloads/bank-transfer.toml")),
    ("tpcc-like", include_str!("../../../workloads/tpcc-like.toml")),
    ("queue", include_str!("../../../workloads/queue.toml")),
    ("feed", include_str!("../../../workloads/feed.toml")),
];

/// The largest workload file, in bytes.
const LONGEST: u64 = 4 << 20;

/// The workloads that come with the driver.
pub fn shipped() -> impl Iterator<Item = About> {
    let about = |text: &str| File::parse("", text, &[]).map(|file| file.description).unwrap_or_default();
    SHIPPED.iter().map(move |(name, text)| About { name: (*name).to_owned(), about: about(text) })
}

/// The text of a workload: of one that comes with the driver, or of the file at a path.
///
/// # Errors
/// There is no such file, or it cannot be read.
pub fn text(name: &str) -> Result<String> {
    if let Some((_, text)) = SHIPPED.iter().find(|(known, _)| *known == name) {
        return Ok((*text).to_owned());
    }
    let unread = |error: std::io::Error| {
        Error::user(
            format!("the workload file {name} cannot be read: {error}"),
            "Give the path of a workload file, or a name that `dialin-load workloads` lists",
        )
    };
    let length = std::fs::metadata(name).map_err(unread)?.len();
    if length > LONGEST {
        return Err(Error::user(format!("{name} has {length} bytes, more than {LONGEST}"), "Give the path of a workload file"));
    }
    std::fs::read_to_string(name).map_err(unread)
}

/// The workload with this name or path; `sizes` overrides its sizes.
///
/// # Errors
/// The file cannot be read, or something in it is wrong.
pub fn load(name: &str, sizes: &[(String, String)]) -> Result<Box<dyn Workload>> {
    of_text(name, &text(name)?, sizes)
}

/// As [`load`], with a text that was read elsewhere: a conductor sends it to its agents.
///
/// # Errors
/// Something in it is wrong.
pub fn of_text(name: &str, text: &str, sizes: &[(String, String)]) -> Result<Box<dyn Workload>> {
    Ok(Box::new(File::parse(name, text, sizes)?))
}

impl Workload for File {
    fn plan(&self) -> Result<Plan> {
        Ok(self.plan())
    }

    fn prepare(&self, account: &Account, threads: usize, say: &(dyn Fn(String) + Sync)) -> Result<()> {
        load::prepare(&self.tables, account, threads, say)
    }

    fn cleanup(&self, account: &Account) -> Result<()> {
        load::cleanup(&self.tables, account)
    }

    fn check(&self, account: &Account) -> Result<Vec<String>> {
        check::broken(&self.checks, account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Op;

    fn file(name: &str, sizes: &[(&str, &str)]) -> File {
        let sizes: Vec<_> = sizes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        File::parse(name, &text(name).unwrap(), &sizes).unwrap()
    }

    #[test]
    fn every_shipped_file_is_sound_and_has_checks() {
        for (name, _) in SHIPPED {
            let file = file(name, &[]);
            assert_eq!(file.name, name);
            assert!(!file.checks.is_empty() && !file.tables.is_empty(), "{name}");
        }
        assert!(shipped().all(|about| !about.about.is_empty() && !about.about.contains('\n')));
    }

    #[test]
    fn the_smallest_sizes_of_every_shipped_file_are_sound() {
        file("bank-transfer", &[("accounts", "2")]);
        file("tpcc-like", &[("warehouses", "1"), ("districts", "1"), ("customers", "3"), ("items", "1")]);
        file("queue", &[("batches", "0")]);
        file("feed", &[("people", "1"), ("posts", "0"), ("follows", "0")]);
    }

    #[test]
    fn all_jumps_of_the_shipped_plans_stay_within_their_transaction() {
        for (name, _) in SHIPPED {
            for transaction in file(name, &[]).plan().transactions {
                for op in &transaction.ops {
                    if let Op::Jump(to) | Op::Unless(_, to) = op {
                        assert!(*to <= transaction.ops.len(), "{name}, {}", transaction.name);
                    }
                }
            }
        }
    }

    #[test]
    fn the_mix_of_tpcc_like_is_that_of_tpc_c() {
        let weights: Vec<f64> = file("tpcc-like", &[]).plan().transactions.iter().map(|each| each.weight).collect();
        assert_eq!(weights, [45.0, 43.0, 4.0, 4.0, 4.0]);
    }

    #[test]
    fn the_example_of_the_manual_is_sound() {
        let manual = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workload-files.md")).unwrap();
        let (_, behind) = manual.split_once("```toml\nname = \"shop\"\n").unwrap();
        let (example, _) = behind.split_once("```").unwrap();
        let example = &format!("name = \"shop\"\n{example}");
        let file = File::parse("shop.toml", example, &[("goods".to_owned(), "5".to_owned())]).unwrap();
        assert_eq!((file.name.as_str(), file.plan().transactions.len()), ("shop", 2));
    }

    #[test]
    fn a_file_that_is_not_there_is_the_users_fault() {
        let error = text("/nowhere/mine.toml").unwrap_err();
        assert_eq!(error.fault, crate::errors::Fault::User);
        assert!(error.remedy.contains("dialin-load workloads"));
    }
}
