//! The integration tests of this crate. They are one program, because every program links the crate again.

mod struct_form;
mod sum_form;
mod ui;
