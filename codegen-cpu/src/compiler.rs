//! The compiler: passes, plan, LLVM, link.

use inkwell::module::Module;
use tegula_artifact::cpu::{CpuInfo, CpuKernel};
use tegula_codegen::session::{Artifact, Machine, MachineSpec, Phase, Session, Timings};
use tegula_ir::function::Function;
use tegula_ir::pass::{PassManager, Registry};
use tegula_ir::passes::{OptLevel, default_pass_list};

use crate::error::CpuError;
use crate::link::load;
use crate::lower::{self, Lowered, VectorTarget};
use crate::plan::Plan;
use crate::sites;

/// LLVM passes after the lowering, which vectorises and unrolls by itself: clean up, no loop or SLP vectoriser.
const PASSES: &str = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(loop-rotate,licm),\
                      early-cse<memssa>,instcombine<no-verify-fixpoint>,loop(indvars),gvn,instcombine<no-verify-fixpoint>,dse,adce,simplifycfg)";

/// How kernels are compiled for the CPU.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CpuOptions {
    /// Fuse ops into common loops. Without it every op has a loop of its own, for comparison.
    pub fuse: bool,
    /// Check each access through a pointer against the allocations of the arguments, which the launch then has to give
    /// ([`CpuKernel::launch_checked`]).
    pub check_pointers: bool,
    /// The processor; `None` for the one this process runs on. Code for another one can be emitted, not run.
    pub machine: Option<MachineSpec>,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self { fuse: true, check_pointers: false, machine: None }
    }
}

/// What [`CpuCompiler::emit`] gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Emit {
    /// LLVM IR as the lowering makes it.
    LlvmIr,
    /// LLVM IR after optimisation.
    OptimizedLlvmIr,
    /// Assembly text.
    Assembly,
    /// A relocatable object that holds the kernel under its name (see [`tegula_artifact::cpu::abi`]).
    Object,
}

/// A kernel as object code.
#[derive(Clone, PartialEq, Debug)]
pub struct CompiledCpu {
    /// A relocatable object that holds the kernel under its name (see [`tegula_artifact::cpu::abi`]).
    pub object: Vec<u8>,
    /// What a launcher must know.
    pub info: CpuInfo,
}

/// Compiles kernels for the CPU.
#[derive(Clone, Debug, Default)]
pub struct CpuCompiler {
    options: CpuOptions,
}

impl CpuCompiler {
    /// A compiler with these options.
    pub fn new(options: CpuOptions) -> Self {
        Self { options }
    }

    /// Compiles a kernel into this process.
    ///
    /// # Errors
    /// If a pass refuses the kernel or LLVM fails.
    pub fn compile(&self, func: &Function) -> Result<CpuKernel, CpuError> {
        self.compile_timed(func, &mut Timings::default())
    }

    /// As [`Self::compile`], with the time that each phase takes.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn compile_timed(&self, func: &Function, timings: &mut Timings) -> Result<CpuKernel, CpuError> {
        let compiled = self.object_timed(func, timings)?;
        timings.measure(Phase::Link, || load(func, compiled.info, &compiled.object))
    }

    /// Compiles a kernel to an object that [`load`] takes.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn object(&self, func: &Function) -> Result<CompiledCpu, CpuError> {
        self.object_timed(func, &mut Timings::default())
    }

    fn object_timed(&self, func: &Function, timings: &mut Timings) -> Result<CompiledCpu, CpuError> {
        let func = prepare(func)?;
        let session = Session::new();
        let machine = self.machine()?;
        let (module, lowered) = self.lower(&session, &machine, &func, timings)?;
        session.optimize(&module, &machine, PASSES, timings)?;
        let object = session.emit(&module, &machine, Artifact::Object, timings)?;
        Ok(CompiledCpu { object, info: sites::info(&func, &lowered, self.options.check_pointers) })
    }

    fn machine(&self) -> Result<Machine, CpuError> {
        Ok(match &self.options.machine {
            Some(spec) => Machine::new(spec.clone())?,
            None => Machine::host()?,
        })
    }

    /// Compiles a kernel to text or an object.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn emit(&self, func: &Function, emit: Emit) -> Result<Vec<u8>, CpuError> {
        let func = prepare(func)?;
        let machine = self.machine()?;
        let mut timings = Timings::default();
        let session = Session::new();
        let (module, _) = self.lower(&session, &machine, &func, &mut timings)?;
        let text = |module: &Module<'_>| module.print_to_string().to_bytes().to_vec();
        if emit == Emit::LlvmIr {
            return Ok(text(&module));
        }
        session.optimize(&module, &machine, PASSES, &mut timings)?;
        Ok(match emit {
            Emit::LlvmIr | Emit::OptimizedLlvmIr => text(&module),
            Emit::Assembly => session.emit(&module, &machine, Artifact::Assembly, &mut timings)?,
            Emit::Object => session.emit(&module, &machine, Artifact::Object, &mut timings)?,
        })
    }

    fn lower<'s>(
        &self,
        session: &'s Session,
        machine: &Machine,
        func: &Function,
        timings: &mut Timings,
    ) -> Result<(Module<'s>, Lowered), CpuError> {
        let module = session.module(&func.name, machine);
        let spec = machine.spec();
        let target = VectorTarget::from_features(&spec.triple, &spec.features);
        let lowered = timings.measure(Phase::Lower, || {
            let plan = Plan::new(func, self.options.fuse);
            lower::lower(session.context(), &module, func, &plan, target, self.options.check_pointers)
        })?;
        session.verify(&module, timings)?;
        Ok((module, lowered))
    }
}

/// The pass list that brings a function to the form that the lowering takes, in the syntax of `tegula opt`.
pub fn pass_list() -> String {
    format!("{},expand-math,canonicalize,cse,licm,dce", default_pass_list(OptLevel::Default))
}

/// Runs [`pass_list`].
fn prepare(func: &Function) -> Result<Function, CpuError> {
    let mut func = func.clone();
    let pipeline =
        Registry::builtin().pipeline(&pass_list()).expect("the built-in passes of the list exist and take its options");
    PassManager::new(pipeline).run(&mut func)?;
    Ok(func)
}
