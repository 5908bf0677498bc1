//! Symbolic dims among the generic parameters of a function, wherever their bounds stand.

use proc_macro2::Ident;
use syn::punctuated::Punctuated;
use syn::{GenericParam, Generics, Token, Type, TypeParam, TypeParamBound, WherePredicate};

/// Whether a type parameter is bounded by `Dim`, where it is declared or in the `where` clause.
pub fn is_dim(param: &TypeParam, generics: &Generics) -> bool {
    bounds(&param.ident, param, generics).any(has_dim)
}

/// Whether a type parameter has any bound.
pub fn is_bounded(param: &TypeParam, generics: &Generics) -> bool {
    bounds(&param.ident, param, generics).any(|b| !b.is_empty())
}

/// The names of the dims.
pub fn names(generics: &Generics) -> Vec<String> {
    let params = generics.params.iter().filter_map(|p| match p {
        GenericParam::Type(t) if is_dim(t, generics) => Some(t.ident.to_string()),
        _ => None,
    });
    params.collect()
}

type Bounds = Punctuated<TypeParamBound, Token![+]>;

/// The bounds of a parameter: those at its declaration, and those of the `where` clause.
fn bounds<'a>(name: &'a Ident, param: &'a TypeParam, generics: &'a Generics) -> impl Iterator<Item = &'a Bounds> {
    let clause = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let there = clause.filter_map(move |predicate| match predicate {
        WherePredicate::Type(p) if matches!(&p.bounded_ty, Type::Path(ty) if ty.path.is_ident(name)) => Some(&p.bounds),
        _ => None,
    });
    std::iter::once(&param.bounds).chain(there)
}

fn has_dim(bounds: &Bounds) -> bool {
    let is_dim = |b: &TypeParamBound| matches!(b, TypeParamBound::Trait(b) if b.path.segments.last().is_some_and(|s| s.ident == "Dim"));
    bounds.iter().any(is_dim)
}
