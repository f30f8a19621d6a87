"""Writes policies whose types are checked, with what `cmd/typecheck` of comparison/oracle/server says of them.

usage: type_checks.py TYPECHECK URL TOKEN > server/apiserver/tests/data/type_checks.jsonl

TYPECHECK is the built program, URL a kube-apiserver, on which the definitions below are created. The first line of the
output has the definitions, the others a policy and its warnings each.
"""

import json
import random
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

SHOP = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer"}, "ratio": {"type": "number"}, "open": {"type": "boolean"},
                "name": {"type": "string"}, "since": {"type": "string", "format": "date-time"},
                "time": {"type": "string", "format": "duration"}, "logo": {"type": "string", "format": "byte"},
                "port": {"x-kubernetes-int-or-string": True}, "any": {"x-kubernetes-preserve-unknown-fields": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "prices": {"type": "object", "additionalProperties": {"type": "integer"}},
                "shelves": {"type": "array", "items": {"type": "object", "properties": {
                    "goods": {"type": "array", "items": {"type": "string"}}, "in": {"type": "string"},
                    "a-b": {"type": "integer"}, "loose": {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}}}}},
                "part": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
                "whole": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {
                    "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}},
            },
        },
        "status": {"type": "object", "properties": {"count": {"type": "integer"}}},
    },
}


def definition(kind, plural, versions):
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.types.example.com"},
        "spec": {"group": "types.example.com", "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                 "versions": [{"name": name, "served": True, "storage": at == 0, "schema": {"openAPIV3Schema": schema}}
                              for at, (name, schema) in enumerate(versions)]},
    }


FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
OTHER = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string"}}}}}
DEFINITIONS = [definition("Shop", "shops", [("v1", SHOP), ("v2", OTHER)]), definition("Free", "frees", [("v1", FREE)])]

RULES = [
    ([""], ["v1"], ["pods"]), (["apps"], ["v1"], ["deployments"]), (["apps"], ["v1"], ["deployments", "statefulsets", "daemonsets"]),
    ([""], ["v1"], ["configmaps"]), ([""], ["v1"], ["pods", "services", "configmaps"]), (["apps"], ["v1", "v1beta1"], ["deployments"]),
    (["*"], ["v1"], ["pods"]), (["apps"], ["*"], ["deployments"]), (["apps"], ["v1"], ["*"]), ([""], ["v1"], ["pods/status", "secrets"]),
    (["batch", "apps"], ["v1"], ["jobs", "deployments"]), ([""], ["v1"], ["deployments", "events"]), (["apps"], ["v1"], ["deployment"]),
    (["apiextensions.k8s.io"], ["v1"], ["customresourcedefinitions"]), (["apiregistration.k8s.io"], ["v1"], ["apiservices"]),
    (["types.example.com"], ["v1"], ["shops"]), (["types.example.com"], ["v1", "v2"], ["shops", "frees"]), (["unknown.example.com"], ["v1"], ["shops"]),
    ([""], ["v1"], ["pods", "services", "configmaps", "secrets", "nodes", "namespaces", "endpoints", "persistentvolumes",
                    "persistentvolumeclaims", "replicationcontrollers", "serviceaccounts", "limitranges"]),
    (["networking.k8s.io", "policy"], ["v1"], ["ingresses", "networkpolicies", "poddisruptionbudgets"]),
    (["admissionregistration.k8s.io"], ["v1"], ["validatingadmissionpolicies"]), (["autoscaling"], ["v1", "v2"], ["horizontalpodautoscalers"]),
]

EXPRESSIONS = [
    "object.spec.replicas <= 5", "object.spec.replicas == 'x'", "object.spec.replicas <= '5'", "object.spec.nothing == 1",
    "object.metadata.name.startsWith('a')", "object.metadata.labels['app'] == 'web'", "has(object.metadata.labels)", "object.metadata.labels.app == 1",
    "object.spec.template.spec.containers.all(c, c.image.startsWith('example.com/'))", "object.spec.template.spec.containers.all(c, c.image > 1)",
    "object.spec.containers.all(c, has(c.resources.limits))", "object.spec.containers.exists(c, c.name == 1)", "object.spec.containers[0].ports[0].hostPort == 80",
    "object.spec.containers.all(c, c.resources.limits['cpu'] == '1')", "object.spec.template.spec.containers[0].livenessProbe.httpGet.port == 80",
    "object.data['a'] == 'b'", "object.data.a.b == 'b'", "object.data == null", "object.binaryData['x'] == b'x'", "object == oldObject", "oldObject == null",
    "oldObject.spec.replicas < object.spec.replicas", "object.spec == object.metadata", "object.kind == 'Pod' && object.apiVersion == 'v1'", "object.spec", "object",
    "object.metadata.creationTimestamp < timestamp('2024-01-01T00:00:00Z')", "object.metadata.creationTimestamp == 'x'", "object.metadata.managedFields.size() > 0",
    "object.spec.size > 1", "object.spec.size.matches('x')", "object.spec.ratio > 1.0", "object.spec.ratio > 1", "object.spec.open", "object.spec.open == 'x'",
    "object.spec.since > timestamp('2024-01-01T00:00:00Z')", "object.spec.time < duration('1h')", "object.spec.logo.size() > 1", "object.spec.port == 80 || object.spec.port == 'http'",
    "object.spec.any == 1", "object.spec.free == {}", "object.spec.free.x == 1", "object.spec.prices['tea'] > 1", "object.spec.prices.tea > 'x'", "object.spec.shelves[0].goods[0] + 1 == 2",
    "object.spec.shelves.all(s, s.goods.exists(g, g == 'tea'))", "object.spec.shelves.exists(s, s.in == 'x')", "object.spec.shelves.exists(s, s.__in__ == 'x')", "object.spec.shelves[0].a__dash__b == 1",
    "object.spec.shelves[0].loose.size() == 1", "object.spec.part.kind == 'x'", "object.spec.part.spec.x == 1", "object.spec.whole.metadata.name == 'x'", "object.spec.whole.metadata.labels == {}",
    "object.spec.whole.spec.size == 'x'", "object.status.count > 1", "object.x.y.z", "object.spec.versions.all(v, v.schema.openAPIV3Schema.properties.size() > 0)",
    "object.spec.versions.all(v, v.schema.openAPIV3Schema.properties['x'].properties['y'].type == 1)", "object.spec.versions[0].schema.openAPIV3Schema.type == 1",
    "object.spec.service.port == 443", "object.spec.caBundle == 'x'", "object.spec.rules[0].host == 'a'", "object.spec.maxUnavailable == '5%'", "object.spec.ports[0].targetPort == 80",
    "params.data['max'] == '1'", "params.spec.size > 1", "params == object", "params.x.y == 1", "params == null", "params.metadata.name == 1",
    "variables.a == 1", "variables.a == 'x'", "variables.b.spec.replicas == 1", "variables.c > 1", "variables.d.size() == 1", "variables.nothing == 1", "variables.e == null",
    "authorizer.group('apps').resource('deployments').check('get').allowed()", "authorizer.requestResource.check('get').allowed()", "authorizer.path(1)",
    "request.userInfo.username == 'x'", "request.userInfo.extra['a'][0] == 1", "request.dryRun == 'x'", "request.options.x == 1", "request.nothing == 1",
    "namespaceObject.metadata.labels.environment == 'x'", "namespaceObject.spec.x == 1", "namespaceObject == object", "request == object", "request.kind == request.resource",
    "1 + 'x' == 2", "nothing == 1", "object.spec.replicas <=", "true ||| false", "object..spec", "  ", "1", "'text'", "quantity(object.spec.x).isLessThan(quantity('1'))",
    "duration('x') == duration('1h')", "object.spec.replicas.matches('[')", "'a'.matches('[')", "object.?spec.?replicas.orValue(1) == 1", "object.?spec.orValue('x') == 'x'",
    "[1, 'x'].all(x, x == 1)", "[object.spec, object.metadata].size() == 2", "{'a': object.spec}.a.replicas == 1", "(has(object.spec) ? object.spec : object.metadata) == object",
    "object.metadata.labels.all(k, k.startsWith('x'))", "object.metadata.labels.all(k, v, k == v)", "object.metadata.labels.transformMap(k, v, v.size()).all(k, v, v > 1)",
    "object.metadata.ownerReferences.exists(o, o.controller && o.kind == 1)", "object.metadata.finalizers.map(f, f.size()).sum() > 1", "object.metadata.finalizers.sum() > 1",
    "object.metadata.namespace in ['a', 'b']", "object.metadata.namespace in [1]", "object.metadata.generation + 1.0 > 2.0", "cel.bind(x, object.spec.replicas, x == 'a')", "dyn(object).x == 1",
    "type(object) == type(oldObject)", "string(object.spec.replicas) == '1'", "int(object.metadata.name) == 1", "object.spec.replicas == null", "object.metadata.name == null",
    "object.spec.selector == null", "Object{spec: Object.spec{}} == object", "JSONPatch{op: 'x'}.op == 'x'", "object.spec.replicas\n  == 'x'", "object.metadata.name == 'ü' && object.metadata.name == 1",
]

VARIABLES = {
    "a": ["1", "object.spec.replicas", "object.metadata.name", "nothing", "object.spec.x"], "b": ["object", "oldObject", "[object][0]"],
    "c": ["object.metadata.labels.size()", "'x'", "variables.a"], "d": ["object.metadata.labels", "[1]", "object.spec", "[object.spec]", "duration('1s')"],
    "e": ["null", "params", "optional.of(1)", "timestamp('2024-01-01T00:00:00Z')", "bytes('x')", "1u", "1.0"],
}

PARAMS = [None, None, ("v1", "ConfigMap"), ("types.example.com/v1", "Shop"), ("types.example.com/v2", "Shop"), ("types.example.com/v1", "Free"),
          ("unknown.example.com/v1", "Nothing"), ("apps/v1", "Deployment")]


def policies():
    chance = random.Random(33)
    rest = list(EXPRESSIONS)
    for number in range(320):
        rules = [RULES[number % len(RULES)]] + chance.choices(RULES, k=chance.choice([0, 0, 0, 1, 2]))
        validations = []
        for _ in range(chance.randint(1, 6)):
            if not rest:
                rest = list(EXPRESSIONS)
            chance.shuffle(rest)
            validation = {"expression": rest.pop()}
            if chance.random() < 0.2:
                validation["messageExpression"] = chance.choice(EXPRESSIONS)
            validations.append(validation)
        spec = {
            "matchConstraints": {"resourceRules": [
                {"apiGroups": groups, "apiVersions": versions, "operations": ["*"], "resources": resources} for groups, versions, resources in rules]},
            "validations": validations,
        }
        if chance.random() < 0.5:
            spec["variables"] = [{"name": name, "expression": chance.choice(VARIABLES[name])} for name in sorted(chance.sample(list(VARIABLES), 4))]
        kind = chance.choice(PARAMS)
        if kind:
            spec["paramKind"] = {"apiVersion": kind[0], "kind": kind[1]}
        yield {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
               "metadata": {"name": f"p-{number}", "generation": 1}, "spec": spec}


def main():
    program, url, token = sys.argv[1:]
    context = ssl._create_unverified_context()
    for body in DEFINITIONS:
        request = urllib.request.Request(url + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(body).encode(),
                                         {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        try:
            urllib.request.urlopen(request, context=context)
        except urllib.error.HTTPError as error:
            if error.code != 409:
                raise
    time.sleep(5)  # until the documents have them

    all_policies = list(policies())
    lines = "".join(json.dumps(policy) + "\n" for policy in all_policies)
    answers = subprocess.run([program, url, token], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    print(json.dumps({"definitions": DEFINITIONS}))
    for policy, answer in zip(all_policies, answers, strict=True):
        print(json.dumps({"policy": policy, "warnings": json.loads(answer) or []}, ensure_ascii=False))


main()
