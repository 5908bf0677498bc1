//! `#[device]`: a helper whose body is rewritten as a kernel's is.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{ReturnType, Token};

use crate::dims;
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
    let mut function = match rewrite::function_item(item, "device") {
        Ok(function) => function,
        Err(e) => {
            let e = e.to_compile_error();
            return quote!(#original #e);
        }
    };
    let mut errors = Errors::default();
    // The body is rewritten all the same: what it says is right.
    let options = syn::parse2::<Options>(options).unwrap_or_else(|e| {
        errors.add(e);
        Options { krate: Crate::new() }
    });
    if let Some(token) = &function.sig.asyncness {
        errors.push(token, "a #[device] function cannot be async: it runs when the kernel is built");
    }
    let returns_value = match &function.sig.output {
        ReturnType::Default => false,
        ReturnType::Type(_, ty) => !matches!(&**ty, syn::Type::Tuple(t) if t.elems.is_empty()),
    };
    let dims = dims::names(&function.sig.generics);
    let known = rewrite::Function { returns_value, dims, ..Default::default() };
    rewrite::function(&mut function.block, &options.krate, &known, &mut errors);
    function.attrs.push(rewrite::allowances());
    if !errors.is_empty() {
        // The body may be gone: what it used is not unused.
        function.attrs.push(syn::parse_quote!(#[allow(unused)]));
    }
    let errors = errors.into_tokens();
    let function = function.to_token_stream();
    quote!(#function #errors)
}
