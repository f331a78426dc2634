package proc

import (
	"os"
)

// Detached describes a program that outlives this process.
type Detached struct {
	Path   string   // absolute
	Args   []string // without the program's name
	Dir    string
	Env    []string // complete
	Input  []byte   // what the program reads from its stdin
	Output *os.File // its stdout and stderr; Detach does not close it
}

// Detach starts a program in a session of its own, without a terminal: the end of this
// process and of its session does not end it. It gets no descriptor that this process
// inherited. wait returns when the program has ended, as long as this process lives.
func Detach(d Detached) (p *os.Process, wait func() (*os.ProcessState, error), err error) {
	in, feed, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	inherited.Do(keepInherited)
	p, err = os.StartProcess(d.Path, append(
		[]string{d.Path},
		d.Args...,
	), &os.ProcAttr{
		Dir:   d.Dir,
		Env:   d.Env,
		Files: []*os.File{in, d.Output, d.Output},
		Sys:   detachedAttr(),
	})
	if err != nil {
		_ = feed.Close()
		return nil, nil, err
	}
	// An input that is larger than the pipe is written while the program reads.
	go func() {
		_, _ = feed.Write(d.Input)
		_ = feed.Close()
	}()
	return p, p.Wait, nil
}
