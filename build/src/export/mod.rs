//! Code with a header and a launcher in C, for hosts in other languages.
//!
//! | file | what |
//! |---|---|
//! | `tegula.h` | the types that all exported kernels share |
//! | `NAME.h`, `NAME.c` | a function for each kind of device; the code for GPUs is in there |
//! | `NAME.o` | the code for the CPU |
//! | `NAME.ARCH.ptx`, `NAME.ARCH.co` | the code for GPUs, for hosts that launch it by themselves |
//! | `NAME.hipfb` | the code of all AMD architectures, of which HIP takes what is for its device |
//! | `NAME.fatbin` | the code of all NVIDIA architectures, where NVIDIA's tool `fatbinary` is found |

mod bundle;
mod c;
mod fatbin;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tegula_artifact::archive::Archived;
use tegula_artifact::{Entry, Format};
use tegula_ir::Function;

use crate::error::Error;
use crate::target::Target;

/// A file of an export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Compiles a function for targets and gives the files for hosts in C. `name` is that of the functions; what the
/// function's parameters promise of the arguments is checked at each launch. A target that is there twice counts once.
///
/// # Errors
/// If the kernel does not compile for a target, or cannot be exported: the name is no identifier, two of the targets are
/// levels of processors, or the kernel prints.
pub fn export(name: &str, function: &Function, targets: &[Target]) -> Result<Vec<File>, Error> {
    let failed = |message: String| Error::Export { kernel: function.name.clone(), message };
    let identifier = !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !identifier {
        return Err(failed(format!("`{name}` is not a name in C")));
    }
    let mut named = HashSet::new();
    let targets: Vec<&Target> = targets.iter().filter(|t| named.insert(t.name())).collect();
    if targets.iter().filter(|t| matches!(t, Target::Cpu { .. })).count() > 1 {
        return Err(failed("choose one level of processors".into()));
    }
    let compiled: Vec<Archived> = targets.iter().map(|t| t.compile(function)).collect::<Result<_, _>>()?;
    let mut files = vec![
        File { name: "tegula.h".into(), bytes: c::COMMON_HEADER.as_bytes().to_vec() },
        File { name: format!("{name}.h"), bytes: c::header(name, function, &compiled).into_bytes() },
        File { name: format!("{name}.c"), bytes: c::launcher(name, function, &compiled).map_err(failed)?.into_bytes() },
    ];
    let of = |format: Format| -> Vec<(&str, &[u8])> {
        let kernels = compiled.iter().map(|k| &k.artifact).filter(|a| a.format == format);
        kernels.map(|a| (a.target.as_str(), &a.code[..])).collect()
    };
    let (ptx, objects) = (of(Format::Ptx), of(Format::CodeObject));
    if !objects.is_empty() {
        files.push(File { name: format!("{name}.hipfb"), bytes: bundle::bundle(&objects) });
    }
    if !ptx.is_empty()
        && let Some(bytes) = fatbin::fatbin(&ptx).map_err(failed)?
    {
        files.push(File { name: format!("{name}.fatbin"), bytes });
    }
    for kernel in compiled {
        let target = &kernel.artifact.target;
        let file = match (&kernel.artifact.entry, kernel.artifact.format) {
            (Entry::Cpu(_), _) => format!("{name}.o"),
            (Entry::Gpu(_), Format::Ptx) => format!("{name}.{target}.ptx"),
            (Entry::Gpu(_), _) => format!("{name}.{target}.co"),
        };
        files.push(File { name: file, bytes: kernel.artifact.code });
    }
    Ok(files)
}

/// Writes files into a folder, which is made if it is not there; gives their paths.
///
/// # Errors
/// If one cannot be written.
pub fn write(folder: &Path, files: &[File]) -> Result<Vec<PathBuf>, Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| Error::Io { path, error }
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    files
        .iter()
        .map(|file| {
            let path = folder.join(&file.name);
            std::fs::write(&path, &file.bytes).map_err(failed(&path))?;
            Ok(path)
        })
        .collect()
}
