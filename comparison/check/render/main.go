// Renders the charts of public projects, and collects their manifests.
//
//	render PROJECTS CHECKOUTS OUT
//
// PROJECTS is a list such as ../projects.txt, CHECKOUTS has a folder OWNER+NAME for each project. OUT gets a file of YAML for
// each chart, values file and manifest, and objects.jsonl, which has each document as kubectl reads it: its file, its line, and
// the object or why there is none.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	charts "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Versions that charts ask for before they render objects of these definitions.
var versions = []string{
	"monitoring.coreos.com/v1", "cert-manager.io/v1", "gateway.networking.k8s.io/v1", "keda.sh/v1alpha1",
}

type renderer struct {
	checkouts, out string
	// The folders of all charts by name, for dependencies that a repository does not have.
	known map[string]string
	list  *bufio.Writer
	// Documents that were written: files of values change few objects of a chart.
	written map[string]bool
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: render PROJECTS CHECKOUTS OUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(projects, checkouts, out string) error {
	text, err := os.ReadFile(projects)
	if err != nil {
		return err
	}
	list, err := os.Create(filepath.Join(out, "objects.jsonl"))
	if err != nil {
		return err
	}
	r := &renderer{checkouts: checkouts, out: out, known: map[string]string{}, list: bufio.NewWriter(list), written: map[string]bool{}}
	if err := r.findCharts(); err != nil {
		return err
	}

	project := ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) != 2 || words[0] == "#":
			continue
		case words[0] == "charts":
			err = r.charts(project, words[1])
		case words[0] == "files":
			err = r.files(project, words[1])
		default:
			project = strings.ReplaceAll(words[0], "/", "+")
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(r.list.Flush(), list.Close())
}

// findCharts finds the charts of the checkouts that are not parts of others.
func (r *renderer) findCharts() error {
	return filepath.WalkDir(r.checkouts, func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "Chart.yaml" {
			folder := filepath.Dir(path)
			r.known[filepath.Base(folder)] = folder
			return filepath.SkipDir
		}
		return err
	})
}

// charts renders the charts below a folder with the values that they have, and with each file of values of their tests.
func (r *renderer) charts(project, below string) error {
	root := filepath.Join(r.checkouts, project)
	return filepath.WalkDir(filepath.Join(root, below), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "Chart.yaml" {
			return err
		}
		folder := filepath.Dir(path)
		name, err := filepath.Rel(root, folder)
		if err != nil {
			return err
		}
		values, err := filepath.Glob(filepath.Join(folder, "ci", "*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range append([]string{""}, values...) {
			text, err := r.rendered(folder, file)
			of := name
			if file != "" {
				of += "-" + strings.TrimSuffix(filepath.Base(file), ".yaml")
			}
			if err != nil {
				// Charts may need values, libraries are not rendered, and some dependencies are nowhere.
				fmt.Fprintf(os.Stderr, "left out: %s/%s: %.200s\n", project, of, strings.ReplaceAll(err.Error(), "\n", " "))
				continue
			}
			if err := r.write(project, of+".yaml", text); err != nil {
				return err
			}
		}
		return filepath.SkipDir
	})
}

// load reads a chart with its dependencies, at any depth up to a bound.
func (r *renderer) load(folder string, depth int) (*chart.Chart, error) {
	loaded, err := loader.LoadDir(folder)
	if err != nil || depth == 0 {
		return loaded, err
	}
	have := map[string]bool{}
	for _, dependency := range loaded.Dependencies() {
		have[dependency.Name()] = true
	}
	for _, dependency := range loaded.Metadata.Dependencies {
		where := r.known[dependency.Name]
		if strings.HasPrefix(dependency.Repository, "file://") {
			where = filepath.Join(folder, strings.TrimPrefix(dependency.Repository, "file://"))
		}
		if have[dependency.Name] || where == "" {
			continue
		}
		found, err := r.load(where, depth-1)
		if err != nil {
			return nil, err
		}
		// The version that the chart names may be another.
		dependency.Version = ""
		loaded.AddDependency(found)
		have[dependency.Name] = true
	}
	return loaded, nil
}

// rendered is what `helm template --include-crds` prints, without hooks of tests.
func (r *renderer) rendered(folder, file string) (string, error) {
	loaded, err := r.load(folder, 3)
	if err != nil {
		return "", err
	}
	values := map[string]any{}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if err := yaml.Unmarshal(text, &values); err != nil {
			return "", err
		}
	}
	if err := charts.ProcessDependencies(loaded, values); err != nil {
		return "", err
	}

	capabilities := common.DefaultCapabilities.Copy()
	version, err := common.ParseKubeVersion("v1.37.1")
	if err != nil {
		return "", err
	}
	capabilities.KubeVersion = *version
	capabilities.APIVersions = append(capabilities.APIVersions, versions...)
	release := common.ReleaseOptions{Name: "test", Namespace: "default", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValuesWithSchemaValidation(loaded, values, release, capabilities, true)
	if err != nil {
		return "", err
	}
	parts, err := engine.Render(loaded, all)
	if err != nil {
		return "", err
	}

	var texts []string
	for _, crd := range loaded.CRDObjects() {
		texts = append(texts, string(crd.File.Data))
	}
	names := make([]string, 0, len(parts))
	for name := range parts {
		if !strings.HasSuffix(name, "NOTES.txt") && !strings.HasPrefix(filepath.Base(name), "_") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		texts = append(texts, parts[name])
	}
	return strings.Join(texts, "\n---\n"), nil
}

// files collects the manifests of a file or below a folder.
func (r *renderer) files(project, below string) error {
	root := filepath.Join(r.checkouts, project)
	return filepath.WalkDir(filepath.Join(root, below), func(path string, entry os.DirEntry, err error) error {
		ending := filepath.Ext(path)
		if err != nil || !entry.Type().IsRegular() || (ending != ".yaml" && ending != ".yml") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		// The templates of a chart are not YAML.
		if strings.Contains(string(text), "{{-") {
			return nil
		}
		return r.write(project, name, string(text))
	})
}

// write writes the documents of a text that are new, and lists them.
func (r *renderer) write(project, name, text string) error {
	var out strings.Builder
	line := 1
	file := filepath.Join(project, strings.ReplaceAll(name, "/", "-"))
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		document = withoutHead(document)
		if len(document) == 0 || r.written[string(document)] {
			continue
		}
		r.written[string(document)] = true
		entry := map[string]any{"file": file, "line": line + 1}
		if object, err := asJSON(document); err != nil {
			entry["error"] = err.Error()
		} else if object == nil {
			continue
		} else {
			entry["object"] = object
		}
		encoded, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		r.list.Write(append(encoded, '\n'))
		out.WriteString("---\n" + string(document) + "\n")
		line += 2 + bytes.Count(document, []byte("\n"))
	}
	if out.Len() == 0 {
		return nil
	}
	path := filepath.Join(r.out, "sources", file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(out.String()), 0o644)
}

// withoutHead is a document without empty lines at its ends, and without a mark and comments in front.
func withoutHead(document []byte) []byte {
	document = bytes.TrimSpace(document)
	for bytes.HasPrefix(document, []byte("#")) || bytes.HasPrefix(document, []byte("---")) {
		_, rest, _ := bytes.Cut(document, []byte("\n"))
		document = bytes.TrimSpace(rest)
	}
	return document
}

// asJSON is an object as kubectl sends it; nil for an empty one.
func asJSON(document []byte) (json.RawMessage, error) {
	object, err := yaml.YAMLToJSON(document)
	if err != nil || string(object) == "null" {
		return nil, err
	}
	return object, nil
}
