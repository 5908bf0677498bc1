//! Rewriting of expressions: comparisons, logic and literals; what cannot be translated is reported here.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    BinOp, Block, Expr, ExprBinary, ExprCast, ExprClosure, ExprMacro, ExprMatch, ExprTuple, Local, Macro, Pat,
    ReturnType, Stmt, Token, Type,
};

use super::assigned::is_assignment;
use super::known::{Scopes, bare_literal};
use super::{Errors, Function, jumps};
use crate::path::Crate;

/// Rewrites a body in place.
pub struct Rewriter<'a> {
    pub(super) krate: &'a Crate,
    pub(super) scopes: Scopes,
    pub(super) errors: &'a mut Errors,
    /// How many loops around are ordinary Rust, with ordinary jumps.
    pub(super) host_loops: usize,
    /// The function's symbolic dims.
    dims: &'a [String],
}

/// Methods whose position arguments may mix scalars and numbers: an array becomes a tuple.
const TAKES_POSITION: &[&str] =
    &["tile", "tile_at", "tile_mut", "tile_at_mut", "get", "get_or", "set", "store_tile", "store_tile_at"];

impl<'a> Rewriter<'a> {
    /// A rewriter of the body of a function.
    pub fn new(krate: &'a Crate, function: &'a Function, errors: &'a mut Errors) -> Self {
        let mut scopes = Scopes::default();
        scopes.enter();
        for name in &function.known {
            scopes.declare_name(name.clone(), true);
        }
        Self { krate, scopes, errors, host_loops: 0, dims: &function.dims }
    }

    /// The literal that adapts to what it meets.
    fn literal(&self, e: &Expr, is_float: bool) -> Expr {
        let private = self.krate.private_at(e.span());
        let name = syn::Ident::new(if is_float { "FloatLit" } else { "IntLit" }, e.span());
        Expr::Verbatim(quote_spanned!(e.span()=> #private::#name(#e)))
    }

    /// Wraps an operand that is a bare literal, unless `other` is known at build time.
    fn adapt(&self, e: &mut Expr, other_known: bool) {
        if !other_known && let Some(is_float) = bare_literal(e) {
            *e = self.literal(e, is_float);
        }
    }

    fn binary(&mut self, mut b: ExprBinary) -> Expr {
        let (left_known, right_known) = (self.scopes.known(&b.left), self.scopes.known(&b.right));
        if left_known && right_known {
            visit_mut::visit_expr_binary_mut(self, &mut b);
            return Expr::Binary(b);
        }
        let op = b.op;
        let span = op.span();
        let private = self.krate.private_at(span);
        if let BinOp::And(_) | BinOp::Or(_) = op {
            self.visit_expr_mut(&mut b.left);
            self.visit_expr_mut(&mut b.right);
            let (left, right) = (&b.left, &b.right);
            let method = syn::Ident::new(if matches!(op, BinOp::And(_)) { "and" } else { "or" }, span);
            return Expr::Verbatim(quote_spanned!(span=> #private::Logic::#method(#left, || #right)));
        }
        let comparison = match op {
            BinOp::Eq(_) => Some(("StagedEq", "eq")),
            BinOp::Ne(_) => Some(("StagedNe", "ne")),
            BinOp::Lt(_) => Some(("StagedLt", "lt")),
            BinOp::Le(_) => Some(("StagedLe", "le")),
            BinOp::Gt(_) => Some(("StagedGt", "gt")),
            BinOp::Ge(_) => Some(("StagedGe", "ge")),
            _ => None,
        };
        if !is_assignment(&op) {
            self.adapt(&mut b.left, right_known && bare_literal(&b.right).is_none());
        }
        self.adapt(&mut b.right, left_known);
        self.visit_expr_mut(&mut b.left);
        self.visit_expr_mut(&mut b.right);
        match comparison {
            Some((tr, method)) => {
                let (tr, method) = (syn::Ident::new(tr, span), syn::Ident::new(method, span));
                let (left, right) = (&b.left, &b.right);
                Expr::Verbatim(quote_spanned!(span=> #private::#tr::#method(&(#left), &(#right))))
            }
            None => Expr::Binary(b),
        }
    }

    fn closure(&mut self, c: &mut ExprClosure) {
        if let Some(token) = &c.asyncness {
            self.errors.push(token, "closures of a kernel cannot be async: they run when the kernel is built");
        }
        if let Expr::Block(b) = &mut *c.body {
            // A closure without a stated type may give a value: assume so, which `return;` contradicts.
            let unit = matches!(&c.output, ReturnType::Default) && returns_nothing(&b.block);
            jumps::function(&mut b.block, self.krate, !unit, self.errors);
        } else if let Expr::Return(r) = &mut *c.body
            && let Some(value) = r.expr.take()
        {
            c.body = value;
        }
        self.scopes.enter();
        for input in &c.inputs {
            self.scopes.declare(input, false);
        }
        self.visit_expr_mut(&mut c.body);
        self.scopes.leave();
    }

    /// `as` converts numbers of the host; of a tile it is reported at the operator, with what to write instead.
    fn cast(&mut self, c: &mut ExprCast) {
        let known = self.scopes.known(&c.expr);
        self.visit_expr_mut(&mut c.expr);
        if known || !is_number(&c.ty) {
            return;
        }
        let (operand, span) = (&c.expr, c.as_token.span);
        let private = self.krate.private_at(span);
        *c.expr = Expr::Verbatim(quote_spanned! {span=> ({
            #[allow(unused_imports)]
            use #private::CastOfHost as _;
            #private::AsOperand(#operand).host()
        })});
    }

    /// `match` compares with literals at build time, which a tile is not known at.
    fn matched(&mut self, m: &mut ExprMatch) {
        let wrap = |krate: &Crate, e: &mut Expr| {
            let (span, private) = (e.span(), krate.private_at(e.span()));
            *e = Expr::Verbatim(quote_spanned!(span=> #private::Matched::matched(#e)));
        };
        if let Expr::Tuple(tuple) = &mut *m.expr {
            for (i, part) in tuple.elems.iter_mut().enumerate() {
                let compared = m.arms.iter().any(|arm| match &arm.pat {
                    Pat::Tuple(p) => p.elems.len() > i && is_compared(&p.elems[i]),
                    _ => false,
                });
                if compared && !self.scopes.known(part) {
                    wrap(self.krate, part);
                }
            }
        } else if !self.scopes.known(&m.expr) && m.arms.iter().any(|arm| is_compared(&arm.pat)) {
            wrap(self.krate, &mut m.expr);
        }
    }

    /// Macros run by Rust: some would not do what they say in a kernel, of others the arguments are rewritten.
    fn mac(&mut self, mac: &mut Macro) {
        let Some(name) = mac.path.segments.last().map(|s| s.ident.to_string()) else { return };
        let instead = match name.as_str() {
            "assert" | "debug_assert" | "assert_eq" | "assert_ne" | "debug_assert_eq" | "debug_assert_ne" => Some(
                "write `static_assert(cond, \"…\")` for what is known when the kernel is built, or `device_assert(cond, \"…\")` for what the device checks",
            ),
            "println" | "print" | "eprintln" | "eprint" | "dbg" => Some(
                "it would print when the kernel is built; write `device_print!(\"…\", x, y)` to print from the device",
            ),
            "panic" | "unreachable" | "todo" | "unimplemented" => Some(
                "a kernel does not panic; write `static_assert(false, \"…\")` to fail when it is built, or `device_assert(cond, \"…\")` to fail on the device",
            ),
            _ => None,
        };
        if let Some(instead) = instead {
            self.errors.push(&mac.path, format!("`{name}!` is not available in a kernel: {instead}"));
            return;
        }
        if matches!(name.as_str(), "device_print" | "vec" | "format" | "matches")
            && name != "matches"
            && let Ok(mut args) = mac.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated)
        {
            for arg in &mut args {
                self.visit_expr_mut(arg);
            }
            mac.tokens = args.into_token_stream();
        }
    }

    fn declare_local(&mut self, local: &Local) {
        let typed_known = match &local.pat {
            // A stated type of the host's numbers.
            Pat::Type(t) => match &*t.ty {
                syn::Type::Path(p) => p.path.get_ident().is_some_and(|i| is_host_number(&i.to_string())),
                _ => false,
            },
            _ => false,
        };
        let known = typed_known
            || matches!(&local.pat, Pat::Ident(_) | Pat::Type(_))
                && local.init.as_ref().is_some_and(|i| self.scopes.known(&i.expr));
        self.scopes.declare(&local.pat, known);
    }
}

/// Whether a type is a number as `as` gives it.
fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Path(p) if p.path.get_ident().is_some_and(|name| is_host_number(&name.to_string())))
}

/// Whether a pattern compares the value itself with literals.
fn is_compared(pat: &Pat) -> bool {
    match pat {
        Pat::Lit(_) | Pat::Range(_) => true,
        Pat::Or(p) => p.cases.iter().any(is_compared),
        Pat::Paren(p) => is_compared(&p.pat),
        _ => false,
    }
}

/// Whether a type of this name is a number or truth value of the host.
pub fn is_host_number(name: &str) -> bool {
    matches!(
        name,
        "bool"
            | "i8"
            | "i16"
            | "i32"
            | "i64"
            | "i128"
            | "isize"
            | "u8"
            | "u16"
            | "u32"
            | "u64"
            | "u128"
            | "usize"
            | "f32"
            | "f64"
    )
}

/// Whether the `return`s of a block give no value.
fn returns_nothing(b: &Block) -> bool {
    struct Returns(bool);
    impl<'ast> syn::visit::Visit<'ast> for Returns {
        fn visit_expr(&mut self, e: &'ast Expr) {
            match e {
                Expr::Closure(_) => {}
                Expr::Return(r) => self.0 &= r.expr.is_none(),
                _ => syn::visit::visit_expr(self, e),
            }
        }
    }
    let mut returns = Returns(true);
    syn::visit::Visit::visit_block(&mut returns, b);
    returns.0
}

impl VisitMut for Rewriter<'_> {
    fn visit_block_mut(&mut self, b: &mut Block) {
        self.scopes.enter();
        visit_mut::visit_block_mut(self, b);
        self.scopes.leave();
    }

    fn visit_stmt_mut(&mut self, s: &mut Stmt) {
        match s {
            // Nested items are ordinary Rust, and may carry their own attributes.
            Stmt::Item(_) => {}
            Stmt::Macro(m) => self.mac(&mut m.mac),
            _ => visit_mut::visit_stmt_mut(self, s),
        }
    }

    fn visit_local_mut(&mut self, l: &mut Local) {
        if l.init.is_none() {
            self.errors.push(
                &*l,
                "a variable of a kernel needs a value where it is declared: write `let x = if … { … } else { … };`, or give it one to start with",
            );
        }
        self.declare_local(l);
        // The value was looked at above, before it is rewritten.
        if let Some(init) = &mut l.init {
            self.visit_expr_mut(&mut init.expr);
            if let Some((_, diverge)) = &mut init.diverge {
                self.visit_expr_mut(diverge);
            }
        }
    }

    fn visit_arm_mut(&mut self, a: &mut syn::Arm) {
        self.scopes.enter();
        self.scopes.declare(&a.pat, false);
        if let Some((_, guard)) = &mut a.guard {
            self.visit_expr_mut(guard);
        }
        self.visit_expr_mut(&mut a.body);
        self.scopes.leave();
    }

    fn visit_expr_mut(&mut self, e: &mut Expr) {
        match e {
            Expr::Binary(b) => {
                let b = b.clone();
                *e = self.binary(b);
            }
            Expr::If(_) | Expr::While(_) | Expr::ForLoop(_) | Expr::Loop(_) => {
                let taken = std::mem::replace(e, Expr::Verbatim(TokenStream::new()));
                *e = self.control(taken);
            }
            Expr::Path(p)
                if let Some(name) = p.path.get_ident().map(ToString::to_string)
                    && self.dims.contains(&name)
                    && !self.scopes.is_declared(&name) =>
            {
                self.errors.push(
                    p,
                    format!("`{name}` is a type: write `{name}::size()` for its size at build time, `{name}::scalar()` for a scalar of the kernel"),
                );
            }
            Expr::Cast(c) => self.cast(c),
            Expr::Match(m) => {
                // The scrutinee is rewritten before it is wrapped: what is wrapped is no longer looked into.
                self.visit_expr_mut(&mut m.expr);
                self.matched(m);
                m.arms.iter_mut().for_each(|arm| self.visit_arm_mut(arm));
            }
            Expr::Closure(c) => self.closure(c),
            Expr::Macro(ExprMacro { mac, .. }) => self.mac(mac),
            Expr::MethodCall(m) => {
                if TAKES_POSITION.contains(&m.method.to_string().as_str()) {
                    for arg in &mut m.args {
                        if let Expr::Array(a) = arg
                            && a.elems.iter().any(|e| bare_literal(e).is_some())
                        {
                            let mut elems = a.elems.clone();
                            if !elems.trailing_punct() {
                                elems.push_punct(Token![,](a.span()));
                            }
                            *arg = Expr::Tuple(ExprTuple {
                                attrs: Vec::new(),
                                paren_token: syn::token::Paren(a.bracket_token.span.join()),
                                elems,
                            });
                        }
                    }
                }
                visit_mut::visit_expr_method_call_mut(self, m);
            }
            Expr::Break(_) | Expr::Continue(_) if self.host_loops > 0 => {}
            Expr::Break(b) => {
                self.errors.push(b.break_token, "`break` outside of a loop");
            }
            Expr::Continue(c) => {
                self.errors.push(c.continue_token, "`continue` outside of a loop");
            }
            Expr::Return(r) => {
                self.errors.push(
                    r.return_token,
                    "this `return` cannot be structured: write the `if` or `match` that decides it as a statement of its own",
                );
            }
            Expr::Try(t) => {
                self.errors.push(
                    t.question_token,
                    "`?` is not available in a kernel: match on the value, which is known when the kernel is built",
                );
            }
            Expr::Await(a) => {
                self.errors.push(
                    a.await_token,
                    "`.await` is not available in a kernel: `barrier()` waits for the program's threads",
                );
            }
            Expr::Async(a) => {
                self.errors.push(a.async_token, "`async` is not available in a kernel");
            }
            Expr::Yield(y) => {
                self.errors.push(y.yield_token, "`yield` is not available in a kernel");
            }
            _ => visit_mut::visit_expr_mut(self, e),
        }
    }
}
