//! Compiling many kernels before they are launched, in parallel, with a progress bar.

use std::fmt;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use tegula_lang::kernel::call::{DimSizes, Sizes};
use tegula_lang::kernel::{BuildOptions, Class, Kernel};

use crate::cache::Key;
use crate::device::Device;
use crate::error::{Error, Result};

/// A configuration of a kernel: what a call chooses, and what is expected of its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    sizes: Sizes,
    options: BuildOptions,
    class: Class,
}

impl Default for Config {
    fn default() -> Self {
        Self { sizes: Sizes::new(), options: BuildOptions::default(), class: Class::Aligned }
    }
}

impl Config {
    /// The kernel's defaults, for aligned and contiguous arguments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses the sizes of the kernel's dims, as [`tegula_lang::kernel::Call::dims`].
    #[must_use]
    pub fn dims(mut self, dims: impl DimSizes) -> Self {
        self.sizes = dims.sizes();
        self
    }

    /// Chooses the number of warps per program on GPUs.
    #[must_use]
    pub fn warps(mut self, warps: u32) -> Self {
        self.options.num_warps = Some(warps);
        self
    }

    /// Chooses the number of pipeline stages of loops on GPUs.
    #[must_use]
    pub fn stages(mut self, stages: u32) -> Self {
        self.options.num_stages = Some(stages);
        self
    }

    /// Chooses the class of arguments: [`Class::Aligned`] without it, which launches on tensors whose extents are
    /// multiples of 16 take.
    #[must_use]
    pub fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// The options that a call with these choices builds with.
    fn build_options<K: Kernel>(&self, kernel: &K) -> Result<BuildOptions> {
        let info = kernel.info();
        let mut options = self.options.clone();
        if !self.sizes.is_empty() {
            if self.sizes.len() != info.dims.len() {
                let message = format!("it has {} dims, not {}", info.dims.len(), self.sizes.len());
                return Err(Error::Argument { kernel: info.name.into(), message });
            }
            options.dims = info.dims.iter().zip(&self.sizes).map(|(d, &s)| (d.name.to_owned(), s)).collect();
        }
        Ok(options)
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(u32::to_string).collect();
        write!(f, "dims [{}]", sizes.join(", "))?;
        if let Some(warps) = self.options.num_warps {
            write!(f, ", {warps} warps")?;
        }
        if let Some(stages) = self.options.num_stages {
            write!(f, ", {stages} stages")?;
        }
        write!(f, ", {} arguments", self.class.name())
    }
}

/// The configurations that could not be compiled.
#[derive(Clone, PartialEq, Debug)]
pub struct WarmUpError {
    /// Each with what is wrong.
    pub failures: Vec<(Config, Error)>,
}

impl fmt::Display for WarmUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} configurations cannot be compiled", self.failures.len())?;
        self.failures.iter().try_for_each(|(config, error)| write!(f, "\n{config}: {error}"))
    }
}

impl std::error::Error for WarmUpError {}

/// Compiling a kernel before it is launched.
pub trait WarmUp: Kernel + Sized {
    /// Compiles the kernel for each configuration that the device does not have yet, in parallel, with a progress bar
    /// where standard error is a terminal.
    ///
    /// ```
    /// # mod kernels {
    /// #     pub use {tegula_lang::prelude::*, tegula_macros::kernel};
    /// #     #[kernel(crate = tegula_lang)]
    /// #     pub fn copy<T: Float, B: Dim>(x: &Tensor<T, 1>, y: &mut Tiles<T, (B,)>) {
    /// #         let [i] = y.index();
    /// #         y.store(x.tile::<(B,)>(i).load());
    /// #     }
    /// # }
    /// # use kernels::copy;
    /// use tegula_runtime::{Config, Device, WarmUp};
    ///
    /// let device = Device::open("cpu")?;
    /// let configs = [64, 128].map(|b| Config::new().dims(copy::Dims { b }));
    /// copy::Kernel::<(f32,), ()>::new(()).warm_up(&device, configs)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Every configuration that cannot be compiled; the others are.
    fn warm_up(
        &self,
        device: &Device,
        configs: impl IntoIterator<Item = Config>,
    ) -> std::result::Result<(), WarmUpError> {
        let configs: Vec<Config> = configs.into_iter().collect();
        let bar = ProgressBar::new(configs.len() as u64).with_message(self.info().name);
        bar.set_style(ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {eta}").expect("the template is valid"));
        let failures: Vec<(Config, Error)> = configs
            .into_par_iter()
            .filter_map(|config| {
                let result = make(self, device, &config);
                bar.inc(1);
                result.err().map(|e| (config, e))
            })
            .collect();
        bar.finish_and_clear();
        if failures.is_empty() { Ok(()) } else { Err(WarmUpError { failures }) }
    }
}

impl<K: Kernel> WarmUp for K {}

/// Compiles one configuration, as a launch of it would.
fn make<K: Kernel>(kernel: &K, device: &Device, config: &Config) -> Result<()> {
    let failed =
        |e: tegula_lang::kernel::BuildError| Error::compile(kernel.info().name, device.target(), &e.diagnostics);
    let mut options = config.build_options(kernel)?.target(device.target());
    let plain = kernel.build(&options).map_err(failed)?;
    options.specs = config.class.specs(&plain);
    let key = Key { kernel: kernel.key(), options };
    let compiled = device.kernels().get(&key, || {
        let function = kernel.build(&key.options).map_err(failed)?;
        device.kernels().make(function, device.backend())
    });
    compiled.map(drop)
}
