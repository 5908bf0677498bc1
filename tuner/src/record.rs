//! Records of measurements: a text file to be committed beside the program, one record a candidate, so that adding a
//! candidate measures one.

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tegula_ir::Function;

use crate::error::{Error, Result};
use crate::sample::Samples;
use crate::shape::Shape;
use crate::space::Config;
use crate::tuned::Lookup;

/// What is tuned: a kernel on a device for a class of sizes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// Name of the kernel.
    pub kernel: String,
    /// [`source_hash`] of the kernel: a record made for another source is stale.
    pub source: String,
    /// Element types, for people: the hash tells them apart as well.
    pub dtype: String,
    /// Target that kernels are compiled for, such as `sm_90a` or `cpu`.
    pub target: String,
    /// What the device is, such as `NVIDIA H200`.
    pub device: String,
    /// The class of sizes.
    pub shape: Shape,
}

/// A measured candidate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// What was tuned.
    #[serde(flatten)]
    pub subject: Subject,
    /// The candidate.
    pub config: Config,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Version of the compiler.
    pub compiler: String,
    /// Day of the measurement, as in `2026-12-31`.
    pub date: String,
}

/// What came of a candidate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// It gave right results.
    Measured {
        /// Median time of a launch in microseconds.
        microseconds: f64,
        /// From the first to the ninth decile, as a fraction of the median.
        spread: f64,
        /// Launches timed.
        launches: usize,
        /// Whether it was measured head to head with the other best ones.
        #[serde(rename = "final", default)]
        head_to_head: bool,
    },
    /// It did not.
    Failed {
        /// Why, in one line.
        failed: String,
    },
}

impl Outcome {
    /// Of these samples, or this failure.
    pub fn new(result: &std::result::Result<Samples, String>, head_to_head: bool) -> Self {
        match result {
            Ok(samples) => Self::Measured {
                microseconds: round(samples.median() * 1e6),
                spread: round(samples.spread()),
                launches: samples.count(),
                head_to_head,
            },
            Err(message) => Self::Failed { failed: message.lines().next().unwrap_or_default().into() },
        }
    }

    /// The order in which outcomes are preferred: those measured head to head, then by time.
    pub fn rank(&self) -> Option<(bool, f64)> {
        match self {
            Self::Measured { microseconds, head_to_head, .. } => Some((!head_to_head, *microseconds)),
            Self::Failed { .. } => None,
        }
    }
}

/// Four digits: more would be noise, and differences of noise in a committed file.
fn round(v: f64) -> f64 {
    format!("{v:.3e}").parse().unwrap_or(v)
}

impl Record {
    /// A record of today, by this compiler.
    pub fn new(subject: Subject, config: Config, outcome: Outcome) -> Self {
        Self {
            subject,
            config,
            outcome,
            compiler: env!("CARGO_PKG_VERSION").into(),
            date: jiff::ZonedDateTime::now().date().to_string(),
        }
    }
}

/// Tells sources of a kernel apart: a hash of its Tile IR with everything left at its default.
pub fn source_hash(function: &Function) -> String {
    blake3::hash(tegula_ir::text::print_function(function, &Default::default()).as_bytes()).to_hex()[..16].into()
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    #[serde(default, rename = "record")]
    records: Vec<Record>,
}

/// The records of a program.
#[derive(Debug, Default)]
pub struct Records {
    records: Vec<Record>,
    path: Option<PathBuf>,
    /// What calls have asked for: a lookup is made once for each kernel, device and class of sizes.
    pub(crate) looked_up: Mutex<HashMap<Lookup, Option<Config>>>,
}

impl Records {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] or [`Error::Syntax`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| Error::File { path: path.into(), source })?;
        let mut records = Self::parse(&text).map_err(|e| match e {
            Error::Syntax { message, .. } => Error::Syntax { path: path.into(), message },
            other => other,
        })?;
        records.path = Some(path.into());
        Ok(records)
    }

    /// Reads a file, or begins one that is not there.
    ///
    /// # Errors
    /// As [`Records::load`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        match Self::load(path.as_ref()) {
            Err(Error::File { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(Self { path: Some(path.as_ref().into()), ..Self::default() })
            }
            other => other,
        }
    }

    /// Reads the text of a file, such as `include_str!("tegula-tune.toml")`.
    ///
    /// # Errors
    /// [`Error::Syntax`].
    pub fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text).map_err(|e| Error::Syntax {
            path: "the text given".into(),
            message: e.to_string().trim_end().replace('\n', "\n  "),
        })?;
        Ok(Self { records: file.records, ..Self::default() })
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn save(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let failed = |source| Error::File { path: path.clone(), source };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(self.to_text().as_bytes()).map_err(failed)?;
        file.persist(path).map_err(|e| failed(e.error))?;
        Ok(())
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        let mut text =
            String::from("# Made by `tegula tune`. Commit it with the program, which looks its choices up here.\n\n");
        let body = toml::to_string(&File { records: self.records.clone() });
        text.push_str(&body.expect("records are plain data"));
        text
    }

    /// All of them, in the order of the file.
    pub fn all(&self) -> &[Record] {
        &self.records
    }

    /// The record of a candidate.
    pub fn get(&self, subject: &Subject, config: &Config) -> Option<&Record> {
        self.records.iter().find(|r| r.subject == *subject && r.config == *config)
    }

    /// Adds a record in place of an older one of the same candidate. Stale ones of the kernel on this device go.
    pub fn insert(&mut self, record: Record) {
        let new = &record.subject;
        self.records.retain(|r| {
            let old = &r.subject;
            let same = old.kernel == new.kernel
                && old.dtype == new.dtype
                && old.target == new.target
                && old.device == new.device
                && old.shape == new.shape;
            !(same && (old.source != new.source || r.config == record.config))
        });
        self.records.push(record);
        self.looked_up.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The best candidate of a subject.
    pub fn best(&self, subject: &Subject) -> Option<&Record> {
        best(self.records.iter().filter(|r| r.subject == *subject))
    }

    /// The record to use for a kernel of this source on a device: of the nearest class of sizes, on this device rather
    /// than on another of the same target.
    pub fn choose(&self, kernel: &str, source: &str, target: &str, device: &str, shape: &Shape) -> Option<&Record> {
        let of_kernel = || self.records.iter().filter(|r| r.subject.kernel == kernel && r.subject.target == target);
        let fresh = of_kernel().filter(|r| r.subject.source == source && r.outcome.rank().is_some());
        let near = |r: &&Record| r.subject.shape.distance(shape).map(|d| (r.subject.device != device, d));
        let nearest = fresh.clone().filter_map(|r| near(&r)).min();
        if nearest.is_none() && of_kernel().next().is_some() && fresh.clone().next().is_none() {
            tracing::warn!(
                kernel,
                target,
                "its tuning records were made for another source and are ignored: tune it again"
            );
        }
        let nearest = nearest?;
        best(fresh.filter(|r| near(r) == Some(nearest)))
    }
}

fn best<'a>(records: impl Iterator<Item = &'a Record>) -> Option<&'a Record> {
    records
        .filter_map(|r| r.outcome.rank().map(|rank| (rank, r)))
        .min_by(|((a, s), _), ((b, t), _)| a.cmp(b).then(s.total_cmp(t)))
        .map(|(_, r)| r)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(device: &str, shape: &str) -> Subject {
        Subject {
            kernel: "matmul".into(),
            source: "0123".into(),
            dtype: "f32".into(),
            target: "cpu".into(),
            device: device.into(),
            shape: shape.parse().expect("a shape"),
        }
    }

    fn record(device: &str, shape: &str, config: &str, us: f64, head_to_head: bool) -> Record {
        let outcome = Outcome::Measured { microseconds: us, spread: 0.1, launches: 9, head_to_head };
        Record::new(subject(device, shape), config.parse().expect("a configuration"), outcome)
    }

    fn records() -> Records {
        let mut records = Records::default();
        records.insert(record("a", "1024x1024", "BM=32", 5.0, false));
        records.insert(record("a", "1024x1024", "BM=64", 7.0, true));
        records.insert(record("a", "1024x1024", "BM=128", 6.0, true));
        records.insert(record("b", "64x64", "BM=16", 1.0, true));
        let failed = Outcome::new(&Err("wrong\nmore".into()), false);
        records.insert(Record::new(subject("a", "1024x1024"), "BM=256".parse().expect("one"), failed));
        records
    }

    #[test]
    fn text_form_reads_back() {
        let records = records();
        let text = records.to_text();
        assert_eq!(Records::parse(&text).expect("it reads back").all(), records.all(), "{text}");
        assert!(text.contains("config = \"BM=128\"") && text.contains("failed = \"wrong\""), "{text}");
    }

    #[test]
    fn head_to_head_goes_first_then_time() {
        let records = records();
        assert_eq!(records.best(&subject("a", "1024x1024")).expect("one").config.to_string(), "BM=128");
    }

    #[test]
    fn the_nearest_sizes_on_this_device_are_chosen() {
        let records = records();
        let choose = |source, device, shape: &str| {
            let record = records.choose("matmul", source, "cpu", device, &shape.parse().expect("a shape"));
            record.map(|r| r.config.to_string())
        };
        assert_eq!(choose("0123", "a", "32x32").as_deref(), Some("BM=128"));
        assert_eq!(choose("0123", "b", "1024x1024").as_deref(), Some("BM=16"));
        assert_eq!(choose("0123", "c", "1024x512").as_deref(), Some("BM=128"));
        assert_eq!(choose("0123", "a", "32"), None);
        assert_eq!(choose("4567", "a", "32x32"), None, "another source");
    }

    #[test]
    fn a_new_source_replaces_stale_records() {
        let mut records = records();
        let mut fresh = record("a", "1024x1024", "BM=32", 3.0, false);
        fresh.subject.source = "4567".into();
        records.insert(fresh);
        assert_eq!(records.all().len(), 2, "{:?}", records.all());
    }

    #[test]
    fn files_are_written_whole_and_damage_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tune.toml");
        assert!(matches!(Records::load(&path), Err(Error::File { .. })));
        let mut file = Records::open(&path).expect("a new one");
        file.insert(record("a", "8", "BM=8", 1.0, true));
        file.save().expect("saved");
        assert_eq!(Records::open(&path).expect("it is there").all(), file.all());
        std::fs::write(&path, "[[record]]\nkernel = 3\n").expect("written");
        let error = Records::load(&path).expect_err("damaged").to_string();
        assert!(error.contains("tune.toml") && error.contains("tune again"), "{error}");
    }
}
