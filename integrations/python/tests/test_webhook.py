import http.server
import json
import pathlib
import threading
import unittest

from fieldmanager import Server
from kubernetes import client, config, dynamic

SHOPS = str(pathlib.Path(__file__).parents[3] / "examples" / "testing" / "shops.yaml")


class Webhook(http.server.BaseHTTPRequestHandler):
    """Refuses shops that are too large."""

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        size = request["object"]["spec"].get("size", 0)
        response = {"uid": request["uid"], "allowed": size < 10}
        if not response["allowed"]:
            response["status"] = {"message": f"a size of {size} is too large"}
        body = json.dumps({**review, "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


CONFIGURATION = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "shops"},
    "webhooks": [
        {
            "name": "size.example.com",
            "clientConfig": {"service": {"namespace": "default", "name": "operator"}},
            "rules": [
                {
                    "operations": ["CREATE", "UPDATE"],
                    "apiGroups": ["example.com"],
                    "apiVersions": ["*"],
                    "resources": ["shops"],
                }
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ],
}


class WebhookTest(unittest.TestCase):
    def test_a_shop_that_is_too_large_is_refused(self):
        webhook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
        threading.Thread(target=webhook.serve_forever, daemon=True).start()
        self.addCleanup(webhook.shutdown)
        # The service of the webhook is this program, which needs no certificate.
        address = f"default/operator=http://127.0.0.1:{webhook.server_port}"
        server = Server("--crd", SHOPS, "--webhook-service", address)
        self.addCleanup(server.stop)
        api = dynamic.DynamicClient(config.new_client_from_config(server.kubeconfig))
        kind = {"api_version": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
        api.resources.get(**kind).create(CONFIGURATION)
        shops = api.resources.get(api_version="example.com/v1", kind="Shop")

        shop = {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": {"size": 1}}
        shops.create(shop, namespace="default")
        with self.assertRaises(client.ApiException) as refused:
            shop["spec"]["size"] = 10
            shops.server_side_apply(shop, namespace="default", field_manager="alice", force_conflicts=True)
        words = 'admission webhook "size.example.com" denied the request: a size of 10 is too large'
        self.assertEqual(json.loads(refused.exception.body)["message"], words)
