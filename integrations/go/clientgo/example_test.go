package clientgo_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"testing"

	fieldmanager "github.com/fieldmanager/fieldmanager/integrations/go"
	"github.com/fieldmanager/fieldmanager/integrations/go/clientgo"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var server *fieldmanager.Server

func TestMain(m *testing.M) {
	var err error
	if server, err = fieldmanager.Start("", "--crd", "../../../examples/testing/shops.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = server.Stop()
	os.Exit(code)
}

func TestBobTakesTheSizeOfAliceAfterAFault(t *testing.T) {
	ctx := context.Background()
	t.Cleanup(func() {
		if err := server.Reset(ctx); err != nil {
			t.Error(err)
		}
	})
	client, err := dynamic.NewForConfig(clientgo.Config(server))
	if err != nil {
		t.Fatal(err)
	}
	shops := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "shops"})
	apply := func(manager string, spec map[string]any) (*unstructured.Unstructured, error) {
		config := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{"name": "corner"}, "spec": spec,
		}}
		options := metav1.ApplyOptions{FieldManager: manager, Force: true}
		return shops.Namespace("default").Apply(ctx, "corner", config, options)
	}

	if _, err := apply("alice", map[string]any{"color": "red", "size": int64(1)}); err != nil {
		t.Fatal(err)
	}
	fault := map[string]any{"fault": "conflict", "verb": "apply", "manager": "bob", "times": 1}
	if err := server.Inject(ctx, fault); err != nil {
		t.Fatal(err)
	}
	if _, err := apply("bob", map[string]any{"size": int64(2)}); !errors.IsConflict(err) {
		t.Fatalf("found %v, want a conflict", err)
	}
	shop, err := apply("bob", map[string]any{"size": int64(2)})
	if err != nil {
		t.Fatal(err)
	}

	if size, _, _ := unstructured.NestedInt64(shop.Object, "spec", "size"); size != 2 {
		t.Errorf("found size %d, want 2", size)
	}
	fieldmanager.AssertOwned(t, shop, ".spec.size", "bob")
	fieldmanager.AssertOwned(t, shop, ".spec.color", "alice")
	log, err := server.Log(ctx, url.Values{"manager": {"bob"}, "path": {".spec.size"}})
	if err != nil || len(log) != 1 {
		t.Errorf("found %d entries, %v, want 1", len(log), err)
	}
}

func TestResetKeepsDefinitionsOnly(t *testing.T) {
	client, err := dynamic.NewForConfig(clientgo.Config(server))
	if err != nil {
		t.Fatal(err)
	}
	shops := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "shops"})
	list, err := shops.List(context.Background(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("found %v, %v, want no shops", list, err)
	}
}
