"""Starts `fieldmanager serve`, an API server of Kubernetes, for tests."""

import atexit
import base64
import contextlib
import json
import os
import shutil
import ssl
import subprocess
import sysconfig
import tempfile
import urllib.error
import urllib.parse
import urllib.request

__all__ = ["Server", "ServerError", "assert_owned", "find_program", "owners"]


class ServerError(Exception):
    """The server did not start, or refused a request."""


class Server:
    """A running server; a context manager that stops it.

    `program` is the path of the program; by default that of the variable FIELDMANAGER, the one that was installed with this
    package, or `fieldmanager` in PATH. `args` are more arguments of `fieldmanager serve`, which runs in `folder`. `kubeconfig` is
    the file with the configuration of a client, and `url` the address.
    """

    def __init__(self, *args, program=None, folder=None):
        program = program or find_program()
        self._errors = tempfile.TemporaryFile(mode="w+")
        command = [program, "serve", "--test-api", "--stop-with-stdin", *args]
        # The pipe to standard input ends with this program, and the server with it.
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._errors, text=True, cwd=folder)
        atexit.register(self.stop)
        line = self._process.stdout.readline().strip()
        if not line.startswith("serving "):
            self._process.wait()
            self._errors.seek(0)
            raise ServerError(f"{program} serve: {self._errors.read()}")
        self.url, self.kubeconfig = line.removeprefix("serving ").split("; kubeconfig ", 1)
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        self._token = config["users"][0]["user"].get("token")
        self._tls = None
        if authority := config["clusters"][0]["cluster"].get("certificate-authority-data"):
            self._tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends the server."""
        atexit.unregister(self.stop)
        self._process.terminate()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()

    def request(self, method, path, body=None):
        """Sends a request to a path below /test, and returns the answer."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/test{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self._tls) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise ServerError(f"{method} /test{path}: {error.code}: {error.read().decode()}") from error

    def reset(self):
        """Restores the state after the start, without faults and without the log."""
        self.request("POST", "/reset")

    @contextlib.contextmanager
    def snapshot(self):
        """A context after which the server has the state from before it, without faults and without a log."""
        number = json.loads(self.request("POST", "/snapshots"))["id"]
        try:
            yield self
        finally:
            self.request("POST", f"/snapshots/{number}/restore")
            for path in [f"/snapshots/{number}", "/faults", "/log"]:
                self.request("DELETE", path)

    def inject(self, **fault):
        """Adds a fault: `inject(fault="conflict", verb="update", times=1)`."""
        return json.loads(self.request("POST", "/faults", fault))

    def log(self, **query):
        """The entries of the log that have some values: `log(manager="alice", path=".spec.replicas")`."""
        answer = self.request("GET", "/log?" + urllib.parse.urlencode(query))
        return [json.loads(line) for line in answer.splitlines()]


def find_program():
    """The path of the program `fieldmanager`.

    Raises ServerError if there is none.
    """
    if program := os.environ.get("FIELDMANAGER"):
        return program
    # pip puts the program of this package beside the interpreter, which is not in PATH in an environment that is not active.
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    folders = os.pathsep.join(sysconfig.get_path("scripts", scheme) for scheme in schemes)
    program = shutil.which("fieldmanager", path=folders) or shutil.which("fieldmanager")
    if not program:
        raise ServerError("there is no program `fieldmanager`: `pip install fieldmanager`, or set FIELDMANAGER to its path")
    return program


def owners(obj, field):
    """The managers that own a field of an object, a dict, such as `.spec.containers[name="web"].image`."""
    entries = obj["metadata"].get("managedFields") or []
    return sorted({entry["manager"] for entry in entries if field in _paths(entry.get("fieldsV1", {}))})


def assert_owned(obj, field, *managers):
    """Fails if not exactly some managers own a field."""
    found = owners(obj, field)
    assert found == sorted(managers), f"owners of {field}: found {found}, want {sorted(managers)}"


def _paths(fields, parent=""):
    """The paths of a FieldsV1."""
    for name, children in fields.items():
        if name == ".":
            yield parent
            continue
        path = parent + _element(name)
        if not children:
            yield path
        yield from _paths(children, path)


def _element(name):
    kind, value = name.split(":", 1)
    if kind == "f":
        return f".{value}"
    if kind == "k":
        keys = sorted(json.loads(value).items())
        return "[" + ",".join(f"{key}={json.dumps(item)}" for key, item in keys) + "]"
    return f"[={value}]" if kind == "v" else f"[{value}]"
