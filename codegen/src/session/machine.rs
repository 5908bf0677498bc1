//! Target machines: what LLVM knows of a triple and a processor.

use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};

use crate::error::CodegenError;
pub use crate::target::MachineSpec;

impl MachineSpec {
    /// The processor that this process runs on, with all features that it has.
    pub fn host() -> MachineSpec {
        MachineSpec {
            triple: TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned(),
            cpu: TargetMachine::get_host_cpu_name().to_string(),
            features: TargetMachine::get_host_cpu_features().to_string(),
            position_independent: true,
        }
    }
}

/// A target machine of LLVM.
pub struct Machine {
    spec: MachineSpec,
    inner: TargetMachine,
}

impl Machine {
    /// Makes the machine that `spec` describes.
    ///
    /// # Errors
    /// [`CodegenError::TargetUnavailable`] if this LLVM was built without the target or does not know the triple.
    pub fn new(spec: MachineSpec) -> Result<Machine, CodegenError> {
        initialize_targets();
        let unavailable = |message: String| CodegenError::TargetUnavailable {
            triple: spec.triple.clone(),
            cpu: spec.cpu.clone(),
            message,
        };
        let triple = TargetTriple::create(&spec.triple);
        let target = Target::from_triple(&triple).map_err(|e| unavailable(e.to_string()))?;
        let reloc = if spec.position_independent { RelocMode::PIC } else { RelocMode::Default };
        let inner = target
            .create_target_machine(
                &triple,
                &spec.cpu,
                &spec.features,
                OptimizationLevel::Aggressive,
                reloc,
                CodeModel::Default,
            )
            .ok_or_else(|| unavailable("no target machine".to_owned()))?;
        Ok(Machine { spec, inner })
    }

    /// The machine for the processor that this process runs on.
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub fn host() -> Result<Machine, CodegenError> {
        Machine::new(MachineSpec::host())
    }

    /// What the machine was made from.
    pub fn spec(&self) -> &MachineSpec {
        &self.spec
    }

    /// LLVM's own object, for calls that have no counterpart here.
    pub fn inner(&self) -> &TargetMachine {
        &self.inner
    }

    /// Gives `module` the triple and data layout of this machine. Optimisation needs both.
    pub fn prepare(&self, module: &Module<'_>) {
        module.set_triple(&self.inner.get_triple());
        module.set_data_layout(&self.inner.get_target_data().get_data_layout());
    }
}

/// Registers the targets that Tegula generates code for, once a process. [`Machine`] does it by itself; other uses of
/// LLVM need it first, such as its linker for code in memory.
pub fn initialize_targets() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let config = InitializationConfig::default();
        Target::initialize_x86(&config);
        Target::initialize_aarch64(&config);
        Target::initialize_nvptx(&config);
        Target::initialize_amd_gpu(&config);
    });
}
