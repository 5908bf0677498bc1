//! Where generated code finds the language: `::tegula` unless `crate = …` says otherwise.

use proc_macro2::TokenStream;
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

    /// The module of what generated code refers to.
    pub fn private(&self) -> TokenStream {
        match &self.0 {
            Some(path) => quote!(#path::__private),
            None => quote!(::tegula::__private),
        }
    }
}
