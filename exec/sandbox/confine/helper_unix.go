//go:build unix && !linux

package confine

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) == 2 && os.Args[1] == Command {
		os.Exit(run())
	}
}

// run applies the limits to this process and becomes the program. This system has no
// other means of isolation.
func run() int {
	const high = 64 // above the descriptors of the program
	if to, err := unix.FcntlInt(ReportFD, unix.F_DUPFD_CLOEXEC, high); err == nil {
		step, err := become(to)
		f := Failure{Step: step, What: err.Error()}
		if no := syscall.Errno(0); errors.As(err, &no) {
			f.Errno = int(no)
		}
		report(to, Message{Failure: &f})
	}
	return Failed
}

func report(to int, m Message) {
	_, _ = unix.Write(to, AppendMessage(nil, m))
}

func become(to int) (step string, err error) {
	f := os.NewFile(SpecFD, "spec")
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<20))
	if err != nil {
		return "start", err
	}
	spec, err := ParseSpec(b)
	if err != nil {
		return VersionStep, err
	}
	f.Close()
	unix.Close(ReportFD)
	for i := range spec.Files {
		if err := unix.Dup2(ReportFD+1+i, SpecFD+i); err != nil {
			return "descriptors", err
		}
	}
	for i := range 2 {
		unix.CloseOnExec(SpecFD + spec.Files + i)
	}
	for _, l := range spec.Rlimits {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(l.Resource, &old); err != nil {
			return "rlimits", err
		}
		old.Cur, old.Max = lower(l.Soft, old.Max), lower(l.Hard, old.Max)
		if err := syscall.Setrlimit(l.Resource, &old); err != nil {
			return "rlimits", err
		}
	}
	report(to, Message{Starting: true})
	return "exec", syscall.Exec(spec.Path, spec.Argv, spec.Env)
}

// lower returns the lower limit. The type differs between systems.
func lower[T int64 | uint64](limit uint64, hard T) T { return min(T(limit), hard) }
