// Command go asks client-go's fake, controller-runtime's fake client and a server for what a cluster does to objects, and
// prints a line for each question: yes, or no. The server is that of KUBECONFIG.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"k8s.io/client-go/kubernetes"
)

const namespace = "default"

// A world has Deployments.
type world interface {
	create(*appsv1.Deployment) (*appsv1.Deployment, error)
	update(*appsv1.Deployment) (*appsv1.Deployment, error)
	get(string) (*appsv1.Deployment, error)
	remove(string) error
	apply(name, manager string, replicas int64) error
}

type typed struct{ kubernetes.Interface }

func (w typed) create(d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return w.AppsV1().Deployments(namespace).Create(context.Background(), d, metav1.CreateOptions{})
}

func (w typed) update(d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return w.AppsV1().Deployments(namespace).Update(context.Background(), d, metav1.UpdateOptions{})
}

func (w typed) get(name string) (*appsv1.Deployment, error) {
	return w.AppsV1().Deployments(namespace).Get(context.Background(), name, metav1.GetOptions{})
}

func (w typed) remove(name string) error {
	return w.AppsV1().Deployments(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
}

func (w typed) apply(name, manager string, replicas int64) error {
	body := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"replicas":%d,%s}}`, name, replicas, rest)
	_, err := w.AppsV1().Deployments(namespace).Patch(context.Background(), name, "application/apply-patch+yaml",
		[]byte(body), metav1.PatchOptions{FieldManager: manager})
	return err
}

type runtime struct{ client.Client }

func (w runtime) create(d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return d, w.Create(context.Background(), d)
}

func (w runtime) update(d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return d, w.Update(context.Background(), d)
}

func (w runtime) get(name string) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	return d, w.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, d)
}

func (w runtime) remove(name string) error {
	return w.Delete(context.Background(), deployment(name))
}

func (w runtime) apply(name, manager string, replicas int64) error {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{"replicas": replicas},
	}}
	return w.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager))
}

const rest = `"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"nginx"}]}}`

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
}

// questions are what a cluster does; each is true there.
var questions = []struct {
	text string
	ask  func(world) bool
}{
	{"an object without a required field is refused", func(w world) bool {
		d := deployment("without-selector")
		d.Spec.Selector = nil
		_, err := w.create(d)
		return errors.IsInvalid(err)
	}},
	{"a wrong name is refused", func(w world) bool {
		_, err := w.create(deployment("Wrong_Name"))
		return errors.IsInvalid(err)
	}},
	{"defaults are set", func(w world) bool {
		d, err := w.create(deployment("defaults"))
		return err == nil && d.Spec.Replicas != nil && *d.Spec.Replicas == 1
	}},
	{"an update with an old resourceVersion conflicts", func(w world) bool {
		first, err := w.create(deployment("old"))
		if err != nil {
			return false
		}
		second := first.DeepCopy()
		second.Labels = map[string]string{"a": "b"}
		if _, err := w.update(second); err != nil {
			return false
		}
		first.ResourceVersion = "1"
		_, err = w.update(first)
		return errors.IsConflict(err)
	}},
	{"a change of the spec counts as a generation", func(w world) bool {
		d, err := w.create(deployment("generation"))
		if err != nil {
			return false
		}
		d.Spec.Paused = true
		before := d.Generation
		d, err = w.update(d)
		return err == nil && d.Generation == before+1
	}},
	{"an update leaves the status alone", func(w world) bool {
		d, err := w.create(deployment("status"))
		if err != nil {
			return false
		}
		d.Status.Replicas = 5
		if _, err := w.update(d); err != nil {
			return false
		}
		d, err = w.get("status")
		return err == nil && d.Status.Replicas == 0
	}},
	{"an object with a finalizer waits for it", func(w world) bool {
		d := deployment("finalizer")
		d.Finalizers = []string{"example.com/wait"}
		if _, err := w.create(d); err != nil || w.remove("finalizer") != nil {
			return false
		}
		d, err := w.get("finalizer")
		return err == nil && d.DeletionTimestamp != nil
	}},
	{"an apply conflicts with another manager", func(w world) bool {
		if w.apply("owned", "alice", 1) != nil {
			return false
		}
		return errors.IsConflict(w.apply("owned", "bob", 2))
	}},
	{"an apply with the same value shares the field", func(w world) bool {
		return w.apply("shared", "alice", 1) == nil && w.apply("shared", "bob", 1) == nil
	}},
}

func main() {
	const objects = 1000
	worlds := []struct {
		name string
		make func() (world, error)
	}{
		{"client-go's fake", func() (world, error) { return typed{fake.NewClientset()}, nil }},
		{"controller-runtime's fake", func() (world, error) {
			built := crfake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(&appsv1.Deployment{})
			return runtime{built.Build()}, nil
		}},
		{"fieldmanager", func() (world, error) {
			config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
			if err != nil {
				return nil, err
			}
			config.QPS = -1
			set, err := kubernetes.NewForConfig(config)
			return typed{set}, err
		}},
	}
	for _, of := range worlds {
		began := time.Now()
		w, err := of.make()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_, _ = w.get("none")
		first := time.Since(began)
		began = time.Now()
		for number := range objects {
			if _, err := w.create(deployment(fmt.Sprintf("many-%d", number))); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		fmt.Printf("%s: first answer after %v, %d creates in %v\n", of.name, first.Round(time.Millisecond/10), objects, time.Since(began).Round(time.Millisecond))
		for _, question := range questions {
			answer := "no"
			if question.ask(w) {
				answer = "yes"
			}
			fmt.Printf("  %-3s %s\n", answer, question.text)
		}
	}
}
