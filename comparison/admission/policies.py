#!/usr/bin/env python3
"""Sends the same policies and requests to a kube-apiserver and to `fieldmanager serve`, and compares.

usage: policies.py KUBE_APISERVER FIELDMANAGER [--start start.sh] [--seed N] [--policies N] [--requests N] [--record FILE]

Policies are random, and of a list that is written by hand. Each selects the objects with a label of its own, so that one
policy at most refuses a request: the order of policies is random in kube-apiserver. What servers answer to the policy, to
its binding and to the requests is compared as `../manifests/run.py` compares it. kube-apiserver reads policies about once a
second, so each batch of them ends with one that refuses a marker, which is awaited. With --record, the policies, requests
and answers of kube-apiserver are written as lines of JSON. The program ends with 1 if there are differences.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "manifests"), str(HERE)]
import run

GROUP = "/apis/admissionregistration.k8s.io/v1"
BATCH = 40
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"

RULES = {
    "configmaps": ("", "v1", "configmaps"),
    "deployments": ("apps", "v1", "deployments"),
    "widgets": ("example.com", "v1", "widgets"),
    "gadgets": ("example.com", "v1", "gadgets"),
    "namespaces": ("", "v1", "namespaces"),
}


def definition(plural, kind, scope):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [{"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}} for name in ("v1", "v1beta1")]
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.example.com"},
            "spec": {"group": "example.com", "scope": scope, "names": {"plural": plural, "singular": kind.lower(), "kind": kind}, "versions": versions}}


# What is there before the policies: a path and an object.
SETUP = [
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition("widgets", "Widget", "Namespaced")),
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition("gadgets", "Gadget", "Cluster")),
    ("/api/v1/namespaces", {"metadata": {"name": "team", "labels": {"environment": "test", "tier": "a"}, "annotations": {"owner": "me"}}}),
]
PARAMS = [
    (CONFIG_MAPS, {"metadata": {"name": "limits", "labels": {"limits": "yes"}}, "data": {"n": "3", "name": "a"}}),
    ("/api/v1/namespaces/team/configmaps", {"metadata": {"name": "limits", "labels": {"limits": "yes"}}, "data": {"n": "1"}}),
    ("/apis/example.com/v1/namespaces/default/widgets", {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "limits", "labels": {"limits": "yes"}}, "n": 3, "list": ["a", "b"]}),
    ("/apis/example.com/v1/gadgets", {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "limits"}, "n": 2}),
]


class Expressions:
    """Random expressions, most of which are well-typed."""

    def __init__(self, choose, params, variables):
        self.random, self.params, self.variables = choose, params, variables

    def pick(self, *options):
        return self.random.choice(options)

    def int(self, depth):
        options = ["1", "3", "0", "-1", "size(object.metadata.name)", "object.metadata.name.size()", "object.metadata.labels.size()",
                   "size(request.userInfo.groups)", "object.spec.replicas", "object.n", "int(object.data.n)", "size(object.metadata.?labels.orValue({}))",
                   "object.spec.template.spec.containers.size()", "oldObject.metadata.labels.size()", "object.metadata.generation", "object.?n.orValue(7)"]
        if self.params:
            options += ["params.n", "int(params.data.n)", "size(params.metadata.labels)"]
        options += [f"variables.{name}" for name, of in self.variables if of == "int"]
        if depth > 0 and self.random.random() < 0.5:
            a, b = self.int(depth - 1), self.int(depth - 1)
            options = [f"({a} {self.pick('+', '-', '*', '/', '%')} {b})", f"({self.bool(depth - 1)} ? {a} : {b})", f"[int({a}), int({b})].max()"]
        return self.random.choice(options)

    def text(self, depth):
        options = ["'a'", "''", "'default'", "object.metadata.name", "request.namespace", "request.name", "request.operation", "request.userInfo.username",
                   "request.kind.kind", "request.resource.resource", "request.requestKind.version", "request.resource.group", "request.?subResource.orValue('none')",
                   "object.metadata.labels['app']", "object.metadata.labels.app", "object.kind", "object.apiVersion", "namespaceObject.metadata.name",
                   "namespaceObject.metadata.labels['tier']", "namespaceObject.metadata.annotations.owner", "namespaceObject.status.phase",
                   "object.data.name", "oldObject.data.name", "request.options.kind", "object.spec.template.spec.containers[0].image", "namespaceObject.spec.finalizers[0]"]
        if self.params:
            options += ["params.metadata.name", "params.data.name", "params.kind", "params.metadata.namespace"]
        options += [f"variables.{name}" for name, of in self.variables if of == "text"]
        if depth > 0 and self.random.random() < 0.5:
            a = self.text(depth - 1)
            options = [f"({a} + {self.text(depth - 1)})", f"string({self.int(depth - 1)})", f"{a}.upperAscii()", f"{a}.replace('a', 'b')",
                       f"{a}.substring(1)", f"{self.list(depth - 1)}.join('-')", f"'%s-%d'.format([{a}, {self.int(depth - 1)}])"]
        return self.random.choice(options)

    def list(self, depth):
        options = ["['a', 'b']", "request.userInfo.groups", "object.list", "object.metadata.labels.map(key, key).sort()", "object.metadata.finalizers",
                   "object.spec.template.spec.containers.map(c, c.name)", "object.?list.orValue([])"]
        if self.params:
            options += ["params.list"]
        options += [f"variables.{name}" for name, of in self.variables if of == "list"]
        if depth > 0 and self.random.random() < 0.4:
            options = [f"({self.list(depth - 1)} + {self.list(depth - 1)})", f"{self.list(depth - 1)}.filter(item, item != {self.text(depth - 1)})",
                       f"[string({self.text(depth - 1)}), string({self.text(depth - 1)})]"]
        return self.random.choice(options)

    def bool(self, depth):
        options = ["true", "false", "has(object.metadata.labels)", "has(object.metadata.annotations)", "has(object.data.n)", "has(object.spec)",
                   "object == null", "oldObject == null", "oldObject != null", "namespaceObject == null", "request.dryRun", "has(request.subResource)",
                   "object == oldObject", "'app' in object.metadata.labels", "object.spec.paused", "has(object.metadata.managedFields)",
                   "object.metadata.labels == {'app': 'a'}", "request.userInfo.extra == {}", "has(request.userInfo.extra)", "has(request.userInfo.uid)",
                   "authorizer.group('').resource('pods').namespace('default').check('create').allowed()", "authorizer.path('/healthz').check('get').allowed()",
                   "authorizer.requestResource.check('delete').allowed()", "authorizer.serviceAccount('default', 'x').group('apps').resource('deployments').check('get').errored()",
                   "object.metadata.labels.all(k, k.startsWith('a'))", "has(namespaceObject.metadata.labels)", "type(object.metadata) == map", "object.n == 3.0", "has(object.status)"]
        if self.params:
            options += ["params == null", "has(params.data)", "params != null && has(params.n)"]
        options += [f"variables.{name}" for name, of in self.variables if of == "bool"]
        roll = self.random.random()
        if depth > 0 and roll < 0.75:
            a, b = self.bool(depth - 1), self.bool(depth - 1)
            options = [f"({a} && {b})", f"({a} || {b})", f"!({a})", f"({self.int(depth - 1)} {self.pick('<', '<=', '>', '==', '!=')} {self.int(depth - 1)})",
                       f"({self.text(depth - 1)} {self.pick('==', '!=', '<')} {self.text(depth - 1)})", f"{self.text(depth - 1)}.{self.pick('startsWith', 'contains', 'endsWith')}({self.text(depth - 1)})",
                       f"{self.text(depth - 1)}.matches('^[a-z]+$')", f"{self.list(depth - 1)}.{self.pick('all', 'exists', 'exists_one')}(item, item == {self.text(depth - 1)})",
                       f"({self.text(depth - 1)} in {self.list(depth - 1)})", f"({a} ? {b} : {self.bool(depth - 1)})", f"size({self.list(depth - 1)}) > {self.int(depth - 1)}"]
        return self.random.choice(options)

    def wrong(self):
        """An expression that does not compile, or has another type."""
        return self.pick("object.x", "1", "'a' + 1 == 2", "missing", "request.missing == 'a'", "object.", "variables.none", "params.x == 1", "[1, 'a'].size() == 2",
                         "object.metadata.name.matches('[')", "request.kind == 'a'", "namespaceObject.metadata.generation == 'a'", "object.f(", "has(object)", "authorizer.check('a')",
                         "authorizer == 1", "request.userInfo == 1", "string(object)", "quantity('1Gi').sign() == 1", "optional.of(1).hasValue() == 2", "cel.bind(x, 1, x) == 1",
                         "lists.range(3) == [0]", "ip('10.0.0.1').family()", "Object{}", "JSONPatch{op: 'a'} == 1", "request.object == 1", "namespaceObject.kind == 'a'", "  ", "")


# Specs of policies that are written by hand, for what random expressions do not reach.
HARD = """
validations: [{"expression": "authorizer.path('/a').check('get').allowed() && authorizer.path('/b').check('get').allowed() && authorizer.path('/c').check('get').allowed()"}]
validations: [{"expression": "authorizer.path('/a').check('get').reason() == 'x'", "messageExpression": "'reason: ' + variables.r"}] variables: [{"name": "r", "expression": "authorizer.path('/a').check('get').reason()"}]
validations: [{"expression": "authorizer.serviceAccount('default', 'x').group('').resource('pods').namespace('default').check('list').reason() == 'x'"}]
validations: [{"expression": "authorizer.serviceAccount('Default', 'x').path('/x').check('list').allowed()"}, {"expression": "authorizer.path(' ').check('get').allowed()"}]
validations: [{"expression": "authorizer.requestResource.subresource('status').name('x').check('patch').allowed() && !authorizer.requestResource.check('none').errored()"}, {"expression": "authorizer == authorizer"}]
validations: [{"expression": "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))"}]
validations: [{"expression": "variables.big.size() < 0"}, {"expression": "variables.big.size() > 0"}] variables: [{"name": "big", "expression": "lists.range(1000).map(a, lists.range(400).size())"}]
validations: [{"expression": "variables.a == 1"}] variables: [{"name": "b", "expression": "object.none"}, {"name": "a", "expression": "variables.b + 1"}]
validations: [{"expression": "has(variables.a) || true"}, {"expression": "variables.?a.hasValue()"}, {"expression": "dyn(variables) == 1"}] variables: [{"name": "a", "expression": "object.none"}]
validations: [{"expression": "false", "messageExpression": "' two\\nlines'", "message": " own "}, {"expression": "false", "messageExpression": "' '"}, {"expression": "false", "messageExpression": "object.none"}]
validations: [{"expression": "false", "messageExpression": "lists.range(2000).map(i, 'aaaaaaaaaa').join('')", "message": "long"}]
validations: [{"expression": "request.options.fieldManager == 'x' || request.options == null"}, {"expression": "request.userInfo.groups == ['x']", "messageExpression": "request.userInfo.groups.join(',')"}]
validations: [{"expression": "namespaceObject.metadata.creationTimestamp == timestamp('2020-01-01T00:00:00Z')"}, {"expression": "namespaceObject.metadata.UID == ''"}]
validations: [{"expression": "object.metadata.labels == 'a'"}, {"expression": "object.metadata.labels + 1 == 2"}, {"expression": "object.metadata.name + 1 == 'a'"}, {"expression": "object.metadata.name < 1"}]
validations: [{"expression": "object[1] == 1"}, {"expression": "object.metadata.labels[1] == 'a'"}, {"expression": "object.metadata.name.missing() == 1"}, {"expression": "size(object.metadata.name) / 0 == 1"}]
validations: [{"expression": "size(object.metadata.generation) == 1"}, {"expression": "object.metadata.labels.all(k, v, v != k)"}, {"expression": "object.metadata.labels.transformMap(k, v, v + k).size() < 1"}]
validations: [{"expression": "type(object) == map && type(object.metadata.labels) == map && type(request) == map"}, {"expression": "type(authorizer) == type(authorizer)"}, {"expression": "type(variables) == map"}] variables: [{"name": "a", "expression": "1"}]
validations: [{"expression": "cel.bind(x, object.metadata.labels, x.size() > 5)"}, {"expression": "object.metadata.?annotations['note'].orValue('none') == 'x'"}, {"expression": "[1, 2, 3].sum() == 7"}]
validations: [{"expression": "ip('10.0.0.1').family() == 6"}, {"expression": "quantity('1Gi').isLessThan(quantity('1Mi'))"}, {"expression": "semver('1.2.3').major() == 2"}, {"expression": "url('https://a').getHost() == 'b'"}, {"expression": "cidr('10.0.0.0/8').containsIP('11.0.0.1')"}]
auditAnnotations: [{"key": "a", "valueExpression": "object.none"}] validations: [{"expression": "true"}]
auditAnnotations: [{"key": "a", "valueExpression": "authorizer.path('/a').check('get').reason()"}] validations: [{"expression": "true"}]
auditAnnotations: [{"key": "a", "valueExpression": "object.none"}] validations: [{"expression": "true"}] failurePolicy: "Ignore"
auditAnnotations: [{"key": "a", "valueExpression": "lists.range(1000).map(a, lists.range(1000).map(b, 'x').join('')).join('')"}] validations: [{"expression": "false", "message": "first"}]
matchConditions: [{"name": "a", "expression": "object.none"}] validations: [{"expression": "true"}]
matchConditions: [{"name": "a", "expression": "object.none == 1"}, {"name": "b", "expression": "object.other == 1"}] validations: [{"expression": "true"}]
matchConditions: [{"name": "a", "expression": "object.none == 1"}, {"name": "b", "expression": "false"}] validations: [{"expression": "false"}]
matchConditions: [{"name": "a", "expression": "namespaceObject == null"}, {"name": "b", "expression": "request.resource.version == 'v1'"}] validations: [{"expression": "namespaceObject == null"}]
matchConditions: [{"name": "a", "expression": "lists.range(1000).all(i, lists.range(900).size() > i)"}, {"name": "b", "expression": "lists.range(1000).all(i, lists.range(900).size() > i)"}, {"name": "c", "expression": "lists.range(1000).all(i, lists.range(900).size() > i)"}] validations: [{"expression": "false"}]
validations: [{"expression": "params == null"}, {"expression": "params.metadata.name == 'x'"}] paramKind: {"apiVersion": "none.example.com/v1", "kind": "None"}
validations: [{"expression": "params.kind == 'x'", "messageExpression": "params.apiVersion + params.kind + params.metadata.name"}] paramKind: {"apiVersion": "v1", "kind": "ConfigMap"}
validations: [{"expression": "params.kind == 'x'", "messageExpression": "params.apiVersion + params.kind"}] paramKind: {"apiVersion": "example.com/v1beta1", "kind": "Widget"}
""".strip().split("\n")
FIELD = re.compile(r"(?:^| )([a-zA-Z]+): (?=[\[{\"])")


def by_hand(name, line):
    """A policy of the list, and its binding."""
    parts = FIELD.split(line)[1:]
    spec = {key: json.loads(text) for key, text in zip(parts[::2], parts[1::2])}
    rules = [{"apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": ["*"]} for group, version, resource in RULES.values()]
    spec["matchConstraints"] = {"resourceRules": rules, "objectSelector": {"matchLabels": {"policy": name}}}
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}
    bound = {"policyName": name, "validationActions": ["Deny"]}
    if "paramKind" in spec:
        bound["paramRef"] = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    return policy, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": f"{name}-binding"}, "spec": bound}


class Policies:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def policy(self, name):
        """A policy and its binding."""
        choose = self.random
        kinds = choose.sample(sorted(set(RULES) - {"namespaces"}), choose.randint(1, 3))
        params = choose.random() < 0.4
        variables = []
        made = []
        for at in range(choose.choice([0, 0, 1, 2, 3])):
            of = choose.choice(["int", "text", "list", "bool"])
            source = Expressions(choose, params, variables)
            made.append({"name": f"v{at}", "expression": getattr(source, of)(2)})
            variables.append((f"v{at}", of))
        source = Expressions(choose, params, variables)
        spec = {"matchConstraints": self.constraints(kinds, name), "validations": []}
        if made:
            spec["variables"] = made
        if params:
            spec["paramKind"] = choose.choice([{"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": "example.com/v1", "kind": "Widget"}, {"apiVersion": "example.com/v1beta1", "kind": "Widget"}, {"apiVersion": "example.com/v1", "kind": "Gadget"}])
        for _ in range(choose.choice([1, 1, 2, 3])):
            validation = {"expression": source.bool(3) if choose.random() < 0.97 else source.wrong()}
            if choose.random() < 0.4:
                validation["message"] = choose.choice(["no", " spaces ", "it must not"])
            if choose.random() < 0.4:
                validation["messageExpression"] = source.text(2) if choose.random() < 0.9 else source.wrong()
            if choose.random() < 0.3:
                validation["reason"] = choose.choice(["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"])
            spec["validations"].append(validation)
        if choose.random() < 0.4:
            spec["matchConditions"] = [{"name": f"c{at}", "expression": Expressions(choose, params, []).bool(2) if choose.random() < 0.95 else source.wrong()} for at in range(choose.randint(1, 2))]
        if choose.random() < 0.2:
            spec["auditAnnotations"] = [{"key": "a", "valueExpression": choose.choice([source.text(1), f"{source.bool(1)} ? {source.text(1)} : null", source.wrong()])}]
        if choose.random() < 0.3:
            spec["failurePolicy"] = choose.choice(["Fail", "Ignore"])
        policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}
        return policy, self.binding(name, params)

    def constraints(self, kinds, name):
        choose = self.random
        rules = []
        for kind in kinds:
            group, version, resource = RULES[kind]
            version = choose.choice([version, "*", "v1beta1" if group == "example.com" else version])
            rule = {"apiGroups": [choose.choice([group, "*"]) if len(kinds) == 1 else group], "apiVersions": [version], "resources": [choose.choice([resource, f"{resource}/*", "*", resource])],
                    "operations": choose.choice([["*"], ["CREATE"], ["CREATE", "UPDATE"], ["DELETE", "CREATE"]])}
            if choose.random() < 0.1:
                rule["resourceNames"] = ["a", "b"]
            if choose.random() < 0.1:
                rule["scope"] = choose.choice(["Namespaced", "Cluster", "*"])
            rules.append(rule)
        constraints = {"resourceRules": rules, "objectSelector": {"matchLabels": {"policy": name}}}
        if choose.random() < 0.15:
            constraints["matchPolicy"] = choose.choice(["Exact", "Equivalent"])
        if choose.random() < 0.1:
            constraints["excludeResourceRules"] = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["*"]}]
        if choose.random() < 0.15:
            constraints["namespaceSelector"] = {"matchLabels": {"environment": "test"}}
        return constraints

    def binding(self, name, params):
        choose = self.random
        actions = choose.choice([["Deny"]] * 6 + [["Warn"], ["Audit"], ["Warn", "Audit"], ["Deny", "Audit"]])
        spec = {"policyName": name, "validationActions": actions}
        if params and choose.random() < 0.9:
            reference = {"parameterNotFoundAction": choose.choice(["Deny", "Allow"])}
            if choose.random() < 0.75:
                reference["name"] = choose.choice(["limits", "limits", "limits", "none"])
            else:
                reference["selector"] = choose.choice([{"matchLabels": {"limits": "yes"}}, {"matchLabels": {"limits": "none"}}])
            if choose.random() < 0.5:
                reference["namespace"] = choose.choice(["default", "team", "none"])
            spec["paramRef"] = reference
        if choose.random() < 0.15:
            spec["matchResources"] = choose.choice([{"namespaceSelector": {"matchExpressions": [{"key": "environment", "operator": "DoesNotExist"}]}},
                                                    {"objectSelector": {"matchLabels": {"app": "a"}}},
                                                    {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]}])
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": f"{name}-binding"}, "spec": spec}

    def request(self, policy, kinds):
        """A method, a path and a body: a dry run with the label of a policy, mostly for one of the kinds that it selects."""
        choose = self.random
        kind = choose.choice(["configmaps", "deployments", "widgets", "gadgets"])
        kind = choose.choice(kinds) if kinds and choose.random() < 0.8 else kind
        namespace = choose.choice(["default", "team"])
        name = choose.choice(["a", "b", "abc", "x-1"])
        metadata = {"name": name, "labels": {"policy": policy}}
        if choose.random() < 0.7:
            metadata["labels"]["app"] = choose.choice(["a", "b"])
        if choose.random() < 0.3:
            metadata["annotations"] = {"note": "n"}
        body = {"metadata": metadata}
        version = "v1"
        if kind == "configmaps":
            base = f"/api/v1/namespaces/{namespace}/configmaps"
            if choose.random() < 0.7:
                body["data"] = {choose.choice(["n", "name"]): choose.choice(["1", "5", "a"])}
        elif kind == "deployments":
            base = f"/apis/apps/v1/namespaces/{namespace}/deployments"
            labels = {"app": "x"}
            pod = {"containers": [{"name": "c", "image": choose.choice(["a", "example.com/b"])}]}
            body["spec"] = {"replicas": choose.choice([0, 1, 3, 7]), "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
        else:
            version = choose.choice(["v1", "v1", "v1beta1"])
            scope = f"namespaces/{namespace}/" if kind == "widgets" else ""
            base = f"/apis/example.com/{version}/{scope}{kind}"
            body |= {"apiVersion": f"example.com/{version}", "kind": kind[:-1].capitalize()}
            body |= choose.choice([{}, {"n": 3}, {"n": 5, "list": ["a"]}, {"list": ["a", "c"], "n": "x"}, {"n": None, "spec": {"replicas": 2}}, {"n": 2.5}])
        if choose.random() < 0.75:
            return "POST", f"{base}?dryRun=All", body
        # These exist, with the labels of all policies of a batch in turn.
        body["metadata"]["name"] = "stored"
        if choose.random() < 0.5:
            return "DELETE", f"{base}/stored?dryRun=All", None
        return "PATCH", f"{base}/stored?dryRun=All", {"metadata": {"labels": metadata["labels"], "annotations": {"note": "n"}}}


class Side:
    def __init__(self, url):
        self.server = run.Server(url, "secret")

    def send(self, method, path, body=None):
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = run.common(self.server.send(method, path, body, content), body)
        text = json.dumps(answer)
        return json.loads(text.replace("fieldmanager", "kube-apiserver"))


def comparable(answer):
    """An answer without what servers do not have in common here: who manages fields, and the status of policies."""
    body = answer["body"]
    if isinstance(body, dict):
        if isinstance(body.get("metadata"), dict):
            body["metadata"].pop("managedFields", None)
        if "AdmissionPolicy" in body.get("kind", ""):
            body.pop("status", None)
    return answer


def start(options, folder):
    environment = {**os.environ, "ADMISSION": "default", "AUTHORIZATION": "RBAC"}
    command = ["bash", options.start, options.kube_apiserver, f"{folder}/real", str(options.port), str(options.port + 1)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    tokens = pathlib.Path(folder, "tokens.csv")
    tokens.write_text("secret,admin,admin,system:masters\n")
    serve = [options.fieldmanager, "serve", "--port", str(options.port + 5), "--token-file", str(tokens), "--no-collector", "--authorization", "rbac",
             "--kubeconfig", f"{folder}/kubeconfig"]
    log = open(f"{folder}/ours.log", "w")
    process = subprocess.Popen(serve, stdout=log, stderr=log)
    sides = [Side(f"https://127.0.0.1:{options.port}"), Side(f"http://127.0.0.1:{options.port + 5}")]
    for _ in range(100):
        try:
            sides[1].server.send("GET", "/readyz")
            break
        except ConnectionError:
            time.sleep(0.1)

    def stop():
        process.terminate()
        process.wait()
        subprocess.run(["kill", pathlib.Path(folder, "real/pid").read_text().strip()])

    return sides, stop


def marker(name):
    """A policy that refuses the ConfigMap of its name."""
    spec = {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"], "resourceNames": [name]}]},
            "validations": [{"expression": "false", "message": name}]}
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}
    binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
               "spec": {"policyName": name, "validationActions": ["Deny"]}}
    return policy, binding


def install(side, policy, binding):
    return [comparable(side.send("POST", f"{GROUP}/validatingadmissionpolicies", policy)),
            comparable(side.send("POST", f"{GROUP}/validatingadmissionpolicybindings", binding))]


def wait_for(side, name):
    for _ in range(300):
        answer = side.send("POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": name}})
        if answer["code"] == 422:
            return
        time.sleep(0.1)
    raise SystemExit(f"the policies with {name} did not act")


class Comparison:
    def __init__(self, options, sides):
        self.options, self.sides = options, sides
        self.codes, self.different, self.requests, self.lines = collections.Counter(), 0, 0, []

    def report(self, what, sent, answers):
        found = list(run.differences(*answers))
        self.codes[answers[0]["code"]] += 1
        if not found:
            return False
        self.different += 1
        print(f"{what}\n  sent {json.dumps(sent)[:1500]}")
        for path, real, ours in found[:6]:
            print(f"  {path}\n    kube-apiserver {json.dumps(real)[:1500]}\n    this server    {json.dumps(ours)[:1500]}")
        sys.stdout.flush()
        return True

    def batch(self, number, pairs, policies):
        """Installs policies, and sends requests to each."""
        print(f"batch {number}", file=sys.stderr)
        kept = []
        for policy, binding in pairs:
            answers = [install(side, policy, binding) for side in self.sides]
            name = policy["metadata"]["name"]
            self.report(f"policy {name}", policy, [answers[0][0], answers[1][0]])
            self.report(f"binding of {name}", binding, [answers[0][1], answers[1][1]])
            codes = [answer["code"] for both in answers for answer in both]
            if codes == [201] * 4:
                kept.append((policy, binding))
        name = f"marker-{number}"
        for side in self.sides:
            install(side, *marker(name))
            wait_for(side, name)
        for policy, binding in kept:
            name = policy["metadata"]["name"]
            record = {"policy": policy, "binding": binding, "requests": []}
            rules = policy["spec"]["matchConstraints"]["resourceRules"]
            kinds = [kind for kind in RULES if kind != "namespaces" and any(kind in rule["resources"] for rule in rules)]
            for _ in range(self.options.requests):
                method, path, body = policies.request(name, kinds)
                answers = [comparable(side.send(method, path, body)) for side in self.sides]
                self.requests += 1
                if self.report(f"{name}: {method} {path}", [body, policy["spec"], binding["spec"]], answers):
                    continue
                refused = answers[0]["body"].get("message", "") if answers[0]["code"] >= 400 else ""
                record["requests"].append([method, path, body, answers[0]["code"], refused, answers[0]["warnings"]])
            self.lines.append(record)
        for policy, binding in kept:
            for side in self.sides:
                name = policy["metadata"]["name"]
                side.send("DELETE", f"{GROUP}/validatingadmissionpolicybindings/{name}-binding")
                side.send("DELETE", f"{GROUP}/validatingadmissionpolicies/{name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kube_apiserver")
    parser.add_argument("fieldmanager")
    parser.add_argument("--start", default=str(HERE.parent / "kube-apiserver/start.sh"), help="what starts kube-apiserver")
    parser.add_argument("--port", type=int, default=27900, help="the first of eight ports")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policies", type=int, default=100)
    parser.add_argument("--requests", type=int, default=20, help="for each policy")
    parser.add_argument("--record", type=pathlib.Path, help="write the policies that were the same")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sides, stop = start(options, folder)
        try:
            comparison = Comparison(options, sides)
            for side in sides:
                for path, body in SETUP:
                    side.send("POST", path, body)
            time.sleep(2)
            for side in sides:
                for path, body in PARAMS:
                    answer = side.send("POST", path, body)
                    assert answer["code"] == 201, answer
                    stored = {**body, "metadata": {"name": "stored", "labels": {"policy": "stored", "app": "a"}}}
                    side.send("POST", path, stored)
            policies = Policies(options.seed)
            written = [by_hand(f"hand-{at}", line) for at, line in enumerate(HARD)]
            comparison.batch("hand", written, policies)
            for number in range(0, options.policies, BATCH):
                count = min(BATCH, options.policies - number)
                pairs = [policies.policy(f"p{options.seed}-{number + at}") for at in range(count)]
                comparison.batch(number // BATCH, pairs, policies)
        finally:
            stop()
    codes = ", ".join(f"{count} {code}" for code, count in sorted(comparison.codes.items()))
    print(f"seed {options.seed}: {options.policies} policies, {comparison.requests} requests ({codes}), {comparison.different} different answers")
    if options.record:
        lines = [{"setup": SETUP, "params": PARAMS}, *comparison.lines]
        options.record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    sys.exit(1 if comparison.different else 0)


if __name__ == "__main__":
    main()
