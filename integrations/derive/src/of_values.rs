//! Enums without data: values of a discriminator.

use proc_macro2::TokenStream;
use quote::quote;
use serde_derive_internals::ast::Data;
use syn::DeriveInput;

use crate::attributes::{self, OnType};
use crate::names;

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let mut on_type = OnType::read(&input.attrs)?;
    let is_marked = !on_type.unions.is_empty();
    let union = on_type.one(&input.ident)?;
    if let Some(literal) = &union.discriminator {
        let message = format!(
            "`{}` has no variant with a member: add data to a variant, or remove this attribute and use the enum as \
             a discriminator",
            input.ident
        );
        return Err(syn::Error::new(literal.span(), message));
    }

    if is_marked {
        let message = "an enum without data is a discriminator: move this attribute to the struct with the members";
        return Err(syn::Error::new(union.attribute, message));
    }
    let container = names::container(input)?;
    let Data::Enum(variants) = &container.data else {
        return Err(syn::Error::new(input.ident.span(), "expected an enum"));
    };

    let mut values = Vec::new();
    for variant in variants {
        if let Some(attribute) = attributes::first_of_ours(&variant.original.attrs) {
            let message = "a value of a discriminator takes no arguments: set its name with `#[serde(rename = \"...\")]`";
            return Err(syn::Error::new_spanned(attribute, message));
        }
        let is_written = !(variant.attrs.skip_serializing() || variant.attrs.skip_deserializing());
        // A catch-all variant is not a value.
        if is_written && !variant.attrs.other() {
            values.push(names::on_wire(variant.attrs.name(), variant.ident.span())?);
        }
    }

    let krate = on_type.krate();
    let ident = &input.ident;
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics #krate::Discriminator for #ident #arguments #conditions {
            const VALUES: &'static [&'static str] = &[#(#values),*];
        }
    })
}
