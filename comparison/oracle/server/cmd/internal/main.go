// The program writes how encoding/json writes the internal types of Kubernetes, which have Go names and no tags: messages
// of validation show values of these types. Each field has the path of the value in the version that clients use.
//
// usage: internal FILE
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/authorization"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/flowcontrol"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/apis/resource"
	"k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/kubernetes/pkg/apis/storagemigration"
)

// pairs are the types that messages show, internal and versioned.
var pairs = []struct {
	name      string
	internal  any
	versioned any
}{
	{"PodSpec", core.PodSpec{}, corev1.PodSpec{}},
	{"PodTemplateSpec", core.PodTemplateSpec{}, corev1.PodTemplateSpec{}},
	{"EphemeralContainer", core.EphemeralContainer{}, corev1.EphemeralContainer{}},
	{"PodIPs", []core.PodIP{}, []corev1.PodIP{}},
	{"PersistentVolumeClaims", []core.PersistentVolumeClaim{}, []corev1.PersistentVolumeClaim{}},
	{"DeploymentStrategy", apps.DeploymentStrategy{}, appsv1.DeploymentStrategy{}},
	{"DaemonSetUpdateStrategy", apps.DaemonSetUpdateStrategy{}, appsv1.DaemonSetUpdateStrategy{}},
	{"StatefulSetUpdateStrategy", apps.StatefulSetUpdateStrategy{}, appsv1.StatefulSetUpdateStrategy{}},
	{"RollingUpdateStatefulSetStrategy", apps.RollingUpdateStatefulSetStrategy{}, appsv1.RollingUpdateStatefulSetStrategy{}},
	{"SecurityContext", core.SecurityContext{}, corev1.SecurityContext{}},
	{"SeccompProfile", core.SeccompProfile{}, corev1.SeccompProfile{}},
	{"PodResourceClaim", core.PodResourceClaim{}, corev1.PodResourceClaim{}},
	{"LabelSelector", metav1.LabelSelector{}, metav1.LabelSelector{}},
	{"PodFailurePolicy", batch.PodFailurePolicy{}, batchv1.PodFailurePolicy{}},
	{"SuccessPolicy", batch.SuccessPolicy{}, batchv1.SuccessPolicy{}},
	{"PersistentVolumeClaimSpec", core.PersistentVolumeClaimSpec{}, corev1.PersistentVolumeClaimSpec{}},
	{"PersistentVolumeSource", core.PersistentVolumeSource{}, corev1.PersistentVolumeSource{}},
	{"VolumeNodeAffinity", &core.VolumeNodeAffinity{}, &corev1.VolumeNodeAffinity{}},
	{"NodeSelectorTerm", core.NodeSelectorTerm{}, corev1.NodeSelectorTerm{}},
	{"NodeSelectorTerms", []core.NodeSelectorTerm{}, []corev1.NodeSelectorTerm{}},
	{"ObjectReference", core.ObjectReference{}, corev1.ObjectReference{}},
	{"OptionalObjectReference", &core.ObjectReference{}, &corev1.ObjectReference{}},
	{"EventSource", core.EventSource{}, corev1.EventSource{}},
	{"ServicePort", core.ServicePort{}, corev1.ServicePort{}},
	{"NodeAddress", core.NodeAddress{}, corev1.NodeAddress{}},
	{"Taint", core.Taint{}, corev1.Taint{}},
	{"Toleration", core.Toleration{}, corev1.Toleration{}},
	{"ScopeSelector", &core.ScopeSelector{}, &corev1.ScopeSelector{}},
	{"AuditAnnotations", []admissionregistration.AuditAnnotation{}, []admissionregistrationv1.AuditAnnotation{}},
	{"PodCertificateRequestSpec", certificates.PodCertificateRequestSpec{}, certificatesv1beta1.PodCertificateRequestSpec{}},
	{"FlowSchemaSpec", flowcontrol.FlowSchemaSpec{}, flowcontrolv1.FlowSchemaSpec{}},
	{"PriorityLevelConfigurationSpec", flowcontrol.PriorityLevelConfigurationSpec{}, flowcontrolv1.PriorityLevelConfigurationSpec{}},
	{"ClusterTrustBundleProjection", core.ClusterTrustBundleProjection{}, corev1.ClusterTrustBundleProjection{}},
	{"CSINodeDriver", storage.CSINodeDriver{}, storagev1.CSINodeDriver{}},
	{"DeviceRequest", resourcev1.DeviceRequest{}, resourcev1.DeviceRequest{}},
	{"DeviceSubRequest", resourcev1.DeviceSubRequest{}, resourcev1.DeviceSubRequest{}},
	{"ResourceClaimConsumerReference", resourcev1.ResourceClaimConsumerReference{}, resourcev1.ResourceClaimConsumerReference{}},
	{"CounterSet", resourcev1.CounterSet{}, resourcev1.CounterSet{}},
	{"DeviceAttribute", resource.DeviceAttribute{}, resourcev1.DeviceAttribute{}},
	{"DeviceCounterConsumption", resourcev1.DeviceCounterConsumption{}, resourcev1.DeviceCounterConsumption{}},
	{"AllocatedDeviceStatus", resourcev1.AllocatedDeviceStatus{}, resourcev1.AllocatedDeviceStatus{}},
	{"ResourceClaimTemplateSpec", resource.ResourceClaimTemplateSpec{}, resourcev1.ResourceClaimTemplateSpec{}},
	{"StorageVersionMigrationSpec", storagemigration.StorageVersionMigrationSpec{}, storagemigrationv1.StorageVersionMigrationSpec{}},
	{"PodDisruptionBudgetSpec", policy.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetSpec{}},
	{"ObjectMeta", metav1.ObjectMeta{}, metav1.ObjectMeta{}},
	{"NonResourceAttributes", &authorization.NonResourceAttributes{}, &authorizationv1.NonResourceAttributes{}},
}

// writer numbers the types. The name of the member of each is its form: a leaf with the value that is written if nothing
// is set, a pointer, a slice or a map with the type of what it holds, or an object with its fields.
type writer struct {
	types []any
	known map[[2]reflect.Type]int
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: internal FILE")
		os.Exit(2)
	}
	w := writer{known: map[[2]reflect.Type]int{}}
	roots := map[string]int{}
	for _, pair := range pairs {
		roots[pair.name] = w.id(reflect.TypeOf(pair.internal), reflect.TypeOf(pair.versioned))
	}
	out, err := json.Marshal(map[string]any{"roots": roots, "types": w.types})
	if err == nil {
		err = os.WriteFile(os.Args[1], append(out, '\n'), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func (w *writer) id(internal, versioned reflect.Type) int {
	key := [2]reflect.Type{internal, versioned}
	if id, ok := w.known[key]; ok {
		return id
	}
	id := len(w.types)
	w.known[key] = id
	w.types = append(w.types, nil)
	w.types[id] = w.form(internal, versioned)
	return id
}

func (w *writer) form(internal, versioned reflect.Type) any {
	isLeaf := internal.Implements(marshaler) || reflect.PointerTo(internal).Implements(marshaler)
	if internal.Kind() == reflect.Pointer {
		return map[string]any{"p": w.id(internal.Elem(), elem(versioned))}
	}
	if !isLeaf {
		switch internal.Kind() {
		case reflect.Slice:
			if internal.Elem().Kind() == reflect.Uint8 {
				return map[string]any{"l": nil}
			}
			return map[string]any{"s": w.id(internal.Elem(), elem(versioned))}
		case reflect.Map:
			return map[string]any{"m": w.id(internal.Elem(), elem(versioned))}
		case reflect.Struct:
			return map[string]any{"o": w.fields(internal, indirect(versioned), "")}
		}
	}
	zero, err := json.Marshal(reflect.Zero(internal).Interface())
	if err != nil {
		panic(err)
	}
	return map[string]any{"l": json.RawMessage(zero)}
}

func elem(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return t.Elem()
	}
	return t
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// fields lists the fields of a struct: the name in messages, the path of the value, the type, and whether an empty one
// is left out.
func (w *writer) fields(internal, versioned reflect.Type, prefix string) []any {
	var out []any
	for i := range internal.NumField() {
		field := internal.Field(i)
		if field.Name == "TypeMeta" {
			continue
		}
		tag := strings.Split(field.Tag.Get("json"), ",")
		if tag[0] == "-" {
			continue
		}
		other, ok := versioned.FieldByName(field.Name)
		if !ok {
			fmt.Fprintf(os.Stderr, "%s.%s has no counterpart in %s\n", internal, field.Name, versioned)
			continue
		}
		versionedName := strings.Split(other.Tag.Get("json"), ",")[0]
		path := prefix
		if versionedName != "" {
			path = strings.TrimPrefix(prefix+"."+versionedName, ".")
		}
		if field.Anonymous && tag[0] == "" {
			out = append(out, w.fields(field.Type, other.Type, path)...)
			continue
		}
		shown := field.Name
		if tag[0] != "" {
			shown = tag[0]
		}
		omits := strings.Contains(field.Tag.Get("json"), ",omit")
		out = append(out, []any{shown, path, w.id(field.Type, other.Type), omits})
	}
	return out
}
