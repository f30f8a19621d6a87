// Package schemes knows the Go types of everything that kube-apiserver serves.
package schemes

import (
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane" // registers the groups of legacyscheme
)

// Extensions has the types of custom resource definitions.
var Extensions = runtime.NewScheme()

// Aggregator has the types of API services.
var Aggregator = runtime.NewScheme()

func init() {
	apiextensions.Install(Extensions)
	apiregistration.Install(Aggregator)
}

// Of is the scheme that has a kind.
func Of(kind schema.GroupVersionKind) *runtime.Scheme {
	for _, scheme := range []*runtime.Scheme{Extensions, Aggregator} {
		if scheme.Recognizes(kind) && kind.Group != "" {
			return scheme
		}
	}
	return legacyscheme.Scheme
}
