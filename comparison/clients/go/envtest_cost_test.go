package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var (
	parentOf = regexp.MustCompile(`(?m)^PPid:\s+(\d+)$`)
	shareOf  = regexp.MustCompile(`(?m)^Pss:\s+(\d+) kB$`)
)

// memoryOfChildren returns the memory of the programs that this process started, in MiB; pages that several have are shared out.
func memoryOfChildren(t *testing.T) int {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	total := 0
	for _, folder := range folders {
		status, _ := os.ReadFile(filepath.Join(folder, "status"))
		parent := parentOf.FindSubmatch(status)
		if parent == nil || string(parent[1]) != strconv.Itoa(os.Getpid()) {
			continue
		}
		memory, _ := os.ReadFile(filepath.Join(folder, "smaps_rollup"))
		if share := shareOf.FindSubmatch(memory); share != nil {
			kilobytes, _ := strconv.Atoi(string(share[1]))
			total += kilobytes
		}
	}
	return total / 1024
}

// TestEnvtestCost measures what the programs of KUBEBUILDER_ASSETS cost; MEASURE is the number of environments that run at once.
func TestEnvtestCost(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("MEASURE"))
	if err != nil {
		t.Skip("MEASURE is not a number")
	}
	var started, stopped []time.Duration
	measure := func(environment *envtest.Environment) {
		began := time.Now()
		_, err := environment.Start()
		must(t, err)
		started = append(started, time.Since(began))
	}
	stop := func(environment *envtest.Environment) {
		began := time.Now()
		must(t, environment.Stop())
		stopped = append(stopped, time.Since(began))
	}

	for range 5 {
		environment := &envtest.Environment{}
		measure(environment)
		stop(environment)
	}
	slices.Sort(started)
	slices.Sort(stopped)
	fmt.Printf("start %v, stop %v in the median\n", started[2].Round(time.Millisecond), stopped[2].Round(time.Millisecond))

	environments := make([]*envtest.Environment, count)
	for i := range environments {
		environments[i] = &envtest.Environment{}
		measure(environments[i])
	}
	fmt.Printf("%d environments: %d MiB\n", count, memoryOfChildren(t))
	for _, environment := range environments {
		stop(environment)
	}
}
