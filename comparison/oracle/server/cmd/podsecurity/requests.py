#!/usr/bin/env python3
"""Records what kube-apiserver answers to requests with Pods. usage: requests.py URL TOKEN AUDIT_LOG > pod-security.jsonl

The server has the admission plugin PodSecurity, allows privileged containers (`--allow-privileged`), and writes the
metadata of all requests to the file AUDIT_LOG (`--audit-policy-file`, `--audit-log-path`). Each line of output has a request
as the plugin sees it, with what it finds in the server, and the answer.
"""

import json
import ssl
import sys
import time
import urllib.error
import urllib.request

URL, TOKEN, LOG = sys.argv[1:4]
CONTEXT = ssl._create_unverified_context()
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=CONTEXT))
PREFIX = "pod-security.kubernetes.io/"
KINDS = {
    "namespaces": "Namespace", "pods": "Pod", "deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet",
    "daemonsets": "DaemonSet", "jobs": "Job", "cronjobs": "CronJob", "replicationcontrollers": "ReplicationController",
    "podtemplates": "PodTemplate",
}
UNSEEN = {
    "status", "uid", "managedFields", "creationTimestamp", "resourceVersion", "generation", "finalizers", "blockOwnerDeletion", "tolerations",
    "dnsPolicy", "restartPolicy", "schedulerName", "terminationGracePeriodSeconds", "enableServiceLinks", "preemptionPolicy", "priority",
    "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "resources",
}
SAFE = {"allowPrivilegeEscalation": False, "runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}


def send(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, method=method)
    request.add_header("Authorization", "Bearer " + TOKEN)
    request.add_header("Content-Type", "application/json")
    try:
        answer = OPENER.open(request)
    except urllib.error.HTTPError as error:
        answer = error
    return answer.status, json.loads(answer.read()), answer.headers


def plain(value):
    """An object without what the plugin does not look at."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: plain(item) for name, item in value.items() if name not in UNSEEN}


def annotations(identity):
    """The annotations of a request in the log."""
    for _ in range(50):
        for line in open(LOG):
            event = json.loads(line)
            if event["auditID"] == identity and event["stage"] == "ResponseComplete":
                found = event.get("annotations", {})
                return {key: text for key, text in found.items() if key.startswith(PREFIX)}
        time.sleep(0.1)
    raise SystemExit("no event " + identity)


def ask(method, path, body):
    """Sends a request, and writes it with what the plugin can find."""
    parts = path.split("?")[0].split("/")
    at = 3 if parts[1] == "api" else 4
    group = "" if parts[1] == "api" else parts[2]
    namespace = ""
    if parts[at] == "namespaces" and len(parts) > at + 2 and parts[at + 2] not in ("finalize", "status"):
        namespace, at = parts[at + 1], at + 2
    resource, name, subresource = (parts[at:] + ["", ""])[:3]
    body = {"apiVersion": f"{group}/v1".lstrip("/"), "kind": KINDS[resource], **body}
    in_place = namespace or name
    case = {"operation": {"POST": "CREATE", "PUT": "UPDATE"}[method], "group": group, "resource": resource, "subresource": subresource}
    case.update(namespace=in_place, name=name or body["metadata"].get("name", ""))
    if in_place:
        found = send("GET", "/api/v1/namespaces/" + in_place)[1]
        case["stored"] = plain(found)
    if resource == "namespaces" and name:
        case["pods"] = [plain(pod) for pod in send("GET", f"/api/v1/namespaces/{name}/pods")[1]["items"]]
    if method == "PUT":
        old = send("GET", "/".join(path.split("/")[:at + 2]))[1]
        case["old"] = plain(old)
        body["metadata"].pop("resourceVersion", None)
    code, answer, headers = send(method, path, body)
    assert code < 300 or code == 403 or code == 422 and PREFIX in answer["message"], (path, answer)
    case["object"] = plain(body)
    if "generateName" in body["metadata"]:
        case["object"]["metadata"]["name"] = answer["details"]["name"]
    case["code"] = code
    if code >= 300:
        answer.pop("metadata")
        case["answer"] = answer
    warnings = [json.loads(text.split(" ", 2)[2]) for text in headers.get_all("Warning") or []]
    case["warnings"] = [text for text in warnings if not text.startswith("metadata.annotations")]
    case["annotations"] = annotations(headers["Audit-Id"])
    print(json.dumps(case, separators=(",", ":"), ensure_ascii=False))
    return answer


def namespace(name, labels, **metadata):
    return {"metadata": {"name": name, "labels": {PREFIX + key: text for key, text in labels.items()}, **metadata}}


def create(name, **labels):
    labels = {key.replace("_", "-"): text for key, text in labels.items()}
    return ask("POST", "/api/v1/namespaces", namespace(name, labels))


def update(name, subresource="", **labels):
    labels = {key.replace("_", "-"): text for key, text in labels.items()}
    body = namespace(name, labels)
    body["spec"] = {"finalizers": ["kubernetes"]}
    return ask("PUT", f"/api/v1/namespaces/{name}{subresource}", body)


def pod(name, context=None, metadata=None, **spec):
    container = {"name": "web", "image": "a"}
    if context is not None:
        container["securityContext"] = context
    return {"metadata": {"name": name, **(metadata or {})}, "spec": {"containers": [container], **spec}}


def namespaces():
    create("free")
    create("all", enforce="baseline", enforce_version="v1.24", audit="restricted", audit_version="latest", warn="restricted", warn_version="v1.99")
    create("bad1", enforce="x")
    create("bad2", enforce="Baseline", enforce_version="v2", audit="", warn="x", warn_version="v1.01")
    create("bad3", enforce_version="v1.99999999999999999999", audit_version="1.20")
    ask("POST", "/api/v1/namespaces", namespace("", {"warn": "x"}, generateName="made-"))


def standards():
    """Standards for a namespace that has Pods."""
    create("shop")
    for at in range(3):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "0", "controller": True}
        send("POST", "/api/v1/namespaces/shop/pods", pod(f"web-{at}", metadata={"ownerReferences": [owner]}))
    send("POST", "/api/v1/namespaces/shop/pods", pod("safe", SAFE))
    send("POST", "/api/v1/namespaces/shop/pods", pod("host-b", SAFE, hostNetwork=True, hostPID=True))
    send("POST", "/api/v1/namespaces/shop/pods", pod("host-a", SAFE, hostIPC=True))
    send("POST", "/api/v1/namespaces/shop/pods", pod("root", {"privileged": True, "runAsUser": 0}))
    for labels in [
        {"audit": "restricted"}, {"enforce": "baseline"}, {"enforce": "baseline", "warn": "restricted"}, {"enforce": "restricted"},
        {"enforce": "restricted", "enforce-version": "v1.7"}, {"enforce": "baseline", "enforce-version": "v1.7"},
        {"enforce": "baseline", "enforce-version": "v1.8"}, {"enforce": "privileged", "enforce-version": "v1.8"}, {"enforce": "lax"},
        {"enforce": "restricted", "enforce-version": "v1.22"},
    ]:
        update("shop", **labels)


def pods():
    create("strict", enforce="restricted")
    path = "/api/v1/namespaces/strict/pods"
    ask("POST", path, pod("web"))
    ask("POST", path, {**pod(""), "metadata": {"generateName": "made-"}})
    ask("POST", path, pod("safe", SAFE))
    ask("POST", path, pod("windows", {"runAsNonRoot": True}, os={"name": "windows"}))
    ask("POST", path, pod("own", {**SAFE, "runAsNonRoot": False, "runAsUser": 0}, hostUsers=False))
    volumes = [{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "nfs": {"server": "a", "path": "/"}}, {"name": "c", "emptyDir": {}}]
    context = {"runAsUser": 0, "seLinuxOptions": {"type": "a", "role": "b"}, "sysctls": [{"name": "kernel.msgmax", "value": "1"}]}
    ask("POST", path, pod("many", {"privileged": True, "capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}, volumes=volumes, hostNetwork=True,
                          securityContext={**context, "windowsOptions": {"hostProcess": False}}))
    port = {"name": "a", "image": "a", "ports": [{"containerPort": 90, "hostPort": 90}, {"containerPort": 8080, "hostPort": 8080}]}
    probe = {"name": "b", "image": "a", "livenessProbe": {"httpGet": {"port": 1, "host": "a"}}, "securityContext": {"runAsNonRoot": False}}
    body = pod("more", {"seccompProfile": {"type": "Unconfined"}, "appArmorProfile": {"type": "Unconfined"}, "procMount": "Default"})
    body["spec"]["containers"] += [port, probe]
    body["spec"]["initContainers"] = [{"name": "first", "image": "a"}]
    ask("POST", path, body)

    create("old", enforce="baseline", enforce_version="v1.18", audit="restricted", warn="baseline")
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined", "container.apparmor.security.beta.kubernetes.io/web": "unconfined"}
    # The server makes the field of the annotation.
    ask("POST", "/api/v1/namespaces/old/pods", pod("web", {"appArmorProfile": {"type": "Unconfined"}}, {"annotations": annotations}))
    ask("POST", "/api/v1/namespaces/old/pods", pod("fine"))
    ask("POST", "/api/v1/namespaces/all/pods", pod("warned"))
    ask("POST", "/api/v1/namespaces/free/pods?dryRun=All", pod("free", {"privileged": True}))
    create("version", enforce_version="v1.20", warn_version="v1.21")
    ask("POST", "/api/v1/namespaces/version/pods", pod("free", {"privileged": True}))


def updates():
    """Updates of a Pod that violates the standard of its namespace."""
    path = "/api/v1/namespaces/shop/pods/web-0"
    body = send("GET", path)[1]
    body["metadata"]["labels"] = {"a": "b"}
    ask("PUT", path, body)
    body["spec"]["tolerations"] = [*body["spec"].get("tolerations", []), {"key": "a", "operator": "Exists"}]
    ask("PUT", path, body)
    body["spec"]["containers"][0]["image"] = "b"
    ask("PUT", path, body)
    body["spec"]["containers"][0]["image"] = "a"
    ask("PUT", path + "/status", {**body, "status": {"phase": "Running"}})
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    body["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "a"}]
    ask("PUT", path + "/ephemeralcontainers", body)


def controllers():
    path = "/apis/apps/v1/namespaces/strict/"
    template = {**pod("", {"privileged": True}), "metadata": {"labels": {"a": "b"}}}
    selector = {"matchLabels": {"a": "b"}}
    once = {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}
    apps = {"selector": selector, "template": template}
    for resource, spec in [("deployments", apps), ("replicasets", apps), ("statefulsets", {**apps, "serviceName": "a"}), ("daemonsets", apps)]:
        ask("POST", path + resource, {"metadata": {"name": "web"}, "spec": spec})
    ask("POST", "/apis/batch/v1/namespaces/strict/jobs", {"metadata": {"name": "web"}, "spec": {"template": once}})
    job = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": once}}}
    ask("POST", "/apis/batch/v1/namespaces/strict/cronjobs", {"metadata": {"name": "web"}, "spec": job})
    ask("POST", "/api/v1/namespaces/strict/replicationcontrollers", {"metadata": {"name": "web"}, "spec": {"selector": {"a": "b"}, "template": template}})
    ask("POST", "/api/v1/namespaces/strict/podtemplates", {"metadata": {"name": "web"}, "template": template})
    ask("PUT", path + "deployments/web", {"metadata": {"name": "web"}, "spec": {**apps, "replicas": 2}})
    ask("POST", "/apis/apps/v1/namespaces/all/deployments", {"metadata": {"name": "web"}, "spec": apps})
    ask("POST", "/apis/apps/v1/namespaces/free/deployments", {"metadata": {"name": "web"}, "spec": apps})
    ask("POST", "/apis/apps/v1/namespaces/version/deployments", {"metadata": {"name": "web"}, "spec": apps})


def faulty():
    """Namespaces with faulty labels, which a request to a subresource makes."""
    create("faulty")
    update("faulty", "/finalize", enforce="x", warn="y")
    ask("PUT", "/api/v1/namespaces/faulty", {**namespace("faulty", {"enforce": "x", "warn": "y"}, annotations={"a": "b"}), "spec": {"finalizers": ["kubernetes"]}})
    ask("POST", "/api/v1/namespaces/faulty/pods", pod("web"))
    ask("POST", "/api/v1/namespaces/faulty/pods", pod("safe", SAFE))
    deployment = {"selector": {"matchLabels": {"a": "b"}}, "template": {**pod("", {"privileged": True}), "metadata": {"labels": {"a": "b"}}}}
    ask("POST", "/apis/apps/v1/namespaces/faulty/deployments", {"metadata": {"name": "web"}, "spec": deployment})
    update("faulty", enforce="x", warn="z")
    update("faulty", enforce="x")
    update("faulty", enforce="restricted")
    update("faulty", "/finalize", audit="x")
    ask("POST", "/api/v1/namespaces/faulty/pods", pod("web"))


namespaces()
standards()
pods()
updates()
controllers()
faulty()
