// Package older uses the server with controller-runtime of 2025, which has client-go of Kubernetes 1.32.
package older

import (
	"context"
	"testing"

	fieldmanager "github.com/fieldmanager/fieldmanager/integrations/go"
	"github.com/fieldmanager/fieldmanager/integrations/go/clientgo"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// painter writes the colour of each ConfigMap that has none.
type painter struct {
	client.Client
	painted chan string
}

func (p painter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	desired := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: request.Name, Namespace: request.Namespace},
		Data:       map[string]string{"colour": "blue"},
	}
	err := p.Patch(ctx, desired, client.Apply, client.FieldOwner("painter"), client.ForceOwnership)
	if err == nil {
		p.painted <- request.Name
	}
	return ctrl.Result{}, err
}

func TestAReconcilerOwnsWhatItApplies(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	api, err := fieldmanager.Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Stop() })
	manager, err := ctrl.NewManager(clientgo.Config(api), ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	reconciler := painter{manager.GetClient(), make(chan string, 100)}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(reconciler); err != nil {
		t.Fatal(err)
	}
	go func() { _ = manager.Start(ctx) }()

	wall := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "wall", Namespace: "default"}}
	if err := manager.GetClient().Create(ctx, wall); err != nil {
		t.Fatal(err)
	}
	for name := range reconciler.painted {
		if name == "wall" {
			break
		}
	}
	if err := manager.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(wall), wall); err != nil {
		t.Fatal(err)
	}
	fieldmanager.AssertOwned(t, wall, ".data.colour", "painter")
}
