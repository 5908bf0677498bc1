//! Kernels compiled when the program was built, and embedded in it.
//!
//! A build script compiles them (crate `tegula-build`), `tegula::embed!()` registers them; or they are carried beside the
//! program, in a file that [`register_file`] reads. A launch takes an embedded kernel where one was compiled from the same
//! Tile IR and its arguments keep what was promised of them then; of several, the one for the most specific target, then the
//! one that was promised most.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use tegula_artifact::Artifact;
use tegula_artifact::archive::{self, Archived};
use tegula_artifact::cpu::abi::KernelFn;
use tegula_artifact::promise::{family, promises};
use tegula_ir::Function;

use crate::backend::gpu;

/// What was registered.
#[derive(Default)]
struct Registry {
    kernels: HashMap<String, Vec<Archived>>,
    entries: HashMap<&'static str, KernelFn>,
}

static REGISTRY: RwLock<Option<Registry>> = RwLock::new(None);

/// Registers an archive, and the code for the CPU that is linked into the program, by symbol. `tegula::embed!()` calls
/// it; registering twice does no harm. An archive that cannot be read is logged, and its kernels are compiled instead.
pub fn register(bytes: &'static [u8], entries: &'static [(&'static str, KernelFn)]) {
    let kernels = match archive::from_bytes(bytes) {
        Ok(kernels) => kernels,
        Err(e) => return tracing::warn!("embedded kernels are not used: {e}"),
    };
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    let registry = registry.get_or_insert_default();
    registry.entries.extend(entries.iter().copied());
    for kernel in kernels {
        let family = registry.kernels.entry(kernel.family.clone()).or_default();
        if !family.contains(&kernel) {
            family.push(kernel);
        }
    }
}

/// Registers an archive that was made where the compiler is, and carried here. It must be as trusted as the program itself.
///
/// # Errors
/// If the file cannot be read, or is no archive of this version.
pub fn register_file(path: &Path) -> io::Result<()> {
    let bytes = std::fs::read(path)?;
    archive::from_bytes(&bytes).map_err(io::Error::other)?;
    // Registered code is there until the program ends.
    register(bytes.leak(), &[]);
    Ok(())
}

/// The code of a function for the CPU that is linked into the program.
pub(crate) fn cpu_entry(symbol: &str) -> Option<KernelFn> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    registry.as_ref()?.entries.get(symbol).copied()
}

/// The embedded kernel for a function, whose parameters say what is known of the arguments, on a target.
pub(crate) fn find(function: &Function, target: &str) -> Option<Artifact> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    let registry = registry.as_ref()?;
    let known = promises(function);
    let kernels = registry.kernels.get(&family(function))?;
    let keeps = |k: &Archived| {
        k.promises.len() == known.len()
            && k.promises.iter().zip(&known).all(|(promised, known)| known.implies(promised))
    };
    let rank = |k: &Archived| {
        let strength: u32 = k.promises.iter().map(|p| p.strength()).sum();
        Some((affinity(k, target)?, strength))
    };
    let fitting = kernels.iter().filter(|k| keeps(k)).filter_map(|k| Some((rank(k)?, k)));
    fitting.max_by_key(|(rank, _)| *rank).map(|(_, k)| k.artifact.clone())
}

/// How well code suits a target; `None` if it does not run there.
fn affinity(kernel: &Archived, target: &str) -> Option<u32> {
    let compiled_for = kernel.artifact.target.as_str();
    if let Some(level) = kernel.level {
        return (target == "cpu" && level.is_supported()).then_some(level as u32);
    }
    if compiled_for == target {
        return Some(u32::MAX);
    }
    let runs = gpu::target::is_older(compiled_for, target);
    runs.then(|| compiled_for.trim_start_matches("sm_").parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use tegula_artifact::gpu::KernelInfo;
    use tegula_artifact::{Entry, Format};
    use tegula_ir::text::parse_function;

    use super::*;

    fn function(promised: &str) -> Function {
        let text = format!("kernel @only_here(%x: view<1d, f32> read{promised}) {{\n  return\n}}");
        parse_function(&text, "k.tile").unwrap_or_else(|e| panic!("{text}: {e:?}"))
    }

    fn archived(promised: &str, target: &str) -> Archived {
        let f = function(promised);
        let info = KernelInfo {
            name: promised.into(),
            threads: 32,
            num_warps: 1,
            params: Vec::new(),
            params_size: 0,
            static_shared: 0,
            dynamic_shared: 0,
        };
        let (family, promises) = (family(&f), promises(&f));
        let artifact = Artifact {
            kernel: f.name,
            target: target.into(),
            format: Format::Ptx,
            entry: Entry::Gpu(info),
            code: Vec::new(),
        };
        Archived { family, promises, level: None, artifact }
    }

    #[test]
    fn the_most_specific_kernel_that_fits_is_taken() {
        let kernels = [
            archived("", "sm_80"),
            archived(" {unit_inner}", "sm_80"),
            archived("", "sm_90a"),
            archived(" {unit_inner}", "gfx942"),
        ];
        register(archive::to_bytes(&kernels).leak(), &[]);
        register(archive::to_bytes(&kernels).leak(), &[]);
        let found = |promised: &str, target: &str| {
            let artifact = find(&function(promised), target)?;
            let Entry::Gpu(info) = artifact.entry else { panic!("for a GPU") };
            Some((artifact.target, info.name))
        };
        let is = |target: &str, promised: &str| Some((target.to_owned(), promised.to_owned()));
        assert_eq!(found(" {unit_inner}", "sm_80"), is("sm_80", " {unit_inner}"));
        assert_eq!(found("", "sm_80"), is("sm_80", ""));
        assert_eq!(found(" {unit_inner}", "sm_90a"), is("sm_90a", ""));
        assert_eq!(found(" {unit_inner}", "sm_100a"), is("sm_80", " {unit_inner}"));
        assert_eq!(found("", "sm_75"), None);
        assert_eq!(found("", "gfx942"), None);
        assert_eq!(found(" {unit_inner}", "gfx942"), is("gfx942", " {unit_inner}"));
        assert_eq!(found("", "cpu"), None);
    }

    #[test]
    fn what_is_no_archive_is_not_used() {
        register(b"not an archive", &[]);
    }
}
