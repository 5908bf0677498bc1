//! Renamings of registers for ops that move elements, against the interpreter: operands hold distinct numbers, and where
//! every thread has what it needs, the renaming must give it the interpreted result; where it is refused, no renaming
//! exists.

use proptest::prelude::*;
use tegula_ir::builder::Builder;
use tegula_ir::exec::{Executor, HostArg, HostTensor};
use tegula_ir::function::{Function, Op, ParamKind, ViewAccess, ViewSpec};
use tegula_ir::interp::Interpreter;
use tegula_ir::layout::{Blocked, Dim, LinearLayout, register_moves};
use tegula_ir::ops::{Access, Address, AxisSet, BinaryOp, OpKind};
use tegula_ir::types::{LayoutRef, ScalarType};
use tegula_ir::{Type, Value};

#[derive(Clone, Copy, Debug)]
enum Move {
    Flip,
    Cat,
    Join,
    Split,
    Extract,
    Insert,
    Reshape,
    Permute,
    Broadcast,
}

const MOVES: [Move; 9] = [
    Move::Flip,
    Move::Cat,
    Move::Join,
    Move::Split,
    Move::Extract,
    Move::Insert,
    Move::Reshape,
    Move::Permute,
    Move::Broadcast,
];

/// A tile of consecutive numbers from `start`, in row-major order.
fn numbers(b: &mut Builder, shape: &[u32], start: i64) -> Value {
    let elem = ScalarType::I64;
    let mut sum: Option<Value> = None;
    let mut stride: i64 = 1;
    for (axis, &extent) in shape.iter().enumerate().rev() {
        let at = b.value(OpKind::Arange { shape: shape.into(), elem, axis: axis as u8, start: 0 }).expect("a range");
        let ty = Type::shaped(shape.iter().copied(), elem);
        let by = OpKind::Constant { value: tegula_ir::literal::Literal::Int(stride), ty };
        let by = b.value(by).expect("a constant");
        let term = b.binary(BinaryOp::Mul, at, by).expect("a product");
        sum = Some(sum.map_or(term, |sum| b.binary(BinaryOp::Add, sum, term).expect("a sum")));
        stride *= i64::from(extent);
    }
    let ty = Type::shaped(shape.iter().copied(), elem);
    let start = b.value(OpKind::Constant { value: tegula_ir::literal::Literal::Int(start), ty }).expect("a constant");
    b.binary(BinaryOp::Add, sum.expect("a tile has an axis"), start).expect("a sum")
}

fn build(b: &mut Builder, moved: Move, shape: [u32; 2], choice: u32) -> Op {
    let [rows, columns] = shape;
    let x = numbers(b, &shape, 0);
    let axis = (choice % 2) as u8;
    let kind = match moved {
        Move::Flip => OpKind::Flip { x, axis },
        Move::Cat => {
            let mut other = shape;
            other[usize::from(axis)] = [shape[usize::from(axis)], 1, 3, 4][choice as usize / 2 % 4];
            let y = numbers(b, &other, 1000);
            OpKind::Cat { parts: [x, y].into_iter().collect(), axis }
        }
        Move::Join => {
            let y = numbers(b, &shape, 1000);
            OpKind::Join { a: x, b: y }
        }
        Move::Split => {
            let x = numbers(b, &[rows, columns, 2], 0);
            OpKind::Split { x }
        }
        Move::Extract => {
            let part = [rows - rows / 2, columns.div_ceil(4)];
            let offsets = [choice % (rows - part[0] + 1), choice / 4 % (columns - part[1] + 1)];
            OpKind::ExtractSlice { x, offsets: offsets[..].into(), shape: part[..].into() }
        }
        Move::Insert => {
            let part = [rows - rows / 2, columns.div_ceil(4)];
            let offsets = [choice % (rows - part[0] + 1), choice / 4 % (columns - part[1] + 1)];
            let y = numbers(b, &part, 1000);
            OpKind::InsertSlice { x: y, into: x, offsets: offsets[..].into() }
        }
        Move::Reshape => {
            let shapes = [vec![rows * columns], vec![columns, rows], vec![rows, 1, columns], vec![1, columns * rows]];
            OpKind::Reshape { x, shape: shapes[choice as usize % 4][..].into() }
        }
        Move::Permute => OpKind::Permute { x, perm: [1, 0].into_iter().collect() },
        Move::Broadcast => {
            let mut unit = shape;
            unit[usize::from(axis)] = 1;
            let x = numbers(b, &unit, 0);
            OpKind::Broadcast { x, shape: shape[..].into() }
        }
    };
    b.op(kind).expect("the generated op is valid")
}

fn some_layout(shape: &[u32], choice: u32) -> LinearLayout {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if choice & 1 == 0 {
        order.reverse();
    }
    let vector = [1, 2, 4, 64][choice as usize / 2 % 4];
    Blocked::coalesced(shape, &order, vector, [4, 1][choice as usize / 8 % 2], 2).layout(shape)
}

/// The interpreted elements of a value: it is stored as the last thing of the function.
fn interpret(f: &Function, shape: &[u32]) -> Vec<i64> {
    let extents: Vec<i64> = shape.iter().map(|&extent| i64::from(extent)).collect();
    let mut args = [HostArg::Tensor(HostTensor::zeros(ScalarType::I64, &extents))];
    Interpreter::new().run(f, [1, 1, 1], &mut args).expect("the kernel runs");
    let HostArg::Tensor(tensor) = &args[0] else { unreachable!("the argument given") };
    tensor.data.chunks(8).map(|bytes| i64::from_le_bytes(bytes.try_into().expect("eight bytes"))).collect()
}

/// What each register of a thread holds, `None` in the padding.
fn held(layout: &LinearLayout, shape: &[u32], elements: &[i64], thread: u64) -> Vec<Option<i64>> {
    let registers = layout.in_size(Dim::Register);
    let bits = layout.ins().bits(Dim::Register);
    let element = |register: u32| {
        let index = layout.apply_flat(u64::from(register) | thread << bits);
        let at: Vec<u32> =
            (0..shape.len()).map(|axis| layout.outs().coordinate(index, Dim::Axis(axis as u8))).collect();
        let inside = at.iter().zip(shape).all(|(at, extent)| at < extent);
        let flat = at.iter().zip(shape).fold(0, |flat, (at, extent)| flat * extent + at);
        inside.then(|| elements[flat as usize])
    };
    (0..registers).map(element).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn renamings_are_found_where_they_exist(
        moved in prop::sample::select(&MOVES[..]),
        shape in (1u32..10, 1u32..14).prop_map(|(rows, columns)| [rows, columns]),
        choice in 0u32..64,
        layouts in prop::collection::vec(0u32..8, 3),
        kept in any::<bool>(),
    ) {
        let mut function = Function::new("moves");
        let rank = match moved {
            Move::Join => 3,
            Move::Reshape => [1, 2, 3, 2][choice as usize % 4],
            _ => 2,
        };
        let view = ParamKind::View { elem: ScalarType::I64, rank, access: ViewAccess::Write, spec: ViewSpec::default() };
        let out = function.add_param("out", view);
        let mut b = Builder::new(function);
        let op = build(&mut b, moved, shape, choice);
        let results = b.func.op(op).results.clone();
        let index = choice as usize % results.len();
        let value = results[index];
        let result_shape = b.func.ty(value).shape().expect("a tile").to_vec();
        let operands = b.func.kind(op).operands();
        let zero = b.index(0);
        let addr = Address::Tile {
            view: out,
            offsets: result_shape.iter().map(|_| zero).collect(),
            shape: result_shape[..].into(),
            in_bounds: AxisSet::NONE,
        };
        b.op(OpKind::Store { addr, value, mask: None, access: Access::default() }).expect("a store");
        b.op(OpKind::Return).expect("a return");
        let mut function = b.finish();
        let expected = interpret(&function, &result_shape);

        // Layouts: of the operands any; of the result any, or that of an operand fitted, so that much stays.
        let mut operand_layouts = Vec::new();
        for (i, &operand) in operands.iter().enumerate() {
            let shape = function.ty(operand).shape().expect("a tile").to_vec();
            // Either all operands alike or each its own.
            let layout = some_layout(&shape, if kept { layouts[0] } else { layouts[i] });
            function.value_mut(operand).ty = function.ty(operand).with_layout(LayoutRef::new(layout.clone()));
            operand_layouts.push((shape, layout));
        }
        let order: Vec<usize> = (0..result_shape.len()).rev().collect();
        let result_layout = match &operand_layouts[operands.len() - 1].1 {
            from if kept && from.outs().rank() == result_shape.len() => from.fit(&result_shape, &order),
            _ => some_layout(&result_shape, layouts[2]),
        };
        function.value_mut(value).ty = function.ty(value).with_layout(LayoutRef::new(result_layout.clone()));

        let moves = register_moves(&function, op, index);
        let starts = [0, 1000];
        let numbers: Vec<Vec<i64>> = operand_layouts.iter().enumerate().map(|(i, (shape, _))| {
            let start = match moved { Move::Insert => starts[1 - i], _ => starts[i] };
            (start..start + i64::from(shape.iter().product::<u32>())).collect()
        }).collect();
        let threads = 1u64 << (result_layout.ins().total_bits() - result_layout.ins().bits(Dim::Register));
        // For each register of the result, the sources that serve all threads.
        for register in 0..result_layout.in_size(Dim::Register) as usize {
            let serves = |operand: usize, source: usize| {
                (0..threads).all(|thread| {
                    let wanted = held(&result_layout, &result_shape, &expected, thread)[register];
                    let (shape, layout) = &operand_layouts[operand];
                    wanted.is_none() || held(layout, shape, &numbers[operand], thread)[source] == wanted
                })
            };
            match &moves {
                Some(moves) => {
                    let (operand, source) = moves[register];
                    prop_assert!(serves(operand, source as usize), "register {} from {:?}", register, moves[register]);
                }
                None => {
                    let any = (0..operands.len()).any(|operand| {
                        let count = operand_layouts[operand].1.in_size(Dim::Register) as usize;
                        (0..count).any(|source| serves(operand, source))
                    });
                    if !any {
                        return Ok(());
                    }
                }
            }
        }
        prop_assert!(moves.is_some(), "every register has a source, but no renaming was found");
    }
}
