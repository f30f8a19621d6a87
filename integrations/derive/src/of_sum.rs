//! Enums with data: sum types whose wire format is a struct with a union.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use serde_derive_internals::ast::{Container, Data, Style, Variant};
use serde_derive_internals::attr::RenameRule;
use syn::ext::IdentExt;
use syn::{Attribute, DeriveInput, Generics, LitStr, Type, parse_quote};

use crate::attributes::{self, OnType, OnUnion, OnVariant};
use crate::names;

/// The default name of the discriminator.
const DISCRIMINATOR: &str = "type";

struct SumMember<'a> {
    ident: &'a Ident,
    /// The Rust name of the field in the wire format.
    wire: Ident,
    field: String,
    value: String,
    /// The type, without the `Option` of an optional member.
    inner: &'a Type,
    optional: bool,
    attrs: Vec<&'a Attribute>,
}

struct EmptyVariant<'a> {
    ident: &'a Ident,
    value: String,
}

#[derive(Default)]
struct Sum<'a> {
    members: Vec<SumMember<'a>>,
    empty: Vec<EmptyVariant<'a>>,
    other: Option<&'a Ident>,
}

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let mut on_type = OnType::read(&input.attrs)?;
    let on_union = on_type.one(&input.ident)?;
    // The derives of serde and schemars do not see the enum, so attributes that have no effect are refused here.
    let reason = "the derive implements the traits of serde: the names of members can be changed, but not the wire format";
    attributes::allow_only(
        &input.attrs,
        "serde",
        &["rename", "rename_all", "deny_unknown_fields"],
        reason,
    )?;
    attributes::refuse(
        &input.attrs,
        "schemars",
        &["rename_all", "with", "transparent"],
        "the derive defines the wire format",
    )?;

    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "a sum type owns its data: expected no lifetime";
        return Err(syn::Error::new(lifetime.lifetime.span(), message));
    }
    let container = names::container(input)?;
    let discriminator = on_union
        .discriminator
        .as_ref()
        .map_or(DISCRIMINATOR.to_owned(), LitStr::value);
    let sum = variants(&container, &on_union, &discriminator)?;
    let absent = absent(&sum, &on_union)?;
    let parts = SumParts {
        input,
        krate: on_type.krate(),
        sum: &sum,
        discriminator: &discriminator,
        absent,
    };

    let union = parts.union(&on_union);
    let wire = parts.wire(&on_union, &container);
    let read = parts.read();
    let write = parts.write();
    let schema = parts.schema();
    // Inside of a constant, the wire struct has no name that others can use.
    Ok(quote! {
        #union
        const _: () = {
            #wire
            #read
            #write
            #schema
        };
    })
}

/// Returns the variants, or all errors.
fn variants<'a>(
    container: &'a Container<'a>,
    on_union: &OnUnion,
    discriminator: &str,
) -> syn::Result<Sum<'a>> {
    let mut sum = Sum::default();
    let mut faults: Option<syn::Error> = None;
    let Data::Enum(variants) = &container.data else {
        return Err(syn::Error::new(container.ident.span(), "expected an enum"));
    };
    // A rule of serde replaces the default names of members.
    let renames = container.attrs.rename_all_rules().serialize != RenameRule::None;

    // The faults of all variants are reported together.
    for variant in variants {
        if let Err(fault) = part(variant, on_union, renames, discriminator, &mut sum) {
            match &mut faults {
                Some(faults) => faults.combine(fault),
                None => faults = Some(fault),
            }
        }
    }

    match faults {
        Some(faults) => Err(faults),
        None if sum.members.is_empty() => {
            let message =
                "a union must have members: expected a variant with data, such as `Git(Git)`";
            Err(syn::Error::new(container.ident.span(), message))
        }
        None => Ok(sum),
    }
}

fn part<'a>(
    variant: &'a Variant<'a>,
    on_union: &OnUnion,
    renames: bool,
    discriminator: &str,
    sum: &mut Sum<'a>,
) -> syn::Result<()> {
    let attrs = &variant.original.attrs;
    let ident = &variant.original.ident;
    let on_variant = OnVariant::read(attrs)?;
    let reason = "a variant is a field of the wire format, with its name in serde";
    attributes::allow_only(attrs, "serde", &["rename", "alias"], reason)?;
    attributes::refuse(attrs, "schemars", &["rename", "skip", "with"], reason)?;
    let misplaced = |given: Option<Span>, message: &str| match given {
        Some(span) => Err(syn::Error::new(span, message)),
        None => Ok(()),
    };
    // A value selects one variant when an object is read.
    let value_is_taken = |value: &str, span: Span| {
        let member = sum
            .members
            .iter()
            .find(|member| member.value == value)
            .map(|member| member.ident);
        let empty = sum
            .empty
            .iter()
            .find(|empty| empty.value == value)
            .map(|empty| empty.ident);

        match member.or(empty) {
            Some(other) => {
                let message = format!(
                    "`{value}` is already the value of `{other}`: variants must have distinct values"
                );
                Err(syn::Error::new(span, message))
            }
            None => Ok(()),
        }
    };

    // An unknown value is kept, so that an object that was read can be written back.
    if let Some(other) = &on_variant.other {
        let message = "the variant for other values has no value of its own";
        misplaced(
            on_variant
                .value
                .as_ref()
                .or(on_variant.member.as_ref())
                .map(LitStr::span),
            message,
        )?;
        misplaced(on_variant.optional.as_ref().map(Ident::span), message)?;
        let is_string = matches!(variant.fields.as_slice(), [field] if matches!(variant.style, Style::Newtype)
            && matches!(field.ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "String")));

        if !is_string {
            let message =
                format!("the variant stores the unknown value: expected `{ident}(String)`");
            return Err(syn::Error::new(other.span(), message));
        }

        if let Some(first) = sum.other.replace(ident) {
            let message = format!("`{first}` is already the variant for other values");
            return Err(syn::Error::new(other.span(), message));
        }
        return Ok(());
    }

    match (&variant.style, variant.fields.as_slice()) {
        (Style::Unit, _) => {
            let message =
                "a variant without data is not a member: set its value with `value = \"...\"`";
            misplaced(on_variant.member.as_ref().map(LitStr::span), message)?;
            misplaced(
                on_variant.optional.as_ref().map(Ident::span),
                "a variant without data is not a member",
            )?;
            let span = on_variant.value.as_ref().map_or(ident.span(), LitStr::span);
            let value = on_variant
                .value
                .map_or_else(|| ident.unraw().to_string(), |literal| literal.value());
            value_is_taken(&value, span)?;
            sum.empty.push(EmptyVariant { ident, value });

            Ok(())
        }
        (Style::Newtype, [field]) => {
            let message = "a variant with data is a member: set its value with `member = \"...\"`";
            misplaced(on_variant.value.as_ref().map(LitStr::span), message)?;
            attributes::allow_only(
                &field.original.attrs,
                "serde",
                &[],
                "the derive implements the traits of serde",
            )?;
            attributes::allow_only(
                &field.original.attrs,
                "schemars",
                &[],
                "it must be on the variant",
            )?;

            // Only an `Option` can express that a selected member is absent, and only an optional member may be.
            let inner = match (names::in_option(field.ty), &on_variant.optional) {
                (Some(_), None) => {
                    let message = "only an optional member may be selected without being set: add \
                                   `#[kube_union(optional)]`, or remove the `Option`";
                    return Err(syn::Error::new_spanned(field.ty, message));
                }
                (None, Some(optional)) => {
                    let ty = field.ty.to_token_stream();
                    let message = format!(
                        "an optional member may be absent: expected `{ident}(Option<{ty}>)`"
                    );
                    return Err(syn::Error::new(optional.span(), message));
                }
                (Some(_), Some(optional)) if on_union.deducing => {
                    let message = "the list form of `x-kubernetes-unions`, which a deducing union uses, cannot express \
                                   this: remove `optional`";
                    return Err(syn::Error::new(optional.span(), message));
                }
                (Some(inner), Some(_)) => inner,
                (None, None) => field.ty,
            };

            // A variant is a field of the wire format, so its default name is in camel case.
            let name = names::on_wire(variant.attrs.name(), ident.span())?;
            let is_named = renames
                || attributes::arguments(attrs, "serde")
                    .iter()
                    .any(|it| it.key == "rename");
            let name = if is_named {
                name
            } else {
                RenameRule::CamelCase.apply_to_variant(&name)
            };

            // The discriminator and all members are fields of one object, so their names differ.
            if name == discriminator {
                let message = format!(
                    "`{name}` is the discriminator: rename the member with `#[serde(rename)]`"
                );
                return Err(syn::Error::new(ident.span(), message));
            }

            if let Some(other) = sum.members.iter().find(|other| other.field == name) {
                let message = format!("`{name}` is already the field of `{}`", other.ident);
                return Err(syn::Error::new(ident.span(), message));
            }
            let span = on_variant
                .member
                .as_ref()
                .map_or(ident.span(), LitStr::span);
            let value = on_variant
                .member
                .map_or_else(|| ident.unraw().to_string(), |literal| literal.value());
            value_is_taken(&value, span)?;

            // The wire struct has the schema, so attributes about the schema and the documentation belong to its
            // fields.
            let passed = |attr: &&Attribute| {
                ["doc", "schemars", "deprecated"]
                    .iter()
                    .any(|name| attr.path().is_ident(name))
            };
            sum.members.push(SumMember {
                ident,
                wire: format_ident!("member_{}", sum.members.len()),
                field: name,
                value,
                inner,
                optional: on_variant.optional.is_some(),
                attrs: attrs.iter().filter(passed).collect(),
            });

            Ok(())
        }
        _ => {
            let message = format!(
                "a member is one field of the wire format: expected `{ident}(T)` with a type that has these fields"
            );
            Err(syn::Error::new(ident.span(), message))
        }
    }
}

/// Returns the variant selected by an absent discriminator.
fn absent(sum: &Sum<'_>, on_union: &OnUnion) -> syn::Result<Option<usize>> {
    let found = match sum.empty.as_slice() {
        [_] => Some(0),
        several => several.iter().position(|empty| empty.value.is_empty()),
    };
    match on_union.optional {
        Some(optional) if found.is_none() => {
            let message = "an object without a discriminator needs a variant: expected one without data or, of several such \
                           variants, one with `#[kube_union(value = \"\")]`";
            Err(syn::Error::new(optional, message))
        }
        Some(_) => Ok(found),
        None => Ok(found.filter(|_| on_union.deducing)),
    }
}

struct SumParts<'a> {
    input: &'a DeriveInput,
    krate: TokenStream,
    sum: &'a Sum<'a>,
    discriminator: &'a str,
    absent: Option<usize>,
}

impl SumParts<'_> {
    fn wire_ident(&self) -> Ident {
        format_ident!("{}Wire", self.input.ident.unraw())
    }

    fn serde(&self) -> TokenStream {
        let krate = &self.krate;
        quote!(#krate::__private::serde)
    }

    fn schemars(&self) -> TokenStream {
        let krate = &self.krate;
        quote!(#krate::__private::schemars)
    }

    /// The generics of the enum, with a bound for each type parameter.
    fn bounded(&self, bound: &TokenStream) -> Generics {
        let mut generics = self.input.generics.clone();
        for parameter in generics.type_params_mut() {
            parameter.bounds.push(parse_quote!(#bound));
        }
        generics
    }

    fn union(&self, on_union: &OnUnion) -> TokenStream {
        let SumParts {
            input,
            krate,
            sum,
            discriminator,
            absent,
        } = self;
        let ident = &input.ident;
        let (generics, arguments, conditions) = input.generics.split_for_impl();
        let deducing = on_union.deducing;
        // The API server sets the discriminator of a deducing union, so a client may leave it out.
        let may_be_absent = deducing || absent.is_some();
        let members = sum.members.iter().map(
            |SumMember {
                 field,
                 value,
                 optional,
                 ..
             }| {
                quote!(#krate::Member { field: #field, value: #value, optional: #optional })
            },
        );

        // The schema restricts the discriminator to these values.
        let values = sum.members.iter().map(|member| &member.value);
        let values = values.chain(sum.empty.iter().map(|empty| &empty.value));
        quote! {
            #[automatically_derived]
            impl #generics #krate::KubeUnion for #ident #arguments #conditions {
                const UNIONS: &'static [#krate::Declaration] = &[#krate::Declaration {
                    discriminator: ::core::option::Option::Some(#discriminator),
                    deducing: #deducing,
                    members: &[#(#members),*],
                    values: &[#(#values),*],
                    absent: #may_be_absent,
                }];

                fn kube_union(schema: &mut #krate::__private::schemars::Schema) {
                    for union in Self::UNIONS {
                        union.extend_sum(schema);
                    }
                }
            }
        }
    }

    /// Generates the struct that is deserialized, and whose schema is that of the enum.
    fn wire(&self, on_union: &OnUnion, container: &Container<'_>) -> TokenStream {
        let SumParts {
            input,
            krate,
            sum,
            discriminator,
            absent,
        } = self;
        let (ident, wire) = (&input.ident, self.wire_ident());
        let (generics, conditions) = (&input.generics, &input.generics.where_clause);
        let (_, arguments, _) = input.generics.split_for_impl();
        // The attributes take paths as strings, in which tokens have blanks.
        let (serde, schemars) = (self.serde().to_string(), self.schemars().to_string());
        let (serde, schemars) = (serde.replace(' ', ""), schemars.replace(' ', ""));

        let name = container.attrs.name().serialize_name().value.clone();
        let passed =
            |attr: &&Attribute| attr.path().is_ident("doc") || attr.path().is_ident("schemars");
        let attrs = input.attrs.iter().filter(passed);
        let deny = container
            .attrs
            .deny_unknown_fields()
            .then(|| quote!(#[serde(deny_unknown_fields)]));
        let has_name = attributes::arguments(&input.attrs, "schemars")
            .iter()
            .any(|it| it.key == "rename");
        let types: Vec<&Ident> = input
            .generics
            .type_params()
            .map(|parameter| &parameter.ident)
            .collect();

        // Each instance of a generic type has its own schema, so the name contains its types.
        let generic_name = (!has_name && !types.is_empty()).then(|| {
            let types: Vec<String> = types.iter().map(|ty| format!("{{{ty}}}")).collect();
            let name = format!("{name}_for_{}", types.join("_and_"));
            quote!(#[schemars(rename = #name)])
        });

        // By default, serde would require `T: Default`, because members have a default.
        let bounds = (!types.is_empty()).then(|| {
            let bounds: Vec<String> = types
                .iter()
                .map(|ty| format!("{ty}: {serde}::Deserialize<'de>"))
                .collect();
            let bounds = bounds.join(", ");
            quote!(#[serde(bound(deserialize = #bounds))])
        });
        let may_be_absent = on_union.deducing || absent.is_some();
        // At most one member is present, so each may be missing.
        let missing =
            quote!(#[serde(default, skip_serializing_if = "::core::option::Option::is_none")]);
        let missing_discriminator = may_be_absent.then_some(&missing);

        let aliases = |ident: &Ident| self.aliases(container, ident);
        let members = sum.members.iter().map(|member| {
            let SumMember {
                wire,
                field,
                inner,
                attrs,
                ..
            } = member;
            let ty = inner.to_token_stream().to_string();
            let aliases = aliases(member.ident);
            quote! {
                #(#attrs)*
                #[serde(rename = #field #(, alias = #aliases)*)]
                #missing
                #[schemars(with = #ty)]
                #wire: ::core::option::Option<#inner>
            }
        });

        quote! {
            #[derive(#krate::__private::serde::Deserialize, #krate::__private::schemars::JsonSchema)]
            #(#attrs)*
            #[serde(crate = #serde, rename = #name)]
            #deny
            #bounds
            #[schemars(crate = #schemars, transform = <#ident #arguments as #krate::KubeUnion>::kube_union)]
            #generic_name
            struct #wire #generics #conditions {
                #[serde(rename = #discriminator)]
                #missing_discriminator
                #[schemars(with = "::std::string::String")]
                discriminator: ::core::option::Option<::std::string::String>,
                #(#members,)*
            }
        }
    }

    fn aliases(&self, container: &Container<'_>, ident: &Ident) -> Vec<String> {
        let Data::Enum(variants) = &container.data else {
            return Vec::new();
        };
        let variant = variants
            .iter()
            .find(|variant| variant.original.ident == *ident);

        // The list of aliases always contains the name of the variant itself.
        let own = variant.map(|variant| &variant.attrs.name().deserialize_name().value);
        let aliases = variant
            .into_iter()
            .flat_map(|variant| variant.attrs.aliases());
        aliases
            .map(|alias| alias.value.clone())
            .filter(|alias| Some(alias) != own)
            .collect()
    }

    fn read(&self) -> TokenStream {
        let SumParts {
            input,
            krate,
            sum,
            absent,
            ..
        } = self;
        let (ident, wire, serde) = (&input.ident, self.wire_ident(), self.serde());
        // The prefix keeps the lifetime apart from the parameters of the enum.
        let mut generics = self.bounded(&quote!(#serde::Deserialize<'__de>));
        generics.params.insert(0, parse_quote!('__de));
        let (generics, _, conditions) = generics.split_for_impl();
        let (_, arguments, _) = input.generics.split_for_impl();

        // The members that are present are known before one of them is moved out of the wire struct.
        let set = sum
            .members
            .iter()
            .map(|SumMember { wire, .. }| quote!(wire.#wire.is_some()));
        let values = sum.empty.iter().map(|empty| &empty.value);
        let has_other = sum.other.is_some();
        let absent = match absent {
            Some(index) => quote!(::core::option::Option::Some(#index)),
            None => quote!(::core::option::Option::None),
        };
        let members = sum.members.iter().enumerate().map(
            |(
                index,
                SumMember {
                    ident,
                    wire,
                    optional,
                    ..
                },
            )| {
                if *optional {
                    return quote!(Selected::Member(#index) => return Ok(Self::#ident(wire.#wire)),);
                }
                quote! {
                    Selected::Member(#index) => if let Some(member) = wire.#wire {
                        return Ok(Self::#ident(member));
                    },
                }
            },
        );

        let empty =
            sum.empty.iter().enumerate().map(
                |(index, EmptyVariant { ident, .. })| quote!(Selected::Empty(#index) => return Ok(Self::#ident),),
            );
        let other = sum.other.map(|ident| {
            quote!(Selected::Other => return Ok(Self::#ident(wire.discriminator.unwrap_or_default())),)
        });
        quote! {
            #[automatically_derived]
            impl #generics #serde::Deserialize<'__de> for #ident #arguments #conditions {
                fn deserialize<__D>(deserializer: __D) -> ::core::result::Result<Self, __D::Error>
                where
                    __D: #serde::Deserializer<'__de>,
                {
                    use #krate::__private::Selected;
                    use ::core::{option::Option::Some, result::Result::{Err, Ok}};
                    let wire = <#wire #arguments as #serde::Deserialize>::deserialize(deserializer)?;
                    let value = wire.discriminator.as_deref();
                    // A sum type has exactly one union.
                    if let Some(union) = <Self as #krate::KubeUnion>::UNIONS.first() {
                        let selected = union.select(value, &[#(#set),*], &[#(#values),*], #absent, #has_other);
                        match selected.map_err(<__D::Error as #serde::de::Error>::custom)? {
                            #(#members)*
                            #(#empty)*
                            #other
                            #[allow(unreachable_patterns)]
                            _ => {}
                        }
                    }
                    // `select` always returns a variant of this type.
                    Err(<__D::Error as #serde::de::Error>::custom("no variant of the union is selected"))
                }
            }
        }
    }

    fn write(&self) -> TokenStream {
        let SumParts {
            input,
            sum,
            discriminator,
            ..
        } = self;
        let (ident, serde) = (&input.ident, self.serde());
        let name = input.ident.unraw().to_string();
        let bounded = self.bounded(&quote!(#serde::Serialize));
        let (generics, arguments, conditions) = bounded.split_for_impl();
        // A variant is its discriminator and its member; of an optional member that is absent, only the discriminator
        // is left.
        let members = sum.members.iter().map(
            |SumMember {
                 ident,
                 field,
                 value,
                 optional,
                 ..
             }| {
                let member = if *optional {
                    quote! {
                        if let ::core::option::Option::Some(member) = member {
                            object.serialize_field(#field, member)?;
                        }
                    }
                } else {
                    quote!(object.serialize_field(#field, member)?;)
                };
                // Some formats need the number of fields before the fields.
                let length = if *optional {
                    quote!(if member.is_some() { 2 } else { 1 })
                } else {
                    quote!(2)
                };

                quote! {
                    Self::#ident(member) => {
                        let mut object = serializer.serialize_struct(#name, #length)?;
                        object.serialize_field(#discriminator, #value)?;
                        #member
                        object.end()
                    }
                }
            },
        );

        // Variants without a member write the discriminator alone.
        let alone = |pattern: TokenStream, value: TokenStream| {
            quote! {
                Self::#pattern => {
                    let mut object = serializer.serialize_struct(#name, 1)?;
                    object.serialize_field(#discriminator, #value)?;
                    object.end()
                }
            }
        };
        let empty = sum
            .empty
            .iter()
            .map(|EmptyVariant { ident, value }| alone(quote!(#ident), quote!(#value)));

        let other = sum
            .other
            .map(|ident| alone(quote!(#ident(value)), quote!(value)));
        quote! {
            #[automatically_derived]
            impl #generics #serde::Serialize for #ident #arguments #conditions {
                fn serialize<__S>(&self, serializer: __S) -> ::core::result::Result<__S::Ok, __S::Error>
                where
                    __S: #serde::Serializer,
                {
                    use #serde::ser::SerializeStruct;
                    match self {
                        #(#members)*
                        #(#empty)*
                        #other
                    }
                }
            }
        }
    }

    fn schema(&self) -> TokenStream {
        let (ident, wire, schemars) = (&self.input.ident, self.wire_ident(), self.schemars());
        let bounded = self.bounded(&quote!(#schemars::JsonSchema));
        let (generics, arguments, conditions) = bounded.split_for_impl();
        // The transform of the wire struct adds the union to its schema, which is that of the enum.
        let wire = quote!(<#wire #arguments as #schemars::JsonSchema>);
        quote! {
            #[automatically_derived]
            impl #generics #schemars::JsonSchema for #ident #arguments #conditions {
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    #wire::schema_name()
                }

                fn schema_id() -> ::std::borrow::Cow<'static, str> {
                    #wire::schema_id()
                }

                fn inline_schema() -> bool {
                    #wire::inline_schema()
                }

                fn json_schema(generator: &mut #schemars::SchemaGenerator) -> #schemars::Schema {
                    #wire::json_schema(generator)
                }
            }
        }
    }
}
