//! Finding the text of source files.
//!
//! The compiler names a Rust file relative to the root of the workspace it was built in; tests run in the folder of
//! their package, and programs anywhere. So a relative path is looked up, in this order, under the workspace root
//! above the package (`CARGO_MANIFEST_DIR`, which `cargo run` and `cargo test` set) or above the current folder, then
//! in these folders themselves and in those above them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Gives the text of source files: those given in memory first, then from disk.
#[derive(Clone, Default, Debug)]
pub struct Sources {
    texts: HashMap<String, Arc<str>>,
    roots: Vec<PathBuf>,
}

impl Sources {
    /// Files on disk, relative to the workspace or the current folder.
    pub fn new() -> Self {
        let starts = [std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from), std::env::current_dir().ok()];
        let starts: Vec<PathBuf> = starts.into_iter().flatten().collect();
        let mut roots = Vec::new();
        for start in &starts {
            roots.extend(start.ancestors().filter(|d| d.join("Cargo.lock").is_file()).map(Path::to_owned));
        }
        for start in &starts {
            roots.extend(start.ancestors().map(Path::to_owned));
        }
        Self { texts: HashMap::new(), roots }
    }

    /// Only what is added: nothing is read from disk.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Adds the text of a file.
    #[must_use]
    pub fn with(mut self, file: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        self.texts.insert(file.into(), text.into());
        self
    }

    /// One line of a file, from 1, without its end; `None` where the file or the line cannot be had.
    pub fn line(&self, file: &str, line: u32) -> Option<String> {
        let pick = |text: &str| text.lines().nth(line.checked_sub(1)? as usize).map(str::to_owned);
        match self.texts.get(file) {
            Some(text) => pick(text),
            None => pick(&self.read(file)?),
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        // An absolute path replaces each root it is joined to.
        self.roots.iter().find_map(|root| std::fs::read_to_string(root.join(file)).ok())
    }
}
