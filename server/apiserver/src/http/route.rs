//! The paths of the server.

use percent_encoding::percent_decode_str;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/healthz`, `/livez`, `/readyz` and their checks.
    Health {
        endpoint: String,
        check: Option<String>,
    },
    /// `/version`.
    Version,
    /// `/metrics`.
    Metrics,
    /// `/`: the paths that exist.
    Paths,
    /// `/api`.
    LegacyVersions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1` and `/apis/GROUP/VERSION`.
    GroupVersion {
        group: String,
        version: String,
    },
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`, and `/openapi/v3/PATH`.
    OpenApiV3(Option<String>),
    /// The keys that verify tokens of service accounts, and the description of their issuer.
    TokenKeys,
    TokenIssuer,
    /// Below `/test`: the segments that follow.
    Test(Vec<String>),
    /// Below `/ui`: the segments that follow.
    Page(Vec<String>),
    /// A resource, an object, or a subresource of it.
    Resource(ResourcePath),
    /// Anything else.
    Unknown,
}

/// The parts of a path below `/api/v1` or `/apis/GROUP/VERSION`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    /// Empty: cluster-scoped, or all namespaces.
    pub(crate) namespace: String,
    pub(crate) plural: String,
    /// Empty: the collection.
    pub(crate) name: String,
    /// Empty: the object itself. What follows the name of the subresource, as for `proxy`, is not kept.
    pub(crate) subresource: String,
    /// The path has the segment `watch` of old clients.
    pub(crate) is_watch: bool,
}

impl Route {
    /// The route of a path, which begins with a slash. Segments are percent-decoded.
    pub(crate) fn of(path: &str) -> Route {
        // kube-apiserver takes a path with a slash at its end for the one without.
        let trimmed = path.trim_end_matches('/');
        let Some(segments) = decoded(trimmed) else {
            return Route::Unknown;
        };
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();

        match segments.as_slice() {
            [] => Route::Paths,
            ["version"] => Route::Version,
            ["metrics"] => Route::Metrics,
            ["openid", "v1", "jwks"] => Route::TokenKeys,
            [".well-known", "openid-configuration"] => Route::TokenIssuer,
            ["test", rest @ ..] => Route::Test(owned(rest)),
            ["ui", rest @ ..] => Route::Page(owned(rest)),
            [endpoint @ ("healthz" | "livez" | "readyz"), rest @ ..] => Route::Health {
                endpoint: (*endpoint).to_owned(),
                check: (!rest.is_empty()).then(|| rest.join("/")),
            },
            ["openapi", "v2"] => Route::OpenApiV2,
            ["openapi", "v3"] => Route::OpenApiV3(None),
            ["openapi", "v3", rest @ ..] => Route::OpenApiV3(Some(rest.join("/"))),
            ["api"] => Route::LegacyVersions,
            ["api", version] => Route::GroupVersion {
                group: String::new(),
                version: (*version).to_owned(),
            },
            ["api", version, rest @ ..] => ResourcePath::of("", version, rest),
            ["apis"] => Route::Groups,
            ["apis", group] => Route::Group((*group).to_owned()),
            ["apis", group, version] => Route::GroupVersion {
                group: (*group).to_owned(),
                version: (*version).to_owned(),
            },
            ["apis", group, version, rest @ ..] => ResourcePath::of(group, version, rest),
            _ => Route::Unknown,
        }
    }
}

impl ResourcePath {
    fn of(group: &str, version: &str, rest: &[&str]) -> Route {
        // Old clients put `watch` before the resource. Alone it is the plural name of a resource.
        let (is_watch, rest) = match rest {
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let path = |namespace: &str, plural: &str, name: &str, subresource: &str| {
            let [group, version, namespace, plural, name, subresource] =
                [group, version, namespace, plural, name, subresource].map(str::to_owned);
            Route::Resource(ResourcePath {
                group,
                version,
                namespace,
                plural,
                name,
                subresource,
                is_watch,
            })
        };

        match rest {
            // A namespace is an object of its own, whose subresources look like resources in it.
            ["namespaces"] => path("", "namespaces", "", ""),
            ["namespaces", name] => path("", "namespaces", name, ""),
            ["namespaces", name, sub @ ("status" | "finalize")] => {
                path("", "namespaces", name, sub)
            }
            ["namespaces", namespace, plural] => path(namespace, plural, "", ""),
            ["namespaces", namespace, plural, name] => path(namespace, plural, name, ""),
            ["namespaces", namespace, plural, name, sub, ..] => path(namespace, plural, name, sub),
            [plural] => path("", plural, "", ""),
            [plural, name] => path("", plural, name, ""),
            [plural, name, sub, ..] => path("", plural, name, sub),
            [] => Route::Unknown,
        }
    }
}

fn owned(segments: &[&str]) -> Vec<String> {
    segments.iter().copied().map(str::to_owned).collect()
}

/// The segments of a path; `None` if one is empty or not UTF-8.
fn decoded(path: &str) -> Option<Vec<String>> {
    let Some(path) = path.strip_prefix('/') else {
        return path.is_empty().then(Vec::new);
    };
    path.split('/')
        .map(|segment| {
            let segment = percent_decode_str(segment).decode_utf8().ok()?;
            (!segment.is_empty()).then(|| segment.into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> [String; 6] {
        match Route::of(path) {
            Route::Resource(path) => [
                path.group,
                path.version,
                path.namespace,
                path.plural,
                path.name,
                path.subresource,
            ],
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_of_resources_have_their_parts() {
        assert_eq!(resource("/api/v1/pods"), ["", "v1", "", "pods", "", ""]);
        assert_eq!(
            resource("/api/v1/namespaces"),
            ["", "v1", "", "namespaces", "", ""]
        );
        assert_eq!(
            resource("/api/v1/namespaces/a"),
            ["", "v1", "", "namespaces", "a", ""]
        );
        assert_eq!(
            resource("/api/v1/namespaces/a/finalize"),
            ["", "v1", "", "namespaces", "a", "finalize"]
        );
        assert_eq!(
            resource("/api/v1/namespaces/a/pods"),
            ["", "v1", "a", "pods", "", ""]
        );
        assert_eq!(
            resource("/apis/apps/v1/namespaces/a/deployments/web/scale"),
            ["apps", "v1", "a", "deployments", "web", "scale"]
        );
        assert_eq!(
            resource("/apis/h.io/v1/gadgets/a%3Ab/"),
            ["h.io", "v1", "", "gadgets", "a:b", ""]
        );
        assert!(matches!(Route::of("/api/v1/watch/pods"), Route::Resource(path) if path.is_watch));
    }

    #[test]
    fn other_paths_are_known_or_unknown() {
        assert_eq!(Route::of("/"), Route::Paths);
        assert_eq!(Route::of("/apis/apps"), Route::Group("apps".to_owned()));
        assert_eq!(
            Route::of("/openapi/v3/apis/apps/v1"),
            Route::OpenApiV3(Some("apis/apps/v1".to_owned()))
        );
        let check = Some("ping".to_owned());
        assert_eq!(
            Route::of("/readyz/ping"),
            Route::Health {
                endpoint: "readyz".to_owned(),
                check
            }
        );
        for path in ["/x", "/api//pods", "/apis/apps/v1/%ff", "nothing"] {
            assert_eq!(Route::of(path), Route::Unknown, "{path}");
        }
    }
}
