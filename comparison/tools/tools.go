package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/fluxcd/pkg/ssa"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	helmkube "helm.sh/helm/v4/pkg/kube"
	releasecommon "helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/kubectl/pkg/cmd/apply"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// flags are what the tools that are built on kubectl find a cluster by.
func (c *cluster) flags() *genericclioptions.ConfigFlags {
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig = &c.kubeconfig
	return flags
}

// kubectl is `kubectl apply --server-side`, which takes over what client-side apply made.
func kubectl(force bool) func(*cluster, *unstructured.Unstructured) error {
	return func(c *cluster, object *unstructured.Unstructured) (failure error) {
		text, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		file := filepath.Join(filepath.Dir(c.kubeconfig), "web.json")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
		streams, _, _, _ := genericiooptions.NewTestIOStreams()
		command := apply.NewCmdApply("kubectl", cmdutil.NewFactory(c.flags()), streams)
		command.SetArgs([]string{"--server-side", "-f", file, fmt.Sprintf("--force-conflicts=%t", force)})
		// The command ends the process otherwise.
		cmdutil.BehaviorOnFatal(func(message string, _ int) { panic(message) })
		defer func() {
			if message, ok := recover().(string); ok {
				failure = fmt.Errorf("%s", message)
			}
		}()
		return command.Execute()
	}
}

// helm is `helm upgrade --server-side=true` of a release that Helm 3 has installed.
func helm(force bool) func(*cluster, *unstructured.Unstructured) error {
	return func(c *cluster, object *unstructured.Unstructured) error {
		// Otherwise it is the name of this program.
		helmkube.ManagedFieldsManager = "helm"
		config := action.NewConfiguration()
		if err := config.Init(c.flags(), "default", "memory"); err != nil {
			return err
		}
		installed, err := chartOf(older("helm"))
		if err != nil {
			return err
		}
		now := time.Now()
		err = config.Releases.Create(&release.Release{
			Name: "web", Namespace: "default", Version: 1, Chart: installed, Manifest: string(installed.Templates[0].Data),
			ApplyMethod: string(release.ApplyMethodClientSideApply),
			Info: &release.Info{
				FirstDeployed: now, LastDeployed: now, Status: releasecommon.StatusDeployed,
			},
		})
		if err != nil {
			return err
		}
		next, err := chartOf(object.Object)
		if err != nil {
			return err
		}
		upgrade := action.NewUpgrade(config)
		upgrade.Namespace, upgrade.ServerSideApply, upgrade.ForceConflicts = "default", "true", force
		upgrade.WaitStrategy, upgrade.Timeout = helmkube.HookOnlyStrategy, time.Minute
		_, err = upgrade.RunWithContext(background, "web", next, nil)
		return err
	}
}

// chartOf is a chart with one object.
func chartOf(object map[string]any) (*chart.Chart, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: "v2", Name: "web", Version: "0.1.0"},
		Templates: []*common.File{{Name: "templates/web.yaml", Data: text}},
	}, nil
}

// flux is what the controller of Kustomizations asks of the package ssa.
func flux(c *cluster, object *unstructured.Unstructured) error {
	cluster, err := client.New(c.config, client.Options{})
	if err != nil {
		return err
	}
	manager := ssa.NewResourceManager(cluster, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	options := ssa.DefaultApplyOptions()
	// `apply` of internal/controller/kustomization_controller.go of github.com/fluxcd/kustomize-controller.
	options.Cleanup.Annotations = []string{"kubectl.kubernetes.io/last-applied-configuration"}
	options.Cleanup.FieldManagers = []ssa.FieldManager{
		{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
		{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
		{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
		{Name: "kustomize-controller", OperationType: metav1.ManagedFieldsOperationUpdate},
	}
	_, err = manager.Apply(background, object, options)
	return err
}

// argocd is a sync with the option ServerSideApply=true.
func argocd(c *cluster, object *unstructured.Unstructured) error {
	live, err := c.send("GET", path+"/web", "application/json", nil)
	if err != nil {
		return err
	}
	tool := &kube.KubectlCmd{Log: textlogger.NewLogger(textlogger.NewConfig()), Tracer: tracing.NopTracer{}}
	// The names of `common/common.go` of github.com/argoproj/argo-cd.
	context, cleanup, err := sync.NewSyncContext("1", sync.ReconciliationResult{
		Live:   []*unstructured.Unstructured{{Object: live}},
		Target: []*unstructured.Unstructured{object},
	}, c.config, c.config, tool, "default",
		sync.WithServerSideApply(true), sync.WithServerSideApplyManager("argocd-controller"),
		sync.WithLogr(textlogger.NewLogger(textlogger.NewConfig())))
	if err != nil {
		return err
	}
	defer cleanup()
	context.Sync()
	if phase, message, _ := context.GetState(); !strings.EqualFold(string(phase), "Succeeded") && !strings.EqualFold(string(phase), "Running") {
		return fmt.Errorf("%s: %s", phase, message)
	}
	return nil
}
