//! From the syntax tree to a [`Kernel`]: names become slots and addresses, instructions dense operations.
//!
//! Functions that a kernel calls are decoded behind it into the same code, each with registers of its own.

mod modifiers;
mod operands;
mod requirements;
mod symbols;
mod types;

pub(crate) use modifiers::Modifiers;
pub(crate) use operands::{AddressBase, AddressOperand};
pub(crate) use symbols::{Space, Symbol, layout};
pub(crate) use types::Ty;

use super::isa;
use super::module::Image;
use super::program::{File, FunctionRange, Inst, InstInfo, Kernel, NONE, Param, Passed, Register, Special};
use super::syntax::ast::{self, Function, Instruction, Position, Statement};
use crate::counters::Class;
use crate::error::{Error, Location, Result};
use crate::finding::SourceLine;
use std::collections::{HashMap, HashSet};

/// Static shared memory larger than this is refused: no device has it.
const MAX_SHARED: u64 = 1 << 22;
/// Local memory of a thread larger than this is refused, as by the hardware.
const MAX_LOCAL: u64 = 512 << 10;
/// Local memory for what kernels allocate while they run (`alloca`).
const STACK: u32 = 16 << 10;

/// A lexical scope: a block of a function.
struct Scope {
    parent: Option<usize>,
    names: HashMap<String, Symbol>,
}

/// An instruction with the scope and source line it stands in.
struct Flat<'m> {
    instruction: &'m Instruction,
    scope: usize,
    source: Option<(u32, u32, u32)>,
}

/// Decodes one kernel.
pub(crate) struct Decoder<'m> {
    module: &'m ast::Module,
    image: &'m Image,
    file: Option<&'m str>,
    kernel: Kernel,
    scopes: Vec<Scope>,
    scope: usize,
    words: HashMap<u32, u32>,
    doubles: HashMap<u64, u32>,
    predicates: HashMap<bool, u32>,
    specials: HashMap<Special, u32>,
    sources: HashMap<(u32, u32, u32), u32>,
    shared: HashMap<String, u32>,
    /// Functions met so far, by name: their index in the kernel.
    functions: HashMap<String, u32>,
    queue: Vec<&'m Function>,
    reads: Vec<Register>,
    writes: Vec<Register>,
    /// Sizes of the variables in call-parameter memory, by offset.
    call_params: HashMap<u64, u32>,
    position: Position,
    text: String,
    /// Collects unsupported instructions; none to stop at the first.
    unsupported: Option<Vec<Error>>,
}

/// Decodes the kernel called `name`; the first unsupported instruction is an error.
pub(crate) fn kernel(module: &ast::Module, image: &Image, file: Option<&str>, name: &str) -> Result<Kernel> {
    decode(module, image, file, name, None).map(|(kernel, _)| kernel)
}

/// Decodes the kernel called `name`, and lists the unsupported instructions.
pub(crate) fn survey(
    module: &ast::Module,
    image: &Image,
    file: Option<&str>,
    name: &str,
) -> Result<(Kernel, Vec<Error>)> {
    decode(module, image, file, name, Some(Vec::new()))
}

fn decode(
    module: &ast::Module,
    image: &Image,
    file: Option<&str>,
    name: &str,
    unsupported: Option<Vec<Error>>,
) -> Result<(Kernel, Vec<Error>)> {
    let Some(function) = module.functions.iter().find(|f| f.entry && f.name == name && f.body.is_some()) else {
        let names: Vec<_> = module.functions.iter().filter(|f| f.entry).map(|f| f.name.as_str()).collect();
        return Err(Error::BadLaunch(format!("no kernel `{name}` in the module; it has: {}", names.join(", "))));
    };
    let mut decoder = Decoder::new(module, image, file, function);
    decoder.unsupported = unsupported;
    decoder.entry_params(function)?;
    decoder.register_function(function);
    while let Some(function) = decoder.queue.pop() {
        decoder.function(function)?;
    }
    let unsupported = decoder.unsupported.take().unwrap_or_default();
    Ok((decoder.finish(), unsupported))
}

impl<'m> Decoder<'m> {
    fn new(module: &'m ast::Module, image: &'m Image, file: Option<&'m str>, function: &Function) -> Self {
        let directive = |name: &str| function.directives.iter().find(|(n, _)| n == name).map(|(_, values)| values);
        let extent = |name: &str| {
            directive(name).map(|values| {
                let at = |i: usize| values.get(i).map_or(1, |&v| v.min(u64::from(u32::MAX)) as u32);
                [at(0), at(1), at(2)]
            })
        };
        let kernel = Kernel {
            has_readers: false,
            name: function.name.clone(),
            insts: Vec::new(),
            infos: Vec::new(),
            sources: Vec::new(),
            functions: Vec::new(),
            pointers: Vec::new(),
            words: 0,
            doubles: 0,
            predicates: 0,
            constant_words: Vec::new(),
            constant_doubles: Vec::new(),
            constant_predicates: Vec::new(),
            specials: Vec::new(),
            defined: Vec::new(),
            params: Vec::new(),
            param_bytes: 0,
            shared_static: 0,
            shared_names: Vec::new(),
            local_bytes: 0,
            call_param_bytes: 0,
            stack: NONE,
            stack_start: 0,
            reqntid: extent("reqntid"),
            maxntid: extent("maxntid"),
            maxnreg: directive("maxnreg").and_then(|v| v.first()).map(|&n| n.min(255) as u32),
            reqnctapercluster: extent("reqnctapercluster"),
            declared_registers: 0,
        };
        Self {
            module,
            image,
            file,
            kernel,
            scopes: Vec::new(),
            scope: 0,
            words: HashMap::new(),
            doubles: HashMap::new(),
            predicates: HashMap::new(),
            specials: HashMap::new(),
            sources: HashMap::new(),
            shared: HashMap::new(),
            functions: HashMap::new(),
            queue: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            call_params: HashMap::new(),
            position: Position::default(),
            text: String::new(),
            unsupported: None,
        }
    }

    fn finish(self) -> Kernel {
        let mut kernel = self.kernel;
        let named = self.module.functions.iter().filter(|f| !f.entry);
        kernel.pointers = named.map(|f| self.functions.get(&f.name).copied().unwrap_or(NONE)).collect();
        if kernel.stack != NONE {
            kernel.stack_start = kernel.local_bytes.next_multiple_of(16);
            kernel.local_bytes = kernel.stack_start + STACK;
            kernel.defined.push(Register { file: File::Double, slot: kernel.stack });
        }
        let constants = kernel.constant_words.iter().map(|&(slot, _)| Register { file: File::Word, slot });
        let doubles = kernel.constant_doubles.iter().map(|&(slot, _)| Register { file: File::Double, slot });
        let predicates = kernel.constant_predicates.iter().map(|&(slot, _)| Register { file: File::Predicate, slot });
        let specials = kernel.specials.iter().map(|&(_, register)| register);
        let defined: Vec<_> = constants.chain(doubles).chain(predicates).chain(specials).collect();
        kernel.defined.extend(defined);
        // Results of functions are read when they return.
        let results = kernel.functions.iter().flat_map(|f| &f.returns).flat_map(|passed| passed.registers());
        let read: HashSet<Register> =
            kernel.infos.iter().flat_map(|info| info.reads.iter().copied()).chain(results).collect();
        for inst in &mut kernel.insts {
            if let isa::Op::Load(load) = &mut inst.op {
                load.forget_unread(|register| read.contains(&register));
            }
        }
        kernel
    }

    fn entry_params(&mut self, function: &Function) -> Result<()> {
        let mut offset = 0_u64;
        for param in &function.params {
            let (size, align) = self.layout(param)?;
            offset = offset.next_multiple_of(align);
            self.kernel.params.push(Param {
                name: param.name.clone(),
                offset: offset as u32,
                size: size as u32,
                align: align as u32,
            });
            offset += size;
            if offset > 32 << 10 {
                return Err(self.at(param.position, "the parameters are larger than the 32764 bytes a kernel can have"));
            }
        }
        self.kernel.param_bytes = offset as u32;
        Ok(())
    }

    /// Size and alignment of a variable.
    fn layout(&self, variable: &ast::Variable) -> Result<(u64, u64)> {
        symbols::layout(variable).map_err(|message| self.at(variable.position, message))
    }

    /// An error at a position.
    fn at(&self, position: Position, message: impl Into<String>) -> Error {
        Error::Parse { location: self.location(position), message: message.into() }
    }

    fn location(&self, position: Position) -> Location {
        Location { file: self.file.map(str::to_owned), ..Location::text(position.line, position.column) }
    }

    /// The PTX version of the module.
    pub fn version(&self) -> (u32, u32) {
        self.module.version
    }

    /// An error about the current instruction, which is wrong.
    pub fn bad(&self, message: impl std::fmt::Display) -> Error {
        self.at(self.position, format!("`{}`: {message}", self.text))
    }

    /// The current instruction is right, but not supported.
    pub fn unsupported(&self, reason: impl Into<String>) -> Error {
        Error::Unsupported {
            instruction: self.text.clone(),
            location: self.location(self.position),
            reason: reason.into(),
        }
    }

    /// The current instruction exists only on architectures from one on that the machine does not model.
    pub fn requires(&self, architecture: &str, what: &str) -> Error {
        self.unsupported(format!("{what}: this needs {architecture}, and the machine has sm_80 to sm_90a"))
    }

    /// The index of a function in the kernel; it will be decoded.
    fn register_function(&mut self, function: &'m Function) -> u32 {
        if let Some(&index) = self.functions.get(&function.name) {
            return index;
        }
        let index = self.kernel.functions.len() as u32;
        self.functions.insert(function.name.clone(), index);
        self.kernel.functions.push(FunctionRange {
            name: function.name.clone(),
            entry: NONE,
            words: 0..0,
            doubles: 0..0,
            predicates: 0..0,
            params: Vec::new(),
            returns: Vec::new(),
            locals: 0..0,
            call_params: 0..0,
        });
        if function.body.is_some() {
            self.queue.push(function);
        }
        index
    }

    /// Decodes a function's body behind the code so far.
    fn function(&mut self, function: &'m Function) -> Result<()> {
        let index = self.functions[&function.name] as usize;
        let entry = self.kernel.insts.len() as u32;
        let before = (self.kernel.words, self.kernel.doubles, self.kernel.predicates);
        let locals = self.kernel.local_bytes;
        let call_params = self.kernel.call_param_bytes;
        self.scopes.clear();
        self.scopes.push(Scope { parent: None, names: HashMap::new() });
        if function.entry {
            for (number, param) in function.params.iter().enumerate() {
                let address = u64::from(self.kernel.params[number].offset);
                self.scopes[0].names.insert(param.name.clone(), Symbol::Variable { space: Space::EntryParam, address });
            }
        } else {
            let mut ranges = [Vec::new(), Vec::new()];
            for (list, range) in [&function.params, &function.returns].into_iter().zip(&mut ranges) {
                for param in list {
                    range.push(self.formal(param)?);
                }
            }
            let [params, returns] = ranges;
            self.kernel.functions[index].params = params;
            self.kernel.functions[index].returns = returns;
        }
        let mut flat = Vec::new();
        let body = function.body.as_deref().unwrap_or_default();
        let mut source = None;
        self.flatten(body, 0, entry, &mut source, &mut flat)?;
        for name in &function.implicit_definitions {
            if let Some(Symbol::Register { register, .. }) = self.scopes[0].names.get(name) {
                self.kernel.defined.push(*register);
            }
        }
        let declared = (self.kernel.words - before.0) + 2 * (self.kernel.doubles - before.1);
        self.kernel.declared_registers = self.kernel.declared_registers.max(declared);
        for item in &flat {
            self.instruction(item)?;
        }
        // Falling off the end returns.
        if !self.kernel.infos.last().is_some_and(|info| matches!(info.opcode.as_str(), "ret" | "exit" | "bra" | "trap"))
            || flat.is_empty()
        {
            let ret = Instruction {
                position: function.position,
                guard: None,
                opcode: "ret".into(),
                modifiers: Vec::new(),
                operands: Vec::new(),
            };
            self.decode(&ret, 0, None)?;
        }
        self.forget_padding(entry as usize);
        let range = &mut self.kernel.functions[index];
        range.entry = entry;
        range.words = before.0..self.kernel.words;
        range.doubles = before.1..self.kernel.doubles;
        range.predicates = before.2..self.kernel.predicates;
        range.locals = locals..self.kernel.local_bytes;
        range.call_params = call_params..self.kernel.call_param_bytes;
        Ok(())
    }

    /// Compilers pack vectors, of which some elements do not exist, from registers that nothing in the function writes. Such a register
    /// is padding; to pack it is no mistake.
    fn forget_padding(&mut self, entry: usize) {
        let infos = &mut self.kernel.infos[entry..];
        let written: HashSet<Register> = infos.iter().flat_map(|info| info.writes.iter().copied()).collect();
        let packs = |info: &InstInfo| info.opcode == "prmt" || (info.opcode == "mov" && info.reads.len() > 1);
        for info in infos.iter_mut().filter(|info| packs(info)) {
            info.reads = info.reads.iter().copied().filter(|register| written.contains(register)).collect();
        }
    }

    /// Declares what a block declares, and lists its instructions. Labels get the addresses that the instructions will have.
    fn flatten(
        &mut self,
        statements: &'m [Statement],
        scope: usize,
        base: u32,
        source: &mut Option<(u32, u32, u32)>,
        flat: &mut Vec<Flat<'m>>,
    ) -> Result<()> {
        for statement in statements {
            match statement {
                Statement::Label(name, position) => {
                    let target = Symbol::Label(base + flat.len() as u32);
                    if self.scopes[scope].names.insert(name.clone(), target).is_some() {
                        return Err(self.at(*position, format!("`{name}` is defined twice")));
                    }
                }
                Statement::Block(inner) => {
                    let index = self.scopes.len();
                    self.scopes.push(Scope { parent: Some(scope), names: HashMap::new() });
                    self.flatten(inner, index, base, source, flat)?;
                }
                Statement::Variable(variable) => self.declare(variable, scope)?,
                Statement::RegisterRange { ty, prefix, count } => {
                    for number in 0..*count {
                        let symbol = self.register(ty, Position::default())?;
                        self.scopes[scope].names.insert(format!("{prefix}{number}"), symbol);
                    }
                }
                Statement::Source { file, line, column } => *source = Some((*file, *line, *column)),
                Statement::BranchTargets(name, targets) => {
                    self.scopes[scope].names.insert(name.clone(), Symbol::Targets(targets.clone().into()));
                }
                Statement::CallPrototype(name) => {
                    self.scopes[scope].names.insert(name.clone(), Symbol::Prototype);
                }
                Statement::Instruction(instruction) => flat.push(Flat { instruction, scope, source: *source }),
            }
        }
        Ok(())
    }

    fn declare(&mut self, variable: &ast::Variable, scope: usize) -> Result<()> {
        let symbol = match variable.space.as_str() {
            "reg" => self.register(&variable.ty, variable.position)?,
            "shared" => self.shared_variable(variable)?,
            "local" => {
                let (size, align) = self.layout(variable)?;
                let address = u64::from(self.kernel.local_bytes).next_multiple_of(align);
                if address + size > MAX_LOCAL {
                    return Err(self.at(variable.position, "more local memory than a thread can have"));
                }
                self.kernel.local_bytes = (address + size) as u32;
                Symbol::Variable { space: Space::Local, address }
            }
            "param" => {
                let offset = self.call_param(variable)?;
                self.scopes[scope].names.insert(
                    variable.name.clone(),
                    Symbol::Variable { space: Space::CallParam, address: offset.into() },
                );
                return Ok(());
            }
            space => {
                // Function-level constants and globals live with the module's.
                return Err(
                    self.at(variable.position, format!("a `.{space}` variable cannot be declared in a function"))
                );
            }
        };
        self.scopes[scope].names.insert(variable.name.clone(), symbol);
        Ok(())
    }

    /// Declares a formal parameter or result of a function: a register or a variable.
    fn formal(&mut self, param: &ast::Variable) -> Result<Passed> {
        if param.space != "reg" {
            let (size, _) = self.layout(param)?;
            return Ok(Passed::Memory { offset: self.call_param(param)?, size: size as u32 });
        }
        let symbol = self.register(&param.ty, param.position)?;
        self.scopes[0].names.insert(param.name.clone(), symbol.clone());
        match symbol {
            Symbol::Register { register, bits } => Ok(Passed::Register { register, bits }),
            _ => Err(self.at(param.position, "this is not a register")),
        }
    }

    /// Allocates a variable in call-parameter memory.
    fn call_param(&mut self, variable: &ast::Variable) -> Result<u32> {
        let (size, align) = self.layout(variable)?;
        let offset = u64::from(self.kernel.call_param_bytes).next_multiple_of(align.max(8));
        if offset + size > MAX_LOCAL {
            return Err(self.at(variable.position, "parameters of calls are too large"));
        }
        self.kernel.call_param_bytes = (offset + size) as u32;
        self.call_params.insert(offset, size as u32);
        let symbol = Symbol::Variable { space: Space::CallParam, address: offset };
        if let Some(scope) = self.scopes.first_mut() {
            scope.names.entry(variable.name.clone()).or_insert(symbol);
        }
        Ok(offset as u32)
    }

    /// The address of a shared variable, allocated when first met. One without a size is the dynamic shared memory, behind the rest.
    fn shared_variable(&mut self, variable: &ast::Variable) -> Result<Symbol> {
        let (size, align) = self.layout(variable)?;
        if variable.external || variable.elements == Some(0) {
            return Ok(Symbol::DynamicShared);
        }
        if let Some(&address) = self.shared.get(&variable.name) {
            return Ok(Symbol::Variable { space: Space::Shared, address: address.into() });
        }
        let address = u64::from(self.kernel.shared_static).next_multiple_of(align);
        if address + size > MAX_SHARED {
            return Err(self.at(variable.position, "more shared memory than any device has"));
        }
        self.kernel.shared_static = (address + size) as u32;
        self.kernel.shared_names.push((variable.name.clone(), address as u32, size as u32));
        self.shared.insert(variable.name.clone(), address as u32);
        Ok(Symbol::Variable { space: Space::Shared, address })
    }

    fn register(&mut self, ty: &str, position: Position) -> Result<Symbol> {
        let (file, bits) = match Ty::parse(ty) {
            Some(Ty::Pred) => (File::Predicate, 1),
            Some(Ty::B128) => {
                // Two 64-bit registers in a row, the lower half first.
                let slot = self.slot(File::Double);
                self.slot(File::Double);
                return Ok(Symbol::Register { register: Register { file: File::Double, slot }, bits: 128 });
            }
            Some(ty) if ty.bits() <= 32 => (File::Word, ty.bits()),
            Some(ty) if ty.bits() == 64 => (File::Double, 64),
            _ => return Err(self.at(position, format!("a register cannot have the type `.{ty}`"))),
        };
        Ok(Symbol::Register { register: Register { file, slot: self.slot(file) }, bits })
    }

    /// The register of the stack pointer.
    pub fn stack(&mut self) -> u32 {
        if self.kernel.stack == NONE {
            self.kernel.stack = self.slot(File::Double);
        }
        self.kernel.stack
    }

    /// A new slot.
    fn slot(&mut self, file: File) -> u32 {
        let next = match file {
            File::Word => &mut self.kernel.words,
            File::Double => &mut self.kernel.doubles,
            File::Predicate => &mut self.kernel.predicates,
        };
        *next += 1;
        *next - 1
    }

    fn instruction(&mut self, item: &Flat<'m>) -> Result<()> {
        let source = item.source.map(|key| {
            let sources = &mut self.kernel.sources;
            *self.sources.entry(key).or_insert_with(|| {
                let (file, line, column) = key;
                let name = self.module.files.iter().find(|(index, _)| *index == file);
                let file = name.map_or_else(|| format!("file {file}"), |(_, name)| name.clone());
                sources.push(SourceLine { file, line, column });
                sources.len() as u32 - 1
            })
        });
        self.decode(item.instruction, item.scope, source)
    }

    fn decode(&mut self, instruction: &Instruction, scope: usize, source: Option<u32>) -> Result<()> {
        self.position = instruction.position;
        self.text = instruction.to_string();
        self.scope = scope;
        self.reads.clear();
        self.writes.clear();
        if let Some(lack) = requirements::unmet(instruction, &self.module.target, self.module.version) {
            return Err(self.bad(lack));
        }
        let (guard, guard_negated) = match &instruction.guard {
            Some((name, negated)) => (self.guard(name)?, *negated),
            None => (NONE, false),
        };
        let mut modifiers = Modifiers::new(instruction);
        let decoded = isa::decode(self, instruction, &mut modifiers).and_then(|decoded| match modifiers.unused() {
            Some(modifier) => Err(self.unsupported(format!("the modifier `.{modifier}` is not known here"))),
            None => Ok(decoded),
        });
        let (op, class) = match (decoded, &mut self.unsupported) {
            (Err(error @ Error::Unsupported { .. }), Some(list)) => {
                list.push(error);
                (isa::Op::Nop, Class::Control)
            }
            (decoded, _) => decoded?,
        };
        self.kernel.has_readers |= matches!(op, isa::Op::Wgmma(_) | isa::Op::Bulk(_));
        self.kernel.insts.push(Inst { op, guard, guard_negated, class });
        self.kernel.infos.push(InstInfo {
            text: std::mem::take(&mut self.text),
            position: instruction.position,
            source,
            reads: self.reads.as_slice().into(),
            writes: self.writes.as_slice().into(),
            opcode: instruction.opcode.clone(),
        });
        Ok(())
    }
}
