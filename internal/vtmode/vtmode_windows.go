package vtmode

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

const wanted = windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING

func enable(streams []any) (restore func(), known bool) {
	var switched []func()
	known = true
	for _, s := range streams {
		f, ok := s.(*os.File)
		if !ok {
			continue
		}

		h := windows.Handle(f.Fd())
		before, changed, err := set(h)
		if err != nil {
			// Consoles before Windows 10 refuse a mode that they do not know.
			known = false
			continue
		}
		if !changed {
			continue
		}

		switched = append(switched, func() {
			_ = windows.SetConsoleMode(h, before)
		})
	}
	return func() {
		for _, f := range switched {
			f()
		}
	}, known
}

// set switches the mode on, and returns the earlier modes and whether it was off. A handle that is not an
// output of a console is left alone.
func set(h windows.Handle) (before uint32, changed bool, err error) {
	// The input of a console has modes, too, and the same bit means something else there.
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(h, &info) != nil {
		return 0, false, nil
	}
	if windows.GetConsoleMode(h, &before) != nil {
		return 0, false, nil
	}
	if before&wanted == wanted {
		return before, false, nil
	}
	return before, true, windows.SetConsoleMode(h, before|wanted)
}

func writer(stream io.Writer) io.Writer {
	f, ok := stream.(*os.File)
	if !ok {
		return stream
	}
	return switching{f}
}

// switching writes to a console that other programs may write to.
type switching struct{ f *os.File }

func (w switching) Write(b []byte) (int, error) {
	// A console that refuses the mode gets no escape sequences: Enable has found out.
	_, _, _ = set(windows.Handle(w.f.Fd()))
	return w.f.Write(b)
}
