package policy

import (
	"slices"
	"strings"
)

// program collects a command and the programs that it starts. It returns all of them.
// Commands in the texts that it passes to shells are among them.
func (w *shellWalk) program(c shellCommand) (out []shellCommand) {
	start := len(w.commands)
	defer func() {
		nested := slices.Clone(w.commands[start:])
		w.commands = append(w.commands, out...)
		out = append(out, nested...)
	}()
	return w.chain(c, maxShellDepth*2)
}

// chain returns a command and the programs that its arguments name.
func (w *shellWalk) chain(c shellCommand, left int) (out []shellCommand) {
	if w.started++; left == 0 || w.started > maxShellStarts {
		w.doubt(unparsed, c.shown)
		return nil
	}
	out = append(out, c)
	first := c.argv[0]
	switch {
	case w.computedName(first):
		w.doubt(dynamic, c.shown)
		return out
	case !plain(first.text):
		w.doubt(foreign, c.shown)
		return out
	}
	readings := w.starts(c.name(), c)
	if isAssignment(first.text) && len(c.argv) > 1 { // coproc NAME=VALUE PROGRAM
		readings = append(readings, c.argv[1:])
	}
	for _, rest := range readings {
		out = append(out, w.chain(
			shellCommand{argv: rest, texts: c.texts, shown: c.shown},
			left-1,
		)...)
	}
	return out
}

// computedName reports whether the name of a program is not literal. A directory that is the
// absolute path of a variable is.
func (w *shellWalk) computedName(a shellWord) bool {
	if !a.dynamic && !a.computed() {
		return false
	}
	rest := strings.TrimLeft(a.marked, string(rune(markPath)))
	return rest == a.marked ||
		!strings.HasPrefix(rest, "/") ||
		strings.ContainsAny(rest, allMarks) ||
		rest != a.text
}

// starts returns the commands that a command starts with its arguments, in each reading of
// them. It parses the texts that the command passes to a shell.
func (w *shellWalk) starts(name string, c shellCommand) (out [][]shellWord) {
	if w.startsShell(c) {
		w.inputs(c)
	}
	args := c.argv[1:]
	for _, p := range w.table.of(name) {
		w.texts(p, name, c, args)
		w.arguments(p, c, args)
		switch {
		case p.shell:
			w.shell(c, args)
		case p.interpreter:
			w.code(p, c, args)
		case p.joins && !p.starts:
			w.joined(c, args)
		}
		if p.starts &&
			!(name == "command" && len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V")) {
			out = append(out, w.launched(p, c, args)...)
		}
	}
	return out
}

// inputs parses the documents of a command that reads them as texts of the shell. Texts of
// another language must only be literal.
func (w *shellWalk) inputs(c shellCommand) {
	for _, doc := range c.texts {
		if doc.chosen() || doc.whole() {
			w.doubt(dynamic, c.shown)
		}
		if len(c.argv) == 0 || !w.isCode(c) {
			w.text(doc.asVariables(), w.depth+1)
		}
	}
}

// launched returns the arguments from the program on, in each reading.
func (w *shellWalk) launched(
	p *program,
	c shellCommand,
	args []shellWord,
) (out [][]shellWord) {
	var starts []int
	for _, at := range p.reach(args, 0) {
		for p.assigns && at < len(args) && isAssignment(args[at].text) {
			variable, value, _ := strings.Cut(args[at].text, "=")
			w.assignedTo[variable] = true
			w.assigned(
				variable,
				args[at].after(len(args[at].text)-len(value)),
				c.shown,
			)
			at += 1 + skipOptions(args[at+1:], p.options)
		}
		starts = add(starts, at)
	}
	if p.sub != nil {
		starts = p.subcommands(args, starts)
	}
	for range p.operands {
		var next []int
		for _, at := range starts {
			next = add(next, at+1)
			if at < len(args) && args[at].mayBeOption() { // and then the operand follows
				for _, x := range p.reach(args, at+1) {
					next = add(add(next, x+1), x+2)
				}
			}
		}
		starts = next
	}
	if p.afterDashes {
		dashes := slices.IndexFunc(args, func(a shellWord) bool {
			return a.text == "--"
		})
		if dashes >= 0 {
			starts = add(starts, dashes+1)
		}
	}
	if p.anywhere { // after options with any number of values
		for at := range args {
			s := args[at].text
			if !slices.Contains(starts, at) &&
				(s == "" || s[0] != '-') &&
				at < maxAnywhere {
				starts = append(starts, at)
			}
		}
	}
	input, replaced := w.inputArguments(p, args)
	for _, at := range starts {
		if p.sub != nil && at < len(args) && args[at].text == "--" {
			at++
		}
		at = min(at, len(args))
		if entry, ok := p.instead(args[:at]); ok { // of the program of the image
			if strings.Contains(entry.text, " ") {
				w.joined(c, append([]shellWord{entry}, args[at:]...))
			} else {
				out = append(out, append([]shellWord{entry}, args[at:]...))
			}
			continue
		}
		if at >= len(args) {
			continue
		}
		if p.inputArgs && strings.HasPrefix(args[at].text, ":::") { // each word is a text
			for _, a := range args[at+1:] {
				w.joined(c, []shellWord{a})
			}
			continue
		}
		rest := replacing(args[at:], replaced, input)
		if p.joins { // the words are passed to a shell
			w.joined(c, rest)
		}
		if p.inputArgs && replaced == "" {
			rest = append(rest[:len(rest):len(rest)], input)
		}
		out = append(out, rest)
	}
	return out
}

// subcommands returns the positions after the subcommands that start a program.
func (p *program) subcommands(args []shellWord, starts []int) (out []int) {
	for i := 0; i < len(starts); i++ {
		at := starts[i]
		switch {
		case at >= len(args):
		case slices.Contains(p.groups, args[at].text):
			for _, next := range p.reach(args, at+1) {
				starts = add(starts, next)
			}
		case slices.Contains(p.sub, args[at].text) || args[at].whole():
			for _, next := range p.reach(args, at+1) {
				out = add(out, next)
			}
		}
	}
	return out
}

// maxAnywhere bounds the positions at which a program of an entry with anywhere can be.
const maxAnywhere = 60

// maxReadings bounds the readings of the arguments of one command.
// Where the arity of an option is not known, both readings are examined: a table of all options
// would be wrong where a program is newer.
const maxReadings = 8

func add(list []int, n int) []int {
	if slices.Contains(list, n) || len(list) >= maxReadings {
		return list
	}
	return append(list, n)
}

// reach returns the positions of the first word from a position on that is not an option.
// There are several if it is not known whether an option has its value in the next word.
func (o options) reach(args []shellWord, from int) (out []int) {
	if from >= len(args) {
		return []int{len(args)}
	}
	first := from + skipOptions(args[from:], o)
	out = []int{first}
	for i := from; i < len(args) && len(out) < maxReadings; i++ {
		a := args[i]
		switch s := a.text; {
		case s == "--":
			return out
		case i < first && takesNext(s, o):
			i++
		case i >= first && !a.mayBeOption() && !(len(s) > 1 && s[0] == '-'):
			return out
		case i >= first: // a word that can become an option
			out = add(add(out, i+1), min(i+2, len(args)))
			return out
		case !o.knows(a):
			next := i + 2
			if next <= len(args) &&
				i+1 < len(args) &&
				(len(args[i+1].text) < 2 || args[i+1].text[0] != '-') {
				for _, x := range o.reach(args, next) {
					out = add(out, x)
				}
			}
		}
	}
	return out
}

// knows reports whether the number of words that an option takes is known.
func (o options) knows(a shellWord) bool {
	s := a.text
	if strings.HasPrefix(s, "--") {
		name := s[2:]
		return strings.Contains(s, "=") ||
			slices.ContainsFunc(
				append(
					o.long[:len(o.long):len(o.long)],
					o.alone...,
				),
				func(x string) bool { return strings.HasPrefix(x, name) },
			)
	}
	if len(s) > 2 && slices.Contains(o.alone, s[1:]) {
		return true
	}
	for i := 1; i < len(s); i++ {
		if strings.IndexByte(o.valued+o.attached, s[i]) >= 0 {
			return true
		}
		if strings.IndexByte(o.plain, s[i]) < 0 {
			return false
		}
	}
	return true
}

// skipOptions returns the position of the first word that is not an option, nor the
// value of one.
func skipOptions(args []shellWord, o options) int {
	for i := 0; i < len(args); i++ {
		s := args[i].text
		switch {
		case s == "--":
			return i + 1
		case len(s) < 2 || s[0] != '-':
			return i
		case takesNext(s, o):
			i++
		}
	}
	return len(args)
}

// takesNext reports whether the value of an option is the next word: so it is for a long
// option without =, and for a letter that is the last one of the word.
func takesNext(s string, o options) bool {
	if strings.HasPrefix(s, "--") {
		return !slices.Contains(o.alone, s[2:]) &&
			slices.ContainsFunc(o.long, func(long string) bool {
				return abbreviates(s, "--"+long)
			})
	}
	if len(s) < 2 || s[0] != '-' {
		return false
	}
	if len(s) > 2 && slices.Contains(o.long, s[1:]) { // -exec, with one dash
		return true
	}
	at := strings.IndexAny(s[1:], o.valued+o.attached)
	return at == len(s)-2 && strings.IndexByte(o.valued, s[at+1]) >= 0
}

// abbreviates reports whether a word is a long option or the start of one, which GNU
// programs and git accept.
func abbreviates(word, option string) bool {
	return word == option ||
		len(word) >= 4 && strings.HasPrefix(word, "--") && strings.HasPrefix(option, word)
}

// instead returns the program that a container starts in place of the program of its image.
func (p *program) instead(args []shellWord) (shellWord, bool) {
	for i, a := range args {
		for _, name := range p.entrypoint {
			value, ok := strings.CutPrefix(a.text, "--"+name+"=")
			if ok {
				return a.after(len(a.text) - len(value)), value != "" || a.dynamic
			}
			if a.text == "--"+name && i+1 < len(args) {
				return args[i+1], args[i+1].text != "" || args[i+1].dynamic
			}
		}
	}
	return shellWord{}, false
}

// inputArguments returns the word that represents the input of a program such as xargs,
// and the text that it replaces, "" if it is added at the end.
func (w *shellWalk) inputArguments(p *program, args []shellWord) (input shellWord, replaced string) {
	input = shellWord{dynamic: true, marked: string(rune(markWords))}
	if w.paths {
		input.marked = "./" + string(rune(markWord))
	}
	if p.joins {
		replaced = "{}"
	}
	end := skipOptions(args, p.options)
	for i := 0; i < end; i++ {
		s := args[i].text
		for _, flag := range p.replaceBy {
			switch long, value, set := strings.Cut(s, "="); {
			case len(flag) > 1 && abbreviates(long, "--"+flag):
				replaced = "{}"
				if set && value != "" {
					replaced = value
				}
			case len(flag) == 1:
				value, ok := letterValue(s, flag[0], p.valued+p.attached)
				switch {
				case !ok:
				case value != "":
					replaced = value
				case strings.Contains(p.valued, flag) && i+1 < len(args):
					replaced = args[i+1].text
				default:
					replaced = "{}"
				}
			}
		}
		if takesNext(s, p.options) {
			i++
		}
	}
	if replaced != "" && !w.paths {
		input.marked = string(rune(markWord)) // one word for each line
	}
	return input, replaced
}

// replacing puts a word in the place of a text in arguments.
func replacing(args []shellWord, text string, by shellWord) []shellWord {
	if text == "" {
		return args
	}
	out := slices.Clone(args)
	for i, a := range out {
		if strings.Contains(a.text, text) {
			out[i] = shellWord{text: strings.ReplaceAll(a.text, text, by.text), dynamic: true, marked: strings.ReplaceAll(a.marked, text, by.marked)}
		}
	}
	return out
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/-. ")
}

// joined parses words as one text of the shell, as eval and ssh do.
func (w *shellWalk) joined(c shellCommand, words []shellWord) {
	var texts []string
	for _, word := range words {
		if word.dynamic || word.computed() {
			w.doubt(dynamic, c.shown)
		}
		texts = append(texts, word.text)
	}
	text := strings.Join(texts, " ")
	if strings.TrimSpace(text) != "" {
		w.fed(text, w.depth+1, c.texts)
	}
}

// startsShell reports whether a command starts a shell that reads its input, although
// its arguments name none: ssh host, sudo -s.
func (s *shellScan) startsShell(c shellCommand) bool {
	args := slices.DeleteFunc(
		slices.Clone(c.argv[1:]),
		func(a shellWord) bool {
			return a.text == "-" && !a.dynamic
		},
	) // su - root
	for _, p := range s.table.of(c.name()) {
		at := skipOptions(args, p.options)
		switch {
		case p.syntax == "ssh":
			if skipOptions(args, p.options) < len(args) &&
				len(remote(p, args)) == 0 &&
				!hasOption(args, p.options, "NW") {
				return true
			}
		case p.starts && p.assigns && slices.Contains(p.alone, "shell"): // sudo -s
			for at < len(args) && isAssignment(args[at].text) {
				at += 1 + skipOptions(args[at+1:], p.options)
			}
			if at >= len(args) && hasOption(args, p.options, "si", "--shell", "--login") {
				return true
			}
		case p.inputShell:
			letters, long := lettersOf(p.textFlags)
			for i, l := range long {
				long[i] = "--" + l
			}
			if at+p.operands >= len(args) && !hasOption(args, p.options, letters, long...) {
				return true
			}
		}
	}
	return false
}

// hasOption reports whether one of the options is among arguments. A word that is the
// value of another option is not an option, nor is the text after a letter that takes one.
func hasOption(args []shellWord, o options, letters string, long ...string) bool {
	for i := 0; i < len(args); i++ {
		s := args[i].text
		switch {
		case s == "--":
			return false
		case strings.HasPrefix(s, "--"):
			name, _, _ := strings.Cut(s, "=")
			if slices.ContainsFunc(long, func(l string) bool { return abbreviates(name, l) }) {
				return true
			}
		case len(s) > 1 && s[0] == '-':
			at := strings.IndexAny(s[1:], letters+o.valued+o.attached)
			if at >= 0 && strings.IndexByte(letters, s[at+1]) >= 0 {
				return true
			}
		}
		if takesNext(s, o) {
			i++
		}
	}
	return false
}
