//! Sizes: the named whole numbers of a workload file, and calculations with them.

use super::read::{Piece, Place, meant};
use crate::errors::Result;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Named whole numbers.
pub type Sizes = BTreeMap<String, i64>;

const LARGEST: i64 = 1_000_000_000_000_000;

/// The sizes of a file. `given` overrides its defaults; sizes that are calculated from these change with them.
///
/// # Errors
/// A name or a number is invalid, or `given` has a size that the file does not have.
pub fn read(table: &[(String, Piece)], given: &[(String, String)], place: &Place) -> Result<Sizes> {
    let given: Vec<(String, &str)> = given.iter().map(|(name, value)| (name.replace('-', "_"), value.as_str())).collect();
    let known: Vec<&str> = table.iter().map(|(name, _)| name.as_str()).collect();
    if let Some((unknown, _)) = given.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        return Err(place.wrong(format!("it has no size {unknown:?}"), meant(unknown, &known)));
    }
    let mut sizes = Sizes::new();
    for (name, default) in table {
        let place = default.place.at(format_args!("size {name}"));
        check_name(name, &place)?;
        let size = match given.iter().rev().find(|(each, _)| each == name) {
            Some((_, text)) => text
                .trim()
                .parse()
                .map_err(|_| place.wrong(format!("{text:?} is not a whole number"), "Give a whole number, such as 1000"))?,
            None => default.read::<Whole>()?.number(&sizes, &place)?,
        };
        if !(0..=LARGEST).contains(&size) {
            return Err(place.wrong(format!("{size} is out of range"), format!("Give a whole number from 0 to {LARGEST}")));
        }
        sizes.insert(name.clone(), size);
    }
    Ok(sizes)
}

/// A whole number, or the text of a calculation for [`evaluate`].
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a whole number, or the name of a size")]
pub enum Whole {
    Number(i64),
    Calculated(String),
}

impl Whole {
    /// The number.
    ///
    /// # Errors
    /// Those of [`evaluate`].
    pub fn number(&self, sizes: &Sizes, place: &Place) -> Result<i64> {
        match self {
            Whole::Number(number) => Ok(*number),
            Whole::Calculated(text) => evaluate(text, sizes, place),
        }
    }
}

/// Evaluates a calculation with sizes, numbers and + - * /. Products and quotients come before sums; quotients are truncated.
///
/// # Errors
/// The text is not such a calculation, names an unknown size, divides by 0, or its result is too large.
pub fn evaluate(text: &str, sizes: &Sizes, place: &Place) -> Result<i64> {
    let malformed = || {
        place.wrong(
            format!("{text:?} is not a calculation with sizes"),
            "Write it like \"customers * 7 / 10\"; variables of the run (:name) do not go here",
        )
    };
    let beyond = || place.wrong(format!("{text:?} divides by 0, or is too large"), "Change the sizes");
    let mut tokens = tokens(text).ok_or_else(malformed)?.into_iter();
    let operand = |token: Option<Token>| match token {
        Some(Token::Number(number)) => Ok(number),
        Some(Token::Name(name)) => sizes.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = sizes.keys().map(String::as_str).collect();
            place.wrong(format!("there is no size {name:?}"), meant(name, &known))
        }),
        _ => Err(malformed()),
    };
    let mut total: i64 = 0;
    let mut sign = 1;
    let mut product = operand(tokens.next())?;
    while let Some(token) = tokens.next() {
        let right = operand(tokens.next())?;
        match token {
            Token::Sign('*') => product = product.checked_mul(right).ok_or_else(beyond)?,
            Token::Sign('/') => product = product.checked_div(right).ok_or_else(beyond)?,
            Token::Sign(plus_or_minus) => {
                total = total.checked_add(sign * product).ok_or_else(beyond)?;
                sign = if plus_or_minus == '+' { 1 } else { -1 };
                product = right;
            }
            _ => return Err(malformed()),
        }
    }
    total.checked_add(sign * product).ok_or_else(beyond)
}

/// Checks that a text is a name: letters, digits and `_`, not beginning with a digit.
///
/// # Errors
/// It is not.
pub fn check_name(name: &str, place: &Place) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    Err(place.wrong(format!("{name:?} is not a name"), "Use letters, digits and _, and begin with a letter"))
}

/// Whether a text is a name, as in [`check_name`].
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
}

enum Token<'t> {
    Number(i64),
    Name(&'t str),
    Sign(char),
}

fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = vec![];
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if "+-*/".contains(first) {
            1
        } else {
            rest.find(|each: char| !(each.is_ascii_alphanumeric() || each == '_')).unwrap_or(rest.len())
        };
        let (token, behind) = rest.split_at(end);
        tokens.push(match first {
            '+' | '-' | '*' | '/' => Token::Sign(first),
            '0'..='9' => Token::Number(token.parse().ok()?),
            _ if is_name(token) => Token::Name(token),
            _ => return None,
        });
        rest = behind.trim_start();
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Piece::parse("a.toml", "").unwrap().place
    }

    fn calculated(text: &str) -> Result<i64> {
        evaluate(text, &[("customers".to_owned(), 3000), ("none".to_owned(), 0)].into(), &place())
    }

    #[test]
    fn products_come_before_sums() {
        let asked = ["7", "customers", "customers * 7 / 10", "1 + customers*2 - 10", "10 / 3"];
        assert_eq!(asked.map(|text| calculated(text).unwrap()), [7, 3000, 2100, 5991, 3]);
    }

    #[test]
    fn an_invalid_calculation_is_an_error_and_not_a_panic() {
        for text in [
            "",
            "+",
            "1 +",
            "1 2",
            "* 2",
            ":w",
            "é",
            "9999999999999999999",
            "customers / none",
            "9000000000000000000 * 2",
            "9000000000000000000 + 9000000000000000000",
        ] {
            assert!(calculated(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_error_for_an_unknown_size_suggests_the_nearest_one() {
        let error = calculated("custmers - 1").unwrap_err();
        assert_eq!(
            (error.what.as_str(), error.remedy.as_str()),
            ("a.toml: there is no size \"custmers\"", "Did you mean \"customers\"?")
        );
    }

    fn sizes(given: &[(&str, &str)]) -> Result<Sizes> {
        let table = Piece::parse("a.toml", "customers = 3000\ndelivered = 'customers * 7 / 10'").unwrap();
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        read(&table.entries().unwrap(), &given, &place())
    }

    #[test]
    fn given_sizes_replace_defaults_and_calculated_ones_follow() {
        assert_eq!(sizes(&[]).unwrap()["delivered"], 2100);
        assert_eq!(sizes(&[("customers", "100")]).unwrap()["delivered"], 70);
        assert_eq!(sizes(&[("customers", "100"), ("customers", "200")]).unwrap()["customers"], 200);
    }

    #[test]
    fn unknown_sizes_and_values_other_than_whole_numbers_are_refused() {
        for (name, value) in [
            ("customers", "1; DROP TABLE a"),
            ("customers", "-1"),
            ("customers", "1.5"),
            ("customer", "1"),
            ("customers", "customers"),
        ] {
            assert!(sizes(&[(name, value)]).is_err(), "{name}={value}");
        }
        assert_eq!(sizes(&[("customer", "1")]).unwrap_err().remedy, "Did you mean \"customers\"?");
    }
}
