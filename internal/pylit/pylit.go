// Package pylit reads the module-level literal assignments of a Python file
// without running Python: NAME = literal, NAME: T = literal and A = B = literal
// at column 0.
//
// It is not a Python parser: it knows tokens, brackets and literals, sees no
// scopes and evaluates no expressions. A name that stands inside a block (if,
// try, class, def) is not module-level here, an augmented assignment is not an
// assignment, and an error of grammar that is no error of tokens goes unseen.
package pylit

import (
	"maps"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// Limits of what Parse follows; beyond them a value is not a literal.
const (
	maxDepth    = 64   // brackets inside a value, and f-strings inside f-strings
	maxPath     = 1024 // bytes of a path in Doc.Pos; deeper places have their ancestor's
	maxResyncs  = 32   // damaged statements before the rest is read line by line
	maxWarnings = 50   // duplicate keys reported
)

// Result tells what Parse learned besides the values.
type Result struct {
	// NonLiteral holds the names whose last assignment is not a literal;
	// such a name is absent from the Doc.
	NonLiteral map[string]NonLiteral
	// Fallback is true when the file does not parse as Python and names after
	// the damage were read by guess. A guess never replaces what was read
	// before the damage.
	Fallback bool
	Findings []diag.Finding
}

// NonLiteral tells where and why a value is not a literal.
type NonLiteral struct {
	Pos    diag.Pos
	Reason string // "a call or expression", "an f-string", …
}

// Parse returns every module-level literal of src with the place of its value;
// it never fails. The last assignment of a name wins; tuples and sets are
// lists; bytes, complex numbers, integers beyond 64 bits, infinities and
// dictionaries with keys other than strings are not literals.
func Parse(src []byte) (*tree.Doc, Result) {
	s := newScanner(string(src))
	s.checkCoding()
	s.run()
	return s.result()
}

// result gathers the last assignment of every name.
func (s *scanner) result() (*tree.Doc, Result) {
	doc := tree.New()
	res := Result{NonLiteral: map[string]NonLiteral{}, Fallback: s.damaged, Findings: s.findings}
	for name, a := range s.names {
		if a.why != "" {
			res.NonLiteral[name] = NonLiteral{Pos: s.pos(a.off), Reason: a.why}
			continue
		}
		doc.Root[name] = a.value
		maps.Copy(doc.Pos, a.places)
	}
	return doc, res
}
