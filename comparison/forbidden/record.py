#!/usr/bin/env python3
"""Records what a kube-apiserver with RBAC answers to users who may do little.

usage: record.py KUBE_APISERVER [FILE]

KUBE_APISERVER is the program of ../oracle/server. FILE is by default the one that tests of the server replay: `tokens` in
the format of --token-auth-file, `objects` that an administrator creates first, and `requests` in their order, each with
what is expected: the code, and of a Status the message, the reason and the details.
"""

import gzip
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from http.client import HTTPSConnection

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "../../server/apiserver/tests/data/forbidden.json.gz")
RBAC = "rbac.authorization.k8s.io"

# A line that ends with a comma has one group, whose name is empty.
TOKENS = """secret,admin,admin,system:masters
bob,bob,1
ann,ann,2,"dev,ops"
eve,eve,3
max,max,4,
imp,imp,5
"""


def rule(verbs, resources=None, groups="", names=None, paths=None):
    out = {"verbs": verbs.split()}
    if resources is not None:
        out |= {"apiGroups": [group.strip() for group in groups.split(",")], "resources": resources.split()}
    if names:
        out["resourceNames"] = names.split()
    if paths:
        out["nonResourceURLs"] = paths.split()
    return out


def role(name, *rules, namespace=None, **more):
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    kind = "Role" if namespace else "ClusterRole"
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)} | more


def binding(name, kind, role, *subjects, namespace=None):
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [user(subject) for subject in subjects],
    }


def user(name):
    kind, _, name = name.rpartition(":")
    if kind == "sa":
        namespace, name = name.split("/")
        return {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    return {"kind": kind or "User", "apiGroup": RBAC, "name": name}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


ROLES = "roles rolebindings"
WRITE = "get list create update patch delete"
OBJECTS = [
    namespace("shop"),
    namespace("ci"),
    {**config_map("cfg"), "metadata": {"name": "cfg", "namespace": "shop"}},
    role("reader", rule("get list watch", "pods pods/log */scale"), rule("get", paths="/metrics /logs/*")),
    role("one", rule("get update delete", "configmaps", names="cfg")),
    role("crowned", rule(WRITE, "clusterroles clusterrolebindings", RBAC), rule("get list", "pods")),
    role("binder", rule("bind", "clusterroles", RBAC, names="reader admin"), rule(WRITE, ROLES, RBAC)),
    role("climber", rule(WRITE + " escalate", "roles", RBAC)),
    role("sum", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"sum": "yes"}}]}),
    role("editor", rule(WRITE, "configmaps"), rule(WRITE, ROLES, RBAC), rule("update", "deployments/scale", "apps"), namespace="shop"),
    role("small", rule("get", "configmaps"), namespace="shop"),
    role("big", rule("*", "*", "*"), namespace="shop"),
    role(
        "imp",
        rule("impersonate", "users", names="ann"),
        rule("impersonate", "groups", names="dev"),
        rule("impersonate", "uids userextras/scopes", "authentication.k8s.io", names="7 view"),
    ),
    role("imp", rule("impersonate", "serviceaccounts", names="robot"), namespace="ci"),
    binding("bob-reads", "ClusterRole", "reader", "bob", "sa:ci/robot"),
    binding("bob-one", "ClusterRole", "one", "bob"),
    binding("max-crowned", "ClusterRole", "crowned", "max"),
    binding("eve-gone", "ClusterRole", "gone", "eve"),
    binding("imps", "ClusterRole", "imp", "imp"),
    binding("editors", "Role", "editor", "Group:dev", "eve", namespace="shop"),
    binding("eve-gone", "Role", "gone", "eve", namespace="shop"),
    binding("binders", "ClusterRole", "binder", "max", namespace="shop"),
    binding("climbers", "ClusterRole", "climber", "max", namespace="ci"),
    binding("imps", "Role", "imp", "imp", namespace="ci"),
]

MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
ADMIN = {"token": "secret"}
ANONYMOUS = {}


def token(name):
    return {"token": name}


def as_user(name, *groups, by="secret", uid=None, extra=None):
    """A request of somebody who acts as another user."""
    headers = [["Impersonate-User", name]] if name else []
    headers += [["Impersonate-Group", group] for group in groups]
    headers += [["Impersonate-Uid", uid]] if uid else []
    headers += [[f"Impersonate-Extra-{key}", value] for key, value in (extra or {}).items()]
    return {"token": by, "headers": headers}


def request(who, line, body=None, content_type=None):
    method, path = line.split(" ", 1)
    out = {**who, "method": method, "path": path}
    if body is not None:
        out["body"] = body
    if content_type:
        out["contentType"] = content_type
    return out


ROBOT = as_user("system:serviceaccount:ci:robot", "system:serviceaccounts", "system:authenticated")
WHO = [token("bob"), token("ann"), token("eve"), ROBOT, ANONYMOUS]
PODS, SHOP = "/api/v1/pods", "/api/v1/namespaces/shop"
APPS = "/apis/apps/v1/namespaces/shop/deployments"


def reads():
    """Verbs, places and subresources; who may, gets the code of what is there."""
    for who in WHO:
        for line in [
            f"GET {PODS}",
            f"GET {SHOP}/pods",
            f"GET {SHOP}/pods/web",
            f"HEAD {SHOP}/pods/web",
            f"GET {SHOP}/pods?watch=true&timeoutSeconds=1",
            "GET /api/v1/watch/namespaces/shop/pods?timeoutSeconds=1",
            f"GET {SHOP}/pods?fieldSelector=metadata.name%3Dweb",
            f"GET {SHOP}/pods/web/log",
            f"GET {SHOP}/pods/web/status",
            f"GET {APPS}/web/scale",
            f"GET {SHOP}/configmaps/cfg",
            f"GET {SHOP}/configmaps/other",
            f"GET {SHOP}/configmaps?fieldSelector=metadata.name%3Dcfg",
            f"GET {SHOP}",
            "GET /api/v1/namespaces",
            f"DELETE {SHOP}/pods/web",
            f"DELETE {SHOP}/pods",
            "GET /api/v1/nodes/n1/proxy/stats",
        ]:
            yield request(who, line)
        for line in ["/", "/api", "/apis/apps/v1", "/healthz", "/livez/ping", "/version", "/metrics", "/logs/a", "/foo/a&b", "/openapi/v2"]:
            yield request(who, f"GET {line}")


def writes():
    who = token("bob")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
    for line, body in [
        (f"POST {SHOP}/pods", pod),
        (f"PUT {SHOP}/pods/web", pod),
        (f"PUT {SHOP}/pods/web/status", pod),
        (f"POST {SHOP}/pods/web/binding", {}),
        (f"POST {SHOP}/pods/web/eviction", {}),
        (f"POST {SHOP}/pods/web/exec?command=ls", None),
        (f"GET {SHOP}/pods/web/exec?command=ls", None),
        (f"GET {SHOP}/pods/web/portforward", None),
        (f"GET {SHOP}/services/https:web:1/proxy/a/b", None),
        (f"POST {SHOP}/serviceaccounts/default/token", {}),
        ("POST /api/v1/namespaces", namespace("new")),
        ("PUT /api/v1/namespaces/shop/finalize", namespace("shop")),
        ("DELETE /api/v1/namespaces/shop", None),
        ("DELETE /api/v1/persistentvolumes", None),
        ("GET /apis/example.com/v1/namespaces/shop/widgets/a/b", None),
        ("GET /apis/example.com/v1/widgets", None),
        ("GET /api/v2/pods", None),
        ("POST /apis/apps/v1/deployments", {}),
        ("DELETE /healthz", None),
        ("POST /version", {}),
        ("PATCH /foo", {}),
        (f"DELETE {SHOP}/configmaps", None),
        (f"DELETE {SHOP}/configmaps/other", None),
        (f"POST {SHOP}/configmaps", config_map("cfg")),
        (f"PUT {SHOP}/configmaps/cfg", config_map("cfg")),
        ("POST /apis/authentication.k8s.io/v1/tokenreviews", {}),
        ("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", {}),
        (f"POST /apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews", {}),
    ]:
        yield request(who, line, body)
    for kind in [MERGE, APPLY, "application/json-patch+json"]:
        yield request(who, f"PATCH {SHOP}/configmaps/cfg?fieldManager=a", config_map("cfg"), kind)
        yield request(who, f"PATCH {APPS}/web/scale?fieldManager=a", {}, kind)
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    for who in WHO:
        yield request(who, "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    # A refusal comes before the faults of a request.
    yield request(token("ann"), f"POST {SHOP}/secrets?dryRun=bad", {"not": "an object"})
    yield request(token("ann"), f"GET {SHOP}/secrets?limit=bad")


def collection(kind, where):
    plural = kind.lower() + "s"
    return f"/apis/{RBAC}/v1/{plural}" if kind.startswith("Cluster") else f"/apis/{RBAC}/v1/namespaces/{where}/{plural}"


def write_all(who, objects, where="shop"):
    """Creates and replaces objects, and sends the same as patches."""
    for object in objects:
        path, name = collection(object["kind"], where), object["metadata"].get("name")
        yield request(who, f"POST {path}?dryRun=All", object)
        if name:
            yield request(who, f"PUT {path}/{name}?dryRun=All", object)
            yield request(who, f"PATCH {path}/{name}?fieldManager=a&force=true&dryRun=All", object, APPLY)
            yield request(who, f"PATCH {path}/{name}?dryRun=All", object, MERGE)


def grants():
    held = rule("get list", "configmaps")
    more = rule("get create watch", "configmaps secrets", names="a")
    shop = {"namespace": "shop"}
    roles = [
        role("small", held, **shop),
        role("new", held, more, **shop),
        role("paths", rule("get", "deployments/scale pods/log", "apps, *"), **shop),
    ]
    roles[2]["metadata"] = {"generateName": "a-", "namespace": "shop"}
    bindings = [
        binding("new", "Role", "small", "bob", **shop),
        binding("new", "Role", "big", "bob", **shop),
        binding("new", "Role", "missing", "bob", **shop),
        binding("new", "ClusterRole", "reader", "bob", **shop),
        binding("new", "ClusterRole", "cluster-admin", "bob", **shop),
        binding("new", "ClusterRole", "a/b", "bob", **shop),
        binding("new", "Pod", "a", "bob", **shop),
        binding("editors", "Role", "editor", "Group:dev", "eve", "carl", **shop),
    ]
    for who in [token("ann"), token("eve")]:
        yield from write_all(who, roles + bindings)
    yield from write_all(token("max"), bindings[3:6])
    yield from write_all(token("max"), [role("new", rule("*", "*", "*"), namespace="ci")], "ci")
    yield from write_all(token("bob"), [roles[0], bindings[0]])

    # Roles and bindings of the cluster.
    paths = rule("get", paths="/metrics /x*")
    select = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    yield from write_all(token("max"), [
        role("new", rule("get", "pods")),
        role("new", rule("get delete", "pods pods/log", "apps, "), paths),
        role("new", **select),
        role("sum"),
        binding("new", "ClusterRole", "reader", "bob"),
        binding("new", "ClusterRole", "crowned", "bob"),
        binding("new", "ClusterRole", "missing", "bob"),
        binding("new", "Role", "small", "bob"),
    ])
    # What changes no permission is allowed only to the garbage collector.
    sum, small = collection("ClusterRole", "") + "/sum", collection("Role", "shop") + "/big"
    for change in [{"finalizers": ["a/b"]}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {}]:
        patch = {"metadata": change}
        yield request(token("max"), f"PATCH {sum}", patch, MERGE)
        yield request(token("ann"), f"PATCH {small}", patch, MERGE)
    yield request(token("ann"), f"DELETE {small}")


def impersonations():
    who = f"GET {SHOP}/configmaps/cfg"
    for actor in [
        as_user("ann", by="imp"),
        as_user("bob", by="imp"),
        as_user("ann", "dev", by="imp"),
        as_user("ann", "ops", by="imp"),
        as_user("ann", "dev", "system:masters", by="imp"),
        as_user("ann", "dev", by="imp", uid="7"),
        as_user("ann", "dev", by="imp", uid="8"),
        as_user("ann", "dev", by="imp", extra={"scopes": "view"}),
        as_user("ann", "dev", by="imp", extra={"scopes": "edit"}),
        as_user("ann", "dev", by="imp", extra={"other": "view"}),
        as_user("system:serviceaccount:ci:robot", by="imp"),
        as_user("system:serviceaccount:ci:other", by="imp"),
        as_user("system:serviceaccount:shop:robot", by="imp"),
        as_user("system:anonymous", by="imp"),
        as_user("system:node:n1", by="imp"),
        as_user("", "dev", by="imp"),
        as_user("ann", by="bob"),
        as_user("a<b>", by="bob"),
        as_user("", "dev"),
        as_user("system:anonymous"),
        as_user("x", "system:masters"),
    ]:
        yield request(actor, who)
    yield request(as_user("bob", by="imp"), "GET /version")
    yield request({"token": "wrong"}, who)


class Server:
    """A kube-apiserver with an etcd, on free ports."""

    def __init__(self, program, folder, authorization="RBAC"):
        self.port, etcd = free_port(), free_port()
        tokens, key = os.path.join(folder, "tokens.csv"), os.path.join(folder, "sa.key")
        with open(tokens, "w") as file:
            file.write(TOKENS)
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, stderr=subprocess.DEVNULL)
        arguments = [
            *("-etcd-dir", os.path.join(folder, "etcd"), "-etcd-port", str(etcd), "--"),
            *("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={self.port}"),
            *(f"--cert-dir={folder}/certs", f"--token-auth-file={tokens}", f"--authorization-mode={authorization}"),
            *("--anonymous-auth=true", "--service-account-issuer=https://test", f"--service-account-key-file={key}"),
            *(f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.96.0.0/16"),
            *("--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount"),
        ]
        log = open(os.path.join(folder, "log"), "w")
        self.process = subprocess.Popen([program, *arguments], stdout=log, stderr=log)
        for _ in range(300):
            try:
                if self.send(request(ADMIN, "GET /readyz"))[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.2)
        sys.exit(f"the server does not start: {folder}/log")

    def send(self, sent):
        connection = HTTPSConnection("127.0.0.1", self.port, context=ssl._create_unverified_context(), timeout=60)
        connection.putrequest(sent["method"], sent["path"])
        body = json.dumps(sent["body"]).encode() if "body" in sent else b""
        headers = [["Content-Type", sent.get("contentType", "application/json")], ["Content-Length", str(len(body))]]
        if "token" in sent:
            headers.append(["Authorization", "Bearer " + sent["token"]])
        for name, value in headers + sent.get("headers", []):
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def expected(code, text):
    """What a test compares: a Status, but only the code of other answers."""
    out = {"code": code}
    try:
        answer = json.loads(text)
    except ValueError:
        return out
    if code >= 400 and isinstance(answer, dict) and answer.get("kind") == "Status":
        out |= {name: answer[name] for name in ["message", "reason", "details"] if name in answer}
    return out


def record(server):
    for object in OBJECTS:
        metadata = object["metadata"]
        path = collection(object["kind"], metadata.get("namespace"))
        if object["apiVersion"] == "v1":
            path = f"{SHOP}/configmaps" if "namespace" in metadata else "/api/v1/namespaces"
        code, text = server.send(request(ADMIN, f"POST {path}", object))
        assert code == 201, text
    # Authorizers read caches.
    time.sleep(2)
    requests = []
    for part in [reads, writes, grants, impersonations]:
        for sent in part():
            requests.append({**sent, "expected": expected(*server.send(sent))})
    return requests


def main():
    program, file = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else FILE
    folder = tempfile.mkdtemp()
    server = Server(os.path.abspath(program), folder)
    try:
        requests = record(server)
    finally:
        server.process.terminate()
        server.process.wait()
        shutil.rmtree(folder)
    recorded = {"tokens": TOKENS, "objects": OBJECTS, "requests": requests}
    with open(file, "wb") as out:
        out.write(gzip.compress(json.dumps(recorded, separators=(",", ":")).encode(), 9, mtime=0))
    codes = {}
    for one in requests:
        codes[one["expected"]["code"]] = codes.get(one["expected"]["code"], 0) + 1
    print(len(requests), "requests, by code:", codes)


if __name__ == "__main__":
    main()
