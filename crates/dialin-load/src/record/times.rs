//! Histograms of times, of bounded size.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The unit of a histogram's values, in nanoseconds.
pub const UNIT_NS: u64 = 100;
/// The longest time, in units: an hour. Longer times count as an hour.
const LONGEST: u64 = 3_600 * 1_000_000_000 / UNIT_NS;
const UNITS_PER_MS: f64 = 1_000_000.0 / UNIT_NS as f64;
const DIGITS: u8 = 3;

/// The encoded form of an empty histogram.
static EMPTY: LazyLock<String> = LazyLock::new(|| encoded(&empty()));

/// A histogram of times from 100 ns to an hour, exact to three significant digits. It takes 216 KiB of memory from the first value on, and
/// none before.
#[derive(Clone, Debug, Default)]
pub struct Times(Option<Box<Histogram<u64>>>);

/// Percentiles of times, in milliseconds. A percentile is None if there are too few values: percentile p needs 1 / (1 − p) of them, so
/// p99.99 needs 10,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The mean.
    pub mean: Option<f64>,
    /// The median: 50 % of the times are no longer.
    pub p50: Option<f64>,
    /// 90 % of the times are no longer.
    pub p90: Option<f64>,
    /// 95 % of the times are no longer.
    pub p95: Option<f64>,
    /// 99 % of the times are no longer.
    pub p99: Option<f64>,
    /// 99.9 % of the times are no longer.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<f64>,
    /// 99.99 % of the times are no longer.
    #[serde(rename = "p99.99")]
    pub p99_99: Option<f64>,
    /// The maximum.
    pub max: Option<f64>,
}

impl PartialEq for Times {
    /// Whether both contain the same values.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => one == other,
            _ => self.count() == 0 && other.count() == 0,
        }
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("these constants are valid bounds")
}

fn encoded(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).expect("counts fit 63 bits, and memory can be written to");
    STANDARD.encode(bytes)
}

impl Times {
    /// Creates an empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self(None)
    }

    /// Adds a time, in nanoseconds.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.get_or_insert_with(|| Box::new(empty())).saturating_record(nanoseconds / UNIT_NS);
    }

    /// The number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |histogram| histogram.len())
    }

    /// Adds the values of another histogram.
    pub fn add(&mut self, other: &Times) {
        if let Some(more) = other.0.as_ref().filter(|more| !more.is_empty()) {
            let histogram = self.0.get_or_insert_with(|| Box::new(empty()));
            histogram.add(more.as_ref()).expect("all histograms have the same bounds");
        }
    }

    /// Removes all values, and keeps the memory.
    pub fn clear(&mut self) {
        if let Some(histogram) = self.0.as_mut().filter(|histogram| !histogram.is_empty()) {
            histogram.reset();
        }
    }

    /// The mean, the percentiles and the maximum.
    #[must_use]
    pub fn percentiles(&self) -> Percentiles {
        let Some(histogram) = &self.0 else { return Percentiles::default() };
        let count = histogram.len();
        let at = |quantile, least| (count >= least).then(|| milliseconds(histogram.value_at_quantile(quantile) as f64));
        Percentiles {
            mean: (count > 0).then(|| milliseconds(histogram.mean())),
            p50: at(0.5, 2),
            p90: at(0.9, 10),
            p95: at(0.95, 20),
            p99: at(0.99, 100),
            p99_9: at(0.999, 1_000),
            p99_99: at(0.9999, 10_000),
            max: (count > 0).then(|| milliseconds(histogram.max() as f64)),
        }
    }

    /// The histogram in HdrHistogram's compressed form (V2, deflated), as base64. Its values are in units of [`UNIT_NS`].
    #[must_use]
    pub fn encoded(&self) -> String {
        match &self.0 {
            Some(histogram) if !histogram.is_empty() => encoded(histogram),
            _ => EMPTY.clone(),
        }
    }

    /// Decodes a histogram that [`Times::encoded`] wrote.
    ///
    /// # Errors
    ///
    /// Fails if the text is not such a histogram; the error says why.
    pub fn decoded(text: &str) -> Result<Self, String> {
        let bytes = STANDARD.decode(text).map_err(|error| format!("a histogram is not valid base64: {error}"))?;
        let histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| format!("a histogram cannot be read: {error}"))?;
        if (histogram.low(), histogram.high(), histogram.sigfig()) != (1, LONGEST, DIGITS) {
            return Err("the bounds of a histogram differ from those of this version".into());
        }
        Ok(Self((!histogram.is_empty()).then(|| Box::new(histogram))))
    }
}

/// Converts units to milliseconds, rounded to the unit.
fn milliseconds(units: f64) -> f64 {
    units.round() / UNITS_PER_MS
}

/// Converts nanoseconds to seconds, rounded to the microsecond.
pub(super) fn seconds(nanoseconds: u64) -> f64 {
    (nanoseconds as f64 / 1e3).round() / 1e6
}

impl Serialize for Times {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.encoded())
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Times::decoded(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(nanoseconds: impl IntoIterator<Item = u64>) -> Times {
        let mut times = Times::new();
        nanoseconds.into_iter().for_each(|each| times.record(each));
        times
    }

    fn given(percentiles: &Percentiles) -> [bool; 8] {
        let all = [
            percentiles.mean,
            percentiles.p50,
            percentiles.p90,
            percentiles.p95,
            percentiles.p99,
            percentiles.p99_9,
            percentiles.p99_99,
            percentiles.max,
        ];
        all.map(|each| each.is_some())
    }

    #[test]
    fn percentiles_are_in_milliseconds_to_three_digits() {
        let result = of((1..=10_000).map(|each| each * 1_000)).percentiles();
        let close = |value: Option<f64>, to: f64| (value.unwrap() / to - 1.0).abs() < 0.001;
        assert!(close(result.p50, 5.0) && close(result.p95, 9.5) && close(result.p99_99, 9.999), "{result:?}");
        assert!(close(result.max, 10.0) && close(result.mean, 5.0005), "{result:?}");
    }

    #[test]
    fn a_percentile_with_too_few_values_is_not_reported() {
        let shown = |count: u64| given(&of((0..count).map(|_| 1_000_000)).percentiles()).iter().filter(|each| **each).count();
        assert_eq!(
            [0, 1, 2, 9, 10, 19, 20, 99, 100, 999, 1_000, 9_999, 10_000].map(shown),
            [0, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8]
        );
    }

    #[test]
    fn times_are_exact_to_100_nanoseconds_and_capped_at_an_hour() {
        assert_eq!(of([5_300]).percentiles().max, Some(0.0053));
        let hours = of([u64::MAX]).percentiles().max.unwrap();
        assert!((hours / 3_600_000.0 - 1.0).abs() < 0.001, "{hours}");
    }

    #[test]
    fn a_cleared_histogram_is_as_new() {
        let mut times = of([1, 1_000_000]);
        times.clear();
        assert_eq!(times, Times::new());
        assert_eq!(times.percentiles(), Percentiles::default());
    }

    #[test]
    fn the_encoded_form_is_the_standard_one() {
        let bytes = STANDARD.decode(of([1_000_000]).encoded()).unwrap();
        // 0x1c849304 is the cookie of HdrHistogram's V2 compressed encoding, here with its word size in the second nibble.
        assert_eq!(u32::from_be_bytes(bytes[..4].try_into().unwrap()) & !0xf0, 0x1c84_9304);
        assert_eq!(bytes[8], 0x78, "zlib follows");
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        let mut other = Vec::new();
        let foreign = Histogram::<u64>::new_with_bounds(1, 1_000, 2).unwrap();
        V2DeflateSerializer::new().serialize(&foreign, &mut other).unwrap();
        for text in ["", "?", "SElTVA==", &STANDARD.encode(other)] {
            assert!(Times::decoded(text).is_err(), "{text}");
        }
        let whole = of([5]).encoded();
        assert!(Times::decoded(&whole[..whole.len() / 8 * 4]).is_err());
    }

    /// Lists of times from zero to ten minutes, one list for each second.
    fn seconds() -> impl Strategy<Value = Vec<Vec<u64>>> {
        let time = (0..30_u32, 0..600_u64).prop_map(|(power, some)| some << power);
        prop::collection::vec(prop::collection::vec(time, 0..50), 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn merged_histograms_equal_the_histogram_of_all(seconds in seconds()) {
            let mut merged = Times::new();
            for second in &seconds {
                merged.add(&Times::decoded(&of(second.iter().copied()).encoded()).unwrap());
            }
            let total = of(seconds.into_iter().flatten());
            prop_assert_eq!(merged.percentiles(), total.percentiles());
            prop_assert_eq!(merged.encoded(), total.encoded());
        }
    }
}
