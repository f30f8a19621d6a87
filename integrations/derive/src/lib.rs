#![doc = include_str!("../README.md")]

mod attributes;
mod names;
mod of_struct;
mod of_sum;
mod of_values;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, parse_macro_input};

/// Declares a Kubernetes union: the members are the fields of a struct or the variants of an enum with data. An enum
/// without data can be used as a discriminator.
///
/// Available as `fieldmanager::unions::KubeUnion` with the feature `derive`; see `fieldmanager::unions` for the
/// documentation.
#[proc_macro_derive(KubeUnion, attributes(kube_union, serde, schemars))]
pub fn derive_kube_union(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let output = match &input.data {
        Data::Struct(_) => of_struct::expand(&input).or_else(|faults| {
            let (faults, stub) = (faults.into_compile_error(), of_struct::stub(&input));
            Ok(quote!(#faults #stub))
        }),
        Data::Enum(data)
            if data
                .variants
                .iter()
                .all(|variant| matches!(variant.fields, Fields::Unit)) =>
        {
            of_values::expand(&input)
        }
        Data::Enum(_) => of_sum::expand(&input),
        Data::Union(data) => {
            let message = "a Rust `union` has no wire format: expected a struct or an enum";
            Err(syn::Error::new(data.union_token.span, message))
        }
    };

    output.unwrap_or_else(syn::Error::into_compile_error).into()
}
