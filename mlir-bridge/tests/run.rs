//! Kernels executed through upstream MLIR passes give what the interpreter gives.

use tegula_ir::Value;
use tegula_ir::builder::Builder;
use tegula_ir::diag::Diagnostic;
use tegula_ir::exec::{Executor, HostArg, HostTensor};
use tegula_ir::function::{Function, ParamKind, ViewAccess, ViewSpec};
use tegula_ir::interp::Interpreter;
use tegula_ir::ops::*;
use tegula_ir::types::{ScalarType, Shape, Type};
use tegula_mlir::run::MlirExecutor;

fn view(f: &mut Function, name: &str, elem: ScalarType, rank: u8, access: ViewAccess) -> Value {
    f.add_param(name, ParamKind::View { elem, rank, access, spec: ViewSpec::default() })
}

fn tile(view: Value, offsets: &[Value], shape: &[u32]) -> Address {
    Address::Tile { view, offsets: offsets.into(), shape: Shape::from_slice(shape), in_bounds: AxisSet::NONE }
}

fn load(b: &mut Builder, addr: Address, pad: Option<Value>) -> Result<Value, Diagnostic> {
    b.value(OpKind::Load { addr, mask: None, pad, access: Access::default() })
}

fn store(b: &mut Builder, addr: Address, value: Value) -> Result<Op_, Diagnostic> {
    b.op(OpKind::Store { addr, value, mask: None, access: Access::default() })
}

type Op_ = tegula_ir::Op;

/// Row-wise softmax of an `m × n` tensor, `rows × cols` at a time.
fn softmax(rows: u32, cols: u32) -> Result<Function, Diagnostic> {
    let mut f = Function::new("softmax");
    let x = view(&mut f, "x", ScalarType::F32, 2, ViewAccess::Read);
    let y = view(&mut f, "y", ScalarType::F32, 2, ViewAccess::Write);
    let mut b = Builder::new(f);
    let shape = [rows, cols];
    let pid = b.value(OpKind::ProgramId { axis: 0 })?;
    let (r, zero) = (b.index(rows.into()), b.index(0));
    let row = b.binary(BinaryOp::Mul, pid, r)?;
    let inf = b.constant(ScalarType::F32, tegula_ir::literal::Literal::Float(f64::NEG_INFINITY))?;
    let v = load(&mut b, tile(x, &[row, zero], &shape), Some(inf))?;
    let spread = |b: &mut Builder, v| {
        let v = b.value(OpKind::Reshape { x: v, shape: Shape::from_slice(&[rows, 1]) })?;
        b.value(OpKind::Broadcast { x: v, shape: Shape::from_slice(&shape) })
    };
    let max = b.value(OpKind::Reduce { kind: ReduceKind::Max, x: v, axes: [1].into_iter().collect() })?;
    let max = spread(&mut b, max)?;
    let d = b.binary(BinaryOp::Sub, v, max)?;
    let e = b.value(OpKind::Unary { op: UnaryOp::Exp, x: d, fast: false })?;
    let sum = b.value(OpKind::Reduce { kind: ReduceKind::Sum, x: e, axes: [1].into_iter().collect() })?;
    let sum = spread(&mut b, sum)?;
    let q = b.binary(BinaryOp::Div, e, sum)?;
    store(&mut b, tile(y, &[row, zero], &shape), q)?;
    b.op(OpKind::Return)?;
    Ok(b.finish())
}

/// `c = a · b` with a loop over K.
fn matmul(elem: ScalarType, bm: u32, bn: u32, bk: u32) -> Result<Function, Diagnostic> {
    let mut f = Function::new("matmul");
    let x = view(&mut f, "a", elem, 2, ViewAccess::Read);
    let y = view(&mut f, "b", elem, 2, ViewAccess::Read);
    let z = view(&mut f, "c", ScalarType::F32, 2, ViewAccess::Write);
    let mut b = Builder::new(f);
    let (i, j) = (b.value(OpKind::ProgramId { axis: 0 })?, b.value(OpKind::ProgramId { axis: 1 })?);
    let (m, n, k) = (b.index(bm.into()), b.index(bn.into()), b.index(bk.into()));
    let (i, j) = (b.binary(BinaryOp::Mul, i, m)?, b.binary(BinaryOp::Mul, j, n)?);
    let zero = b.index(0);
    let end = b.value(OpKind::ViewExtent { view: x, axis: 1 })?;
    let acc_ty = Type::shaped([bm, bn], ScalarType::F32);
    let acc = b.value(OpKind::Constant { value: tegula_ir::literal::Literal::Float(0.0), ty: acc_ty.clone() })?;
    let body = b.func.make_block([Type::INDEX, acc_ty]);
    let (p, a) = (b.func.block(body).args[0], b.func.block(body).args[1]);
    b.in_block(body, |b| {
        let u = load(b, tile(x, &[i, p], &[bm, bk]), None)?;
        let v = load(b, tile(y, &[p, j], &[bk, bn]), None)?;
        let d = b.value(OpKind::Dot { a: u, b: v, acc: a, precision: DotPrecision::Ieee })?;
        b.yield_values([d])
    })?;
    let init = [acc].into_iter().collect();
    let sum = b.value(OpKind::For { lower: zero, upper: end, step: k, init, body, hints: LoopHints::default() })?;
    store(&mut b, tile(z, &[i, j], &[bm, bn]), sum)?;
    b.op(OpKind::Return)?;
    Ok(b.finish())
}

fn floats(extents: &[i64]) -> HostArg {
    let n: i64 = extents.iter().product();
    let data = (0..n).flat_map(|i| (((i * 37 + 11) % 101) as f32 / 50.0 - 1.0).to_le_bytes()).collect();
    HostArg::Tensor(HostTensor::from_bytes(ScalarType::F32, extents, data))
}

fn compare(f: &Function, grid: [u32; 3], args: &[HostArg]) {
    let (mut want, mut got) = (args.to_vec(), args.to_vec());
    Interpreter::default().run(f, grid, &mut want).expect("the interpreter runs it");
    MlirExecutor::new().expect("MLIR loads").run(f, grid, &mut got).expect("MLIR runs it");
    for (w, g) in want.iter().zip(&got) {
        let (HostArg::Tensor(w), HostArg::Tensor(g)) = (w, g) else { continue };
        for (w, g) in w.data.chunks_exact(4).zip(g.data.chunks_exact(4)) {
            let (w, g) = (f32::from_le_bytes(w.try_into().unwrap()), f32::from_le_bytes(g.try_into().unwrap()));
            assert!((w - g).abs() <= 1e-5 * w.abs().max(1.0), "{g} for {w}");
        }
    }
}

#[test]
fn softmax_with_odd_extents() {
    let f = softmax(4, 13).expect("valid");
    compare(&f, [3, 1, 1], &[floats(&[9, 11]), floats(&[9, 11])]);
}

#[test]
fn matmul_with_odd_extents() {
    let f = matmul(ScalarType::F32, 8, 6, 5).expect("valid");
    compare(&f, [3, 3, 1], &[floats(&[17, 13]), floats(&[13, 16]), floats(&[17, 16])]);
}
