//! How the statements of each digest differ from the capture.

use crate::capture::digest::Digester;
use crate::record::DigestDifference;
use crate::replay::Step;
use std::collections::BTreeSet;

/// How many digests are named for each way in which statements can differ.
const NAMED: usize = 3;
/// A digest is named for its time only if its share of all time differs by this much.
const LEAST_MOVED: f64 = 0.01;
/// How many bytes of a digest are shown.
const SHOWN: usize = 240;

/// The statements of all digests, by the number of the digest.
#[derive(Debug, Default)]
pub(super) struct Digests {
    all: Vec<Counted>,
    digester: Digester,
}

/// The statements of a digest.
#[derive(Debug, Default)]
pub(super) struct Counted {
    text: String,
    statements: u64,
    pub(super) new_errors: u64,
    /// The number of the last of these errors.
    pub(super) last_error: Option<u16>,
    pub(super) missing_errors: u64,
    pub(super) other_row_counts: u64,
    /// The total time of its statements in the capture and in the replay, in nanoseconds.
    times: (u64, u64),
}

impl Digests {
    /// Counts a statement that was executed. Returns the counters of its digest; None if there are too many digests.
    pub(super) fn count(&mut self, step: &Step) -> Option<&mut Counted> {
        let number = step.digest.filter(|_| !step.is_added)?;
        if number >= self.all.len() {
            self.all.resize_with(number + 1, Counted::default);
        }
        let counted = &mut self.all[number];
        if counted.statements == 0 {
            let (text, _) = self.digester.digest(&step.sql);
            counted.text = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned();
        }
        counted.statements += 1;
        Some(counted)
    }

    /// Adds the time of a statement that was counted, in the capture and in the replay, in nanoseconds.
    pub(super) fn time(&mut self, digest: usize, captured: u64, now: u64) {
        let times = &mut self.all[digest].times;
        *times = (times.0 + captured, times.1 + now);
    }

    /// The shares of all time that each digest had in the capture and has in the replay; None if either has none.
    #[expect(clippy::cast_precision_loss, reason = "shares")]
    fn shares(&self) -> Option<impl Fn(&Counted) -> (f64, f64)> {
        let (captured, now) = self.all.iter().fold((0, 0), |sums, one| (sums.0 + one.times.0, sums.1 + one.times.1));
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        (captured > 0 && now > 0).then_some(move |one: &Counted| (share(one.times.0, captured), share(one.times.1, now)))
    }

    /// The distance between the distributions of time over digests in the capture and in the replay, from 0 (equal) to 1 (disjoint): half
    /// the sum of the absolute differences of the shares.
    pub(super) fn distance(&self) -> Option<f64> {
        let shares = self.shares()?;
        Some(self.all.iter().map(|one| moved(shares(one))).sum::<f64>() / 2.0)
    }

    /// The digests that differ most from the capture, in order of appearance: up to three for each way in which they can.
    #[expect(clippy::cast_precision_loss, reason = "numbers of statements")]
    pub(super) fn most_different(&self) -> Vec<DigestDifference> {
        let shares = self.shares();
        let times = |one: &Counted| shares.as_ref().map(|shares| shares(one));
        let ways: [&dyn Fn(&Counted) -> f64; 4] =
            [&|one| one.new_errors as f64, &|one| one.missing_errors as f64, &|one| one.other_row_counts as f64, &|one| {
                times(one).map(moved).filter(|moved| *moved >= LEAST_MOVED).unwrap_or_default()
            }];
        let mut named = BTreeSet::new();
        for way in ways {
            let mut by_way: Vec<(f64, usize)> =
                self.all.iter().map(way).zip(0..).filter(|(difference, _)| *difference > 0.0).collect();
            by_way.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            named.extend(by_way.into_iter().take(NAMED).map(|(_, number)| number));
        }
        let difference = |one: &Counted| DigestDifference {
            digest: one.text.clone(),
            statements: one.statements,
            new_errors: one.new_errors,
            last_error: one.last_error,
            missing_errors: one.missing_errors,
            other_row_counts: one.other_row_counts,
            captured_time: times(one).map(|(captured, _)| captured),
            replayed_time: times(one).map(|(_, now)| now),
        };
        named.into_iter().map(|number| difference(&self.all[number])).collect()
    }
}

/// By how much the share of time of a digest differs.
fn moved((captured, now): (f64, f64)) -> f64 {
    (captured - now).abs()
}

#[cfg(test)]
mod tests {
    use super::{Counted, Digests};

    fn digests(times: &[(u64, u64)]) -> Digests {
        let counted = |(place, times): (usize, &(u64, u64))| Counted {
            text: format!("select {place}"),
            statements: 1,
            times: *times,
            ..Counted::default()
        };
        Digests { all: times.iter().enumerate().map(counted).collect(), ..Digests::default() }
    }

    #[test]
    fn the_distance_is_the_share_of_time_that_moved_between_digests() {
        assert_eq!(digests(&[(10, 5), (30, 15)]).distance(), Some(0.0));
        assert_eq!(digests(&[(50, 0), (50, 7)]).distance(), Some(0.5));
        assert_eq!((digests(&[]).distance(), digests(&[(0, 7)]).distance()), (None, None));
    }

    #[test]
    fn the_digests_that_differ_most_are_named_for_each_way_and_no_others() {
        let mut digests = digests(&[(100, 100), (100, 60), (100, 141), (100, 99), (100, 100), (100, 100)]);
        digests.all[4].new_errors = 1;
        digests.all[5].other_row_counts = 7;
        let named = digests.most_different();
        assert_eq!(named.iter().map(|one| &*one.digest).collect::<Vec<_>>(), ["select 1", "select 2", "select 4", "select 5"]);
        assert_eq!(
            named.iter().map(|one| (one.new_errors, one.other_row_counts)).collect::<Vec<_>>(),
            [(0, 0), (0, 0), (1, 0), (0, 7)]
        );
        assert_eq!((named[0].captured_time, named[0].replayed_time), (Some(1.0 / 6.0), Some(0.1)));
    }

    #[test]
    fn of_many_digests_that_fail_those_that_fail_most_are_named() {
        let mut digests = digests(&[(0, 0); 10]);
        for (one, errors) in digests.all.iter_mut().zip(1..) {
            one.new_errors = errors;
        }
        let named = digests.most_different();
        assert_eq!(named.iter().map(|one| one.new_errors).collect::<Vec<_>>(), [8, 9, 10]);
        assert_eq!(named[0].captured_time, None);
    }
}
