//! Types of expressions, and which of them fit together.

use std::fmt;
use std::sync::Arc;

use fieldmanager_structural::Structural;
use fieldmanager_value::internal::level;

/// The type of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Type<'s> {
    Dyn,
    Error,
    Null,
    /// A type without parameters, by its name.
    Plain(&'static str),
    /// A type of a library that is compared by its name, and whose fields are unknown.
    Named(&'static str),
    /// The object of a schema. Objects are equal if their names are.
    Object(Arc<str>, &'s Structural),
    /// A message, by the name of its type.
    Message(Arc<str>),
    /// A type that is not known yet.
    Variable(usize),
    List(Arc<Type<'s>>),
    Map(Arc<[Type<'s>; 2]>),
    Optional(Arc<Type<'s>>),
    /// The type of a type.
    Meta(Option<Arc<Type<'s>>>),
}

pub(crate) const BOOL: Type<'static> = Type::Plain("bool");
pub(crate) const INT: Type<'static> = Type::Plain("int");
pub(crate) const STRING: Type<'static> = Type::Plain("string");

impl<'s> Type<'s> {
    pub(crate) fn list(item: Type<'s>) -> Self {
        Type::List(Arc::new(item))
    }

    pub(crate) fn map(key: Type<'s>, value: Type<'s>) -> Self {
        Type::Map(Arc::new([key, value]))
    }

    pub(crate) fn optional(value: Type<'s>) -> Self {
        Type::Optional(Arc::new(value))
    }

    pub(crate) fn is_plain(&self, name: &str) -> bool {
        matches!(self, Type::Plain(own) if *own == name)
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Type::Plain("string" | "bytes"))
    }

    /// Whether values have a fixed size.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Type::Plain(name) => {
                matches!(
                    *name,
                    "bool" | "double" | "duration" | "int" | "timestamp" | "uint"
                )
            }
            Type::Optional(value) => level(|| value.is_scalar()),
            _ => false,
        }
    }

    pub(crate) fn is_loose(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    /// The type inside an optional type.
    pub(crate) fn unwrapped(&self) -> Option<&Type<'s>> {
        match self {
            Type::Optional(value) => Some(value),
            _ => None,
        }
    }

    /// The name of the type of values.
    pub(crate) fn name(&self) -> &str {
        match self {
            Type::Dyn | Type::Variable(_) => "dyn",
            Type::Error => "!error!",
            Type::Null => "null_type",
            Type::Plain("duration") => "google.protobuf.Duration",
            Type::Plain("timestamp") => "google.protobuf.Timestamp",
            Type::Plain(name) | Type::Named(name) => name,
            Type::Object(name, _) | Type::Message(name) => name,
            Type::List(_) => "list",
            Type::Map(_) => "map",
            Type::Optional(_) => "optional_type",
            Type::Meta(_) => "type",
        }
    }

    /// The type as the function `String` of cel-go writes it.
    pub(crate) fn written(&self) -> String {
        let parameters: Vec<String> = self
            .parameters()
            .iter()
            .map(|inner| level(|| inner.written()))
            .collect();
        match parameters.as_slice() {
            [] => self.name().to_owned(),
            parameters => format!("{}({})", self.name(), parameters.join(", ")),
        }
    }

    fn parameters(&self) -> &[Type<'s>] {
        match self {
            Type::List(inner) | Type::Optional(inner) | Type::Meta(Some(inner)) => {
                std::slice::from_ref(inner)
            }
            Type::Map(pair) => pair.as_slice(),
            _ => &[],
        }
    }

    pub(crate) fn with_parameters(&self, mut each: impl FnMut(&Type<'s>) -> Type<'s>) -> Type<'s> {
        match self {
            Type::List(item) => Type::list(each(item)),
            Type::Optional(value) => Type::optional(each(value)),
            Type::Meta(Some(inner)) => Type::Meta(Some(Arc::new(each(inner)))),
            Type::Map(pair) => {
                let [key, value] = &**pair;
                Type::map(each(key), each(value))
            }
            other => other.clone(),
        }
    }

    /// Whether both have the same constructor, and the same name if they have one.
    fn has_head_of(&self, other: &Type<'s>) -> bool {
        match (self, other) {
            (Type::Plain(a), Type::Plain(b)) | (Type::Named(a), Type::Named(b)) => a == b,
            (Type::Object(a, _), Type::Object(b, _)) | (Type::Message(a), Type::Message(b)) => {
                a == b
            }
            (Type::Variable(a), Type::Variable(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Whether the types are the same. `steps` are those that may still be taken.
    pub(crate) fn is(&self, other: &Type<'s>, steps: &mut Steps) -> bool {
        steps.take();
        let (a, b) = (self.parameters(), other.parameters());
        self.has_head_of(other)
            && a.len() == b.len()
            && a.iter()
                .zip(b)
                .all(|(a, b)| level(|| !steps.are_used() && a.is(b, steps)))
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Type::Null => "null",
            Type::Plain(name) => name,
            Type::Variable(number) => return write!(f, "_var{number}"),
            other => other.name(),
        };
        f.write_str(name)?;
        for (at, parameter) in self.parameters().iter().enumerate() {
            f.write_str(if at == 0 { "(" } else { ", " })?;
            level(|| parameter.fmt(f))?;
        }

        f.write_str(if self.parameters().is_empty() {
            ""
        } else {
            ")"
        })
    }
}

/// The steps that checking an expression may still take. A type that is a pair of itself grows exponentially.
#[derive(Debug)]
pub(crate) struct Steps {
    pub(crate) left: u64,
}

impl Steps {
    pub(crate) fn take(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    pub(crate) fn are_used(&self) -> bool {
        self.left == 0
    }
}

/// The bindings of the variables of types.
pub(crate) struct Bindings<'s> {
    bound: Vec<Option<Type<'s>>>,
    /// The variables that were bound, with what they had before, so that an attempt can be undone.
    undo: Vec<(usize, Option<Type<'s>>)>,
    pub(crate) steps: Steps,
}

impl<'s> Bindings<'s> {
    pub(crate) fn new(steps: u64) -> Self {
        Bindings {
            bound: Vec::new(),
            undo: Vec::new(),
            steps: Steps { left: steps },
        }
    }

    pub(crate) fn variable(&mut self) -> Type<'s> {
        self.bound.push(None);
        Type::Variable(self.bound.len() - 1)
    }

    fn found(&self, number: usize) -> Option<&Type<'s>> {
        self.bound.get(number).and_then(Option::as_ref)
    }

    fn bind(&mut self, number: usize, to: Type<'s>) {
        if let Some(slot) = self.bound.get_mut(number) {
            self.undo.push((number, slot.replace(to)));
        }
    }

    /// Replaces the variables that are bound; the others become `dyn` if `is_final`.
    pub(crate) fn resolve(&mut self, of: &Type<'s>, is_final: bool) -> Type<'s> {
        self.steps.take();
        if self.steps.are_used() {
            return Type::Dyn;
        }
        match of {
            Type::Variable(number) => match self.found(*number).cloned() {
                Some(bound) => level(|| self.resolve(&bound, is_final)),
                None if is_final => Type::Dyn,
                None => of.clone(),
            },
            other => other.with_parameters(|inner| level(|| self.resolve(inner, is_final))),
        }
    }

    /// Whether values of the types fit, pair by pair. If they do not, nothing is bound.
    pub(crate) fn fits_all(&mut self, pairs: &[(&Type<'s>, &Type<'s>)]) -> bool {
        let before = self.undo.len();
        let fits = pairs.iter().all(|(from, to)| self.fits_inside(from, to));
        // A failed attempt must leave nothing bound, since the next overload is tried with the same variables.
        if !fits {
            for (number, old) in self.undo.drain(before..).rev() {
                if let Some(slot) = self.bound.get_mut(number) {
                    *slot = old;
                }
            }
        }
        self.undo.truncate(before);

        fits
    }

    pub(crate) fn fits(&mut self, from: &Type<'s>, to: &Type<'s>) -> bool {
        self.fits_all(&[(from, to)])
    }

    fn fits_inside(&mut self, from: &Type<'s>, to: &Type<'s>) -> bool {
        self.steps.take();
        // Without steps the answer does not matter: `check` refuses the expression.
        if self.steps.are_used() {
            return true;
        }
        // A variable that is unbound and occurs in the other type leaves the decision to the left side.
        if let Type::Variable(number) = to {
            match self.substitutes(from, *number) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }

        if let Type::Variable(number) = from {
            return self.substitutes(to, *number).0;
        }
        if from.is_loose() || to.is_loose() {
            return true;
        }

        // Null fits objects, optional values and messages of protobuf such as durations, but no other scalars, lists or
        // maps.
        let takes_null = |of: &Type<'_>| {
            matches!(
                of,
                Type::Null
                    | Type::Named(_)
                    | Type::Object(..)
                    | Type::Message(_)
                    | Type::Optional(_)
            ) || of.is_plain("duration")
                || of.is_plain("timestamp")
        };

        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => takes_null(other),
            (Type::Meta(_), Type::Meta(_)) => true,
            (from, to) => {
                from.has_head_of(to)
                    && from
                        .parameters()
                        .iter()
                        .zip(to.parameters())
                        .all(|(a, b)| level(|| self.fits_inside(a, b)))
            }
        }
    }

    /// Whether a type can stand for a variable, and whether the variable is bound.
    fn substitutes(&mut self, other: &Type<'s>, number: usize) -> (bool, bool) {
        if matches!(other, Type::Variable(same) if *same == number) {
            return (true, true);
        }
        // A variable that occurred in its own type could not be resolved.
        let Some(bound) = self.found(number).cloned() else {
            let is_free = self.is_free_of(number, other);
            if is_free {
                self.bind(number, other.clone());
            }
            return (is_free, false);
        };
        if other.is(&bound, &mut self.steps) {
            return (true, true);
        }

        if !level(|| self.fits_inside(other, &bound)) {
            return (false, true);
        }
        // The variable must take both types, so it is bound to the more general one.
        let general = self.more_general(other.clone(), bound);
        if self.is_free_of(number, &general) {
            self.bind(number, general);
        }

        (true, true)
    }

    /// Whether a variable does not occur in a type.
    fn is_free_of(&mut self, number: usize, inside: &Type<'s>) -> bool {
        self.steps.take();
        match inside {
            _ if self.steps.are_used() => true,
            Type::Variable(other) if *other == number => false,
            Type::Variable(other) => match self.found(*other).cloned() {
                Some(bound) => level(|| self.is_free_of(number, &bound)),
                None => true,
            },
            other => other
                .parameters()
                .iter()
                .all(|inner| level(|| self.is_free_of(number, inner))),
        }
    }

    /// The more general one of two types that fit.
    pub(crate) fn more_general(&mut self, a: Type<'s>, b: Type<'s>) -> Type<'s> {
        if self.is_as_general(&a, &b) { a } else { b }
    }

    fn is_as_general(&mut self, a: &Type<'s>, b: &Type<'s>) -> bool {
        self.steps.take();
        match (a, b) {
            _ if self.steps.are_used() => true,
            (Type::Dyn | Type::Variable(_), _) => true,
            (_, Type::Dyn | Type::Variable(_)) => false,
            (Type::Meta(_), Type::Meta(_)) => true,
            (a, b) => {
                a.has_head_of(b)
                    && a.parameters()
                        .iter()
                        .zip(b.parameters())
                        .all(|(a, b)| level(|| self.is_as_general(a, b)))
            }
        }
    }
}

/// The names of types.
pub(crate) const TYPES: [&str; 18] = [
    "null_type",
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "type",
    "optional_type",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "net.IP",
    "net.CIDR",
    "kubernetes.URL",
    "kubernetes.Quantity",
    "kubernetes.Semver",
];
