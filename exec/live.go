package exec

import (
	"bytes"

	"github.com/ryeos/rye/internal/proc"
)

// apart hands on what a program of rye tells of its progress as proc.Live, not
// as the stderr that it came by.
func apart(onLine func(proc.Stream, []byte)) func(proc.Stream, []byte) {
	if onLine == nil {
		return nil
	}
	return func(s proc.Stream, line []byte) {
		if told, ok := bytes.CutPrefix(line, []byte(proc.LiveMark)); ok && s == proc.Stderr {
			s, line = proc.Live, told
		}
		onLine(s, line)
	}
}

// withoutLive takes the lines of proc.Live out of what came by stderr.
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
