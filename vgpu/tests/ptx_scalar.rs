//! Scalar kernels as LLVM emits them, run on the PTX machine.

use tegula_vgpu::error::{Error, Result};
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::Module;

/// What `llc -mcpu=sm_90a` makes of a kernel with branches, shared memory, division, square root, an atomic and a printf.
const MIXED: &str = include_str!("ptx/mixed.ptx");

fn floats(memory: &GlobalMemory, address: u64, count: usize) -> Result<Vec<f32>> {
    let mut bytes = vec![0; count * 4];
    memory.read(address, &mut bytes)?;
    Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

#[test]
fn llvm_code_runs() -> Result<()> {
    let memory = GlobalMemory::default();
    let module = Module::load(MIXED, Some("mixed.ptx"), &memory)?;
    let count = 100;
    let (x, o) = (memory.allocate("x", count * 4, Fill::Poison)?, memory.allocate("o", count * 4, Fill::Poison)?);
    let input: Vec<u8> = (0..count).flat_map(|i| (i as f32 / 16.0).to_le_bytes()).collect();
    memory.write(x, &input)?;
    for seed in 0..4 {
        let launch = Launch::new("k")
            .block([128, 1, 1])
            .seed(seed)
            .arg(Argument::pointer(x))
            .arg(Argument::pointer(o))
            .arg(Argument::i32(count as i32))
            .arg(Argument::f32(3.0));
        let outcome = module.launch(&memory, &launch)?;
        assert!(outcome.is_clean(), "{}", outcome.findings[0]);
        let value = |t: u64| ((t as f32 / 16.0).exp2()).sqrt() / 3.0 + (t / 3) as f32;
        for (index, got) in floats(&memory, o, count as usize)?.into_iter().enumerate() {
            let expected = value(count - 1 - index as u64);
            assert!((got - expected).abs() <= 1e-6 * expected, "{index}: {got} {expected}");
        }
        assert_eq!(outcome.printed, format!("v=3 {:.6}\n", value(3)));
    }
    Ok(())
}

#[test]
fn unsupported_and_broken_code_is_told() -> Result<()> {
    let memory = GlobalMemory::default();
    let module = |body: &str| {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{\n.reg .b32 %r<9>;\n{body}\n}}"
        );
        Module::load(&text, Some("t.ptx"), &memory)
    };
    let error = module("frobnicate.b32 %r1, %r2;")?.prepare("k").unwrap_err();
    assert!(
        matches!(&error, Error::Unsupported { instruction, .. } if instruction == "frobnicate.b32 %r1, %r2"),
        "{error}"
    );
    assert!(error.to_string().starts_with("t.ptx:6:1: "), "{error}");
    let error = module("add.s32 %r1, %r2, %q;")?.prepare("k").unwrap_err();
    assert_eq!(error.to_string(), "t.ptx:6:1: `add.s32 %r1, %r2, %q`: `%q` is not declared");
    let error = module("add.frob.s32 %r1, %r2, %r3;")?.prepare("k").unwrap_err();
    assert!(error.to_string().contains("`.frob`"), "{error}");
    let error = module("trap;")?.launch(&memory, &Launch::new("k")).unwrap_err();
    assert!(matches!(error, Error::Trap { thread: [0, 0, 0], .. }), "{error}");
    let error =
        module("L: bra L;")?.launch(&memory, &Launch { instruction_limit: 1000, ..Launch::new("k") }).unwrap_err();
    assert!(matches!(error, Error::InstructionLimit { .. }), "{error}");
    Ok(())
}
