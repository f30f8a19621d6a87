//! Where objects are stored.
