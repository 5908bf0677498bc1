//! What a build script calls: compiles kernels and writes what `tegula::embed!()` takes into the program.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tegula_artifact::Entry;
use tegula_artifact::archive::{self, Archived};
use tegula_ir::Function;
use tegula_lang::kernel::{BuildOptions, Class, KernelInfo};

use crate::error::Error;
use crate::target::Target;

/// Kernels to embed, and the targets to compile them for.
#[derive(Clone, Debug)]
pub struct Embed {
    targets: Vec<String>,
    classes: Vec<Class>,
    kernels: Vec<(&'static KernelInfo, BuildOptions)>,
}

impl Default for Embed {
    fn default() -> Self {
        Self { targets: Vec::new(), classes: vec![Class::Any, Class::Aligned], kernels: Vec::new() }
    }
}

impl Embed {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds targets: GPU architectures such as `sm_90a` and `gfx942`, `cpu` for the processor that the program is built
    /// for (x86-64-v3), or `cpu:` and a level such as `x86-64-v4`. Of several levels the program takes the highest that
    /// the processor has.
    #[must_use]
    pub fn targets<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.targets.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Chooses the classes of arguments that each kernel is compiled for; without it [`Class::Any`], which every launch
    /// can use, and [`Class::Aligned`]. Without `Any`, launches with other arguments need the compiler.
    #[must_use]
    pub fn classes(mut self, classes: impl IntoIterator<Item = Class>) -> Self {
        self.classes = classes.into_iter().collect();
        self
    }

    /// Adds kernels with their default sizes, for all their element types. `tegula::kernel_list![a, b]` lists them.
    #[must_use]
    pub fn kernels(mut self, kernels: &[&'static KernelInfo]) -> Self {
        for info in kernels {
            self = self.kernel(info, [BuildOptions::default()]);
        }
        self
    }

    /// Adds a kernel with these sizes, warps and stages; where no element types are chosen, for all it has.
    #[must_use]
    pub fn kernel(mut self, info: &'static KernelInfo, options: impl IntoIterator<Item = BuildOptions>) -> Self {
        for options in options {
            if !options.types.is_empty() {
                self.kernels.push((info, options));
                continue;
            }
            for instance in (info.instances)() {
                let types = info.types.iter().zip(&instance.types).map(|(name, ty)| ((*name).to_owned(), *ty));
                self.kernels.push((info, BuildOptions { types: types.collect(), ..options.clone() }));
            }
        }
        self
    }

    /// Compiles, and writes into the build script's folder. What goes wrong is reported as cargo shows it, and ends the
    /// build.
    pub fn run(self) {
        if let Err(e) = self.write() {
            for line in e.to_string().lines() {
                println!("cargo::error={line}");
            }
            std::process::exit(1);
        }
    }

    /// As [`Self::run`], for build scripts that handle errors.
    ///
    /// # Errors
    /// If a kernel does not compile for a target, or files cannot be written.
    pub fn write(self) -> Result<(), Error> {
        let variable = |name| std::env::var(name).map_err(|_| Error::NotABuildScript(name));
        let (folder, triple) = (PathBuf::from(variable("OUT_DIR")?), variable("TARGET")?);
        let package = variable("CARGO_PKG_NAME")?;
        let mut kernels = self.compile(&triple)?;

        // Code for the CPU goes into a library that is linked into the program; what is left goes into the archive.
        let mut symbols = Vec::new();
        let mut objects = Vec::new();
        for kernel in &mut kernels {
            let Entry::Cpu(info) = &kernel.artifact.entry else { continue };
            let object = folder.join(format!("{}.o", info.symbol));
            write(&object, &std::mem::take(&mut kernel.artifact.code))?;
            objects.push(object);
            symbols.push(info.symbol.clone());
        }
        if !objects.is_empty() {
            let library = format!("tegula_kernels_{}", package.replace('-', "_"));
            let mut build = cc::Build::new();
            build.cargo_warnings(false).objects(&objects);
            build.try_compile(&library).map_err(|e| Error::Library(e.to_string()))?;
        }
        write(&folder.join("tegula.archive"), &archive::to_bytes(&kernels))?;
        write(&folder.join("tegula_embed.rs"), source(&symbols).as_bytes())
    }

    /// Compiles everything for everything, in parallel. Arguments that two classes promise the same of count once.
    fn compile(&self, triple: &str) -> Result<Vec<Archived>, Error> {
        let targets: Vec<Target> =
            self.targets.iter().map(|name| Target::by_name(name, triple)).collect::<Result<_, _>>()?;
        let mut jobs: Vec<(Function, &Target)> = Vec::new();
        for (info, options) in &self.kernels {
            for (name, target) in self.targets.iter().zip(&targets) {
                // The source may choose by its target.
                let options = options.clone().target(name);
                let plain = info.build(&options)?;
                for class in &self.classes {
                    let options = BuildOptions { specs: class.specs(&plain), ..options.clone() };
                    jobs.push((info.build(&options)?, target));
                }
            }
        }
        let mut kernels: Vec<Archived> =
            jobs.par_iter().map(|(function, target)| target.compile(function)).collect::<Result<_, _>>()?;
        let mut seen = std::collections::HashSet::new();
        kernels.retain(|k| {
            seen.insert((k.family.clone(), format!("{:?}", k.promises), k.level, k.artifact.target.clone()))
        });
        Ok(kernels)
    }
}

/// The expression that `tegula::embed!()` stands for: it names the kernels that are linked in, so that the linker keeps
/// them and they can be found.
fn source(symbols: &[String]) -> String {
    let mut text = String::from("{\n    use ::tegula::__private::embed::{KernelFn, LaunchContext, register};\n");
    if !symbols.is_empty() {
        text += "    unsafe extern \"C\" {\n";
        for symbol in symbols {
            let _ = writeln!(
                text,
                "        fn {symbol}(_: *const u64, _: *const LaunchContext, _: *const [i64; 3], _: *mut u8) -> i32;"
            );
        }
        text += "    }\n";
    }
    text += "    static CPU: &[(&str, KernelFn)] = &[\n";
    for symbol in symbols {
        let _ = writeln!(text, "        (\"{symbol}\", {symbol}),");
    }
    text += "    ];\n    register(include_bytes!(concat!(env!(\"OUT_DIR\"), \"/tegula.archive\")), CPU)\n}\n";
    text
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|error| Error::Io { path: path.into(), error })
}
