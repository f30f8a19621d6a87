import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.io.BufferedReader;
import java.io.File;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ShopTest {
  private static Process server;
  private static KubernetesClient client;

  @BeforeAll
  static void start() throws Exception {
    server = new ProcessBuilder(System.getenv("FIELDMANAGER"), "serve", "--test-api",
        "--crd", "../../../examples/testing/shops.yaml").redirectError(ProcessBuilder.Redirect.INHERIT).start();
    BufferedReader output = server.inputReader();
    String kubeconfig = output.readLine().split("; kubeconfig ")[1];
    client = new KubernetesClientBuilder().withConfig(Config.fromKubeconfig(new File(kubeconfig))).build();
  }

  @AfterAll
  static void stop() {
    client.close();
    server.destroy();
  }

  /** Sends a request to a path below /test. */
  private static String test(String method, String path, Object body) {
    return client.raw("/test" + path, method, body);
  }

  @BeforeEach
  void reset() {
    test("POST", "/reset", null);
  }

  private static GenericKubernetesResource apply(String manager, Map<String, Object> spec) {
    GenericKubernetesResource shop = new GenericKubernetesResourceBuilder()
        .withApiVersion("example.com/v1").withKind("Shop")
        .withNewMetadata().withName("corner").withNamespace("default").endMetadata()
        .addToAdditionalProperties("spec", spec).build();
    return client.resource(shop).patch(new PatchContext.Builder().withPatchType(PatchType.SERVER_SIDE_APPLY)
        .withFieldManager(manager).withForce(true).build());
  }

  /** The managers whose entries have a field. */
  private static List<String> owners(GenericKubernetesResource shop, String... path) {
    return shop.getMetadata().getManagedFields().stream().filter(entry -> {
      Object fields = entry.getFieldsV1().getAdditionalProperties();
      for (String name : path) {
        fields = fields instanceof Map<?, ?> map ? map.get("f:" + name) : null;
      }
      return fields != null;
    }).map(entry -> entry.getManager()).toList();
  }

  @Test
  void bobTakesTheSizeOfAliceAfterAFault() {
    apply("alice", Map.of("color", "red", "size", 1));
    test("POST", "/faults", Map.of("fault", "conflict", "verb", "apply", "manager", "bob", "times", 1));
    KubernetesClientException refused =
        assertThrows(KubernetesClientException.class, () -> apply("bob", Map.of("size", 2)));
    assertEquals(409, refused.getCode());
    GenericKubernetesResource shop = apply("bob", Map.of("size", 2));

    assertEquals(Map.of("color", "red", "size", 2), shop.getAdditionalProperties().get("spec"));
    assertEquals(List.of("bob"), owners(shop, "spec", "size"));
    assertEquals(List.of("alice"), owners(shop, "spec", "color"));
    assertEquals(1, test("GET", "/log?manager=bob&path=.spec.size", null).lines().count());
  }
}
