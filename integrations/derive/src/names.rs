//! Names in the wire format, as defined by serde.

use proc_macro2::{Ident, Span};
use serde_derive_internals::ast::Container;
use serde_derive_internals::name::MultiName;
use serde_derive_internals::{Ctxt, Derive};
use syn::{DeriveInput, Type};

/// The type as interpreted by the derive of serde.
pub(crate) fn container(input: &DeriveInput) -> syn::Result<Container<'_>> {
    let errors = Ctxt::new();
    let private = Ident::new("__private", Span::call_site());
    let container = Container::from_ast(&errors, input, Derive::Deserialize, &private);
    errors.check()?;
    container.ok_or_else(|| syn::Error::new(input.ident.span(), "expected a struct or an enum"))
}

/// The name in the wire format, which must be the same for serialization and deserialization.
pub(crate) fn on_wire(name: &MultiName, span: Span) -> syn::Result<String> {
    let (write, read) = (&name.serialize_name().value, &name.deserialize_name().value);
    if write == read {
        return Ok(write.clone());
    }
    let message = format!(
        "a field of a union must have one name, got `{write}` for serialization and `{read}` for deserialization"
    );
    Err(syn::Error::new(span, message))
}

/// The type within an `Option`.
pub(crate) fn in_option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = serde_derive_internals::ungroup(ty) else {
        return None;
    };
    let last = path
        .path
        .segments
        .last()
        .filter(|segment| segment.ident == "Option")?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };

    match arguments.args.first() {
        Some(syn::GenericArgument::Type(ty)) if arguments.args.len() == 1 => Some(ty),
        _ => None,
    }
}
