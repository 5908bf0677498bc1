//! Kernel headers, parameters and places.

use super::super::error::ParseErrorKind;
use super::super::lex::Token;
use super::cursor::Cursor;
use super::{PResult, Parser};
use crate::function::{Function, Grid, ParamKind, ViewAccess, ViewSpec};
use crate::loc::Loc;
use crate::types::{Elem, Type};

impl Parser<'_, '_> {
    /// A kernel; `kernel` stands here.
    pub(super) fn function(mut self) -> PResult<Function> {
        self.cursor.expect_word("kernel")?;
        let Token::Symbol(name) = self.cursor.token() else {
            return Err(self.cursor.expected("the kernel's name, such as `@add`"));
        };
        self.f.name = name.clone();
        self.cursor.bump()?;
        self.cursor.expect('(')?;
        while !self.cursor.at(')') {
            self.param()?;
            if !self.cursor.eat(',')? && !self.cursor.at(')') {
                return Err(self.cursor.expected("`,` or `)`"));
            }
        }
        self.cursor.bump()?;
        self.clauses()?;
        self.f.loc = match self.loc()? {
            Some(loc) => loc,
            None => self.f.locs.intern(self.cursor.source_loc(self.start)),
        };
        let body = self.f.body;
        self.block_body(body, Vec::new())?;
        Ok(self.f)
    }

    fn param(&mut self) -> PResult<()> {
        let (name, pos) = self.new_name()?;
        let param_name = if self.cursor.eat_word("as")? {
            self.cursor.name("the parameter's name")?
        } else {
            name.name.clone().unwrap_or_default()
        };
        self.cursor.expect(':')?;
        let ty_pos = self.cursor.pos();
        let kind = match self.ty()? {
            Type::View { elem, rank } => {
                let access = [ViewAccess::Read, ViewAccess::Write, ViewAccess::ReadWrite];
                let access = self.cursor.one_of("an access", &access, |a| match a {
                    ViewAccess::Read => "read",
                    ViewAccess::Write => "write",
                    ViewAccess::ReadWrite => "read_write",
                })?;
                ParamKind::View { elem, rank, access, spec: self.cursor.view_spec()? }
            }
            Type::Scalar(Elem::Scalar(elem)) => {
                let mut divisor = 1;
                self.cursor.attributes(&["divisor"], |c, _| {
                    c.expect('=')?;
                    divisor = c.integer("a divisor")?;
                    Ok(())
                })?;
                ParamKind::Scalar { elem, divisor }
            }
            Type::Scalar(Elem::Ptr(elem)) => {
                let mut align = 0;
                self.cursor.attributes(&["align"], |c, _| {
                    c.expect('=')?;
                    align = c.integer("an alignment in bytes")?;
                    Ok(())
                })?;
                ParamKind::Ptr { elem, align }
            }
            ty @ Type::Tile(_) => {
                let kind = ParseErrorKind::Expected {
                    expected: "a view, scalar or pointer as a parameter".into(),
                    found: ty.to_string(),
                };
                return Err(self.error(kind, ty_pos));
            }
        };
        let value = self.f.add_param(param_name, kind);
        self.define(name, value, pos)
    }

    /// What stands between the parameters and the body.
    fn clauses(&mut self) -> PResult<()> {
        const CLAUSES: [&str; 4] = ["grid", "dims", "num_warps", "num_stages"];
        let mut seen = Vec::new();
        loop {
            let pos = self.cursor.pos();
            let Token::Word(word) = self.cursor.token() else { return Ok(()) };
            if word == "loc" {
                return Ok(());
            }
            let word = word.clone();
            if !CLAUSES.contains(&word.as_str()) {
                return Err(self.cursor.unknown("part of a kernel's header", word, &CLAUSES, pos));
            }
            if seen.contains(&word) {
                return Err(self.error(ParseErrorKind::Redefined(word), pos));
            }
            self.cursor.bump()?;
            self.cursor.expect('(')?;
            match word.as_str() {
                "grid" => self.grid()?,
                "dims" => {
                    while !self.cursor.at(')') {
                        let pos = self.cursor.pos();
                        let name = self.cursor.name("the name of a dim")?;
                        if self.f.dims.iter().any(|(before, _)| *before == name) {
                            return Err(self.error(ParseErrorKind::Redefined(format!("dim {name}")), pos));
                        }
                        self.cursor.expect('=')?;
                        let size = self.cursor.integer("the size of a dim")?;
                        self.f.dims.push((name, size));
                        if !self.cursor.eat(',')? {
                            break;
                        }
                    }
                }
                "num_warps" => self.f.num_warps = self.cursor.integer("a number of warps")?,
                _ => self.f.num_stages = self.cursor.integer("a number of stages")?,
            }
            self.cursor.expect(')')?;
            seen.push(word);
        }
    }

    fn grid(&mut self) -> PResult<()> {
        let mut outputs = Vec::new();
        while !self.cursor.at(')') {
            let pos = self.cursor.pos();
            let value = self.value()?;
            let Some(index) = self.f.params.iter().position(|p| p.value == value) else {
                let kind = ParseErrorKind::Expected { expected: "a parameter".into(), found: "another value".into() };
                return Err(self.error(kind, pos));
            };
            self.cursor.expect('=')?;
            outputs.push((index as u32, self.cursor.integers("the extent of a tile")?));
            if !self.cursor.eat(',')? {
                break;
            }
        }
        self.f.grid = Grid::Tiles { outputs };
        Ok(())
    }

    /// `loc("file.rs":3:7)`, `loc(#loc1)` or `loc(unknown)`, if one stands here.
    pub(super) fn loc(&mut self) -> PResult<Option<Loc>> {
        if !self.cursor.eat_word("loc")? {
            return Ok(None);
        }
        self.cursor.expect('(')?;
        let pos = self.cursor.pos();
        let loc = match self.cursor.token() {
            Token::Word(w) if w == "unknown" => {
                self.cursor.bump()?;
                Loc::UNKNOWN
            }
            Token::Alias(name) => {
                let Some(place) = self.aliases.locs.get(name) else {
                    return Err(self.error(ParseErrorKind::UndefinedAlias(name.clone()), pos));
                };
                let place = place.clone();
                self.cursor.bump()?;
                self.f.locs.intern(place)
            }
            _ => {
                let place = self.cursor.place()?;
                self.f.locs.intern(place)
            }
        };
        self.cursor.expect(')')?;
        Ok(Some(loc))
    }
}

impl Cursor<'_> {
    fn view_spec(&mut self) -> PResult<ViewSpec> {
        let mut spec = ViewSpec::default();
        let known = ["align", "unit_inner", "extent_divisor", "stride_divisor", "fits_32", "no_alias"];
        self.attributes(&known, |c, name| {
            match name {
                "unit_inner" => spec.unit_inner = true,
                "fits_32" => spec.fits_32 = true,
                "no_alias" => spec.no_alias = true,
                _ => {
                    c.expect('=')?;
                    match name {
                        "align" => spec.align = c.integer("an alignment in bytes")?,
                        "extent_divisor" => spec.extent_divisor = c.integers("a divisor")?,
                        _ => spec.stride_divisor = c.integers("a divisor")?,
                    }
                }
            }
            Ok(())
        })?;
        Ok(spec)
    }
}
