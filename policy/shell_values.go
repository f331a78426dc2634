package policy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxShellValues is the number of values that one text can have.
const maxShellValues = 256

// ShellValue is a value that the text around it makes a part of a program, or may: a shell
// would read it as more than one word of data.
type ShellValue struct {
	Value int    // the index of the value
	Where string // its position, such as "inside double quotes"
	Line  int    // in the text, from 1
	// Arithmetic means that a number would be safe there, once a variable has it.
	Arithmetic bool
}

// ShellValues checks a text of the shell that values are put into, each as one word in
// single quotes: parts are the texts before, between and after them. It returns the values
// whose position makes anything else of them. A value is data where the shell reads a plain
// word: an argument, the value of a variable, a file of a redirection, an entry of a loop, a
// word that is compared. number reports which values are numbers or truth values, whatever
// they are: variables that have them can be read as arithmetic. It may be nil.
//
// A nil Risk knows shells and interpreters, and no programs that start others.
//
// The value is a word in single quotes in the text, not a variable of the environment: the
// question, the rules and the log would show the variable instead of what runs. A value in $(…)
// is refused: old versions of bash read it in another way, and in backticks quotes are not safe.
func (k *Risk) ShellValues(parts []string, number func(i int) bool) []ShellValue {
	n := len(parts) - 1
	if n <= 0 {
		return nil
	}
	v := &shellValues{
		parts:  parts,
		number: number,
		mark:   "ryevalue",
		found:  map[int]ShellValue{},
		table:  &shellTable{},
	}
	if k != nil {
		all, err := k.whole()
		if err != nil {
			v.unreadable()
			return v.sorted()
		}
		v.table = &all.table
	}
	whole := strings.Join(parts, "")
	for strings.Contains(whole, v.mark) {
		v.mark += "x"
	}
	quoted := v.text(func(i int) string {
		return "'" + v.name(i) + "'"
	})
	file := parseShell(quoted)
	if n > maxShellValues || file == nil {
		v.unreadable()
		return v.sorted()
	}
	v.positions(file)
	v.tainted(file)
	v.programs()
	return v.sorted()
}

// shellValues is one check of a text.
type shellValues struct {
	parts  []string
	number func(int) bool
	mark   string // begins the words that represent the values
	found  map[int]ShellValue
	table  *shellTable
	names  map[string]int // variables that have a value, which need not be a number
}

// name returns the word that represents a value.
func (v *shellValues) name(i int) string {
	return v.mark + strconv.Itoa(i) + "e"
}

// text returns the text with a text for each value.
func (v *shellValues) text(value func(i int) string) string {
	var b strings.Builder
	for i, part := range v.parts {
		b.WriteString(part)
		if i < len(v.parts)-1 {
			b.WriteString(value(i))
		}
	}
	return b.String()
}

// value returns the value that a word represents.
func (v *shellValues) value(word string) (int, bool) {
	digits, ok := strings.CutPrefix(word, v.mark)
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, "e")
	i, err := strconv.Atoi(digits)
	return i, ok && err == nil && i >= 0 && i < len(v.parts)-1
}

func (v *shellValues) report(i int, where string, arithmetic bool) {
	if _, known := v.found[i]; !known {
		line := 1
		for _, part := range v.parts[:i+1] {
			line += strings.Count(part, "\n")
		}
		v.found[i] = ShellValue{
			Value:      i,
			Where:      where,
			Line:       line,
			Arithmetic: arithmetic,
		}
	}
}

// reportAll is report for values that one word contains.
func (v *shellValues) reportAll(values []int, where string, arithmetic bool) {
	for _, i := range values {
		v.report(i, where, arithmetic)
	}
}

func (v *shellValues) sorted() []ShellValue {
	out := make([]ShellValue, 0, len(v.found))
	for _, f := range v.found {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b ShellValue) int {
		return cmp.Compare(a.Value, b.Value)
	})
	return out
}

// unreadable reports all values of a text that is not one of bash with words for them. Where
// the text can be read with plain words, the position is stated.
func (v *shellValues) unreadable() {
	v.contexts()
	for i := range len(v.parts) - 1 {
		v.report(i, "in a text that rye cannot read as bash does", false)
	}
}

// parseShell parses a text within the bounds of an analysis, nil if it cannot.
func parseShell(text string) *syntax.File {
	if len(text) > maxShellText || nesting(text) > maxShellParse {
		return nil
	}
	f, err := syntax.NewParser(
		syntax.Variant(syntax.LangBash),
		syntax.KeepComments(true),
	).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return f
}

// positions reports the values that are not in a plain word.
// A graph that was signed before this rule runs if all its values are plain words. No setting
// permits more: the value is the attacker's.
func (v *shellValues) positions(file *syntax.File) {
	safe := map[int]int{}
	eachNode(file, func(n syntax.Node, above []syntax.Node) {
		q, ok := n.(*syntax.SglQuoted)
		if !ok || q.Dollar {
			return
		}
		i, ok := v.value(q.Value)
		if !ok {
			return
		}
		safe[i]++
		if where, arithmetic := position(above); where != "" {
			v.report(i, where, arithmetic)
		}
	})
	for i := range len(v.parts) - 1 {
		if safe[i] != 1 {
			v.contexts()
			v.report(i, "in a text that rye cannot read as bash does", false)
		}
	}
}

// contexts reports the positions of values by the text with plain words for them: quotes
// around a value would end the quotes of the text.
func (v *shellValues) contexts() {
	file := parseShell(v.text(v.name))
	if file == nil {
		return
	}
	eachNode(file, func(n syntax.Node, above []syntax.Node) {
		text := ""
		value := ""
		switch n := n.(type) {
		case *syntax.Lit:
			text = n.Value
		case *syntax.SglQuoted:
			text = n.Value
			value = "inside single quotes"
		case *syntax.Comment:
			text = n.Text
			value = "in a comment"
		default:
			return
		}
		for i := range len(v.parts) - 1 {
			at := strings.Index(text, v.name(i))
			if at < 0 {
				continue
			}
			where, arithmetic := position(above)
			switch {
			case value != "":
				where = value
				arithmetic = false
			case at > 0 && text[at-1] == '\\':
				where = "after a backslash"
			}
			if where != "" {
				v.report(i, where, arithmetic)
			}
		}
	})
}

// eachNode calls do for every node with the nodes that contain it, the nearest one last.
func eachNode(file *syntax.File, do func(n syntax.Node, above []syntax.Node)) {
	var above []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return false
		}
		do(n, above)
		above = append(above, n)
		return true
	})
}

// position describes the syntax around a part of a word, "" if it is a plain word.
func position(above []syntax.Node) (where string, arithmetic bool) {
	word := -1
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *syntax.DblQuoted:
			if where == "" {
				where = "inside double quotes"
			}
		case *syntax.CmdSubst:
			if where == "" {
				where = "in a command substitution"
				if n.Backquotes {
					where = "in backticks"
				}
			}
		case *syntax.ProcSubst:
			if where == "" {
				where = "in a process substitution"
			}
		case *syntax.ArithmExp,
			*syntax.ArithmCmd,
			*syntax.LetClause,
			*syntax.CStyleLoop,
			*syntax.BinaryArithm,
			*syntax.UnaryArithm,
			*syntax.ParenArithm:
			return "in arithmetic", true
		case *syntax.ParamExp:
			return "in the expansion of a variable", false
		case *syntax.ExtGlob:
			return "in a pattern", false
		case *syntax.Redirect:
			if i+1 < len(above) && above[i+1] == syntax.Node(n.Hdoc) {
				return "in a here-document", false
			}
		case *syntax.Word:
			if word < 0 {
				word = i
			}
		}
	}
	if where != "" || word < 0 {
		return cmp.Or(where, "outside of a word"), false
	}
	if word == 0 {
		return "outside of a command", false
	}
	return wordPosition(above[word].(*syntax.Word), above[:word])
}

// wordPosition is position for a word.
func wordPosition(word *syntax.Word, above []syntax.Node) (where string, arithmetic bool) {
	switch n := above[len(above)-1].(type) {
	case *syntax.CallExpr:
		if n.Args[0] == word {
			return "as the name of a program", false
		}
		return "", false
	case *syntax.Redirect:
		switch n.Op {
		case syntax.RdrOut,
			syntax.AppOut,
			syntax.RdrIn,
			syntax.RdrInOut,
			syntax.RdrClob,
			syntax.RdrAll,
			syntax.AppAll,
			syntax.WordHdoc:
			return "", false
		}
		return "in a redirection", false
	case *syntax.Assign:
		switch {
		case n.Index != nil && n.Value != word:
			return "in a subscript", true
		case n.Naked:
			return "as the name of a variable", false
		}
		return "", false
	case *syntax.ArrayElem:
		if n.Value != word {
			return "in a subscript", true
		}
		return "", false
	case *syntax.WordIter, *syntax.CaseClause, *syntax.CaseItem:
		return "", false
	case *syntax.BinaryTest:
		return testPosition(n), isArithmeticTest(n.Op)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			return "as the name of a variable", false
		}
		return "", false
	case *syntax.TestClause, *syntax.ParenTest:
		return "", false
	}
	return "outside of a command", false
}

func testPosition(n *syntax.BinaryTest) string {
	if isArithmeticTest(n.Op) {
		return "in arithmetic"
	}
	return ""
}

func isArithmeticTest(op syntax.BinTestOperator) bool {
	switch op {
	case syntax.TsEql,
		syntax.TsNeq,
		syntax.TsLeq,
		syntax.TsGeq,
		syntax.TsLss,
		syntax.TsGtr:
		return true
	}
	return false
}
