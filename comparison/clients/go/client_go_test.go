package clients

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func newDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1"}}},
			},
		},
	}
}

func TestTheServerKnowsTheUser(t *testing.T) {
	review, err := clientset.AuthenticationV1().SelfSubjectReviews().Create(
		context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must(t, err)
	expected := os.Getenv("EXPECTED_USER")
	if expected == "" {
		expected = "admin"
	}
	if name := review.Status.UserInfo.Username; name != expected {
		t.Fatalf("the user is %q, expected %q", name, expected)
	}
}

func TestTypedClientCreatesUpdatesPatchesAndDeletes(t *testing.T) {
	ctx, namespace := newNamespace(t)
	deployments := clientset.AppsV1().Deployments(namespace)
	created, err := deployments.Create(ctx, newDeployment("web"), metav1.CreateOptions{})
	must(t, err)
	if created.Spec.Replicas == nil || *created.Spec.Replicas != 1 || created.Generation != 1 {
		t.Errorf("no defaults: %+v", created)
	}
	first := created.DeepCopy()
	created.Spec.Template.Spec.Containers[0].Image = "nginx:2"
	updated, err := deployments.Update(ctx, created, metav1.UpdateOptions{})
	must(t, err)
	if updated.Generation != 2 {
		t.Errorf("generation %d, want 2", updated.Generation)
	}
	if _, err = deployments.Update(ctx, first, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update of an old version: %v", err)
	}
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}`)
	patched, err := deployments.Patch(ctx, "web", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
	if len(patched.Spec.Template.Spec.Containers) != 2 {
		t.Errorf("containers: %v", patched.Spec.Template.Spec.Containers)
	}
	patched.Status.Replicas = 1
	status, err := deployments.UpdateStatus(ctx, patched, metav1.UpdateOptions{})
	must(t, err)
	if status.Status.Replicas != 1 || status.Generation != patched.Generation {
		t.Errorf("status: %+v", status.Status)
	}
	scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
	must(t, err)
	scale.Spec.Replicas = 5
	scale, err = deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{})
	must(t, err)
	if scale.Spec.Replicas != 5 || scale.Status.Selector != "app=web" {
		t.Errorf("scale: %+v", scale)
	}
	policy := metav1.DeletePropagationBackground
	uid := types.UID("another")
	options := metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}}
	if err = deployments.Delete(ctx, "web", options); !apierrors.IsConflict(err) {
		t.Errorf("delete of another uid: %v", err)
	}
	must(t, deployments.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &policy}))
	if _, err = deployments.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get of a deleted object: %v", err)
	}
}

func TestTypedClientWritesEveryKindOfField(t *testing.T) {
	ctx, namespace := newNamespace(t)
	grace, port := int64(7), int32(80)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-", Annotations: map[string]string{"a": "ä"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "web", Image: "nginx:1",
				Ports: []corev1.ContainerPort{{ContainerPort: port, Protocol: corev1.ProtocolUDP}},
				Env:   []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: ""}},
			}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	created, err := clientset.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	must(t, err)
	if !strings.HasPrefix(created.Name, "pod-") || created.Annotations["a"] != "ä" {
		t.Errorf("metadata: %+v", created.ObjectMeta)
	}
	if got := created.Spec.Containers[0].Ports[0]; got.Protocol != corev1.ProtocolUDP || got.ContainerPort != 80 {
		t.Errorf("port: %+v", got)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bytes"},
		Data:       map[string][]byte{"raw": {0, 1, 255}},
		StringData: map[string]string{"text": "value"},
	}
	stored, err := clientset.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
	must(t, err)
	if string(stored.Data["raw"]) != "\x00\x01\xff" || string(stored.Data["text"]) != "value" {
		t.Errorf("data: %v", stored.Data)
	}
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "event"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: created.Name, Namespace: namespace, UID: created.UID},
		Reason:         "Tested", Message: "m", Type: corev1.EventTypeNormal,
		EventTime:           metav1.NewMicroTime(time.Now().Truncate(time.Microsecond)),
		ReportingController: "example.com/test", ReportingInstance: "one", Action: "Test",
	}
	_, err = clientset.CoreV1().Events(namespace).Create(ctx, event, metav1.CreateOptions{})
	must(t, err)
	list, err := clientset.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + created.Name,
	})
	must(t, err)
	if len(list.Items) != 1 || !list.Items[0].EventTime.Equal(&event.EventTime) {
		t.Errorf("events: %+v", list.Items)
	}
}

func TestApplyConfigurationsAreExtractedAndAppliedAgain(t *testing.T) {
	ctx, namespace := newNamespace(t)
	deployments := clientset.AppsV1().Deployments(namespace)
	labels := map[string]string{"app": "web"}
	configuration := appsapply.Deployment("web", namespace).WithSpec(appsapply.DeploymentSpec().
		WithReplicas(2).
		WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(coreapply.PodTemplateSpec().WithLabels(labels).
			WithSpec(coreapply.PodSpec().WithContainers(coreapply.Container().WithName("web").WithImage("nginx:1")))))
	applied, err := deployments.Apply(ctx, configuration, metav1.ApplyOptions{FieldManager: "alice"})
	must(t, err)

	_, err = deployments.Apply(ctx, appsapply.Deployment("web", namespace).
		WithSpec(appsapply.DeploymentSpec().WithReplicas(3)), metav1.ApplyOptions{FieldManager: "bob"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.replicas") {
		t.Fatalf("apply of a field of alice: %v", err)
	}
	_, err = deployments.Apply(ctx, appsapply.Deployment("web", namespace).
		WithSpec(appsapply.DeploymentSpec().WithReplicas(3)), metav1.ApplyOptions{FieldManager: "bob", Force: true})
	must(t, err)

	live, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	must(t, err)
	extracted, err := appsapply.ExtractDeployment(live, "alice")
	must(t, err)
	if extracted.Spec.Replicas != nil {
		t.Error("alice has lost replicas, but they are extracted")
	}
	if got := *extracted.Spec.Template.Spec.Containers[0].Image; got != "nginx:1" {
		t.Errorf("extracted image: %s", got)
	}
	again, err := deployments.Apply(ctx, extracted, metav1.ApplyOptions{FieldManager: "alice"})
	must(t, err)
	if again.ResourceVersion != live.ResourceVersion || again.ResourceVersion == applied.ResourceVersion {
		t.Errorf("apply without a change: version %s became %s", live.ResourceVersion, again.ResourceVersion)
	}

	bob, err := appsapply.ExtractDeployment(again, "bob")
	must(t, err)
	bob.Spec.Replicas = nil
	given, err := deployments.Apply(ctx, bob, metav1.ApplyOptions{FieldManager: "bob"})
	must(t, err)
	if *given.Spec.Replicas != 1 {
		t.Errorf("replicas without an owner: %d, want the default", *given.Spec.Replicas)
	}
	_, err = deployments.ApplyStatus(ctx, appsapply.Deployment("web", namespace).
		WithStatus(appsapply.DeploymentStatus().WithReplicas(1)), metav1.ApplyOptions{FieldManager: "controller"})
	must(t, err)
}

func TestDynamicClientWorksOnBuiltinKinds(t *testing.T) {
	ctx, namespace := newNamespace(t)
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "web"}, "data": map[string]any{"color": "red"},
	}}
	applied, err := client.Resource(configMaps).Namespace(namespace).
		Apply(ctx, "web", object, metav1.ApplyOptions{FieldManager: "alice"})
	must(t, err)
	if applied.GetManagedFields()[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("entries: %v", applied.GetManagedFields())
	}
	patched, err := client.Resource(configMaps).Namespace(namespace).Patch(ctx, "web", types.JSONPatchType,
		[]byte(`[{"op":"add","path":"/data/size","value":"xl"}]`), metav1.PatchOptions{})
	must(t, err)
	if got, _, _ := unstructured.NestedString(patched.Object, "data", "size"); got != "xl" {
		t.Errorf("data: %v", patched.Object["data"])
	}
	err = client.Resource(configMaps).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	must(t, err)
	list, err := client.Resource(configMaps).Namespace(namespace).List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 0 {
		t.Errorf("left: %v", list.Items)
	}
}

func TestMetadataClientReadsAndPatchesMetadata(t *testing.T) {
	ctx, namespace := newNamespace(t)
	client, err := metadata.NewForConfig(config)
	must(t, err)
	_, err = clientset.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "b"}}, Data: map[string]string{"k": "v"},
	}, metav1.CreateOptions{})
	must(t, err)
	got, err := client.Resource(configMaps).Namespace(namespace).Get(ctx, "web", metav1.GetOptions{})
	must(t, err)
	if got.UID == "" || got.Labels["a"] != "b" {
		t.Errorf("metadata: %+v", got)
	}
	patched, err := client.Resource(configMaps).Namespace(namespace).Patch(ctx, "web", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":null,"c":"d"}}}`), metav1.PatchOptions{})
	must(t, err)
	if len(patched.Labels) != 1 || patched.Labels["c"] != "d" {
		t.Errorf("labels: %v", patched.Labels)
	}
	list, err := client.Resource(configMaps).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: "c=d"})
	must(t, err)
	if len(list.Items) != 1 {
		t.Errorf("list: %+v", list)
	}
	stream, err := client.Resource(configMaps).Namespace(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	must(t, err)
	defer stream.Stop()
	must(t, client.Resource(configMaps).Namespace(namespace).Delete(ctx, "web", metav1.DeleteOptions{}))
	event := <-stream.ResultChan()
	if object, ok := event.Object.(*metav1.PartialObjectMetadata); event.Type != watch.Deleted || !ok || object.Name != "web" {
		t.Errorf("event: %+v", event)
	}
}

// events collects what an informer reports.
type events struct {
	lock sync.Mutex
	seen []string
}

func (e *events) add(text string) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.seen = append(e.seen, text)
}

func (e *events) has(text string) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	for _, seen := range e.seen {
		if seen == text {
			return true
		}
	}
	return false
}

func (e *events) handler() cache.ResourceEventHandler {
	name := func(object any) string {
		key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
		return key[strings.Index(key, "/")+1:]
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { e.add("add " + name(object)) },
		UpdateFunc: func(_, object any) { e.add("update " + name(object)) },
		DeleteFunc: func(object any) { e.add("delete " + name(object)) },
	}
}

func TestSharedInformersFollowTypedKinds(t *testing.T) {
	ctx, namespace := newNamespace(t)
	maps := clientset.CoreV1().ConfigMaps(namespace)
	create := func(name string) *corev1.ConfigMap {
		object, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		must(t, err)
		return object
	}
	create("before")
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps()
	var seen events
	_, err := informer.Informer().AddEventHandler(seen.handler())
	must(t, err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if got, err := informer.Lister().ConfigMaps(namespace).List(labels.Everything()); err != nil || len(got) != 1 {
		t.Errorf("synced list: %v, %v", got, err)
	}
	after := create("after")
	after.Data = map[string]string{"a": "b"}
	_, err = maps.Update(ctx, after, metav1.UpdateOptions{})
	must(t, err)
	must(t, maps.Delete(ctx, "before", metav1.DeleteOptions{}))
	for _, event := range []string{"add before", "add after", "update after", "delete before"} {
		eventually(t, event, func() bool { return seen.has(event) })
	}
}

func TestDynamicInformersFollowCustomKinds(t *testing.T) {
	ctx, namespace := newNamespace(t)
	crontabs := createDefinition(ctx, t)
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	var seen events
	_, err = factory.ForResource(crontabs).Informer().AddEventHandler(seen.handler())
	must(t, err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": map[string]any{"name": "nightly"}, "spec": map[string]any{"schedule": "0 3 * * *"},
	}}
	created, err := client.Resource(crontabs).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{})
	must(t, err)
	must(t, unstructured.SetNestedField(created.Object, true, "status", "ready"))
	_, err = client.Resource(crontabs).Namespace(namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{})
	must(t, err)
	must(t, client.Resource(crontabs).Namespace(namespace).Delete(ctx, "nightly", metav1.DeleteOptions{}))
	for _, event := range []string{"add nightly", "update nightly", "delete nightly"} {
		eventually(t, event, func() bool { return seen.has(event) })
	}
}

func TestLeaderElectionPassesTheLeaseOn(t *testing.T) {
	ctx, namespace := newNamespace(t)
	started := make(chan string, 2)
	elect := func(ctx context.Context, identity string) {
		lock := &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: namespace},
			Client:     clientset.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, ReleaseOnCancel: true,
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { started <- identity },
				OnStoppedLeading: func() {},
			},
		})
	}
	first, stop := context.WithCancel(ctx)
	go elect(first, "one")
	if leader := <-started; leader != "one" {
		t.Errorf("the first leader is %s", leader)
	}
	second, stopSecond := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() {
		elect(second, "two")
		close(finished)
	}()
	stop()
	select {
	case leader := <-started:
		if leader != "two" {
			t.Errorf("the second leader is %s", leader)
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody takes the lease")
	}
	stopSecond()
	<-finished
}

func TestPagesOfOneListAreOneSnapshot(t *testing.T) {
	ctx, namespace := newNamespace(t)
	maps := clientset.CoreV1().ConfigMaps(namespace)
	for number := range 5 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("page-%d", number)}}
		_, err := maps.Create(ctx, object, metav1.CreateOptions{})
		must(t, err)
	}
	first, err := maps.List(ctx, metav1.ListOptions{Limit: 2})
	must(t, err)
	must(t, maps.Delete(ctx, "page-4", metav1.DeleteOptions{}))
	rest, err := maps.List(ctx, metav1.ListOptions{Limit: 10, Continue: first.Continue})
	must(t, err)
	if len(first.Items) != 2 || len(rest.Items) != 3 || rest.ResourceVersion != first.ResourceVersion {
		t.Errorf("pages of %d and %d at %s and %s", len(first.Items), len(rest.Items), first.ResourceVersion, rest.ResourceVersion)
	}
	future, err := strconv.ParseUint(first.ResourceVersion, 10, 64)
	must(t, err)
	_, err = maps.List(ctx, metav1.ListOptions{ResourceVersion: strconv.FormatUint(future+1_000_000, 10)})
	if !apierrors.IsTimeout(err) {
		t.Errorf("list at a future version: %v", err)
	}
}

// The server of KUBECONFIG_SHORT_HISTORY keeps few changes, so that a few writes end the history of a watch.
func TestInformersListAgainAfterTheHistoryEnds(t *testing.T) {
	path := os.Getenv("KUBECONFIG_SHORT_HISTORY")
	if path == "" {
		t.Skip("KUBECONFIG_SHORT_HISTORY is not set")
	}
	short, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)
	short.QPS = -1
	client, err := kubernetes.NewForConfig(short)
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	namespace := fmt.Sprintf("short-%08x", rand.Uint32())
	_, err = client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(t, err)
	maps := client.CoreV1().ConfigMaps(namespace)
	first, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "second"}}, metav1.CreateOptions{})
	must(t, err)
	page, err := maps.List(ctx, metav1.ListOptions{Limit: 1})
	must(t, err)

	// An informer whose connection is cut while the history ends.
	var seen events
	var cut atomic.Bool
	list := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return maps.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if cut.CompareAndSwap(false, true) {
				// The first watch ends when the history is longer than what the server keeps.
				seconds := int64(1)
				options.TimeoutSeconds = &seconds
			}
			return maps.Watch(ctx, options)
		},
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: list, ObjectType: &corev1.ConfigMap{}, Handler: seen.handler(),
	})
	go informer.RunWithContext(ctx)
	eventually(t, "the informer has synced", informer.HasSynced)
	for number := range 200 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("later-%d", number)}}
		_, err = maps.Create(ctx, object, metav1.CreateOptions{})
		must(t, err)
	}
	eventually(t, "the informer has the last object", func() bool { return seen.has("add later-199") })

	stream, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion})
	if err == nil {
		event := <-stream.ResultChan()
		stream.Stop()
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("watch of an old version: %v", err)
	}
	_, err = maps.List(ctx, metav1.ListOptions{Limit: 1, Continue: page.Continue})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("page of an old list: %v", err)
	}
	counted := 0
	err = pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return maps.List(ctx, options)
	})).EachListItem(ctx, metav1.ListOptions{Limit: 50}, func(runtime.Object) error {
		counted++
		return nil
	})
	must(t, err)
	if counted != 202 {
		t.Errorf("%d objects in pages", counted)
	}
}

func TestWritersOfOneObjectLoseNothing(t *testing.T) {
	ctx, namespace := newNamespace(t)
	// By default a client sends at most five requests a second.
	unlimited := rest.CopyConfig(config)
	unlimited.QPS = -1
	client, err := kubernetes.NewForConfig(unlimited)
	must(t, err)
	maps := client.CoreV1().ConfigMaps(namespace)
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}}, metav1.CreateOptions{})
	must(t, err)
	backoff := wait.Backoff{Steps: 1000, Duration: time.Millisecond, Jitter: 1}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := range 10 {
				err := retry.RetryOnConflict(backoff, func() error {
					object, err := maps.Get(ctx, "counter", metav1.GetOptions{})
					if err != nil {
						return err
					}
					if object.Data == nil {
						object.Data = map[string]string{}
					}
					object.Data[fmt.Sprintf("%d-%d", worker, number)] = ""
					_, err = maps.Update(ctx, object, metav1.UpdateOptions{})
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	object, err := maps.Get(ctx, "counter", metav1.GetOptions{})
	must(t, err)
	if len(object.Data) != 80 {
		t.Errorf("%d of 80 writes", len(object.Data))
	}
}

func TestDiscoveryFindsAllKinds(t *testing.T) {
	groups, resources, err := clientset.Discovery().ServerGroupsAndResources()
	must(t, err)
	if len(groups) < 20 || len(resources) < 20 {
		t.Errorf("%d groups, %d lists of resources", len(groups), len(resources))
	}
	document, err := clientset.Discovery().OpenAPISchema()
	must(t, err)
	if len(document.GetDefinitions().GetAdditionalProperties()) < 500 {
		t.Error("the document of OpenAPI v2 lacks definitions")
	}
	paths, err := clientset.Discovery().OpenAPIV3().Paths()
	must(t, err)
	if paths["apis/apps/v1"] == nil {
		t.Error("OpenAPI v3 lacks apps/v1")
	}
	version, err := clientset.Discovery().ServerVersion()
	must(t, err)
	if version.Major != "1" {
		t.Errorf("version %v", version)
	}
}
