package clients

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var definitionFile = filepath.Join("..", "crd.yaml")

func init() {
	log.SetLogger(zap.New())
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
}

// createDefinition installs the definition of CronTab as envtest does, and waits until it is served.
func createDefinition(ctx context.Context, t *testing.T) schema.GroupVersionResource {
	t.Helper()
	options := envtest.CRDInstallOptions{Paths: []string{definitionFile}, ErrorIfPathMissing: true, MaxTime: 10 * time.Second}
	definitions, err := envtest.InstallCRDs(config, options)
	must(t, err)
	must(t, envtest.WaitForCRDs(config, definitions, options))
	return schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}
}

func newCronTab(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec":     map[string]any{"schedule": "0 3 * * *", "image": "cron:1"},
	}}
}

const finalizer = "example.com/cleanup"

// reconciler applies a Deployment for each CronTab, and writes its status.
type reconciler struct {
	client.Client
	cleaned chan string
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	crontab := newCronTab("", "")
	if err := r.Get(ctx, request.NamespacedName, crontab); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if crontab.GetDeletionTimestamp() != nil {
		if controllerutil.RemoveFinalizer(crontab, finalizer) {
			r.cleaned <- crontab.GetName()
			return ctrl.Result{}, r.Update(ctx, crontab)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(crontab, finalizer) {
		return ctrl.Result{}, r.Update(ctx, crontab)
	}
	image, _, _ := unstructured.NestedString(crontab.Object, "spec", "image")
	labels := map[string]string{"crontab": crontab.GetName()}
	child := appsapply.Deployment(crontab.GetName(), crontab.GetNamespace()).
		WithOwnerReferences(metaapply.OwnerReference().
			WithAPIVersion(crontab.GetAPIVersion()).WithKind(crontab.GetKind()).
			WithName(crontab.GetName()).WithUID(crontab.GetUID()).WithController(true).WithBlockOwnerDeletion(true)).
		WithSpec(appsapply.DeploymentSpec().
			WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(coreapply.PodTemplateSpec().WithLabels(labels).
				WithSpec(coreapply.PodSpec().WithContainers(coreapply.Container().WithName("cron").WithImage(image)))))
	if err := r.Apply(ctx, child, client.FieldOwner("crontab-controller"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	before := crontab.DeepCopy()
	if err := unstructured.SetNestedField(crontab.Object, true, "status", "ready"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Patch(ctx, crontab, client.MergeFrom(before))
}

func TestManagerReconcilesOwnedObjects(t *testing.T) {
	ctx, namespace := newNamespace(t)
	createDefinition(ctx, t)
	skip := true
	options := ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	}
	options.Controller.SkipNameValidation = &skip
	manager, err := ctrl.NewManager(config, options)
	must(t, err)
	r := &reconciler{Client: manager.GetClient(), cleaned: make(chan string, 10)}
	must(t, ctrl.NewControllerManagedBy(manager).For(newCronTab("", "")).Owns(&appsv1.Deployment{}).Complete(r))
	running, stop := context.WithCancel(ctx)
	finished := make(chan error)
	go func() { finished <- manager.Start(running) }()

	direct, err := client.New(config, client.Options{})
	must(t, err)
	must(t, direct.Create(ctx, newCronTab(namespace, "nightly")))
	key := client.ObjectKey{Namespace: namespace, Name: "nightly"}
	image := func() string {
		deployment := &appsv1.Deployment{}
		if err := direct.Get(ctx, key, deployment); err != nil {
			return ""
		}
		return deployment.Spec.Template.Spec.Containers[0].Image
	}
	crontab := newCronTab(namespace, "nightly")
	eventually(t, "the Deployment is applied", func() bool { return image() == "cron:1" })
	eventually(t, "the status is written", func() bool {
		must(t, direct.Get(ctx, key, crontab))
		ready, _, _ := unstructured.NestedBool(crontab.Object, "status", "ready")
		return ready
	})

	// The controller repairs its Deployment, and follows its CronTab.
	deployment := &appsv1.Deployment{}
	must(t, direct.Get(ctx, key, deployment))
	deployment.Spec.Template.Spec.Containers[0].Image = "other:1"
	must(t, direct.Update(ctx, deployment))
	eventually(t, "the Deployment is repaired", func() bool { return image() == "cron:1" })
	must(t, direct.Patch(ctx, crontab, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"image":"cron:2"}}`))))
	eventually(t, "the Deployment is updated", func() bool { return image() == "cron:2" })

	must(t, direct.Delete(ctx, crontab))
	if name := <-r.cleaned; name != "nightly" {
		t.Errorf("finalized: %s", name)
	}
	eventually(t, "the CronTab is deleted", func() bool { return apierrors.IsNotFound(direct.Get(ctx, key, crontab)) })
	eventually(t, "the Deployment is collected", func() bool { return apierrors.IsNotFound(direct.Get(ctx, key, deployment)) })
	stop()
	must(t, <-finished)
}

func TestControllerRuntimeClientReadsAndWrites(t *testing.T) {
	ctx, namespace := newNamespace(t)
	direct, err := client.New(config, client.Options{})
	must(t, err)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	must(t, direct.Create(ctx, service))
	if service.Spec.ClusterIP == "" || service.Spec.Ports[0].Protocol != corev1.ProtocolTCP {
		t.Errorf("no defaults: %+v", service.Spec)
	}
	before := service.DeepCopy()
	service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: "metrics", Port: 81})
	service.Spec.Ports[0].Name = "web"
	must(t, direct.Patch(ctx, service, client.StrategicMergeFrom(before)))
	if len(service.Spec.Ports) != 2 {
		t.Errorf("ports: %+v", service.Spec.Ports)
	}
	stale := before.DeepCopy()
	stale.Labels = map[string]string{"a": "b"}
	err = direct.Patch(ctx, stale, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if !apierrors.IsConflict(err) {
		t.Errorf("patch of an old version: %v", err)
	}
	services := &corev1.ServiceList{}
	must(t, direct.List(ctx, services, client.InNamespace(namespace), client.MatchingFields{"metadata.name": "web"}))
	if len(services.Items) != 1 {
		t.Errorf("list: %+v", services.Items)
	}
	dry := service.DeepCopy()
	dry.Labels = map[string]string{"dry": "run"}
	must(t, direct.Update(ctx, dry, client.DryRunAll))
	must(t, direct.Get(ctx, client.ObjectKeyFromObject(service), service))
	if len(service.Labels) != 0 {
		t.Errorf("a dry run was stored: %v", service.Labels)
	}
	must(t, direct.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace)))
}

func TestEnvtestUsesTheServerAsAnExistingCluster(t *testing.T) {
	existing := true
	environment := &envtest.Environment{
		Config:                config,
		UseExistingCluster:    &existing,
		CRDDirectoryPaths:     []string{definitionFile},
		ErrorIfCRDPathMissing: true,
	}
	started, err := environment.Start()
	must(t, err)
	direct, err := client.New(started, client.Options{})
	must(t, err)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	must(t, direct.Get(context.Background(), client.ObjectKey{Name: "crontabs.stable.example.com"}, definition))
	must(t, environment.Stop())
}
