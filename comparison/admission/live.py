#!/usr/bin/env python3
"""Sends the same random requests to a kube-apiserver and to `fieldmanager serve`, both with webhooks, and compares.

usage: live.py KUBE_APISERVER FIELDMANAGER [--start start.sh] [--seed N] [--requests N] [--explained FILE] [--result FILE]

start.sh starts kube-apiserver with the default plugins: `ADMISSION=default start.sh KUBE_APISERVER DATA PORT ETCD_PORT`, and
writes its process id to DATA/pid. Answers are compared as `../manifests/run.py` compares them, and the reviews that webhooks
get for each request as a multiset. The program ends with 1 if there are differences that explained.txt does not explain; its
form is that of `../manifests/explained.txt`.
"""

import argparse
import base64
import collections
import copy
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
import webhooks
from generator import Requests, SETTLED

NAMES = ("kube-apiserver", "this server")


def plan_of(_handler, path, review):
    """What a webhook answers: what the servers do themselves is not touched."""
    user = review.get("request", {}).get("userInfo", {}).get("username", "")
    if user.startswith("system:"):
        body = {**webhooks.allow(), "apiVersion": review["apiVersion"]}
        return {"code": 200, "headers": {"Content-Type": "application/json"}, "body": body}
    return webhooks.PLAN[path]


class Side:
    """A server with its webhooks."""

    def __init__(self, name, url, port):
        self.name, self.port = name, port
        self.server = run.Server(url, "secret")

    def send(self, request):
        """The answer to a request, and the reviews that its webhooks got."""
        with webhooks.LOCK:
            webhooks.LOG.clear()
        # The URLs of webhooks differ in their port only.
        body = json.loads(json.dumps(request.body).replace("PORT", str(self.port)))
        content = request.content or "application/json"
        code, answer, warnings = self.server.send(request.method, request.path, body, content, more=request.headers)
        with webhooks.LOCK:
            log = list(webhooks.LOG)
        own = [entry for entry in log if not user_of(entry).startswith("system:")]
        reviews = [[entry["url"].partition("?")[0], entry["sent"]] for entry in own]
        # The digits of the port may be those of a uid too.
        mask = lambda value: json.loads(json.dumps(value).replace(f":{self.port}", ":PORT"))
        answer = run.common((code, mask(answer), [mask(text) for text in warnings]), request.body)
        # The uid of a review is in none of the answers but as what a webhook echoes.
        reviews = [run.common((0, mask(review), []), request.body)["body"] for review in reviews]
        answer["reviews"] = sorted((tidy(review) for review in reviews), key=lambda review: json.dumps(review, sort_keys=True))
        # A generated name has another place in a list.
        if isinstance(answer["body"], dict) and isinstance(answer["body"].get("items"), list):
            answer["body"]["items"].sort(key=lambda item: json.dumps(tidy(item), sort_keys=True))
        return tidy(answer)

    def clean(self, path):
        """Removes an object, whatever keeps it."""
        for _ in range(2):
            self.server.send("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
            self.server.send("DELETE", f"{path}?gracePeriodSeconds=0")


def user_of(entry):
    return entry["sent"].get("request", {}).get("userInfo", {}).get("username", "")


# kube-apiserver names itself by its file.
ITSELF = re.compile(r'"manager": "kube-apiserver[^"]*"')
SUFFIX = re.compile(r"\bgen-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
CLOCK = re.compile(r"\b\d+(\.\d+)?(s|ms|µs)\b elapsed|127\.0\.0\.1:\d{5}->")


def tidy(value):
    """A value without generated names and ports of connections."""
    text = SUFFIX.sub("gen-NAME", json.dumps(value))
    text = ITSELF.sub('"manager": "kube-apiserver"', text)
    return json.loads(CLOCK.sub("", text))


def start(options, folder):
    """Starts both servers. Gives their sides and what ends them."""
    webhooks.CERTS = folder
    webhooks.authority("ca")
    webhooks.certificate("good", "DNS:localhost,IP:127.0.0.1")
    webhooks.Hook.plan = plan_of
    for at in range(2):
        webhooks.serve(options.port + 6 + at, "good")

    environment = {**os.environ, "ADMISSION": "default"}
    command = ["bash", options.start, options.kube_apiserver, f"{folder}/real", str(options.port), str(options.port + 1)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    tokens = pathlib.Path(folder, "tokens.csv")
    tokens.write_text("secret,admin,admin,system:masters\n")
    ours = f"http://127.0.0.1:{options.port + 5}"
    serve = [options.fieldmanager, "serve", "--port", str(options.port + 5), "--token-file", str(tokens), "--no-collector",
             "--kubeconfig", f"{folder}/kubeconfig"]
    log = open(f"{folder}/ours.log", "w")
    process = subprocess.Popen(serve, stdout=log, stderr=log)
    sides = [Side(NAMES[0], f"https://127.0.0.1:{options.port}", options.port + 6), Side(NAMES[1], ours, options.port + 7)]
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


def compare(sides, request):
    """The differences of the answers to a request, and the first answer."""
    answers = [side.send(request) for side in sides]
    first = answers[0]
    # So kube-apiserver answers to the dry run of a deletion that takes the last finalizer.
    if is_empty(answers[0]["body"]) and request.method == "DELETE":
        texts = ("an empty object", "the object") if is_of(request, answers[1]["body"]) else ("an empty object", "another one")
        answers = [{**answer, "body": text} for answer, text in zip(answers, texts)]
    if is_retried(*(answer["reviews"] for answer in answers)):
        answers = [{**answer, "reviews": number} for answer, number in zip(answers, ("again", "once"))]
    different = list(run.differences(*answers))
    if different and not list(run.differences(*map(run.in_order, answers))):
        different = [(".body.details.causes", "one order", "another order")]
    return different, first


def is_empty(body):
    """Whether a body is an object without metadata."""
    return isinstance(body, dict) and body.get("kind") != "Status" and body.get("metadata") == {} and "items" not in body


def is_of(request, body):
    """Whether a body is the object of a request, or the Status of its deletion."""
    name = request.path.partition("?")[0].rsplit("/", 1)[-1]
    names = [body.get("metadata", {}).get("name"), (body.get("details") or {}).get("name")] if isinstance(body, dict) else []
    return name in names


def is_retried(real, ours):
    """Whether kube-apiserver sent the same reviews, some of them again."""
    counted = [collections.Counter(json.dumps(review, sort_keys=True) for review in reviews) for reviews in (real, ours)]
    return len(real) > len(ours) and counted[0].keys() == counted[1].keys() and not counted[1] - counted[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kube_apiserver")
    parser.add_argument("fieldmanager")
    parser.add_argument("--start", default=str(HERE.parent / "kube-apiserver/start.sh"), help="what starts kube-apiserver")
    parser.add_argument("--port", type=int, default=26900, help="the first of eight ports")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--explained", type=pathlib.Path, default=HERE / "explained.txt")
    parser.add_argument("--result", type=pathlib.Path, help="add a line with the numbers")
    parser.add_argument("--verbose", action="store_true", help="print every request with its code")
    options = parser.parse_args()

    reasons = run.explanations(options.explained)
    explained, unexplained, codes = collections.Counter(), [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        sides, stop = start(options, folder)
        try:
            requests = Requests(options.seed, webhooks)
            for number, request in enumerate(requests.all(options.requests)):
                different, answer = compare(sides, request)
                requests.learn(request, answer)
                codes[answer["code"]] += 1
                if options.verbose:
                    body = answer["body"] if isinstance(answer["body"], dict) else {}
                    print(f"{number} {request.method} {request.path} {answer['code']} {body.get('message', '')[:200]}"
                          f" {len(answer['reviews'])} {answer['warnings'] or ''}")
                if request.settles:
                    time.sleep(SETTLED)
                new = False
                for path, real, ours in different:
                    reason = run.reason_of(reasons, (request.kind, request.verb, path, json.dumps(ours)))
                    explained.update([reason] if reason else [])
                    new = new or reason is None
                if new:
                    unexplained.append(request)
                    report(number, request, different, answer, requests.active())
                if new:
                    requests.repair(sides, request)
        finally:
            stop()

    total = sum(codes.values())
    summary = [f"  {count} explained: {reason}" for reason, count in sorted(explained.items())]
    codes = ", ".join(f"{count} {code}" for code, count in sorted(codes.items()))
    head = f"seed {options.seed}: {total} requests ({codes}), {requests.installed} webhook configurations, {len(unexplained)} with unexplained differences"
    print("\n".join([head, *summary]))
    if options.result:
        with open(options.result, "a") as file:
            file.write("\n".join([head, *summary]) + "\n")
    sys.exit(1 if unexplained else 0)


def report(number, request, different, answer, active):
    """Prints the differences of a request, and the webhooks that were called."""
    called = {review[0] for review in answer["reviews"]}
    active = [hook for hook in active if "/" + hook["name"] in called and "observer" not in hook["name"]]
    print(f"#{number} {request.verb} {request.kind}: {request.method} {request.path} {request.headers or ''}\n  sent {json.dumps(request.body)[:1500]}")
    for path, real, ours in different[:8]:
        if path == ".reviews" and isinstance(real, list):
            real, ours = outlined(real), outlined(ours)
        print(f"  {path}\n    kube-apiserver {json.dumps(real)[:1200]}\n    this server    {json.dumps(ours)[:1200]}")
    print(f"  webhooks {json.dumps(active)[:1800]}\n", flush=True)


def outlined(reviews):
    """What tells reviews of one request apart."""
    found = []
    for path, review in reviews:
        request = review["request"]
        objects = [(request.get(name) or {}).get("metadata", {}) for name in ("object", "oldObject")]
        facts = [[metadata.get(name) for name in ("name", "generation", "deletionTimestamp", "finalizers")] for metadata in objects]
        found.append([path, request["operation"], request.get("name"), *facts])
    return found


if __name__ == "__main__":
    main()
