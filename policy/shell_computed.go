package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The marks of the parts of a word that the shell computes. A program, its options and
// code must be literal: what another part could become decides whether a person is asked.
const (
	markValue = '\x01' // a value from outside of the text, which its author did not choose
	markPath  = '\x02' // an absolute path
	markWord  = '\x03' // any text, one word
	markGlob  = '\x04' // part of the names of files
	markWords = '\x05' // any number of any words
	markLoose = '\x06' // as markValue, but the shell divides it at spaces
	allMarks  = "\x01\x02\x03\x04\x05\x06"
)

// computed reports whether a part of the word is not known.
func (a shellWord) computed() bool {
	return strings.ContainsAny(a.marked, allMarks)
}

// chosen reports whether the text computes a part of the word.
// The user space cannot name commands whose output may be evaluated, such as rbenv init -: the
// output can be chosen by a file of the project. So these harmless commands ask.
//
// "rm *" asks, because a file can have the name -rf; "rm *.o" and "rm ./*" do not.
func (a shellWord) chosen() bool {
	return strings.ContainsAny(a.marked, "\x03\x04\x05")
}

// many reports whether the word can become any words.
func (a shellWord) many() bool {
	return strings.IndexByte(a.marked, markWords) >= 0
}

// several reports whether the word can become more than one.
func (a shellWord) several() bool {
	return strings.ContainsAny(a.marked, "\x04\x05\x06")
}

// whole reports whether nothing of the word is known.
func (a shellWord) whole() bool {
	return a.computed() && strings.Trim(a.marked, allMarks+" \t\n") == ""
}

// mayBeOption reports whether the word can become an option, or one with another name
// than its text shows. A value from outside is one only as a whole word.
func (a shellWord) mayBeOption() bool {
	at := strings.IndexAny(a.marked, allMarks)
	if at < 0 {
		return false
	}
	lead := a.marked[:at]
	switch value := a.marked[at] == markValue || a.marked[at] == markLoose; {
	case a.marked[at] == markPath:
		return false
	case lead == "":
		return !value || a.whole()
	default:
		return a.many() ||
			lead == "-" ||
			lead[0] == '-' && !strings.Contains(lead, "=") && !value
	}
}

// asPattern returns the word as a pattern of package glob, in which each part that is not
// known is any text.
func (a shellWord) asPattern() string {
	var b strings.Builder
	for i := 0; i < len(a.marked); i++ {
		switch c := a.marked[i]; {
		case strings.IndexByte(allMarks, c) >= 0:
			b.WriteByte('*')
		case c == '*' || c == '?' || c == '[':
			b.WriteByte('?')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// asVariables returns the text with a variable in place of each part that is not known.
func (a shellWord) asVariables() string {
	if !a.computed() {
		return a.text
	}
	var b strings.Builder
	for i := 0; i < len(a.marked); i++ {
		if strings.IndexByte(allMarks, a.marked[i]) >= 0 {
			b.WriteString("${_VALUE}")
		} else {
			b.WriteByte(a.marked[i])
		}
	}
	return b.String()
}

// after returns the rest of a word after its first n bytes, which are known.
func (a shellWord) after(n int) shellWord {
	out := shellWord{text: a.text[n:], dynamic: a.dynamic, marked: a.marked}
	if len(a.marked) >= n && a.marked[:n] == a.text[:n] {
		out.marked = a.marked[n:]
	}
	return out
}

// literal returns a word that is known.
func literal(text string) shellWord {
	return shellWord{text: text, marked: text}
}

// mark returns the mark of a part of a word.
func (w *shellWalk) mark(part syntax.WordPart, quoted bool) byte {
	switch p := part.(type) {
	case *syntax.ArithmExp:
		return markValue
	case *syntax.ProcSubst:
		return markPath
	case *syntax.CmdSubst:
		if w.isValue(p) || w.isNumber(p) {
			return markValue
		}
	case *syntax.ExtGlob:
		return markGlob
	case *syntax.ParamExp:
		return w.markParam(p, quoted)
	}
	if quoted {
		return markWord
	}
	return markWords
}

// markParam returns the mark of an expansion of a variable.
func (w *shellWalk) markParam(p *syntax.ParamExp, quoted bool) byte {
	unknown := byte(markWords)
	if quoted {
		unknown = markWord
	}
	switch {
	case p.Param == nil:
		return unknown
	case p.Length:
		return markValue
	}
	name := p.Param.Value
	switch {
	case slices.Contains([]string{"#", "?", "$", "!", "LINENO", "RANDOM", "SECONDS", "UID", "EUID", "PPID", "BASHPID", "EPOCHSECONDS"}, name) && !p.Excl && !w.isSet(name):
		return markValue
	case name == "@" || p.Index != nil && isAll(p.Index) || p.Names != 0:
		return markWords
	case !isName(name) || slices.Contains([]string{"_", "BASH_COMMAND", "BASH_EXECUTION_STRING", "BASH_ARGV", "FUNCNAME", "REPLY", "OPTARG", "DIRSTACK", "BASH_REMATCH", "COPROC", "MAPFILE", "IFS"}, name):
		return unknown
	case p.Excl || p.Slice != nil || p.Repl != nil || p.Index != nil:
		return unknown
	case p.Exp != nil && !w.keeps(p.Exp):
		return unknown
	case w.facts[name].value && !w.isSet(name):
		return markValue // one word
	case w.isSet(name) || w.assignedTo[name]:
		return unknown
	case slices.Contains(w.table.paths, name) && p.Exp == nil:
		return markPath
	case !quoted && p.Exp == nil:
		return markLoose
	}
	return markValue
}

// keeps reports whether an operation on a variable removes something from its value, or
// replaces a missing one by a text that is not an option.
func (w *shellWalk) keeps(e *syntax.Expansion) bool {
	switch e.Op {
	case syntax.RemSmallPrefix,
		syntax.RemLargePrefix,
		syntax.RemSmallSuffix,
		syntax.RemLargeSuffix,
		syntax.LowerAll,
		syntax.LowerFirst,
		syntax.UpperAll,
		syntax.UpperFirst,
		syntax.ErrorUnset,
		syntax.ErrorUnsetOrNull:
		return true
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if e.Word == nil {
			return true
		}
		word := w.word(e.Word.Parts)
		return !word.chosen() &&
			!strings.HasPrefix(word.text, "-") &&
			!strings.ContainsAny(word.text, " \t\n;|&")
	}
	return false
}

func isAll(index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

// isName reports whether a text can be the name of a variable.
func isName(s string) bool {
	return s != "" &&
		(s[0] < '0' || s[0] > '9') &&
		strings.IndexFunc(s, notInName) < 0
}

func notInName(r rune) bool {
	return r != '_' &&
		(r < '0' || r > '9') &&
		(r|0x20 < 'a' || r|0x20 > 'z')
}

// substituted returns the words of a substitution that is one simple command, or on request
// the words of the last command of a pipe.
func (w *shellWalk) substituted(p *syntax.CmdSubst, last bool) []shellWord {
	if len(p.Stmts) != 1 ||
		p.Stmts[0].Negated ||
		p.Stmts[0].Background {
		return nil
	}
	stmt := p.Stmts[0]
	for {
		pipe, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok || !last || pipe.Op != syntax.Pipe {
			break
		}
		stmt = pipe.Y
	}
	for _, r := range stmt.Redirs {
		if r.Word == nil ||
			r.Word.Lit() != "/dev/null" && r.Op != syntax.RdrIn && r.Op != syntax.WordHdoc {
			return nil
		}
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return nil
	}
	var argv []shellWord
	for _, word := range call.Args {
		argv = append(argv, w.word(word.Parts))
	}
	if len(argv) > 0 && w.declared[argv[0].text] { // a function of the text
		return nil
	}
	return argv
}

func (w *shellWalk) isValue(p *syntax.CmdSubst) bool {
	argv := w.substituted(p, false)
	return len(argv) > 0 && outputs(w.table.values, argv)
}

func (w *shellWalk) isNumber(p *syntax.CmdSubst) bool {
	argv := w.substituted(p, true)
	return len(argv) > 0 && outputs(w.table.numbers, argv)
}

// varFact is what is known about all values that a text gives a variable.
type varFact struct {
	value  bool // no option, no text of the shell, one word
	number bool
}

// factsOf finds the values that a text gives its variables: the constants, of which each is
// the only value of its variable, and facts about the values of the others.
func (w *shellWalk) factsOf(f *syntax.File) {
	w.values = map[string]string{}
	w.facts = map[string]varFact{}
	times := map[string]int{}
	w.maps = map[string]bool{}
	var assigns []*syntax.Assign
	var loops []*syntax.WordIter
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && !(n.Naked && n.Index == nil) {
				times[n.Name.Value]++
				assigns = append(assigns, n)
			}
		case *syntax.FuncDecl:
			if n.Name != nil {
				w.declared[n.Name.Value] = true
			}
		case *syntax.WordIter:
			times[n.Name.Value] += 2
			loops = append(loops, n)
		case *syntax.DeclClause:
			for _, a := range n.Args {
				if a.Naked &&
					a.Name == nil &&
					a.Value != nil &&
					strings.HasPrefix(a.Value.Lit(), "-") &&
					strings.Contains(a.Value.Lit(), "A") {
					for _, b := range n.Args {
						if b.Name != nil {
							w.maps[b.Name.Value] = true
						}
					}
				}
			}
		}
		return true
	})
	for _, a := range assigns {
		if a.Value != nil &&
			!a.Append &&
			a.Index == nil &&
			times[a.Name.Value] == 1 {
			text, dyn := w.static(a.Value.Parts, false)
			if !dyn {
				w.values[a.Name.Value] = text
			}
		}
	}
	for name := range times { // all are known until one value is not
		w.facts[name] = varFact{true, true}
		w.assignedTo[name] = true
	}
	for round := 0; ; round++ { // one variable can have the value of the next
		next := map[string]varFact{}
		for name := range times {
			next[name] = varFact{true, true}
		}
		for _, a := range assigns {
			next[a.Name.Value] = next[a.Name.Value].and(w.factOf(a))
		}
		for _, l := range loops {
			for _, item := range l.Items {
				next[l.Name.Value] = next[l.Name.Value].and(w.wordFact(item))
			}
			if len(l.Items) == 0 && !l.InPos.IsValid() { // of the arguments
				next[l.Name.Value] = varFact{}
			}
		}
		switch {
		case maps.Equal(w.facts, next):
			return
		case round == maxFacts:
			w.facts = map[string]varFact{}
			return
		}
		w.facts = next
	}
}

// maxFacts bounds how often the values of variables are examined.
const maxFacts = 20

func (f varFact) and(g varFact) varFact {
	return varFact{f.value && g.value, f.number && g.number}
}

func (w *shellWalk) factOf(a *syntax.Assign) varFact {
	switch {
	case a.Array != nil:
		out := varFact{false, true}
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				out.number = out.number && w.wordFact(e.Value).number
			}
		}
		return out
	case a.Value == nil:
		return varFact{true, true}
	}
	out := w.wordFact(a.Value)
	if a.Append {
		out.value = out.value && out.number
	}
	return out
}

// wordFact returns the fact about a word as the value of a variable.
func (w *shellWalk) wordFact(word *syntax.Word) varFact {
	out := varFact{true, true}
	for _, x := range w.fields(word) {
		fact := varFact{value: !x.chosen() && !strings.HasPrefix(x.marked, "-") && !strings.ContainsAny(x.text, " \t\n*?[$`;|&"), number: isNumeral(x.text) && !x.computed()}
		if x.computed() && !fact.number {
			fact.number = strings.Trim(x.marked, "0123456789\x01") == "" && w.numericParts(word.Parts)
		}
		out = out.and(fact)
	}
	return out
}

// numericParts reports whether each computed part of a word is a number.
func (w *shellWalk) numericParts(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.ArithmExp:
		case *syntax.DblQuoted:
			if !w.numericParts(p.Parts) {
				return false
			}
		case *syntax.CmdSubst:
			if !w.isNumber(p) {
				return false
			}
		case *syntax.ParamExp:
			if !w.isNumberVariable(p) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isNumberVariable reports whether the value of an expansion cannot contain a subscript
// that the text chose.
func (w *shellWalk) isNumberVariable(p *syntax.ParamExp) bool {
	if p.Param == nil {
		return false
	}
	name := p.Param.Value
	switch {
	case p.Length || strings.Contains("#?$!", name):
		return true
	case p.Excl || p.Repl != nil || p.Names != 0:
		return false
	case p.Exp != nil && p.Exp.Op != syntax.RemSmallPrefix && p.Exp.Op != syntax.RemLargePrefix && p.Exp.Op != syntax.RemSmallSuffix && p.Exp.Op != syntax.RemLargeSuffix:
		word := p.Exp.Word
		if word != nil && !w.wordFact(word).number {
			return false
		}
	}
	return w.isNumberName(name)
}

// isNumberName reports whether arithmetic can read a variable without running what the text
// put into it.
func (w *shellWalk) isNumberName(name string) bool {
	if !isName(name) || w.isSet(name) { // an argument, or what a builtin read
		return false
	}
	return !w.assignedTo[name] || w.facts[name].number
}

func isNumeral(s string) bool {
	if s == "" {
		return true
	}
	_, err := strconv.ParseInt(s, 0, 64)
	return err == nil || strings.Trim(s, "0123456789") == ""
}

// sequence returns the words of {1..9} and {a..z}.
func sequence(b *syntax.BraceExp) (out []string) {
	lit := func(i int) string {
		if i < len(b.Elems) {
			return b.Elems[i].Lit()
		}
		return ""
	}
	from := lit(0)
	to := lit(1)
	x, err1 := strconv.Atoi(from)
	y, err2 := strconv.Atoi(to)
	letters := err1 != nil || err2 != nil
	if letters {
		if len(from) != 1 || len(to) != 1 {
			return []string{from}
		}
		x = int(from[0])
		y = int(to[0])
	}
	step, _ := strconv.Atoi(lit(2))
	if step = max(step, -step, 1); x > y {
		step = -step
	}
	for i := x; len(out) < 64 && (step > 0 && i <= y || step < 0 && i >= y); i += step {
		if letters {
			out = append(out, string(rune(i)))
		} else {
			out = append(out, strconv.Itoa(i))
		}
	}
	return out
}
