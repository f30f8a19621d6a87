// Package fieldmanager starts `fieldmanager serve`, an API server of Kubernetes, for tests.
package fieldmanager

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Server is a running server.
type Server struct {
	// Config is the configuration of a client.
	Config *rest.Config
	// Kubeconfig is the file with the same configuration. It exists until the server stops.
	Kubeconfig string
	process    *exec.Cmd
	client     *http.Client
}

// Start starts a server on a free port of the loopback interface, and returns when it answers. If `program` is empty, it is
// the path in the variable FIELDMANAGER, or `fieldmanager` in PATH. `args` are more arguments of `fieldmanager serve`.
func Start(program string, args ...string) (*Server, error) {
	program = cmp.Or(program, os.Getenv("FIELDMANAGER"), "fieldmanager")
	process := exec.Command(program, append([]string{"serve", "--test-api", "--stop-with-stdin"}, args...)...)
	var log bytes.Buffer
	process.Stderr = &log
	output, err := process.StdoutPipe()
	if err == nil {
		// The pipe ends with this program, and the server with it.
		_, err = process.StdinPipe()
	}
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s serve: %w", program, err), process.Wait(), errors.New(log.String()))
	}
	_, path, _ := strings.Cut(strings.TrimSpace(line), "; kubeconfig ")
	server := &Server{Kubeconfig: path, process: process}
	if server.Config, err = clientcmd.BuildConfigFromFlags("", path); err == nil {
		server.client, err = rest.HTTPClientFor(server.Config)
	}
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

// Stop ends the server.
func (s *Server) Stop() error {
	return errors.Join(s.process.Process.Signal(syscall.SIGTERM), s.process.Wait())
}

// Request sends a request to a path below /test, and returns the answer.
func (s *Server) Request(ctx context.Context, method, path string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, s.Config.Host+"/test"+path, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 400 {
		err = fmt.Errorf("%s /test%s: %s: %s", method, path, response.Status, answer)
	}
	return answer, err
}

// Reset restores the state after the start, without faults and without the log.
func (s *Server) Reset(ctx context.Context) error {
	_, err := s.Request(ctx, "POST", "/reset", struct{}{})
	return err
}

// Inject adds a fault: {"fault": "conflict", "verb": "update", "times": 1}.
func (s *Server) Inject(ctx context.Context, fault map[string]any) error {
	_, err := s.Request(ctx, "POST", "/faults", fault)
	return err
}

// ConfigAs returns the configuration of a client that is a user, who may do what roles and bindings allow if the server was
// started with `--authorization rbac`.
func (s *Server) ConfigAs(ctx context.Context, user string, groups ...string) (*rest.Config, error) {
	var made struct{ Token string }
	asked := map[string]any{"name": user, "groups": append([]string{}, groups...)}
	answer, err := s.Request(ctx, "POST", "/users", asked)
	if err == nil {
		err = json.Unmarshal(answer, &made)
	}
	config := rest.AnonymousClientConfig(s.Config)
	config.BearerToken = made.Token
	return config, err
}

// Log returns the entries of the log that have some values: {"manager": {"alice"}, "path": {".spec.replicas"}}. The members
// of an entry are in docs/testing.md.
func (s *Server) Log(ctx context.Context, query url.Values) (entries []map[string]any, err error) {
	answer, err := s.Request(ctx, "GET", "/log?"+query.Encode(), nil)
	for decoder := json.NewDecoder(bytes.NewReader(answer)); err == nil && decoder.More(); {
		var entry map[string]any
		if err = decoder.Decode(&entry); err == nil {
			entries = append(entries, entry)
		}
	}
	return entries, err
}

// Owners returns the managers that own a field, such as `.spec.containers[name="web"].image`.
func Owners(object metav1.Object, field string) []string {
	var owners []string
	for _, entry := range object.GetManagedFields() {
		var fields fieldpath.Set
		if entry.FieldsV1 == nil || fields.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)) != nil {
			continue
		}
		fields.Iterate(func(path fieldpath.Path) {
			if path.String() == field && !slices.Contains(owners, entry.Manager) {
				owners = append(owners, entry.Manager)
			}
		})
	}
	return owners
}

// AssertOwned fails a test if not exactly some managers own a field.
func AssertOwned(t testing.TB, object metav1.Object, field string, managers ...string) {
	t.Helper()
	owners := Owners(object, field)
	slices.Sort(owners)
	slices.Sort(managers)
	if !slices.Equal(owners, managers) {
		t.Errorf("owners of %s of %q: found %q, want %q", field, object.GetName(), owners, managers)
	}
}
