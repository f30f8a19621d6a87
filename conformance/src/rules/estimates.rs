//! Compares the types and the estimated costs of rules.
//!
//! A case is a request to the oracle `kubernetes` with op `estimates`: a schema with random bounds, and rules, some of which
//! are changed so that their types are wrong.

use fieldmanager_rules::internal::{CheckedRule, RuleChecks, RuleOptions, with_metadata};
use fieldmanager_structural::Structural;
use serde_json::{Map, Value as Json, json};

use super::expressions::Expressions;
use crate::generate::random::Random;
use crate::json::{member, own, with_strings};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::{Difference, Error, Suite, Verdict};

/// The suite.
pub struct Estimates;

/// The rule for errors that quote what Go says about a regular expression.
const PATTERN_TEXT: &str = "rules-parse-text";

impl Suite for Estimates {
    const NAME: &'static str = "estimates";
    const ORACLE: &'static str = "kubernetes";
    const BATCH: u64 = 64;

    fn generate(&self, seed: u64) -> Json {
        case(seed)
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Json, answers: &[Json]) -> Result<Verdict, Error> {
        let reference = answers.first().unwrap_or(&Json::Null);
        if reference.get("requestError").is_some() || reference.get("panic").is_some() {
            return Err(Error::Request(format!("{case}: {reference}")));
        }
        let mut out = Verdict::default();
        let reference = without_numbers(reference);
        for rule in member(&reference, "rules").as_array().into_iter().flatten() {
            let label = if rule.get("error").is_some() || rule.get("messageError").is_some() {
                "refused"
            } else {
                "accepted"
            };
            out.tally.count("rules", label);
        }
        let candidate = answer(case);
        if reference == candidate {
            return Ok(out);
        }
        if without_patterns(&reference) == without_patterns(&candidate) {
            out.deviations.push(PATTERN_TEXT);
            return Ok(out);
        }
        out.difference = Some(Difference::of("answer", &reference, &candidate));
        Ok(out)
    }

    fn cuts(&self, _: &Json) -> Vec<Cut> {
        vec![Cut::children("/rules"), Cut::names("/schema/properties")]
    }
}

/// The answer of the library.
fn answer(case: &Json) -> Json {
    let schema = match Structural::from_value(&own(member(case, "schema"))) {
        Ok(schema) => with_metadata(&schema, false),
        Err(error) => return json!({"conversionError": error.to_string()}),
    };
    let mut checks = RuleChecks::new(&schema);
    let cardinality = checks.occurrences();
    let is_stored = case.get("stored") == Some(&Json::Bool(true));
    let rules = member(case, "rules").as_array().into_iter().flatten().map(|rule| {
        let has_optional_old = rule.get("optionalOldSelf") == Some(&Json::Bool(true));
        let options = RuleOptions { has_optional_old, is_stored };
        let CheckedRule { cost, uses_old_self, .. } =
            match checks.rule(member(rule, "rule").as_str().unwrap_or_default(), options) {
                Ok(checked) => checked,
                Err(error) => return json!({"error": error}),
            };
        let known = json!({"cost": cost, "cardinality": cardinality, "usesOldSelf": uses_old_self});
        let mut out = known.as_object().cloned().unwrap_or_default();
        if let Some(message) = rule.get("messageExpression").and_then(Json::as_str) {
            let (name, answer) = match checks.message(message, options) {
                Ok(checked) => ("messageCost", json!(checked.cost)),
                Err(error) => ("messageError", json!(error)),
            };
            out.insert(name.to_owned(), answer);
        }
        Json::Object(out)
    });
    json!({"rules": rules.collect::<Vec<_>>()})
}

/// The answer of Go without the time in the names of types.
fn without_numbers(answer: &Json) -> Json {
    const NAME: &str = "selfType";
    with_strings(answer, &|text| {
        let mut parts = text.split(NAME);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str(NAME);
            out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        out
    })
}

/// The answer without what a parser of patterns said.
fn without_patterns(answer: &Json) -> Json {
    let mut out = answer.clone();
    for rule in out.get_mut("rules").and_then(Json::as_array_mut).into_iter().flatten() {
        for name in ["error", "messageError"] {
            let Some(text) = rule.get_mut(name) else { continue };
            if let Some((before, _)) =
                text.as_str().and_then(|text| text.split_once("error parsing regexp: "))
            {
                *text = json!(before);
            }
        }
    }
    out
}

/// The case of a seed.
fn case(seed: u64) -> Json {
    let mut random = Random::new(seed);
    let mut schema =
        super::generate::schema().pointer_mut("/properties/spec").map(Json::take).unwrap_or_default();
    bounds(&mut random, &mut schema);
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("allOf");
    }
    let rules: Vec<Json> = (0..4).map(|_| rule(&mut random)).collect();
    json!({"op": "estimates", "schema": schema, "rules": rules, "stored": random.chance(20)})
}

fn rule(random: &mut Random) -> Json {
    let mut rule = Map::new();
    let uses_old = random.chance(15);
    let depth = random.between(1, 4);
    let mut text = Expressions::new(random, "spec", uses_old).boolean(depth);
    if random.chance(35) {
        text = nested(random, &text);
    }
    rule.insert("rule".to_owned(), json!(changed(random, text)));
    if random.chance(25) {
        let text = Expressions::new(random, "spec", uses_old).string(2);
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
    match random.below(3) {
        0 => pattern.to_owned(),
        1 => format!("({pattern}) && ({text})"),
        _ => format!("{text} ? {pattern} : !({pattern})"),
    }
}

/// The expression, or one that may be wrong.
fn changed(random: &mut Random, text: String) -> String {
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
    let mut text = text;
    for _ in 0..random.between(1, 2) {
        let Some((from, to)) = random.pick(&CHANGES).copied() else { continue };
        let places: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
        if let Some(at) = random.pick(&places).copied() {
            text.replace_range(at..at + from.len(), to);
        }
    }
    text
}

/// Changes the bounds in a schema.
fn bounds(random: &mut Random, schema: &mut Json) {
    let Some(fields) = schema.as_object_mut() else { return };
    for name in ["properties", "items", "additionalProperties"] {
        match (name, fields.get_mut(name)) {
            ("properties", Some(Json::Object(properties))) => {
                for property in properties.values_mut() {
                    bounds(random, property);
                }
                let names: Vec<String> = properties.keys().filter(|_| random.chance(20)).cloned().collect();
                fields.insert("required".to_owned(), json!(names));
            }
            (_, Some(inner)) => bounds(random, inner),
            (_, None) => {}
        }
    }
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
    if keyword == "maxLength" && fields.contains_key("type") && random.chance(15) {
        let values = if fields.contains_key("format") { json!([]) } else { json!(["a", "longer", "ä"]) };
        fields.insert("enum".to_owned(), values);
    }
}
