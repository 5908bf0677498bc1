//! Ops with nested blocks.

use smallvec::SmallVec;

use super::super::lex::{Pos, Token, ValueName};
use super::ops::{Parsed, Types};
use super::{PResult, Parser};
use crate::function::{Block, Value};
use crate::ops::{LoopHints, OpKind, Values};
use crate::types::Type;

/// Carried values: names and types of the block arguments, and initial values.
#[derive(Default)]
struct Carried {
    names: Vec<(ValueName, Pos)>,
    types: Vec<Type>,
    init: Values,
}

impl Parser<'_, '_> {
    /// `for %i = %lo to %hi step %s iter(%a = %b) hints(..) -> types {..}`; `for` is taken.
    pub(super) fn for_op(&mut self) -> PResult<Parsed> {
        let iv_name = self.new_name()?;
        let iv_type = if self.cursor.eat(':')? { Some(self.ty()?) } else { None };
        self.cursor.expect('=')?;
        let lower = self.value()?;
        self.cursor.expect_word("to")?;
        let upper = self.value()?;
        self.cursor.expect_word("step")?;
        let step = self.value()?;
        let mut carried = if self.cursor.eat_word("iter")? { self.carried()? } else { Carried::default() };
        let hints = self.hints()?;
        let written = self.arrow_types()?;
        let iv_type = iv_type.unwrap_or_else(|| self.f.ty(lower).clone());
        let body = self.f.make_block([iv_type].into_iter().chain(carried.types));
        carried.names.insert(0, iv_name);
        self.block_body(body, carried.names)?;
        Ok((OpKind::For { lower, upper, step, init: carried.init, body, hints }, written))
    }

    /// `while (%a = %b) -> types {..} do (%c: type) {..}`; `while` is taken.
    pub(super) fn while_op(&mut self) -> PResult<Parsed> {
        let carried = if self.cursor.at('(') { self.carried()? } else { Carried::default() };
        let written = self.arrow_types()?;
        let cond = self.f.make_block(carried.types);
        self.block_body(cond, carried.names)?;
        self.cursor.expect_word("do")?;
        let (body, names) = self.block_args()?;
        self.block_body(body, names)?;
        Ok((OpKind::While { init: carried.init, cond, body }, written))
    }

    /// `if %c -> types {..} else {..}`; `if` is taken. A missing `else` yields nothing.
    pub(super) fn if_op(&mut self) -> PResult<Parsed> {
        let cond = self.value()?;
        let written = self.arrow_types()?;
        let then_block = self.f.make_block([]);
        self.block_body(then_block, Vec::new())?;
        let else_block = self.f.make_block([]);
        if self.cursor.eat_word("else")? {
            self.block_body(else_block, Vec::new())?;
        } else {
            // Its `yield` gets the place of the `if`, which may be written behind it.
            self.implied_else = Some(else_block);
        }
        Ok((OpKind::If { cond, then_block, else_block }, written))
    }

    /// `reduce_with %x, %y axis 0 (%a: type, ..) -> types {..}`, and `scan_with` with an optional `reverse`; the
    /// name is taken.
    pub(super) fn combine_op(&mut self, scan: bool) -> PResult<Parsed> {
        let inputs = self.values()?;
        let axis = self.axis()?;
        let reverse = scan && self.cursor.eat_word("reverse")?;
        let (body, names) = self.block_args()?;
        let written = self.arrow_types()?;
        self.block_body(body, names)?;
        let kind = if scan {
            OpKind::ScanWith { inputs, axis, reverse, body }
        } else {
            OpKind::ReduceWith { inputs, axis, body }
        };
        Ok((kind, written))
    }

    /// `(%a = %b, %c: type = %d)`.
    fn carried(&mut self) -> PResult<Carried> {
        let mut carried = Carried::default();
        self.cursor.expect('(')?;
        while !self.cursor.at(')') {
            carried.names.push(self.new_name()?);
            let ty = if self.cursor.eat(':')? { Some(self.ty()?) } else { None };
            self.cursor.expect('=')?;
            let init: Value = self.value()?;
            carried.types.push(ty.unwrap_or_else(|| self.f.ty(init).clone()));
            carried.init.push(init);
            if !self.cursor.eat(',')? && !self.cursor.at(')') {
                return Err(self.cursor.expected("`,` or `)`"));
            }
        }
        self.cursor.bump()?;
        Ok(carried)
    }

    /// A new block with the arguments `(%a: type, ..)`, or none where no parenthesis stands.
    fn block_args(&mut self) -> PResult<(Block, Vec<(ValueName, Pos)>)> {
        let (mut names, mut types) = (Vec::new(), SmallVec::<[Type; 4]>::new());
        if self.cursor.eat('(')? {
            while !self.cursor.at(')') {
                names.push(self.new_name()?);
                self.cursor.expect(':')?;
                types.push(self.ty()?);
                if !self.cursor.eat(',')? && !self.cursor.at(')') {
                    return Err(self.cursor.expected("`,` or `)`"));
                }
            }
            self.cursor.bump()?;
        }
        Ok((self.f.make_block(types), names))
    }

    /// `-> types`; without it the types follow from the op, or there are none.
    fn arrow_types(&mut self) -> PResult<Types> {
        if *self.cursor.token() != Token::Arrow {
            return Ok(None);
        }
        self.cursor.bump()?;
        let pos = self.cursor.pos();
        Ok(Some((self.types()?, pos)))
    }

    fn hints(&mut self) -> PResult<LoopHints> {
        let mut hints = LoopHints::default();
        if self.cursor.eat_word("hints")? {
            self.cursor.expect('(')?;
            let known = ["stages", "unroll", "warp_specialize", "flatten"];
            self.cursor.attribute_list(')', &known, &mut |c, name| {
                match name {
                    "warp_specialize" => hints.warp_specialize = true,
                    "flatten" => hints.flatten = true,
                    _ => {
                        c.expect('=')?;
                        match name {
                            "stages" => hints.stages = Some(c.integer("a number of stages")?),
                            _ => hints.unroll = Some(c.integer("an unroll factor")?),
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(hints)
    }
}
