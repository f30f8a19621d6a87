#!/usr/bin/env python3
"""Records what kube-apiserver answers to requests for tokens. usage: requests.py URL TOKEN SA_KEY > requests.json

The server is one that `shared/kube-apiserver/start.sh` or `build.sh` of this module starts, with the authorization mode
AlwaysAllow and without the admission plugin ServiceAccount. Times are written as seconds after the request.
"""

import base64
import datetime
import json
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

URL, TOKEN, KEY = sys.argv[1:4]
CONTEXT = ssl._create_unverified_context()
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=CONTEXT))


def send(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, method=method)
    request.add_header("Authorization", "Bearer " + TOKEN)
    request.add_header("Content-Type", "application/json")
    try:
        with OPENER.open(request) as answer:
            return answer.status, json.load(answer), answer.headers.get_all("Warning") or []
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers.get_all("Warning") or []


def text(path):
    request = urllib.request.Request(URL + path)
    request.add_header("Authorization", "Bearer " + TOKEN)
    with OPENER.open(request) as answer:
        return answer.read().decode()


def make(path, body):
    code, answer, _ = send("POST", path, body)
    assert code == 201, answer
    answer["metadata"].pop("managedFields", None)
    return answer


def pod(name, **spec):
    containers = [{"name": "a", "image": "a"}]
    body = {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}
    return make("/api/v1/namespaces/default/pods", body)


def seconds(text):
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def part(text):
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def relative(answer):
    """The answer with its claims instead of its token, and times as seconds after the request."""
    if "status" not in answer or not isinstance(answer["status"], dict) or "token" not in answer["status"]:
        return answer
    token = answer["status"].pop("token")
    claims = part(token.split(".")[1])
    start = claims["iat"]
    for name in ["exp", "iat", "nbf"]:
        claims[name] -= start
    if "warnafter" in claims["kubernetes.io"]:
        claims["kubernetes.io"]["warnafter"] -= start
    assert len(claims.pop("jti")) == 36
    answer["status"]["claims"] = claims
    answer["status"]["expirationTimestamp"] = seconds(answer["status"]["expirationTimestamp"]) - start
    answer["metadata"]["creationTimestamp"] = seconds(answer["metadata"]["creationTimestamp"]) - start
    return answer


def main():
    objects = {}
    for name in ["robot", "other"]:
        objects["serviceaccounts/" + name] = make("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
    objects["nodes/worker"] = make("/api/v1/nodes", {"metadata": {"name": "worker"}})
    objects["secrets/key"] = make("/api/v1/namespaces/default/secrets", {"metadata": {"name": "key"}})
    objects["pods/web"] = pod("web", serviceAccountName="robot", nodeName="worker")
    objects["pods/lost"] = pod("lost", serviceAccountName="robot", nodeName="gone")
    objects["pods/free"] = pod("free", serviceAccountName="robot")
    objects["pods/others"] = pod("others", serviceAccountName="other")
    uid = objects["serviceaccounts/robot"]["metadata"]["uid"]
    api = ["https://test"]

    def ref(kind, name, version="v1", **more):
        return {"boundObjectRef": {"kind": kind, "apiVersion": version, "name": name, **more}}

    webhook = "ValidatingWebhookConfiguration"
    registration = "admissionregistration.k8s.io/v1"
    cases = [
        {}, {"spec": {}}, {"spec": {"audiences": []}}, {"spec": {"audiences": ["a", "b", "a"]}}, {"spec": {"audiences": [""]}},
        {"spec": {"expirationSeconds": 600}}, {"spec": {"expirationSeconds": 599}}, {"spec": {"expirationSeconds": 0}},
        {"spec": {"expirationSeconds": -1}}, {"spec": {"expirationSeconds": 1 << 32}}, {"spec": {"expirationSeconds": (1 << 32) + 1}},
        {"spec": {"expirationSeconds": 3607}}, {"spec": {"expirationSeconds": 3607, **ref("Pod", "web")}},
        {"spec": {"expirationSeconds": 3607, "audiences": api, **ref("Pod", "web")}},
        {"spec": {"expirationSeconds": 3607, "audiences": ["x", *api], **ref("Pod", "web")}},
        {"spec": {"expirationSeconds": 3607, **ref("Secret", "key")}},
        {"spec": {"expirationSeconds": 3608, **ref("Pod", "web")}},
        {"spec": ref("Pod", "web")}, {"spec": ref("Pod", "lost")}, {"spec": ref("Pod", "free")}, {"spec": ref("Pod", "others")},
        {"spec": ref("Pod", "missing")}, {"spec": ref("Pod", "web", uid=objects["pods/web"]["metadata"]["uid"])},
        {"spec": ref("Pod", "web", uid="x")}, {"spec": ref("Pod", "others", uid="x")}, {"spec": ref("Secret", "key")},
        {"spec": ref("Secret", "key", uid="x")}, {"spec": ref("Secret", "missing")}, {"spec": ref("Node", "worker")},
        {"spec": ref("Node", "worker", uid="x")}, {"spec": ref("Node", "missing")}, {"spec": ref("ConfigMap", "key")},
        {"spec": ref("Deployment", "key", "apps/v1")}, {"spec": ref("Pod", "web", "v2")}, {"spec": ref("Pod", "web", "")},
        {"spec": ref("Pod", "web", "a/b/c")}, {"spec": ref("", "")}, {"spec": ref(webhook, "a", registration)},
        {"spec": {"audiences": ["a"], "attestations": {"admissionReviewAPIGroups": ["apps"]}, **ref(webhook, "a", registration)}},
        {"spec": {"audiences": ["a", "b"], "attestations": {}, **ref(webhook, "a", registration)}},
        {"spec": {"attestations": {"admissionReviewAPIGroups": ["apps"]}}},
        {"spec": {"expirationSeconds": 1, "audiences": ["a"], **ref("ConfigMap", "key")}},
        {"metadata": {"name": "robot", "namespace": "default"}}, {"metadata": {"name": "x"}}, {"metadata": {"namespace": "x"}},
        {"metadata": {"name": "x", "namespace": "x"}}, {"metadata": {"uid": uid}}, {"metadata": {"uid": "x"}},
        {"metadata": {"uid": "x"}, "spec": {"expirationSeconds": 1}}, {"metadata": {"name": "x"}, "spec": {"expirationSeconds": 1}},
        {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "generateName": "g", "finalizers": ["a/b"]}},
        {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z", "resourceVersion": "7", "generation": 3, "selfLink": "x"}},
        {"status": {"token": "x", "expirationTimestamp": "2020-01-01T00:00:00Z"}},
    ]
    found = []
    for body in cases:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", **body}
        code, answer, warnings = send("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", body)
        found.append({"body": body, "code": code, "answer": relative(answer), "warnings": warnings})
    _, plain, _ = send("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", {"spec": ref("Pod", "web")})
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": plain["status"]["token"]}}
    _, review, _ = send("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
    server = {
        "now": int(time.time()),
        "public": subprocess.check_output(["openssl", "pkey", "-in", KEY, "-pubout"], text=True),
        "token": plain["status"]["token"],
        "review": review["status"],
        "keySet": text("/openid/v1/jwks"),
        "configuration": text("/.well-known/openid-configuration"),
    }
    json.dump({"audiences": api, "server": server, "objects": objects, "requests": found}, sys.stdout, indent=1)
    print()


main()
