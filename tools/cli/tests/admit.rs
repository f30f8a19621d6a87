//! `admit`: policies on objects of files.

use crate::common::{line, prints};

const TEAM: &str = "admit -f examples/policies/team.yaml";

#[test]
fn a_policy_sets_a_field_that_nobody_owns() {
    assert_eq!(
        prints(&format!("{TEAM} -f examples/deployment/web.yaml")),
        "admitted Deployment default/web\n  + .metadata.labels.team: \"shop\"  (no owner)\n"
    );
}

#[test]
fn a_refusal_has_the_words_of_the_server_and_exit_code_1() {
    let run = line(&format!("{TEAM} -f examples/policies/many.yaml"));
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    assert_eq!(
        run.out,
        "refused  Deployment default/many: deployments.apps \"many\" is forbidden: ValidatingAdmissionPolicy \
         'replicas.example.com' with binding 'replicas.example.com' denied request: at most 5 replicas, found 6\n"
    );
}

#[test]
fn an_object_that_exists_is_applied() {
    let live = "--live examples/deployment/web.yaml";
    assert_eq!(
        prints(&format!(
            "{TEAM} {live} -f examples/deployment/web-next.yaml"
        )),
        "admitted Deployment default/web\n  + .metadata.labels.team: \"shop\"  (no owner)\n"
    );
}
