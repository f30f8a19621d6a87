#!/usr/bin/env python3
"""Sends manifests to two API servers, and compares their answers.

    run.py FOLDER --real URL TOKEN --server URL TOKEN [--index FILE] [--result FILE] [--limit N]

FOLDER has a folder OWNER+NAME@COMMIT for each repository; index.txt has those of the last run with their files. Each object
of a built-in kind, and each definition, is created strictly (dry run) and leniently, read, applied twice, patched by a merge
patch and a strategic merge patch, updated without a change, printed as a table, and deleted. Answers are compared but for
what no two servers have in common: uids, versions, times, addresses and ports that the server allocates.

Both servers are new, without admission plugins (those of ../plugins.txt), and without controllers that act on objects:
`fieldmanager serve --no-collector --disable-admission-plugins NAME,...`, and a kube-apiserver with that name, since it is a manager. It serves 10.96.0.0/16.

The program ends with 1 if answers differ otherwise than explained.txt says: a line has the kind, the request, the path of
the difference, what this server has there if that matters, and, after " # ", the reason; each but the reason is a regular
expression, with `-` for spaces. result.txt has the summary of the last run of many repositories.
"""

import argparse
import concurrent.futures
import copy
import datetime
import hashlib
import http.client
import json
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import time
import urllib.parse

PATCHES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"


class Server:
    """An API server, with a connection of its own."""

    def __init__(self, url, token):
        self.url, self.token = urllib.parse.urlsplit(url), token
        self.connection = None

    def send(self, method, path, body=None, content_type="application/json", accept="application/json", more=None):
        """The code, the body and the warnings of an answer. `more` are headers."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": accept, **(more or {})}
        if body is not None:
            headers["Content-Type"] = content_type
            body = json.dumps(body)
        for attempt in range(2):
            if self.connection is None:
                self.connection = self.connect()
            try:
                self.connection.request(method, path, body, headers)
                answer = self.connection.getresponse()
                text = answer.read().decode()
                break
            except (http.client.HTTPException, ConnectionError):
                self.connection = None
                if attempt == 1:
                    raise
        try:
            content = json.loads(text)
        except ValueError:
            content = text
        return answer.status, content, sorted(answer.headers.get_all("Warning") or [])

    def connect(self):
        if self.url.scheme == "https":
            context = ssl._create_unverified_context()
            connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, context=context)
        else:
            connection = http.client.HTTPConnection(self.url.hostname, self.url.port)
        connection.connect()
        # The head and the body are two packets, of which the second would wait for an acknowledgement.
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def objects_of(folder, repository):
    """The objects of the manifests of a folder, with their files."""
    # Programs that only compare do not need it.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for file in sorted(folder.rglob("*")):
        if file.suffix not in (".yaml", ".yml", ".json") or not file.is_file():
            continue
        try:
            documents = list(yaml.load_all(file.read_text(), loader))
        except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError):
            continue
        for document in documents:
            items = document.get("items") if isinstance(document, dict) else None
            for item in items if isinstance(items, list) else [document]:
                if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
                    continue
                try:
                    # Values of YAML that JSON does not have, such as dates, are no manifest.
                    item = json.loads(json.dumps(item))
                except (TypeError, ValueError):
                    continue
                if isinstance(item.get("kind"), str) and isinstance(item.get("apiVersion"), str):
                    yield f"{repository}/{file.relative_to(folder)}", item


def resources_of(server):
    """The resources that a server has, by version and kind."""
    found = {}
    versions = ["/api/v1"]
    for group in server.send("GET", "/apis")[1]["groups"]:
        versions += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    for path in versions:
        for resource in server.send("GET", path)[1]["resources"]:
            if "/" not in resource["name"] and {"create", "get", "patch"} <= set(resource["verbs"]):
                version = path.removeprefix("/api/").removeprefix("/apis/")
                found[version, resource["kind"]] = (path, resource["name"], resource["namespaced"])
    return found


def requests_of(item, resource, number):
    """The requests about an object: their names, and functions that send them."""
    path, plural, namespaced = resource
    item = unprivileged(copy.deepcopy(item))
    metadata = item["metadata"]
    rename(item, number)
    metadata.pop("generateName", None)
    if namespaced:
        metadata["namespace"] = "default"
        path += "/namespaces/default"
    else:
        metadata.pop("namespace", None)
    collection = f"{path}/{plural}"
    one = f"{collection}/{urllib.parse.quote(str(metadata.get('name')))}"

    def patch(name, body, query=""):
        kind = PATCHES.get(name, "application/apply-patch+yaml")
        return lambda server: server.send("PATCH", one + query, body, kind)

    def update(server):
        code, live, _ = server.send("GET", one)
        return server.send("PUT", one, live) if code == 200 else (code, live, [])

    def get(server):
        answer = server.send("GET", one)
        for _ in range(200 if item["kind"] == "CustomResourceDefinition" else 0):
            if is_accepted(answer[1]):
                break
            time.sleep(0.05)
            answer = server.send("GET", one)
        return answer

    apply = patch("apply", item, "?fieldManager=ops&force=true")
    return [
        ("strict", lambda server: server.send("POST", f"{collection}?fieldValidation=Strict&dryRun=All", item)),
        ("create", lambda server: server.send("POST", f"{collection}?fieldValidation=Warn", item)),
        ("get", get),
        ("apply", apply),
        ("apply again", apply),
        ("merge", patch("merge", {"metadata": {"labels": {"compared": "merge"}}})),
        ("strategic", patch("strategic", {"metadata": {"annotations": {"compared": "strategic"}}})),
        ("update", update),
        ("table", lambda server: server.send("GET", one, accept=TABLE)),
        ("delete", lambda server: server.send("DELETE", f"{one}?gracePeriodSeconds=0")),
    ]


def is_accepted(definition):
    """Whether the controllers of kube-apiserver, which act some time after an answer, are done with a definition."""
    if definition["kind"] == "Status":
        return True
    conditions = definition["status"].get("conditions") or []
    found = {condition["type"] for condition in conditions if condition["reason"] != "Installing"}
    expected = {"NamesAccepted", "Established"}
    if definition["spec"]["group"].endswith((".k8s.io", ".kubernetes.io")):
        expected.add("KubernetesAPIApprovalPolicyConformant")
    return expected <= found


def unprivileged(value):
    """A value without privileged containers, which kube-apiserver refuses without `--allow-privileged`."""
    if isinstance(value, list):
        return [unprivileged(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {name: unprivileged(inner) for name, inner in value.items() if (name, inner) != ("privileged", True)}


def rename(item, number):
    """Gives an object a name of its own, since objects of different files have the same name."""
    metadata, spec = item["metadata"], item.get("spec")
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        return
    group = spec.get("group") if isinstance(spec, dict) else None
    if item["kind"] in ("CustomResourceDefinition", "APIService") and group and name.endswith(f".{group}"):
        spec["group"] = f"of{number}.{group}"
        metadata["name"] = name.removesuffix(group) + spec["group"]
    else:
        metadata["name"] = f"{name[:40].rstrip('-.:')}-{number}"


def common(answer, item):
    """What two servers have in common of an answer."""
    code, body, warnings = answer
    sent = json.dumps(item)
    body = json.loads(UID.sub(lambda uid: uid[0] if uid[0] in sent else "UID", json.dumps(body)))
    walk(body, sent)
    return {"code": code, "body": body, "warnings": warnings}


UID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def walk(value, sent):
    """Replaces what each server chooses itself, unless the text `sent` has it."""
    if isinstance(value, list):
        for inner in value:
            walk(inner, sent)
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if isinstance(inner, str) and TIME.fullmatch(inner) and inner not in sent:
            value[name] = "TIME"
        elif name == "resourceVersion":
            value[name] = "VERSION"
        elif name == "managedFields" and isinstance(inner, list):
            # The order is that of the times, in seconds.
            inner.sort(key=lambda entry: [str(entry.get(key)) for key in ("operation", "manager", "apiVersion", "subresource")])
            walk(inner, sent)
        elif name == "conditions" and inner and "storedVersions" in value:
            # The controllers of kube-apiserver add them in an order of chance.
            inner.sort(key=lambda condition: condition["type"])
            walk(inner, sent)
        elif name == "cells" and isinstance(inner, list):
            value[name] = [re.sub(rf"^\d+[smhd]\d*[smh]?$|^<invalid>$|^{TIME.pattern}$", "AGE", str(cell)) for cell in inner]
            value[name] = [re.sub(r"\b10\.96\.\d+\.\d+\b", "ADDRESS", cell) for cell in value[name]]
            value[name] = [re.sub(r":3[0-2]\d{3}/", ":PORT/", cell) for cell in value[name]]
        elif name in ("nodePort", "healthCheckNodePort") and str(inner) not in sent:
            value[name] = "PORT"
        elif name == "clusterIP" and isinstance(inner, str) and inner.startswith("10.96."):
            value[name] = "ADDRESS"
        elif name == "clusterIPs" and isinstance(inner, list):
            value[name] = ["ADDRESS" if str(one).startswith("10.96.") else one for one in inner]
        else:
            walk(inner, sent)


def differences(real, ours, path=""):
    """The paths and the values of all differences."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for name in sorted(real.keys() | ours.keys()):
            if name not in real or name not in ours:
                yield f"{path}.{name}", real.get(name, "absent"), ours.get(name, "absent")
            else:
                yield from differences(real[name], ours[name], f"{path}.{name}")
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for at, (one, other) in enumerate(zip(real, ours)):
            yield from differences(one, other, f"{path}[{at}]")
    elif real != ours or isinstance(real, bool) != isinstance(ours, bool):
        yield path, real, ours


def in_order(answer):
    """A refusal with its causes sorted: some validators of Kubernetes find them in the random order of a map."""
    answer = copy.deepcopy(answer)
    body = answer["body"]
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        body["message"] = sorted(re.split(r": \[|, |\]$", body["message"]))
        body.get("details", {}).get("causes", []).sort(key=lambda cause: sorted(cause.items()))
    return answer


def compare(real, ours, number, file, item, resource):
    """The differences of the answers about an object, and the number of requests."""
    found, count = [], 0
    for name, send in requests_of(item, resource, number):
        count += 1
        answers = [common(send(server), item) for server in (real, ours)]
        different = list(differences(*answers))
        if different and not list(differences(*map(in_order, answers))):
            different = [(".body.details.causes", "one order", "another order")]
        found += [(item["kind"], name, *one, file) for one in different]
        # Without an object, the other requests are answered with 404.
        if name == "create" and answers[0]["code"] >= 400 and answers[1]["code"] >= 400:
            break
    return found, count


def explanations(file):
    if not file.exists():
        return []
    lines = [line for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")]
    parsed = [line.partition(" # ") for line in lines]
    return [([re.compile(part) for part in what.split()], reason) for what, _, reason in parsed]


def reason_of(reasons, texts):
    """The reason of a difference: those of `explanations` for its kind, request, path and value here."""
    values = [text.replace(" ", "-") for text in texts]
    for patterns, reason in reasons:
        if all(pattern.fullmatch(value) for pattern, value in zip(patterns, values)):
            return reason
    return None


def listed(index):
    """The repositories with their commits, and below each its files with their numbers of objects."""
    lines, last = [], None
    for file, count in index.items():
        repository, _, path = file.partition("/")
        if repository != last:
            lines.append(repository.replace("+", "/").replace("@", " "))
            last = repository
        lines.append(f"  {path} {count}")
    return "\n".join(lines) + "\n"


def write_result(file, summary):
    """Writes the lines of a summary, with the date and the commit."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    date = datetime.datetime.now(datetime.UTC).date()
    file.write_text("\n".join([f"{date}, commit {commit}", *summary]) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--real", nargs=2, required=True, metavar=("URL", "TOKEN"))
    parser.add_argument("--server", nargs=2, required=True, metavar=("URL", "TOKEN"))
    parser.add_argument("--index", type=pathlib.Path, help="write the files and their numbers of objects")
    parser.add_argument("--result", type=pathlib.Path, help="write the summary with the date and the commit")
    parser.add_argument("--limit", type=int, default=250, help="the most objects of a repository")
    options = parser.parse_args()

    resources = resources_of(Server(*options.real))
    known, chosen, index = set(), [], {}
    for folder in sorted(path for path in options.folder.iterdir() if path.is_dir()):
        taken = 0
        for file, item in objects_of(folder, folder.name):
            resource = resources.get((item["apiVersion"], item["kind"]))
            digest = hashlib.sha256(json.dumps(item, sort_keys=True).encode()).digest()
            if resource is None or digest in known or item["kind"] == "Namespace" or taken >= options.limit:
                continue
            known.add(digest)
            taken += 1
            index[file] = index.get(file, 0) + 1
            chosen.append((len(chosen), file, item, resource))
    if options.index:
        options.index.write_text(listed(index))

    def run(part):
        pair = Server(*options.real), Server(*options.server)
        return [compare(*pair, *one) for one in part]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = [one for part in pool.map(run, [chosen[at::4] for at in range(4)]) for one in part]

    reasons = explanations(pathlib.Path(__file__).parent / "explained.txt")
    explained, unexplained = {}, []
    for different in (one for found, _ in results for one in found):
        kind, name, path, _, value, _ = different
        reason = reason_of(reasons, (kind, name, path, json.dumps(value)))
        if reason:
            explained[reason] = explained.get(reason, 0) + 1
        else:
            unexplained.append(different)

    groups = {}
    for different in unexplained:
        groups.setdefault((different[0], re.sub(r"\[\d+\]", "[]", different[2])), []).append(different)
    for (kind, path), group in groups.items():
        _, _, _, real, ours, file = group[0]
        print(f"{len(group)} times {kind} {path} of {', '.join(sorted({one[1] for one in group}))}")
        print(f"  kube-apiserver {json.dumps(real)[:600]}\n  this server    {json.dumps(ours)[:600]}\n  {file}")
    repositories = len({file.split("/")[0] for file in index})
    requests = sum(count for _, count in results)
    summary = [f"{count} explained: {reason}" for reason, count in sorted(explained.items())]
    summary.append(
        f"{len(chosen)} objects of {repositories} repositories, {requests} requests, {len(unexplained)} unexplained differences"
    )
    print("\n".join(summary))
    if options.result:
        write_result(options.result, summary)
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
