//! `test compile`: which kernels are compiled for which targets. The compiler is the caller's.

use std::path::{Path, PathBuf};

use super::collect;
use super::file::{Command, TestFile};
use crate::function::Function;
use crate::text::parse_module;

/// A file that is to be compiled for a target.
#[derive(Clone, Debug)]
pub struct CompileTest {
    /// Name of the file in its folder, and the target.
    pub name: String,
    /// The target as it stands in the file.
    pub target: String,
    path: PathBuf,
}

impl CompileTest {
    /// Those of the files under `root` whose target `wanted` accepts, sorted.
    ///
    /// # Errors
    /// If a file cannot be read or is malformed.
    pub fn collect(root: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Self>, String> {
        let mut tests = Vec::new();
        for path in collect(root).map_err(|e| format!("{}: {e}", root.display()))? {
            let failed = |e: String| format!("{}: {e}", path.display());
            let text = std::fs::read_to_string(&path).map_err(|e| failed(e.to_string()))?;
            for command in TestFile::parse(&text).map_err(failed)?.commands {
                let Command::Compile(targets) = command else { continue };
                tests.extend(targets.into_iter().filter(|target| wanted(target)).map(|target| Self {
                    name: format!("{} {target}", path.strip_prefix(root).unwrap_or(&path).display()),
                    target,
                    path: path.clone(),
                }));
            }
        }
        Ok(tests)
    }

    /// Compiles each kernel of the file.
    ///
    /// # Errors
    /// If the file does not parse, or with what `compile` says.
    pub fn run(&self, compile: impl Fn(&Function, &str) -> Result<(), String>) -> Result<(), String> {
        let text = std::fs::read_to_string(&self.path).map_err(|e| e.to_string())?;
        let module = parse_module(&text, &self.name).map_err(|e| e.to_string())?;
        module
            .functions
            .iter()
            .try_for_each(|function| compile(function, &self.target).map_err(|e| format!("@{}: {e}", function.name)))
    }
}
