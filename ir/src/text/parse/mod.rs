//! Parsing: modules and blocks. Each op's typing rules are checked as it is read, at its place in the text.
//!
//! | file | subject |
//! |---|---|
//! | `cursor` | one token of lookahead, lists, names, numbers |
//! | `types` | types, layouts, literals |
//! | `header` | kernel headers, parameters, places |
//! | `ops` | ops without nested blocks |
//! | `control` | ops with nested blocks |

mod control;
pub(crate) mod cursor;
mod header;
mod ops;
pub(crate) mod types;

use std::collections::HashMap;

use smallvec::SmallVec;

pub use self::ops::mnemonics;

use self::cursor::Cursor;
use self::ops::Types;
use super::error::{ParseError, ParseErrorKind};
use super::lex::{Pos, Token, ValueName};
use crate::function::{Block, Function, MAX_NESTING, Module, Value};
use crate::loc::SourceLoc;
use crate::ops::{OpKind, Values, infer};
use crate::types::{LayoutRef, Type};

pub(crate) type PResult<T> = Result<T, Box<ParseError>>;

/// Parses a module. `file` names the text in errors, and in the locations of ops that give none.
///
/// # Errors
/// At the first thing that is wrong. The text is not trusted: nothing in it leads to a panic.
pub fn parse_module(text: &str, file: &str) -> Result<Module, Box<ParseError>> {
    let mut cursor = Cursor::new(text, file)?;
    let mut aliases = Aliases::default();
    let mut module = Module::default();
    loop {
        match cursor.token() {
            Token::End => return Ok(module),
            Token::Alias(_) => aliases.define(&mut cursor)?,
            Token::Word(w) if w == "kernel" => {
                let pos = cursor.pos();
                let function = Parser::new(&mut cursor, &mut aliases, pos).function()?;
                if module.function(&function.name).is_some() {
                    let kind = ParseErrorKind::Redefined(format!("kernel @{}", function.name));
                    return Err(ParseError::new(kind, cursor.source_loc(pos)));
                }
                module.functions.push(function);
            }
            _ => return Err(cursor.expected("`kernel`, an alias such as `#l0`, or the end of the text")),
        }
    }
}

/// Parses a text that holds one kernel.
///
/// # Errors
/// As [`parse_module`], and if there is no kernel or there are several.
pub fn parse_function(text: &str, file: &str) -> Result<Function, Box<ParseError>> {
    let mut module = parse_module(text, file)?;
    match module.functions.len() {
        1 => Ok(module.functions.remove(0)),
        n => {
            let kind = ParseErrorKind::Expected { expected: "one kernel".into(), found: format!("{n} kernels") };
            Err(ParseError::new(kind, SourceLoc { file: file.into(), line: 1, column: 1 }))
        }
    }
}

/// What `#names` stand for.
#[derive(Default)]
struct Aliases {
    layouts: HashMap<String, LayoutRef>,
    locs: HashMap<String, SourceLoc>,
}

impl Aliases {
    /// `#l0 = layout<...>` or `#loc0 = loc(...)`.
    fn define(&mut self, cursor: &mut Cursor) -> PResult<()> {
        let pos = cursor.pos();
        let Token::Alias(name) = cursor.bump()? else { return Err(cursor.expected("an alias")) };
        cursor.expect('=')?;
        if self.layouts.contains_key(&name) || self.locs.contains_key(&name) {
            let kind = ParseErrorKind::Redefined(format!("#{name}"));
            return Err(ParseError::new(kind, cursor.source_loc(pos)));
        }
        match cursor.token() {
            Token::Word(w) if w == "layout" => {
                let layout = cursor.layout()?;
                self.layouts.insert(name, layout.into());
            }
            Token::Word(w) if w == "loc" => {
                cursor.bump()?;
                cursor.expect('(')?;
                let place = cursor.place()?;
                cursor.expect(')')?;
                self.locs.insert(name, place);
            }
            _ => return Err(cursor.expected("`layout<...>` or `loc(...)`")),
        }
        Ok(())
    }
}

/// Parses one kernel.
struct Parser<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    aliases: &'c mut Aliases,
    f: Function,
    /// The visible values, each with its place of definition.
    visible: HashMap<ValueName, (Value, Pos)>,
    /// Values that were visible in blocks that have ended, for errors.
    ended: HashMap<ValueName, Pos>,
    /// The names defined in the blocks that are open, innermost last.
    scopes: Vec<Vec<ValueName>>,
    /// The else block of the `if` just read, where none is written.
    implied_else: Option<Block>,
    /// Where the kernel starts.
    start: Pos,
}

impl<'c, 't> Parser<'c, 't> {
    fn new(cursor: &'c mut Cursor<'t>, aliases: &'c mut Aliases, start: Pos) -> Self {
        Self {
            cursor,
            aliases,
            f: Function::new(""),
            visible: HashMap::new(),
            ended: HashMap::new(),
            scopes: vec![Vec::new()],
            implied_else: None,
            start,
        }
    }

    fn error(&self, kind: ParseErrorKind, pos: Pos) -> Box<ParseError> {
        ParseError::new(kind, self.cursor.source_loc(pos))
    }

    /// Makes a value visible under its name until the current block ends.
    fn define(&mut self, name: ValueName, value: Value, pos: Pos) -> PResult<()> {
        if let Some(&(_, before)) = self.visible.get(&name) {
            let kind = ParseErrorKind::Redefined(format!("%{name}"));
            return Err(self.error(kind, pos).note(self.cursor.source_loc(before), "the first definition is here"));
        }
        self.f.value_mut(value).name = name.name.clone();
        self.visible.insert(name.clone(), (value, pos));
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(name);
        }
        Ok(())
    }

    /// The visible value that stands here.
    fn value(&mut self) -> PResult<Value> {
        let pos = self.cursor.pos();
        let Token::Value(name) = self.cursor.token() else { return Err(self.cursor.expected("a value")) };
        let name = name.clone();
        let Some(&(value, _)) = self.visible.get(&name) else {
            let error = self.error(ParseErrorKind::UndefinedValue(name.to_string()), pos);
            if let Some(&ended) = self.ended.get(&name) {
                let note = "it is defined here, in a block that has ended";
                return Err(error
                    .note(self.cursor.source_loc(ended), note)
                    .help("pass it out of the block with yield"));
            }
            let text = name.to_string();
            let names: Vec<String> = self.visible.keys().map(ValueName::to_string).collect();
            let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
            // The table has no order; the suggestion must not depend on it.
            names.sort_unstable();
            return Err(match super::nearest(&text, names) {
                Some(near) => error.help(format!("did you mean %{near}?")),
                None => error,
            });
        };
        self.cursor.bump()?;
        Ok(value)
    }

    /// Values separated by commas, at least one.
    fn values<A: smallvec::Array<Item = Value>>(&mut self) -> PResult<SmallVec<A>> {
        let mut values = SmallVec::new();
        loop {
            values.push(self.value()?);
            if !self.cursor.eat(',')? {
                return Ok(values);
            }
        }
    }

    /// Values in brackets, perhaps none.
    fn value_list<A: smallvec::Array<Item = Value>>(&mut self) -> PResult<SmallVec<A>> {
        self.cursor.expect('[')?;
        if self.cursor.eat(']')? {
            return Ok(SmallVec::new());
        }
        let values = self.values()?;
        self.cursor.expect(']')?;
        Ok(values)
    }

    /// A new value's name, with its place.
    fn new_name(&mut self) -> PResult<(ValueName, Pos)> {
        let pos = self.cursor.pos();
        match self.cursor.token() {
            Token::Value(name) => {
                let name = name.clone();
                self.cursor.bump()?;
                Ok((name, pos))
            }
            _ => Err(self.cursor.expected("a value")),
        }
    }

    /// The ops of a block up to its closing brace; its opening brace stands here. The block's arguments get these
    /// names, visible inside.
    fn block_body(&mut self, block: Block, arg_names: Vec<(ValueName, Pos)>) -> PResult<()> {
        if self.scopes.len() > MAX_NESTING {
            return Err(self.error(ParseErrorKind::TooDeep(MAX_NESTING), self.cursor.pos()));
        }
        self.cursor.expect('{')?;
        self.scopes.push(Vec::new());
        for (i, (name, pos)) in arg_names.into_iter().enumerate() {
            self.define(name, self.f.block(block).args[i], pos)?;
        }
        while !self.cursor.eat('}')? {
            self.op(block)?;
        }
        for name in self.scopes.pop().unwrap_or_default() {
            if let Some((_, pos)) = self.visible.remove(&name) {
                self.ended.insert(name, pos);
            }
        }
        Ok(())
    }

    /// One op, put at the end of the block.
    fn op(&mut self, block: Block) -> PResult<()> {
        let mut names = Vec::new();
        if matches!(self.cursor.token(), Token::Value(_)) {
            loop {
                names.push(self.new_name()?);
                if !self.cursor.eat(',')? {
                    break;
                }
            }
            self.cursor.expect('=')?;
        }
        let pos = self.cursor.pos();
        let Token::Word(mnemonic) = self.cursor.token() else {
            return Err(self.cursor.expected(if names.is_empty() { "an op or `}`" } else { "an op" }));
        };
        let mnemonic = mnemonic.clone();
        self.cursor.bump()?;
        let (kind, written) = match mnemonic.as_str() {
            "for" => self.for_op()?,
            "while" => self.while_op()?,
            "if" => self.if_op()?,
            "reduce_with" | "scan_with" => self.combine_op(mnemonic == "scan_with")?,
            _ => self.simple_op(&mnemonic, pos)?,
        };
        self.finish_op(block, names, kind, written, pos)
    }

    /// Checks the op and its written types, reads its location, and puts it into the block.
    fn finish_op(
        &mut self,
        block: Block,
        names: Vec<(ValueName, Pos)>,
        kind: OpKind,
        written: Types,
        pos: Pos,
    ) -> PResult<()> {
        let mnemonic = kind.mnemonic();
        let mut types = match infer::result_types(&self.f, &kind) {
            Ok(types) => types,
            Err(mut e) => {
                let help = e.help.take();
                let error = self.error(ParseErrorKind::Typing(e), pos);
                return Err(match help {
                    Some(help) => error.help(help),
                    None => error,
                });
            }
        };
        let count_error = |n: usize, what: &str| ParseErrorKind::ResultCount {
            op: mnemonic,
            results: count_text(types.len(), "result"),
            written: format!("{} written", count_text(n, what)),
        };
        if names.len() != types.len() {
            return Err(self.error(count_error(names.len(), "name"), pos));
        }
        if let Some((written, types_pos)) = written {
            if written.len() != types.len() {
                return Err(self.error(count_error(written.len(), "type"), types_pos));
            }
            for (inferred, written) in types.iter_mut().zip(written) {
                if inferred.without_layout() != written.without_layout() {
                    let kind = ParseErrorKind::ResultType {
                        op: mnemonic,
                        inferred: inferred.clone(),
                        written: written.clone(),
                    };
                    return Err(self.error(kind, types_pos));
                }
                // The layout is part of what is written, also where it is none.
                *inferred = written;
            }
        }
        let loc = match self.loc()? {
            Some(loc) => loc,
            None => self.f.locs.intern(self.cursor.source_loc(pos)),
        };
        if let Some(else_block) = self.implied_else.take() {
            self.f.append_op(else_block, OpKind::Yield { values: Values::new() }, [], loc);
        }
        let op = self.f.append_op(block, kind, types, loc);
        for (i, (name, pos)) in names.into_iter().enumerate() {
            self.define(name, self.f.op(op).results[i], pos)?;
        }
        Ok(())
    }

    /// Types separated by commas.
    fn types(&mut self) -> PResult<SmallVec<[Type; 2]>> {
        let mut types = SmallVec::new();
        loop {
            types.push(self.ty()?);
            if !self.cursor.eat(',')? {
                return Ok(types);
            }
        }
    }

    fn ty(&mut self) -> PResult<Type> {
        self.cursor.ty(self.aliases)
    }
}

fn count_text(n: usize, what: &str) -> String {
    match n {
        0 => format!("no {what}"),
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
