//! What a `#[kernel]` function expands to.
//!
//! | module | subject |
//! |---|---|
//! | [`options`] | the attribute's options |
//! | [`signature`] | parameters and generics, checked |
//! | [`expand`] | the code made of them |

mod expand;
mod options;
mod signature;

use proc_macro2::TokenStream;
use quote::quote;

use crate::rewrite::{self, Errors};

/// Expands the attribute.
pub fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let function = match rewrite::function_item(item.clone(), "kernel") {
        Ok(function) => function,
        Err(e) => {
            let e = e.to_compile_error();
            return quote!(#e #item);
        }
    };
    let mut errors = Errors::default();
    let options = syn::parse2::<options::Options>(options).unwrap_or_else(|e| {
        errors.add(e);
        options::Options::default()
    });
    let signature = signature::Signature::new(&function, &options, &mut errors);
    if errors.is_empty() {
        return expand::expand(function, &options, &signature, errors);
    }
    // The signature makes no kernel: what uses its name should not fail in turn.
    let stand_in = expand::stand_in(&function);
    let errors = errors.into_tokens();
    quote!(#errors #stand_in)
}
