//! Times in logs, as microseconds since 1970 in UTC.

use crate::random::digits_of;

/// Microseconds per second.
pub const SECOND: i64 = 1_000_000;

const DAY: i64 = 86_400 * SECOND;

/// The resolution of the times in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clock {
    /// To the second, as in logs of MySQL 5.6 and MariaDB.
    Second,
    /// To the microsecond.
    Microsecond,
}

/// A time like `2026-11-23T06:01:25.834957Z`, or with an offset such as `+02:00`.
#[must_use]
pub fn iso(text: &[u8]) -> Option<i64> {
    let (begin, rest) = text.split_first_chunk::<19>()?;
    if [begin[4], begin[7], begin[10], begin[13], begin[16]] != *b"--T::" {
        return None;
    }
    let [year, month, day] = [number(&begin[..4])?, number(&begin[5..7])?, number(&begin[8..10])?];
    let time = of_day(number(&begin[11..13])?, number(&begin[14..16])?, number(&begin[17..])?)?;
    let mut at = midnight(year, month, day)? + time;
    let zone = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            at += microseconds(&fraction[..length])?;
            &fraction[length..]
        }
        None => rest,
    };
    match zone {
        b"Z" => Some(at),
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let offset = match numbers(offset, b':')? {
                [hours @ 0..24, minutes @ 0..60] => (hours * 60 + minutes) * 60 * SECOND,
                _ => return None,
            };
            Some(if *sign == b'+' { at - offset } else { at + offset })
        }
        _ => None,
    }
}

/// A time like `261123  5:59:40`, and its resolution: pt-query-digest writes `261123 05:59:40.123456`. It is in the
/// server's time zone, but is treated as UTC.
#[must_use]
pub fn short(text: &[u8]) -> Option<(i64, Clock)> {
    let (date, time) = text.split_at_checked(6)?;
    let date = number(date)?;
    let time = time.strip_prefix(b" ")?.trim_ascii();
    let (time, fraction, clock) = match time.iter().position(|byte| *byte == b'.') {
        Some(point) => (&time[..point], microseconds(&time[point + 1..])?, Clock::Microsecond),
        None => (time, 0, Clock::Second),
    };
    Some((midnight(2_000 + date / 10_000, date / 100 % 100, date % 100)? + time_of_day(time)? + fraction, clock))
}

/// Decimal seconds, such as `0.000560` or `1795413685`, as microseconds.
#[must_use]
pub fn seconds(text: &[u8]) -> Option<i64> {
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b""[..]),
    };
    Some(number(whole)? * SECOND + microseconds(fraction)?)
}

/// Write a time or a duration as seconds with six decimals.
pub fn write(out: &mut Vec<u8>, at: i64) {
    if at < 0 {
        out.push(b'-');
    }
    let at = at.unsigned_abs();
    digits_of(at / SECOND as u64, 1, out);
    out.push(b'.');
    digits_of(at % SECOND as u64, 6, out);
}

/// Parse 1 to 12 digits. As seconds, they can be converted to microseconds without overflow.
pub(super) fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 12 {
        return None;
    }
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
}

fn microseconds(fraction: &[u8]) -> Option<i64> {
    if fraction.is_empty() {
        return Some(0);
    }
    let fraction = &fraction[..fraction.len().min(6)];
    Some(number(fraction)? * 10_i64.pow(6 - fraction.len() as u32))
}

fn numbers<const COUNT: usize>(text: &[u8], between: u8) -> Option<[i64; COUNT]> {
    let mut parts = text.split(|byte| *byte == between);
    let mut values = [0; COUNT];
    for each in &mut values {
        *each = number(parts.next()?)?;
    }
    parts.next().is_none().then_some(values)
}

fn time_of_day(text: &[u8]) -> Option<i64> {
    let [hours, minutes, seconds] = numbers(text, b':')?;
    of_day(hours, minutes, seconds)
}

/// A time of day, in microseconds.
fn of_day(hours: i64, minutes: i64, seconds: i64) -> Option<i64> {
    let is_time = hours < 24 && minutes < 60 && seconds <= 60;
    is_time.then_some(((hours * 60 + minutes) * 60 + seconds) * SECOND)
}

/// The start of a day of the Gregorian calendar, in microseconds since 1970 (`days_from_civil` of Howard Hinnant).
fn midnight(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1_970..=9_999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some((era * 146_097 + day_of_era - 719_468) * DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_builds_are_read() {
        assert_eq!(iso(b"2026-11-23T06:01:25.834957Z"), Some(1_795_413_685_834_957));
        assert_eq!(iso(b"2026-11-23T08:01:25.834957+02:00"), Some(1_795_413_685_834_957));
        assert_eq!(iso(b"2026-11-23T01:31:25-04:30"), Some(1_795_413_685_000_000));
        assert_eq!(short(b"261123  6:01:25"), Some((1_795_413_685_000_000, Clock::Second)));
        assert_eq!(short(b"261123 16:01:25"), Some((1_795_449_685_000_000, Clock::Second)));
        assert_eq!(short(b"261123 06:01:25.834957"), Some((1_795_413_685_834_957, Clock::Microsecond)));
        assert_eq!(iso(b"2024-02-29T00:00:00Z"), Some(1_709_164_800_000_000));
        assert_eq!(seconds(b"0.000560"), Some(560));
        assert_eq!(seconds(b"1795413685"), Some(1_795_413_685_000_000));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "2026-11-23", "2026-13-23T06:01:25Z", "2026-11-23T06:01:25", "2026-11-23T26:01:25Z", "x"] {
            assert_eq!((iso(text.as_bytes()), short(text.as_bytes())), (None, None), "{text}");
        }
        assert_eq!((seconds(b"1e5"), seconds(b""), seconds(&[b'9'; 30])), (None, None, None));
    }

    #[test]
    fn times_with_absurd_numbers_are_none() {
        assert_eq!(short(b"261123 999999999999:1:1"), None);
        assert_eq!(iso(b"2026-11-23T06:01:25+999999999999:00"), None);
        assert_eq!(iso(b"2026-11-23T06:01:25+24:00"), None);
    }

    #[test]
    fn times_are_written_with_six_decimals() {
        for (at, text) in [(1_795_413_685_834_957, "1795413685.834957"), (560, "0.000560"), (-1_500_000, "-1.500000")] {
            let mut out = Vec::new();
            write(&mut out, at);
            assert_eq!(out, text.as_bytes());
        }
    }
}
