#!/usr/bin/env python3
"""Sends random requests about objects of all kinds to two API servers, and compares their answers.

    run.py DATA --real URL TOKEN --server URL TOKEN [--requests N] [--seed N] [--kind KIND] [--result FILE]

The kinds, their subresources and their fields are those of the OpenAPI documents of the kube-apiserver. DATA is the file
`test/integration/etcd/data.go` of Kubernetes, which has a valid object of each kind. A request creates that object with up to
three fields changed, or updates, patches or applies to one that exists, or to a subresource of it, or deletes it. Most are dry
runs, so that the object stays what it is; a deletion ends it, and the next request begins with a new one.

Both servers are new and without admission plugins, as for ../manifests/run.py, whose form explained.txt has; that of this
project has no unions: `fieldmanager serve --unions false --no-collector --disable-admission-plugins NAME,...`. The program ends
with 1 if a difference is not explained. result.txt has the summary of the last run.
"""

import argparse
import collections
import copy
import http.client
import json
import pathlib
import random
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "manifests"))
import run as manifests

WORDS = ["a", "web", "x.example.com", "b-1", "", "A_b", "kubernetes.io/x", "10.0.0.1", "a/b", "http", "ClusterIP", "0", "1Gi", "50%"]
NUMBERS = [0, 1, -1, 2, 80, 443, 70000, 2147483647, -2147483648, 2147483648, 3600]
TIMES = ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000001Z", "yesterday", ""]
QUANTITIES = ["0", "1", "500m", "1Gi", "-1", "1.5", "x", 2, ""]
PATCHES = {**manifests.PATCHES, "json": "application/json-patch+json", "apply": "application/apply-patch+yaml"}
# What the servers decide themselves, and what ends the object or its namespace.
SKIPPED = {"managedFields", "uid", "resourceVersion", "selfLink", "creationTimestamp", "name", "namespace", "generateName"}


class Kind:
    """A resource with its schemas, and the object of it that exists."""

    def __init__(self, path, name, kind, namespaced, schema, schemas, parts):
        self.name, self.kind, self.schema, self.schemas, self.parts = name, kind, schema, schemas, parts
        self.collection = f"{path}/namespaces/default/{name}" if namespaced else f"{path}/{name}"
        self.api_version = path.removeprefix("/api/").removeprefix("/apis/")
        self.object = None


def stubs(file):
    """The objects of the file, by group, version and resource."""
    text = re.sub(r"` \+ (\w+) \+ `", r"\1", file.read_text())
    text = text.replace('"Image"', '"image"')
    found = re.finditer(r'gvr\("([^"]*)", "([^"]*)", "([^"]*)"\): \{\s*Stub:\s*`([^`]*)`', text)
    objects = {}
    for match in found:
        try:
            objects[match.groups()[:3]] = json.loads(match[4])
        except ValueError:
            # The file makes this one of several parts.
            print(f"no object of {'/'.join(match.groups()[:3])}", file=sys.stderr)
    return objects


def kinds_of(server, objects):
    """The kinds that the server has and that the file has an object of."""
    found = []
    for name in sorted(server.send("GET", "/openapi/v3")[1]["paths"]):
        path = f"/{name}"
        if not re.fullmatch(r"/api/v1|/apis/[^/]+/[^/]+", path):
            continue
        schemas = server.send("GET", f"/openapi/v3{path}")[1].get("components", {}).get("schemas", {})
        of_kind = {}
        for schema in schemas.values():
            for kind in schema.get("x-kubernetes-group-version-kind", []):
                of_kind[kind["group"], kind["version"], kind["kind"]] = schema
        group, _, version = path.removeprefix("/api/").removeprefix("/apis/").rpartition("/")
        resources = server.send("GET", path)[1]["resources"]
        for resource in resources:
            key = (group, version, resource["name"])
            if key not in objects or not {"create", "update", "patch"} <= set(resource["verbs"]):
                continue
            schema = of_kind[group, version, resource["kind"]]
            parts = [one["name"].partition("/")[2] for one in resources if one["name"].startswith(resource["name"] + "/")]
            parts = [part for part in parts if part in ("status", "scale", "ephemeralcontainers", "resize", "approval")]
            one = Kind(path, resource["name"], resource["kind"], resource["namespaced"], schema, schemas, parts)
            one.object = {"apiVersion": one.api_version, "kind": one.kind, **objects[key]}
            if one.kind == "Service":
                # What each server would choose itself.
                one.object["spec"]["clusterIP"] = "10.96.0.99"
                one.object["spec"]["ports"][0]["nodePort"] = 30123
            found.append(one)
    return found


class Changes:
    """Random changes of objects by their schemas."""

    def __init__(self, numbers, kind):
        self.numbers, self.kind = numbers, kind

    def resolved(self, schema):
        for _ in range(3):
            inner = schema.get("allOf", [schema])
            schema = inner[0] if len(inner) == 1 and "$ref" in inner[0] else schema
            if "$ref" not in schema:
                break
            schema = self.kind.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def value(self, schema, depth=0):
        """A value of a schema. Few fields of a map are set, so that much of it may be valid."""
        schema, pick = self.resolved(schema), self.numbers.choice
        if self.numbers.random() < 0.03:
            return pick([None, {}, [], "x", 1])
        if "oneOf" in schema:
            return pick(WORDS + NUMBERS + QUANTITIES)
        kind, form = schema.get("type"), schema.get("format", "")
        if kind == "object":
            if "additionalProperties" in schema:
                names = self.numbers.sample(WORDS, self.numbers.choice([0, 1, 1, 2]))
                return {name: self.value(schema["additionalProperties"], depth + 1) for name in names}
            fields = list(schema.get("properties", {}))
            required = [name for name in schema.get("required", []) if self.numbers.random() < 0.9]
            some = self.numbers.sample(fields, min(len(fields), self.numbers.choice([0, 1, 1, 2, 3]))) if depth < 5 else []
            return {name: self.value(schema["properties"][name], depth + 1) for name in dict.fromkeys(required + some)}
        if kind == "array":
            return [self.value(schema["items"], depth + 1) for _ in range(self.numbers.choice([0, 1, 1, 2]))]
        if kind == "string":
            if "enum" in schema and self.numbers.random() < 0.8:
                return pick(schema["enum"])
            listed = re.findall(r'`"([A-Za-z]\w*)"`', schema.get("description", ""))
            if listed and self.numbers.random() < 0.8:
                return pick(listed)
            return pick(TIMES if form == "date-time" else ["aGk=", "", "!"] if form == "byte" else WORDS)
        if kind == "boolean":
            return pick([True, False])
        return pick(NUMBERS)

    def change(self, value, schema):
        """The value with one field changed, at a random depth."""
        schema = self.resolved(schema)
        fields = {name: inner for name, inner in schema.get("properties", {}).items() if name not in SKIPPED}
        go_on = self.numbers.random() < 0.75
        if isinstance(value, dict) and fields:
            present = [name for name in fields if name in value and name not in ("apiVersion", "kind")]
            if go_on and present:
                name = self.numbers.choice(present)
                return {**value, name: self.change(value[name], fields[name])}
            name = self.numbers.choice(list(fields))
            if name in value and self.numbers.random() < 0.3:
                return {other: inner for other, inner in value.items() if other != name}
            return {**value, name: self.value(fields[name])}
        if isinstance(value, list) and value and go_on:
            at = self.numbers.randrange(len(value))
            return [self.change(inner, schema.get("items", {})) if index == at else inner for index, inner in enumerate(value)]
        return self.value(schema)

    def some(self, value):
        for _ in range(self.numbers.choice([1, 1, 1, 2, 3])):
            value = self.change(value, self.kind.schema)
        return value

    def part(self, value, part):
        """The object with changes in what a subresource is about."""
        if part in ("status", "approval"):
            inner = self.kind.schema["properties"].get("status")
            if inner and self.numbers.random() < 0.9:
                return {**value, "status": self.change(value.get("status", {}), inner)}
        return self.some(value)


def merge_patch(before, after):
    """A merge patch that makes the one object of the other."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    names = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name) or (name in before) != (name in after)]
    return {name: merge_patch(before.get(name), after[name]) if name in after else None for name in sorted(names)}


def request_of(numbers, kind, live):
    """A random request: its name, the method, the path, the body and its type."""
    changes, name = Changes(numbers, kind), kind.object["metadata"]["name"]
    query = [f"fieldValidation={numbers.choice(['Strict', 'Warn', 'Ignore'])}", f"fieldManager={numbers.choice(['ops', 'ci'])}"]
    if numbers.random() < 0.9:
        query.append("dryRun=All")
    verb = numbers.choice(["create", "create", "create", "update", "update", "merge", "strategic", "json", "apply", "apply", "delete"])
    if verb == "create":
        body = changes.some(copy.deepcopy(kind.object))
        if isinstance(body.get("metadata"), dict):
            body["metadata"] = {**body["metadata"], "name": f"{name}-{numbers.randrange(1000)}"}
        if kind.kind == "Service" and isinstance(body.get("spec"), dict):
            # Those of the object that exists are taken.
            body["spec"].pop("clusterIP", None)
            ports = body["spec"].get("ports")
            for port in ports if isinstance(ports, list) else []:
                if isinstance(port, dict):
                    port.pop("nodePort", None)
        return "create", "POST", kind.collection + "?" + "&".join(query[:2] + ["dryRun=All"]), body, "application/json"

    one = f"{kind.collection}/{name}"
    if verb == "delete":
        return "delete", "DELETE", one, deletion_options(numbers), "application/json"
    part = numbers.choice(kind.parts) if kind.parts and numbers.random() < 0.4 else ""
    if part == "scale":
        after = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": {"replicas": numbers.choice(NUMBERS)}}
        before = {}
    else:
        before = live
        after = changes.part(copy.deepcopy(live), part)
    title = f"{verb} {part}".strip()
    path = f"{one}/{part}" if part else one
    if verb == "update":
        if numbers.random() < 0.8 and isinstance(after.get("metadata"), dict):
            after["metadata"].pop("resourceVersion", None)
        return title, "PUT", path + "?" + "&".join(query), after, "application/json"
    if verb == "apply":
        if isinstance(after.get("metadata"), dict):
            for field in ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"):
                after["metadata"].pop(field, None)
        if numbers.random() < 0.7:
            query.append("force=true")
        return title, "PATCH", path + "?" + "&".join(query), after, PATCHES[verb]
    patch = merge_patch(before, after)
    if verb == "json":
        patch = [{"op": numbers.choice(["add", "replace"]), "path": f"/{name}", "value": value} for name, value in patch.items() if value is not None]
    return title, "PATCH", path + "?" + "&".join(query), patch, PATCHES[verb]


def without_empty(value, is_in_list=False):
    """The value without empty lists and maps within items of lists."""
    if isinstance(value, list):
        return [without_empty(item, True) for item in value]
    if isinstance(value, dict):
        kept = {name: without_empty(item, is_in_list) for name, item in value.items()}
        return {name: item for name, item in kept.items() if not (is_in_list and item in ([], {}))}
    return value


def without_empty_lists(value):
    """The value without fields that are empty lists."""
    if isinstance(value, list):
        return [without_empty_lists(item) for item in value]
    if isinstance(value, dict):
        return {name: without_empty_lists(item) for name, item in value.items() if item != []}
    return value


def deletion_options(numbers):
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if numbers.random() < 0.5:
        options["propagationPolicy"] = numbers.choice(["Orphan", "Background", "Foreground", "x", ""])
    if numbers.random() < 0.4:
        options["gracePeriodSeconds"] = numbers.choice(NUMBERS)
    if numbers.random() < 0.2:
        options["preconditions"] = {numbers.choice(["uid", "resourceVersion"]): "1"}
    if numbers.random() < 0.1:
        options["orphanDependents"] = True
    return options


# The number of a version in a message.
RECORD = re.compile(r"(in record \(|in object meta: )\d+")


def masked(answer):
    return json.loads(RECORD.sub(r"\1VERSION", json.dumps(answer)))


def verdict(answer):
    """The code and the message of an answer."""
    body = answer["body"] if isinstance(answer["body"], dict) else {}
    return f"{answer['code']} {body.get('message', '')}"


# Causes that this server does not find: docs/deviations.md, server-validation.
UNCHECKED = re.compile(r".*\.(cel\.expression|adminAccess)|status\.allocation")


def lacks_unchecked(real, ours):
    """Whether the answers differ in causes that this server does not find, and in nothing else."""
    def causes(answer):
        found = answer["body"].get("details", {}).get("causes", []) if answer["code"] == 422 else []
        return sorted(found, key=lambda cause: json.dumps(cause, sort_keys=True))

    checked = [cause for cause in causes(real) if not UNCHECKED.fullmatch(cause.get("field", ""))]
    return ours["code"] in (200, 201, 422) and len(checked) < len(causes(real)) and checked == causes(ours)


def compare(numbers, kind, sides, count):
    """The differences of random requests about a kind: their kind, request, path and values, and the request itself."""
    found, verdicts = [], collections.Counter()

    def ask(method, path, body, content):
        """The answers of both servers, and how they differ."""
        real = sides[0].send(method, path, body, content)
        answers = [real, sides[1].send(method, path, body, content)]
        # A time of metadata that is sent is one that a server set.
        known = {name: value for name, value in body.items() if name != "metadata"} if isinstance(body, dict) else body
        answers = [masked(manifests.common(answer, known)) for answer in answers]
        different = list(manifests.differences(*answers))
        if answers[0]["code"] != answers[1]["code"]:
            different = [(".code", *map(verdict, answers))]
        if different and not list(manifests.differences(*map(manifests.in_order, answers))):
            different = [(".body.details.causes", "one order", "another order")]
        return answers, different

    def is_equal(answers, different):
        return not different or different[0][2] == "another order" or lacks_unchecked(*answers)

    def send(title, method, path, body, content):
        """Whether both servers say the same."""
        try:
            # Only a dry run can be asked again without the empty values.
            is_dry = "dryRun=All" in path
            answers, different = ask(method, path, body if is_dry else without_empty_lists(without_empty(body)), content)
            bare, name = without_empty(body), " with an empty value"
            if any(".managedFields" not in one[0] for one in different):
                bare, name = without_empty_lists(body), " with an empty list"
            if different and lacks_unchecked(*answers):
                title += " with an unchecked value"
            elif different and bare != body and is_dry and is_equal(*ask(method, path, bare, content)):
                title += name
        except http.client.RemoteDisconnected:
            # docs/deviations.md, server-panic
            verdicts["panics"] += 1
            return False
        verdicts[f"{answers[0]['code']}"] += 1
        found.extend((kind.kind, title, *one, (method, path, body)) for one in different)
        return not different or different[0][0] == ".body.details.causes"

    send("first create", "POST", kind.collection, kind.object, "application/json")
    one = f"{kind.collection}/{kind.object['metadata']['name']}"
    for _ in range(count):
        # What exists is read again, since some requests change it.
        code, live, _ = sides[0].send("GET", one)
        if code != 200:
            for side in sides:
                side.send("POST", kind.collection, kind.object)
            code, live, _ = sides[0].send("GET", one)
            if code != 200:
                break
        for field in ("uid", "creationTimestamp", "resourceVersion"):
            live["metadata"].pop(field, None)
        title, method, path, body, content = request_of(numbers, kind, live)
        if not send(title, method, path, body, content):
            # The objects are different now.
            for side in sides:
                # A patch would be refused for data that the object cannot change.
                _, current, _ = side.send("GET", one)
                if current.get("metadata", {}).pop("finalizers", None):
                    side.send("PUT", one, current)
                side.send("DELETE", f"{one}?gracePeriodSeconds=0")
                side.send("POST", kind.collection, kind.object)
    return found, verdicts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--real", nargs=2, required=True, metavar=("URL", "TOKEN"))
    parser.add_argument("--server", nargs=2, required=True, metavar=("URL", "TOKEN"))
    parser.add_argument("--requests", type=int, default=500, help="for each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", help="only this kind")
    parser.add_argument("--result", type=pathlib.Path, help="write the summary with the date and the commit")
    parser.add_argument("--verbose", action="store_true", help="print the requests")
    options = parser.parse_args()

    sides = manifests.Server(*options.real), manifests.Server(*options.server)
    kinds = kinds_of(sides[0], stubs(options.data))
    reasons = manifests.explanations(HERE / "explained.txt")
    explained, groups, verdicts, sent = collections.Counter(), {}, collections.Counter(), 0
    for kind in kinds:
        if options.kind and kind.kind != options.kind:
            continue
        numbers = random.Random(f"{options.seed} {kind.api_version} {kind.kind}")
        found, codes = compare(numbers, kind, sides, options.requests)
        verdicts.update(codes)
        sent += sum(codes.values())
        for one in found:
            reason = manifests.reason_of(reasons, (one[0], one[1], one[2], json.dumps(one[4])))
            if reason:
                explained[reason] += 1
            else:
                groups.setdefault((f"{kind.api_version} {kind.kind}", re.sub(r"\[\d+\]", "[]", one[2])), []).append(one)

    for (kind, path), group in groups.items():
        _, _, at, real, ours, (method, url, body) = group[0]
        print(f"{len(group)} times {kind} {path} of {', '.join(sorted({one[1] for one in group}))}")
        print(f"  kube-apiserver {json.dumps(real)[:700]}\n  this server    {json.dumps(ours)[:700]}")
        if options.verbose:
            print(f"  {method} {url} {json.dumps(body)[:1500]}")
    unexplained = sum(map(len, groups.values()))
    summary = [f"{count} explained: {reason}" for reason, count in sorted(explained.items())]
    codes = ", ".join(f"{count} {code}" for code, count in sorted(verdicts.items()))
    summary.append(f"seed {options.seed}: {sent} requests ({codes}), {len(kinds)} kinds, {unexplained} unexplained differences")
    print("\n".join(summary))
    if options.result:
        manifests.write_result(options.result, summary)
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
