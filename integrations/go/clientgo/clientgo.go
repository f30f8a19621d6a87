// Package clientgo gives the configuration of a test server to programs that use client-go or controller-runtime.
package clientgo

import (
	"context"

	fieldmanager "github.com/fieldmanager/fieldmanager/integrations/go"
	"k8s.io/client-go/rest"
)

// Config returns the configuration of a client of a server, who may do everything.
func Config(server *fieldmanager.Server) *rest.Config {
	return convert(server.Config)
}

// ConfigAs returns the configuration of a client that is a user, who may do what roles and bindings allow if the server was
// started with `--authorization rbac`.
func ConfigAs(ctx context.Context, server *fieldmanager.Server, user string, groups ...string) (*rest.Config, error) {
	config, err := server.ConfigAs(ctx, user, groups...)
	return convert(config), err
}

func convert(config fieldmanager.Config) *rest.Config {
	tls := config.TLSClientConfig
	return &rest.Config{
		Host:            config.Host,
		BearerToken:     config.BearerToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: tls.CAData, CertData: tls.CertData, KeyData: tls.KeyData},
	}
}
