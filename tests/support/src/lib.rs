//! Test helpers and fixtures shared by several crates.
#![allow(clippy::expect_used, clippy::panic, reason = "a panic fails the test")]

mod linear;
mod nested;
mod shop;
#[cfg(feature = "typed")]
mod typed;
mod unions;

pub use linear::assert_linear;
pub use nested::{NestedSchema, custom_resource_definition, map};
pub use shop::{definition, namespaced_shop, shop, shop_with_scale};
#[cfg(feature = "typed")]
pub use typed::{nothing, typed};
pub use unions::{UNION_ITEM, UNION_PROFILE, union_schema};

/// A schema with recursive types: `root`, with maps, an associative list and a union, and `both`, which is a list, a
/// map or a scalar.
pub const DEEP_SCHEMA: &str = "
types:
- name: root
  map:
    fields:
    - {name: id, type: {scalar: numeric}}
    - {name: list, type: {namedType: list}}
    - {name: map, type: {namedType: root}}
    - {name: kind, type: {scalar: string}}
    - {name: other, type: {scalar: numeric}}
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: numeric}}
    unions:
    - discriminator: kind
      deduceInvalidDiscriminator: true
      fields: [{fieldName: map, discriminatorValue: Map}, {fieldName: other, discriminatorValue: Other}]
- name: list
  list: {elementType: {namedType: root}, elementRelationship: associative, keys: [id]}
- name: both
  list: {elementType: {namedType: both}, elementRelationship: atomic}
  map: {elementType: {namedType: both}}
  scalar: untyped
";

/// The stack size on which every public function must run for input at the depth limit, in bytes.
pub const SMALL_STACK: usize = if cfg!(debug_assertions) {
    512 << 10
} else {
    256 << 10
};

/// Runs a function in a thread with a stack of [`SMALL_STACK`] bytes. A stack overflow aborts the process; Rust then
/// reports `name`, the name of the thread.
///
/// The environment variable `STACK` overrides the size, in KiB, to determine the stack usage of a function.
pub fn on_small_stack<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> T {
    let kib = std::env::var("STACK")
        .ok()
        .and_then(|kib| kib.parse::<usize>().ok());
    let size = kib.map_or(SMALL_STACK, |kib| kib << 10);
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(size)
        .spawn(f);
    thread
        .expect("the thread starts")
        .join()
        .expect("the function does not panic")
}
