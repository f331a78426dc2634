package mcpclient

import (
	"bytes"
	"regexp"
)

// maxStderr is the maximum length of stderr in an error, in bytes.
const maxStderr = 2 << 10

// moment is a point in the output of a server, for the part of it after a call
// began. The zero value is the start of the server.
type moment struct {
	stderr  int64 // bytes written before
	skipped int   // lines of stdout that were not messages
}

// now returns the current moment.
func (p *program) now() moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return moment{p.written, p.skips}
}

// since returns the end of what the server wrote to stderr after a moment, without
// control sequences of terminals, and the first line of stdout after it that was
// not a message, as far as it is known.
func (p *program) since(m moment) (stderr, skipped string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := min(p.written-m.stderr, int64(len(p.tail)))
	b := visibleText(p.tail[int64(len(p.tail))-fresh:])
	if over := len(b) - maxStderr; over > 0 {
		b = b[over:]
		i := bytes.IndexByte(b, '\n')
		if i >= 0 && i < len(b)/2 {
			b = b[i+1:] // the cut is inside a line
		}
	}
	switch {
	case m.skipped == 0:
		skipped = p.skipped
	case p.skips > m.skipped:
		skipped = p.lastSkipped
	}
	return string(b), skipped
}

// visibleText returns UTF-8 text without the sequences that color it or move the
// cursor.
func visibleText(b []byte) []byte {
	b = terminalSequence().ReplaceAll(b, nil)
	return bytes.TrimSpace(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// terminalSequence matches the control sequences of ECMA-48: CSI, and OSC up to its
// end.
func terminalSequence() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\-_]")
}
