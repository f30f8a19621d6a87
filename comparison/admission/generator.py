"""Random requests about what admission plugins and webhooks look at, made from a seed."""

import base64
import copy
import json
import random
import subprocess
import dataclasses

# How long kube-apiserver takes at most to see an object that configures admission, in seconds.
SETTLED = 0.35
MERGE, STRATEGIC, JSON, APPLY = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
)
PLACES = ["one", "two", "three", "four"]
LEVELS = ["privileged", "baseline", "restricted", "privileged", "odd"]
HOOKED = "admissionregistration.k8s.io/v1"
KEPT = {"finalizers": None}


@dataclasses.dataclass
class Request:
    """A request, with the kind and the verb that it is about. It `settles` if it configures admission."""

    kind: str
    verb: str
    method: str
    path: str
    body: object = None
    content: str = None
    headers: dict = None
    settles: bool = False
    place: tuple = None


@dataclasses.dataclass
class Kind:
    """A kind: its version, its resource, what makes its fields, its subresources, and how often it is chosen."""

    version: str
    plural: str
    make: object
    namespaced: bool = True
    weight: int = 1
    parts: tuple = ()
    settles: bool = False


class Requests:
    """Makes requests one after the other, and learns from the answers which objects there are."""

    def __init__(self, seed, webhooks):
        self.r, self.webhooks, self.installed = random.Random(seed), webhooks, 0
        # The live objects by kind, namespace and name, and the configurations of webhooks in the order of their creation.
        self.live, self.configurations = {}, []
        self.number = 0
        self.kinds = {
            "Pod": Kind("v1", "pods", self.pod, weight=26, parts=("status", "resize", "ephemeralcontainers", "eviction", "binding")),
            "ConfigMap": Kind("v1", "configmaps", lambda: {"data": {"k": self.one("a", "b")}}, weight=8),
            "Secret": Kind("v1", "secrets", lambda: {"stringData": {"k": self.one("a", "b")}}, weight=2),
            "Service": Kind("v1", "services", self.service, weight=5, parts=("status",)),
            "PersistentVolumeClaim": Kind("v1", "persistentvolumeclaims", self.claim, weight=6, parts=("status",)),
            "PersistentVolume": Kind("v1", "persistentvolumes", self.volume, False, 2, ("status",)),
            "LimitRange": Kind("v1", "limitranges", self.limits, weight=2, settles=True),
            "ResourceQuota": Kind("v1", "resourcequotas", self.quota, weight=3, parts=("status",), settles=True),
            "Namespace": Kind("v1", "namespaces", dict, False, 3, ("status",), settles=True),
            "Node": Kind("v1", "nodes", dict, False, 1, ("status",), settles=True),
            "ServiceAccount": Kind("v1", "serviceaccounts", dict, weight=1),
            "Deployment": Kind("apps/v1", "deployments", self.deployment, weight=7, parts=("status", "scale")),
            "ReplicaSet": Kind("apps/v1", "replicasets", self.deployment, weight=2, parts=("status", "scale")),
            "Job": Kind("batch/v1", "jobs", self.job, weight=2, parts=("status",)),
            "PriorityClass": Kind("scheduling.k8s.io/v1", "priorityclasses", self.priority, False, 2, settles=True),
            "RuntimeClass": Kind("node.k8s.io/v1", "runtimeclasses", self.runtime, False, 1, settles=True),
            "StorageClass": Kind("storage.k8s.io/v1", "storageclasses", self.storage, False, 2, settles=True),
            "IngressClass": Kind("networking.k8s.io/v1", "ingressclasses", self.ingress_class, False, 1, settles=True),
            "Ingress": Kind("networking.k8s.io/v1", "ingresses", self.ingress, weight=2, parts=("status",)),
            "CertificateSigningRequest": Kind(
                "certificates.k8s.io/v1", "certificatesigningrequests", self.signing, False, 3, ("status", "approval")
            ),
            "Thing": Kind("example.com/v1", "things", self.thing, weight=7, parts=("status", "scale")),
            "SubjectAccessReview": Kind("authorization.k8s.io/v1", "subjectaccessreviews", self.access, False, 1),
        }
        self.csr = signing_request()

    def one(self, *choices):
        return self.r.choice(choices)

    def maybe(self, chance, value):
        """A map, or, mostly, an empty one."""
        return value if self.r.random() < chance else {}

    def active(self):
        """The configurations of webhooks that there are, without what they have in common."""
        plans = self.webhooks.PLAN
        shown = []
        for configuration in self.configurations:
            for hook in configuration["webhooks"]:
                path = "/" + hook["name"]
                plan = {name: value for name, value in plans[path].items() if name in ("body", "sleep", "close", "code") and value}
                kept = {name: value for name, value in hook.items() if name not in ("clientConfig", "admissionReviewVersions")}
                shown.append({"in": configuration["metadata"]["name"], **kept, "plan": plan})
        return shown

    # What there is from the start.

    def setup(self):
        """The requests before all others."""
        labels = [{}, pod_security(enforce="baseline", warn="restricted"), pod_security(enforce="restricted"), {"hook": "yes"}]
        for name, own in zip(PLACES, labels):
            yield self.create("Namespace", None, name, {"metadata": {"labels": own}})
        yield self.create("Namespace", None, "ending", {"spec": {"finalizers": ["kubernetes"]}})
        for name, more in {"high": {"value": 1000, "preemptionPolicy": "Never"}, "low": {"value": -5}}.items():
            yield self.create("PriorityClass", None, name, more)
        heavy = {"handler": "h", "overhead": {"podFixed": {"cpu": "100m", "memory": "8Mi"}}}
        heavy["scheduling"] = {"nodeSelector": {"kind": "heavy"}, "tolerations": [{"key": "heavy", "operator": "Exists"}]}
        yield self.create("RuntimeClass", None, "heavy", heavy)
        yield self.create("RuntimeClass", None, "plain", {"handler": "p"})
        default = {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
        yield self.create("StorageClass", None, "gold", {"provisioner": "a/b", "allowVolumeExpansion": True, **default})
        zone = {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1"}
        yield self.create("Node", None, "zoned", {"metadata": {"labels": zone}})
        yield self.create("Node", None, "bare", {})
        definition = self.webhooks.definition({"strategy": "None"})
        yield Request("CustomResourceDefinition", "create", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", definition)
        yield Request("CustomResourceDefinition", "define", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, settles=True)
        for _ in range(8):
            yield Request("ConfigMap", "wait", "POST", "/api/v1/namespaces/one/configmaps?dryRun=All", {"metadata": {"name": "w"}}, settles=True)
        yield self.request("Namespace", None, "ending", "delete", "DELETE")
        for kind in ("Mutating", "Validating"):
            yield self.observe(kind)

    def observe(self, kind):
        """A configuration that lets everything pass and sees it before or after all others."""
        name = "aaa-observer" if kind == "Mutating" else "zzz-observer"
        hook = self.webhooks.hook(name=f"{name}.example.com", sideEffects="NoneOnDryRun", port="PORT", timeoutSeconds=20)
        return self.install(kind, name, [hook])

    def all(self, count):
        """A number of requests. The answer to each is to be learned before the next."""
        for at, request in enumerate(self.setup()):
            yield request
        while (at := at + 1) < count:
            yield self.next()

    def next(self):
        chosen = self.r.random()
        if chosen < 0.05 or (len(self.configurations) > 7 and chosen < 0.1):
            return self.configure()
        names, kinds = zip(*self.kinds.items())
        kind = self.r.choices(names, [kind.weight for kind in kinds])[0]
        return self.about(kind)

    # Requests about an object.

    def path(self, kind, namespace, name="", part=""):
        known = self.kinds[kind]
        version = known.version
        if kind == "Thing" and self.r.random() < 0.3:
            version = "example.com/v2"
        path = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        path += f"/namespaces/{namespace}" if namespace else ""
        return path + f"/{known.plural}" + (f"/{name}" if name else "") + (f"/{part}" if part else "")

    def create(self, kind, namespace, name, fields):
        body = self.whole(kind, namespace, name, fields)
        return self.request(kind, namespace, "", "create", "POST", body)

    def whole(self, kind, namespace, name, fields):
        metadata = {"name": name, **fields.get("metadata", {})}
        if namespace:
            metadata["namespace"] = namespace
        return {"apiVersion": self.kinds[kind].version, "kind": kind, **fields, "metadata": metadata}

    def request(self, kind, namespace, name, verb, method, body=None, content=None, part="", query=None):
        path = self.path(kind, namespace, name, part)
        if isinstance(body, dict) and kind == "Thing" and part in ("", "status") and "apiVersion" in body:
            body = {**body, "apiVersion": "/".join(path.split("/")[2:4])}
        place = (kind, namespace, name or ((body or {}).get("metadata", {}).get("name") if isinstance(body, dict) else ""))
        settles = self.kinds[kind].settles
        return Request(kind, verb + (f" {part}" if part else ""), method, path + (f"?{'&'.join(query)}" if query else ""), body, content, None, settles, place)

    def about(self, kind):
        """A request about an object of a kind."""
        known = self.kinds[kind]
        namespace = None
        if known.namespaced:
            namespace = "ending" if self.r.random() < 0.02 else self.r.choice(PLACES)
            namespace = "missing" if self.r.random() < 0.01 else namespace
        names = PLACES if kind == "Namespace" else ["zoned", "bare"] if kind == "Node" else [f"{kind.lower()[:3]}-{letter}" for letter in "abcd"]
        # Of several ranges of limits, Go has the random order of a map.
        name = self.r.choice(names[:1] if kind == "LimitRange" else names)
        if kind in ("PriorityClass", "RuntimeClass", "StorageClass") and self.r.random() < 0.4:
            name = {"PriorityClass": "high", "RuntimeClass": "heavy", "StorageClass": "gold"}[kind]
        live = self.live.get((kind, namespace, name))
        query, headers = self.options()
        if live is None or self.r.random() < 0.08:
            request = self.new(kind, namespace, name, query)
        else:
            request = self.change(kind, namespace, name, live, query)
        request.headers = headers
        return request

    def options(self):
        query, headers = [], None
        if self.r.random() < 0.15:
            query.append("dryRun=All")
        if self.r.random() < 0.4:
            query.append(f"fieldManager={self.one('ops', 'dev', 'ci')}")
        if self.r.random() < 0.1:
            query.append(f"fieldValidation={self.one('Strict', 'Warn', 'Ignore')}")
        if self.r.random() < 0.05:
            headers = {"Impersonate-User": "eve", "Impersonate-Group": "devs"}
        return query, headers

    def new(self, kind, namespace, name, query):
        fields = self.fields(kind)
        body = self.whole(kind, namespace, name, fields)
        if kind == "SubjectAccessReview":
            body["metadata"] = {}
            return self.request(kind, namespace, "", "create", "POST", body, query=query)
        if self.r.random() < 0.15 and kind != "Namespace":
            return self.apply(kind, namespace, name, body, query)
        if self.r.random() < 0.04 and kind in ("Pod", "ConfigMap", "Thing"):
            del body["metadata"]["name"]
            body["metadata"]["generateName"] = "gen-"
        if self.r.random() < 0.02:
            body["more"] = 1
        return self.request(kind, namespace, "", "create", "POST", body, query=query)

    def apply(self, kind, namespace, name, body, query):
        query = [one for one in query if not one.startswith("fieldManager")] + [f"fieldManager={self.one('ops', 'dev')}"]
        query += ["force=true"] if self.r.random() < 0.6 else []
        return self.request(kind, namespace, name, "apply", "PATCH", body, APPLY, query=query)

    def fields(self, kind):
        """The fields of an object, with labels and annotations."""
        fields = self.kinds[kind].make()
        metadata = fields.setdefault("metadata", {})
        if self.r.random() < 0.7:
            metadata.setdefault("labels", {})["app"] = self.one("web", "db")
        if self.r.random() < 0.3:
            metadata.setdefault("annotations", {})["note"] = self.one("x", "y")
        if self.r.random() < 0.03:
            metadata["finalizers"] = ["a.com/b"]
        if kind == "Namespace" and self.r.random() < 0.8:
            metadata.setdefault("labels", {}).update(self.security())
        return fields

    def security(self):
        modes = [mode for mode in ("enforce", "warn", "audit") if self.r.random() < 0.5]
        labels = {f"pod-security.kubernetes.io/{mode}": self.one(*LEVELS) for mode in modes}
        labels.update(self.maybe(0.15, {"pod-security.kubernetes.io/enforce-version": self.one("v1.20", "latest", "v1.99", "x")}))
        return labels | self.maybe(0.3, {"hook": self.one("yes", "no")})

    def change(self, kind, namespace, name, live, query):
        """A request that changes or deletes an object that exists."""
        parts = self.kinds[kind].parts
        if parts and self.r.random() < 0.3:
            return self.change_part(kind, namespace, name, live, query, self.r.choice(parts))
        if live.get("metadata", {}).get("finalizers") and self.r.random() < 0.15:
            return self.request(kind, namespace, name, "merge", "PATCH", {"metadata": KEPT}, MERGE, query=query)
        chosen = self.r.random()
        if chosen < 0.13 and kind not in ("Namespace", "Node"):
            return self.delete(kind, namespace, name, query)
        if chosen < 0.15 and kind not in ("Namespace", "Node", "Service"):
            only = [one for one in query if one.startswith("dryRun")]
            selector = ["labelSelector=app%3D" + self.one("web", "db")] if self.r.random() < 0.7 else []
            return self.request(kind, namespace, "", "deletecollection", "DELETE", query=only + selector + self.grace())
        fields = self.fields(kind)
        if chosen < 0.3:
            return self.apply(kind, namespace, name, self.whole(kind, namespace, name, self.partly(fields)), query)
        if chosen < 0.55:
            return self.request(kind, namespace, name, "merge", "PATCH", self.partly(fields), MERGE, query=query)
        if chosen < 0.65:
            return self.request(kind, namespace, name, "strategic", "PATCH", self.partly(fields), STRATEGIC, query=query)
        if chosen < 0.75:
            operations = self.r.sample(self.operations(), self.r.randint(1, 2))
            return self.request(kind, namespace, name, "json", "PATCH", operations, JSON, query=query)
        body = merged(copy.deepcopy(live), self.partly(fields)) if self.r.random() < 0.8 else copy.deepcopy(live)
        return self.request(kind, namespace, name, "update", "PUT", body, query=query)

    def partly(self, fields):
        """Only the metadata, often, so that the change is allowed."""
        return {"metadata": fields["metadata"]} if self.r.random() < 0.5 else fields

    def grace(self):
        return ["gracePeriodSeconds=0"] if self.r.random() < 0.4 else []

    def delete(self, kind, namespace, name, query):
        query = [one for one in query if one.startswith("dryRun")] + self.grace()
        query += self.r.choice([[], [], ["propagationPolicy=Foreground"], ["propagationPolicy=Background"]])
        body = self.r.choice([None, None, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 5}])
        request = self.request(kind, namespace, name, "delete", "DELETE", query=query)
        request.body = body
        return request

    def change_part(self, kind, namespace, name, live, query, part):
        """A request to a subresource."""
        if part == "eviction":
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
            body |= self.maybe(0.3, {"deleteOptions": {"gracePeriodSeconds": 0}})
            return self.request(kind, namespace, name, "create", "POST", body, part=part, query=[one for one in query if one.startswith("dry")])
        if part == "binding":
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": self.one("zoned", "bare", "gone")}}
            return self.request(kind, namespace, name, "create", "POST", body, part=part, query=query)
        if part == "scale":
            replicas = {"spec": {"replicas": self.r.randint(0, 5)}}
            if self.r.random() < 0.5:
                return self.request(kind, namespace, name, "merge", "PATCH", replicas, MERGE, part, query)
            version = "autoscaling/v1"
            body = {"apiVersion": version, "kind": "Scale", "metadata": {"name": name, "namespace": namespace}, **replicas}
            return self.request(kind, namespace, name, "update", "PUT", body, None, part, query)
        if part == "resize":
            amounts = self.resources()
            names = [container["name"] for container in live.get("spec", {}).get("containers", [{"name": "c"}])]
            body = {"spec": {"containers": [{"name": names[0], "resources": amounts}]}}
            return self.request(kind, namespace, name, "strategic", "PATCH", body, STRATEGIC, part, query)
        if part == "ephemeralcontainers":
            body = {"spec": {"ephemeralContainers": [{"name": self.one("debug", "shell"), "image": "busybox", **self.maybe(0.3, {"securityContext": {"privileged": False}})}]}}
            return self.request(kind, namespace, name, "strategic", "PATCH", body, STRATEGIC, part, query)
        if part == "approval":
            condition = {"type": self.one("Approved", "Denied"), "status": "True", "reason": "R", "message": "m"}
            return self.request(kind, namespace, name, "merge", "PATCH", {"status": {"conditions": [condition]}}, MERGE, part, query)
        status = self.status(kind, live)
        metadata = self.maybe(0.3, {"metadata": {"labels": {"status": "s"}}})
        if self.r.random() < 0.6:
            return self.request(kind, namespace, name, "merge", "PATCH", {"status": status, **metadata}, MERGE, part, query)
        return self.request(kind, namespace, name, "update", "PUT", {**copy.deepcopy(live), "status": status}, None, part, query)

    def status(self, kind, live):
        if kind == "ResourceQuota":
            hard = live.get("spec", {}).get("hard", {})
            return {"hard": hard, "used": {name: "0" for name in hard}}
        if kind == "Service" and live.get("spec", {}).get("type") != "LoadBalancer":
            return {}
        amounts = {"storage": self.one("1Gi", "5Gi")}
        choices = {
            "Pod": {"phase": self.one("Running", "Succeeded", "Pending"), "message": "m"},
            "Service": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
            "PersistentVolumeClaim": {"phase": self.one("Bound", "Pending"), "capacity": amounts},
            "PersistentVolume": {"phase": self.one("Bound", "Available")},
            "Namespace": {"phase": "Active"},
            "Node": {"allocatable": {"cpu": "4", "memory": "8Gi"}, "capacity": {"cpu": "4", "memory": "8Gi"}},
            "Deployment": {"replicas": 1, "observedGeneration": 1},
            "ReplicaSet": {"replicas": 1},
            "Job": {"active": 1},
            "Ingress": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
            "CertificateSigningRequest": {"conditions": [{"type": "Failed", "status": "True", "reason": "R", "message": "m"}]},
            "Thing": {"ready": True, "replicas": self.r.randint(0, 3), "more": 1},
        }
        return choices[kind]

    # Objects.

    def resources(self):
        amounts = lambda *scale: {"cpu": self.one(*scale), "memory": self.one("64Mi", "128Mi", "1Gi")}
        found = {}
        if self.r.random() < 0.7:
            found["requests"] = amounts("50m", "100m", "1")
        if self.r.random() < 0.5:
            found["limits"] = amounts("200m", "1", "2")
        return found

    def container(self, name):
        container = {"name": name, "image": self.one("nginx", "nginx:1", "busybox:latest")}
        container |= self.maybe(0.5, {"resources": self.resources()})
        context = {}
        for chance, field, values in (
            (0.3, "allowPrivilegeEscalation", [False, False, True]),
            (0.3, "runAsNonRoot", [True, True, False]),
            (0.3, "capabilities", [{"drop": ["ALL"]}, {"drop": ["ALL"]}, {"add": ["NET_ADMIN"]}]),
            (0.3, "seccompProfile", [{"type": "RuntimeDefault"}, {"type": "RuntimeDefault"}, {"type": "Unconfined"}]),
            (0.1, "runAsUser", [0, 1000]),
            (0.05, "procMount", ["Default", "Unmasked"]),
        ):
            context |= self.maybe(chance, {field: self.r.choice(values)})
        if self.r.random() < 0.35:
            context |= {
                "allowPrivilegeEscalation": False,
                "runAsNonRoot": True,
                "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            }
        container |= {"securityContext": context} if context else {}
        return container | self.maybe(0.1, {"ports": [{"containerPort": 80, **self.maybe(0.4, {"hostPort": 8080})}]})

    def pod_spec(self):
        spec = {"containers": [self.container(name) for name in ["c", "d"][: self.one(1, 1, 2)]]}
        spec |= self.maybe(0.1, {"initContainers": [self.container("i")]})
        spec |= self.maybe(0.2, {"priorityClassName": self.one("high", "low", "pri-a", "system-node-critical", "gone")})
        spec |= self.maybe(0.15, {"runtimeClassName": self.one("heavy", "plain", "run-a", "gone")})
        spec |= self.maybe(0.08, {"hostNetwork": True}) | self.maybe(0.05, {"hostPID": True})
        spec |= self.maybe(0.1, {"nodeName": self.one("zoned", "bare")}) | self.maybe(0.1, {"nodeSelector": {"kind": self.one("heavy", "light")}})
        spec |= self.maybe(0.15, {"tolerations": [{"key": self.one("node.kubernetes.io/not-ready", "heavy"), "operator": "Exists", **self.maybe(0.5, {"effect": "NoExecute"})}]})
        spec |= self.maybe(0.2, {"volumes": [{"name": "v", **self.one({"emptyDir": {}}, {"hostPath": {"path": "/x"}}, {"nfs": {"server": "s", "path": "/"}})}]})
        spec |= self.maybe(0.1, {"activeDeadlineSeconds": 100}) | self.maybe(0.1, {"terminationGracePeriodSeconds": self.one(0, 5)})
        spec |= self.maybe(0.05, {"priority": 7}) | self.maybe(0.05, {"overhead": {"cpu": "1"}})
        return spec | self.maybe(0.2, {"securityContext": self.one({"runAsNonRoot": True}, {"seccompProfile": {"type": "RuntimeDefault"}}, {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}, {"runAsUser": 0})})

    def pod(self):
        return {"spec": self.pod_spec()}

    def template(self):
        return {"metadata": {"labels": {"app": "web"}}, "spec": {**self.pod_spec()}}

    def deployment(self):
        return {"spec": {"replicas": self.r.randint(0, 3), "selector": {"matchLabels": {"app": "web"}}, "template": self.template()}}

    def job(self):
        template = self.template()
        template["spec"]["restartPolicy"] = "Never"
        return {"spec": {"template": template, **self.maybe(0.3, {"suspend": True})}}

    def service(self):
        kind = self.one("ClusterIP", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
        spec = {"type": kind, "ports": [{"name": name, "port": port} for name, port in [("a", 80), ("b", 81)][: self.one(1, 2)]]}
        spec |= {"externalName": "a.b"} if kind == "ExternalName" else self.maybe(0.1, {"clusterIP": "None"})
        return {"spec": spec | self.maybe(0.5, {"selector": {"app": "web"}}) | self.maybe(0.05, {"externalIPs": ["1.2.3.4"]})}

    def claim(self):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": self.one("1Gi", "2Gi", "20Gi")}}}
        return {"spec": spec | self.maybe(0.5, {"storageClassName": self.one("gold", "sto-a", "", "gone")})}

    def volume(self):
        return {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}, **self.maybe(0.3, {"storageClassName": "gold"})}}

    def limits(self):
        amounts = lambda *of: {"cpu": self.one(*of), **self.maybe(0.5, {"memory": self.one("32Mi", "256Mi")})}
        item = {"type": self.one("Container", "Container", "Pod", "PersistentVolumeClaim")}
        if item["type"] == "PersistentVolumeClaim":
            item |= self.maybe(0.6, {"min": {"storage": "2Gi"}}) | self.maybe(0.6, {"max": {"storage": "10Gi"}})
        else:
            item |= self.maybe(0.4, {"max": amounts("1", "2")}) | self.maybe(0.3, {"min": amounts("10m", "60m")})
            item |= self.maybe(0.3, {"maxLimitRequestRatio": {"cpu": "4"}})
        if item["type"] == "Container":
            item |= self.maybe(0.5, {"default": amounts("500m", "1")}) | self.maybe(0.5, {"defaultRequest": amounts("60m", "100m")})
        return {"spec": {"limits": [item]}}

    def quota(self):
        all_of = {
            "pods": "4", "requests.cpu": "1500m", "limits.memory": "2Gi", "count/configmaps": "3", "services": "3", "services.nodeports": "2",
            "persistentvolumeclaims": "2", "requests.storage": "20Gi", "gold.storageclass.storage.k8s.io/requests.storage": "5Gi",
            "count/things.example.com": "2", "count/deployments.apps": "2", "secrets": "2", "cpu": "2", "count/pods": "6",
        }  # fmt: skip
        hard = {name: all_of[name] for name in self.r.sample(sorted(all_of), self.r.randint(1, 4))}
        spec = {"hard": hard}
        if set(hard) == {"pods"} or self.r.random() < 0.1:
            spec |= self.maybe(0.7, {"scopes": [self.one("BestEffort", "NotTerminating", "Terminating", "NotBestEffort")]})
        return {"spec": spec}

    def priority(self):
        return {"value": self.one(5, 10), **self.maybe(0.4, {"globalDefault": True}), **self.maybe(0.2, {"preemptionPolicy": "Never"})}

    def runtime(self):
        scheduling = {"scheduling": {"nodeSelector": {"kind": "x"}}}
        return {"handler": "x", **self.maybe(0.5, {"overhead": {"podFixed": {"cpu": "20m"}}}), **self.maybe(0.4, scheduling)}

    def storage(self):
        default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
        return {"provisioner": "a/b", "metadata": self.maybe(0.4, default), **self.maybe(0.4, {"allowVolumeExpansion": True})}

    def ingress_class(self):
        default = {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
        return {"metadata": self.maybe(0.5, default), "spec": {"controller": "a.com/b"}}

    def ingress(self):
        return {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}, **self.maybe(0.4, {"ingressClassName": self.one("ing-a", "x")})}}

    def signing(self):
        signer = self.one("kubernetes.io/kube-apiserver-client", "example.com/s", "example.com/s")
        subject = self.one("plain", "plain", "masters")
        return {"spec": {"request": self.csr[subject], "signerName": signer, "usages": ["client auth"]}}

    def thing(self):
        return {"spec": {**self.maybe(0.7, {"size": self.r.randint(0, 9)}), "width": self.one(1, 2), **self.maybe(0.2, {"more": "x"})}}

    def access(self):
        return {"spec": {"user": "eve", "resourceAttributes": {"namespace": "one", "verb": "get", "resource": "pods"}}}

    def operations(self):
        """Operations of a JSON patch, of which some fit an object and some do not."""
        return [
            {"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes", "app": "web"}},
            {"op": "add", "path": "/metadata/labels/hooked", "value": "yes"},
            {"op": "add", "path": "/metadata/annotations", "value": {"hooked": self.one("1", "2")}},
            {"op": "remove", "path": "/metadata/labels"},
            {"op": "add", "path": "/metadata/finalizers", "value": ["a.com/hook"]},
            {"op": "replace", "path": "/metadata/name", "value": "other"},
            {"op": "replace", "path": "/metadata/namespace", "value": "other"},
            {"op": "add", "path": "/metadata/generation", "value": 7},
            {"op": "add", "path": "/metadata/managedFields", "value": []},
            {"op": "add", "path": "/metadata/ownerReferences", "value": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1"}]},
            {"op": "add", "path": "/data", "value": {"hooked": self.one("1", "2")}},
            {"op": "add", "path": "/spec/priorityClassName", "value": self.one("high", "gone")},
            {"op": "add", "path": "/spec/nodeSelector", "value": {"hooked": "yes"}},
            {"op": "replace", "path": "/spec/containers/0/image", "value": "hooked:1"},
            {"op": "add", "path": "/spec/containers/0/resources", "value": {"requests": {"cpu": self.one("80m", "3")}}},
            {"op": "add", "path": "/spec/containers/-", "value": {"name": "sidecar", "image": "sidecar"}},
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "hooked", "operator": "Exists"}},
            {"op": "add", "path": "/spec/securityContext", "value": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}},
            {"op": "add", "path": "/spec/hostNetwork", "value": True},
            {"op": "add", "path": "/spec/storageClassName", "value": "hooked"},
            {"op": "add", "path": "/spec/replicas", "value": self.one(2, 4)},
            {"op": "add", "path": "/spec/size", "value": self.one(3, "x")},
            {"op": "add", "path": "/spec/more", "value": 1},
            {"op": "replace", "path": "/spec", "value": self.one("text", None, {})},
            {"op": "add", "path": "/spec/ports/0/port", "value": 8080},
            {"op": "add", "path": "/status", "value": {"phase": "Running", "replicas": 1}},
            {"op": "add", "path": "/more", "value": {"a": 1}},
            {"op": "replace", "path": "/kind", "value": "Other"},
            {"op": "test", "path": "/metadata/name", "value": "x"},
        ]

    # Webhooks.

    def configure(self):
        """A request that adds, changes or removes a configuration of webhooks."""
        own = [one for one in self.configurations if "observer" not in one["metadata"]["name"]]
        if own and (len(own) > 4 or self.r.random() < 0.4):
            gone = own[0] if self.r.random() < 0.7 else self.r.choice(own)
            return self.uninstall(gone)
        kind = self.one("Mutating", "Mutating", "Validating")
        self.number += 1
        hooks = [self.hook(kind, f"h{self.number}x{at}.example.com") for at in range(self.one(1, 1, 2))]
        return self.install(kind, f"{self.one('b', 'c', 'd')}{self.number}", hooks)

    def hook(self, kind, name):
        hooks, r = self.webhooks, self.r
        refuses = [one for configuration in self.configurations if configuration["kind"].startswith(kind) for one in configuration["webhooks"] if one["name"] in self.refusing()]
        choice = r.choices(["allow", "warn", "patch", "deny", "odd", "slow", "closed", "late"], [4, 2, 9, 2, 2, 0.3, 0.5, 0.7])[0]
        # The order of the answers of validating webhooks is one of chance.
        if choice in ("deny", "odd", "closed", "slow", "patch") and kind == "Validating" and refuses:
            choice = "warn"
        more, spec = {}, {}
        if choice == "allow":
            more["answer"] = hooks.allow()
        elif choice == "warn":
            more["answer"] = hooks.allow(warnings=[self.one("careful", "slowly \"now\"", "ü")])
        elif choice == "patch":
            more["answer"] = hooks.patch(r.sample(self.operations(), r.randint(1, 2)), **self.maybe(0.2, {"warnings": ["patched"]}))
        elif choice == "deny":
            more["answer"] = hooks.deny(self.one(None, {"message": "no"}, {"code": 403, "reason": "Forbidden", "message": "never"}, {"code": 422, "message": "x"}), **self.maybe(0.3, {"warnings": ["denied"]}))
        elif choice == "odd":
            more["answer"] = self.one("", "{}", "hello", hooks.review(None), hooks.patch("nonsense"), hooks.review({"uid": "1", "allowed": True}), hooks.allow(patch="W10="))
            more["code"] = self.one(200, 200, 500, 404)
        elif choice == "slow":
            more["sleep"], spec["timeoutSeconds"] = 1.6, 1
        elif choice == "closed":
            more["close"] = self.one("before", "within")
        else:
            more["sleep"] = 0.05
        wide = choice in ("allow", "warn") or (choice == "patch" and r.random() < 0.4)
        spec["rules"] = [self.rule(wide)]
        spec["failurePolicy"] = self.one("Fail", "Ignore")
        spec["sideEffects"] = self.one("None", "None", "NoneOnDryRun", "Some" if r.random() < 0.1 else "None")
        spec |= self.maybe(0.3, {"matchPolicy": self.one("Exact", "Equivalent")})
        spec |= self.maybe(0.2, {"namespaceSelector": self.one({"matchLabels": {"hook": "yes"}}, {"matchExpressions": [{"key": "hook", "operator": "NotIn", "values": ["yes"]}]})})
        spec |= self.maybe(0.2, {"objectSelector": self.one({"matchLabels": {"app": "web"}}, {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]})})
        # An answer of another version than the review is a refusal too.
        if kind == "Mutating":
            spec |= self.maybe(0.2, {"admissionReviewVersions": self.one(["v1beta1", "v1"], ["v2", "v1beta1"], ["v1beta1"])})
            spec |= self.maybe(0.4, {"reinvocationPolicy": self.one("IfNeeded", "IfNeeded", "Never")})
        if r.random() < 0.03:
            spec |= self.one({"sideEffects": "Unknown"}, {"timeoutSeconds": 31}, {"failurePolicy": "Odd"}, {"admissionReviewVersions": []}, {"rules": [{"operations": ["*"]}]})
        spec, path, plan = hooks.hook(name=name, port="PORT", **more, **spec)
        spec["kinds"] = choice
        return spec, path, plan

    def refusing(self):
        return getattr(self, "_refusing", set())

    def rule(self, wide):
        if wide and self.r.random() < 0.5:
            rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [self.one("*", "*/*", "pods", "*/status", "*/scale")]}
        else:
            known = self.r.choices(list(self.kinds.values()), [kind.weight for kind in self.kinds.values()])[0]
            group, _, version = known.version.rpartition("/")
            version = self.one(version, version, "*", "v2") if group == "example.com" else version
            if group == "example.com" and self.r.random() < 0.3:
                version = "v2"
            part = self.r.choice(["", "", "", "/*"] + [f"/{part}" for part in known.parts])
            rule = {"operations": self.r.choice([["*"], ["CREATE"], ["UPDATE"], ["CREATE", "UPDATE"], ["DELETE"], ["CREATE", "DELETE"]])}
            rule |= {"apiGroups": [group], "apiVersions": [version], "resources": [known.plural + part]}
        return rule | self.maybe(0.2, {"scope": self.one("Namespaced", "Cluster", "*")})

    def install(self, kind, name, hooks):
        self._refusing = self.refusing()
        for spec, path, plan in hooks:
            if spec.pop("kinds", "") in ("deny", "odd", "closed", "slow", "patch"):
                self._refusing.add(spec["name"])
            self.webhooks.PLAN[path] = plan
        body = self.webhooks.configuration(kind, name, [spec for spec, _, _ in hooks])
        path = f"/apis/{HOOKED}/{kind.lower()}webhookconfigurations"
        return Request(f"{kind}WebhookConfiguration", "install", "POST", path, body, settles=True)

    def uninstall(self, configuration):
        path = f"/apis/{HOOKED}/{configuration['kind'].lower()}s/{configuration['metadata']['name']}"
        return Request(configuration["kind"], "uninstall", "DELETE", path, settles=True)

    # Answers.

    def learn(self, request, answer):
        """Takes note of what an answer says about the objects that there are."""
        if answer["code"] >= 300 or "dryRun" in request.path:
            if answer["code"] == 404 and request.place and request.verb != "create":
                self.live.pop(request.place, None)
            return
        if request.verb == "install":
            self.installed += 1
            self.configurations.append(request.body)
        elif request.verb == "uninstall":
            name = request.path.rpartition("/")[2]
            self.configurations = [one for one in self.configurations if one["metadata"]["name"] != name]
        elif request.verb == "deletecollection":
            kind, namespace, _ = request.place
            for item in answer["body"].get("items", []):
                self.live.pop((kind, namespace, item["metadata"]["name"]), None)
        elif request.place and request.verb in ("create", "apply", "update", "merge", "strategic", "json") and isinstance(answer["body"], dict):
            kind, namespace, name = request.place
            name = answer["body"].get("metadata", {}).get("name")
            if name:
                self.live[kind, namespace, name] = plain(answer["body"])
        elif request.verb == "delete" and request.place:
            if answer["body"].get("kind") == "Status":
                self.live.pop(request.place, None)

    def repair(self, sides, request):
        """Makes both servers agree about the object of a request again: it is gone."""
        if not request.place or not request.place[2] or request.place[0] in ("Namespace", "Node"):
            return
        kind, namespace, name = request.place
        for side in sides:
            side.clean(self.path(kind, namespace, name))
        self.live.pop(request.place, None)


def pod_security(**modes):
    return {f"pod-security.kubernetes.io/{mode}": level for mode, level in modes.items()}


def plain(body):
    """An object without what a server sets, as a client sends it again."""
    body = copy.deepcopy(body)
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"):
        body["metadata"].pop(name, None)
    if body.get("kind") == "Service":
        for name in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
            body["spec"].pop(name, None)
        for port in body["spec"].get("ports", []):
            port.pop("nodePort", None)
    return without_times(body)


def without_times(value):
    """A value without the times that a comparison hides."""
    if isinstance(value, list):
        return [without_times(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {name: without_times(inner) for name, inner in value.items() if inner not in ("TIME", "UID", "PORT")}


def merged(value, patch):
    """A merge patch."""
    if not isinstance(patch, dict) or not isinstance(value, dict):
        return patch
    return {**value, **{name: merged(value.get(name), inner) for name, inner in patch.items()}}


def signing_request():
    """Requests for certificates, of an ordinary user and of one who would be an administrator."""
    found = {}
    for name, subject in {"plain": "/CN=eve/O=devs", "masters": "/CN=eve/O=system:masters"}.items():
        command = ["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", "/dev/null", "-subj", subject]
        found[name] = base64.b64encode(subprocess.run(command, check=True, capture_output=True).stdout).decode()
    return found
