//! Modules: PTX text parsed, its variables placed in device memory, its kernels decoded when first used.

use super::decode;
use super::exec;
use super::exec::launch::lock;
use super::exec::memory::FUNCTION_WINDOW;
use super::model::Model;
use super::program::Kernel;
use super::syntax::ast::{self, Initial, Number};
use crate::error::{Error, Location, Result};
use crate::launch::{Launch, Outcome};
use crate::memory::{Fill, GlobalMemory};
use crate::trace::Tracer;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Where the module's variables lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    pub addresses: HashMap<String, u64>,
}

/// A parameter of a kernel, for those who launch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its offset among the parameters, in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Its alignment in bytes.
    pub align: u32,
}

/// What is known of a kernel before it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<Parameter>,
    /// Static shared memory in bytes.
    pub shared: u32,
    /// Local memory of a thread in bytes.
    pub local: u32,
    /// Registers declared (virtual ones, in units of 32 bits).
    pub registers: u32,
    /// `.reqntid`.
    pub required_block: Option<[u32; 3]>,
    /// `.maxntid`.
    pub max_block: Option<[u32; 3]>,
    /// `.reqnctapercluster`.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
    /// Instructions by mnemonic, how often each occurs, and whether the machine executes it.
    pub instructions: Vec<(String, u32, bool)>,
    /// What the machine does not execute, with its place.
    pub unsupported: Vec<Error>,
}

/// A PTX module loaded into a device's memory.
pub struct Module {
    syntax: ast::Module,
    image: Image,
    file: Option<String>,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Module({})", self.file.as_deref().unwrap_or("PTX"))
    }
}

impl Module {
    /// Parses PTX text, and allocates and fills the module's variables. `file` is shown in errors and findings.
    pub fn load(text: &str, file: Option<&str>, memory: &GlobalMemory) -> Result<Self> {
        let syntax = super::syntax::parse(text).map_err(|error| with_file(error, file))?;
        if syntax.address_size != 64 {
            return Err(Error::Parse {
                location: Location { file: file.map(str::to_owned), ..Location::text(1, 1) },
                message: "only modules with 64-bit addresses (.address_size 64) are supported".into(),
            });
        }
        let image = place_variables(&syntax, file, memory)?;
        Ok(Self { syntax, image, file: file.map(str::to_owned), kernels: Mutex::default() })
    }

    /// The target that the module was compiled for.
    pub fn target(&self) -> &str {
        &self.syntax.target
    }

    /// The PTX version of the text.
    pub fn version(&self) -> (u32, u32) {
        self.syntax.version
    }

    /// The names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.syntax.functions.iter().filter(|f| f.entry && f.body.is_some()).map(|f| f.name.as_str())
    }

    /// The address of a variable.
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.image.addresses.get(name).copied()
    }

    /// Frees the module's variables.
    pub fn unload(&self, memory: &GlobalMemory) -> Result<()> {
        self.image.addresses.values().try_for_each(|&address| memory.free(address))
    }

    /// Decodes a kernel, if that has not been done: after this its launches cannot fail on an unsupported instruction.
    pub fn prepare(&self, name: &str) -> Result<KernelInfo> {
        let kernel = self.kernel(name)?;
        Ok(describe(&kernel, Vec::new()))
    }

    /// What is known of a kernel, unsupported instructions included.
    pub fn survey(&self, name: &str) -> Result<KernelInfo> {
        let (kernel, unsupported) = decode::survey(&self.syntax, &self.image, self.file.as_deref(), name)?;
        Ok(describe(&kernel, unsupported))
    }

    fn kernel(&self, name: &str) -> Result<Arc<Kernel>> {
        if let Some(kernel) = lock(&self.kernels).get(name) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(decode::kernel(&self.syntax, &self.image, self.file.as_deref(), name)?);
        lock(&self.kernels).insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }

    /// Runs a kernel on the model that the module's target stands for.
    pub fn launch(&self, memory: &GlobalMemory, launch: &Launch) -> Result<Outcome> {
        let (result, outcome) = self.launch_on(memory, launch, &Model::for_target(self.target()), None);
        result.map(|()| outcome)
    }

    /// Runs a kernel on a model of device, traced or not. When it fails, the outcome tells what was found and printed before.
    pub fn launch_on(
        &self,
        memory: &GlobalMemory,
        launch: &Launch,
        model: &Model,
        trace: Option<&Tracer<'_>>,
    ) -> (Result<()>, Outcome) {
        match self.kernel(&launch.entry) {
            Ok(kernel) => exec::launch::run(&kernel, self.file.as_deref(), memory, launch, model, trace),
            Err(error) => (Err(error), Outcome::default()),
        }
    }
}

/// The opcode with its modifiers, of an instruction's text.
fn mnemonic(text: &str) -> &str {
    let text = text.strip_prefix('@').and_then(|text| text.split_once(' ')).map_or(text, |(_, rest)| rest);
    text.split(' ').next().unwrap_or_default()
}

fn describe(kernel: &Kernel, unsupported: Vec<Error>) -> KernelInfo {
    let mut counts: HashMap<&str, (u32, bool)> = HashMap::new();
    for info in &kernel.infos {
        counts.entry(mnemonic(&info.text)).or_insert((0, true)).0 += 1;
    }
    for error in &unsupported {
        if let Error::Unsupported { instruction, .. } = error
            && let Some((_, supported)) = counts.get_mut(mnemonic(instruction))
        {
            *supported = false;
        }
    }
    let mut instructions: Vec<_> = counts.into_iter().map(|(name, (count, ok))| (name.to_owned(), count, ok)).collect();
    instructions.sort();
    let parameter =
        |p: &super::program::Param| Parameter { name: p.name.clone(), offset: p.offset, size: p.size, align: p.align };
    KernelInfo {
        name: kernel.name.clone(),
        params: kernel.params.iter().map(parameter).collect(),
        shared: kernel.shared_static,
        local: kernel.local_bytes,
        registers: kernel.declared_registers,
        required_block: kernel.reqntid,
        max_block: kernel.maxntid,
        required_cluster: kernel.reqnctapercluster,
        max_registers: kernel.maxnreg,
        instructions,
        unsupported,
    }
}

fn with_file(error: Error, file: Option<&str>) -> Error {
    match error {
        Error::Parse { mut location, message } => {
            location.file = file.map(str::to_owned);
            Error::Parse { location, message }
        }
        other => other,
    }
}

/// Allocates the module's global and constant variables, then fills them: initial values may be addresses of others.
fn place_variables(module: &ast::Module, file: Option<&str>, memory: &GlobalMemory) -> Result<Image> {
    let mut image = Image::default();
    let stored: Vec<_> = module.variables.iter().filter(|v| matches!(v.space.as_str(), "global" | "const")).collect();
    let located = |variable: &ast::Variable, message: String| {
        let position = variable.position;
        let location = Location { file: file.map(str::to_owned), ..Location::text(position.line, position.column) };
        Error::Parse { location, message }
    };
    // Definitions first: a declaration need not know the size, and both may be there, also more than once (`.weak`, `.common`).
    let (declared, defined): (Vec<&ast::Variable>, Vec<_>) = stored.iter().partition(|variable| variable.external);
    for variable in defined.into_iter().chain(declared) {
        let (size, _) = decode::layout(variable).map_err(|message| located(variable, message))?;
        if image.addresses.contains_key(&variable.name) {
            continue;
        }
        let address = memory.allocate(&variable.name, size, Fill::Zero)?;
        image.addresses.insert(variable.name.clone(), address);
    }
    for variable in &stored {
        if variable.initial.is_empty() {
            continue;
        }
        let (size, _) = decode::layout(variable).map_err(|message| located(variable, message))?;
        let mut bytes = Vec::with_capacity(size as usize);
        let width = decode::Ty::parse(&variable.ty).map_or(1, decode::Ty::bytes) as usize;
        for initial in &variable.initial {
            let address = |name: &str, offset: i64| -> Result<u64> {
                let function = || module.function_number(name);
                let base = image.addresses.get(name).copied();
                let base = base.or_else(|| function().map(|index| FUNCTION_WINDOW + index as u64 * 16));
                let base = base.ok_or_else(|| located(variable, format!("`{name}` is not declared")))?;
                Ok(base.wrapping_add(offset as u64))
            };
            let value = match initial {
                Initial::Number(Number::Integer(value)) if variable.ty == "f32" => u64::from((*value as f32).to_bits()),
                Initial::Number(Number::Integer(value)) if variable.ty == "f64" => (*value as f64).to_bits(),
                Initial::Number(Number::Integer(value)) => *value as u64,
                Initial::Number(Number::Single(bits)) if width == 8 => f64::from(f32::from_bits(*bits)).to_bits(),
                Initial::Number(Number::Single(bits)) => (*bits).into(),
                Initial::Number(Number::Double(value)) if width == 4 => u64::from((*value as f32).to_bits()),
                Initial::Number(Number::Double(value)) => value.to_bits(),
                Initial::Address { name, offset } => address(name, *offset)?,
                Initial::MaskedAddress { mask, name, offset } => {
                    let shift = mask.trailing_zeros().min(63);
                    (address(name, *offset)? & mask) >> shift
                }
            };
            bytes.extend_from_slice(&value.to_le_bytes()[..width.min(8)]);
        }
        if bytes.len() as u64 > size {
            return Err(located(variable, format!("{} bytes of initial values for {size} bytes", bytes.len())));
        }
        memory.write(image.addresses[&variable.name], &bytes)?;
    }
    Ok(image)
}
