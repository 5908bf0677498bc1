//! Jumps that leave more than the innermost loop: `return`, and jumps to labels.
//!
//! Such a jump becomes a flag and the `break` of the innermost loop; behind each loop that may have set the flag, the
//! loop around it is left in turn. What remains are plain jumps, which [`super::jumps`] structures.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprBlock, Label, Lifetime, Stmt, parse_quote_spanned};

use super::Errors;
use crate::path::Crate;

/// Where a jump leads that leaves several loops.
#[derive(Clone, Copy)]
enum Target<'a> {
    /// Out of the function; the flag is that of [`super::jumps`].
    Return,
    /// Behind the loop of this label.
    Break(&'a Ident),
    /// To the next round of the loop of this label.
    Continue(&'a Ident),
}

impl Target<'_> {
    fn matches(self, e: &Expr) -> bool {
        let is = |label: &Option<Lifetime>, name: &Ident| label.as_ref().is_some_and(|l| l.ident == *name);
        match (self, e) {
            (Target::Return, Expr::Return(_)) => true,
            // One that gives a value is reported where it stands.
            (Target::Break(name), Expr::Break(b)) => is(&b.label, name) && b.expr.is_none(),
            (Target::Continue(name), Expr::Continue(c)) => is(&c.label, name),
            _ => false,
        }
    }

    /// The flag that remembers the jump.
    fn flag(self, span: Span) -> Ident {
        let mut flag = match self {
            Target::Return => format_ident!("__tegula_return"),
            Target::Break(name) => format_ident!("__tegula_break_{name}"),
            Target::Continue(name) => format_ident!("__tegula_continue_{name}"),
        };
        flag.set_span(span);
        flag
    }

    /// The plain jump that does the same `depth` loops further in.
    fn plain(self, depth: usize, span: Span) -> Stmt {
        match self {
            Target::Continue(_) if depth == 0 => parse_quote_spanned!(span=> continue;),
            _ => parse_quote_spanned!(span=> break;),
        }
    }
}

/// Whether code contains a jump to the target.
fn jumps_to(target: Target<'_>, code: &Expr) -> bool {
    struct Finder<'a>(Target<'a>, bool);
    impl<'ast> Visit<'ast> for Finder<'_> {
        fn visit_expr(&mut self, e: &'ast Expr) {
            self.1 |= self.0.matches(e);
            if !matches!(e, Expr::Closure(_) | Expr::Async(_)) {
                visit::visit_expr(self, e);
            }
        }

        fn visit_item(&mut self, _: &'ast syn::Item) {}
    }
    let mut finder = Finder(target, false);
    finder.visit_expr(code);
    finder.1
}

/// Rewrites the jumps to one target.
struct Outward<'a> {
    target: Target<'a>,
    private: &'a TokenStream,
    /// How many loops lie between here and the one that the target belongs to.
    depth: usize,
    /// Whether the flag is used.
    flagged: bool,
}

impl Outward<'_> {
    /// What stands in place of the jump.
    fn instead(&mut self, span: Span) -> Vec<Stmt> {
        if self.depth == 0 {
            return vec![self.target.plain(0, span)];
        }
        self.flagged = true;
        let (flag, private) = (self.target.flag(span), self.private);
        vec![parse_quote_spanned!(span=> #flag = #private::Flag::Known(true);), self.target.plain(self.depth, span)]
    }

    /// Rewrites a loop; gives what follows it, if a jump may have left it.
    fn inner_loop(&mut self, e: &mut Expr) -> Option<Stmt> {
        let left = jumps_to(self.target, e);
        self.depth += 1;
        visit_mut::visit_expr_mut(self, e);
        self.depth -= 1;
        if left { self.behind(e.span()) } else { None }
    }

    /// Leaves the loop here if one inside of it was left by the jump.
    fn behind(&self, span: Span) -> Option<Stmt> {
        // Behind the loops of a function the rest is guarded by the flag.
        if self.depth == 0 && matches!(self.target, Target::Return) {
            return None;
        }
        let flag = self.target.flag(span);
        let cond = Expr::Verbatim(quote_spanned!(span=> #flag.taken()));
        let jump = self.target.plain(self.depth, span);
        Some(parse_quote_spanned!(span=> if #cond { #jump }))
    }
}

impl VisitMut for Outward<'_> {
    fn visit_expr_mut(&mut self, e: &mut Expr) {
        match e {
            Expr::Closure(_) | Expr::Async(_) => {}
            _ if self.target.matches(e) => {
                let span = e.span();
                let stmts = self.instead(span);
                *e = parse_quote_spanned!(span=> { #(#stmts)* });
            }
            e if is_loop(e) => {
                // Not a statement of its own, such as the body of a match arm: what follows needs a block.
                if let Some(behind) = self.inner_loop(e) {
                    let (span, inner) = (e.span(), &*e);
                    *e = parse_quote_spanned!(span=> { #inner #behind });
                }
            }
            _ => visit_mut::visit_expr_mut(self, e),
        }
    }

    fn visit_block_mut(&mut self, b: &mut Block) {
        for mut stmt in std::mem::take(&mut b.stmts) {
            match &mut stmt {
                // The jump and its flag stand in the list itself, so that the jump is a statement.
                Stmt::Expr(e, _) if self.target.matches(e) => b.stmts.extend(self.instead(e.span())),
                Stmt::Expr(e, _) if is_loop(e) => {
                    let behind = self.inner_loop(e);
                    b.stmts.push(stmt);
                    b.stmts.extend(behind);
                }
                _ => {
                    self.visit_stmt_mut(&mut stmt);
                    b.stmts.push(stmt);
                }
            }
        }
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

fn is_loop(e: &Expr) -> bool {
    matches!(e, Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_))
}

/// Makes jumps out of a loop of its `return`s.
pub fn returns(e: &mut Expr, private: &TokenStream) {
    Outward { target: Target::Return, private, depth: 0, flagged: false }.visit_expr_mut(e);
}

/// Takes the labels off the loops of a function, and makes plain jumps of those that name them.
pub fn labels(block: &mut Block, krate: &Crate, errors: &mut Errors) {
    let private = krate.private();
    Labels { private: &private, errors }.visit_block_mut(block);
    Unresolved(errors).visit_block_mut(block);
}

/// Reports the jumps that still name a label, and takes it off.
struct Unresolved<'a>(&'a mut Errors);

impl VisitMut for Unresolved<'_> {
    fn visit_expr_mut(&mut self, e: &mut Expr) {
        let (label, value) = match e {
            Expr::Break(b) => (b.label.take(), b.expr.as_ref()),
            Expr::Continue(c) => (c.label.take(), None),
            _ => (None, None),
        };
        // That a loop gives no value is reported at the value.
        if let (Some(label), None) = (label, value) {
            self.0.push(label, "no loop around has this label");
        }
        visit_mut::visit_expr_mut(self, e);
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

struct Labels<'a> {
    private: &'a TokenStream,
    errors: &'a mut Errors,
}

impl Labels<'_> {
    fn resolve(&mut self, label: &mut Option<Label>, body: &mut Block) {
        let Some(label) = label.take() else { return };
        let name = &label.name.ident;
        for target in [Target::Break(name), Target::Continue(name)] {
            let mut pass = Outward { target, private: self.private, depth: 0, flagged: false };
            pass.visit_block_mut(body);
            if pass.flagged {
                let (flag, private) = (target.flag(label.span()), self.private);
                body.stmts.insert(0, parse_quote_spanned!(label.span()=> let mut #flag = #private::Flag::new();));
            }
        }
    }
}

impl VisitMut for Labels<'_> {
    fn visit_expr_mut(&mut self, e: &mut Expr) {
        match e {
            Expr::ForLoop(l) => self.resolve(&mut l.label, &mut l.body),
            Expr::While(l) => self.resolve(&mut l.label, &mut l.body),
            Expr::Loop(l) => self.resolve(&mut l.label, &mut l.body),
            Expr::Block(ExprBlock { label: label @ Some(_), block, .. }) => {
                // Without the jumps that name it, which would be reported in turn.
                block.stmts.clear();
                self.errors.push(
                    label.take(),
                    "a block of a kernel has no label: put what a jump would leave out under an `if`, or into a `#[device]` function that returns early",
                );
            }
            _ => {}
        }
        visit_mut::visit_expr_mut(self, e);
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
