package clients

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// newEnvironment starts the programs of KUBEBUILDER_ASSETS, and stops them at the end of the test.
func newEnvironment(t *testing.T, environment *envtest.Environment) kubernetes.Interface {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set")
	}
	began := time.Now()
	config, err := environment.Start()
	must(t, err)
	t.Logf("started in %v", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() {
		began := time.Now()
		must(t, environment.Stop())
		t.Logf("stopped in %v", time.Since(began).Round(time.Millisecond))
	})
	clients, err := kubernetes.NewForConfig(config)
	must(t, err)
	return clients
}

func TestEnvtestInstallsDefinitions(t *testing.T) {
	environment := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("..", "crd.yaml")}, ErrorIfCRDPathMissing: true}
	clients := newEnvironment(t, environment)
	version, err := clients.Discovery().ServerVersion()
	must(t, err)
	if !strings.HasSuffix(version.GitVersion, "+fieldmanager") {
		t.Errorf("the programs are not those of fieldmanager: %s", version.GitVersion)
	}

	reader, err := client.New(environment.Config, client.Options{})
	must(t, err)
	definition := environment.CRDs[0]
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(definition.Spec.Group + "/" + definition.Spec.Versions[0].Name)
	list.SetKind(definition.Spec.Names.ListKind)
	must(t, reader.List(context.Background(), list))
}

func TestEnvtestInstallsWebhooks(t *testing.T) {
	fail, effects, path := registration.Fail, registration.SideEffectClassNone, "/config-maps"
	rule := registration.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}
	configuration := &registration.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "config-maps.example.com"},
		Webhooks: []registration.ValidatingWebhook{{
			Name: "config-maps.example.com",
			ClientConfig: registration.WebhookClientConfig{
				Service: &registration.ServiceReference{Name: "hooks", Namespace: "default", Path: &path},
			},
			FailurePolicy:           &fail,
			SideEffects:             &effects,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []registration.RuleWithOperations{{
				Operations: []registration.OperationType{registration.Create}, Rule: rule,
			}},
		}},
	}
	options := envtest.WebhookInstallOptions{ValidatingWebhooks: []*registration.ValidatingWebhookConfiguration{configuration}}
	environment := &envtest.Environment{WebhookInstallOptions: options}
	clients := newEnvironment(t, environment)

	installed := environment.WebhookInstallOptions
	server := webhook.NewServer(webhook.Options{
		Host: installed.LocalServingHost, Port: installed.LocalServingPort, CertDir: installed.LocalServingCertDir,
	})
	server.Register(path, &webhook.Admission{Handler: admission.HandlerFunc(refuseLarge)})
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	go func() { _ = server.Start(ctx) }()
	eventually(t, "the webhook listens", func() bool {
		address := net.JoinHostPort(installed.LocalServingHost, strconv.Itoa(installed.LocalServingPort))
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})

	large := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "large"},
		Data:       map[string]string{"field-a": "1", "field-b": "2"},
	}
	_, err := clients.CoreV1().ConfigMaps("default").Create(ctx, large, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "it has too many fields") {
		t.Errorf("the webhook did not refuse it: %v", err)
	}
	small := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Data: map[string]string{"field-a": "1"}}
	_, err = clients.CoreV1().ConfigMaps("default").Create(ctx, small, metav1.CreateOptions{})
	must(t, err)
}

func TestEnvtestHasUsersByCertificate(t *testing.T) {
	environment := &envtest.Environment{}
	newEnvironment(t, environment)
	ctx := context.Background()
	for name, groups := range map[string][]string{"alice": {"system:masters"}, "mallory": nil} {
		user, err := environment.AddUser(envtest.User{Name: name, Groups: groups}, nil)
		must(t, err)
		clients, err := kubernetes.NewForConfig(user.Config())
		must(t, err)
		_, err = clients.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{})
		if isAllowed := err == nil; isAllowed != (groups != nil) || !isAllowed && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEnvtestRestartsTheAPIServer(t *testing.T) {
	environment := &envtest.Environment{}
	clients := newEnvironment(t, environment)
	ctx := context.Background()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	_, err := clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	must(t, err)

	server := environment.ControlPlane.GetAPIServer()
	must(t, server.Stop())
	must(t, environment.ControlPlane.APIServer.Start())
	user, err := environment.AddUser(envtest.User{Name: "alice", Groups: []string{"system:masters"}}, nil)
	must(t, err)
	clients, err = kubernetes.NewForConfig(user.Config())
	must(t, err)
	_, err = clients.CoreV1().Namespaces().Get(ctx, "kept", metav1.GetOptions{})
	must(t, err)
}
