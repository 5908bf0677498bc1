//! Tuning, offline: which sizes, warps and stages a kernel is fastest with, found once on a machine and written to a
//! file that ships with the program. A program that has the file looks its choice up; it never searches.
//!
//! | module | subject |
//! |---|---|
//! | [`space`] | configurations, and the space of them that stands at the kernel as `#[kernel(tune(…))]` |
//! | [`shape`] | classes of argument extents that share a choice |
//! | [`sample`] | what a measurement gives: median, spread |
//! | [`child`] | measuring in another process, with a deadline: a crash or a hang costs one candidate |
//! | [`search`] | the search: everything once, then the best ones head to head |
//! | [`record`] | the file |
//! | [`tuned`] | a call that takes its choice from the file |
//!
//! ```no_run
//! # use tegula_tuner::{Records, Tuned};
//! let records = Records::load("tegula-tune.toml")?;
//! // matmul::<f16>(&a, &b, &mut c).tuned(&records).launch()?;
//! # Ok::<(), tegula_tuner::Error>(())
//! ```

pub mod child;
pub mod error;
pub mod record;
pub mod sample;
pub mod search;
pub mod shape;
pub mod space;
pub mod tuned;

pub use error::{Error, Result};
pub use record::{Record, Records, Subject};
pub use space::{Config, Space};
pub use tuned::Tuned;
