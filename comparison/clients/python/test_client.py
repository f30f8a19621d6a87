"""The Python client against the server of a kubeconfig: KUBECONFIG=FILE python -m unittest test_client."""

import copy
import os
import pathlib
import threading
import unittest
import uuid

import yaml
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException

CRD = pathlib.Path(__file__).parent.parent / "crd.yaml"


def deployment(name, image="nginx:1"):
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
        },
    }


def crontab(name, spec):
    return {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": name}, "spec": spec}


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config()
        cls.api = client.ApiClient()
        cls.core = client.CoreV1Api(cls.api)
        cls.apps = client.AppsV1Api(cls.api)
        cls.custom = client.CustomObjectsApi(cls.api)
        cls.namespace = f"python-{uuid.uuid4().hex[:8]}"
        cls.core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=cls.namespace)))
        definitions = client.ApiextensionsV1Api(cls.api)
        with CRD.open() as file:
            definition = yaml.safe_load(file)
        try:
            definitions.create_custom_resource_definition(definition)
        except ApiException as error:
            if error.status != 409:
                raise
        cls.dynamic = dynamic.DynamicClient(cls.api)

    def test_the_server_knows_the_user(self):
        review = client.AuthenticationV1Api(self.api).create_self_subject_review({})
        self.assertEqual(review.status.user_info.username, os.environ.get("EXPECTED_USER", "admin"))

    @classmethod
    def tearDownClass(cls):
        cls.core.delete_namespace(cls.namespace)

    def test_typed_objects_are_created_read_changed_and_deleted(self):
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="typed"), data={"color": "red"})
        created = self.core.create_namespaced_config_map(self.namespace, body)
        self.assertTrue(created.metadata.uid)
        created.data["color"] = "blue"
        replaced = self.core.replace_namespaced_config_map("typed", self.namespace, created)
        self.assertEqual(replaced.data, {"color": "blue"})
        with self.assertRaises(ApiException) as stale:
            self.core.replace_namespaced_config_map("typed", self.namespace, created)
        self.assertEqual(stale.exception.status, 409)
        patched = self.core.patch_namespaced_config_map("typed", self.namespace, {"data": {"size": "xl"}})
        self.assertEqual(patched.data, {"color": "blue", "size": "xl"})
        self.assertIn("typed", [item.metadata.name for item in self.core.list_namespaced_config_map(self.namespace).items])
        self.core.delete_namespaced_config_map("typed", self.namespace)
        with self.assertRaises(ApiException) as missing:
            self.core.read_namespaced_config_map("typed", self.namespace)
        self.assertEqual(missing.exception.status, 404)

    def test_a_list_of_operations_is_a_json_patch(self):
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="operations"), data={"color": "red"})
        self.core.create_namespaced_config_map(self.namespace, body)
        operations = [{"op": "replace", "path": "/data/color", "value": "green"}]
        patched = self.core.patch_namespaced_config_map("operations", self.namespace, operations)
        self.assertEqual(patched.data, {"color": "green"})

    def test_apply_of_the_dynamic_client_reports_conflicts_and_forces_them(self):
        deployments = self.dynamic.resources.get(api_version="apps/v1", kind="Deployment")
        applied = deployments.server_side_apply(
            body=deployment("conflicts"), namespace=self.namespace, field_manager="alice"
        )
        self.assertEqual([entry.manager for entry in applied.metadata.managedFields], ["alice"])
        other = deployment("conflicts", image="nginx:2")
        with self.assertRaises(dynamic.exceptions.ConflictError) as conflict:
            deployments.server_side_apply(body=other, namespace=self.namespace, field_manager="bob")
        self.assertIn("alice", str(conflict.exception.body))
        forced = deployments.server_side_apply(
            body=other, namespace=self.namespace, field_manager="bob", force_conflicts=True
        )
        self.assertEqual(forced.spec.template.spec.containers[0].image, "nginx:2")

    def test_custom_objects_are_created_patched_and_scaled(self):
        where = ("stable.example.com", "v1", self.namespace, "crontabs")
        body = crontab("nightly", {"schedule": "0 3 * * *"})
        created = self.custom.create_namespaced_custom_object(*where, body)
        self.assertEqual(created["spec"]["replicas"], 1)
        patched = self.custom.patch_namespaced_custom_object(*where, "nightly", {"spec": {"image": "cron:2"}})
        self.assertEqual(patched["spec"]["image"], "cron:2")
        status = copy.deepcopy(patched)
        status["status"] = {"ready": True}
        written = self.custom.replace_namespaced_custom_object_status(*where, "nightly", status)
        self.assertEqual(written["status"], {"ready": True})
        scaled = self.custom.patch_namespaced_custom_object_scale(*where, "nightly", {"spec": {"replicas": 3}})
        self.assertEqual(scaled["spec"]["replicas"], 3)
        self.custom.delete_namespaced_custom_object(*where, "nightly")

    def test_the_dynamic_client_finds_custom_kinds(self):
        crontabs = self.dynamic.resources.get(api_version="stable.example.com/v1", kind="CronTab")
        self.assertEqual((crontabs.name, crontabs.namespaced), ("crontabs", True))
        body = crontab("found", {"schedule": "* * * * *"})
        crontabs.create(body=body, namespace=self.namespace)
        names = [item.metadata.name for item in crontabs.get(namespace=self.namespace).items]
        self.assertIn("found", names)

    def test_a_watch_delivers_changes_in_order(self):
        version = self.core.list_namespaced_secret(self.namespace).metadata.resource_version
        secret = client.V1Secret(metadata=client.V1ObjectMeta(name="watched"), string_data={"key": "value"})

        def change():
            self.core.create_namespaced_secret(self.namespace, secret)
            self.core.patch_namespaced_secret("watched", self.namespace, {"metadata": {"labels": {"a": "b"}}})
            self.core.delete_namespaced_secret("watched", self.namespace)

        writer = threading.Thread(target=change)
        writer.start()
        seen = []
        stream = watch.Watch()
        for event in stream.stream(
            self.core.list_namespaced_secret, self.namespace, resource_version=version, timeout_seconds=20
        ):
            seen.append(event["type"])
            if event["type"] == "DELETED":
                stream.stop()
        writer.join()
        self.assertEqual(seen, ["ADDED", "MODIFIED", "DELETED"])

    def test_a_watch_that_times_out_ends(self):
        stream = watch.Watch()
        events = list(stream.stream(self.core.list_namespaced_endpoints, self.namespace, timeout_seconds=1))
        self.assertEqual(events, [])

    def test_lists_are_read_in_pages(self):
        for number in range(7):
            body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=f"page-{number}", labels={"paged": "yes"}))
            self.core.create_namespaced_config_map(self.namespace, body)
        names, token = [], None
        while True:
            page = self.core.list_namespaced_config_map(self.namespace, label_selector="paged=yes", limit=3, _continue=token)
            names += [item.metadata.name for item in page.items]
            token = page.metadata._continue
            if not token:
                break
        self.assertEqual(names, [f"page-{number}" for number in range(7)])

    def test_files_of_yaml_are_created_and_applied(self):
        created = utils.create_from_dict(self.api, deployment("from-file"), namespace=self.namespace)
        self.assertEqual(created[0].spec.replicas, 1)
        scale = self.apps.patch_namespaced_deployment_scale("from-file", self.namespace, {"spec": {"replicas": 2}})
        self.assertEqual(scale.spec.replicas, 2)

    def test_unknown_fields_are_refused_if_the_request_is_strict(self):
        where = ("stable.example.com", "v1", self.namespace, "crontabs")
        body = crontab("strict", {"colour": "red"})
        with self.assertRaises(ApiException) as refused:
            self.custom.create_namespaced_custom_object(*where, body, field_validation="Strict")
        self.assertEqual(refused.exception.status, 400)
        self.assertIn(r'unknown field \"spec.colour\"', refused.exception.body)

    def test_the_version_and_the_resources_are_discovered(self):
        self.assertTrue(client.VersionApi(self.api).get_code().git_version.startswith("v1."))
        names = {resource.name for resource in self.apps.get_api_resources().resources}
        self.assertIn("deployments/scale", names)


if __name__ == "__main__":
    unittest.main()
