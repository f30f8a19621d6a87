// Command typecheck checks the types of ValidatingAdmissionPolicies, as the controller of kube-controller-manager does,
// against the kinds of a running server: one policy a line in, one list of warnings a line out.
//
//	go run ./cmd/typecheck https://127.0.0.1:26443 secret < policies.jsonl > warnings.jsonl
//
// The names of types contain the time, which is left out.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"

	v1 "k8s.io/api/admissionregistration/v1"
	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	k8sscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// unique is the time in the name of a type, after the name of its kind.
var unique = regexp.MustCompile(`\b([A-Z][A-Za-z]*)[0-9]+\b`)

func main() {
	client := discovery.NewDiscoveryClientForConfigOrDie(&rest.Config{
		Host:            os.Args[1],
		BearerToken:     os.Args[2],
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	})
	definitions := resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, k8sscheme.Scheme, apiextensionsscheme.Scheme)
	checker := validating.TypeChecker{
		SchemaResolver: definitions.Combine(&resolver.ClientDiscoveryResolver{Discovery: client}),
		RestMapper:     restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)),
	}

	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		policy := &v1.ValidatingAdmissionPolicy{}
		if err := json.Unmarshal(lines.Bytes(), policy); err != nil {
			panic(err)
		}
		warnings := checker.Check(policy)
		for at := range warnings {
			warnings[at].Warning = unique.ReplaceAllString(warnings[at].Warning, "$1")
		}
		if err := out.Encode(warnings); err != nil {
			panic(err)
		}
	}
}
