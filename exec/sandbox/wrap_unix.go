//go:build unix && !linux

package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
)

// Wrap changes cmd so that proc.Run starts its program under limits: this system
// isolates no files and no network. Run cmd at once, and then call End.
func Wrap(cmd *proc.Cmd, g Grant, ladder Ladder) (Report, End, error) {
	if _, err := ladder.choose(g); err != nil {
		return Report{}, nil, err
	}
	r := basicReport(ladder)
	r.Layers = append(r.Layers, layerRlimits)
	for _, limit := range []string{"memory_mb", "processes", "disk_mb", "files"} {
		r.missing("limit " + limit)
	}
	original := *cmd
	original.Env = proc.Merge(cmd.Env)
	var err error
	if original.Path == "" {
		if original.Path, err = proc.LookPath(cmd.Argv[0], original.Env); err != nil {
			return Report{}, nil, err
		}
	}
	out, err := channel(cmd, original, g)
	if err != nil {
		return Report{}, nil, diag.New(diag.FileSystemError, "preparing the sandbox: %w", err)
	}
	return r, func(res *proc.Result) error { return ended(res, out, original, g) }, nil
}

// channel makes cmd start the helper with a spec and a pipe for the report.
func channel(cmd *proc.Cmd, c proc.Cmd, g Grant) (*os.File, error) {
	l := g.Limits.WithDefaults()
	spec := confine.Spec{
		Path:  c.Path,
		Argv:  c.Argv,
		Env:   c.Env,
		Dir:   c.Dir,
		Files: len(c.Files),
		Rlimits: []confine.Rlimit{
			{Resource: unix.RLIMIT_CORE},
			{Resource: unix.RLIMIT_CPU, Soft: uint64(l.CPUSeconds), Hard: uint64(l.CPUSeconds + 5)},
			{Resource: unix.RLIMIT_FSIZE, Soft: uint64(l.FileSizeMB << 20), Hard: uint64(l.FileSizeMB << 20)},
			{Resource: unix.RLIMIT_NOFILE, Soft: uint64(l.OpenFiles), Hard: uint64(l.OpenFiles)},
		},
	}
	f, err := os.CreateTemp("", "rye-run-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err := f.WriteAt(confine.AppendSpec(nil, &spec), 0); err != nil {
		f.Close()
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		f.Close()
		return nil, err
	}
	cmd.Path = g.Self
	cmd.Argv = []string{"rye", confine.Command}
	cmd.Env = nil
	if !filepath.IsAbs(cmd.Dir) {
		cmd.Dir = ""
	}
	cmd.Files = append([]*os.File{f, theirs}, cmd.Files...)
	return out, nil
}

// ended reads the report.
func ended(res *proc.Result, out *os.File, c proc.Cmd, g Grant) error {
	defer out.Close()
	if res == nil {
		return nil
	}
	started := false
	b, _ := io.ReadAll(io.LimitReader(out, 64<<10))
	for len(b) > 0 {
		m, rest, err := confine.ParseMessage(b)
		if err != nil {
			return otherVersion(g.Self)
		}
		b = rest
		started = started || m.Starting
		switch {
		case m.Failure != nil && m.Failure.Step == confine.VersionStep:
			return otherVersion(g.Self)
		case m.Failure == nil:
		case m.Failure.Step == "exec":
			return proc.StartError(c, syscall.Errno(m.Failure.Errno))
		default:
			return diag.New(diag.SandboxUnavailable, "starting the sandbox: %s: %s", m.Failure.Step, m.Failure.What).WithReason("sandbox_step")
		}
	}
	if !started && res.Signal == "" && !res.TimedOut && !res.Cancelled {
		return unreported(res, nil)
	}
	limit := ""
	switch res.Signal {
	case "SIGXCPU":
		limit = "cpu_seconds"
	case "SIGXFSZ":
		limit = "file_size_mb"
	}
	if limit == "" || res.TimedOut || res.Cancelled {
		return nil
	}
	return exceededError(limit, g.Limits.WithDefaults(), 0)
}
