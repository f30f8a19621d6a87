//! Builds unions from markers.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::enums::{self, Values};
use super::kubernetes;
use super::marker::Marker;
use super::model::{GoField, GoFields, GoTypeExpr, TypeDecl};
use super::packages::{FileScope, GoTypes, TypeKey};
use crate::fault::{Fault, Position};
use crate::fault::{listed, quoted};

pub(super) const UNION: &str = "union";
pub(super) const DEPRECATED: &str = "unionDeprecated";
pub(super) const DISCRIMINATOR: &str = "unionDiscriminator";
pub(super) const MEMBER: &str = "unionMember";
pub(super) const DISCRIMINATED_BY: &str = "unionDiscriminatedBy";

/// The form of a union in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnionForm {
    /// In the list on the struct, as proposed in 2019.
    List,
    /// On the property of the discriminator, as proposed in 2022.
    Object,
}

/// A union that a struct declares.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) form: UnionForm,
    pub(crate) discriminator: Option<UnionMember>,
    pub(crate) members: Vec<UnionMember>,
    /// The values of the discriminator without a member.
    pub(crate) empty: Vec<String>,
    /// Whether one member must be set.
    pub(crate) required: bool,
}

/// A field of a union.
#[derive(Clone, Debug)]
pub(crate) struct UnionMember {
    pub(crate) json: String,
    /// The value of the discriminator that selects the field.
    pub(crate) value: String,
    pub(crate) optional: bool,
    pub(crate) scope: FileScope,
    /// The position of its marker, or of the field.
    pub(crate) at: Position,
}

/// The discriminator of a union, and its members with their values.
type UnionParts = (Option<String>, Vec<(String, String)>);

impl Declared {
    fn parts(&self) -> UnionParts {
        let mut members: Vec<_> = self
            .members
            .iter()
            .map(|m| (m.json.clone(), m.value.clone()))
            .collect();
        members.sort_unstable();
        (self.discriminator.as_ref().map(|d| d.json.clone()), members)
    }
}

/// The unions of all structs, with faults and warnings.
#[derive(Default)]
pub(super) struct ReadUnions {
    pub(super) unions: BTreeMap<TypeKey, Vec<Declared>>,
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
}

pub(super) fn of_types(types: &GoTypes) -> ReadUnions {
    let mut found = ReadUnions::default();
    for (scope, decl) in types.types() {
        let mut of = MarkedStruct {
            types,
            scope,
            decl,
            faults: Vec::new(),
            warnings: Vec::new(),
        };
        let unions = of.unions();
        found.faults.append(&mut of.faults);
        found.warnings.append(&mut of.warnings);

        if !unions.is_empty() {
            found.unions.insert(
                TypeKey {
                    package: scope.package,
                    name: decl.name.clone(),
                },
                unions,
            );
        }
    }

    found
}

/// The struct whose markers are being processed.
pub(super) struct MarkedStruct<'a> {
    pub(super) types: &'a GoTypes,
    pub(super) scope: FileScope,
    pub(super) decl: &'a TypeDecl,
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
}

impl<'a> MarkedStruct<'a> {
    pub(super) fn fault(&mut self, at: Position, message: impl Into<String>) {
        let fault = self.at(at, message.into());
        self.faults.push(fault);
    }

    fn at(&self, at: Position, message: String) -> Fault {
        Fault {
            file: self.types.path(self.scope).to_owned(),
            at: Some(at),
            message,
        }
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = &'a GoField> + use<'a> {
        let fields = match &self.decl.ty {
            GoTypeExpr::Struct(fields) => Some(fields),
            _ => None,
        };
        fields.into_iter().flat_map(GoFields::iter)
    }

    pub(super) fn member(&self, field: &GoField, at: Position, value: &str) -> Option<UnionMember> {
        let json = field.json.clone()?;
        Some(UnionMember {
            json,
            value: value.to_owned(),
            optional: false,
            scope: self.scope,
            at,
        })
    }

    fn unions(&mut self) -> Vec<Declared> {
        self.check_markers();
        // The markers of 2019 declare one union for the struct, those of 2022 one for each discriminator.
        let of_2019: Vec<Declared> =
            match self.decl.markers.iter().find(|marker| marker.name == UNION) {
                Some(marker) if !matches!(self.decl.ty, GoTypeExpr::Struct(_)) => {
                    self.fault(
                        marker.at,
                        format!("`+union` on `{}`, which is not a struct", self.decl.name),
                    );
                    Vec::new()
                }
                Some(_) => self.whole_struct().into_iter().collect(),
                None => self.deprecated().into_iter().collect(),
            };

        // The discriminator marker is in both generations: beside a union of 2019, it is of 2022 only with a
        // `+unionMember`.
        let has_members = self.fields().any(|field| field.marker(MEMBER).is_some());
        let of_2022 = if of_2019.is_empty() || has_members {
            self.respecting()
        } else {
            Vec::new()
        };
        let mut unions: Vec<Declared> = Vec::new();
        let mut known: HashMap<UnionParts, usize> = HashMap::new();

        for union in of_2019
            .into_iter()
            .chain(of_2022)
            .chain(kubernetes::unions(self))
        {
            // The markers of two generators may describe the same union.
            let at = *known.entry(union.parts()).or_insert(unions.len());
            match unions.get_mut(at) {
                Some(same) => same.required |= union.required,
                None => unions.push(union),
            }
        }

        self.check_distinct(&mut unions);

        unions
    }

    /// Reports unexpected arguments and unknown markers with similar names.
    fn check_markers(&mut self) {
        let known = [UNION, DEPRECATED, DISCRIMINATOR, MEMBER, DISCRIMINATED_BY];
        let decl = self.decl;
        let of_struct = decl.markers.iter().map(|marker| (marker, true));
        let of_fields = self
            .fields()
            .flat_map(|field| field.markers.iter().map(|marker| (marker, false)));

        // A misspelled marker would declare nothing and go unnoticed, so similar names are faults.
        for (marker, on_type) in of_struct.chain(of_fields) {
            let name = marker.name.as_str();
            let takes_nothing = [UNION, DEPRECATED, DISCRIMINATOR].contains(&name);
            if !known.contains(&name) {
                if name.starts_with(UNION) {
                    self.fault(
                        marker.at,
                        format!(
                            "unknown marker `+{name}`: expected one of {}",
                            quoted(known.map(|n| n))
                        ),
                    );
                }
            } else if on_type != (name == UNION) {
                let place = if on_type {
                    "a type: it belongs to a field"
                } else {
                    "a field: it belongs to a struct"
                };
                self.fault(marker.at, format!("`+{name}` on {place}"));
            } else if takes_nothing && !marker.rest.trim().is_empty() {
                self.fault(
                    marker.at,
                    format!("`+{name}` takes no argument, got `{}`", marker.rest.trim()),
                );
            }
        }
    }

    fn check_optional(&mut self, field: &GoField, at: Position) {
        if !field.is_optional() {
            let name = &field.name;
            self.fault(
                at,
                format!(
                    "member `{name}` is required: a member must be optional (`+optional` or `omitempty`)"
                ),
            );
        }
    }

    /// The field with the discriminator marker, of which a union of 2019 has at most one.
    fn only_discriminator(&mut self) -> Option<&'a GoField> {
        let mut all = self
            .fields()
            .filter(|field| field.marker(DISCRIMINATOR).is_some());
        let first = all.next()?;
        for other in all {
            let at = other
                .marker(DISCRIMINATOR)
                .map_or(other.at, |marker| marker.at);
            let message = format!(
                "`{}` is a second discriminator beside `{}`: a struct has one",
                other.name, first.name
            );
            self.fault(at, message);
        }

        if let Values::NotString(found) = enums::of_field(self.types, self.scope, first) {
            self.fault(
                first.at,
                format!(
                    "discriminator `{}` must be a string, got {found}",
                    first.name
                ),
            );
        }

        Some(first)
    }

    fn deducing(&self, discriminator: Option<&GoField>, members: Vec<UnionMember>) -> Declared {
        let discriminator = discriminator.and_then(|field| self.member(field, field.at, ""));
        Declared {
            form: UnionForm::List,
            discriminator,
            members,
            empty: Vec::new(),
            required: false,
        }
    }

    /// `+union` on the struct: all fields but the discriminator are members.
    fn whole_struct(&mut self) -> Option<Declared> {
        let discriminator = self.only_discriminator();
        let mut members = Vec::new();
        // Every field is examined, so that all faults of the struct are reported together.
        for field in self.fields() {
            if field.inlined {
                self.fault(
                    field.at,
                    format!(
                        "`{}` is embedded in a `+union` struct, whose fields are all members",
                        field.name
                    ),
                );
                continue;
            }

            if let Some(marker) = [MEMBER, DEPRECATED]
                .iter()
                .find_map(|name| field.marker(name))
            {
                let (at, name) = (marker.at, &marker.name);
                self.fault(
                    at,
                    format!(
                        "`+{name}` in a `+union` struct, whose fields are all members: remove one of them"
                    ),
                );
            }

            // A discriminator of declarative validation is not a member either, since it selects them.
            let is_discriminator = discriminator.is_some_and(|d| d.name == field.name)
                || field.marker("k8s:unionDiscriminator").is_some();
            if !is_discriminator && let Some(member) = self.member(field, field.at, &field.name) {
                self.check_optional(field, field.at);
                members.push(member);
            }
        }

        // A union without members would have no effect.
        if members.is_empty() {
            self.fault(
                self.decl.at,
                format!("`+union` struct `{}` has no members", self.decl.name),
            );
            return None;
        }

        let discriminator = discriminator.or_else(|| {
            self.fields()
                .find(|f| f.marker("k8s:unionDiscriminator").is_some())
        });
        Some(self.deducing(discriminator, members))
    }

    /// `+unionDeprecated` on fields.
    fn deprecated(&mut self) -> Option<Declared> {
        let mut members = Vec::new();
        for field in self.fields() {
            let Some(marker) = field.marker(DEPRECATED) else {
                continue;
            };
            if field.marker(MEMBER).is_some() || field.marker(DISCRIMINATOR).is_some() {
                self.fault(
                    marker.at,
                    format!(
                        "`{}` has a second marker beside `+{DEPRECATED}`: remove one of them",
                        field.name
                    ),
                );
            }
            self.check_optional(field, marker.at);
            members.extend(self.member(field, marker.at, &field.name));
        }

        // Without such fields, the discriminator of the struct may belong to another form of union.
        if members.is_empty() {
            return None;
        }
        let discriminator = self.only_discriminator();
        Some(self.deducing(discriminator, members))
    }

    /// `+unionMember` on fields: one union per discriminator.
    fn respecting(&mut self) -> Vec<Declared> {
        let discriminators: Vec<(&GoField, &Marker)> = self
            .fields()
            .filter_map(|field| Some((field, field.marker(DISCRIMINATOR)?)))
            .collect();
        let names = quoted(discriminators.iter().map(|(field, _)| field.name.as_str()));
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        for (i, (field, _)) in discriminators.iter().enumerate() {
            by_name.entry(&field.name).or_insert(i);
        }

        let mut members: Vec<Vec<UnionMember>> =
            discriminators.iter().map(|_| Vec::new()).collect();
        // A member with a fault is in no list, so a discriminator without members may only seem to have none.
        let mut given_up = false;
        for field in self.fields() {
            let by = field.marker(DISCRIMINATED_BY);
            let Some(marker) = field.marker(MEMBER) else {
                if let Some(by) = by {
                    self.fault(
                        by.at,
                        format!(
                            "`+{DISCRIMINATED_BY}` on `{}`, which is not a member: `+{MEMBER}` makes it one",
                            field.name
                        ),
                    );
                }
                continue;
            };

            self.check_optional(field, marker.at);
            if field.marker(DISCRIMINATOR).is_some() {
                self.fault(
                    marker.at,
                    format!(
                        "`{}` is both discriminator and member: remove one marker",
                        field.name
                    ),
                );
            }

            let member = self.arguments(field, marker);
            // A single discriminator needs no name. With several, each member names its own.
            let wanted = by.map(|by| by.rest.strip_prefix('=').unwrap_or_default().trim());
            let of = match (discriminators.as_slice(), wanted) {
                ([], _) => {
                    let message = format!(
                        "member `{}` has no discriminator: `+{DISCRIMINATOR}` on a field of the struct makes one",
                        field.name
                    );
                    self.fault(marker.at, message);
                    None
                }
                ([_], None) => Some(0),
                (_, None) => {
                    let message = format!(
                        "member `{}` does not name its union, of which there are several: expected `+{DISCRIMINATED_BY}=` with one of {names}",
                        field.name
                    );
                    self.fault(marker.at, message);
                    None
                }
                (_, Some(wanted)) => {
                    let of = by_name.get(wanted).copied();
                    if of.is_none() {
                        let at = by.map_or(marker.at, |by| by.at);
                        self.fault(
                            at,
                            format!(
                                "`{wanted}` is not a discriminator of the struct: expected one of {names}"
                            ),
                        );
                    }

                    of
                }
            };

            match (of.and_then(|of| members.get_mut(of)), member) {
                (Some(members), Some(member)) => members.push(member),
                _ => given_up = true,
            }
        }

        let mut unions = Vec::new();
        for ((field, marker), members) in discriminators.iter().zip(members) {
            if members.is_empty() {
                // Published APIs have such discriminators, which the generators of Kubernetes ignore.
                if !given_up {
                    let message = format!(
                        "discriminator `{}` has no members and declares no union: `+{MEMBER}` on a field makes a member",
                        field.name
                    );
                    let warning = self.at(marker.at, message);
                    self.warnings.push(warning);
                }
                continue;
            }

            if matches!(*field.ty, GoTypeExpr::Pointer(_)) {
                self.fault(
                    field.at,
                    format!(
                        "discriminator `{}` is a pointer: expected a string type with constants (`+enum`)",
                        field.name
                    ),
                );
            }

            if let Some(union) = self.closed(field, members) {
                // Without a value the discriminator would select nothing, so an absent one needs a default, or "" among
                // its values.
                let defaulted = field.marker("default").is_some()
                    || field.marker("kubebuilder:default").is_some()
                    || union.empty.iter().any(String::is_empty);
                if field.is_optional() && !defaulted {
                    self.fault(field.at, format!("discriminator `{}` is optional: it must be required, have a `+default`, or have the value \"\"", field.name));
                }
                unions.push(union);
            }
        }

        unions
    }

    /// The union of a discriminator with a list of values.
    pub(super) fn closed(
        &mut self,
        field: &GoField,
        members: Vec<UnionMember>,
    ) -> Option<Declared> {
        // The extension lists all values of the discriminator, so their list must be known.
        let expected = "expected a string type with constants (`+enum`)";
        let (mut values, beside) = match enums::of_field(self.types, self.scope, field) {
            Values::Closed(values, beside) => (values, beside),
            Values::Open => {
                self.fault(
                    field.at,
                    format!(
                        "discriminator `{}` is a string without a list of values: {expected}",
                        field.name
                    ),
                );
                return None;
            }
            Values::NotRead(found) => {
                self.fault(
                    field.at,
                    format!(
                        "discriminator `{}` has the type {found}, whose package was not read: {expected}",
                        field.name
                    ),
                );
                return None;
            }
            Values::NotString(found) => {
                self.fault(
                    field.at,
                    format!(
                        "discriminator `{}` is not a string enum, got {found}: {expected}",
                        field.name
                    ),
                );
                return None;
            }
        };

        // Untyped constants in a declaration of the enum may be values of it, or something else: a member that names
        // one decides.
        let selecting: HashSet<&str> = members.iter().map(|member| member.value.as_str()).collect();
        values.extend(
            beside
                .into_iter()
                .filter(|value| selecting.contains(value.as_str())),
        );
        let known: HashSet<&str> = values.iter().map(String::as_str).collect();
        let mut list = None;

        // The discriminator never has another value, so such a member could never be set.
        for member in members
            .iter()
            .filter(|member| !known.contains(member.value.as_str()))
        {
            let list =
                list.get_or_insert_with(|| listed(values.iter().map(|value| format!("{value:?}"))));
            let message = format!(
                "{:?} is not a value of the discriminator `{}`: expected one of {list}",
                member.value, field.name
            );
            self.fault(member.at, message);
        }

        // A value without a member belongs to the union too: it says that no member is set.
        let empty = values
            .iter()
            .filter(|value| !selecting.contains(value.as_str()))
            .cloned()
            .collect();
        let discriminator = self.member(field, field.at, "");
        Some(Declared {
            form: UnionForm::Object,
            discriminator,
            members,
            empty,
            required: false,
        })
    }

    /// Parses `+unionMember[=name][,optional]`.
    fn arguments(&mut self, field: &GoField, marker: &Marker) -> Option<UnionMember> {
        // The name and the options are each optional, so a comma may follow the marker directly.
        let rest = marker.rest.trim();
        let (name, options) = match rest.strip_prefix('=') {
            Some(named) => {
                let (name, options) = named
                    .split_once(',')
                    .map_or((named, None), |(name, rest)| (name, Some(rest)));
                (Some(name.trim()), options)
            }
            None if rest.is_empty() => (None, None),
            None => match rest.strip_prefix(',') {
                Some(options) => (None, Some(options)),
                None => {
                    self.fault(
                        marker.at,
                        format!("`+{MEMBER}` with `{rest}`: expected `=<name>` or `,optional`"),
                    );
                    return None;
                }
            },
        };

        // The member remains in spite of an unknown option, so that no other faults follow from this one.
        let mut optional = false;
        for option in options.into_iter().flat_map(|options| options.split(',')) {
            match option.trim() {
                "optional" => optional = true,
                other => self.fault(
                    marker.at,
                    format!("`+{MEMBER}` with the unknown argument `{other}`: expected `optional`"),
                ),
            }
        }

        if name == Some("") {
            self.fault(
                marker.at,
                format!("`+{MEMBER}=` without a name: expected a value of the discriminator"),
            );
            return None;
        }

        // Without a name, the Go name of the field selects the member.
        let member = self.member(field, marker.at, name.unwrap_or(&field.name))?;

        Some(UnionMember { optional, ..member })
    }

    /// Checks that no field belongs to two unions and no value selects two fields. A field stays in the first of its
    /// unions.
    fn check_distinct(&mut self, unions: &mut [Declared]) {
        let names: Vec<String> = unions
            .iter()
            .map(|union| match &union.discriminator {
                Some(by) => format!("that of `{}`", by.json),
                None => "one without a discriminator".to_owned(),
            })
            .collect();
        let name = |at: usize| names.get(at).map_or("", String::as_str);
        let mut seen: HashMap<String, usize> = HashMap::new();

        // All members are recorded before any is removed, so every fault names both unions.
        for (i, union) in unions.iter_mut().enumerate() {
            let mut values: BTreeMap<&str, &str> = BTreeMap::new();
            for member in &union.members {
                let first = *seen.entry(member.json.clone()).or_insert(i);
                if first != i {
                    let message = format!(
                        "member `{}` is in two unions, {} and {}: expected at most one",
                        member.json,
                        name(first),
                        name(i)
                    );
                    self.fault(member.at, message);
                }

                if let Some(other) = values.insert(&member.value, &member.json) {
                    let message = format!(
                        "value {:?} selects two members, `{other}` and `{}`: expected distinct values",
                        member.value, member.json
                    );
                    self.fault(member.at, message);
                }
            }

            // Later unions lose the member, since a field belongs to at most one union.
            union
                .members
                .retain(|member| seen.get(&member.json) == Some(&i));
        }
    }
}
