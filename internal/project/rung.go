package project

import (
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/policy"
)

// rungFile is the file of the state directory with the last weaker rung of the sandbox
// that rye reported.
const rungFile = "sandbox-rung"

// FirstOfRung reports whether a run is the first one on this machine in a rung that is
// weaker than strict, and records it.
func (p *Project) FirstOfRung(rung string) bool {
	if p.Dirs.State == "" || rung != policy.RungLandlock && rung != policy.RungBasic {
		return false
	}
	b, _ := openat.ReadRegular(filepath.Join(p.Dirs.State, rungFile), openat.MaxText)
	if strings.TrimSpace(string(b)) == rung {
		return false
	}
	return atomicfile.Private(p.Dirs.State).Write(
		rungFile,
		[]byte(rung+"\n"),
		0o600,
	) == nil
}
