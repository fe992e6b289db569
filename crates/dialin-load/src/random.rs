//! Random values: the generator of each transaction, and the values drawn from it.
//!
//! The distributions are those of sysbench 1.0.20 with the same names (zipfian: of its later versions), over any range of whole
//! numbers.

mod distribution;
mod generator;
mod text;
mod zipfian;

pub use distribution::{Distribution, Integers};
pub use generator::{Generator, Unique};
pub(crate) use text::{digits_of, template, whole_number};

use rand::{RngCore, SeedableRng};

/// The generator that all random values of a transaction are drawn from.
pub type Rng = rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of a transaction. It depends on the seed and the sequence number only; those of different transactions are
/// unrelated.
#[must_use]
pub fn of_transaction(seed: u64, sequence: u64) -> Rng {
    Rng::seed_from_u64(mixed(mixed(seed) ^ sequence))
}

/// A bijection in which each bit of the result depends on every bit of `word` (Stafford's thirteenth mixer).
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A uniform random number from 0 to below 1, a multiple of 2 to the power of -53.
fn unit(rng: &mut Rng) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * STEP
}

/// An exponentially distributed random number with a mean of 1: the time between two arrivals of independent customers.
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    -(-unit(rng)).ln_1p()
}

/// A uniform random number from 0 to `most`, both included.
fn up_to(most: u64, rng: &mut Rng) -> u64 {
    ((u128::from(rng.next_u64()) * (u128::from(most) + 1)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_same_seed_and_sequence_give_the_same_draws() {
        let draws = |seed, sequence| {
            let mut rng = of_transaction(seed, sequence);
            [rng.next_u64(), rng.next_u64(), rng.next_u64()]
        };
        assert_eq!(draws(7, 12), draws(7, 12));
        assert_ne!(draws(7, 12), draws(7, 13));
        assert_ne!(draws(7, 12), draws(8, 12));
        assert_ne!(draws(7, 12), draws(12, 7));
    }

    #[test]
    fn draws_do_not_change_between_versions() {
        assert_eq!(of_transaction(1, 0).next_u64(), 0x3f85_06cb_87cd_7d91);
    }

    #[test]
    fn exponential_draws_have_their_mean_and_their_tail() {
        const DRAWS: usize = 200_000;
        let mut rng = of_transaction(3, 0);
        let drawn: Vec<f64> = (0..DRAWS).map(|_| exponential(&mut rng)).collect();
        let share = |above: f64| drawn.iter().filter(|time| **time > above).count() as f64 / DRAWS as f64;
        assert!(drawn.iter().all(|time| time.is_finite() && *time >= 0.0));
        assert!((drawn.iter().sum::<f64>() / DRAWS as f64 - 1.0).abs() < 0.01);
        for above in [0.1, 1.0, 3.0] {
            assert!((share(above) - (-above).exp()).abs() < 0.005, "{above}: {}", share(above));
        }
    }

    #[test]
    fn neighbouring_transactions_share_no_draws() {
        let mut seen = HashSet::new();
        for seed in 0..4 {
            for sequence in 0..2_000 {
                let mut rng = of_transaction(seed, sequence);
                for _ in 0..4 {
                    assert!(seen.insert(rng.next_u64()), "seed {seed}, sequence {sequence}");
                }
            }
        }
    }

    #[test]
    fn first_draws_of_neighbouring_transactions_are_uniform() {
        let mut counts = [0_u32; 16];
        for sequence in 0..16_000 {
            counts[(of_transaction(3, sequence).next_u64() >> 60) as usize] += 1;
        }
        let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 37.7, "{chi_square} with 15 degrees of freedom");
    }

    #[test]
    fn up_to_reaches_both_ends_of_all_numbers() {
        let mut rng = of_transaction(1, 1);
        assert_eq!(up_to(0, &mut rng), 0);
        let drawn: Vec<u64> = (0..200).map(|_| up_to(u64::MAX, &mut rng)).collect();
        assert!(drawn.iter().any(|&number| number > u64::MAX / 16 * 15));
        assert!(drawn.iter().any(|&number| number < u64::MAX / 16));
        let small: HashSet<u64> = (0..200).map(|_| up_to(3, &mut rng)).collect();
        assert_eq!(small, HashSet::from([0, 1, 2, 3]));
    }
}
