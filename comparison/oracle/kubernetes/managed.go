package main

import (
	"encoding/json"
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// managedRequest is a sequence of writes to one object.
type managedRequest struct {
	definitionsRequest
	GVK struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"gvk"`
	Subresource       string                                `json:"subresource"`
	Hub               string                                `json:"hub"`
	Versions          []string                              `json:"versions"`
	CustomResource    bool                                  `json:"customResource"`
	CRD               json.RawMessage                       `json:"crd"`
	Renames           map[string]map[string]string          `json:"renames"`
	ResetFields       map[string]map[string]json.RawMessage `json:"resetFields"`
	Structural        map[string]json.RawMessage            `json:"structural"`
	StatusSubresource bool                                  `json:"statusSubresource"`
	UID               string                                `json:"uid"`
	Live              map[string]any                        `json:"live"`
	Steps             []managedStep                         `json:"steps"`
}

// resource is a kind, with everything that its field managers need.
type resource struct {
	types      typeSource
	group      string
	kind       string
	version    string
	hub        schema.GroupVersion
	converter  *converter
	defaulter  defaulter
	custom     bool
	hasStatus  bool
	reset      map[string]map[fieldpath.APIVersion]*fieldpath.Set
	managers   map[managerKey]*managedfields.FieldManager
	createdUID string
}

type managerKey struct {
	version     schema.GroupVersion
	subresource string
}

func opManaged(text []byte) (answer, error) {
	request := &managedRequest{}
	if err := decode(text, request); err != nil {
		return nil, err
	}
	r, err := newResource(request)
	if err != nil {
		return answer{"setupError": err.Error()}, nil
	}
	state := &sequence{resource: r}
	if request.Live != nil {
		state.live = &unstructured.Unstructured{Object: request.Live}
	}
	results := make([]answer, 0, len(request.Steps))
	for i, step := range request.Steps {
		if step.Subresource == "" {
			step.Subresource = request.Subresource
		}
		results = append(results, state.run(step, i))
	}
	return answer{"steps": results}, nil
}

func newResource(request *managedRequest) (*resource, error) {
	r := &resource{
		group:      request.GVK.Group,
		kind:       request.GVK.Kind,
		version:    request.GVK.Version,
		custom:     request.CustomResource,
		hasStatus:  request.StatusSubresource,
		createdUID: request.UID,
		managers:   map[managerKey]*managedfields.FieldManager{},
		defaulter:  defaulter{structural: map[string]*structuralschema.Structural{}},
	}
	r.converter = &converter{known: knownVersions(r.group, request.Versions), custom: r.custom, renames: request.Renames}
	for version, props := range request.Structural {
		s, refusal := readStructural(props)
		if refusal != nil {
			return nil, fmt.Errorf("structural schema of %s: %v", version, refusal)
		}
		r.defaulter.structural[version] = s
	}
	if r.hub = groupVersion(r.group, r.version); request.Hub != "" {
		r.hub = groupVersion(r.group, request.Hub)
	}
	var err error
	if r.types, err = readTypes(request.definitionsRequest); err != nil {
		return nil, err
	}
	if r.reset, err = readResetFields(request.ResetFields); err != nil {
		return nil, err
	}
	if !isNull(request.CRD) {
		err = r.defineBy(request)
	}
	return r, err
}

// readResetFields reads sets in the FieldsV1 format, by subresource and version.
func readResetFields(texts map[string]map[string]json.RawMessage) (map[string]map[fieldpath.APIVersion]*fieldpath.Set, error) {
	reset := map[string]map[fieldpath.APIVersion]*fieldpath.Set{}
	for subresource, byVersion := range texts {
		reset[subresource] = map[fieldpath.APIVersion]*fieldpath.Set{}
		for version, text := range byVersion {
			set, err := readSet(text)
			if err != nil {
				return nil, err
			}
			reset[subresource][fieldpath.APIVersion(version)] = set
		}
	}
	return reset, nil
}

// manager gives the field manager for a version and subresource, as an
// apiserver has one for each pair.
func (r *resource) manager(version schema.GroupVersion, subresource string) (*managedfields.FieldManager, error) {
	key := managerKey{version, subresource}
	if known, ok := r.managers[key]; ok {
		return known, nil
	}
	typeConverter, err := r.types.converter()
	if err != nil {
		return nil, err
	}
	construct := managedfields.NewDefaultFieldManager
	if r.custom {
		construct = managedfields.NewDefaultCRDFieldManager
	}
	filters := fieldpath.NewExcludeFilterSetMap(r.reset[subresource])
	made, err := construct(typeConverter, r.converter, r.defaulter, creater{}, version.WithKind(r.kind), r.hub, subresource, filters)
	if err != nil {
		return nil, err
	}
	r.managers[key] = made
	return made, nil
}

// toHub converts the object of a request to the version in which handlers pass
// objects to the field manager. An object without a type is passed on too.
func (r *resource) toHub(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if object.GetAPIVersion() == "" || object.GroupVersionKind().GroupVersion() == r.hub {
		return object, nil
	}
	out, err := r.converter.ConvertToVersion(object, r.hub)
	if err != nil {
		return nil, err
	}
	return out.(*unstructured.Unstructured), nil
}

func (r *resource) empty(version schema.GroupVersion) runtime.Object {
	object, _ := creater{}.New(version.WithKind(r.kind))
	return object
}
