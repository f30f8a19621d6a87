#!/usr/bin/env python3
"""Records what a kube-apiserver answers to reviews of tokens, users, access and rules, with AlwaysAllow and with RBAC.

usage: reviews.py KUBE_APISERVER [FILE]

FILE is by default the one that tests of the server replay. It has the `tokens` and `objects` of record.py, the requests for
tokens of a service account (`accountTokens`), and for each mode of authorization its `requests`: each with the code and the
body that are expected, and the warnings. A string that begins with `@NAME` has the token of that name there. In bodies,
uids, ids of tokens and times are replaced by words, and rules are sorted, since no two servers have the same.
"""

import copy
import gzip
import json
import os
import re
import shutil
import ssl
import sys
import tempfile
import time
from http.client import HTTPSConnection

from record import ADMIN, HERE, OBJECTS, SHOP, TOKENS, Server, as_user, collection, request, token

FILE = os.path.join(HERE, "../../server/apiserver/tests/data/reviews.json.gz")
AUTHENTICATION, AUTHORIZATION = "authentication.k8s.io", "authorization.k8s.io"
ACCOUNTS = "/api/v1/namespaces/ci/serviceaccounts"
ACCOUNT_TOKENS = {
    "@server": {},
    "@vault": {"audiences": ["vault"]},
    "@both": {"audiences": ["vault", "https://test"]},
    "@bound": {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "key"}},
}
ROBOT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
KEY = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}


def path(kind, group=AUTHORIZATION, version="v1", namespace=""):
    namespace = f"/namespaces/{namespace}" if namespace else ""
    return f"POST /apis/{group}/{version}{namespace}/{kind.lower()}s"


def review(kind, group, spec=None, metadata=None, **more):
    out = {"apiVersion": f"{group}/v1", "kind": kind}
    if metadata is not None:
        out["metadata"] = metadata
    if spec is not None:
        out["spec"] = spec
    return out | more


METADATA = [
    {},
    {"name": "a"},
    {"generateName": "a-"},
    {"namespace": "shop"},
    {"labels": {"a": "b"}},
    {"managedFields": [{"manager": "a"}]},
    {"creationTimestamp": None},
]


def tokens():
    kind, line = "TokenReview", path("TokenReview", AUTHENTICATION)
    specs = [{"token": text} for text in ["secret", "bob", "ann", "max", "unknown", "", " ", "Bearer bob", "bob,bob", "a.b.c", "e30.e30.e30", "x" * 5000]]
    specs += [{"token": name} for name in ACCOUNT_TOKENS] + [{"token": "@server."}, {"token": "@serverx"}]
    for text in ["bob", "@server", "@vault", "@both", "unknown"]:
        specs += [{"token": text, "audiences": list} for list in [[], ["https://test"], ["vault"], ["other", "vault", "https://test"], [""]]]
    specs += [None, {}, {"audiences": ["https://test"]}, {"token": None}, {"token": 1}, {"token": "bob", "audiences": "a"}, {"token": "bob", "more": 1}]
    for spec in specs:
        yield request(ADMIN, line, review(kind, AUTHENTICATION, spec))
    for metadata in METADATA:
        yield request(ADMIN, line, review(kind, AUTHENTICATION, {"token": "bob"}, metadata))
    good = review(kind, AUTHENTICATION, {"token": "bob"})
    status = {"authenticated": True, "user": {"username": "root"}, "error": "x"}
    yield request(ADMIN, line, good | {"status": status})
    yield request(ADMIN, line, review(kind, AUTHENTICATION, {"token": "unknown"}, status=status))
    yield from wrong(line, kind, good)


def wrong(line, kind, good):
    """Wrong versions, kinds, options and bodies."""
    group, plural = good["apiVersion"].split("/")[0], kind.lower() + "s"
    yield request(ADMIN, line.replace("/v1/", "/v1beta1/"), good)
    yield request(ADMIN, line, good | {"apiVersion": f"{group}/v1beta1"})
    yield request(ADMIN, line, good | {"apiVersion": f"{group}/v2"})
    yield request(ADMIN, line, good | {"apiVersion": "v1"})
    yield request(ADMIN, line, good | {"kind": "Review"})
    yield request(ADMIN, line, {name: value for name, value in good.items() if name not in ["kind", "apiVersion"]})
    for query in ["dryRun=All", "dryRun=x", "fieldManager=me", "fieldValidation=x", "pretty=true"]:
        yield request(ADMIN, f"{line}?{query}", good)
    for validation in ["Strict", "Warn", "Ignore"]:
        more = good | {"more": 1, "spec": good.get("spec", {}) | {"other": 1}}
        yield request(ADMIN, f"{line}?fieldValidation={validation}", more)
    for body in [None, [], "text", {}]:
        yield request(ADMIN, line, body) if body is not None else request(ADMIN, line)
    yield request(ADMIN, line, good, "text/plain")
    place = line.split(" ")[1]
    for method, where in [("GET", place), ("GET", f"{place}/a"), ("DELETE", place), ("PUT", f"{place}/a"), ("POST", f"{place}/a")]:
        yield request(ADMIN, f"{method} {where}", good if method in ["PUT", "POST"] else None)


def users():
    kind, line = "SelfSubjectReview", path("SelfSubjectReview", AUTHENTICATION)
    good = review(kind, AUTHENTICATION)
    account = "system:serviceaccount:ci:robot"
    actors = [ADMIN, token("bob"), token("ann"), token("@server"), token("@bound"), token("@vault"), token("wrong")]
    actors += [as_user("x", "dev", uid="7", extra={"scopes": "view"}), as_user(account), as_user("system:anonymous")]
    for who in actors:
        yield request(who, line, good)
    for metadata in METADATA:
        yield request(ADMIN, line, good | {"metadata": metadata})
    yield request(ADMIN, line, good | {"status": {"userInfo": {"username": "root"}}})
    yield from wrong(line, kind, good)


PODS = {"verb": "get", "resource": "pods", "namespace": "shop"}
ROOT = {"verb": "get", "path": "/metrics"}
IN = {"key": "a", "operator": "In", "values": ["b"]}
SELECTORS = [
    {},
    {"rawSelector": "a=b"},
    {"rawSelector": "a in (b"},
    {"requirements": []},
    {"requirements": [IN]},
    {"requirements": [IN], "rawSelector": "a=b"},
    {"requirements": [{**IN, "operator": "Other"}]},
    {"requirements": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
    {"requirements": [{"key": "", "operator": "In"}]},
    {"requirements": [{**IN, "key": "/x y"}]},
]


def forms():
    """The attributes of reviews of access."""
    yield {"resourceAttributes": PODS}
    yield {"resourceAttributes": {**PODS, "name": "web", "version": "*", "group": "apps", "subresource": "log"}}
    yield {"resourceAttributes": {}}
    yield {"nonResourceAttributes": ROOT}
    yield {"nonResourceAttributes": {}}
    yield {"nonResourceAttributes": {**ROOT, "path": "/logs/a"}}
    yield {"nonResourceAttributes": ROOT, "resourceAttributes": PODS}
    yield {}
    yield {"resourceAttributes": None}
    yield {"resourceAttributes": [PODS]}
    yield {"resourceAttributes": {**PODS, "verb": 1}}


def selections():
    for selector in SELECTORS:
        yield {"resourceAttributes": {**PODS, "fieldSelector": selector}}
        yield {"resourceAttributes": {**PODS, "labelSelector": selector}}
    both = {"fieldSelector": {}, "labelSelector": {"requirements": [IN], "rawSelector": "x"}}
    yield {"resourceAttributes": {**PODS, **both}}


def own_access():
    kind, line = "SelfSubjectAccessReview", path("SelfSubjectAccessReview")
    for spec in [*forms(), *selections()]:
        yield request(token("bob"), line, review(kind, AUTHORIZATION, spec))
    good = review(kind, AUTHORIZATION, {"resourceAttributes": PODS})
    for who in [ADMIN, token("ann"), token("@server"), as_user("x")]:
        yield request(who, line, good)
    yield request(ADMIN, line, review(kind, AUTHORIZATION, {"user": "bob", "resourceAttributes": PODS}))
    for metadata in METADATA:
        yield request(ADMIN, line, good | {"metadata": metadata})
    yield request(ADMIN, line, good | {"status": {"allowed": False, "reason": "x"}})
    yield from wrong(line, kind, good)


def access():
    kind, line = "SubjectAccessReview", path("SubjectAccessReview")
    for spec in [*forms(), *selections()]:
        yield request(ADMIN, line, review(kind, AUTHORIZATION, {"user": "bob", **spec}))
    subjects = [
        {},
        {"user": ""},
        {"groups": []},
        {"groups": ["dev"]},
        {"groups": [""]},
        {"uid": "1"},
        {"user": "ann", "groups": ["dev"], "uid": "2", "extra": {"Scopes": ["a", "b"], "": []}},
        {"user": "eve"},
        {"user": "root", "groups": ["system:masters"]},
        {"user": "bob", "extra": {"a": "b"}},
        {"user": "bob", "groups": "dev"},
        {"user": "system:serviceaccount:ci:robot"},
        {"user": "a<b>"},
    ]
    for subject in subjects:
        yield request(ADMIN, line, review(kind, AUTHORIZATION, {**subject, "resourceAttributes": PODS}))
    good = review(kind, AUTHORIZATION, {"user": "bob", "resourceAttributes": PODS})
    for metadata in METADATA:
        yield request(ADMIN, line, good | {"metadata": metadata})
    # Several faults together.
    yield request(ADMIN, line, review(kind, AUTHORIZATION, {"resourceAttributes": {"fieldSelector": {}}, "nonResourceAttributes": ROOT}, {"name": "a"}))
    yield request(token("bob"), line, good)
    yield from wrong(line, kind, good)


def local_access():
    kind = "LocalSubjectAccessReview"
    line = path(kind, namespace="shop")
    for spec in forms():
        yield request(ADMIN, line, review(kind, AUTHORIZATION, {"user": "bob", **spec}))
    for namespace in ["shop", "other", "", None]:
        attributes = {**PODS, "namespace": namespace}
        good = review(kind, AUTHORIZATION, {"user": "ann", "groups": ["dev"], "resourceAttributes": attributes})
        for metadata in [None, {"namespace": "shop"}, {"namespace": "other"}, {"namespace": "shop", "name": "a"}]:
            yield request(ADMIN, line, good if metadata is None else good | {"metadata": metadata})
    good = review(kind, AUTHORIZATION, {"user": "bob", "resourceAttributes": PODS})
    yield request(ADMIN, path(kind), good)
    yield request(ADMIN, path(kind, namespace="nowhere"), good)
    yield request(ADMIN, path(kind, namespace="nowhere"), review(kind, AUTHORIZATION, {"user": "bob", "resourceAttributes": {**PODS, "namespace": "nowhere"}}))
    yield request(ADMIN, line, review(kind, AUTHORIZATION, {"nonResourceAttributes": ROOT, "resourceAttributes": {**PODS, "namespace": "x"}}, {"labels": {}, "name": "a"}))
    yield request(token("bob"), line, good)
    yield from wrong(line, kind, good)


def rules():
    kind, line = "SelfSubjectRulesReview", path("SelfSubjectRulesReview")
    for spec in [None, {}, {"namespace": ""}, {"namespace": "shop"}, {"namespace": "nowhere"}, {"namespace": "A b"}, {"namespace": None}, {"namespace": 1}]:
        yield request(token("bob"), line, review(kind, AUTHORIZATION, spec))
    good = review(kind, AUTHORIZATION, {"namespace": "shop"})
    for who in [token("ann"), token("eve"), token("imp"), token("@server"), as_user("x")]:
        yield request(who, line, good)
    for metadata in METADATA:
        yield request(token("bob"), line, good | {"metadata": metadata})
    yield request(token("bob"), line, good | {"status": {"incomplete": True}})
    yield from wrong(line, kind, good)


def with_tokens(value, made):
    """A request with the tokens that `@NAME` stands for."""
    if isinstance(value, dict):
        return {name: with_tokens(item, made) for name, item in value.items()}
    if isinstance(value, list):
        return [with_tokens(item, made) for item in value]
    for name, secret in made.items():
        if isinstance(value, str) and value.startswith(name):
            return secret + value.removeprefix(name)
    return value


def without_chance(value):
    """A body without what differs from server to server."""
    if isinstance(value, dict):
        out = {name: without_chance(item) for name, item in value.items()}
        # Bindings have the random order of a map.
        for name in {"resourceRules", "nonResourceRules"} & out.keys():
            out[name].sort(key=lambda rule: json.dumps(rule, sort_keys=True))
        return out
    if isinstance(value, list):
        return [without_chance(item) for item in value]
    if isinstance(value, str):
        value = re.sub("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", value)
        return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", value)
    return value


def send(server, sent):
    connection = HTTPSConnection("127.0.0.1", server.port, context=ssl._create_unverified_context(), timeout=60)
    # Faults are told in the order of the body, and other programs read this record with sorted names.
    body = json.dumps(sent["body"], sort_keys=True) if "body" in sent else ""
    headers = {"Content-Type": sent.get("contentType", "application/json"), "Authorization": "Bearer " + sent["token"], "User-Agent": "tester/1"}
    connection.request(sent["method"], sent["path"], body, headers | dict(sent.get("headers", [])))
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers.get_all("Warning") or []


def record(server):
    def make(path, body):
        code, text, _ = send(server, request(ADMIN, f"POST {path}", body))
        assert code == 201, text
        return json.loads(text)

    for object in OBJECTS:
        metadata = object["metadata"]
        path = collection(object["kind"], metadata.get("namespace"))
        if object["apiVersion"] == "v1":
            path = f"{SHOP}/configmaps" if "namespace" in metadata else "/api/v1/namespaces"
        make(path, object)
    make(ACCOUNTS, ROBOT)
    make("/api/v1/namespaces/ci/secrets", KEY)
    made = {name: make(f"{ACCOUNTS}/robot/token", {"spec": spec})["status"]["token"] for name, spec in ACCOUNT_TOKENS.items()}
    # Authorizers read caches.
    time.sleep(2)

    requests = []
    for part in [tokens, users, own_access, access, local_access, rules]:
        for sent in part():
            code, text, warnings = send(server, with_tokens(copy.deepcopy(sent), made))
            for name, secret in made.items():
                text = text.replace(secret, name)
            try:
                body = without_chance(json.loads(text))
            except ValueError:
                body = text
            requests.append({**sent, "expected": {"code": code, "body": body, "warnings": warnings}})
    return requests


def main():
    program, file = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else FILE
    recorded = {"tokens": TOKENS, "objects": OBJECTS, "accountTokens": ACCOUNT_TOKENS}
    for mode in ["AlwaysAllow", "RBAC"]:
        folder = tempfile.mkdtemp()
        server = Server(os.path.abspath(program), folder, mode)
        try:
            recorded[mode] = requests = record(server)
        finally:
            server.process.terminate()
            server.process.wait()
            shutil.rmtree(folder)
        codes = {}
        for one in requests:
            codes[one["expected"]["code"]] = codes.get(one["expected"]["code"], 0) + 1
        print(mode, len(requests), "requests, by code:", codes)
    with open(file, "wb") as out:
        out.write(gzip.compress(json.dumps(recorded, separators=(",", ":")).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
