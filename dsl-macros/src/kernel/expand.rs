//! The code that a kernel expands to: see [`crate::kernel`] (the attribute) for what the user sees of it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, ItemFn, Lit, Meta, Type};

use super::options::Options;
use super::signature::{Kind, Position, Signature, tidy};
use crate::rewrite::{self, Errors};

/// Element types that tools try where the kernel does not name any, in the order listed.
const TYPES: &[(&str, &str)] = &[
    ("f32", ""),
    ("f16", "private"),
    ("bf16", "private"),
    ("f64", ""),
    ("F8E4M3", "private"),
    ("F8E5M2", "private"),
    ("F8E4M3Fnuz", "private"),
    ("F8E5M2Fnuz", "private"),
    ("i32", ""),
    ("i64", ""),
    ("i16", ""),
    ("i8", ""),
    ("u32", ""),
    ("u64", ""),
    ("u16", ""),
    ("u8", ""),
    ("bool", ""),
];

/// The most combinations of element types that are tried.
const MAX_INSTANCES: usize = 64;

/// The function without its body, which stands in for one that is no kernel: what it names stays in use.
pub fn stand_in(function: &ItemFn) -> TokenStream {
    let mut function = function.clone();
    let receiver = function.sig.receiver().is_some();
    function.sig.asyncness = None;
    function.sig.constness = None;
    for input in &mut function.sig.inputs {
        if let syn::FnArg::Typed(arg) = input {
            arg.attrs.clear();
        }
    }
    function.block = syn::parse_quote!({ ::core::unreachable!() });
    let (vis, name) = (&function.vis, &function.sig.ident);
    // In an `impl` there can be no module.
    let module = (!receiver).then(|| quote!(#[allow(dead_code)] #vis mod #name { pub struct Dims {} }));
    quote! {
        #[allow(unused, clippy::all)]
        #function
        #module
    }
}

/// Expands a kernel whose signature is right.
pub fn expand(mut function: ItemFn, options: &Options, sig: &Signature, mut errors: Errors) -> TokenStream {
    let private = options.krate.private();
    let known: Vec<String> = sig
        .comptime
        .iter()
        .filter(|c| match &c.ty {
            Type::Path(p) => p.path.get_ident().is_some_and(|i| rewrite::is_host_number(&i.to_string())),
            _ => false,
        })
        .map(|c| c.name.to_string())
        .collect();
    let dims = sig.dims.iter().map(|d| d.name.to_string()).collect();
    let known = rewrite::Function { returns_value: false, known, dims };
    rewrite::function(&mut function.block, &options.krate, &known, &mut errors);
    if !errors.is_empty() {
        function.attrs.push(syn::parse_quote!(#[allow(unused)]));
    }

    let docs: Vec<Attribute> = function.attrs.iter().filter(|a| a.path().is_ident("doc")).cloned().collect();
    let cfgs: Vec<Attribute> = function.attrs.iter().filter(|a| a.path().is_ident("cfg")).cloned().collect();
    let vis = function.vis.clone();
    let name = function.sig.ident.clone();
    let module = module(sig, &vis, &name, &cfgs, &private);
    let launcher = launcher(sig, &function, &docs, &cfgs, &private);
    let kernel = kernel_impl(sig, options, function, &cfgs, &docs, &private);
    let errors = errors.into_tokens();
    quote!(#launcher #module #kernel #errors)
}

/// The module of the kernel's name: its dims and its type.
fn module(
    sig: &Signature,
    vis: &syn::Visibility,
    name: &Ident,
    cfgs: &[Attribute],
    private: &TokenStream,
) -> TokenStream {
    let fields: Vec<_> = sig.dims.iter().map(|d| &d.field).collect();
    let field_docs: Vec<_> = sig.dims.iter().map(|d| format!("Size of `{}`.", d.name)).collect();
    let defaults: Vec<_> = sig.dims.iter().map(|d| default_size(d.default.as_ref(), private)).collect();
    let module_doc = format!("Dims and type of the kernel `{name}`.");
    quote! {
        #(#cfgs)*
        #[doc = #module_doc]
        #[allow(non_camel_case_types, dead_code)]
        #vis mod #name {
            /// The sizes of the kernel's symbolic dims.
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
            pub struct Dims {
                #(#[doc = #field_docs] pub #fields: u32,)*
            }

            impl ::core::default::Default for Dims {
                fn default() -> Self {
                    Self { #(#fields: #defaults,)* }
                }
            }

            impl #private::DimSizes for Dims {
                fn sizes(&self) -> #private::Sizes {
                    ::core::iter::IntoIterator::into_iter([#(self.#fields),*]).collect()
                }
            }

            /// The kernel for the element types `T`, with build-time parameters `C`.
            #[derive(Clone, Debug)]
            pub struct Kernel<T, C> {
                /// Values of the build-time parameters, in order.
                pub comptime: C,
                /// The element types.
                pub types: ::core::marker::PhantomData<fn() -> T>,
            }

            impl<T, C> Kernel<T, C> {
                /// The kernel with these build-time parameters.
                pub fn new(comptime: C) -> Self {
                    Self { comptime, types: ::core::marker::PhantomData }
                }
            }

            impl<T, C> #private::HasDims<Dims> for Kernel<T, C> {}

            /// What tools list.
            #[derive(Clone, Copy, Debug)]
            pub struct Listing;
        }
    }
}

fn default_size(default: Option<&syn::LitInt>, private: &TokenStream) -> TokenStream {
    match default {
        Some(size) => quote!(#size),
        None => quote!(#private::DEFAULT_DIM),
    }
}

/// The function that the host calls.
fn launcher(
    sig: &Signature,
    function: &ItemFn,
    docs: &[Attribute],
    cfgs: &[Attribute],
    private: &TokenStream,
) -> TokenStream {
    let (vis, name) = (&function.vis, &function.sig.ident);
    let (types, conditions) = (&sig.types, &sig.conditions);
    let type_names: Vec<_> = sig.types.iter().map(|t| &t.ident).collect();
    let comptime_types: Vec<_> = sig.comptime.iter().map(|c| &c.ty).collect();
    let comptime_names: Vec<_> = sig.comptime.iter().map(|c| &c.name).collect();
    let unsafety = sig.is_unsafe().then(|| quote!(unsafe));
    let safety = sig.is_unsafe().then(|| {
        quote! {
            ///
            /// # Safety
            /// Every access through a pointer of the kernel is within memory that holds elements of its type.
        }
    });
    let mut inputs = Vec::new();
    let mut args = Vec::new();
    for position in &sig.order {
        match position {
            Position::Comptime(i) => {
                let c = &sig.comptime[*i];
                let (name, ty) = (&c.name, &c.ty);
                inputs.push(quote!(#name: #ty));
            }
            Position::Param(i) => {
                let p = &sig.params[*i];
                let (name, span) = (&p.name, p.span());
                match &p.kind {
                    Kind::Read { elem, rank } => {
                        inputs.push(quote_spanned!(span=> #name: impl #private::TensorArg<'__tegula, #elem, #rank>));
                        args.push(quote!(#private::Arg::Read(#private::TensorArg::<#elem, #rank>::tensor_arg(#name))));
                    }
                    Kind::Write { elem, rank } => {
                        inputs.push(quote_spanned!(span=> #name: impl #private::TensorArgMut<'__tegula, #elem, #rank>));
                        args.push(
                            quote!(#private::Arg::Write(#private::TensorArgMut::<#elem, #rank>::tensor_arg_mut(#name))),
                        );
                    }
                    Kind::Scalar(elem) => {
                        inputs.push(quote_spanned!(span=> #name: #elem));
                        args.push(quote! {
                            #private::Arg::Scalar(
                                <#elem as #private::Element>::TYPE,
                                #private::Element::literal(#name),
                            )
                        });
                    }
                    Kind::Pointer(elem) => {
                        inputs.push(quote_spanned!(span=> #name: impl #private::PointerTo<'__tegula, #elem>));
                        args.push(quote! {
                            #private::Arg::Pointer(
                                <#elem as #private::Element>::TYPE,
                                // SAFETY: the caller of this unsafe function vouches for the pointer.
                                unsafe { #private::PointerTo::<#elem>::pointer_arg(#name) },
                            )
                        });
                    }
                }
            }
        }
    }
    let where_clause = (!conditions.is_empty()).then(|| quote!(where #(#conditions),*));
    quote! {
        #(#cfgs)*
        #(#docs)*
        #safety
        #[allow(clippy::too_many_arguments)]
        #vis #unsafety fn #name<'__tegula, #(#types),*>(
            #(#inputs),*
        ) -> #private::Call<'__tegula, #name::Kernel<(#(#type_names,)*), (#(#comptime_types,)*)>>
        #where_clause
        {
            #private::Call::new(
                #name::Kernel { comptime: (#(#comptime_names,)*), types: ::core::marker::PhantomData },
                [#(#args),*],
            )
        }
    }
}

/// The implementation of the kernel: its body, and what is known of it.
fn kernel_impl(
    sig: &Signature,
    options: &Options,
    function: ItemFn,
    cfgs: &[Attribute],
    docs: &[Attribute],
    private: &TokenStream,
) -> TokenStream {
    let name = &function.sig.ident;
    let (types, conditions) = (&sig.types, &sig.conditions);
    let type_names: Vec<_> = sig.types.iter().map(|t| &t.ident).collect();
    let comptime_types: Vec<_> = sig.comptime.iter().map(|c| &c.ty).collect();
    let comptime_names: Vec<_> = sig.comptime.iter().map(|c| &c.name).collect();
    let self_type = quote!(#name::Kernel<(#(#type_names,)*), (#(#comptime_types,)*)>);
    let where_clause = (!conditions.is_empty()).then(|| quote!(where #(#conditions),*));
    let dim_names: Vec<_> = sig.dims.iter().map(|d| &d.name).collect();

    // The body, with the user's own signature.
    let mut body = function.clone();
    body.attrs.retain(|a| !a.path().is_ident("doc") && !a.path().is_ident("cfg") && !a.path().is_ident("inline"));
    body.attrs.push(rewrite::allowances());
    body.vis = syn::Visibility::Inherited;
    for input in &mut body.sig.inputs {
        if let syn::FnArg::Typed(arg) = input {
            arg.attrs.retain(|a| !a.path().is_ident("comptime") && !a.path().is_ident("do_not_specialize"));
        }
    }
    let generics = &function.sig.generics.params;
    let clause = &function.sig.generics.where_clause;
    let generic_names: Vec<Ident> = function
        .sig
        .generics
        .params
        .iter()
        .filter_map(|p| if let syn::GenericParam::Type(t) = p { Some(t.ident.clone()) } else { None })
        .collect();
    let chosen: Vec<TokenStream> = generic_names
        .iter()
        .map(|g| if dim_names.contains(&g) { quote!(__tegula_dims::#g) } else { quote!(#g) })
        .collect();
    let indices = 0..sig.dims.len();

    // Declares the parameters in the order of the source, then runs the body.
    let mut declarations = Vec::new();
    let mut passed = Vec::new();
    for position in &sig.order {
        match position {
            Position::Comptime(i) => {
                let name = &sig.comptime[*i].name;
                passed.push(quote!(#name));
            }
            Position::Param(i) => {
                let p = &sig.params[*i];
                let (name, inner, span) = (&p.name, &p.inner, p.span());
                let text = name.to_string();
                let method = match &p.kind {
                    Kind::Read { .. } => {
                        passed.push(quote!(&#name));
                        format_ident!("shared")
                    }
                    Kind::Write { .. } => {
                        passed.push(quote!(&mut #name));
                        format_ident!("mutable")
                    }
                    Kind::Scalar(_) | Kind::Pointer(_) => {
                        passed.push(quote!(#name));
                        format_ident!("value")
                    }
                };
                declarations.push(quote_spanned!(span=> let mut #name = __tegula_params.#method::<#inner>(#text);));
            }
        }
    }
    let call = if sig.is_unsafe() && function.sig.unsafety.is_some() {
        quote!(unsafe { #name::<#(#generic_names),*>(#(#passed),*) })
    } else {
        quote!(#name::<#(#generic_names),*>(#(#passed),*))
    };
    // At the type, so that what it lacks is reported there.
    let (mut hashed, mut cloned) = (Vec::new(), Vec::new());
    for (i, c) in sig.comptime.iter().enumerate() {
        let (name, span) = (&c.name, c.ty.span());
        let index = syn::Index { index: i as u32, span };
        let private = options.krate.private_at(span);
        hashed.push(quote_spanned!(span=> #private::Comptime::add_to(&self.comptime.#index, &mut hasher);));
        cloned.push(quote_spanned!(span=> let #name = #private::Comptime::value(&self.comptime.#index);));
    }
    let listing = listing(sig, options, &function, docs, cfgs, private);
    quote! {
        #(#cfgs)*
        #[allow(non_local_definitions)]
        const _: () = {
        // Each dim as a type. Here, so that the compiler does not suggest to import them.
        #[allow(non_camel_case_types)]
        mod __tegula_dims {
            #(
                #[derive(Clone, Copy, Debug)]
                pub struct #dim_names;

                impl #private::Dim for #dim_names {
                    fn size() -> i64 {
                        #private::dim_size(#indices)
                    }
                }
            )*
        }

        impl<#(#types),*> #private::Kernel for #self_type #where_clause {
            fn info(&self) -> &'static #private::KernelInfo {
                <#name::Listing as #private::Listed>::INFO
            }

            fn key(&self) -> (::core::any::TypeId, u64) {
                #[allow(unused_mut)]
                let mut hasher = ::std::hash::DefaultHasher::new();
                #(#hashed)*
                (::core::any::TypeId::of::<Self>(), ::core::hash::Hasher::finish(&hasher))
            }

            fn build(
                &self,
                options: &#private::BuildOptions,
            ) -> ::core::result::Result<#private::ir::Function, #private::BuildError> {
                #body

                #[allow(unused_mut, clippy::too_many_arguments)]
                fn __tegula_run<#generics>(
                    __tegula_params: &mut #private::Params<'_>,
                    #(#comptime_names: #comptime_types),*
                ) #clause {
                    #(#declarations)*
                    #call
                }

                #(#cloned)*
                #private::build(#private::Kernel::info(self), options, |params| {
                    __tegula_run::<#(#chosen),*>(params, #(#comptime_names),*);
                })
            }
        }
        };

        #listing
    }
}

/// What tools list of the kernel, and how they build it.
fn listing(
    sig: &Signature,
    options: &Options,
    function: &ItemFn,
    docs: &[Attribute],
    cfgs: &[Attribute],
    private: &TokenStream,
) -> TokenStream {
    let name = &function.sig.ident;
    let text = name.to_string();
    let doc = doc_text(docs);
    let span = name.span();
    // The macros give the place of the name.
    let (line, column) = (quote_spanned!(span=> ::core::line!()), quote_spanned!(span=> ::core::column!()));
    let file = quote_spanned!(span=> ::core::file!());
    let params = sig.params.iter().map(|p| {
        let (name, ty, specialize) = (p.name.to_string(), tidy(&p.ty), p.specialize);
        quote!(#private::ParamInfo { name: #name, ty: #ty, specialize: #specialize })
    });
    let comptime = sig.comptime.iter().map(|c| {
        let (name, ty) = (c.name.to_string(), tidy(&c.ty));
        let default = match &c.default {
            Some(e) => {
                let e = tidy(e);
                quote!(::core::option::Option::Some(#e))
            }
            None => quote!(::core::option::Option::None),
        };
        quote!(#private::ComptimeInfo { name: #name, ty: #ty, default: #default })
    });
    let dims = sig.dims.iter().map(|d| {
        let name = d.name.to_string();
        let default = default_size(d.default.as_ref(), private);
        quote!(#private::DimInfo { name: #name, default: #default })
    });
    let types = sig.types.iter().map(|t| t.ident.to_string());
    let optional = |n: &Option<syn::LitInt>| match n {
        Some(n) => quote!(::core::option::Option::Some(#n)),
        None => quote!(::core::option::Option::None),
    };
    let (warps, stages) = (optional(&options.warps), optional(&options.stages));
    let instances = instances(sig, options, name, private);
    let dim_names: Vec<_> = sig.dims.iter().map(|d| &d.name).collect();
    let tuning = options.tune.expand(&dim_names, private);
    quote! {
        #(#cfgs)*
        impl #private::Listed for #name::Listing {
            const INFO: &'static #private::KernelInfo = &#private::KernelInfo {
                name: #text,
                module: ::core::module_path!(),
                doc: #doc,
                file: #file,
                line: #line,
                column: #column,
                params: &[#(#params),*],
                comptime: &[#(#comptime),*],
                dims: &[#(#dims),*],
                types: &[#(#types),*],
                num_warps: #warps,
                num_stages: #stages,
                tuning: #tuning,
                instances: || { #instances },
            };
        }
    }
}

/// The combinations of element types that the kernel can be built for: each is tried, and those that do not
/// meet the bounds are left out by the choice of method.
fn instances(sig: &Signature, options: &Options, name: &Ident, private: &TokenStream) -> TokenStream {
    let comptime_types: Vec<_> = sig.comptime.iter().map(|c| &c.ty).collect();
    let values = sig.comptime.iter().enumerate().map(|(index, c)| {
        let ty = &c.ty;
        let probe = quote!((&#private::Probe::<#ty>(::core::marker::PhantomData)));
        let default = match &c.default {
            Some(e) => quote!(::core::option::Option::Some(#e)),
            None => quote!(#probe.default_value()),
        };
        quote!(#private::choose::<#ty>(INFO, #index, options, || #default, |text| #probe.parse_value(text))?)
    });
    let import = (!sig.comptime.is_empty()).then(|| {
        quote! {
            #[allow(unused_imports)]
            use #private::{HasDefault as _, HasNoDefault as _, Parses as _, ParsesNot as _};
            const INFO: &#private::KernelInfo = <#name::Listing as #private::Listed>::INFO;
        }
    });
    let (types, conditions) = (&sig.types, &sig.conditions);
    let type_names: Vec<_> = sig.types.iter().map(|t| &t.ident).collect();
    let clause = (!conditions.is_empty()).then(|| quote!(where #(#conditions),*));
    let kernel = quote!(#name::Kernel<(#(#type_names,)*), (#(#comptime_types,)*)>);
    let tuples = combinations(sig, options, private);
    quote! {
        #import
        struct Probe<T>(::core::marker::PhantomData<T>);

        trait Fits {
            fn instance(&self) -> ::core::option::Option<#private::Instance>;
        }

        trait FitsNot {
            fn instance(&self) -> ::core::option::Option<#private::Instance> {
                ::core::option::Option::None
            }
        }

        impl<#(#types),*> Fits for Probe<(#(#type_names,)*)> #clause {
            fn instance(&self) -> ::core::option::Option<#private::Instance> {
                ::core::option::Option::Some(#private::Instance {
                    types: ::std::vec![#(<#type_names as #private::Element>::TYPE),*],
                    build: |options| {
                        let kernel: #kernel =
                            #name::Kernel { comptime: (#(#values,)*), types: ::core::marker::PhantomData };
                        #private::Kernel::build(&kernel, options)
                    },
                })
            }
        }

        impl<T> FitsNot for &Probe<T> {}

        let mut instances = ::std::vec::Vec::new();
        #(instances.extend((&Probe::<#tuples>(::core::marker::PhantomData)).instance());)*
        instances
    }
}

/// The tuples of element types to try.
fn combinations(sig: &Signature, options: &Options, private: &TokenStream) -> Vec<TokenStream> {
    let all: Vec<TokenStream> = TYPES
        .iter()
        .map(|(name, place)| {
            let ident = Ident::new(name, Span::call_site());
            if place.is_empty() { quote!(::core::primitive::#ident) } else { quote!(#private::#ident) }
        })
        .collect();
    let stated: Vec<Option<Vec<TokenStream>>> = sig
        .types
        .iter()
        .map(|t| {
            let found = options.dtypes.iter().find(|(n, _)| *n == t.ident);
            found.map(|(_, types)| types.iter().map(ToTokens::to_token_stream).collect())
        })
        .collect();
    if sig.types.is_empty() {
        return vec![quote!(())];
    }
    if stated.iter().all(Option::is_none) {
        // All parameters the same: what a kernel with one parameter, and mostly also one with several, is for.
        return all
            .iter()
            .map(|t| {
                let each = sig.types.iter().map(|_| t);
                quote!((#(#each,)*))
            })
            .collect();
    }
    let mut tuples: Vec<Vec<TokenStream>> = vec![Vec::new()];
    for choice in stated {
        let choice = choice.unwrap_or_else(|| all.clone());
        tuples = tuples
            .iter()
            .flat_map(|t| choice.iter().map(|c| t.iter().cloned().chain([c.clone()]).collect()))
            .take(MAX_INSTANCES)
            .collect();
    }
    tuples.into_iter().map(|t| quote!((#(#t,)*))).collect()
}

/// The text of documentation comments.
fn doc_text(docs: &[Attribute]) -> String {
    let lines = docs.iter().filter_map(|a| match &a.meta {
        Meta::NameValue(m) => match &m.value {
            Expr::Lit(ExprLit { lit: Lit::Str(s), .. }) => Some(s.value()),
            _ => None,
        },
        _ => None,
    });
    lines.map(|l| l.strip_prefix(' ').map(str::to_owned).unwrap_or(l)).collect::<Vec<_>>().join("\n")
}
