package main

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The field manager always reads the clock of the machine. So the
// times of an object are moved until the time of the step is the present, the
// step runs, and they are moved back. Moving, other than replacing the new time
// afterwards, keeps every distance: the order of the entries and the choice of
// entries to cap are as if the clock had shown the time of the step.

const clockTries = 10

// atTime runs a step as if it were `at`. The step gets a function that moves an
// object to the present, and returns an object or an error. A step during which
// the second changes is run again, since times are kept in seconds.
func atTime(at time.Time, step func(toPresent func(*unstructured.Unstructured)) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	for try := 1; ; try++ {
		now := time.Now().Truncate(time.Second)
		distance := now.Sub(at.Truncate(time.Second))
		out, err := step(func(object *unstructured.Unstructured) { moveTimes(object, distance) })
		if try < clockTries && !time.Now().Truncate(time.Second).Equal(now) {
			continue
		}
		if out != nil {
			moveTimes(out, -distance)
		}
		return out, err
	}
}

// moveTimes moves the time of every entry. Values that are not times stay, and
// so does the zero time, which means that there is none.
func moveTimes(object *unstructured.Unstructured, distance time.Duration) {
	entries, ok, err := unstructured.NestedFieldNoCopy(object.Object, "metadata", "managedFields")
	if !ok || err != nil {
		return
	}
	list, ok := entries.([]any)
	if !ok {
		return
	}
	for _, entry := range list {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		text, ok := fields["time"].(string)
		if !ok {
			continue
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil && !at.IsZero() {
			fields["time"] = at.Add(distance).UTC().Format(time.RFC3339)
		}
	}
}

// stepTime is the time of a step: the one it names, or one second after that of
// the step before it.
func stepTime(text string, index int) (time.Time, error) {
	if text == "" {
		return time.Date(2020, 1, 1, 0, 0, index, 0, time.UTC), nil
	}
	return time.Parse(time.RFC3339, text)
}
