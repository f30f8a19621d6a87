//! Random objects of a sequence of requests.

use serde_json::{Value as Json, json};

use super::kinds::{Catalog, Kind};
use super::patches;
use super::pointer::set_pointer;
use crate::Error;
use crate::generate::random::Random;
use crate::json::{flag, items, member, remove_pointer, set};

/// The kind and the object of a sequence.
pub(super) struct Story<'a> {
    catalog: &'a Catalog,
    pub(super) kind: &'a Kind,
    pub(super) rng: &'a mut Random,
    /// The object of the first request: the members that cannot change are equal in all others.
    base: Json,
}

impl<'a> Story<'a> {
    /// A story of a kind if one is given, or of one kind after the other with the numbers of the stories.
    pub(super) fn new(
        catalog: &'a Catalog,
        kind: Option<&str>,
        number: u64,
        rng: &'a mut Random,
    ) -> Result<Self, Error> {
        let kinds: Vec<&Kind> = catalog
            .kinds
            .iter()
            .filter(|entry| kind.is_none_or(|kind| entry.kind == kind))
            .collect();
        let none = || Error::Request("no kinds".to_owned());
        let count = u64::try_from(kinds.len()).unwrap_or_default();
        let at = number
            .checked_rem(count)
            .and_then(|at| usize::try_from(at).ok())
            .ok_or_else(none)?;
        let kind = *kinds.get(at).ok_or_else(none)?;

        let base = catalog.expand(rng, member(&kind.rest, "object"), 40);
        Ok(Story {
            catalog,
            kind,
            rng,
            base,
        })
    }

    fn template(&mut self, name: &str, percent: u32) -> Json {
        self.catalog
            .expand(self.rng, member(&self.kind.rest, name), percent)
    }

    /// A valid object, as far as an update may change it.
    fn content(&mut self) -> Json {
        let mutable = self.kind.rest.get("mutable").is_some();
        let mut out = if flag(&self.kind.rest, "fixed") || (mutable && self.rng.chance(80)) {
            self.base.clone()
        } else {
            let percent = *self.rng.pick(&[15, 40, 70]).unwrap_or(&40);
            self.template("object", percent)
        };

        // A change of these members would be refused, and the rest of the request would not be compared.
        for pointer in items(&self.kind.rest, "pinned")
            .iter()
            .filter_map(Json::as_str)
        {
            match self.base.pointer(pointer) {
                _ if pointer == "/" => out = self.base.clone(),
                Some(value) => set_pointer(&mut out, pointer, value),
                None => {
                    remove_pointer(&mut out, pointer);
                }
            }
        }

        if mutable {
            let changes = self.template("mutable", 60);
            patches::merge_by_name(&mut out, &changes);
        }
        out
    }

    /// The names and labels of the object.
    fn metadata(&mut self) -> Json {
        let mut out = json!({"name": self.kind.object_name()});
        if self.kind.is_namespaced() && self.rng.chance(30) {
            set(&mut out, "namespace", "default");
        }
        if let (Json::Object(more), Json::Object(out)) = (self.part("valid"), &mut out) {
            out.extend(more);
        }
        out
    }

    /// A complete object for a subresource, or the object itself, at a version.
    pub(super) fn object(&mut self, sub: &str, version: &str) -> Json {
        // A request to `status` has the whole object, of which the server takes the status.
        let mut out = match sub {
            "scale" => {
                let replicas = self
                    .rng
                    .pick(&[json!(0), json!(1), json!(2), json!(5)])
                    .cloned();
                json!({"spec": {"replicas": replicas}})
            }
            "" => self.content(),
            "status" => {
                let mut out = if self.rng.chance(60) {
                    self.content()
                } else {
                    self.base.clone()
                };
                set(&mut out, "status", self.template("status", 50));
                out
            }
            other => self.template(other, 50),
        };

        // Outside of its subresource, a status is ignored and gets no owner.
        if sub.is_empty() && self.kind.has("status") && self.rng.chance(10) {
            set(&mut out, "status", self.template("status", 50));
        }
        let metadata = if sub == "scale" {
            json!({"name": self.kind.object_name(), "namespace": "default"})
        } else {
            self.metadata()
        };
        set(&mut out, "metadata", metadata);
        // A `Scale` has a type of its own, whatever it scales.
        let (api_version, kind) = match sub {
            "scale" => ("autoscaling/v1".to_owned(), "Scale"),
            _ => (self.kind.api_version(version), self.kind.kind.as_str()),
        };
        set(&mut out, "apiVersion", api_version);
        set(&mut out, "kind", kind);

        out
    }
}
