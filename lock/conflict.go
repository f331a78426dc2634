package lock

import (
	"bytes"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Conflicted reports whether a text contains conflict markers of a merge.
func Conflicted(b []byte) bool {
	return conflictLine(b) > 0
}

// conflictLine returns the line of the first conflict marker, or 0.
func conflictLine(b []byte) int {
	marked := func(c string) bool {
		return bytes.Contains(b, []byte(strings.Repeat(c, 7)))
	}
	if !marked("<") &&
		!marked("|") &&
		!marked("=") &&
		!marked(">") {
		return 0
	}
	n := 0
	for line := range bytes.Lines(b) {
		n++
		if m := ConflictMarker(string(line)); m != 0 {
			return n
		}
	}
	return 0
}

// ConflictMarker returns the character of a conflict marker line, one of "<|=>", or 0
// for another line.
func ConflictMarker(line string) byte {
	line = strings.TrimRight(line, "\r\n")
	if len(line) < 7 || strings.IndexByte("<|=>", line[0]) < 0 {
		return 0
	}
	rest := strings.TrimLeft(line, line[:1])
	if len(line)-len(rest) < 7 || rest != "" && rest[0] != ' ' {
		return 0
	}
	return line[0]
}

// ParseLockConflict reads both sides of a lock with conflict markers, so that both
// can be resolved again. Both are nil exactly when a finding is an error. Findings
// name their side and have the line numbers of that side.
func ParseLockConflict(b []byte) (ours, theirs *Lock, fs []diag.Finding) {
	a, c, fs := Sides(b)
	if len(fs) > 0 {
		return nil, nil, damaged(fs)
	}
	ours, fs = ParseLock(a)
	theirs, more := ParseLock(c)
	fs = append(named(fs, "ours"), named(more, "theirs")...)
	if ours == nil || theirs == nil {
		return nil, nil, fs
	}
	return ours, theirs, fs
}

func named(fs []diag.Finding, side string) []diag.Finding {
	for i := range fs {
		fs[i].Message = "the side " + side + ": " + fs[i].Message
	}
	return fs
}

// Sides divides a text with conflict markers into its two sides.
func Sides(b []byte) (ours, theirs []byte, fs []diag.Finding) {
	if len(b) > MaxLock {
		return nil, nil, precheck(b, MaxLock, "lock")
	}
	state := byte(0)
	n := 0
	for line := range bytes.Lines(b) {
		n++
		m := ConflictMarker(string(line))
		switch {
		case m == 0:
			if state == 0 || state == '<' {
				ours = append(ours, line...)
			}
			if state == 0 || state == '=' {
				theirs = append(theirs, line...)
			}
		case m == follows(state, m):
			state = m
			if m == '>' {
				state = 0
			}
		default:
			return nil, nil, []diag.Finding{diag.Errorf(
				diag.ParsingError,
				n,
				1,
				"unexpected conflict marker %q",
				string(m),
			)}
		}
	}
	if state != 0 {
		return nil, nil, []diag.Finding{diag.Errorf(diag.ParsingError, n, 1, "the conflict has no end marker")}
	}
	return ours, theirs, nil
}

// follows returns m when the marker m may follow a state, else 0.
func follows(state, m byte) byte {
	switch {
	case m == '<' && state == 0,
		m == '|' && state == '<',
		m == '=' && (state == '<' || state == '|'),
		m == '>' && state == '=':
		return m
	}
	return 0
}

// Pins returns the entries of several locks by version, so that resolving again
// uses the locked values. Two sums for one version are a SUM_CONFLICT.
func Pins(locks ...*Lock) (map[Module]Bundle, error) {
	out := map[Module]Bundle{}
	var fs []diag.Finding
	for _, l := range locks {
		for _, b := range l.Bundles {
			was, known := out[b.Module()]
			if known && was.Sum != b.Sum && was.Sum != "" && b.Sum != "" {
				fs = append(fs, diag.Errorf(
					diag.SumConflict,
					0,
					0,
					"%s has the sum %s on one side and %s on the other",
					b.Module(),
					was.Sum,
					b.Sum,
				))
			}
			if !known || was.Sum == "" {
				out[b.Module()] = b
			}
		}
	}
	return out, diag.FromFindings("reading both sides of "+LockFile, fs)
}
