//! Facts about the built-in kinds of Kubernetes: how the API server decodes, defaults, converts and validates their
//! objects.
