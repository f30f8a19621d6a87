package fieldmanager_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fieldmanager "github.com/fieldmanager/fieldmanager/integrations/go"
)

func start(t *testing.T, args ...string) *fieldmanager.Server {
	t.Helper()
	server, err := fieldmanager.Start("", args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	return server
}

// send sends a request to the API, and returns the code and the object.
func send(t *testing.T, config fieldmanager.Config, method, path, contentType, body string) (int, map[string]any) {
	t.Helper()
	client, err := config.HTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(method, config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var object map[string]any
	if err := json.NewDecoder(response.Body).Decode(&object); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, object
}

const (
	path  = "/api/v1/namespaces/default/configmaps/colours"
	apply = "application/apply-patch+yaml"
)

func TestTwoManagersOwnOneFieldEach(t *testing.T) {
	server := start(t)
	for manager, data := range map[string]string{"alice": "{sky: blue}", "bob": "{grass: green}"} {
		body := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: colours}, data: %s}", data)
		if code, answer := send(t, server.Config, "PATCH", path+"?fieldManager="+manager, apply, body); code >= 300 {
			t.Fatalf("found %d: %v", code, answer)
		}
	}
	_, object := send(t, server.Config, "GET", path, "", "")
	fieldmanager.AssertOwned(t, object, ".data.sky", "alice")
	fieldmanager.AssertOwned(t, object, ".data.grass", "bob")
	fieldmanager.AssertOwned(t, object, ".data.sea")
	log, err := server.Log(context.Background(), url.Values{"manager": {"bob"}})
	if err != nil || len(log) != 1 {
		t.Errorf("found %v, %v, want one entry", log, err)
	}
}

func TestASnapshotIsRestored(t *testing.T) {
	ctx, server := context.Background(), start(t)
	restore, err := server.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	body := "{apiVersion: v1, kind: ConfigMap, metadata: {name: colours}}"
	if code, answer := send(t, server.Config, "PATCH", path+"?fieldManager=alice", apply, body); code != 201 {
		t.Fatalf("found %d: %v", code, answer)
	}
	if err := restore(ctx); err != nil {
		t.Fatal(err)
	}
	if code, _ := send(t, server.Config, "GET", path, "", ""); code != 404 {
		t.Errorf("found %d, want 404", code)
	}
}

func TestAUserMayDoWhatRolesAllow(t *testing.T) {
	server := start(t, "--tls", "--authorization", "rbac")
	config, err := server.ConfigAs(context.Background(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := send(t, config, "GET", path, "", ""); code != 403 {
		t.Errorf("found %d, want 403", code)
	}
	if code, _ := send(t, server.Config, "GET", path, "", ""); code != 404 {
		t.Errorf("found %d, want 404", code)
	}
}

func TestFailuresSayWhy(t *testing.T) {
	if _, err := fieldmanager.Start("", "--no-such-option"); err == nil || !strings.Contains(err.Error(), "--no-such-option") {
		t.Errorf("found %v, want the name of the option", err)
	}
	missing := filepath.Join(t.TempDir(), "fieldmanager")
	if _, err := fieldmanager.Start(missing); !os.IsNotExist(err) {
		t.Errorf("found %v, want that there is no program", err)
	}
	if _, err := start(t).Request(context.Background(), "GET", "/nothing", nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("found %v, want 404", err)
	}
}

func TestOwnersOfItemsAndValues(t *testing.T) {
	var object any
	err := json.Unmarshal([]byte(`{"metadata": {"managedFields": [{"manager": "alice", "fieldsV1": {"f:spec": {
		"f:ports": {"k:{\"protocol\":\"TCP\",\"port\":80}": {".": {}, "f:name": {}}},
		"f:set": {"v:\"x\"": {}},
		"f:list": {"i:0": {}}
	}}}]}}`), &object)
	if err != nil {
		t.Fatal(err)
	}
	item := `.spec.ports[port=80,protocol="TCP"]`
	for _, field := range []string{item, item + ".name", `.spec.set[="x"]`, ".spec.list[0]"} {
		if owners := fieldmanager.Owners(object, field); !slices.Equal(owners, []string{"alice"}) {
			t.Errorf("owners of %s: found %q", field, owners)
		}
	}
	if owners := fieldmanager.Owners(object, ".spec"); len(owners) != 0 {
		t.Errorf("found %q, want no owners", owners)
	}
}
