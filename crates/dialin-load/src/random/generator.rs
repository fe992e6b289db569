//! Generators of random values for the parameters of statements.

use super::{Integers, Rng, mixed, text, unit, up_to};
use crate::plan::{Register, SEQUENCE, Value};
use std::sync::Arc;

/// Draws values. Drawn text needs no escaping within quotes, unless it comes from a template, a choice or words of the
/// workload.
#[derive(Clone, Debug, PartialEq)]
pub enum Generator {
    /// A whole number.
    Integer(Integers),
    /// A whole number from one of several distributions; the number in a slot, modulo their count, is the index of the
    /// distribution.
    Nth {
        /// The slot with the number.
        slot: Register,
        /// The distributions; at least one.
        of: Arc<[Integers]>,
    },
    /// A whole number that no other transaction draws.
    Unique(Unique),
    /// Text with a digit for each `#` and a lower-case letter for each `@`.
    Template(Vec<u8>),
    /// Lower-case letters.
    Text {
        /// The least number of letters.
        least: usize,
        /// The greatest number of letters.
        most: usize,
    },
    /// A DECIMAL number, as text; all are equally frequent.
    Decimal {
        /// The lowest number, times 10 to the power of `digits`.
        low: i64,
        /// The highest number, times 10 to the power of `digits`.
        high: i64,
        /// The number of digits after the decimal point.
        digits: u32,
    },
    /// One of several values.
    Choice {
        /// The values; at least one.
        values: Vec<Value>,
        /// The relative frequency of each value; one per value, not all 0.
        weights: Vec<f64>,
    },
    /// A word for each decimal digit of the number in a slot, which is padded to at least three digits: TPC-C's last names.
    Words {
        /// The slot with the number; its sign is ignored.
        slot: Register,
        /// The words for the digits from 0. A digit without a word is left out.
        list: Vec<String>,
    },
}

impl Generator {
    /// Draws a value into `into`, whose buffer is reused.
    pub fn draw(&self, rng: &mut Rng, slots: &[Value], into: &mut Value) {
        match self {
            Generator::Choice { values, weights } => match (chosen(values, weights, rng), into) {
                (Value::Bytes(from), Value::Bytes(to)) => to.clone_from(from),
                (from, to) => *to = from.clone(),
            },
            _ if self.is_integer() => *into = Value::Int(self.draw_integer(rng, slots)),
            _ => {
                let mut bytes = match std::mem::take(into) {
                    Value::Bytes(bytes) => bytes,
                    _ => Vec::new(),
                };
                bytes.clear();
                self.write_text(rng, slots, &mut bytes);
                *into = Value::Bytes(bytes);
            }
        }
    }

    /// Draws a value and appends its text, without quotes. NULL has no text: use [`Self::draw`] if a choice contains it.
    pub fn write_text(&self, rng: &mut Rng, slots: &[Value], out: &mut Vec<u8>) {
        match self {
            Generator::Integer(_) | Generator::Nth { .. } | Generator::Unique(_) => {
                text::whole_number(self.draw_integer(rng, slots), out);
            }
            Generator::Template(template) => text::template(template, rng, out),
            Generator::Text { least, most } => {
                let more = up_to(most.saturating_sub(*least) as u64, rng) as usize;
                text::letters(least + more, rng, out);
            }
            Generator::Decimal { low, high, digits } => text::decimal(between(*low, *high, rng), *digits, out),
            Generator::Choice { values, weights } => write_value(chosen(values, weights, rng), out),
            Generator::Words { slot, list } => words(number(slots, *slot), list, out),
        }
    }

    /// Whether each value is a whole number.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        match self {
            Generator::Integer(_) | Generator::Nth { .. } | Generator::Unique(_) => true,
            Generator::Choice { values, .. } => values.iter().all(|value| matches!(value, Value::Int(_))),
            _ => false,
        }
    }

    /// Draws a whole number; 0 if the generator does not draw whole numbers.
    pub fn draw_integer(&self, rng: &mut Rng, slots: &[Value]) -> i64 {
        match self {
            Generator::Integer(integers) => integers.draw(rng),
            Generator::Nth { slot, of } => {
                let count = of.len().max(1) as i64;
                let nth = number(slots, *slot).rem_euclid(count) as usize;
                of.get(nth).map_or(0, |integers| integers.draw(rng))
            }
            Generator::Unique(unique) => unique.of(number(slots, SEQUENCE)),
            Generator::Choice { values, weights } => chosen(values, weights, rng).integer(),
            _ => 0,
        }
    }
}

/// A pseudo-random order of all INTEGER values, each once: sysbench's `rand.unique`, minus 2 to the power of 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unique {
    first: u32,
    offset: u32,
}

impl Unique {
    /// The order for a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let word = mixed(seed);
        Self { first: word as u32, offset: (word >> 32) as u32 }
    }

    /// The number at a place in the order, which repeats after 2 to the power of 32 places.
    #[must_use]
    pub fn of(self, place: i64) -> i64 {
        let index = self.first.wrapping_add(place as u32);
        let number = permuted(permuted(index).wrapping_add(self.offset) ^ 0x5bf0_3635);
        i64::from(number) - (1 << 31)
    }
}

/// A bijection: modulo a prime of the form 4n + 3, the squares of the numbers up to half of it all differ, and the negatives of
/// these squares are the remaining numbers.
fn permuted(number: u32) -> u32 {
    const PRIME: u32 = 4_294_967_291;
    if number >= PRIME {
        return number;
    }
    let square = (u64::from(number) * u64::from(number) % u64::from(PRIME)) as u32;
    if number <= PRIME / 2 { square } else { PRIME - square }
}

fn between(low: i64, high: i64, rng: &mut Rng) -> i64 {
    let width = high.max(low).wrapping_sub(low) as u64;
    low.wrapping_add(up_to(width, rng) as i64)
}

fn chosen<'a>(values: &'a [Value], weights: &[f64], rng: &mut Rng) -> &'a Value {
    const NONE: &Value = &Value::Null;
    let mut left = unit(rng) * weights.iter().sum::<f64>();
    for (value, weight) in values.iter().zip(weights) {
        if left < *weight {
            return value;
        }
        left -= weight;
    }
    values.last().unwrap_or(NONE)
}

fn number(slots: &[Value], slot: Register) -> i64 {
    slots.get(slot).map_or(0, Value::integer)
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Int(number) => text::whole_number(*number, out),
        Value::Double(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
    }
}

fn words(number: i64, list: &[String], out: &mut Vec<u8>) {
    let mut digits = Vec::with_capacity(20);
    text::digits_of(number.unsigned_abs(), 3, &mut digits);
    for digit in digits {
        if let Some(word) = list.get(usize::from(digit - b'0')) {
            out.extend_from_slice(word.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{CONNECTION, FIRST_FREE};
    use crate::random::{Distribution, of_transaction};
    use std::collections::HashSet;

    fn integers(low: i64, high: i64) -> Integers {
        Integers::new(low, high, Distribution::Uniform).unwrap()
    }

    fn drawn(generator: &Generator, slots: &[Value], sequence: u64) -> Value {
        let mut into = Value::Null;
        generator.draw(&mut of_transaction(1, sequence), slots, &mut into);
        into
    }

    fn text(generator: &Generator, slots: &[Value], sequence: u64) -> String {
        let mut out = Vec::new();
        generator.write_text(&mut of_transaction(1, sequence), slots, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn choice(values: Vec<Value>, weights: Vec<f64>) -> Generator {
        Generator::Choice { values, weights }
    }

    #[test]
    fn drawing_and_writing_give_the_same_value() {
        let all = [
            Generator::Integer(integers(-50, 50)),
            Generator::Nth { slot: CONNECTION, of: vec![integers(1, 9)].into() },
            Generator::Unique(Unique::new(4)),
            Generator::Template(b"##@@".to_vec()),
            Generator::Text { least: 3, most: 9 },
            Generator::Decimal { low: -500, high: 500, digits: 2 },
            choice(vec![Value::Int(3), Value::Bytes(b"x".to_vec())], vec![1.0, 1.0]),
        ];
        let slots = vec![Value::Int(3); FIRST_FREE];
        for generator in &all {
            for sequence in 0..50 {
                let mut written = Vec::new();
                write_value(&drawn(generator, &slots, sequence), &mut written);
                assert_eq!(text(generator, &slots, sequence), String::from_utf8(written).unwrap());
                if generator.is_integer() {
                    let number = generator.draw_integer(&mut of_transaction(1, sequence), &slots);
                    assert_eq!(drawn(generator, &slots, sequence), Value::Int(number));
                }
            }
        }
    }

    #[test]
    fn text_has_a_length_within_its_bounds() {
        let lengths: HashSet<usize> =
            (0..200).map(|sequence| text(&Generator::Text { least: 2, most: 4 }, &[], sequence).len()).collect();
        assert_eq!(lengths, HashSet::from([2, 3, 4]));
        assert_eq!(text(&Generator::Text { least: 5, most: 5 }, &[], 1).len(), 5);
    }

    #[test]
    fn a_drawn_text_reuses_the_buffer() {
        let generator = Generator::Template(b"###".to_vec());
        let mut into = Value::Bytes(Vec::with_capacity(1000));
        generator.draw(&mut of_transaction(1, 1), &[], &mut into);
        assert!(matches!(into, Value::Bytes(bytes) if bytes.len() == 3 && bytes.capacity() >= 1000));
    }

    #[test]
    fn choices_follow_their_weights() {
        let generator = choice(vec![Value::Int(1), Value::Int(2), Value::Int(3)], vec![1.0, 0.0, 3.0]);
        let mut rng = of_transaction(1, 1);
        let mut counts = [0_u32; 4];
        for _ in 0..10_000 {
            counts[generator.draw_integer(&mut rng, &[]) as usize] += 1;
        }
        assert_eq!(counts[2], 0);
        assert!((2_300..2_700).contains(&counts[1]), "{counts:?}");
    }

    #[test]
    fn a_choice_with_text_or_null_is_no_integer() {
        assert!(choice(vec![Value::Int(1)], vec![1.0]).is_integer());
        assert!(!choice(vec![Value::Int(1), Value::Null], vec![1.0, 1.0]).is_integer());
        assert_eq!(drawn(&choice(vec![Value::Null], vec![1.0]), &[], 1), Value::Null);
    }

    #[test]
    fn the_nth_distribution_is_that_of_the_slot() {
        let generator = Generator::Nth { slot: CONNECTION, of: vec![integers(0, 9), integers(10, 19)].into() };
        for connection in 0..6 {
            let first = connection % 2 * 10;
            let drawn = generator.draw_integer(&mut of_transaction(1, 1), &[Value::Int(connection)]);
            assert!((first..first + 10).contains(&drawn), "{drawn} for {connection}");
        }
    }

    #[test]
    fn words_spell_the_digits_of_tpc_c_last_names() {
        let list = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
        let generator = Generator::Words { slot: 0, list: list.map(String::from).to_vec() };
        assert_eq!(text(&generator, &[Value::Int(371)], 1), "PRICALLYOUGHT");
        assert_eq!(text(&generator, &[Value::Int(40)], 1), "BARPRESBAR");
    }

    #[test]
    fn unique_numbers_are_unique_and_fill_the_integers() {
        let unique = Unique::new(3);
        let numbers: HashSet<i64> = (0..100_000).map(|place| unique.of(place)).collect();
        assert_eq!(numbers.len(), 100_000);
        assert!(numbers.iter().all(|&number| i32::try_from(number).is_ok()));
        let below = numbers.iter().filter(|&&number| number < 0).count();
        assert!((49_000..51_000).contains(&below), "{below}");
        assert_ne!(Unique::new(3).of(0), Unique::new(4).of(0));
    }

    #[test]
    fn permuting_is_one_to_one_around_its_seams() {
        let near = |middle: u32| (middle - 1_000..=middle + 1_000).chain(0..2_000);
        for middle in [2_147_483_645, u32::MAX - 1_000] {
            let inputs: HashSet<u32> = near(middle).collect();
            let outputs: HashSet<u32> = inputs.iter().map(|&number| permuted(number)).collect();
            assert_eq!(inputs.len(), outputs.len());
        }
    }

    #[test]
    fn decimals_cover_their_range_and_a_reversed_one_gives_its_lower_end() {
        let generator = Generator::Decimal { low: 100, high: 102, digits: 1 };
        let texts: HashSet<String> = (0..100).map(|sequence| text(&generator, &[], sequence)).collect();
        assert_eq!(texts, ["10.0", "10.1", "10.2"].map(String::from).into());
        assert_eq!(text(&Generator::Decimal { low: 3, high: 1, digits: 0 }, &[], 1), "3");
    }
}
