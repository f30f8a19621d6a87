package io.github.fieldmanager.junit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tests of a class that have a server. A constructor or a method with a parameter of the type {@link FieldmanagerServer} gets
 * it. Classes with equal arguments share one, and each test starts with the state that the server had before.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(FieldmanagerExtension.class)
public @interface FieldmanagerTest {
  /** More arguments of {@code fieldmanager serve}, such as {@code {"--crd", "crds.yaml"}}. */
  String[] value() default {};
}
