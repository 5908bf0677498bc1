//! Rewriting the body of a kernel or helper.
//!
//! | module | subject |
//! |---|---|
//! | [`outward`] | `return` and labelled jumps: turned into jumps of the innermost loop |
//! | [`jumps`] | `break`, `continue`, `return`: turned into structured form |
//! | [`assigned`] | which outer variables a block assigns |
//! | [`known`] | what is certainly known at build time, and left as it is |
//! | [`body`] | the rewriting of expressions |
//! | [`control`] | drivers around branches and loops |

mod assigned;
mod body;
mod control;
mod jumps;
mod known;
mod outward;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::visit_mut::VisitMut;
use syn::{Attribute, Block, ItemFn, parse_quote};

use crate::path::Crate;

pub use body::is_host_number;

/// Errors found while rewriting: all are reported.
#[derive(Default)]
pub struct Errors(Option<syn::Error>);

impl Errors {
    /// Records an error at these tokens.
    pub fn push(&mut self, at: impl ToTokens, message: impl std::fmt::Display) {
        self.add(syn::Error::new_spanned(at, message));
    }

    /// Records an error at this place.
    pub fn push_span(&mut self, at: Span, message: impl std::fmt::Display) {
        self.add(syn::Error::new(at, message));
    }

    /// Records an error.
    pub fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            none => *none = Some(error),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.as_ref().map_or(0, |errors| errors.into_iter().count())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The tokens that make rustc report them.
    pub fn into_tokens(self) -> TokenStream {
        self.0.map(syn::Error::into_compile_error).unwrap_or_default()
    }
}

/// The function that an attribute stands before.
///
/// # Errors
/// If something else stands there.
pub fn function_item(item: TokenStream, attribute: &str) -> syn::Result<ItemFn> {
    syn::parse2::<ItemFn>(item.clone()).map_err(|e| match syn::parse2::<syn::Item>(item) {
        // Not a function at all, rather than one with a mistake in it.
        Ok(other) => {
            let more = match &other {
                syn::Item::Impl(_) | syn::Item::Trait(_) => ": mark those methods in it that need it",
                _ => "",
            };
            syn::Error::new(e.span(), format!("#[{attribute}] stands before a function{more}"))
        }
        Err(_) => e,
    })
}

/// What is known of a function from its signature.
#[derive(Default)]
pub struct Function {
    /// Whether it gives a value.
    pub returns_value: bool,
    /// Parameters whose values are known at build time.
    pub known: Vec<String>,
    /// Its symbolic dims.
    pub dims: Vec<String>,
}

/// Rewrites the body of a function.
pub fn function(block: &mut Block, krate: &Crate, function: &Function, errors: &mut Errors) {
    let before = errors.count();
    outward::labels(block, krate, errors);
    jumps::function(block, krate, function.returns_value, errors);
    body::Rewriter::new(krate, function, errors).visit_block_mut(block);
    if errors.count() > before {
        // What is left of the body would only raise errors that follow from these.
        *block = parse_quote!({ ::core::unreachable!() });
    }
}

/// Lints that the rewritten body would trip, though the user's source does not.
pub fn allowances() -> Attribute {
    parse_quote!(
        #[allow(
            clippy::all,
            unused_assignments,
            unused_braces,
            unused_must_use,
            unused_mut,
            unused_parens,
            unreachable_code
        )]
    )
}
