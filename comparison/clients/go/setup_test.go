// Package clients runs the Go clients of Kubernetes against the server of KUBECONFIG.
package clients

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	config    *rest.Config
	clientset *kubernetes.Clientset
)

func TestMain(m *testing.M) {
	flag.Parse()
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		fmt.Fprintln(os.Stderr, "KUBECONFIG is not set")
		os.Exit(2)
	}
	var err error
	if config, err = clientcmd.BuildConfigFromFlags("", path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if clientset, err = kubernetes.NewForConfig(config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// newNamespace creates a namespace that is deleted at the end of the test, and returns it with a context that ends then.
func newNamespace(t *testing.T) (context.Context, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	name := fmt.Sprintf("go-%08x", rand.Uint32())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := clientset.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		err := clientset.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	return ctx, name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for range 200 {
		if condition() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not within 10 s: %s", what)
}
