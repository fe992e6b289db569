//! The workloads: sysbench's scripts, workload files, and `noop`.

pub mod file;
mod loading;
mod noop;
mod sysbench;

use crate::account::Account;
use crate::errors::{Error, Result};
use crate::plan::Plan;

/// A workload with its options.
pub trait Workload: Send + Sync {
    /// The plan that the engine executes.
    ///
    /// # Errors
    /// The options do not result in a valid plan.
    fn plan(&self) -> Result<Plan>;

    /// Creates and fills the tables over `threads` connections; `say` receives lines about the progress.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement. An existing table is an error, too, and is not changed (bulk_insert
    /// uses it instead).
    fn prepare(&self, account: &Account, threads: usize, say: &(dyn Fn(String) + Sync)) -> Result<()>;

    /// As [`Self::prepare`], but only for the tables with these names; each gets the same rows as if all were prepared.
    ///
    /// # Errors
    /// As [`Self::prepare`]; the workload has no such table, or prepares all of its tables together.
    fn prepare_only(
        &self,
        _names: &[String],
        _account: &Account,
        _threads: usize,
        _say: &(dyn Fn(String) + Sync),
    ) -> Result<()> {
        Err(loading::all_together())
    }

    /// Drops the tables of the workload that exist.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    fn cleanup(&self, account: &Account) -> Result<()>;

    /// Checks the conditions on the content of the tables; returns a line for each one that does not hold.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    fn check(&self, account: &Account) -> Result<Vec<String>>;
}

/// A workload in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The name for [`find`].
    pub name: String,
    /// What it does, in one line.
    pub about: String,
}

/// The workload of a name: a script of sysbench, `noop`, a shipped workload file, or the path of a workload file. `sizes` are
/// its options.
///
/// # Errors
/// There is no workload of that name, or an option is unknown or wrong.
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

/// As [`find`], but sets the options `threads` and `rand-seed` of sysbench's scripts, unless they are given.
///
/// # Errors
/// As [`find`].
pub fn find_for(name: &str, sizes: &[(String, String)], connections: usize, seed: u64) -> Result<Box<dyn Workload>> {
    if !sysbench::scripts().any(|script| script.name == name) {
        return find(name, sizes);
    }
    let defaults = [("threads".to_owned(), connections.max(1).to_string()), ("rand-seed".to_owned(), seed.to_string())];
    let all: Vec<_> = defaults.into_iter().chain(sizes.iter().cloned()).collect();
    find(name, &all)
}

/// All workloads that are known by name.
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
        Some(near) => format!("Did you mean {}?", near.name),
        None => "Name one that `dialin-load workloads` lists, or a file that ends in .toml".into(),
    };
    Error::user(format!("there is no workload {name}"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Fault;

    fn refusal(name: &str, sizes: &[(&str, &str)]) -> Error {
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
    fn the_error_for_an_unknown_workload_names_a_similar_one() {
        let error = refusal("oltp-read-write", &[]);
        assert_eq!((error.fault, error.what.as_str()), (Fault::User, "there is no workload oltp-read-write"));
        assert_eq!(error.remedy, "Did you mean oltp_read_write?");
        assert_eq!(refusal("sysbench:oltp_insert", &[]).remedy, "Did you mean oltp_insert?");
        assert!(refusal("tpcc_unlike", &[]).remedy.contains("dialin-load workloads"));
    }

    #[test]
    fn an_unknown_option_is_the_users_fault() {
        assert_eq!(refusal("oltp_read_only", &[("rows", "5")]).fault, Fault::User);
        assert_eq!(refusal("noop", &[("rows", "5")]).fault, Fault::User);
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
