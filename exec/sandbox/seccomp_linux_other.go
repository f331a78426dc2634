//go:build linux && !amd64 && !arm64

package sandbox

// No filter has been written for this architecture: Probe reports it as missing.
const (
	auditArch = 0
	x32Bit    = 0
)

func refusedOfArch() []uint32 { return nil }

func modeCallsOfArch() []modeCall { return nil }

func ownerCallsOfArch() []uint32 { return nil }
