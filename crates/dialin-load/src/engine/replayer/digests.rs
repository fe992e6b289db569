//! How long the statements of each digest took, and how they differ from the capture.

use crate::capture::digest::Digester;
use crate::record::DigestLine;
use crate::replay::Step;
use std::collections::BTreeSet;

/// How many digests are named for each way in which statements can differ.
const NAMED: usize = 3;
/// A digest is named for its time only if its share of all time differs by this much.
const LEAST_MOVED: f64 = 0.01;
/// How many digests are named because they took most time.
const LONGEST: usize = 10;
/// How many bytes of a digest are shown.
const SHOWN: usize = 240;

/// By what digests are named, and how many of them at most.
type Way<'a> = (&'a dyn Fn(&Counted) -> f64, usize);

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
    pub(super) other_change_counts: u64,
    /// The time of those whose captured duration is known, and of all others.
    known: Known,
    unknown: Sum,
}

/// A number of statements, and their total time in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    statements: u64,
    time: u64,
}

/// The same statements in the capture and in the replay.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    captured: u64,
    replayed: Sum,
}

impl Sum {
    fn add(&mut self, time: u64) {
        self.statements += 1;
        self.time += time;
    }

    fn mean_ms(self) -> Option<f64> {
        mean_ms(self.time, self.statements)
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds")]
fn mean_ms(time: u64, statements: u64) -> Option<f64> {
    (statements > 0).then(|| (time as f64 / statements as f64 / 1e2).round() / 1e4)
}

impl Counted {
    /// The mean time of a statement in the capture and in the replay, in milliseconds.
    fn means(&self) -> (Option<f64>, Option<f64>) {
        let Known { captured, replayed } = self.known;
        match mean_ms(captured, replayed.statements) {
            Some(mean) => (Some(mean), replayed.mean_ms()),
            None => (None, self.unknown.mean_ms()),
        }
    }

    fn replayed_time(&self) -> u64 {
        self.known.replayed.time + self.unknown.time
    }
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

    /// Adds the time of a statement that was counted, in the capture, if that is known, and in the replay, in nanoseconds.
    pub(super) fn time(&mut self, digest: usize, captured: Option<u64>, replayed: u64) {
        let Some(counted) = self.all.get_mut(digest) else { return };
        match captured {
            Some(captured) => {
                counted.known.captured += captured;
                counted.known.replayed.add(replayed);
            }
            None => counted.unknown.add(replayed),
        }
    }

    /// The shares of all time that each digest had in the capture and has in the replay; None if either has none.
    #[expect(clippy::cast_precision_loss, reason = "shares")]
    fn shares(&self) -> Option<impl Fn(&Counted) -> (f64, f64)> {
        let add = |sums: (u64, u64), one: &Counted| (sums.0 + one.known.captured, sums.1 + one.known.replayed.time);
        let (captured, now) = self.all.iter().fold((0, 0), add);
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        (captured > 0 && now > 0)
            .then_some(move |one: &Counted| (share(one.known.captured, captured), share(one.known.replayed.time, now)))
    }

    /// The distance between the distributions of time over digests in the capture and in the replay, from 0 (equal) to 1 (disjoint): half
    /// the sum of the absolute differences of the shares.
    pub(super) fn distance(&self) -> Option<f64> {
        let shares = self.shares()?;
        Some(self.all.iter().map(|one| moved(shares(one))).sum::<f64>() / 2.0)
    }

    /// The digests that took most time in the replay, and those that differ most from the capture, up to three for each way in which they
    /// can; in order of appearance.
    #[expect(clippy::cast_precision_loss, reason = "numbers of statements")]
    pub(super) fn lines(&self) -> Vec<DigestLine> {
        let shares = self.shares();
        let times = |one: &Counted| shares.as_ref().map(|shares| shares(one));
        let ways: [Way<'_>; 6] = [
            (&|one| one.new_errors as f64, NAMED),
            (&|one| one.missing_errors as f64, NAMED),
            (&|one| one.other_row_counts as f64, NAMED),
            (&|one| one.other_change_counts as f64, NAMED),
            (&|one| times(one).map(moved).filter(|moved| *moved >= LEAST_MOVED).unwrap_or_default(), NAMED),
            (&|one| one.replayed_time() as f64, LONGEST),
        ];
        let mut named = BTreeSet::new();
        for (way, most) in ways {
            let mut by_way: Vec<(f64, usize)> =
                self.all.iter().map(way).zip(0..).filter(|(difference, _)| *difference > 0.0).collect();
            by_way.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            named.extend(by_way.into_iter().take(most).map(|(_, number)| number));
        }
        let line = |one: &Counted| {
            let (captured_ms, replayed_ms) = one.means();
            DigestLine {
                digest: one.text.clone(),
                statements: one.statements,
                new_errors: one.new_errors,
                last_error: one.last_error,
                missing_errors: one.missing_errors,
                other_row_counts: one.other_row_counts,
                other_change_counts: one.other_change_counts,
                captured_ms,
                replayed_ms,
                captured_time: times(one).map(|(captured, _)| captured),
                replayed_time: times(one).map(|(_, now)| now),
            }
        };
        named.into_iter().map(|number| line(&self.all[number])).collect()
    }
}

/// By how much the share of time of a digest differs.
fn moved((captured, now): (f64, f64)) -> f64 {
    (captured - now).abs()
}

#[cfg(test)]
mod tests {
    use super::{Counted, Digests, Known, LONGEST, Sum};

    /// Digests with these times in the capture and in the replay, in nanoseconds.
    fn digests(times: &[(u64, u64)]) -> Digests {
        let counted = |(place, (captured, time)): (usize, &(u64, u64))| Counted {
            text: format!("select {place}"),
            statements: 1,
            known: Known { captured: *captured, replayed: Sum { statements: 1, time: *time } },
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
    fn the_digests_that_differ_most_are_named_for_each_way_and_those_that_took_most_time() {
        let mut digests = digests(&[(100, 100); 6]);
        digests.all.extend(self::digests(&[(1_000, 1_000); LONGEST]).all);
        digests.all[1].known.captured = 2_000;
        digests.all[4].new_errors = 1;
        digests.all[5].other_row_counts = 7;
        digests.all[3].other_change_counts = 2;
        let lines = digests.lines();
        assert_eq!(
            lines[..4].iter().map(|one| &*one.digest).collect::<Vec<_>>(),
            ["select 1", "select 3", "select 4", "select 5"]
        );
        assert_eq!(lines.len(), 4 + LONGEST);
        let counts = |one: &super::DigestLine| (one.new_errors, one.other_row_counts, one.other_change_counts);
        assert_eq!(lines[..4].iter().map(counts).collect::<Vec<_>>(), [(0, 0, 0), (0, 0, 2), (1, 0, 0), (0, 7, 0)]);
    }

    #[test]
    fn of_many_digests_that_fail_those_that_fail_most_are_named() {
        let mut digests = digests(&[(0, 0); 10]);
        for (one, errors) in digests.all.iter_mut().zip(1..) {
            one.new_errors = errors;
        }
        let lines = digests.lines();
        assert_eq!(lines.iter().map(|one| one.new_errors).collect::<Vec<_>>(), [8, 9, 10]);
        assert_eq!(lines[0].captured_time, None);
    }

    #[test]
    fn the_means_of_the_capture_and_the_replay_are_of_the_same_statements() {
        let mut digests = digests(&[(3_000_000, 1_000_000)]);
        digests.time(0, Some(1_000_000), 2_000_000);
        digests.time(0, None, 90_000_000);
        let line = &digests.lines()[0];
        assert_eq!((line.captured_ms, line.replayed_ms), (Some(2.0), Some(1.5)));
        let mut without = self::digests(&[]);
        without.all.push(Counted { statements: 1, ..Counted::default() });
        without.time(0, None, 7_000_000);
        assert_eq!((without.lines()[0].captured_ms, without.lines()[0].replayed_ms), (None, Some(7.0)));
    }
}
