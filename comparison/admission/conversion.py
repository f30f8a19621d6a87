#!/usr/bin/env python3
"""Sends the same requests to a kube-apiserver and to `fieldmanager serve`, with the same conversion webhook, and compares.

usage: conversion.py REAL_URL REAL_TOKEN URL TOKEN [PREFIX]

Both servers are new. Each case is a sequence of requests to custom resources of two or three versions, whose definition is
served anew for the case. Compared are the answers, and the distinct reviews that the webhook got: a kube-apiserver has a cache
for each version, which converts objects that no request asks for, so reviews that only it sends are listed and not counted.
Uids, times and resource versions are masked. The webhook listens on port $BASE of loopback. PREFIX runs only some cases;
SHOW=N shows N reviews that only the kube-apiserver sent.
"""

import copy
import json
import os
import re
import sys
import time

import webhooks
from webhooks import CONTENT, PLAN, LOG, bundle

SERVERS = {"real": tuple(sys.argv[1:3]), "here": tuple(sys.argv[3:5])}
PREFIX = sys.argv[5] if len(sys.argv) > 5 else ""
GROUP = "conv.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# v1 has `spec.size`, v2 `spec.amount`, v3 `spec.parts.count`; `width` is the same in all, and v2 has a default.
FIELDS = {"v1": ("size",), "v2": ("amount",), "v3": ("parts", "count")}


def at_version(item, version, change=None):
    """What the webhook makes of an object."""
    item = copy.deepcopy(item)
    old, new = FIELDS[item["apiVersion"].split("/")[1]], FIELDS[version.split("/")[1]]
    spec, found = item.get("spec"), None
    if isinstance(spec, dict):
        if len(old) == 1:
            found = spec.pop(old[0], None)
        elif isinstance(spec.get(old[0]), dict):
            found = spec.pop(old[0]).get(old[1])
        if found is not None and len(new) == 1:
            spec[new[0]] = found
        elif found is not None:
            spec[new[0]] = {new[1]: found}
    item["apiVersion"] = version
    return change(item) if change else item


def review(request, **more):
    """An answer: `more` are fields of the response, or what to `change` in each object."""
    change = more.pop("change", None)
    request = request["request"]
    objects = [at_version(item, request["desiredAPIVersion"], change) for item in request["objects"]]
    return {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": {
        "uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects, **more}}


def fails(request, message="cannot do that"):
    return review(request, result={"status": "Failure", "message": message})


def fails_to(version):
    return lambda request: (fails if request["request"]["desiredAPIVersion"].endswith(version) else review)(request)


def relabelled(request):
    """Sets a label and an annotation, and tries to change other metadata."""
    def change(item):
        item["metadata"].setdefault("labels", {})["converted"] = item["apiVersion"].split("/")[1]
        item["metadata"].setdefault("annotations", {})["from"] = "webhook"
        item["metadata"]["finalizers"] = ["x/y"]
        return item
    return review(request, change=change)


def lossy(request):
    """Forgets `width` on the way to v1, and adds a field that no version has."""
    def change(item):
        if item["apiVersion"].endswith("v1"):
            item.get("spec", {}).pop("width", None)
        item["unknown"] = 1
        return item
    return review(request, change=change)


ANSWERS = {"good": review, "fails": fails, "fails-to-v1": fails_to("v1"), "fails-to-v2": fails_to("v2"), "labels": relabelled, "lossy": lossy,
           "renames": lambda r: review(r, change=lambda i: {**i, "metadata": {**i["metadata"], "name": "other"}}),
           "nothing": lambda r: review(r, convertedObjects=[])}


def definition(plural, storage="v1", webhook=True, versions=("v1", "v2", "v3"), unserved=(), scope="Namespaced", number=0):
    def schema(version):
        parts = {"type": "object", "properties": {"count": {"type": "integer"}}}
        own = {"v1": {"size": {"type": "integer"}}, "v2": {"amount": {"type": "integer", "minimum": 0}, "mode": {"type": "string", "default": "auto"}},
               "v3": {"parts": parts}}[version]
        rest = {"width": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}}
        return {"openAPIV3Schema": {"type": "object", "description": f"definition {number}", "properties": {
            "spec": {"type": "object", "properties": {**own, **rest}},
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}, "replicas": {"type": "integer"}}}}}}

    def version(name):
        path = ".spec." + ".".join(FIELDS[name])
        return {"name": name, "served": name not in unserved, "storage": name == storage, "schema": schema(name),
                "subresources": {"status": {}, "scale": {"specReplicasPath": path, "statusReplicasPath": ".status.replicas"}},
                "additionalPrinterColumns": [{"name": "N", "type": "integer", "jsonPath": path}],
                "selectableFields": [{"jsonPath": path}]}
    client = {"url": f"https://127.0.0.1:{webhooks.BASE}/{plural}", "caBundle": bundle("ca")}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}} if webhook else {"strategy": "None"}
    kind = plural.title()[:-1]
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": scope, "names": {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": kind + "List"},
                     "versions": [version(name) for name in versions], "conversion": conversion}}


class Case:
    """The requests of a case to one server."""

    def __init__(self, name, plural, server):
        self.name, self.plural, self.server, self.steps, self.cluster, self.number = name, plural, server, [], False, 0
        self.answer("good")

    def use(self):
        webhooks.URL, webhooks.TOKEN = SERVERS[self.server]

    def answer(self, name):
        PLAN["/" + self.plural] = {"body": ANSWERS[name], "code": 200, "headers": {"Content-Type": "application/json"}, "sleep": 0, "close": None}

    def define(self, **options):
        self.cluster = options.get("scope") == "Cluster"
        # A definition that differs empties the caches of kube-apiserver.
        self.number += 1
        webhooks.define(definition(self.plural, number=self.number, **options))
        # The caches of kube-apiserver begin with the first request.
        for version in options.get("versions", ("v1", "v2", "v3")):
            webhooks.call("GET", self.path(version))
        time.sleep(0.3)

    def path(self, version, name="", sub="", query="", namespace="c1"):
        place = f"/namespaces/{namespace}" if namespace and not self.cluster else ""
        return f"/apis/{GROUP}/{version}{place}/{self.plural}" + (f"/{name}" if name else "") + (f"/{sub}" if sub else "") + (f"?{query}" if query else "")

    def object(self, version, name="a", spec=None, **metadata):
        spec = {"v1": {"size": 3}, "v2": {"amount": 3}, "v3": {"parts": {"count": 3}}}[version] if spec is None else spec
        return {"apiVersion": f"{GROUP}/{version}", "kind": self.plural.title()[:-1], "metadata": {"name": name, **metadata}, "spec": spec}

    def send(self, method, path, body=None, content="application/json", accept=None):
        with webhooks.LOCK:
            LOG.clear()
        code, warnings, answer, _ = webhooks.call(method, path, body, content, {"Accept": accept} if accept else None)
        if accept is None and "watch=1" in path and isinstance(answer, str):
            answer = [json.loads(line) for line in answer.splitlines()]
        time.sleep(0.02)
        with webhooks.LOCK:
            calls = [entry["sent"]["request"] for entry in LOG if entry["url"].startswith("/" + self.plural)]
        self.steps.append({"request": f"{method} {path}", "apply": content == CONTENT["apply"], "code": code, "warnings": warnings, "answer": answer, "calls": calls})
        return answer

    def get(self, version, name="a", sub="", **more):
        return self.send("GET", self.path(version, name, sub), **more)

    def list(self, version, query="", **more):
        return self.send("GET", self.path(version, query=query, **more))

    def create(self, version, name="a", spec=None, query="fieldManager=creator", **metadata):
        return self.send("POST", self.path(version, query=query), self.object(version, name, spec, **metadata))

    def patch(self, version, body, kind="merge", name="a", sub="", query="fieldManager=patcher"):
        return self.send("PATCH", self.path(version, name, sub, query), body, CONTENT[kind])

    def apply(self, version, spec, manager="m", name="a", sub="", query="", metadata=None, **fields):
        body = {"apiVersion": f"{GROUP}/{version}", "kind": self.plural.title()[:-1], "metadata": {"name": name, **(metadata or {})}, **fields}
        if spec is not None:
            body["spec"] = spec
        return self.send("PATCH", self.path(version, name, sub, f"fieldManager={manager}" + query), body, CONTENT["apply"])

    def put(self, version, change, name="a", sub="", query="fieldManager=updater"):
        live = webhooks.call("GET", self.path(version, name))[2]
        change(live)
        return self.send("PUT", self.path(version, name, sub, query), live)

    def delete(self, version, name="a", query="", body=None):
        return self.send("DELETE", self.path(version, name, query=query), body)


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def reads(case):
    case.define()
    for at, (name, version) in enumerate((("a", "v1"), ("b", "v2"), ("c", "v3"))):
        case.create(version, name, {"v1": {"size": at}, "v2": {"amount": at}, "v3": {"parts": {"count": at}}}[version], labels={"l": name})
    for version in FIELDS:
        for name in "abc":
            case.get(version, name)
        case.list(version)
        case.get(version, "a", accept=TABLE)
        case.send("GET", case.path(version), accept=TABLE)
        case.send("GET", case.path(version), accept=PARTIAL.replace("Metadata", "MetadataList"))
        case.get(version, "b", accept=PARTIAL)
        case.get(version, "a", "status")
        case.get(version, "a", "scale")
        case.list(version, "labelSelector=l=b")
        case.list(version, "fieldSelector=" + "spec." + ".".join(FIELDS[version]) + "=1")
        case.list(version, "fieldSelector=" + "spec." + ".".join(FIELDS[version]) + "!=1")
        case.list(version, "fieldSelector=metadata.name=c")
        case.list(version, "limit=2")
        case.list(version, namespace="")
    case.list("v2", "fieldSelector=spec.size=1")
    case.get("v2", "nosuch")


def writes(case, storage):
    case.define(storage=storage)
    for version in FIELDS:
        field = FIELDS[version][0]
        value = lambda n: {"count": n} if field == "parts" else n
        case.create(version, query="dryRun=All&fieldManager=creator")
        case.create(version)
        case.create(version)
        case.patch(version, {"spec": {field: value(4)}})
        case.patch(version, {"spec": {field: value(4)}})
        case.patch(version, {"spec": {field: value(5)}}, query="dryRun=All")
        case.patch(version, [{"op": "replace", "path": f"/spec/{field}", "value": value(6)}], "json")
        case.patch(version, {"metadata": {"labels": {"x": "y"}}})
        case.patch(version, {"status": {"ready": True, "replicas": 2}}, sub="status")
        case.patch(version, {"spec": {"replicas": 7}}, sub="scale")
        case.put(version, lambda live: live["spec"].update(width=2))
        case.put(version, lambda live: live["spec"].update(width=2))
        case.put(version, lambda live: live["metadata"].update(resourceVersion="1"))
        case.put(version, lambda live: live.update(apiVersion=f"{GROUP}/v1" if version != "v1" else f"{GROUP}/v2"))
        case.put(version, lambda live: live.update(status={"ready": False}), sub="status")
        for other in FIELDS:
            case.get(other)
        case.delete(version, query="dryRun=All")
        case.delete(version)
        case.get(version)


def applies(case, storage):
    case.define(storage=storage)
    case.apply("v1", {"size": 1, "list": ["one"]}, "first", metadata={"labels": {"one": "1"}})
    case.apply("v2", {"amount": 2}, "second")
    case.apply("v2", {"amount": 2}, "second", query="&force=true")
    case.apply("v1", {"list": ["one"]}, "first", metadata={"labels": {"one": "1"}})
    case.apply("v3", {"parts": {"count": 2}, "width": 8, "list": ["three"]}, "third")
    case.apply("v2", {"list": ["two"]}, "second")
    case.get("v1")
    case.get("v3")
    case.apply("v1", {"size": 9}, "first")
    case.apply("v1", {"size": 9}, "first", query="&dryRun=All&force=true")
    case.patch("v2", {"spec": {"amount": 10}})
    case.patch("v1", {"spec": {"size": 11}}, query="fieldManager=other")
    case.put("v3", lambda live: live["spec"].update(parts={"count": 12}))
    case.apply("v3", {"parts": {"count": 12}}, "third")
    case.apply("v1", None, "third")
    case.apply("v2", {"amount": 13}, "second", query="&force=true", metadata={"annotations": {"a": "b"}})
    case.apply("v1", {"size": 13}, "first")
    case.apply("v2", None, "status", sub="status", status={"ready": True})
    case.apply("v1", None, "status", sub="status", status={"ready": True, "replicas": 3})
    case.apply("v1", {"size": 1}, "x", name="new")
    case.apply("v2", {"amount": 1}, "y", name="new")
    case.apply("v2", {"amount": -1}, "y", name="new", query="&force=true")
    case.patch("v2", {"spec": {"replicas": 4}}, sub="scale", name="new")
    case.apply("v1", {"size": 4}, "x", name="new")
    case.get("v2", "new")


def failing(case):
    case.define()
    case.create("v1")
    case.answer("fails")
    # The caches of kube-apiserver stay empty, so that its answers come from the store.
    case.define(unserved=("v3",))
    case.get("v1")
    case.get("v2")
    case.get("v2", sub="status")
    case.get("v2", sub="scale")
    case.list("v1")
    case.list("v2", "limit=5")
    case.create("v1", "b")
    case.create("v2", "c")
    case.create("v2", "c", query="dryRun=All")
    case.patch("v1", {"spec": {"size": 5}})
    case.patch("v2", {"spec": {"amount": 5}})
    case.apply("v2", {"amount": 5})
    case.delete("v2")
    case.send("DELETE", case.path("v2"))
    case.delete("v1", "b")
    case.answer("fails-to-v2")
    case.create("v2", "d")
    case.get("v1", "d")
    case.get("v2", "d")
    case.answer("fails-to-v1")
    case.define(webhook=True)
    case.get("v2")
    case.patch("v2", {"spec": {"amount": 6}})
    case.apply("v2", {"amount": 7})
    case.apply("v2", {"amount": 7}, query="&force=true")
    case.patch("v1", {"spec": {"size": 6}})
    case.delete("v2", query="propagationPolicy=Foreground")
    case.get("v1")
    case.answer("renames")
    case.create("v2", "e")
    case.get("v3")
    case.answer("nothing")
    case.create("v2", "e")
    case.answer("good")
    case.get("v2", "d")


def metadata(case):
    case.define()
    case.create("v1", labels={"own": "1"})
    case.answer("labels")
    case.define()
    case.get("v2")
    case.list("v2", "labelSelector=converted=v2")
    case.create("v2", "b", labels={"own": "1"})
    case.get("v1", "b")
    case.patch("v2", {"metadata": {"labels": {"z": "1"}}})
    case.get("v1")
    case.patch("v2", {"metadata": {"labels": {"converted": None}}})
    case.apply("v2", {"width": 1}, "m", metadata={"labels": {"converted": "mine"}})
    case.delete("v2", "b")


def forgets(case):
    case.define()
    case.create("v1", spec={"size": 1, "width": 2})
    case.answer("lossy")
    case.define()
    case.get("v2")
    case.create("v2", "b", {"amount": 1, "width": 2})
    case.create("v2", "c", {"amount": 1, "width": 2}, query="dryRun=All")
    case.get("v1", "b")
    case.patch("v2", {"spec": {"width": 5}}, name="b")
    case.patch("v2", {"spec": {"mode": "x"}}, name="b")
    case.apply("v2", {"width": 1}, "m", name="b")
    case.apply("v2", {"amount": 4}, "m", name="b", query="&force=true")
    case.patch("v2", {"spec": {"replicas": 3}}, sub="scale", name="b")
    case.get("v2", "b")


def endings(case):
    case.define()
    case.create("v1", finalizers=["x/y"])
    case.create("v1", "b")
    case.create("v1", "c", labels={"go": "1"})
    case.delete("v2")
    case.get("v1")
    case.delete("v2")
    case.patch("v3", {"metadata": {"finalizers": None}})
    case.get("v1")
    case.delete("v2", "b", query="propagationPolicy=Foreground")
    case.get("v2", "b")
    case.patch("v2", {"metadata": {"finalizers": []}}, name="b")
    case.send("DELETE", case.path("v2", query="labelSelector=go=1"))
    case.create("v2", "d")
    case.delete("v2", "d", body={"preconditions": {"uid": "nosuch"}})
    case.send("DELETE", case.path("v3"))
    case.list("v1")


def moves(case):
    """The storage version and the strategy change with objects stored."""
    case.define()
    case.create("v1", spec={"size": 1})
    case.create("v2", "b", {"amount": 2})
    case.define(storage="v2")
    for version in FIELDS:
        case.get(version)
        case.list(version)
    case.patch("v2", {})
    case.patch("v1", {"metadata": {"labels": {"moved": "1"}}}, name="b")
    case.create("v1", "c", {"size": 3})
    case.define(storage="v2", webhook=False)
    for version in FIELDS:
        case.get(version)
        case.get(version, "c")
    case.patch("v1", {"spec": {"size": 7}}, name="c")
    case.get("v2", "c")
    case.define(storage="v3")
    for name in "abc":
        case.get("v2", name)
    case.apply("v2", {"amount": 1}, name="b")
    case.apply("v3", {"parts": {"count": 1}}, "n", name="b")
    case.delete("v1", "c")
    case.define(storage="v3", unserved=("v1",))
    case.get("v1")
    case.get("v2")
    case.delete("v2")


def watches(case):
    case.define()
    case.create("v1", spec={"size": 1}, labels={"l": "1"})
    start = webhooks.call("GET", case.path("v1"))[2]["metadata"]["resourceVersion"]
    case.create("v2", "b", {"amount": 2})
    case.patch("v3", {"spec": {"parts": {"count": 2}}})
    case.patch("v1", {"metadata": {"labels": {"l": "2"}}})
    case.delete("v2", "b")
    for version in FIELDS:
        field = "spec." + ".".join(FIELDS[version])
        case.list(version, f"watch=1&timeoutSeconds=1&resourceVersion={start}")
        case.list(version, f"watch=1&timeoutSeconds=1&resourceVersion={start}&fieldSelector={field}=2")
        case.list(version, f"watch=1&timeoutSeconds=1&resourceVersion={start}&labelSelector=l=1")
        case.list(version, "watch=1&timeoutSeconds=1")
        case.list(version, "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")


def cluster(case):
    case.define(scope="Cluster", storage="v2")
    case.create("v1")
    case.get("v2")
    case.get("v3")
    case.apply("v3", {"parts": {"count": 5}}, query="&force=true")
    case.apply("v1", {"size": 5}, "n")
    case.delete("v3")


CASES = {"reads": reads, "writes-v1": lambda c: writes(c, "v1"), "writes-v2": lambda c: writes(c, "v2"), "applies-v1": lambda c: applies(c, "v1"),
         "applies-v2": lambda c: applies(c, "v2"), "applies-v3": lambda c: applies(c, "v3"), "failing": failing, "metadata": metadata,
         "forgets": forgets, "endings": endings, "moves": moves, "watches": watches, "cluster": cluster}


def masked(value, key=""):
    """Without what no two servers have in common."""
    if isinstance(value, dict):
        value = {name: masked(item, name) for name, item in value.items()}
        # Entries of one time are sorted by name, and others by time.
        if isinstance(value.get("managedFields"), list):
            value["managedFields"].sort(key=lambda entry: json.dumps(entry, sort_keys=True))
        return value
    if isinstance(value, list):
        return [masked(item, key) for item in value]
    if key in ("uid", "creationTimestamp", "deletionTimestamp", "time", "resourceVersion", "continue") and value:
        return f"<{key}>"
    if isinstance(value, str):
        value = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>", value)
        value = re.sub(r"revision=\d+", "revision=<n>", value)
        value = re.sub(r"(resourceVersion=)\d+", r"\1<n>", value)
        value = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>", value)
    return value


def reviewed(calls):
    found = set()
    for call in calls:
        for item in call["objects"]:
            item = masked(item)
            # Of the objects that the field manager converts, kube-apiserver sends the owners of some.
            if "resourceVersion" in item["metadata"]:
                item["metadata"].pop("managedFields", None)
            found.add(json.dumps([call["desiredAPIVersion"], item], sort_keys=True))
    return found


def compare(name, real, here):
    differences = 0
    for at, (one, two) in enumerate(zip(real.steps, here.steps)):
        texts = []
        for field in ("code", "warnings", "answer"):
            left, right = masked(one[field]), masked(two[field])
            if left != right:
                texts.append(f"{field}:\n    real {json.dumps(left, sort_keys=True)}\n    here {json.dumps(right, sort_keys=True)}")
        # What was sent earlier may be in a cache of kube-apiserver, and a request that fails there may fail at what it makes
        # of its cache. An apply converts between the versions of all managers, and there in random order.
        known = reviewed(call for step in real.steps for call in step["calls"])
        for extra in sorted(reviewed(two["calls"]) - known if one["code"] != 500 and not one["apply"] else ()):
            texts.append(f"sent only here: {extra}")
        if texts:
            differences += 1
            print(f"{name} {at}: {one['request']}")
            for text in texts:
                print("  " + text)
    if not (real.gone and here.gone):
        print(f"{name}: the definition does not end: {real.gone} {here.gone}")
    both = [reviewed(call for step in case.steps for call in step["calls"]) for case in (real, here)]
    print(f"{name}: {len(real.steps)} requests, {differences} differ; reviews: {len(both[0] & both[1])} by both, "
          f"{len(both[0] - both[1])} only there, {len(both[1] - both[0])} only here")
    for only in sorted(both[0] - both[1])[:int(os.environ.get("SHOW", "0"))]:
        print("  sent only there: " + only)
    return len(real.steps), differences


def run(name, body, server, plural):
    case = Case(name, plural, server)
    case.use()
    body(case)
    case.answer("good")
    path = f"{DEFINITIONS}/{plural}.{GROUP}"
    webhooks.call("DELETE", path)
    case.gone = any(webhooks.call("GET", path)[0] == 404 or time.sleep(0.1) for _ in range(100))
    return case


def main():
    webhooks.authority("ca")
    webhooks.certificate("good", "DNS:localhost,IP:127.0.0.1")
    webhooks.serve(webhooks.BASE, "good")
    for webhooks.URL, webhooks.TOKEN in SERVERS.values():
        webhooks.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c1"}})
    total = [0, 0]
    for name, body in CASES.items():
        if name.startswith(PREFIX):
            plural = re.sub("[^a-z0-9]", "", name) + "s"
            cases = [run(name, body, server, plural) for server in SERVERS]
            total = [sum(pair) for pair in zip(total, compare(name, *cases))]
    print(f"{total[0]} requests, {total[1]} differ")
    return total[1] != 0


if __name__ == "__main__":
    sys.exit(main())
