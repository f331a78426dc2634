package cli

import (
	"runtime"
	"runtime/debug"
	"time"
)

// BuildTime returns the time of the commit this binary was built from, zero
// when it was built without one. The clock cannot honestly be earlier.
func BuildTime() time.Time {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return time.Time{}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			t, _ := time.Parse(time.RFC3339, s.Value)
			return t
		}
	}
	return time.Time{}
}

// VersionInfo is what a build knows of itself.
type VersionInfo struct {
	Version      string `json:"version"`
	Revision     string `json:"revision,omitempty"`
	Modified     bool   `json:"modified,omitempty"`
	Go           string `json:"go"`
	OS           string `json:"os"`
	Arch         string `json:"arch"`
	SystemBundle string `json:"system_bundle,omitempty"` // digest of the embedded manifest
}

// ReadVersion returns the version that the linker recorded.
func ReadVersion() VersionInfo {
	v := VersionInfo{
		Version: "(devel)",
		Go:      runtime.Version(),
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
