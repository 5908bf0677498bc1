//! The PTX parser: recursive descent over the tokens, errors with line and column.

use super::ast::{Function, Initial, Instruction, Module, Number, Operand, Position, Statement, Variable};
use super::lexer::{self, Spanned, Token, error};
use crate::error::Result;

/// Blocks nested deeper than this are refused, so that no text can overflow the stack.
const MAX_DEPTH: u32 = 64;
/// More registers of one declaration than this are refused: no kernel has them, and they would have to be allocated.
const MAX_REGISTERS: i128 = 1 << 20;

/// Parses a module.
pub fn parse(text: &str) -> Result<Module> {
    let tokens = lexer::tokens(text)?;
    Parser { tokens: &tokens.tokens, implicit: &tokens.implicit, at: 0, depth: 0 }.module()
}

struct Parser<'t, 'a> {
    tokens: &'t [Spanned<'a>],
    implicit: &'t [(usize, &'a str)],
    at: usize,
    depth: u32,
}

impl<'a> Parser<'_, 'a> {
    fn token(&self) -> &Token<'a> {
        &self.tokens[self.at].token
    }

    fn ahead(&self, count: usize) -> &Token<'a> {
        &self.tokens[(self.at + count).min(self.tokens.len() - 1)].token
    }

    fn position(&self) -> Position {
        self.tokens[self.at].position
    }

    fn advance(&mut self) -> Token<'a> {
        let token = self.token().clone();
        // The last token is the end, and stays.
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn fail<T>(&self, wanted: &str) -> Result<T> {
        Err(error(self.position(), format!("expected {wanted}, found {}", self.token())))
    }

    fn is(&self, text: &str) -> bool {
        *self.token() == Token::Punctuation(text)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.is(text);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        if self.take(text) { Ok(()) } else { self.fail(&format!("`{text}`")) }
    }

    fn name(&mut self) -> Result<&'a str> {
        match *self.token() {
            Token::Name(name) => {
                self.advance();
                Ok(name)
            }
            _ => self.fail("a name"),
        }
    }

    /// `.name`
    fn dotted(&mut self) -> Result<String> {
        self.expect(".")?;
        self.modifier()
    }

    /// A modifier after its dot: a name, or `a::b`.
    fn modifier(&mut self) -> Result<String> {
        let mut text = self.name()?.to_owned();
        while self.take("::") {
            text.push_str("::");
            text.push_str(self.name()?);
        }
        Ok(text)
    }

    fn is_directive(&self, name: &str) -> bool {
        self.is(".") && *self.ahead(1) == Token::Name(name)
    }

    fn take_directive(&mut self, name: &str) -> bool {
        let found = self.is_directive(name);
        if found {
            self.advance();
            self.advance();
        }
        found
    }

    fn integer(&mut self) -> Result<i128> {
        let negative = self.take("-");
        match *self.token() {
            Token::Number(Number::Integer(value)) => {
                self.advance();
                Ok(if negative { -value } else { value })
            }
            _ => self.fail("an integer"),
        }
    }

    fn unsigned(&mut self) -> Result<u64> {
        let position = self.position();
        u64::try_from(self.integer()?).map_err(|_| error(position, "expected a number that is not negative"))
    }

    fn small(&mut self) -> Result<u32> {
        let position = self.position();
        u32::try_from(self.integer()?).map_err(|_| error(position, "expected a small number"))
    }

    fn module(&mut self) -> Result<Module> {
        let mut module = Module { address_size: 64, ..Module::default() };
        if !self.is_directive("version") {
            return self.fail("`.version` at the start of the module");
        }
        while *self.token() != Token::End {
            if self.take(";") {
                continue;
            }
            if !self.is(".") {
                return self.fail("a directive");
            }
            let Token::Name(directive) = *self.ahead(1) else {
                return self.fail("a directive");
            };
            match directive {
                "version" => {
                    self.at += 2;
                    module.version = match *self.token() {
                        // `8.8` reads as one number.
                        Token::Number(Number::Double(version)) => {
                            ((version as u32), ((version * 10.0).round() as u32) % 10)
                        }
                        Token::Number(Number::Integer(major)) => (major as u32, 0),
                        _ => return self.fail("a version such as 8.8"),
                    };
                    self.advance();
                }
                "target" => {
                    self.at += 2;
                    module.target = self.name()?.to_owned();
                    while self.take(",") {
                        self.name()?;
                    }
                }
                "address_size" => {
                    self.at += 2;
                    module.address_size = self.small()?;
                }
                "file" => {
                    self.at += 2;
                    let index = self.small()?;
                    let Token::Text(name) = *self.token() else {
                        return self.fail("a file name");
                    };
                    self.advance();
                    while self.take(",") {
                        self.unsigned()?;
                    }
                    module.files.push((index, name.to_owned()));
                }
                "section" => self.section()?,
                "pragma" => {
                    while !self.take(";") {
                        if *self.token() == Token::End {
                            return self.fail("`;`");
                        }
                        self.advance();
                    }
                }
                "alias" => {
                    self.at += 2;
                    let alias = self.name()?.to_owned();
                    self.expect(",")?;
                    module.aliases.push((alias, self.name()?.to_owned()));
                    self.expect(";")?;
                }
                _ => self.declaration(&mut module)?,
            }
        }
        Ok(module)
    }

    /// `.section name { ... }`: debug information, skipped.
    fn section(&mut self) -> Result<()> {
        while !self.is("{") {
            if *self.token() == Token::End {
                return self.fail("`{`");
            }
            self.advance();
        }
        let mut depth = 0_u32;
        loop {
            if self.is("{") {
                depth += 1;
            } else if self.is("}") {
                depth -= 1;
            } else if *self.token() == Token::End {
                return self.fail("`}`");
            }
            self.advance();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// A kernel, function or variable of the module with its linkage.
    fn declaration(&mut self, module: &mut Module) -> Result<()> {
        let mut external = false;
        loop {
            if self.take_directive("extern") {
                external = true;
            } else if !(self.take_directive("visible") || self.take_directive("weak") || self.take_directive("common"))
            {
                break;
            }
        }
        if self.take_directive("entry") {
            let function = self.function(true)?;
            module.functions.push(function);
        } else if self.take_directive("func") {
            let function = self.function(false)?;
            module.functions.push(function);
        } else {
            let (space, mut variable) = self.variable_head()?;
            loop {
                self.variable_tail(&mut variable)?;
                variable.external = external;
                module.variables.push(variable.clone());
                if !self.take(",") {
                    break;
                }
                variable = Variable { elements: None, initial: Vec::new(), space: space.clone(), ..variable };
            }
            self.expect(";")?;
        }
        Ok(())
    }

    fn function(&mut self, entry: bool) -> Result<Function> {
        let start = self.at;
        // `.func .attribute(...)`, and `.func (returns) name`.
        while self.take_directive("attribute") {
            self.parenthesised()?;
        }
        let returns = if self.is("(") { self.parameters()? } else { Vec::new() };
        let position = self.position();
        let name = self.name()?.to_owned();
        let params = if self.is("(") { self.parameters()? } else { Vec::new() };
        let mut directives = Vec::new();
        while self.is(".") {
            let name = self.dotted()?;
            let mut values = Vec::new();
            if matches!(self.token(), Token::Number(_)) {
                values.push(self.unsigned()?);
                while self.take(",") {
                    values.push(self.unsigned()?);
                }
            } else if let Token::Text(_) = self.token() {
                // `.pragma "nounroll";`
                self.advance();
                self.take(";");
            }
            directives.push((name, values));
        }
        let body = if self.is("{") {
            Some(self.block()?)
        } else {
            self.expect(";")?;
            None
        };
        let range = start..self.at;
        let implicit = self.implicit.iter().filter(|(at, _)| range.contains(at));
        let implicit_definitions = implicit.map(|&(_, name)| name.to_owned()).collect();
        Ok(Function { name, position, entry, returns, params, directives, body, implicit_definitions })
    }

    fn parenthesised(&mut self) -> Result<()> {
        self.expect("(")?;
        while !self.take(")") {
            if *self.token() == Token::End {
                return self.fail("`)`");
            }
            self.advance();
        }
        Ok(())
    }

    fn parameters(&mut self) -> Result<Vec<Variable>> {
        let mut params = Vec::new();
        self.expect("(")?;
        while !self.take(")") {
            if !params.is_empty() {
                self.expect(",")?;
            }
            let (_, mut variable) = self.variable_head()?;
            self.variable_tail(&mut variable)?;
            params.push(variable);
        }
        Ok(params)
    }

    /// `.space .align 16 .v2 .b32`, with what kernels' parameters add (`.ptr .global .align 1`).
    fn variable_head(&mut self) -> Result<(String, Variable)> {
        let position = self.position();
        let space = self.dotted()?;
        if !matches!(
            space.as_str(),
            "global" | "const" | "shared" | "shared::cta" | "shared::cluster" | "local" | "param" | "reg" | "tex"
        ) {
            return Err(error(position, format!("unknown directive or state space `.{space}`")));
        }
        let space = if space.starts_with("shared") { "shared".to_owned() } else { space };
        let mut variable = Variable {
            name: String::new(),
            position: Position::default(),
            space: space.clone(),
            ty: String::new(),
            vector: 1,
            elements: None,
            align: None,
            external: false,
            initial: Vec::new(),
        };
        let mut pointer = false;
        while self.is(".") {
            let word = self.dotted()?;
            match word.as_str() {
                "align" => {
                    let align = self.unsigned()?;
                    // After `.ptr` it is the pointee's.
                    if !pointer {
                        variable.align = Some(align);
                    }
                }
                "attribute" => self.parenthesised()?,
                "v2" | "v4" | "v8" => variable.vector = word[1..].parse().unwrap_or(1),
                "ptr" => pointer = true,
                "global" | "const" | "shared" | "local" if pointer => {}
                "managed" => {}
                _ => variable.ty = word,
            }
        }
        Ok((space, variable))
    }

    fn variable_tail(&mut self, variable: &mut Variable) -> Result<()> {
        variable.position = self.position();
        variable.name = self.name()?.to_owned();
        while self.take("[") {
            let size = if self.is("]") { 0 } else { self.unsigned()? };
            self.expect("]")?;
            let before = variable.elements.unwrap_or(1);
            variable.elements =
                Some(before.checked_mul(size).ok_or_else(|| error(variable.position, "this array is too large"))?);
        }
        if self.take("=") {
            self.initial(&mut variable.initial, 0)?;
            if variable.elements == Some(0) {
                variable.elements = Some(variable.initial.len() as u64);
            }
        }
        Ok(())
    }

    fn initial(&mut self, values: &mut Vec<Initial>, depth: u32) -> Result<()> {
        if depth > 8 {
            return self.fail("fewer nested braces");
        }
        if self.take("{") {
            while !self.take("}") {
                self.initial(values, depth + 1)?;
                if !self.take(",") && !self.is("}") {
                    return self.fail("`,` or `}`");
                }
            }
            return Ok(());
        }
        match *self.token() {
            Token::Name("generic") if *self.ahead(1) == Token::Punctuation("(") => {
                self.at += 2;
                let name = self.name()?.to_owned();
                self.expect(")")?;
                let offset = self.offset()?;
                values.push(Initial::Address { name, offset });
            }
            Token::Name(name) => {
                self.advance();
                let offset = self.offset()?;
                values.push(Initial::Address { name: name.to_owned(), offset });
            }
            Token::Number(Number::Integer(mask)) if *self.ahead(1) == Token::Punctuation("(") => {
                self.at += 2;
                let generic = *self.token() == Token::Name("generic") && *self.ahead(1) == Token::Punctuation("(");
                if generic {
                    self.at += 2;
                }
                let name = self.name()?.to_owned();
                let mut offset = self.offset()?;
                self.expect(")")?;
                if generic {
                    offset += self.offset()?;
                    self.expect(")")?;
                }
                values.push(Initial::MaskedAddress { mask: mask as u64, name, offset });
            }
            _ => {
                let number = self.number()?;
                values.push(Initial::Number(number));
            }
        }
        Ok(())
    }

    /// `+4`, `-4`, `+-4` or nothing.
    fn offset(&mut self) -> Result<i64> {
        let position = self.position();
        if !self.take("+") && !self.is("-") {
            return Ok(0);
        }
        let value = self.integer()?;
        i64::try_from(value).map_err(|_| error(position, "this offset is too large"))
    }

    fn number(&mut self) -> Result<Number> {
        let negative = self.take("-");
        let Token::Number(number) = *self.token() else {
            return self.fail("a number");
        };
        self.advance();
        Ok(match (number, negative) {
            (number, false) => number,
            (Number::Integer(value), true) => Number::Integer(-value),
            (Number::Single(bits), true) => Number::Single(bits ^ 1 << 31),
            (Number::Double(value), true) => Number::Double(-value),
        })
    }

    fn block(&mut self) -> Result<Vec<Statement>> {
        if self.depth >= MAX_DEPTH {
            return self.fail("fewer nested blocks");
        }
        self.depth += 1;
        self.expect("{")?;
        let mut statements = Vec::new();
        while !self.take("}") {
            if *self.token() == Token::End {
                return self.fail("`}`");
            }
            self.statement(&mut statements)?;
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) -> Result<()> {
        if self.take(";") {
            return Ok(());
        }
        if self.is("{") {
            statements.push(Statement::Block(self.block()?));
            return Ok(());
        }
        if self.is(".") {
            return self.directive(statements);
        }
        if let Token::Name(name) = *self.token()
            && *self.ahead(1) == Token::Punctuation(":")
        {
            let position = self.position();
            self.at += 2;
            if self.take_directive("branchtargets") {
                let mut targets = vec![self.name()?.to_owned()];
                while self.take(",") {
                    targets.push(self.name()?.to_owned());
                }
                self.expect(";")?;
                statements.push(Statement::BranchTargets(name.to_owned(), targets));
            } else if self.is_directive("callprototype") || self.is_directive("calltargets") {
                while !self.take(";") {
                    if *self.token() == Token::End {
                        return self.fail("`;`");
                    }
                    self.advance();
                }
                statements.push(Statement::CallPrototype(name.to_owned()));
            } else {
                statements.push(Statement::Label(name.to_owned(), position));
            }
            return Ok(());
        }
        let instruction = self.instruction()?;
        statements.push(Statement::Instruction(instruction));
        Ok(())
    }

    fn directive(&mut self, statements: &mut Vec<Statement>) -> Result<()> {
        if self.take_directive("loc") {
            let (file, line, column) = (self.small()?, self.small()?, self.small()?);
            // `, function_name label+0, inlined_at file line column`
            while self.take(",") {
                match self.name()? {
                    "function_name" => {
                        self.name()?;
                        self.offset()?;
                    }
                    _ => {
                        self.small()?;
                        self.small()?;
                        self.small()?;
                    }
                }
            }
            statements.push(Statement::Source { file, line, column });
            return Ok(());
        }
        if self.take_directive("pragma") {
            while !self.take(";") {
                if *self.token() == Token::End {
                    return self.fail("`;`");
                }
                self.advance();
            }
            return Ok(());
        }
        let (space, head) = self.variable_head()?;
        loop {
            let mut variable = head.clone();
            let register_range = space == "reg" && *self.ahead(1) == Token::Punctuation("<");
            if register_range {
                let prefix = self.name()?.to_owned();
                self.expect("<")?;
                let position = self.position();
                let count = self.integer()?;
                self.expect(">")?;
                if !(0..=MAX_REGISTERS).contains(&count) {
                    return Err(error(position, "expected a reasonable number of registers"));
                }
                statements.push(Statement::RegisterRange { ty: variable.ty, prefix, count: count as u32 });
            } else {
                self.variable_tail(&mut variable)?;
                statements.push(Statement::Variable(variable));
            }
            if !self.take(",") {
                break;
            }
        }
        self.expect(";")
    }

    fn instruction(&mut self) -> Result<Instruction> {
        let position = self.position();
        let guard = if self.take("@") {
            let negated = self.take("!");
            Some((self.name()?.to_owned(), negated))
        } else {
            None
        };
        let opcode = match *self.token() {
            Token::Name(name) => name.to_owned(),
            _ => return self.fail("an instruction"),
        };
        self.advance();
        let mut modifiers = Vec::new();
        while self.take(".") {
            modifiers.push(self.modifier()?);
        }
        let mut operands = Vec::new();
        if !self.is(";") {
            loop {
                operands.push(self.operand()?);
                if !self.take(",") {
                    break;
                }
            }
        }
        self.expect(";")?;
        Ok(Instruction { position, guard, opcode, modifiers, operands })
    }

    fn operand(&mut self) -> Result<Operand> {
        if self.depth >= MAX_DEPTH {
            return self.fail("a simpler operand");
        }
        self.depth += 1;
        let operand = self.operand_inner();
        self.depth -= 1;
        operand
    }

    fn operand_inner(&mut self) -> Result<Operand> {
        if self.take("{") {
            let operands = self.operands("}")?;
            return Ok(Operand::Vector(operands));
        }
        if self.take("(") {
            let operands = self.operands(")")?;
            return Ok(Operand::List(operands));
        }
        if self.take("[") {
            return self.address();
        }
        if self.take("!") {
            return Ok(Operand::Not(self.name()?.to_owned()));
        }
        let first = match *self.token() {
            Token::Name("_") => {
                self.advance();
                Operand::Sink
            }
            Token::Name(_) => {
                let name = self.component()?;
                if self.is("+") || (self.is("-") && matches!(self.ahead(1), Token::Number(_))) {
                    let offset = self.offset()?;
                    return Ok(Operand::NamePlus(name, offset));
                }
                Operand::Name(name)
            }
            _ => Operand::Number(self.number()?),
        };
        if self.take("|") {
            let second = self.operand()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    /// A name with an optional component: `%tid.x`.
    fn component(&mut self) -> Result<String> {
        let mut name = self.name()?.to_owned();
        while self.take(".") {
            name.push('.');
            name.push_str(self.name()?);
        }
        Ok(name)
    }

    fn operands(&mut self, close: &str) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        while !self.take(close) {
            if !operands.is_empty() {
                self.expect(",")?;
            }
            operands.push(self.operand()?);
        }
        Ok(operands)
    }

    /// The inside of brackets.
    fn address(&mut self) -> Result<Operand> {
        let position = self.position();
        let (base, offset) = match self.token() {
            Token::Name(_) => {
                let name = self.component()?;
                (Some(name), self.offset()?)
            }
            _ => {
                let value = self.integer()?;
                let value = i64::try_from(value).or_else(|_| u64::try_from(value).map(|value| value as i64));
                (None, value.map_err(|_| error(position, "this address is too large"))?)
            }
        };
        let coordinates = if self.take(",") {
            if self.take("{") { Some(self.operands("}")?) } else { Some(vec![self.operand()?]) }
        } else {
            None
        };
        self.expect("]")?;
        Ok(Operand::Address { base, offset, coordinates })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Result<Vec<Statement>> {
        let text = format!(
            ".version 8.8\n.target sm_90a\n.visible .entry k(.param .u64 .ptr .global .align 1 p, .param .align 64 .b8 m[128])\n.reqntid 128\n{{{text}}}"
        );
        let mut module = parse(&text)?;
        let function = module.functions.pop().expect("a function");
        assert_eq!((function.params[1].elements, function.params[1].align), (Some(128), Some(64)));
        assert_eq!(function.params[0].align, None);
        Ok(function.body.expect("a body"))
    }

    fn instruction(text: &str) -> Instruction {
        match body(text).map(|mut body| body.pop()) {
            Ok(Some(Statement::Instruction(instruction))) => instruction,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn instructions_print_as_they_were() {
        for text in [
            "@!%p1 bra $L__BB0_1",
            "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+16]",
            "shfl.sync.bfly.b32 %r1|%p2, %r3, 16, 31, -1",
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 24576",
            "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd44, {%r2, %r3}], [%r4]",
            "mov.u32 %r1, %tid.x",
            "call.uni (retval0), vprintf, (param0, param1)",
            "add.f32 %f1, %f2, 0f3F800000",
            "selp.b32 %r1, -1, 0, %p1",
        ] {
            assert_eq!(instruction(&format!("{text};")).to_string(), text);
        }
    }

    #[test]
    fn scopes_labels_and_declarations() -> Result<()> {
        let body = body(
            ".reg .pred %p<3>; .shared .align 16 .b8 buffer[64];
             { .reg .pred complete; waitLoop: mbarrier.try_wait.parity.shared::cta.b64 complete, [%r1], %r2; @!complete bra.uni waitLoop; }
             .loc 1 10 3
             ts: .branchtargets a, b;",
        )?;
        assert!(matches!(&body[0], Statement::RegisterRange { count: 3, .. }));
        assert!(matches!(&body[2], Statement::Block(inner) if inner.len() == 4));
        assert!(matches!(&body[4], Statement::BranchTargets(_, targets) if targets.len() == 2));
        Ok(())
    }

    #[test]
    fn errors_have_a_place() {
        let error = parse(".version 8.0\n.target sm_80\n.entry k()\n{\n  add.s32 %r1 %r2;\n}").unwrap_err();
        assert_eq!(error.to_string(), "5:15: expected `;`, found `%r2`");
        assert!(parse("").is_err());
        assert!(parse(&format!(".version 8.0 .entry k() {}", "{".repeat(100_000))).is_err());
        assert!(parse(&format!(".version 8.0 .entry k() {{ a {}", "{".repeat(100_000))).is_err());
    }
}
