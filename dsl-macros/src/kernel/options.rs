//! Options of `#[kernel(…)]`.

use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{LitInt, Token, Type, bracketed, parenthesized};

use crate::path::Crate;
use crate::tuning::{Space, Tune};

/// What stands in the attribute.
pub struct Options {
    /// Where the language is.
    pub krate: Crate,
    /// Default sizes of dims.
    pub defaults: Vec<(Ident, LitInt)>,
    /// Element types that tools list, by type parameter.
    pub dtypes: Vec<(Ident, Vec<Type>)>,
    /// Warps per program.
    pub warps: Option<LitInt>,
    /// Pipeline stages.
    pub stages: Option<LitInt>,
    /// What the tuner may choose from.
    pub tune: Tune,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            krate: Crate::new(),
            defaults: Vec::new(),
            dtypes: Vec::new(),
            warps: None,
            stages: None,
            tune: Tune::Here(Space::default()),
        }
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            if input.peek(Token![crate]) {
                options.krate = Crate::parse(input)?;
            } else {
                let name: Ident = input.parse()?;
                match name.to_string().as_str() {
                    "defaults" => {
                        let content;
                        parenthesized!(content in input);
                        let pairs = Punctuated::<_, Token![,]>::parse_terminated_with(&content, |input| {
                            let name: Ident = input.parse()?;
                            input.parse::<Token![=]>()?;
                            Ok((name, input.parse::<LitInt>()?))
                        })?;
                        options.defaults.extend(pairs);
                    }
                    "dtypes" => {
                        let content;
                        parenthesized!(content in input);
                        let pairs = Punctuated::<_, Token![,]>::parse_terminated_with(&content, |input| {
                            let name: Ident = input.parse()?;
                            input.parse::<Token![=]>()?;
                            let types;
                            bracketed!(types in input);
                            let types = Punctuated::<Type, Token![,]>::parse_terminated(&types)?;
                            Ok((name, types.into_iter().collect()))
                        })?;
                        options.dtypes.extend(pairs);
                    }
                    "tune" => {
                        options.tune = Tune::parse(input)?;
                    }
                    "warps" => {
                        input.parse::<Token![=]>()?;
                        options.warps = Some(input.parse()?);
                    }
                    "stages" => {
                        input.parse::<Token![=]>()?;
                        options.stages = Some(input.parse()?);
                    }
                    other => {
                        return Err(syn::Error::new(
                            name.span(),
                            format!(
                                "there is no option `{other}`: options of #[kernel] are `defaults(BM = 128)`, `dtypes(T = [f16, f32])`, `warps = 4`, `stages = 2`, `tune(BM = [64, 128])` and `crate = path`"
                            ),
                        ));
                    }
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}
