//! Drivers around branches and loops: see `tegula_lang::control` for their protocol.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprForLoop, ExprIf, ExprLoop, ExprWhile, RangeLimits};

use super::assigned::{Assigned, Places};
use super::body::Rewriter;
use super::jumps;
use super::known::{bare_literal, names};

impl Rewriter<'_> {
    /// Rewrites a branch or loop.
    pub(super) fn control(&mut self, e: Expr) -> Expr {
        match e {
            Expr::If(e) => self.branch(e),
            Expr::While(e) => self.while_loop(e),
            Expr::ForLoop(e) => self.for_loop(e),
            Expr::Loop(e) => self.endless(e),
            other => other,
        }
    }

    /// Announces variables to the driver of this name.
    fn carry(&self, driver: &str, places: &Places) -> TokenStream {
        // All tokens are at the place, so that an error is.
        let at = |place: &Expr| {
            let span = place.span();
            (self.krate.private_at(span), Ident::new(driver, span), span)
        };
        let assigned = places.assigned.iter().map(|place| {
            let (private, driver, span) = at(place);
            quote_spanned!(span=> #private::Carries::carry(&mut #driver, &mut #place);)
        });
        // Only what was declared `mut` can be changed by a method.
        let receivers = places.receivers.iter().filter(|(name, _)| self.scopes.may_change(name)).map(|(_, place)| {
            let (private, driver, span) = at(place);
            quote_spanned! {span=> {
                #[allow(unused_imports)]
                use #private::{MaybeHashed as _, MaybeStaged as _, NotStaged as _};
                match (&mut &mut #private::Maybe(&mut #place)).changing() {
                    #private::Changing::Carried(variable) => #private::Carries::carry(&mut #driver, variable),
                    #private::Changing::Host(hash) => #private::Watches::watch(&mut #driver, hash),
                    #private::Changing::Unknown => {}
                }
            }}
        });
        assigned.chain(receivers).collect()
    }

    fn branch(&mut self, mut e: ExprIf) -> Expr {
        if jumps::has_let(&e.cond) || self.scopes.known(&e.cond) {
            // Decided at build time, by the types of Rust.
            self.scopes.enter();
            if jumps::has_let(&e.cond) {
                self.let_chain(&mut e.cond);
            }
            self.visit_block_mut(&mut e.then_branch);
            self.scopes.leave();
            if let Some((_, otherwise)) = &mut e.else_branch {
                self.visit_expr_mut(otherwise);
            }
            return Expr::If(e);
        }
        let span = e.if_token.span;
        let mut assigned = Assigned::default().block(&e.then_branch, &[]);
        if let Some((_, otherwise)) = &e.else_branch {
            assigned = assigned.expr(otherwise);
        }
        let places = assigned.places();
        let private = self.krate.private_at(span);
        let driver = quote_spanned!(span=> __tegula_if);
        let carry = self.carry("__tegula_if", &places);
        self.visit_expr_mut(&mut e.cond);
        self.visit_block_mut(&mut e.then_branch);
        let (cond, then) = (&e.cond, &e.then_branch);
        let cond_span = cond.span();
        let otherwise = match &mut e.else_branch {
            Some((_, otherwise)) => {
                self.visit_expr_mut(otherwise);
                quote!(#otherwise)
            }
            None => quote_spanned!(span=> ()),
        };
        let at_cond = self.krate.private_at(cond_span);
        let begin = quote_spanned!(cond_span=> #at_cond::Condition::begin(#cond));
        Expr::Verbatim(quote_spanned! {span=> {
            let mut #driver = #begin;
            let mut __tegula_values = #private::Branches::new();
            #carry
            if #private::If::then(&mut #driver) {
                __tegula_values.then(#then);
            }
            #carry
            if #private::If::otherwise(&mut #driver) {
                __tegula_values.otherwise(#otherwise);
            }
            #carry
            let __tegula_value = #private::IfValue::finish(&mut #driver, __tegula_values);
            #carry
            __tegula_value
        }})
    }

    /// The parts of a chain of `let` conditions.
    fn let_chain(&mut self, cond: &mut Expr) {
        match cond {
            Expr::Let(l) => {
                self.visit_expr_mut(&mut l.expr);
                self.scopes.declare(&l.pat, false);
            }
            Expr::Binary(b) if matches!(b.op, syn::BinOp::And(_)) => {
                self.let_chain(&mut b.left);
                self.let_chain(&mut b.right);
            }
            other => self.visit_expr_mut(other),
        }
    }

    /// What a `for` runs over: ranges become ranges of the host or of the device.
    fn iterated(&mut self, e: &mut Expr) {
        match e {
            Expr::Paren(p) => self.iterated(&mut p.expr),
            Expr::Range(r) => {
                let span = r.limits.span();
                let known = self.scopes.known(&Expr::Range(r.clone()));
                // A range without an end, such as that of `(0..).zip(parts)`, is the host's.
                let (Some(start), Some(end)) = (&mut r.start, &mut r.end) else { return };
                if known {
                    return;
                }
                self.adapt_ends(start, end);
                self.visit_expr_mut(start);
                self.visit_expr_mut(end);
                let (start, end, private) = (&*start, &*end, self.krate.private_at(span));
                let function = match r.limits {
                    RangeLimits::HalfOpen(_) => quote_spanned!(span=> MakeRange::range),
                    RangeLimits::Closed(_) => quote_spanned!(span=> range_inclusive),
                };
                *e = Expr::Verbatim(quote_spanned!(span=> #private::#function(#start, #end)));
            }
            Expr::MethodCall(m) => {
                self.iterated(&mut m.receiver);
                for arg in &mut m.args {
                    self.visit_expr_mut(arg);
                }
            }
            // Runs at build time, whatever it is.
            Expr::Call(c) if matches!(&*c.func, Expr::Path(p) if p.path.segments.last().is_some_and(|s| s.ident == "unrolled")) =>
                {}
            other => self.visit_expr_mut(other),
        }
    }

    /// Lets a bare literal at one end of a range take the type of the other end.
    fn adapt_ends(&self, start: &mut Expr, end: &mut Expr) {
        let krate = self.krate;
        let adapt = |e: &mut Expr| {
            if bare_literal(e) == Some(false) {
                let private = krate.private_at(e.span());
                *e = Expr::Verbatim(quote_spanned!(e.span()=> #private::IntLit(#e)));
            }
        };
        match (bare_literal(start), bare_literal(end)) {
            (Some(_), None) => adapt(start),
            (None, Some(_)) => adapt(end),
            _ => {}
        }
    }

    fn for_loop(&mut self, mut e: ExprForLoop) -> Expr {
        let span = e.for_token.span;
        if let Expr::Range(r) = &*e.expr
            && r.end.is_none()
        {
            self.errors.push(r, "this loop never ends: a loop of a kernel needs both ends of its range, as in `0..n`");
            return Expr::Verbatim(TokenStream::new());
        }
        let unrolled = unrolled(&e.expr);
        let known = self.scopes.known(unrolled.unwrap_or(&e.expr));
        let at_build = known || unrolled.is_some();
        self.scopes.enter();
        self.scopes.declare(&e.pat, known);
        let decided = at_build && jumps::decided(&e.body, &|cond| self.scopes.known(cond));
        self.scopes.leave();
        if decided {
            return self.host_for(e, known);
        }
        let breaks = jumps::loop_body(&mut e.body, self.krate, self.errors);
        if at_build && !breaks {
            return self.host_for(e, known);
        }
        let private = self.krate.private_at(span);
        let declared: Vec<String> = names(&e.pat).into_iter().chain(breaks.then(|| jumps::BREAK.to_owned())).collect();
        let places = Assigned::default().block(&e.body, &declared).places();
        let iter_span = e.expr.span();
        self.iterated(&mut e.expr);
        let driver = quote_spanned!(span=> __tegula_for);
        let carry = self.carry("__tegula_for", &places);
        self.scopes.enter();
        self.scopes.declare(&e.pat, known);
        let (pat, iter) = (&e.pat, &e.expr);
        let at_iter = self.krate.private_at(iter_span);
        let begin = quote_spanned!(iter_span=> #at_iter::IntoLoop::into_loop(#iter, #breaks));
        let tokens = if breaks {
            let flag = jumps::break_flag(span);
            let carry = quote_spanned!(span=> #private::Carries::carry(&mut #driver, &mut #flag); #carry);
            let body = self.guarded_body(&mut e.body, span);
            quote_spanned! {span=> {
                let mut #driver = #begin;
                let mut #flag = #private::Flag::new();
                loop {
                    #carry
                    let ::core::option::Option::Some(#pat) = #private::Loop::next_unless(&mut #driver, &mut #flag) else {
                        break;
                    };
                    #body
                }
                #carry
            }}
        } else {
            self.visit_block_mut(&mut e.body);
            let body = &e.body;
            quote_spanned! {span=> {
                let mut #driver = #begin;
                loop {
                    #carry
                    let ::core::option::Option::Some(#pat) = #private::Loop::next(&mut #driver) else { break };
                    #body
                }
                #carry
            }}
        };
        self.scopes.leave();
        Expr::Verbatim(tokens)
    }

    /// A loop of the host that only the host leaves: ordinary Rust.
    fn host_for(&mut self, mut e: ExprForLoop, known: bool) -> Expr {
        self.visit_expr_mut(&mut e.expr);
        self.scopes.enter();
        self.scopes.declare(&e.pat, known);
        self.host_loops += 1;
        self.visit_block_mut(&mut e.body);
        self.host_loops -= 1;
        self.scopes.leave();
        Expr::ForLoop(e)
    }

    /// A `while` of the host that only the host leaves.
    fn host_while(&mut self, mut e: ExprWhile) -> Expr {
        self.host_loops += 1;
        visit_mut::visit_expr_while_mut(self, &mut e);
        self.host_loops -= 1;
        Expr::While(e)
    }

    /// A body with `break`, which does not run where a loop at build time was left on the device.
    fn guarded_body(&mut self, body: &mut Block, span: Span) -> TokenStream {
        let flag = jumps::break_flag(span);
        let cond = Expr::Verbatim(quote_spanned!(span=> #flag.go()));
        let guarded: ExprIf = syn::parse_quote_spanned!(span=> if #cond #body);
        let guarded = self.branch(guarded);
        quote!(#guarded;)
    }

    fn while_loop(&mut self, mut e: ExprWhile) -> Expr {
        let span = e.while_token.span;
        let known = self.scopes.known(&e.cond);
        if known && jumps::decided(&e.body, &|cond| self.scopes.known(cond)) {
            return self.host_while(e);
        }
        let breaks = jumps::loop_body(&mut e.body, self.krate, self.errors);
        if jumps::has_let(&e.cond) {
            return self.while_let(e, breaks);
        }
        if known && !breaks {
            return self.host_while(e);
        }
        let cond_places = Assigned::default().expr(&e.cond).places();
        for place in cond_places.assigned {
            self.errors.push(place, "the condition of a `while` cannot assign: assign in the body");
        }
        let cond_span = e.cond.span();
        let private = self.krate.private_at(cond_span);
        let declared: Vec<String> = breaks.then(|| jumps::BREAK.to_owned()).into_iter().collect();
        let places = Assigned::default().block(&e.body, &declared).places();
        self.visit_expr_mut(&mut e.cond);
        let cond = &e.cond;
        let begin = quote_spanned!(cond_span=> #private::while_loop(|| #cond));
        self.while_driver(&begin, quote!(#cond), breaks, &places, &mut e.body, span)
    }

    fn while_driver(
        &mut self,
        begin: &TokenStream,
        cond: TokenStream,
        breaks: bool,
        places: &Places,
        body: &mut Block,
        span: Span,
    ) -> Expr {
        let private = self.krate.private_at(span);
        let driver = quote_spanned!(span=> __tegula_while);
        let flag = jumps::break_flag(span);
        let mut carry = self.carry("__tegula_while", places);
        let body = if breaks {
            carry = quote_spanned!(span=> #private::Carries::carry(&mut #driver, &mut #flag); #carry);
            self.guarded_body(body, span)
        } else {
            self.visit_block_mut(body);
            quote!(#body)
        };
        Expr::Verbatim(quote_spanned! {span=> {
            let mut #driver = #begin;
            let mut #flag = #private::Flag::new();
            loop {
                #carry
                if #private::While::done(&mut #driver) {
                    break;
                }
                if !#private::WhileTest::test(&mut #driver, #cond, #flag) {
                    break;
                }
                #carry
                #private::While::enter(&mut #driver, &mut #flag);
                #body
            }
            #carry
        }})
    }

    /// `while let` runs at build time.
    fn while_let(&mut self, mut e: ExprWhile, breaks: bool) -> Expr {
        let span = e.while_token.span;
        self.scopes.enter();
        self.let_chain(&mut e.cond);
        let (private, flag) = (self.krate.private_at(span), jumps::break_flag(span));
        let cond = e.cond.clone();
        let tokens = if breaks {
            let body = self.guarded_body(&mut e.body, span);
            quote_spanned! {span=> {
                let mut #flag = #private::Flag::new();
                while #cond {
                    #body
                    if #flag.left_at_build() {
                        break;
                    }
                }
            }}
        } else {
            self.visit_block_mut(&mut e.body);
            let body = &e.body;
            quote_spanned!(span=> while #cond #body)
        };
        self.scopes.leave();
        Expr::Verbatim(tokens)
    }

    fn endless(&mut self, mut e: ExprLoop) -> Expr {
        let span = e.loop_token.span;
        if !jumps::can_end(&e) {
            self.errors.push(e.loop_token, "this loop never ends: leave it with `break` under a condition");
        }
        jumps::loop_body(&mut e.body, self.krate, self.errors);
        let private = self.krate.private_at(span);
        let places = Assigned::default().block(&e.body, &[jumps::BREAK.to_owned()]).places();
        let begin = quote_spanned!(span=> #private::forever());
        let cond = quote_spanned!(span=> #private::always());
        self.while_driver(&begin, cond, true, &places, &mut e.body, span)
    }
}

/// What a loop runs over that is marked to run at build time.
fn unrolled(e: &Expr) -> Option<&Expr> {
    match e {
        Expr::Call(c) if matches!(&*c.func, Expr::Path(p) if p.path.segments.last().is_some_and(|s| s.ident == "unrolled")) => {
            c.args.first()
        }
        Expr::Paren(p) => unrolled(&p.expr),
        Expr::MethodCall(m) => unrolled(&m.receiver),
        _ => None,
    }
}
