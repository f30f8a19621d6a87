// Package programs names what its module builds.
package programs

import (
	// `build` compiles its tests, which need what they import.
	_ "k8s.io/kubernetes/test/e2e"
)
