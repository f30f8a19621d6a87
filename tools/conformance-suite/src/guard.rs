//! Whether a server looks like one for tests.

use std::net::IpAddr;

/// Words of the names of servers for tests, and of the programs that make them.
const TEST: &[&str] = &[
    "ci",
    "colima",
    "desktop",
    "dev",
    "e2e",
    "envtest",
    "fake",
    "fieldmanager",
    "k3d",
    "kind",
    "kwok",
    "microk8s",
    "minikube",
    "mock",
    "orbstack",
    "sandbox",
    "test",
    "testing",
    "tests",
    "vcluster",
];

/// Words of the names of servers that are not for tests.
const PRODUCTION: &[&str] = &["live", "prd", "prod", "production"];

/// The names of a server, known before a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identity {
    pub(crate) host: String,
    /// Whether the address was given by itself, and not by a kubeconfig.
    pub(crate) is_address: bool,
    pub(crate) context: String,
    pub(crate) cluster: String,
    pub(crate) user: String,
    pub(crate) tls_server_name: String,
    /// Whether the kubeconfig has a proxy for the server.
    pub(crate) has_proxy: bool,
    /// Whether minikube has written the cluster of the kubeconfig.
    pub(crate) is_minikube: bool,
}

impl Identity {
    /// Why the server does not look like one for tests; `None` if it does.
    pub(crate) fn refusal(&self) -> Option<String> {
        let names = [
            &self.context,
            &self.cluster,
            &self.user,
            &self.host,
            &self.tls_server_name,
        ];
        let found = names.iter().flat_map(|name| words(name)).find(|word| {
            let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
            is_one_of(word, PRODUCTION)
        });

        if let Some(word) = found {
            return Some(format!(
                "it has the word `{word}` in the name of its context, cluster, user or host; expected another server"
            ));
        }

        let host = match self.host.rsplit_once('.') {
            Some((labels, _)) if self.address().is_none() => labels,
            _ => "",
        };
        let is_named = [self.context.as_str(), &self.cluster, host]
            .iter()
            .any(|name| words(name).any(|word| is_one_of(word, TEST)));

        // A tunnel or a proxy to any server ends at a loopback address too.
        let is_local = self.is_loopback()
            && (self.is_address || self.context == "default" || self.is_minikube)
            && self.tls_server_name.is_empty()
            && !self.has_proxy;
        let expected = "expected a word such as kind, k3d, dev or test in the name of the context, of the cluster or of the \
                        host without its last label, or a loopback address by --server";
        (!is_named && !is_local).then(|| expected.into())
    }

    fn address(&self) -> Option<IpAddr> {
        address(&self.host)
    }

    fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }
}

/// The address of a host, if it is not a name.
fn address(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

/// Whether a host is the loopback interface.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || address(host).is_some_and(|address| address.is_loopback())
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server of a kubeconfig, by its context, cluster, user and host.
    fn server([context, cluster, user, host]: [&str; 4]) -> Identity {
        Identity {
            host: host.into(),
            context: context.into(),
            cluster: cluster.into(),
            user: user.into(),
            ..Identity::default()
        }
    }

    #[test]
    fn servers_for_tests_are_known_by_their_names() {
        let accepted = [
            ["kind-shop", "kind-shop", "kind-shop", "127.0.0.1"],
            ["k3d-shop", "k3d-shop", "admin@k3d-shop", "0.0.0.0"],
            ["minikube", "minikube", "minikube", "192.168.49.2"],
            [
                "docker-desktop",
                "docker-desktop",
                "docker-desktop",
                "kubernetes.docker.internal",
            ],
            [
                "rancher-desktop",
                "rancher-desktop",
                "rancher-desktop",
                "127.0.0.1",
            ],
            ["orbstack", "orbstack", "orbstack", "127.0.0.1"],
            ["colima", "colima", "colima", "127.0.0.1"],
            ["envtest", "envtest", "admin", "127.0.0.1"],
            [
                "vcluster_a_team_shop",
                "vcluster_a_team_shop",
                "user",
                "localhost",
            ],
            ["fieldmanager", "fieldmanager", "fieldmanager", "127.0.0.1"],
            ["default", "default", "default", "127.0.0.1"],
            ["shop", "shop-dev", "alice", "10.0.0.7"],
            ["shop", "shop", "alice", "api.test.example.com"],
        ];
        for names in accepted {
            assert_eq!(server(names).refusal(), None, "{names:?}");
        }
    }

    #[test]
    fn other_servers_are_refused() {
        let refused = [
            ["shop", "shop", "alice", "api.shop.example.com"],
            // The last label says where a host is registered.
            ["shop", "shop", "alice", "api.shop.dev"],
            ["shop", "shop", "alice", "k8s.bank.ci"],
            ["shop", "shop", "alice", "master.shop.local"],
            // A tunnel may lead to any server.
            ["shop", "shop", "alice", "127.0.0.1"],
            ["shop", "shop", "kind", "10.0.0.7"],
            ["kind-prod", "kind-prod", "alice", "127.0.0.1"],
            ["test", "shop-PRODUCTION", "alice", "127.0.0.1"],
            ["test", "shop", "live-admin", "127.0.0.1"],
            ["test", "shop", "alice", "prd.example.com"],
            ["test", "prod2", "alice", "10.0.0.7"],
        ];
        for names in refused {
            assert!(server(names).refusal().is_some(), "{names:?}");
        }
    }

    #[test]
    fn loopback_addresses_are_accepted_without_a_way_to_other_servers() {
        let local = server(["shop", "shop", "alice", "127.0.0.1"]);
        let by_address = Identity {
            is_address: true,
            ..local.clone()
        };
        let by_minikube = Identity {
            is_minikube: true,
            ..local
        };
        for identity in [by_address, by_minikube] {
            assert_eq!(identity.refusal(), None);
            let named = Identity {
                tls_server_name: "kubernetes".into(),
                ..identity.clone()
            };
            assert!(named.refusal().is_some());
            let by_proxy = Identity {
                has_proxy: true,
                ..identity.clone()
            };
            assert!(by_proxy.refusal().is_some());
            let elsewhere = Identity {
                host: "10.0.0.7".into(),
                ..identity
            };
            assert!(elsewhere.refusal().is_some());
        }
        for host in ["localhost", "[::1]", "::1", "127.0.0.2"] {
            let identity = Identity {
                host: host.into(),
                is_address: true,
                ..Identity::default()
            };
            assert_eq!(identity.refusal(), None, "{host}");
        }
        let named = Identity {
            host: "127.0.0.1".into(),
            is_address: true,
            tls_server_name: "api.prod".into(),
            ..Identity::default()
        };
        assert!(named.refusal().unwrap_or_default().contains("`prod`"));
    }
}
