//! Structs whose fields are the members of a union.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use serde_derive_internals::ast::{Data, Field, Style};
use serde_derive_internals::attr::{Default as SerdeDefault, RenameRule};
use syn::ext::IdentExt;
use syn::{DeriveInput, Generics, LitStr, Type};

use crate::attributes::{self, OnField, OnType, OnUnion};
use crate::names;

struct StructMember {
    field: String,
    value: String,
    optional: bool,
    /// The span of the attribute.
    span: Span,
}

struct Discriminator<'a> {
    name: String,
    ty: &'a Type,
    has_default: bool,
    /// The span of the argument that names the discriminator.
    span: Span,
}

/// A union that is assembled field by field.
struct StructUnion<'a> {
    on: &'a OnUnion,
    discriminator: Option<Discriminator<'a>>,
    members: Vec<StructMember>,
}

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let on_type = OnType::read(&input.attrs)?;
    check_unions(&on_type, input.ident.span())?;
    let container = names::container(input)?;
    let Data::Struct(Style::Struct, fields) = &container.data else {
        let message = "the members of a union are named fields: expected a struct with named fields, or an enum";
        return Err(syn::Error::new(input.ident.span(), message));
    };

    // Another derive generates the schema, so its attributes must agree with the declaration.
    require_transform(input)?;
    let reason = "the union uses the names of serde, which would differ from those of the schema";
    attributes::refuse(&input.attrs, "schemars", &["rename_all"], reason)?;
    let unions = parts(fields, &on_type)?;
    for discriminator in unions
        .iter()
        .filter_map(|union| union.discriminator.as_ref())
    {
        refuse_generic(discriminator, &input.generics)?;
    }

    let krate = on_type.krate();
    let ident = &input.ident;
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    let checks = unions.iter().filter_map(|union| {
        let discriminator = union.discriminator.as_ref()?;
        Some(checks(&krate, union.on, discriminator, &union.members))
    });
    let declarations = unions.iter().map(|union| declaration(&krate, union));

    Ok(quote! {
        #[automatically_derived]
        impl #generics #krate::KubeUnion for #ident #arguments #conditions {
            const UNIONS: &'static [#krate::Declaration] = &[#(#declarations),*];
        }
        #(#checks)*
    })
}

/// Checks that each attribute declares a union, and that several unions have distinct names.
fn check_unions(on_type: &OnType, ident: Span) -> syn::Result<()> {
    let expected = "expected `#[kube_union(discriminator = \"...\")]` with the name of the field that selects the \
                    member, or `#[kube_union(deducing)]` for a union without such a field";
    if on_type.unions.is_empty() {
        return Err(syn::Error::new(ident, expected));
    }
    let mut names: Vec<String> = Vec::new();

    for union in &on_type.unions {
        if union.discriminator.is_none() && !union.deducing {
            return Err(syn::Error::new(union.attribute, expected));
        }
        match &union.name {
            None if on_type.unions.len() > 1 => {
                let message = "each attribute declares a union, and several unions must be named: add `name = \"...\"`, and \
                               `union = \"...\"` to its members";
                return Err(syn::Error::new(union.attribute, message));
            }
            Some(name) if names.contains(&name.value()) => {
                let message = format!("`{}` is already the name of another union", name.value());
                return Err(syn::Error::new(name.span(), message));
            }
            name => names.extend(name.as_ref().map(LitStr::value)),
        }
    }

    Ok(())
}

fn declaration(krate: &TokenStream, union: &StructUnion<'_>) -> TokenStream {
    let (name, values, absent) = match &union.discriminator {
        None => (
            quote!(::core::option::Option::None),
            quote!(&[]),
            quote!(true),
        ),
        Some(Discriminator {
            name,
            ty,
            has_default,
            ..
        }) => {
            // A client may leave out what the API server deduces. Any other discriminator needs a value when it is
            // absent: a default, or an optional type.
            let absent = if union.on.deducing {
                quote!(true)
            } else if union.on.optional.is_some() {
                quote!(#has_default || <#ty as #krate::Discriminator>::OPTIONAL)
            } else {
                quote!(false)
            };
            let values = quote!(<#ty as #krate::Discriminator>::VALUES);
            (quote!(::core::option::Option::Some(#name)), values, absent)
        }
    };

    let deducing = union.on.deducing;
    let members = union.members.iter().map(
        |StructMember {
             field,
             value,
             optional,
             ..
         }| {
            quote!(#krate::Member { field: #field, value: #value, optional: #optional })
        },
    );
    quote! {
        #krate::Declaration {
            discriminator: #name,
            deducing: #deducing,
            members: &[#(#members),*],
            values: #values,
            absent: #absent,
        }
    }
}

/// An implementation for a struct with an invalid union, to avoid further compiler errors about a missing one.
pub(crate) fn stub(input: &DeriveInput) -> TokenStream {
    let krate = OnType::krate_of(&input.attrs);
    let ident = &input.ident;
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    quote! {
        impl #generics #krate::KubeUnion for #ident #arguments #conditions {
            const UNIONS: &'static [#krate::Declaration] = &[];
        }
    }
}

/// The schema is generated by another derive, which must be told to add the union.
fn require_transform(input: &DeriveInput) -> syn::Result<()> {
    let arguments = attributes::arguments(&input.attrs, "schemars");
    if arguments
        .iter()
        .any(|argument| argument.key == "transform" && argument.last == "kube_union")
    {
        return Ok(());
    }

    let ident = &input.ident;
    let owner = if input.generics.params.is_empty() {
        ident.to_string()
    } else {
        "Self".to_owned()
    };
    let message = format!(
        "the schema of `{ident}` would lack the union, since this derive cannot change the output of `JsonSchema`: add \
         `#[schemars(transform = {owner}::kube_union)]`"
    );

    Err(syn::Error::new(ident.span(), message))
}

/// Returns the unions with their members and discriminators, or all errors.
fn parts<'a>(fields: &'a [Field<'a>], on_type: &'a OnType) -> syn::Result<Vec<StructUnion<'a>>> {
    let unions = on_type.unions.iter().map(|on| StructUnion {
        on,
        discriminator: None,
        members: Vec::new(),
    });
    let mut unions: Vec<StructUnion<'a>> = unions.collect();
    let mut names = Vec::new();
    let mut faults: Option<syn::Error> = None;

    // The faults of all fields are reported together.
    for field in fields {
        if let Err(fault) = part(field, &mut names, &mut unions) {
            match &mut faults {
                Some(faults) => faults.combine(fault),
                None => faults = Some(fault),
            }
        }
    }

    // Only after all fields does a union have its members and its discriminator.
    if let Some(faults) = faults {
        return Err(faults);
    }
    for union in &unions {
        if let (Some(literal), None) = (&union.on.discriminator, &union.discriminator) {
            let message = missing_discriminator(&literal.value(), &names);
            return Err(syn::Error::new(literal.span(), message));
        }
        if union.members.is_empty() {
            let of = union.on.name.as_ref().map_or(String::new(), |name| {
                format!(", union = {:?}", name.value())
            });
            let message =
                format!("a union must have members: mark them with `#[kube_union(member{of})]`");
            return Err(syn::Error::new(union.on.attribute, message));
        }
    }

    Ok(unions)
}

/// `names` contains the name of each field in Rust and in the wire format.
fn missing_discriminator(wanted: &str, names: &[(String, String)]) -> String {
    if let Some((_, on_wire)) = names.iter().find(|(in_rust, _)| in_rust == wanted) {
        return format!(
            "the field `{wanted}` has the name `{on_wire}` in the wire format: use that name"
        );
    }

    let names: Vec<String> = names
        .iter()
        .map(|(_, on_wire)| format!("`{on_wire}`"))
        .collect();
    format!(
        "the struct has no field `{wanted}` for the discriminator: expected one of {}",
        names.join(", ")
    )
}

fn part<'a>(
    field: &'a Field<'a>,
    names: &mut Vec<(String, String)>,
    unions: &mut [StructUnion<'a>],
) -> syn::Result<()> {
    let syn::Member::Named(ident) = &field.member else {
        return Ok(());
    };
    let attrs = &field.original.attrs;
    if field.attrs.flatten() {
        let reason = "its fields are next to the members in the object, and the derive cannot determine whether one of \
                      them is a member or has the name of one";
        attributes::refuse(attrs, "serde", &["flatten"], reason)?;
    }

    let name = names::on_wire(field.attrs.name(), ident.span())?;
    names.push((ident.unraw().to_string(), name.clone()));
    let on_field = OnField::read(attrs)?;
    let discriminates = unions.iter().position(|union| {
        union
            .on
            .discriminator
            .as_ref()
            .is_some_and(|literal| literal.value() == name)
    });
    // Any other field is outside of the union and may have any attributes.
    if on_field.member.is_none() && discriminates.is_none() {
        return Ok(());
    }

    let reason = "the union requires the field, with its name in serde";
    attributes::refuse(
        attrs,
        "serde",
        &["skip", "skip_serializing", "skip_deserializing"],
        reason,
    )?;
    attributes::refuse(
        attrs,
        "schemars",
        &["rename", "skip", "skip_serializing", "skip_deserializing"],
        reason,
    )?;

    let Some(member) = on_field.member.clone() else {
        return discriminator(field, &name, unions);
    };
    if discriminates.is_some() {
        return Err(syn::Error::new(
            member.span(),
            "the discriminator of a union cannot be a member",
        ));
    }

    // At most one member is set, so each may be absent.
    if names::in_option(field.ty).is_none() {
        let ty = field.ty.to_token_stream();
        let message = format!("a member may be absent: expected `Option<{ty}>`, got `{ty}`");
        return Err(syn::Error::new_spanned(field.ty, message));
    }

    let union = union_of(&on_field, &member, unions)?;
    // By default, the value is the name of the field in the case of values in Kubernetes.
    let span = on_field.value.as_ref().map_or(member.span(), LitStr::span);
    let value = match on_field.value {
        Some(literal) => literal.value(),
        None => RenameRule::PascalCase.apply_to_field(&ident.unraw().to_string()),
    };

    // A value selects one member.
    if let Some(other) = union.members.iter().find(|other| other.value == value) {
        let message = format!(
            "`{value}` already selects `{}`: members must have distinct values",
            other.field
        );
        return Err(syn::Error::new(span, message));
    }

    match on_field.optional {
        Some(optional) if union.on.deducing => {
            let message = "the list form of `x-kubernetes-unions`, which a deducing union uses, cannot express this: remove \
                           `optional`";
            Err(syn::Error::new(optional.span(), message))
        }
        optional => {
            union.members.push(StructMember {
                field: name,
                value,
                optional: optional.is_some(),
                span,
            });
            Ok(())
        }
    }
}

/// Adds a discriminator to the union that refers to it.
fn discriminator<'a>(
    field: &'a Field<'a>,
    name: &str,
    unions: &mut [StructUnion<'a>],
) -> syn::Result<()> {
    let has_default = !matches!(field.attrs.default(), SerdeDefault::None);
    let mut first = true;
    for union in unions {
        let Some(literal) = union
            .on
            .discriminator
            .as_ref()
            .filter(|literal| literal.value() == name)
        else {
            continue;
        };
        if !first {
            let message = format!("`{name}` is already the discriminator of another union");
            return Err(syn::Error::new(literal.span(), message));
        }

        first = false;
        let name = name.to_owned();
        union.discriminator = Some(Discriminator {
            name,
            ty: field.ty,
            has_default,
            span: literal.span(),
        });
    }

    Ok(())
}

/// The union of a member: the one that it refers to, which is optional if there is only one.
fn union_of<'u, 'a>(
    on_field: &OnField,
    member: &Ident,
    unions: &'u mut [StructUnion<'a>],
) -> syn::Result<&'u mut StructUnion<'a>> {
    let known = unions.iter().filter_map(|union| union.on.name.as_ref());
    // A member of a struct with several unions has one of these names, which the messages list.
    let known: Vec<String> = known.map(|name| format!("`{}`", name.value())).collect();
    let known = known.join(", ");
    match &on_field.union {
        None => match unions {
            [union] => Ok(union),
            _ => {
                let message = format!(
                    "the struct has several unions: add `union = \"...\"`, with one of {known}"
                );
                Err(syn::Error::new(member.span(), message))
            }
        },
        Some(wanted) => {
            let is_wanted = |union: &&mut StructUnion<'a>| {
                union
                    .on
                    .name
                    .as_ref()
                    .is_some_and(|name| name.value() == wanted.value())
            };

            unions.iter_mut().find(is_wanted).ok_or_else(|| {
                let message = match known.as_str() {
                    "" => "the struct has a single union without a name: remove `union`".to_owned(),
                    known => format!(
                        "the struct has no union `{}`: expected one of {known}",
                        wanted.value()
                    ),
                };
                syn::Error::new(wanted.span(), message)
            })
        }
    }
}

/// Rejects a discriminator with a generic type. A constant outside the type compares its values with the members, and
/// type parameters are not in scope there.
fn refuse_generic(discriminator: &Discriminator<'_>, generics: &Generics) -> syn::Result<()> {
    fn names(tokens: TokenStream, parameter: &Ident) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == *parameter,
            TokenTree::Group(group) => names(group.stream(), parameter),
            _ => false,
        })
    }
    let tokens = discriminator.ty.to_token_stream();

    match generics
        .type_params()
        .find(|parameter| names(tokens.clone(), &parameter.ident))
    {
        None => Ok(()),
        Some(parameter) => {
            let message = format!(
                "the type of a discriminator cannot depend on `{}`: its values are compared with the members at \
                 compile time",
                parameter.ident
            );
            Err(syn::Error::new_spanned(discriminator.ty, message))
        }
    }
}

/// Generates constants that fail to compile if the values of the discriminator do not match the members.
fn checks(
    krate: &TokenStream,
    on_union: &OnUnion,
    discriminator: &Discriminator<'_>,
    members: &[StructMember],
) -> TokenStream {
    let Discriminator {
        name,
        ty,
        has_default,
        span,
    } = discriminator;
    let shown = ty.to_token_stream().to_string().replace(' ', "");
    let private = quote!(#krate::__private);
    // The macro does not know the values of the discriminator, so constants compare them when the crate is compiled.
    let has_values = members.iter().map(
        |StructMember {
             field, value, span, ..
         }| {
            let message = format!(
                "`{value}`, which selects `{field}`, is not a value of `{name}` (`{shown}`)"
            );
            quote_spanned! {*span=>
                if !#private::has_value::<#ty>(#value) {
                    ::core::panic!("{}", #message)
                }
            }
        },
    );

    let values = members.iter().map(|member| &member.value);
    let without_member = quote!(#private::value_without_member::<#ty>(&[#(#values),*]));
    // Every value must select a member, or the union must be declared optional. A deducing union always is.
    let ends = match on_union.optional {
        _ if on_union.deducing => TokenStream::new(),
        None => {
            let (before, after) = (
                "the value `",
                format!(
                    "` of `{name}` (`{shown}`) selects no member: add the member, or `optional` if the union may have \
                     no member"
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
                "no value means that no member is set: `{name}` is never absent, and every value of `{shown}` selects a \
                 member; remove `optional`, or make the discriminator an `Option`"
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
