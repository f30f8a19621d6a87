import pathlib
import unittest

from fieldmanager import Server, assert_owned
from kubernetes import client, config, dynamic

CRD = pathlib.Path(__file__).parents[3] / "examples" / "testing" / "shops.yaml"


class ShopTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--crd", str(CRD))
        api = config.new_client_from_config(cls.server.kubeconfig)
        cls.shops = dynamic.DynamicClient(api).resources.get(api_version="example.com/v1", kind="Shop")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def setUp(self):
        self.server.reset()

    def apply(self, manager, **spec):
        shop = {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": spec}
        return self.shops.server_side_apply(
            shop, namespace="default", field_manager=manager, force_conflicts=True
        ).to_dict()

    def test_bob_takes_the_size_of_alice_after_a_fault(self):
        self.apply("alice", color="red", size=1)
        self.server.inject(fault="conflict", verb="apply", manager="bob", times=1)
        with self.assertRaises(client.ApiException) as refused:
            self.apply("bob", size=2)
        self.assertEqual(refused.exception.status, 409)
        shop = self.apply("bob", size=2)

        self.assertEqual(shop["spec"], {"color": "red", "size": 2})
        assert_owned(shop, ".spec.size", "bob")
        assert_owned(shop, ".spec.color", "alice")
        self.assertEqual(len(self.server.log(manager="bob", path=".spec.size")), 1)

    def test_reset_keeps_definitions_only(self):
        self.apply("alice", color="red")
        self.server.reset()
        self.assertEqual(self.shops.get(namespace="default").items, [])
