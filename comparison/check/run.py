#!/usr/bin/env python3
"""Sends the objects of public projects, and mutations of them, through `check`, and compares with API servers.

    run.py FIELDMANAGER SOURCES WORK [--real URL TOKEN] [--mutations N] [--seed N] [--limit N] [--result FILE]

SOURCES is a folder that render has made (see ./sources). `check` reads its files; a new `fieldmanager serve` is asked
`POST ?dryRun=All&fieldValidation=Strict` for each object as kubectl reads it. Codes, messages and warnings must be the same.
Namespaces, definitions, classes, accounts and policies are created before, in the order of `check`. Then the same is done for
N mutations of random objects. `--real` is a new kube-apiserver with its default admission plugins and `--allow-privileged`,
which is asked for at most `--limit` objects and mutations. WORK gets what is made.

The program ends with 1 if answers differ otherwise than explained.txt says, whose lines have the side (`serve` or `real`), the
kind, what this project says, and, after " # ", the reason; each but the reason is a regular expression, with `-` for spaces.
"""

import argparse
import collections
import copy
import datetime
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "manifests"))
import run as manifests

HERE = pathlib.Path(__file__).resolve().parent
QUERY = "dryRun=All&fieldValidation=Strict&fieldManager=fieldmanager"
APPLY = "application/apply-patch+yaml"
# What `check` creates, in its order.
STEPS = [
    {"Namespace"},
    {"CustomResourceDefinition"},
    {"PriorityClass", "RuntimeClass", "StorageClass", "IngressClass", "ServiceAccount", "LimitRange",
     "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"},
]
VALUES = [-1, 70000, 1.5, "A_b", "", None, {}, [], True, "x" * 300, "10Mi", {"a": "b"}, ["a", "a"]]


def step_of(item):
    for at, kinds in enumerate(STEPS):
        if item.get("kind") in kinds:
            return at
    return len(STEPS)


def field(item, *names):
    """A text in an object; empty for anything else."""
    for name in names:
        item = item.get(name) if isinstance(item, dict) else None
    return item if isinstance(item, str) else ""


class Peer:
    """An API server, and what was made on it."""

    def __init__(self, url, token, waits):
        self.server, self.waits = manifests.Server(url, token), waits
        self.resources, self.namespaces = manifests.resources_of(self.server), set()

    def namespace(self, name):
        if name in self.namespaces:
            return
        self.namespaces.add(name)
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        code = self.server.send("POST", "/api/v1/namespaces", body)[0]
        if self.waits and code in (201, 409):
            # The controller that makes it is not part of kube-apiserver.
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            self.server.send("POST", f"/api/v1/namespaces/{name}/serviceaccounts", account)

    def ask(self, item, is_asked=True):
        """The code, the message and the warnings about an object, which is created if others need it."""
        resource = self.resources.get((item.get("apiVersion"), item.get("kind")))
        if resource is None:
            return 0, "", []
        path, plural, namespaced = resource
        if namespaced:
            namespace = field(item, "metadata", "namespace") or "default"
            self.namespace(namespace)
            path += f"/namespaces/{manifests.urllib.parse.quote(namespace, safe='')}"
        path += f"/{plural}"
        code, body, warnings = 200, {}, []
        if is_asked:
            code, body, warnings = self.server.send("POST", f"{path}?{QUERY}", item)
            if code == 409 and body.get("reason") == "AlreadyExists":
                name = manifests.urllib.parse.quote(field(item, "metadata", "name"), safe="")
                code, body, warnings = self.server.send("PATCH", f"{path}/{name}?{QUERY}&force=true", item, APPLY)
        if code < 400 and step_of(item) < len(STEPS):
            made, live, _ = self.server.send("POST", path, item)
            if item["kind"] == "CustomResourceDefinition" and made == 201:
                self.learn(item, f"{path}/{live['metadata']['name']}")
        message = body.get("message", "") if code >= 400 and isinstance(body, dict) else ""
        return code, message, [re.sub(r'^299 \S+ "|"$', "", warning).replace('\\"', '"') for warning in warnings]

    def learn(self, item, path):
        """Adds the resources of a definition that was created."""
        spec = item["spec"]
        for _ in range(600 if self.waits else 0):
            if manifests.is_accepted(self.server.send("GET", path)[1]):
                break
            time.sleep(0.02)
        for version in spec["versions"]:
            if version.get("served"):
                key = f"{spec['group']}/{version['name']}"
                self.resources[key, spec["names"]["kind"]] = (f"/apis/{key}", spec["names"]["plural"], spec["scope"] == "Namespaced")
                # Some time passes until requests are answered.
                for _ in range(600 if self.waits else 0):
                    if self.server.send("GET", f"/apis/{key}/{spec['names']['plural']}?limit=1")[0] != 404:
                        break
                    time.sleep(0.02)


def items_of(entry):
    """The objects of a document: a List is its items."""
    item = entry["object"]
    kind = field(item, "kind")
    if isinstance(item, dict) and kind.endswith("List") and isinstance(item.get("items"), list):
        typed = {"apiVersion": item.get("apiVersion"), "kind": kind.removesuffix("List")}
        return [one if kind == "List" or not isinstance(one, dict) else {**typed, **one} for one in item["items"]]
    return [item]


def check(options, sources):
    """The verdicts of `check` by file, in the order of lines; prints what it took."""
    out = options.work / "verdicts.json"
    begin = time.monotonic()
    with open(out, "w") as file:
        process = subprocess.Popen([options.fieldmanager, "check", sources, "-o", "json"], stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
    taken = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"check ended with {status}")
    report = json.loads(out.read_text())
    by_file = collections.defaultdict(list)
    for verdict in report["verdicts"]:
        by_file[str(pathlib.Path(verdict["file"]).relative_to(sources))].append(verdict)
    for verdicts in by_file.values():
        verdicts.sort(key=lambda verdict: verdict["line"])
    cost = f"{report['objects']} objects, {report['refused']} refused, in {taken:.1f} s with {usage.ru_maxrss / 1024:.0f} MiB"
    return by_file, cost


def paired(entries, verdicts):
    """The objects with their verdicts, in the order in which `check` sends them."""
    found = []
    for file, group in entries.items():
        mine = collections.deque(verdicts.get(file, []))
        starts = [entry["line"] for entry in group[1:]] + [float("inf")]
        for entry, end in zip(group, starts):
            own = []
            while mine and mine[0]["line"] < end:
                own.append(mine.popleft())
            items = items_of(entry) if "object" in entry else [None]
            if len(own) != len(items):
                found.append((f"{file}:{entry['line']}", None, {"verdict": f"{len(own)} verdicts of {len(items)} objects"}))
                continue
            found += [(f"{file}:{verdict['line']}", item, verdict) for item, verdict in zip(items, own)]
    # The files are those of a folder, in the order of their names.
    found.sort(key=lambda one: step_of(one[1] or {}))
    return found


def differences(peer, pairs, chosen=None):
    """The number of objects that were asked for, and what differs."""
    count, found = 0, []
    for at, (place, item, verdict) in enumerate(pairs):
        if item is None or not isinstance(item, dict):
            # kubectl reads no object, and neither must `check`.
            if chosen is None:
                count += 1
                if verdict["verdict"] != "unreadable":
                    found.append((place, "document", ("no object for kubectl",), (verdict["verdict"],)))
            continue
        is_asked = chosen is None or at in chosen
        answer = peer.ask(item, is_asked)
        if not is_asked:
            continue
        count += 1
        ours = (verdict.get("code", 0), verdict.get("message", ""), verdict.get("warnings", []))
        if answer[0] == 0 and ours[0] == 0:
            continue
        if answer[0] == 0:
            answer = (0, "no such resource", [])
        if settled(answer) != settled(ours):
            found.append((place, item.get("kind"), answer, ours))
    return count, found


def settled(answer):
    """An answer without what two requests do not have in common: whether an object exists, and the order of causes."""
    code, message, warnings = answer
    return 200 if 0 < code < 400 else code, sorted(re.split(r": \[|, |\]$", message)), sorted(warnings)


def reported(side, count, found, reasons):
    """The lines about the differences, and how many have no reason."""
    explained, unexplained = collections.Counter(), 0
    for place, kind, answer, ours in found:
        reason = manifests.reason_of(reasons, (side, str(kind), json.dumps(ours)))
        if reason:
            explained[reason] += 1
            continue
        unexplained += 1
        print(f"{place} {kind}\n  {side:6} {json.dumps(answer)[:1500]}\n  check  {json.dumps(ours)[:1500]}", flush=True)
    lines = [f"{number} explained: {reason}" for reason, number in sorted(explained.items())]
    return [f"{side}: {count} asked, {count - len(found)} the same verdict and words"] + lines, unexplained


def mutated(rng, value):
    """A random part of a value removed, renamed, repeated, or replaced."""
    if isinstance(value, dict) and value:
        name = rng.choice(sorted(value))
        if isinstance(value[name], (dict, list)) and rng.random() < 0.85:
            mutated(rng, value[name])
            return
        if name in ("apiVersion", "kind"):
            return
        taken, what = value.pop(name), rng.randrange(3)
        if what == 1:
            value[f"{name}x"] = taken
        elif what == 2:
            value[name] = copy.deepcopy(rng.choice(VALUES))
    elif isinstance(value, list) and value:
        at = rng.randrange(len(value))
        if isinstance(value[at], (dict, list)) and rng.random() < 0.85:
            mutated(rng, value[at])
        elif rng.random() < 0.5:
            value.append(copy.deepcopy(value[at]))
        else:
            value[at] = copy.deepcopy(rng.choice(VALUES))


def mutations(options, pairs):
    """The sources of mutations: what others need, and objects that are changed at up to three places."""
    folder = options.work / "mutations"
    folder.mkdir(exist_ok=True)
    rng = random.Random(options.seed)
    accepted = [item for _, item, verdict in pairs if verdict["verdict"] == "accepted"]
    needed = {}
    for item in accepted:
        if step_of(item) < len(STEPS):
            needed.setdefault((item["kind"], field(item, "metadata", "namespace"), field(item, "metadata", "name")), item)
    kinds = collections.defaultdict(list)
    for item in accepted:
        kinds[item["kind"]].append(item)
    entries, names = {"a.yaml": list(needed.values()), "b.yaml": []}, sorted(kinds)
    while len(entries["b.yaml"]) < options.mutations:
        number = len(entries["b.yaml"])
        # Kinds that charts have more of are chosen more often, but each is.
        kind = rng.choice(names) if rng.random() < 0.5 else rng.choice(accepted)["kind"]
        item = json.loads(json.dumps(rng.choice(kinds[kind])))
        if kind == "CustomResourceDefinition" and rng.random() < 0.7:
            continue
        if step_of(item) < len(STEPS):
            manifests.rename(item, number)
        before = json.dumps(item)
        for _ in range(1 + rng.randrange(3)):
            mutated(rng, item)
        if json.dumps(item) != before and isinstance(item.get("metadata", {}), dict):
            # As kubectl writes it.
            entries["b.yaml"].append(json.loads(json.dumps(item, sort_keys=True)))
    listed = {}
    for file, items in entries.items():
        (folder / file).write_text("".join(f"---\n{json.dumps(item)}\n" for item in items))
        listed[file] = [{"line": 2 + 2 * at, "object": item} for at, item in enumerate(items)]
    return folder, listed


def listed(sources):
    """The documents of a folder by file, in the order in which `check` reads the files."""
    entries = collections.defaultdict(list)
    with open(sources / "objects.jsonl") as file:
        for line in file:
            entry = json.loads(line)
            entries[entry["file"]].append(entry)
    return {file: entries[file] for file in sorted(entries, key=lambda file: pathlib.Path(file).parts)}


def serve(options):
    """A new server of the program: its process, and it."""
    kubeconfig = options.work / "kubeconfig"
    kubeconfig.unlink(missing_ok=True)
    command = [options.fieldmanager, "serve", "--no-collector", "--kubeconfig", kubeconfig, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not kubeconfig.exists() or not kubeconfig.read_text():
        time.sleep(0.05)
    text = kubeconfig.read_text()
    server, token = (re.search(rf'"?{name}"?: "?([^"\s]+)', text)[1] for name in ("server", "token"))
    return process, Peer(server, token, False)


def compared(options, what, sources, entries, reasons):
    """Compares all objects of sources. Gives the lines about it, the number of differences, and the pairs."""
    verdicts, cost = check(options, sources)
    pairs = paired(entries, verdicts)
    process, peer = serve(options)
    try:
        lines, unexplained = reported("serve", *differences(peer, pairs), reasons)
    finally:
        process.terminate()
        process.wait()
    lines = [f"{what}: {cost}", *lines]
    print("\n".join(lines), flush=True)
    if options.real:
        rng = random.Random(options.seed)
        known = [at for at, (_, item, verdict) in enumerate(pairs) if isinstance(item, dict) and verdict.get("code")]
        chosen = set(rng.sample(known, min(options.limit, len(known))))
        more, others = reported("real", *differences(Peer(*options.real, True), pairs, chosen), reasons)
        print("\n".join(more), flush=True)
        lines, unexplained = lines + more, unexplained + others
    return lines, unexplained, pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fieldmanager")
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--real", nargs=2, metavar=("URL", "TOKEN"))
    parser.add_argument("--mutations", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--result", type=pathlib.Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)

    reasons = manifests.explanations(HERE / "explained.txt")
    entries = listed(options.sources)
    projects = len({file.split("/")[0] for file in entries})
    lines, unexplained, pairs = compared(options, f"{projects} projects", options.sources / "sources", entries, reasons)
    folder, mutants = mutations(options, pairs)
    more, others, _ = compared(options, f"{options.mutations} mutations", folder, mutants, reasons)
    lines, unexplained = lines + more, unexplained + others
    lines.append(f"{unexplained} unexplained differences")
    print(lines[-1])
    if options.result:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        options.result.write_text("\n".join([f"{datetime.datetime.now(datetime.UTC).date()}, commit {commit}", *lines]) + "\n")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
