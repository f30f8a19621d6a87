#!/usr/bin/env python3
"""Records what a kube-apiserver with default plugins does with requests about them.

usage: plugins.py OUT.jsonl

A server with RBAC and default plugins is at port 26543 of loopback, one without plugins at 27744; both accept the token `secret`.
"""

import copy, json, sys, time, requests, urllib3, base64, subprocess, os

urllib3.disable_warnings()


def session(port):
    s = requests.Session()
    s.verify = False
    s.trust_env = False
    s.headers["Authorization"] = "Bearer secret"
    s.url = f"https://127.0.0.1:{port}"
    return s


S, P = session(26543), session(27744)
out = open(sys.argv[1], "w")
count = 0


def line(**fields):
    out.write(json.dumps(fields, separators=(",", ":")) + "\n")


def call(s, method, path, body=None, user=None, dry=False, ctype="application/json"):
    headers = {"Content-Type": ctype}
    if user:
        headers["Impersonate-User"] = user
    r = s.request(
        method,
        s.url + path,
        data=None if body is None else json.dumps(body),
        headers=headers,
        params={"dryRun": "All"} if dry else None,
    )
    return r.status_code, r.json()


KINDS = {}


def kind(k, version, plural, namespaced=True):
    KINDS[k] = (version, plural, namespaced)


for k, v, p, n in [
    ("Pod", "v1", "pods", 1),
    ("PersistentVolumeClaim", "v1", "persistentvolumeclaims", 1),
    ("PersistentVolume", "v1", "persistentvolumes", 0),
    ("Node", "v1", "nodes", 0),
    ("LimitRange", "v1", "limitranges", 1),
    ("ResourceQuota", "v1", "resourcequotas", 1),
    ("Service", "v1", "services", 1),
    ("ConfigMap", "v1", "configmaps", 1),
    ("Secret", "v1", "secrets", 1),
    ("ReplicationController", "v1", "replicationcontrollers", 1),
    ("Namespace", "v1", "namespaces", 0),
    ("Event", "v1", "events", 1),
    ("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", 0),
    ("StorageClass", "storage.k8s.io/v1", "storageclasses", 0),
    ("VolumeAttributesClass", "storage.k8s.io/v1", "volumeattributesclasses", 0),
    ("RuntimeClass", "node.k8s.io/v1", "runtimeclasses", 0),
    ("Ingress", "networking.k8s.io/v1", "ingresses", 1),
    ("IngressClass", "networking.k8s.io/v1", "ingressclasses", 0),
    ("CertificateSigningRequest", "certificates.k8s.io/v1", "certificatesigningrequests", 0),
    ("ClusterTrustBundle", "certificates.k8s.io/v1", "clustertrustbundles", 0),
    ("ResourceClaim", "resource.k8s.io/v1", "resourceclaims", 1),
    ("DeviceClass", "resource.k8s.io/v1", "deviceclasses", 0),
    ("Deployment", "apps/v1", "deployments", 1),
    ("Binding", "v1", "bindings", 1),
    ("ClusterRole", "rbac.authorization.k8s.io/v1", "clusterroles", 0),
    ("ClusterRoleBinding", "rbac.authorization.k8s.io/v1", "clusterrolebindings", 0),
    ("SubjectAccessReview", "authorization.k8s.io/v1", "subjectaccessreviews", 0),
    ("LocalSubjectAccessReview", "authorization.k8s.io/v1", "localsubjectaccessreviews", 1),
]:
    kind(k, v, p, n)


def path(k, ns="", name="", sub="", plural=None):
    version, p, namespaced = KINDS[k]
    base = "/api/v1" if version == "v1" else "/apis/" + version
    if namespaced:
        base += f"/namespaces/{ns}"
    base += "/" + (plural or p)
    if name:
        base += "/" + name
    if sub:
        base += "/" + sub
    return base


NOISE = ["uid", "managedFields", "selfLink", "creationTimestamp", "generation", "resourceVersion"]


def clean(o, noise=NOISE, status=True):
    o = copy.deepcopy(o)
    m = o.get("metadata", {})
    for n in noise:
        m.pop(n, None)
    if not status:
        o.pop("status", None)
    return o


def obj(k, name, ns=None, **rest):
    o = {"apiVersion": KINDS[k][0], "kind": k, "metadata": {"name": name}}
    if ns:
        o["metadata"]["namespace"] = ns
    meta = rest.pop("meta", {})
    o["metadata"].update(meta)
    o.update(rest)
    return o


def group_resource(k):
    v, p, _ = KINDS[k]
    return [v.split("/")[0] if "/" in v else "", v.split("/")[-1], p]


def put(o, status=None):
    k = o["kind"]
    ns = o["metadata"].get("namespace", "")
    code, a = call(S, "POST", path(k, ns), o)
    assert code == 201, a
    if status is not None:
        a["status"] = status
        code, a = call(S, "PUT", path(k, ns, a["metadata"]["name"], "status"), a)
        assert code == 200, a
    g, _, p = group_resource(k)
    line(put=clean(a, ["uid", "managedFields", "generation"], status=k not in ("Namespace",)), of=[g, p])
    return a


def have(k, name):
    _, a = call(S, "GET", path(k, "", name))
    g, _, p = group_resource(k)
    line(put=clean(a, ["uid", "managedFields", "generation"]), of=[g, p])


def settle():
    time.sleep(0.6)


def drop(k, name, ns=""):
    code, a = call(
        S, "DELETE", path(k, ns, name), {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    )
    assert code == 200, a
    g, _, p = group_resource(k)
    line(drop=[ns, name], of=[g, p])


def namespace(*names):
    for n in names:
        for s in (S, P):
            call(s, "POST", "/api/v1/namespaces", obj("Namespace", n))


def merge_patch(a, b):
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return b
    r = {}
    for key in a:
        if key not in b:
            r[key] = None
        elif a[key] != b[key]:
            r[key] = merge_patch(a[key], b[key])
    for key in b:
        if key not in a:
            r[key] = b[key]
    return r


MUTATED = {"pods", "persistentvolumeclaims", "persistentvolumes", "volumeattributesclasses", "nodes", "ingresses"}


def finish(rec, ns, code, a, given, quotas, patch=None):
    global count
    count += 1
    rec["code"] = code
    if code >= 300:
        rec["message"] = a.get("message")
        if a.get("details", {}).get("causes"):
            rec["causes"] = a["details"]["causes"]
    else:
        if patch is None:
            patch = (
                merge_patch(given, clean(a, status=rec["op"] == "UPDATE"))
                if rec["resource"][2] in MUTATED and rec["op"] == "CREATE"
                else {}
            )
        if patch:
            rec["patch"] = patch
    if quotas:
        time.sleep(0.05)
        _, l = call(S, "GET", path("ResourceQuota", ns))
        rec["used"] = {q["metadata"]["name"]: q.get("status", {}).get("used") for q in l["items"]}
    if rec["dry"] is False:
        del rec["dry"]
    if rec["user"] == "admin":
        del rec["user"]
    line(**{k: v for k, v in rec.items() if v not in ("", None)})
    print(
        count,
        rec["op"],
        "/".join(rec["resource"]),
        rec.get("sub", ""),
        rec.get("name", ""),
        code,
        (a.get("message") or "") if code >= 300 else json.dumps(rec.get("patch")),
        file=sys.stderr,
    )


def create(o, ns="", user="admin", dry=False, quotas=False):
    k = o["kind"]
    body = copy.deepcopy(o)
    if ns:
        body["metadata"]["namespace"] = ns
    code, given = call(P, "POST", path(k, ns), body, dry=True)
    if code != 201:
        print("PLAIN REFUSES", json.dumps(given.get("message")), file=sys.stderr)
        return
    given = clean(given, status=False)
    if k == "Service":
        for f in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
            given["spec"].pop(f, None)
        for port, own in zip(given["spec"]["ports"], o["spec"]["ports"]):
            if "nodePort" not in own:
                port.pop("nodePort", None)
    if "generateName" in o["metadata"]:
        given["metadata"].pop("name", None)
    code, a = call(S, "POST", path(k, ns), body, user=None if user == "admin" else user, dry=dry)
    rec = dict(
        op="CREATE",
        kind=k,
        resource=group_resource(k),
        ns=ns,
        name=o["metadata"].get("name", ""),
        user=user,
        dry=dry,
        object=given,
    )
    if "generateName" in o["metadata"] and code >= 300:
        given["metadata"]["name"] = a["details"]["name"]
    finish(rec, ns, code, a, given, quotas)
    return a


def update(k, name, edit, ns="", sub="", user="admin", dry=False, quotas=False, method="PUT"):
    code, old = call(S, "GET", path(k, ns, name))
    assert code == 200, old
    new = copy.deepcopy(old)
    edit(new)
    code, a = call(S, "PUT", path(k, ns, name, sub), new, user=None if user == "admin" else user, dry=dry)
    keep = ["uid", "managedFields", "creationTimestamp", "generation"]
    rec = dict(
        op="UPDATE",
        kind=k,
        resource=group_resource(k),
        ns=ns,
        name=name,
        sub=sub,
        user=user,
        dry=dry,
        old=clean(old, keep),
        object=clean(new, keep),
    )
    patch = None
    if code < 300 and rec["resource"][2] == "pods":
        patch = merge_patch(clean(new), clean(a))
        patch.pop("status", None)
        patch.get("metadata", {}).pop("labels", None)
        if not patch.get("metadata", True):
            del patch["metadata"]
    finish(rec, ns, code, a, None, quotas, patch)
    return a


def res(requests=None, limits=None):
    r = {}
    if requests is not None:
        r["requests"] = requests
    if limits is not None:
        r["limits"] = limits
    return r


def ctr(name="a", requests=None, limits=None, **more):
    return dict(name=name, image="i", resources=res(requests, limits), **more)


def pod(name, *containers, meta={}, **spec):
    s = dict(containers=list(containers) or [ctr()])
    s.update(spec)
    return obj("Pod", name, meta=meta, spec=s)


def pvc(name, size="1Gi", meta={}, **spec):
    s = dict(accessModes=["ReadWriteOnce"], resources=dict(requests=dict(storage=size)))
    s.update(spec)
    return obj("PersistentVolumeClaim", name, meta=meta, spec=s)


# ---------------------------------------------------------------- LimitRanger
namespace(
    "d1",
    "d2",
    "d3",
    "d4",
    "d5",
    "d6",
    "d7",
    "d8",
    "pr",
    "st",
    "rt",
    "ing",
    "tp",
    "rs",
    "q0",
    "q1",
    "q2",
    "q3",
    "q4",
    "q5",
    "q6",
    "q7",
    "q8",
    "q9",
    "qa",
)
put(
    obj(
        "LimitRange",
        "r",
        "d1",
        spec=dict(
            limits=[
                dict(
                    type="Container",
                    default=dict(cpu="500m", memory="512Mi"),
                    defaultRequest=dict(cpu="100m", memory="64Mi"),
                    min=dict(cpu="50m"),
                    max=dict(cpu="1", memory="1Gi"),
                    maxLimitRequestRatio=dict(cpu="10"),
                )
            ]
        ),
    )
)
put(
    obj(
        "LimitRange",
        "r",
        "d2",
        spec=dict(
            limits=[
                dict(
                    type="Pod",
                    min=dict(cpu="200m"),
                    max=dict(cpu="2", memory="2Gi"),
                    maxLimitRequestRatio=dict(memory="2"),
                )
            ]
        ),
    )
)
put(
    obj(
        "LimitRange",
        "r",
        "d3",
        spec=dict(limits=[dict(type="PersistentVolumeClaim", min=dict(storage="1Gi"), max=dict(storage="10Gi"))]),
    )
)
put(obj("LimitRange", "a", "d4", spec=dict(limits=[dict(type="Container", default=dict(memory="1Gi"))])))
put(
    obj(
        "LimitRange",
        "b",
        "d5",
        spec=dict(
            limits=[dict(type="Container", default={"example.com/gpu": "1"}, defaultRequest={"example.com/gpu": "1"})]
        ),
    )
)
put(
    obj("LimitRange", "c", "d6", spec=dict(limits=[dict(type="Container", max=dict(memory="1k"), min=dict(cpu="0.1"))]))
)
settle()
create(pod("p1"), "d1")
create(pod("p2", ctr("a"), ctr("b", dict(cpu="200m")), initContainers=[ctr("i", None, dict(cpu="300m"))]), "d1")
create(pod("p3", ctr("a", dict(cpu="20m"), dict(cpu="200m"))), "d1")
create(pod("p4", ctr("a", dict(cpu="500m"), dict(cpu="2"))), "d1")
create(pod("p5", ctr("a", dict(cpu="50m"), dict(cpu="600m"))), "d1")
create(pod("p6", ctr("a", dict(cpu="50m"), dict(cpu="555m"))), "d1")
create(pod("p7", ctr("a", dict(cpu="60m", memory="2Gi"), dict(cpu="500m", memory="2Gi"))), "d1")
create(pod("p8", ctr("a", dict(cpu="0"), dict(cpu="500m"))), "d1")
create(
    obj("Pod", "", meta=dict(generateName="gen-"), spec=dict(containers=[ctr("a", dict(cpu="5"), dict(cpu="5"))])), "d1"
)
create(pod("p9", meta=dict(annotations={"x": "y"})), "d1")
create(pod("pa", ctr("a"), ctr("b", dict(cpu="20m"), dict(cpu="30m"))), "d1")
create(pod("pb", ctr("a"), initContainers=[ctr("i", dict(cpu="20m"), dict(cpu="30m"))]), "d1")


def resize(**r):
    def f(p):
        p["spec"]["containers"][0]["resources"] = r

    return f


update(
    "Pod",
    "p1",
    resize(requests=dict(cpu="200m", memory="64Mi"), limits=dict(cpu="800m", memory="512Mi")),
    "d1",
    "resize",
)
update(
    "Pod",
    "p1",
    resize(requests=dict(cpu="200m", memory="64Mi"), limits=dict(cpu="1500m", memory="512Mi")),
    "d1",
    "resize",
)
update("Pod", "p1", lambda p: p["metadata"].setdefault("labels", {}).update(a="b"), "d1")
create(pod("p1"), "d2")
create(pod("p2", ctr("a", dict(cpu="100m", memory="1Gi"), dict(cpu="1", memory="1Gi"))), "d2")
create(
    pod(
        "p3",
        ctr("a", dict(cpu="100m", memory="1Gi"), dict(cpu="1", memory="1Gi")),
        ctr("b", dict(cpu="100m", memory="100Mi"), dict(cpu="500m", memory="200Mi")),
    ),
    "d2",
)
create(pod("p4", ctr("a", dict(cpu="200m", memory="100Mi"), dict(cpu="1", memory="300Mi"))), "d2")
create(
    pod(
        "p5",
        ctr("a", dict(cpu="200m", memory="100Mi"), dict(cpu="1500m", memory="200Mi")),
        initContainers=[
            ctr("s", dict(cpu="200m", memory="100Mi"), dict(cpu="600m", memory="200Mi"), restartPolicy="Always")
        ],
    ),
    "d2",
)
create(
    pod(
        "p6",
        ctr("a", dict(cpu="200m", memory="100Mi"), dict(cpu="1500m", memory="200Mi")),
        initContainers=[ctr("s", dict(cpu="200m", memory="2Gi"), dict(cpu="600m", memory="3Gi"))],
    ),
    "d2",
)
create(pod("p7", ctr("a"), resources=res(dict(cpu="300m", memory="1Gi"), dict(cpu="1", memory="2Gi"))), "d2")
create(pod("p8", ctr("a"), resources=res(dict(cpu="300m", memory="1Gi"), dict(cpu="3", memory="2Gi"))), "d2")
create(pvc("c1", "1Gi"), "d3")
create(pvc("c2", "500Mi"), "d3")
create(pvc("c3", "11Gi"), "d3")
create(pvc("c4", "10.5Gi"), "d3")
create(pod("x"), "d4")
create(pod("y", ctr("a", dict(memory="100Mi"))), "d4")
create(pod("x"), "d5")
create(pod("x", ctr("a", dict(cpu="0.1", memory="900"), dict(memory="1001"))), "d6")
create(pod("y", ctr("a", dict(cpu="99m", memory="900"), dict(memory="1000"))), "d6")
create(pod("z", ctr("a", dict(cpu="100m", memory="900"), dict(memory="1000"))), "d6")
create(pod("early", ctr("a", dict(cpu="100m")), ctr("b", dict(cpu="100m"))), "d7")
put(
    obj(
        "LimitRange",
        "r",
        "d7",
        spec=dict(limits=[dict(type="Container", default=dict(memory="512Mi"), defaultRequest=dict(memory="64Mi"))]),
    )
)
settle()
update("Pod", "early", lambda p: p["spec"]["containers"][0].update(resources=res(dict(cpu="200m"))), "d7", "resize")
put(
    obj(
        "LimitRange",
        "r",
        "d8",
        spec=dict(
            limits=[
                dict(type="Container", maxLimitRequestRatio=dict(memory="1.5", cpu="2")),
                dict(type="Pod", max={"ephemeral-storage": "1Gi"}),
            ]
        ),
    )
)
settle()
create(pod("a", ctr("a", dict(memory="100", cpu="1"), {"memory": "151", "cpu": "2", "ephemeral-storage": "1"})), "d8")
create(pod("b", ctr("a", dict(memory="100", cpu="1"), {"memory": "150", "cpu": "2", "ephemeral-storage": "2Gi"})), "d8")
create(pod("c", ctr("a", dict(memory="100", cpu="1"))), "d8")
create(
    pod(
        "d",
        ctr("a", dict(memory="100", cpu="1"), {"memory": "150", "cpu": "2", "ephemeral-storage": "0.5Gi"}),
        ctr("b", dict(memory="3", cpu="1m"), {"memory": "4", "cpu": "0.0015", "ephemeral-storage": "513Mi"}),
    ),
    "d8",
)
# ---------------------------------------------------------------- Priority
create(obj("PriorityClass", "low", value=-5), "")
put(obj("PriorityClass", "high", value=1000, preemptionPolicy="Never"))
settle()
create(pod("a"), "pr")
create(pod("b", priorityClassName="high"), "pr")
create(pod("c", priorityClassName="missing"), "pr")
create(pod("d", priority=7), "pr")
create(pod("e", priorityClassName="high", priority=1000), "pr")
create(pod("f", priorityClassName="high", priority=1), "pr")
create(pod("g", priorityClassName="high", preemptionPolicy="PreemptLowerPriority"), "pr")
create(pod("h", preemptionPolicy="Never"), "pr")
have("PriorityClass", "system-node-critical")
create(pod("i", priorityClassName="system-node-critical"), "kube-system")


def nopriority(p):
    del p["spec"]["priority"], p["spec"]["preemptionPolicy"]


update("Pod", "b", nopriority, "pr")
put(obj("PriorityClass", "normal", value=10, globalDefault=True))
settle()
create(pod("j"), "pr")
create(pod("k", priority=3), "pr")
create(obj("PriorityClass", "second", value=1, globalDefault=True))
create(obj("PriorityClass", "third", value=1))
update("PriorityClass", "normal", lambda c: c.update(description="x"))
update("PriorityClass", "third", lambda c: c.update(globalDefault=True))
drop("PriorityClass", "normal")
settle()
# ---------------------------------------------------------------- DefaultTolerationSeconds, TaintNodesByCondition
tol = lambda **t: t
create(pod("t1", tolerations=[tol(operator="Exists")]), "pr")
create(
    pod(
        "t2",
        tolerations=[
            tol(key="node.kubernetes.io/not-ready", operator="Exists", effect="NoExecute", tolerationSeconds=5)
        ],
    ),
    "pr",
)
create(
    pod(
        "t3",
        tolerations=[
            tol(key="node.kubernetes.io/not-ready", operator="Exists", effect="NoSchedule"),
            tol(key="node.kubernetes.io/unreachable", operator="Exists"),
        ],
    ),
    "pr",
)
create(pod("t4", tolerations=[tol(operator="Exists", effect="NoSchedule")]), "pr")
update("Pod", "t1", lambda p: p["spec"]["tolerations"].append(tol(key="k", operator="Exists")), "pr")
create(obj("Node", "n1"))
create(obj("Node", "n2", spec=dict(taints=[dict(key="a", effect="NoSchedule")])))
create(obj("Node", "n3", spec=dict(taints=[dict(key="node.kubernetes.io/not-ready", effect="NoSchedule", value="v")])))
create(obj("Node", "n4", spec=dict(taints=[dict(key="node.kubernetes.io/not-ready", effect="NoExecute")])))
update("Node", "n1", lambda n: n["spec"].pop("taints"))
# ---------------------------------------------------------------- storage
create(pvc("a"), "st")
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
put(obj("StorageClass", "plain", provisioner="x/y"))
put(obj("StorageClass", "grows", provisioner="x/y", allowVolumeExpansion=True))
put(obj("StorageClass", "zdefault", provisioner="x/y", meta=dict(annotations=DEFAULT)))
settle()
create(pvc("b"), "st")
create(pvc("c", storageClassName=""), "st")
create(pvc("d", storageClassName="grows"), "st")
create(pvc("e", meta=dict(annotations={"volume.beta.kubernetes.io/storage-class": "plain"})), "st")
time.sleep(1.1)
put(
    obj(
        "StorageClass",
        "newer",
        provisioner="x/y",
        meta=dict(annotations={"storageclass.beta.kubernetes.io/is-default-class": "true"}),
    )
)
put(obj("StorageClass", "anewer", provisioner="x/y", meta=dict(annotations=DEFAULT)))
settle()
create(pvc("f"), "st")
create(pvc("g", meta=dict(finalizers=["kubernetes.io/pvc-protection"])), "st")
create(pvc("h", meta=dict(finalizers=["a.com/b"])), "st")
create(
    obj(
        "PersistentVolume",
        "v1",
        spec=dict(capacity=dict(storage="1Gi"), accessModes=["ReadWriteOnce"], hostPath=dict(path="/x")),
    )
)
create(obj("VolumeAttributesClass", "silver", driverName="x.y", parameters=dict(a="b")))


def size(s):
    def f(c):
        c["spec"]["resources"]["requests"]["storage"] = s

    return f


def bind(name, ns):
    _, c = call(S, "GET", path("PersistentVolumeClaim", ns, name))
    c["status"] = dict(phase="Bound", capacity=dict(storage="1Gi"))
    c["spec"]["volumeName"] = "v-" + name
    call(S, "PUT", path("PersistentVolumeClaim", ns, name), c)
    _, c = call(S, "GET", path("PersistentVolumeClaim", ns, name))
    c["status"] = dict(phase="Bound", capacity=dict(storage="1Gi"))
    code, a = call(S, "PUT", path("PersistentVolumeClaim", ns, name, "status"), c)
    assert code == 200, a


update("PersistentVolumeClaim", "d", size("2Gi"), "st")
bind("d", "st")
bind("b", "st")
bind("c", "st")
bind("e", "st")
update("PersistentVolumeClaim", "d", size("2Gi"), "st")
update("PersistentVolumeClaim", "b", size("2Gi"), "st")
update("PersistentVolumeClaim", "c", size("2Gi"), "st")
update("PersistentVolumeClaim", "e", size("2Gi"), "st")
update("PersistentVolumeClaim", "d", lambda c: c["metadata"].setdefault("labels", {}).update(x="y"), "st")
# ---------------------------------------------------------------- RuntimeClass
put(obj("RuntimeClass", "bare", handler="h"))
put(obj("RuntimeClass", "heavy", handler="h", overhead=dict(podFixed=dict(cpu="250m", memory="120Mi"))))
put(obj("RuntimeClass", "empty", handler="h", overhead={}))
put(
    obj(
        "RuntimeClass",
        "picky",
        handler="h",
        scheduling=dict(
            nodeSelector=dict(os="x", arch="y"),
            tolerations=[
                tol(key="k", operator="Exists"),
                tol(key="t", operator="Equal", value="v", effect="NoSchedule"),
            ],
        ),
    )
)
settle()
create(pod("a", runtimeClassName="missing"), "rt")
create(pod("b", runtimeClassName="bare"), "rt")
create(pod("c", runtimeClassName="heavy"), "rt")
create(pod("d", runtimeClassName="heavy", overhead=dict(cpu="0.25", memory="120Mi")), "rt")
create(pod("e", runtimeClassName="heavy", overhead=dict(cpu="1")), "rt")
create(pod("f", runtimeClassName="bare", overhead=dict(cpu="1")), "rt")
create(pod("g", overhead=dict(cpu="1")), "rt")
create(pod("n", runtimeClassName="empty"), "rt")
create(pod("o", runtimeClassName="empty", overhead=dict(cpu="1")), "rt")
create(pod("p", runtimeClassName="heavy", priority=4), "rt")
create(pod("h", runtimeClassName="picky"), "rt")
create(pod("i", runtimeClassName="picky", nodeSelector=dict(os="x", z="z")), "rt")
create(pod("j", runtimeClassName="picky", nodeSelector=dict(os="other")), "rt")
create(
    pod(
        "k",
        runtimeClassName="picky",
        tolerations=[tol(key="k", operator="Equal", value="q"), tol(key="t", operator="Exists")],
    ),
    "rt",
)
create(pod("l", runtimeClassName="picky", tolerations=[tol(operator="Exists")]), "rt")
create(
    pod(
        "m",
        runtimeClassName="picky",
        tolerations=[
            tol(key="k", operator="Exists", effect="NoExecute", tolerationSeconds=4),
            tol(key="t", operator="Equal", value="v", effect="NoSchedule"),
            tol(key="t", operator="Equal", value="v"),
        ],
    ),
    "rt",
)
# ---------------------------------------------------------------- DefaultIngressClass
backend = dict(service=dict(name="s", port=dict(number=80)))
ing = lambda name, meta={}, **spec: obj("Ingress", name, meta=meta, spec=dict(defaultBackend=backend, **spec))
create(ing("a"), "ing")
DI = {"ingressclass.kubernetes.io/is-default-class": "true"}
put(obj("IngressClass", "other", spec=dict(controller="a.com/b")))
put(obj("IngressClass", "std", spec=dict(controller="a.com/b"), meta=dict(annotations=DI)))
settle()
create(ing("b"), "ing")
create(ing("c", ingressClassName="other"), "ing")
create(ing("d", dict(annotations={"kubernetes.io/ingress.class": "x"})), "ing")
time.sleep(1.1)
put(obj("IngressClass", "new", spec=dict(controller="a.com/b"), meta=dict(annotations=DI)))
settle()
create(ing("e"), "ing")


# ---------------------------------------------------------------- certificates
def csr(subject):
    os.path.exists("kp.key") or subprocess.run(
        ["openssl", "genrsa", "-out", "kp.key", "1024"], stderr=subprocess.DEVNULL, check=True
    )
    pem = subprocess.run(
        ["openssl", "req", "-new", "-key", "kp.key", "-subj", subject], capture_output=True, check=True
    ).stdout
    return base64.b64encode(pem).decode()


CLIENT = "kubernetes.io/kube-apiserver-client"
mk = lambda name, subject, signer: obj(
    "CertificateSigningRequest", name, spec=dict(request=csr(subject), signerName=signer, usages=["client auth"])
)
create(mk("m1", "/O=system:masters/CN=x", CLIENT))
create(mk("m2", "/O=dev/O=system:masters/CN=x", CLIENT))
create(mk("m3", "/O=dev/CN=x", CLIENT))
create(mk("m4", "/O=system:masters/CN=x", "example.com/ok"))


def role(user, *rules):
    call(S, "POST", path("ClusterRole"), obj("ClusterRole", "r-" + user, rules=list(rules)))
    call(
        S,
        "POST",
        path("ClusterRoleBinding"),
        obj(
            "ClusterRoleBinding",
            "r-" + user,
            subjects=[dict(kind="User", name=user, apiGroup="rbac.authorization.k8s.io")],
            roleRef=dict(kind="ClusterRole", name="r-" + user, apiGroup="rbac.authorization.k8s.io"),
        ),
    )
    for r in rules:
        if r["resources"] == ["signers"]:
            for v in r["verbs"]:
                for n in r["resourceNames"]:
                    line(allow=[user, v, n])


base = dict(
    apiGroups=["certificates.k8s.io"],
    resources=[
        "certificatesigningrequests",
        "certificatesigningrequests/approval",
        "certificatesigningrequests/status",
        "clustertrustbundles",
    ],
    verbs=["*"],
)
signers = lambda names, *verbs: dict(
    apiGroups=["certificates.k8s.io"], resources=["signers"], resourceNames=names, verbs=list(verbs)
)
role("bob", base, signers(["example.com/ok"], "approve", "attest"))
role("carol", base, signers(["example.com/*"], "sign", "approve"))
role("eve", base)
settle()
settle()
create(mk("c1", "/CN=x", "example.com/ok"), user="eve")
create(mk("c2", "/CN=x", "example.com/no"), user="eve")
create(mk("c3", "/O=system:masters/CN=x", CLIENT), user="eve")


def approve(c):
    c["status"].setdefault("conditions", []).append(dict(type="Approved", status="True", reason="r", message="m"))


update("CertificateSigningRequest", "c1", approve, sub="approval", user="eve")
update("CertificateSigningRequest", "c2", approve, sub="approval", user="bob")
update("CertificateSigningRequest", "c1", approve, sub="approval", user="bob")
update("CertificateSigningRequest", "c2", approve, sub="approval", user="carol")
cert = base64.b64encode(
    subprocess.run(
        ["openssl", "req", "-new", "-x509", "-key", "kp.key", "-subj", "/CN=x", "-days", "9"],
        capture_output=True,
        check=True,
    ).stdout
).decode()


def sign(c):
    c["status"]["certificate"] = cert


def failed(c):
    c["status"].setdefault("conditions", []).append(dict(type="Failed", status="True", reason="r", message="m"))


update("CertificateSigningRequest", "c1", sign, sub="status", user="bob")
update("CertificateSigningRequest", "c1", lambda c: None, sub="status", user="bob")
update("CertificateSigningRequest", "c2", failed, sub="status", user="eve")
update("CertificateSigningRequest", "c1", sign, sub="status", user="carol")
update("CertificateSigningRequest", "m3", approve, sub="approval")
PEM = base64.b64decode(cert).decode()
ca = subprocess.run(
    [
        "openssl",
        "req",
        "-new",
        "-x509",
        "-key",
        "kp.key",
        "-subj",
        "/CN=ca",
        "-days",
        "9",
        "-addext",
        "basicConstraints=critical,CA:TRUE",
    ],
    capture_output=True,
    check=True,
).stdout.decode()
ctb = lambda name, signer=None: obj(
    "ClusterTrustBundle", name, spec=dict(trustBundle=ca, **({"signerName": signer} if signer else {}))
)
create(ctb("plain"), user="eve")
create(ctb("example.com:ok:a", "example.com/ok"), user="eve")
create(ctb("example.com:ok:a", "example.com/ok"), user="bob")
update(
    "ClusterTrustBundle", "example.com:ok:a", lambda b: b["metadata"].setdefault("labels", {}).update(a="b"), user="eve"
)
update("ClusterTrustBundle", "example.com:ok:a", lambda b: b["metadata"].update(finalizers=["a.com/b"]), user="eve")
update(
    "ClusterTrustBundle", "example.com:ok:a", lambda b: b["metadata"].setdefault("labels", {}).update(a="c"), user="bob"
)
# ---------------------------------------------------------------- PodTopologyLabels, resize on nodes
Z = {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1", "other": "o"}
put(obj("Node", "zoned", meta=dict(labels=Z)), dict(allocatable=dict(cpu="2", memory="1Gi")))
put(
    obj("Node", "bare"),
    dict(allocatable=dict(cpu="2", memory="1Gi"), declaredFeatures=["InPlacePodLevelResourcesVerticalScaling"]),
)
put(
    obj("Node", "win", meta=dict(labels={"kubernetes.io/os": "windows"})), dict(allocatable=dict(cpu="2", memory="1Gi"))
)
settle()
create(pod("a", nodeName="zoned", meta=dict(labels={"a": "b", "topology.kubernetes.io/zone": "mine"})), "tp")
create(pod("b", nodeName="bare"), "tp")
create(pod("c", nodeName="missing"), "tp")
create(pod("d"), "tp")
create(pod("e"), "tp")


def binding(name, node, labels=None, kind="Node"):
    b = obj("Binding", name, "tp", target=dict(kind=kind, name=node, apiVersion="v1"))
    if labels:
        b["metadata"]["labels"] = labels
    code, a = call(S, "POST", path("Pod", "tp", name, "binding"), b)
    rec = dict(
        op="CREATE",
        kind="Binding",
        resource=["", "v1", "pods"],
        sub="binding",
        ns="tp",
        name=name,
        user="admin",
        dry=False,
        object=b,
    )
    _, p = call(S, "GET", path("Pod", "tp", name))
    finish(
        rec,
        "tp",
        code,
        a,
        b,
        False,
        merge_patch(b.get("metadata", {}).get("labels", {}), p["metadata"].get("labels", {}))
        and {"metadata": {"labels": p["metadata"]["labels"]}},
    )


binding("d", "zoned", {"x": "y"})
binding("e", "bare")
both = dict(cpu="1", memory="500Mi")
for n, node in (("z", "zoned"), ("w", "win"), ("m", "nowhere"), ("b", "bare")):
    create(pod(n, ctr("a", both, both), nodeName=node), "rs")
    create(pod(n + "2", ctr("a", both), nodeName=node, resources=res(both, both)), "rs")
create(pod("free", ctr("a", both, both)), "rs")
more = lambda c, m: resize(requests=dict(cpu=c, memory=m), limits=dict(cpu=c, memory=m))
update("Pod", "z", more("2", "600Mi"), "rs", "resize")
update("Pod", "z", more("2500m", "600Mi"), "rs", "resize")
update("Pod", "z", more("3", "2Gi"), "rs", "resize")
update("Pod", "w", more("1500m", "600Mi"), "rs", "resize")
update("Pod", "m", more("1500m", "600Mi"), "rs", "resize")
update("Pod", "free", more("30", "600Gi"), "rs", "resize")


def podlevel(c):
    def f(p):
        p["spec"]["resources"] = res(dict(cpu=c, memory="500Mi"), dict(cpu=c, memory="500Mi"))

    return f


update("Pod", "z2", podlevel("1500m"), "rs", "resize")
update("Pod", "b2", podlevel("1500m"), "rs", "resize")
update("Pod", "b2", podlevel("2500m"), "rs", "resize")
update("Pod", "m2", podlevel("1500m"), "rs", "resize")
update("Pod", "z", lambda p: p["metadata"].setdefault("labels", {}).update(a="b"), "rs")


# ---------------------------------------------------------------- ResourceQuota
def quota(ns, name, hard, used="zero", **spec):
    status = {} if used is None else dict(hard=hard, used={k: "0" for k in hard} if used == "zero" else used)
    put(obj("ResourceQuota", name, ns, spec=dict(hard=hard, **spec)), status)


Q = dict(quotas=True)
quota("q0", "fresh", dict(pods="1"), None)
settle()
create(pod("a"), "q0", **Q)
create(pod("b"), "q0", **Q)
quota(
    "q1",
    "compute",
    {"pods": "3", "cpu": "1", "memory": "1Gi", "limits.cpu": "2", "limits.memory": "2Gi", "count/pods": "10"},
)
settle()
create(pod("a"), "q1", **Q)
create(
    pod("b", ctr("a", dict(cpu="100m")), ctr("b", dict(memory="1Mi"), dict(cpu="1")), initContainers=[ctr("i")]),
    "q1",
    **Q,
)
full = lambda c="300m", m="256Mi", lc="500m", lm="512Mi", n="a": ctr(n, dict(cpu=c, memory=m), dict(cpu=lc, memory=lm))
create(pod("c", full()), "q1", dry=True, **Q)
create(pod("c", full()), "q1", **Q)
create(pod("d", full("800m")), "q1", **Q) if False else None
create(pod("d", full("600m", "800Mi", "600m", "900Mi")), "q1", **Q)
create(pod("e", full("900m", "800Mi", "1900m", "1900Mi")), "q1", **Q)
create(pod("f", full("700m", "768Mi", "1500m", "1536Mi")), "q1", **Q)
create(pod("g", full("1m", "1")), "q1", **Q)
create(pod("h", ctr("a"), resources=res(dict(cpu="1m", memory="1Mi"))), "q1", **Q)
update(
    "Pod",
    "c",
    resize(requests=dict(cpu="200m", memory="256Mi"), limits=dict(cpu="500m", memory="512Mi")),
    "q1",
    "resize",
    **Q,
)
update(
    "Pod",
    "c",
    resize(requests=dict(cpu="400m", memory="256Mi"), limits=dict(cpu="500m", memory="512Mi")),
    "q1",
    "resize",
    **Q,
)
update("Pod", "c", lambda p: p["metadata"].setdefault("labels", {}).update(a="b"), "q1", **Q)
quota(
    "q2",
    "partial",
    {
        "requests.cpu": "4",
        "requests.memory": "4Gi",
        "requests.ephemeral-storage": "1Gi",
        "limits.ephemeral-storage": "2Gi",
        "hugepages-2Mi": "10Mi",
        "requests.hugepages-2Mi": "8Mi",
        "requests.example.com/gpu": "2",
    },
)
settle()
create(
    pod(
        "a",
        ctr(
            "a",
            {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "100Mi", "example.com/gpu": "1", "hugepages-2Mi": "4Mi"},
            {"example.com/gpu": "1", "hugepages-2Mi": "4Mi", "ephemeral-storage": "1G"},
        ),
    ),
    "q2",
    **Q,
)
create(pod("b", ctr("a", {"cpu": "1", "memory": "1Gi", "example.com/gpu": "2"}, {"example.com/gpu": "2"})), "q2", **Q)
create(pod("c", ctr("a", {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "6Mi"}, {"hugepages-2Mi": "6Mi"})), "q2", **Q)
create(
    pod(
        "d",
        full("500m", "512Mi"),
        full("250m", "100M", n="b"),
        initContainers=[full("2", "1Gi", "2", "2Gi", n="i"), dict(full("250m", "1Mi", n="s"), restartPolicy="Always")],
    ),
    "q2",
    **Q,
)
create(pod("e", full("500m", "512Mi"), runtimeClassName="heavy"), "q2", **Q)
create(pod("f", ctr("a", dict(cpu="0", memory="0"))), "q2", **Q)
# scopes
quota("q3", "terminating", {"pods": "1"}, scopes=["Terminating"])
quota("q3", "notterminating", {"pods": "2"}, scopes=["NotTerminating"])
quota("q3", "besteffort", {"pods": "9"}, scopes=["BestEffort"])
quota("q3", "notbesteffort", {"pods": "1", "requests.cpu": "1"}, scopes=["NotBestEffort", "NotTerminating"])
settle()
create(pod("a"), "q3", **Q)
create(pod("b", activeDeadlineSeconds=5), "q3", **Q)
create(pod("c", activeDeadlineSeconds=5), "q3", **Q)
create(pod("d", ctr("a", dict(cpu="1"))), "q3", **Q)
create(pod("e", ctr("a", None, dict(memory="1Mi"))), "q3", **Q)
create(pod("f", ctr("a", {"ephemeral-storage": "1"})), "q3", **Q)
create(obj("ConfigMap", "x"), "q3", **Q)
update("Pod", "a", lambda p: p["spec"].update(activeDeadlineSeconds=9), "q3", **Q)
update("Pod", "d", lambda p: p["spec"].update(activeDeadlineSeconds=9), "q3", **Q)
sel = lambda op, *values, scope="PriorityClass": dict(
    scopeSelector=dict(
        matchExpressions=[dict(scopeName=scope, operator=op, **({"values": list(values)} if values else {}))]
    )
)
quota("q4", "in", {"pods": "1"}, **sel("In", "high"))
quota("q4", "notin", {"pods": "2"}, **sel("NotIn", "high"))
quota("q4", "exists", {"pods": "5"}, **sel("Exists"))
quota("q4", "none", {"pods": "1"}, **sel("DoesNotExist"))
quota("q4", "cross", {"pods": "0"}, scopes=["CrossNamespacePodAffinity"])
settle()
create(pod("a"), "q4", **Q)
create(pod("b", priorityClassName="high"), "q4", **Q)
create(pod("c", priorityClassName="high"), "q4", **Q)
create(pod("d", priorityClassName="low"), "q4", **Q)
create(pod("e", priorityClassName="low"), "q4", **Q)
aff = lambda **t: dict(
    affinity=dict(
        podAffinity=dict(requiredDuringSchedulingIgnoredDuringExecution=[dict(labelSelector={}, topologyKey="x", **t)])
    )
)

quota("q5", "exact", {"pods": "9"})
quota("q5", "affinity", {"pods": "0"}, scopes=["CrossNamespacePodAffinity"])
settle()
create(pod("a", **aff()), "q5", **Q)
create(pod("b", **aff(namespaceSelector={})), "q5", **Q)
create(
    pod(
        "c",
        affinity=dict(
            podAntiAffinity=dict(
                preferredDuringSchedulingIgnoredDuringExecution=[
                    dict(weight=1, podAffinityTerm=dict(labelSelector={}, topologyKey="x", namespaces=["y"]))
                ]
            )
        ),
    ),
    "q5",
    **Q,
)
# services
svc = lambda name, t="ClusterIP", ports=1, **spec: obj(
    "Service", name, spec=dict(type=t, ports=[dict(name=f"p{i}", port=80 + i) for i in range(ports)], **spec)
)
quota("q6", "svc", {"services": "5", "services.nodeports": "3", "services.loadbalancers": "1", "count/services": "9"})
settle()
create(svc("a"), "q6", **Q)
create(svc("b", "NodePort", 2), "q6", **Q)
create(svc("c", "LoadBalancer", 2), "q6", **Q)
create(svc("d", "LoadBalancer", 2, allocateLoadBalancerNodePorts=False), "q6", **Q)
create(svc("e", "LoadBalancer", 1), "q6", **Q)
create(svc("f", "NodePort", 2), "q6", **Q)
update("Service", "a", lambda s: s["spec"].update(type="NodePort"), "q6", **Q)
update("Service", "b", lambda s: s["spec"]["ports"].append(dict(name="n", port=99, protocol="TCP")), "q6", **Q)
update("Service", "b", lambda s: s["spec"]["ports"].pop(), "q6", **Q)
x = svc("g", "LoadBalancer", 1, allocateLoadBalancerNodePorts=False)
x["spec"]["ports"][0]["nodePort"] = 31234
create(x, "q6", **Q)
# claims
quota(
    "q7",
    "vol",
    {
        "persistentvolumeclaims": "5",
        "requests.storage": "10Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "3Gi",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "2",
        "count/persistentvolumeclaims": "6",
    },
)
quota("q7", "vac", {"requests.storage": "1Gi"}, **sel("In", "silver", scope="VolumeAttributesClass"))
settle()
create(pvc("a", "2Gi", storageClassName="gold"), "q7", **Q)
create(pvc("b", "2Gi", storageClassName="gold"), "q7", **Q)
create(pvc("c", "9Gi", storageClassName="grows"), "q7", **Q)
create(pvc("d", "1.0000000005Gi", storageClassName="grows"), "q7", **Q)
create(pvc("e", "100m", storageClassName="gold"), "q7", **Q)
create(pvc("f", "1Mi", storageClassName="gold"), "q7", **Q)
create(pvc("g", "2Gi", storageClassName="grows", volumeAttributesClassName="silver"), "q7", **Q)
create(pvc("h", "1Gi", storageClassName="grows", volumeAttributesClassName="silver"), "q7", **Q)
_, c = call(S, "GET", path("PersistentVolumeClaim", "q7", "d"))
bind("d", "q7")
settle()
update("PersistentVolumeClaim", "d", size("3Gi"), "q7", **Q)
update("PersistentVolumeClaim", "d", size("30Gi"), "q7", **Q)
update(
    "PersistentVolumeClaim",
    "d",
    lambda c: c["status"].update(allocatedResources=dict(storage="20Gi")),
    "q7",
    "status",
    **Q,
)
# counts
quota(
    "q8",
    "counts",
    {
        "configmaps": "2",
        "count/secrets": "1",
        "secrets": "5",
        "count/deployments.apps": "1",
        "replicationcontrollers": "1",
        "resourcequotas": "3",
        "count/events": "0",
        "count/ingresses.networking.k8s.io": "0",
    },
)
settle()
create(obj("ConfigMap", "a"), "q8", **Q)
create(obj("ConfigMap", "b"), "q8", **Q)
create(obj("ConfigMap", "c"), "q8", **Q)
create(obj("Secret", "a"), "q8", **Q)
create(obj("Secret", "b"), "q8", **Q)
dep = lambda name: obj(
    "Deployment",
    name,
    spec=dict(
        selector=dict(matchLabels=dict(a="b")),
        template=dict(metadata=dict(labels=dict(a="b")), spec=dict(containers=[ctr()])),
    ),
)
create(dep("a"), "q8", **Q)
create(dep("b"), "q8", **Q)
create(obj("Event", "e", involvedObject=dict(namespace="q8")), "q8", **Q)
create(ing("a"), "q8", **Q)
create(
    obj(
        "ReplicationController",
        "a",
        spec=dict(
            replicas=0,
            selector=dict(a="b"),
            template=dict(metadata=dict(labels=dict(a="b")), spec=dict(containers=[ctr()])),
        ),
    ),
    "q8",
    **Q,
)
create(obj("ResourceQuota", "later", spec=dict(hard=dict(pods="1"))), "q8", **Q)
drop("ResourceQuota", "later", "q8")
update("ConfigMap", "a", lambda c: c.update(data=dict(a="b")), "q8", **Q)
create(
    obj(
        "LocalSubjectAccessReview",
        "",
        meta=dict(namespace="q8"),
        spec=dict(user="x", resourceAttributes=dict(namespace="q8", verb="get", resource="pods")),
    ),
    "q8",
    **Q,
)
# status unknown, several quotas, notation
quota("q9", "unknown", {"pods": "5", "cpu": "1"}, {"pods": "0"})
settle()
create(pod("a", ctr("a", dict(cpu="1"))), "q9", **Q)
create(obj("ConfigMap", "a"), "q9", **Q)
# devices
put(obj("DeviceClass", "gpu", spec=dict(extendedResourceName="example.com/gpu")))
put(obj("DeviceClass", "nic", spec={}))
quota(
    "qa",
    "devices",
    {
        "count/resourceclaims.resource.k8s.io": "5",
        "gpu.deviceclass.resource.k8s.io/devices": "3",
        "nic.deviceclass.resource.k8s.io/devices": "40",
        "requests.example.com/gpu": "4",
        "requests.deviceclass.resource.kubernetes.io/nic": "50",
    },
)
settle()
claim = lambda name, *requests: obj("ResourceClaim", name, spec=dict(devices=dict(requests=list(requests))))
exactly = lambda name, cls, **more: dict(name=name, exactly=dict(deviceClassName=cls, **more))
create(claim("a", exactly("x", "gpu")), "qa", **Q)
create(claim("b", exactly("x", "gpu", count=3)), "qa", **Q)
create(claim("c", exactly("x", "nic", allocationMode="All"), exactly("y", "gpu")), "qa", **Q)
create(
    claim(
        "d",
        dict(
            name="z",
            firstAvailable=[
                dict(name="p", deviceClassName="gpu"),
                dict(name="q", deviceClassName="nic", count=4),
                dict(name="r", deviceClassName="nic", count=2),
            ],
        ),
    ),
    "qa",
    **Q,
)
create(claim("e", exactly("x", "nic", count=5)), "qa", **Q)
create(claim("f", exactly("x", "other")), "qa", **Q)
print("requests", count, "bytes", out.tell(), file=sys.stderr)
