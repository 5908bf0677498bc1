//! The kernel that is being built on this thread: where operations append, and where problems are collected.
//!
//! A problem is recorded once, at the operation it belongs to, and the operation gives a *poison* handle;
//! operations on poison give poison and say nothing. So one build reports every independent problem, and
//! nothing panics.
//!
//! Values made inside a loop or branch of the kernel belong to that scope. The context knows the open scopes,
//! and reports a value that is used after its scope ended.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::Location;

use smallvec::SmallVec;
use tegula_ir::builder::Builder;
use tegula_ir::diag::Diagnostic;
use tegula_ir::loc::SourceLoc;
use tegula_ir::ops::OpKind;
use tegula_ir::{Block, Function, Type, Value};

use crate::kernel::target::Target;

thread_local! {
    /// Builds under way on this thread, innermost last: building a kernel may run code that builds another.
    static BUILDS: RefCell<Vec<Build>> = const { RefCell::new(Vec::new()) };
    static NEXT_ID: RefCell<u32> = const { RefCell::new(1) };
}

/// A value of the kernel being built, or poison.
///
/// It means something on the building thread only.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    value: Option<Value>,
    build: u32,
    _not_send: PhantomData<*const ()>,
}

impl Handle {
    /// What operations give that could not be built.
    pub(crate) const POISON: Handle = Handle { value: None, build: 0, _not_send: PhantomData };
}

/// Handles of an op's results.
pub(crate) type Handles = SmallVec<[Handle; 4]>;

/// A kernel under construction.
pub(crate) struct Build {
    pub(crate) builder: Builder,
    id: u32,
    dims: SmallVec<[u32; 8]>,
    target: Target,
    diagnostics: Vec<Diagnostic>,
    /// Scope of each value, by index.
    scope_of: Vec<u32>,
    open: Vec<u32>,
    next_scope: u32,
}

/// A nested block that is being filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenBlock {
    before: Block,
}

/// A nested block that will be filled on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PausedBlock {
    block: Block,
    scope: Option<u32>,
}

impl Build {
    fn new(function: Function, dims: SmallVec<[u32; 8]>, target: Target) -> Self {
        let id = NEXT_ID.with_borrow_mut(|n| {
            *n = n.wrapping_add(1).max(1);
            *n
        });
        Self {
            builder: Builder::new(function),
            id,
            dims,
            target,
            diagnostics: Vec::new(),
            scope_of: Vec::new(),
            open: vec![0],
            next_scope: 1,
        }
    }

    /// The handle of a value that belongs to the current scope.
    pub(crate) fn handle(&mut self, value: Value) -> Handle {
        let index = value.as_u32() as usize;
        if self.scope_of.len() <= index {
            self.scope_of.resize(index + 1, 0);
        }
        self.scope_of[index] = self.open.last().copied().unwrap_or(0);
        Handle { value: Some(value), build: self.id, _not_send: PhantomData }
    }

    /// Records a problem.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The value behind a handle, or `None` for poison. A handle of another kernel, or of a scope that has
    /// ended, is reported and taken for poison.
    pub(crate) fn value(&mut self, handle: Handle, at: &Location<'_>) -> Option<Value> {
        let value = handle.value?;
        if handle.build != self.id {
            self.report(error_at(at, "this value belongs to another kernel").help("compute it in this kernel"));
            return None;
        }
        let scope = self.scope_of.get(value.as_u32() as usize).copied().unwrap_or(0);
        if !self.open.contains(&scope) {
            self.report(
                error_at(at, "this value was made inside a loop or branch that has ended")
                    .help("assign it to a variable that is declared before the loop or branch"),
            );
            return None;
        }
        Some(value)
    }

    /// The type of a value.
    pub(crate) fn ty(&self, value: Value) -> Type {
        self.builder.func.ty(value).clone()
    }

    /// Appends an op, or records why it cannot be.
    pub(crate) fn op(&mut self, kind: OpKind, at: &Location<'_>) -> Option<Handles> {
        self.builder.set_loc(at.into());
        match self.builder.values(kind) {
            Ok(values) => Some(values.iter().map(|&v| self.handle(v)).collect()),
            Err(diagnostic) => {
                self.report(diagnostic);
                None
            }
        }
    }

    /// Makes an empty nested block whose arguments have these types.
    pub(crate) fn make_block(&mut self, types: impl IntoIterator<Item = Type>) -> Block {
        self.builder.func.make_block(types)
    }

    /// Appends to `block` from now on, in a new scope.
    pub(crate) fn open(&mut self, block: Block) -> OpenBlock {
        let before = self.builder.switch_to(block);
        self.open.push(self.next_scope);
        self.next_scope += 1;
        OpenBlock { before }
    }

    /// Ends the scope and appends again to the block before.
    pub(crate) fn close(&mut self, block: OpenBlock) {
        self.builder.switch_to(block.before);
        self.open.pop();
    }

    /// Appends again to the block before an open one, for a moment.
    pub(crate) fn pause(&mut self, block: OpenBlock) -> PausedBlock {
        PausedBlock { block: self.builder.switch_to(block.before), scope: self.open.pop() }
    }

    /// Goes on in the block that was paused.
    pub(crate) fn resume(&mut self, paused: PausedBlock) {
        self.builder.switch_to(paused.block);
        self.open.extend(paused.scope);
    }

    /// The scopes now open.
    pub(crate) fn scopes(&self) -> Vec<u32> {
        self.open.clone()
    }

    /// Opens exactly these scopes, to add to the end of a block that was closed; gives those before.
    pub(crate) fn replace_scopes(&mut self, scopes: Vec<u32>) -> Vec<u32> {
        std::mem::replace(&mut self.open, scopes)
    }
}

/// An error at a place in the user's source.
pub(crate) fn error_at(at: &Location<'_>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(message).at(&SourceLoc::from(at))
}

/// Runs `f` on the kernel being built; gives `None` where there is none.
pub(crate) fn with<R>(f: impl FnOnce(&mut Build) -> R) -> Option<R> {
    BUILDS.with_borrow_mut(|builds| builds.last_mut().map(f))
}

/// Runs `f` with a new kernel under construction, and gives it back with the problems found.
///
/// If `f` unwinds, the build is dropped, so that the thread can go on to build others.
pub(crate) fn build(
    function: Function,
    dims: SmallVec<[u32; 8]>,
    target: Target,
    f: impl FnOnce(),
) -> (Function, Vec<Diagnostic>) {
    struct Guard(bool);
    impl Drop for Guard {
        fn drop(&mut self) {
            if self.0 {
                BUILDS.with_borrow_mut(Vec::pop);
            }
        }
    }
    BUILDS.with_borrow_mut(|builds| builds.push(Build::new(function, dims, target)));
    let mut guard = Guard(true);
    f();
    guard.0 = false;
    let build = BUILDS.with_borrow_mut(Vec::pop).expect("the build pushed above is still there");
    (build.builder.finish(), build.diagnostics)
}

/// Records a problem at the caller's place.
#[track_caller]
pub(crate) fn report(message: impl Into<String>, help: &str) {
    let mut diagnostic = error_at(Location::caller(), message);
    if !help.is_empty() {
        diagnostic = diagnostic.help(help);
    }
    with(|b| b.report(diagnostic));
}

/// Appends an op on these operands that has one result.
#[track_caller]
pub(crate) fn emit<const N: usize>(operands: [Handle; N], kind: impl FnOnce([Value; N]) -> OpKind) -> Handle {
    let results = emit_all(&operands, |values| kind(std::array::from_fn(|i| values[i])));
    results.and_then(|r| r.first().copied()).unwrap_or(Handle::POISON)
}

/// Appends an op on these operands; gives its results, or `None` if it could not be built.
#[track_caller]
pub(crate) fn emit_all(operands: &[Handle], kind: impl FnOnce(&[Value]) -> OpKind) -> Option<Handles> {
    let at = Location::caller();
    with(|b| {
        let mut values = SmallVec::<[Value; 8]>::new();
        let mut good = true;
        for &operand in operands {
            match b.value(operand, at) {
                Some(v) => values.push(v),
                None => good = false,
            }
        }
        if good { b.op(kind(&values), at) } else { None }
    })
    .flatten()
}

/// Size of dim number `index` of the kernel being built; 1 outside of one.
pub fn dim_size(index: usize) -> i64 {
    with(|b| b.dims.get(index).copied().unwrap_or(1)).map_or(1, i64::from)
}

/// What the kernel being built is for.
pub(crate) fn target() -> Target {
    with(|b| b.target).unwrap_or_default()
}

/// Reports a dim whose size is no extent, and gives one that is.
pub(crate) fn bad_extent(name: &str, size: i64) -> u32 {
    let name = short_name(name);
    report_once(format!("dim {name} has size {size}, which is not an extent"), "sizes are 1 to 4294967295");
    1
}

/// Reports a derived dim whose quotient is not exact, and gives one that is near.
pub(crate) fn inexact_dim(what: &str, a: i64, b: i64) -> i64 {
    report_once(format!("{what}: {a} is not a multiple of {b}"), "choose sizes of the dims that divide");
    (a / b.max(1)).max(1)
}

fn report_once(message: String, help: &str) {
    with(|b| {
        if b.diagnostics.iter().all(|d| d.message != message) {
            let at = b.builder.func.locs.get(b.builder.loc()).clone();
            b.report(Diagnostic::error(message).at(&at).help(help));
        }
    });
}

/// A type's name without the paths of its parts: `Half<BM>` for `a::Half<b::dim::BM>`.
pub(crate) fn short_name(name: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else if c == ':' && chars.peek() == Some(&':') {
            chars.next();
            word.clear();
        } else {
            out.push_str(&word);
            word.clear();
            out.push(c);
        }
    }
    out + &word
}
