//! Valid Tile IR programs made from lists of numbers, with arguments: all ops, types and control flow, odd extents,
//! views with any strides.
//!
//! A program is a function of its list of decisions, and a shorter list or smaller numbers give a simpler program.
//! So any strategy for lists of numbers is one for programs, and shrinks them:
//!
//! ```
//! use proptest::prelude::*;
//! use tegula_ir::testing::generate::{Config, Program};
//!
//! let programs = prop::collection::vec(any::<u32>(), 0..400).prop_map(|list| Program::new(&list, &Config::default()));
//! # let _ = programs;
//! ```
//!
//! Programs are made so that executors must agree: no races, no broken promises, no values that depend on an order
//! that is not specified. Where a value may differ by rounding, the difference that its ops allow is tracked
//! ([`Info`]) and such values are used by continuous ops only.
//!
//! | file | subject |
//! |---|---|
//! | `choices` | the list of decisions |
//! | `info` | sizes of values, and how far executors may differ |
//! | `data` | tensors and scalars as arguments |
//! | `values` | finding and making operands |
//! | `arith`, `shape`, `reduce`, `memory`, `control` | the families of ops |
//! | `shrink` | smaller lists that still fail |
//! | `program` | the finished program: comparison, and its text as a filetest |

mod arith;
mod choices;
mod control;
mod data;
mod info;
mod memory;
mod program;
mod reduce;
mod shape;
mod shrink;
mod values;

pub(super) use choices::Stream;
pub(super) use data::{DataKind, element};
pub use info::Info;
pub use program::Program;
pub use shrink::shrink;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use self::choices::Choices;
use crate::builder::Builder;
use crate::exec::HostArg;
use crate::function::{Function, ParamKind, Value};
use crate::literal::Literal;
use crate::loc::SourceLoc;
use crate::ops::{BinaryOp, OpKind};
use crate::types::{ScalarType, Type};

/// A list of decisions from a number: programs of all sizes.
pub fn decisions(seed: u64) -> Vec<u32> {
    let mut stream = choices::Stream::new(seed);
    let length = 16 + stream.next() % 400;
    (0..length).map(|_| (stream.next() >> 32) as u32).collect()
}

/// What programs may consist of.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The most ops beyond loads, stores and helpers.
    pub max_ops: usize,
    /// The most elements of a tile.
    pub max_elements: u64,
    /// The number formats; at least one.
    pub types: Vec<ScalarType>,
    /// Loops and branches.
    pub control: bool,
    /// Gathers, scatters, pointers, views made in the kernel, atomics, masks.
    pub memory: bool,
    /// Functions whose results may differ within an error bound, and sums that round.
    pub approximate: bool,
    /// `reduce_with` and `scan_with`.
    pub combine: bool,
    /// `assume`, `assert`, `barrier`.
    pub facts: bool,
    /// Programs in a launch, at most.
    pub max_programs: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_ops: 24,
            max_elements: 512,
            types: ScalarType::ALL.to_vec(),
            control: true,
            memory: true,
            approximate: true,
            combine: true,
            facts: true,
            max_programs: 4,
        }
    }
}

/// A program being made.
struct Gen<'c> {
    c: Choices<'c>,
    config: &'c Config,
    b: Builder,
    /// Values that can be used here, oldest first.
    visible: Vec<Value>,
    info: SecondaryMap<Value, Option<Info>>,
    args: Vec<HostArg>,
    /// What is known of each parameter's elements: of inputs as they are, of outputs as they become.
    params: Vec<Info>,
    grid: [u32; 3],
    /// The number of this program among all, as `i64`.
    program: Value,
    /// Ops that may still be made.
    budget: usize,
    /// How deep blocks are nested here.
    depth: usize,
}

impl<'c> Gen<'c> {
    fn new(list: &'c [u32], config: &'c Config) -> Self {
        let mut c = Choices::new(list);
        let programs = config.max_programs.clamp(1, 16) as i64;
        let grid = match c.below(4) {
            0 | 1 => [c.between(1, programs) as u32, 1, 1],
            2 => [c.between(1, 2.min(programs)) as u32, c.between(1, (programs / 2).max(1)) as u32, 1],
            _ => [1, c.between(1, 2.min(programs)) as u32, c.between(1, (programs / 2).max(1)) as u32],
        };
        let budget = 1 + c.below(config.max_ops.max(1));
        let mut b = Builder::new(Function::new("generated"));
        // Every op has a place, as in a program that is written: executors name it in errors.
        b.set_loc(SourceLoc { file: "generated.tile".into(), line: 1, column: 1 });
        b.func.loc = b.loc();
        let program = b.index(0);
        let mut g = Self {
            c,
            config,
            b,
            visible: Vec::new(),
            info: SecondaryMap::new(),
            args: Vec::new(),
            params: Vec::new(),
            grid,
            program,
            budget,
            depth: 0,
        };
        g.program = g.program_number();
        g
    }

    /// The number of this program: `(id2 * n1 + id1) * n0 + id0`.
    fn program_number(&mut self) -> Value {
        let mut number = self.hidden(OpKind::ProgramId { axis: 2 });
        for axis in [1, 0] {
            let n = self.hidden(OpKind::NumPrograms { axis });
            let id = self.hidden(OpKind::ProgramId { axis });
            let scaled = self.hidden(OpKind::Binary { op: BinaryOp::Mul, a: number, b: n });
            number = self.hidden(OpKind::Binary { op: BinaryOp::Add, a: scaled, b: id });
        }
        number
    }

    /// Adds an op that has one result, as part of a larger step: its result is not offered as an operand.
    fn hidden(&mut self, kind: OpKind) -> Value {
        let values = self.op(kind);
        match values[..] {
            [v] => v,
            _ => panic!("a helper op has one result"),
        }
    }

    /// Adds an op.
    fn op(&mut self, kind: OpKind) -> SmallVec<[Value; 2]> {
        match self.b.values(kind.clone()) {
            Ok(values) => values,
            Err(e) => panic!("the generator made an invalid {}: {e}\n{}", kind.mnemonic(), self.b.func),
        }
    }

    /// Adds an op with one result that can be used from now on.
    fn value(&mut self, kind: OpKind, info: Info) -> Value {
        let v = self.hidden(kind);
        self.offer(v, info);
        v
    }

    /// Lets a value be used from now on.
    fn offer(&mut self, v: Value, info: Info) {
        self.info[v] = Some(info);
        self.visible.push(v);
    }

    fn info(&self, v: Value) -> Info {
        self.info[v].unwrap_or(Info::ANY)
    }

    fn ty(&self, v: Value) -> &Type {
        self.b.func.ty(v)
    }

    /// A hidden constant.
    fn constant(&mut self, ty: Type, value: Literal) -> Value {
        self.hidden(OpKind::Constant { value, ty })
    }

    fn index(&mut self, value: i64) -> Value {
        self.b.index(value)
    }

    /// Adds a parameter with its argument.
    fn param(&mut self, kind: ParamKind, arg: HostArg, info: Info) -> Value {
        let name = format!("a{}", self.args.len());
        self.args.push(arg);
        self.params.push(info);
        self.b.func.add_param(name, kind)
    }

    /// Ops up to the end of the budget, then the stores.
    fn kernel(mut self) -> Program {
        self.steps();
        self.store_results();
        self.op_end(OpKind::Return);
        let function = self.b.finish();
        Program { function, grid: self.grid, args: self.args, infos: self.params }
    }

    fn op_end(&mut self, kind: OpKind) {
        if let Err(e) = self.b.op(kind) {
            panic!("the generator made an invalid end: {e}");
        }
    }

    /// Steps in the current block until the budget is used up.
    fn steps(&mut self) {
        while self.budget > 0 {
            self.budget -= 1;
            self.step();
        }
    }

    /// One step: an op, with what it needs.
    fn step(&mut self) {
        // The simplest step makes nothing, as does one that finds no fit operands.
        match self.c.below(32) {
            0 => {}
            1 | 2 => {
                let ty = self.new_type();
                self.fresh(&ty);
            }
            3..=5 => self.unary(),
            6..=10 => self.binary(),
            11 => self.compare(),
            12 => self.select(),
            13 => self.fma(),
            14 | 15 => self.cast(),
            16 => self.bitcast(),
            17..=20 => self.shape_step(),
            21 | 22 => self.reduce(),
            23 => self.scan(),
            24 if self.config.combine => self.combine(),
            25 => self.dot(),
            26..=28 if self.config.memory => self.memory_step(),
            29 | 30 if self.config.control && self.depth < 3 => self.control_step(),
            31 if self.config.facts => self.fact(),
            _ => self.binary(),
        }
    }
}
