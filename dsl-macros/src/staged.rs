//! `#[derive(Staged)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, GenericParam, Index, parse_quote};

use crate::path::Crate;

/// Expands the derive.
pub fn expand(item: TokenStream) -> TokenStream {
    match syn::parse2::<DeriveInput>(item).and_then(derive) {
        Ok(tokens) => tokens,
        Err(e) => e.to_compile_error(),
    }
}

fn derive(mut item: DeriveInput) -> syn::Result<TokenStream> {
    let mut krate = Crate::new();
    for attr in &item.attrs {
        if attr.path().is_ident("staged") {
            krate = attr.parse_args_with(Crate::parse)?;
        }
    }
    let private = krate.private();
    let Data::Struct(data) = &item.data else {
        return Err(syn::Error::new(
            item.ident.span(),
            "Staged can be derived for structs only: which variant an enum has must be known when the kernel is built",
        ));
    };
    let fields: Vec<TokenStream> = match &data.fields {
        Fields::Unit => Vec::new(),
        Fields::Named(fields) => fields
            .named
            .iter()
            .map(|f| {
                let name = &f.ident;
                quote_spanned!(f.ty.span()=> #private::Staged::visit(&mut self.#name, f);)
            })
            .collect(),
        Fields::Unnamed(fields) => fields
            .unnamed
            .iter()
            .enumerate()
            .map(|(i, f)| {
                let index = Index::from(i);
                quote_spanned!(f.ty.span()=> #private::Staged::visit(&mut self.#index, f);)
            })
            .collect(),
    };
    let field_types: Vec<_> = data.fields.iter().map(|f| f.ty.clone()).collect();
    // The fields, not the parameters, must be staged: an element type or a dim is not.
    let generic = item.generics.params.iter().any(|p| matches!(p, GenericParam::Type(_)));
    if generic {
        let clause = item.generics.make_where_clause();
        for ty in field_types {
            clause.predicates.push(parse_quote!(#ty: #private::Staged));
        }
    }
    let name = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    Ok(quote! {
        impl #impl_generics #private::Staged for #name #ty_generics #where_clause {
            fn visit(&mut self, f: &mut dyn ::core::ops::FnMut(&mut #private::Handle)) {
                #(#fields)*
            }
        }
    })
}
