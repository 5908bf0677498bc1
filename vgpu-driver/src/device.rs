//! The devices of this process.

use crate::error::{Error, Result};
use crate::host;
use crate::lock;
use crate::model::{MODELS, Model};
use crate::settings::Settings;
use std::sync::{Arc, Mutex, Weak};
use tegula_vgpu::memory::{Allocation, Fill, GlobalMemory, Snapshot};

/// Where the first device's memory starts.
const FIRST_ADDRESS: u64 = 0x7_0000_0000;
/// Addresses that all devices share: they end below the host's heap. Addresses are never given out twice, so that they are what runs out
/// first.
const ADDRESSES: u64 = 1 << 46;
/// Larger allocations are zeroed where smaller ones are poisoned: the host has to hold what is written.
const MOST_POISON: u64 = 1 << 30;

/// How far apart the devices' memories are: no address is one of two devices.
fn stride() -> u64 {
    ADDRESSES / Settings::get().devices.next_power_of_two() as u64
}

/// A device.
#[derive(Debug)]
pub struct Device {
    /// Its number.
    pub index: usize,
    /// What it stands in for.
    pub model: &'static Model,
    /// Its memory.
    pub memory: Arc<GlobalMemory>,
    /// Devices whose kernels reach this one's memory.
    viewers: Mutex<Vec<Weak<Device>>>,
}

impl Device {
    /// The devices that the settings ask for. `nvidia` is the vendor that the calling library stands in for: a model of the other
    /// one means that this library has no devices.
    pub fn all(settings: &Settings, nvidia: bool) -> Vec<Arc<Self>> {
        let chosen = match &settings.model {
            None => MODELS.iter().find(|model| model.is_nvidia() == nvidia),
            Some(name) => {
                let model = Model::by_key(name);
                if model.is_none() {
                    let keys: Vec<_> = MODELS.iter().map(|model| model.key).collect();
                    eprintln!("vgpu: no model `{name}`; VGPU_MODEL can be {}", keys.join(", "));
                }
                model.filter(|model| model.is_nvidia() == nvidia)
            }
        };
        let Some(model) = chosen else { return Vec::new() };
        let capacity = settings.memory.unwrap_or(model.memory);
        let device = |index: usize| {
            let first = FIRST_ADDRESS + index as u64 * stride();
            let memory = Arc::new(GlobalMemory::at(capacity, first));
            host::attach(&memory);
            Arc::new(Self { index, model, memory, viewers: Mutex::default() })
        };
        (0..settings.devices).map(device).collect()
    }

    /// The number of the device whose memory an address would be in.
    pub fn index_of(address: u64) -> Option<usize> {
        let index = address.checked_sub(FIRST_ADDRESS)? / stride();
        usize::try_from(index).ok().filter(|&index| index < Settings::get().devices)
    }

    /// Allocates memory. Where launches are sanitized, it is poisoned (up to a gibibyte), and reads before a write are findings.
    pub fn allocate(&self, name: &str, size: u64) -> Result<u64> {
        let fill = if Settings::get().sanitize && size <= MOST_POISON { Fill::Poison } else { Fill::Zero };
        let free = self.memory.capacity().saturating_sub(self.memory.used());
        let out_of_memory = Error::OutOfMemory { asked: size, free };
        // Held so that a device which becomes a viewer meanwhile sees the allocation once.
        let viewers = lock(&self.viewers);
        let address = self.memory.allocate(name, size, fill).map_err(|_| out_of_memory.clone())?;
        if Self::index_of(address.saturating_add(size)) != Some(self.index) {
            // What was just allocated can be freed.
            let _ = self.memory.free(address);
            return Err(out_of_memory);
        }
        for viewer in viewers.iter().filter_map(Weak::upgrade) {
            if let Some(allocation) = find(&self.memory.snapshot(), address) {
                map(&viewer, allocation);
            }
        }
        Ok(address)
    }

    /// Frees memory.
    pub fn free(&self, address: u64) -> Result<()> {
        let viewers = lock(&self.viewers);
        self.memory.free(address).map_err(|error| Error::value(error.to_string()))?;
        for viewer in viewers.iter().filter_map(Weak::upgrade) {
            // Whatever was allocated before the viewer came and freed since is not there.
            let _ = viewer.memory.unmap(address);
        }
        Ok(())
    }

    /// Whether this device's kernels reach another device's memory.
    pub fn sees(self: &Arc<Self>, peer: &Self) -> bool {
        lock(&peer.viewers).iter().any(|viewer| viewer.as_ptr() == Arc::as_ptr(self))
    }

    /// Lets this device's kernels reach another device's memory, what is allocated there later included.
    pub fn enable_peer(self: &Arc<Self>, peer: &Self) -> Result<()> {
        if peer.index == self.index {
            return Err(Error::InvalidDevice);
        }
        let mut viewers = lock(&peer.viewers);
        if viewers.iter().any(|viewer| viewer.as_ptr() == Arc::as_ptr(self)) {
            return Err(Error::PeerAlreadyEnabled);
        }
        viewers.push(Arc::downgrade(self));
        for allocation in own_allocations(peer) {
            map(self, allocation);
        }
        Ok(())
    }

    /// Takes that back.
    pub fn disable_peer(self: &Arc<Self>, peer: &Self) -> Result<()> {
        let mut viewers = lock(&peer.viewers);
        let at = viewers.iter().position(|viewer| viewer.as_ptr() == Arc::as_ptr(self)).ok_or(Error::PeerNotEnabled)?;
        viewers.swap_remove(at);
        for allocation in own_allocations(peer) {
            let _ = self.memory.unmap(allocation.base());
        }
        Ok(())
    }
}

/// The live allocations of a device's own memory.
fn own_allocations(device: &Device) -> Vec<Arc<Allocation>> {
    let snapshot = device.memory.snapshot();
    let own = |a: &&Arc<Allocation>| !a.is_freed() && Device::index_of(a.base()) == Some(device.index);
    snapshot.allocations().iter().filter(own).map(Arc::clone).collect()
}

fn map(viewer: &Device, allocation: Arc<Allocation>) {
    // It can be there already only if it was mapped by the same call before.
    let _ = viewer.memory.map(allocation);
}

/// The allocation that starts at an address.
fn find(snapshot: &Snapshot, address: u64) -> Option<Arc<Allocation>> {
    let allocations = snapshot.allocations();
    allocations.binary_search_by_key(&address, |a| a.base()).ok().map(|index| Arc::clone(&allocations[index]))
}
