// Package conversion asks a server for CronJobs of kubebuilder's multiversion tutorial at both versions, through the
// webhooks of that project. The project has no suite of its own that converts; `others` copies this one into it.
package conversion

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	kbatch "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	batchv1 "tutorial.kubebuilder.io/project/api/v1"
	batchv2 "tutorial.kubebuilder.io/project/api/v2"
	hooksv1 "tutorial.kubebuilder.io/project/internal/webhook/v1"
	hooksv2 "tutorial.kubebuilder.io/project/internal/webhook/v2"
)

const (
	apiVersionOfV1 = "batch.tutorial.kubebuilder.io/v1"
	apiVersionOfV2 = "batch.tutorial.kubebuilder.io/v2"
	namespace      = "default"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually asks until the condition holds, since the webhooks of a manager need time to start.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	end := time.Now().Add(100 * time.Second)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// newClient starts the programs of KUBEBUILDER_ASSETS and the project's manager with the webhooks of both versions.
func newClient(t *testing.T) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, batchv1.AddToScheme(scheme))
	must(t, batchv2.AddToScheme(scheme))
	must(t, corev1.AddToScheme(scheme))
	config := filepath.Join("..", "..", "config")
	environment := &envtest.Environment{
		Scheme:                scheme,
		CRDDirectoryPaths:     []string{filepath.Join(config, "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{filepath.Join(config, "webhook")}},
	}
	rest, err := environment.Start()
	must(t, err)
	t.Cleanup(func() { must(t, environment.Stop()) })

	hooks := &environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme: scheme,
		WebhookServer: webhook.NewServer(webhook.Options{
			Host:    hooks.LocalServingHost,
			Port:    hooks.LocalServingPort,
			CertDir: hooks.LocalServingCertDir,
		}),
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	must(t, err)
	must(t, hooksv1.SetupCronJobWebhookWithManager(manager))
	must(t, hooksv2.SetupCronJobWebhookWithManager(manager))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-ended)
	})

	objects, err := client.NewWithWatch(rest, client.Options{Scheme: scheme})
	must(t, err)
	return objects
}

func template() kbatch.JobTemplateSpec {
	containers := []corev1.Container{{Name: "report", Image: "example.com/report:1"}}
	return kbatch.JobTemplateSpec{Spec: kbatch.JobSpec{Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: containers, RestartPolicy: corev1.RestartPolicyNever},
	}}}
}

// create creates a CronJob at v1; the first request waits for the webhooks.
func create(t *testing.T, objects client.Client, name, schedule string) {
	t.Helper()
	eventually(t, func() error {
		return objects.Create(context.Background(), &batchv1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Spec:       batchv1.CronJobSpec{Schedule: schedule, JobTemplate: template()},
		})
	})
}

func key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func field(text string) *batchv2.CronField {
	value := batchv2.CronField(text)
	return &value
}

// configuration is what a manager applies at v2: the minute of the schedule.
func configuration(name, minute string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersionOfV2,
		"kind":       "CronJob",
		"metadata":   map[string]any{"name": name, "namespace": namespace},
		"spec":       map[string]any{"schedule": map[string]any{"minute": minute}},
	}}
}

func TestVersions(t *testing.T) {
	ctx := context.Background()
	objects := newClient(t)
	create(t, objects, "nightly", "5 3 * * *")

	t.Run("a get at v2 converts what was created at v1", func(t *testing.T) {
		var read batchv2.CronJob
		must(t, objects.Get(ctx, key("nightly"), &read))
		schedule := read.Spec.Schedule
		if *schedule.Minute != "5" || *schedule.Hour != "3" || schedule.Month != nil {
			t.Errorf("schedule: %+v", schedule)
		}
		// The webhook of v1 wrote its defaults before the object was stored.
		if read.Spec.ConcurrencyPolicy != batchv2.AllowConcurrent || *read.Spec.SuccessfulJobsHistoryLimit != 3 {
			t.Errorf("defaults: %+v", read.Spec)
		}
	})

	t.Run("an update at v2 is seen at v1", func(t *testing.T) {
		must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			var read batchv2.CronJob
			if err := objects.Get(ctx, key("nightly"), &read); err != nil {
				return err
			}
			read.Spec.Schedule.Hour = field("4")
			return objects.Update(ctx, &read)
		}))
		var read batchv1.CronJob
		must(t, objects.Get(ctx, key("nightly"), &read))
		if read.Spec.Schedule != "5 4 * * *" {
			t.Errorf("schedule: %q", read.Spec.Schedule)
		}
	})

	t.Run("a patch at v1 is seen at v2", func(t *testing.T) {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"schedule":"6 4 * * 1"}}`))
		must(t, objects.Patch(ctx, &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: namespace}}, patch))
		var read batchv2.CronJob
		must(t, objects.Get(ctx, key("nightly"), &read))
		if *read.Spec.Schedule.Minute != "6" || *read.Spec.Schedule.DayOfWeek != "1" {
			t.Errorf("schedule: %+v", read.Spec.Schedule)
		}
	})

	t.Run("a status at v2 is seen at v1", func(t *testing.T) {
		var read batchv2.CronJob
		must(t, objects.Get(ctx, key("nightly"), &read))
		read.Status.LastScheduleTime = &metav1.Time{Time: time.Unix(1700000000, 0)}
		must(t, objects.Status().Update(ctx, &read))
		var old batchv1.CronJob
		must(t, objects.Get(ctx, key("nightly"), &old))
		if old.Status.LastScheduleTime == nil || old.Status.LastScheduleTime.Unix() != 1700000000 {
			t.Errorf("status: %+v", old.Status)
		}
	})
}

func TestListsAndWatches(t *testing.T) {
	ctx := context.Background()
	objects := newClient(t)
	create(t, objects, "first", "1 1 * * *")

	var list batchv2.CronJobList
	must(t, objects.List(ctx, &list, client.InNamespace(namespace)))
	watch, err := objects.Watch(ctx, &batchv2.CronJobList{}, &client.ListOptions{
		Namespace: namespace,
		Raw:       &metav1.ListOptions{ResourceVersion: list.ResourceVersion},
	})
	must(t, err)
	defer watch.Stop()

	create(t, objects, "second", "2 2 * * *")
	must(t, objects.List(ctx, &list, client.InNamespace(namespace)))
	var minutes []string
	for _, item := range list.Items {
		minutes = append(minutes, string(*item.Spec.Schedule.Minute))
	}
	if !slices.Equal(minutes, []string{"1", "2"}) {
		t.Errorf("minutes of the list: %v", minutes)
	}

	event, open := <-watch.ResultChan()
	added, isCronJob := event.Object.(*batchv2.CronJob)
	if !open || !isCronJob || added.Name != "second" || *added.Spec.Schedule.Minute != "2" {
		t.Errorf("event: %+v", event)
	}
}

func TestManagersOfTwoVersions(t *testing.T) {
	ctx := context.Background()
	objects := newClient(t)
	create(t, objects, "shared", "1 1 * * *")
	apply := func(minute, manager string, options ...client.ApplyOption) error {
		options = append(options, client.FieldOwner(manager))
		return objects.Apply(ctx, client.ApplyConfigurationFromUnstructured(configuration("shared", minute)), options...)
	}

	// Who created the object owns the text of the schedule at v1, and another minute changes that text.
	if err := apply("7", "minutes"); !apierrors.IsConflict(err) {
		t.Errorf("a minute of a schedule that v1 owns: %v", err)
	}
	must(t, apply("7", "minutes", client.ForceOwnership))
	var read batchv1.CronJob
	must(t, objects.Get(ctx, key("shared"), &read))
	if read.Spec.Schedule != "7 1 * * *" {
		t.Errorf("schedule: %q", read.Spec.Schedule)
	}
	var versions []string
	for _, entry := range read.ManagedFields {
		if entry.Operation == metav1.ManagedFieldsOperationApply {
			versions = append(versions, entry.Manager+" "+entry.APIVersion)
		}
	}
	if !slices.Equal(versions, []string{"minutes " + apiVersionOfV2}) {
		t.Errorf("appliers: %v", versions)
	}

	if err := apply("8", "others"); !apierrors.IsConflict(err) {
		t.Errorf("a second manager of the minute: %v", err)
	}
	must(t, apply("8", "others", client.ForceOwnership))
	must(t, objects.Get(ctx, key("shared"), &read))
	if read.Spec.Schedule != "8 1 * * *" || read.APIVersion != "" && read.APIVersion != apiVersionOfV1 {
		t.Errorf("read: %q at %q", read.Spec.Schedule, read.APIVersion)
	}
}
