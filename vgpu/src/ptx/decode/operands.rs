//! Operands: names, numbers and addresses become slots.

use super::Decoder;
use super::symbols::{Space, Symbol};
use super::types::Ty;
use crate::error::Result;
use crate::ptx::exec::memory::{CALL_PARAMS, FUNCTION_WINDOW};
use crate::ptx::program::{File, Passed, Register, Special};
use crate::ptx::syntax::ast::{Instruction, Number, Operand};
use std::rc::Rc;

/// The register part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressBase {
    None,
    Word(u32),
    Double(u32),
}

/// A decoded address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressOperand {
    pub base: AddressBase,
    pub offset: i64,
    /// The space of the variable it names, where it names one.
    pub space: Option<Space>,
}

impl Decoder<'_> {
    /// The operands of an instruction, which must be this many.
    pub fn operands<'i, const N: usize>(&self, instruction: &'i Instruction) -> Result<&'i [Operand; N]> {
        let operands = instruction.operands.as_slice();
        operands.try_into().map_err(|_| self.bad(format!("expected {N} operands, found {}", operands.len())))
    }

    /// Looks a name up, from the current scope outwards, then in the module.
    pub fn lookup(&mut self, name: &str) -> Result<Symbol> {
        let mut scope = Some(self.scope);
        while let Some(index) = scope {
            if let Some(symbol) = self.scopes[index].names.get(name) {
                return Ok(symbol.clone());
            }
            scope = self.scopes[index].parent;
        }
        if let Some(&address) = self.image.addresses.get(name) {
            return Ok(Symbol::Variable { space: Space::Global, address });
        }
        let module = self.module;
        if let Some(variable) = module.variables.iter().find(|v| v.name == name && v.space == "shared") {
            return self.shared_variable(variable);
        }
        Err(self.bad(format!("`{name}` is not declared")))
    }

    fn special(name: &str) -> Option<(Special, File)> {
        let numbered = |name: &str, prefix| name.strip_prefix(prefix).is_some_and(|n| n.parse::<u8>().is_ok());
        let axis = |name: &str| match name {
            "x" => Some(0),
            "y" => Some(1),
            "z" => Some(2),
            _ => None,
        };
        if let Some((base, component)) = name.split_once('.') {
            let axis = axis(component)?;
            let special = match base {
                "%tid" => Special::Tid(axis),
                "%ntid" => Special::Ntid(axis),
                "%ctaid" => Special::Ctaid(axis),
                "%nctaid" => Special::Nctaid(axis),
                "%clusterid" => Special::Clusterid(axis),
                "%nclusterid" => Special::Nclusterid(axis),
                "%cluster_ctaid" => Special::ClusterCtaid(axis),
                "%cluster_nctaid" => Special::ClusterNctaid(axis),
                _ => return None,
            };
            return Some((special, File::Word));
        }
        let special = match name {
            "%laneid" => Special::Laneid,
            "%warpid" => Special::Warpid,
            "%nwarpid" => Special::Nwarpid,
            "%smid" => Special::Smid,
            "%nsmid" => Special::Nsmid,
            "%gridid" => return Some((Special::Gridid, File::Double)),
            "%lanemask_eq" => Special::LanemaskEq,
            "%lanemask_le" => Special::LanemaskLe,
            "%lanemask_lt" => Special::LanemaskLt,
            "%lanemask_ge" => Special::LanemaskGe,
            "%lanemask_gt" => Special::LanemaskGt,
            "%cluster_ctarank" => Special::ClusterCtarank,
            "%cluster_nctarank" => Special::ClusterNctarank,
            "%total_smem_size" => Special::TotalSmemSize,
            "%aggr_smem_size" => Special::AggrSmemSize,
            "%dynamic_smem_size" => Special::DynamicSmemSize,
            "%is_explicit_cluster" => return Some((Special::IsExplicitCluster, File::Predicate)),
            "%reserved_smem_offset_begin" | "%reserved_smem_offset_end" | "%reserved_smem_offset_cap" => Special::Zero,
            // Performance counters, and registers that the driver may set.
            _ if numbered(name, "%envreg") || numbered(name, "%pm") => Special::Zero,
            "%current_graph_exec" => return Some((Special::ZeroDouble, File::Double)),
            _ if name.strip_suffix("_64").is_some_and(|name| numbered(name, "%pm")) => {
                return Some((Special::ZeroDouble, File::Double));
            }
            _ => return None,
        };
        Some((special, File::Word))
    }

    /// A register, special ones among them.
    fn named_register(&mut self, name: &str) -> Result<Option<(Register, u32)>> {
        if let Some((special, file)) = Self::special(name) {
            let slot = match self.specials.get(&special) {
                Some(&slot) => slot,
                None => {
                    let slot = self.slot(file);
                    self.kernel.specials.push((special, Register { file, slot }));
                    self.specials.insert(special, slot);
                    slot
                }
            };
            let bits = match file {
                File::Word => 32,
                File::Double => 64,
                File::Predicate => 1,
            };
            return Ok(Some((Register { file, slot }, bits)));
        }
        Ok(match self.lookup(name)? {
            Symbol::Register { register, bits } => Some((register, bits)),
            _ => None,
        })
    }

    pub(super) fn guard(&mut self, name: &str) -> Result<u32> {
        match self.named_register(name)? {
            Some((register, _)) if register.file == File::Predicate => {
                self.reads.push(register);
                Ok(register.slot)
            }
            _ => Err(self.bad(format!("`{name}` is not a predicate"))),
        }
    }

    /// A slot that holds a constant in all lanes.
    pub fn constant_word(&mut self, value: u32) -> u32 {
        if let Some(&slot) = self.words.get(&value) {
            return slot;
        }
        let slot = self.slot(File::Word);
        self.kernel.constant_words.push((slot, value));
        self.words.insert(value, slot);
        slot
    }

    /// A slot that holds a constant in all lanes.
    pub fn constant_double(&mut self, value: u64) -> u32 {
        if let Some(&slot) = self.doubles.get(&value) {
            return slot;
        }
        let slot = self.slot(File::Double);
        self.kernel.constant_doubles.push((slot, value));
        self.doubles.insert(value, slot);
        slot
    }

    /// A slot that holds a constant in all lanes.
    pub fn constant_predicate(&mut self, value: bool) -> u32 {
        if let Some(&slot) = self.predicates.get(&value) {
            return slot;
        }
        let slot = self.slot(File::Predicate);
        self.kernel.constant_predicates.push((slot, value));
        self.predicates.insert(value, slot);
        slot
    }

    /// The bits of a number as a value of a type.
    pub fn number(&self, number: Number, ty: Ty) -> Result<u64> {
        let mask = if ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
        Ok(match (number, ty) {
            (Number::Integer(value), Ty::F32) => u64::from((value as f32).to_bits()),
            (Number::Integer(value), Ty::F64) => (value as f64).to_bits(),
            (Number::Integer(value), _) => value as u64 & mask,
            (Number::Single(bits), Ty::F64) => f64::from(f32::from_bits(bits)).to_bits(),
            (Number::Single(bits), _) if ty.bits() == 32 => bits.into(),
            (Number::Double(value), Ty::F32) => u64::from((value as f32).to_bits()),
            (Number::Double(value), _) if ty.bits() == 64 => value.to_bits(),
            (Number::Double(value), Ty::B32 | Ty::U32 | Ty::S32) => u64::from((value as f32).to_bits()),
            _ => return Err(self.bad("a floating-point number does not fit the type")),
        })
    }

    /// The value of an operand that is known at decoding: a number or an address.
    fn constant(&mut self, operand: &Operand, ty: Ty) -> Result<Option<u64>> {
        let (name, offset) = match operand {
            Operand::Number(number) => return self.number(*number, ty).map(Some),
            Operand::Name(name) => (name, 0),
            Operand::NamePlus(name, offset) => (name, *offset),
            _ => return Ok(None),
        };
        if name == "WARP_SZ" {
            return Ok(Some(32));
        }
        if let Some(number) = self.module.function_number(name) {
            return Ok(Some(FUNCTION_WINDOW + number as u64 * 16));
        }
        if Self::special(name).is_some() {
            return Ok(None);
        }
        Ok(match self.lookup(name)? {
            Symbol::Variable { space: Space::CallParam, address } => {
                Some((CALL_PARAMS + address).wrapping_add(offset as u64))
            }
            Symbol::Variable { address, .. } => Some(address.wrapping_add(offset as u64)),
            Symbol::DynamicShared => {
                // The static part is complete only at the end: a slot of its own is filled by the launch.
                Some(u64::from(self.dynamic_shared_offset()).wrapping_add(offset as u64))
            }
            _ => None,
        })
    }

    /// Where dynamic shared memory starts: behind all static variables of the module, whichever of them the kernel turns out to use.
    fn dynamic_shared_offset(&mut self) -> u32 {
        let module = self.module;
        for variable in module.variables.iter().filter(|v| v.space == "shared") {
            // A layout error is told where the variable is used.
            let _ = self.shared_variable(variable);
        }
        self.declare_nested_shared();
        let align = module.variables.iter().filter(|v| v.space == "shared" && v.external).filter_map(|v| v.align).max();
        u64::from(self.kernel.shared_static).next_multiple_of(align.unwrap_or(16).clamp(16, 4096)) as u32
    }

    /// Shared variables declared in functions not decoded yet would move the dynamic part: they are placed first.
    fn declare_nested_shared(&mut self) {
        use crate::ptx::syntax::ast::Statement;
        fn visit<'s>(statements: &'s [Statement], found: &mut Vec<&'s crate::ptx::syntax::ast::Variable>) {
            for statement in statements {
                match statement {
                    Statement::Block(inner) => visit(inner, found),
                    Statement::Variable(variable) if variable.space == "shared" => found.push(variable),
                    _ => {}
                }
            }
        }
        let mut found = Vec::new();
        for function in &self.module.functions {
            if !function.entry || function.name == self.kernel.name {
                visit(function.body.as_deref().unwrap_or_default(), &mut found);
            }
        }
        for variable in found {
            let _ = self.shared_variable(variable);
        }
    }

    /// Makes all functions of the module part of the kernel: any of them may be called through a pointer.
    pub fn register_all_functions(&mut self) {
        let module = self.module;
        for function in module.functions.iter().filter(|f| !f.entry && f.body.is_some()) {
            self.register_function(function);
        }
    }

    /// The index of a function of the module, if the name is one.
    pub fn function_index(&mut self, name: &str) -> Option<u32> {
        let module = self.module;
        let name = module.aliases.iter().find(|(alias, _)| alias == name).map_or(name, |(_, target)| target);
        let named = || module.functions.iter().filter(|f| !f.entry && f.name == name);
        // The definition rather than a declaration before it.
        let function = named().find(|f| f.body.is_some()).or_else(|| named().next())?;
        Some(self.register_function(function))
    }

    /// A source of at most 32 bits.
    pub fn word(&mut self, operand: &Operand, ty: Ty) -> Result<u32> {
        if let Some(value) = self.constant(operand, ty)? {
            return Ok(self.constant_word(value as u32));
        }
        match operand {
            // It has 64 bits, but older code reads 32 of them; there is one grid.
            Operand::Name(name) if name == "%gridid" => Ok(self.constant_word(1)),
            Operand::Name(name) => match self.named_register(name)? {
                Some((register, _)) if register.file == File::Word => {
                    self.reads.push(register);
                    Ok(register.slot)
                }
                _ => Err(self.bad(format!("`{name}` is not a register of up to 32 bits"))),
            },
            _ => Err(self.bad(format!("`{operand}` is not a 32-bit operand"))),
        }
    }

    /// A source of 64 bits.
    pub fn double(&mut self, operand: &Operand, ty: Ty) -> Result<u32> {
        if let Some(value) = self.constant(operand, ty)? {
            return Ok(self.constant_double(value));
        }
        match operand {
            Operand::Name(name) => match self.named_register(name)? {
                Some((register, 64)) if register.file == File::Double => {
                    self.reads.push(register);
                    Ok(register.slot)
                }
                _ => Err(self.bad(format!("`{name}` is not a 64-bit register"))),
            },
            _ => Err(self.bad(format!("`{operand}` is not a 64-bit operand"))),
        }
    }

    /// Both halves of a 128-bit register as a source.
    pub fn quad(&mut self, operand: &Operand) -> Result<[u32; 2]> {
        let pair = self.quad_register(operand)?;
        self.reads.extend(pair.map(|slot| Register { file: File::Double, slot }));
        Ok(pair)
    }

    /// Both halves of a 128-bit register as a destination.
    pub fn quad_destination(&mut self, operand: &Operand) -> Result<[u32; 2]> {
        if *operand == Operand::Sink {
            return Ok([self.slot(File::Double), self.slot(File::Double)]);
        }
        let pair = self.quad_register(operand)?;
        self.writes.extend(pair.map(|slot| Register { file: File::Double, slot }));
        Ok(pair)
    }

    fn quad_register(&mut self, operand: &Operand) -> Result<[u32; 2]> {
        if let Operand::Name(name) = operand
            && let Some((register, 128)) = self.named_register(name)?
        {
            return Ok([register.slot, register.slot + 1]);
        }
        Err(self.bad(format!("`{operand}` is not a 128-bit register")))
    }

    /// A predicate source: its slot, and whether it is negated.
    pub fn predicate_source(&mut self, operand: &Operand) -> Result<(u32, bool)> {
        let (name, negated) = match operand {
            Operand::Name(name) => (name, false),
            Operand::Not(name) => (name, true),
            Operand::Number(Number::Integer(value)) => {
                return Ok((self.constant_predicate(*value != 0), false));
            }
            _ => return Err(self.bad(format!("`{operand}` is not a predicate"))),
        };
        Ok((self.guard(name)?, negated))
    }

    /// A predicate source that cannot be negated.
    pub fn predicate(&mut self, operand: &Operand) -> Result<u32> {
        match self.predicate_source(operand)? {
            (slot, false) => Ok(slot),
            (_, true) => Err(self.bad("a negated predicate is not allowed here")),
        }
    }

    fn destination(&mut self, operand: &Operand, file: File, bits: u32) -> Result<u32> {
        match operand {
            Operand::Sink => Ok(self.slot(file)),
            Operand::Name(name) => match self.lookup(name)? {
                Symbol::Register { register, bits: has }
                    if register.file == file && (file != File::Double || has == bits) =>
                {
                    self.writes.push(register);
                    Ok(register.slot)
                }
                _ => Err(self.bad(format!("`{name}` is not a {bits}-bit register"))),
            },
            _ => Err(self.bad(format!("`{operand}` is not a register"))),
        }
    }

    /// A destination of at most 32 bits.
    pub fn word_destination(&mut self, operand: &Operand) -> Result<u32> {
        self.destination(operand, File::Word, 32)
    }

    /// A destination of 64 bits.
    pub fn double_destination(&mut self, operand: &Operand) -> Result<u32> {
        self.destination(operand, File::Double, 64)
    }

    /// A predicate destination.
    pub fn predicate_destination(&mut self, operand: &Operand) -> Result<u32> {
        self.destination(operand, File::Predicate, 1)
    }

    /// Whether the operand is a 64-bit register.
    pub fn is_double(&mut self, operand: &Operand) -> bool {
        self.file_of(operand) == Some(File::Double)
    }

    /// The file of the register that the operand is.
    pub fn file_of(&mut self, operand: &Operand) -> Option<File> {
        match operand {
            Operand::Name(name) => self.named_register(name).ok().flatten().map(|(register, _)| register.file),
            _ => None,
        }
    }

    /// The declared width of the register that the operand is, in bits.
    pub fn bits_of(&mut self, operand: &Operand) -> Option<u32> {
        match operand {
            Operand::Name(name) => self.named_register(name).ok().flatten().map(|(_, bits)| bits),
            _ => None,
        }
    }

    /// The operands of a vector, or the single one.
    pub fn vector<'i>(&self, operand: &'i Operand) -> &'i [Operand] {
        match operand {
            Operand::Vector(elements) => elements,
            single => std::slice::from_ref(single),
        }
    }

    /// An address in brackets.
    pub fn address(&mut self, operand: &Operand) -> Result<AddressOperand> {
        let Operand::Address { base, offset, .. } = operand else {
            return Err(self.bad(format!("`{operand}` is not an address")));
        };
        let offset = *offset;
        let Some(name) = base else {
            return Ok(AddressOperand { base: AddressBase::None, offset, space: None });
        };
        if let Ok(Some(value)) = self.constant(&Operand::Name(name.clone()), Ty::B64) {
            let space = match self.lookup(name) {
                Ok(Symbol::Variable { space, .. }) => Some(space),
                Ok(Symbol::DynamicShared) => Some(Space::Shared),
                _ => None,
            };
            // In brackets it is the parameter itself, not its address in local memory.
            let value = if space == Some(Space::CallParam) { value - CALL_PARAMS } else { value };
            return Ok(AddressOperand { base: AddressBase::None, offset: (value as i64).wrapping_add(offset), space });
        }
        let Some((register, _)) = self.named_register(name)? else {
            return Err(self.bad(format!("`{name}` is not an address")));
        };
        self.reads.push(register);
        let base = match register.file {
            File::Word => AddressBase::Word(register.slot),
            File::Double => AddressBase::Double(register.slot),
            File::Predicate => {
                return Err(self.bad(format!("the predicate `{name}` is not an address")));
            }
        };
        Ok(AddressOperand { base, offset, space: None })
    }

    /// An integer that must be a constant.
    pub fn immediate(&self, operand: &Operand) -> Result<i64> {
        match operand {
            Operand::Number(Number::Integer(value)) => Ok(*value as i64),
            _ => Err(self.bad(format!("`{operand}` must be a constant"))),
        }
    }

    /// The target of a branch.
    pub fn label(&mut self, operand: &Operand) -> Result<u32> {
        match operand {
            Operand::Name(name) => match self.lookup(name)? {
                Symbol::Label(target) => Ok(target),
                _ => Err(self.bad(format!("`{name}` is not a label"))),
            },
            _ => Err(self.bad(format!("`{operand}` is not a label"))),
        }
    }

    /// The labels of a `.branchtargets` list.
    pub fn targets(&mut self, operand: &Operand) -> Result<Vec<u32>> {
        let names: Rc<[String]> = match operand {
            Operand::Name(name) => match self.lookup(name)? {
                Symbol::Targets(names) => names,
                _ => return Err(self.bad(format!("`{name}` is not a list of branch targets"))),
            },
            _ => return Err(self.bad(format!("`{operand}` is not a list of branch targets"))),
        };
        names.iter().map(|name| self.label(&Operand::Name(name.clone()))).collect()
    }

    /// The arguments of a call: variables in call-parameter memory, registers or constants.
    pub fn call_arguments(&mut self, operands: &[Operand]) -> Result<Vec<Passed>> {
        operands.iter().map(|operand| self.call_argument(operand)).collect()
    }

    fn call_argument(&mut self, operand: &Operand) -> Result<Passed> {
        if let Some(variable) = self.call_variable(operand)? {
            return Ok(variable);
        }
        // The callee knows how much of a constant it takes.
        let value = match operand {
            Operand::Number(Number::Single(bits)) => Some(u64::from(*bits)),
            Operand::Number(Number::Double(value)) => Some(value.to_bits()),
            other => self.constant(other, Ty::B64)?,
        };
        if let Some(value) = value {
            let register = Register { file: File::Double, slot: self.constant_double(value) };
            return Ok(Passed::Register { register, bits: 64 });
        }
        let passed = self.passed_register(operand)?;
        self.reads.extend(passed.registers());
        Ok(passed)
    }

    /// Where the results of a call go: variables in call-parameter memory or registers.
    pub fn call_results(&mut self, operands: &[Operand]) -> Result<Vec<Passed>> {
        let mut list = Vec::new();
        for operand in operands {
            let passed = match self.call_variable(operand)? {
                Some(variable) => variable,
                None if *operand == Operand::Sink => Passed::Register {
                    register: Register { file: File::Double, slot: self.slot(File::Double) },
                    bits: 64,
                },
                None => self.passed_register(operand)?,
            };
            self.writes.extend(passed.registers());
            list.push(passed);
        }
        Ok(list)
    }

    fn call_variable(&mut self, operand: &Operand) -> Result<Option<Passed>> {
        let Operand::Name(name) = operand else { return Ok(None) };
        if Self::special(name).is_some() || name == "WARP_SZ" || self.module.function_number(name).is_some() {
            return Ok(None);
        }
        Ok(match self.lookup(name)? {
            Symbol::Variable { space: Space::CallParam, address } => {
                let size = self.call_params.get(&address).copied().unwrap_or(0);
                Some(Passed::Memory { offset: address as u32, size })
            }
            _ => None,
        })
    }

    fn passed_register(&mut self, operand: &Operand) -> Result<Passed> {
        if let Operand::Name(name) = operand
            && let Some((register, bits)) = self.named_register(name)?
        {
            return Ok(Passed::Register { register, bits });
        }
        Err(self.bad(format!("`{operand}` cannot be passed to a function")))
    }
}
