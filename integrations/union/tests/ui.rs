//! Compiler errors for invalid declarations.

#[test]
fn invalid_declarations_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
