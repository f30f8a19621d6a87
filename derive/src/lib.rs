#![doc = include_str!("../README.md")]

mod attributes;
mod names;
mod of_struct;
mod of_sum;
mod of_values;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, parse_macro_input};

/// Declares a union of Kubernetes: of a struct its fields, of an enum with data its variants. An enum without data
/// can then be a discriminator.
///
/// The crate `fieldmanager` has it behind the feature `derive`; `fieldmanager::unions` says how it is used.
#[proc_macro_derive(KubeUnion, attributes(kube_union, serde, schemars))]
pub fn derive_kube_union(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let output = match &input.data {
        Data::Struct(_) => of_struct::expand(&input).or_else(|faults| {
            let (faults, stub) = (faults.into_compile_error(), of_struct::stub(&input));
            Ok(quote!(#faults #stub))
        }),
        Data::Enum(data) if data.variants.iter().all(|variant| matches!(variant.fields, Fields::Unit)) => {
            of_values::expand(&input)
        }
        Data::Enum(_) => of_sum::expand(&input),
        Data::Union(data) => {
            let message = "a `union` of Rust has no wire form: expected a struct or an enum";
            Err(syn::Error::new(data.union_token.span, message))
        }
    };
    output.unwrap_or_else(syn::Error::into_compile_error).into()
}
