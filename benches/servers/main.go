// Command servers measures an API server, or a fake of one, as the tests of a controller use it; prints one JSON object.
//
//	servers fieldmanager PROGRAM
//	servers kube-apiserver PROGRAM    the program of comparison/oracle/server
//	servers client-go
//	servers controller-runtime
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const (
	creates = 5_000
	servers = 100
)

// figures are in milliseconds and bytes; nil is what does not exist.
type figures struct {
	Start   float64  `json:"start"`
	Custom  *float64 `json:"custom"`
	Creates float64  `json:"creates"`
	Reset   float64  `json:"reset"`
	Memory  uint64   `json:"memory"`
}

func main() {
	var measured figures
	switch os.Args[1] {
	case "fieldmanager":
		measured = measureServers(startFieldmanager, os.Args[2], servers)
	case "kube-apiserver":
		// A hundred of them need 28 GB.
		measured = measureServers(startKubernetes, os.Args[2], 2)
	case "client-go":
		measured = measureFake(func() func(*corev1.ConfigMap) error {
			clientset := clientfake.NewClientset()
			return create(clientset)
		})
	case "controller-runtime":
		measured = measureFake(func() func(*corev1.ConfigMap) error {
			fake := controllerfake.NewClientBuilder().Build()
			return func(object *corev1.ConfigMap) error { return fake.Create(context.Background(), client.Object(object)) }
		})
	default:
		panic("unknown server " + os.Args[1])
	}
	must(json.NewEncoder(os.Stdout).Encode(measured))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func milliseconds(since time.Time) float64 {
	return float64(time.Since(since).Microseconds()) / 1e3
}

func create(clientset kubernetes.Interface) func(*corev1.ConfigMap) error {
	return func(object *corev1.ConfigMap) error {
		_, err := clientset.CoreV1().ConfigMaps("default").Create(context.Background(), object, metav1.CreateOptions{})
		return err
	}
}

func configMap(at int) *corev1.ConfigMap {
	name := metav1.ObjectMeta{Name: fmt.Sprintf("a-%d", at), Namespace: "default"}
	return &corev1.ConfigMap{ObjectMeta: name, Data: map[string]string{"color": "red"}}
}

// createAll returns the time of 5,000 creates.
func createAll(create func(*corev1.ConfigMap) error) float64 {
	began := time.Now()
	for at := range creates {
		must(create(configMap(at)))
	}
	return milliseconds(began)
}

// measureFake measures a fake, which serves no definitions, and whose reset is another one.
func measureFake(start func() func(*corev1.ConfigMap) error) (out figures) {
	began := time.Now()
	create := start()
	must(create(configMap(creates)))
	out.Start = milliseconds(began)
	out.Creates = createAll(create)
	began = time.Now()
	start()
	out.Reset = milliseconds(began)

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := make([]func(*corev1.ConfigMap) error, 0, servers)
	for range servers {
		kept = append(kept, start())
		must(kept[len(kept)-1](configMap(0)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	out.Memory = after.HeapAlloc - before.HeapAlloc
	return out
}
