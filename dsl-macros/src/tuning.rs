//! What the tuner may choose from: `#[kernel(tune(…))]`, and `tuning!(…)` for a space that kernels share.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, LitInt, Path, Token, bracketed, parenthesized};

use crate::path::Crate;
use crate::rewrite::Errors;

/// The option of a kernel.
pub enum Tune {
    /// `tune(…)`; empty if the option is not there.
    Here(Space),
    /// `tune = NAME`.
    Named(Path),
}

impl Tune {
    /// Parses what stands behind `tune`.
    pub fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            return Ok(Self::Named(input.parse()?));
        }
        let content;
        parenthesized!(content in input);
        Ok(Self::Here(content.parse()?))
    }

    /// Reports what cannot be chosen, for a kernel with these dims.
    pub fn check(&self, dims: &[&Ident], errors: &mut Errors) {
        let Self::Here(space) = self else { return };
        for (name, _) in &space.axes {
            if !dims.contains(&name) && name != "warps" && name != "stages" {
                errors.push(
                    name,
                    format!("`{name}` is not a dim of this kernel; the tuner chooses dims, `warps` and `stages`"),
                );
            }
        }
        space.check(errors);
    }

    /// The value of `Tuning` for a kernel with these dims.
    pub fn expand(&self, dims: &[&Ident], private: &TokenStream) -> TokenStream {
        match self {
            Self::Here(space) => space.expand(private),
            Self::Named(path) => {
                let dims = dims.iter().map(|dim| dim.to_string());
                quote!(#path.of_kernel(&[#(#dims),*]))
            }
        }
    }
}

/// `BM = [64, 128], warps = [4, 8], when(BM * BN <= 16384)`.
#[derive(Default)]
pub struct Space {
    /// The values of each dim, of `warps` and of `stages`.
    axes: Vec<(Ident, Vec<LitInt>)>,
    /// What a combination must meet.
    conditions: Vec<Expr>,
}

impl Parse for Space {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut space = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            let content;
            if name == "when" {
                parenthesized!(content in input);
                space.conditions.push(content.parse()?);
            } else {
                input.parse::<Token![=]>()?;
                bracketed!(content in input);
                let values = Punctuated::<LitInt, Token![,]>::parse_terminated(&content)?;
                space.axes.push((name, values.into_iter().collect()));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(space)
    }
}

impl Space {
    fn check(&self, errors: &mut Errors) {
        for (i, (name, values)) in self.axes.iter().enumerate() {
            if self.axes[..i].iter().any(|(n, _)| n == name) {
                errors.push(name, format!("the values of `{name}` are given twice"));
            }
            if values.is_empty() {
                errors.push(name, format!("name at least one value for `{name}`"));
            }
            for value in values {
                let n = value.base10_parse::<u32>().unwrap_or(0);
                if n == 0 {
                    errors.push(value, "a value to choose from is 1 to 4294967295");
                } else if name == "warps" && !(n.is_power_of_two() && n <= 32) {
                    errors.push(value, "the number of warps is 1, 2, 4, 8, 16 or 32");
                }
            }
        }
    }

    fn expand(&self, private: &TokenStream) -> TokenStream {
        let axes = self.axes.iter().map(|(name, values)| {
            let name = name.to_string();
            quote!(#private::TuningAxis { name: #name, values: &[#(#values),*] })
        });
        // Products of extents in a condition must not overflow.
        let bindings = self.axes.iter().enumerate().map(|(i, (name, _))| {
            quote!(#[allow(non_snake_case, unused_variables)] let #name = ::core::primitive::u64::from(values[#i]);)
        });
        let conditions = &self.conditions;
        let body = if conditions.is_empty() { quote!(true) } else { quote!(#((#conditions))&&*) };
        quote! {
            #private::Tuning {
                axes: &[#(#axes),*],
                fits: |values| {
                    #(#bindings)*
                    let _ = values;
                    #body
                },
            }
        }
    }
}

/// `tuning!(…)`: a space, perhaps behind `crate = path,`.
struct Shared {
    krate: Crate,
    space: Space,
}

impl Parse for Shared {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut krate = Crate::new();
        if input.peek(Token![crate]) {
            krate = Crate::parse(input)?;
            input.parse::<Token![,]>()?;
        }
        Ok(Self { krate, space: input.parse()? })
    }
}

/// Expands `tuning!(…)`.
pub fn expand(input: TokenStream) -> TokenStream {
    let Shared { krate, space } = match syn::parse2(input) {
        Ok(shared) => shared,
        Err(e) => return e.to_compile_error(),
    };
    let mut errors = Errors::default();
    space.check(&mut errors);
    if errors.is_empty() {
        return space.expand(&krate.private());
    }
    // Without the mistakes, so that the constant has its type all the same.
    let errors = errors.into_tokens();
    let nothing = Space::default().expand(&krate.private());
    quote!({ #errors #nothing })
}
