"""The tests of docs/testing.md with pytest: `pytest pytest_shops.py`."""

import pytest
from fieldmanager import assert_owned
from kubernetes import config, dynamic


@pytest.fixture
def shops(fieldmanager_server):
    api = config.new_client_from_config(fieldmanager_server.kubeconfig)
    return dynamic.DynamicClient(api).resources.get(api_version="example.com/v1", kind="Shop")


def apply(shops, manager, **spec):
    shop = {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": spec}
    return shops.server_side_apply(shop, namespace="default", field_manager=manager, force_conflicts=True).to_dict()


def test_bob_takes_the_size_of_alice(shops, fieldmanager_server):
    apply(shops, "alice", color="red", size=1)
    shop = apply(shops, "bob", size=2)
    assert_owned(shop, ".spec.size", "bob")
    assert_owned(shop, ".spec.color", "alice")
    assert len(fieldmanager_server.log(manager="bob", path=".spec.size")) == 1


def test_each_test_has_a_fresh_state(shops, fieldmanager_server):
    assert shops.get(namespace="default").items == []
    assert fieldmanager_server.log(manager="bob") == []
