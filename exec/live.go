package exec

import (
	"bytes"

	"github.com/ryeos/rye/internal/proc"
)

// splitLive returns onLine for a program of rye: the progress that it writes to
// stderr arrives as proc.Live.
func splitLive(onLine func(proc.Stream, []byte)) func(proc.Stream, []byte) {
	if onLine == nil {
		return nil
	}
	return func(s proc.Stream, line []byte) {
		live, ok := bytes.CutPrefix(line, []byte(proc.LiveMark))
		if ok && s == proc.Stderr {
			s = proc.Live
			line = live
		}
		onLine(s, line)
	}
}

// withoutResult returns onLine without stdout, which is the encoded content of a file.
func withoutResult(onLine func(proc.Stream, []byte)) func(proc.Stream, []byte) {
	if onLine == nil {
		return nil
	}
	return func(s proc.Stream, line []byte) {
		if s != proc.Stdout {
			onLine(s, line)
		}
	}
}

// withoutLive returns stderr without its lines of progress.
func withoutLive(stderr []byte) []byte {
	if !bytes.Contains(stderr, []byte(proc.LiveMark)) {
		return stderr
	}
	var out []byte
	for line := range bytes.Lines(stderr) {
		if !bytes.HasPrefix(line, []byte(proc.LiveMark)) {
			out = append(out, line...)
		}
	}
	return out
}
