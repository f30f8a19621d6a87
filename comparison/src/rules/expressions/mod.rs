//! Makes expressions of each type from templates.

mod templates;

use templates::rules_of;

use crate::generate::random::Random;

/// A generator of expressions at one place of the schema.
pub(crate) struct Expressions<'r> {
    random: &'r mut Random,
    place: &'static str,
    /// Whether the expression may use `oldSelf`.
    uses_old: bool,
    /// The variables of comprehensions around the expression, with their types.
    variables: Vec<(String, Type)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Int,
    String,
}

/// The fields of each type, for rules at `spec`.
const INTS: [&str; 3] = ["number", "other", "nested.a__dash__b"];
const STRINGS: [&str; 8] = [
    "text",
    "word",
    "maybe",
    "nested.__namespace__",
    "nested.x__underscores__y",
    "nested.c__dot__d__slash__e",
    "version",
    "amount",
];
const INT_LISTS: [&str; 2] = ["numbers", "nested.list"];
const STRING_LISTS: [&str; 2] = ["words", "set"];

impl<'r> Expressions<'r> {
    /// Expressions at a place, some of which use `oldSelf`.
    pub(crate) fn new(random: &'r mut Random, place: &'static str, uses_old: bool) -> Self {
        Expressions {
            random,
            place,
            uses_old,
            variables: Vec::new(),
        }
    }

    /// The expression of the spec.
    fn spec(&mut self) -> &'static str {
        let is_old = self.uses_old && self.random.chance(40);
        match (self.place, is_old) {
            ("root", false) => "self.spec",
            ("root", true) => "oldSelf.spec",
            (_, false) => "self",
            (_, true) => "oldSelf",
        }
    }

    fn has_spec(&self) -> bool {
        matches!(self.place, "spec" | "root")
    }

    fn own(&mut self) -> &'static str {
        if self.uses_old && self.random.chance(40) {
            "oldSelf"
        } else {
            "self"
        }
    }

    fn field(&mut self, names: &[&'static str]) -> String {
        let spec = self.spec();
        format!("{spec}.{}", self.random.name(names))
    }

    fn variable(&mut self, of: Type) -> Option<String> {
        let matching: Vec<String> = self
            .variables
            .iter()
            .filter(|(_, kind)| *kind == of)
            .map(|(name, _)| name.clone())
            .collect();
        // The body of a comprehension should use its variable in most cases.
        if matching.is_empty() || self.random.chance(35) {
            return None;
        }
        self.random.pick(&matching).cloned()
    }

    /// A name of a variable for a comprehension.
    fn fresh(&self) -> String {
        // The number is that of the variables in scope, so that no variable hides another one of this form.
        format!("v{}", self.variables.len())
    }

    /// An expression in the scope of a variable.
    fn with(&mut self, of: Type, make: impl FnOnce(&mut Self) -> String) -> (String, String) {
        let name = self.fresh();
        self.variables.push((name.clone(), of));
        let body = make(self);
        self.variables.pop();
        (name, body)
    }

    pub(crate) fn boolean(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.plain_boolean();
        }
        // Every operand is less deep, so that an expression ends.
        let depth = depth - 1;
        // Only a rule that sees the spec can use its fields. Elsewhere these numbers give a plain rule.
        match self.random.below(38) {
            0 => format!("{} && {}", self.boolean(depth), self.boolean(depth)),
            1 => format!("{} || {}", self.boolean(depth), self.boolean(depth)),
            2 => format!("!({})", self.boolean(depth)),
            3 => format!(
                "({} ? {} : {})",
                self.boolean(depth),
                self.boolean(depth),
                self.boolean(depth)
            ),
            4 | 5 => self.comparison(&["<", "<=", ">", ">=", "==", "!="], depth, Self::int),
            6 | 7 => self.comparison(&["<", ">=", "==", "!="], depth, Self::string),
            8 => {
                let method = self.random.name(&["startsWith", "endsWith", "contains"]);
                format!("{}.{method}({})", self.string(depth), self.string(0))
            }
            9 => {
                let pattern = self
                    .random
                    .name(&["^a", "[a-z]+$", "\\\\d", "^\\\\w*$", "b|c", "^$"]);
                format!("{}.matches('{pattern}')", self.string(depth))
            }

            10 | 11 => self.quantifier(Type::Int, depth, Self::int_list),
            12 | 13 => self.quantifier(Type::String, depth, Self::string_list),
            14 => format!("{} in {}", self.int(depth), self.int_list(depth)),
            15 => format!("{} in {}", self.string(depth), self.string_list(depth)),
            16 => format!("{} == {}", self.int_list(depth), self.int_list(depth)),
            17 => format!("{} == {}", self.string_list(depth), self.string_list(depth)),
            18 => {
                let list = self.int_list(depth);
                let method = self.random.name(&["isSorted()", "includes(2)"]);
                format!("{list}.{method}")
            }
            19 => {
                let function = self.random.name(&["contains", "equivalent", "intersects"]);
                format!(
                    "sets.{function}({}, {})",
                    self.string_list(depth),
                    self.string_list(0)
                )
            }
            20 => self.comparison(&["<", ">=", "=="], depth, Self::double),
            21 | 34 | 35 if self.has_spec() => self.template(templates::LIBRARY),
            22 if self.has_spec() => self.template(templates::TIMES),
            23 | 36 | 37 if self.has_spec() => self.structure(depth),
            24 => self.quantifier_with_index(depth),
            25 if self.has_spec() => self.optional(),
            26 if self.has_spec() => self.template(templates::PORTS),
            _ => self.plain_boolean(),
        }
    }

    fn comparison(
        &mut self,
        operators: &[&'static str],
        depth: usize,
        operand: impl Fn(&mut Self, usize) -> String,
    ) -> String {
        let operator = self.random.name(operators);
        format!(
            "{} {operator} {}",
            operand(self, depth),
            operand(self, depth)
        )
    }

    fn quantifier(
        &mut self,
        of: Type,
        depth: usize,
        list: impl Fn(&mut Self, usize) -> String,
    ) -> String {
        let method = self.random.name(&["all", "exists", "exists_one"]);
        let list = list(self, depth);
        let (name, body) = self.with(of, |this| this.boolean(depth));
        format!("{list}.{method}({name}, {body})")
    }

    /// With two variables the first one of a list is the index.
    fn quantifier_with_index(&mut self, depth: usize) -> String {
        let list = self.string_list(depth);
        let (index, body) = self.with(Type::Int, |this| {
            this.variables.push(("w".to_owned(), Type::String));
            let body = this.boolean(depth);
            this.variables.pop();
            body
        });
        let method = self.random.name(&["all", "exists", "existsOne"]);
        format!("{list}.{method}({index}, w, {body})")
    }

    fn optional(&mut self) -> String {
        let spec = self.spec();
        let fields = ["labels.?x", "nested.?a__dash__b", "?number", "?maybe"];
        let field = self.random.name(&fields);
        let methods = ["hasValue()", "orValue('a') == 'a'", "orValue(1) > 0"];
        format!("{spec}.{field}.{}", self.random.name(&methods))
    }

    fn template(&mut self, texts: &[&'static str]) -> String {
        let spec = self.spec();
        self.random.name(texts).replace("{}", spec)
    }

    fn plain_boolean(&mut self) -> String {
        let own = self.own();
        let rules = rules_of(self.place);
        if !rules.is_empty() {
            return self.random.name(rules).replace("{}", own);
        }

        // Places without rules of their own are the spec and the root, which see all fields.
        match self.random.below(6) {
            0 => self.field(&["flag"]),
            1 => {
                let fields: Vec<&'static str> =
                    INTS.into_iter().chain(STRINGS).chain(INT_LISTS).collect();
                let field = self.field(&fields);
                format!("has({field})")
            }
            2 => format!("{} > {}", self.int(0), self.int(0)),
            3 => format!("{} == {}", self.string(0), self.string(0)),
            4 => self.random.name(&["true", "false"]).to_owned(),
            _ => {
                let list = self.string_list(0);
                format!("{list}.size() > 1")
            }
        }
    }

    pub(crate) fn int(&mut self, depth: usize) -> String {
        if let Some(name) = self.variable(Type::Int) {
            return name;
        }
        if depth == 0 {
            return match self.random.below(2) {
                0 if self.has_spec() => self.field(&INTS),
                _ => self
                    .random
                    .name(&["0", "1", "-1", "2", "7", "9223372036854775807"])
                    .to_owned(),
            };
        }

        // Many of these fail: overflows, divisions by zero, indexes beyond the end. Both sides must report the same
        // errors.
        let depth = depth - 1;
        match self.random.below(12) {
            0 => {
                let operator = self.random.name(&["+", "-", "*", "/", "%"]);
                format!("({} {operator} {})", self.int(depth), self.int(depth))
            }
            1 => format!("size({})", self.string(depth)),
            2 => format!("{}.size()", self.string_list(depth)),
            3 => format!("{}.sum()", self.int_list(depth)),
            4 => {
                let method = self
                    .random
                    .name(&["min()", "max()", "indexOf(2)", "lastIndexOf(1)"]);
                format!("{}.{method}", self.int_list(depth))
            }
            5 => {
                let method = self.random.name(&[
                    "indexOf('b')",
                    "lastIndexOf('b')",
                    "indexOf('', 1)",
                    "indexOf('c', 2)",
                ]);
                format!("{}.{method}", self.string(depth))
            }
            6 => format!("int({})", self.string(depth)),
            7 => format!("int({})", self.double(depth)),
            8 => format!("{}[{}]", self.int_list(depth), self.int(depth)),
            9 => format!(
                "({} ? {} : {})",
                self.boolean(depth),
                self.int(depth),
                self.int(depth)
            ),
            10 => format!("-({})", self.int(depth)),
            _ => self.int(0),
        }
    }

    pub(crate) fn double(&mut self, depth: usize) -> String {
        // The only field with doubles is in the spec.
        if depth == 0 || !self.has_spec() {
            return self.random.name(&["0.0", "1.5", "-2.0", "1e20"]).to_owned();
        }
        let depth = depth - 1;
        match self.random.below(4) {
            0 => format!("double({})", self.int(depth)),
            1 => {
                let operator = self.random.name(&["+", "-", "*", "/"]);
                format!("({} {operator} {})", self.double(depth), self.double(depth))
            }
            2 => format!("double({})", self.string(depth)),
            _ => self.field(&["ratio"]),
        }
    }

    pub(crate) fn string(&mut self, depth: usize) -> String {
        if let Some(name) = self.variable(Type::String) {
            return name;
        }
        if depth == 0 {
            return match self.random.below(2) {
                0 if self.has_spec() => self.field(&STRINGS),
                _ => self
                    .random
                    .name(&["''", "'a'", "'b'", "'abc'", "'ö'", "'1'"])
                    .to_owned(),
            };
        }

        // Many of these fail too, such as indexes beyond the end, and both sides must report the same errors.
        let depth = depth - 1;
        match self.random.below(13) {
            0 => format!("({} + {})", self.string(depth), self.string(depth)),
            1 => {
                let method = self
                    .random
                    .name(&["lowerAscii()", "upperAscii()", "trim()"]);
                format!("{}.{method}", self.string(depth))
            }
            2 => format!("{}.replace('b', {})", self.string(depth), self.string(0)),
            3 => format!(
                "{}.replace({}, 'x', {})",
                self.string(depth),
                self.string(0),
                self.int(0)
            ),
            4 => self.part_of_string("substring(", &["0", "1", "2", "5"], depth),
            5 => self.part_of_string("substring(0, ", &["0", "1", "2", "9"], depth),
            6 => self.part_of_string("charAt(", &["0", "1", "3"], depth),
            7 => format!(
                "{}.join({})",
                self.string_list(depth),
                self.random.name(&["", "','", "'--'"])
            ),
            8 => {
                let numbers = ["1", "{}", "1.5", "{d}", "1234567.5", "true", "2u", "b'a'"];
                let number = self.random.name(&numbers).replace("{}", &self.int(depth));
                let number = number.replace("{d}", &self.double(depth));
                format!("string({number})")
            }
            9 => {
                let pattern = self.random.name(&["[a-z]+", "b", "\\\\d*", "."]);
                format!("{}.find('{pattern}')", self.string(depth))
            }
            10 => format!(
                "({} ? {} : {})",
                self.boolean(depth),
                self.string(depth),
                self.string(depth)
            ),
            11 => self.formatted(),
            _ => self.string(0),
        }
    }

    fn formatted(&mut self) -> String {
        let clause = self.random.name(&[
            "'%d'.format([{i}])",
            "'%s-%s'.format([{s}, {i}])",
            "'%x'.format([{i}])",
        ]);
        let (int, string) = (self.int(0), self.string(0));
        clause.replace("{i}", &int).replace("{s}", &string)
    }

    fn part_of_string(&mut self, method: &str, ends: &[&'static str], depth: usize) -> String {
        format!("{}.{method}{})", self.string(depth), self.random.name(ends))
    }

    pub(crate) fn int_list(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(2) {
                0 if self.has_spec() => self.field(&INT_LISTS),
                _ => self
                    .random
                    .name(&["[1]", "[1, 2, 3]", "[3, 1, 2, 1]"])
                    .to_owned(),
            };
        }

        // A `map` makes integers of strings, so that lists of both types nest in each other.
        let depth = depth - 1;
        match self.random.below(6) {
            0 => {
                let list = self.int_list(depth);
                let (name, body) = self.with(Type::Int, |this| this.int(depth));
                format!("{list}.map({name}, {body})")
            }
            1 => {
                let list = self.int_list(depth);
                let (name, body) = self.with(Type::Int, |this| this.boolean(depth));
                format!("{list}.filter({name}, {body})")
            }
            2 => format!("({} + {})", self.int_list(depth), self.int_list(depth)),
            3 => {
                let list = self.string_list(depth);
                let (name, body) = self.with(Type::String, |this| this.int(depth));
                format!("{list}.map({name}, {body})")
            }
            4 => format!("[{}, {}]", self.int(depth), self.int(depth)),
            _ => self.int_list(0),
        }
    }

    pub(crate) fn string_list(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(2) {
                0 if self.has_spec() => self.field(&STRING_LISTS),
                _ => self
                    .random
                    .name(&["['a']", "['a', 'b']", "['c', 'a', 'a']"])
                    .to_owned(),
            };
        }

        // Each variable is in the scope of its own body alone, so that the list is made before it.
        let depth = depth - 1;
        match self.random.below(7) {
            0 => {
                let separator = self.random.name(&["','", "''", "'b'", "' '"]);
                format!("{}.split({separator})", self.string(depth))
            }
            1 => format!(
                "{}.split('b', {})",
                self.string(depth),
                self.random.name(&["0", "1", "2", "-1"])
            ),
            2 => format!(
                "({} + {})",
                self.string_list(depth),
                self.string_list(depth)
            ),
            3 => {
                let list = self.string_list(depth);
                let (name, body) = self.with(Type::String, |this| this.string(depth));
                format!("{list}.map({name}, {body})")
            }
            4 => {
                let list = self.string_list(depth);
                let (name, body) = self.with(Type::String, |this| this.boolean(depth));
                format!("{list}.filter({name}, {body})")
            }
            5 => format!(
                "{}.findAll('[a-z]'{})",
                self.string(depth),
                self.random.name(&["", ", 1", ", 0"])
            ),
            _ => self.string_list(0),
        }
    }

    /// A use of maps, objects and lists of the object.
    fn structure(&mut self, depth: usize) -> String {
        let text = self.template(templates::STRUCTURES);
        // As an operand, an error passes through the outer expression.
        if self.random.chance(20) {
            format!("({text}) == ({})", self.boolean(depth))
        } else {
            text
        }
    }
}
