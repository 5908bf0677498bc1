//! The pass manager: what a pass is, pass lists by name, and running them with timings, dumps, verification and
//! reproduction files.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the `{key=value}` options of a pass |
//! | `registry` | passes by name; pass lists as text |
//! | `manager` | running a pipeline: timings, dumps, checks between passes, reproduction files |
//!
//! The passes themselves live in [`crate::passes`].

mod manager;
mod options;
mod registry;

pub use manager::{DumpOptions, PassError, PassManager, PassReport, PassRun};
pub use options::{OptionInfo, PassOptions};
pub use registry::{MakePass, PassInfo, PassListError, Pipeline, Registry, Stage};

use std::collections::BTreeMap;

use crate::diag::Diagnostic;
use crate::function::Function;

/// Whether a pass changed the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    /// It did, or may have.
    Yes,
    /// The function is exactly as before.
    No,
}

impl Changed {
    /// `Yes` where either is.
    #[must_use]
    pub const fn or(self, other: Changed) -> Changed {
        if self.any() { self } else { other }
    }

    /// Whether this is `Yes`.
    pub const fn any(self) -> bool {
        matches!(self, Changed::Yes)
    }
}

impl From<bool> for Changed {
    fn from(changed: bool) -> Self {
        if changed { Changed::Yes } else { Changed::No }
    }
}

/// What a pass may tell besides its result.
#[derive(Default, Debug)]
pub struct PassContext {
    /// Warnings and remarks for the author of the kernel.
    pub remarks: Vec<Diagnostic>,
    counters: BTreeMap<&'static str, u64>,
}

impl PassContext {
    /// An empty context, to run a pass by itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to a statistic of the pass, such as `loads hoisted`.
    pub fn count(&mut self, what: &'static str, n: u64) {
        *self.counters.entry(what).or_default() += n;
    }

    /// The statistics so far, by name.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counters.iter().map(|(&what, &n)| (what, n))
    }
}

/// A transformation from valid IR to valid IR. It must be deterministic: the same function gives the same
/// result, byte for byte.
pub trait Pass: Send + Sync {
    /// The name in pass lists.
    fn name(&self) -> &'static str;

    /// Transforms the function.
    ///
    /// # Errors
    /// If the kernel asks for something that cannot be done; the function may be half changed then.
    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic>;
}
