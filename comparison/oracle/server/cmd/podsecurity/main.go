// Command podsecurity says what the standards of Pod security make of Pods.
//
//	go run ./cmd/podsecurity FOLDER [RANDOM [SEED]]
//
// FOLDER has manifests in LEVEL/VERSION/*/*.yaml, as `test/testdata` of k8s.io/pod-security-admission has them. RANDOM Pods,
// 5000 by default, are made of them by changes of some fields, each at a random level and version. Each line of output is
// {"pod", "level", "version", "allowed", "reason", "detail"}. The same seed gives the same lines.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

type answer struct {
	Pod     any    `json:"pod"`
	Level   string `json:"level"`
	Version string `json:"version"`
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail"`
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: podsecurity FOLDER [RANDOM [SEED]]")
		os.Exit(2)
	}
	cases, seed := 5000, 1
	for at, number := range []*int{&cases, &seed} {
		if len(os.Args) > at+2 {
			parsed, err := strconv.Atoi(os.Args[at+2])
			check(err)
			*number = parsed
		}
	}

	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	check(err)
	writer := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)

	files, err := filepath.Glob(filepath.Join(os.Args[1], "*", "*", "*", "*.yaml"))
	check(err)
	slices.Sort(files)
	manifests := []string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		manifests = append(manifests, string(text))
		version := filepath.Dir(filepath.Dir(file))
		level := filepath.Base(filepath.Dir(version))
		check(encoder.Encode(evaluate(evaluator, read(string(text)), level, filepath.Base(version))))
	}

	// Most manifests are the same at several versions.
	slices.Sort(manifests)
	manifests = slices.Compact(manifests)
	random := rand.New(rand.NewSource(int64(seed)))
	for range cases {
		pod := read(manifests[random.Intn(len(manifests))])
		for range 1 + random.Intn(7) {
			change(random, pod)
		}
		level := []string{"privileged", "baseline", "baseline", "baseline", "restricted", "restricted", "restricted"}[random.Intn(7)]
		version := "latest"
		if random.Intn(4) > 0 {
			version = fmt.Sprintf("v1.%d", random.Intn(41))
		}
		check(encoder.Encode(evaluate(evaluator, pod, level, version)))
	}
	check(writer.Flush())
}

// evaluate judges a Pod as the plugin does.
func evaluate(evaluator policy.Evaluator, pod map[string]any, level, version string) answer {
	text, err := json.Marshal(pod)
	check(err)
	var typed corev1.Pod
	check(json.Unmarshal(text, &typed))
	parsedLevel, err := api.ParseLevel(level)
	check(err)
	parsedVersion, err := api.ParseVersion(version)
	check(err)

	results := evaluator.EvaluatePod(api.LevelVersion{Level: parsedLevel, Version: parsedVersion}, &typed.ObjectMeta, &typed.Spec)
	result := policy.AggregateCheckResults(results)
	return answer{pod, level, version, result.Allowed, result.ForbiddenReason(), result.ForbiddenDetail()}
}

func read(text string) map[string]any {
	var pod map[string]any
	check(yaml.Unmarshal([]byte(text), &pod))
	return pod
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
