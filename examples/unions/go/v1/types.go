// Package v1 has the types of programs.
// +groupName=example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/programs/sources"
)

// Program is something that runs.
// +kubebuilder:object:root=true
type Program struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ProgramSpec `json:"spec,omitempty"`
}

// ProgramSpec is what is wanted.
type ProgramSpec struct {
	// Source is where the program is.
	Source Source `json:"source"`

	// Steps are done one after the other.
	// +optional
	Steps []Step `json:"steps,omitempty"`
}

// Source is a union with a discriminator.
type Source struct {
	// +unionDiscriminator
	// +required
	Type sources.SourceType `json:"type"`

	// +unionMember
	// +optional
	Git *GitSource `json:"git,omitempty"`
	// +unionMember,optional
	// +optional
	Image *string `json:"image,omitempty"`
}

// GitSource is a repository.
type GitSource struct {
	URL string `json:"url"`
}

// Step has exactly one member.
type Step struct {
	Name string `json:"name"`

	// +k8s:optional
	// +k8s:unionMember
	Run *string `json:"run,omitempty"`
	// +k8s:optional
	// +k8s:unionMember
	Wait *string `json:"wait,omitempty"`
}
