//! Kernels of every kind, at sizes that do not fit, against the interpreter.

use crate::common::{check, check_exact, parse, tensor, zeros};
use tegula_codegen_cpu::{CpuExecutor, CpuOptions};
use tegula_ir::exec::{Executor, HostArg};
use tegula_ir::literal::Literal;
use tegula_ir::types::ScalarType::*;

#[test]
fn add_with_a_ragged_end() {
    for n in [1, 7, 16, 63, 64, 65, 1000] {
        check_exact(
            "kernel @add(%x: view<1d, f32> read, %y: view<1d, f32> read, %o: view<1d, f32> write) grid(%o = [64]) {
               %i = program_id 0 : i64
               %b = constant 64 : i64
               %at = mul %i, %b : i64
               %p = load %x[%at] : tile<64xf32>
               %q = load %y[%at] : tile<64xf32>
               %s = add %p, %q : tile<64xf32>
               store %s, %o[%at]
               return
             }",
            [(n as u32).div_ceil(64), 1, 1],
            &[tensor(F32, &[n], 1), tensor(F32, &[n], 2), zeros(F32, &[n])],
        );
    }
}

#[test]
fn softmax_like_rows() {
    for (rows, columns) in [(4, 64), (5, 63), (3, 1), (9, 100)] {
        check(
            "kernel @rows(%x: view<2d, f16> read, %o: view<2d, f32> write) grid(%o = [4, 112]) {
               %i = program_id 0 : i64
               %four = constant 4 : i64
               %zero = constant 0 : i64
               %r = mul %i, %four : i64
               %low = constant -60000.0 : f16
               %h = load %x[%r, %zero] pad %low : tile<4x112xf16>
               %v = cast %h : tile<4x112xf32>
               %m = reduce max %v axes [1] : tile<4xf32>
               %m1 = reshape %m : tile<4x1xf32>
               %mb = broadcast %m1 : tile<4x112xf32>
               %d = sub %v, %mb : tile<4x112xf32>
               %e0 = mul %d, %d : tile<4x112xf32>
               %one = constant 1.0 : tile<4x112xf32>
               %e1 = add %e0, %one : tile<4x112xf32>
               %e = div %one, %e1 : tile<4x112xf32>
               %s = reduce sum %e axes [1] : tile<4xf32>
               %s1 = reshape %s : tile<4x1xf32>
               %sb = broadcast %s1 : tile<4x112xf32>
               %q = div %e, %sb : tile<4x112xf32>
               store %q, %o[%r, %zero]
               return
             }",
            [(rows as u32).div_ceil(4), 1, 1],
            &[tensor(F16, &[rows, columns], 3), zeros(F32, &[rows, columns])],
        );
    }
}

#[test]
fn matmul_in_a_loop() {
    for (m, n, k) in [(16, 32, 24), (17, 33, 25), (1, 1, 1), (40, 50, 60)] {
        check(
            "kernel @matmul(%a: view<2d, f32> read, %b: view<2d, f32> read, %c: view<2d, f32> write, %nn: i64) grid(%c = [16, 32]) {
               %pid = program_id 0 : i64
               %i = div %pid, %nn : i64
               %j = rem %pid, %nn : i64
               %bm = constant 16 : i64
               %bn = constant 32 : i64
               %bk = constant 8 : i64
               %zero = constant 0 : i64
               %r = mul %i, %bm : i64
               %s = mul %j, %bn : i64
               %k = view_extent %a axis 1 : i64
               %init = constant 0.0 : tile<16x32xf32>
               %acc = for %kk = %zero to %k step %bk iter(%x = %init) -> tile<16x32xf32> {
                 %p = load %a[%r, %kk] : tile<16x8xf32>
                 %q = load %b[%kk, %s] : tile<8x32xf32>
                 %y = dot %p, %q, %x : tile<16x32xf32>
                 yield %y
               }
               store %acc, %c[%r, %s]
               return
             }",
            [(m as u32).div_ceil(16) * (n as u32).div_ceil(32), 1, 1],
            &[
                tensor(F32, &[m, k], 5),
                tensor(F32, &[k, n], 6),
                zeros(F32, &[m, n]),
                HostArg::Scalar(Literal::Int((n + 31) / 32)),
            ],
        );
    }
}

/// Division of a row by one number takes another way than other divisions, and must give the same.
#[test]
fn rows_divided_by_one_number() {
    let mut values = crate::common::Values::new(21);
    let mut any = |edges: bool| {
        let r = values.next();
        let float = match r % 8 {
            0 if edges => f32::from_bits(values.next() as u32),
            1 if edges => [0.0, -0.0, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-45][(r >> 8) as usize % 6],
            2 => f32::from_bits((values.next() as u32 & 0x7fff_ffff) % 0x0d00_0000 + 0x3900_0000),
            _ => (r >> 16) as u32 as f32 / 65536.0 - 30000.0,
        };
        Literal::Float(f64::from(float))
    };
    for edges in [false, true] {
        for _ in 0..8 {
            let (x, y) = (
                crate::common::tensor_of(F32, &[24, 200], || any(edges)),
                crate::common::tensor_of(F32, &[24], || any(edges)),
            );
            check_exact(
                "kernel @divide(%x: view<2d, f32> read, %y: view<1d, f32> read, %o: view<2d, f32> write) {
                   %zero = constant 0 : i64
                   %p = load %x[%zero, %zero] : tile<24x200xf32>
                   %q = load %y[%zero] : tile<24xf32>
                   %q1 = reshape %q : tile<24x1xf32>
                   %qb = broadcast %q1 : tile<24x200xf32>
                   %r = div %p, %qb : tile<24x200xf32>
                   store %r, %o[%zero, %zero]
                   return
                 }",
                [1, 1, 1],
                &[x, y, zeros(F32, &[24, 200])],
            );
        }
    }
}

/// Outputs of many megabytes are stored past the caches.
#[test]
fn large_outputs() {
    let (rows, columns) = (1030, 4096);
    let mut x = tegula_ir::exec::HostTensor::zeros(F32, &[1, columns]);
    for (i, chunk) in x.data.chunks_exact_mut(4).enumerate() {
        chunk.copy_from_slice(&(i as f32).to_le_bytes());
    }
    check_exact(
        "kernel @fill(%x: view<2d, f32> read, %o: view<2d, f32> write) grid(%o = [16, 1024]) {
           %pid = program_id 0 : i64
           %four = constant 4 : i64
           %i = div %pid, %four : i64
           %j = rem %pid, %four : i64
           %h = constant 16 : i64
           %w = constant 1024 : i64
           %zero = constant 0 : i64
           %r = mul %i, %h : i64
           %c = mul %j, %w : i64
           %row = load %x[%zero, %c] : tile<1x1024xf32>
           %all = broadcast %row : tile<16x1024xf32>
           store %all, %o[%r, %c]
           return
         }",
        [(rows as u32).div_ceil(16) * 4, 1, 1],
        &[HostArg::Tensor(x), zeros(F32, &[rows, columns])],
    );
}

/// Sums, products of matrices and functions give the same bits on any number of threads, and prints the same text.
#[test]
fn the_number_of_threads_makes_no_difference() {
    let kernel = parse(
        "kernel @mix(%a: view<2d, f32> read, %b: view<2d, f32> read, %o: view<2d, f32> write) grid(%o = [8, 24]) {
           %pid = program_id 0 : i64
           %eight = constant 8 : i64
           %zero = constant 0 : i64
           %r = mul %pid, %eight : i64
           %x = load %a[%r, %zero] : tile<8x40xf32>
           %y = load %b[%zero, %zero] : tile<40x24xf32>
           %init = constant 0.0 : tile<8x24xf32>
           %d = dot %x, %y, %init : tile<8x24xf32>
           %e = tanh %d : tile<8x24xf32>
           %s = reduce sum %e axes [1] : tile<8xf32>
           print \"sums\", %s
           %c = scan sum %e axis 1 : tile<8x24xf32>
           store %c, %o[%r, %zero]
           return
         }",
    );
    let rows = 203;
    let args = [tensor(F32, &[rows, 37], 5), tensor(F32, &[37, 23], 6), zeros(F32, &[rows, 23])];
    let run = |threads| {
        let mut args = args.to_vec();
        let cpu = CpuExecutor::new(CpuOptions::default(), threads);
        let text = cpu.run(&kernel, [(rows as u32).div_ceil(8), 1, 1], &mut args).unwrap_or_else(|e| panic!("{e}"));
        (text, args)
    };
    let first = run(1);
    assert_eq!(first.0.lines().count(), 26);
    for threads in [1, 2, 3, 7, 16] {
        assert_eq!(run(threads), first, "{threads} threads");
    }
}
