//! A workload with a statement that costs the server as little as possible: it shows the limit of the driver itself.

use super::Workload;
use crate::account::Account;
use crate::errors::{Error, Result};
use crate::plan::{Execute, FIRST_FREE, Kind, NoRow, Op, Plan, Retry, Statement, Transaction, Which};

/// The name of the workload.
pub(super) const NAME: &str = "noop";

struct Noop;

/// The workload; it has no options.
///
/// # Errors
/// An option is given.
pub(super) fn workload(sizes: &[(String, String)]) -> Result<Box<dyn Workload>> {
    match sizes.first() {
        Some((name, _)) => Err(Error::user(format!("{NAME} has no option {name}"), "It has no options: leave them out")),
        None => Ok(Box::new(Noop)),
    }
}

impl Workload for Noop {
    fn plan(&self) -> Result<Plan> {
        let statement = Statement { sql: "DO 0".into(), parameters: 0, kind: Kind::Other, text: true };
        let execute = Execute { which: Which::One(0), parameters: vec![], keep: vec![], no_row: NoRow::Null };
        let transaction = Transaction {
            name: NAME.into(),
            weight: 1.0,
            ops: vec![Op::Execute(execute)],
            retry: Retry::default(),
            expected: vec![],
        };
        Ok(Plan {
            name: NAME.into(),
            statements: vec![statement],
            transactions: vec![transaction],
            slots: FIRST_FREE,
            session: vec![],
        })
    }

    fn prepare(&self, _account: &Account, _threads: usize, _say: &(dyn Fn(String) + Sync)) -> Result<()> {
        Ok(())
    }

    fn cleanup(&self, _account: &Account) -> Result<()> {
        Ok(())
    }

    fn check(&self, _account: &Account) -> Result<Vec<String>> {
        Ok(vec![])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noop_is_one_statement_without_table_and_without_options() {
        let plan = workload(&[]).unwrap().plan().unwrap();
        assert_eq!(plan.statements.len(), 1);
        assert_eq!((plan.statements[0].sql.as_str(), plan.statements[0].text), ("DO 0", true));
        assert!(workload(&[("tables".into(), "1".into())]).is_err());
    }
}
