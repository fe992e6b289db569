//! Random whole numbers that follow a distribution.

use super::zipfian::Zipfian;
use super::{Rng, unit, up_to};
use crate::errors::{Error, Result};

/// How numbers are spread over a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All numbers equally often.
    Uniform,
    /// The mean of several uniform numbers: a bell curve over the whole range.
    Gaussian {
        /// The number of uniform numbers; 12 in sysbench.
        iterations: u32,
    },
    /// Most draws give one of a few numbers in the middle of the range, the special ones; the others are gaussian.
    Special {
        /// The number of uniform numbers of the gaussian part; 12 in sysbench.
        iterations: u32,
        /// The special numbers in per cent of the range; 1 in sysbench.
        percent: u32,
        /// The draws that give a special number, in per cent; 75 in sysbench.
        resolution: u32,
    },
    /// A share of 1 - h of the draws falls into the first part h of the range, and likewise within that part.
    Pareto {
        /// Between 0 and 1; 0.2 in sysbench.
        h: f64,
    },
    /// The n-th number of the range has a probability proportional to n to the power of -exponent.
    Zipfian {
        /// At least 0; 0.8 in sysbench.
        exponent: f64,
    },
    /// TPC-C's NURand: ((0..=a | low..=high) + c) modulo the range.
    NuRand {
        /// The constant A.
        a: i64,
        /// The constant C.
        c: i64,
    },
}

impl Default for Distribution {
    /// The default of sysbench, with its parameters: special.
    fn default() -> Self {
        Distribution::Special { iterations: 12, percent: 1, resolution: 75 }
    }
}

/// A distribution over a range, with all values computed in advance that do not change from draw to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Integers {
    low: i64,
    /// The highest number minus the lowest.
    width: u64,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Uniform,
    Gaussian { iterations: u32 },
    Special { iterations: u32, share: f64, stretch: f64 },
    Pareto { power: f64 },
    Zipfian(Zipfian),
    NuRand { a: u64, c: u64 },
}

impl Integers {
    /// Numbers from `low` to `high`, both included.
    ///
    /// # Errors
    /// The range is empty, or a parameter of the distribution is out of its range.
    pub fn new(low: i64, high: i64, distribution: Distribution) -> Result<Self> {
        if low > high {
            return Err(Error::user(format!("there is no number from {low} to {high}"), "Give the lower end first"));
        }
        let width = high.wrapping_sub(low) as u64;
        Ok(Self { low, width, shape: Shape::new(low, width, distribution)? })
    }

    /// Draws a number of the range.
    #[must_use]
    pub fn draw(&self, rng: &mut Rng) -> i64 {
        let offset = self.shape.offset(self.low, self.width, rng).min(self.width);
        self.low.wrapping_add(offset as i64)
    }
}

impl Shape {
    fn new(low: i64, width: u64, distribution: Distribution) -> Result<Self> {
        let is_valid = match distribution {
            Distribution::Uniform => true,
            Distribution::Gaussian { iterations } => iterations > 0,
            Distribution::Special { iterations, percent, resolution } => iterations > 0 && percent <= 100 && resolution <= 100,
            Distribution::Pareto { h } => h > 0.0 && h < 1.0,
            Distribution::Zipfian { exponent } => (0.0..=1000.0).contains(&exponent),
            Distribution::NuRand { a, c } => a >= 0 && c >= 0 && low >= 0,
        };
        if !is_valid {
            return Err(Error::user(format!("{distribution:?} has a parameter that is out of range"), limits(distribution)));
        }
        Ok(match distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian { iterations } => Shape::Gaussian { iterations },
            Distribution::Special { iterations, percent, resolution } => {
                Shape::Special { iterations, share: f64::from(percent) / 100.0, stretch: 100.0 / f64::from(100 - resolution) }
            }
            Distribution::Pareto { h } => Shape::Pareto { power: h.ln() / (-h).ln_1p() },
            Distribution::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(width as f64 + 1.0, exponent)),
            Distribution::NuRand { a, c } => Shape::NuRand { a: a as u64, c: c as u64 },
        })
    }

    /// Draws the distance from the lowest number; rounding may make it greater than `width`.
    fn offset(&self, low: i64, width: u64, rng: &mut Rng) -> u64 {
        match *self {
            Shape::Uniform => up_to(width, rng),
            Shape::Gaussian { iterations } => (mean_of(iterations, rng) * (width as f64 + 1.0)) as u64,
            Shape::Special { iterations, share, stretch } => special(width as f64, iterations, share, stretch, rng),
            Shape::Pareto { power } => ((width as f64 + 1.0) * unit(rng).powf(power)) as u64,
            Shape::Zipfian(ref zipfian) => zipfian.draw(rng) as u64 - 1,
            Shape::NuRand { a, c } => {
                let either = up_to(a, rng) | (low as u64 + up_to(width, rng));
                ((u128::from(either) + u128::from(c)) % (u128::from(width) + 1)) as u64
            }
        }
    }
}

fn limits(distribution: Distribution) -> &'static str {
    match distribution {
        Distribution::Uniform => "Uniform needs a range only",
        Distribution::Gaussian { .. } => "Gaussian needs at least 1 iteration",
        Distribution::Special { .. } => "Special needs at least 1 iteration, and percentages from 0 to 100",
        Distribution::Pareto { .. } => "Pareto's h lies between 0 and 1",
        Distribution::Zipfian { .. } => "Zipfian's exponent lies from 0 to 1000",
        Distribution::NuRand { .. } => "NURand's A and C, and its range, start at 0",
    }
}

fn mean_of(iterations: u32, rng: &mut Rng) -> f64 {
    (0..iterations).map(|_| unit(rng)).sum::<f64>() / f64::from(iterations)
}

/// One uniform number decides whether the draw is special and, if so, which special value it gives. So, as in sysbench, the
/// special values that belong to small uniform numbers are never drawn.
fn special(width: f64, iterations: u32, share: f64, stretch: f64, rng: &mut Rng) -> u64 {
    let chosen = unit(rng);
    if chosen * width * stretch < width {
        return (mean_of(iterations, rng) * width) as u64;
    }
    let values = width * share;
    (chosen * (values + 1.0) + (width - values) / 2.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::of_transaction;

    const DRAWS: usize = 100_000;

    fn drawn(low: i64, high: i64, distribution: Distribution) -> Vec<i64> {
        let integers = Integers::new(low, high, distribution).unwrap();
        let mut rng = of_transaction(5, 1);
        let drawn: Vec<i64> = (0..DRAWS).map(|_| integers.draw(&mut rng)).collect();
        assert!(drawn.iter().all(|number| (low..=high).contains(number)));
        drawn
    }

    fn share(drawn: &[i64], wanted: impl Fn(i64) -> bool) -> f64 {
        drawn.iter().filter(|&&number| wanted(number)).count() as f64 / drawn.len() as f64
    }

    fn mean(drawn: &[i64]) -> f64 {
        drawn.iter().map(|&number| number as f64).sum::<f64>() / drawn.len() as f64
    }

    fn deviation(drawn: &[i64]) -> f64 {
        let mean = mean(drawn);
        (drawn.iter().map(|&number| (number as f64 - mean).powi(2)).sum::<f64>() / drawn.len() as f64).sqrt()
    }

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found} is not within {within} of {expected}");
    }

    #[test]
    fn uniform_draws_all_numbers_equally_often() {
        let drawn = drawn(-3, 6, Distribution::Uniform);
        let expected = DRAWS as f64 / 10.0;
        let chi_square: f64 =
            (-3..=6).map(|number| (share(&drawn, |one| one == number) * DRAWS as f64 - expected).powi(2) / expected).sum();
        assert!(chi_square < 27.9, "{chi_square} with 9 degrees of freedom");
    }

    #[test]
    fn gaussian_is_a_bell_over_the_range() {
        let drawn = drawn(1, 100_000, Distribution::Gaussian { iterations: 12 });
        near(mean(&drawn), 50_000.5, 150.0);
        near(deviation(&drawn), 100_000.0 / 12.0, 100.0);
        near(share(&drawn, |number| (number - 50_000).abs() <= 8_333), 0.679, 0.006);
    }

    #[test]
    fn special_draws_three_quarters_from_the_middle_hundredth() {
        let drawn = drawn(1, 100_000, Distribution::default());
        let first = 1 + (0.25_f64 * 1000.99 + 99_999.0 * 0.495) as i64;
        let last = 1 + (1000.99 + 99_999.0 * 0.495) as i64;
        let gaussian_inside = 0.25 * 0.036;
        near(share(&drawn, |number| (first..=last).contains(&number)), 0.75 + gaussian_inside, 0.006);
        near(share(&drawn, |number| number < first - 3_000), 0.25 * 0.35, 0.01);
    }

    #[test]
    fn special_numbers_of_small_ranges_stay_inside() {
        for width in 0..40 {
            for percent in [0, 1, 50, 100] {
                for resolution in [0, 75, 100] {
                    let special = Distribution::Special { iterations: 2, percent, resolution };
                    let integers = Integers::new(0, width, special).unwrap();
                    let mut rng = of_transaction(1, 1);
                    assert!((0..200).all(|_| (0..=width).contains(&integers.draw(&mut rng))));
                }
            }
        }
    }

    #[test]
    fn pareto_draws_four_fifths_from_the_first_fifth() {
        let drawn = drawn(1, 100_000, Distribution::Pareto { h: 0.2 });
        near(share(&drawn, |number| number <= 20_000), 0.8, 0.005);
        near(share(&drawn, |number| number <= 4_000), 0.64, 0.006);
        near(share(&drawn, |number| number <= 800), 0.512, 0.006);
        let power = 0.2_f64.ln() / 0.8_f64.ln();
        near(mean(&drawn), 100_000.0 / (power + 1.0), 250.0);
    }

    #[test]
    fn zipfian_prefers_the_lowest_numbers() {
        let drawn = drawn(101, 1_100, Distribution::Zipfian { exponent: 0.8 });
        let weight = |count: u32| (1..=count).map(|rank| f64::from(rank).powf(-0.8)).sum::<f64>();
        near(share(&drawn, |number| number == 101), 1.0 / weight(1_000), 0.002);
        near(share(&drawn, |number| number <= 200), weight(100) / weight(1_000), 0.006);
    }

    #[test]
    fn nurand_follows_tpc_c() {
        let drawn = drawn(0, 3, Distribution::NuRand { a: 3, c: 0 });
        for (number, probability) in [(0, 1.0), (1, 3.0), (2, 3.0), (3, 9.0)] {
            near(share(&drawn, |one| one == number), probability / 16.0, 0.005);
        }
        let integers = Integers::new(1, 3_000, Distribution::NuRand { a: 1023, c: 259 }).unwrap();
        let mut rng = of_transaction(1, 1);
        assert!((0..10_000).all(|_| (1..=3_000).contains(&integers.draw(&mut rng))));
    }

    #[test]
    fn nurand_is_taken_modulo_the_range_before_its_lower_end_is_added() {
        let one = Integers::new(5, 5, Distribution::NuRand { a: 0, c: 3 }).unwrap();
        assert_eq!(one.draw(&mut of_transaction(1, 1)), 5);
        let two = Integers::new(4, 5, Distribution::NuRand { a: 0, c: 1 }).unwrap();
        let mut rng = of_transaction(1, 1);
        assert!((0..100).all(|_| (4..=5).contains(&two.draw(&mut rng))));
    }

    #[test]
    fn every_distribution_covers_the_largest_range_without_overflow() {
        let all = [
            Distribution::Uniform,
            Distribution::Gaussian { iterations: 2 },
            Distribution::default(),
            Distribution::Pareto { h: 0.2 },
            Distribution::Zipfian { exponent: 0.8 },
        ];
        for distribution in all {
            let integers = Integers::new(i64::MIN, i64::MAX, distribution).unwrap();
            let mut rng = of_transaction(9, 9);
            let drawn: Vec<i64> = (0..2_000).map(|_| integers.draw(&mut rng)).collect();
            assert!(drawn.iter().any(|&number| number < 0), "{distribution:?}");
            assert!(drawn.iter().any(|&number| number > 0), "{distribution:?}");
        }
        let most = Integers::new(0, i64::MAX, Distribution::NuRand { a: i64::MAX, c: i64::MAX }).unwrap();
        let mut rng = of_transaction(9, 9);
        assert!((0..2_000).all(|_| most.draw(&mut rng) >= 0));
    }

    #[test]
    fn a_range_of_one_number_gives_it() {
        for distribution in [Distribution::Uniform, Distribution::default(), Distribution::Pareto { h: 0.2 }] {
            let integers = Integers::new(7, 7, distribution).unwrap();
            assert_eq!(integers.draw(&mut of_transaction(1, 1)), 7);
        }
    }

    #[test]
    fn wrong_parameters_are_refused_with_their_limits() {
        assert!(Integers::new(2, 1, Distribution::Uniform).is_err());
        let wrong = [
            Distribution::Gaussian { iterations: 0 },
            Distribution::Special { iterations: 12, percent: 101, resolution: 75 },
            Distribution::Pareto { h: 1.0 },
            Distribution::Pareto { h: f64::NAN },
            Distribution::Zipfian { exponent: -0.1 },
            Distribution::Zipfian { exponent: f64::INFINITY },
            Distribution::NuRand { a: -1, c: 0 },
        ];
        for distribution in wrong {
            assert!(Integers::new(1, 10, distribution).is_err(), "{distribution:?}");
        }
    }
}
