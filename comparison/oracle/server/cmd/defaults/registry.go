package main

import (
	"encoding/json"
	"fmt"

	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane" // registers the groups of legacyscheme
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
)

type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// registry is what a resource is created and updated with.
type registry struct {
	scheme   *runtime.Scheme
	resource string
	strategy strategy
	// subresources are the strategies of subresources by their names.
	subresources map[string]rest.RESTUpdateStrategy
}

func of(resource string, s strategy) *registry {
	return &registry{scheme: legacyscheme.Scheme, resource: resource, strategy: s}
}

func withStatus(resource string, s strategy, status rest.RESTUpdateStrategy) *registry {
	r := of(resource, s)
	r.subresources = map[string]rest.RESTUpdateStrategy{"status": status}
	return r
}

var registries = map[schema.GroupKind]*registry{
	{Group: "apps", Kind: "Deployment"}:                              withStatus("deployments", deployment.Strategy, deployment.StatusStrategy),
	{Group: "apps", Kind: "DaemonSet"}:                               withStatus("daemonsets", daemonset.Strategy, daemonset.StatusStrategy),
	{Group: "apps", Kind: "ReplicaSet"}:                              withStatus("replicasets", replicaset.Strategy, replicaset.StatusStrategy),
	{Group: "apps", Kind: "StatefulSet"}:                             withStatus("statefulsets", statefulset.Strategy, statefulset.StatusStrategy),
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:          withStatus("horizontalpodautoscalers", horizontalpodautoscaler.Strategy, horizontalpodautoscaler.StatusStrategy),
	{Group: "batch", Kind: "Job"}:                                    withStatus("jobs", job.Strategy, job.StatusStrategy),
	{Group: "batch", Kind: "CronJob"}:                                withStatus("cronjobs", cronjob.Strategy, cronjob.StatusStrategy),
	{Group: "coordination.k8s.io", Kind: "Lease"}:                    of("leases", lease.Strategy),
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:               of("endpointslices", endpointslice.Strategy),
	{Group: "events.k8s.io", Kind: "Event"}:                          of("events", event.Strategy),
	{Group: "networking.k8s.io", Kind: "Ingress"}:                    withStatus("ingresses", ingress.Strategy, ingress.StatusStrategy),
	{Group: "networking.k8s.io", Kind: "IngressClass"}:               of("ingressclasses", ingressclass.Strategy),
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:              of("networkpolicies", networkpolicy.Strategy),
	{Group: "policy", Kind: "PodDisruptionBudget"}:                   withStatus("poddisruptionbudgets", poddisruptionbudget.Strategy, poddisruptionbudget.StatusStrategy),
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        of("clusterroles", clusterrole.Strategy),
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: of("clusterrolebindings", clusterrolebinding.Strategy),
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               of("roles", role.Strategy),
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        of("rolebindings", rolebinding.Strategy),
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:              of("priorityclasses", priorityclass.Strategy),
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                  of("storageclasses", storageclass.Strategy),
	{Kind: "ConfigMap"}:                                              of("configmaps", configmap.Strategy),
	{Kind: "Endpoints"}:                                              of("endpoints", endpoint.Strategy),
	{Kind: "Event"}:                                                  of("events", event.Strategy),
	{Kind: "LimitRange"}:                                             of("limitranges", limitrange.Strategy),
	{Kind: "Namespace"}:                                              withStatus("namespaces", namespace.Strategy, namespace.StatusStrategy),
	{Kind: "PersistentVolume"}:                                       withStatus("persistentvolumes", persistentvolume.Strategy, persistentvolume.StatusStrategy),
	{Kind: "PersistentVolumeClaim"}:                                  withStatus("persistentvolumeclaims", persistentvolumeclaim.Strategy, persistentvolumeclaim.StatusStrategy),
	{Kind: "PodTemplate"}:                                            of("podtemplates", podtemplate.Strategy),
	{Kind: "ReplicationController"}:                                  withStatus("replicationcontrollers", replicationcontroller.Strategy, replicationcontroller.StatusStrategy),
	{Kind: "ResourceQuota"}:                                          withStatus("resourcequotas", resourcequota.Strategy, resourcequota.StatusStrategy),
	{Kind: "Secret"}:                                                 of("secrets", secret.Strategy),
	{Kind: "Service"}:                                                withStatus("services", service.Strategy, service.StatusStrategy),
	{Kind: "ServiceAccount"}:                                         of("serviceaccounts", serviceaccount.Strategy),
	{Kind: "Pod"}: {
		scheme: legacyscheme.Scheme, resource: "pods", strategy: pod.Strategy,
		subresources: map[string]rest.RESTUpdateStrategy{
			"status": pod.StatusStrategy, "ephemeralcontainers": pod.EphemeralContainersStrategy, "resize": pod.ResizeStrategy,
		},
	},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {
		scheme: apiextensionsserver.Scheme, resource: "customresourcedefinitions",
		strategy: customresourcedefinition.NewStrategy(apiextensionsserver.Scheme),
		subresources: map[string]rest.RESTUpdateStrategy{
			"status": customresourcedefinition.NewStatusStrategy(apiextensionsserver.Scheme),
		},
	},
}

func registryOf(kind schema.GroupVersionKind) *registry {
	return registries[kind.GroupKind()]
}

func (r *registry) update(subresource string) rest.RESTUpdateStrategy {
	if subresource == "" {
		return r.strategy
	}
	return r.subresources[subresource]
}

// internal decodes an object, sets its defaults and converts it to the internal version.
func (r *registry) internal(kind schema.GroupVersionKind, body []byte) (runtime.Object, error) {
	object, err := r.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, object); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	r.scheme.Default(object)
	return r.scheme.ConvertToVersion(object, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
}

// external converts an object to a version. The object may change later: nothing is shared.
func (r *registry) external(kind schema.GroupVersionKind, object runtime.Object) (runtime.Object, error) {
	converted, err := r.scheme.ConvertToVersion(object.DeepCopyObject(), kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	converted.GetObjectKind().SetGroupVersionKind(kind)
	return converted, nil
}
