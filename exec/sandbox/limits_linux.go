package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
)

// limits plans the limits: rlimits of the kernel for each process, and measurements of
// all processes together.
func (w *wrapped) limits() {
	l := w.g.Limits
	add := func(resource int, soft, hard int64) {
		w.spec.Rlimits = append(w.spec.Rlimits, confine.Rlimit{
			Resource: resource,
			Soft:     uint64(soft),
			Hard:     uint64(hard),
			Child:    resource == unix.RLIMIT_CPU || resource == unix.RLIMIT_DATA,
		})
	}
	add(unix.RLIMIT_CORE, 0, 0)
	add(unix.RLIMIT_CPU, l.CPUSeconds, l.CPUSeconds+5)
	add(unix.RLIMIT_FSIZE, l.FileSizeMB<<20, l.FileSizeMB<<20)
	add(unix.RLIMIT_NOFILE, l.OpenFiles, l.OpenFiles)
	add(unix.RLIMIT_DATA, l.MemoryMB<<20, l.MemoryMB<<20) // RLIMIT_AS ends node
	if w.spec.Namespaces && os.Geteuid() != 0 {
		// One more than permitted, so that the measurement sees the excess.
		w.spec.Rlimits = append(w.spec.Rlimits, confine.Rlimit{
			Resource: unix.RLIMIT_NPROC,
			Soft:     uint64(l.Processes + 1),
			Hard:     uint64(l.Processes + 1),
			Own:      true,
			Child:    true,
		})
	}
	w.spec.Watch = confine.Watch{
		Every:     50,
		CPU:       l.CPUSeconds,
		Memory:    l.MemoryMB << 20,
		Processes: l.Processes,
		Disk:      l.DiskMB << 20,
		Files:     l.Files,
		Roots:     w.roots(),
	}
	if !w.spec.Namespaces {
		w.spec.Watch.Every = 250 // reads all processes of the machine
	}
}

// roots are the writable directories whose files are counted, without links on the way.
func (w *wrapped) roots() []string {
	var out []string
	for _, p := range slices.Concat(w.g.Write, []string{w.g.Cache}) {
		real, err := filepath.EvalSymlinks(p)
		if p != "" && err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// enclosed adds the cgroup of the run, which it may lack.
func (w *wrapped) enclosed(c *cgroup) {
	l := w.g.Limits
	memory := l.MemoryMB << 20
	if w.g.Tmp {
		memory += tmpSize
	}
	w.cgroup = c // also without limits: a helper that was started early is in it
	applies := c != nil && c.limit(memory, l.Processes) == nil
	if applies {
		w.report.Layers = append(w.report.Layers, layerCgroup)
	} else {
		w.missing(layerCgroup)
	}
	if applies && !c.in.memory {
		w.missing(layerCgroup + ".memory")
	}
	if applies && !c.in.pids {
		w.missing(layerCgroup + ".pids")
	}
	separate := w.spec.Namespaces && (os.Geteuid() != 0 || pidMax(l.Processes) > 0)
	if !separate && !(applies && c.in.pids) {
		w.missing("rlimit.nproc") // processes are measured only: the kernel does not apply it to root, and outside a namespace it includes all processes of the user
	}
}

// exceeded returns RESOURCE_EXCEEDED if a limit ended the program, or if it failed and
// reports that a limit of the kernel refused it something.
func (w *wrapped) exceeded(res *proc.Result, end *confine.End) error {
	limit := end.Exceeded
	measured := end.Measured
	if limit == "" && res.ExitCode != 0 {
		limit, measured = w.cgroup.exceeded()
	}
	switch {
	case limit != "" || res.ExitCode == 0:
	case res.ExitCode == 128+int(unix.SIGXFSZ): // of a child of a shell
		limit = "file_size_mb"
	case res.ExitCode == 128+int(unix.SIGXCPU):
		limit = "cpu_seconds"
	default:
		limit = w.refusedBy(string(res.Stderr))
	}
	if limit == "" {
		return nil
	}
	return exceededError(limit, w.g.Limits, measured)
}

// refusedBy returns the limit that the messages of a failed program name. A refused
// allocation or file is an error inside the program, which no one else sees.
func (w *wrapped) refusedBy(stderr string) string {
	if len(stderr) > 64<<10 {
		stderr = stderr[len(stderr)-64<<10:]
	}
	for _, sign := range []struct{ limit, texts string }{
		{"file_size_mb", "File too large|file too large|EFBIG|SIGXFSZ|File size limit exceeded"},
		{"open_files", "Too many open files|too many open files|EMFILE"},
		{"memory_mb", "MemoryError|Cannot allocate memory|cannot allocate memory|out of memory|JavaScript heap out of memory|ENOMEM"},
		{"processes", "Cannot fork|fork failed|fork: retry|fork: Resource temporarily unavailable|can't start new thread|failed to create new OS thread|fork/exec"},
	} {
		for _, text := range strings.Split(sign.texts, "|") {
			if text == "fork/exec" { // Go's message needs the error as well
				if strings.Contains(stderr, text) && strings.Contains(stderr, "resource temporarily unavailable") {
					return sign.limit
				}
			} else if strings.Contains(stderr, text) {
				return sign.limit
			}
		}
	}
	if w.g.Tmp &&
		(strings.Contains(stderr, "No space left on device") || strings.Contains(stderr, "no space left on device") || strings.Contains(stderr, "ENOSPC")) {
		return "disk_mb"
	}
	return ""
}
