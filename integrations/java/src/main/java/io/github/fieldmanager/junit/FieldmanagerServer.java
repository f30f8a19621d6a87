package io.github.fieldmanager.junit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A running {@code fieldmanager serve}: an API server of Kubernetes for tests. */
public final class FieldmanagerServer implements AutoCloseable {
  private static final Pattern READY = Pattern.compile("serving (.*); kubeconfig (.*)");
  // The server writes the file, and a token has no character that JSON escapes.
  private static final Pattern TOKEN = Pattern.compile("\"token\": *\"([^\"]*)\"");
  private static final Pattern ID = Pattern.compile("\"id\": *\"([^\"]*)\"");

  private final HttpClient client = HttpClient.newHttpClient();
  private final Process process;
  private final String url;
  private final Path kubeconfig;
  private final String token;

  private FieldmanagerServer(Process process, String url, Path kubeconfig) throws IOException {
    this.process = process;
    this.url = url;
    this.kubeconfig = kubeconfig;
    token = find(TOKEN, Files.readString(kubeconfig));
  }

  /**
   * Starts a server on a free port of the loopback interface. It ends with this process. The program is the path in the
   * variable FIELDMANAGER or the property {@code fieldmanager}, or {@code fieldmanager} in PATH.
   *
   * @param arguments more arguments of {@code fieldmanager serve}, such as {@code --crd}, {@code crds.yaml}
   * @return the server, which answers requests
   * @throws IllegalStateException if the server does not start; the message has what it printed
   */
  public static FieldmanagerServer start(String... arguments) {
    String program = System.getProperty("fieldmanager", System.getenv().getOrDefault("FIELDMANAGER", "fieldmanager"));
    List<String> command = new ArrayList<>(List.of(program, "serve", "--test-api", "--stop-with-stdin"));
    command.addAll(List.of(arguments));
    try {
      Path errors = Files.createTempFile("fieldmanager", ".log");
      errors.toFile().deleteOnExit();
      Process process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
      BufferedReader output = process.inputReader();
      Matcher ready = READY.matcher(String.valueOf(output.readLine()));
      if (!ready.matches()) {
        process.destroy();
        throw new IllegalStateException(program + " serve: " + Files.readString(errors).strip());
      }
      return new FieldmanagerServer(process, ready.group(1), Path.of(ready.group(2)));
    } catch (IOException error) {
      String hint = ": install fieldmanager, or set FIELDMANAGER to its path";
      throw new IllegalStateException(error.getMessage() + hint, error);
    }
  }

  /** The address, such as {@code http://127.0.0.1:41235}. */
  public String url() {
    return url;
  }

  /** The file with the configuration of a client. It exists until the server stops. */
  public Path kubeconfig() {
    return kubeconfig;
  }

  /**
   * Sends a request to a path below /test. Servers with {@code --tls} are not supported.
   *
   * @param body JSON, or null
   * @return the answer
   * @throws IllegalStateException if the server refuses it
   */
  public String request(String method, String path, String body) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + "/test" + path))
        .header("Content-Type", "application/json")
        .method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body));
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    try {
      HttpResponse<String> answer = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
      if (answer.statusCode() >= 400) {
        throw new IllegalStateException(method + " /test" + path + ": " + answer.statusCode() + ": " + answer.body());
      }
      return answer.body();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(error);
    }
  }

  /** Restores the state after the start, without faults and without the log. */
  public void reset() {
    request("POST", "/reset", null);
  }

  /** Keeps the state, and returns what restores it. */
  public Runnable snapshot() {
    String id = find(ID, request("POST", "/snapshots", null));
    return () -> request("POST", "/snapshots/" + id + "/restore", null);
  }

  /** Adds a fault, JSON such as {@code {"fault": "conflict", "verb": "update", "times": 1}}. */
  public void inject(String fault) {
    request("POST", "/faults", fault);
  }

  /** The entries of the log that have some values, such as {@code Map.of("manager", "alice")}: each is JSON. */
  public List<String> log(Map<String, String> query) {
    String parameters = query.entrySet().stream().map(entry -> encode(entry.getKey()) + "=" + encode(entry.getValue()))
        .collect(Collectors.joining("&"));
    return request("GET", "/log?" + parameters, null).lines().toList();
  }

  /** Ends the server. */
  @Override
  public void close() {
    process.destroy();
    process.onExit().join();
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private static String find(Pattern pattern, String text) {
    Matcher found = pattern.matcher(text);
    return found.find() ? found.group(1) : null;
  }
}
