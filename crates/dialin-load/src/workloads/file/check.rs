//! Whether what must hold of the data holds.

use super::model::Check;
use crate::account::Account;
use crate::errors::Result;
use crate::net::client::Client;
use crate::net::connect::Connector;
use crate::workloads::loading::refused;

/// Violations of a condition that are shown.
const SHOWN: usize = 5;

/// A sentence for each condition that does not hold.
///
/// # Errors
/// The server cannot be reached or refuses.
pub fn broken(checks: &[Check], account: &Account) -> Result<Vec<String>> {
    let mut client = Client::connect(&Connector::new(account))?;
    let mut found = vec![];
    for check in checks {
        let rows = client.rows(check.sql.as_bytes()).map_err(|error| refused(&error))?;
        found.extend(sentence(&check.name, &rows));
    }
    Ok(found)
}

fn sentence(name: &str, rows: &[Vec<Option<String>>]) -> Option<String> {
    let row = |row: &Vec<Option<String>>| {
        let values: Vec<&str> = row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
        format!("({})", values.join(", "))
    };
    let shown: Vec<String> = rows.iter().take(SHOWN).map(row).collect();
    match rows.len() {
        0 => None,
        all if all > SHOWN => Some(format!("It does not hold that {name}: {} and {} more", shown.join(", "), all - SHOWN)),
        _ => Some(format!("It does not hold that {name}: {}", shown.join(", "))),
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
        assert_eq!(sentence("all is well", &[]), None);
    }

    #[test]
    fn violations_are_shown_up_to_a_few() {
        assert_eq!(
            sentence("all is well", &[row(1), row(2)]).unwrap(),
            "It does not hold that all is well: (1, NULL), (2, NULL)"
        );
        let many: Vec<_> = (0..9).map(row).collect();
        assert!(sentence("all is well", &many).unwrap().ends_with("(4, NULL) and 4 more"));
    }
}
