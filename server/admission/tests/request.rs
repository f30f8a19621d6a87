//! Requests as admission sees them.

use fieldmanager_access::User;
use fieldmanager_admission::{AdmissionOperation, AdmissionRequest};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

#[test]
fn refusals_name_the_object() {
    let kind = GroupVersionKind::from_api_version_kind("apps/v1", "Deployment");
    let object = Value::from_yaml("{metadata: {generateName: web-}}").unwrap();
    let request = AdmissionRequest {
        operation: AdmissionOperation::Create,
        kind: &kind,
        group: "apps",
        version: "v1",
        resource: "deployments",
        subresource: "",
        namespace: "shop",
        name: "",
        user: &User::admin(),
        options: &Value::Null,
        dry_run: false,
        old: None,
        object: Some(&object),
    };
    let denial = request.forbidden("no");
    assert_eq!(
        (denial.status.code, &*denial.status.message),
        (403, r#"deployments.apps "web-" is forbidden: no"#)
    );
    assert_eq!(denial.status.details.unwrap().name, "web-");
    assert!(request.is_of("apps", "deployments"));
}
