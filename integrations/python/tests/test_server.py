import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from fieldmanager import Server, ServerError, assert_owned, owners


def owned(fields):
    return {"metadata": {"managedFields": [{"manager": "alice", "fieldsV1": fields}]}}


class ServerTest(unittest.TestCase):
    def test_failures_say_why(self):
        with self.assertRaisesRegex(ServerError, "--no-such-option"):
            Server("--no-such-option")
        with Server() as server, self.assertRaisesRegex(ServerError, "404"):
            server.request("GET", "/nothing")
        with self.assertRaisesRegex(AssertionError, r"owners of \.spec: found \['alice'\], want \['bob'\]"):
            assert_owned(owned({"f:spec": {}}), ".spec", "bob")

    def test_tls_and_tokens(self):
        with tempfile.TemporaryDirectory() as folder:
            tokens = pathlib.Path(folder, "tokens")
            tokens.write_text("secret\n")
            with Server("--tls", "--token-file", str(tokens)) as server:
                server.reset()

    def test_a_server_ends_with_a_program_that_is_killed(self):
        code = "import time, fieldmanager; print(fieldmanager.Server().url, flush=True); time.sleep(600)"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as program:
            url = program.stdout.readline().strip()
            urllib.request.urlopen(f"{url}/readyz").close()
            program.kill()
        deadline = time.monotonic() + 10
        with self.assertRaises(urllib.error.URLError):
            while time.monotonic() < deadline:
                try:
                    urllib.request.urlopen(f"{url}/readyz").close()
                except ConnectionError:
                    pass  # The server ends, and has accepted the connection.
                time.sleep(0.05)

    def test_owners_of_items_and_values(self):
        port = {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}
        obj = owned({"f:spec": {"f:ports": port, "f:set": {'v:"x"': {}}}})
        item = '.spec.ports[port=80,protocol="TCP"]'
        for field in [item, f"{item}.name", '.spec.set[="x"]']:
            self.assertEqual(owners(obj, field), ["alice"])
        self.assertEqual(owners(obj, ".spec"), [])
