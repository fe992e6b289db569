//! Random text, of which each drawn number yields many characters, and the text of numbers.

use super::{Rng, up_to};

const PAIRS: [[u8; 2]; 100] = pairs();

const fn pairs() -> [[u8; 2]; 100] {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
}

/// Random digits; sixteen from each drawn number.
struct Digits {
    text: [u8; 16],
    taken: usize,
}

impl Digits {
    const NONE: Self = Self { text: [0; 16], taken: 16 };

    fn next(&mut self, rng: &mut Rng) -> u8 {
        if self.taken == self.text.len() {
            self.text = sixteen_digits(up_to(9_999_999_999_999_999, rng));
            self.taken = 0;
        }
        let digit = self.text[self.taken];
        self.taken += 1;
        digit
    }
}

fn sixteen_digits(number: u64) -> [u8; 16] {
    let mut text = [0; 16];
    let (high, low) = ((number / 100_000_000) as u32, (number % 100_000_000) as u32);
    for (half, number) in text.chunks_exact_mut(8).zip([high, low]) {
        let (first, last) = (number / 10_000, number % 10_000);
        for (pair, number) in half.chunks_exact_mut(2).zip([first / 100, first % 100, last / 100, last % 100]) {
            pair.copy_from_slice(&PAIRS[number as usize]);
        }
    }
    text
}

/// Random letters; twelve from each drawn number.
struct Letters {
    left: u64,
    taken: u32,
}

impl Letters {
    const NONE: Self = Self { left: 0, taken: 12 };

    fn next(&mut self, rng: &mut Rng) -> u8 {
        if self.taken == 12 {
            *self = Self { left: up_to(26_u64.pow(12) - 1, rng), taken: 0 };
        }
        let letter = b'a' + (self.left % 26) as u8;
        self.left /= 26;
        self.taken += 1;
        letter
    }
}

/// Appends `template`, with a random digit for each `#` and a random lower-case letter for each `@`.
pub(crate) fn template(template: &[u8], rng: &mut Rng, out: &mut Vec<u8>) {
    let (mut digits, mut letters) = (Digits::NONE, Letters::NONE);
    out.extend(template.iter().map(|&byte| match byte {
        b'#' => digits.next(rng),
        b'@' => letters.next(rng),
        other => other,
    }));
}

/// Appends `count` random lower-case letters.
pub(super) fn letters(count: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    let mut letters = Letters::NONE;
    out.extend((0..count).map(|_| letters.next(rng)));
}

/// Appends the number in decimal.
pub(crate) fn whole_number(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    digits_of(number.unsigned_abs(), 1, out);
}

/// Appends `number` × 10 to the power of -`digits`.
pub(super) fn decimal(number: i64, digits: u32, out: &mut Vec<u8>) {
    let digits = digits as usize;
    if number < 0 {
        out.push(b'-');
    }
    digits_of(number.unsigned_abs(), digits + 1, out);
    if digits > 0 {
        out.insert(out.len() - digits, b'.');
    }
}

/// Appends the decimal digits of the number, with leading zeros if there are fewer than `least`.
pub(crate) fn digits_of(mut number: u64, least: usize, out: &mut Vec<u8>) {
    let mut text = [b'0'; 20];
    let mut start = text.len();
    while number >= 100 {
        start -= 2;
        text[start..start + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number >= 10 {
        start -= 2;
        text[start..start + 2].copy_from_slice(&PAIRS[number as usize]);
    } else {
        start -= 1;
        text[start] = b'0' + number as u8;
    }
    let written = text.len() - start;
    if least > written {
        out.resize(out.len() + least - written, b'0');
    }
    out.extend_from_slice(&text[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::of_transaction;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_template_keeps_all_but_its_places() {
        let mut rng = of_transaction(1, 1);
        let text = text(|out| template("##-@@ é".as_bytes(), &mut rng, out));
        let bytes = text.as_bytes();
        assert!(bytes[..2].iter().all(u8::is_ascii_digit), "{text}");
        assert!(bytes[3..5].iter().all(u8::is_ascii_lowercase), "{text}");
        assert_eq!((bytes[2], &text[5..]), (b'-', " é"));
    }

    #[test]
    fn all_digits_are_equally_frequent_at_each_place() {
        const DRAWS: usize = 20_000;
        let mut counts = [[0_u32; 10]; 40];
        let mut rng = of_transaction(2, 1);
        let mut out = Vec::new();
        for _ in 0..DRAWS {
            out.clear();
            template(&[b'#'; 40], &mut rng, &mut out);
            for (place, digit) in out.iter().enumerate() {
                counts[place][usize::from(digit - b'0')] += 1;
            }
        }
        let expected = DRAWS as f64 / 10.0;
        for (place, counts) in counts.iter().enumerate() {
            let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
            assert!(chi_square < 33.7, "place {place}: {chi_square} with 9 degrees of freedom");
        }
    }

    #[test]
    fn neighbouring_digits_are_independent() {
        const DRAWS: usize = 50_000;
        let mut counts = [0_u32; 100];
        let mut rng = of_transaction(3, 1);
        let mut out = Vec::new();
        template(&[b'#'; 2 * DRAWS], &mut rng, &mut out);
        for pair in out.chunks_exact(2) {
            counts[usize::from(pair[0] - b'0') * 10 + usize::from(pair[1] - b'0')] += 1;
        }
        let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - 500.0).powi(2) / 500.0).sum();
        assert!(chi_square < 149.0, "{chi_square} with 99 degrees of freedom");
    }

    #[test]
    fn all_letters_are_equally_frequent() {
        const DRAWS: usize = 52_000;
        let mut rng = of_transaction(4, 1);
        let mut out = Vec::new();
        letters(DRAWS, &mut rng, &mut out);
        let mut counts = [0_u32; 26];
        for letter in &out {
            counts[usize::from(letter - b'a')] += 1;
        }
        let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - 2000.0).powi(2) / 2000.0).sum();
        assert!(chi_square < 52.7, "{chi_square} with 25 degrees of freedom");
    }

    #[test]
    fn whole_numbers_are_written_as_the_standard_library_does() {
        for number in [0, 7, 10, 99, 100, 101, 1_234, 99_999, -1, -10, -100, i64::MAX, i64::MIN] {
            assert_eq!(text(|out| whole_number(number, out)), number.to_string());
        }
    }

    #[test]
    fn decimals_have_all_their_digits() {
        for (number, digits, expected) in [
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-5, 2, "-0.05"),
            (12_345, 2, "123.45"),
            (12, 0, "12"),
            (1, 25, "0.0000000000000000000000001"),
        ] {
            assert_eq!(text(|out| decimal(number, digits, out)), expected);
        }
    }
}
