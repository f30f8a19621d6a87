// Package fieldmanager starts `fieldmanager serve`, an API server of Kubernetes, for tests. It needs nothing but the standard
// library, so that it works with any release of client-go and controller-runtime; the package clientgo gives a rest.Config.
package fieldmanager

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Config says how a client reaches the server. The fields have the names of rest.Config in client-go.
type Config struct {
	// Host is the address, such as http://127.0.0.1:41235.
	Host string
	// BearerToken is sent with each request.
	BearerToken string
	// TLSClientConfig has the authority of the server, and the certificate of the client if it has one.
	TLSClientConfig TLSClientConfig
}

// TLSClientConfig has what TLS needs, in PEM. The fields have the names of rest.TLSClientConfig in client-go.
type TLSClientConfig struct {
	CAData, CertData, KeyData []byte
}

// Server is a running server.
type Server struct {
	// Config is the configuration of a client.
	Config Config
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
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("%w: install fieldmanager, or set FIELDMANAGER to its path", err)
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
	if server.Config, err = readKubeconfig(path); err == nil {
		server.client, err = server.Config.HTTPClient()
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

// Snapshot keeps the state of the server, and returns a function that restores it.
func (s *Server) Snapshot(ctx context.Context) (restore func(context.Context) error, err error) {
	var made struct{ ID string }
	answer, err := s.Request(ctx, "POST", "/snapshots", struct{}{})
	if err == nil {
		err = json.Unmarshal(answer, &made)
	}
	return func(ctx context.Context) error {
		_, err := s.Request(ctx, "POST", "/snapshots/"+url.PathEscape(made.ID)+"/restore", struct{}{})
		return err
	}, err
}

// Inject adds a fault: {"fault": "conflict", "verb": "update", "times": 1}.
func (s *Server) Inject(ctx context.Context, fault map[string]any) error {
	_, err := s.Request(ctx, "POST", "/faults", fault)
	return err
}

// ConfigAs returns the configuration of a client that is a user, who may do what roles and bindings allow if the server was
// started with `--authorization rbac`.
func (s *Server) ConfigAs(ctx context.Context, user string, groups ...string) (Config, error) {
	var made struct{ Token string }
	asked := map[string]any{"name": user, "groups": append([]string{}, groups...)}
	answer, err := s.Request(ctx, "POST", "/users", asked)
	if err == nil {
		err = json.Unmarshal(answer, &made)
	}
	config := Config{Host: s.Config.Host, BearerToken: made.Token}
	config.TLSClientConfig.CAData = s.Config.TLSClientConfig.CAData
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

// HTTPClient returns a client that sends the token, and trusts the authority of the server.
func (c Config) HTTPClient() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if authority := c.TLSClientConfig.CAData; len(authority) > 0 {
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(authority)
	}
	if certificate := c.TLSClientConfig.CertData; len(certificate) > 0 {
		pair, err := tls.X509KeyPair(certificate, c.TLSClientConfig.KeyData)
		if err != nil {
			return nil, err
		}
		if transport.TLSClientConfig == nil {
			transport.TLSClientConfig = &tls.Config{}
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: authorized{c.BearerToken, transport}}, nil
}

// authorized sends requests with a token.
type authorized struct {
	token string
	next  http.RoundTripper
}

func (a authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.token != "" {
		// A transport must not change the request of its caller.
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	return a.next.RoundTrip(request)
}

// readKubeconfig reads the file that the server writes, which is JSON and has one cluster and one user.
func readKubeconfig(path string) (config Config, err error) {
	var file struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CAData []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Token    string
				CertData []byte `json:"client-certificate-data"`
				KeyData  []byte `json:"client-key-data"`
			}
		}
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &file)
	}
	if err == nil && (len(file.Clusters) == 0 || len(file.Users) == 0) {
		err = errors.New("no cluster or no user")
	}
	if err != nil {
		return config, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	cluster, user := file.Clusters[0].Cluster, file.Users[0].User
	config.Host, config.BearerToken = cluster.Server, user.Token
	config.TLSClientConfig = TLSClientConfig{cluster.CAData, user.CertData, user.KeyData}
	return config, nil
}
