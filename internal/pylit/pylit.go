// Package pylit reads the module-level literal assignments of a Python file
// without running Python: NAME = literal, NAME: T = literal and A = B = literal
// at column 0.
//
// It is not a Python parser: it recognizes tokens, brackets and literals, has no
// scopes and evaluates no expressions. A name inside a block (if, try, class,
// def) is not module-level here, an augmented assignment is not an assignment,
// and a grammar error that is not an error of tokens is not reported.
package pylit

import (
	"maps"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// Limits of Parse. A value that exceeds one is not a literal.
const (
	maxDepth    = 64   // brackets inside a value, and f-strings inside f-strings
	maxPath     = 1024 // bytes of a path in Doc.Pos; deeper values have the position of an ancestor
	maxResyncs  = 32   // damaged statements before the rest is read line by line
	maxWarnings = 50   // duplicate keys reported
)

// Result has the results of Parse other than the values.
type Result struct {
	// NonLiteral has the names whose last assignment is not a literal. The
	// Doc does not have them.
	NonLiteral map[string]NonLiteral
	// Fallback reports that the file does not parse as Python, so that names
	// after the error are guesses. A guess never replaces a value from before
	// the error.
	Fallback bool
	Findings []diag.Finding
}

// NonLiteral is the position and the reason of a value that is not a literal.
type NonLiteral struct {
	Pos    diag.Position
	Reason string // "a call or expression", "an f-string", …
}

// Parse returns every module-level literal of src with the position of its
// value. It never fails. The last assignment of a name wins; tuples and sets are
// lists; bytes, complex numbers, integers beyond 64 bits, infinities and
// dictionaries with keys other than strings are not literals.
func Parse(src []byte) (*tree.Doc, Result) {
	s := newScanner(string(src))
	s.checkCoding()
	s.run()
	return s.result()
}

// result returns the last assignment of every name.
func (s *scanner) result() (*tree.Doc, Result) {
	doc := tree.New()
	res := Result{NonLiteral: map[string]NonLiteral{}, Fallback: s.damaged, Findings: s.findings}
	for name, a := range s.names {
		if a.why != "" {
			res.NonLiteral[name] = NonLiteral{Pos: s.pos(a.off), Reason: a.why}
			continue
		}
		doc.Root[name] = a.value
		maps.Copy(doc.Pos, a.positions)
	}
	return doc, res
}
