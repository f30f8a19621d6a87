//! Corrections of faults and omissions in a document.

use std::collections::BTreeMap;
use std::fmt;

use fieldmanager_schema::internal::{
    AtomDef, FieldDef, MapDef, Scalar, TypeDef, TypeRef, Union, UnionField,
};
use fieldmanager_value::{Error, Value, from_value};
use serde::Deserialize;

/// A file of corrections: a list of entries.
///
/// Every entry has a `reason`, and one of:
///
/// - `default`, the default of each of `fields`, which have the form `TYPE.FIELD`;
/// - `type`, the type of each of `fields`, which the document lacks;
/// - `scalar`, the scalar that replaces the definition of each of `types`;
/// - `union`, the corrections of the only union of each of `types`: the `values` of the discriminator that select
///   members, `emptyMembers`, the members that are `optional`, and whether one member is `required`.
///
/// ```
/// use fieldmanager_bundle::Corrections;
/// assert!(Corrections::from_yaml("[{reason: a union in disguise, types: [Time], scalar: untyped}]").is_ok());
/// assert!(Corrections::from_yaml("[{types: [Time], scalar: untyped}]").is_err());
/// ```
#[derive(Debug)]
pub struct Corrections(Vec<Entry>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    reason: String,
    #[serde(default)]
    fields: Vec<String>,
    default: Option<Value>,
    #[serde(rename = "type")]
    ty: Option<String>,
    #[serde(default)]
    types: Vec<String>,
    scalar: Option<String>,
    union: Option<UnionCorrection>,
}

/// The corrections of a union; omitted parts stay as in the document.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct UnionCorrection {
    values: BTreeMap<String, String>,
    empty_members: Vec<String>,
    optional: Vec<String>,
    required: bool,
}

/// A correction that does not fit the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The index of the entry.
    pub entry: usize,
    /// The type or field.
    pub at: String,
    /// The fault.
    pub message: String,
    /// The reason of the correction.
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "correction {}, \"{}\": {}: {}",
            self.entry, self.reason, self.at, self.message
        )
    }
}

const CHANGES_NOTHING: &str = "the document already has this value, remove the correction";

impl Corrections {
    /// Reads corrections.
    ///
    /// # Errors
    ///
    /// If the input is not YAML or JSON, or not a list of corrections.
    pub fn from_yaml(text: &str) -> Result<Self, Error> {
        let entries: Vec<Entry> = from_value(Value::from_yaml(text)?)?;
        for (i, entry) in entries.iter().enumerate() {
            // An entry with two kinds of correction would have one reason for both.
            let one = match (&entry.default, &entry.ty, &entry.scalar, &entry.union) {
                (Some(_), None, None, None) | (None, Some(_), None, None) => {
                    entry.types.is_empty() && !entry.fields.is_empty()
                }
                (None, None, Some(_), None) | (None, None, None, Some(_)) => {
                    entry.fields.is_empty() && !entry.types.is_empty()
                }
                _ => false,
            };

            if !one {
                let message = format!(
                    "entry {i}: expected `fields` with `default` or `type`, or `types` with `scalar` or `union`"
                );
                return Err(Error::Conversion { message });
            }
        }

        Ok(Corrections(entries))
    }

    /// Applies the corrections.
    ///
    /// # Errors
    ///
    /// Every correction that changes nothing, or names a type, field or member that does not exist.
    pub(crate) fn apply(&self, types: &mut [TypeDef]) -> Result<(), Vec<Fault>> {
        let mut faults = Vec::new();
        for (i, entry) in self.0.iter().enumerate() {
            // All faults are collected, because a new release usually makes several corrections obsolete.
            for at in entry.fields.iter().chain(&entry.types) {
                if let Err(message) = entry.apply(types, at) {
                    let reason = entry.reason.clone();
                    faults.push(Fault {
                        entry: i,
                        at: at.clone(),
                        message,
                        reason,
                    });
                }
            }
        }

        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }
}

impl Entry {
    fn apply(&self, types: &mut [TypeDef], at: &str) -> Result<(), String> {
        if let Some(default) = &self.default {
            let field = field(types, at)?;
            return replace(&mut field.default, Some(default.clone()));
        }
        if let Some(name) = &self.ty {
            return add_field(types, at, name);
        }

        // A scalar replaces the whole type, with its fields and unions.
        if let Some(name) = &self.scalar {
            let scalar = Scalar::ALL.into_iter().find(|scalar| scalar.name() == name);
            let scalar = scalar.ok_or_else(|| format!("unknown scalar `{name}`"))?;
            let atom = AtomDef {
                scalar: Some(scalar),
                ..AtomDef::default()
            };
            return replace(&mut find(types, at)?.atom, atom);
        }

        match &self.union {
            Some(correction) => correction.apply(union(types, at)?),
            None => Ok(()),
        }
    }
}

impl UnionCorrection {
    fn apply(&self, union: &mut Union) -> Result<(), String> {
        for (field, value) in &self.values {
            let member = member(union, field)?;
            replace(&mut member.value, value.as_str().into())
                .map_err(|e| format!("value of `{field}`: {e}"))?;
        }

        for field in &self.optional {
            let member = member(union, field)?;
            replace(&mut member.optional, true).map_err(|e| format!("optional `{field}`: {e}"))?;
        }
        for value in &self.empty_members {
            if union.declares(value) {
                return Err(format!("empty member `{value}`: {CHANGES_NOTHING}"));
            }
            union.empty_members.push(value.as_str().into());
        }

        if self.required {
            replace(&mut union.required, true).map_err(|e| format!("required: {e}"))?;
        }
        Ok(())
    }
}

fn replace<T: PartialEq>(old: &mut T, new: T) -> Result<(), String> {
    if *old == new {
        return Err(CHANGES_NOTHING.to_owned());
    }
    *old = new;
    Ok(())
}

fn find<'t>(types: &'t mut [TypeDef], name: &str) -> Result<&'t mut TypeDef, String> {
    types
        .iter_mut()
        .find(|def| def.name == name)
        .ok_or_else(|| format!("there is no type `{name}`"))
}

fn map<'t>(types: &'t mut [TypeDef], name: &str) -> Result<&'t mut MapDef, String> {
    find(types, name)?
        .atom
        .map
        .as_deref_mut()
        .ok_or_else(|| format!("`{name}` has no fields"))
}

fn field<'t>(types: &'t mut [TypeDef], at: &str) -> Result<&'t mut FieldDef, String> {
    let (ty, name) = at.rsplit_once('.').ok_or("expected TYPE.FIELD")?;
    let fields = &mut map(types, ty)?.fields;
    fields
        .iter_mut()
        .find(|field| field.name == name)
        .ok_or_else(|| format!("`{ty}` has no field `{name}`"))
}

fn add_field(types: &mut [TypeDef], at: &str, named: &str) -> Result<(), String> {
    find(types, named)?;
    let (ty, name) = at.rsplit_once('.').ok_or("expected TYPE.FIELD")?;
    let fields = &mut map(types, ty)?.fields;
    // The fields of a type are sorted by name, and must stay so.
    match fields.binary_search_by(|field| field.name.as_str().cmp(name)) {
        Ok(_) => Err(CHANGES_NOTHING.to_owned()),
        Err(position) => {
            let ty = TypeRef {
                named: Some(named.into()),
                ..TypeRef::default()
            };
            fields.insert(
                position,
                FieldDef {
                    name: name.into(),
                    ty,
                    default: None,
                },
            );

            Ok(())
        }
    }
}

fn union<'t>(types: &'t mut [TypeDef], name: &str) -> Result<&'t mut Union, String> {
    match map(types, name)?.unions.as_mut_slice() {
        [union] => Ok(union),
        unions => Err(format!(
            "`{name}` has {} unions, expected one",
            unions.len()
        )),
    }
}

fn member<'u>(union: &'u mut Union, field: &str) -> Result<&'u mut UnionField, String> {
    let found = union.fields.iter_mut().find(|member| member.field == field);
    found.ok_or_else(|| format!("the union has no member `{field}`"))
}
