import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.github.fieldmanager.junit.FieldmanagerServer;
import io.github.fieldmanager.junit.FieldmanagerTest;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import java.util.Map;
import org.junit.jupiter.api.Test;

@FieldmanagerTest
class TwoClientsTest {
  private final FieldmanagerServer server;

  TwoClientsTest(FieldmanagerServer server) {
    this.server = server;
  }

  private KubernetesClient fabric8() {
    return new KubernetesClientBuilder().withConfig(Config.fromKubeconfig(server.kubeconfig().toFile())).build();
  }

  @Test
  void fabric8AppliesWhatTheOfficialClientMade() throws Exception {
    var api = new CoreV1Api(io.kubernetes.client.util.Config.fromConfig(server.kubeconfig().toString()));
    var made = new V1ConfigMap().metadata(new V1ObjectMeta().name("colours")).putDataItem("sky", "blue");
    api.createNamespacedConfigMap("default", made).fieldManager("official").execute();

    try (KubernetesClient client = fabric8()) {
      ConfigMap grass = new ConfigMapBuilder().withNewMetadata().withName("colours").withNamespace("default").endMetadata()
          .withData(Map.of("grass", "green")).build();
      ConfigMap both = client.resource(grass).fieldManager("fabric8").serverSideApply();
      assertEquals(Map.of("sky", "blue", "grass", "green"), both.getData());
    }
    assertEquals(1, server.log(Map.of("manager", "fabric8")).size());
  }

  @Test
  void eachTestHasAFreshState() {
    try (KubernetesClient client = fabric8()) {
      assertNull(client.configMaps().inNamespace("default").withName("colours").get());
    }
  }

  @Test
  void aFailureSaysWhy() {
    var error = assertThrows(IllegalStateException.class, () -> FieldmanagerServer.start("--no-such-option"));
    assertEquals(true, error.getMessage().contains("--no-such-option"), error.getMessage());
  }
}
