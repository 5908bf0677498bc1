//! What is certainly known at build time.
//!
//! Types are not known to the macro. But a number literal is never a tile, nor is what ordinary operators make
//! of literals; a variable bound to such a value keeps its type. Code that only such values decide is left as
//! it is, so that Rust's own inference works on it.

use std::collections::HashMap;

use syn::{Expr, ExprLit, Lit, Pat};

/// What is known of a name.
#[derive(Clone, Copy)]
struct Name {
    /// Its value is certainly known at build time.
    known: bool,
    /// It was declared `mut`.
    mutable: bool,
}

/// Names in scope, innermost last.
#[derive(Default)]
pub struct Scopes(Vec<HashMap<String, Name>>);

impl Scopes {
    /// Enters a block.
    pub fn enter(&mut self) {
        self.0.push(HashMap::new());
    }

    /// Leaves a block.
    pub fn leave(&mut self) {
        self.0.pop();
    }

    /// Declares the names of a pattern.
    pub fn declare(&mut self, pat: &Pat, known: bool) {
        for (name, mutable) in bindings(pat) {
            self.insert(name, Name { known, mutable });
        }
    }

    /// Declares a name that is not `mut`.
    pub fn declare_name(&mut self, name: String, known: bool) {
        self.insert(name, Name { known, mutable: false });
    }

    fn insert(&mut self, name: String, what: Name) {
        if self.0.is_empty() {
            self.enter();
        }
        if let Some(scope) = self.0.last_mut() {
            scope.insert(name, what);
        }
    }

    fn find(&self, name: &str) -> Option<Name> {
        self.0.iter().rev().find_map(|s| s.get(name)).copied()
    }

    /// Whether a variable of this name is in scope.
    pub fn is_declared(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn is_known(&self, name: &str) -> bool {
        self.find(name).is_some_and(|n| n.known)
    }

    /// Whether the name was declared `mut`, and may hold what a device changes.
    pub fn may_change(&self, name: &str) -> bool {
        self.find(name).is_some_and(|n| n.mutable && !n.known)
    }

    /// Whether the expression is certainly known at build time.
    pub fn known(&self, e: &Expr) -> bool {
        match e {
            Expr::Lit(_) | Expr::Cast(_) => true,
            Expr::Paren(e) => self.known(&e.expr),
            Expr::Group(e) => self.known(&e.expr),
            Expr::Reference(e) => self.known(&e.expr),
            Expr::Unary(e) => self.known(&e.expr),
            Expr::Binary(e) => self.known(&e.left) && self.known(&e.right),
            Expr::Range(e) => {
                e.start.as_deref().is_none_or(|s| self.known(s)) && e.end.as_deref().is_none_or(|s| self.known(s))
            }
            Expr::Path(e) => match e.path.get_ident() {
                Some(name) if !is_constant(&name.to_string()) => self.is_known(&name.to_string()),
                // A constant cannot be a tile: those exist only while a kernel is built.
                _ => e.path.segments.last().is_some_and(|s| is_constant(&s.ident.to_string())),
            },
            // `D::size()`
            Expr::Call(e) => {
                e.args.is_empty()
                    && matches!(&*e.func, Expr::Path(p) if p.path.segments.len() > 1
                        && p.path.segments.last().is_some_and(|s| s.ident == "size"))
            }
            Expr::MethodCall(e) => {
                matches!(e.method.to_string().as_str(), "len" | "is_empty" | "is_some" | "is_none" | "is_ok" | "is_err")
                    || self.known(&e.receiver) && e.args.iter().all(|a| self.known(a))
            }
            _ => false,
        }
    }
}

/// Whether a name is written as those of constants are: upper case, at least two letters.
fn is_constant(name: &str) -> bool {
    name.len() > 1 && name.chars().any(|c| c.is_ascii_uppercase()) && !name.chars().any(|c| c.is_ascii_lowercase())
}

/// The names a pattern binds.
pub fn names(pat: &Pat) -> Vec<String> {
    bindings(pat).into_iter().map(|(name, _)| name).collect()
}

/// The names a pattern binds, and whether each is `mut`.
fn bindings(pat: &Pat) -> Vec<(String, bool)> {
    struct Names(Vec<(String, bool)>);
    impl<'ast> syn::visit::Visit<'ast> for Names {
        fn visit_pat_ident(&mut self, p: &'ast syn::PatIdent) {
            self.0.push((p.ident.to_string(), p.mutability.is_some()));
            syn::visit::visit_pat_ident(self, p);
        }
    }
    let mut names = Names(Vec::new());
    syn::visit::Visit::visit_pat(&mut names, pat);
    names.0
}

/// A number literal without suffix, also negated: `Some(is_float)`.
pub fn bare_literal(e: &Expr) -> Option<bool> {
    match e {
        Expr::Lit(ExprLit { lit: Lit::Int(l), .. }) if l.suffix().is_empty() => Some(false),
        Expr::Lit(ExprLit { lit: Lit::Float(l), .. }) if l.suffix().is_empty() => Some(true),
        Expr::Unary(u) if matches!(u.op, syn::UnOp::Neg(_)) => bare_literal(&u.expr),
        Expr::Paren(p) => bare_literal(&p.expr),
        Expr::Group(g) => bare_literal(&g.expr),
        _ => None,
    }
}
