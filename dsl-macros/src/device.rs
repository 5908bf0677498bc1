//! `#[device]`: a helper whose body is rewritten as a kernel's is.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{ItemFn, ReturnType, Token};

use crate::path::Crate;
use crate::rewrite::{self, Errors};

struct Options {
    krate: Crate,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut krate = Crate::new();
        if input.peek(Token![crate]) {
            krate = Crate::parse(input)?;
        }
        if !input.is_empty() {
            return Err(input.error("the only option of #[device] is `crate = path`"));
        }
        Ok(Self { krate })
    }
}

/// Expands the attribute.
pub fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let original = item.clone();
    let parsed = syn::parse2::<Options>(options).and_then(|o| syn::parse2::<ItemFn>(item).map(|f| (o, f)));
    let (options, mut function) = match parsed {
        Ok(parsed) => parsed,
        Err(e) => {
            let e = e.to_compile_error();
            return quote!(#original #e);
        }
    };
    let mut errors = Errors::default();
    if let Some(token) = &function.sig.asyncness {
        errors.push(token, "a #[device] function cannot be async: it runs when the kernel is built");
    }
    let returns_value = match &function.sig.output {
        ReturnType::Default => false,
        ReturnType::Type(_, ty) => !matches!(&**ty, syn::Type::Tuple(t) if t.elems.is_empty()),
    };
    rewrite::function(&mut function.block, &options.krate, returns_value, &[], &mut errors);
    function.attrs.push(rewrite::allowances());
    if !errors.is_empty() {
        // The body is gone: what it used is not unused.
        function.attrs.push(syn::parse_quote!(#[allow(unused)]));
    }
    let errors = errors.into_tokens();
    let function = function.to_token_stream();
    quote!(#function #errors)
}
