//! Warnings about annotations of security profiles, which fields replaced.

use crate::place::Place;

const SECCOMP_FIELD: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
const APP_ARMOR_FIELD: &str = "deprecated since v1.30; use the \"appArmorProfile\" field instead";

/// The annotations of a pod or of a template of pods.
pub(super) struct Profiles<'a, 'v> {
    pub(super) spec: &'a Place<'v>,
    pub(super) annotations: &'a Place<'v>,
    pub(super) is_template: bool,
}

impl Profiles<'_, '_> {
    /// The annotation has no effect any more. With the field, it does not matter.
    pub(super) fn of_pod(&self, out: &mut Vec<String>) {
        let key = "seccomp.security.alpha.kubernetes.io/pod";
        if self.is_alone(key, self.spec, "seccompProfile") {
            out.push(format!(
                "{}: {SECCOMP_FIELD}",
                self.annotations.path.key(key)
            ));
        }
    }

    pub(super) fn of_container(&self, container: &Place<'_>, out: &mut Vec<String>) {
        let name = container.text("name");
        let seccomp = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
        if self.is_alone(&seccomp, container, "seccompProfile") {
            out.push(format!(
                "{}: {SECCOMP_FIELD}",
                self.annotations.path.key(seccomp)
            ));
        }

        let profile = format!("container.apparmor.security.beta.kubernetes.io/{name}");
        let is_set = self.is_template && self.is_alone(&profile, container, "appArmorProfile");
        if is_set && !is_profile(self.spec, self.annotations.text(&profile)) {
            out.push(format!(
                "{}: {APP_ARMOR_FIELD}",
                self.annotations.path.key(profile)
            ));
        }
    }

    /// Whether there is an annotation without the field that replaced it.
    fn is_alone(&self, annotation: &str, place: &Place<'_>, field: &str) -> bool {
        let context = place.child("securityContext");
        self.annotations.get(annotation).is_some()
            && context.is_none_or(|context| context.get(field).is_none())
    }
}

/// Whether an annotation and the field of a pod have the same profile.
fn is_profile(spec: &Place<'_>, annotation: &str) -> bool {
    let profile = spec
        .child("securityContext")
        .and_then(|context| context.child("appArmorProfile"));
    profile.is_some_and(|profile| match (profile.text("type"), annotation) {
        ("Unconfined", "unconfined") | ("RuntimeDefault", "runtime/default") => true,
        ("Localhost", annotation) => {
            let name = annotation.strip_prefix("localhost/");
            name.is_some_and(|name| !name.is_empty() && name == profile.text("localhostProfile"))
        }
        _ => false,
    })
}
