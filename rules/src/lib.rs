//! Validation rules of custom resources, `x-kubernetes-validations`: compiled from a structural schema and evaluated
//! in CEL.
