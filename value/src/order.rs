//! Equality, order and hash of values. Numbers compare by their mathematical value.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::{List, Map, Value, deep};

/// The rank of a kind in the order of values.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Float(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::List(_) => 3,
        Value::Map(_) => 4,
        Value::Null => 5,
    }
}

/// Totally orders floats. Both zeros are equal, and NaN is the smallest number.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// 2^63, the smallest float that exceeds every `i64`.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// Compares without rounding. Converting the integer to a float would make 2^53 and 2^53 + 1 equal, and the order would
/// not be transitive.
fn compare_int_float(int: i64, float: f64) -> Ordering {
    if float.is_nan() {
        Ordering::Greater
    } else if float >= I64_END {
        Ordering::Less
    } else if float < -I64_END {
        Ordering::Greater
    } else {
        // The float is in range, so the truncation is exact.
        let whole = float.trunc();
        int.cmp(&(whole as i64)).then_with(|| {
            0.0_f64
                .partial_cmp(&(float - whole))
                .unwrap_or(Ordering::Equal)
        })
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => compare_floats(*a, *b).is_eq(),
            (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => {
                compare_int_float(*a, *b).is_eq()
            }
            _ => false,
        }
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => compare_floats(*a, *b),
            (Value::Int(a), Value::Float(b)) => compare_int_float(*a, *b),
            (Value::Float(a), Value::Int(b)) => compare_int_float(*b, *a).reverse(),
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::List(a), Value::List(b)) => a.cmp(b),
            (Value::Map(a), Value::Map(b)) => a.cmp(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(rank(self));
        match self {
            Value::Null => {}
            Value::Bool(b) => b.hash(state),
            Value::Int(i) => i.hash(state),
            // A float that is a whole number in range equals an integer, so their hashes must match.
            Value::Float(f) if f.trunc() == *f && *f < I64_END && *f >= -I64_END => {
                (*f as i64).hash(state);
            }
            Value::Float(f) if f.is_nan() => f64::NAN.to_bits().hash(state),
            Value::Float(f) => f.to_bits().hash(state),
            Value::String(s) => s.hash(state),
            Value::List(list) => list.hash(state),
            Value::Map(map) => map.hash(state),
        }
    }
}

/// Lexicographic by item.
/// Lexicographic by entry.
macro_rules! order_of_elements {
    ($($collection:ty),*) => {$(
        impl PartialOrd for $collection {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $collection {
            fn cmp(&self, other: &Self) -> Ordering {
                if self.ptr_eq(other) {
                    return Ordering::Equal;
                }
                deep::level(|| self.iter().cmp(other.iter()))
            }
        }

        impl Hash for $collection {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.len().hash(state);
                deep::level(|| self.iter().for_each(|element| element.hash(state)));
            }
        }
    )*};
}

order_of_elements! { List, Map }

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;

    fn hash(value: &Value) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    /// Values in ascending order. The values of an inner vector are equal.
    fn ladder() -> Vec<Vec<Value>> {
        let parse = |text: &str| Value::from_json(text).unwrap();
        vec![
            vec![Value::Float(f64::NAN), Value::Float(-f64::NAN)],
            vec![Value::Float(f64::NEG_INFINITY)],
            vec![Value::Int(i64::MIN), Value::Float(-I64_END)],
            vec![Value::Int(-1), Value::Float(-1.0)],
            vec![Value::Int(0), Value::Float(0.0), Value::Float(-0.0)],
            vec![Value::Float(0.5)],
            vec![Value::Int(1), Value::Float(1.0)],
            vec![
                Value::Int(9_007_199_254_740_992),
                Value::Float(9_007_199_254_740_992.0),
            ],
            vec![Value::Int(9_007_199_254_740_993)],
            vec![Value::Int(i64::MAX)],
            vec![Value::Float(I64_END)],
            vec![Value::Float(f64::INFINITY)],
            vec![parse(r#""""#)],
            vec![parse(r#""a""#)],
            vec![parse("false")],
            vec![parse("true")],
            vec![parse("[]")],
            vec![parse("[1]"), parse("[1.0]")],
            vec![parse("[1, 2]")],
            vec![parse("[2]")],
            vec![parse("{}")],
            vec![parse(r#"{"a": 1}"#)],
            vec![parse(r#"{"a": 1, "b": 1}"#)],
            vec![parse(r#"{"a": 2}"#)],
            vec![parse(r#"{"b": 0}"#)],
            vec![parse("null")],
        ]
    }

    #[test]
    fn order_is_total_and_consistent_with_equality_and_hash() {
        let ladder = ladder();
        for (i, left) in ladder.iter().enumerate() {
            for (j, right) in ladder.iter().enumerate() {
                for a in left {
                    for b in right {
                        assert_eq!(a.cmp(b), i.cmp(&j), "{a:?} against {b:?}");
                        assert_eq!(a == b, i == j, "{a:?} against {b:?}");
                        if i == j {
                            assert_eq!(hash(a), hash(b), "{a:?} against {b:?}");
                        }
                    }
                }
            }
        }
    }
}
