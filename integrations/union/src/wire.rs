use std::fmt;

use crate::Declaration;

/// The variant of a sum type selected by an object.
#[derive(Debug, PartialEq, Eq)]
pub enum Selected {
    /// The member with this index.
    Member(usize),
    /// The value with this index, which selects no member.
    Empty(usize),
    /// An unknown value.
    Other,
}

/// An error from deserializing a sum type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// Several members are set.
    Several {
        /// The members that are set.
        set: Vec<&'static str>,
    },
    /// A member is set that the discriminator does not select.
    NotSelected {
        /// The member that is set.
        member: &'static str,
        /// The name of the discriminator.
        discriminator: &'static str,
        /// The value of the discriminator that selects the member.
        wanted: &'static str,
        /// The value of the discriminator, if present.
        value: Option<String>,
    },
    /// The discriminator selects a member that is not set.
    NotSet {
        /// The member.
        member: &'static str,
        /// The name of the discriminator.
        discriminator: &'static str,
        /// The value of the discriminator.
        value: &'static str,
    },
    /// Neither the discriminator nor a member is present.
    Missing {
        /// The name of the discriminator.
        discriminator: &'static str,
        /// The supported values of the discriminator.
        supported: &'static [&'static str],
    },
    /// The value of the discriminator is unknown.
    Unsupported {
        /// The name of the discriminator.
        discriminator: &'static str,
        /// The value of the discriminator.
        value: String,
        /// The supported values of the discriminator.
        supported: &'static [&'static str],
    },
}

impl std::error::Error for ReadError {}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The names in messages are those of the wire format, which may differ from those in Rust.
        match self {
            ReadError::Several { set } => {
                write!(
                    f,
                    "must specify at most one of: {}, got all of them",
                    list(set, '`')
                )
            }

            // The discriminator and the members contradict each other, so the message says which value and member
            // belong together.
            ReadError::NotSelected {
                member,
                discriminator,
                wanted,
                value,
            } => {
                write!(
                    f,
                    "`{member}` may only be specified when `{discriminator}` is {wanted:?}, got "
                )?;
                match value {
                    Some(value) => write!(f, "{value:?}"),
                    None => f.write_str("no value"),
                }
            }
            ReadError::NotSet {
                member,
                discriminator,
                value,
            } => {
                write!(
                    f,
                    "`{member}` must be specified when `{discriminator}` is {value:?}"
                )
            }

            // The discriminator alone is at fault, so the message lists its values.
            ReadError::Missing {
                discriminator,
                supported,
            } => {
                write!(
                    f,
                    "missing field `{discriminator}`: supported values: {}",
                    list(supported, '"')
                )
            }
            ReadError::Unsupported {
                discriminator,
                value,
                supported,
            } => {
                write!(
                    f,
                    "unsupported value of `{discriminator}`: {value:?}: supported values: {}",
                    list(supported, '"')
                )
            }
        }
    }
}

fn list(names: &[&str], quote: char) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("{quote}{name}{quote}"))
        .collect();
    names.join(", ")
}

impl Declaration {
    /// Selects the variant of an object by the value of its discriminator and the members that are set.
    ///
    /// `empty` contains the values of the variants without a member, and `absent` is the index of the variant selected
    /// by an absent discriminator.
    #[doc(hidden)]
    pub fn select(
        &self,
        value: Option<&str>,
        set: &[bool],
        empty: &[&'static str],
        absent: Option<usize>,
        other: bool,
    ) -> Result<Selected, ReadError> {
        let discriminator = self.discriminator.unwrap_or_default();
        let set: Vec<usize> = set
            .iter()
            .enumerate()
            .filter_map(|(member, is_set)| is_set.then_some(member))
            .collect();
        // Several members contradict each other, whatever the discriminator is.
        let one = match set.as_slice() {
            [] => None,
            [one] => self.members.get(*one).map(|member| (*one, member)),
            _ => {
                let fields = set.iter().filter_map(|member| self.members.get(*member));
                return Err(ReadError::Several {
                    set: fields.map(|member| member.field).collect(),
                });
            }
        };

        let selected = |value: &str| self.members.iter().position(|member| member.value == value);
        // Returns the selection if no member is set, otherwise an error for the unselected member.
        let alone = |selected: Selected, value: Option<&str>| match one {
            None => Ok(selected),
            Some((_, member)) => Err(ReadError::NotSelected {
                member: member.field,
                discriminator,
                wanted: member.value,
                value: value.map(str::to_owned),
            }),
        };

        // If the discriminator may be absent, an empty string is treated as absent.
        match value.filter(|value| !(self.absent && value.is_empty() && !empty.contains(&""))) {
            None => match (one, absent) {
                (Some((member, _)), _) if self.deducing => Ok(Selected::Member(member)),
                (_, Some(absent)) => alone(Selected::Empty(absent), None),
                (Some(_), None) => alone(Selected::Other, None),
                (None, None) => Err(ReadError::Missing {
                    discriminator,
                    supported: self.values,
                }),
            },
            Some(value) => {
                // The value selects a member or a known value without one; the variant for other values is the last
                // resort.
                if let Some(index) = selected(value) {
                    match (one, self.members.get(index)) {
                        (Some((member, _)), _) if member == index => Ok(Selected::Member(index)),
                        (None, Some(member)) if !member.optional => Err(ReadError::NotSet {
                            member: member.field,
                            discriminator,
                            value: member.value,
                        }),
                        _ => alone(Selected::Member(index), Some(value)),
                    }
                } else if let Some(index) = empty.iter().position(|known| *known == value) {
                    alone(Selected::Empty(index), Some(value))
                } else if other {
                    alone(Selected::Other, Some(value))
                } else {
                    Err(ReadError::Unsupported {
                        discriminator,
                        value: value.to_owned(),
                        supported: self.values,
                    })
                }
            }
        }
    }
}
