//! The costs that the rules of a definition may have.

use fieldmanager_structural::{FieldError, FieldPath};

/// The greatest estimated cost of an expression.
const EXPRESSION: u64 = 10_000_000;
/// The greatest estimated cost of the expressions of a schema.
const SCHEMA: u64 = 100_000_000;
/// How many expensive rules are named.
const NAMED: usize = 4;

/// The estimated costs of the expressions of a schema.
pub(super) struct Costs {
    /// Whether single expressions are limited.
    is_limited: bool,
    total: u64,
    /// The most expensive rules that cost at least one percent of the limit, and their costs.
    expensive: Vec<(u64, FieldPath)>,
}

impl Costs {
    pub(super) fn new(is_limited: bool) -> Self {
        Costs {
            is_limited,
            total: 0,
            expensive: Vec::new(),
        }
    }

    /// Adds the cost of an expression, a `rule` or a `messageExpression`; returns the error if it is too high.
    pub(super) fn add(&mut self, path: &FieldPath, name: &str, cost: u64) -> Option<FieldError> {
        self.total = self.total.saturating_add(cost);
        if cost >= SCHEMA / 100 {
            self.expensive.push((cost, path.clone()));
            self.expensive
                .sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.expensive.truncate(NAMED);
        }

        let is_refused = self.is_limited && cost > EXPRESSION;
        is_refused.then(|| {
            let detail = exceeds(&format!("estimated {name} cost"), cost, EXPRESSION);
            FieldError::forbidden(path.clone(), detail)
        })
    }

    /// The errors if all expressions together cost too much.
    pub(super) fn total(self, schema: &FieldPath) -> Vec<FieldError> {
        if self.total <= SCHEMA {
            return Vec::new();
        }
        const PART: &str = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        const ALL: &str =
            "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let parts = self
            .expensive
            .into_iter()
            .map(|(_, path)| FieldError::forbidden(path, PART));
        let all = FieldError::forbidden(schema.clone(), exceeds(ALL, self.total, SCHEMA));

        parts.chain([all]).collect()
    }
}

fn exceeds(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        // One digit could be 1.0.
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };

    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
