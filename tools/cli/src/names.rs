//! Resolves the names by which users call kinds and types.

use fieldmanager_builtin::ResourceFacts;
use fieldmanager_openapi::GroupVersionKind;

/// The result of a search for a kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    None,
    One(GroupVersionKind),
    /// The preferred version in each of several groups.
    Several(Vec<GroupVersionKind>),
}

/// Finds the kind with a name, ignoring case, or with a short name. The most stable and newest version wins; if several
/// groups have the kind, the core group wins.
pub(crate) fn kind(name: &str, kinds: &[GroupVersionKind]) -> Found {
    let called = |wanted: &str| -> Vec<&GroupVersionKind> {
        kinds
            .iter()
            .filter(|kind| kind.kind.eq_ignore_ascii_case(wanted))
            .collect()
    };
    let mut found = called(name);

    // Short names are known for built-in kinds, and lead to the full name among the given kinds.
    if found.is_empty() {
        let is_short = |resource: &&ResourceFacts| {
            let mut names = resource.short_names.iter();
            names.any(|short| short.eq_ignore_ascii_case(name))
        };
        let long = ResourceFacts::served().find(is_short);
        found = long.map(|long| called(&long.kind)).unwrap_or_default();
    }

    // One version of each group is left.
    let mut best: Vec<&GroupVersionKind> = Vec::new();
    for kind in found {
        match best.iter_mut().find(|known| known.group == kind.group) {
            Some(known) if rank(&kind.version) > rank(&known.version) => *known = kind,
            Some(_) => {}
            None => best.push(kind),
        }
    }

    // Without the core group, several groups are ambiguous, and the caller reports them.
    match best.as_slice() {
        [] => Found::None,
        [one] => Found::One((*one).clone()),
        several => match several.iter().find(|kind| kind.group.is_empty()) {
            Some(core) => Found::One((*core).clone()),
            None => Found::Several(several.iter().map(|kind| (*kind).clone()).collect()),
        },
    }
}

/// The rank of a version: `v2` before `v1` before `v1beta2` before `v1alpha1` before all others.
fn rank(version: &str) -> (u8, u32, u32) {
    let parse = || -> Option<(u8, u32, u32)> {
        let rest = version.strip_prefix('v')?;
        for (stability, word) in [(2, "beta"), (1, "alpha")] {
            if let Some((major, minor)) = rest.split_once(word) {
                return Some((stability, major.parse().ok()?, minor.parse().ok()?));
            }
        }
        Some((3, rest.parse().ok()?, 0))
    };
    parse().unwrap_or((0, 0, 0))
}

/// Finds the type whose last segment is the name: `io.k8s.api.core.v1.Container` for `Container`. The most stable
/// version wins, then the first type.
pub(crate) fn last_segment<'s>(
    name: &str,
    types: impl Iterator<Item = &'s str>,
) -> Option<&'s str> {
    let rank_of = |ty: &str| ty.rsplit('.').nth(1).map(rank);
    let mut best: Option<&str> = None;
    for ty in types.filter(|ty| {
        ty.rsplit('.')
            .next()
            .is_some_and(|last| last.eq_ignore_ascii_case(name))
    }) {
        if best.is_none_or(|known| rank_of(ty) > rank_of(known)) {
            best = Some(ty);
        }
    }

    best
}

/// Similar names, kinds first, at most three.
pub(crate) fn nearest<'s>(
    name: &str,
    kinds: impl Iterator<Item = String>,
    types: impl Iterator<Item = &'s str>,
) -> Vec<String> {
    let wanted = name
        .rsplit(['.', '/'])
        .next()
        .unwrap_or(name)
        .to_lowercase();
    let likeness = |known: &str| {
        let last = known
            .rsplit(['.', '/'])
            .next()
            .unwrap_or(known)
            .to_lowercase();
        strsim::jaro_winkler(&wanted, &last)
    };

    let mut near: Vec<(f64, String)> = kinds
        .chain(types.map(str::to_owned))
        .map(|known| (likeness(&known), known))
        .collect();
    near.retain(|(likeness, _)| *likeness > 0.85);
    near.sort_by(|a, b| b.0.total_cmp(&a.0));

    // The type of a kind has the same last segment.
    let mut seen: Vec<String> = Vec::new();
    near.retain(|(_, known)| {
        let last = known.rsplit(['.', '/']).next().unwrap_or(known).to_owned();
        let new = !seen.contains(&last);
        seen.push(last);
        new
    });
    near.truncate(3);

    near.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_finds_the_preferred_version() {
        let kinds: Vec<GroupVersionKind> = [
            ("apps/v1", "Deployment"),
            ("apps/v1beta2", "Deployment"),
            ("autoscaling/v1", "HorizontalPodAutoscaler"),
            ("autoscaling/v2", "HorizontalPodAutoscaler"),
            ("v1", "Event"),
            ("events.k8s.io/v1", "Event"),
            ("a.io/v1", "Shop"),
            ("b.io/v1", "Shop"),
        ]
        .map(|(version, kind)| GroupVersionKind::from_api_version_kind(version, kind))
        .to_vec();
        let of = |name: &str| match kind(name, &kinds) {
            Found::None => "none".to_owned(),
            Found::One(kind) => format!("{} {}", kind.api_version(), kind.kind),
            Found::Several(several) => format!("{} groups", several.len()),
        };
        for (name, expected) in [
            ("Deployment", "apps/v1 Deployment"),
            ("deployment", "apps/v1 Deployment"),
            ("deploy", "apps/v1 Deployment"),
            ("hpa", "autoscaling/v2 HorizontalPodAutoscaler"),
            ("ev", "v1 Event"),
            ("Shop", "2 groups"),
            ("po", "none"),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
    }

    #[test]
    fn type_is_found_by_its_last_segment() {
        let types = [
            "a.v1beta1.Port",
            "a.v1.Port",
            "b.v1.Port",
            "a.v1.SupPort",
            "alone",
        ];
        let found = |name: &str| last_segment(name, types.into_iter());
        assert_eq!(found("Port"), Some("a.v1.Port"));
        assert_eq!(found("alone"), Some("alone"));
        assert_eq!(found("v1"), None);
        assert_eq!(
            nearest("Prot", std::iter::empty(), types.into_iter())
                .first()
                .map(String::as_str),
            Some("a.v1beta1.Port")
        );
    }
}
