//! Writes expressions of each type by templates.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::generate::random::Random;
use crate::rules::expressions::Expressions;

/// The type of an expression, as far as templates distinguish it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum TemplateKind {
    Bool,
    Int,
    Double,
    Text,
    Texts,
    Ints,
    #[default]
    Any,
}

/// Writes expressions of a policy.
pub(super) struct TemplateWriter<'r> {
    pub(super) random: &'r mut Random,
    has_params: bool,
    has_access: bool,
    /// The variables that can be used, with their types.
    pub(super) variables: Vec<(&'static str, TemplateKind)>,
}

/// The templates of each type, below a line with its name; those of `access` are about the authorizer. `$o` is an object and
/// `$s` its spec, `$f` is the name of a field, and `$b`, `$i`, `$d`, `$t`, `$l`, `$n` and `$a` are expressions: a bool, an
/// integer, a double, a text, a list of texts, one of integers, and any.
const TEMPLATES: &str = include_str!("templates.txt");

/// The templates by the name of their type.
static BY_TYPE: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut out: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut name = "";
    for line in TEMPLATES.lines() {
        match line.strip_prefix("# ") {
            Some(found) => name = found,
            None => out.entry(name).or_default().push(line),
        }
    }
    out
});

/// Fields of the spec, some of which do not exist.
const FIELDS: [&str; 30] = [
    "number",
    "other",
    "ratio",
    "text",
    "word",
    "flag",
    "maybe",
    "port",
    "wait",
    "time",
    "day",
    "data",
    "numbers",
    "words",
    "set",
    "maps",
    "labels",
    "nested",
    "holes",
    "free",
    "address",
    "network",
    "link",
    "amount",
    "version",
    "template",
    "absent",
    "kind",
    "metadata",
    "namespace",
];
/// How a field of a schema is written in an object without one.
const UNTYPED: [(&str, &str); 8] = [
    ("a__dash__b", "`a-b`"),
    ("x__underscores__y", "x__y"),
    ("c__dot__d__slash__e", "`c.d/e`"),
    ("__namespace__", "namespace"),
    ("self.wait", "duration(self.wait)"),
    ("self.time", "timestamp(self.time)"),
    ("self.day", "timestamp(self.day + 'T00:00:00Z')"),
    ("self.data", "bytes(self.data)"),
];

impl<'r> TemplateWriter<'r> {
    pub(super) fn new(random: &'r mut Random, has_params: bool, has_access: bool) -> Self {
        TemplateWriter {
            random,
            has_params,
            has_access,
            variables: Vec::new(),
        }
    }

    /// The type and the expression of a variable.
    pub(super) fn variable(&mut self) -> (TemplateKind, String) {
        let kind = self.random.of(&[
            TemplateKind::Bool,
            TemplateKind::Int,
            TemplateKind::Text,
            TemplateKind::Texts,
            TemplateKind::Ints,
            TemplateKind::Double,
            TemplateKind::Any,
            TemplateKind::Any,
            TemplateKind::Any,
        ]);
        let depth = self.random.below(3);
        (kind, self.write(kind, depth))
    }

    /// An expression.
    pub(super) fn write(&mut self, kind: TemplateKind, depth: usize) -> String {
        let known = self.variables.iter().filter(|(_, of)| *of == kind);
        let known: Vec<&'static str> = known.map(|(name, _)| *name).collect();
        if !known.is_empty() && self.random.chance(20) {
            return format!("variables.{}", self.random.name(&known));
        }

        // Those of rules are about the spec.
        if kind != TemplateKind::Any && (depth == 0 || self.random.chance(35)) {
            return self.of_rules(kind, depth);
        }
        let name = match kind {
            TemplateKind::Bool => "bool",
            TemplateKind::Int => "int",
            TemplateKind::Text => "text",
            TemplateKind::Texts => "texts",
            TemplateKind::Double | TemplateKind::Ints => return self.of_rules(kind, depth),
            TemplateKind::Any if self.has_access && self.random.chance(8) => "access",
            TemplateKind::Any if depth > 0 && self.random.chance(35) => {
                let kind = self.random.of(&[
                    TemplateKind::Bool,
                    TemplateKind::Int,
                    TemplateKind::Text,
                    TemplateKind::Texts,
                    TemplateKind::Double,
                    TemplateKind::Ints,
                ]);
                return self.write(kind, depth);
            }
            TemplateKind::Any => "any",
        };

        let templates = BY_TYPE.get(name).map_or(&[][..], Vec::as_slice);
        // Without room for parts, one is taken that has none.
        for _ in 0..50 {
            let template = self.random.name(templates);
            let has_parts = ["$a", "$b", "$i", "$d", "$t", "$l", "$n"]
                .iter()
                .any(|part| template.contains(part));
            if self.is_declared(template) && (depth > 0 || !has_parts) {
                return self.fill(template, depth.saturating_sub(1));
            }
        }
        "object".to_owned()
    }

    fn is_declared(&self, template: &str) -> bool {
        let has = |name: &str| self.variables.iter().any(|(known, _)| *known == name);
        (self.has_params || !template.contains("params"))
            && (has("x")
                || !["variables.x", "variables.?x"]
                    .iter()
                    .any(|name| template.contains(name)))
            && (has("spec") || !template.contains("variables.spec"))
    }

    /// The template with its parts.
    fn fill(&mut self, template: &str, depth: usize) -> String {
        let mut parts = template.split('$');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_at_checked(1).unwrap_or((part, ""));
            let kind = match name {
                "b" => TemplateKind::Bool,
                "i" => TemplateKind::Int,
                "d" => TemplateKind::Double,
                "t" => TemplateKind::Text,
                "l" => TemplateKind::Texts,
                "n" => TemplateKind::Ints,
                _ => TemplateKind::Any,
            };
            let filled = match name {
                "o" => self.object().to_owned(),
                "s" => self.spec().to_owned(),
                "f" => self.random.name(&FIELDS).to_owned(),
                _ => self.write(kind, depth),
            };

            // A method or an operator must not apply to the last part alone.
            let is_open =
                filled.contains(' ') && !(filled.starts_with('(') && filled.ends_with(')'));
            if is_open && !matches!(rest.chars().next(), Some(',' | ')' | ']'))
                || filled.starts_with('-')
            {
                out.push_str(&format!("({filled})"));
            } else {
                out.push_str(&filled);
            }
            out.push_str(rest);
        }
        out
    }

    fn object(&mut self) -> &'static str {
        match self.random.below(10) {
            0 => "oldObject",
            1 if self.has_params => "params",
            _ => "object",
        }
    }

    fn spec(&mut self) -> &'static str {
        match self.random.below(12) {
            0 => "oldObject.spec",
            1 if self.has_params => "params.spec",
            2 | 3 if self.variables.iter().any(|(name, _)| *name == "spec") => "variables.spec",
            _ => "object.spec",
        }
    }

    /// An expression that rules have too, about the spec of an object.
    fn of_rules(&mut self, kind: TemplateKind, depth: usize) -> String {
        let mut rules = Expressions::new(self.random, "spec", false);
        let text = match kind {
            TemplateKind::Bool => rules.boolean(depth),
            TemplateKind::Int => rules.int(depth),
            TemplateKind::Double => rules.double(depth),
            TemplateKind::Texts => rules.string_list(depth),
            TemplateKind::Ints => rules.int_list(depth),
            TemplateKind::Text | TemplateKind::Any => rules.string(depth),
        };
        let text = UNTYPED.into_iter().fold(text, |text, (typed, untyped)| {
            if self.random.chance(90) {
                text.replace(typed, untyped)
            } else {
                text
            }
        });
        let spec = self.spec();
        text.replace("oldSelf", "oldObject.spec")
            .replace("self", spec)
    }
}
