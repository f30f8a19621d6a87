//! Errors of typed values.

use std::fmt;

use fieldmanager_fieldpath::{MAX_PATH_LENGTH, Path, PathElement};
use fieldmanager_schema::internal::FAULTS_WITH_SUGGESTIONS;
use fieldmanager_value::Value;

use crate::items::ItemFault;

/// A fault at one path of a value.
///
/// ```
/// use fieldmanager_typed::Fault;
/// let fault = Fault::NotDeclared { nearest: vec!["replicas".into()] };
/// assert_eq!(fault.to_string(), "field not declared in schema, the nearest declared are `replicas`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The value has a kind that the type does not accept.
    Kind {
        /// The accepted kind, in the terms of the schema.
        expected: &'static str,
        /// The value as JSON, truncated.
        found: String,
    },
    /// The struct does not declare a field with this name.
    NotDeclared {
        /// Declared fields with similar names, the most similar first.
        nearest: Vec<String>,
    },
    /// Two items of an associative list have the same key or value.
    Duplicate,
    /// An item of an associative list cannot be identified.
    Item(ItemFault),
    /// The discriminator of a union selects a member other than the one that is set.
    UnionContradiction {
        /// The discriminator field.
        discriminator: String,
        /// The value of the discriminator.
        value: String,
        /// The member that is set.
        member: String,
    },
    /// Several members of a union are set.
    UnionSeveral {
        /// The members that are set.
        members: Vec<String>,
    },
    /// The value nests deeper than the limit.
    TooDeep,
    /// The type accepts no values.
    EmptyType {
        /// The name of the type, or of the type that contains it.
        name: String,
    },
}

impl Fault {
    /// A kind fault. The value is truncated.
    pub(crate) fn kind(expected: &'static str, found: &Value) -> Self {
        const LONGEST: usize = 60;
        let mut text = match found {
            // Formatting a large value only to truncate it would be wasteful.
            Value::List(_) | Value::Map(_) => found.kind().name().to_owned(),
            scalar => scalar.to_json(),
        };

        if text.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or_default());
            text.push('…');
        }

        Fault::Kind {
            expected,
            found: text,
        }
    }

    /// Whether this is a fault of the schema rather than of the value.
    pub(crate) fn is_schema_fault(&self) -> bool {
        matches!(self, Fault::EmptyType { .. })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Similar fields are searched for the first faults only, so `nearest` may be empty.
        match self {
            Fault::Kind { expected, found } => write!(f, "expected {expected}, got {found}"),
            Fault::NotDeclared { nearest } => {
                f.write_str("field not declared in schema")?;
                if let Some((best, others)) = nearest.split_first() {
                    write!(f, ", the nearest declared are `{best}`")?;
                    others.iter().try_for_each(|name| write!(f, ", `{name}`"))?;
                }
                Ok(())
            }
            Fault::Duplicate => f.write_str("duplicate entries for one key"),
            Fault::Item(fault) => fault.fmt(f),

            // A union has no name, so its faults name the fields.
            Fault::UnionContradiction {
                discriminator,
                value,
                member,
            } => write!(
                f,
                "`{discriminator}` is {value:?}, which does not select `{member}`: set only one of them"
            ),
            Fault::UnionSeveral { members } => {
                write!(
                    f,
                    "only one member of a union may be set, got `{}`",
                    members.join("`, `")
                )
            }
            Fault::TooDeep => write!(f, "nesting is deeper than {MAX_PATH_LENGTH} levels"),
            Fault::EmptyType { name } => {
                write!(f, "schema error: type `{name}` accepts no value here")
            }
        }
    }
}

/// A fault with its path.
///
/// ```
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, Fault, TypedValue};
/// let ty = Schema::from_yaml("types: [{name: app, map: {}}]")?.type_named("app").unwrap();
/// let errors = TypedValue::new("text".into(), ty, Duplicates::Refuse).unwrap_err();
/// let error = errors.iter().next().unwrap();
/// assert!(error.path.is_empty());
/// assert_eq!(error.fault, Fault::Kind { expected: "map", found: "\"text\"".into() });
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationError {
    /// The path of the fault.
    pub path: Path,
    /// The fault.
    pub fault: Fault,
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            self.fault.fmt(f)
        } else {
            write!(f, "{}: {}", self.path, self.fault)
        }
    }
}

/// The faults of a value, at least one, in the order of the value.
///
/// Only the first 100 faults are listed and the others are counted, to bound the size of the error.
///
/// ```
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, TypedValue};
/// use fieldmanager_value::Value;
/// let ty = Schema::from_yaml("types: [{name: app, map: {}}]")?.type_named("app").unwrap();
/// let errors = TypedValue::new(Value::from_yaml("{b: 1, a: 1}")?, ty, Duplicates::Refuse).unwrap_err();
/// // Entries are sorted by name, which determines the order.
/// let paths: Vec<String> = errors.iter().map(|error| error.path.to_string()).collect();
/// assert_eq!(paths, [".a", ".b"]);
/// assert_eq!(errors.to_string().lines().count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationErrors {
    listed: Vec<ValidationError>,
    unlisted: usize,
    schema_fault: bool,
}

impl ValidationErrors {
    /// Iterates over the listed faults.
    pub fn iter(&self) -> std::slice::Iter<'_, ValidationError> {
        self.listed.iter()
    }

    /// The number of faults that are not listed.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, TypedValue};
    /// use fieldmanager_value::{Map, Value};
    /// let ty = Schema::from_yaml("types: [{name: app, map: {}}]")?.type_named("app").unwrap();
    /// let unknown: Map = (0..120).map(|i| (format!("field{i}"), Value::Null)).collect();
    /// let errors = TypedValue::new(unknown.into(), ty, Duplicates::Refuse).unwrap_err();
    /// assert_eq!((errors.iter().count(), errors.unlisted()), (100, 20));
    /// assert!(errors.to_string().ends_with("\n20 more errors are not listed"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unlisted(&self) -> usize {
        self.unlisted
    }

    /// Whether any fault, listed or not, is a fault of the schema.
    #[doc(hidden)]
    pub fn is_schema_fault(&self) -> bool {
        self.schema_fault
    }
}

impl fmt::Display for ValidationErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.listed.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }

        match self.unlisted {
            0 => Ok(()),
            1 => f.write_str("\n1 more error is not listed"),
            n => write!(f, "\n{n} more errors are not listed"),
        }
    }
}

impl std::error::Error for ValidationErrors {}

/// An error from merging or comparing two typed values.
///
/// ```
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Error, TypedValue};
/// let schema = Schema::from_yaml("types: [{name: a, scalar: string}, {name: b, scalar: string}]")?;
/// let null = |name| TypedValue::null(schema.type_named(name).unwrap());
/// let error = null("a").merge(&null("b")).unwrap_err();
/// assert!(matches!(error, Error::TypesDiffer { .. }));
/// assert_eq!(error.to_string(), "expected objects of one type, got `a` and `b`");
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The values are of different types, or of types of different schemas.
    #[error("expected objects of one type, got `{left}` and `{right}`{}", if left == right { " of different schemas" } else { "" })]
    TypesDiffer {
        /// The type of the left object.
        left: String,
        /// The type of the right object.
        right: String,
    },
    /// One of the values is invalid: the configuration has duplicates, or an item lacks its key.
    #[error(transparent)]
    Invalid(#[from] ValidationErrors),
}

/// The maximum number of listed faults.
const LISTED: usize = 100;

/// Collects faults. Paths are assembled on the way up, so a value without faults incurs no cost.
#[derive(Default)]
pub(crate) struct FaultCollector {
    /// The paths are reversed.
    listed: Vec<(Vec<PathElement>, Fault)>,
    unlisted: usize,
    schema_fault: bool,
}

impl FaultCollector {
    pub(crate) fn push(&mut self, fault: Fault) {
        self.add(None, fault);
    }

    pub(crate) fn push_at(&mut self, element: PathElement, fault: Fault) {
        self.add(Some(element), fault);
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, element: Option<PathElement>, fault: Fault) {
        self.schema_fault |= fault.is_schema_fault();
        if self.listed.len() < LISTED {
            self.listed.push((element.into_iter().collect(), fault));
        } else {
            self.unlisted += 1;
        }
    }

    /// Whether the next fault may suggest similar names. Finding them takes longer than the rest of validation.
    pub(crate) fn may_suggest(&self) -> bool {
        self.listed.len() < FAULTS_WITH_SUGGESTIONS
    }

    /// The current number of faults, to be passed to [`prefix`](Self::prefix) later.
    pub(crate) fn mark(&self) -> usize {
        self.listed.len() + self.unlisted
    }

    /// Prepends an element to the paths of all faults since the mark.
    #[inline]
    pub(crate) fn prefix(&mut self, mark: usize, element: impl FnOnce() -> PathElement) {
        if mark < self.listed.len() {
            self.prepend(mark, &element());
        }
    }

    #[cold]
    #[inline(never)]
    fn prepend(&mut self, mark: usize, element: &PathElement) {
        for (reversed, _) in self.listed.iter_mut().skip(mark) {
            reversed.push(element.clone());
        }
    }

    /// Returns an error if there are faults.
    pub(crate) fn check(self) -> Result<(), ValidationErrors> {
        if self.listed.is_empty() {
            return Ok(());
        }
        let complete = |(reversed, fault): (Vec<PathElement>, Fault)| ValidationError {
            path: reversed.into_iter().rev().collect(),
            fault,
        };

        Err(ValidationErrors {
            listed: self.listed.into_iter().map(complete).collect(),
            unlisted: self.unlisted,
            schema_fault: self.schema_fault,
        })
    }
}
