//! The examples of the language reference in `docs/book`.

use tegula::kernel::{BuildOptions, Listed};
use tegula::prelude::*;
use tegula_macros::{device, kernel};

use crate::harness::{empty, run, tensor, values};

#[kernel(defaults(BM = 64, BN = 64, BK = 32), warps = 8)]
pub fn matmul<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tiles<T, (BM, BN)>,
    #[comptime(default = false)] relu: bool,
) {
    let [i, j] = c.index();
    let mut acc = zeros::<T::Acc, (BM, BN)>();
    for k in 0..a.tiles::<BK>(1) {
        acc = dot(a.tile::<(BM, BK)>([i, k]).load(), b.tile::<(BK, BN)>([k, j]).load(), acc);
    }
    c.store(if relu { acc.relu() } else { acc }.cast());
}

#[test]
fn a_kernel_with_defaults_and_a_build_time_value() {
    let a = tensor(&[2, 2], [1.0f32, -2.0, 3.0, 4.0]);
    let b = tensor(&[2, 1], [1.0f32, 1.0]);
    for (relu, want) in [(false, [-1.0, 7.0]), (true, [0.0, 7.0])] {
        let mut c = empty::<f32>(&[2, 1]);
        run(matmul::<f32>(&a, &b, &mut c, relu));
        assert_eq!(values::<f32>(&c), want);
    }
    let info = matmul::Listing::INFO;
    let f = info.build(&BuildOptions::default()).unwrap();
    assert_eq!((f.num_warps, f.dims[2].1), (8, 32));
    assert_eq!(info.comptime[0].default, Some("false"));
    let dims = matmul::Dims { bk: 16, ..Default::default() };
    assert_eq!((dims.bm, dims.bk), (64, 16));
}

#[device]
fn leaky<T: Float, S: Shape>(x: Tile<T, S>, slope: f32) -> Tile<T, S> {
    select(x > 0, x, (x.cast::<f32>() * slope).cast())
}

fn store_with<T: Float, M: Dim, N: Dim>(
    c: &mut Tiles<T, (M, N)>,
    acc: Tile<f32, (M, N)>,
    epilogue: impl Fn(Tile<f32, (M, N)>) -> Tile<f32, (M, N)>,
) {
    c.store(epilogue(acc).cast());
}

#[kernel]
fn with_epilogue<T: Float, M: Dim, N: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (M, N)>, scale: Scalar<f32>) {
    let acc = leaky(x.tile::<(M, N)>(y.index()).load(), 0.5).cast();
    store_with(y, acc, |acc| acc * scale + 1.0);
}

#[test]
fn helpers_and_epilogues() {
    let x = tensor(&[1, 3], [-2.0f32, 0.0, 3.0].map(f16::from_f32));
    let mut y = empty::<f16>(&[1, 3]);
    run(with_epilogue::<f16>(&x, &mut y, 10.0));
    assert_eq!(values::<f16>(&y), [-9.0, 1.0, 31.0].map(f16::from_f32));
}

#[kernel]
fn recurrence<N: Dim>(a: &Tensor<f32, 1>, b: &Tensor<f32, 1>, out: &mut Tiles<f32, (N,)>) {
    let (a, b) = (a.tile::<(N,)>([0]).load(), b.tile::<(N,)>([0]).load());
    let (_, h) = scan_with::<0, _>((a, b), |f, g| (f.0 * g.0, g.0 * f.1 + g.1));
    out.store(h);
}

#[test]
fn a_recurrence_as_a_scan() {
    let (a, b) = (tensor(&[4], [0.5f32; 4]), tensor(&[4], [1.0f32, 2.0, 3.0, 4.0]));
    let mut out = empty::<f32>(&[4]);
    run(recurrence(&a, &b, &mut out).dims(recurrence::Dims { n: 4 }));
    assert_eq!(values::<f32>(&out), [1.0, 2.5, 4.25, 6.125]);
}

#[kernel]
fn dropout<N: Dim>(x: &Tensor<f32, 1>, out: &mut Tiles<f32, (N,)>, seed: Scalar<u64>, p: Scalar<f32>) {
    let x = x.tile::<(N,)>(out.index()).load();
    let [at] = out.offset();
    let keep = rand(seed, arange::<i64, (N,)>() + at) > p;
    out.store(select(keep, x / (1.0 - p), 0.0));
}

#[test]
fn dropout_does_not_depend_on_the_tiles() {
    let x = tensor(&[100], [1.0f32; 100]);
    let mut results = Vec::new();
    for n in [16, 100] {
        let mut out = empty::<f32>(&[100]);
        run(dropout(&x, &mut out, 7, 0.5).dims(dropout::Dims { n }));
        results.push(values::<f32>(&out));
    }
    assert_eq!(results[0], results[1]);
    assert!(results[0].iter().all(|&v| v == 0.0 || v == 2.0));
    let kept = results[0].iter().filter(|&&v| v != 0.0).count();
    assert!((30..70).contains(&kept), "{kept} of 100 are kept");
}

/// The names of the operations in a source file: functions, and the rows of the tables that macros make methods of.
fn operations(source: &str) -> Vec<String> {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let mut names = Vec::new();
    for line in source.lines().map(str::trim_start) {
        let function = line.strip_prefix("pub fn ").or_else(|| line.strip_prefix("pub unsafe fn "));
        if let Some(rest) = function {
            // Not the variables of macros.
            names.extend(rest.split(['(', '<']).next().filter(|name| is_name(name)).map(str::to_owned));
        } else if let Some((left, right)) = line.split_once(" = ")
            && right.starts_with(|c: char| c.is_ascii_uppercase())
            && left.split(", ").all(is_name)
        {
            names.extend(left.split(", ").map(str::to_owned));
        }
    }
    names
}

#[test]
fn the_language_reference_names_every_operation() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts = |folder: std::path::PathBuf, extension: &str| -> Vec<String> {
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|e| e == extension));
        files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
    };
    let book = texts(root.join("../docs/book/src/language"), "md").concat();
    let words: std::collections::HashSet<&str> =
        book.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    // Forms that the reference describes once for all operations of a family.
    let family = |name: &str| {
        ["_over", "_all", "_reverse", "_mut"].iter().find_map(|form| name.strip_suffix(form)).unwrap_or(name).to_owned()
    };
    let sources = [texts(root.join("src/ops"), "rs"), texts(root.join("src/view"), "rs")].concat();
    let mut names: Vec<String> = sources.iter().flat_map(|source| operations(source)).collect();
    names.sort();
    names.dedup();
    assert!(
        names.len() > 150 && names.iter().any(|n| n == "exp2") && names.iter().any(|n| n == "sum_over"),
        "{names:?}"
    );
    // What `device_print!` calls.
    names.retain(|name| name != "print");
    names.retain(|name| !words.contains(name.as_str()) && !words.contains(family(name).as_str()));
    assert!(names.is_empty(), "not in docs/book/src/language: {names:?}");
}
