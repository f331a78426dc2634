package proc

import "os"

// streams are the two sides of a program's descriptors.
type streams struct {
	in       *os.File // of this process, nil if the program reads the null device
	out, err *os.File // of this process
	theirs   []*os.File
}

func openStreams(c Cmd) (s streams, err error) {
	s.theirs = append(
		make([]*os.File, 3, 3+len(c.Files)),
		c.Files...,
	)
	defer func() {
		if err != nil {
			s.closeTheirs()
			s.closeOurs()
		}
	}()
	if c.Stdin == nil {
		s.theirs[0], err = os.Open(os.DevNull)
	} else {
		s.theirs[0], s.in, err = os.Pipe()
	}
	if err != nil {
		return s, err
	}
	if s.out, s.theirs[1], err = os.Pipe(); err != nil {
		return s, err
	}
	if s.err, s.theirs[2], err = os.Pipe(); err != nil {
		return s, err
	}
	return s, nil
}

// closeTheirs closes the program's side.
func (s streams) closeTheirs() {
	for _, f := range s.theirs {
		f.Close()
	}
}

func (s streams) closeOurs() {
	for _, f := range []*os.File{s.in, s.out, s.err} {
		f.Close()
	}
}
