package main

import (
	"context"
	"reflect"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	applyconfigurations "k8s.io/client-go/applyconfigurations/rbac/v1"
	client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	listers "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/rbac"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
)

// rbacInternal makes an object of an internal type.
func rbacInternal(kind string) (runtime.Object, error) {
	return legacyscheme.Scheme.New(rbac.SchemeGroupVersion.WithKind(kind))
}

// aggregate is what the controller applies to a cluster role; nil if it applies nothing.
func (o *objects) aggregate(ctx context.Context, name string) any {
	applied := &recorder{}
	controller := clusterroleaggregation.NewClusterRoleAggregation(informer{lister: o.clusterRoles}, applied)
	// The controller calls this field for each role of its queue, which runs in the background.
	field := reflect.ValueOf(controller).Elem().FieldByName("syncHandler")
	sync := *(*func(context.Context, string) error)(field.Addr().UnsafePointer())
	if err := sync(ctx, name); err != nil || applied.made == nil {
		return nil
	}
	rules := []applyconfigurations.PolicyRuleApplyConfiguration{}
	return append(rules, applied.made.Rules...)
}

// informer has the cluster roles, and nobody to notify.
type informer struct {
	cache.SharedIndexInformer
	lister listers.ClusterRoleLister
}

func (i informer) Informer() cache.SharedIndexInformer { return i }
func (i informer) Lister() listers.ClusterRoleLister   { return i.lister }
func (i informer) HasSynced() bool                     { return true }
func (i informer) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return nil, nil
}

// recorder is a client that keeps what is applied.
type recorder struct {
	client.ClusterRoleInterface
	made *applyconfigurations.ClusterRoleApplyConfiguration
}

func (r *recorder) ClusterRoles() client.ClusterRoleInterface { return r }

func (r *recorder) Apply(_ context.Context, made *applyconfigurations.ClusterRoleApplyConfiguration, _ metav1.ApplyOptions) (*rbacv1.ClusterRole, error) {
	r.made = made
	return nil, nil
}
