package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// computedName is the name in a set of names if the text computes one of them.
const computedName = ""

// setNames adds the variables that a text sets by another means than an assignment, whose
// value is not known.
func (s *shellScan) setNames(f *syntax.File) {
	w := &shellWalk{shellScan: newScan(s.table)}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.WordIter: // for and select
			s.loops[n.Name.Value] = true
		case *syntax.ParamExp: // ${NAME:=VALUE}
			if n.Param != nil &&
				n.Exp != nil &&
				(n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				s.sets[n.Param.Value] = true
			}
		case *syntax.DeclClause: // declare -n NAME=OTHER: NAME is another name of OTHER
			for _, a := range n.Args {
				if a.Value != nil && a.Name != nil && isReference(w, n) {
					s.setName(w.static(a.Value.Parts, false))
				}
			}
		case *syntax.CallExpr:
			s.setByCall(w, n)
		}
		return true
	})
}

// isReference reports whether a declaration has the option -n.
func isReference(w *shellWalk, decl *syntax.DeclClause) bool {
	return decl.Variant.Value == "nameref" || slices.ContainsFunc(decl.Args, func(a *syntax.Assign) bool {
		if !a.Naked || a.Value == nil {
			return false
		}
		text, dyn := w.static(a.Value.Parts, false)
		return dyn || strings.HasPrefix(text, "-") && strings.Contains(text, "n")
	})
}

// setByCall adds the variables that a builtin sets which its arguments name. A builtin can
// have command or builtin before it.
func (s *shellScan) setByCall(w *shellWalk, call *syntax.CallExpr) {
	var words []shellWord
	for _, word := range call.Args {
		text, dyn := w.static(word.Parts, false)
		words = append(words, shellWord{text: text, dynamic: dyn, marked: text})
	}
	builtin := slices.IndexFunc(words, func(a shellWord) bool {
		return slices.Contains([]string{"read", "printf", "mapfile", "readarray", "getopts"}, a.text)
	})
	if builtin < 0 {
		return
	}
	args := words[builtin+1:]
	valued := "dnOsuCc"
	if words[builtin].text == "read" {
		valued = "dinNptu"
	}
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1].text
		}
		if words[builtin].text == "printf" {
			name, ok := strings.CutPrefix(a.text, "-v")
			if ok && i < 2 && (name != "" || a.dynamic) {
				s.setName(name, a.dynamic)
			} else if before == "-v" && i < 3 {
				s.setName(a.text, a.dynamic)
			}
			continue
		}
		if strings.HasPrefix(before, "-") && strings.IndexAny(before, valued) == len(before)-1 {
			continue // read -p "$QUESTION" NAME: the value of an option
		}
		s.setName(strings.TrimPrefix(a.text, "-a"), a.dynamic)
	}
}

// setName adds one name, which can have a subscript.
func (s *shellScan) setName(name string, dyn bool) {
	if dyn {
		name = computedName
	}
	name, _, _ = strings.Cut(name, "[")
	s.sets[name] = true
}

// isSet reports whether the texts that were read set a variable to an unknown value.
func (s *shellScan) isSet(name string) bool {
	return s.sets[name] || s.sets[computedName]
}

// loop collects what another program runs because of the variable of for or select.
func (w *shellWalk) loop(iter *syntax.WordIter, shown string) {
	for _, item := range iter.Items {
		for _, value := range w.fields(item) {
			if !value.dynamic { // a computed one matters where the text passes it on
				w.assigned(iter.Name.Value, value, shown)
			}
		}
	}
}
