// Package sources has what several versions share.
package sources

// SourceType says where a program is.
// +enum
type SourceType string

// None needs no member.
const (
	Git   SourceType = "Git"
	Image SourceType = "Image"
	None  SourceType = "None"
)
