//! What a kernel is built for, so that its source can choose between alternatives.

use crate::context;

/// What a kernel is built for: see [`target`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum Target {
    /// Not said: what is built must be right everywhere.
    #[default]
    Any,
    /// The processor of the host.
    Cpu,
    /// The reference interpreter.
    Interpreter,
    /// An NVIDIA GPU, by its compute capability: 80 for `sm_80`, 90 for `sm_90a`.
    Nvidia(u32),
    /// An AMD GPU, by the hexadecimal number of its instruction set: `0x942` for `gfx942`.
    Amd(u32),
}

impl Target {
    /// The target of this name, as the command and the devices call it; [`Target::Any`] for another.
    ///
    /// ```
    /// use tegula_lang::kernel::Target;
    ///
    /// assert_eq!(Target::of_name("sm_90a"), Target::Nvidia(90));
    /// assert_eq!(Target::of_name("gfx90a"), Target::Amd(0x90a));
    /// assert_eq!(Target::of_name("cpu"), Target::Cpu);
    /// ```
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        // A virtual GPU, or a level of the processor.
        let name = name.strip_prefix("vgpu:").unwrap_or(name);
        let nvidia = || {
            let digits = name.strip_prefix("sm_")?;
            digits.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse().ok().map(Self::Nvidia)
        };
        let amd = || u32::from_str_radix(name.strip_prefix("gfx")?, 16).ok().map(Self::Amd);
        match name {
            _ if name == "cpu" || name.starts_with("cpu:") => Self::Cpu,
            _ if name.starts_with("interp") => Self::Interpreter,
            _ => nvidia().or_else(amd).unwrap_or_default(),
        }
    }
}

/// What the kernel is being built for. It is known at build time, so that a `match` on it leaves one alternative:
///
/// ```
/// # mod kernels {
/// # use {tegula_lang::prelude::*, tegula_macros::kernel};
/// #[kernel(crate = tegula_lang)]
/// fn gelu<T: Float, N: Dim>(x: &Tensor<T, 1>, y: &mut Tiles<T, (N,)>) {
///     let v = x.tile::<(N,)>(y.index()).load();
///     y.store(match target() {
///         Target::Nvidia(_) | Target::Amd(_) => v.fast().gelu(),
///         _ => v.gelu(),
///     });
/// }
/// # }
/// ```
#[must_use]
pub fn target() -> Target {
    context::target()
}
