//! Problems that only the sizes show: what the build says, with the source line and a caret.

use tegula::kernel::{Call, Kernel};
use tegula::prelude::*;
use tegula_ir::diag::{RenderStyle, Sources};
use tegula_ir::exec::HostTensor;
use tegula_macros::kernel;

use crate::harness::empty;

/// The text of all problems of a build.
#[track_caller]
fn rendered<K: Kernel>(call: &Call<'_, K>) -> String {
    let error = call.build().expect_err("the kernel should not build");
    // Paths are relative to the workspace, as the compiler gave them; tests run in the package.
    let sources = Sources::in_memory().with(file!(), include_str!("errors.rs"));
    let texts: Vec<String> = error.diagnostics.iter().map(|d| d.render_with(&sources, RenderStyle::Plain)).collect();
    // Line numbers change with every edit of this file.
    let text = texts.join("\n");
    text.lines()
        .map(|line| {
            let place = line.trim_start().starts_with("--> ");
            let text: String = if place { line.split(':').next().unwrap_or_default().into() } else { line.into() };
            text.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').trim_end().to_owned()
        })
        .filter(|line| line != "|" && !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn io() -> (HostTensor, HostTensor) {
    (empty::<f32>(&[8, 8]), empty::<f32>(&[8]))
}

#[kernel]
fn reshapes<M: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (N,)>) {
    let v = x.tile::<(M, N)>([0, 0]).load();
    y.store(v.sum::<0>() + v.reshape::<(Twice<N>,)>().slice::<(N,)>([0]));
}

#[test]
fn a_reshape_of_another_count() {
    let (x, mut y) = io();
    let text = rendered(&reshapes(&x, &mut y).dims(reshapes::Dims { m: 4, n: 8 }));
    assert_eq!(
        text,
        "\
error: cannot reshape [4, 8] (32 elements) to [16] (16 elements)
--> lang/tests/language/errors.rs
|     y.store(v.sum::<0>() + v.reshape::<(Twice<N>,)>().slice::<(N,)>([0]));
|                              ^^^^^^^
= note: built with M = 4, N = 8"
    );
}

#[kernel]
fn axes<M: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (M,)>) {
    let n = x.extent(2) + y.extent(1);
    let view = x.permute([0, 0]);
    y.store(full(n.cast::<f32>() + view.get([0, 0])));
}

#[test]
fn axes_that_do_not_exist_are_all_reported() {
    let (x, mut y) = io();
    let text = rendered(&axes(&x, &mut y));
    assert_eq!(
        text,
        "\
error: there is no axis 2 in a tensor of rank 2
--> lang/tests/language/errors.rs
|     let n = x.extent(2) + y.extent(1);
|               ^^^^^^
= help: axes are counted from 0, outermost first
error: there is no axis 1 in an output of rank 1
--> lang/tests/language/errors.rs
|     let n = x.extent(2) + y.extent(1);
|                             ^^^^^^
= help: axes are counted from 0, outermost first
error: [0, 0] is not an order of the axes of a tensor of rank 2
--> lang/tests/language/errors.rs
|     let view = x.permute([0, 0]);
|                  ^^^^^^^
= note: built with M = 32
= help: name each axis once"
    );
}

#[kernel]
fn dims<M: Dim, N: Dim>(x: &Tensor<i8, 2>, y: &mut Tiles<i8, (M,)>) {
    static_assert(M::size() % 16 == 0, "M must be a multiple of 16");
    let v = x.tile::<(M, Half<N>)>([0, 0]).load();
    y.store(v.sum::<1>() + 300);
}

#[test]
fn dims_that_do_not_divide_and_literals_that_do_not_fit() {
    let (x, mut y) = (empty::<i8>(&[8, 8]), empty::<i8>(&[8]));
    let text = rendered(&dims(&x, &mut y).dims(dims::Dims { m: 24, n: 9 }));
    for part in [
        "error: M must be a multiple of 16",
        "|     static_assert(M::size() % 16 == 0, \"M must be a multiple of 16\");",
        "error: Half: 9 is not a multiple of 2",
        "error: literal 300 is out of range for i8",
        "= help: values of i8 are -128 to 127",
        "= note: built with M = 24, N = 9",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[kernel]
fn types<T: AnyFloat, N: Dim>(x: &Tensor<T, 1>, y: &mut Tiles<f32, (N,)>) {
    let v = x.tile::<(N,)>(y.index()).load();
    y.store(v.bitcast::<f32>());
}

#[test]
fn types_that_an_operation_does_not_take() {
    let (x, mut y) = io();
    let x = HostTensor { extents: vec![64], strides: vec![1], ..x };
    assert!(types::<f32>(&x, &mut y).build().is_ok());
    let text = rendered(&types::<bf16>(&x, &mut y));
    assert!(text.contains("error: cannot reinterpret the bits of bf16 as f32"), "{text}");
    assert!(text.contains("|     y.store(v.bitcast::<f32>());\n|               ^^^^^^^"), "{text}");
}

#[kernel]
fn large<N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (N,)>) {
    y.store(x.tile::<(N, N)>([0, 0]).load().sum::<1>());
}

#[test]
fn a_tile_that_is_too_large() {
    let (x, mut y) = io();
    let text = rendered(&large(&x, &mut y).dims(large::Dims { n: 4096 }));
    assert!(text.contains("tile [4096, 4096] has 16777216 elements; the limit is 1048576"), "{text}");
    assert!(text.contains("= help: use a smaller tile and a loop over it"), "{text}");
}

#[kernel]
fn leaves<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let last = std::cell::Cell::new(n);
    if n > 3 {
        last.set(n + 1);
    }
    y.store(full(last.get()));
}

#[test]
fn a_value_used_after_its_branch() {
    let mut y = empty::<i32>(&[8]);
    let text = rendered(&leaves(3, &mut y));
    assert!(text.contains("|     y.store(full(last.get()));\n|             ^^^^"), "{text}");
    assert!(text.contains("= help: assign it to a variable that is declared before the loop or branch"), "{text}");
}

#[kernel]
fn mistakes_of_numbers<N: Dim>(x: &Tensor<u8, 1>, y: &mut Tiles<u8, (N,)>) {
    let v = x.tile::<(N,)>([0]).load();
    let counted = arange_from::<u8, (N,)>(250);
    y.store((v - 256).maximum(-1) + counted);
}

#[test]
fn a_number_out_of_range_is_reported_once() {
    let (x, mut y) = (empty::<u8>(&[8]), empty::<u8>(&[8]));
    let text = rendered(&mistakes_of_numbers(&x, &mut y).dims(mistakes_of_numbers::Dims { n: 8 }));
    assert_eq!(
        text,
        "\
error: u8 cannot count from 250 to 257
--> lang/tests/language/errors.rs
|     let counted = arange_from::<u8, (N,)>(250);
|                   ^^^^^^^^^^^
= help: values of u8 are 0 to 255: count in a wider type
error: literal 256 is out of range for u8
--> lang/tests/language/errors.rs
|     y.store((v - 256).maximum(-1) + counted);
|             ^
= help: values of u8 are 0 to 255
error: literal -1 is out of range for u8
--> lang/tests/language/errors.rs
|     y.store((v - 256).maximum(-1) + counted);
|                       ^^^^^^^
= note: built with N = 8
= help: values of u8 are 0 to 255"
    );
}

#[kernel]
fn no_such_axis<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let [i] = y.index();
    let one = x.at_axis(2, i).get(());
    let most = x.tile::<(Mul<N, Mul<N, N>>,)>([0]).load().max_all();
    y.store(full(one + most));
}

#[test]
fn an_axis_that_cannot_be_dropped_and_dims_that_overflow() {
    let (x, mut y) = (empty::<f32>(&[8]), empty::<f32>(&[8]));
    let text = rendered(&no_such_axis(&x, &mut y).dims(no_such_axis::Dims { n: 4_000_000 }));
    assert!(text.contains("error: there is no axis 2 in a tensor of rank 1"), "{text}");
    assert!(text.contains("|     let one = x.at_axis(2, i).get(());\n|                 ^^^^^^^"), "{text}");
    assert!(
        text.contains("error: dim Mul<N, Mul<N, N>> has size 9223372036854775807, which is not an extent"),
        "{text}"
    );
}

#[kernel]
fn side_effects<N: Dim>(x: &Tensor<f32, 1>, n: Scalar<i32>, y: &mut Tiles<f32, (N,)>) {
    let v = x.tile::<(N,)>([0]).load();
    let sum = v.reduce_with::<0>(|a, b| {
        device_assert(a > b, "in order");
        a + b
    });
    let mut s = sum;
    for _ in (0..n).stages(0).unroll(0) {
        s += 1;
    }
    y.store(full(s));
}

#[test]
fn what_only_the_whole_kernel_shows() {
    let (x, mut y) = (empty::<f32>(&[8]), empty::<f32>(&[8]));
    let text = rendered(&side_effects(&x, 3, &mut y).dims(side_effects::Dims { n: 8 }));
    for part in [
        "error: assert cannot stand in the function of a reduce_with",
        "|         device_assert(a > b, \"in order\");\n|         ^^^^^^^^^^^^^",
        "error: 0 pipeline stages",
        "|     for _ in (0..n).stages(0).unroll(0) {",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[kernel]
fn nibbles<N: Dim>(x: Scalar<I4>, y: &mut Tiles<i32, (N,)>) {
    y.store(full(x.cast::<i32>()));
}

#[test]
fn options_and_types_that_no_kernel_has() {
    let mut y = empty::<i32>(&[8]);
    let text = rendered(&nibbles(I4(3), &mut y));
    assert!(text.contains("error: parameter x: i4 has no form in memory"), "{text}");
    let text = rendered(&leaves(3, &mut y).warps(3));
    assert!(text.contains("error: a program cannot have 3 warps"), "{text}");
    assert!(text.contains("= help: the number of warps is 1, 2, 4, 8, 16 or 32"), "{text}");
}

#[test]
fn options_that_the_kernel_does_not_have() {
    use tegula::kernel::{BuildOptions, Listed};
    let info = types::Listing::INFO;
    let message = |o: BuildOptions| info.build(&o).unwrap_err().to_string();
    assert!(message(BuildOptions::default().dim("M", 3)).contains("the kernel has no dim M; its dims are: N"));
    assert!(message(BuildOptions::default().dim("N", 0)).contains("dim N is 0"));
    assert!(message(BuildOptions::default().ty("U", ScalarType::F32)).contains("no element-type parameter U"));
    let text = message(BuildOptions::default().ty("T", ScalarType::I32));
    assert!(text.contains("cannot be built for T = i32; possible for T: f32, f16, bf16, f64, f8e4m3"), "{text}");
}
