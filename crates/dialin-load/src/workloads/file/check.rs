//! Checks the conditions on the data of a workload.

use super::model::Check;
use crate::account::Account;
use crate::errors::Result;
use crate::net::client::Client;
use crate::net::connect::Connector;
use crate::workloads::loading::refused;

/// The number of violations of a condition that are shown.
const SHOWN: usize = 5;

/// Returns a line for each condition that does not hold.
///
/// # Errors
/// The server cannot be reached or refuses a statement.
pub fn broken(checks: &[Check], account: &Account) -> Result<Vec<String>> {
    let mut client = Client::connect(&Connector::new(account))?;
    let mut violated = vec![];
    for check in checks {
        let rows = client.rows(check.sql.as_bytes()).map_err(|error| refused(&error))?;
        violated.extend(line(&check.name, &rows));
    }
    Ok(violated)
}

fn line(name: &str, rows: &[Vec<Option<String>>]) -> Option<String> {
    let row = |row: &Vec<Option<String>>| {
        let values: Vec<&str> = row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
        format!("({})", values.join(", "))
    };
    let shown: Vec<String> = rows.iter().take(SHOWN).map(row).collect();
    match rows.len() {
        0 => None,
        all if all > SHOWN => Some(format!("Does not hold: {name}: {} and {} more", shown.join(", "), all - SHOWN)),
        _ => Some(format!("Does not hold: {name}: {}", shown.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: usize) -> Vec<Option<String>> {
        vec![Some(number.to_string()), None]
    }

    #[test]
    fn a_condition_holds_when_its_query_has_no_row() {
        assert_eq!(line("all is well", &[]), None);
    }

    #[test]
    fn violations_are_shown_up_to_a_few() {
        assert_eq!(line("all is well", &[row(1), row(2)]).unwrap(), "Does not hold: all is well: (1, NULL), (2, NULL)");
        let many: Vec<_> = (0..9).map(row).collect();
        assert!(line("all is well", &many).unwrap().ends_with("(4, NULL) and 4 more"));
    }
}
