// Command kube-apiserver runs etcd and kube-apiserver in one process, so that a comparison needs no other program.
//
// usage: kube-apiserver -data DIR -etcd-client PORT -etcd-peer PORT -- FLAGS
//
// FLAGS are those of kube-apiserver, without -etcd-servers. etcd keeps its files in DIR and does not wait for the disk:
// the data is not needed after the process ends.
package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
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

func main() {
	data := flag.String("data", "data", "folder of etcd's files")
	client := flag.Int("etcd-client", 23790, "loopback port on which etcd serves the API server")
	peer := flag.Int("etcd-peer", 23791, "loopback port on which etcd listens for members, of which there are none")
	flag.Parse()
	etcd, err := startEtcd(filepath.Join(*data, "etcd"), loopback(*client), loopback(*peer))
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
	server := app.NewAPIServerCommand()
	server.SetArgs(append(flag.Args(), "--etcd-servers="+loopback(*client).String()))
	code := cli.Run(server)
	etcd.Close()
	os.Exit(code)
}

func loopback(port int) *url.URL {
	return &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
}

// startEtcd starts a cluster of one member and returns when it is ready.
func startEtcd(folder string, client, peer *url.URL) (*embed.Etcd, error) {
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
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
