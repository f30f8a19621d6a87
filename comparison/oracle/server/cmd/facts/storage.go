package main

import (
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"unsafe"

	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	apiservicestore "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/apis/core"
	kubelet "k8s.io/kubernetes/pkg/kubelet/client"
	admissionregistrationrest "k8s.io/kubernetes/pkg/registry/admissionregistration/rest"
	apiserverinternalrest "k8s.io/kubernetes/pkg/registry/apiserverinternal/rest"
	appsrest "k8s.io/kubernetes/pkg/registry/apps/rest"
	authenticationrest "k8s.io/kubernetes/pkg/registry/authentication/rest"
	authorizationrest "k8s.io/kubernetes/pkg/registry/authorization/rest"
	autoscalingrest "k8s.io/kubernetes/pkg/registry/autoscaling/rest"
	batchrest "k8s.io/kubernetes/pkg/registry/batch/rest"
	certificatesrest "k8s.io/kubernetes/pkg/registry/certificates/rest"
	coordinationrest "k8s.io/kubernetes/pkg/registry/coordination/rest"
	"k8s.io/kubernetes/pkg/registry/core/componentstatus"
	configmapstore "k8s.io/kubernetes/pkg/registry/core/configmap/storage"
	endpointsstore "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	eventstore "k8s.io/kubernetes/pkg/registry/core/event/storage"
	limitrangestore "k8s.io/kubernetes/pkg/registry/core/limitrange/storage"
	namespacestore "k8s.io/kubernetes/pkg/registry/core/namespace/storage"
	nodestore "k8s.io/kubernetes/pkg/registry/core/node/storage"
	pvstore "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	pvcstore "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	podtemplatestore "k8s.io/kubernetes/pkg/registry/core/podtemplate/storage"
	controllerstore "k8s.io/kubernetes/pkg/registry/core/replicationcontroller/storage"
	resourcequotastore "k8s.io/kubernetes/pkg/registry/core/resourcequota/storage"
	secretstore "k8s.io/kubernetes/pkg/registry/core/secret/storage"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	servicestore "k8s.io/kubernetes/pkg/registry/core/service/storage"
	serviceaccountstore "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"
	discoveryrest "k8s.io/kubernetes/pkg/registry/discovery/rest"
	eventsrest "k8s.io/kubernetes/pkg/registry/events/rest"
	flowcontrolrest "k8s.io/kubernetes/pkg/registry/flowcontrol/rest"
	lifecyclerest "k8s.io/kubernetes/pkg/registry/lifecycle/rest"
	networkingrest "k8s.io/kubernetes/pkg/registry/networking/rest"
	noderest "k8s.io/kubernetes/pkg/registry/node/rest"
	policyrest "k8s.io/kubernetes/pkg/registry/policy/rest"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	resourcerest "k8s.io/kubernetes/pkg/registry/resource/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"
	storagerest "k8s.io/kubernetes/pkg/registry/storage/rest"
	storagemigrationrest "k8s.io/kubernetes/pkg/registry/storagemigration/rest"

	"fieldmanager.dev/comparison/server/schemes"
)

// storages are the storages of a group version by the path of their resource, such as "pods/status".
type storages map[schema.GroupVersion]map[string]rest.Storage

// everything enables all resources.
type everything struct{}

func (everything) AnyResourceForGroupEnabled(string) bool                     { return true }
func (everything) ResourceEnabled(schema.GroupVersionResource) bool           { return true }
func (everything) ResourceExplicitlyEnabled(schema.GroupVersionResource) bool { return true }
func (everything) VersionExplicitlyEnabled(schema.GroupVersion) bool          { return true }

// nowhere gives registries a storage that stores nothing, since no request is made.
type nowhere struct{}

func (nowhere) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	decorator := func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object,
		func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
		return nil, func() {}, nil
	}
	return generic.RESTOptions{
		StorageConfig:  storagebackend.NewDefaultConfig("/registry", nil).ForResource(resource),
		Decorator:      decorator,
		ResourcePrefix: resource.Resource,
	}, nil
}

// provider is a group of kube-apiserver.
type provider interface {
	NewRESTStorage(serverstorage.APIResourceConfigSource, generic.RESTOptionsGetter) (genericapiserver.APIGroupInfo, error)
	GroupName() string
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// installed are the storages of everything that kube-apiserver can serve.
func installed() storages {
	allow := authorizerfactory.NewAlwaysAllowAuthorizer()
	client := must(kubernetes.NewForConfig(&clientrest.Config{Host: "http://127.0.0.1:1"}))
	all := storages{schema.GroupVersion{Version: "v1"}: coreStorages()}
	for _, provider := range []provider{
		apiserverinternalrest.StorageProvider{},
		authenticationrest.RESTStorageProvider{},
		authorizationrest.RESTStorageProvider{Authorizer: allow},
		autoscalingrest.RESTStorageProvider{},
		batchrest.RESTStorageProvider{},
		certificatesrest.RESTStorageProvider{Authorizer: allow},
		coordinationrest.RESTStorageProvider{},
		discoveryrest.StorageProvider{},
		lifecyclerest.RESTStorageProvider{},
		networkingrest.RESTStorageProvider{},
		noderest.RESTStorageProvider{},
		policyrest.RESTStorageProvider{},
		rbacrest.RESTStorageProvider{Authorizer: allow},
		schedulingrest.RESTStorageProvider{},
		storagerest.RESTStorageProvider{},
		storagemigrationrest.RESTStorageProvider{},
		flowcontrolrest.RESTStorageProvider{InformerFactory: informers.NewSharedInformerFactory(client, 0)},
		appsrest.StorageProvider{},
		admissionregistrationrest.RESTStorageProvider{Authorizer: allow, DiscoveryClient: client.Discovery()},
		eventsrest.RESTStorageProvider{},
		resourcerest.RESTStorageProvider{Authorizer: allow, NamespaceClient: client.CoreV1().Namespaces()},
	} {
		group := must(provider.NewRESTStorage(everything{}, nowhere{}))
		for version, resources := range group.VersionedResourcesStorageMap {
			all[schema.GroupVersion{Group: provider.GroupName(), Version: version}] = resources
		}
	}
	definitions := must(apiextensionsserver.NewREST(schemes.Extensions, nowhere{}))
	all[schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}] = map[string]rest.Storage{
		"customresourcedefinitions":        definitions,
		"customresourcedefinitions/status": apiextensionsserver.NewStatusREST(schemes.Extensions, definitions),
	}
	services := apiservicestore.NewREST(schemes.Aggregator, nowhere{})
	all[schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}] = map[string]rest.Storage{
		"apiservices":        services,
		"apiservices/status": apiservicestore.NewStatusREST(schemes.Aggregator, services),
	}
	return all
}

// coreStorages are the storages of the core group. Its provider needs a cluster, so they are made one by one.
func coreStorages() map[string]rest.Storage {
	all := map[string]rest.Storage{
		"configmaps":   must(configmapstore.NewREST(nowhere{})),
		"endpoints":    must(endpointsstore.NewREST(nowhere{})),
		"events":       must(eventstore.NewREST(nowhere{}, 0)),
		"limitranges":  must(limitrangestore.NewREST(nowhere{})),
		"podtemplates": must(podtemplatestore.NewREST(nowhere{})),
		"secrets":      must(secretstore.NewREST(nowhere{})),
	}
	all["componentstatuses"] = componentstatus.NewStorage(nil)
	pair := func(name string, main, status rest.Storage) {
		all[name], all[name+"/status"] = main, status
	}
	quotas, quotasStatus, err := resourcequotastore.NewREST(nowhere{})
	pair("resourcequotas", must(quotas, err), quotasStatus)
	volumes, volumesStatus, err := pvstore.NewREST(nowhere{})
	pair("persistentvolumes", must(volumes, err), volumesStatus)
	claims, claimsStatus, err := pvcstore.NewREST(nowhere{})
	pair("persistentvolumeclaims", must(claims, err), claimsStatus)
	namespaces, namespacesStatus, finalize, err := namespacestore.NewREST(nowhere{})
	pair("namespaces", must(namespaces, err), namespacesStatus)
	all["namespaces/finalize"] = finalize
	nodes := must(nodestore.NewStorage(nowhere{}, kubelet.KubeletClientConfig{}, http.DefaultTransport))
	pair("nodes", nodes.Node, nodes.Status)
	controllers := must(controllerstore.NewStorage(nowhere{}))
	pair("replicationcontrollers", controllers.Controller, controllers.Status)
	all["replicationcontrollers/scale"] = controllers.Scale
	pods := must(podstore.NewStorage(nowhere{}, nodes.KubeletConnectionInfo, http.DefaultTransport, nil, nil))
	pair("pods", pods.Pod, pods.Status)
	all["pods/binding"], all["bindings"] = pods.Binding, pods.LegacyBinding
	all["pods/eviction"] = pods.Eviction
	all["pods/ephemeralcontainers"], all["pods/resize"] = pods.EphemeralContainers, pods.Resize
	all["serviceaccounts"] = must(serviceaccountstore.NewREST(nowhere{}, nil, nil, nil, 0, nil, nil, nil, nil, nil, false, 0))
	all["serviceaccounts/token"] = &serviceaccountstore.TokenREST{}
	_, network, err := net.ParseCIDR("10.0.0.0/16")
	addresses := map[core.IPFamily]ipallocator.Interface{
		core.IPv4Protocol: must(ipallocator.NewInMemory(must(network, err))),
	}
	ports := must(portallocator.NewInMemory(utilnet.PortRange{Base: 30000, Size: 100}))
	services, servicesStatus, _, err := servicestore.NewREST(nowhere{}, core.IPv4Protocol, addresses, ports, nil, pods.Pod, nil)
	pair("services", must(services, err), servicesStatus)
	return all
}

// storeOf finds the registry store behind a storage; nil if it has none.
func storeOf(value any) *registry.Store {
	return findStore(reflect.ValueOf(value), 4)
}

func findStore(value reflect.Value, depth int) *registry.Store {
	for value.Kind() == reflect.Interface || value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return nil
		}
		if value.Type() == reflect.TypeFor[*registry.Store]() {
			return (*registry.Store)(unsafe.Pointer(value.Pointer()))
		}
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct || depth == 0 {
		return nil
	}
	for i := range value.NumField() {
		name := strings.ToLower(value.Type().Field(i).Name)
		if name != "store" && name != "standardstorage" && name != "rest" {
			continue
		}
		if found := findStore(value.Field(i), depth-1); found != nil {
			return found
		}
	}
	return nil
}

// kindOf is the kind that a storage serves at a group version.
func kindOf(version schema.GroupVersion, served rest.Storage, typer runtime.ObjectTyper) schema.GroupVersionKind {
	if provider, ok := served.(rest.GroupVersionKindProvider); ok {
		return provider.GroupVersionKind(version)
	}
	object := served.New()
	kinds, _, err := typer.ObjectKinds(object)
	for _, kind := range must(kinds, err) {
		if kind.Group == version.Group {
			return version.WithKind(kind.Kind)
		}
	}
	panic(fmt.Sprintf("no kind of %T in %v", object, version))
}
