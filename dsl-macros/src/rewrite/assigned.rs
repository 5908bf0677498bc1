//! Which outer variables a block assigns: these a loop or branch on the device has to carry.

use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprAssign, ExprBinary, ExprClosure, ExprForLoop, ExprReference, Local, Pat, Stmt};

use super::known::names;

/// What a loop or branch has to carry.
pub struct Places {
    /// Places that are assigned.
    pub assigned: Vec<Expr>,
    /// Variables, by name, whose methods may change them.
    pub receivers: Vec<(String, Expr)>,
}

/// The places that blocks assign and that are declared outside of them, in order of first assignment.
#[derive(Default)]
pub struct Assigned {
    places: Vec<(String, Expr)>,
    /// Variables whose methods are called, which may change them.
    receivers: Vec<(String, Expr)>,
    /// Names declared inside, innermost last.
    inner: Vec<Vec<String>>,
}

impl Assigned {
    /// Adds what a block assigns; `declared` are names declared before it that belong to it, such as a loop's
    /// counter.
    pub fn block(mut self, block: &Block, declared: &[String]) -> Self {
        self.inner.push(declared.to_vec());
        self.visit_block(block);
        self.inner.pop();
        self
    }

    /// Adds what an expression assigns.
    pub fn expr(mut self, e: &Expr) -> Self {
        self.visit_expr(e);
        self
    }

    /// The places, without those that lie within others.
    pub fn places(self) -> Places {
        let all = self.places;
        let within = |key: &str| {
            all.iter().any(|(other, _)| {
                key.len() > other.len() && key.starts_with(other.as_str()) && key[other.len()..].starts_with(" .")
            })
        };
        let assigned = all.iter().filter(|(key, _)| !within(key)).map(|(_, place)| place.clone()).collect();
        // One of which a part is assigned is carried in that part.
        let touched = |name: &str| all.iter().any(|(key, _)| key == name || key.starts_with(&format!("{name} .")));
        let receivers = self.receivers.into_iter().filter(|(name, _)| !touched(name)).collect();
        Places { assigned, receivers }
    }

    fn add(&mut self, target: &Expr) {
        match target {
            // Each part of `(a, b) = …` is assigned.
            Expr::Tuple(t) => t.elems.iter().for_each(|e| self.add(e)),
            Expr::Array(t) => t.elems.iter().for_each(|e| self.add(e)),
            Expr::Paren(p) => self.add(&p.expr),
            Expr::Call(c) => c.args.iter().for_each(|e| self.add(e)),
            Expr::Struct(s) => s.fields.iter().for_each(|f| self.add(&f.expr)),
            Expr::Infer(_) => {}
            _ => {
                if let Some((root, place)) = place(target)
                    && !self.inner.iter().any(|scope| scope.contains(&root))
                {
                    let key = place.to_token_stream().to_string();
                    if !self.places.iter().any(|(k, _)| *k == key) {
                        self.places.push((key, place));
                    }
                }
            }
        }
    }

    /// Notes the variable behind a method's receiver.
    fn receiver(&mut self, e: &Expr) {
        match e {
            Expr::Path(p) => {
                if let Some(name) = p.path.get_ident().map(ToString::to_string)
                    && !self.inner.iter().any(|scope| scope.contains(&name))
                    && !self.receivers.iter().any(|(n, _)| *n == name)
                {
                    self.receivers.push((name, e.clone()));
                }
            }
            Expr::Field(f) => self.receiver(&f.base),
            Expr::Index(i) => self.receiver(&i.expr),
            Expr::Paren(p) => self.receiver(&p.expr),
            _ => {}
        }
    }

    fn declare(&mut self, pat: &Pat) {
        let names = names(pat);
        if let Some(scope) = self.inner.last_mut() {
            scope.extend(names);
        }
    }

    fn scoped(&mut self, f: impl FnOnce(&mut Self)) {
        self.inner.push(Vec::new());
        f(self);
        self.inner.pop();
    }
}

/// The variable or field that an assignment to `target` changes, and its root variable. An element changes its
/// whole array.
fn place(target: &Expr) -> Option<(String, Expr)> {
    match target {
        Expr::Path(p) => p.path.get_ident().map(|name| (name.to_string(), target.clone())),
        Expr::Field(f) => {
            let (root, base) = place(&f.base)?;
            // A field of an element: the array is what changes.
            let is_field_path = matches!(base, Expr::Path(_) | Expr::Field(_)) && !has_index(&f.base);
            Some((root, if is_field_path { target.clone() } else { base }))
        }
        Expr::Index(i) => place(&i.expr),
        Expr::Paren(p) => place(&p.expr),
        Expr::Group(g) => place(&g.expr),
        Expr::Unary(u) if matches!(u.op, syn::UnOp::Deref(_)) => {
            let (root, _) = place(&u.expr)?;
            Some((root, target.clone()))
        }
        Expr::MethodCall(m) => place(&m.receiver),
        _ => None,
    }
}

fn has_index(e: &Expr) -> bool {
    match e {
        Expr::Index(_) | Expr::MethodCall(_) => true,
        Expr::Field(f) => has_index(&f.base),
        Expr::Paren(p) => has_index(&p.expr),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Assigned {
    fn visit_block(&mut self, b: &'ast Block) {
        self.scoped(|this| visit::visit_block(this, b));
    }

    fn visit_stmt(&mut self, s: &'ast Stmt) {
        // Items have their own variables.
        if !matches!(s, Stmt::Item(_)) {
            visit::visit_stmt(self, s);
        }
    }

    fn visit_local(&mut self, l: &'ast Local) {
        visit::visit_local(self, l);
        self.declare(&l.pat);
    }

    fn visit_expr_for_loop(&mut self, e: &'ast ExprForLoop) {
        self.visit_expr(&e.expr);
        self.scoped(|this| {
            this.declare(&e.pat);
            this.visit_block(&e.body);
        });
    }

    fn visit_expr_closure(&mut self, e: &'ast ExprClosure) {
        self.scoped(|this| {
            e.inputs.iter().for_each(|p| this.declare(p));
            this.visit_expr(&e.body);
        });
    }

    fn visit_arm(&mut self, a: &'ast syn::Arm) {
        self.scoped(|this| {
            this.declare(&a.pat);
            visit::visit_arm(this, a);
        });
    }

    fn visit_expr_if(&mut self, e: &'ast syn::ExprIf) {
        self.scoped(|this| {
            this.visit_expr(&e.cond);
            this.visit_block(&e.then_branch);
        });
        if let Some((_, otherwise)) = &e.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, e: &'ast syn::ExprWhile) {
        self.scoped(|this| visit::visit_expr_while(this, e));
    }

    fn visit_expr_let(&mut self, e: &'ast syn::ExprLet) {
        visit::visit_expr_let(self, e);
        self.declare(&e.pat);
    }

    fn visit_expr_assign(&mut self, e: &'ast ExprAssign) {
        self.add(&e.left);
        visit::visit_expr_assign(self, e);
    }

    fn visit_expr_binary(&mut self, e: &'ast ExprBinary) {
        if is_assignment(&e.op) {
            self.add(&e.left);
        }
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_method_call(&mut self, e: &'ast syn::ExprMethodCall) {
        self.receiver(&e.receiver);
        visit::visit_expr_method_call(self, e);
    }

    fn visit_expr_reference(&mut self, e: &'ast ExprReference) {
        if e.mutability.is_some() {
            self.add(&e.expr);
        }
        visit::visit_expr_reference(self, e);
    }
}

/// Whether an operator is one such as `+=`.
pub fn is_assignment(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}
