#!/usr/bin/env python3
"""Sends the policies of public libraries, and the objects of their tests, to a kube-apiserver and to `fieldmanager serve`.

usage: libraries.py KUBE_APISERVER FIELDMANAGER FOLDER... [--start start.sh] [--port N]

A FOLDER is a checkout of a repository. Its definitions are created, then each of its policies, alone and bound to everything,
with the parameters of the kind that the repository has. The objects of all repositories are created in a dry run. Answers are
compared as `policies.py` compares them. The program ends with 1 if there are differences. The last run: policies.txt.
"""

import argparse
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "manifests"), str(HERE)]
import policies
import run

NAMESPACED = "default"


def read(folder):
    """The definitions, policies and other objects of a folder, each text once."""
    found, seen = {"definitions": [], "policies": [], "objects": []}, set()
    for _, item in run.objects_of(pathlib.Path(folder), ""):
        kind, text = item["kind"], repr(item)
        if text in seen or kind.endswith("PolicyBinding") or kind in ("Kustomization", "Namespace"):
            continue
        seen.add(text)
        # docs/deviations.md: the profile that a Pod gets of its annotation.
        notes = item["metadata"].get("annotations") or {}
        item["metadata"]["annotations"] = {name: text for name, text in notes.items() if "apparmor" not in name}
        part = "definitions" if kind == "CustomResourceDefinition" else "policies" if kind.endswith("AdmissionPolicy") else "objects"
        found[part].append(item)
    return found


class Library:
    def __init__(self, comparison, found):
        self.comparison, self.sides, self.found = comparison, comparison.sides, found
        self.resources = {}

    def create(self, item, query=""):
        """Creates an object in both servers. Returns the answers; `None` if its kind is not served."""
        place = self.resources.get((item["apiVersion"], item["kind"]))
        if place is None:
            return None
        path, plural, namespaced = place
        item["metadata"].pop("namespace", None)
        path += f"/namespaces/{NAMESPACED}" if namespaced else ""
        return [policies.comparable(side.send("POST", f"{path}/{plural}{query}", item)) for side in self.sides]

    def prepare(self):
        for definition in self.found["definitions"]:
            for side in self.sides:
                side.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        time.sleep(3)
        self.resources = run.resources_of(self.sides[0].server)
        kinds = {(kind.get("apiVersion"), kind.get("kind")) for policy in self.found["policies"] if (kind := policy["spec"].get("paramKind"))}
        for item in self.found["objects"]:
            if (item["apiVersion"], item["kind"]) in kinds:
                self.create(item)

    def binding(self, policy):
        name, kind = policy["metadata"]["name"], policy["spec"].get("paramKind")
        spec = {"policyName": name}
        if policy["kind"].startswith("Validating"):
            spec["validationActions"] = ["Deny"]
        if kind:
            spec["paramRef"] = {"selector": {}, "parameterNotFoundAction": "Deny"}
        return {"apiVersion": policy["apiVersion"], "kind": f"{policy['kind']}Binding", "metadata": {"name": f"{name}-binding"}, "spec": spec}

    def compare(self, number, policy):
        policy["apiVersion"] = "admissionregistration.k8s.io/v1"
        name = policy["metadata"]["name"]
        bound = self.binding(policy)
        for item in (policy, bound):
            answers = self.create(item)
            self.comparison.report(f"{item['kind']} {name}", item, answers)
        marker = f"marker-{number}"
        for side in self.sides:
            policies.install(side, *policies.marker(marker))
            policies.wait_for(side, marker)
        for item in self.found["objects"]:
            answers = self.create(item, "?dryRun=All")
            if answers is not None:
                self.comparison.requests += 1
                self.comparison.report(f"{name}: {item['kind']} {item['metadata'].get('name')}", item, answers)
        for side in self.sides:
            for item in (bound, policy):
                path, plural, _ = self.resources[item["apiVersion"], item["kind"]]
                side.send("DELETE", f"{path}/{plural}/{item['metadata']['name']}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kube_apiserver")
    parser.add_argument("fieldmanager")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--start", default=str(HERE.parent / "kube-apiserver/start.sh"), help="what starts kube-apiserver")
    parser.add_argument("--port", type=int, default=27900, help="the first of eight ports")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sides, stop = policies.start(options, folder)
        comparison, number = policies.Comparison(options, sides), 0
        try:
            libraries = [Library(comparison, read(folder)) for folder in options.folders]
            objects = [item for library in libraries for item in library.found["objects"]]
            for library in libraries:
                library.found["objects"] = objects
                library.prepare()
                for policy in library.found["policies"]:
                    library.compare(number, policy)
                    number += 1
        finally:
            stop()
    codes = ", ".join(f"{count} {code}" for code, count in sorted(comparison.codes.items()))
    print(f"{number} policies, {comparison.requests} requests ({codes}), {comparison.different} different answers")
    sys.exit(1 if comparison.different else 0)


if __name__ == "__main__":
    main()
