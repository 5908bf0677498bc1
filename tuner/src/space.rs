//! Configurations, and the space of them at a kernel.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tegula_lang::kernel::info::Tuning;
use tegula_lang::kernel::{BuildOptions, KernelInfo};

use crate::error::{Error, Result};

/// A choice of sizes of dims, warps and stages. Its text form is `BM=64 BN=128 warps=8 stages=3`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Config {
    /// Sizes of dims by name.
    pub dims: Vec<(String, u32)>,
    /// Warps per program.
    pub warps: Option<u32>,
    /// Pipeline stages.
    pub stages: Option<u32>,
}

impl Config {
    /// Sets a dim, `warps` or `stages`.
    pub fn set(&mut self, name: &str, value: u32) {
        match name {
            "warps" => self.warps = Some(value),
            "stages" => self.stages = Some(value),
            _ => match self.dims.iter_mut().find(|(n, _)| n == name) {
                Some((_, v)) => *v = value,
                None => self.dims.push((name.into(), value)),
            },
        }
    }

    /// Puts the choice into `options`, in place of what they say of the same dims.
    pub fn apply(&self, options: &mut BuildOptions) {
        for (name, size) in &self.dims {
            match options.dims.iter_mut().find(|(n, _)| n == name) {
                Some((_, v)) => *v = *size,
                None => options.dims.push((name.clone(), *size)),
            }
        }
        options.num_warps = self.warps.or(options.num_warps);
        options.num_stages = self.stages.or(options.num_stages);
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = [("warps", self.warps), ("stages", self.stages)];
        let own = own.iter().filter_map(|(n, v)| v.map(|v| (*n, v)));
        let parts: Vec<_> =
            self.dims.iter().map(|(n, v)| (n.as_str(), *v)).chain(own).map(|(n, v)| format!("{n}={v}")).collect();
        f.write_str(&parts.join(" "))
    }
}

impl FromStr for Config {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut config = Self::default();
        for part in text.split_whitespace() {
            let bad = || Error::Config { text: text.into() };
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let value = value.parse().ok().filter(|&v| v > 0).ok_or_else(bad)?;
            if name.is_empty() {
                return Err(bad());
            }
            config.set(name, value);
        }
        Ok(config)
    }
}

impl TryFrom<String> for Config {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Config> for String {
    fn from(config: Config) -> Self {
        config.to_string()
    }
}

/// The configurations that a kernel may be tuned over.
#[derive(Clone, Debug)]
pub struct Space {
    kernel: &'static str,
    tuning: Tuning,
    fixed: Config,
    gpu: bool,
}

impl Space {
    /// The space that stands at a kernel. On a CPU, `warps` and `stages` make no difference and are left out.
    ///
    /// # Errors
    /// [`Error::NothingToTune`] if the kernel has none.
    pub fn of(info: &'static KernelInfo, gpu: bool) -> Result<Self> {
        let space = Self { kernel: info.name, tuning: info.tuning, fixed: Config::default(), gpu };
        if space.axes().next().is_none() {
            return Err(Error::NothingToTune { kernel: info.name.into() });
        }
        Ok(space)
    }

    /// Keeps these choices: an axis named in `config` has that one value, even one the kernel does not list.
    #[must_use]
    pub fn fixed(mut self, config: Config) -> Self {
        self.fixed = config;
        self
    }

    /// Name of the kernel.
    pub fn kernel(&self) -> &'static str {
        self.kernel
    }

    fn chosen(&self, name: &str) -> Option<u32> {
        match name {
            "warps" => self.fixed.warps,
            "stages" => self.fixed.stages,
            _ => self.fixed.dims.iter().find(|(n, _)| n == name).map(|(_, v)| *v),
        }
    }

    fn axes(&self) -> impl Iterator<Item = (usize, &'static str)> + '_ {
        let gpu = self.gpu;
        self.tuning
            .axes
            .iter()
            .enumerate()
            .map(|(i, a)| (i, a.name))
            .filter(move |(_, name)| gpu || !matches!(*name, "warps" | "stages"))
    }

    /// Every configuration that meets the conditions at the kernel, in the order of its lists.
    pub fn configs(&self) -> Vec<Config> {
        let values: Vec<Vec<u32>> = self
            .tuning
            .axes
            .iter()
            .map(|axis| {
                let open = self.axes().any(|(_, name)| name == axis.name);
                match self.chosen(axis.name) {
                    Some(value) => vec![value],
                    None if open => axis.values.to_vec(),
                    // Not tuned here: one value, so that conditions can be decided.
                    None => axis.values[..1].to_vec(),
                }
            })
            .collect();
        let mut configs = Vec::new();
        let mut point = vec![0; values.len()];
        'points: loop {
            let chosen: Vec<u32> = point.iter().zip(&values).map(|(&i, v)| v[i]).collect();
            if (self.tuning.fits)(&chosen) {
                let mut config = self.fixed.clone();
                for (i, name) in self.axes() {
                    config.set(name, chosen[i]);
                }
                configs.push(config);
            }
            for axis in (0..point.len()).rev() {
                point[axis] += 1;
                if point[axis] < values[axis].len() {
                    continue 'points;
                }
                point[axis] = 0;
            }
            return configs;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn space(gpu: bool) -> Space {
        use tegula_lang::kernel::info::TuningAxis;
        let tuning = Tuning {
            axes: &[
                TuningAxis { name: "BM", values: &[32, 64, 128] },
                TuningAxis { name: "BN", values: &[32, 64] },
                TuningAxis { name: "warps", values: &[4, 8] },
            ],
            fits: |v| v[0] * v[1] <= 4096,
        };
        Space { kernel: "k", tuning, fixed: Config::default(), gpu }
    }

    #[test]
    fn conditions_leave_out_configurations() {
        let text: Vec<_> = space(false).configs().iter().map(Config::to_string).collect();
        assert_eq!(text, ["BM=32 BN=32", "BM=32 BN=64", "BM=64 BN=32", "BM=64 BN=64", "BM=128 BN=32"]);
        assert_eq!(space(true).configs().len(), 10);
        assert_eq!(space(true).configs()[1].to_string(), "BM=32 BN=32 warps=8");
    }

    #[test]
    fn an_axis_can_be_fixed() {
        let space = space(true).fixed("BN=16 warps=2".parse().expect("a configuration"));
        let text: Vec<_> = space.configs().iter().map(Config::to_string).collect();
        assert_eq!(text, ["BN=16 BM=32 warps=2", "BN=16 BM=64 warps=2", "BN=16 BM=128 warps=2"]);
    }

    #[test]
    fn a_choice_replaces_what_it_names() {
        let config: Config = "BM=64 BN=32 warps=8".parse().expect("a configuration");
        let mut options = BuildOptions::default().dim("D", 128).dim("BM", 16);
        options.num_stages = Some(2);
        config.apply(&mut options);
        assert_eq!(options.dims, [("D".into(), 128), ("BM".into(), 64), ("BN".into(), 32)]);
        assert_eq!((options.num_warps, options.num_stages), (Some(8), Some(2)));
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for text in ["BM", "BM=", "BM=0", "=3", "BM=-1", "BM=64,BN=32"] {
            assert!(text.parse::<Config>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_form_reads_back(
            dims in prop::collection::btree_map("[A-Z][A-Z0-9]{0,3}", 1u32.., 0..4),
            warps in prop::option::of(1u32..64),
            stages in prop::option::of(1u32..8),
        ) {
            let config = Config { dims: dims.into_iter().collect(), warps, stages };
            prop_assert_eq!(config.to_string().parse::<Config>().expect("it reads back"), config);
        }
    }
}
