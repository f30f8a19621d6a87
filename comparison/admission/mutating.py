#!/usr/bin/env python3
"""Records what a kube-apiserver with default plugins makes of policies that mutate, and of requests that they see.

usage: mutating.py URL OUT.jsonl [SECONDS]

A line is a case: its objects, the answers to those that are refused, and requests with their answers. The server accepts the
token `secret`; it knows a policy after SECONDS.
"""

import json, sys, time, requests, urllib3

urllib3.disable_warnings()

session = requests.Session()
session.verify = False
session.trust_env = False
session.headers["Authorization"] = "Bearer secret"
url, out = sys.argv[1], open(sys.argv[2], "w")
delay = float(sys.argv[3]) if len(sys.argv) > 3 else 1.3

GROUP = "/apis/admissionregistration.k8s.io/v1"
FOLDERS = {
    "MutatingAdmissionPolicy": GROUP + "/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": GROUP + "/mutatingadmissionpolicybindings",
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
}
JSON, APPLY, MERGE = "application/json", "application/apply-patch+yaml", "application/merge-patch+json"
PODS = "/api/v1/namespaces/default/pods"
MAPS = FOLDERS["ConfigMap"]
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def call(method, path, body=None, kind=JSON):
    query = {"fieldManager": "me", "force": "true"} if kind == APPLY else {"fieldManager": "me"}
    if method == "DELETE":
        query = {"gracePeriodSeconds": "0"}
    data = None if body is None else json.dumps(body)
    answer = session.request(method, url + path, data=data, params=query, headers={"Content-Type": kind})
    return answer.status_code, answer.json()


def scrub(answer):
    """An answer without what differs in each run."""
    for name in ("uid", "creationTimestamp", "resourceVersion"):
        answer.get("metadata", {}).pop(name, None)
    for entry in answer.get("metadata", {}).get("managedFields", []):
        entry.pop("time", None)
    return answer


def run(name, objects, exchanges):
    made, refused = [], []
    for body in objects:
        folder = FOLDERS[body["kind"]]
        code, answer = call("POST", folder, body)
        if code == 201:
            made.append(folder + "/" + body["metadata"]["name"])
        else:
            refused.append({"object": body["metadata"]["name"], "code": code, "answer": scrub(answer)})
    if exchanges:
        time.sleep(delay)
    answered = []
    for method, path, body, kind in exchanges:
        code, answer = call(method, path, body, kind)
        if method != "DELETE":
            answered.append({"method": method, "path": path, "type": kind, "body": body, "code": code, "answer": scrub(answer)})
    for path in made:
        call("DELETE", path)
    for method, path, body, kind in exchanges:
        if method == "POST":
            path = path + "/" + body["metadata"]["name"]
        call("DELETE", path)
    out.write(json.dumps({"name": name, "objects": objects, "refused": refused, "requests": answered}, sort_keys=True) + "\n")


def rules(group="", resources=("configmaps",), operations=("*",)):
    return [{"apiGroups": [group], "apiVersions": ["v1"], "operations": list(operations), "resources": list(resources)}]


def policy(name, mutations, of=None, **spec):
    spec = {
        "matchConstraints": {"resourceRules": of or rules()}, "failurePolicy": "Fail", "reinvocationPolicy": "Never",
        "mutations": mutations if isinstance(mutations, list) else [mutations], **spec,
    }
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def binding(policy, name=None, **spec):
    name = name or policy + "-binding"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": policy, **spec},
    }


def apply(expression):
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patch(expression):
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def config_map(name, **fields):
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def pod(name, **spec):
    spec = {"containers": [{"name": "app", "image": "app:1"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def deployment(name):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def create(body, folder=MAPS):
    return ("POST", folder, body, JSON)


def one(name, mutations, exchanges=None, **spec):
    """A policy with a binding, and the creation of a ConfigMap unless other requests are given."""
    requests = exchanges if exchanges is not None else [create(config_map(name))]
    run(name, [policy(name, mutations, **spec), binding(name)], requests)


# The examples of the documentation.
of_pods = rules("", ["pods"], ["CREATE"])
SIDECAR = """Object{
  spec: Object.spec{
    initContainers: [
      Object.spec.initContainers{
        name: "mesh-proxy",
        image: "mesh/proxy:v1.0.0",
        %srestartPolicy: "Always"
      }
    ]
  }
}"""
condition = [{"name": "does-not-already-have-sidecar", "expression": '!object.spec.?initContainers.orValue([]).exists(ic, ic.name == "mesh-proxy")'}]
one("sidecar", apply(SIDECAR % ""), [
    create(pod("plain"), PODS), ("PATCH", PODS + "/applied", pod("applied"), APPLY), ("PATCH", PODS + "/applied", pod("applied"), APPLY),
    ("PATCH", PODS + "/applied", {"metadata": {"labels": {"a": "b"}}}, MERGE),
    create(pod("has-it", initContainers=[{"name": "mesh-proxy", "image": "old"}]), PODS),
    create(pod("has-others", initContainers=[{"name": "i", "image": "i"}]), PODS),
], of=of_pods, matchConditions=condition, reinvocationPolicy="IfNeeded")
one("sidecar-with-arguments", apply(SIDECAR % 'args: ["proxy", "sidecar"],\n        '), [create(pod("plain"), PODS)], of=of_pods)
one("sidecar-by-patch", patch("""[
  JSONPatch{
    op: "add", path: "/spec/initContainers/-",
    value: Object.spec.initContainers{
      name: "mesh-proxy",
      image: "mesh-proxy/v1.0.0",
      restartPolicy: "Always"
    }
  }
]"""), [create(pod("plain"), PODS), create(pod("has-others", initContainers=[{"name": "i", "image": "i"}]), PODS)], of=of_pods)
one("labels", patch("""[
  JSONPatch{op: "test", path: "/metadata/labels/env", value: "prod"},
  JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/environment"), value: "production"}
]"""), [
    create(config_map("prod", metadata={"labels": {"env": "prod"}})), create(config_map("test", metadata={"labels": {"env": "test"}})),
    create(config_map("none")),
    ("PATCH", MAPS + "/applied", config_map("applied", metadata={"labels": {"env": "prod"}}, data={"a": "b"}), APPLY),
])
of_deployments = rules("apps", ["deployments", "deployments/scale"])
one("pod-template", apply("""Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
  containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
    name: c.name,
    env: [Object.spec.template.spec.containers.env{name: "REGION", value: "eu"}],
    ports: [Object.spec.template.spec.containers.ports{containerPort: 80}]
  }),
  volumes: [Object.spec.template.spec.volumes{name: "v", emptyDir: Object.spec.template.spec.volumes.emptyDir{}}]
}}}}"""), [
    create(deployment("made"), DEPLOYMENTS), ("PATCH", DEPLOYMENTS + "/applied", deployment("applied"), APPLY),
    ("PATCH", DEPLOYMENTS + "/applied", {"spec": {"replicas": 3}}, MERGE),
], of=of_deployments)

# What policies cannot do, and how they fail.
one("other-name", apply('Object{metadata: Object.metadata{generateName: "other-"}}'))
one("other-namespace", apply('Object{metadata: Object.metadata{namespace: "other"}}'))
one("undeclared", apply('Object{dat: {"a": "b"}}'))
one("undeclared-ignored", apply('Object{dat: {"a": "b"}}'), failurePolicy="Ignore")
one("no-such-key", apply("Object{data: {'a': object.nope}}"))
one("type-name", apply("Object{data: Object.dat{a: 'b'}}"))
one("missing", patch("[JSONPatch{op: 'remove', path: '/data/a'}]"))
one("undeclared-by-patch", patch("[JSONPatch{op: 'add', path: '/dat', value: {'a': 'b'}}]"))
one("undeclared-by-patch-ignored", patch("[JSONPatch{op: 'add', path: '/dat', value: {'a': 'b'}}]"), failurePolicy="Ignore")
one("other-kind", patch("[JSONPatch{op: 'replace', path: '/kind', value: 'Foo'}]"))
one("wrong-type-by-patch", patch("[JSONPatch{op: 'add', path: '/data', value: 1}]"))
one("atomic", apply("Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}"), [create(deployment("d"), DEPLOYMENTS)], of=of_deployments)
one("fraction", apply("Object{spec: Object.spec{replicas: 1.5}}"), [create(deployment("d"), DEPLOYMENTS)], of=of_deployments)
one("scale", apply("Object{spec: Object.spec{replicas: 7}}"), [
    create(deployment("d"), DEPLOYMENTS), ("PATCH", DEPLOYMENTS + "/d/scale", {"spec": {"replicas": 3}}, MERGE),
], of=rules("apps", ["deployments/scale"]))
one("managed-fields", apply("Object{metadata: Object.metadata{managedFields: []}}"))
one("owner", apply("Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{uid: 'u'}]}}"))
one("metadata", apply("Object{metadata: Object.metadata{finalizers: ['example.com/a'], annotations: Object.metadata.annotations{c: 'd'}}}"), [
    create(config_map("m")), ("PATCH", MAPS + "/m", {"metadata": {"finalizers": None}}, MERGE),
], of=rules(operations=["CREATE"]))
lists = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
one("budget", apply("Object{data: {'x': string(%s)}}" % (".map(a, ".join([lists] * 7) + ", 1" + ")" * 6 + ".size()").replace(lists + ", 1", "1")))

# Several mutations, policies and bindings.
one("two-mutations", [apply("Object{data: {'a': '1'}}"), apply("Object{data: {'b': object.data.a + '2'}}")])
one("first-fails", [apply("Object{data: {'a': object.nope}}"), apply("Object{data: {'b': '2'}}")], failurePolicy="Ignore")
one("both-fail", [apply("Object{data: {'a': object.nope}}"), apply("Object{data: {'b': object.nope2}}")])
grow = "Object{data: {'x': object.?data.x.orValue('') + 'a'}}"
run("two-bindings", [policy("grows", apply(grow)), binding("grows", "one"), binding("grows", "two")], [create(config_map("c"))])
one("again", apply(grow), reinvocationPolicy="IfNeeded")
one("once", apply(grow))
run("again-after-another", [
    policy("grows", apply(grow), reinvocationPolicy="IfNeeded"), binding("grows"),
    policy("other", apply("Object{data: {'y': 'b'}}")), binding("other"),
], [create(config_map("c"))])
one("update", apply("Object{data: {'x': string(oldObject == null)}}"), [
    create(config_map("c")), ("PUT", MAPS + "/c", config_map("c", data={"q": "r"}), JSON), ("DELETE", MAPS + "/c", None, JSON),
])

# Parameters, variables and conditions.
parameters = {"apiVersion": "v1", "kind": "ConfigMap"}
by_name = {"name": "params", "namespace": "default", "parameterNotFoundAction": "Deny"}
variables = [{"name": "z", "expression": "params.data.v + 'z'"}, {"name": "zz", "expression": "variables.z + variables.z"}]
with_parameters = policy("p", apply("Object{data: {'x': variables.zz}}"), of=rules(operations=["CREATE"]), paramKind=parameters, variables=variables)
run("parameters", [config_map("params", data={"v": "17"}), with_parameters, binding("p", paramRef=by_name)], [create(config_map("c"))])
run("parameters-missing", [with_parameters, binding("p", paramRef=by_name)], [create(config_map("c"))])
run("parameters-missing-allowed", [with_parameters, binding("p", paramRef={**by_name, "parameterNotFoundAction": "Allow"})], [create(config_map("c"))])
run("parameters-selected", [
    config_map("p1", data={"v": "1"}, metadata={"labels": {"p": "1"}}), config_map("p2", data={"v": "2"}, metadata={"labels": {"p": "1"}}),
    policy("p", patch("[JSONPatch{op: 'add', path: '/metadata/labels/v' + params.data.v, value: 'v'}]"), of=rules(operations=["CREATE"]), paramKind=parameters),
    binding("p", paramRef={"selector": {"matchLabels": {"p": "1"}}, "namespace": "default", "parameterNotFoundAction": "Deny"}),
], [create(config_map("c", metadata={"labels": {"a": "b"}}))])
one("condition-fails", apply("Object{data: {'x': '1'}}"), matchConditions=[{"name": "c", "expression": "object.nope == 1"}])
one("condition-fails-ignored", apply("Object{data: {'x': '1'}}"), failurePolicy="Ignore", matchConditions=[{"name": "c", "expression": "object.nope == 1"}])
one("condition-is-false", apply("Object{data: {'x': '1'}}"), matchConditions=[{"name": "c", "expression": "false"}])
one("variable-fails", apply("Object{data: {'x': variables.v}}"), variables=[{"name": "v", "expression": "object.nope"}])
one("request", apply("Object{data: {'x': request.operation, 'y': request.kind.kind, 'z': namespaceObject.metadata.name}}"))
run("binding-matches", [
    policy("p", apply("Object{data: {'x': '1'}}")),
    binding("p", matchResources={"objectSelector": {"matchLabels": {"a": "b"}}}),
], [create(config_map("c")), create(config_map("d", metadata={"labels": {"a": "b"}}))])

# Custom resources.
definition = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "shops.example.com"},
    "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "shops", "kind": "Shop"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "size": {"type": "integer", "default": 3}, "tags": {"type": "array", "items": {"type": "string"}},
            "doors": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
                "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "color": {"type": "string", "default": "red"}},
            }},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        }}}}}}],
    },
}
call("POST", FOLDERS["CustomResourceDefinition"], definition)
out.write(json.dumps({"definition": definition}, sort_keys=True) + "\n")
time.sleep(8 if delay else 0)
SHOPS = "/apis/example.com/v1/namespaces/default/shops"


def shop(name, **spec):
    return {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": name}, "spec": spec}


def of_shops(name, mutation, *objects):
    run(name, [policy(name, mutation, of=rules("example.com", ["shops"])), binding(name)], [create(body, SHOPS) for body in objects])


of_shops("custom-items", apply("Object{spec: Object.spec{doors: [Object.spec.doors{name: 'back'}]}}"), shop("a"), shop("b", doors=[{"name": "front"}]))
of_shops("custom-atomic", apply("Object{spec: Object.spec{tags: ['a']}}"), shop("a"))
of_shops("custom-undeclared", apply("Object{spec: Object.spec{sise: 1}}"), shop("a"))
of_shops("custom-free", apply("Object{spec: Object.spec{free: Object.spec.free{a: 1, b: Object.spec.free.b{c: 'd'}}}}"), shop("a", free={"b": {"e": 1}}))
of_shops("custom-by-patch", patch("[JSONPatch{op: 'add', path: '/spec/tags', value: ['a']}, JSONPatch{op: 'add', path: '/spec/none', value: 1}]"), shop("a"))
of_shops("custom-wrong-type", apply("Object{spec: Object.spec{size: 'a'}}"), shop("a"))
call("DELETE", FOLDERS["CustomResourceDefinition"] + "/shops.example.com")

# Policies that are refused.
for name, mutation in (
    ("syntax", apply("Object{")), ("type", apply("1")), ("empty-list", patch("[]")), ("undeclared-name", apply("Object{data: foo}")),
    ("field-type", patch("[JSONPatch{op: 1}]")), ("unknown-type", apply("Foo{}")), ("parameters-without-kind", apply("Object{data: params.data}")),
    ("empty", apply("")), ("no-such-variable", apply("Object{data: variables.q}")), ("optional-field", apply("Object{?data: 1}")),
    ("list-of-object", patch("[Object{}]")), ("other-object", apply("Object.spec{}")), ("equality", apply("Object{data: Object.data{} == 1}")),
):
    run("refused-" + name, [policy("refused", mutation)], [])
run("refused-variable", [policy("refused", apply("variables.x"), variables=[{"name": "x", "expression": "Object{}"}])], [])
run("refused-condition", [policy("refused", apply("Object{}"), matchConditions=[{"name": "x", "expression": "1"}])], [])
