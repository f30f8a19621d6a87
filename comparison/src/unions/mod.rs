#![doc = include_str!("README.md")]

mod check;
mod generate;
mod model;
mod predict;
mod rules;

pub use check::Unions;
