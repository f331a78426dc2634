package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of one analysis. What exceeds them needs a person.
const (
	maxShellText   = 64 << 10
	maxShellDepth  = 8      // shells within shells
	maxShellWords  = 20_000 // of all simple commands together
	maxShellStarts = 10_000 // commands that are examined
	maxShellParse  = 2_000  // brackets and keywords that may nest
)

// shellWord is one argument of a command. The parts that the shell computes are left
// out of text.
type shellWord struct {
	text    string
	dynamic bool
	marked  string // text with a mark for each part that is not known
}

// shellCommand is one simple command, without the programs around it: sudo env rm is
// three of them.
type shellCommand struct {
	argv  []shellWord
	texts []shellWord // here-documents and here-strings of the command
	shown string      // as the text has it
}

// name returns the file name of the program in lower case: some systems ignore case.
func (c shellCommand) name() string {
	if len(c.argv) == 0 {
		return ""
	}
	s := c.argv[0].text
	return strings.ToLower(s[strings.LastIndexByte(s, '/')+1:])
}

// shellScan collects what a text does.
type shellScan struct {
	table    *shellTable
	commands []shellCommand
	pipes    []shellPipe
	writes   []shellWord // targets of redirections that write
	unclear  []Danger    // what cannot be read, which a person must
	words    int
	started  int
	sets     map[string]bool // variables that the texts set to what is not known
	// assignedTo are all variables that the texts give a value, loops the variables of for and select,
	// and declared all functions.
	assignedTo, declared, loops map[string]bool
	dirs                        []string                  // into which the texts change
	bodies                      map[string][]shellCommand // of functions
}

// shellPipe is commands whose output others read, or have as an argument.
type shellPipe struct {
	from, to []shellCommand
	argument bool
}

// newScan returns a scan that has read nothing.
func newScan(t *shellTable) *shellScan {
	return &shellScan{
		table:      t,
		sets:       map[string]bool{},
		assignedTo: map[string]bool{},
		declared:   map[string]bool{},
		loops:      map[string]bool{},
	}
}

// scan reads a text as bash does. It runs nothing and reads no file.
func (t *shellTable) scan(text string) *shellScan {
	s := newScan(t)
	for {
		known := len(s.sets) + len(s.assignedTo) + len(s.declared)
		s.text(text, 0)
		if len(s.sets)+len(s.assignedTo)+len(s.declared) == known {
			return s
		}
		// What a part of the text sets, an earlier part can have used in a loop.
		s = &shellScan{
			table:      t,
			sets:       s.sets,
			assignedTo: s.assignedTo,
			declared:   s.declared,
			loops:      s.loops,
		}
	}
}

func (s *shellScan) doubt(id, text string) {
	for _, d := range s.unclear {
		if d.ID == id {
			return
		}
	}
	s.unclear = append(s.unclear, Danger{
		ID:     id,
		Tier:   T4,
		Text:   text,
		unread: true,
	})
}

// The ids of what is not read as a pattern.
const (
	unparsed = "shell-not-parsed" // not a text of bash, or beyond a bound
	dynamic  = "shell-dynamic"    // a program, or the text of a shell, that is computed
	loads    = "shell-loads"      // a variable with which programs load code
	foreign  = "shell-characters" // the name of a program with characters that are not ASCII
)

// text parses one text and everything in it.
func (s *shellScan) text(text string, depth int) {
	s.fed(text, depth, nil)
}

// fed parses one text whose commands have the given documents as their input.
func (s *shellScan) fed(text string, depth int, input []shellWord) {
	if depth > maxShellDepth || len(text) > maxShellText || nesting(text) > maxShellParse {
		s.doubt(unparsed, text)
		return
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		s.doubt(unparsed, text)
		return
	}
	s.setNames(f)
	w := &shellWalk{
		shellScan: s,
		src:       text,
		depth:     depth,
		input:     input,
	}
	w.factsOf(f)
	w.evaluations(f)
	for _, stmt := range f.Stmts {
		w.stmt(stmt)
	}
}

// nesting returns an upper bound of how deep a text nests: the parser is recursive.
func nesting(text string) int {
	n := 0
	for _, open := range []string{"(", "{", "[", "`", "if", "do", "case", "!", "<<", "\""} {
		n += strings.Count(text, open)
	}
	return n
}

// shellWalk walks one parsed text.
type shellWalk struct {
	*shellScan
	src    string
	depth  int
	values map[string]string  // of variables that the text sets once, to a constant
	facts  map[string]varFact // of those that it sets otherwise
	maps   map[string]bool    // variables whose subscripts are texts
	input  []shellWord        // documents that a command reads if it has none of its own
	paths  bool               // what the command reads are paths below a known directory
}

// stmt collects a statement and returns its commands, with those in its substitutions.
func (w *shellWalk) stmt(stmt *syntax.Stmt) []shellCommand {
	if stmt == nil || w.words > maxShellWords {
		return nil
	}
	var commands []shellCommand
	if docs := w.documents(stmt); docs != nil { // { sh; } <<< TEXT
		if !w.keepsInput(stmt) {
			defer func(before []shellWord) {
				w.input = before
			}(w.input)
		}
		w.input = docs
	}
	switch cmd := stmt.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		commands = w.call(cmd)
	case *syntax.BinaryCmd:
		left := w.stmt(cmd.X)
		defer func(before bool) { w.paths = before }(w.paths)
		w.paths = (cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll) && writesPaths(left)
		right := w.stmt(cmd.Y)
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			w.pipe(left, right)
		}
		commands = append(left, right...)
	case *syntax.TestClause:
		w.testSubscripts(cmd)
		commands = w.inside(cmd)
	case *syntax.LetClause, *syntax.DeclClause, *syntax.ArithmCmd:
		if decl, ok := cmd.(*syntax.DeclClause); ok {
			w.assigns(decl.Args, w.shown(decl))
		}
		syntax.Walk(cmd, func(n syntax.Node) bool { w.operand(n); return true })
		commands = w.inside(cmd)
	case *syntax.FuncDecl:
		commands = w.inside(cmd)
		if cmd.Name == nil { // the parser accepts "() COMMAND", and bash does not
			w.doubt(unparsed, w.src)
			break
		}
		w.declare(cmd.Name.Value, commands)
	default:
		if loop, ok := cmd.(*syntax.ForClause); ok {
			if iter, ok := loop.Loop.(*syntax.WordIter); ok {
				w.loop(iter, w.shown(loop))
			}
		}
		commands = w.inside(cmd)
	}
	for _, r := range stmt.Redirs {
		commands = append(commands, w.redirect(r, commands)...)
	}
	return commands
}

// testSubscripts collects the commands in subscripts of quoted operands of [[ that are
// names or arithmetic.
func (w *shellWalk) testSubscripts(test *syntax.TestClause) {
	syntax.Walk(test, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet {
				w.operand(n.X)
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql,
				syntax.TsNeq,
				syntax.TsLeq,
				syntax.TsGeq,
				syntax.TsLss,
				syntax.TsGtr:
				w.operand(n.X)
				w.operand(n.Y)
			}
		}
		return true
	})
}

// operand collects the commands in the subscript of a word that is a name or arithmetic.
func (w *shellWalk) operand(n syntax.Node) {
	if word, ok := n.(*syntax.Word); ok {
		text, _ := w.static(word.Parts, false)
		w.subscript(text)
	}
}

// inside collects the statements in a node that is not a simple command.
func (w *shellWalk) inside(node syntax.Node) (out []shellCommand) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if stmt, ok := n.(*syntax.Stmt); ok {
			out = append(out, w.stmt(stmt)...)
			return false
		}
		return true
	})
	return out
}

// call collects a simple command and what is in its words.
func (w *shellWalk) call(call *syntax.CallExpr) (out []shellCommand) {
	var inner []shellCommand
	for _, a := range call.Assigns {
		inner = append(inner, w.inside(a)...)
	}
	w.assigns(call.Assigns, w.shown(call))
	var argv []shellWord
	for _, word := range call.Args {
		inner = append(inner, w.inside(word)...)
		argv = append(argv, w.fields(word)...)
	}
	w.words += len(argv)
	if w.words > maxShellWords {
		w.doubt(unparsed, w.src)
		return inner
	}
	out = append(out, inner...)
	if len(argv) == 0 {
		return out
	}
	if argv[0].text == "cd" &&
		len(argv) > 1 &&
		!argv[len(argv)-1].computed() {
		w.dirs = append(w.dirs, argv[len(argv)-1].text)
	}
	started := w.program(shellCommand{argv: argv, texts: w.input, shown: w.shown(call)})
	for _, c := range w.inFunctions(started)[len(started):] {
		if w.readsProgram(c) {
			w.inputs(shellCommand{argv: c.argv, texts: w.input, shown: c.shown})
		}
	}
	if len(inner) > 0 {
		w.pipes = append(w.pipes, shellPipe{inner, started, true})
	}
	return append(out, started...)
}

func (w *shellWalk) shown(n syntax.Node) string {
	from := int(n.Pos().Offset())
	to := int(n.End().Offset())
	if from < 0 || to > len(w.src) || from >= to {
		return w.src
	}
	return w.src[from:to]
}

// redirect collects the target of a redirection.
func (w *shellWalk) redirect(r *syntax.Redirect, to []shellCommand) (inner []shellCommand) {
	for _, word := range []*syntax.Word{r.Word, r.Hdoc} {
		if word != nil {
			inner = append(inner, w.inside(word)...)
		}
	}
	switch r.Op {
	case syntax.RdrOut,
		syntax.AppOut,
		syntax.RdrInOut,
		syntax.RdrClob,
		syntax.RdrAll,
		syntax.AppAll,
		syntax.DplOut:
		if r.Word != nil {
			w.writes = append(w.writes, w.fields(r.Word)...)
		}
		w.pipe(to, inner) // > >(sh)
	default:
		w.pipe(inner, to)
	}
	return inner
}

// documents returns the texts that the redirections of a statement feed to it.
func (w *shellWalk) documents(stmt *syntax.Stmt) (out []shellWord) {
	for _, r := range stmt.Redirs {
		if text, ok := w.document(r); ok {
			out = append(out, text)
		}
	}
	return out
}

// document returns the text that a redirection feeds to a command.
func (w *shellWalk) document(r *syntax.Redirect) (shellWord, bool) {
	word := r.Hdoc
	quoted := true
	if r.Op == syntax.WordHdoc {
		word = r.Word
		quoted = false
	}
	if word == nil {
		return shellWord{}, false
	}
	out := shellWord{}
	out.text, out.dynamic = w.render(word.Parts, quoted, false)
	out.marked, _ = w.render(word.Parts, true, true)
	if !out.dynamic {
		out.marked = out.text
	}
	return out, true
}

// pipe records that one list of commands writes the input of a second one.
func (w *shellWalk) pipe(from, to []shellCommand) {
	if len(from) == 0 || len(to) == 0 {
		return
	}
	to = w.inFunctions(to)
	w.pipes = append(w.pipes, shellPipe{from, to, false})
	for _, c := range to {
		if !w.readsProgram(c) {
			continue
		}
		for _, source := range from {
			text, ok := w.printed(source)
			switch {
			case !ok:
				w.doubt(dynamic, c.shown)
			case w.isCode(c): // of a language that is not read
			default:
				w.text(text, w.depth+1)
			}
		}
	}
}

// isCode reports whether a command reads code that is not in the language of the shell.
func (w *shellWalk) isCode(c shellCommand) bool {
	_, ok := w.table.interpreter(c.name())
	return ok
}

// printed returns the static text that a command writes: the arguments of a program that
// prints them, and the document of cat.
func (w *shellWalk) printed(c shellCommand) (string, bool) {
	switch name := c.name(); {
	case len(c.argv) == 0 || w.declared[c.argv[0].text]:
	case w.table.has(name, func(p *program) bool { return p.prints }):
		var words []string
		for i, word := range c.argv[1:] {
			if word.dynamic {
				return "", false
			}
			if i > 0 || !strings.HasPrefix(word.text, "-") {
				words = append(words, word.text)
			}
		}
		text := strings.Join(words, " ")
		return strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text), !strings.ContainsAny(text, "%") &&
			!strings.Contains(text, `\x`) &&
			!strings.Contains(text, `\0`)
	case name == "cat" && len(c.argv) == 1 && len(c.texts) > 0:
		var texts []string
		for _, t := range c.texts {
			if t.chosen() || t.whole() {
				return "", false
			}
			texts = append(texts, t.text)
		}
		return strings.Join(texts, "\n"), true
	}
	return "", false
}

// writesPaths reports whether the last of some commands is a find that writes paths below
// directories whose names are known.
func writesPaths(commands []shellCommand) bool {
	if len(commands) == 0 {
		return false
	}
	c := commands[len(commands)-1]
	n := c.name()
	if n != "find" && n != "gfind" || len(c.argv) < 2 {
		return false
	}
	return !c.argv[1].mayBeOption() && !strings.HasPrefix(c.argv[1].text, "-") &&
		!slices.ContainsFunc(c.argv, func(a shellWord) bool {
			return strings.HasPrefix(a.text, "-printf") ||
				strings.HasPrefix(a.text, "-exec") ||
				a.many()
		})
}
