package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// positional is the name in a set of variables of $1, $2, $@ and $*.
const positional = "@"

// tainted reports values, and variables that have them, which a command reads as a program
// although they are plain words: eval, the text of a shell, arithmetic, names of variables.
func (v *shellValues) tainted(file *syntax.File) {
	t := &shellTaint{shellValues: v, walk: &shellWalk{shellScan: newScan(v.table)}, functions: map[string]bool{}}
	t.walk.setNames(file)
	t.walk.factsOf(file)
	v.names = map[string]int{}
	syntax.Walk(file, func(n syntax.Node) bool {
		f, ok := n.(*syntax.FuncDecl)
		if ok && f.Name != nil {
			t.functions[f.Name.Value] = true
		}
		if d, ok := n.(*syntax.DeclClause); ok {
			t.integer = t.integer || declares(d, "i")
		}
		return true
	})
	for before := -1; before < len(v.names); { // until no variable gets a value from a second one
		before = len(v.names)
		syntax.Walk(file, func(n syntax.Node) bool { t.spread(n); return true })
	}
	syntax.Walk(file, func(n syntax.Node) bool { t.use(n); return true })
}

type shellTaint struct {
	*shellValues
	walk      *shellWalk
	functions map[string]bool
	integer   bool // the text declares a variable whose value is arithmetic
}

// declares reports whether a declaration has an option.
func declares(d *syntax.DeclClause, option string) bool {
	return slices.ContainsFunc(d.Args, func(a *syntax.Assign) bool {
		if !a.Naked || a.Value == nil {
			return false
		}
		lit := a.Value.Lit()
		return strings.HasPrefix(lit, "-") && strings.ContainsAny(lit, option)
	})
}

// values returns the values that a node contains, also by variables.
func (t *shellTaint) values(n syntax.Node) (out []int) {
	if isNil(n) {
		return nil
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if i, ok := t.value(n.Value); ok {
				out = append(out, i)
			}
		case *syntax.ParamExp:
			if n.Param != nil && !n.Length {
				i, ok := t.names[parameter(n.Param.Value)]
				if ok {
					out = append(out, i)
				}
			}
		}
		return true
	})
	return out
}

// isNil reports whether a node is a nil pointer.
func isNil(n syntax.Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *syntax.Word:
		return n == nil
	case *syntax.ArrayExpr:
		return n == nil
	}
	return false
}

// parameter returns the name of a variable in the set: one for all positional parameters.
func parameter(name string) string {
	if name == "@" ||
		name == "*" ||
		name != "" && name != "0" && strings.Trim(name, "0123456789") == "" {
		return positional
	}
	return name
}

// give records that a variable has one of some values, unless all are numbers.
func (t *shellTaint) give(name string, values []int) {
	if name == "" {
		return
	}
	for _, i := range values {
		if t.number == nil || !t.number(i) {
			if _, known := t.names[name]; !known {
				t.names[name] = i
			}
		}
	}
}

// spread records the variables that a node gives a value.
func (t *shellTaint) spread(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name != nil {
			t.give(n.Name.Value, append(
				t.values(n.Value),
				t.values(n.Array)...,
			))
		}
	case *syntax.WordIter:
		for _, item := range n.Items {
			t.give(n.Name.Value, t.values(item))
		}
	case *syntax.ParamExp: // ${a:=WORD}
		if n.Param != nil && n.Exp != nil && n.Exp.Word != nil {
			t.give(n.Param.Value, t.values(n.Exp.Word))
		}
	case *syntax.CallExpr:
		words := t.words(n)
		if len(words) == 0 {
			return
		}
		switch name := words[0].text; {
		case name == "set" || t.functions[name]:
			for _, w := range words[1:] {
				t.give(positional, w.values)
			}
		case name == "printf" && len(words) > 3 && words[1].text == "-v":
			for _, w := range words[3:] {
				t.give(words[2].text, w.values)
			}
		}
	case *syntax.Stmt:
		t.spreadInput(n)
	case *syntax.BinaryCmd: // echo VALUE | while read a
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			if values := t.values(n.X); len(values) > 0 {
				t.reads(n.Y, values)
			}
		}
	}
}

// spreadInput records the variables that read and mapfile set from a document.
func (t *shellTaint) spreadInput(stmt *syntax.Stmt) {
	var values []int
	for _, r := range stmt.Redirs {
		if r.Op == syntax.WordHdoc {
			values = append(values, t.values(r.Word)...)
		}
		values = append(values, t.values(r.Hdoc)...)
	}
	if len(values) > 0 && stmt.Cmd != nil {
		t.reads(stmt.Cmd, values)
	}
}

// reads gives the values to the variables that read and mapfile in a node set.
func (t *shellTaint) reads(n syntax.Node, values []int) {
	syntax.Walk(n, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		words := t.words(call)
		if len(words) > 0 &&
			slices.Contains([]string{"read", "mapfile", "readarray"}, words[0].text) {
			if len(words) == 1 {
				t.give("REPLY", values)
				t.give("MAPFILE", values)
			}
			for _, w := range words[1:] {
				t.give(w.text, values)
			}
		}
		return true
	})
}

// taintedWord is one word of a command with the values in it.
type taintedWord struct {
	text    string // its static text
	dynamic bool
	values  []int
	whole   bool // it is one value and nothing else
}

// words returns the words of a command, without command and builtin before it.
func (t *shellTaint) words(call *syntax.CallExpr) []taintedWord {
	out := make([]taintedWord, len(call.Args))
	for i, word := range call.Args {
		w := taintedWord{values: t.values(word)}
		w.text, w.dynamic = t.walk.static(word.Parts, false)
		if len(word.Parts) == 1 && len(w.values) > 0 {
			_, quoted := word.Parts[0].(*syntax.SglQuoted)
			_, param := word.Parts[0].(*syntax.ParamExp)
			w.whole = quoted || param
			d, ok := word.Parts[0].(*syntax.DblQuoted)
			if ok && len(d.Parts) == 1 {
				_, w.whole = d.Parts[0].(*syntax.ParamExp)
			}
		}
		if len(w.values) > 0 {
			w.dynamic = true
			if w.whole {
				w.text = ""
			}
		}
		out[i] = w
	}
	for len(out) > 1 && (out[0].text == "command" || out[0].text == "builtin") && !strings.HasPrefix(out[1].text, "-") {
		out = out[1:]
	}
	return out
}

// use reports the values that a node reads as a program.
func (t *shellTaint) use(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
		t.arithmetic(n)
	case *syntax.ParamExp:
		if n.Index != nil {
			t.arithmetic(n.Index)
		}
		if n.Slice != nil {
			for _, x := range []syntax.ArithmExpr{n.Slice.Offset, n.Slice.Length} {
				if x != nil {
					t.arithmetic(x)
				}
			}
		}
		if n.Param != nil &&
			(n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps) {
			i, ok := t.names[parameter(n.Param.Value)]
			if ok {
				t.report(i, "as the name of a variable", false)
			}
		}
	case *syntax.Assign:
		if n.Index != nil {
			t.arithmetic(n.Index)
		}
		if n.Name != nil && (runsValue(n.Name.Value) || t.integer) {
			t.reportAll(t.values(n.Value), "in a variable whose value is run", false)
		}
	case *syntax.DeclClause:
		for _, a := range n.Args {
			if a.Naked {
				t.reportAll(t.values(a.Value), "as the name of a variable", false)
			}
			if a.Name != nil && declares(n, "n") {
				t.reportAll(t.values(a.Value), "as the name of a variable", false)
			}
		}
	case *syntax.BinaryTest:
		if isArithmeticTest(n.Op) {
			t.arithmetic(n.X)
			t.arithmetic(n.Y)
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			t.reportAll(t.values(n.X), "as the name of a variable", false)
		}
	case *syntax.Stmt:
		t.useInput(n)
	case *syntax.CallExpr:
		t.useCall(n)
	}
}

// arithmetic reports the values in a node that the shell computes: it evaluates also what
// the variables in it have, and a[$(…)] runs a command.
func (t *shellTaint) arithmetic(n syntax.Node) {
	t.reportAll(t.values(n), "in arithmetic", true)
	syntax.Walk(n, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Lit); ok {
			if i, ok := t.names[lit.Value]; ok {
				t.report(i, "in arithmetic", true)
			}
		}
		return true
	})
}

// runsValue reports whether the shell, or a program that it starts, runs the value of a
// variable.
func runsValue(name string) bool {
	switch name {
	case "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "IFS",
		"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PAGER", "EDITOR", "VISUAL", "BROWSER", "SHELL",
		"PYTHONSTARTUP", "PYTHONPATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "NODE_OPTIONS", "MAKEFLAGS":
		return true
	}
	return strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(name, "GIT_") && name != "GIT_AUTHOR_NAME" && name != "GIT_AUTHOR_EMAIL" &&
		name != "GIT_AUTHOR_DATE" && name != "GIT_COMMITTER_NAME" && name != "GIT_COMMITTER_EMAIL" && name != "GIT_COMMITTER_DATE"
}

// useInput reports the values in a document that a shell or an interpreter reads as its
// program.
func (t *shellTaint) useInput(stmt *syntax.Stmt) {
	var values []int
	for _, r := range stmt.Redirs {
		if r.Op == syntax.WordHdoc {
			values = append(values, t.values(r.Word)...)
		}
		values = append(values, t.values(r.Hdoc)...)
	}
	if len(values) > 0 && stmt.Cmd != nil && t.feeds(stmt.Cmd) {
		t.reportAll(values, "in the input of a shell", false)
	}
}

// feeds reports whether a node has a shell, or an interpreter, that reads its program.
func (t *shellTaint) feeds(n syntax.Node) (found bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			c := shellCommand{argv: plainWords(t.words(call))}
			found = found || t.readsInput(c)
		}
		return !found
	})
	return found
}

func plainWords(words []taintedWord) []shellWord {
	out := make([]shellWord, len(words))
	for i, w := range words {
		out[i] = shellWord{text: w.text, dynamic: w.dynamic, marked: w.text}
	}
	return out
}

// useCall reports the values in the arguments of a command that it reads as more than data.
func (t *shellTaint) useCall(call *syntax.CallExpr) {
	words := t.words(call)
	if len(words) == 0 {
		return
	}
	if len(words[0].values) > 0 {
		t.reportAll(words[0].values, "as the name of a program", false)
		return
	}
	args := words[1:]
	if isComputed(call.Args[len(call.Args)-len(words)]) {
		for _, w := range args {
			t.reportAll(w.values, "as an argument of a program that is computed", false)
		}
		return
	}
	name := shellCommand{argv: plainWords(words)}.name()
	where := map[string]string{
		"eval": "as an argument that eval runs", "source": "as the name of a script", ".": "as the name of a script", "trap": "as an argument that trap runs", "alias": "as an argument that alias defines",
		"let": "in arithmetic", "unset": "as the name of a variable", "read": "as the name of a variable", "mapfile": "as the name of a variable", "readarray": "as the name of a variable",
		"getopts": "as the name of a variable", "wait": "as the name of a variable", "bind": "as an argument that bind runs", "complete": "as an argument that complete runs", "compgen": "as an argument that compgen runs",
		"enable": "as the name of a program", "hash": "as the name of a program", "declare": "as the name of a variable", "typeset": "as the name of a variable", "local": "as the name of a variable",
		"export": "as the name of a variable", "readonly": "as the name of a variable", "coproc": "as the name of a program",
	}[name]
	switch {
	case where != "":
		for _, w := range args {
			t.reportAll(w.values, where, name == "let")
		}
	case name == "test" || name == "[":
		t.useTest(args)
	case name == "printf":
		t.usePrintf(args)
	case t.isShell(name):
		operands := plainWords(args)
		for i := range operands {
			if args[i].whole {
				operands[i].text = "value" // not an option, which is reported below
			}
		}
		if source, at := shellProgram(operands); source == 'c' {
			t.reportAll(args[at].values, "in the text of a shell", false)
			break
		}
		t.useOptions(args, "in an option of a shell")
	case t.isInterpreter(name):
		t.useOptions(args, "in the text of a program")
	case name == "awk" || name == "gawk" || name == "mawk" || name == "sed" || name == "gsed":
		t.useScript(args)
	}
}

// isComputed reports whether the name of a program has a part that the shell computes: it
// can be empty, so that the next word is the program, or name a builtin.
func isComputed(word *syntax.Word) bool {
	text := wordText(word.Parts)
	return strings.Contains(text[strings.LastIndexByte(text, '/')+1:], "\x00")
}

// wordText returns the text of a word with NUL for each part that the shell computes.
func wordText(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, false))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(wordText(p.Parts))
		default:
			b.WriteByte(0)
		}
	}
	return b.String()
}

// isShell reports whether a program reads texts of the shell, whatever the configuration has.
func (t *shellTaint) isShell(name string) bool {
	return slices.Contains(
		[]string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "fish"},
		name,
	) ||
		t.table.isShell(name)
}

// isInterpreter reports whether a program runs code of its own language.
func (t *shellTaint) isInterpreter(name string) bool {
	_, known := t.table.interpreter(name)
	return known ||
		slices.Contains(
			[]string{"python", "pypy", "perl", "ruby", "node", "php", "lua", "deno", "bun"},
			versionOf(name),
		)
}

// readsInput reports whether a command reads its program from its input.
// A shell that reads its program from another command is T4, whatever the command: the question
// cannot show the text. The static text of echo, printf and a here-document is read instead.
func (t *shellTaint) readsInput(c shellCommand) bool {
	if len(c.argv) == 0 {
		return false
	}
	if t.isShell(c.name()) {
		source, _ := shellProgram(c.argv[1:])
		return source == 's'
	}
	if t.isInterpreter(c.name()) &&
		(len(c.argv) == 1 || c.argv[1].text == "-") {
		return true
	}
	return t.walk.readsProgram(c)
}

// useTest reports values that test and [ may read as an operator with the name of a
// variable after it, which they evaluate.
func (t *shellTaint) useTest(args []taintedWord) {
	for i, w := range args {
		if i == 0 {
			continue
		}
		before := args[i-1]
		if before.text == "-v" || before.text == "-R" {
			t.reportAll(w.values, "as the name of a variable", false)
		}
		if before.whole && w.whole {
			t.reportAll(w.values, "after another value, which test may read as an operator", false)
		}
	}
}

// usePrintf reports values in the options of printf, whose -v names a variable.
func (t *shellTaint) usePrintf(args []taintedWord) {
	if len(args) == 0 {
		return
	}
	if args[0].text == "-v" && len(args) > 1 {
		t.reportAll(args[1].values, "as the name of a variable", false)
	}
	if args[0].text == "" || strings.HasPrefix(args[0].text, "-v") {
		t.reportAll(args[0].values, "as the format of printf, which can be an option", false)
	}
}

// useOptions reports values in the first operand or in an option of a program, and in the
// text of -c or -e.
func (t *shellTaint) useOptions(args []taintedWord, where string) {
	for i, w := range args {
		if w.whole &&
			(i == 0 || strings.HasPrefix(args[i-1].text, "-") && args[i-1].text != "--" && args[i-1].text != "-") {
			t.reportAll(w.values, where, false) // it can be an option, or is the value of one
		}
		if strings.HasPrefix(w.text, "-") && !w.whole {
			t.reportAll(w.values, where, false)
		}
		if !strings.HasPrefix(w.text, "-") {
			return // the name of a script: what follows are its arguments
		}
	}
}

// useScript reports values in the program of awk and sed: the first operand, or the operand of -e.
// A variable in code that has a text of its own, such as sed "s/$a/$b/", is not asked about: the
// author of the command did not choose the value. Code that is only a value asks.
func (t *shellTaint) useScript(args []taintedWord) {
	given := slices.ContainsFunc(args, func(w taintedWord) bool {
		return w.text == "-e" || w.text == "-f"
	})
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w.text == "-e" || w.text == "-f" || w.text == "--expression":
			if i+1 < len(args) {
				t.reportAll(args[i+1].values, "in the text of a program", false)
				i++
			}
		case w.text == "-v" || w.text == "-F": // a variable or a separator of awk
			i++
		case strings.HasPrefix(w.text, "-") && !w.whole:
			if !strings.HasPrefix(w.text, "-v") && !strings.HasPrefix(w.text, "-F") {
				t.reportAll(w.values, "in the text of a program", false)
			}
		case !given:
			t.reportAll(w.values, "in the text of a program", false)
			return
		}
	}
}

// programs reports values that a program starts, or passes to a shell, as the reader of
// dangerous commands finds them: with the value, a computed program or text appears.
func (v *shellValues) programs() {
	computed := func(value func(int) string) bool {
		return slices.ContainsFunc(
			v.table.scan(v.text(value)).unclear,
			func(d Danger) bool { return d.ID == dynamic },
		)
	}
	constant := func(int) string { return "x" }
	if computed(constant) {
		return // by the text itself: nothing is known about the values
	}
	for i := range len(v.parts) - 1 {
		if _, known := v.found[i]; known {
			continue
		}
		if computed(func(k int) string {
			if k == i {
				return `"$` + v.name(i) + `"`
			}
			return "x"
		}) {
			v.report(i, "in what a program starts", false)
		}
	}
}
