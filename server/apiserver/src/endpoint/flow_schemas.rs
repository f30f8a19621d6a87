//! The flow schemas of the store: the flow of each request, and their conditions.

use std::sync::Arc;

use fieldmanager_access::Attributes;
use fieldmanager_admission::Cluster;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{List, Value};
use futures::future::BoxFuture;

use super::{Core, Failure, Verb};
use crate::flows::{Flow, GROUP, LEVELS, SCHEMAS, has_flow, level_of};
use crate::object::{map, text, with, with_metadata};
use crate::query::Query;
use crate::registry::Served;

/// The manager of the conditions of flow schemas.
const MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";

/// What it owns of a flow schema.
const OWNED: &str = r#"{"f:status":{"f:conditions":{"k:{\"type\":\"Dangling\"}":{".":{},"f:lastTransitionTime":{},
    "f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}"#;

impl Core {
    /// The flow of a request; `None` if it has no priority, or matches no flow schema.
    pub(crate) async fn flow(&self, request: &Attributes<'_>) -> Option<Flow> {
        if !self.has_flows || !has_flow(request) {
            return None;
        }
        let schemas = self.flow_objects(SCHEMAS).await.ok()?;
        let levels = self.flow_objects(LEVELS).await.ok()?;
        self.flows.of(schemas, levels).flow(request)
    }

    /// The seats of each priority level: its share of the requests that the server answers at once.
    pub(crate) async fn nominal_seats(&self, all: usize) -> Result<Vec<(String, u64)>, Failure> {
        if !self.has_flows {
            return Ok(Vec::new());
        }
        let levels = self.flow_objects(LEVELS).await?;
        let shares = |level: &Value| {
            let spec = level.get("spec")?;
            let limits = spec.get("limited").or_else(|| spec.get("exempt"))?;
            u64::try_from(limits.get("nominalConcurrencyShares")?.as_i64()?).ok()
        };
        let named = levels
            .iter()
            .filter_map(|level| level.name().zip(Some(level)));
        let shares: Vec<(String, u64)> = named
            .map(|(name, level)| (name.to_owned(), shares(level).unwrap_or_default()))
            .collect();

        let sum: u64 = shares.iter().map(|(_, shares)| *shares).sum();
        let all = u64::try_from(all).unwrap_or(u64::MAX);
        let seats = |shares: u64| shares.saturating_mul(all).div_ceil(sum.max(1));
        Ok(shares
            .into_iter()
            .map(|(name, shares)| (name, seats(shares)))
            .collect())
    }

    async fn flow_objects(&self, of: (&str, &str)) -> Result<Arc<Vec<Value>>, Failure> {
        // Nearly every request finds the list here, without a future on the heap.
        match self.lists.known(of, "") {
            Some(known) => Ok(known),
            None => Ok(Cluster::list(self, of, "").await?),
        }
    }

    /// Says in the status of flow schemas whether their priority levels exist, after a write of one of both.
    pub(super) async fn check_flow_schemas_after(&self, written: &Served) -> Result<(), Failure> {
        let facts = &written.facts;
        let is_about_flows = [SCHEMAS, LEVELS].contains(&(&*facts.group, &*facts.plural));
        if !(is_about_flows && self.has_flows) {
            return Ok(());
        }
        let schemas = self.flow_objects(SCHEMAS).await?;
        let levels = self.flow_objects(LEVELS).await?;

        let now = self.source.now().to_string();
        for schema in schemas.iter() {
            let level = level_of(schema);
            let is_found = levels.iter().any(|known| known.name() == Some(level));
            let condition = condition(level, is_found, &now);
            if !has_condition(schema, &condition) {
                self.apply_condition(schema, condition).await?;
            }
        }
        Ok(())
    }

    /// Applies a condition. It is boxed, because a write of a flow schema comes here.
    fn apply_condition<'c>(
        &'c self,
        schema: &Value,
        condition: Value,
    ) -> BoxFuture<'c, Result<(), Failure>> {
        let name = schema.metadata_field("name").cloned().unwrap_or_default();
        let object = map([
            ("apiVersion", format!("{GROUP}/v1").into()),
            ("kind", "FlowSchema".into()),
            ("metadata", map([("name", name)])),
            ("status", map([("conditions", vec![condition].into())])),
        ]);
        let query = Query::of(Some(&format!("fieldManager={MANAGER}&force=true")));
        let how = (Verb::Patch, query, "application/apply-patch+yaml");

        Box::pin(async move {
            let registry = self.registry();
            let served = registry.stored_as(SCHEMAS.0, SCHEMAS.1);
            let served = served.ok_or_else(Failure::resource_not_found)?;
            match self.write_status(served, how, &object).await {
                // The flow schema was deleted.
                Err(failure) if failure.status.code == 404 => Ok(()),
                written => written,
            }
        })
    }

    /// An object of the start, with the condition if it is a flow schema, whose priority level is among these objects too.
    pub(crate) fn with_condition(&self, object: &Value, now: &str) -> Value {
        if !self.has_flows || text(object, &["kind"]) != "FlowSchema" {
            return object.clone();
        }
        let condition = condition(level_of(object), true, now);
        let object = with(
            object,
            "status",
            map([("conditions", vec![condition].into())]),
        );
        let entry = map([
            ("apiVersion", format!("{GROUP}/v1").into()),
            ("fieldsType", "FieldsV1".into()),
            ("fieldsV1", Value::from_json(OWNED).unwrap_or_default()),
            ("manager", MANAGER.into()),
            ("operation", "Apply".into()),
            ("subresource", "status".into()),
            ("time", now.into()),
        ]);
        // Entries of appliers come first.
        let others = object.managed_fields().and_then(Value::as_list);
        let entries = [entry]
            .into_iter()
            .chain(others.into_iter().flat_map(List::iter).cloned());
        let entries = Value::List(entries.collect());
        with_metadata(&object, "managedFields", Some(entries))
    }
}

/// The condition that says whether a flow schema refers to a priority level that does not exist.
fn condition(level: &str, is_found: bool, now: &str) -> Value {
    let quoted = fieldmanager_value::internal::go_format::quote(level);
    let (status, reason, end) = if is_found {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    let message = format!(
        "This FlowSchema references the PriorityLevelConfiguration object named {quoted} {end}"
    );
    map([
        ("lastTransitionTime", now.into()),
        ("message", message.into()),
        ("reason", reason.into()),
        ("status", status.into()),
        ("type", "Dangling".into()),
    ])
}

/// Whether a flow schema has a condition, set at any time.
fn has_condition(schema: &Value, condition: &Value) -> bool {
    let conditions = schema
        .get("status")
        .and_then(|status| status.get("conditions")?.as_list());
    let same = |known: &Value| {
        let is_same = |name| text(known, &[name]) == text(condition, &[name]);
        ["type", "status", "reason", "message"]
            .into_iter()
            .all(is_same)
    };
    conditions.is_some_and(|conditions| conditions.iter().any(same))
}
