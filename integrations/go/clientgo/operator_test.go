package clientgo_test

import (
	"context"
	"strings"
	"testing"

	fieldmanager "github.com/fieldmanager/fieldmanager/integrations/go"
	"github.com/fieldmanager/fieldmanager/integrations/go/clientgo"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

func TestTheRoleOfTheOperatorLacksUpdateOfTheStatus(t *testing.T) {
	ctx := context.Background()
	server, err := fieldmanager.Start("", "--authorization", "rbac",
		"--crd", "../../../examples/testing/shops.yaml", "--load", "../../../examples/testing/operator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	admin, err := dynamic.NewForConfig(clientgo.Config(server))
	if err != nil {
		t.Fatal(err)
	}
	shops := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "shops"}
	corner := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{"name": "corner"},
	}}
	if _, err := admin.Resource(shops).Namespace("default").Create(ctx, corner, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	// What the operator does, as the service account that it has in a cluster.
	config, err := clientgo.ConfigAs(ctx, server, "system:serviceaccount:default:operator")
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	operator := client.Resource(shops).Namespace("default")
	reconcile := func() error {
		shop, err := operator.Get(ctx, "corner", metav1.GetOptions{})
		if err != nil {
			return err
		}
		shop.Object["status"] = map[string]any{"ready": true}
		_, err = operator.UpdateStatus(ctx, shop, metav1.UpdateOptions{})
		return err
	}
	if err := reconcile(); !errors.IsForbidden(err) || !strings.Contains(err.Error(), `cannot update resource "shops/status"`) {
		t.Fatalf("found %v, want that the status is forbidden", err)
	}

	// With the verb, and nothing more, it works.
	roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	addition := []byte(`[{"op": "add", "path": "/rules/-",
		"value": {"apiGroups": ["example.com"], "resources": ["shops/status"], "verbs": ["update"]}}]`)
	_, err = admin.Resource(roles).Namespace("default").Patch(ctx, "operator", types.JSONPatchType, addition, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := reconcile(); err != nil {
		t.Error(err)
	}
	if err := operator.Delete(ctx, "corner", metav1.DeleteOptions{}); !errors.IsForbidden(err) {
		t.Errorf("found %v, want that the deletion is forbidden", err)
	}
}
