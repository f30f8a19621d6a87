package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// process is a running server.
type process struct {
	config *rest.Config
	stop   func()
	reset  func(kubernetes.Interface)
	pid    int
}

func spawn(command *exec.Cmd) func() {
	must(command.Start())
	return func() {
		must(command.Process.Signal(syscall.SIGTERM))
		_ = command.Wait()
	}
}

func startFieldmanager(program string) process {
	command := exec.Command(program, "serve", "--test-api", "--no-token")
	output, err := command.StdoutPipe()
	must(err)
	stop := spawn(command)
	line, err := bufio.NewReader(output).ReadString('\n')
	must(err)
	url := strings.TrimPrefix(strings.Split(line, ";")[0], "serving ")
	ready(http.DefaultClient, url)
	reset := func(kubernetes.Interface) {
		answer, err := http.Post(url+"/test/reset", "application/json", nil)
		must(err)
		must(answer.Body.Close())
	}
	return process{&rest.Config{Host: url}, stop, reset, command.Process.Pid}
}

func startKubernetes(program string) process {
	folder, err := os.MkdirTemp("", "servers")
	must(err)
	port := 20_000 + rand.IntN(10_000)
	number := func(at int) string { return strconv.Itoa(port + at) }
	command := exec.Command(program, "-data", folder, "-port", number(0), "-etcd-client", number(1), "-etcd-peer", number(2))
	stop := spawn(command)
	tls := rest.TLSClientConfig{Insecure: true}
	config := &rest.Config{Host: "https://127.0.0.1:" + number(0), BearerToken: "secret", TLSClientConfig: tls}
	client, err := rest.HTTPClientFor(config)
	must(err)
	ready(client, config.Host)
	remove := func() {
		stop()
		must(os.RemoveAll(folder))
	}
	return process{config, remove, deleteAll, command.Process.Pid}
}

// deleteAll deletes what the test created. Without controllers, a deleted namespace keeps its objects.
func deleteAll(clientset kubernetes.Interface) {
	maps := clientset.CoreV1().ConfigMaps("default")
	must(maps.DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// ready waits until a server says that it is ready.
func ready(client *http.Client, url string) {
	for {
		if answer, err := client.Get(url + "/readyz"); err == nil {
			body, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if string(body) == "ok" {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}

func measureServers(start func(string) process, program string, count int) (out figures) {
	began := time.Now()
	server := start(program)
	out.Start = milliseconds(began)
	config := rest.CopyConfig(server.config)
	config.QPS = -1
	clientset, err := kubernetes.NewForConfig(config)
	must(err)
	custom := useDefinition(config)
	out.Custom = &custom
	out.Creates = createAll(create(clientset))
	began = time.Now()
	server.reset(clientset)
	out.Reset = milliseconds(began)
	server.stop()

	var all []process
	for range count {
		all = append(all, start(program))
	}
	for _, server := range all {
		out.Memory += proportional(server.pid) * servers / uint64(count)
	}
	for _, server := range all {
		server.stop()
	}
	return out
}

// useDefinition returns the time from the creation of a definition until an object of it exists.
func useDefinition(config *rest.Config) float64 {
	client, err := dynamic.NewForConfig(config)
	must(err)
	resource := func(group, plural string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
	}
	definition := &unstructured.Unstructured{}
	must(definition.UnmarshalJSON([]byte(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": {"name": "shops.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
		"names": {"plural": "shops", "kind": "Shop"}, "versions": [{"name": "v1", "served": true, "storage": true,
		"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties":
		{"size": {"type": "integer"}}}}}}}]}}`)))
	shop := &unstructured.Unstructured{}
	must(shop.UnmarshalJSON([]byte(`{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": {"size": 1}}`)))
	ctx := context.Background()
	began := time.Now()
	_, err = client.Resource(resource("apiextensions.k8s.io", "customresourcedefinitions")).Create(ctx, definition, metav1.CreateOptions{})
	must(err)
	shops := client.Resource(resource("example.com", "shops")).Namespace("default")
	for {
		if _, err := shops.Create(ctx, shop, metav1.CreateOptions{}); err == nil {
			return milliseconds(began)
		}
		time.Sleep(time.Millisecond)
	}
}

// proportional returns the memory of a process; what processes share is divided among them.
func proportional(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	must(err)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == "Pss:" {
			kib, err := strconv.ParseUint(fields[1], 10, 64)
			must(err)
			return kib << 10
		}
	}
	panic("no Pss")
}
