//! Arguments of `#[kube_union(...)]` and of the attributes of other derives.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Ident, LitStr, Meta, Path};

const NAME: &str = "kube_union";

/// The arguments on the type: one attribute per union.
#[derive(Default)]
pub(crate) struct OnType {
    pub(crate) unions: Vec<OnUnion>,
    krate: Option<Path>,
}

/// The arguments of one attribute on the type.
pub(crate) struct OnUnion {
    pub(crate) attribute: Span,
    pub(crate) name: Option<LitStr>,
    pub(crate) discriminator: Option<LitStr>,
    pub(crate) optional: Option<Span>,
    pub(crate) deducing: bool,
}

impl OnUnion {
    pub(crate) fn new(attribute: Span) -> Self {
        OnUnion {
            attribute,
            name: None,
            discriminator: None,
            optional: None,
            deducing: false,
        }
    }
}

impl OnType {
    pub(crate) fn read(attrs: &[Attribute]) -> syn::Result<Self> {
        let mut out = OnType::default();
        for attr in ours(attrs) {
            let mut union = OnUnion::new(attr.path().span());
            // An attribute with only the path of the crate declares no union.
            let mut declares = false;
            attr.parse_nested_meta(|meta| {
                let name = name(&meta);
                declares |= name != "crate";
                match name.as_str() {
                    "name" => once(&meta, &mut union.name, |meta| meta.value()?.parse()),
                    "discriminator" => once(&meta, &mut union.discriminator, |meta| meta.value()?.parse()),
                    "optional" => once(&meta, &mut union.optional, flag),
                    "deducing" => {
                        union.deducing = true;
                        flag(&meta).map(|_| ())
                    }
                    "crate" => once(&meta, &mut out.krate, |meta| meta.value()?.parse::<LitStr>()?.parse()),
                    _ => Err(unknown(
                        &meta,
                        "`discriminator = \"...\"`, `optional`, `deducing`, `name = \"...\"` or `crate = \"...\"`",
                    )),
                }
            })?;

            if let (true, Some(optional)) = (union.deducing, union.optional) {
                let message = "a deducing union is always optional, and the list form of `x-kubernetes-unions` cannot \
                               express anything else: remove `optional`";
                return Err(syn::Error::new(optional, message));
            }

            if declares {
                out.unions.push(union);
            }
        }

        Ok(out)
    }

    /// Returns the arguments of a type with a single union.
    pub(crate) fn one(&mut self, ident: &Ident) -> syn::Result<OnUnion> {
        // An enum is one union, so further attributes have nothing to describe.
        if let Some(second) = self.unions.get(1) {
            let message = format!(
                "`{ident}` is a single union: expected all arguments in one attribute, got a second attribute"
            );
            return Err(syn::Error::new(second.attribute, message));
        }

        let union = self
            .unions
            .pop()
            .unwrap_or_else(|| OnUnion::new(ident.span()));
        // Names tell unions of one struct apart.
        match &union.name {
            Some(name) => {
                let message = format!(
                    "`{ident}` is a single union: only a struct with several unions names them"
                );
                Err(syn::Error::new(name.span(), message))
            }
            None => Ok(union),
        }
    }

    /// The path of the crate used by generated code, even if the arguments are invalid.
    pub(crate) fn krate_of(attrs: &[Attribute]) -> TokenStream {
        OnType::read(attrs).unwrap_or_default().krate()
    }

    /// The path of the crate used by generated code.
    pub(crate) fn krate(&self) -> TokenStream {
        self.krate
            .as_ref()
            .map_or_else(|| quote!(::fieldmanager::unions), ToTokens::to_token_stream)
    }
}

/// The arguments on a field of a struct.
#[derive(Default)]
pub(crate) struct OnField {
    pub(crate) member: Option<Ident>,
    pub(crate) value: Option<LitStr>,
    pub(crate) optional: Option<Ident>,
    /// The name of the union.
    pub(crate) union: Option<LitStr>,
}

impl OnField {
    pub(crate) fn read(attrs: &[Attribute]) -> syn::Result<Self> {
        let mut out = OnField::default();
        for attr in ours(attrs) {
            attr.parse_nested_meta(|meta| match name(&meta).as_str() {
                "member" => {
                    once(&meta, &mut out.member, ident)?;
                    value_if_given(&meta, &mut out.value)
                }
                "optional" => once(&meta, &mut out.optional, ident),
                "union" => once(&meta, &mut out.union, |meta| meta.value()?.parse()),
                _ => Err(unknown(
                    &meta,
                    "`member`, `member = \"...\"`, `optional` or `union = \"...\"`",
                )),
            })?;
        }

        // Without `member` the other arguments would have no effect.
        if out.member.is_none() {
            if let Some(optional) = &out.optional {
                let message = "only a member can be `optional`: add `member`";
                return Err(syn::Error::new(optional.span(), message));
            }
            if let Some(union) = &out.union {
                let message = "only a member can have a `union`: add `member`";
                return Err(syn::Error::new(union.span(), message));
            }
        }

        Ok(out)
    }
}

/// The arguments on a variant of an enum.
#[derive(Default)]
pub(crate) struct OnVariant {
    pub(crate) member: Option<LitStr>,
    pub(crate) optional: Option<Ident>,
    pub(crate) value: Option<LitStr>,
    pub(crate) other: Option<Ident>,
}

impl OnVariant {
    pub(crate) fn read(attrs: &[Attribute]) -> syn::Result<Self> {
        let mut out = OnVariant::default();
        for attr in ours(attrs) {
            attr.parse_nested_meta(|meta| match name(&meta).as_str() {
                "member" => once(&meta, &mut out.member, |meta| meta.value()?.parse()),
                "value" => once(&meta, &mut out.value, |meta| meta.value()?.parse()),
                "optional" => once(&meta, &mut out.optional, ident),
                "other" => once(&meta, &mut out.other, ident),
                _ => Err(unknown(
                    &meta,
                    "`member = \"...\"`, `optional`, `value = \"...\"` or `other`",
                )),
            })?;
        }

        Ok(out)
    }
}

fn ours(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident(NAME))
}

/// Returns the first of our attributes, for locations that accept none.
pub(crate) fn first_of_ours(attrs: &[Attribute]) -> Option<&Attribute> {
    ours(attrs).next()
}

fn name(meta: &ParseNestedMeta<'_>) -> String {
    meta.path
        .get_ident()
        .map(|ident| ident.unraw().to_string())
        .unwrap_or_default()
}

fn ident(meta: &ParseNestedMeta<'_>) -> syn::Result<Ident> {
    meta.path.require_ident().cloned()
}

fn flag(meta: &ParseNestedMeta<'_>) -> syn::Result<Span> {
    ident(meta).map(|ident| ident.span())
}

fn value_if_given(meta: &ParseNestedMeta<'_>, to: &mut Option<LitStr>) -> syn::Result<()> {
    if meta.input.peek(syn::Token![=]) {
        *to = Some(meta.value()?.parse()?);
    }
    Ok(())
}

fn once<T>(
    meta: &ParseNestedMeta<'_>,
    to: &mut Option<T>,
    read: impl FnOnce(&ParseNestedMeta<'_>) -> syn::Result<T>,
) -> syn::Result<()> {
    if to.is_some() {
        return Err(meta.error(format_args!("`{}` is specified twice", name(meta))));
    }
    *to = Some(read(meta)?);
    Ok(())
}

fn unknown(meta: &ParseNestedMeta<'_>, accepted: &str) -> syn::Error {
    let found = name(meta);
    meta.error(format_args!(
        "unknown argument `{found}` of `{NAME}`: expected {accepted}"
    ))
}

/// An argument of an attribute of another derive.
pub(crate) struct Argument {
    pub(crate) key: Ident,
    /// The last identifier of the argument, which is the function if the argument is a path to one.
    pub(crate) last: Ident,
}

/// The arguments of an attribute of another derive, such as `schemars`. The values are not parsed, since the other
/// derive defines their syntax.
pub(crate) fn arguments(attrs: &[Attribute], of: &str) -> Vec<Argument> {
    let mut out = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident(of)) {
        let Meta::List(list) = &attr.meta else {
            continue;
        };
        let mut current: Option<Argument> = None;
        // A nested list is a single token, so a comma ends an argument.
        for token in list.tokens.clone() {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ',' => out.extend(current.take()),
                TokenTree::Ident(ident) => match &mut current {
                    Some(argument) => argument.last = ident,
                    None => {
                        current = Some(Argument {
                            key: ident.clone(),
                            last: ident,
                        })
                    }
                },
                _ => {}
            }
        }
        out.extend(current);
    }

    out
}

/// Rejects some arguments of another derive.
pub(crate) fn refuse(
    attrs: &[Attribute],
    of: &str,
    keys: &[&str],
    reason: &str,
) -> syn::Result<()> {
    match arguments(attrs, of)
        .into_iter()
        .find(|argument| keys.iter().any(|key| argument.key == key))
    {
        Some(Argument { key, .. }) => Err(syn::Error::new(
            key.span(),
            format!("`#[{of}({key})]` cannot be used here: {reason}"),
        )),
        None => Ok(()),
    }
}

/// Rejects all but some arguments of another derive.
pub(crate) fn allow_only(
    attrs: &[Attribute],
    of: &str,
    keys: &[&str],
    reason: &str,
) -> syn::Result<()> {
    match arguments(attrs, of)
        .into_iter()
        .find(|argument| keys.iter().all(|key| argument.key != key))
    {
        Some(Argument { key, .. }) => Err(syn::Error::new(
            key.span(),
            format!("`#[{of}({key})]` cannot be used here: {reason}"),
        )),
        None => Ok(()),
    }
}
