package clients

import (
	"context"
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"testing"

	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// refuseLarge is the webhook of an operator: a ConfigMap has at most one field.
func refuseLarge(_ context.Context, request admission.Request) admission.Response {
	if strings.Count(string(request.Object.Raw), `"field-`) > 1 {
		return admission.Denied("it has too many fields")
	}
	return admission.Allowed("")
}

func TestAWebhookOfControllerRuntimeIsCalled(t *testing.T) {
	handler, err := admission.StandaloneWebhook(&admission.Webhook{Handler: admission.HandlerFunc(refuseLarge)}, admission.StandaloneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	webhook := httptest.NewTLSServer(handler)
	t.Cleanup(webhook.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	ctx := context.Background()
	effects, url := registration.SideEffectClassNone, webhook.URL
	name := "config-maps.example.com"
	configuration := &registration.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []registration.ValidatingWebhook{{
			Name:                    name,
			ClientConfig:            registration.WebhookClientConfig{URL: &url, CABundle: authority},
			SideEffects:             &effects,
			AdmissionReviewVersions: []string{"v1"},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{"checked": "yes"}},
			Rules: []registration.RuleWithOperations{{
				Operations: []registration.OperationType{registration.Create},
				Rule:       registration.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}
	webhooks := clientset.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := webhooks.Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = webhooks.Delete(ctx, name, metav1.DeleteOptions{}) })

	labels := map[string]string{"checked": "yes"}
	large := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "checked-", Labels: labels},
		Data:       map[string]string{"field-a": "1", "field-b": "2"},
	}
	_, err = clientset.CoreV1().ConfigMaps("default").Create(ctx, large, metav1.CreateOptions{})
	want := `admission webhook "config-maps.example.com" denied the request: it has too many fields`
	if err == nil || err.Error() != want {
		t.Fatalf("found %v, want %s", err, want)
	}
	delete(large.Data, "field-b")
	if _, err := clientset.CoreV1().ConfigMaps("default").Create(ctx, large, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
