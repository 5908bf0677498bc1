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
                        let warps: LitInt = input.parse()?;
                        if !warps.base10_parse::<u32>().is_ok_and(|n| n.is_power_of_two() && n <= 32) {
                            return Err(syn::Error::new(warps.span(), "the number of warps is 1, 2, 4, 8, 16 or 32"));
                        }
                        options.warps = Some(warps);
                    }
                    "stages" => {
                        input.parse::<Token![=]>()?;
                        let stages: LitInt = input.parse()?;
                        if !stages.base10_parse::<u8>().is_ok_and(|n| n > 0) {
                            return Err(syn::Error::new(stages.span(), "the number of stages is 1 to 255"));
                        }
                        options.stages = Some(stages);
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
