//! `break`, `continue` and `return` in structured form.
//!
//! Tile IR has no jumps, so what follows a conditional jump moves into the branch that does not take it:
//! `if c { continue; } rest` becomes `if c {} else { rest }`. Where only a part of a branch jumps, a flag
//! remembers it, and the rest runs under the flag's negation. A `break` always sets its loop's flag, which the
//! loop's driver asks.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprIf, ExprLoop, Local, LocalInit, Stmt, Token, parse_quote_spanned};

use super::{Errors, outward};
use crate::path::Crate;

/// The flag of the innermost loop's `break`.
pub const BREAK: &str = "__tegula_break";
const CONTINUE: &str = "__tegula_continue";
const RETURN: &str = "__tegula_return";

/// Which jumps a pass handles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `break` and `continue` of one loop.
    Loop,
    /// `return` of a function without a value.
    Return,
    /// `return` of a function with a value.
    ReturnValue,
}

/// Removes the `return`s of a function.
pub fn function(block: &mut Block, krate: &Crate, returns_value: bool, errors: &mut Errors) {
    if !contains(block, Kind::Return) {
        return;
    }
    let kind = if returns_value { Kind::ReturnValue } else { Kind::Return };
    let mut pass = Pass { kind, private: krate.private(), errors, flags: false };
    let stmts = std::mem::take(&mut block.stmts);
    let (stmts, _) = pass.stmts(stmts, false);
    if pass.flags {
        let (flag, private) = (ident(RETURN, block.brace_token.span.open()), krate.private());
        block.stmts.push(parse_quote_spanned!(block.span()=> let mut #flag = #private::Flag::new();));
    }
    block.stmts.extend(stmts);
}

/// Removes the `break`s and `continue`s of a loop from its body; whether it has a `break`.
pub fn loop_body(body: &mut Block, krate: &Crate, errors: &mut Errors) -> bool {
    if !contains(body, Kind::Loop) {
        return false;
    }
    let breaks = has_break(body);
    let mut pass = Pass { kind: Kind::Loop, private: krate.private(), errors, flags: false };
    let stmts = std::mem::take(&mut body.stmts);
    let (stmts, _) = pass.stmts(stmts, false);
    if pass.flags {
        let (flag, private) = (ident(CONTINUE, body.brace_token.span.open()), krate.private());
        body.stmts.push(parse_quote_spanned!(body.span()=> let mut #flag = #private::Flag::new();));
    }
    body.stmts.extend(stmts);
    breaks
}

fn ident(name: &str, span: Span) -> Ident {
    let mut ident = format_ident!("{name}");
    ident.set_span(span);
    ident
}

/// How control leaves a list of statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// At its end.
    Falls,
    /// By a jump, on every path.
    Jumps,
    /// By a jump on some paths, which a flag remembers.
    Maybe,
}

struct Pass<'a> {
    kind: Kind,
    private: TokenStream,
    errors: &'a mut Errors,
    /// Whether the flag of `continue` or `return` is used.
    flags: bool,
}

impl Pass<'_> {
    /// Structures a list of statements. With `flags` code follows that must not run after a jump.
    fn stmts(&mut self, stmts: Vec<Stmt>, flags: bool) -> (Vec<Stmt>, Exit) {
        let mut out = Vec::new();
        let mut rest: std::collections::VecDeque<Stmt> = stmts.into();
        while let Some(stmt) = rest.pop_front() {
            if !contains_stmt(&stmt, self.kind) {
                out.push(stmt);
                continue;
            }
            let rest: Vec<Stmt> = rest.into();
            let exit = self.jumping(stmt, rest, flags, &mut out);
            return (out, exit);
        }
        (out, Exit::Falls)
    }

    /// Structures a statement that contains a jump, and what follows it.
    fn jumping(&mut self, stmt: Stmt, rest: Vec<Stmt>, flags: bool, out: &mut Vec<Stmt>) -> Exit {
        match stmt {
            Stmt::Expr(e, semi) => match e {
                Expr::Break(_) | Expr::Continue(_) | Expr::Return(_) => {
                    self.jump(&e, flags, out);
                    Exit::Jumps
                }
                Expr::If(e) if !has_let(&e.cond) => self.branch(e, None, rest, flags, out),
                Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) if self.kind != Kind::Loop => {
                    self.return_in_loop(e, rest, flags, out)
                }
                Expr::Block(mut b) if b.label.is_none() => {
                    let inner = std::mem::take(&mut b.block.stmts);
                    let (stmts, exit) = self.stmts(inner, flags || !rest.is_empty());
                    b.block.stmts = stmts;
                    out.push(Stmt::Expr(Expr::Block(b), semi));
                    self.guarded(rest, exit, flags, out)
                }
                Expr::Unsafe(mut b) => {
                    let inner = std::mem::take(&mut b.block.stmts);
                    let (stmts, exit) = self.stmts(inner, flags || !rest.is_empty());
                    b.block.stmts = stmts;
                    out.push(Stmt::Expr(Expr::Unsafe(b), semi));
                    self.guarded(rest, exit, flags, out)
                }
                Expr::If(_) | Expr::Match(_) => self.host_branches(e, rest, flags, out),
                other => {
                    self.unstructured(&other);
                    Exit::Falls
                }
            },
            Stmt::Local(local) => self.local(local, rest, flags, out),
            other => {
                out.push(other);
                Exit::Falls
            }
        }
    }

    /// The jump itself.
    fn jump(&mut self, e: &Expr, flags: bool, out: &mut Vec<Stmt>) {
        let span = e.span();
        let private = self.private.clone();
        match e {
            Expr::Break(b) => {
                if let Some(value) = &b.expr {
                    self.errors
                        .push(value, "a loop of a kernel gives no value: assign it to a variable before `break`");
                }
                let flag = ident(BREAK, span);
                out.push(parse_quote_spanned!(span=> #flag = #private::Flag::Known(true);));
                if flags {
                    self.set(CONTINUE, span, out);
                }
            }
            Expr::Continue(_) if flags => self.set(CONTINUE, span, out),
            Expr::Return(r) => match (self.kind, &r.expr) {
                (Kind::ReturnValue, Some(value)) => {
                    if flags {
                        self.errors.push(
                            r,
                            "this `return` of a value leaves a loop or a part of a branch: assign the value to a variable and give it at the end of the function",
                        );
                    }
                    out.push(Stmt::Expr((**value).clone(), None));
                }
                (_, Some(value)) if !matches!(&**value, Expr::Tuple(t) if t.elems.is_empty()) => {
                    self.errors.push(value, "a kernel returns nothing: write results with `.store(..)`");
                }
                _ => {
                    if flags {
                        self.set(RETURN, span, out);
                    }
                }
            },
            _ => {}
        }
    }

    fn set(&mut self, flag: &str, span: Span, out: &mut Vec<Stmt>) {
        self.flags = true;
        let (flag, private) = (ident(flag, span), &self.private);
        out.push(parse_quote_spanned!(span=> #flag = #private::Flag::Known(true);));
    }

    /// The flag that remembers a jump in a part of a branch.
    fn flag(&self) -> &'static str {
        if self.kind == Kind::Loop { CONTINUE } else { RETURN }
    }

    /// What runs unless a jump was taken.
    fn guarded(&mut self, rest: Vec<Stmt>, exit: Exit, flags: bool, out: &mut Vec<Stmt>) -> Exit {
        if rest.is_empty() || exit == Exit::Jumps {
            return exit;
        }
        if exit == Exit::Falls {
            let (stmts, exit) = self.stmts(rest, flags);
            out.extend(stmts);
            return exit;
        }
        let span = rest[0].span();
        let (stmts, after) = self.stmts(rest, flags);
        if self.kind == Kind::ReturnValue {
            self.errors.push_span(
                span,
                "what follows a branch that returns a value in a part only cannot be structured: assign the value to a variable and give it at the end of the function",
            );
        }
        let flag = ident(self.flag(), span);
        let cond = Expr::Verbatim(quote_spanned!(span=> #flag.go()));
        let branch: Expr = parse_quote_spanned!(span=> if #cond { #(#stmts)* });
        out.push(Stmt::Expr(branch, Some(Token![;](span))));
        if after == Exit::Jumps { Exit::Jumps } else { Exit::Maybe }
    }

    /// An `if` with a jump in a branch, and what follows; `bind` makes of the branch that does not jump the
    /// statements that follow.
    fn branch(
        &mut self,
        mut e: ExprIf,
        bind: Option<&Local>,
        rest: Vec<Stmt>,
        flags: bool,
        out: &mut Vec<Stmt>,
    ) -> Exit {
        let span = e.if_token.span;
        let otherwise = match e.else_branch.take() {
            Some((_, b)) => match *b {
                Expr::Block(b) => Some(b.block),
                other => Some(block(other.span(), vec![Stmt::Expr(other, None)])),
            },
            None => None,
        };
        let then_jumps = always_jumps(&e.then_branch, self.kind);
        let else_jumps = otherwise.as_ref().is_some_and(|b| always_jumps(b, self.kind));
        let continued = |b: Option<Block>, rest: Vec<Stmt>| -> Vec<Stmt> {
            let mut stmts = Vec::new();
            match (bind, b) {
                (Some(local), Some(b)) => {
                    let value = if let [Stmt::Expr(value, None)] = &b.stmts[..] {
                        value.clone()
                    } else {
                        Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: b })
                    };
                    stmts.extend(bind_value(local, value, &[]));
                }
                (None, Some(b)) if rest.is_empty() => return b.stmts,
                (None, Some(b)) if !b.stmts.is_empty() => stmts.push(Stmt::Expr(
                    Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: b }),
                    Some(Token![;](span)),
                )),
                _ => {}
            }
            stmts.extend(rest);
            stmts
        };
        let (then_stmts, else_stmts) = if then_jumps {
            (e.then_branch.stmts.clone(), continued(otherwise, rest))
        } else if else_jumps {
            let then = e.then_branch.clone();
            let otherwise = otherwise.map(|b| b.stmts).unwrap_or_default();
            (continued(Some(then), rest), otherwise)
        } else if bind.is_some() {
            self.errors.push_span(
                span,
                "a jump in a part of this `if` cannot be structured: let one branch end in the jump, or assign the variable before",
            );
            return Exit::Falls;
        } else {
            // Only a part of a branch jumps.
            let flags_inside = flags || !rest.is_empty();
            let (then_stmts, then_exit) = self.stmts(e.then_branch.stmts.clone(), flags_inside);
            let (else_stmts, else_exit) = match otherwise {
                Some(b) => self.stmts(b.stmts, flags_inside),
                None => (Vec::new(), Exit::Falls),
            };
            self.push_if(e, then_stmts, else_stmts, out);
            let exit = match (then_exit, else_exit) {
                (Exit::Jumps, Exit::Jumps) => Exit::Jumps,
                (Exit::Falls, Exit::Falls) => Exit::Falls,
                _ => Exit::Maybe,
            };
            return self.guarded(rest, exit, flags, out);
        };
        let (then_stmts, then_exit) = self.stmts(then_stmts, flags);
        let (else_stmts, else_exit) = self.stmts(else_stmts, flags);
        self.push_if(e, then_stmts, else_stmts, out);
        match (then_exit, else_exit) {
            (Exit::Jumps, Exit::Jumps) => Exit::Jumps,
            (Exit::Falls, Exit::Falls) => Exit::Falls,
            _ => Exit::Maybe,
        }
    }

    fn push_if(&self, mut e: ExprIf, then_stmts: Vec<Stmt>, else_stmts: Vec<Stmt>, out: &mut Vec<Stmt>) {
        let span = e.if_token.span;
        e.then_branch.stmts = then_stmts;
        e.else_branch = (!else_stmts.is_empty()).then(|| {
            let otherwise = syn::ExprBlock { attrs: Vec::new(), label: None, block: block(span, else_stmts) };
            (Token![else](span), Box::new(Expr::Block(otherwise)))
        });
        // In a function with a value this is its last statement, and gives the value.
        let semi = (self.kind != Kind::ReturnValue).then(|| Token![;](span));
        out.push(Stmt::Expr(Expr::If(e), semi));
    }

    /// `match` and `if let`: the branches are chosen at build time, but a jump in one is the program's.
    fn host_branches(&mut self, mut e: Expr, rest: Vec<Stmt>, flags: bool, out: &mut Vec<Stmt>) -> Exit {
        let span = e.span();
        // In a function with a value what follows moves into the branches that do not jump.
        let embed = self.kind == Kind::ReturnValue;
        let flags_inside = !embed && (flags || !rest.is_empty());
        let mut exits = Vec::new();
        let mut one = |this: &mut Self, stmts: Vec<Stmt>| {
            let mut stmts = stmts;
            if embed && !rest.is_empty() && !ends_in_jump(&stmts, this.kind) {
                let inner = block(span, std::mem::take(&mut stmts));
                if !inner.stmts.is_empty() {
                    let inner = syn::ExprBlock { attrs: Vec::new(), label: None, block: inner };
                    stmts.push(Stmt::Expr(Expr::Block(inner), Some(Token![;](span))));
                }
                stmts.extend(rest.iter().cloned());
            }
            let (stmts, exit) = this.stmts(stmts, flags_inside || embed && flags);
            exits.push(exit);
            stmts
        };
        match &mut e {
            Expr::If(e) => {
                e.then_branch.stmts = one(self, std::mem::take(&mut e.then_branch.stmts));
                let otherwise = match e.else_branch.take() {
                    Some((_, b)) => match *b {
                        Expr::Block(b) => b.block.stmts,
                        other => vec![Stmt::Expr(other, None)],
                    },
                    None => Vec::new(),
                };
                let stmts = one(self, otherwise);
                if !stmts.is_empty() {
                    let b = syn::ExprBlock { attrs: Vec::new(), label: None, block: block(span, stmts) };
                    e.else_branch = Some((Token![else](span), Box::new(Expr::Block(b))));
                }
            }
            Expr::Match(m) => {
                for arm in &mut m.arms {
                    let body = std::mem::replace(&mut *arm.body, Expr::Verbatim(TokenStream::new()));
                    let stmts = match body {
                        Expr::Block(b) if b.label.is_none() => b.block.stmts,
                        other => vec![Stmt::Expr(other, None)],
                    };
                    let stmts = one(self, stmts);
                    let b = syn::ExprBlock { attrs: Vec::new(), label: None, block: block(span, stmts) };
                    *arm.body = Expr::Block(b);
                }
            }
            _ => {}
        }
        let exit = if exits.iter().all(|&e| e == Exit::Jumps) {
            Exit::Jumps
        } else if exits.iter().all(|&e| e == Exit::Falls) {
            Exit::Falls
        } else {
            Exit::Maybe
        };
        let semi = (!embed).then(|| Token![;](span));
        out.push(Stmt::Expr(e, semi));
        if embed { exit } else { self.guarded(rest, exit, flags, out) }
    }

    /// `let` with a jump in its value or its `else`.
    fn local(&mut self, local: Local, rest: Vec<Stmt>, flags: bool, out: &mut Vec<Stmt>) -> Exit {
        let span = local.span();
        let Some(init) = &local.init else {
            out.push(Stmt::Local(local));
            return Exit::Falls;
        };
        if let Some((_, diverge)) = &init.diverge {
            // `let P = e else { jump };` is `if let P = e { rest } else { jump }`.
            let (pat, value) = (&local.pat, &init.expr);
            let branch: Expr = parse_quote_spanned!(span=> if let #pat = #value { #(#rest)* } else #diverge);
            return self.host_branches(branch, Vec::new(), flags, out);
        }
        match (*init.expr).clone() {
            Expr::If(e) if !has_let(&e.cond) => self.branch(e, Some(&local), rest, flags, out),
            // Build time chooses the branch: what follows moves into each that does not jump.
            Expr::If(mut e) => {
                let bound = |b: Block| {
                    if always_jumps(&b, self.kind) {
                        return b;
                    }
                    let value = Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: b });
                    block(span, bind_value(&local, value, &rest))
                };
                e.then_branch = bound(e.then_branch);
                e.else_branch = e.else_branch.map(|(token, otherwise)| {
                    let otherwise = match *otherwise {
                        Expr::Block(b) => b.block,
                        other => block(span, vec![Stmt::Expr(other, None)]),
                    };
                    let block = bound(otherwise);
                    (token, Box::new(Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block })))
                });
                self.host_branches(Expr::If(e), Vec::new(), flags, out)
            }
            Expr::Match(mut m) => {
                for arm in &mut m.arms {
                    let jumps = match &*arm.body {
                        Expr::Block(b) => always_jumps(&b.block, self.kind),
                        e => is_jump(e, self.kind),
                    };
                    if !jumps {
                        let stmts = bind_value(&local, (*arm.body).clone(), &rest);
                        *arm.body = parse_quote_spanned!(span=> { #(#stmts)* });
                    }
                }
                self.host_branches(Expr::Match(m), Vec::new(), flags, out)
            }
            other => {
                self.unstructured(&other);
                Exit::Falls
            }
        }
    }

    /// A loop that contains `return`: each becomes a `break`, and the flag leaves the outer loops too.
    fn return_in_loop(&mut self, mut e: Expr, rest: Vec<Stmt>, flags: bool, out: &mut Vec<Stmt>) -> Exit {
        let span = e.span();
        if self.kind == Kind::ReturnValue {
            self.errors.push_span(
                first_jump(&e, self.kind).unwrap_or(span),
                "`return` of a value from a loop cannot be structured: assign the value to a variable, `break`, and give it at the end of the function",
            );
            return Exit::Falls;
        }
        self.flags = true;
        let private = self.private.clone();
        outward::returns(&mut e, &private);
        out.push(Stmt::Expr(e, Some(Token![;](span))));
        self.guarded(rest, Exit::Maybe, flags, out)
    }

    fn unstructured(&mut self, e: &Expr) {
        let at = first_jump(e, self.kind).unwrap_or_else(|| e.span());
        self.errors.push_span(
            at,
            "a jump inside of an expression cannot be structured: write the `if` or `match` that decides it as a statement of its own",
        );
    }
}

/// `local` with another value, then `rest`.
fn bind_value(local: &Local, value: Expr, rest: &[Stmt]) -> Vec<Stmt> {
    let mut local = local.clone();
    if let Some(init) = &mut local.init {
        *init = LocalInit { eq_token: init.eq_token, expr: Box::new(value), diverge: None };
    }
    std::iter::once(Stmt::Local(local)).chain(rest.iter().cloned()).collect()
}

fn block(span: Span, stmts: Vec<Stmt>) -> Block {
    let mut block: Block = parse_quote_spanned!(span=> {});
    block.stmts = stmts;
    block
}

/// Whether a condition binds names, so that build time decides it.
pub fn has_let(cond: &Expr) -> bool {
    match cond {
        Expr::Let(_) => true,
        Expr::Binary(b) if matches!(b.op, syn::BinOp::And(_)) => has_let(&b.left) || has_let(&b.right),
        Expr::Paren(p) => has_let(&p.expr),
        _ => false,
    }
}

fn is_jump(e: &Expr, kind: Kind) -> bool {
    match kind {
        Kind::Loop => matches!(e, Expr::Break(_) | Expr::Continue(_)),
        Kind::Return | Kind::ReturnValue => matches!(e, Expr::Return(_)),
    }
}

fn ends_in_jump(stmts: &[Stmt], kind: Kind) -> bool {
    match stmts.last() {
        Some(Stmt::Expr(Expr::If(e), _)) => match &e.else_branch {
            Some((_, otherwise)) => {
                always_jumps(&e.then_branch, kind)
                    && match &**otherwise {
                        Expr::Block(b) => always_jumps(&b.block, kind),
                        e => ends_in_jump(&[Stmt::Expr(e.clone(), None)], kind),
                    }
            }
            None => false,
        },
        Some(Stmt::Expr(Expr::Block(b), _)) => always_jumps(&b.block, kind),
        Some(Stmt::Expr(e, _)) => is_jump(e, kind),
        _ => false,
    }
}

/// Whether every path through the block ends in a jump.
fn always_jumps(b: &Block, kind: Kind) -> bool {
    ends_in_jump(&b.stmts, kind)
}

/// Looks for jumps of a kind that leave the code looked at.
struct Finder {
    kind: Kind,
    depth: usize,
    only_break: bool,
    found: Option<Span>,
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_expr(&mut self, e: &'ast Expr) {
        match e {
            Expr::Closure(_) | Expr::Async(_) => {}
            Expr::Break(b) => {
                if self.kind == Kind::Loop && self.depth == 0 {
                    self.found.get_or_insert(b.break_token.span);
                }
            }
            Expr::Continue(c) => {
                if self.kind == Kind::Loop && !self.only_break && self.depth == 0 {
                    self.found.get_or_insert(c.continue_token.span);
                }
            }
            Expr::Return(r) if self.kind != Kind::Loop => {
                self.found.get_or_insert(r.return_token.span);
            }
            Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => {
                self.depth += 1;
                visit::visit_expr(self, e);
                self.depth -= 1;
            }
            _ => visit::visit_expr(self, e),
        }
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

fn finder(kind: Kind, only_break: bool) -> Finder {
    Finder { kind, depth: 0, only_break, found: None }
}

fn contains(b: &Block, kind: Kind) -> bool {
    let mut f = finder(kind, false);
    f.visit_block(b);
    f.found.is_some()
}

fn contains_stmt(s: &Stmt, kind: Kind) -> bool {
    let mut f = finder(kind, false);
    f.visit_stmt(s);
    f.found.is_some()
}

fn has_break(b: &Block) -> bool {
    let mut f = finder(Kind::Loop, true);
    f.visit_block(b);
    f.found.is_some()
}

fn first_jump(e: &Expr, kind: Kind) -> Option<Span> {
    let mut f = finder(kind, false);
    f.visit_expr(e);
    f.found
}

/// Whether all jumps of a loop's body are taken under conditions of build time only, as `known` tells: then they
/// can stay as they are.
pub fn decided(body: &Block, known: &dyn Fn(&Expr) -> bool) -> bool {
    struct Conditions<'a> {
        known: &'a dyn Fn(&Expr) -> bool,
        decided: bool,
    }
    impl<'ast> Visit<'ast> for Conditions<'_> {
        fn visit_expr(&mut self, e: &'ast Expr) {
            match e {
                // These have their own jumps.
                Expr::Closure(_) | Expr::Async(_) | Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => return,
                Expr::If(i) if !has_let(&i.cond) && !(self.known)(&i.cond) => {
                    self.decided &= first_jump(e, Kind::Loop).is_none();
                    return;
                }
                Expr::Break(b) => self.decided &= b.expr.is_none(),
                _ => {}
            }
            visit::visit_expr(self, e);
        }

        fn visit_item(&mut self, _: &'ast syn::Item) {}
    }
    let mut conditions = Conditions { known, decided: true };
    conditions.visit_block(body);
    conditions.decided
}

/// Whether a `loop` can end.
pub fn can_end(e: &ExprLoop) -> bool {
    has_break(&e.body)
}

/// The tokens of the flag of the innermost loop's `break`.
pub fn break_flag(span: Span) -> TokenStream {
    let flag = ident(BREAK, span);
    quote!(#flag)
}
