//! A call that takes its choice from the records.

use std::any::TypeId;
use std::sync::PoisonError;

use tegula_lang::kernel::{BuildOptions, Call, Kernel};
use tegula_runtime::launch::device_of;

use crate::record::{Records, source_hash};
use crate::shape::Shape;
use crate::space::Config;

/// What a choice depends on: the kernel with its build-time parameters, the device's name, the class of sizes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lookup {
    kernel: (TypeId, u64),
    device: String,
    shape: Shape,
}

/// Choosing by records.
pub trait Tuned {
    /// Takes sizes, warps and stages from the records of the nearest class of sizes on the device that holds the
    /// arguments, in place of what was chosen before; what the records do not name stays, and everything does without a
    /// record. Records made for another source of the kernel are ignored, and a `tracing` warning says so.
    #[must_use]
    fn tuned(self, records: &Records) -> Self;
}

impl<K: Kernel> Tuned for Call<'_, K> {
    fn tuned(mut self, records: &Records) -> Self {
        let Some(config) = choose(&self, records) else { return self };
        let dims = self.kernel.info().dims;
        if self.sizes.is_empty() {
            let chosen = |name| self.options.dims.iter().rev().find(|(n, _)| n == name).map(|(_, size)| *size);
            self.sizes = dims.iter().map(|d| chosen(d.name).unwrap_or(d.default)).collect();
        }
        for (name, size) in &config.dims {
            if let Some(i) = dims.iter().position(|d| d.name == name) {
                self.sizes[i] = *size;
            }
        }
        self.options.num_warps = config.warps.or(self.options.num_warps);
        self.options.num_stages = config.stages.or(self.options.num_stages);
        self
    }
}

fn choose<K: Kernel>(call: &Call<'_, K>, records: &Records) -> Option<Config> {
    let device = device_of(&call.args)?;
    let shape = Shape::of_args(&call.args);
    let lookup = Lookup { kernel: call.kernel.key(), device: device.name().into(), shape };
    let mut looked_up = records.looked_up.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(choice) = looked_up.get(&lookup) {
        return choice.clone();
    }
    // A kernel that cannot be built says so at launch.
    let choice = call.kernel.build(&BuildOptions::default()).ok().and_then(|function| {
        let (name, source) = (call.kernel.info().name, source_hash(&function));
        let record = records.choose(name, &source, device.target(), &device.description(), &lookup.shape)?;
        Some(record.config.clone())
    });
    looked_up.insert(lookup, choice.clone());
    choice
}
