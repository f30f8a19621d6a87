//! What the compiler says of declarations that are wrong.

#[test]
fn errors_are_at_the_attribute() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
