// Package v1 has markers with faults.
// +groupName=example.com
package v1

// Program is found in the definition.
// +kubebuilder:object:root=true
type Program struct {
	Spec ProgramSpec `json:"spec"`
}

// ProgramSpec has a union.
type ProgramSpec struct {
	// +unionDiscriminator
	Type SourceType `json:"type"`
	// +unionMember=Repository
	Git *string `json:"git,omitempty"`
	// +unionMember,maybe
	// +required
	Image *string `json:"image"`
}

// SourceType has two values.
// +enum
type SourceType string

// The values.
const (
	Git   SourceType = "Git"
	Image SourceType = "Image"
)

// Other is in no document.
type Other struct {
	// +unionDeprecated
	A *int `json:"a,omitempty"`
}
