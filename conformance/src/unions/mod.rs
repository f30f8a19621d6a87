#![doc = include_str!("README.md")]

pub mod check;
pub mod generate;
pub mod model;
pub mod predict;
pub mod rules;
