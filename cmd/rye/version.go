package main

import (
	"context"
	"io/fs"
	"runtime"
	"runtime/debug"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/item"
)

func versionCommand() *command {
	return &command{
		name: "version", group: "About rye",
		usage: "print the version of rye",
		long: `The version, the Go release and the platform come from the build itself. The
system bundle is the set of items inside the binary; its digest names them.`,
		examples: []string{"rye version", "rye version --json"},
		run:      runVersion,
	}
}

// versionInfo is what a build knows of itself.
type versionInfo struct {
	Version      string `json:"version"`
	Revision     string `json:"revision,omitempty"`
	Modified     bool   `json:"modified,omitempty"`
	Go           string `json:"go"`
	OS           string `json:"os"`
	Arch         string `json:"arch"`
	SystemBundle string `json:"system_bundle,omitempty"` // digest of the embedded manifest
}

func runVersion(_ context.Context, c *call) error {
	v := readVersion()
	v.SystemBundle = systemBundle(c.Stdlib)
	return c.ui.Show(v, func() {
		c.ui.Out("rye %s (%s, %s/%s)", v.Version, v.Go, v.OS, v.Arch)
		if v.SystemBundle != "" {
			c.ui.Out("system bundle %s", v.SystemBundle)
		}
	})
}

// readVersion returns what the linker recorded.
func readVersion() versionInfo {
	v := versionInfo{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
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

// systemBundle returns the digest of the embedded manifest, "" without one.
func systemBundle(stdlib fs.FS) string {
	if stdlib == nil {
		return ""
	}
	b, err := fs.ReadFile(stdlib, bundle.ManifestPath("rye-core"))
	if err != nil {
		return ""
	}
	return item.DigestOf(b).String()
}
