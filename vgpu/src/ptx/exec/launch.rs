//! A launch: checks, parameters, and the programs on a thread pool.

use super::cluster::Cluster;
use crate::counters::{Counters, Occupancy};
use crate::error::{Error, Result};
use crate::finding::Report;
use crate::launch::{Launch, Outcome};
use crate::memory::{GlobalMemory, Snapshot};
use crate::ptx::model::Model;
use crate::ptx::program::Kernel;
use crate::sanitizer::GlobalShadow;
use crate::trace::Tracer;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Warp instructions after which a cluster lets others run that it may wait for.
const SLICE: u64 = 2_000_000;

/// A launch as all its programs see it.
pub(crate) struct Launched<'a> {
    pub kernel: &'a Kernel,
    pub file: Option<String>,
    pub launch: &'a Launch,
    /// The cluster's extent.
    pub cluster: [u32; 3],
    pub snapshot: Snapshot,
    pub shadow: Option<GlobalShadow>,
    pub params: Vec<u8>,
    pub shared_bytes: u32,
    pub sanitize: bool,
    pub report: Report,
    pub printed: Mutex<String>,
    pub trace: Option<&'a Tracer<'a>>,
    pub multiprocessors: u32,
    pub started: std::time::Instant,
}

fn check(kernel: &Kernel, launch: &Launch, model: &Model) -> Result<([u32; 3], Vec<u8>, u32)> {
    let bad = |message: String| Err(Error::BadLaunch(message));
    let threads = launch.threads();
    if threads == 0 || launch.programs() == 0 {
        return bad("grid and block must not be empty".into());
    }
    if threads > 1024 || launch.block[0] > 1024 || launch.block[1] > 1024 || launch.block[2] > 64 {
        return bad(format!("a block of {:?} threads; there are at most 1024, of them 64 in z", launch.block));
    }
    if launch.grid[0] > i32::MAX as u32
        || launch.grid[1] > 65535
        || launch.grid[2] > 65535
        || launch.programs() > 1 << 31
    {
        return bad(format!("a grid of {:?} is too large", launch.grid));
    }
    if let Some(required) = kernel.reqntid
        && required != launch.block
    {
        return bad(format!(
            "`{}` requires blocks of {required:?} threads (.reqntid), not {:?}",
            kernel.name, launch.block
        ));
    }
    if let Some(most) = kernel.maxntid {
        let most: u64 = most.iter().map(|&n| u64::from(n)).product();
        if threads > most {
            return bad(format!("`{}` allows {most} threads a block (.maxntid), not {threads}", kernel.name));
        }
    }
    let cluster = match kernel.reqnctapercluster {
        Some(required) if launch.cluster == [1; 3] || launch.cluster == required => required,
        Some(required) => {
            return bad(format!("`{}` requires clusters of {required:?}, not {:?}", kernel.name, launch.cluster));
        }
        None => launch.cluster,
    };
    for axis in 0..3 {
        if cluster[axis] == 0 || !launch.grid[axis].is_multiple_of(cluster[axis]) {
            return bad(format!("the grid {:?} is not a multiple of the cluster {cluster:?}", launch.grid));
        }
    }
    let size: u32 = cluster.iter().product();
    if size > 16 || size > 1 && !model.has_clusters {
        return bad(format!("clusters of {size} programs are more than the device has"));
    }
    if kernel.params.len() != launch.args.len() {
        let names: Vec<_> = kernel.params.iter().map(|p| p.name.as_str()).collect();
        let (wants, has) = (kernel.params.len(), launch.args.len());
        return bad(format!("`{}` takes {wants} arguments ({}), not {has}", kernel.name, names.join(", ")));
    }
    let mut params = vec![0; kernel.param_bytes as usize];
    for (param, arg) in kernel.params.iter().zip(&launch.args) {
        let bytes = arg.as_bytes();
        if bytes.len() != param.size as usize {
            return bad(format!(
                "the argument for `{}` has {} bytes instead of {}",
                param.name,
                bytes.len(),
                param.size
            ));
        }
        params[param.offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    let fixed = kernel.shared_static.next_multiple_of(16);
    let shared = u64::from(if launch.dynamic_shared > 0 { fixed } else { kernel.shared_static })
        + u64::from(launch.dynamic_shared);
    if shared > u64::from(model.shared_per_block) {
        return bad(format!(
            "{shared} bytes of shared memory; a block of this device has at most {}",
            model.shared_per_block
        ));
    }
    Ok((cluster, params, shared as u32))
}

/// Occupancy from shared memory, threads and the registers that the kernel is known to be limited to.
fn occupancy(kernel: &Kernel, launch: &Launch, shared: u32, model: &Model) -> Occupancy {
    let threads = launch.threads() as u32;
    let warps = threads.div_ceil(32);
    // Without an allocation the count is an estimate: what the kernel declares, within what the assembler can give it.
    let limit = (65536 / (warps * 32)).min(255);
    let registers = kernel.maxnreg.unwrap_or(kernel.declared_registers.min(limit)).clamp(16, 255).next_multiple_of(8);
    let by_registers = 65536 / (registers * warps * 32).max(1);
    let by_shared = match shared {
        0 => model.blocks_per_multiprocessor,
        shared => model.shared_per_multiprocessor / (shared + 1024),
    };
    let by_threads = model.threads_per_multiprocessor / (warps * 32);
    let choices = [
        (by_registers, "registers"),
        (by_shared, "shared memory"),
        (by_threads, "threads"),
        (model.blocks_per_multiprocessor, "programs"),
    ];
    let (programs, limited_by) = choices.into_iter().min_by_key(|(count, _)| *count).unwrap_or((0, ""));
    Occupancy {
        registers,
        shared,
        threads,
        programs,
        warps: programs * warps,
        max_warps: model.threads_per_multiprocessor / 32,
        limited_by: limited_by.to_owned(),
    }
}

/// Runs a kernel. A failure comes with what was found before it.
pub(crate) fn run(
    kernel: &Kernel,
    file: Option<&str>,
    memory: &GlobalMemory,
    launch: &Launch,
    model: &Model,
    trace: Option<&Tracer<'_>>,
) -> (Result<()>, Outcome) {
    let (cluster, params, shared_bytes) = match check(kernel, launch, model) {
        Ok(checked) => checked,
        Err(error) => return (Err(error), Outcome::default()),
    };
    let snapshot = memory.snapshot();
    let shadow = launch.sanitize.then(|| GlobalShadow::new(&snapshot, launch.programs() as usize));
    let launched = Launched {
        kernel,
        file: file.map(str::to_owned),
        launch,
        cluster,
        snapshot,
        shadow,
        params,
        shared_bytes,
        sanitize: launch.sanitize,
        report: Report::new(launch.finding_limit),
        printed: Mutex::default(),
        trace,
        multiprocessors: model.multiprocessors,
        started: std::time::Instant::now(),
    };
    let clusters = launch.programs() / u64::from(cluster.iter().product::<u32>());
    let next = AtomicU64::new(0);
    let parked: Mutex<VecDeque<Box<Cluster>>> = Mutex::default();
    let failed: Mutex<Option<Error>> = Mutex::default();
    let counters: Mutex<Counters> = Mutex::default();
    let work = || loop {
        if lock(&failed).is_some() {
            return;
        }
        let index = next.fetch_add(1, Relaxed);
        let mut cluster = if index < clusters {
            Box::new(Cluster::new(&launched, index))
        } else {
            match lock(&parked).pop_front() {
                Some(cluster) => cluster,
                None => return,
            }
        };
        match cluster.run(&launched, SLICE) {
            Ok(true) => lock(&counters).merge(&cluster.counters()),
            Ok(false) => lock(&parked).push_back(cluster),
            Err(error) => {
                lock(&counters).merge(&cluster.counters());
                lock(&failed).get_or_insert(error);
            }
        }
    };
    let workers = (rayon::current_num_threads() as u64).min(clusters);
    if workers <= 1 || trace.is_some() {
        work();
    } else {
        rayon::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|_| work());
            }
        });
    }
    let result = match lock(&failed).take() {
        Some(error) => Err(error),
        None => Ok(()),
    };
    let mut counters = std::mem::take(&mut *lock(&counters));
    counters.occupancy = occupancy(kernel, launch, shared_bytes, model);
    let printed = std::mem::take(&mut *lock(&launched.printed));
    let (findings, findings_dropped) = launched.report.finish();
    (result, Outcome { counters, findings, findings_dropped, printed })
}

/// A lock whose holder panicked is still good: what it guards is only added to.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
