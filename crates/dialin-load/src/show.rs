//! The text of `dialin-load show` and `dialin-load workloads`.

use crate::plan::{Kind, Plan, Statement};
use crate::workloads::About;

/// A line for each workload: its name and what it does.
#[must_use]
pub fn workloads(all: &[About]) -> String {
    let width = all.iter().map(|each| each.name.len()).max().unwrap_or_default();
    let lines: Vec<String> = all.iter().map(|each| format!("{:width$}  {}", each.name, each.about)).collect();
    lines.join("\n")
}

/// A plan's kinds of transactions with the percentage of each, the statements of a new connection, and all other statements.
#[must_use]
pub fn plan(plan: &Plan) -> String {
    let total: f64 = plan.transactions.iter().map(|each| each.weight).sum();
    let mut lines = vec![format!(
        "{}: kinds of transactions: {}, statements: {}",
        plan.name,
        plan.transactions.len(),
        plan.statements.len()
    )];
    for each in &plan.transactions {
        lines.push(format!("  {:5.1} %  {}", 100.0 * each.weight / total, each.name));
    }
    lines.extend(plan.session.iter().map(|sql| format!("  first    {sql}")));
    lines.extend(plan.statements.iter().map(statement));
    lines.join("\n")
}

fn statement(statement: &Statement) -> String {
    let kind = match statement.kind {
        Kind::Read => "reads",
        Kind::Write => "writes",
        Kind::Other => "other",
    };
    let sql: Vec<&str> = statement.sql.split_whitespace().collect();
    format!("  {kind:7}  {}", sql.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Retry, Transaction};

    #[test]
    fn a_plan_is_shown_with_shares_and_statements_a_line_each() {
        let transaction = |name: &str, weight| Transaction {
            name: name.into(),
            weight,
            ops: vec![],
            retry: Retry::default(),
            expected: vec![],
        };
        let read = Statement { sql: "SELECT 1\n  FROM dual".into(), parameters: 0, kind: Kind::Read, text: false };
        let shown = plan(&Plan {
            name: "bank".into(),
            statements: vec![read],
            transactions: vec![transaction("pay", 3.0), transaction("look", 1.0)],
            slots: 3,
            session: vec!["SET autocommit = 1".into()],
        });
        let expected = [
            "bank: kinds of transactions: 2, statements: 1",
            "   75.0 %  pay",
            "   25.0 %  look",
            "  first    SET autocommit = 1",
            "  reads    SELECT 1 FROM dual",
        ];
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn workloads_are_listed_in_columns() {
        let about = |name: &str, about: &str| About { name: name.into(), about: about.into() };
        assert_eq!(workloads(&[about("noop", "nothing"), about("bank", "money")]), "noop  nothing\nbank  money");
    }
}
