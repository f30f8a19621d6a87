import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubeapitest.KubeAPIServer;
import io.fabric8.kubeapitest.KubeAPIServerConfigBuilder;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import org.junit.jupiter.api.Test;

/** fabric8's kube-api-test starts the programs that it finds in KUBE_API_TEST_DIR, and a client of its kubeconfig writes. */
class EnvtestTest {
  @Test
  void programsAreStarted() {
    var config = KubeAPIServerConfigBuilder.anAPIServerConfig()
        .withOfflineMode(true)
        .withApiServerVersion("1.37.1")
        .withUpdateKubeConfig(false)
        .build();
    var server = new KubeAPIServer(config);
    server.start();

    var kubeconfig = Config.fromKubeconfig(server.getKubeConfigYaml());
    try (var client = new KubernetesClientBuilder().withConfig(kubeconfig).build()) {
      assertTrue(client.getKubernetesVersion().getGitVersion().endsWith("+fieldmanager"));

      var made = new ConfigMapBuilder()
          .withNewMetadata().withName("web").withNamespace("default").endMetadata()
          .addToData("colour", "green")
          .build();
      var applied = client.resource(made).fieldManager("tests").serverSideApply();
      assertEquals("green", applied.getData().get("colour"));
      assertEquals("tests", applied.getMetadata().getManagedFields().get(0).getManager());
    } finally {
      server.stop();
    }
  }
}
