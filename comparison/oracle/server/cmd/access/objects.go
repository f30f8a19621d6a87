package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	listers "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/rbac"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	clusterrolestorage "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/policybased"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	clusterrolebindingstorage "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/policybased"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	rolestorage "k8s.io/kubernetes/pkg/registry/rbac/role/policybased"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	rolebindingstorage "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
)

// objects are the roles and bindings of a case: as the caches of the authorizer, and as the stores of the checks of writes.
type objects struct {
	roles        listers.RoleLister
	clusterRoles listers.ClusterRoleLister
	caches       map[string]cache.Indexer
	stores       map[string]*store
}

var resources = map[string]string{
	"Role": "roles", "ClusterRole": "clusterroles", "RoleBinding": "rolebindings", "ClusterRoleBinding": "clusterrolebindings",
}

func newObjects(texts []json.RawMessage) *objects {
	o := &objects{caches: map[string]cache.Indexer{}, stores: map[string]*store{}}
	for kind := range resources {
		index := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		o.caches[kind] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, index)
		o.stores[kind] = &store{kind: kind, cache: o.caches[kind]}
	}
	for _, text := range texts {
		object := read(text)
		if err := o.caches[object.GetObjectKind().GroupVersionKind().Kind].Add(object); err != nil {
			panic(err)
		}
	}
	o.roles = listers.NewRoleLister(o.caches["Role"])
	o.clusterRoles = listers.NewClusterRoleLister(o.caches["ClusterRole"])
	return o
}

// sorted has the objects of a cache in the order of their names, since that of a cache depends on chance.
func sorted[T metav1.Object](cache cache.Indexer) []T {
	var out []T
	for _, object := range cache.List() {
		out = append(out, object.(T))
	}
	slices.SortFunc(out, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}

func (o *objects) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return sorted[*rbacv1.ClusterRoleBinding](o.caches["ClusterRoleBinding"]), nil
}

func (o *objects) ListRoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	all := sorted[*rbacv1.RoleBinding](o.caches["RoleBinding"])
	return slices.DeleteFunc(all, func(b *rbacv1.RoleBinding) bool { return b.Namespace != namespace }), nil
}

// grant is the error of a write of a role or a binding.
func (o *objects) grant(ctx context.Context, q *question, allows authorizer.Authorizer) error {
	object := read(q.Object)
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if store := o.stores[kind]; store.isNamespaced() {
		ctx = request.WithNamespace(ctx, q.Namespace)
	} else {
		ctx = request.WithNamespace(ctx, "")
		q.Namespace = ""
	}
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, APIGroup: rbac.GroupName, Resource: resources[kind], Namespace: q.Namespace, Name: q.Name,
	})
	resolver := validation.NewDefaultRuleResolver(
		role.AuthorizerAdapter{Registry: role.NewRegistry(o.stores["Role"])},
		rolebinding.AuthorizerAdapter{Registry: rolebinding.NewRegistry(o.stores["RoleBinding"])},
		clusterrole.AuthorizerAdapter{Registry: clusterrole.NewRegistry(o.stores["ClusterRole"])},
		clusterrolebinding.AuthorizerAdapter{Registry: clusterrolebinding.NewRegistry(o.stores["ClusterRoleBinding"])},
	)
	var storage rest.CreaterUpdater
	switch kind {
	case "Role":
		storage = rolestorage.NewStorage(o.stores[kind], allows, resolver)
	case "ClusterRole":
		storage = clusterrolestorage.NewStorage(o.stores[kind], allows, resolver)
	case "RoleBinding":
		storage = rolebindingstorage.NewStorage(o.stores[kind], allows, resolver)
	case "ClusterRoleBinding":
		storage = clusterrolebindingstorage.NewStorage(o.stores[kind], allows, resolver)
	}
	if q.Old == nil {
		_, err := storage.Create(ctx, internal(object), nil, nil)
		return err
	}
	updated := rest.DefaultUpdatedObjectInfo(internal(object))
	o.stores[kind].old = internal(read(q.Old))
	_, _, err := storage.Update(ctx, q.Name, updated, nil, nil, false, nil)
	return err
}

// internal converts an object to the type that storages use.
func internal(object runtime.Object) runtime.Object {
	out, err := rbacInternal(object.GetObjectKind().GroupVersionKind().Kind)
	if err != nil {
		panic(err)
	}
	convert(object, out)
	return out
}

// store is what the checks of writes need of the store of a resource. It writes nothing.
type store struct {
	rest.StandardStorage
	kind  string
	cache cache.Indexer
	old   runtime.Object
}

func (s *store) isNamespaced() bool {
	return s.kind == "Role" || s.kind == "RoleBinding"
}

func (s *store) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	key := registry.NoNamespaceKeyFunc
	if s.isNamespaced() {
		key = registry.NamespaceKeyFunc
	}
	if _, err := key(ctx, "", name); err != nil {
		return nil, err
	}
	stored := cache.NewObjectName(request.NamespaceValue(ctx), name).String()
	object, exists, err := s.cache.GetByKey(stored)
	if err != nil || !exists {
		// As in a store: the resource of the request, which may be another one.
		info, _ := request.RequestInfoFrom(ctx)
		return nil, errors.NewNotFound(rbac.Resource(info.Resource), name)
	}
	return internal(object.(runtime.Object)), nil
}

func (s *store) List(ctx context.Context, _ *metainternalversion.ListOptions) (runtime.Object, error) {
	out, err := rbacInternal(s.kind + "List")
	if err != nil {
		return nil, err
	}
	var items []runtime.Object
	for _, object := range sorted[metav1.Object](s.cache) {
		if !s.isNamespaced() || object.GetNamespace() == request.NamespaceValue(ctx) {
			items = append(items, internal(object.(runtime.Object)))
		}
	}
	return out, meta.SetList(out, items)
}

func (s *store) Create(context.Context, runtime.Object, rest.ValidateObjectFunc, *metav1.CreateOptions) (runtime.Object, error) {
	return nil, nil
}

func (s *store) Update(ctx context.Context, _ string, object rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc, _ rest.ValidateObjectUpdateFunc, _ bool, _ *metav1.UpdateOptions) (runtime.Object, bool, error) {
	_, err := object.UpdatedObject(ctx, s.old)
	return nil, false, err
}
