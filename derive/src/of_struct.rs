//! A struct whose fields are the members of a union.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use serde_derive_internals::ast::{Data, Field, Style};
use serde_derive_internals::attr::{Default as SerdeDefault, RenameRule};
use syn::ext::IdentExt;
use syn::{DeriveInput, Generics, Type};

use crate::attributes::{self, OnField, OnType};
use crate::names;

struct Member {
    field: String,
    value: String,
    optional: bool,
    /// The attribute.
    span: Span,
}

struct Discriminator<'a> {
    name: String,
    ty: &'a Type,
    has_default: bool,
    /// The argument that names it.
    span: Span,
}

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let on_type = OnType::read(&input.attrs)?;
    if on_type.discriminator.is_none() && !on_type.deducing {
        let message = "expected `#[kube_union(discriminator = \"...\")]` with the name of the field that says which member is \
                       set, or `#[kube_union(deducing)]` for a union without one";
        return Err(syn::Error::new(on_type.attribute.unwrap_or(input.ident.span()), message));
    }
    let container = names::container(input)?;
    let Data::Struct(Style::Struct, fields) = &container.data else {
        let message = "the members of a union are named fields: expected a struct with them, or an enum";
        return Err(syn::Error::new(input.ident.span(), message));
    };
    require_transform(input)?;
    let reason = "the union has the names of serde, which would not be those of the schema";
    attributes::refuse(&input.attrs, "schemars", &["rename_all"], reason)?;
    let (members, discriminator) = parts(fields, &on_type)?;
    let krate = on_type.krate();
    let ident = &input.ident;
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    let (checks, name, values, absent) = match &discriminator {
        None => (TokenStream::new(), quote!(::core::option::Option::None), quote!(&[]), quote!(true)),
        Some(discriminator) => {
            let Discriminator { name, ty, has_default, .. } = discriminator;
            refuse_generic(discriminator, &input.generics)?;
            let absent = if on_type.deducing {
                quote!(true)
            } else if on_type.optional.is_some() {
                quote!(#has_default || <#ty as #krate::Discriminator>::OPTIONAL)
            } else {
                quote!(false)
            };
            let values = quote!(<#ty as #krate::Discriminator>::VALUES);
            (
                checks(&krate, &on_type, discriminator, &members),
                quote!(::core::option::Option::Some(#name)),
                values,
                absent,
            )
        }
    };
    let deducing = on_type.deducing;
    let members = members.iter().map(|Member { field, value, optional, .. }| {
        quote!(#krate::Member { field: #field, value: #value, optional: #optional })
    });
    Ok(quote! {
        #[automatically_derived]
        impl #generics #krate::KubeUnion for #ident #arguments #conditions {
            const UNION: #krate::Declaration = #krate::Declaration {
                discriminator: #name,
                deducing: #deducing,
                members: &[#(#members),*],
                values: #values,
                absent: #absent,
            };
        }
        #checks
    })
}

/// An implementation for a struct whose union has faults, so that the compiler does not miss it too.
pub(crate) fn stub(input: &DeriveInput) -> TokenStream {
    let krate = OnType::krate_of(&input.attrs);
    let ident = &input.ident;
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    quote! {
        impl #generics #krate::KubeUnion for #ident #arguments #conditions {
            const UNION: #krate::Declaration = #krate::Declaration {
                discriminator: ::core::option::Option::None,
                deducing: true,
                members: &[],
                values: &[],
                absent: true,
            };
        }
    }
}

/// The schema is written by another derive, which must be told of the union.
fn require_transform(input: &DeriveInput) -> syn::Result<()> {
    let arguments = attributes::arguments(&input.attrs, "schemars");
    if arguments.iter().any(|argument| argument.key == "transform" && argument.last == "kube_union") {
        return Ok(());
    }
    let ident = &input.ident;
    let owner = if input.generics.params.is_empty() { ident.to_string() } else { "Self".to_owned() };
    let message = format!(
        "the schema of `{ident}` would not have the union, since one derive cannot change what `JsonSchema` writes: add \
         `#[schemars(transform = {owner}::kube_union)]` to it"
    );
    Err(syn::Error::new(ident.span(), message))
}

/// The members, and the discriminator if the union has one. All faults at once.
fn parts<'a>(
    fields: &'a [Field<'a>],
    on_type: &OnType,
) -> syn::Result<(Vec<Member>, Option<Discriminator<'a>>)> {
    let mut members: Vec<Member> = Vec::new();
    let mut discriminator = None;
    let mut names = Vec::new();
    let mut faults: Option<syn::Error> = None;
    for field in fields {
        match part(field, on_type, &mut names, &members) {
            Ok(Part::Member(member)) => members.push(member),
            Ok(Part::Discriminator(found)) => discriminator = Some(found),
            Ok(Part::Other) => {}
            Err(fault) => match &mut faults {
                Some(faults) => faults.combine(fault),
                None => faults = Some(fault),
            },
        }
    }
    if let Some(faults) = faults {
        return Err(faults);
    }
    if let (Some(literal), None) = (&on_type.discriminator, &discriminator) {
        let message = missing_discriminator(&literal.value(), &names);
        return Err(syn::Error::new(literal.span(), message));
    }
    if members.is_empty() {
        let message = "a union has members: mark them with `#[kube_union(member)]`";
        return Err(syn::Error::new(on_type.attribute.unwrap_or_else(Span::call_site), message));
    }
    Ok((members, discriminator))
}

/// `names` are the fields so far, each with its name in Rust and on the wire.
fn missing_discriminator(wanted: &str, names: &[(String, String)]) -> String {
    if let Some((_, on_wire)) = names.iter().find(|(in_rust, _)| in_rust == wanted) {
        return format!("the field `{wanted}` is `{on_wire}` on the wire: use that name");
    }
    let names: Vec<String> = names.iter().map(|(_, on_wire)| format!("`{on_wire}`")).collect();
    format!(
        "the struct has no field `{wanted}` to be the discriminator: expected one of {}",
        names.join(", ")
    )
}

enum Part<'a> {
    Member(Member),
    Discriminator(Discriminator<'a>),
    Other,
}

fn part<'a>(
    field: &'a Field<'a>,
    on_type: &OnType,
    names: &mut Vec<(String, String)>,
    members: &[Member],
) -> syn::Result<Part<'a>> {
    let syn::Member::Named(ident) = &field.member else { return Ok(Part::Other) };
    let attrs = &field.original.attrs;
    if field.attrs.flatten() {
        let reason = "its fields are beside the members in the object, and the derive cannot see whether one of them is a \
                      member or has the name of one";
        attributes::refuse(attrs, "serde", &["flatten"], reason)?;
    }
    let name = names::on_wire(field.attrs.name(), ident.span())?;
    names.push((ident.unraw().to_string(), name.clone()));
    let on_field = OnField::read(attrs)?;
    let is_discriminator = on_type.discriminator.as_ref().is_some_and(|literal| literal.value() == name);
    if on_field.member.is_none() && !is_discriminator {
        return Ok(Part::Other);
    }
    let reason = "the union needs the field, under the name that serde gives it";
    attributes::refuse(attrs, "serde", &["skip", "skip_serializing", "skip_deserializing"], reason)?;
    attributes::refuse(
        attrs,
        "schemars",
        &["rename", "skip", "skip_serializing", "skip_deserializing"],
        reason,
    )?;
    let Some(member) = on_field.member else {
        let span = on_type.discriminator.as_ref().map_or_else(Span::call_site, syn::LitStr::span);
        let has_default = !matches!(field.attrs.default(), SerdeDefault::None);
        return Ok(Part::Discriminator(Discriminator { name, ty: field.ty, has_default, span }));
    };
    if is_discriminator {
        return Err(syn::Error::new(member.span(), "the discriminator of a union is not one of its members"));
    }
    if names::in_option(field.ty).is_none() {
        let ty = field.ty.to_token_stream();
        let message = format!("a member may be missing: expected `Option<{ty}>`, got `{ty}`");
        return Err(syn::Error::new_spanned(field.ty, message));
    }
    let span = on_field.value.as_ref().map_or(member.span(), syn::LitStr::span);
    let value = match on_field.value {
        Some(literal) => literal.value(),
        None => RenameRule::PascalCase.apply_to_field(&ident.unraw().to_string()),
    };
    if let Some(other) = members.iter().find(|other| other.value == value) {
        let message = format!("`{value}` selects `{}` already: two members need two values", other.field);
        return Err(syn::Error::new(span, message));
    }
    match on_field.optional {
        Some(optional) if on_type.deducing => {
            let message = "the list form of `x-kubernetes-unions`, which a union that deduces has, cannot say this: leave out \
                           `optional`";
            Err(syn::Error::new(optional.span(), message))
        }
        optional => Ok(Part::Member(Member { field: name, value, optional: optional.is_some(), span })),
    }
}

/// The values of the discriminator are compared with the members by a constant outside the type, which does not know
/// type parameters.
fn refuse_generic(discriminator: &Discriminator<'_>, generics: &Generics) -> syn::Result<()> {
    fn names(tokens: TokenStream, parameter: &Ident) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == *parameter,
            TokenTree::Group(group) => names(group.stream(), parameter),
            _ => false,
        })
    }
    let tokens = discriminator.ty.to_token_stream();
    match generics.type_params().find(|parameter| names(tokens.clone(), &parameter.ident)) {
        None => Ok(()),
        Some(parameter) => {
            let message = format!(
                "the type of a discriminator cannot depend on `{}`: its values are compared with the members",
                parameter.ident
            );
            Err(syn::Error::new_spanned(discriminator.ty, message))
        }
    }
}

/// Constants that do not compile if the values of the discriminator do not fit the members.
fn checks(
    krate: &TokenStream,
    on_type: &OnType,
    discriminator: &Discriminator<'_>,
    members: &[Member],
) -> TokenStream {
    let Discriminator { name, ty, has_default, span } = discriminator;
    let shown = ty.to_token_stream().to_string().replace(' ', "");
    let private = quote!(#krate::__private);
    let has_values = members.iter().map(|Member { field, value, span, .. }| {
        let message = format!("`{value}`, which selects `{field}`, is not a value of `{name}` (`{shown}`)");
        quote_spanned! {*span=>
            if !#private::has_value::<#ty>(#value) {
                ::core::panic!("{}", #message)
            }
        }
    });
    let values = members.iter().map(|member| &member.value);
    let without_member = quote!(#private::value_without_member::<#ty>(&[#(#values),*]));
    let ends = match on_type.optional {
        _ if on_type.deducing => TokenStream::new(),
        None => {
            let (before, after) = (
                "the value `",
                format!(
                    "` of `{name}` (`{shown}`) selects no member: add the member, or `optional` if no member is valid"
                ),
            );
            let message = format_ident!("MESSAGE");
            quote_spanned! {*span=>
                if let ::core::option::Option::Some(value) = #without_member {
                    let #message = #private::Message::new(&[#before, value, #after]);
                    ::core::panic!("{}", #message.as_str())
                }
            }
        }
        Some(optional) => {
            let message = format!(
                "nothing can say that no member is set: `{name}` is never missing, and every value of `{shown}` selects a \
                 member; leave out `optional`, or make it an `Option`"
            );
            quote_spanned! {optional=>
                let may_be_missing = #has_default || <#ty as #krate::Discriminator>::OPTIONAL;
                if !may_be_missing && #without_member.is_none() {
                    ::core::panic!("{}", #message)
                }
            }
        }
    };
    quote! {
        const _: () = {
            #(#has_values)*
            #ends
        };
    }
}
