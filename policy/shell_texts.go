package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ryeos/rye/internal/glob"
)

// assigns collects what a shell or another program runs because of a variable.
func (w *shellWalk) assigns(list []*syntax.Assign, shown string) {
	for _, a := range list {
		if a.Name == nil {
			w.quoted(a, shown)
			continue
		}
		if a.Array != nil { // PROMPT_COMMAND=(…): bash runs each element
			for _, elem := range a.Array.Elems {
				w.assign(a.Name.Value, elem.Value, shown)
			}
		}
		w.assign(a.Name.Value, a.Value, shown)
	}
}

// quoted collects what is in an argument of declare or export that is one word in quotes.
func (w *shellWalk) quoted(a *syntax.Assign, shown string) {
	if a.Value == nil {
		return
	}
	word := w.word(a.Value.Parts)
	if name, value, ok := strings.Cut(word.text, "="); ok {
		w.assignedTo[strings.TrimSuffix(name, "+")] = true
		w.assigned(
			strings.TrimSuffix(name, "+"),
			word.after(len(word.text)-len(value)),
			shown,
		)
	}
}

func (w *shellWalk) assign(name string, value *syntax.Word, shown string) {
	if value == nil {
		return
	}
	if w.isStartFile(name) &&
		slices.ContainsFunc(value.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.ProcSubst); return ok }) {
		w.doubt(dynamic, shown) // BASH_ENV=<(…): the shell runs what another command writes
	}
	word := w.word(w.without(name, value.Parts))
	p := onlyVariable(value.Parts)
	if p != nil && p.Param != nil && p.Param.Value == name { // EDITOR="${EDITOR:-vim}" changes nothing but a missing value
		text, dyn := w.fallback(p, word.text, word.dynamic)
		if !dyn {
			word = literal(text)
		}
	}
	w.assigned(name, word, shown)
}

// without removes the value that a variable has from a word with other parts: NAME="x;$NAME"
// adds to it. What another command of the text gave it is not known.
func (w *shellWalk) without(name string, parts []syntax.WordPart) []syntax.WordPart {
	_, known := w.values[name]
	if known || w.isSet(name) || w.loops[name] || onlyVariable(parts) != nil {
		return parts
	}
	return slices.DeleteFunc(slices.Clone(parts), func(part syntax.WordPart) bool {
		p, ok := part.(*syntax.ParamExp)
		quoted, is := part.(*syntax.DblQuoted)
		if is && len(quoted.Parts) > 1 {
			quoted.Parts = w.without(name, quoted.Parts)
		}
		return ok && len(parts) > 1 && isPlain(p) && p.Param.Value == name
	})
}

// onlyVariable returns the expansion that a word consists of, nil if it has other parts.
func onlyVariable(parts []syntax.WordPart) *syntax.ParamExp {
	if len(parts) != 1 {
		return nil
	}
	switch p := parts[0].(type) {
	case *syntax.DblQuoted:
		return onlyVariable(p.Parts)
	case *syntax.ParamExp:
		return p
	}
	return nil
}

// fallback is the value of a variable that is set to itself, or to another text if it is
// not set. What another command of the text gave it is not known.
func (w *shellWalk) fallback(p *syntax.ParamExp, text string, dyn bool) (string, bool) {
	switch {
	case p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || w.values[p.Param.Value] != "" || w.isSet(p.Param.Value) || w.loops[p.Param.Value]:
		return text, dyn
	case p.Exp == nil:
		return "", false
	case p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.DefaultUnsetOrNull:
		if p.Exp.Word == nil {
			return "", false
		}
		return w.static(p.Exp.Word.Parts, true)
	}
	return text, dyn
}

// assigned collects the commands in the value of one variable. Other programs run some as
// texts of the shell; bash takes functions from variables, and expands its prompts.
func (w *shellWalk) assigned(name string, value shellWord, shown string) {
	c := shellCommand{shown: shown}
	switch {
	case strings.HasPrefix(name, "BASH_FUNC_"):
		value.text = "f " + value.text
		w.joined(c, []shellWord{value})
	case strings.HasPrefix(name, "GIT_CONFIG_VALUE_"):
		key, known := w.values["GIT_CONFIG_KEY_"+strings.TrimPrefix(name, "GIT_CONFIG_VALUE_")]
		if !known {
			key = "alias.unknown"
			value.text = "!" + strings.TrimPrefix(value.text, "!")
		}
		w.gitSetting(c, key, value)
	case name == "GIT_CONFIG_PARAMETERS": // 'KEY=VALUE' or 'KEY'='VALUE', each
		for _, setting := range strings.Split(strings.ReplaceAll(value.text, "'='", "="), "'") {
			key, text, _ := strings.Cut(setting, "=")
			w.gitSetting(c, key, shellWord{text: text, dynamic: value.dynamic, marked: text})
		}
	case w.isStartFile(name) && isDescriptor(value.text):
		w.doubt(dynamic, shown)
	}
	for _, kind := range []string{kindStart, kindPrompt, kindCommand, kindLoad} {
		v, ok := w.table.variable(name, kind)
		switch {
		case !ok:
		case kind == kindCommand:
			value.text = strings.TrimPrefix(value.text, "|")
			w.joined(c, []shellWord{value})
		case kind == kindLoad:
			if value.computed() && !slices.Contains(v.except, "*") && strings.IndexAny(value.marked, allMarks) == 0 ||
				!value.computed() && !exempt(v.except, value.text) {
				w.doubt(loads, shown)
			}
		default: // bash expands it
			w.expanded(value.text)
		}
	}
}

// exempt reports whether each word of a value matches one of some patterns.
func exempt(patterns []string, value string) bool {
	return !slices.ContainsFunc(strings.Fields(value), func(word string) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool {
			return glob.Text(p, word)
		})
	})
}

// isStartFile reports whether a variable names a file that a shell runs when it starts.
func (t *shellScan) isStartFile(name string) bool {
	_, ok := t.table.variable(name, kindStart)
	return ok
}

// letterValue returns the value of the option of a letter in the same word, in which
// letters of options without one can be before it.
func letterValue(word string, letter byte, valued string) (value string, ok bool) {
	if len(word) < 2 || word[0] != '-' || word[1] == '-' {
		return "", false
	}
	at := 1 + strings.IndexAny(word[1:], valued+string(letter))
	if at == 0 || word[at] != letter {
		return "", false
	}
	return word[at+1:], true
}

// valueOf returns the value of an option in a word, or in the next one. Some programs have
// one dash before the names of long options.
func (p *program) valueOf(flag string, args []shellWord, i int) (shellWord, bool) {
	a := args[i]
	rest := ""
	joined := false
	switch {
	case len(flag) > 1:
		var name string
		if name, rest, joined = strings.Cut(a.text, "="); !abbreviates(name, "--"+flag) &&
			name != "-"+flag {
			return shellWord{}, false
		}
	default:
		var ok bool
		if rest, ok = letterValue(a.text, flag[0], p.valued+p.attached); !ok {
			return shellWord{}, false
		}
		rest = strings.TrimPrefix(rest, "=")
		joined = rest != "" || strings.TrimPrefix(a.marked, a.text) != ""
	}
	if joined {
		return a.after(len(a.text) - len(rest)), true
	}
	if i+1 < len(args) &&
		!p.textAttached &&
		!strings.Contains(p.attached, flag) {
		return args[i+1], true
	}
	return shellWord{}, false
}

// texts collects the texts of the shell in the arguments of a program.
func (w *shellWalk) texts(p *program, name string, c shellCommand, args []shellWord) {
	if p.bundled {
		args = p.unbundled(args)
	}
	for i := range args {
		if (p.sub != nil || p.starts) &&
			args[i].text == "--" &&
			p.rest == nil { // mise exec -- PROGRAM: the rest is for it
			break
		}
		for _, flag := range p.textFlags {
			value, ok := p.valueOf(flag, args, i)
			if !ok ||
				p.textAfter != nil && !slices.ContainsFunc(args[:i], func(b shellWord) bool { return slices.Contains(p.textAfter, b.text) }) {
				continue
			}
			w.textValue(p, c, value)
		}
		if slices.ContainsFunc(p.rest, func(f string) bool {
			return args[i].text == "-"+f ||
				args[i].text == "--"+f ||
				args[i].text == f
		}) &&
			i+1 < len(args) {
			if len(args) == i+2 {
				w.joined(c, args[i+1:])
			} else {
				rest := args[i+1:]
				if p.afterDashes && rest[1].text == "--" {
					rest = slices.Delete(slices.Clone(rest), 1, 2)
				}
				w.program(shellCommand{argv: rest, texts: c.texts, shown: c.shown})
			}
		}
		for _, lead := range p.textLeads {
			text, ok := strings.CutPrefix(args[i].text, lead)
			if ok {
				w.joined(c, []shellWord{args[i].after(len(args[i].text) - len(text))})
			}
		}
		if p.textSub != nil && slices.Contains(p.textSub, args[i].text) {
			rest := args[i+1:]
			for _, at := range p.reach(rest, 0) {
				w.joined(c, rest[min(at, len(rest)):])
			}
			for _, a := range rest {
				if strings.Contains(a.text, " ") {
					w.joined(c, []shellWord{a})
				}
			}
		}
	}
	if p.texts {
		for i := skipOptions(args, p.options); i < len(args); i++ {
			if !strings.HasPrefix(args[i].text, "-") {
				w.joined(c, args[i:i+1])
			} else if takesNext(args[i].text, p.options) {
				i++
			}
		}
	}
}

// textValue parses the value of an option.
func (w *shellWalk) textValue(p *program, c shellCommand, value shellWord) {
	if p.textLead != nil {
		at := slices.IndexFunc(p.textLead, func(lead string) bool {
			return strings.HasPrefix(value.text, lead)
		})
		if at < 0 {
			if value.whole() {
				w.doubt(dynamic, c.shown)
			}
			return
		}
		value = value.after(len(p.textLead[at]))
	}
	if strings.HasPrefix(value.text, "!") {
		value = value.after(1)
	}
	if p.textWords && value.dynamic && !value.mayBeOption() { // what a variable adds is an argument
		value = literal(strings.Map(func(r rune) rune {
			if strings.ContainsRune(allMarks, r) {
				return 'x'
			}
			return r
		}, value.marked))
	}
	w.joined(c, []shellWord{value})
}

// unbundled replaces the first word of tar by its letters as options: tar cIf ZSTD FILE has
// their values in the next words.
func (p *program) unbundled(args []shellWord) []shellWord {
	if len(args) == 0 ||
		args[0].text == "" ||
		args[0].text[0] == '-' {
		return args
	}
	var out []shellWord
	rest := args[1:]
	for _, letter := range args[0].text {
		if strings.ContainsRune(p.valued, letter) && len(rest) > 0 {
			out = append(out, literal("-"+string(letter)), rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}
