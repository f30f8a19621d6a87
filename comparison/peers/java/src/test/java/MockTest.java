import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.server.mock.EnableKubernetesMockClient;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Asks fabric8's mock server, with objects that it keeps, what `comparison/peers/go` asks the fakes of Go. */
@EnableKubernetesMockClient(crud = true)
class MockTest {
  KubernetesClient client;

  private static Deployment deployment(String name) {
    return new DeploymentBuilder()
        .withNewMetadata().withName(name).withNamespace("default").endMetadata()
        .withNewSpec()
        .withNewSelector().addToMatchLabels("app", "web").endSelector()
        .withNewTemplate()
        .withNewMetadata().addToLabels("app", "web").endMetadata()
        .withNewSpec().addNewContainer().withName("web").withImage("nginx").endContainer().endSpec()
        .endTemplate()
        .endSpec()
        .build();
  }

  private Deployment get(String name) {
    return client.apps().deployments().inNamespace("default").withName(name).get();
  }

  private static int code(Supplier<?> request) {
    try {
      request.get();
      return 200;
    } catch (KubernetesClientException refused) {
      return refused.getCode();
    }
  }

  private Deployment apply(String name, String manager, int replicas) {
    var wanted = new DeploymentBuilder(deployment(name)).editSpec().withReplicas(replicas).endSpec().build();
    return client.resource(wanted).fieldManager(manager).serverSideApply();
  }

  @Test
  void questions() {
    long began = System.nanoTime();
    for (int number = 0; number < 1000; number++) {
      client.resource(deployment("many-" + number)).create();
    }
    System.out.printf("fabric8's mock server: 1000 creates in %d ms%n", (System.nanoTime() - began) / 1_000_000);

    Map<String, Supplier<Boolean>> questions = new LinkedHashMap<>();
    questions.put("an object without a required field is refused", () -> {
      var made = new DeploymentBuilder(deployment("without-selector")).editSpec().withSelector(null).endSpec().build();
      return code(() -> client.resource(made).create()) == 422;
    });
    questions.put("a wrong name is refused", () -> code(() -> client.resource(deployment("Wrong_Name")).create()) == 422);
    questions.put("defaults are set", () -> {
      var made = client.resource(deployment("defaults")).create();
      return Integer.valueOf(1).equals(made.getSpec().getReplicas());
    });
    questions.put("an update with an old resourceVersion conflicts", () -> {
      var first = client.resource(deployment("old")).create();
      client.resource(new DeploymentBuilder(first).editMetadata().addToLabels("a", "b").endMetadata().build()).update();
      return code(() -> client.resource(first).update()) == 409;
    });
    questions.put("a change of the spec counts as a generation", () -> {
      var first = client.resource(deployment("generation")).create();
      var before = first.getMetadata().getGeneration();
      var after = client.resource(new DeploymentBuilder(first).editSpec().withPaused(true).endSpec().build()).update();
      return before != null && after.getMetadata().getGeneration() == before + 1;
    });
    questions.put("an update leaves the status alone", () -> {
      var first = client.resource(deployment("status")).create();
      client.resource(new DeploymentBuilder(first).withNewStatus().withReplicas(5).endStatus().build()).update();
      var status = get("status").getStatus();
      return status == null || status.getReplicas() == null || status.getReplicas() == 0;
    });
    questions.put("an object with a finalizer waits for it", () -> {
      var made = new DeploymentBuilder(deployment("finalizer")).editMetadata().addToFinalizers("example.com/wait").endMetadata();
      client.resource(made.build()).create();
      client.apps().deployments().inNamespace("default").withName("finalizer").delete();
      return get("finalizer") != null && get("finalizer").getMetadata().getDeletionTimestamp() != null;
    });
    questions.put("an apply conflicts with another manager", () -> {
      apply("owned", "alice", 1);
      return code(() -> apply("owned", "bob", 2)) == 409;
    });
    questions.put("an apply with the same value shares the field", () -> {
      apply("shared", "alice", 1);
      return code(() -> apply("shared", "bob", 1)) == 200;
    });
    questions.forEach((text, ask) -> {
      boolean answer;
      try {
        answer = ask.get();
      } catch (RuntimeException failed) {
        answer = false;
      }
      System.out.printf("  %-3s %s%n", answer ? "yes" : "no", text);
    });
  }
}
