// The oracle for the Kubernetes layers answers what the Kubernetes packages
// around structured-merge-diff do: schema conversion, structural schemas,
// managed fields and patches. README.md of the module describes the requests.
package main

import (
	"io"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/klog/v2"

	"github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"
)

func main() {
	configure()
	protocol.Main(respond)
}

// configure makes the packages behave as in an apiserver with default flags,
// and keeps their log lines out of the streams.
func configure() {
	jsonpatch.AccumulatedCopySizeLimit = maxPatchCopyBytes
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
