//! What can be played: sysbench's scripts, workload files, and nothing at all.

pub mod file;
mod loading;
mod noop;
mod sysbench;

use crate::account::Account;
use crate::errors::{Error, Result};
use crate::plan::Plan;

/// A workload with its options.
pub trait Workload: Send + Sync {
    /// What is played.
    ///
    /// # Errors
    /// Where the options make no workload.
    fn plan(&self) -> Result<Plan>;

    /// Makes the tables over so many connections, telling how far it is.
    ///
    /// # Errors
    /// Where the server cannot be reached or refuses; a table that exists is left alone and is an error.
    fn prepare(&self, account: &Account, threads: usize, say: &(dyn Fn(String) + Sync)) -> Result<()>;

    /// Drops the tables that are there.
    ///
    /// # Errors
    /// Where the server cannot be reached or refuses.
    fn cleanup(&self, account: &Account) -> Result<()>;

    /// What is wrong with the tables' content, a sentence for each condition that does not hold.
    ///
    /// # Errors
    /// Where the server cannot be reached or refuses.
    fn check(&self, account: &Account) -> Result<Vec<String>>;
}

/// A workload in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The name that [`find`] knows it by.
    pub name: String,
    /// What it does, in a line.
    pub about: String,
}

/// The workload of a name: a script of sysbench's, `noop`, a shipped workload file, or the path of one.
///
/// # Errors
/// Where there is none of that name, or an option is unknown or wrong.
pub fn find(name: &str, sizes: &[(String, String)]) -> Result<Box<dyn Workload>> {
    if let Some(workload) = sysbench::find(name, sizes)? {
        return Ok(workload);
    }
    if name == noop::NAME {
        return noop::workload(sizes);
    }
    if is_path(name) || names().iter().any(|known| known.name == name) {
        return file::load(name, sizes);
    }
    Err(unknown(name))
}

/// As [`find`], with the options `threads` and `rand-seed` set for the workloads that have them, unless they are given.
///
/// # Errors
/// As [`find`].
pub fn find_for(name: &str, sizes: &[(String, String)], connections: usize, seed: u64) -> Result<Box<dyn Workload>> {
    if !sysbench::scripts().any(|script| script.name == name) {
        return find(name, sizes);
    }
    let own = [("threads".to_owned(), connections.max(1).to_string()), ("rand-seed".to_owned(), seed.to_string())];
    let all: Vec<_> = own.into_iter().chain(sizes.iter().cloned()).collect();
    find(name, &all)
}

/// All workloads that have a name.
#[must_use]
pub fn names() -> Vec<About> {
    let nothing =
        About { name: noop::NAME.into(), about: "a statement that does nothing: the limit of the driver itself".into() };
    sysbench::scripts().chain([nothing]).chain(file::shipped()).collect()
}

fn is_path(name: &str) -> bool {
    name.ends_with(".toml")
}

fn unknown(name: &str) -> Error {
    let wanted = name.strip_prefix("sysbench:").unwrap_or(name).replace('-', "_");
    let remedy = match names().into_iter().find(|known| known.name.replace('-', "_") == wanted) {
        Some(near) => format!("Perhaps {} is meant", near.name),
        None => "Name one that `dialin-load workloads` lists, or a file that ends in .toml".into(),
    };
    Error::user(format!("there is no workload {name}"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Fault;

    fn told(name: &str, sizes: &[(&str, &str)]) -> Error {
        let sizes: Vec<_> = sizes.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        match find(name, &sizes) {
            Ok(_) => panic!("{name} was found"),
            Err(error) => error,
        }
    }

    #[test]
    fn every_listed_workload_is_found_and_makes_a_plan_of_its_name() {
        for known in names() {
            let plan = find(&known.name, &[]).unwrap().plan().unwrap();
            assert_eq!(plan.name, known.name);
            assert!(!plan.transactions.is_empty(), "{}", known.name);
            assert!(!known.about.is_empty() && !known.about.contains('\n'), "{}", known.name);
        }
    }

    #[test]
    fn all_scripts_of_sysbench_are_listed() {
        let names: Vec<String> = names().into_iter().map(|known| known.name).collect();
        for script in
            ["delete", "insert", "point_select", "read_only", "read_write", "update_index", "update_non_index", "write_only"]
        {
            assert!(names.contains(&format!("oltp_{script}")), "{script}");
        }
        for name in ["select_random_points", "select_random_ranges", "bulk_insert", "noop"] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn an_unknown_workload_is_told_with_what_is_near() {
        let error = told("oltp-read-write", &[]);
        assert_eq!((error.fault, error.what.as_str()), (Fault::User, "there is no workload oltp-read-write"));
        assert_eq!(error.remedy, "Perhaps oltp_read_write is meant");
        assert_eq!(told("sysbench:oltp_insert", &[]).remedy, "Perhaps oltp_insert is meant");
        assert!(told("tpcc_unlike", &[]).remedy.contains("dialin-load workloads"));
    }

    #[test]
    fn an_unknown_option_is_the_users_fault() {
        assert_eq!(told("oltp_read_only", &[("rows", "5")]).fault, Fault::User);
        assert_eq!(told("noop", &[("rows", "5")]).fault, Fault::User);
    }

    #[test]
    fn threads_and_seed_come_from_the_run_unless_given() {
        let slots = |sizes: &[(String, String)]| find_for("select_random_points", sizes, 3, 1).unwrap().plan().unwrap();
        let given = |threads: &str| slots(&[("threads".into(), threads.into()), ("rand-seed".into(), "1".into())]);
        assert_eq!(slots(&[]), given("3"));
        assert_ne!(slots(&[]), given("4"));
        assert!(find_for("noop", &[], 3, 1).is_ok());
    }
}
