//! Launches of the manifest's PTX kernels.

use crate::support::{Arg, Artifact, Problem};
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::{Element, Swizzle, TensorMap};

fn buffer(memory: &GlobalMemory, arg: &Arg, outputs: &mut Vec<(u64, usize)>) -> u64 {
    match arg {
        Arg::Input(name, bytes) => {
            let address = memory.allocate(*name, bytes.len() as u64, Fill::Poison).expect("memory");
            memory.write(address, bytes).expect("in bounds");
            address
        }
        Arg::Output(name, bytes) => {
            let address = memory.allocate(*name, *bytes as u64, Fill::Poison).expect("memory");
            outputs.push((address, *bytes));
            address
        }
        _ => unreachable!("not a buffer"),
    }
}

/// A problem's launch with its buffers in memory, and where its outputs lie (address and size).
pub fn prepare(memory: &GlobalMemory, artifact: &Artifact, problem: &Problem) -> (Launch, Vec<(u64, usize)>) {
    let mut launch = Launch::new(&artifact.entry)
        .grid(problem.grid)
        .block([artifact.block_threads, 1, 1])
        .dynamic_shared(artifact.dynamic_shared_bytes);
    let mut outputs = Vec::new();
    let mapped: Vec<u64> = problem.buffers.iter().map(|arg| buffer(memory, arg, &mut outputs)).collect();
    for arg in &problem.args {
        launch.args.push(match arg {
            Arg::Input(..) | Arg::Output(..) => Argument::pointer(buffer(memory, arg, &mut outputs)),
            Arg::I32(value) => Argument::i32(*value),
            Arg::I64(value) => Argument::i64(*value),
            Arg::F32(value) => Argument::f32(*value),
            Arg::Map { buffer, rows, columns, box_columns, box_rows } => {
                let (extents, boxes) = ([*columns, *rows], [*box_columns, *box_rows]);
                let mut map = TensorMap::tiled(mapped[*buffer], Element::F16, &extents, &[columns * 2], &boxes);
                map.swizzle = Swizzle::B128;
                Argument::bytes(map.encode().expect("a map"))
            }
        });
    }
    // Global and profile scratch.
    launch.args.extend([Argument::pointer(0), Argument::pointer(0)]);
    (launch, outputs)
}
