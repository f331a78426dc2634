package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// evaluations finds what a text evaluates without a command of its own: arithmetic and
// subscripts run the substitutions in the values of their variables, ${NAME@P} those in a
// value, and ${!NAME} those in a subscript of a name.
func (w *shellWalk) evaluations(f *syntax.File) {
	integers := map[string]bool{}
	var tests []*syntax.TestClause
	var extended []*syntax.ExtGlob
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp:
			w.arithmetic(n.X, n)
		case *syntax.ArithmCmd:
			w.arithmetic(n.X, n)
		case *syntax.LetClause:
			for _, e := range n.Exprs {
				w.arithmetic(e, n)
			}
		case *syntax.CStyleLoop:
			for _, e := range []syntax.ArithmExpr{n.Init, n.Cond, n.Post} {
				w.arithmetic(e, n)
			}
		case *syntax.ParamExp:
			w.expansion(n)
		case *syntax.Assign:
			if n.Name != nil &&
				n.Index != nil &&
				!w.maps[n.Name.Value] {
				w.arithmetic(n.Index, n)
			}
		case *syntax.BinaryTest:
			if numericTest(n.Op) {
				for _, x := range []syntax.TestExpr{n.X, n.Y} {
					if word, ok := x.(*syntax.Word); ok {
						w.arithmetic(word, n)
					}
				}
			}
		case *syntax.UnaryTest:
			word, ok := n.X.(*syntax.Word)
			if ok && n.Op == syntax.TsVarSet && w.word(word.Parts).chosen() {
				w.doubt(dynamic, w.shown(n))
			}
		case *syntax.DeclClause:
			w.declaration(n, integers)
		case *syntax.TestClause: // its patterns can have extended ones
			tests = append(tests, n)
		case *syntax.ExtGlob:
			extended = append(extended, n)
		}
		return true
	})
	for _, e := range extended { // bash parses them elsewhere only after shopt -s extglob
		in := slices.ContainsFunc(tests, func(t *syntax.TestClause) bool {
			return e.Pos().After(t.Pos()) &&
				t.End().After(e.Pos())
		})
		if !in && !strings.Contains(w.src, "extglob") {
			w.doubt(unparsed, w.src)
		}
	}
	if len(integers) == 0 {
		return
	}
	syntax.Walk(f, func(n syntax.Node) bool { // declare -i NAME: each assignment is arithmetic
		a, ok := n.(*syntax.Assign)
		if ok && a.Name != nil && a.Value != nil && integers[a.Name.Value] {
			w.arithmetic(a.Value, a)
		}
		return true
	})
}

func numericTest(op syntax.BinTestOperator) bool {
	return slices.Contains(
		[]syntax.BinTestOperator{
			syntax.TsEql,
			syntax.TsNeq,
			syntax.TsLeq,
			syntax.TsGeq,
			syntax.TsLss,
			syntax.TsGtr,
		},
		op,
	)
}

// declaration finds names that the arguments of declare and export compute.
func (w *shellWalk) declaration(n *syntax.DeclClause, integers map[string]bool) {
	integer := false
	for _, a := range n.Args {
		if a.Name != nil || a.Value == nil {
			continue
		}
		word := w.word(a.Value.Parts)
		if strings.HasPrefix(word.text, "-") {
			integer = integer || strings.Contains(word.text, "i")
			continue
		}
		name, _, _ := strings.Cut(word.marked, "=")
		if (shellWord{marked: name}).computed() {
			w.doubt(dynamic, w.shown(n))
		}
	}
	for _, a := range n.Args {
		if a.Name != nil && integer {
			integers[a.Name.Value] = true
		}
		if a.Name != nil &&
			a.Value != nil &&
			isReference(w, n) &&
			w.word(a.Value.Parts).chosen() {
			w.doubt(dynamic, w.shown(n)) // declare -n NAME="$1": a name with a subscript
		}
	}
}

// arithmetic needs a person for an expression with a value that the text takes from
// elsewhere.
func (w *shellWalk) arithmetic(e syntax.ArithmExpr, within syntax.Node) {
	if e == nil {
		return
	}
	unsafe := false
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			unsafe = unsafe || !w.areNumbers(n.Value)
		case *syntax.SglQuoted:
			unsafe = unsafe || !w.areNumbers(n.Value)
		case *syntax.ParamExp:
			unsafe = unsafe || !w.isNumberVariable(n)
			if n.Param != nil && w.maps[n.Param.Value] {
				return false
			}
		case *syntax.CmdSubst:
			unsafe = unsafe || !w.isNumber(n)
			return false
		case *syntax.ProcSubst, *syntax.ExtGlob:
			unsafe = true
		}
		return true
	})
	if unsafe {
		w.doubt(dynamic, w.shown(within))
	}
}

// areNumbers reports whether arithmetic can read the variables that a text names.
func (w *shellWalk) areNumbers(text string) bool {
	return !slices.ContainsFunc(strings.FieldsFunc(text, notInName), func(name string) bool {
		return isName(name) && !w.isNumberName(name)
	})
}

// expansion needs a person for what an expansion of a variable evaluates.
func (w *shellWalk) expansion(p *syntax.ParamExp) {
	if p.Param == nil {
		return
	}
	name := p.Param.Value
	if p.Index != nil && !isAll(p.Index) && !w.maps[name] {
		w.arithmetic(p.Index, p)
	}
	if p.Slice != nil {
		w.arithmetic(p.Slice.Offset, p)
		w.arithmetic(p.Slice.Length, p)
	}
	constant, known := w.values[name]
	outside := isName(name) && !w.isSet(name) && !w.assignedTo[name]
	switch {
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil && p.Exp.Word.Lit() == "P":
		switch {
		case known && p.Index == nil && !p.Excl:
			w.expanded(constant)
		case !outside || p.Excl:
			w.doubt(dynamic, w.shown(p))
		}
	case p.Excl && p.Names == 0 && !(p.Index != nil && isAll(p.Index)):
		if known && p.Index == nil {
			w.subscript(constant)
			return
		}
		if !outside && !w.facts[name].value && !w.isNumberName(name) ||
			p.Index != nil ||
			w.isSet(name) && isName(name) {
			w.doubt(dynamic, w.shown(p))
		}
	}
}
