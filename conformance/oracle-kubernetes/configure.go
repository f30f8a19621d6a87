package main

import (
	"io"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/klog/v2"
)

// configure makes the packages behave as in an apiserver with default flags,
// and keeps their log lines away from the streams.
func configure() {
	jsonpatch.AccumulatedCopySizeLimit = maxPatchCopyBytes
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
