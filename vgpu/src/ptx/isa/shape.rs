//! Building lane-wise operations: operands of an instruction resolved into the slots of a [`LaneOp`].

use super::Op;
use super::lanes::LaneOp;
use crate::error::Result;
use crate::ptx::decode::{Decoder, Ty};
use crate::ptx::program::{L32, L64};
use crate::ptx::syntax::ast::Instruction;

macro_rules! builders {
    ($($name:ident $variant:ident ($($number:literal $x:ident : $kind:ident),*) -> $result:ident;)*) => {
        impl Decoder<'_> {
            $(
                #[doc = concat!("An operation of the shape `", stringify!($variant), "`: destination, then sources of the given type.")]
                pub(super) fn $name(
                    &mut self,
                    i: &Instruction,
                    ty: Ty,
                    f: fn(&mut builders!(@ty $result), $(&builders!(@ty $kind)),*),
                ) -> Result<Op> {
                    const COUNT: usize = 1 $(+ { let _ = $number; 1 })*;
                    let operands = self.operands::<COUNT>(i)?;
                    $(let $x = builders!(@source self $kind (&operands[$number]) ty);)*
                    let d = builders!(@destination self $result (&operands[0]));
                    Ok(Op::Lane(LaneOp::$variant { f, d, $($x),* }))
                }
            )*
        }
    };
    (@ty W) => { L32 };
    (@ty I) => { L32 };
    (@ty D) => { L64 };
    (@ty P) => { u32 };
    (@source $self:ident W ($operand:expr) $ty:ident) => { $self.word($operand, $ty)? };
    (@source $self:ident I ($operand:expr) $ty:ident) => { $self.word($operand, Ty::U32)? };
    (@source $self:ident D ($operand:expr) $ty:ident) => { $self.double($operand, $ty)? };
    (@source $self:ident P ($operand:expr) $ty:ident) => { { let _ = $ty; $self.predicate($operand)? } };
    (@destination $self:ident W ($operand:expr)) => { $self.word_destination($operand)? };
    (@destination $self:ident D ($operand:expr)) => { $self.double_destination($operand)? };
    (@destination $self:ident P ($operand:expr)) => { $self.predicate_destination($operand)? };
}

// `I` is a 32-bit count or position, whatever the type of the instruction.
builders! {
    ww WW(1 a: W) -> W;
    www WWW(1 a: W, 2 b: W) -> W;
    wwww WWWW(1 a: W, 2 b: W, 3 c: W) -> W;
    wwwww WWWWW(1 a: W, 2 b: W, 3 c: W, 4 e: W) -> W;
    wwi WWW(1 a: W, 2 b: I) -> W;
    wwii WWWW(1 a: W, 2 b: I, 3 c: I) -> W;
    wwwii WWWWW(1 a: W, 2 b: W, 3 c: I, 4 e: I) -> W;
    dd DD(1 a: D) -> D;
    ddd DDD(1 a: D, 2 b: D) -> D;
    dddd DDDD(1 a: D, 2 b: D, 3 c: D) -> D;
    ddi DDW(1 a: D, 2 b: I) -> D;
    ddii DDWW(1 a: D, 2 b: I, 3 c: I) -> D;
    dddii DDDWW(1 a: D, 2 b: D, 3 c: I, 4 e: I) -> D;
    dww DWW(1 a: W, 2 b: W) -> D;
    wd WD(1 a: D) -> W;
    dw DW(1 a: W) -> D;
    pw PW(1 a: W) -> P;
    pd PD(1 a: D) -> P;
    pp PP(1 a: P) -> P;
    ppp PPP(1 a: P, 2 b: P) -> P;
}
