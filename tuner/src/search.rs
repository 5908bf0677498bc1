//! The search: every candidate once, then the best ones head to head, in turn, so that what disturbs the machine
//! disturbs all of them.

use crate::error::{Error, Result};
use crate::record::{Outcome, Record, Records, Subject};
use crate::sample::Samples;
use crate::space::Config;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Launches timed of each candidate, and in each round of the best ones.
    pub launches: usize,
    /// How many go into the last rounds.
    pub finalists: usize,
    /// How many rounds.
    pub rounds: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { launches: 20, finalists: 4, rounds: 3 }
    }
}

/// How far the search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Measurements done.
    pub done: usize,
    /// Measurements in all.
    pub total: usize,
    /// The best so far.
    pub best: Option<&'a Record>,
}

/// Finds the best candidate. Each measurement is written to the file of `records` at once: a search that is ended can be
/// begun again and measures only what is missing.
///
/// `measure` checks and times so many launches of a candidate, or says why it cannot be used.
///
/// # Errors
/// [`Error::AllFailed`], or the file cannot be written.
pub fn search(
    candidates: &[Config],
    subject: &Subject,
    records: &mut Records,
    effort: Effort,
    mut measure: impl FnMut(&Config, usize) -> std::result::Result<Samples, String>,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<Record> {
    let missing: Vec<_> = candidates.iter().filter(|c| records.get(subject, c).is_none()).collect();
    let rounds = effort.finalists.min(candidates.len()) * effort.rounds;
    let total = missing.len() + rounds;
    let mut done = 0;
    for config in &missing {
        let outcome = Outcome::new(&measure(config, effort.launches), false);
        records.insert(Record::new(subject.clone(), (*config).clone(), outcome));
        records.save()?;
        done += 1;
        progress(Progress { done, total, best: records.best(subject) });
    }

    let mut order: Vec<(f64, Config, bool)> = candidates
        .iter()
        .filter_map(|c| {
            let (single, time) = records.get(subject, c)?.outcome.rank()?;
            Some((time, c.clone(), !single))
        })
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    order.truncate(effort.finalists.max(1));
    // Nothing new among the best: they have met before.
    if order.iter().any(|(_, _, met)| !met) {
        let mut samples: Vec<std::result::Result<Option<Samples>, String>> = vec![Ok(None); order.len()];
        for _ in 0..effort.rounds.max(1) {
            for ((_, config, _), all) in order.iter().zip(&mut samples) {
                if let Ok(before) = all {
                    *all = measure(config, effort.launches).map(|new| {
                        Some(match before.take() {
                            Some(old) => old.merge(new),
                            None => new,
                        })
                    });
                }
                done += 1;
                progress(Progress { done, total, best: records.best(subject) });
            }
        }
        for ((_, config, _), result) in order.iter().zip(samples) {
            let result = result.and_then(|s| s.ok_or_else(|| "it was not measured".into()));
            records.insert(Record::new(subject.clone(), config.clone(), Outcome::new(&result, true)));
        }
        records.save()?;
    }
    progress(Progress { done: total, total, best: records.best(subject) });
    records.best(subject).cloned().ok_or_else(|| Error::AllFailed {
        kernel: subject.kernel.clone(),
        count: candidates.len(),
        first: candidates
            .iter()
            .filter_map(|c| match &records.get(subject, c)?.outcome {
                Outcome::Failed { failed } => Some(failed.clone()),
                Outcome::Measured { .. } => None,
            })
            .next()
            .unwrap_or_else(|| "there are no candidates".into()),
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn subject() -> Subject {
        Subject {
            kernel: "k".into(),
            source: "s".into(),
            dtype: "f32".into(),
            target: "cpu".into(),
            device: "d".into(),
            shape: Default::default(),
        }
    }

    fn configs(sizes: &[u32]) -> Vec<Config> {
        sizes.iter().map(|s| Config { dims: vec![("B".into(), *s)], ..Config::default() }).collect()
    }

    /// Times that depend on the size alone, 64 the best; 7 fails.
    fn measure(log: &RefCell<Vec<u32>>) -> impl FnMut(&Config, usize) -> std::result::Result<Samples, String> {
        move |config, launches| {
            let size = config.dims[0].1;
            log.borrow_mut().push(size);
            if size == 7 {
                return Err("odd sizes are not for this kernel".into());
            }
            Ok(Samples::new(vec![f64::from(size.abs_diff(64) + 1) * 1e-6; launches]).expect("times"))
        }
    }

    const EFFORT: Effort = Effort { launches: 5, finalists: 2, rounds: 2 };

    #[test]
    fn the_best_is_found_head_to_head() {
        let (log, mut records) = (RefCell::default(), Records::default());
        let sizes = configs(&[16, 7, 128, 64, 32]);
        let best = search(&sizes, &subject(), &mut records, EFFORT, measure(&log), |_| {}).expect("a best one");
        assert_eq!(best.config.to_string(), "B=64");
        assert!(matches!(best.outcome, Outcome::Measured { head_to_head: true, launches: 10, .. }), "{best:?}");
        assert_eq!(log.into_inner(), [16, 7, 128, 64, 32, 64, 32, 64, 32], "the two best in turn");
    }

    #[test]
    fn adding_a_candidate_measures_it_and_the_best() {
        let (log, mut records) = (RefCell::default(), Records::default());
        search(&configs(&[16, 7, 32]), &subject(), &mut records, EFFORT, measure(&log), |_| {}).expect("a best one");
        log.borrow_mut().clear();
        search(&configs(&[16, 7, 32]), &subject(), &mut records, EFFORT, measure(&log), |_| {}).expect("a best one");
        assert!(log.borrow().is_empty(), "all is known");
        search(&configs(&[16, 7, 32, 1000]), &subject(), &mut records, EFFORT, measure(&log), |_| {}).expect("one");
        assert_eq!(*log.borrow(), [1000], "it is not among the best");
        log.borrow_mut().clear();
        search(&configs(&[16, 7, 32, 64]), &subject(), &mut records, EFFORT, measure(&log), |_| {}).expect("one");
        assert_eq!(log.into_inner(), [64, 64, 32, 64, 32]);
    }

    #[test]
    fn a_search_that_is_ended_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tune.toml");
        let sizes = configs(&[16, 32, 64, 128]);
        let mut count = 0;
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut records = Records::open(&path).expect("a new one");
            let stop = |_: &Config, _| {
                count += 1;
                assert!(count < 3, "ended by the test");
                Ok(Samples::new(vec![1e-6; 5]).expect("times"))
            };
            search(&sizes, &subject(), &mut records, EFFORT, stop, |_| {})
        }));
        assert!(ended.is_err());
        let log = RefCell::default();
        let mut records = Records::open(&path).expect("what was measured");
        search(&sizes, &subject(), &mut records, EFFORT, measure(&log), |_| {}).expect("a best one");
        assert_eq!(log.borrow()[..2], [64, 128], "the two that were missing");
    }

    #[test]
    fn if_all_fail_the_reason_is_told() {
        let (log, mut records) = (RefCell::default(), Records::default());
        let e = search(&configs(&[7]), &subject(), &mut records, EFFORT, measure(&log), |_| {}).expect_err("it fails");
        assert!(e.to_string().contains("odd sizes"), "{e}");
    }
}
