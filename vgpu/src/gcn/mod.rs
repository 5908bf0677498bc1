//! The AMD machine: executes the machine code in a code object, as a GPU of its architecture would.
//!
//! ```text
//! code object -> elf, metadata, descriptor, lines -> CodeObject
//!             -> decode (tables by architecture)  -> Program: instructions with handlers
//! launch      -> kernarg, registers               -> workgroups on threads -> sched -> exec
//! ```
//!
//! ```no_run
//! use tegula_vgpu::gcn::Module;
//! use tegula_vgpu::launch::{Argument, Launch};
//! use tegula_vgpu::memory::{Fill, GlobalMemory};
//! # fn main() -> tegula_vgpu::error::Result<()> {
//! # let bytes = Vec::new();
//! let memory = GlobalMemory::default();
//! let out = memory.allocate("out", 4096, Fill::Poison)?;
//! let module = Module::load(&bytes)?;
//! let launch = Launch::new("fill").grid([4, 1, 1]).block([256, 1, 1]).arg(Argument::pointer(out));
//! let outcome = module.launch(&launch, &memory)?;
//! assert!(outcome.is_clean());
//! # Ok(())
//! # }
//! ```

pub mod arch;
mod decode;
pub mod descriptor;
pub mod elf;
mod exec;
mod inst;
pub mod isa;
mod launch;
pub mod lines;
pub mod metadata;
pub mod printf;
mod program;
mod sched;
mod text;
mod trace;

use crate::error::{Error, Result};
use crate::launch::{Launch, Outcome};
use crate::memory::{Fill, GlobalMemory};
use crate::trace::Tracer;
use elf::{CodeObject, ElfKernel};
use program::Program;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

pub use arch::Arch;

/// A loaded code object.
pub struct Module {
    object: CodeObject,
    /// Decoded for waves of 64, and of 32.
    programs: [OnceLock<Program>; 2],
    /// Where the image lies in each memory that kernels were launched with, by the memory's own address.
    images: Mutex<HashMap<usize, u64>>,
}

/// An instruction in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where it stands in the image.
    pub address: u64,
    /// Its size.
    pub bytes: u32,
    /// What it is called.
    pub mnemonic: &'static str,
    /// Its text, close to the assembler's.
    pub text: String,
    /// Whether this machine executes it.
    pub supported: bool,
}

/// A kernel of a module.
#[derive(Clone, Copy)]
pub struct Kernel<'a> {
    module: &'a Module,
    kernel: &'a ElfKernel,
}

impl Module {
    /// Reads a code object.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        Ok(Self { object: CodeObject::parse(bytes)?, programs: Default::default(), images: Mutex::default() })
    }

    /// The processor that it is for.
    pub fn arch(&self) -> Arch {
        self.object.arch
    }

    /// The code object's parts.
    pub fn object(&self) -> &CodeObject {
        &self.object
    }

    /// Its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel<'_>> {
        self.object.kernels.iter().map(|kernel| Kernel { module: self, kernel })
    }

    /// The kernel with a name.
    pub fn kernel(&self, name: &str) -> Result<Kernel<'_>> {
        self.kernels().find(|kernel| kernel.name() == name).ok_or_else(|| {
            let names: Vec<_> = self.kernels().map(|kernel| format!("`{}`", kernel.name())).collect();
            Error::BadLaunch(format!("no kernel `{name}`; the module has {}", names.join(", ")))
        })
    }

    /// Runs a kernel to its end.
    pub fn launch(&self, launch: &Launch, memory: &GlobalMemory) -> Result<Outcome> {
        self.kernel(&launch.entry)?.launch(launch, memory)
    }

    /// Runs a kernel, traced or not. When it fails, the outcome tells what was found and printed before.
    pub fn launch_on(
        &self,
        launch: &Launch,
        memory: &GlobalMemory,
        trace: Option<&Tracer<'_>>,
    ) -> (Result<()>, Outcome) {
        match self.kernel(&launch.entry) {
            Ok(kernel) => kernel.launch_on(launch, memory, trace),
            Err(error) => (Err(error), Outcome::default()),
        }
    }

    /// The address of a global variable in a memory, and its size.
    pub fn global(&self, name: &str, memory: &GlobalMemory) -> Result<(u64, u64)> {
        let &(offset, size) =
            self.object.globals.get(name).ok_or_else(|| Error::Memory(format!("no global variable `{name}`")))?;
        Ok((self.image(memory)? + offset, size))
    }

    /// Frees the image that launches put into a memory.
    pub fn unload(&self, memory: &GlobalMemory) -> Result<()> {
        let key = std::ptr::from_ref(memory) as usize;
        let image = self.images.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&key);
        image.map_or(Ok(()), |address| memory.free(address))
    }

    fn program(&self, wave32: bool) -> &Program {
        self.programs[usize::from(wave32)].get_or_init(|| Program::decode(&self.object, wave32))
    }

    /// Puts the image into a memory, once.
    fn image(&self, memory: &GlobalMemory) -> Result<u64> {
        let key = std::ptr::from_ref(memory) as usize;
        let mut images = self.images.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(&address) = images.get(&key) {
            // A memory made later may stand where an earlier one stood: then the image is not in it.
            let mut first = [0; 4];
            if memory.read(address, &mut first).is_ok() && self.object.image.starts_with(&first) {
                return Ok(address);
            }
        }
        let address = memory.allocate("code object", self.object.image.len() as u64, Fill::Zero)?;
        memory.write(address, &self.object.image)?;
        for relocation in &self.object.relocations {
            let target = address.wrapping_add(relocation.target);
            memory.write(address + relocation.offset, &target.to_le_bytes())?;
        }
        images.insert(key, address);
        Ok(address)
    }
}

impl Kernel<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.kernel.info.name
    }

    /// What the metadata says about it.
    pub fn info(&self) -> &metadata::KernelInfo {
        &self.kernel.info
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> &descriptor::KernelDescriptor {
        &self.kernel.descriptor
    }

    /// The instructions that this machine cannot execute; empty when all are supported.
    pub fn unsupported(&self) -> Vec<Error> {
        let functions = &self.module.object.functions;
        let entry = self.kernel.entry;
        let end = functions.iter().map(|&(address, _)| address).find(|&address| address > entry).unwrap_or(u64::MAX);
        self.module.program(self.kernel.descriptor.wave32).unsupported(entry, end)
    }

    /// Its instructions by address, up to the next function.
    pub fn listing(&self) -> impl Iterator<Item = Listed> + '_ {
        let entry = self.kernel.entry;
        let end = self.module.object.functions.iter().map(|&(address, _)| address).find(|&address| address > entry);
        let program = self.module.program(self.kernel.descriptor.wave32);
        let first = program.at(entry).unwrap_or(program.insts.len());
        program.insts[first..].iter().take_while(move |inst| end.is_none_or(|end| u64::from(inst.pc) < end)).map(
            |inst| Listed {
                address: u64::from(inst.pc),
                bytes: inst.size,
                mnemonic: inst.name,
                text: text::instruction(inst),
                supported: inst.supported,
            },
        )
    }

    /// Its mnemonics with how often each occurs, and whether this machine executes it. A kernel that calls functions is listed with the
    /// whole module.
    pub fn mnemonics(&self) -> Vec<(&'static str, usize, bool)> {
        let program = self.module.program(self.kernel.descriptor.wave32);
        let mut counts: HashMap<&'static str, (usize, bool)> = HashMap::new();
        let mut count = |name, supported| counts.entry(name).or_insert((0, supported)).0 += 1;
        if self.listing().any(|inst| matches!(inst.mnemonic, "s_swappc_b64" | "s_call_b64" | "s_setpc_b64")) {
            program.insts.iter().for_each(|inst| count(inst.name, inst.supported));
        } else {
            self.listing().for_each(|inst| count(inst.mnemonic, inst.supported));
        }
        let mut all: Vec<_> = counts.into_iter().map(|(name, (count, supported))| (name, count, supported)).collect();
        all.sort_unstable();
        all
    }

    /// Runs it to its end. The launch's entry is not looked at.
    pub fn launch(&self, launch: &Launch, memory: &GlobalMemory) -> Result<Outcome> {
        let (result, outcome) = self.launch_on(launch, memory, None);
        result.map(|()| outcome)
    }

    /// Runs it, traced or not. When it fails, the outcome tells what was found and printed before.
    pub fn launch_on(
        &self,
        launch: &Launch,
        memory: &GlobalMemory,
        trace: Option<&Tracer<'_>>,
    ) -> (Result<()>, Outcome) {
        let image = match self.module.image(memory) {
            Ok(image) => image,
            Err(error) => return (Err(error), Outcome::default()),
        };
        let program = self.module.program(self.kernel.descriptor.wave32);
        launch::run(&self.module.object, program, self.kernel, image, launch, memory, trace)
    }
}
