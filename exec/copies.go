package exec

import (
	"bytes"

	"github.com/ryeos/rye/internal/proc"
)

// copied is a file or directory of the store that a program receives in place of
// an item's own.
type copied struct{ copy, original string }

// original replaces the paths of copies by the paths of the items, so that the lines of
// a traceback name files that the user can edit.
func (p *Plan) original(text []byte) []byte {
	for _, c := range p.copies {
		text = bytes.ReplaceAll(text, []byte(c.copy), []byte(c.original))
	}
	return text
}

// withOriginals returns onLine with the paths in lines of stderr replaced.
func (p *Plan) withOriginals(onLine func(proc.Stream, []byte)) func(proc.Stream, []byte) {
	if onLine == nil || len(p.copies) == 0 {
		return onLine
	}
	return func(s proc.Stream, line []byte) {
		if s == proc.Stderr {
			line = p.original(line)
		}
		onLine(s, line)
	}
}
