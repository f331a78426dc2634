package sandbox

import (
	"github.com/ryeos/rye/internal/proc"
)

// Wrap changes cmd so that proc.Run starts its program under limits: this system
// isolates no files and no network. Run cmd at once, and then call End.
func Wrap(cmd *proc.Cmd, g Grant, ladder Ladder) (Report, End, error) {
	if _, err := ladder.choose(g); err != nil {
		return Report{}, nil, err
	}
	l := g.Limits.WithDefaults()
	cmd.Job = proc.Job{Memory: l.MemoryMB << 20, Processes: l.Processes, CPUSeconds: l.CPUSeconds}
	r := basicReport(ladder)
	r.Layers = append(r.Layers, "job")
	for _, limit := range []string{"open_files", "file_size_mb", "disk_mb", "files"} {
		r.missing("limit " + limit)
	}
	return r, func(*proc.Result) error { return nil }, nil
}
