#!/usr/bin/env python3
"""Records what kube-apiserver makes of requests in the name of other users. usage: impersonations.py URL TOKEN > impersonations.json

The server authorizes with RBAC, TOKEN is that of an administrator, and for each request below it has a user `u0`, `u1` and so on
with a token of that name: kube-apiserver remembers which mode allowed the last impersonation of a user.

    for i in $(seq 0 99); do echo "u$i,u$i,"; done >>tokens.csv
"""

import http.client
import json
import ssl
import sys
import time
import urllib.parse

URL, ADMIN = sys.argv[1:3]
HOST = urllib.parse.urlsplit(URL).netloc
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
AUTH = "authentication.k8s.io"


def send(token, method, path, body=None, headers=()):
    connection = http.client.HTTPSConnection(HOST, context=ssl._create_unverified_context())
    connection.putrequest(method, path)
    connection.putheader("Authorization", "Bearer " + token)
    data = b"" if body is None else json.dumps(body).encode()
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(data)))
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders(data)
    answer = connection.getresponse()
    text = answer.read()
    return answer.status, json.loads(text)


def rule(verbs, groups, resources, names=None):
    return {"verbs": verbs, "apiGroups": groups, "resources": resources, **({"resourceNames": names} if names else {})}


def user(name="bob", *more):
    return [("Impersonate-User", name), *[("Impersonate-" + key, value) for key, value in more]]


def main():
    review = rule(["create"], [AUTH], ["selfsubjectreviews"])
    legacy = rule(["impersonate"], ["", AUTH], ["users", "groups", "serviceaccounts", "uids"])
    extras = rule(["impersonate"], [AUTH], ["userextras/scopes", "userextras/acme.io/x"])

    def on(mode):
        return rule(["impersonate-on:%s:create" % mode], [AUTH], ["selfsubjectreviews"])

    def may(mode, *resources, names=None):
        return rule(["impersonate:" + mode], [AUTH], list(resources), names)

    info = [on("user-info"), may("user-info", "users", "groups", "uids", "userextras/acme.io/x")]
    robot, node = "system:serviceaccount:ns:robot", "system:node:worker"
    many = [("Group", "g%d" % i) for i in range(4)]
    cases = [
        ([], user()), ([legacy], user()), ([legacy], user("bob", ("Group", "a"), ("Group", "b"), ("Uid", "7"))),
        ([legacy], user("bob", ("Extra-Scopes", "a"))), ([legacy, extras], user("bob", ("Extra-Scopes", "a"), ("Extra-Scopes", "b"))),
        ([legacy, extras], user("bob", ("Extra-Acme.io%2Fx", "a"))), ([legacy], user(robot)), ([legacy], user(robot, ("Group", "a"))),
        ([legacy], user(node)), ([legacy], user("system:anonymous")), ([legacy], user("system:anonymous", ("Group", "a"))),
        ([legacy], user("bob", ("Group", "system:unauthenticated"))), ([legacy], user("bob", ("Group", "system:authenticated"))),
        ([legacy], user("bob", ("Group", "system:masters"))), ([legacy], user("bob", ("Group", ""))),
        ([rule(["impersonate"], [""], ["users"], ["bob"])], user()), ([rule(["impersonate"], [""], ["users"], ["bob"])], user("carol")),
        ([rule(["impersonate"], [""], ["users"])], user(robot)), ([rule(["impersonate"], [""], ["users"])], user("bob", ("Group", "a"))),
        ([], [("Impersonate-Group", "a")]), ([], [("Impersonate-Uid", "7")]), ([], [("Impersonate-Extra-B", "1"), ("Impersonate-Extra-A", "2")]),
        ([], [("Impersonate-User", ""), ("Impersonate-Group", "a\"b")]),
        (info, user()), (info[1:], user()), (info[:1], user()), (info, user("bob", ("Group", "a"), ("Uid", "7"))),
        (info, user("bob", ("Group", "system:masters"))), (info, user("bob", ("Group", ""))), (info, user("bob", *many)),
        ([on("user-info"), may("user-info", "users"), may("user-info", "groups", names=["g0"])], user("bob", *many)),
        (info, user("bob", ("Extra-Acme.io%2Fx", "a"))), (info, user("bob", ("Extra-Acme.io%2Fx", ""))), (info, user("bob", ("Extra-Scopes", "a"))),
        (info, user("bob", ("Extra-Acme.io%2F%41", "a"))), (info, user("bob", ("Extra-Acme_io%2Fa", "a"))), (info, user("bob", ("Extra-", "a"))),
        (info, user("bob", ("Extra-Acme.io%2Fa%20b", "a"))),
        (info, user("bob", ("Extra-100%", "a"))), (info, user(robot)), (info, user(node)),
        ([on("serviceaccount"), may("serviceaccount", "serviceaccounts")], user(robot)),
        ([on("serviceaccount"), may("serviceaccount", "serviceaccounts")], user(robot, ("Group", "a"))),
        ([on("serviceaccount"), may("serviceaccount", "serviceaccounts", names=["other"])], user(robot)),
        ([on("arbitrary-node"), may("arbitrary-node", "nodes")], user(node)), ([on("arbitrary-node")], user(node)),
        ([on("arbitrary-node"), may("arbitrary-node", "nodes")], user("system:node:A_B")),
        ([*info, legacy], user("bob", ("Group", "system:masters"))),
    ]
    for index, (rules, _) in enumerate(cases):
        name = "u%d" % index
        role = {"metadata": {"name": name}, "rules": [review, *rules]}
        base = "/apis/rbac.authorization.k8s.io/v1/"
        assert send(ADMIN, "POST", base + "clusterroles", role)[0] == 201
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
        }
        assert send(ADMIN, "POST", base + "clusterrolebindings", binding)[0] == 201
    time.sleep(2)

    found = []
    for index, (rules, headers) in enumerate(cases):
        code, answer = send("u%d" % index, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", REVIEW, headers)
        answer = {"user": answer["status"]["userInfo"]} if code == 201 else {"message": answer["message"]}
        found.append({"requestor": "u%d" % index, "rules": rules, "headers": headers, "code": code, **answer})
    json.dump(found, sys.stdout, indent=1)
    print()


main()
