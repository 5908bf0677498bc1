//! The signature of a kernel: its parameters and generics, sorted and checked.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, FnArg, GenericArgument, GenericParam, ItemFn, LitInt, Pat, PathArguments, ReturnType, Token, Type,
    TypeParam, WherePredicate,
};

use super::options::Options;
use crate::dims;
use crate::rewrite::Errors;

/// How a parameter reaches the kernel.
pub enum Kind {
    /// `&Tensor<T, R>`.
    Read {
        /// Element type.
        elem: Type,
        /// Rank, as an expression.
        rank: TokenStream,
    },
    /// `&mut Tensor<T, R>` or `&mut Tiles<T, S>`.
    Write {
        /// Element type.
        elem: Type,
        /// Rank, as an expression.
        rank: TokenStream,
    },
    /// `Scalar<T>`.
    Scalar(Type),
    /// `Pointer<T>`.
    Pointer(Type),
}

/// A parameter at run time.
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// Its type without the reference.
    pub inner: Type,
    /// Its type as written.
    pub ty: Type,
    /// How it reaches the kernel.
    pub kind: Kind,
    /// Whether the kernel is compiled again for properties of the argument.
    pub specialize: bool,
}

/// A parameter at build time.
pub struct Comptime {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: Type,
    /// The value that tools build the kernel with.
    pub default: Option<Expr>,
}

/// A parameter in the order of the source.
pub enum Position {
    /// Index among the parameters at run time.
    Param(usize),
    /// Index among those of build time.
    Comptime(usize),
}

/// A symbolic dim.
pub struct Dim {
    /// Its name.
    pub name: Ident,
    /// Its field in `Dims`.
    pub field: Ident,
    /// Its default size.
    pub default: Option<LitInt>,
}

/// The signature, sorted.
#[derive(Default)]
pub struct Signature {
    /// Parameters at run time.
    pub params: Vec<Param>,
    /// Parameters at build time.
    pub comptime: Vec<Comptime>,
    /// All parameters in order.
    pub order: Vec<Position>,
    /// Symbolic dims.
    pub dims: Vec<Dim>,
    /// Type parameters that are not dims.
    pub types: Vec<TypeParam>,
    /// Conditions on type parameters that do not name dims.
    pub conditions: Vec<WherePredicate>,
}

const PARAMETERS: &str = "kernels take `&Tensor<T, R>`, `&mut Tiles<T, S>`, `&mut Tensor<T, R>`, `Scalar<T>`, `Pointer<T>`, and `#[comptime] x: X` for values known when the kernel is built";

impl Signature {
    /// Sorts and checks the signature of a function.
    pub fn new(function: &ItemFn, options: &Options, errors: &mut Errors) -> Self {
        let mut this = Self::default();
        let sig = &function.sig;
        if let Some(token) = &sig.asyncness {
            errors.push(token, "a kernel cannot be async: launching it is");
        }
        if let Some(token) = &sig.constness {
            errors.push(token, "a kernel cannot be const: it runs when it is built");
        }
        if let Some(abi) = &sig.abi {
            errors.push(abi, "a kernel has no ABI of the host");
        }
        if let ReturnType::Type(arrow, ty) = &sig.output
            && !matches!(&**ty, Type::Tuple(t) if t.elems.is_empty())
        {
            let mut tokens = arrow.to_token_stream();
            ty.to_tokens(&mut tokens);
            errors.push(
                tokens,
                "a kernel returns nothing: take an output `&mut Tiles<T, S>` and write it with `.store(..)`",
            );
        }
        for param in &sig.generics.params {
            match param {
                GenericParam::Type(t) if dims::is_dim(t, &sig.generics) => this.dims.push(Dim {
                    name: t.ident.clone(),
                    field: field(&t.ident, errors),
                    default: options.defaults.iter().find(|(n, _)| *n == t.ident).map(|(_, size)| size.clone()),
                }),
                GenericParam::Type(t) => {
                    if !dims::is_bounded(t, &sig.generics) {
                        errors.push(
                            t,
                            format!("what is `{0}`? Write `{0}: Dim` for an extent, or `{0}: Float` (or `Num`, `Int`, `Element`) for an element type", t.ident),
                        );
                    }
                    this.types.push(t.clone());
                }
                GenericParam::Const(c) => errors.push(
                    c,
                    format!("a kernel has no const parameters: write `{}: Dim` for an extent, or take a `#[comptime]` parameter", c.ident),
                ),
                GenericParam::Lifetime(l) => {
                    errors.push(l, "a kernel needs no lifetimes: leave it out, also in the types of parameters");
                }
            }
        }
        for (i, dim) in this.dims.iter().enumerate() {
            if this.dims[..i].iter().any(|d| d.field == dim.field) {
                errors.push(&dim.name, format!("two dims would have the field `{}` in `Dims`: rename one", dim.field));
            }
        }
        let known = |name: &Ident, this: &Self| this.dims.iter().any(|d| d.name == *name);
        for (name, size) in &options.defaults {
            if !known(name, &this) {
                errors.push(name, format!("`{name}` is not a dim of this kernel"));
            }
            if !size.base10_parse::<u32>().is_ok_and(|n| n > 0) {
                errors.push(size, "the size of a dim is 1 to 4294967295");
            }
        }
        let dims: Vec<_> = this.dims.iter().map(|d| &d.name).collect();
        options.tune.check(&dims, errors);
        for (name, types) in &options.dtypes {
            if !this.types.iter().any(|t| t.ident == *name) {
                errors.push(name, format!("`{name}` is not an element-type parameter of this kernel"));
            }
            if types.is_empty() {
                errors.push(name, format!("name at least one type for `{name}`"));
            }
        }
        if let Some(clause) = &sig.generics.where_clause {
            let dims: Vec<String> = this.dims.iter().map(|d| d.name.to_string()).collect();
            this.conditions =
                clause.predicates.iter().filter(|p| !mentions(p.to_token_stream(), &dims)).cloned().collect();
        }
        for input in &sig.inputs {
            this.input(input, errors);
        }
        for param in &this.params {
            if let Some(rank) = param.rank() {
                this.check_rank(&rank, errors);
            }
        }
        this
    }

    /// Reports a rank that no tensor has.
    fn check_rank(&self, rank: &TokenStream, errors: &mut Errors) {
        let number = syn::parse2::<LitInt>(rank.clone()).ok().and_then(|n| n.base10_parse::<usize>().ok());
        if number.is_some_and(|n| n > 5) {
            errors.push(rank, "a tensor has at most five axes");
        }
        let text = rank.to_string();
        if self.dims.iter().any(|d| d.name == text) {
            errors.push(
                rank,
                format!(
                    "the rank of a tensor is its number of axes, as in `Tensor<f32, 2>`; `{text}` is the extent of one"
                ),
            );
        }
    }

    fn input(&mut self, input: &FnArg, errors: &mut Errors) {
        let arg = match input {
            FnArg::Receiver(receiver) => {
                errors.push(receiver, "a kernel is a free function: it has no `self`");
                return;
            }
            FnArg::Typed(arg) => arg,
        };
        let name = match &*arg.pat {
            Pat::Ident(p) if p.subpat.is_none() && p.by_ref.is_none() => p.ident.clone(),
            other => {
                errors.push(other, "a parameter of a kernel is a plain name");
                return;
            }
        };
        if let Some(attr) = arg.attrs.iter().find(|a| a.path().is_ident("comptime")) {
            check_comptime(&arg.ty, errors);
            let default = match comptime_default(attr) {
                Ok(default) => default,
                Err(e) => {
                    errors.add(e);
                    None
                }
            };
            self.order.push(Position::Comptime(self.comptime.len()));
            self.comptime.push(Comptime { name, ty: (*arg.ty).clone(), default });
            return;
        }
        let mut specialize = true;
        for attr in &arg.attrs {
            if attr.path().is_ident("do_not_specialize") && matches!(attr.meta, syn::Meta::Path(_)) {
                specialize = false;
            } else {
                errors
                    .push(attr, "the attributes of a kernel's parameter are `#[comptime]` and `#[do_not_specialize]`");
            }
        }
        if let Some((inner, kind)) = param_kind(&arg.ty, errors) {
            self.order.push(Position::Param(self.params.len()));
            self.params.push(Param { name, inner, ty: (*arg.ty).clone(), kind, specialize });
        }
    }

    /// Whether a parameter is a pointer, so that calling the kernel is unsafe.
    pub fn is_unsafe(&self) -> bool {
        self.params.iter().any(|p| matches!(p.kind, Kind::Pointer(_)))
    }
}

/// Reports types that no value of build time has, as far as syntax can tell.
fn check_comptime(ty: &Type, errors: &mut Errors) {
    match ty {
        Type::Reference(r) if r.lifetime.is_none() => errors.push(
            ty,
            format!("a build-time value outlives the call: take an owned value, or `&'static {}`", tidy(&r.elem)),
        ),
        _ if head(ty).is_some_and(|(name, _)| {
            matches!(name.to_string().as_str(), "Scalar" | "Tile" | "Tensor" | "Tiles" | "Pointer")
        }) =>
        {
            errors.push(
                ty,
                format!("`{}` is a value of the device: leave out `#[comptime]`, or take a value of Rust", tidy(ty)),
            );
        }
        _ => {}
    }
}

/// The attribute of a build-time parameter: `#[comptime]` or `#[comptime(default = …)]`.
fn comptime_default(attr: &Attribute) -> syn::Result<Option<Expr>> {
    if matches!(attr.meta, syn::Meta::Path(_)) {
        return Ok(None);
    }
    attr.parse_args_with(|input: syn::parse::ParseStream<'_>| {
        let name: Ident = input.parse()?;
        if name != "default" {
            return Err(syn::Error::new(name.span(), "the only option of #[comptime] is `default = …`"));
        }
        input.parse::<Token![=]>()?;
        input.parse::<Expr>().map(Some)
    })
}

/// The field of a dim in `Dims`: its name in lower case.
fn field(dim: &Ident, errors: &mut Errors) -> Ident {
    let name = dim.to_string().trim_start_matches("r#").to_lowercase();
    if let Ok(mut field) = syn::parse_str::<Ident>(&name) {
        field.set_span(dim.span());
        return field;
    }
    if matches!(name.as_str(), "self" | "super" | "crate" | "_") {
        errors.push(dim, format!("a dim cannot be called `{dim}`: its field in `Dims` would be `{name}`"));
        return Ident::new("dim", dim.span());
    }
    // A keyword.
    Ident::new_raw(&name, dim.span())
}

fn mentions(tokens: TokenStream, names: &[String]) -> bool {
    tokens.into_iter().any(|t| match t {
        proc_macro2::TokenTree::Ident(i) => names.contains(&i.to_string()),
        proc_macro2::TokenTree::Group(g) => mentions(g.stream(), names),
        _ => false,
    })
}

/// The last segment of a type's path, with its type and const arguments.
fn head(ty: &Type) -> Option<(&Ident, Vec<&GenericArgument>)> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last()?;
    let args = match &segment.arguments {
        PathArguments::AngleBracketed(args) => args.args.iter().collect(),
        _ => Vec::new(),
    };
    Some((&segment.ident, args))
}

/// What a parameter's type says, as far as syntax can.
fn param_kind(ty: &Type, errors: &mut Errors) -> Option<(Type, Kind)> {
    let (reference, inner) = match ty {
        Type::Reference(r) => (Some(r), &*r.elem),
        Type::Ptr(p) => {
            let elem = p.elem.to_token_stream();
            errors.push(p, format!("write `Pointer<{elem}>` for a raw pointer of the device"));
            return None;
        }
        other => (None, other),
    };
    let mutable = reference.is_some_and(|r| r.mutability.is_some());
    let Some((name, args)) = head(inner) else {
        errors.push(ty, format!("this cannot be a kernel's parameter: {PARAMETERS}"));
        return None;
    };
    let elem = || match args.first() {
        Some(GenericArgument::Type(t)) => Some((*t).clone()),
        _ => None,
    };
    let text = name.to_string();
    let kind = match (text.as_str(), reference.is_some()) {
        ("Tensor", true) => {
            let (Some(elem), Some(rank)) = (elem(), args.get(1)) else {
                errors.push(inner, "a tensor is written with its element type and rank, as in `Tensor<f32, 2>`");
                return None;
            };
            let rank = rank.to_token_stream();
            if mutable { Kind::Write { elem, rank } } else { Kind::Read { elem, rank } }
        }
        ("Tiles", true) if mutable => {
            let (Some(elem), Some(GenericArgument::Type(shape))) = (elem(), args.get(1)) else {
                errors
                    .push(inner, "an output is written with its element type and shape, as in `Tiles<f32, (BM, BN)>`");
                return None;
            };
            let Type::Tuple(shape) = shape else {
                errors.push(
                    shape,
                    "the shape of an output is a tuple of dims: `(B,)` (with the comma) for one axis, `(BM, BN)` for two",
                );
                return None;
            };
            if shape.elems.is_empty() || shape.elems.len() > 5 {
                errors.push(shape, "an output has one to five axes");
                return None;
            }
            let rank = shape.elems.len();
            Kind::Write { elem, rank: quote::quote!(#rank) }
        }
        ("Tiles", _) => {
            errors.push(ty, format!("an output is taken by mutable reference: `&mut {}`", tidy(inner)));
            return None;
        }
        ("Tensor", false) => {
            errors.push(
                ty,
                format!("a tensor is taken by reference: `&{0}` to read it, `&mut {0}` to write it", tidy(inner)),
            );
            return None;
        }
        ("Scalar", false) => match elem() {
            Some(elem) => Kind::Scalar(elem),
            None => {
                errors.push(inner, "a scalar is written with its element type, as in `Scalar<i32>`");
                return None;
            }
        },
        ("Pointer", false) => match elem() {
            Some(elem) => Kind::Pointer(elem),
            None => {
                errors.push(inner, "a pointer is written with its element type, as in `Pointer<f32>`");
                return None;
            }
        },
        ("Scalar" | "Pointer", true) => {
            errors.push(ty, format!("scalars and pointers are taken by value: `{}`", tidy(inner)));
            return None;
        }
        (name, false) if crate::rewrite::is_host_number(name) || matches!(name, "f16" | "bf16") => {
            errors.push(
                ty,
                format!("write `Scalar<{name}>` for a number given at launch, or `#[comptime]` before the parameter for one known when the kernel is built"),
            );
            return None;
        }
        _ => {
            errors.push(ty, format!("this cannot be a kernel's parameter: {PARAMETERS}"));
            return None;
        }
    };
    Some((inner.clone(), kind))
}

/// A type as text, without the spaces of the token stream.
pub fn tidy(ty: impl ToTokens) -> String {
    let mut out = String::new();
    let text = ty.to_token_stream().to_string();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let before = out.chars().last();
        let after = chars.peek().copied();
        let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if c == ' ' && !(word(before) && word(after) || before == Some(',') && after != Some(')')) {
            continue;
        }
        out.push(c);
    }
    out
}

impl Param {
    /// The rank as written, of a tensor.
    fn rank(&self) -> Option<TokenStream> {
        match &self.kind {
            Kind::Read { rank, .. } | Kind::Write { rank, .. } => Some(rank.clone()),
            Kind::Scalar(_) | Kind::Pointer(_) => None,
        }
    }

    /// Where the parameter's type stands.
    pub fn span(&self) -> proc_macro2::Span {
        self.ty.span()
    }
}
