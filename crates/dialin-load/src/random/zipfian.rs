//! The bounded Zipf distribution, by rejection-inversion (W. Hörmann and G. Derflinger, ACM TOMACS 6.3, 1996).

use super::{Rng, unit};

/// Draws ranks from 1 to `ranks`, each with a probability proportional to rank to the power of -exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Zipfian {
    ranks: f64,
    exponent: f64,
    /// A rank that exceeds the continuous value it was rounded from by at most this is accepted without a further test.
    near: f64,
    /// The value of the hat's integral at which the first rank begins.
    bottom: f64,
    /// The value of the hat's integral at which the last rank ends.
    top: f64,
}

impl Zipfian {
    /// `ranks` must be at least 1, and `exponent` at least 0.
    pub(super) fn new(ranks: f64, exponent: f64) -> Self {
        let inverse_of_second = inverse(integral(2.5, exponent) - 2_f64.powf(-exponent), exponent);
        Self {
            ranks,
            exponent,
            near: 2.0 - inverse_of_second,
            bottom: integral(1.5, exponent) - 1.0,
            top: integral(ranks + 0.5, exponent),
        }
    }

    /// Draws a rank.
    pub(super) fn draw(&self, rng: &mut Rng) -> f64 {
        loop {
            let area = self.top + unit(rng) * (self.bottom - self.top);
            let point = inverse(area, self.exponent);
            let rank = (point + 0.5).floor().clamp(1.0, self.ranks);
            if rank - point <= self.near || area >= integral(rank + 0.5, self.exponent) - rank.powf(-self.exponent) {
                return rank;
            }
        }
    }
}

/// The integral from 1 to `x` of x to the power of -exponent, exact near an exponent of 1 as well.
fn integral(x: f64, exponent: f64) -> f64 {
    let log = x.ln();
    let power = (1.0 - exponent) * log;
    if power.abs() < 1e-8 { log * (1.0 + power / 2.0) } else { log * power.exp_m1() / power }
}

/// The `x` at which [`integral`] is `area`.
fn inverse(area: f64, exponent: f64) -> f64 {
    let power = ((1.0 - exponent) * area).max(-1.0);
    let log = if power.abs() < 1e-8 { area * (1.0 - power / 2.0) } else { area * power.ln_1p() / power };
    log.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::of_transaction;

    fn chi_square(ranks: usize, exponent: f64) -> f64 {
        const DRAWS: usize = 100_000;
        let zipfian = Zipfian::new(ranks as f64, exponent);
        let mut rng = of_transaction(11, ranks as u64);
        let mut counts = vec![0_u32; ranks];
        for _ in 0..DRAWS {
            counts[zipfian.draw(&mut rng) as usize - 1] += 1;
        }
        let weights: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        counts
            .iter()
            .zip(&weights)
            .map(|(&count, weight)| {
                let expected = weight / sum * DRAWS as f64;
                (f64::from(count) - expected).powi(2) / expected
            })
            .sum()
    }

    #[test]
    fn each_rank_comes_with_its_exact_probability() {
        for exponent in [0.0, 0.3, 0.8, 1.0, 1.0 + 1e-10, 1.5, 2.0] {
            let found = chi_square(40, exponent);
            assert!(found < 73.0, "exponent {exponent}: {found} with 39 degrees of freedom");
        }
    }

    #[test]
    fn one_rank_is_always_drawn() {
        let mut rng = of_transaction(1, 1);
        let zipfian = Zipfian::new(1.0, 0.8);
        assert!((0..1000).all(|_| zipfian.draw(&mut rng) == 1.0));
    }

    #[test]
    fn integral_and_inverse_undo_each_other() {
        for exponent in [0.0, 0.8, 1.0, 1.2, 3.0] {
            for x in [1.0, 1.5, 30.0, 1e4] {
                let back = inverse(integral(x, exponent), exponent);
                assert!((back / x - 1.0).abs() < 1e-6, "{x} came back as {back} at exponent {exponent}");
            }
        }
    }
}
