//! Raw pointers: accesses outside every argument are errors at the op, not faults.

use crate::common::{check_exact, parse, zeros};
use tegula_codegen_cpu::{CpuExecutor, CpuOptions};
use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor};
use tegula_ir::types::ScalarType::*;

fn counting(n: i64) -> HostTensor {
    let mut t = HostTensor::zeros(F32, &[n]);
    for (i, chunk) in t.data.chunks_exact_mut(4).enumerate() {
        chunk.copy_from_slice(&(i as f32).to_le_bytes());
    }
    t
}

const COPY: &str = "kernel @copy(%p: ptr<f32>, %o: view<1d, f32> write) {
    %zero = constant 0 : i64
    %start = constant LAST : i64
    %i = arange axis 0 : tile<24xi64>
    %s = splat %start : tile<24xi64>
    %at = add %i, %s : tile<24xi64>
    %a = ptr_add %p, %at : tile<24xptr<f32>>
    %v = load %a : tile<24xf32>
    store %v, %o[%zero]
    return
  }";

#[test]
fn within_the_allocation() {
    let args = [HostArg::Ptr(counting(24)), zeros(F32, &[24])];
    check_exact(&COPY.replace("LAST", "0"), [1, 1, 1], &args);
}

#[test]
fn outside_the_allocation() {
    for start in ["1", "-1", "1099511627776"] {
        let func = parse(&COPY.replace("LAST", start));
        for fuse in [true, false] {
            let mut args = [HostArg::Ptr(counting(24)), zeros(F32, &[24])];
            let cpu = CpuExecutor::new(CpuOptions { fuse, ..CpuOptions::default() }, 1);
            let error = cpu.run(&func, [1, 1, 1], &mut args).expect_err("the access is refused");
            let ExecError::Kernel(diagnostic) = error else { panic!("{error}") };
            assert!(diagnostic.message.contains("outside"), "{diagnostic}");
            assert_eq!(diagnostic.loc.map(|l| l.line), Some(8));
        }
    }
}

#[test]
fn a_view_made_of_a_pointer() {
    let text = "kernel @made(%p: ptr<f32>, %n: i64, %o: view<1d, f32> write) {
        %zero = constant 0 : i64
        %one = constant 1 : i64
        %v = make_view %p extents [%n] strides [%one] : view<1d, f32>
        %x = load %v[%zero] : tile<32xf32>
        store %x, %o[%zero]
        return
      }";
    let args = |n: i64| {
        let n = HostArg::Scalar(tegula_ir::literal::Literal::Int(n));
        [HostArg::Ptr(counting(24)), n, zeros(F32, &[32])]
    };
    check_exact(text, [1, 1, 1], &args(24));
    let error = CpuExecutor::default().run(&parse(text), [1, 1, 1], &mut args(25)).expect_err("one too many");
    assert!(error.to_string().contains("outside"), "{error}");
}
