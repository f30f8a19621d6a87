// Records what Helm, Argo CD, Flux and kubectl send when they apply a configuration by server-side apply.
//
//	tools URL TOKEN OUT
//
// URL is a new API server. Each tool meets the same Deployment, which client-side apply has made and an autoscaler has scaled,
// and applies a configuration that no longer has all of its fields. The modules of the tools send the requests through a
// recorder. OUT gets a file of JSON for each case: the live object before, the configuration, the requests with the codes
// of the answers, and the live object after. ./scenarios.py makes scenario files of them.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const path = "/apis/apps/v1/namespaces/default/deployments"

// A request that a tool sent, and the code of the answer.
type request struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	Query       string `json:"query,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	Body        any    `json:"body,omitempty"`
	Code        int    `json:"code"`
	Message     string `json:"message,omitempty"`
}

// recorder passes requests on, and keeps those to the object.
type recorder struct {
	mutex sync.Mutex
	kept  []request
	proxy *httputil.ReverseProxy
	token string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	text, err := io.ReadAll(q.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	q.Body = io.NopCloser(bytes.NewReader(text))
	q.Header.Set("Authorization", "Bearer "+r.token)
	answer := httptest.NewRecorder()
	r.proxy.ServeHTTP(answer, q)
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes())
	if !strings.HasPrefix(q.URL.Path, path) {
		return
	}

	sent := request{Method: q.Method, Path: q.URL.Path, Query: q.URL.RawQuery, Code: answer.Code}
	if len(text) > 0 {
		sent.ContentType = q.Header.Get("Content-Type")
		if err := json.Unmarshal(text, &sent.Body); err != nil {
			sent.Body = string(text)
		}
	}
	if answer.Code >= 400 {
		status := struct{ Message string }{}
		if json.Unmarshal(answer.Body.Bytes(), &status) == nil {
			sent.Message = status.Message
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.kept = append(r.kept, sent)
}

// A cluster as a tool sees it.
type cluster struct {
	config     *rest.Config
	kubeconfig string
	recorder   *recorder
}

func newCluster(server, token, folder string) (*cluster, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	kept := &recorder{proxy: httputil.NewSingleHostReverseProxy(target), token: token}
	// Servers for tests sign their certificates themselves.
	kept.proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	listener := httptest.NewServer(kept)
	file := clientcmdapi.NewConfig()
	file.Clusters["a"] = &clientcmdapi.Cluster{Server: listener.URL}
	file.Contexts["a"] = &clientcmdapi.Context{Cluster: "a", AuthInfo: "a", Namespace: "default"}
	file.AuthInfos["a"] = &clientcmdapi.AuthInfo{}
	file.CurrentContext = "a"
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(*file, kubeconfig); err != nil {
		return nil, err
	}
	return &cluster{config: &rest.Config{Host: listener.URL}, kubeconfig: kubeconfig, recorder: kept}, nil
}

// send sends a request that is not a tool's.
func (c *cluster) send(method, target, contentType string, body any) (map[string]any, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequest(method, c.config.Host+target, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", contentType)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var object map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&object); err != nil {
		return nil, err
	}
	if answer.StatusCode >= 400 {
		return nil, fmt.Errorf("%s %s: %v", method, target, object["message"])
	}
	return object, nil
}

// A case: how the object was made, who then applies, and what it is called.
type toolCase struct {
	name, maker string
	apply       func(*cluster, *unstructured.Unstructured) error
}

func record(c *cluster, one toolCase, out string) error {
	defer c.send("DELETE", path+"/web?gracePeriodSeconds=0", "application/json", map[string]any{})
	c.recorder.kept = nil
	before, err := clientSide(c, one.maker)
	if err != nil {
		return err
	}
	setup := c.recorder.kept
	c.recorder.kept = nil
	failure := ""
	if err := one.apply(c, &unstructured.Unstructured{Object: newer(one.maker)}); err != nil {
		failure = err.Error()
	}
	sent := c.recorder.kept
	after, err := c.send("GET", path+"/web", "application/json", nil)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(map[string]any{
		"setup": setup, "before": before, "configuration": newer(one.maker), "requests": sent, "failure": failure, "after": after,
	}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, one.name+".json"), append(text, '\n'), 0o644)
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: tools URL TOKEN OUT")
		os.Exit(2)
	}
	folder, err := os.MkdirTemp("", "tools")
	if err == nil {
		defer os.RemoveAll(folder)
		err = run(os.Args[1], os.Args[2], os.Args[3], folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(server, token, out, folder string) error {
	c, err := newCluster(server, token, folder)
	if err != nil {
		return err
	}
	for _, one := range []toolCase{
		{"kubectl", "kubectl-client-side-apply", kubectl(false)},
		{"kubectl-forced", "kubectl-client-side-apply", kubectl(true)},
		{"helm", "helm", helm(false)},
		{"helm-forced", "helm", helm(true)},
		{"flux", "kubectl-client-side-apply", flux},
		{"argocd", "kubectl-client-side-apply", argocd},
	} {
		if err := record(c, one, out); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// web is a configuration.
func web(labels map[string]any, replicas int64, image string, env []any, maker string) map[string]any {
	metadata := map[string]any{"name": "web", "namespace": "default", "labels": labels}
	if maker == "helm" {
		// Without these, Helm does not take an object for its own.
		metadata["annotations"] = map[string]any{
			"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "default",
		}
		labels["app.kubernetes.io/managed-by"] = "Helm"
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
		"spec": map[string]any{
			"replicas": replicas,
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
				"spec": map[string]any{"containers": []any{
					map[string]any{"name": "nginx", "image": image, "env": env},
				}},
			},
		},
	}
}

func older(maker string) map[string]any {
	env := []any{map[string]any{"name": "DEBUG", "value": "1"}}
	return web(map[string]any{"app": "web", "team": "old"}, 3, "nginx:1.28", env, maker)
}

func newer(maker string) map[string]any {
	return web(map[string]any{"app": "web"}, 4, "nginx:1.29", []any{}, maker)
}

// clientSide makes the object as `kubectl apply` or Helm 3 does, and scales it as an autoscaler does.
func clientSide(c *cluster, maker string) (map[string]any, error) {
	object := older(maker)
	if maker != "helm" {
		last, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		object["metadata"].(map[string]any)["annotations"] = map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": string(last) + "\n",
		}
	}
	if _, err := c.send("POST", path+"?fieldManager="+maker, "application/json", object); err != nil {
		return nil, err
	}
	scale := map[string]any{"spec": map[string]any{"replicas": 7}}
	target := path + "/web/scale?fieldManager=kube-controller-manager"
	if _, err := c.send("PATCH", target, "application/merge-patch+json", scale); err != nil {
		return nil, err
	}
	return c.send("GET", path+"/web", "application/json", nil)
}

var background = context.Background()
