//! Axis information against the values themselves: random integer expressions over tiles are interpreted, and every
//! element is held against what the analysis says of it.

use proptest::prelude::*;
use tegula_ir::analysis::axis_info::AxisInfo;
use tegula_ir::builder::Builder;
use tegula_ir::exec::{Executor, HostArg, HostTensor};
use tegula_ir::function::{Function, ParamKind, ViewAccess, ViewSpec};
use tegula_ir::interp::Interpreter;
use tegula_ir::literal::Literal;
use tegula_ir::loc::Loc;
use tegula_ir::ops::{Access, Address, AxisSet, BinaryOp, CmpOp, Fact, LoopHints, OpKind, Rounding};
use tegula_ir::testing::generate::{Config, Program};
use tegula_ir::types::ScalarType;
use tegula_ir::{Block, Elem, Op, Type, Value};

/// An expression over tiles of one shape and element type.
#[derive(Clone, Debug)]
enum Expr {
    Arange(u8, i64),
    Constant(i64),
    /// The parameter, which is a multiple of 16.
    Param,
    /// A range along the last axis, spread over the first.
    Row(i64),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// With a constant, where division is interesting.
    By(BinaryOp, Box<Expr>, i64),
    Select(CmpOp, Box<Expr>, Box<Expr>),
    /// Through the transposed tile, computed there.
    Transposed(Box<Expr>),
    /// Through an axis of extent 1 in the middle.
    Stretched(Box<Expr>),
    /// The same, converted to 8 bits and back.
    Narrowed(Box<Expr>),
    /// The sum of the expression and the values of a loop that adds a constant three times.
    Looped(Box<Expr>, i64),
}

fn expr() -> impl Strategy<Value = Expr> {
    let small = prop::sample::select(vec![0i64, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, -1, -4, -32]);
    let leaf = prop_oneof![
        (0u8..2, small.clone()).prop_map(|(axis, start)| Expr::Arange(axis, start)),
        small.clone().prop_map(Expr::Constant),
        Just(Expr::Param),
        small.clone().prop_map(Expr::Row),
    ];
    let op = prop::sample::select(vec![
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Min,
        BinaryOp::Max,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::Div,
        BinaryOp::FloorRem,
    ]);
    let by = prop::sample::select(vec![
        BinaryOp::Div,
        BinaryOp::Rem,
        BinaryOp::FloorDiv,
        BinaryOp::FloorRem,
        BinaryOp::And,
        BinaryOp::Shl,
        BinaryOp::Shr,
        BinaryOp::Mul,
    ]);
    let divisor = prop::sample::select(vec![1i64, 2, 3, 4, 5, 7, 8, 15, 16, 64]);
    let cmp = prop::sample::select(CmpOp::ALL);
    leaf.prop_recursive(5, 24, 2, move |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            4 => (op.clone(), boxed(), boxed()).prop_map(|(op, a, b)| Expr::Binary(op, a, b)),
            3 => (by.clone(), boxed(), divisor.clone()).prop_map(|(op, a, b)| Expr::By(op, a, b)),
            2 => (cmp.clone(), boxed(), boxed()).prop_map(|(op, a, b)| Expr::Select(op, a, b)),
            1 => boxed().prop_map(Expr::Transposed),
            1 => boxed().prop_map(Expr::Stretched),
            1 => boxed().prop_map(Expr::Narrowed),
            1 => (boxed(), small.clone()).prop_map(|(a, step)| Expr::Looped(a, step)),
        ]
    })
}

struct Kernel {
    b: Builder,
    elem: ScalarType,
    param: Value,
}

impl Kernel {
    fn op(&mut self, kind: OpKind) -> Value {
        self.b.value(kind).expect("the generated op is valid")
    }

    fn constant(&mut self, shape: &[u32], value: i64) -> Value {
        // Constants of unsigned types are written by their bits; only u64 takes negative ones.
        let value = if self.elem.is_unsigned_int() { value.rem_euclid(1 << 20) } else { value };
        self.op(OpKind::Constant { value: Literal::Int(value), ty: Type::shaped(shape.iter().copied(), self.elem) })
    }

    fn arange(&mut self, shape: &[u32], axis: u8, start: i64) -> Value {
        let start = if self.elem.is_unsigned_int() { start.abs() } else { start };
        self.op(OpKind::Arange { shape: shape.into(), elem: self.elem, axis, start })
    }

    fn build(&mut self, expr: &Expr, shape: [u32; 2]) -> Value {
        let reshaped = |x, shape: &[u32]| OpKind::Reshape { x, shape: shape.into() };
        match expr {
            Expr::Arange(axis, start) => self.arange(&shape, *axis, *start),
            Expr::Constant(value) => self.constant(&shape, *value),
            Expr::Param => {
                let x = self.param;
                self.op(OpKind::Splat { x, shape: shape[..].into() })
            }
            Expr::Row(start) => {
                let x = self.arange(&[1, shape[1]], 1, *start);
                self.op(OpKind::Broadcast { x, shape: shape[..].into() })
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.build(a, shape), self.build(b, shape));
                self.op(OpKind::Binary { op: *op, a, b })
            }
            Expr::By(op, a, b) => {
                let (a, b) = (self.build(a, shape), self.constant(&shape, *b));
                self.op(OpKind::Binary { op: *op, a, b })
            }
            Expr::Select(op, a, b) => {
                let (a, b) = (self.build(a, shape), self.build(b, shape));
                let cond = self.op(OpKind::Compare { op: *op, a, b });
                self.op(OpKind::Select { cond, a, b })
            }
            Expr::Transposed(a) => {
                let x = self.build(a, [shape[1], shape[0]]);
                self.op(OpKind::Permute { x, perm: [1, 0].into_iter().collect() })
            }
            Expr::Stretched(a) => {
                let x = self.build(a, shape);
                let x = self.op(reshaped(x, &[shape[0], 1, shape[1]]));
                self.op(reshaped(x, &shape))
            }
            Expr::Narrowed(a) => {
                let x = self.build(a, shape);
                let narrow = if self.elem.is_unsigned_int() { ScalarType::U8 } else { ScalarType::I8 };
                let cast = |x, to| OpKind::Cast { x, to, rounding: Rounding::NearestEven, saturate: false };
                let x = self.op(cast(x, narrow));
                let elem = self.elem;
                self.op(cast(x, elem))
            }
            Expr::Looped(a, step) => {
                let init = self.build(a, shape);
                let step = self.constant(&shape, *step);
                let (lower, upper, one) = (self.b.index(0), self.b.index(3), self.b.index(1));
                let ty = self.b.func.ty(init).clone();
                let body = self.b.func.make_block([Type::INDEX, ty]);
                let carried = self.b.func.block(body).args[1];
                self.b.in_block(body, |b| {
                    let next = b.binary(BinaryOp::Add, carried, step).expect("a sum");
                    b.yield_values([next]).expect("a yield");
                });
                let init = [init].into_iter().collect();
                self.op(OpKind::For { lower, upper, step: one, init, body, hints: LoopHints::default() })
            }
        }
    }
}

/// The value of every element, as its bits without a sign.
fn interpret(f: &Function, elem: ScalarType, shape: [u32; 2], param: i64) -> Vec<u64> {
    let extents = [i64::from(shape[0]), i64::from(shape[1])];
    let mut args = [HostArg::Scalar(Literal::Int(param)), HostArg::Tensor(HostTensor::zeros(elem, &extents))];
    Interpreter::new().run(f, [1, 1, 1], &mut args).expect("the kernel runs");
    let HostArg::Tensor(tensor) = &args[1] else { unreachable!("the argument given") };
    let bytes = elem.memory_bytes().expect("a type with a form in memory") as usize;
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    tensor.data.chunks(bytes).map(value).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn facts_hold_of_every_element(
        expr in expr(),
        elem in prop::sample::select(vec![ScalarType::I64, ScalarType::I32, ScalarType::U32, ScalarType::I16]),
        shape in prop::sample::select(vec![[8u32, 16u32], [4, 32], [1, 8], [5, 12], [16, 1]]),
        multiple in 0i64..20,
    ) {
        let mut function = Function::new("facts");
        let param = function.add_param("n", ParamKind::Scalar { elem, divisor: 16 });
        let view = ParamKind::View { elem, rank: 2, access: ViewAccess::Write, spec: ViewSpec::default() };
        let out = function.add_param("out", view);
        let mut kernel = Kernel { b: Builder::new(function), elem, param };
        let value = kernel.build(&expr, shape);
        let zero = kernel.b.index(0);
        let addr = Address::Tile {
            view: out,
            offsets: [zero, zero].into_iter().collect(),
            shape: shape[..].into(),
            in_bounds: AxisSet::NONE,
        };
        kernel.b.op(OpKind::Store { addr, value, mask: None, access: Access::default() }).expect("a store");
        kernel.b.op(OpKind::Return).expect("a return");
        let function = kernel.b.finish();

        let facts = AxisInfo::compute(&function).value(&function, value);
        let elements = interpret(&function, elem, shape, multiple * 16);
        let modulus_mask = if elem.bits() == 64 { u64::MAX } else { (1 << elem.bits()) - 1 };
        let divides = |divisor: u64, value: u64| value & modulus_mask & (divisor - 1) == 0;
        let at = |i: u32, j: u32| elements[(i * shape[1] + j) as usize];
        for i in 0..shape[0] {
            for j in 0..shape[1] {
                prop_assert!(divides(facts.divisibility, at(i, j)), "{:?} of {}", facts, at(i, j));
                if let Some(constant) = facts.constant {
                    prop_assert_eq!(at(i, j), constant as u64 & modulus_mask);
                }
                for (axis, place) in [(0, i), (1, j)] {
                    let along = facts.axes[axis];
                    let first = |run: u32| if axis == 0 { at(i / run * run, j) } else { at(i, j / run * run) };
                    prop_assert_eq!(at(i, j), first(along.constancy), "axis {} of {:?} at {}, {}", axis, facts, i, j);
                    let expected = first(along.contiguity).wrapping_add(u64::from(place % along.contiguity));
                    prop_assert_eq!(at(i, j), expected & modulus_mask, "axis {} of {:?} at {}, {}", axis, facts, i, j);
                    prop_assert!(divides(along.divisibility, first(along.contiguity)), "axis {} of {:?}", axis, facts);
                }
            }
        }
    }
}

/// Adds, behind every op with an integer or pointer result, assumptions of what the analysis says of it: the
/// interpreter checks them.
fn assume_facts(f: &mut Function) {
    let info = AxisInfo::compute(f);
    for block in (0..f.num_blocks()).map(|i| Block::from_u32(i as u32)) {
        let combined = f.ops_in_order().into_iter().any(|op| {
            matches!(f.kind(op), OpKind::ReduceWith { body, .. } | OpKind::ScanWith { body, .. } if *body == block)
        });
        if combined {
            // Only scalars, of which nothing is known.
            continue;
        }
        let args = f.block(block).args.to_vec();
        let mut ops: Vec<Op> = args.into_iter().flat_map(|value| assumptions(f, &info, value)).collect();
        for op in std::mem::take(&mut f.block_mut(block).ops) {
            let results = f.op(op).results.to_vec();
            ops.push(op);
            ops.extend(results.into_iter().flat_map(|value| assumptions(f, &info, value)));
        }
        f.block_mut(block).ops = ops;
    }
}

fn assumptions(f: &mut Function, info: &AxisInfo, x: Value) -> Vec<Op> {
    let ty = f.ty(x).clone();
    let Some(elem) = ty.elem() else { return Vec::new() };
    let (wide, integer) = match elem {
        Elem::Scalar(t) => (t.bits() == 64, t.is_int()),
        Elem::Ptr(_) => (true, true),
    };
    if !integer {
        return Vec::new();
    }
    let facts = info.value(f, x);
    let mut promises = vec![Fact::Divisible(facts.divisibility)];
    if let (Some(value), Elem::Scalar(ScalarType::I64)) = (facts.constant, elem) {
        promises.push(Fact::Bounded { min: value, max: value });
    }
    for (axis, along) in facts.axes.iter().enumerate() {
        // Runs of what was widened may break where they are not aligned (see `AxisFacts`).
        let n = if wide { along.contiguity.min(along.divisibility.min(1 << 31) as u32) } else { along.contiguity };
        promises.push(Fact::Contiguous { axis: axis as u8, n });
    }
    promises.into_iter().map(|fact| f.make_op(OpKind::Assume { x, fact }, [ty.clone()], Loc::UNKNOWN)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn facts_hold_in_generated_programs(list in prop::collection::vec(any::<u32>(), 0..400)) {
        let program = Program::new(&list, &Config::default());
        let run = |function: &Function| {
            let mut args = program.args.clone();
            Interpreter::new().run(function, program.grid, &mut args).map(|_| args)
        };
        // Programs may fail, by an assertion of their own for one.
        if let Ok(wanted) = run(&program.function) {
            let mut function = program.function.clone();
            assume_facts(&mut function);
            let found = run(&function);
            prop_assert!(found.is_ok(), "{}\n{}", found.unwrap_err(), function);
            prop_assert_eq!(found.unwrap(), wanted);
        }
    }
}

#[test]
fn promises_are_believed() {
    let mut function = Function::new("promises");
    let n = function.add_param("n", ParamKind::Scalar { elem: ScalarType::I32, divisor: 1 });
    let mut b = Builder::new(function);
    let n = b.value(OpKind::Assume { x: n, fact: Fact::Divisible(48) }).expect("an assumption");
    let function = b.finish();
    assert_eq!(AxisInfo::compute(&function).value(&function, n).divisibility, 16);
}
