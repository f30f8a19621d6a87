#!/usr/bin/env python3
"""Makes scenario files of what tools send.

    scenarios.py RECORDED FOLDER

RECORDED is the folder that the program of this folder has written, FOLDER gets a file for each tool: the requests that made
the object, the requests of the tool with the codes of their answers, and the owners at the end.
"""

import json
import pathlib
import sys
import urllib.parse

import yaml

# What a case is called, and where its requests are from.
CASES = {
    "kubectl": (
        "kubectl apply --server-side meets replicas that an autoscaler has",
        "The conflict comes before the migration: what client-side apply made is not taken over by a refused apply.",
        "k8s.io/kubectl/pkg/cmd/apply v0.36.1",
    ),
    "kubectl-forced": (
        "kubectl apply --server-side --force-conflicts migrates from client-side apply, and applies again",
        "The second apply removes the fields that the configuration no longer has.",
        "k8s.io/kubectl/pkg/cmd/apply v0.36.1",
    ),
    "helm": (
        "helm upgrade --server-side=true of a release of Helm 3 meets replicas that an autoscaler has",
        "The migration comes before the apply, so it stays although the upgrade is refused.",
        "helm.sh/helm/v4/pkg/kube v4.3.1",
    ),
    "helm-forced": (
        "helm upgrade --server-side=true --force-conflicts of a release of Helm 3",
        "Fields of the old release that the chart no longer has are removed.",
        "helm.sh/helm/v4/pkg/kube v4.3.1",
    ),
    "flux": (
        "a Kustomization of Flux takes over what kubectl apply made",
        "A dry run comes before the takeover, and fields of other managers are taken by force.",
        "github.com/fluxcd/pkg/ssa v0.78.0, with the options of kustomize-controller",
    ),
    "argocd": (
        "Argo CD syncs with ServerSideApply=true what kubectl apply made",
        "The migration comes before the apply, which always forces.",
        "github.com/argoproj/argo-cd/gitops-engine/pkg/sync v0.0.0-20260914071520-c9c369efcc5b",
    ),
}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
VERBS = {"POST": "create", "GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
TYPES = {
    "application/apply-patch+yaml": "apply",
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
}


def step_of(sent):
    """A recorded request as a step of a scenario."""
    request = {"verb": VERBS[sent["method"]], "apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    rest = sent["path"].split("/deployments")[1].strip("/").split("/")
    if len(rest) > 1:
        request["subresource"] = rest[1]
    body = sent.get("body")
    if sent["method"] == "PATCH":
        request["type"] = TYPES[sent["contentType"]]
        if request["type"] == "apply":
            request["verb"] = "apply"
            del request["type"]
    query = dict(urllib.parse.parse_qsl(sent.get("query", ""), keep_blank_values=True))
    query.pop("timeout", None)
    if "fieldManager" in query:
        request["manager"] = query.pop("fieldManager")
    if query:
        request["query"] = query
    if body is not None:
        request["body"] = versioned(body)
    if request.get("manager") == "kubectl-last-applied":
        # The server has rewritten it, with the namespace of the scenario.
        annotations = request["body"]["metadata"]["annotations"]
        annotations[LAST_APPLIED] = annotations[LAST_APPLIED].replace('"namespace":"default"', '"namespace":"${namespace}"')
    expect = {"code": sent["code"]}
    if sent.get("message"):
        expect["status"] = {"message": sent["message"].split("\n")[0]}
    step = {"request": request, "expect": expect}
    if sent["code"] < 300 and "dryRun" not in query and len(rest) < 2:
        step["save"] = {"version": ".metadata.resourceVersion"}
    return step


def versioned(body):
    """A body, whose version of the object is that of the last answer."""
    if isinstance(body, list):
        return [{**one, "value": "${version}"} if one.get("path") == "/metadata/resourceVersion" else one for one in body]
    if isinstance(body, dict) and "resourceVersion" in body.get("metadata", {}):
        return {**body, "metadata": {**body["metadata"], "resourceVersion": "${version}"}}
    return body


def managed_of(object):
    """The entries of an object by manager."""
    found = {}
    for entry in object["metadata"]["managedFields"]:
        kept = {key: entry[key] for key in ("apiVersion", "operation", "subresource") if key in entry}
        found.setdefault(entry["manager"], []).append({**kept, "fields": entry["fieldsV1"]})
    return {manager: entries[0] if len(entries) == 1 else entries for manager, entries in found.items()}


def scenario_of(recorded, name, why, source):
    steps = [step_of(sent) for sent in recorded["setup"] + recorded["requests"]]
    after = recorded["after"]
    last = {"request": {"verb": "get"}, "expect": {"managed": managed_of(after), "contains": {"spec": {"replicas": after["spec"]["replicas"]}}}}
    last["expect"]["contains"]["metadata"] = {"labels": after["metadata"]["labels"]}
    return {"name": name, "why": why, "source": source, "schema": "builtin:kubernetes", "steps": [*steps, last]}


class Dumper(yaml.SafeDumper):
    """Lines of up to 120 characters, without aliases."""

    def ignore_aliases(self, _data):
        return True


def main():
    recorded, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(exist_ok=True)
    for case, about in CASES.items():
        scenario = scenario_of(json.loads((recorded / f"{case}.json").read_text()), *about)
        text = yaml.dump(scenario, Dumper=Dumper, sort_keys=False, width=120, default_flow_style=None)
        (folder / f"{case}.yaml").write_text(f"# Made by comparison/tools/scenarios.py of what the tool sent.\n{text}")


if __name__ == "__main__":
    main()
