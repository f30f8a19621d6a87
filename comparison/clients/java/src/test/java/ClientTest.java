import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.io.FileInputStream;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The client of fabric8 against the server of KUBECONFIG. */
class ClientTest {
  private static final String NAMESPACE = "java-" + UUID.randomUUID().toString().substring(0, 8);
  private static KubernetesClient client;

  @BeforeAll
  static void createNamespace() throws Exception {
    client = new KubernetesClientBuilder().build();
    client.resource(new NamespaceBuilder().withNewMetadata().withName(NAMESPACE).endMetadata().build()).create();
    try (InputStream file = new FileInputStream("../crd.yaml")) {
      client.load(file).serverSideApply();
    }
  }

  @AfterAll
  static void deleteNamespace() {
    client.namespaces().withName(NAMESPACE).delete();
    client.close();
  }

  private static Deployment deployment(String name, String image) {
    return new DeploymentBuilder()
        .withNewMetadata().withName(name).withNamespace(NAMESPACE).endMetadata()
        .withNewSpec()
        .withNewSelector().addToMatchLabels("app", name).endSelector()
        .withNewTemplate()
        .withNewMetadata().addToLabels("app", name).endMetadata()
        .withNewSpec().addNewContainer().withName("web").withImage(image).endContainer().endSpec()
        .endTemplate()
        .endSpec()
        .build();
  }

  private static PatchContext manager(String name, boolean force) {
    return new PatchContext.Builder().withPatchType(PatchType.SERVER_SIDE_APPLY).withFieldManager(name)
        .withForce(force).build();
  }

  @Test
  void theServerKnowsTheUser() {
    String path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    String review = client.raw(path, "POST", Map.of("apiVersion", "authentication.k8s.io/v1", "kind", "SelfSubjectReview"));
    String user = System.getenv().getOrDefault("EXPECTED_USER", "admin");
    assertTrue(review.contains("\"username\":\"" + user + "\""), review);
  }

  @Test
  void serverSideApplyCreatesAndUpdates() {
    Deployment created = client.resource(deployment("apply", "nginx:1")).serverSideApply();
    assertEquals(1, created.getSpec().getReplicas());
    assertEquals("fabric8", created.getMetadata().getManagedFields().get(0).getManager());
    assertEquals("Apply", created.getMetadata().getManagedFields().get(0).getOperation());
    Deployment updated = client.resource(deployment("apply", "nginx:2")).serverSideApply();
    assertEquals("nginx:2", updated.getSpec().getTemplate().getSpec().getContainers().get(0).getImage());
  }

  @Test
  void serverSideApplyReportsConflictsAndForcesThem() {
    client.resource(deployment("conflicts", "nginx:1")).patch(manager("alice", false));
    KubernetesClientException conflict = assertThrows(KubernetesClientException.class,
        () -> client.resource(deployment("conflicts", "nginx:2")).patch(manager("bob", false)));
    assertEquals(409, conflict.getCode());
    assertEquals("FieldManagerConflict", conflict.getStatus().getDetails().getCauses().get(0).getReason());
    Deployment forced = client.resource(deployment("conflicts", "nginx:2")).patch(manager("bob", true));
    assertEquals("nginx:2", forced.getSpec().getTemplate().getSpec().getContainers().get(0).getImage());
  }

  @Test
  void objectsAreCreatedEditedAndDeleted() {
    ConfigMap map = new ConfigMapBuilder().withNewMetadata().withName("typed").withNamespace(NAMESPACE).endMetadata()
        .addToData("color", "red").build();
    assertNotNull(client.resource(map).create().getMetadata().getUid());
    client.configMaps().inNamespace(NAMESPACE).withName("typed").edit(live -> new ConfigMapBuilder(live)
        .addToData("color", "blue").build());
    ConfigMap read = client.configMaps().inNamespace(NAMESPACE).withName("typed").get();
    assertEquals(Map.of("color", "blue"), read.getData());
    KubernetesClientException exists =
        assertThrows(KubernetesClientException.class, () -> client.resource(map).create());
    assertEquals(409, exists.getCode());
    List<?> deleted = client.configMaps().inNamespace(NAMESPACE).withName("typed").delete();
    assertEquals(1, deleted.size());
    assertNull(client.configMaps().inNamespace(NAMESPACE).withName("typed").get());
  }

  @Test
  void deploymentsAreScaledAndTheirStatusIsReplaced() {
    Deployment created = client.resource(deployment("scaled", "nginx:1")).create();
    client.apps().deployments().inNamespace(NAMESPACE).withName("scaled").scale(3);
    Deployment live = client.apps().deployments().inNamespace(NAMESPACE).withName("scaled").get();
    assertEquals(3, live.getSpec().getReplicas());
    assertTrue(live.getMetadata().getGeneration() > created.getMetadata().getGeneration());
    Deployment status = client.resource(new DeploymentBuilder(live).withNewStatus().withReplicas(3).endStatus().build())
        .updateStatus();
    assertEquals(3, status.getStatus().getReplicas());
  }

  @Test
  void customKindsAreAppliedAndListed() {
    ResourceDefinitionContext crontabs = new ResourceDefinitionContext.Builder().withGroup("stable.example.com")
        .withVersion("v1").withKind("CronTab").withPlural("crontabs").withNamespaced(true).build();
    GenericKubernetesResource crontab = new GenericKubernetesResource();
    crontab.setApiVersion("stable.example.com/v1");
    crontab.setKind("CronTab");
    crontab.setMetadata(new io.fabric8.kubernetes.api.model.ObjectMetaBuilder().withName("nightly")
        .withNamespace(NAMESPACE).build());
    crontab.setAdditionalProperty("spec", Map.of("schedule", "0 3 * * *"));
    GenericKubernetesResource applied = client.resource(crontab).serverSideApply();
    assertEquals(1, applied.<Integer>get("spec", "replicas"));
    assertEquals(1, client.genericKubernetesResources(crontabs).inNamespace(NAMESPACE).list().getItems().size());
  }

  @Test
  void informersFollowTheObjectsOfANamespace() throws Exception {
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    try (SharedIndexInformer<io.fabric8.kubernetes.api.model.Secret> informer =
        client.secrets().inNamespace(NAMESPACE).inform(new ResourceEventHandler<>() {
          @Override
          public void onAdd(io.fabric8.kubernetes.api.model.Secret secret) {
            seen.add("add " + secret.getMetadata().getName());
          }

          @Override
          public void onUpdate(io.fabric8.kubernetes.api.model.Secret old,
              io.fabric8.kubernetes.api.model.Secret secret) {
            seen.add("update " + secret.getMetadata().getName());
          }

          @Override
          public void onDelete(io.fabric8.kubernetes.api.model.Secret secret, boolean unknown) {
            seen.add("delete " + secret.getMetadata().getName());
          }
        })) {
      client.resource(new io.fabric8.kubernetes.api.model.SecretBuilder().withNewMetadata().withName("watched")
          .withNamespace(NAMESPACE).endMetadata().addToStringData("key", "value").build()).create();
      assertEquals("add watched", seen.poll(10, TimeUnit.SECONDS));
      client.secrets().inNamespace(NAMESPACE).withName("watched").edit(live ->
          new io.fabric8.kubernetes.api.model.SecretBuilder(live).editMetadata().addToLabels("a", "b").endMetadata()
              .build());
      assertEquals("update watched", seen.poll(10, TimeUnit.SECONDS));
      client.secrets().inNamespace(NAMESPACE).withName("watched").delete();
      assertEquals("delete watched", seen.poll(10, TimeUnit.SECONDS));
    }
  }
}
