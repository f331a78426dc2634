//go:build linux && !amd64 && !arm64

package confine

// sysSeccomp does not exist: rye has no filter for this architecture, and never asks for one.
const sysSeccomp = ^uintptr(0)

// sysStatx is not known for every architecture: a file is not measured there.
const sysStatx = ^uintptr(0)
