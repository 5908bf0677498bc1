//! The syntax tree of a PTX module.

/// A place in the text: line and column, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// A module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `.version`.
    pub version: (u32, u32),
    /// The architecture of `.target`, such as `sm_90a`.
    pub target: String,
    /// `.address_size`.
    pub address_size: u32,
    /// Variables of the module.
    pub variables: Vec<Variable>,
    /// Kernels and functions, declarations among them.
    pub functions: Vec<Function>,
    /// Other names of functions: name and target.
    pub aliases: Vec<(String, String)>,
    /// `.file` directives: index and name.
    pub files: Vec<(u32, String)>,
}

/// A kernel or a function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub position: Position,
    /// Whether it is a kernel (`.entry`).
    pub entry: bool,
    /// Return parameters.
    pub returns: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
    /// Performance directives: `.reqntid`, `.maxntid`, `.maxnreg`, `.minnctapersm`, `.reqnctapercluster`...
    pub directives: Vec<(String, Vec<u64>)>,
    /// The body; none for a declaration.
    pub body: Option<Vec<Statement>>,
    /// Registers that the compiler left undefined on purpose (it says so in a comment).
    pub implicit_definitions: Vec<String>,
}

/// A variable in some state space.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub position: Position,
    /// The state space, without the dot: `global`, `const`, `shared`, `local`, `param`, `reg`.
    pub space: String,
    /// The element type, without the dot.
    pub ty: String,
    /// Elements of a vector type (`.v2`, `.v4`); 1 for scalars.
    pub vector: u32,
    /// Elements of the array; none for a scalar, zero for an array without a size.
    pub elements: Option<u64>,
    /// Alignment in bytes, where given.
    pub align: Option<u64>,
    /// Whether it is only declared (`.extern`).
    pub external: bool,
    /// Initial values.
    pub initial: Vec<Initial>,
}

/// An initial value of a module variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// A number.
    Number(Number),
    /// The address of a variable or function, plus an offset; generic where the text says `generic(name)`.
    Address {
        /// The name.
        name: String,
        /// Bytes added.
        offset: i64,
    },
    /// `0xFF(name)`: bits of an address, selected by a mask.
    MaskedAddress {
        /// The mask.
        mask: u64,
        /// The name.
        name: String,
        /// Bytes added.
        offset: i64,
    },
}

/// A numeric literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer; negative ones in two's complement.
    Integer(i128),
    /// `0f...`: the bits of a single-precision float.
    Single(u32),
    /// `0d...` or a decimal fraction: a double-precision float.
    Double(f64),
}

/// A statement of a body.
#[derive(Clone, Debug)]
pub enum Statement {
    /// `name:`
    Label(String, Position),
    /// `{ ... }`
    Block(Vec<Statement>),
    /// `.reg`, `.local`, `.shared`, `.param` declarations.
    Variable(Variable),
    /// `.reg .b32 %r<100>`: a declaration of `%r0` to `%r99`.
    RegisterRange {
        /// The type, without the dot.
        ty: String,
        /// The name without number.
        prefix: String,
        /// How many.
        count: u32,
    },
    /// `.loc file line column`.
    Source {
        /// Index of the `.file`.
        file: u32,
        /// Line.
        line: u32,
        /// Column.
        column: u32,
    },
    /// `name: .branchtargets a, b, c;`
    BranchTargets(String, Vec<String>),
    /// `name: .callprototype (...) _ (...);` or `.calltargets`: returns and parameters.
    CallPrototype(String),
    /// An instruction.
    Instruction(Instruction),
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Where it starts.
    pub position: Position,
    /// `@p` or `@!p`: the predicate's name, and whether it is negated.
    pub guard: Option<(String, bool)>,
    /// The opcode before the first dot.
    pub opcode: String,
    /// What follows it, split at the dots: `shared::cta` is one modifier.
    pub modifiers: Vec<String>,
    /// Operands.
    pub operands: Vec<Operand>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, variable, label or function, with the selected component for vectors (`%tid.x`).
    Name(String),
    /// A number.
    Number(Number),
    /// `!p`
    Not(String),
    /// `name+4`: the address of a variable with an offset, outside of brackets.
    NamePlus(String, i64),
    /// `_`
    Sink,
    /// `{a, b, ...}`
    Vector(Vec<Operand>),
    /// `a|b`
    Pair(Box<Operand>, Box<Operand>),
    /// `[base+offset]`, or for tensors `[base, {coordinates}]`.
    Address {
        /// A register or variable; none for an absolute address.
        base: Option<String>,
        /// Bytes added.
        offset: i64,
        /// Tensor coordinates.
        coordinates: Option<Vec<Operand>>,
    },
    /// `(a, b)`: arguments or results of a call.
    List(Vec<Operand>),
}

impl Instruction {
    /// The opcode with its modifiers.
    pub fn mnemonic(&self) -> String {
        let mut text = self.opcode.clone();
        for modifier in &self.modifiers {
            text.push('.');
            text.push_str(modifier);
        }
        text
    }
}

impl std::fmt::Display for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        fn list(f: &mut std::fmt::Formatter<'_>, operands: &[Operand], open: char, close: char) -> std::fmt::Result {
            write!(f, "{open}")?;
            for (index, operand) in operands.iter().enumerate() {
                if index > 0 {
                    f.write_str(", ")?;
                }
                // Accumulators run to hundreds of registers: the first and last say enough.
                if operands.len() > 16 && index == 2 {
                    write!(f, "…, {}", operands[operands.len() - 1])?;
                    break;
                }
                write!(f, "{operand}")?;
            }
            write!(f, "{close}")
        }
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Number(Number::Integer(value)) => write!(f, "{value}"),
            Self::Number(Number::Single(bits)) => write!(f, "0f{bits:08X}"),
            Self::Number(Number::Double(value)) => write!(f, "0d{:016X}", value.to_bits()),
            Self::Not(name) => write!(f, "!{name}"),
            Self::NamePlus(name, offset) => write!(f, "{name}{offset:+}"),
            Self::Sink => f.write_str("_"),
            Self::Vector(operands) => list(f, operands, '{', '}'),
            Self::Pair(a, b) => write!(f, "{a}|{b}"),
            Self::Address { base, offset, coordinates } => {
                write!(f, "[")?;
                match (base, offset) {
                    (Some(base), 0) => write!(f, "{base}")?,
                    (Some(base), _) => write!(f, "{base}{offset:+}")?,
                    (None, _) => write!(f, "{offset}")?,
                }
                if let Some(coordinates) = coordinates {
                    write!(f, ", ")?;
                    list(f, coordinates, '{', '}')?;
                }
                write!(f, "]")
            }
            Self::List(operands) => list(f, operands, '(', ')'),
        }
    }
}

impl std::fmt::Display for Instruction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.guard {
            Some((name, true)) => write!(f, "@!{name} ")?,
            Some((name, false)) => write!(f, "@{name} ")?,
            None => {}
        }
        f.write_str(&self.mnemonic())?;
        for (index, operand) in self.operands.iter().enumerate() {
            write!(f, "{}{operand}", if index == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}

impl Module {
    /// The number of a device function among them, declarations included; also by another name that it has.
    pub fn function_number(&self, name: &str) -> Option<usize> {
        let name = self.aliases.iter().find(|(alias, _)| alias == name).map_or(name, |(_, target)| target);
        self.functions.iter().filter(|f| !f.entry).position(|f| f.name == name)
    }
}
