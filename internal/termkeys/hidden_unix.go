//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package termkeys

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// ReadHidden reads a line at a terminal without echo and returns it without its end. It calls ask
// when the echo is off, so that a text that is pasted at once is not shown. The end of the input
// is io.EOF, also after text: the person has not seen it, so it is not taken for a whole line. A
// process in the background stops until it is in the foreground.
//
// ReadPassword of golang.org/x/term repeats a read at the end of the input: Ctrl-D does nothing
// there, and the read of a closed terminal never ends.
func ReadHidden(f *os.File, ask func()) ([]byte, error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	hide := func() error {
		now := *before
		now.Lflag &^= unix.ECHO
		now.Lflag |= unix.ICANON | unix.ISIG
		now.Iflag |= unix.ICRNL
		return unix.IoctlSetTermios(fd, setTermios, &now)
	}
	if err := hide(); err != nil {
		return nil, err
	}
	defer func() {
		_ = unix.IoctlSetTermios(fd, setTermios, before)
	}()
	// It must end before the modes are restored, otherwise a late signal hides what is typed afterwards.
	stop := afterStop(func() { _ = hide() })
	defer stop()
	ask()
	var line []byte
	for b := make([]byte, 4096); ; { // the longest line that a terminal edits
		n, err := f.Read(b)
		line = append(line, b[:n]...)
		// The line is a secret: no copy of it remains in memory that is used again.
		clear(b[:n])
		text, ok := bytes.CutSuffix(line, []byte("\n"))
		if ok {
			return text, nil
		}
		if err != nil {
			clear(line)
			return nil, err
		}
	}
}
