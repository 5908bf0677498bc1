//! Where generated code finds the language: `::tegula` unless `crate = …` says otherwise.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::quote;
use syn::parse::ParseStream;
use syn::{Path, Token};

/// The path of the crate that re-exports the language.
#[derive(Clone)]
pub struct Crate(Option<Path>);

impl Crate {
    /// The default: `::tegula`.
    pub fn new() -> Self {
        Self(None)
    }

    /// Parses `crate = path`, of which `crate` has been seen.
    pub fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.parse::<Token![crate]>()?;
        input.parse::<Token![=]>()?;
        input.call(Path::parse_mod_style).map(|path| Self(Some(path)))
    }

    /// The module of what generated code refers to, as if it were written at `span`: errors point there.
    pub fn private_at(&self, span: Span) -> TokenStream {
        respan(self.private(), span)
    }

    /// The module of what generated code refers to.
    pub fn private(&self) -> TokenStream {
        match &self.0 {
            Some(path) => quote!(#path::__private),
            None => quote!(::tegula::__private),
        }
    }
}

/// The same tokens at another place.
fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Group(group) = &token {
                token = TokenTree::Group(Group::new(group.delimiter(), respan(group.stream(), span)));
            }
            token.set_span(span);
            token
        })
        .collect()
}
