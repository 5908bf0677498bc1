//! Kernels built op by op and run, one per property of the interpreter.

use super::Interpreter;
use crate::builder::Builder;
use crate::exec::{ExecError, Executor, HostArg, HostTensor};
use crate::function::{Function, ParamKind, Value, ViewAccess, ViewSpec};
use crate::literal::Literal;
use crate::loc::SourceLoc;
use crate::numeric::eval;
use crate::ops::*;
use crate::types::{ScalarType, Shape, Type};
use ScalarType::*;
use smallvec::smallvec;

/// A dense tensor of these numbers.
fn tensor(t: ScalarType, extents: &[i64], values: impl IntoIterator<Item = f64>) -> HostArg {
    let bytes = t.memory_bytes().unwrap() as usize;
    let data = values.into_iter().flat_map(|v| {
        let v = eval::cast(F64, t, Rounding::NearestEven, false, Literal::Float(v));
        eval::to_bits(t, v).to_le_bytes()[..bytes].to_vec()
    });
    HostArg::Tensor(HostTensor::from_bytes(t, extents, data.collect()))
}

fn values(arg: &HostArg) -> Vec<f64> {
    let HostArg::Tensor(t) = arg else { panic!("a tensor") };
    let bytes = t.elem.memory_bytes().unwrap() as usize;
    t.data
        .chunks(bytes)
        .map(|c| {
            let mut b = [0; 8];
            b[..bytes].copy_from_slice(c);
            let v = eval::from_bits(t.elem, u64::from_le_bytes(b));
            match eval::cast(t.elem, F64, Rounding::NearestEven, false, v) {
                Literal::Float(v) => v,
                v => panic!("{v:?}"),
            }
        })
        .collect()
}

/// A kernel under construction whose parameters are one-dimensional or given views.
struct Kernel(Builder);

impl Kernel {
    fn new() -> Self {
        Kernel(Builder::new(Function::new("test")))
    }

    fn view(&mut self, elem: ScalarType, rank: u8) -> Value {
        let (access, spec) = (ViewAccess::ReadWrite, ViewSpec::default());
        self.0.func.add_param("v", ParamKind::View { elem, rank, access, spec })
    }

    fn op(&mut self, kind: OpKind) -> Value {
        self.0.value(kind).unwrap()
    }

    fn tile(&mut self, view: Value, at: &[i64], shape: &[u32]) -> Address {
        let offsets = at.iter().map(|&o| self.0.index(o)).collect();
        Address::Tile { view, offsets, shape: shape.into(), in_bounds: AxisSet::NONE }
    }

    fn load(&mut self, view: Value, at: &[i64], shape: &[u32]) -> Value {
        let addr = self.tile(view, at, shape);
        self.op(OpKind::Load { addr, mask: None, pad: None, access: Access::default() })
    }

    fn store(&mut self, view: Value, at: &[i64], value: Value) {
        let shape: Shape = self.0.func.ty(value).shape().unwrap().into();
        let addr = self.tile(view, at, &shape);
        self.0.op(OpKind::Store { addr, value, mask: None, access: Access::default() }).unwrap();
    }

    fn run_with(mut self, interp: Interpreter, args: &mut [HostArg]) -> Result<String, ExecError> {
        self.0.op(OpKind::Return).unwrap();
        interp.run(&self.0.finish(), [1, 1, 1], args)
    }

    fn run(self, args: &mut [HostArg]) -> String {
        self.run_with(Interpreter::new(), args).unwrap()
    }

    fn fails(self, args: &mut [HostArg]) -> String {
        match self.run_with(Interpreter::new().with_work_limit(1 << 20), args) {
            Err(ExecError::Kernel(d)) => d.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

/// Runs `f` on a loaded tile and gives what it stores.
fn through(
    from: ScalarType,
    to: ScalarType,
    shape: &[u32],
    input: &[f64],
    f: impl FnOnce(&mut Kernel, Value) -> Value,
) -> Vec<f64> {
    let mut k = Kernel::new();
    let (x, y) = (k.view(from, shape.len() as u8), k.view(to, 1));
    let zeros = vec![0; shape.len()];
    let v = k.load(x, &zeros, shape);
    let r = f(&mut k, v);
    let n = k.0.func.ty(r).shape().unwrap().iter().product::<u32>();
    let flat = k.op(OpKind::Reshape { x: r, shape: smallvec![n] });
    k.store(y, &[0], flat);
    let extents: Vec<i64> = shape.iter().map(|&d| d.into()).collect();
    let mut args = [tensor(from, &extents, input.iter().copied()), HostArg::Tensor(HostTensor::zeros(to, &[n.into()]))];
    k.run(&mut args);
    values(&args[1])
}

#[test]
fn loads_pad_and_stores_stop_at_the_edge() {
    let mut k = Kernel::new();
    let (x, y) = (k.view(F32, 2), k.view(F32, 2));
    let pad = k.0.constant(F32, Literal::Float(9.0)).unwrap();
    let addr = k.tile(x, &[-1, 1], &[3, 3]);
    let v = k.op(OpKind::Load { addr, mask: None, pad: Some(pad), access: Access::default() });
    k.store(y, &[0, 0], v);
    let input = tensor(F32, &[2, 3], (0..6).map(f64::from));
    let mut args = [input, HostArg::Tensor(HostTensor::zeros(F32, &[3, 2]))];
    k.run(&mut args);
    assert_eq!(values(&args[1]), [9.0, 9.0, 1.0, 2.0, 4.0, 5.0]);
}

#[test]
fn shape_ops() {
    let input: Vec<f64> = (0..6).map(f64::from).collect();
    let run = |f: fn(&mut Kernel, Value) -> Value| through(I32, I32, &[2, 3], &input, f);
    assert_eq!(run(|k, x| k.op(OpKind::Permute { x, perm: smallvec![1, 0] })), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(run(|k, x| k.op(OpKind::Flip { x, axis: 1 })), [2.0, 1.0, 0.0, 5.0, 4.0, 3.0]);
    let cat = |k: &mut Kernel, x| k.op(OpKind::Cat { parts: smallvec![x, x], axis: 1 });
    assert_eq!(run(cat), [0., 1., 2., 0., 1., 2., 3., 4., 5., 3., 4., 5.]);
    let slice = |k: &mut Kernel, x| k.op(OpKind::ExtractSlice { x, offsets: smallvec![1, 1], shape: smallvec![1, 2] });
    assert_eq!(run(slice), [4.0, 5.0]);
    let insert = |k: &mut Kernel, into| {
        let x = k.op(OpKind::Constant { value: Literal::Int(7), ty: Type::shaped([2, 1], I32) });
        k.op(OpKind::InsertSlice { x, into, offsets: smallvec![0, 1] })
    };
    assert_eq!(run(insert), [0., 7., 2., 3., 7., 5.]);
    let joined = |k: &mut Kernel, a| {
        let b = k.op(OpKind::Unary { op: UnaryOp::Neg, x: a, fast: false });
        let x = k.op(OpKind::Join { a, b });
        k.0.values(OpKind::Split { x }).unwrap()[1]
    };
    assert_eq!(run(joined), [-0.0, -1.0, -2.0, -3.0, -4.0, -5.0]);
    let gathered = |k: &mut Kernel, x| {
        let index = k.op(OpKind::Arange { shape: smallvec![4, 3], elem: I32, axis: 0, start: -1 });
        k.op(OpKind::GatherAxis { x, index, axis: 0 })
    };
    assert_eq!(run(gathered), [0., 1., 2., 0., 1., 2., 3., 4., 5., 3., 4., 5.]);
    let repeated = |k: &mut Kernel, x| {
        let x = k.op(OpKind::ExtractSlice { x, offsets: smallvec![0, 0], shape: smallvec![2, 1] });
        k.op(OpKind::Broadcast { x, shape: smallvec![2, 3] })
    };
    assert_eq!(run(repeated), [0., 0., 0., 3., 3., 3.]);
}

#[test]
fn reductions_over_one_and_several_axes() {
    let input: Vec<f64> = (0..12).map(f64::from).collect();
    let sum = |axes: &[u8]| {
        let axes = axes.into();
        through(F32, F32, &[2, 3, 2], &input, |k, x| k.op(OpKind::Reduce { kind: ReduceKind::Sum, x, axes }))
    };
    assert_eq!(sum(&[1]), [6.0, 9.0, 24.0, 27.0]);
    assert_eq!(sum(&[0, 2]), [14.0, 22.0, 30.0]);
    assert_eq!(sum(&[0, 1, 2]), [66.0]);
    let scanned = |reverse| {
        through(I8, I8, &[2, 3], &input[..6], |k, x| k.op(OpKind::Scan { kind: ScanKind::Sum, x, axis: 1, reverse }))
    };
    assert_eq!(scanned(false), [0., 1., 3., 3., 7., 12.]);
    assert_eq!(scanned(true), [3., 3., 2., 12., 9., 5.]);
}

#[test]
fn sums_of_sixteen_bit_floats_are_kept_in_f32() {
    // 4096 ones: an f16 accumulator would stop at 2048.
    let sum = through(F16, F16, &[4096], &[1.0; 4096], |k, x| {
        k.op(OpKind::Reduce { kind: ReduceKind::Sum, x, axes: smallvec![0] })
    });
    assert_eq!(sum, [4096.0]);
}

#[test]
fn precise_mode_rounds_once() {
    let build = |interp: Interpreter| {
        let mut k = Kernel::new();
        let (x, y) = (k.view(F32, 1), k.view(F32, 1));
        let v = k.load(x, &[0], &[3]);
        let sum = k.op(OpKind::Reduce { kind: ReduceKind::Sum, x: v, axes: smallvec![0] });
        let sum = k.op(OpKind::Reshape { x: sum, shape: smallvec![1] });
        k.store(y, &[0], sum);
        let mut args = [tensor(F32, &[3], [16777216.0, 1.0, 1.0]), tensor(F32, &[1], [0.0])];
        k.run_with(interp, &mut args).unwrap();
        values(&args[1])[0]
    };
    assert_eq!(build(Interpreter::new()), 16777216.0);
    assert_eq!(build(Interpreter::precise()), 16777218.0);
}

#[test]
fn batched_dot_of_integers_and_floats() {
    for (t, acc) in [(I8, I32), (F16, F32), (F8E5M2, F32), (F64, F64)] {
        let out = through(t, acc, &[2, 2, 2], &[1., 2., 3., 4., 5., 6., 7., 8.], |k, x| {
            let zero = k.op(OpKind::Constant { value: Literal::zero(acc), ty: Type::shaped([2, 2, 2], acc) });
            k.op(OpKind::Dot { a: x, b: x, acc: zero, precision: DotPrecision::Ieee })
        });
        // All inputs are exact in every one of these formats.
        assert_eq!(out, [7., 10., 15., 22., 67., 78., 91., 106.], "{t}");
    }
}

#[test]
fn tf32_variants_recover_what_one_product_loses() {
    let v = 1.0 + 2f64.powi(-12);
    let run = |precision| {
        through(F32, F32, &[1, 1], &[v], |k, x| {
            let zero = k.op(OpKind::Constant { value: Literal::Float(0.0), ty: Type::shaped([1, 1], F32) });
            k.op(OpKind::Dot { a: x, b: x, acc: zero, precision })
        })[0]
    };
    let exact = f64::from((v * v) as f32);
    assert_eq!(run(DotPrecision::Ieee), exact);
    assert_eq!(run(DotPrecision::Tf32), 1.0);
    assert!((run(DotPrecision::Tf32x3) - exact).abs() < 2f64.powi(-22));
    assert!((run(DotPrecision::Bf16x3) - exact).abs() < 2f64.powi(-16));
}

#[test]
fn loops_and_branches() {
    // Sum of the odd numbers below 10, by a for with an if inside; then halved until below 4 by a while.
    let mut k = Kernel::new();
    let y = k.view(I64, 1);
    let b = &mut k.0;
    let (zero, ten, one, two) = (b.index(0), b.index(10), b.index(1), b.index(2));
    let body = b.func.make_block([Type::INDEX, Type::INDEX]);
    let (iv, sum) = (b.func.block(body).args[0], b.func.block(body).args[1]);
    b.in_block(body, |b| {
        let odd = b.binary(BinaryOp::Rem, iv, two).unwrap();
        let cond = b.compare(CmpOp::Eq, odd, one).unwrap();
        let (then_block, else_block) = (b.func.make_block([]), b.func.make_block([]));
        b.in_block(then_block, |b| {
            let s = b.binary(BinaryOp::Add, sum, iv).unwrap();
            b.yield_values([s]).unwrap();
        });
        b.in_block(else_block, |b| b.yield_values([sum]).unwrap());
        let r = b.value(OpKind::If { cond, then_block, else_block }).unwrap();
        b.yield_values([r]).unwrap();
    });
    let sum = b
        .value(OpKind::For {
            lower: zero,
            upper: ten,
            step: one,
            init: smallvec![zero],
            body,
            hints: LoopHints::default(),
        })
        .unwrap();
    let (cond, body) = (b.func.make_block([Type::INDEX]), b.func.make_block([Type::INDEX]));
    let (x, z) = (b.func.block(cond).args[0], b.func.block(body).args[0]);
    b.in_block(cond, |b| {
        let four = b.index(4);
        let c = b.compare(CmpOp::Ge, x, four).unwrap();
        b.op(OpKind::Condition { cond: c, values: smallvec![x] }).unwrap();
    });
    b.in_block(body, |b| {
        let h = b.binary(BinaryOp::Div, z, two).unwrap();
        b.yield_values([h]).unwrap();
    });
    let small = b.value(OpKind::While { init: smallvec![sum], cond, body }).unwrap();
    let both = k.op(OpKind::Join { a: sum, b: small });
    k.store(y, &[0], both);
    let mut args = [tensor(I64, &[2], [0.0, 0.0])];
    k.run(&mut args);
    assert_eq!(values(&args[0]), [25.0, 3.0]);
}

#[test]
fn a_loop_ends_at_the_end_of_its_type() {
    let mut k = Kernel::new();
    let y = k.view(U8, 1);
    let b = &mut k.0;
    let c = |b: &mut Builder, v| b.constant(U8, Literal::Int(v)).unwrap();
    let (lower, upper, step) = (c(b, 250), c(b, 255), c(b, 3));
    let body = b.func.make_block([Type::scalar(U8), Type::scalar(U8)]);
    let (iv, _) = (b.func.block(body).args[0], b.func.block(body).args[1]);
    b.in_block(body, |b| b.yield_values([iv]).unwrap());
    let last =
        b.value(OpKind::For { lower, upper, step, init: smallvec![lower], body, hints: LoopHints::default() }).unwrap();
    let last = k.op(OpKind::Reshape { x: last, shape: smallvec![1] });
    k.store(y, &[0], last);
    let mut args = [tensor(U8, &[1], [0.0])];
    k.run(&mut args);
    assert_eq!(values(&args[0]), [253.0]);
}

#[test]
fn an_endless_loop_is_stopped() {
    let mut k = Kernel::new();
    let b = &mut k.0;
    let (cond, body) = (b.func.make_block([]), b.func.make_block([]));
    b.in_block(cond, |b| {
        let c = b.constant(Bool, Literal::Bool(true)).unwrap();
        b.op(OpKind::Condition { cond: c, values: smallvec![] }).unwrap();
    });
    b.in_block(body, |b| b.yield_values([]).unwrap());
    b.op(OpKind::While { init: smallvec![], cond, body }).unwrap();
    assert!(k.fails(&mut []).contains("work limit"));
}

#[test]
fn asserts_name_the_source_line_and_the_element() {
    let mut k = Kernel::new();
    k.0.set_loc(SourceLoc { file: "kernel.rs".into(), line: 7, column: 3 });
    let i = k.op(OpKind::Arange { shape: smallvec![4], elem: I32, axis: 0, start: 0 });
    let three = k.op(OpKind::Constant { value: Literal::Int(3), ty: Type::shaped([4], I32) });
    let cond = k.op(OpKind::Compare { op: CmpOp::Lt, a: i, b: three });
    k.0.op(OpKind::Assert { cond, message: "small".into() }).unwrap();
    k.0.op(OpKind::Return).unwrap();
    let Err(ExecError::Kernel(d)) = Interpreter::new().run(&k.0.finish(), [1; 3], &mut []) else { panic!() };
    assert_eq!(d.to_string(), "kernel.rs:7:3: error: assertion failed: small");
    assert_eq!(d.notes[0].1, "in program (0, 0, 0)");
    assert_eq!(d.notes[1].1, "at element [3]");
}

#[test]
fn prints_a_line_per_program() {
    let mut k = Kernel::new();
    let p = k.op(OpKind::ProgramId { axis: 0 });
    let t = k.op(OpKind::Constant { value: Literal::Float(0.1), ty: Type::shaped([2], F32) });
    k.0.op(OpKind::Print { message: "at".into(), args: smallvec![p, t] }).unwrap();
    k.0.op(OpKind::Return).unwrap();
    let text = Interpreter::new().run(&k.0.finish(), [2, 1, 1], &mut []).unwrap();
    assert_eq!(
        text,
        "program (0, 0, 0): at 0 [0.100000001, 0.100000001]\nprogram (1, 0, 0): at 1 [0.100000001, 0.100000001]\n"
    );
}

#[test]
fn pointers_are_checked_against_their_allocation() {
    let build = |offset: i64| {
        let mut k = Kernel::new();
        let p = k.0.func.add_param("p", ParamKind::Ptr { elem: I32, align: 0 });
        let o = k.0.index(offset);
        let ptr = k.op(OpKind::PtrAdd { ptr: p, offset: o });
        let value = k.0.constant(I32, Literal::Int(5)).unwrap();
        let addr = Address::Ptr { ptr };
        k.0.op(OpKind::Store { addr, value, mask: None, access: Access::default() }).unwrap();
        k
    };
    let arg = || {
        let HostArg::Tensor(t) = tensor(I32, &[4], [0.0; 4]) else { unreachable!() };
        [HostArg::Ptr(HostTensor { offset: 1, ..t })]
    };
    let mut args = arg();
    build(-1).run(&mut args);
    let HostArg::Ptr(t) = &args[0] else { unreachable!() };
    assert_eq!(t.data[..8], [5, 0, 0, 0, 0, 0, 0, 0]);
    for bad in [-2, 3, 1 << 45, i64::MAX / 4] {
        let message = build(bad).fails(&mut arg());
        assert!(message.contains("invalid store"), "{message}");
    }
}

#[test]
fn a_wrong_in_bounds_mark_and_a_broken_assumption_are_errors() {
    let mut k = Kernel::new();
    let x = k.view(F32, 1);
    let zero = k.0.index(0);
    let addr = Address::Tile { view: x, offsets: smallvec![zero], shape: smallvec![8], in_bounds: AxisSet::all(1) };
    k.op(OpKind::Load { addr, mask: None, pad: None, access: Access::default() });
    assert!(k.fails(&mut [tensor(F32, &[7], [0.0; 7])]).contains("marked as in bounds"));

    let mut k = Kernel::new();
    let x = k.0.index(12);
    k.op(OpKind::Assume { x, fact: Fact::Divisible(8) });
    assert!(k.fails(&mut []).contains("12 is not divisible by 8"));
}

#[test]
fn atomics_handle_duplicates_and_masks() {
    let mut k = Kernel::new();
    let (x, y) = (k.view(BF16, 1), k.view(BF16, 1));
    let index = k.op(OpKind::Arange { shape: smallvec![6], elem: I32, axis: 0, start: 0 });
    let two = k.op(OpKind::Constant { value: Literal::Int(2), ty: Type::shaped([6], I32) });
    let index = k.op(OpKind::Binary { op: BinaryOp::Rem, a: index, b: two });
    let value = k.op(OpKind::Constant { value: Literal::Float(1.5), ty: Type::shaped([6], BF16) });
    let addr = Address::Gather { view: x, indices: smallvec![index], in_bounds: AxisSet::NONE };
    let old = k.op(OpKind::AtomicRmw {
        op: AtomicOp::Add,
        addr,
        value,
        mask: None,
        ordering: Ordering::Relaxed,
        scope: Scope::Device,
    });
    k.store(y, &[0], old);
    let mut args = [tensor(BF16, &[1], [1.0]), tensor(BF16, &[6], [7.0; 6])];
    k.run(&mut args);
    assert_eq!(values(&args[0]), [5.5]);
    assert_eq!(values(&args[1]), [1.0, 0.0, 2.5, 0.0, 4.0, 0.0]);
}

#[test]
fn launch_promises_are_checked() {
    let run = |spec, arg| {
        let mut k = Kernel::new();
        k.0.func.add_param("x", ParamKind::View { elem: F32, rank: 1, access: ViewAccess::Read, spec });
        k.run_with(Interpreter::new(), &mut [arg])
    };
    let spec = ViewSpec { extent_divisor: smallvec![16], ..ViewSpec::default() };
    let result = run(spec, tensor(F32, &[20], [0.0; 20]));
    assert!(matches!(result, Err(ExecError::BadArguments(m)) if m.contains("divisible by 16 on axis 0, got 20")));
    let backwards = |count: usize| {
        let mut t = HostTensor::zeros(F32, &[count as i64]);
        (t.offset, t.strides) = (count - 1, vec![-1]);
        HostArg::Tensor(t)
    };
    let spec = ViewSpec { fits_32: true, ..ViewSpec::default() };
    let result = run(spec.clone(), backwards(4));
    assert!(matches!(result, Err(ExecError::BadArguments(m)) if m.contains("not negative, its strides are [-1]")));
    assert!(run(spec, backwards(1)).is_ok());
}

#[test]
fn copies_keep_every_bit() {
    // A signalling NaN passes through a load and a store as it is.
    let mut k = Kernel::new();
    let (x, y) = (k.view(F32, 1), k.view(F32, 1));
    let v = k.load(x, &[0], &[2]);
    k.store(y, &[0], v);
    let data = [0x7f80_0001u32, 0x8000_0000].iter().flat_map(|b| b.to_le_bytes()).collect::<Vec<_>>();
    let mut args = [
        HostArg::Tensor(HostTensor::from_bytes(F32, &[2], data.clone())),
        HostArg::Tensor(HostTensor::zeros(F32, &[2])),
    ];
    k.run(&mut args);
    let HostArg::Tensor(out) = &args[1] else { unreachable!() };
    assert_eq!(out.data, data);
}
