#!/usr/bin/env python3
"""Records what a kube-apiserver does with webhooks: what it sends them, and what its client gets.

usage: webhooks.py URL TOKEN AUDIT_LOG OUT.jsonl.gz [PREFIX]

The server must have the default admission plugins, and write its audit log (level RequestResponse for everything, stage
ResponseComplete) to AUDIT_LOG. Webhooks listen on ports 26650 to 26656 of loopback. Each line of OUT is a case: the
configurations, the request as the first webhook sees it (`request`), the calls with their answers, the object that a last
validating webhook sees (`final`), the annotations of the log, and the client's answer. PREFIX records only some cases.
"""

import base64
import copy
import gzip
import http.client
import http.server
import io
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

# Other programs use the certificates and the answers.
URL, TOKEN, AUDIT, OUT = sys.argv[1:5] if __name__ == "__main__" else [""] * 4
PREFIX = sys.argv[5] if __name__ == "__main__" and len(sys.argv) > 5 else ""
BASE = int(os.environ.get("BASE", 26650))
CERTS = tempfile.mkdtemp()
LOG, PLAN = [], {}
LOCK = threading.Lock()


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=CERTS)


def certificate(name, sans, days="3650", ca="ca"):
    """Writes NAME.pem and NAME.key, signed by CA."""
    open(f"{CERTS}/{name}.ext", "w").write("subjectAltName=" + sans + "\nbasicConstraints=CA:FALSE\n")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-out", f"{name}.pem",
            "-extfile", f"{name}.ext", "-days", days)


def authority(name):
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "3650",
            "-subj", f"/CN={name}")


class Hook(http.server.BaseHTTPRequestHandler):
    """Answers as PLAN says for the path."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        review = json.loads(body)
        plan = self.plan(path, review)
        entry = {"url": self.path, "port": self.server.server_address[1], "sent": review}
        with LOCK:
            LOG.append(entry)
        code, headers, answer = plan["code"], dict(plan["headers"]), answer_of(plan, review)
        if plan.get("sleep"):
            time.sleep(plan["sleep"])
        if plan.get("close") == "before":
            return self.drop(entry, "closed")
        answer = answer if code != 204 else ""
        entry["answer"] = {"code": code, "type": headers.get("Content-Type", ""), "body": answer}
        data = answer.encode()
        self.send_response(code)
        headers.setdefault("Content-Length", str(len(data) + (50 if plan.get("close") == "within" else 0)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if code != 204:
            self.wfile.write(data)
        if plan.get("close") == "within":
            self.drop(entry, "cut")

    do_GET = do_POST

    def plan(self, path, _review):
        """What to answer to a review."""
        return PLAN.get(path, {})

    def drop(self, entry, what):
        entry["answer"] = {"failure": what}
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def log_message(self, *_):
        pass


def answer_of(plan, review):
    """The text of the answer: the placeholders UID and the objects are filled in."""
    if callable(plan["body"]):
        return json.dumps(plan["body"](review), separators=(",", ":"))
    body = plan["body"]
    uid = (review.get("request") or {}).get("uid", "")
    return (body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))).replace("$UID", uid)


def serve(port, cert):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Hook)
    if cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{CERTS}/{cert}.pem", f"{CERTS}/{cert}.key")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()


def raw(port, data):
    """Listens, writes the data to every connection and closes it."""
    listener = socket.create_server(("127.0.0.1", port))

    def loop():
        while True:
            connection = listener.accept()[0]
            connection.recv(4096)
            connection.sendall(data)
            connection.close()
    threading.Thread(target=loop, daemon=True).start()


def bundle(name):
    return base64.b64encode(open(f"{CERTS}/{name}.pem", "rb").read()).decode()


def call(method, path, body=None, content="application/json", user=None):
    """Sends a request. Gives the code, the warnings and the body."""
    host = URL.split("//")[1]
    connection = http.client.HTTPSConnection(host, context=ssl._create_unverified_context(), timeout=90)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": content}
    if user:
        headers.update(user)
    connection.request(method, path, None if body is None else body if isinstance(body, str) else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read().decode()
    warnings = response.msg.get_all("Warning") or []
    connection.close()
    try:
        text = json.loads(text)
    except ValueError:
        pass
    return response.status, warnings, text, response.msg.get("Retry-After")


def review(response, version="v1", kind="AdmissionReview", group="admission.k8s.io"):
    return {"kind": kind, "apiVersion": f"{group}/{version}", "response": response}


def allow(**more):
    return review({"uid": "$UID", "allowed": True, **more})


def deny(status=None, **more):
    return review({"uid": "$UID", "allowed": False, **({} if status is None else {"status": status}), **more})


def patch(operations, **more):
    text = operations if isinstance(operations, str) else json.dumps(operations)
    return allow(patch=base64.b64encode(text.encode()).decode(), patchType="JSONPatch", **more)


RULE = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


def hook(answer=None, name="x.example.com", path=None, code=200, headers=None, sleep=0, close=None, port=BASE, client=None, ca="ca",
         **spec):
    """A webhook and what it answers. Its rules select everything."""
    path = path or "/" + name
    plan = {"body": allow() if answer is None else answer, "code": code, "headers": {"Content-Type": "application/json", **(headers or {})},
            "sleep": sleep, "close": close}
    config = client if client is not None else {"url": f"https://127.0.0.1:{port}{path}"}
    if ca:
        config = {**config, "caBundle": bundle(ca)}
    return {"name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [RULE], "clientConfig": config, **spec}, path, plan


WATCHED = {"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["t1", "t2", "t3"]}]},
           "matchConditions": [{"name": "not-system", "expression": "!(request.resource.group in ['coordination.k8s.io','apiregistration.k8s.io','apiextensions.k8s.io'])"}]}


def configuration(kind, name, hooks):
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "WebhookConfiguration", "metadata": {"name": name},
            "webhooks": hooks}


PATHS = {"Mutating": "mutatingwebhookconfigurations", "Validating": "validatingwebhookconfigurations"}


def install(kind, name, hooks):
    """Creates a configuration and gives it as it was stored."""
    for spec, path, plan in hooks:
        PLAN[path] = plan
    base = f"/apis/admissionregistration.k8s.io/v1/{PATHS[kind]}"
    code, _, body, _ = call("POST", base, configuration(kind, name, [spec for spec, _, _ in hooks]))
    if code != 201:
        raise SystemExit(f"{name}: {body}")
    return body


def strip(value, managed=False):
    """Without what is long and the same everywhere."""
    if isinstance(value, dict):
        gone = {"caBundle"} if managed else {"caBundle", "managedFields"}
        return {name: strip(item, managed) for name, item in value.items() if name not in gone}
    return [strip(item, managed) for item in value] if isinstance(value, list) else value


def annotations(path):
    """The annotations of the last event of the log for a path."""
    time.sleep(0.05)
    with open(AUDIT, "rb") as log:
        log.seek(0, 2)
        log.seek(max(0, log.tell() - 400000))
        lines = log.read().decode(errors="replace").splitlines()
    for line in reversed(lines):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event["requestURI"] == path and event["user"]["username"] == "admin" and event["verb"] != "get":
            return {k: v for k, v in event.get("annotations", {}).items() if "authorization.k8s.io" not in k and "aaa-" not in v}
    return {}


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "t1", "labels": {"app": "web"}}, "data": {"k": "v"}}
MAPS = "/api/v1/namespaces/t1/configmaps"
CREATE = ("POST", MAPS, CONFIG_MAP)
CONTENT = {"json": "application/json-patch+json", "merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json",
           "apply": "application/apply-patch+yaml"}
COUNT = 0


def record(out, name, request, mutating=(), validating=(), before=(), managed=False, wait=0.4, more=None, user=None):
    """Runs a case and writes its line."""
    global COUNT
    if not name.startswith(PREFIX):
        return
    for step in before:
        code, _, body, _ = call(*step)
        if code >= 300 and code != 404:
            raise SystemExit(f"{name}: {step[1]}: {body}")
    configs = {"mutating": [], "validating": []}
    install("Mutating", "aaa-observer", [hook(name="aaa-observer.example.com", failurePolicy="Ignore", **WATCHED)])
    install("Validating", "zzz-observer", [hook(name="zzz-observer.example.com", failurePolicy="Ignore", **WATCHED)])
    for kind, groups in (("Mutating", mutating), ("Validating", validating)):
        groups = groups if groups and isinstance(groups[0], list) else [list(groups)] if groups else []
        for at, hooks in enumerate(groups):
            configs[kind.lower()].append(install(kind, f"c{at}", hooks))
    time.sleep(wait)
    with LOCK:
        LOG.clear()
    content = {"user": user} if user else {}
    code, warnings, body, retry = call(*request, **content)
    time.sleep(0.02)
    with LOCK:
        log = list(LOG)
    notes = annotations(request[1])
    for kind, names in (("Mutating", ["aaa-observer"] + [f"c{i}" for i in range(4)]), ("Validating", ["zzz-observer"] + [f"c{i}" for i in range(4)])):
        for config in names:
            call("DELETE", f"/apis/admissionregistration.k8s.io/v1/{PATHS[kind]}/{config}")
    observed = [(e["url"], e["sent"]["request"]) for e in log if not e["sent"]["request"]["userInfo"]["username"].startswith("system:")]
    first = [request for url, request in observed if "aaa-observer" in url]
    last = [request for url, request in observed if "zzz-observer" in url]
    calls = [e for e in log if "observer" not in e["url"] and not e["sent"]["request"]["userInfo"]["username"].startswith("system:")]
    for entry in calls:
        if not entry.get("answer"):
            entry["answer"] = {"failure": "slow"}
    line = {"case": name, **{k: v for k, v in configs.items() if v}, "method": request[0], "path": request[1],
            "request": first[0] if first else None, "calls": calls, "final": last[0].get("object") if last else None,
            "validated": bool(last), "annotations": notes, "code": code, **({"warnings": warnings} if warnings else {}),
            **({"retry": retry} if retry else {}), "body": body, **(more or {})}
    if code < 400 and not managed:
        del line["body"]
    for config in line.get("mutating", []) + line.get("validating", []):
        config["metadata"] = {"name": config["metadata"]["name"]}
    out.write(json.dumps(strip(line, managed), separators=(",", ":"), ensure_ascii=False) + "\n")
    out.flush()
    COUNT += 1
    message = body.get("message", "") if isinstance(body, dict) else body
    print(f"{name}: {len(calls)} calls, {code} {message} {warnings or ''}")


def fresh(path, body, collection=MAPS):
    """Steps that make an object anew."""
    return [("DELETE", f"{collection}/{body['metadata']['name']}?gracePeriodSeconds=0"), ("POST", collection, body)]


GONE = [("DELETE", f"{MAPS}/a")]
LIVE = GONE + [("POST", MAPS, CONFIG_MAP)]
LABEL = [{"op": "add", "path": "/metadata/labels/hooked", "value": "yes"}]
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "t1", "labels": {"app": "web"}},
       "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}
PODS = "/api/v1/namespaces/t1/pods"
NO_POD = [("DELETE", f"{PODS}/p?gracePeriodSeconds=0")]
LIVE_POD = NO_POD + [("POST", PODS, POD)]
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "t1"},
              "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}},
                       "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}}}
DEPLOYMENTS = "/apis/apps/v1/namespaces/t1/deployments"
LIVE_DEPLOYMENT = [("DELETE", f"{DEPLOYMENTS}/d"), ("POST", DEPLOYMENTS, DEPLOYMENT)]
CREATE_POD = ("POST", PODS, POD)


def answers(out):
    """What a webhook may answer, for a mutating and a validating one."""
    cases = {
        "allow": allow(),
        "warnings": allow(warnings=["first", "second \"quoted\" ü", "", "line\nbreak", "x" * 300]),
        "annotations": allow(auditAnnotations={"key": "value", "bad key": "v", "a/b": "v", "": "v"}),
        "deny": deny(),
        "deny-null-status": review({"uid": "$UID", "allowed": False, "status": None}),
        "deny-message": deny({"message": "no such luck"}),
        "deny-reason": deny({"reason": "Forbidden"}),
        "deny-code": deny({"code": 403, "message": "never"}),
        "deny-code-200": deny({"code": 200, "message": "fine", "status": "Success"}),
        "deny-code-418": deny({"code": 418, "reason": "Teapot", "message": "short", "status": "Odd"}),
        "deny-code-700": deny({"code": 700, "message": "big"}),
        "deny-code-99": deny({"code": -5, "message": "small"}),
        "deny-details": deny({"code": 422, "reason": "Invalid", "message": "wrong", "metadata": {"resourceVersion": "7"},
                              "details": {"name": "n", "group": "g", "kind": "k", "uid": "u", "retryAfterSeconds": 3,
                                          "causes": [{"reason": "FieldValueInvalid", "message": "m", "field": "spec.x"}]}}),
        "deny-kind": deny({"kind": "Status", "apiVersion": "v1", "code": 409, "reason": "Conflict", "message": "conflicting"}),
        "deny-warnings": deny({"message": "no"}, warnings=["watch out"]),
        "deny-patch": review({"uid": "$UID", "allowed": False, "patch": "W10=", "patchType": "JSONPatch"}),
        "no-response": {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"},
        "null-response": review(None),
        "empty-response": review({}),
        "wrong-uid": review({"uid": "123", "allowed": True}),
        "no-kind": {"response": {"uid": "$UID", "allowed": True}},
        "no-version": {"kind": "AdmissionReview", "response": {"uid": "$UID", "allowed": True}},
        "no-kind-with-version": {"apiVersion": "admission.k8s.io/v1", "response": {"uid": "$UID", "allowed": True}},
        "wrong-kind": review({"uid": "$UID", "allowed": True}, kind="Other"),
        "wrong-version": review({"uid": "$UID", "allowed": True}, version="v2"),
        "wrong-group": review({"uid": "$UID", "allowed": True}, group="example.com"),
        "older-version": review({"uid": "$UID", "allowed": True}, version="v1beta1"),
        "status-object": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "refused so", "code": 409, "reason": "Conflict"},
        "status-success": {"kind": "Status", "apiVersion": "v1", "status": "Success"},
        "patch": patch(LABEL),
        "patch-no-type": allow(patch=base64.b64encode(json.dumps(LABEL).encode()).decode()),
        "patch-type-only": allow(patchType="JSONPatch"),
        "patch-empty-type": allow(patch="W10=", patchType=""),
        "patch-other-type": allow(patch=base64.b64encode(json.dumps(LABEL).encode()).decode(), patchType="MergePatch"),
        "patch-not-base64": allow(patch="!!", patchType="JSONPatch"),
        "patch-number": allow(patch=5, patchType="JSONPatch"),
        "allowed-text": review({"uid": "$UID", "allowed": "yes"}),
        "uid-number": review({"uid": 5, "allowed": True}),
        "response-list": review([]),
        "response-extra": review({"uid": "$UID", "allowed": True, "more": {"x": 1}}),
        "other-case": {"KIND": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "Response": {"uid": "$UID", "Allowed": True}},
        "null-warning": review({"uid": "$UID", "allowed": True, "warnings": None, "auditAnnotations": None, "patch": None, "patchType": None}),
        "warning-number": review({"uid": "$UID", "allowed": True, "warnings": [1]}),
        "code-text": deny({"code": "403"}),
        "not-json": "hello",
        "empty": "",
        "object": "{}",
        "null": "null",
        "list": "[]",
        "text": "\"x\"",
        "cut-json": "{\"kind\":\"AdmissionReview\",",
        "twice": json.dumps(allow()) + json.dumps(allow()),
        "yaml": "kind: AdmissionReview\napiVersion: admission.k8s.io/v1\nresponse: {uid: $UID, allowed: true}\n",
    }
    for name, answer in cases.items():
        record(out, f"answer-m-{name}", CREATE, [hook(answer)], before=GONE)
        record(out, f"answer-v-{name}", CREATE, [], [hook(answer)], before=GONE)
    beta = {"admissionReviewVersions": ["v2", "v1beta1", "v1"]}
    for name, answer in {
        "allow": review({"uid": "$UID", "allowed": True}, version="v1beta1"),
        "any": {"response": {"allowed": True}},
        "no-response": {},
        "v1": allow(),
        "deny": review({"allowed": False, "status": {"message": "no"}}, version="v1beta1"),
        "patch": review({"allowed": True, "patch": base64.b64encode(json.dumps(LABEL).encode()).decode()}, version="v1beta1"),
        "patch-type": review({"allowed": True, "patchType": "JSONPatch"}, version="v1beta1"),
    }.items():
        record(out, f"beta-m-{name}", CREATE, [hook(answer, **beta)], before=GONE)
        record(out, f"beta-v-{name}", CREATE, [], [hook(answer, **beta)], before=GONE)


def patches(out):
    """Patches of a mutating webhook."""
    for name, operations in {
        "empty": [],
        "null": "null",
        "object": "{}",
        "text": "hello",
        "strings": "[\"a\"]",
        "same": [{"op": "add", "path": "/metadata/labels/app", "value": "web"}],
        "same-empty": [{"op": "add", "path": "/metadata/annotations", "value": {}}],
        "test-fails": [{"op": "test", "path": "/data/k", "value": "other"}],
        "missing": [{"op": "remove", "path": "/data/none"}],
        "unknown-op": [{"op": "grow", "path": "/data/k"}],
        "no-path": [{"op": "add", "value": 1}],
        "no-value": [{"op": "add", "path": "/data/x"}],
        "no-parent": [{"op": "add", "path": "/metadata/annotations/x", "value": "y"}],
        "root": [{"op": "replace", "path": "", "value": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "t1"}, "data": {"new": "1"}}}],
        "root-null": [{"op": "replace", "path": "", "value": None}],
        "kind": [{"op": "replace", "path": "/kind", "value": "Secret"}],
        "version": [{"op": "replace", "path": "/apiVersion", "value": "v2"}],
        "no-kind": [{"op": "remove", "path": "/kind"}],
        "name": [{"op": "replace", "path": "/metadata/name", "value": "b"}],
        "namespace": [{"op": "replace", "path": "/metadata/namespace", "value": "t2"}],
        "uid": [{"op": "replace", "path": "/metadata/uid", "value": "u"}],
        "label-number": [{"op": "add", "path": "/metadata/labels/n", "value": 5}],
        "label-invalid": [{"op": "add", "path": "/metadata/labels/n", "value": "no good"}],
        "unknown-field": [{"op": "add", "path": "/more", "value": {"x": 1}}],
        "null-data": [{"op": "replace", "path": "/data", "value": None}],
        "move": [{"op": "move", "from": "/data/k", "path": "/data/z"}, {"op": "copy", "from": "/data/z", "path": "/data/y"}],
    }.items():
        record(out, f"patch-{name}", CREATE, [hook(patch(operations))], before=GONE)
    record(out, "patch-on-delete", ("DELETE", f"{MAPS}/a"), [hook(patch(LABEL))], before=LIVE)
    record(out, "patch-empty-on-delete", ("DELETE", f"{MAPS}/a"), [hook(patch([]))], before=LIVE)
    sidecar = [{"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "side"}}]
    record(out, "patch-pod-sidecar", CREATE_POD, [hook(patch(sidecar))], before=NO_POD)
    record(out, "patch-pod-bad-type", CREATE_POD, [hook(patch([{"op": "add", "path": "/spec/containers/0/ports", "value": [{"containerPort": "x"}]}]))], before=NO_POD)
    record(out, "patch-pod-bad-index", CREATE_POD, [hook(patch([{"op": "add", "path": "/spec/containers/9", "value": {}}]))], before=NO_POD)
    record(out, "patch-pod-invalid", CREATE_POD, [hook(patch([{"op": "replace", "path": "/spec/restartPolicy", "value": "Sometimes"}]))], before=NO_POD)
    record(out, "patch-status", ("PATCH", f"{PODS}/p/status", {"status": {"message": "m"}}, CONTENT["merge"]),
           [hook(patch([{"op": "add", "path": "/status/reason", "value": "R"}, {"op": "add", "path": "/metadata/labels/s", "value": "1"}]))], before=LIVE_POD)
    record(out, "patch-scale", ("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 2}}, CONTENT["merge"]),
           [hook(patch([{"op": "replace", "path": "/spec/replicas", "value": 5}]))], before=LIVE_DEPLOYMENT)
    record(out, "patch-generate-name", ("POST", MAPS, {**CONFIG_MAP, "metadata": {"generateName": "g-"}}), [hook(patch([{"op": "add", "path": "/data/x", "value": "1"}]))])
    record(out, "patch-dry-run", ("POST", MAPS + "?dryRun=All", CONFIG_MAP), [hook(patch(LABEL))], before=GONE)


def failures(out):
    """Failures of the call, of both kinds and with both policies."""
    def both(name, policies=("Fail", "Ignore"), **more):
        for policy in policies:
            record(out, f"fail-m-{name}-{policy.lower()}", CREATE, [hook(failurePolicy=policy, **more)], before=GONE)
        record(out, f"fail-v-{name}", CREATE, [], [hook(**more)], before=GONE)

    both("refused", port=1)
    both("authority", ca="other")
    both("no-bundle", ca=None)
    both("name", port=BASE + 1)
    both("expired", port=BASE + 2)
    both("plain", port=BASE + 3)
    both("self-signed", ca="self", port=BASE + 4)
    both("hangs-up", port=BASE + 5)
    both("garbage", port=BASE + 6)
    both("localhost", client={"url": f"https://localhost:{BASE}/x.example.com"})
    both("no-host", client={"url": "https://nosuch.invalid/x.example.com"})
    both("closed", close="before")
    both("cut", close="within")
    both("slow", sleep=1.5, timeoutSeconds=1)
    both("service-none", client={"service": {"namespace": "t1", "name": "nosuch"}})
    both("service-port", client={"service": {"namespace": "t1", "name": "nosuch", "port": 8443, "path": "/a/b"}})
    both("service-refused", client={"service": {"namespace": "t1", "name": "away", "port": 1, "path": "/x.example.com"}})
    both("service-name", client={"service": {"namespace": "t1", "name": "wrong", "port": BASE, "path": "/x.example.com"}})
    both("service", client={"service": {"namespace": "t1", "name": "hook", "port": BASE, "path": "/x.example.com"}})
    both("service-no-path", path="/", client={"service": {"namespace": "t1", "name": "hook", "port": BASE}})
    both("url-slash", path="/x", client={"url": f"https://127.0.0.1:{BASE}/x/"})
    both("url-no-path", path="/", client={"url": f"https://127.0.0.1:{BASE}"})
    for code in (204, 207, 300, 304, 400, 401, 403, 404, 405, 406, 409, 415, 418, 422, 429, 500, 503, 504):
        both(f"code-{code}", ("Fail",), code=code, answer="some text\n", headers={"Content-Type": "text/plain"})
    both("code-206", ("Fail",), code=206)
    both("code-500-json", ("Fail",), code=500, answer={"x": 1})
    both("code-500-html", ("Fail",), code=500, answer="<b>x</b>", headers={"Content-Type": "text/html"})
    both("code-500-long", ("Fail",), code=500, answer="y" * 3000, headers={"Content-Type": "text/plain"})
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "told so", "code": 409, "reason": "Conflict"}
    both("code-500-status", ("Fail",), code=500, answer=status)
    both("code-500-status-no-kind", ("Fail",), code=500, answer={"status": "Failure", "message": "told so"})
    both("code-500-review", ("Fail",), code=500, answer=allow())
    both("code-503-retry", ("Fail",), code=503, answer="busy", headers={"Content-Type": "text/plain", "Retry-After": "1"}, timeoutSeconds=3)
    for code in (301, 302, 307):
        PLAN["/elsewhere"] = hook(path="/elsewhere")[2]
        both(f"redirect-{code}", ("Fail",), code=code, answer="", headers={"Location": "/elsewhere"})
    both("text-plain", ("Fail",), headers={"Content-Type": "text/plain"})
    both("no-type", ("Fail",), headers={"Content-Type": ""})
    both("bad-type", ("Fail",), headers={"Content-Type": "/"})
    both("bad-type-2", ("Fail",), headers={"Content-Type": "application/json; charset"})
    both("protobuf-type", ("Fail",), headers={"Content-Type": "application/vnd.kubernetes.protobuf"})


def matching(out):
    """Which requests webhooks see."""
    def rule(**more):
        return {"rules": [{**RULE, **more}]}

    def one(name, request, before=(), **spec):
        record(out, f"match-{name}", request, [hook(**spec)], before=before)

    for name, spec in {
        "create": rule(operations=["CREATE"]), "update": rule(operations=["UPDATE"]), "two": rule(operations=["UPDATE", "CREATE"]),
        "group": rule(apiGroups=["apps"]), "core": rule(apiGroups=["", "x"]), "version": rule(apiVersions=["v2"]), "v1": rule(apiVersions=["v1"]),
        "resource": rule(resources=["configmaps"]), "star": rule(resources=["*"]), "other": rule(resources=["secrets", "pods"]),
        "sub": rule(resources=["configmaps/status"]), "any-sub": rule(resources=["configmaps/*"]), "star-sub": rule(resources=["*/status"]),
        "namespaced": rule(scope="Namespaced"), "cluster": rule(scope="Cluster"), "all": rule(scope="*"),
        "none": {"rules": []}, "second-rule": {"rules": [{**RULE, "apiGroups": ["apps"]}, RULE]},
        "namespace-yes": {"namespaceSelector": {"matchLabels": {"team": "one"}}}, "namespace-no": {"namespaceSelector": {"matchLabels": {"team": "two"}}},
        "namespace-in": {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["one", "two"]}, {"key": "none", "operator": "DoesNotExist"}]}},
        "namespace-not-in": {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["one"]}]}},
        "object-yes": {"objectSelector": {"matchLabels": {"app": "web"}}}, "object-no": {"objectSelector": {"matchLabels": {"app": "db"}}},
        "object-exists": {"objectSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}, {"key": "tier", "operator": "NotIn", "values": ["x"]}]}},
        "condition-true": {"matchConditions": [{"name": "t", "expression": "object.metadata.name == 'a'"}]},
        "condition-false": {"matchConditions": [{"name": "f", "expression": "false"}, {"name": "e", "expression": "object.none.x == 1"}]},
        "condition-error": {"matchConditions": [{"name": "e", "expression": "object.none.x == 1"}]},
        "condition-error-ignore": {"failurePolicy": "Ignore", "matchConditions": [{"name": "e", "expression": "object.none.x == 1"}]},
    }.items():
        one(name, CREATE, GONE, **spec)
    scale = ("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, CONTENT["merge"])
    for name, resources in {"scale": ["deployments/scale"], "star": ["*/scale"], "star-2": ["*"], "any": ["deployments/*"], "plain": ["deployments"]}.items():
        one(f"scale-{name}", scale, LIVE_DEPLOYMENT, **rule(resources=resources))
    one("update", ("PUT", f"{MAPS}/a", {**CONFIG_MAP, "data": {"k": "w"}}), LIVE)
    one("update-object-old", ("PUT", f"{MAPS}/a", {**CONFIG_MAP, "metadata": {"name": "a"}}), LIVE, objectSelector={"matchLabels": {"app": "web"}})
    one("update-create", ("PATCH", f"{MAPS}/n?fieldManager=m", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}, "data": {"k": "1"}}, CONTENT["apply"]), [("DELETE", f"{MAPS}/n")])
    for kind, content in CONTENT.items():
        body = [{"op": "add", "path": "/data/k", "value": "w"}] if kind == "json" else {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "w"}}
        one(f"patch-{kind}", ("PATCH", f"{MAPS}/a?fieldManager=m" + ("&force=true" if kind == "apply" else ""), body, content), LIVE)
    one("delete", ("DELETE", f"{MAPS}/a"), LIVE)
    one("delete-options", ("DELETE", f"{MAPS}/a", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "gracePeriodSeconds": 0}), LIVE)
    one("delete-object", ("DELETE", f"{MAPS}/a"), LIVE, objectSelector={"matchLabels": {"app": "web"}})
    one("delete-dry-run", ("DELETE", f"{MAPS}/a?dryRun=All"), LIVE)
    one("delete-collection", ("DELETE", f"{MAPS}?labelSelector=app%3Dweb"), LIVE)
    one("delete-pod", ("DELETE", f"{PODS}/p"), LIVE_POD)
    one("delete-none", ("DELETE", f"{MAPS}/nosuch"))
    one("status", ("PATCH", f"{PODS}/p/status", {"status": {"message": "m"}}, CONTENT["merge"]), LIVE_POD, **rule(resources=["pods/status"]))
    one("eviction", ("POST", f"{PODS}/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "t1"}}), LIVE_POD)
    one("binding", ("POST", f"{PODS}/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}), LIVE_POD)
    one("token", ("POST", "/api/v1/namespaces/t1/serviceaccounts/robot/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}))
    one("generate-name", ("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}}))
    one("create-options", ("POST", MAPS + "?fieldManager=me&fieldValidation=Strict", CONFIG_MAP), GONE)
    one("create-user", CREATE, GONE)
    record(out, "connect-deny", ("POST", f"{PODS}/p/exec?command=ls&stdout=true"), [], [hook(deny({"message": "no shell"}))], before=LIVE_POD)
    record(out, "connect-proxy-deny", ("GET", "/api/v1/namespaces/t1/services/hook/proxy/x"), [], [hook(deny({"message": "no proxy"}))])
    user = {"Impersonate-User": "alice", "Impersonate-Group": "dev", "Impersonate-Uid": "7", "Impersonate-Extra-Scope": "a"}
    if "match-user".startswith(PREFIX) or PREFIX.startswith("match-user"):
        record(out, "match-user", ("POST", MAPS, CONFIG_MAP), [hook()], before=GONE, user=user)
    spaces = "/api/v1/namespaces"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t3", "labels": {"team": "one"}}}
    one("namespace-object", ("POST", spaces, space), namespaceSelector={"matchLabels": {"team": "one"}}, **rule(scope="Cluster"))
    one("namespace-object-update", ("PATCH", f"{spaces}/t3", {"metadata": {"labels": {"team": "two"}}}, CONTENT["merge"]), namespaceSelector={"matchLabels": {"team": "two"}})
    one("namespace-object-update-no", ("PATCH", f"{spaces}/t3", {"metadata": {"labels": {"team": "three"}}}, CONTENT["merge"]), namespaceSelector={"matchLabels": {"team": "two"}})
    one("namespace-object-scope", ("PATCH", f"{spaces}/t3", {"metadata": {"labels": {"n": "1"}}}, CONTENT["merge"]), **rule(scope="Namespaced"))
    one("namespace-status", ("PATCH", f"{spaces}/t3/status", {"metadata": {"labels": {"n": "2"}}}, CONTENT["merge"]), namespaceSelector={"matchLabels": {"team": "three"}})
    one("namespace-delete", ("DELETE", f"{spaces}/t3"), namespaceSelector={"matchLabels": {"team": "three"}})
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "x.example.com"}
    one("cluster-object", ("POST", classes, storage), [("DELETE", f"{classes}/fast")], namespaceSelector={"matchLabels": {"team": "none"}})
    one("cluster-namespaced", ("POST", classes, storage), [("DELETE", f"{classes}/fast")], **rule(scope="Namespaced"))
    one("cluster-scope", ("POST", classes, storage), [("DELETE", f"{classes}/fast")], **rule(scope="Cluster"))
    one("exempt", ("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", configuration("Validating", "probe", [])),
        [("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/probe")])
    one("review", ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}))
    one("missing-namespace", ("POST", "/api/v1/namespaces/nosuch/configmaps", {**CONFIG_MAP, "metadata": {"name": "a"}}), namespaceSelector={"matchLabels": {"team": "one"}})
    hpa = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h", "namespace": "t1"},
           "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}
    scalers = "/apis/autoscaling/v1/namespaces/t1/horizontalpodautoscalers"
    v2 = rule(apiGroups=["autoscaling"], apiVersions=["v2"], resources=["horizontalpodautoscalers"])
    for policy in ("Exact", "Equivalent"):
        record(out, f"equivalent-{policy.lower()}", ("POST", scalers, hpa), [hook(matchPolicy=policy, **v2)], before=[("DELETE", f"{scalers}/h")])
    add = patch([{"op": "replace", "path": "/spec/maxReplicas", "value": 9}])
    record(out, "equivalent-patch", ("POST", scalers, hpa), [hook(add, **v2), hook(name="y.example.com", **rule(apiVersions=["v1"]))], before=[("DELETE", f"{scalers}/h")])
    record(out, "equivalent-validate", ("POST", scalers, hpa), [], [hook(**v2), hook(name="y.example.com")], before=[("DELETE", f"{scalers}/h")])
    record(out, "equivalent-update", ("PATCH", f"{scalers}/h", {"spec": {"maxReplicas": 4}}, CONTENT["merge"]), [hook(**v2)])
    record(out, "equivalent-delete", ("DELETE", f"{scalers}/h"), [], [hook(**v2)])
    events = "/api/v1/namespaces/t1/events"
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "t1"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "t1"}, "reason": "R", "message": "m", "type": "Normal"}
    record(out, "equivalent-group", ("POST", events, event), [hook(**rule(apiGroups=["events.k8s.io"], apiVersions=["*"], resources=["events"]))], before=[("DELETE", f"{events}/e")])


def several(out):
    """Several webhooks: order, what each sees, and reinvocation."""
    def named(letter, answer=None, **more):
        return hook(answer, name=f"{letter}.example.com", **more)

    def label(key, value="1"):
        return patch([{"op": "add", "path": f"/metadata/labels/{key}", "value": value}])

    again = {"reinvocationPolicy": "IfNeeded"}
    record(out, "several-order", CREATE, [[named("b", label("b"))], [named("z", label("z")), named("a", label("a"))]], before=GONE)
    record(out, "several-deny-second", CREATE, [named("a", label("a"), ), named("b", deny({"message": "no"}, warnings=["w"])), named("c")], before=GONE)
    record(out, "several-warn-deny", CREATE, [named("a", allow(warnings=["w1"])), named("b", deny({"message": "no"}))], [named("c", allow(warnings=["never"]))], before=GONE)
    record(out, "several-selected-later", CREATE, [named("a", objectSelector={"matchLabels": {"b": "1"}}), named("b", label("b")), named("c", objectSelector={"matchLabels": {"b": "1"}})], before=GONE)
    record(out, "several-again", CREATE, [named("a", **again), named("b", label("b"))], before=GONE)
    record(out, "several-again-self", CREATE, [named("a", label("a"), **again)], before=GONE)
    record(out, "several-again-unchanged", CREATE, [named("a", **again), named("b", patch([{"op": "add", "path": "/metadata/labels/app", "value": "web"}]))], before=GONE)
    record(out, "several-again-both", CREATE, [named("a", lambda r: patched(r, "a"), **again), named("b", lambda r: patched(r, "b"), **again), named("c", **again)], before=GONE)
    record(out, "several-again-never", CREATE, [named("a", reinvocationPolicy="Never"), named("b", label("b"))], before=GONE)
    record(out, "several-again-first-time", CREATE, [named("a", objectSelector={"matchLabels": {"b": "1"}}, **again), named("b", label("b"))], before=GONE)
    record(out, "several-again-deny", CREATE, [named("a", lambda r: deny_if(r, "b"), **again), named("b", label("b"))], before=GONE)
    record(out, "several-again-ignored", CREATE, [named("a", code=500, failurePolicy="Ignore", **again), named("b", label("b"))], before=GONE)
    record(out, "several-validating", CREATE, [], [named("a", deny({"message": "a"})), named("b", deny({"message": "b"}), sleep=0.3), named("c", allow(warnings=["w"]))], before=GONE)
    record(out, "several-validating-fail", CREATE, [], [named("a", code=500, failurePolicy="Ignore"), named("b", port=1, failurePolicy="Ignore"), named("c")], before=GONE)
    limits = "/api/v1/namespaces/t1/limitranges"
    limit = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "t1"}, "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}}]}}
    sidecar = [{"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "side"}}]
    record(out, "several-plugin-again", CREATE_POD, [named("a", **again), named("b", lambda r: sidecar_once(r, sidecar))], before=NO_POD + [("DELETE", f"{limits}/l"), ("POST", limits, limit)])
    record(out, "several-plugin-again-2", CREATE_POD, [named("b", lambda r: sidecar_once(r, sidecar), **again)], before=NO_POD)
    call("DELETE", f"{limits}/l")


def fill(answer, request):
    return json.loads(json.dumps(answer).replace("$UID", request["request"]["uid"]))


def patched(request, key):
    """Counts how often it was called in a label."""
    count = int(request["request"]["object"]["metadata"].get("labels", {}).get(key, "0")) + 1
    return fill(patch([{"op": "add", "path": f"/metadata/labels/{key}", "value": str(count)}]), request)


def deny_if(request, key):
    labels = request["request"]["object"]["metadata"].get("labels", {})
    return fill(deny({"message": f"has {key}"}) if key in labels else allow(), request)


def sidecar_once(request, operations):
    names = [c["name"] for c in request["request"]["object"]["spec"]["containers"]]
    return fill(allow() if "side" in names else patch(operations), request)


def definition(conversion, name="things", group="example.com"):
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}, "width": {"type": "integer"}}},
                                                                "status": {"type": "object", "properties": {"ready": {"type": "boolean"}, "replicas": {"type": "integer"}}}}}}
    sub = {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{name}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": name, "singular": name[:-1], "kind": name.title()[:-1], "listKind": name.title()[:-1] + "List"},
                     "versions": [{"name": v, "served": True, "storage": v == "v1", "schema": schema, "subresources": sub} for v in ("v1", "v2")],
                     "conversion": conversion}}


def define(crd):
    """Replaces a definition, and waits until it is served."""
    base = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    code, _, old, _ = call("GET", f"{base}/{crd['metadata']['name']}")
    if code == 200:
        crd["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        code, _, body, _ = call("PUT", f"{base}/{crd['metadata']['name']}", crd)
    else:
        code, _, body, _ = call("POST", base, crd)
    if code >= 300:
        raise SystemExit(body)
    for _ in range(50):
        time.sleep(0.1)
        body = call("GET", f"{base}/{crd['metadata']['name']}")[2]
        if any(c["type"] == "Established" and c["status"] == "True" for c in body.get("status", {}).get("conditions", [])):
            break
    time.sleep(0.5)


def custom(out):
    """Custom resources at two versions, converted by changing the version only."""
    if not "custom".startswith(PREFIX[:6]):
        return
    define(definition({"strategy": "None"}))
    things = "/apis/example.com/v1/namespaces/t1/things"
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "t1"}, "spec": {"width": 3}}
    gone, live = [("DELETE", f"{things}/t")], fresh(things, thing, things)
    v2 = {"rules": [{**RULE, "apiGroups": ["example.com"], "apiVersions": ["v2"]}]}
    record(out, "custom-create", ("POST", things, thing), [hook(patch([{"op": "add", "path": "/spec/size", "value": 7}]))], before=gone)
    record(out, "custom-equivalent", ("POST", things, thing), [hook(patch([{"op": "add", "path": "/spec/size", "value": 7}]), **v2)], before=gone)
    record(out, "custom-exact", ("POST", things, thing), [hook(matchPolicy="Exact", **v2)], before=gone)
    record(out, "custom-mixed", ("POST", things, thing), [hook(patch([{"op": "add", "path": "/spec/size", "value": 7}]), **v2), hook(name="y.example.com")], [hook(name="v.example.com", **v2)], before=gone)
    record(out, "custom-unknown-field", ("POST", things, thing), [hook(patch([{"op": "add", "path": "/spec/more", "value": 7}]))], before=gone)
    record(out, "custom-wrong-type", ("POST", things, thing), [hook(patch([{"op": "add", "path": "/spec/size", "value": "x"}]))], before=gone)
    record(out, "custom-default", ("POST", things, thing), [hook(patch([{"op": "remove", "path": "/spec/size"}]))], before=gone)
    record(out, "custom-kind", ("POST", things, thing), [hook(patch([{"op": "replace", "path": "/kind", "value": "Other"}]))], before=gone)
    record(out, "custom-version", ("POST", things, thing), [hook(patch([{"op": "replace", "path": "/apiVersion", "value": "example.com/v9"}]))], before=gone)
    record(out, "custom-no-kind", ("POST", things, thing), [hook(patch([{"op": "remove", "path": "/kind"}]))], before=gone)
    record(out, "custom-metadata-text", ("POST", things, thing), [hook(patch([{"op": "replace", "path": "/metadata", "value": "x"}]))], before=gone)
    record(out, "custom-label-number", ("POST", things, thing), [hook(patch([{"op": "add", "path": "/metadata/labels", "value": {"a": 5}}]))], before=gone)
    record(out, "custom-status", ("PATCH", f"{things}/t/status", {"status": {"ready": True}}, CONTENT["merge"]), [hook(patch([{"op": "add", "path": "/status/replicas", "value": 2}]))], before=live)
    record(out, "custom-scale", ("PATCH", f"{things}/t/scale", {"spec": {"replicas": 5}}, CONTENT["merge"]), [hook(patch([{"op": "replace", "path": "/spec/replicas", "value": 6}]))], before=live)
    record(out, "custom-scale-equivalent", ("PATCH", f"{things}/t/scale", {"spec": {"replicas": 5}}, CONTENT["merge"]), [hook(**{"rules": [{**RULE, "apiVersions": ["v2"], "resources": ["things/scale"]}]})], before=live)
    record(out, "custom-delete", ("DELETE", f"{things}/t"), [hook()], before=live)


def converted(objects, version, change=None):
    result = []
    for item in copy.deepcopy(objects):
        item["apiVersion"] = version
        result.append(change(item) if change else item)
    return result


def conversion(out):
    """Conversion webhooks: what is sent and what comes back."""
    if not "convert".startswith(PREFIX[:7]):
        return
    path = "/convert"
    group = "hooked.example.com"

    def strategy(versions=("v1",), **client):
        client = client or {"url": f"https://127.0.0.1:{BASE}{path}", "caBundle": bundle("ca")}
        return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": list(versions)}}

    def good(request, change=None, version="v1", **more):
        request = request["request"]
        return {"kind": "ConversionReview", "apiVersion": f"apiextensions.k8s.io/{version}", "response": {
            "uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted(request["objects"], request["desiredAPIVersion"], change), **more}}

    define(definition({"strategy": "None"}, group=group))
    v1, v2 = (f"/apis/{group}/{v}/namespaces/t2/things" for v in ("v1", "v2"))
    for name in ("one", "two"):
        call("POST", v1, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name, "labels": {"l": name}, "annotations": {"n": name}}, "spec": {"width": 3}})

    def meta(**fields):
        def change(item):
            item["metadata"].update(fields)
            return item
        return change

    def top(**fields):
        return lambda item: {**item, **fields}

    def without(field):
        return lambda item: {k: v for k, v in item.items() if k != field}

    def run(name, answer, requests=("get",), versions=("v1",), code=200, sleep=0, close=None, headers=None, client=None, extra=None):
        if not f"convert-{name}".startswith(PREFIX):
            return
        define(definition(strategy(versions, **(client or {})), group=group))
        PLAN[path] = {"body": answer, "code": code, "headers": {"Content-Type": "application/json", **(headers or {})}, "sleep": sleep, "close": close}
        for what in requests:
            with LOCK:
                LOG.clear()
            request = {"get": ("GET", f"{v2}/one"), "list": ("GET", v2), "same": ("GET", f"{v1}/one")}.get(what) or extra
            status, warnings, body, _ = call(*request)
            with LOCK:
                calls = [e for e in LOG if e["url"].startswith("/convert")]
            # The cache of watches converts too.
            named = [e for e in calls if any(o["metadata"]["name"] == "one" for o in e["sent"]["request"]["objects"])]
            calls = named[-1:] if what == "get" else calls
            out.write(json.dumps(strip({"case": f"convert-{name}-{what}", "versions": list(versions), "method": request[0], "path": request[1], "calls": calls, "code": status,
                                        "body": body}, managed=what == "apply"), separators=(",", ":"), ensure_ascii=False) + "\n")
            out.flush()
            print(f"convert-{name}-{what}: {len(calls)} calls, {status} {body.get('message', '') if isinstance(body, dict) else body}")

    run("good", good, ("get", "list", "same"))
    run("width", lambda r: good(r, lambda i: {**i, "spec": {"size": 40}}))
    run("labels", lambda r: good(r, meta(labels={"new": "1"}, annotations=None, finalizers=["x/y"], resourceVersion="1", creationTimestamp=None)))
    run("labels-gone", lambda r: good(r, lambda i: {**i, "metadata": {k: v for k, v in i["metadata"].items() if k in ("name", "namespace", "uid")}}))
    run("labels-list", lambda r: good(r, meta(labels=[])))
    run("labels-number", lambda r: good(r, meta(labels={"a": 5})))
    run("labels-invalid", lambda r: good(r, meta(labels={"a b": "c d"})))
    run("annotations-invalid", lambda r: good(r, meta(annotations={"a b": "c d"})))
    run("name", lambda r: good(r, meta(name="three")))
    run("namespace", lambda r: good(r, meta(namespace="t9")))
    run("uid", lambda r: good(r, meta(uid="u")))
    run("kind", lambda r: good(r, top(kind="Other")))
    run("no-kind", lambda r: good(r, without("kind")))
    run("version", lambda r: good(r, top(apiVersion=f"{group}/v1")))
    run("no-version", lambda r: good(r, without("apiVersion")))
    run("no-metadata", lambda r: good(r, without("metadata")))
    run("metadata-text", lambda r: good(r, top(metadata="x")))
    run("fewer", lambda r: good(r, convertedObjects=[]))
    run("null-objects", lambda r: good(r, convertedObjects=None))
    run("more", lambda r: good(r, convertedObjects=converted(r["request"]["objects"], r["request"]["desiredAPIVersion"]) * 2))
    run("text-objects", lambda r: good(r, convertedObjects=["x"] * len(r["request"]["objects"])))
    run("null-items", lambda r: good(r, convertedObjects=[None] * len(r["request"]["objects"])))
    run("failed", lambda r: good(r, result={"status": "Failure", "message": "cannot do that"}))
    run("failed-silent", lambda r: good(r, result={"status": "Failure"}))
    run("no-result", lambda r: good(r, result={}))
    run("wrong-uid", lambda r: good(r, uid="1"))
    run("no-response", {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"})
    run("empty", "")
    run("object", "{}")
    run("not-json", "hello")
    run("wrong-kind", lambda r: {**good(r), "kind": "Other"})
    run("wrong-version", lambda r: good(r, version="v1beta1"))
    run("unknown-version", lambda r: good(r, version="v7"))
    run("beta", lambda r: good(r, version="v1beta1", uid="other"), versions=("v3", "v1beta1", "v1"))
    run("beta-v1", good, versions=("v1beta1",))
    run("beta-none", "{}", versions=("v1beta1",))
    run("code-500", "oops", code=500, headers={"Content-Type": "text/plain"})
    run("code-404", "oops", code=404, headers={"Content-Type": "text/plain"})
    run("refused", good, client={"url": "https://127.0.0.1:1/convert", "caBundle": bundle("ca")})
    run("closed", good, close="before")
    run("cut", good, close="within")
    run("service-none", good, client={"service": {"namespace": "t1", "name": "nosuch", "path": "/convert"}, "caBundle": bundle("ca")})
    run("create", good, ("create",), extra=("POST", v2, {"apiVersion": f"{group}/v2", "kind": "Thing", "metadata": {"name": f"n{time.time_ns()}"}, "spec": {"width": 1}}))
    run("create-broken", lambda r: good(r, meta(name="x")), ("create",), extra=("POST", v2, {"apiVersion": f"{group}/v2", "kind": "Thing", "metadata": {"name": "broken"}, "spec": {"width": 1}}))
    run("apply", good, ("apply",), extra=("PATCH", f"{v2}/one?fieldManager=m&force=true", {"apiVersion": f"{group}/v2", "kind": "Thing", "metadata": {"name": "one"}, "spec": {"size": 9}}, CONTENT["apply"]))
    run("update", good, ("update",), extra=("PATCH", f"{v2}/two", {"spec": {"size": 9}}, CONTENT["merge"]))
    run("delete", good, ("delete",), extra=("DELETE", f"{v2}/two"))
    if os.environ.get("SLOW"):
        run("slow", good, ("get",), sleep=35)
    define(definition({"strategy": "None"}, group=group))


def ownership(out):
    """Who owns what a webhook writes: managedFields after every verb."""
    add = patch([{"op": "add", "path": "/metadata/labels/hooked", "value": "yes"}, {"op": "add", "path": "/data/extra", "value": "1"}])
    change = patch([{"op": "replace", "path": "/data/k", "value": "hooked"}])
    remove = patch([{"op": "remove", "path": "/data/k"}])
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"app": "web"}}, "data": {"k": "w"}}
    for name, answer in {"add": add, "change": change, "remove": remove}.items():
        record(out, f"owner-{name}-create", ("POST", MAPS + "?fieldManager=m", CONFIG_MAP), [hook(answer)], before=GONE, managed=True)
        live = GONE + [("POST", MAPS + "?fieldManager=first", CONFIG_MAP)]
        record(out, f"owner-{name}-update", ("PUT", f"{MAPS}/a?fieldManager=m", body), [hook(answer)], before=live, managed=True)
        for kind, content in CONTENT.items():
            patch_body = [{"op": "add", "path": "/data/k", "value": "w"}] if kind == "json" else {"data": {"k": "w"}}
            if kind == "apply":
                patch_body = body
            record(out, f"owner-{name}-{kind}", ("PATCH", f"{MAPS}/a?fieldManager=m" + ("&force=true" if kind == "apply" else ""), patch_body, content), [hook(answer)], before=live, managed=True)
        record(out, f"owner-{name}-apply-create", ("PATCH", f"{MAPS}/a?fieldManager=m", body, CONTENT["apply"]), [hook(answer)], before=GONE, managed=True)
        twice = GONE + [("PATCH", f"{MAPS}/a?fieldManager=m", body, CONTENT["apply"])]
        record(out, f"owner-{name}-apply-again", ("PATCH", f"{MAPS}/a?fieldManager=m", body, CONTENT["apply"]), [hook(answer)], before=twice, managed=True)
    record(out, "owner-noop-update", ("PUT", f"{MAPS}/a?fieldManager=m", body), [hook()], before=GONE + [("POST", MAPS + "?fieldManager=first", body)], managed=True)
    fields = patch([{"op": "add", "path": "/metadata/managedFields", "value": []}])
    record(out, "owner-clears", ("POST", MAPS + "?fieldManager=m", CONFIG_MAP), [hook(fields)], before=GONE, managed=True)
    bad = patch([{"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "other"}])
    record(out, "owner-renames", ("POST", MAPS + "?fieldManager=m", CONFIG_MAP), [hook(bad)], before=GONE, managed=True)
    invalid = patch([{"op": "replace", "path": "/metadata/managedFields/0/operation", "value": "Odd"}])
    record(out, "owner-invalid", ("POST", MAPS + "?fieldManager=m", CONFIG_MAP), [hook(invalid)], before=GONE, managed=True)
    record(out, "owner-status", ("PATCH", f"{PODS}/p/status?fieldManager=m", {"status": {"message": "m"}}, CONTENT["merge"]), [hook(patch([{"op": "add", "path": "/status/reason", "value": "R"}, {"op": "add", "path": "/metadata/labels/s", "value": "1"}]))], before=LIVE_POD, managed=True)
    record(out, "owner-scale", ("PATCH", f"{DEPLOYMENTS}/d/scale?fieldManager=m", {"spec": {"replicas": 2}}, CONTENT["merge"]), [hook(patch([{"op": "replace", "path": "/spec/replicas", "value": 5}]))], before=LIVE_DEPLOYMENT, managed=True)


def main():
    authority("ca"), authority("other")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "self.key", "-out", "self.pem", "-days", "3650", "-subj", "/CN=self", "-addext", "subjectAltName=IP:127.0.0.1")
    certificate("good", "DNS:localhost,IP:127.0.0.1,DNS:hook.t1.svc,DNS:away.t1.svc")
    certificate("name", "DNS:other.example,DNS:b.example")
    certificate("expired", "IP:127.0.0.1", "-1")
    for port, cert in ((0, "good"), (1, "name"), (2, "expired"), (3, None), (4, "self")):
        serve(BASE + port, cert)
    raw(BASE + 5, b"")
    raw(BASE + 6, b"garbage garbage garbage\r\n\r\n")
    for name, labels in (("t1", {"team": "one"}), ("t2", {})):
        call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    for name in ("hook", "away", "wrong"):
        call("POST", "/api/v1/namespaces/t1/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                                                         "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"name": "good", "port": BASE}, {"name": "one", "port": 1}]}})
    call("POST", "/api/v1/namespaces/t1/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
    with open(OUT, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, io.TextIOWrapper(packed, "utf-8") as out:
        for section in (answers, patches, failures, matching, several, custom, conversion, ownership):
            section(out)
    print(f"{COUNT} cases")


if __name__ == "__main__":
    main()
