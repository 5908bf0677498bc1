//! Types, layouts and literals.

use super::super::error::{ParseError, ParseErrorKind};
use super::super::lex::Token;
use super::super::scalar::{CANONICAL_NAN, number_literal};
use super::cursor::Cursor;
use super::{Aliases, PResult};
use crate::layout::LinearLayout;
use crate::literal::Literal;
use crate::ops::infer;
use crate::types::{Elem, LayoutRef, ScalarType, TileType, Type};

/// A literal as it stands, before its type is known.
#[derive(Clone, Debug)]
pub(crate) enum RawLiteral {
    Bool(bool),
    Float(f64),
    Number(String),
}

impl Cursor<'_> {
    pub(super) fn ty(&mut self, aliases: &Aliases) -> PResult<Type> {
        let pos = self.pos();
        let ty = self.any_type(aliases)?;
        match infer::check_type(&ty) {
            Ok(()) => Ok(ty),
            Err(mut e) => {
                let help = e.help.take();
                let error = self.error(ParseErrorKind::Typing(e), pos);
                Err(match help {
                    Some(help) => error.help(help),
                    None => error,
                })
            }
        }
    }

    fn any_type(&mut self, aliases: &Aliases) -> PResult<Type> {
        let Token::Word(word) = self.token() else { return Err(self.expected("a type")) };
        match word.as_str() {
            "tile" => {
                self.bump()?;
                if !self.at('<') {
                    return Err(self.expected("`<`"));
                }
                // The extents are not tokens: `4x8xf32` is no word. The token before them is taken after them.
                let shape = self.lexer.extents()?;
                self.bump()?;
                if shape.is_empty() {
                    return Err(self
                        .expected("an extent")
                        .help("a tile without axes is a scalar: write its element type"));
                }
                let mut tile = TileType::new(shape, self.elem()?);
                if self.eat(',')? {
                    tile.layout = Some(self.layout_ref(aliases)?);
                }
                self.expect('>')?;
                Ok(Type::Tile(tile))
            }
            "view" => {
                self.bump()?;
                self.expect('<')?;
                let rank = self.integer("a rank such as `2d`")?;
                self.expect_word("d")?;
                self.expect(',')?;
                let elem = self.scalar_type()?;
                self.expect('>')?;
                Ok(Type::View { elem, rank })
            }
            _ => Ok(Type::Scalar(self.elem()?)),
        }
    }

    fn elem(&mut self) -> PResult<Elem> {
        if self.eat_word("ptr")? {
            self.expect('<')?;
            let pointee = self.scalar_type()?;
            self.expect('>')?;
            return Ok(Elem::Ptr(pointee));
        }
        Ok(Elem::Scalar(self.scalar_type()?))
    }

    pub(super) fn scalar_type(&mut self) -> PResult<ScalarType> {
        let pos = self.pos();
        let word = self.word("a type")?;
        ScalarType::from_name(&word).ok_or_else(|| {
            let names: Vec<&str> = ScalarType::ALL.into_iter().map(ScalarType::name).collect();
            self.unknown("a type", word, &names, pos)
        })
    }

    /// `#l0` or `layout<...>`.
    pub(super) fn layout_ref(&mut self, aliases: &Aliases) -> PResult<LayoutRef> {
        let pos = self.pos();
        match self.token() {
            Token::Alias(name) => {
                let Some(layout) = aliases.layouts.get(name) else {
                    let help = format!("define it above: `#{name} = layout<...>`");
                    return Err(self.error(ParseErrorKind::UndefinedAlias(name.clone()), pos).help(help));
                };
                let layout = layout.clone();
                self.bump()?;
                Ok(layout)
            }
            _ => Ok(self.layout()?.into()),
        }
    }

    /// `layout<...>`.
    pub(super) fn layout(&mut self) -> PResult<LinearLayout> {
        self.expect_word("layout")?;
        if !self.at('<') {
            return Err(self.expected("`<`"));
        }
        let (text, start) = self.lexer.until_close()?;
        self.bump()?;
        text.parse().map_err(|e: crate::layout::ParseLayoutError| {
            let mut at = self.source_loc(start);
            at.column += text[..e.offset.min(text.len())].chars().count() as u32;
            ParseError::new(ParseErrorKind::Layout(e.to_string()), at)
        })
    }

    pub(crate) fn raw_literal(&mut self) -> PResult<RawLiteral> {
        let literal = match self.token() {
            Token::Number(text) => RawLiteral::Number(text.clone()),
            Token::Word(w) => match w.as_str() {
                "true" => RawLiteral::Bool(true),
                "false" => RawLiteral::Bool(false),
                "inf" => RawLiteral::Float(f64::INFINITY),
                "-inf" => RawLiteral::Float(f64::NEG_INFINITY),
                "nan" => RawLiteral::Float(f64::from_bits(CANONICAL_NAN)),
                _ => return Err(self.expected("a number, `inf`, `nan`, `true` or `false`")),
            },
            _ => return Err(self.expected("a number, `inf`, `nan`, `true` or `false`")),
        };
        self.bump()?;
        Ok(literal)
    }
}

impl RawLiteral {
    /// The literal of this type.
    pub(crate) fn of_type(self, ty: ScalarType) -> Result<Literal, String> {
        match self {
            RawLiteral::Bool(b) if ty == ScalarType::Bool => Ok(Literal::Bool(b)),
            RawLiteral::Bool(b) => Err(format!("{b} is not a number, as {ty} needs")),
            RawLiteral::Float(v) if ty.is_float() => Ok(Literal::Float(v)),
            RawLiteral::Float(v) => Err(format!("{ty} has no {}", if v.is_nan() { "NaN" } else { "infinity" })),
            RawLiteral::Number(text) => number_literal(&text, ty),
        }
    }
}
