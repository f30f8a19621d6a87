package io.github.fieldmanager.junit;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Gives tests the server of {@link FieldmanagerTest}: one for all classes with equal arguments, with a fresh state for each test. */
final class FieldmanagerExtension implements ParameterResolver, BeforeEachCallback, AfterEachCallback {
  private static final Namespace NAMESPACE = Namespace.create(FieldmanagerExtension.class);

  /** A server, which ends with the store that has it. */
  private record Running(FieldmanagerServer server) implements AutoCloseable, Store.CloseableResource {
    @Override
    public void close() {
      server.close();
    }
  }

  private static FieldmanagerServer server(ExtensionContext context) {
    FieldmanagerTest test = context.getRequiredTestClass().getAnnotation(FieldmanagerTest.class);
    String[] arguments = test == null ? new String[0] : test.value();
    String key = String.join("\0", arguments);
    Store store = context.getRoot().getStore(NAMESPACE);
    return store.getOrComputeIfAbsent(key, name -> new Running(FieldmanagerServer.start(arguments)), Running.class).server();
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    context.getStore(NAMESPACE).put("restore", server(context).snapshot());
  }

  @Override
  public void afterEach(ExtensionContext context) {
    context.getStore(NAMESPACE).get("restore", Runnable.class).run();
    for (String path : new String[] {"/snapshots", "/faults", "/log"}) {
      server(context).request("DELETE", path, null);
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == FieldmanagerServer.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return server(context);
  }
}
