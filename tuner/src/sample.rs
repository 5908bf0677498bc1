//! What a measurement gives.

use serde::{Deserialize, Serialize};

/// The times of some launches.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Seconds of each launch; `None` if there are none, or one is not a time.
    pub fn new(mut seconds: Vec<f64>) -> Option<Self> {
        if seconds.is_empty() || seconds.iter().any(|s| !s.is_finite() || *s < 0.0) {
            return None;
        }
        seconds.sort_by(f64::total_cmp);
        Some(Self(seconds))
    }

    /// Both together.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self.0.sort_by(f64::total_cmp);
        self
    }

    /// How many launches.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    fn quantile(&self, q: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * q).round() as usize]
    }

    /// The median, in seconds: machines are noisy to one side.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The distance from the first to the ninth decile as a fraction of the median.
    pub fn spread(&self) -> f64 {
        if self.median() == 0.0 { 0.0 } else { (self.quantile(0.9) - self.quantile(0.1)) / self.median() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_spread() {
        let a = Samples::new((1..=11).rev().map(f64::from).collect()).expect("times");
        assert_eq!((a.median(), a.count()), (6.0, 11));
        assert!((a.spread() - 8.0 / 6.0).abs() < 1e-12);
        assert_eq!(a.merge(Samples::new(vec![0.5; 11]).expect("times")).median(), 1.0);
        assert!(Samples::new(Vec::new()).is_none());
        assert!(Samples::new(vec![1.0, f64::NAN]).is_none());
    }
}
