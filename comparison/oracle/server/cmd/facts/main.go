// The program writes what Go sources know of the built-in kinds: their types, resources and reset fields.
//
// usage: facts FOLDER
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	serveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	basecompatibility "k8s.io/component-base/compatibility"
	componentversion "k8s.io/component-base/version"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	"k8s.io/kubernetes/pkg/controlplane"
	"k8s.io/kubernetes/pkg/kubeapiserver"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"fieldmanager.dev/comparison/server/schemes"
)

// kind is a kind at one version.
type kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Type    int    `json:"type"`
}

// facts are those of a resource at one version.
type facts struct {
	Group         string              `json:"group,omitempty"`
	Version       string              `json:"version"`
	Kind          string              `json:"kind"`
	Plural        string              `json:"plural"`
	Namespaced    bool                `json:"namespaced,omitempty"`
	Storage       string              `json:"storage,omitempty"`
	Create        bool                `json:"createOnUpdate,omitempty"`
	Unconditional bool                `json:"unconditionalUpdate,omitempty"`
	Subresources  []subresource       `json:"subresources,omitempty"`
	Reset         map[string][]string `json:"reset,omitempty"`
}

type subresource struct {
	Name  string              `json:"name"`
	Reset map[string][]string `json:"reset,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: facts FOLDER")
		os.Exit(2)
	}
	ctx := context.Background()
	all := installed()
	storageVersion := storageVersions()
	kinds := map[schema.GroupVersionKind]bool{}
	var resources []facts
	for version, served := range all {
		for path, storage := range served {
			plural, sub, _ := strings.Cut(path, "/")
			if sub != "" {
				continue
			}
			gvk := resolve(version, storage)
			kinds[gvk] = true
			entry := facts{
				Group: version.Group, Version: version.Version, Kind: gvk.Kind, Plural: plural, Reset: reset(storage),
			}
			if scoper, ok := storage.(rest.Scoper); ok {
				entry.Namespaced = scoper.NamespaceScoped()
			}
			if store := storeOf(storage); store != nil && store.UpdateStrategy != nil {
				entry.Create = store.UpdateStrategy.AllowCreateOnUpdate(ctx)
				entry.Unconditional = store.UpdateStrategy.AllowUnconditionalUpdate(ctx)
				entry.Storage = storageVersion(version.Group, plural, version.Version)
			}
			for _, path := range slices.Sorted(maps.Keys(served)) {
				name, found := strings.CutPrefix(path, plural+"/")
				if !found {
					continue
				}
				storage := served[path]
				gvk := resolve(version, storage)
				kinds[gvk] = true
				entry.Subresources = append(entry.Subresources, subresource{Name: name, Reset: reset(storage)})
			}
			resources = append(resources, entry)
		}
	}
	slices.SortFunc(resources, func(a, b facts) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Plural, b.Plural))
	})
	for _, name := range []string{"DeleteOptions", "Status", "PartialObjectMetadata"} {
		kinds[metav1.SchemeGroupVersion.WithKind(name)] = true
	}
	types := newTable()
	var list []kind
	for gvk := range kinds {
		list = append(list, kind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind})
	}
	slices.SortFunc(list, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	for i, entry := range list {
		gvk := schema.GroupVersionKind{Group: entry.Group, Version: entry.Version, Kind: entry.Kind}
		list[i].Type = types.of(goTypeOf(gvk))
	}
	// What annotations of a HorizontalPodAutoscaler of autoscaling/v1 hold.
	parts := map[string]int{
		"metrics":        types.of(reflect.TypeFor[[]autoscalingv1.MetricSpec]()),
		"currentMetrics": types.of(reflect.TypeFor[[]autoscalingv1.MetricStatus]()),
		"conditions":     types.of(reflect.TypeFor[[]autoscalingv1.HorizontalPodAutoscalerCondition]()),
		"behavior":       types.of(reflect.TypeFor[autoscaling.HorizontalPodAutoscalerBehavior]()),
	}
	write("types.json", types)
	write("kinds.json", map[string]any{"kinds": list, "resources": resources, "parts": parts})
}

// crd says whether a group is served by another part of kube-apiserver than the control plane.
func crd(version schema.GroupVersion) bool {
	return version.Group == "apiextensions.k8s.io" || version.Group == "apiregistration.k8s.io"
}

func goTypeOf(gvk schema.GroupVersionKind) reflect.Type {
	if gvk.Group == metav1.GroupName {
		switch gvk.Kind {
		case "DeleteOptions":
			return reflect.TypeFor[metav1.DeleteOptions]()
		case "Status":
			return reflect.TypeFor[metav1.Status]()
		default:
			return reflect.TypeFor[metav1.PartialObjectMetadata]()
		}
	}
	return reflect.TypeOf(must(schemes.Of(gvk).New(gvk))).Elem()
}

func resolve(version schema.GroupVersion, storage rest.Storage) schema.GroupVersionKind {
	scheme := schemes.Of(version.WithKind(map[string]string{
		"apiextensions.k8s.io": "CustomResourceDefinition", "apiregistration.k8s.io": "APIService",
	}[version.Group]))
	return kindOf(version, storage, scheme)
}

// storageVersions gives the version at which objects of a resource are stored.
func storageVersions() func(group, resource, version string) string {
	effective := basecompatibility.NewEffectiveVersionFromString(componentversion.DefaultKubeBinaryVersion, "", "")
	config := kubeapiserver.NewStorageFactoryConfigEffectiveVersion(effective)
	config.APIResourceConfig = controlplane.DefaultAPIResourceConfigSource()
	options := serveroptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil))
	factory := must(config.Complete(options).New())
	return func(group, resource, version string) string {
		if crd(schema.GroupVersion{Group: group}) {
			return version
		}
		storage := must(factory.ResourceEncodingConfig.StorageEncodingFor(schema.GroupResource{Group: group, Resource: resource}))
		if group == "events.k8s.io" {
			// Stored as the core group's events.
			return "v1"
		}
		return storage.Version
	}
}

// reset are the paths that a strategy resets, by version. A path has one element a string, and "*" for any.
func reset(storage rest.Storage) map[string][]string {
	if _, found := storage.(rest.ResetFieldsFilterStrategy); found {
		panic(fmt.Sprintf("%T: a filter", storage))
	}
	strategy, found := storage.(rest.ResetFieldsStrategy)
	if !found {
		return nil
	}
	fields := map[string][]string{}
	for version, set := range strategy.GetResetFields() {
		paths := []string{}
		set.Iterate(func(path fieldpath.Path) {
			paths = append(paths, path.String())
		})
		slices.Sort(paths)
		fields[string(version)] = paths
	}
	return fields
}

func write(name string, value any) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(os.Args[1], name), text.Bytes(), 0o644); err != nil {
		panic(err)
	}
}
