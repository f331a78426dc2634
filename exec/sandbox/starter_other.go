//go:build !linux

package sandbox

// Starter starts helpers. This system has none.
type Starter struct{}

// NewStarter returns nil.
func NewStarter(string) *Starter { return nil }
