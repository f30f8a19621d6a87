//! Compares the types and the estimated costs of rules.
//!
//! A case is a request to the oracle `kubernetes`. With op `estimates`, it is a schema with random bounds, and rules, some of
//! which are changed so that their types are wrong. With op `crd`, it is a definition with such rules at several levels, and
//! the answers are the errors of its validation.

use fieldmanager_cel::internal::{RuleChecks, RuleOptions};
use fieldmanager_handlers::internal::errors_of_definition;
use fieldmanager_structural::Structural;
use fieldmanager_structural::internal::declare_metadata;
use serde_json::{Map, Value as Json, json};

use super::expressions::Expressions;
use crate::generate::random::Random;
use crate::json::{member, own, with_strings};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::tally::Tally;
use crate::{Difference, Error, Suite, Verdict};

/// The suite.
pub struct Estimates;

/// The rule for errors that quote a parser of regular expressions or of expressions.
const PARSER_TEXT: &str = "rules-parse-text";

impl Suite for Estimates {
    const NAME: &'static str = "estimates";
    const ORACLE: &'static str = "kubernetes";
    const BATCH: u64 = 64;

    fn generate(&self, seed: u64) -> Json {
        let mut random = Random::new(seed);
        if random.chance(50) {
            definition(&mut random)
        } else {
            case(&mut random)
        }
    }

    fn compare(
        &mut self,
        _: &mut dyn Oracle,
        case: &Json,
        answers: &[Json],
    ) -> Result<Verdict, Error> {
        let reference = answers.first().unwrap_or(&Json::Null);
        // Generated definitions can be decoded; a smaller one may lack a schema where one must be.
        let unanswered = ["requestError", "panic", "decodeError"];
        if unanswered.iter().any(|name| reference.get(name).is_some()) {
            return Err(Error::Request(format!("{case}: {reference}")));
        }
        let mut out = Verdict::default();
        // In Go the name of the type of `self` ends with a time.
        let reference = without_numbers(reference, "selfType");

        if let Some(errors) = reference.get("errors").and_then(Json::as_array) {
            let label = if errors.is_empty() {
                "accepted"
            } else {
                "refused"
            };
            out.tally.count("definitions", label);
        }

        for rule in member(&reference, "rules").as_array().into_iter().flatten() {
            let label = if rule.get("error").is_some() || rule.get("messageError").is_some() {
                "refused"
            } else {
                "accepted"
            };
            out.tally.count("rules", label);
        }

        let candidate = answer(case, &mut out.tally);
        // Of a definition, the errors alone are compared.
        let reference = match reference.get("errors") {
            Some(errors) => json!({"errors": errors}),
            None => reference,
        };
        if reference == candidate {
            return Ok(out);
        }

        // The copies of a target of a macro have variables of their own.
        let numberless = |answer| without_numbers(answer, "_var");
        if numberless(&reference) == numberless(&candidate) {
            out.deviations.push("server-rule-types");
            return Ok(out);
        }
        if without_texts(&reference) == without_texts(&candidate) {
            out.deviations.push(PARSER_TEXT);
            return Ok(out);
        }
        out.difference = Some(Difference::of("answer", &reference, &candidate));

        Ok(out)
    }

    fn cuts(&self, _: &Json) -> Vec<Cut> {
        const SCHEMA: &str = "/crd/spec/versions/0/schema/openAPIV3Schema";
        vec![
            Cut::children("/rules"),
            Cut::names("/schema/properties"),
            Cut::schema(SCHEMA),
        ]
    }
}

/// The answer of the library.
fn answer(case: &Json, tally: &mut Tally) -> Json {
    if let Some(definition) = case.get("crd") {
        let errors = errors_of_definition(&own(definition));
        let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        errors.sort();
        return json!({"errors": errors});
    }

    let schema = match Structural::from_value(&own(member(case, "schema"))) {
        Ok(schema) => declare_metadata(&schema, false),
        Err(error) => return json!({"conversionError": error.to_string()}),
    };
    let mut checks = RuleChecks::new(&schema);
    // A rule costs its estimate once for each value that a request can have at its place.
    let cardinality = checks.occurrences();
    let is_stored = case.get("stored") == Some(&Json::Bool(true));
    let rules = member(case, "rules")
        .as_array()
        .into_iter()
        .flatten()
        .map(|rule| {
            let has_optional_old = rule.get("optionalOldSelf") == Some(&Json::Bool(true));
            let options = RuleOptions {
                has_optional_old,
                is_stored,
                ..RuleOptions::default()
            };
            let source = member(rule, "rule").as_str().unwrap_or_default();
            let checked = match checks.rule(source, options) {
                Ok(checked) => checked,
                Err(refused) => return json!({"error": refused.reason}),
            };
            // The tally shows which functions of the library the generator reaches.
            for (name, overload) in checked.overloads {
                tally.count("overloads", format!("{name}{overload}"));
            }

            let known = json!({
                "cost": checked.cost,
                "cardinality": cardinality,
                "usesOldSelf": checked.uses_old_self,
            });
            let mut out = known.as_object().cloned().unwrap_or_default();

            // The message has a cost of its own, and is refused on its own.
            if let Some(message) = rule.get("messageExpression").and_then(Json::as_str) {
                let (name, answer) = match checks.message(message, options) {
                    Ok(checked) => ("messageCost", json!(checked.cost)),
                    Err(refused) => ("messageError", json!(refused.reason)),
                };
                out.insert(name.to_owned(), answer);
            }

            Json::Object(out)
        });

    json!({"rules": rules.collect::<Vec<_>>()})
}

/// The answer without the numbers after a name: the time in the names of types, or the numbers of unknown types.
fn without_numbers(answer: &Json, name: &str) -> Json {
    with_strings(answer, &|text| {
        let mut parts = text.split(name);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str(name);
            out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        out
    })
}

/// The answer without what a parser of patterns or of expressions said. That an expression has a syntax error stays, so
/// that one side alone cannot have it.
fn without_texts(answer: &Json) -> Json {
    with_strings(answer, &|text| {
        let is_syntax = text.contains(": Syntax error: ") || text.contains(": Incomplete `");
        let (marker, kept) = if is_syntax {
            ("compilation failed: ", "syntax error")
        } else {
            ("error parsing regexp: ", "")
        };
        match text.split_once(marker) {
            Some((before, _)) => format!("{before}{marker}{kept}"),
            None => text.to_owned(),
        }
    })
}

/// The case of a seed.
fn case(random: &mut Random) -> Json {
    let mut schema = super::generate::schema()
        .pointer_mut("/properties/spec")
        .map(Json::take)
        .unwrap_or_default();
    bounds(random, &mut schema);
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("allOf");
    }
    let rules: Vec<Json> = (0..4).map(|_| rule(random, "spec")).collect();
    json!({"op": "estimates", "schema": schema, "rules": rules, "stored": random.chance(20)})
}

/// A definition with rules at several levels.
fn definition(random: &mut Random) -> Json {
    let mut schema = super::generate::schema();
    bounds(random, &mut schema);
    if let Some(spec) = schema
        .pointer_mut("/properties/spec")
        .and_then(Json::as_object_mut)
    {
        spec.remove("allOf");
    }

    // Bounds include random required fields, but a key of an associative list must be required or have a default.
    if let Some(required) = schema.pointer_mut("/properties/spec/properties/maps/items/required") {
        *required = json!(["key"]);
    }
    // Besides the limit of each rule there is one for the sum of a definition.
    for _ in 0..random.between(1, 6) {
        let (pointer, kind) = super::generate::place(random);
        let rule = rule(random, kind);
        if let Some(Json::Object(fields)) = schema.pointer_mut(pointer) {
            let rules = fields
                .entry("x-kubernetes-validations")
                .or_insert_with(|| json!([]));
            rules
                .as_array_mut()
                .into_iter()
                .for_each(|rules| rules.push(rule.clone()));
        }
    }

    let names =
        json!({"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"});
    json!({"op": "crd", "crd": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"},
        "status": {"storedVersions": ["v1"]},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": names,
            "conversion": {"strategy": "None"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    }})
}

fn rule(random: &mut Random, kind: &'static str) -> Json {
    let mut rule = Map::new();
    let uses_old = random.chance(15);
    let depth = random.between(1, 4);
    let mut text = Expressions::new(random, kind, uses_old).boolean(depth);
    // These patterns use fields of the spec.
    if kind == "spec" && random.chance(35) {
        text = nested(random, &text);
    }

    rule.insert("rule".to_owned(), json!(changed(random, text)));
    if random.chance(25) {
        let text = Expressions::new(random, kind, uses_old).string(2);
        rule.insert("messageExpression".to_owned(), json!(changed(random, text)));
    }
    if random.chance(10) {
        rule.insert("optionalOldSelf".to_owned(), json!(true));
    }

    Json::Object(rule)
}

/// A rule with parts that the other generator does not make.
fn nested(random: &mut Random, text: &str) -> String {
    let pattern = random.name(&[
        "self.maps.all(m, self.maps.exists(n, n.key == m.key && m.value < n.value))",
        "self.maps.all(i, m, i < 5 && self.words.exists(w, w.contains(m.key)))",
        "self.labels.all(k, v, k.size() + v.size() < 9 && self.labels[k].startsWith(v))",
        "self.labels.transformMap(k, v, v.size() > 1, v + k).size() == 0",
        "self.labels.transformMapEntry(k, v, {v: k}).all(k, k.matches('a+'))",
        "self.maps.map(m, m.key).sort().join(',').size() < 3",
        "self.maps.sortBy(m, m.value)[0].key == self.words.distinct()[0]",
        "self.?nested.list.optMap(l, l.sum() > 3).orValue(false)",
        "self.?nested.optFlatMap(n, n.?list).hasValue()",
        "self.words.transformList(i, w, w + string(i)).exists_one(w, w == self.text)",
        "[self.text, self.word].all(t, t.replace('a', self.word).split(',').size() < 3)",
        "{'a': self.text, 'b': self.word}.all(k, k in self.labels)",
        "self.maps.all(m, self.numbers.filter(n, n > m.value).size() > 0 ? m.key == 'a' : m.value == 1)",
        "dyn(self.words).all(w, w == self.text) && self.port == 1 || string(self.port) == self.text",
        "self.words.slice(0, 2).flatten().reverse() == lists.range(self.number)",
        "self.template.metadata.name.size() < 5 && self.template.kind in ['a', 'b']",
        "sets.equivalent(self.words, self.set) && self.data.size() > 3 && string(self.data) < self.text",
        "self.nested.namespace == self.nested.__namespace__ && has(self.nested.namespace)",
        "[[1, 2], self.numbers].flatten().all(n, n in self.nested.list)",
        "self.maps.all(m, m.key.all(c, true)) && self.words.all(self, self.size() > 0)",
        "self.wait > duration('1s') && self.time < timestamp('2024-01-01T00:00:00Z') && self.day == self.time",
        "[self.nested].all(n, n.list.all(i, n.list.exists(j, j != i && n.x__underscores__y.contains(string(i)))))",
        "(self.flag ? self.words : self.set).all(w, w.size() > 1) && (self.words + self.set).exists(w, w == '')",
        "self.words.includes('a') && self.words.indexOf('a') > self.text.lastIndexOf('b')",
        "self.maps.map(m, [m.key]).all(k, k.all(j, j.lowerAscii() == 'a' && k[0] == j))",
        "format.named('uuid').hasValue() && !format.dns1123Label().validate(self.text).hasValue()",
        "url(self.link).getHost() == url(self.link).getQuery()['a'][0] && url(self.link) == url(self.text)",
        "ip(self.address) == ip('1.1.1.1') && cidr(self.network).containsIP(self.address)",
        "semver(self.version).isLessThan(semver('1.0.0')) && quantity(self.amount).add(quantity('1')) == quantity('2')",
    ]);

    // Costs of operands are added, and of the branches of a condition the larger one counts.
    match random.below(3) {
        0 => pattern.to_owned(),
        1 => format!("({pattern}) && ({text})"),
        _ => format!("{text} ? {pattern} : !({pattern})"),
    }
}

/// The expression, or one that may be wrong.
fn changed(random: &mut Random, text: String) -> String {
    // A refused expression has no cost to compare, so that half of the expressions stay.
    if random.chance(50) {
        return text;
    }
    const CHANGES: [(&str, &str); 34] = [
        ("number", "text"),
        ("text", "numbers"),
        ("words", "maps"),
        ("maps", "labels"),
        ("labels", "free"),
        ("labels", "template"),
        ("numbers", "holes"),
        ("nested", "nestde"),
        ("word", "port"),
        ("self", "oldSelf"),
        ("self", "[]"),
        ("self.", "self.?"),
        ("size()", "trim()"),
        ("all(", "map("),
        ("exists(", "filter("),
        (" == ", " + "),
        (" > ", " in "),
        (" && ", " + "),
        (" || ", " == "),
        ("'", "\""),
        ("'a'", "1"),
        ("'a'", "null"),
        ("1", "'ä'"),
        ("1", "1u"),
        ("2", "2.0"),
        ("true", "dyn(1)"),
        ("false", "{}"),
        ("[", "[[], "),
        ("(", "(-"),
        ("(", "(!"),
        (")", ")[0]"),
        (")", ").x"),
        (")", ".orValue(1))"),
        (", ", ",\n\t"),
    ];

    // One occurrence is replaced, so that the other uses of the same part keep their types.
    let mut text = text;
    for _ in 0..random.between(1, 2) {
        let Some((from, to)) = random.pick(&CHANGES).copied() else {
            continue;
        };
        let places: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
        if let Some(at) = random.pick(&places).copied() {
            text.replace_range(at..at + from.len(), to);
        }
    }

    text
}

/// Changes the bounds in a schema.
fn bounds(random: &mut Random, schema: &mut Json) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    for name in ["properties", "items", "additionalProperties"] {
        match (name, fields.get_mut(name)) {
            ("properties", Some(Json::Object(properties))) => {
                for property in properties.values_mut() {
                    bounds(random, property);
                }
                let names: Vec<String> = properties
                    .keys()
                    .filter(|_| random.chance(20))
                    .cloned()
                    .collect();
                fields.insert("required".to_owned(), json!(names));
            }
            (_, Some(inner)) => bounds(random, inner),
            (_, None) => {}
        }
    }

    // The estimate takes the largest size of a value from these. Without one, it takes what fits into a request.
    let keyword = match fields.get("type").and_then(Json::as_str) {
        Some("array") => "maxItems",
        Some("object") if fields.contains_key("additionalProperties") => "maxProperties",
        Some("string") => "maxLength",
        None => "maxLength",
        Some(_) => return,
    };
    let limits = [0, 1, 3, 10, 64, 253, 1_000, 100_000, i64::MAX, -1];

    match random.below(3) {
        0 => {}
        1 => {
            fields.remove(keyword);
        }
        _ => {
            fields.insert(keyword.to_owned(), json!(random.pick(&limits)));
        }
    }

    // The longest value of an enum bounds a string, too.
    if keyword == "maxLength" && fields.contains_key("type") && random.chance(15) {
        let values = if fields.contains_key("format") {
            json!([])
        } else {
            json!(["a", "longer", "ä"])
        };
        fields.insert("enum".to_owned(), values);
    }
}
