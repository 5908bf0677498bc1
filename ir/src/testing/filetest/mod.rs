//! Tests as files: `.tile` texts whose comments say what to do with them and what must come of it.
//!
//! ```text
//! ; test pass dce
//! ; test run
//!
//! kernel @double(%x: view<1d, f32> read, %y: view<1d, f32> write) {
//!   ...
//! }
//!
//! ; run grid 2
//! ;   %x = [3] 1, 2, 3
//! ;   %y = [3]
//! ;   %y -> 2.0, 4.0, 6.0
//!
//! ; output of `pass dce`:
//! ;| kernel @double(...
//! ```
//!
//! | command | meaning |
//! |---|---|
//! | `test parse` | prints to the text itself or the one given, and round-trips, or gives this error |
//! | `test verify` | is valid, or gives these errors |
//! | `test pass a,b{c=1}` | the pass list gives this text, or this error |
//! | `test run [names]` | each run gives these values, on the executors named or on all there are |
//! | `test compile targets` | is valid, and compiles for these targets ([`CompileTest`]) |
//!
//! A run is `; run`, perhaps with `grid 2x1x1`, `kernel @name` and `tol 1e-6` behind it, then the arguments by the
//! names of the parameters ([`super::value`] has their form), then what is expected: `%y -> values` for each tensor
//! that is written, `prints: line`, or `error: message`. Without a grid it follows from the outputs, or is one
//! program. Values must be equal in their bits (NaN equals NaN) unless `tol` allows a difference, relative to the
//! value or to 1. Bytes outside a tensor's elements must not change.
//!
//! Everything that is expected is written anew by [`Runner::bless`]: the results then come from the first executor.
//!
//! | file | subject |
//! |---|---|
//! | `file` | the parts of a file; rewriting what is expected |
//! | `runner` | the commands |
//! | `compile` | what is to be compiled, for the tests of code generators |
//! | `run` | runs: arguments, execution, comparison |

mod compile;
mod file;
mod run;
mod runner;

pub use compile::CompileTest;
pub use file::{Command, TestFile};
pub use runner::Runner;

use std::path::{Path, PathBuf};

/// All `.tile` files under a folder, sorted.
///
/// # Errors
/// If the folder cannot be read.
pub fn collect(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "tile") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
