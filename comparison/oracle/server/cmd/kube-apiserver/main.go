// Command kube-apiserver runs etcd and kube-apiserver in one process on the loopback interface, so that a comparison
// needs no other program.
//
// The server has one token, "secret", with all rights. Controllers and admission plugins that change objects of users
// are off; etcd waits for the disk only if it is told to, since the data is not needed after the process ends.
package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// startTimeout bounds the time until etcd accepts requests.
const startTimeout = 30 * time.Second

// disabled are the admission plugins that are on by default, and change or refuse objects for reasons outside the
// object.
var disabled = []string{
	"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "ClusterTrustBundleAttest",
	"DefaultIngressClass", "DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger",
	"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "PersistentVolumeClaimResize", "PodSecurity", "Priority",
	"ResourceQuota", "RuntimeClass", "ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
}

func main() {
	data := flag.String("data", "data", "folder of keys, certificates and the files of etcd")
	port := flag.Int("port", 26443, "port of the API server")
	client := flag.Int("etcd-client", 23790, "port on which etcd serves the API server")
	peer := flag.Int("etcd-peer", 23791, "port on which etcd listens for other members, of which there are none")
	authorization := flag.String("authorization-mode", "AlwaysAllow", "authorization mode; RBAC creates the default roles")
	sync := flag.Bool("etcd-sync", false, "answer writes when they are on the disk")
	only := flag.Bool("etcd-only", false, "run etcd without the API server")
	watch := flag.Bool("watch-stdin", false, "end when standard input is closed")
	flag.Parse()
	if *watch {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	code, err := run(*data, *port, *authorization, *sync, *only, loopback(*client), loopback(*peer))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(data string, port int, authorization string, sync, only bool, client, peer *url.URL) (int, error) {
	keyFile, tokenFile := filepath.Join(data, "key.pem"), filepath.Join(data, "tokens.csv")
	if err := writeKey(keyFile); err != nil {
		return 0, err
	}
	if err := os.WriteFile(tokenFile, []byte("secret,admin,admin,system:masters\n"), 0o600); err != nil {
		return 0, err
	}
	etcd, err := startEtcd(filepath.Join(data, "etcd"), sync, client, peer)
	if err != nil {
		return 0, fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	if only {
		return 0, <-etcd.Err()
	}
	server := app.NewAPIServerCommand()
	server.SetArgs([]string{
		"--etcd-servers=" + client.String(),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + filepath.Join(data, "certs"),
		"--token-auth-file=" + tokenFile, "--authorization-mode=" + authorization, "--anonymous-auth=false",
		"--service-account-issuer=https://localhost",
		"--service-account-key-file=" + keyFile, "--service-account-signing-key-file=" + keyFile,
		"--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none",
		"--enable-priority-and-fairness=false", "--max-requests-inflight=0", "--max-mutating-requests-inflight=0",
		"--profiling=false", "--disable-admission-plugins=" + strings.Join(disabled, ","),
	})
	return cli.Run(server), nil
}

func loopback(port int) *url.URL {
	return &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
}

// writeKey writes a new key for service account tokens.
func writeKey(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return os.WriteFile(file, pem.EncodeToMemory(block), 0o600)
}

// startEtcd starts a cluster of one member and returns when it is ready.
func startEtcd(folder string, sync bool, client, peer *url.URL) (*embed.Etcd, error) {
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "error"
	config.UnsafeNoFsync = !sync
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err := <-etcd.Err():
		etcd.Close()
		return nil, err
	case <-time.After(startTimeout):
		etcd.Close()
		return nil, fmt.Errorf("not ready after %s", startTimeout)
	}
}
