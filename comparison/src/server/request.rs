//! Requests and answers, and the requests that the steps of a sequence stand for.

use serde_json::{Value as Json, json};

use super::kinds::Kind;
use super::pointer::{merge, set_pointer};
use super::template::{NAME, named};
use crate::json::{flag, items, member, own, remove_pointer, text};

/// A request to an API server.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The method.
    pub method: &'static str,
    /// The path, without a slash in front.
    pub path: String,
    /// The query, without a question mark.
    pub query: String,
    /// The header `Content-Type`; empty if there is none.
    pub content_type: String,
    /// The header `User-Agent`.
    pub agent: String,
    /// The body.
    pub body: Vec<u8>,
}

/// The answer of an API server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The code.
    pub code: u16,
    /// The texts of the headers `Warning`.
    pub warnings: Vec<String>,
    /// The body: an object, a `Status`, or a string if it is not JSON.
    pub body: Json,
}

impl Answer {
    /// Whether the request was carried out.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }

    pub(super) fn to_json(&self) -> Json {
        json!({"code": self.code, "warnings": self.warnings, "body": self.body})
    }

    pub(super) fn from_json(answer: &Json) -> Self {
        Answer {
            code: member(answer, "code")
                .as_u64()
                .and_then(|code| u16::try_from(code).ok())
                .unwrap_or_default(),
            warnings: items(answer, "warnings")
                .iter()
                .filter_map(Json::as_str)
                .map(str::to_owned)
                .collect(),
            body: member(answer, "body").clone(),
        }
    }
}

/// The parts of a step that determine its meaning.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) json: &'a Json,
    pub(super) verb: &'a str,
    pub(super) sub: &'a str,
    pub(super) version: &'a str,
    pub(super) query: &'a str,
}

impl<'a> Step<'a> {
    pub(super) fn new(json: &'a Json, kind: &'a Kind) -> Self {
        let version = Some(text(json, "version")).filter(|version| !version.is_empty());
        Step {
            json,
            verb: text(json, "verb"),
            sub: text(json, "sub"),
            version: version.unwrap_or(&kind.version),
            query: text(json, "query"),
        }
    }

    pub(super) fn is_write(&self) -> bool {
        !matches!(self.verb, "delete" | "get")
    }

    /// Whether the step is left out, since it only makes an object where there is none.
    pub(super) fn is_skipped(&self, live: &Json) -> bool {
        flag(self.json, "once") && !live.is_null()
    }

    /// Whether a successful step makes another object than that of the sequence, which exists already.
    pub(super) fn makes_another(&self, live: &Json) -> bool {
        self.verb == "create" && !live.is_null()
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.query
            .split('&')
            .any(|pair| pair.starts_with("dryRun="))
    }

    /// Whether a successful answer is the object that is stored, at the version at which it is read.
    pub(super) fn answers_object(&self, kind: &Kind) -> bool {
        let is_stored = self.version == kind.read_version();
        self.is_write() && self.sub != "scale" && is_stored && kind.group != DEFINITIONS
    }

    /// The request, given the live object.
    pub(super) fn request(&self, kind: &Kind, live: &Json, name: &str) -> Request {
        // Patches have one method, and are distinguished by their content type.
        let (method, default) = match self.verb {
            "create" => ("POST", "application/json"),
            "update" => ("PUT", "application/json"),
            "merge" => ("PATCH", "application/merge-patch+json"),
            "json" => ("PATCH", "application/json-patch+json"),
            "strategic" => ("PATCH", STRATEGIC_MERGE),
            "apply" => ("PATCH", "application/apply-patch+yaml"),
            "delete" => ("DELETE", ""),
            _ => ("GET", ""),
        };
        let mut path = kind.path_at(self.version);

        // An object with a generated name has another one than the sequence.
        let generated = live
            .pointer("/metadata/name")
            .and_then(Json::as_str)
            .filter(|_| kind.object_name() == NAME);
        let name = generated.unwrap_or(name);
        let object_name = kind.object_name().replace(NAME, name);

        if self.verb != "create" {
            path = format!("{path}/{object_name}");
            if !self.sub.is_empty() {
                path = format!("{path}/{}", self.sub);
            }
        }

        let content_type = match text(self.json, "type") {
            "" => default,
            other => other,
        };
        Request {
            method,
            path,
            query: self.query.to_owned(),
            content_type: content_type.to_owned(),
            agent: Some(text(self.json, "agent"))
                .filter(|agent| !agent.is_empty())
                .unwrap_or("conformance")
                .to_owned(),
            body: self.body(live, name).into_bytes(),
        }
    }

    /// Whether the body is a strategic merge patch.
    pub(super) fn is_strategic(&self) -> bool {
        match text(self.json, "type") {
            "" => self.verb == "strategic",
            other => other == STRATEGIC_MERGE,
        }
    }

    fn body(&self, live: &Json, name: &str) -> String {
        if let Some(Json::String(text)) = self.json.get("text") {
            return text.replace(NAME, name);
        }
        let Some(body) = self.json.get("body") else {
            return String::new();
        };

        // What a step drops and sets is applied last, so that it also changes what comes from the live object.
        let mut body = named(body, name);
        if text(self.json, "base") == "live" {
            let mut whole = live.clone();
            merge(&mut whole, &body);
            body = whole;
        }

        for member in items(self.json, "carry").iter().filter_map(Json::as_str) {
            if let Some(value) = live.pointer(&format!("/metadata/{member}")) {
                set_pointer(&mut body, &format!("/metadata/{member}"), value);
            }
        }

        for pointer in items(self.json, "drop").iter().filter_map(Json::as_str) {
            remove_pointer(&mut body, pointer);
        }
        for pair in items(self.json, "set") {
            if let (Some(Json::String(pointer)), Some(value)) = (pair.get(0), pair.get(1)) {
                set_pointer(&mut body, pointer, &named(value, name));
            }
        }

        if text(self.json, "format") == "yaml" {
            own(&body).to_yaml()
        } else {
            body.to_string()
        }
    }
}

/// The type of strategic merge patches.
const STRATEGIC_MERGE: &str = "application/strategic-merge-patch+json";

/// The group of definitions of custom resources, whose status the server writes some time after a request.
pub(super) const DEFINITIONS: &str = "apiextensions.k8s.io";
