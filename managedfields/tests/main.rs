//! The integration tests of this crate. They are one program, because every program links the crate again.

mod chain;
mod chain_deviations;
mod csa;
mod depth;
mod difference;
mod extract;
mod limits;
mod lint;
mod migrate;
mod options;
mod patch;
mod scale;
mod stack;
mod support;
mod texts;
mod times;
mod unions;
mod unowned;
