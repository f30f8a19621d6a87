//! The values of CEL.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use fieldmanager_structural::Structural;
use fieldmanager_structural::internal::Quantity;
use fieldmanager_value::{List, Map, Str, Value};

use crate::access::AccessVal;
use crate::url::Url;

/// The type of the variables of an environment.
pub(crate) const VARIABLES: &str = "kubernetes.variables";

/// An error of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// An error of a function or an operator, which `||` and `&&` may ignore.
    Error(String),
    /// The evaluation costs too much, or its work was stopped.
    Cost,
    /// The computation of a cost failed, which ends the evaluation as in cel-go.
    Broken(Cow<'static, str>),
}

impl Fault {
    /// Whether the fault ends the evaluation, so that no operator ignores it.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Fault::Error(_))
    }
}

pub(crate) type Outcome<'a> = Result<Val<'a>, Fault>;

/// The error of an operator or function without an overload for its arguments.
pub(crate) fn no_overload<T>() -> Result<T, Fault> {
    fault("no such overload")
}

pub(crate) fn fault<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Error(message.into()))
}

/// A value of CEL. Values of the object are converted when they are read.
#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Str),
    Bytes(Arc<[u8]>),
    /// A duration in nanoseconds.
    Duration(i64),
    Timestamp(jiff::Timestamp),
    List(ListVal<'a>),
    Map(MapVal<'a>),
    Message(Arc<MessageVal<'a>>),
    /// The name of a type.
    Type(&'static str),
    Optional(Option<Arc<Val<'a>>>),
    /// A value without a schema, which can only be compared.
    Unknown(&'a Value),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Url(Arc<Url>),
    Quantity(Quantity),
    Semver(Arc<semver::Version>),
    /// The name of a format.
    Format(&'static str),
    /// A step of a question to an authorizer.
    Access(Arc<AccessVal>),
    /// The variables of an environment, which are evaluated when they are selected, and their number.
    Variables(u64),
}

/// A message of mutations.
#[derive(Clone, Debug)]
pub(crate) struct MessageVal<'a> {
    /// The name of the type, such as `Object.spec`.
    pub(crate) name: Str,
    pub(crate) fields: BTreeMap<Str, Val<'a>>,
}

/// A list of the object, or one that an expression made.
#[derive(Clone, Debug)]
pub(crate) enum ListVal<'a> {
    Object(&'a List, &'a Structural),
    Made(Arc<Vec<Val<'a>>>),
    /// The sum of two lists, whose items a mutation reads one by one.
    Joined(Arc<Vec<Val<'a>>>),
    /// The sum of a list of the object and another one: a set or a list of type map, by the schema.
    Sum(Arc<Vec<Val<'a>>>, &'a Structural),
}

/// A map of the object, or one that an expression made.
#[derive(Clone, Debug)]
pub(crate) enum MapVal<'a> {
    Object(&'a Map, &'a Structural),
    Made(Arc<BTreeMap<Key, Val<'a>>>),
}

/// The key of a map. Integers of all types are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Bool(bool),
    Number(WholeNumber),
    String(Str),
}

/// A number without a fraction. Its type does not matter when it is compared, but it is a value of this type again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeNumber {
    pub(crate) number: i128,
    is_unsigned: bool,
}

impl Ord for WholeNumber {
    fn cmp(&self, other: &Self) -> Ordering {
        self.number.cmp(&other.number)
    }
}

impl PartialOrd for WholeNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for WholeNumber {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for WholeNumber {}

impl Key {
    pub(crate) fn of(value: &Val<'_>) -> Option<Key> {
        let whole = |number, is_unsigned| {
            Key::Number(WholeNumber {
                number,
                is_unsigned,
            })
        };
        Some(match value {
            Val::Bool(flag) => Key::Bool(*flag),
            Val::Int(number) => whole(i128::from(*number), false),
            Val::Uint(number) => whole(i128::from(*number), true),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the number has no fraction"
            )]
            Val::Double(number) if number.fract() == 0.0 => whole(*number as i128, false),
            Val::String(text) => Key::String(text.clone()),
            _ => return None,
        })
    }

    pub(crate) fn value<'a>(&self) -> Val<'a> {
        match self {
            Key::Bool(flag) => Val::Bool(*flag),
            Key::Number(whole) => match i64::try_from(whole.number) {
                Ok(number) if !whole.is_unsigned => Val::Int(number),
                _ => Val::Uint(u64::try_from(whole.number).unwrap_or(u64::MAX)),
            },
            Key::String(text) => Val::String(text.clone()),
        }
    }
}

impl From<bool> for Val<'_> {
    fn from(flag: bool) -> Self {
        Val::Bool(flag)
    }
}

impl From<i64> for Val<'_> {
    fn from(number: i64) -> Self {
        Val::Int(number)
    }
}

impl From<String> for Val<'_> {
    fn from(text: String) -> Self {
        Val::text(text)
    }
}

impl<'a> From<Vec<Val<'a>>> for Val<'a> {
    fn from(items: Vec<Val<'a>>) -> Self {
        Val::list(items)
    }
}

impl<'a> Val<'a> {
    pub(crate) fn text(text: impl Into<Str>) -> Self {
        Val::String(text.into())
    }

    pub(crate) fn list(items: Vec<Val<'a>>) -> Self {
        Val::List(ListVal::Made(Arc::new(items)))
    }

    pub(crate) fn some(value: Val<'a>) -> Self {
        Val::Optional(Some(Arc::new(value)))
    }

    /// The name of the type, as `type` returns it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Uint(_) => "uint",
            Val::Double(_) => "double",
            Val::String(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::Timestamp(_) => "google.protobuf.Timestamp",
            Val::List(_) => "list",
            Val::Map(_) => "map",
            Val::Message(message) => message.family(),
            Val::Type(_) => "type",
            Val::Optional(_) => "optional_type",
            Val::Unknown(_) => "unknown",
            Val::Ip(_) => "net.IP",
            Val::Cidr(..) => "net.CIDR",
            Val::Url(_) => "kubernetes.URL",
            Val::Quantity(_) => "kubernetes.Quantity",
            Val::Semver(_) => "kubernetes.Semver",
            Val::Format(_) => "kubernetes.NamedFormat",
            Val::Access(access) => access.type_name(),
            Val::Variables(_) => VARIABLES,
        }
    }

    /// Whether it can select a part of a value.
    pub(crate) fn is_scalar(&self) -> bool {
        use Val::{Bool, Double, Int, String, Uint};
        matches!(self, Bool(_) | Int(_) | Uint(_) | Double(_) | String(_))
    }

    /// The type of cel-go or of the API server's library that holds the value, as messages name it.
    pub(crate) fn go_type(&self) -> String {
        let name = match self {
            Val::Type(_) => return "*types.Type".to_owned(),
            Val::List(ListVal::Joined(_)) => return "*types.concatList".to_owned(),
            Val::List(_) => return "*types.baseList".to_owned(),
            Val::Map(_) => return "*types.baseMap".to_owned(),
            Val::Variables(_) => return "*lazy.MapValue".to_owned(),
            Val::Format(_) => "kubernetes.Format",
            Val::Optional(_) => return "*types.Optional".to_owned(),
            Val::Quantity(quantity) if quantity.is_sum => return "*cel.Quantity".to_owned(),
            Val::Null => "Null",
            _ => self.type_name(),
        };
        if let Some(name) = name
            .strip_prefix("net.")
            .or_else(|| name.strip_prefix("kubernetes."))
        {
            return format!("cel.{name}");
        }

        let (_, name) = name.rsplit_once('.').unwrap_or(("", name));
        let (first, rest) = name.split_at_checked(1).unwrap_or((name, ""));
        format!("types.{}{rest}", first.to_uppercase())
    }

    /// The number of elements or characters by which the cost of a call grows; 1 for values of a fixed size.
    pub(crate) fn size(&self) -> u64 {
        let size = match self {
            Val::String(text) => text.chars().count(),
            Val::Bytes(bytes) => bytes.len(),
            Val::List(list) => list.len(),
            Val::Map(map) => map.len(),
            Val::Variables(count) => return *count,
            Val::Ip(IpAddr::V4(_)) => 4,
            Val::Ip(IpAddr::V6(_)) => 16,
            Val::Cidr(_, bits) => usize::from(bits.div_ceil(8)),
            _ => 1,
        };

        u64::try_from(size).unwrap_or(u64::MAX)
    }

    /// The order of two values of a type that has one.
    pub(crate) fn compare(&self, other: &Val<'a>) -> Option<Ordering> {
        match (self, other) {
            (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
            (Val::String(a), Val::String(b)) => Some(a.as_str().cmp(b.as_str())),
            (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
            (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
            (Val::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
            _ => compare_numbers(self, other).and_then(|order| order),
        }
    }
}

/// The order of two numbers of any types; `None` if one is not a number, `Some(None)` if one is NaN.
pub(crate) fn compare_numbers(a: &Val<'_>, b: &Val<'_>) -> Option<Option<Ordering>> {
    let whole = |value: &Val<'_>| match value {
        Val::Int(number) => Some(i128::from(*number)),
        Val::Uint(number) => Some(i128::from(*number)),
        _ => None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "checked by the bounds")]
    let mixed = |number: f64, whole: i128| {
        if number.is_nan() {
            return None;
        }
        // A float beyond all integers cannot be converted to one, and its sign decides.
        if number.abs() >= 1e30 {
            return Some(if number > 0.0 {
                Ordering::Greater
            } else {
                Ordering::Less
            });
        }

        // The whole parts decide first. If they are equal, a fraction makes the float greater.
        let floor = number.floor();
        Some((floor as i128).cmp(&whole).then(if number > floor {
            Ordering::Greater
        } else {
            Ordering::Equal
        }))
    };

    Some(match (a, b) {
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), b) => mixed(*a, whole(b)?),
        (a, Val::Double(b)) => mixed(*b, whole(a)?).map(Ordering::reverse),
        (a, b) => Some(whole(a)?.cmp(&whole(b)?)),
    })
}

impl<'a> ListVal<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            ListVal::Object(list, _) => list.len(),
            ListVal::Made(items) | ListVal::Joined(items) | ListVal::Sum(items, _) => items.len(),
        }
    }

    /// The schema of a list of the object, or of a sum with one.
    pub(crate) fn schema(&self) -> Option<&'a Structural> {
        match self {
            ListVal::Object(_, schema) | ListVal::Sum(_, schema) => Some(schema),
            ListVal::Made(_) | ListVal::Joined(_) => None,
        }
    }

    /// `set` or `map`, if the order of the items does not matter.
    pub(crate) fn unordered(&self) -> Option<(&'a str, &'a Structural)> {
        let schema = self.schema()?;
        let list_type = schema.extensions.list_type.as_deref()?;
        matches!(list_type, "set" | "map").then_some((list_type, schema))
    }
}

impl<'a> MapVal<'a> {
    /// The schema of a map of the object.
    pub(crate) fn schema(&self) -> Option<&'a Structural> {
        match self {
            MapVal::Object(_, schema) => Some(schema),
            MapVal::Made(_) => None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            MapVal::Object(map, _) => map.len(),
            MapVal::Made(entries) => entries.len(),
        }
    }
}
