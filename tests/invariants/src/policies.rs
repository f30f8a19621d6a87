//! Policies, and the objects that they are about.

use fieldmanager_apiserver::ApiServer;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;

use crate::server::{prepared, runtime, server};

/// The most documents of one input.
const MAX_DOCUMENTS: usize = 6;

/// Loads the YAML documents of a text into a server, one after the other: policies, of which each gets a binding without
/// parameters, and objects that they change or refuse. Documents are separated by lines of `---`, as in the examples.
///
/// Nothing may panic, and a refusal has a message. What each costs is bounded by the budgets of policies.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_policies(text: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Ok(());
    };
    let documents = text.split("\n---\n").take(MAX_DOCUMENTS);
    let documents = documents.filter_map(|text| Value::from_yaml(text).ok());

    let store = prepared();
    runtime()?.block_on(async {
        let server = server(store).await?;
        for document in documents {
            let is_loaded = load(&server, &document).await?;
            if is_loaded && let Some(binding) = binding(&document)? {
                load(&server, &binding).await?;
            }
        }
        Ok(())
    })
}

/// Loads an object. Returns whether it was created.
async fn load(server: &ApiServer, object: &Value) -> Result<bool, String> {
    match server.load(object).await {
        Ok(()) => Ok(true),
        Err(error) => {
            let text = error.to_string();
            ensure!(
                !text.is_empty(),
                "{} is refused without a message",
                object.to_json()
            );
            Ok(false)
        }
    }
}

/// The binding of a policy; `None` for other objects.
fn binding(policy: &Value) -> Result<Option<Value>, String> {
    let kind = policy.declared_kind().kind;
    let actions = match kind.as_str() {
        "ValidatingAdmissionPolicy" => "validationActions: [Deny, Audit],",
        "MutatingAdmissionPolicy" => "",
        _ => return Ok(None),
    };
    let name = Value::from(policy.name().unwrap_or_default()).to_json();
    let text = format!(
        "{{apiVersion: admissionregistration.k8s.io/v1, kind: {}Binding, metadata: {{name: {name}}}, \
         spec: {{{actions} policyName: {name}}}}}",
        kind.as_str()
    );
    Value::from_yaml(&text)
        .map(Some)
        .map_err(|error| format!("{text}: {error}"))
}
