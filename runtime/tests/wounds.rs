//! Wounds of other systems that concern compiling and launching.

use tegula_ir::text::parse_function;
use tegula_runtime::compiler::{Compilation, Target};
use tegula_runtime::{Device, Error};

/// Why a kernel is not compiled; it must not be.
fn refusal(compilation: Compilation) -> String {
    match compilation.code(false) {
        Ok(_) => panic!("the kernel compiles"),
        Err(error) => error.to_string(),
    }
}

/// A tile of 4 × 65536 compiles on the CPU, and is refused with a reason where it would fill the registers many times
/// over (Triton: 151 s).
#[test]
fn wound_16_a_huge_tile_compiles_or_is_refused() {
    let text = "
        kernel @huge(%x: view<2d, f32> read {unit_inner}, %y: view<1d, f32> write) {
          %zero = constant 0 : i64
          %v = load %x[%zero, %zero] : tile<4x65536xf32>
          %e = exp %v : tile<4x65536xf32>
          %s = reduce sum %e axes [1] : tile<4xf32>
          store %s, %y[%zero]
          return
        }";
    let f = parse_function(text, "huge.tile").expect("valid text");
    assert!(Compilation::new(f.clone(), Target::Cpu).code(false).is_ok());
    for target in ["sm_80", "sm_90a", "gfx942"] {
        let t = Target::by_name(target).expect("the target exists");
        let error = refusal(Compilation::new(f.clone(), t));
        for part in ["huge.tile:4:", "[4, 65536]", "elements a thread", target, "use more warps"] {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
    }
}

/// A kernel that needs more shared memory than there is: the error names kernel, need and limit.
#[test]
fn wound_17_too_much_shared_memory_is_an_error() {
    let text = "
        kernel @wide(%a: view<2d, f64> read, %i: view<2d, i32> read, %c: view<2d, f64> write) num_warps(16) {
          %zero = constant 0 : i64
          %x = load %a[%zero, %zero] : tile<128x256xf64>
          %n = load %i[%zero, %zero] : tile<128x256xi32>
          %y = gather_axis %x, %n axis 1 : tile<128x256xf64>
          store %y, %c[%zero, %zero]
          return
        }";
    let f = parse_function(text, "wide.tile").expect("valid text");
    for (target, most) in [("sm_80", "166912"), ("sm_90a", "232448"), ("gfx942", "65536")] {
        let t = Target::by_name(target).expect("the target exists");
        let error = refusal(Compilation::new(f.clone(), t));
        for part in ["wide", target, most] {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
    }
}

mod kernels {
    // The macro's paths are the facade's; this crate stands below it.
    pub use tegula_lang::prelude::*;
    pub use tegula_macros::kernel;

    #[kernel(crate = tegula_lang, defaults(B = 64))]
    pub fn double<B: Dim>(x: &Tensor<f32, 1>, out: &mut Tiles<f32, (B,)>) {
        let i = out.index();
        let v = x.tile::<(B,)>(i).load();
        out.store(v + v);
    }
}

/// Sizes 1, 3, 16 and 17 give at most two compilations.
#[test]
fn wound_18_sizes_do_not_compile_again_and_again() -> Result<(), Error> {
    use tegula_runtime::Launch;
    let device = Device::open("cpu")?;
    let before = device.compilations();
    for n in [1usize, 3, 16, 17, 1, 3, 16, 17] {
        let x = device.tensor(&vec![1.5f32; n], [n])?;
        let mut out = device.empty::<f32>([n])?;
        kernels::double(&x, &mut out).launch()?;
        assert_eq!(out.to_vec()?, vec![3.0; n]);
    }
    assert!(device.compilations() - before <= 2);
    Ok(())
}
