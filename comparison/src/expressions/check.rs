//! Compares both sides.

use std::collections::BTreeSet;

use fieldmanager_access::User;
use fieldmanager_admission::internal::{
    Inputs, access_question, describe_for_expressions, environment, visible_namespace,
};
use fieldmanager_admission::{AdmissionOperation, AdmissionRequest};
use fieldmanager_cel::{
    AccessDecision, AccessQuestion, Authorizer, EvaluationError, ExpressionType,
};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use serde_json::{Map, Value as Json, json};

use crate::json::{flag, items, member, members, own, strings, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::suite::{GO_MAP_ORDER, GO_PANIC, answer_of, any_agrees, has_near_cost};
use crate::{Difference, Error, Judged, Suite, Verdict};

/// The cost of all expressions of a policy.
const BUDGET: u64 = 10_000_000;

/// The rule for errors that quote a parser of expressions, of patterns or of texts.
const PARSE_TEXT: &str = "rules-parse-text";

/// The rule for messages of protobuf, which are unknown here.
const MESSAGES: &str = "server-rule-types";

/// The rule for a variable of a macro with the name of its result.
const RESULT_NAME: &str = "expressions-result-name";

/// The rule for maps with keys that are no scalars.
const MAP_KEY: &str = "expressions-map-key";

/// The rule for `variables` as a value of its own.
const VARIABLES: &str = "expressions-variables";

/// The rule for the names of types of Go in errors about keys.
const KEY_TEXT: &str = "expressions-key-text";

/// The rule for times that are written with their offsets.
const TIME_OFFSET: &str = "expressions-time-offset";

/// The rule for an optional value in the place of a string.
const OPTIONAL_ARGUMENT: &str = "expressions-optional-argument";

/// The suite.
pub struct Expressions;

impl Suite for Expressions {
    const NAME: &'static str = "expressions";
    const ORACLE: &'static str = "expressions";

    fn generate(&self, seed: u64) -> Json {
        super::generate::case(seed)
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Json, answers: &[Json]) -> Judged {
        let theirs = answer_of(case, answers)?;
        let ours = answer(case);
        let mut out = Verdict::default();
        out.tally.count("expressions", outcome(theirs));
        if *theirs == ours {
            return Ok(out);
        }

        // Only the words and forms that docs/deviations.md lists may differ.
        let says = |answer: &Json, words: &str| {
            let mut texts = answer.as_object().into_iter().flatten();
            texts.any(|(_, text)| text.as_str().is_some_and(|text| text.contains(words)))
        };
        if says(&ours, "undeclared reference to 'google.protobuf.") {
            out.deviations.push(MESSAGES);
        } else if says(theirs, "max recursion depth exceeded") && ours.get("refused").is_some() {
            out.deviations.push(PARSE_TEXT);
        } else if uses_all_variables(case) {
            out.deviations.push(VARIABLES);
        } else if theirs.get("panic").is_some() || says(theirs, "internal error: runtime error") {
            out.deviations.push(GO_PANIC);
        } else if says(theirs, "iteration variable overwrites accumulator variable") {
            out.deviations.push(RESULT_NAME);
        } else if says(theirs, "*common.reflect") || says(theirs, "library.") {
            out.deviations.push(KEY_TEXT);
        } else if theirs.get("value").is_some()
            && says(&ours, "no such overload")
            && uses(case, &["optional", ".?", "[?", ".first()", ".last()"])
        {
            out.deviations.push(OPTIONAL_ARGUMENT);
        } else if says(theirs, "+02:00") && !says(&ours, "+02:00") {
            out.deviations.push(TIME_OFFSET);
        } else if says(&ours, "unsupported key type")
            || uses(case, &["{dyn("]) && without_cost(theirs) == without_cost(&ours)
        {
            out.deviations.push(MAP_KEY);
        } else if without_texts(theirs) == without_texts(&ours)
            || has_fewer_wrong_macros(theirs, &ours)
        {
            out.deviations.push(PARSE_TEXT);
        } else {
            let label = format!("{}, here {}", kind(theirs), kind(&ours));
            out.difference = Some(Difference {
                label,
                ..Difference::of("answer", theirs, &ours)
            });
        }
        Ok(out)
    }

    /// The random order of a map decides about the cost of a loop, and about the order of what is written.
    fn by_chance(
        &mut self,
        oracle: &mut dyn Oracle,
        case: &Json,
        variants: &[Json],
    ) -> Result<Option<Verdict>, Error> {
        let agreeing = any_agrees(self, oracle, case, variants)?;
        if agreeing.is_some() {
            return Ok(agreeing);
        }

        let ours = answer(case);
        let sorted = |answer: &Json, name| {
            let mut characters: Vec<char> = text(answer, name).chars().collect();
            characters.sort_unstable();
            characters
        };
        let is_same = |name| {
            variants
                .iter()
                .any(|variant| sorted(variant, name) == sorted(&ours, name))
        };
        let agrees = has_near_cost(&ours, variants)
            && variants.len() > 1
            && is_same("value")
            && is_same("error");
        Ok(agrees.then(|| Verdict {
            deviations: vec![GO_MAP_ORDER],
            ..Verdict::default()
        }))
    }

    fn cuts(&self, _: &Json) -> Vec<Cut> {
        vec![
            Cut::names("/object/spec"),
            Cut::names("/params/spec"),
            Cut::names("/oldObject/spec"),
        ]
    }
}

/// Whether both refuse an expression for variables of macros that are no names, and Go names more of them: the parser knows
/// some macros here, and those of the others are not looked at after its faults.
fn has_fewer_wrong_macros(theirs: &Json, ours: &Json) -> bool {
    let faults = |answer| -> BTreeSet<&str> {
        let faults = text(answer, "refused").split("ERROR: ").skip(1);
        faults.map(str::trim_end).collect()
    };
    let (theirs, ours) = (faults(theirs), faults(ours));
    let mut all = theirs.iter();
    !ours.is_empty()
        && ours.is_subset(&theirs)
        && all.all(|fault| fault.contains(": argument must be a simple name\n"))
}

/// The expressions of the variables, and the expression.
fn expressions(case: &Json) -> impl Iterator<Item = &str> {
    let variables = items(case, "variables").iter();
    variables.chain([case]).map(|of| text(of, "expression"))
}

/// Whether an expression uses `variables` as a value, and not only what is selected from it.
fn uses_all_variables(case: &Json) -> bool {
    expressions(case).any(|expression| {
        let mut rests = expression.split("variables").skip(1);
        rests.any(|rest| !rest.starts_with(['.', '[']))
    })
}

/// The answer of the library.
fn answer(case: &Json) -> Json {
    let optional = |name, member| if flag(case, member) { name } else { "" };
    let mut environment = environment(&[
        optional("params", "hasParams"),
        optional("authorizer", "hasAuthorizer"),
        "variables",
    ]);
    if flag(case, "new") {
        environment = environment.for_new();
    }

    // A variable that is refused is an error of what uses it.
    let mut out = Map::new();
    for variable in items(case, "variables") {
        let name = text(variable, "name");
        if let Err(fault) = environment.add_variable(name, text(variable, "expression")) {
            out.insert(format!("variable {name}"), json!(fault));
        }
    }
    let expected: &[ExpressionType] = match text(case, "returns") {
        "bool" => &[ExpressionType::Bool],
        "string" => &[ExpressionType::String],
        "either" => &[ExpressionType::String, ExpressionType::Null],
        _ => &[ExpressionType::Any],
    };
    let expression = match environment.compile(text(case, "expression"), expected) {
        Ok(expression) => expression,
        Err(fault) => {
            out.insert("refused".to_owned(), json!(fault));
            return Json::Object(out);
        }
    };

    let user = user(member(case, "user"));
    let access = NamedAuthorizer(user.name.clone());
    let authorizer = flag(case, "hasAuthorizer").then_some(&access as &dyn Authorizer);
    let known = CaseValues::of(case);
    let inputs = known.inputs(case, &user);
    let mut activation = inputs.activate(&environment, authorizer, BUDGET);
    let (name, answer) = match activation.evaluate(&expression) {
        Ok(value) => ("value", value.written()),
        Err(EvaluationError::Failed(text)) => ("error", text),
        Err(EvaluationError::Undecided) => ("undecided", String::new()),
        Err(EvaluationError::OutOfBudget) => {
            let text = "validation failed due to running out of cost budget, no further validation rules will be run";
            out.insert("budget".to_owned(), json!(text));
            return Json::Object(out);
        }
    };
    out.insert(name.to_owned(), json!(answer));
    out.insert("cost".to_owned(), json!(BUDGET - activation.budget()));
    Json::Object(out)
}

/// The values of a case.
struct CaseValues {
    object: Option<Value>,
    old: Option<Value>,
    params: Option<Value>,
    namespace: Option<Value>,
    options: Value,
}

impl CaseValues {
    fn of(case: &Json) -> Self {
        let read = |name| Some(own(case.get(name)?)).filter(|value| !value.is_null());
        CaseValues {
            object: read("object"),
            old: read("oldObject"),
            params: read("params").filter(|_| flag(case, "hasParams")),
            namespace: read("namespaceObject").map(|namespace| visible_namespace(&namespace)),
            options: own(member(case, "options")),
        }
    }

    fn inputs(&self, case: &Json, user: &User) -> Inputs<'_> {
        let (kind, resource) = (member(case, "kind"), member(case, "resource"));
        let kind = GroupVersionKind::new(
            text(kind, "group"),
            text(kind, "version"),
            text(kind, "kind"),
        );
        let resource = ["group", "version", "resource"].map(|name| text(resource, name));
        let [group, version, name] = resource;

        // The request is described as for a policy, whose objects are those of the case.
        let request = AdmissionRequest {
            operation: match text(case, "operation") {
                "CREATE" => AdmissionOperation::Create,
                "UPDATE" => AdmissionOperation::Update,
                _ => AdmissionOperation::Delete,
            },
            kind: &kind,
            group,
            version,
            resource: name,
            subresource: text(case, "subresource"),
            namespace: text(case, "namespace"),
            name: text(case, "name"),
            user,
            options: &self.options,
            dry_run: flag(case, "dryRun"),
            old: self.old.as_ref(),
            object: self.object.as_ref(),
        };

        Inputs {
            object: self.object.as_ref(),
            old: self.old.as_ref(),
            request: describe_for_expressions(&request, &kind, resource),
            namespace: self.namespace.as_ref(),
            params: self.params.as_ref(),
            resource: access_question(&request),
        }
    }
}

fn user(user: &Json) -> User {
    let extra = members(user, "extra");
    User {
        name: text(user, "name").to_owned(),
        uid: text(user, "uid").to_owned(),
        groups: strings(user, "groups").map(str::to_owned).collect(),
        extra: extra
            .map(|(key, _)| {
                (
                    key.clone(),
                    strings(member(user, "extra"), key)
                        .map(str::to_owned)
                        .collect(),
                )
            })
            .collect(),
    }
}

/// What the oracle has too: it allows `get`, and `broken` fails. It knows the name of the user.
struct NamedAuthorizer(String);

impl Authorizer for NamedAuthorizer {
    fn decide(&self, question: &AccessQuestion) -> Option<AccessDecision> {
        let who = match &question.service_account {
            Some((namespace, name)) => format!("system:serviceaccount:{namespace}:{name}"),
            None => self.0.clone(),
        };
        Some(match question.verb.as_str() {
            "get" => AccessDecision {
                allowed: true,
                ..AccessDecision::default()
            },
            "broken" => AccessDecision {
                error: "it is broken".to_owned(),
                ..AccessDecision::default()
            },
            _ => AccessDecision {
                reason: format!("{who} may not"),
                ..AccessDecision::default()
            },
        })
    }
}

/// What became of an expression.
fn outcome(answer: &Json) -> &'static str {
    const OUTCOMES: [(&str, &str); 5] = [
        ("refused", "refused"),
        ("value", "value"),
        ("error", "error"),
        ("budget", "out of budget"),
        ("panic", "panic"),
    ];
    let found = OUTCOMES
        .into_iter()
        .find(|(name, _)| answer.get(name).is_some());
    found.map_or("nothing", |(_, outcome)| outcome)
}

/// The outcome with the first words of its fault, without the names in it.
fn kind(answer: &Json) -> String {
    let fault = ["refused", "error"].map(|name| text(answer, name)).concat();
    let words = fault
        .rsplit(" resulted in error: ")
        .next()
        .unwrap_or_default();
    let words = words.split("<input>:").last().unwrap_or_default();
    let words = words.lines().next().unwrap_or_default();
    let words = words.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    let plain: String = words.split(['\'', '"', '`']).step_by(2).collect();
    format!(
        "{}{}",
        outcome(answer),
        plain.chars().take(50).collect::<String>()
    )
}

/// An answer without its cost.
fn without_cost(answer: &Json) -> Json {
    let mut answer = answer.clone();
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("cost");
    }
    answer
}

/// Whether the expression or a variable has one of these parts.
fn uses(case: &Json, parts: &[&str]) -> bool {
    expressions(case).any(|text| parts.iter().any(|part| text.contains(part)))
}

/// The answer without what a parser said. That there was a fault of syntax or of a text stays, so that one side alone cannot
/// have it.
fn without_texts(answer: &Json) -> Json {
    const PARSERS: [&str; 13] = [
        "Major.Minor.Patch",
        " number must not contain leading zeroes",
        " version number",
        "error parsing regexp: ",
        "parse error",
        "Illegal regex",
        "semver",
        "parsing",
        "Version",
        "Invalid ",
        "Prerelease is empty",
        "Build meta data is empty",
        "identifier segment",
    ];
    const SYNTAX: [&str; 6] = [
        ": reserved identifier: ",
        ": Syntax error: ",
        ": Incomplete `",
        "max recursion depth exceeded",
        "recursion limit exceeded",
        "lookahead limit exceeded",
    ];

    crate::json::with_strings(answer, &|text| {
        // Where a parser stops depends on how it goes on after a fault.
        let is_syntax = |part: &&str| text.contains(part);
        if SYNTAX.iter().any(is_syntax) {
            let before = text
                .split("compilation failed: ")
                .next()
                .unwrap_or_default();
            return format!("{before}: syntax error");
        }

        let (before, rest) = text.split_once(" resulted in error: ").unwrap_or_default();
        if PARSERS.iter().any(|parser| rest.contains(parser)) {
            return format!("{before}: parser");
        }
        text.to_owned()
    })
}
