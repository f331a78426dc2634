package policy

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/glob"
)

// arguments reads the arguments of a program with a syntax of its own.
func (w *shellWalk) arguments(p *program, c shellCommand, args []shellWord) {
	switch p.syntax {
	case "alias":
		for _, a := range args {
			if _, value, ok := strings.Cut(a.text, "="); ok {
				w.joined(c, []shellWord{a.after(len(a.text) - len(value))})
			}
		}
	case "awk", "sed", "make":
		w.script(p, c, args)
	case "evaluates", "mapfile":
		w.names(c, args)
	case "find":
		w.findActions(c, args)
	case "gdb":
		w.gdbTexts(c, args)
	case "git":
		w.gitTexts(c, args)
	case "hash":
		if slices.ContainsFunc(args, func(a shellWord) bool {
			return strings.HasPrefix(a.text, "-") &&
				strings.Contains(a.text, "p")
		}) {
			w.doubt(dynamic, c.shown) // another program gets the name of a known one
		}
	case "input":
		w.inputs(c)
	case "source":
		switch {
		case len(args) == 0:
		case isDescriptor(args[0].text):
			w.inputs(c)
		case args[0].whole():
			w.doubt(dynamic, c.shown)
		}
	case "ssh":
		w.joined(c, remote(p, args))
	case "ssh-options":
		w.sshTexts(p, c, args)
	case "trap":
		if len(args) > 0 && args[0].text == "--" {
			args = args[1:]
		}
		if len(args) > 0 {
			w.joined(c, args[:1])
		}
	}
}

// gitTexts collects what git runs because of a setting, an alias with ! or a subcommand.
func (w *shellWalk) gitTexts(c shellCommand, args []shellWord) {
	config := slices.ContainsFunc(args, func(a shellWord) bool {
		return a.text == "config"
	})
	submodule := slices.ContainsFunc(args, func(a shellWord) bool {
		return a.text == "submodule"
	})
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1].text
		}
		text := a.text
		long := false
		name, rest, ok := strings.Cut(a.text, "=")
		if ok && abbreviates(name, "--config") {
			text = rest
			long = true
		}
		key, value, set := strings.Cut(text, "=")
		if !set && i+1 < len(args) { // git config KEY VALUE
			a = args[i+1]
		} else {
			a = a.after(len(a.text) - len(value))
		}
		if long || config || before == "-c" || abbreviates(before, "--config") {
			w.gitSetting(c, key, a)
			if before == "-c" && args[i].whole() {
				w.doubt(dynamic, c.shown)
			}
		}
		key, ok = configVariable(args[i].text, before)
		if ok && w.isCommandKey(key) {
			w.doubt(dynamic, c.shown) // a variable has the value
		}
		address, ok := strings.CutPrefix(args[i].text, "ext::")
		if ok { // a transport that is a command
			w.joined(c, []shellWord{args[i].after(len(args[i].text) - len(address))})
			if argv := transport(address); len(argv) > 0 {
				w.program(shellCommand{argv: argv, shown: c.shown})
			}
		}
		if args[i].text == "foreach" && submodule || args[i].text == "run" && before == "bisect" {
			w.joined(
				c,
				args[i+1:][skipOptions(args[i+1:], options{}):],
			)
		}
	}
}

// configVariable returns the setting that git takes from a variable: --config-env=KEY=NAME,
// abbreviated or in two words.
func configVariable(word, before string) (key string, ok bool) {
	isOption := func(name string) bool {
		return len(name) > len("--config") && abbreviates(name, "--config-env")
	}
	if isOption(before) {
		return word, true
	}
	name, key, set := strings.Cut(word, "=")
	return key, set && isOption(name)
}

// transport returns the words of the command in an address of git, in which "% " is a
// space within a word and "%%" is a percent sign.
func transport(address string) (argv []shellWord) {
	const space, percent = "\x00", "\x01"
	for _, word := range strings.Fields(strings.NewReplacer("%%", percent, "% ", space).Replace(address)) {
		argv = append(argv, literal(strings.NewReplacer(space, " ", percent, "%").Replace(word)))
	}
	return argv
}

// gitSetting collects the command in the value of a setting of git.
func (w *shellWalk) gitSetting(c shellCommand, key string, value shellWord) {
	key = strings.ToLower(key)
	_, shell := strings.CutPrefix(value.text, "!")
	alias := strings.HasPrefix(key, "alias.")
	switch {
	case w.isCommandSetting(key) || alias && shell:
		if shell {
			value = value.after(1)
		}
		w.joined(c, []shellWord{value})
	case alias && value.computed(): // it can begin with !
		w.doubt(dynamic, c.shown)
	case alias: // git x, with what follows
		var argv []shellWord
		for _, word := range strings.Fields(value.text) {
			argv = append(argv, literal(word))
		}
		w.program(shellCommand{argv: append(
			[]shellWord{literal("git")},
			argv...,
		), shown: c.shown})
	}
}

// isCommandKey reports whether the value of a setting can be a command.
func (s *shellScan) isCommandKey(key string) bool {
	key, _, _ = strings.Cut(strings.ToLower(key), "=")
	return s.isCommandSetting(key) || strings.HasPrefix(key, "alias.")
}

// isCommandSetting reports whether the value of a setting of git is a command.
func (s *shellScan) isCommandSetting(key string) bool {
	return slices.ContainsFunc(s.table.settings, func(p string) bool {
		return glob.Text(p, key)
	})
}

// isDescriptor reports whether a file is an open descriptor: a document of the command, or
// what another command writes.
func isDescriptor(path string) bool {
	return path == "/dev/stdin" ||
		strings.HasPrefix(path, "/dev/fd/") ||
		strings.HasPrefix(path, "/proc/") && strings.Contains(path, "/fd/")
}

// sshTexts collects the settings of ssh that are commands: -o KEY=VALUE, or KEY VALUE.
func (w *shellWalk) sshTexts(p *program, c shellCommand, args []shellWord) {
	for i := range args {
		value, ok := p.valueOf("o", args, i)
		if !ok {
			continue
		}
		if value.whole() {
			w.doubt(dynamic, c.shown)
		}
		key := strings.TrimLeft(value.text, " \t")
		end := strings.IndexAny(key, "= \t")
		if end < 0 {
			continue
		}
		switch strings.ToLower(key[:end]) {
		case "proxycommand", "localcommand", "knownhostscommand":
			w.joined(c, []shellWord{value.after(
				len(value.text) - len(strings.TrimLeft(key[end:], "= \t")),
			)})
		}
	}
}

// remote returns the words of ssh that the shell of the host gets.
func remote(p *program, args []shellWord) []shellWord {
	host := skipOptions(args, p.options)
	if host >= len(args) {
		return nil
	}
	return args[host+1:][skipOptions(args[host+1:], p.options):] // options may also follow the host
}

// gdbTexts collects the commands of gdb that are texts of the shell.
func (w *shellWalk) gdbTexts(c shellCommand, args []shellWord) {
	for i, a := range args {
		text, ok := strings.CutPrefix(a.text, "!")
		if !ok && !strings.HasPrefix(a.text, "shell ") {
			continue
		}
		if i > 0 &&
			(args[i-1].text == "-ex" || args[i-1].text == "--eval-command") {
			w.joined(c, []shellWord{a.after(
				len(a.text) - len(strings.TrimPrefix(text, "shell ")),
			)})
		}
	}
}

// names collects the commands in subscripts of arguments that are names or arithmetic: the
// shell starts them although the arguments are quoted.
func (w *shellWalk) names(c shellCommand, args []shellWord) {
	name := c.name()
	for i, a := range args {
		w.subscript(a.text)
		before := ""
		if i > 0 {
			before = args[i-1].text
		}
		computed := a.computed() && !strings.HasPrefix(a.marked, "-")
		switch name {
		case "test", "[":
			computed = computed && (before == "-v" || before == "-R")
		case "printf":
			computed = computed && before == "-v" && i == 1
		case "read":
			computed = computed &&
				!(strings.HasPrefix(before, "-") && strings.IndexAny(before, "dinNptu") == len(before)-1)
		case "mapfile", "readarray":
			computed = computed &&
				i == len(args)-1 &&
				!(strings.HasPrefix(before, "-") && strings.IndexAny(before, "dnOsuCc") == len(before)-1)
		case "wait", "getopts":
			computed = false
		case "export", "readonly":
			computed = computed && strings.IndexAny(a.marked, allMarks) == 0
		}
		if computed {
			w.doubt(dynamic, c.shown)
		}
	}
}

// subscript parses the substitutions in a text with a subscript, as a document has them.
func (w *shellWalk) subscript(text string) {
	at := strings.IndexByte(text, '[')
	if at < 0 ||
		!strings.Contains(text[at:], "$(") && !strings.Contains(text[at:], "`") && !strings.Contains(text[at:], "${") {
		return
	}
	w.expanded(text)
}

// expanded collects the commands in the substitutions of a text that is not a command.
func (w *shellWalk) expanded(text string) {
	end := "END"
	for strings.Contains(text, end) {
		end += "D"
	}
	w.text(": <<"+end+"\n"+text+"\n"+end+"\n", w.depth+1)
}

// shellProgram finds the program of a shell in its arguments: the text of -c, or the file,
// which is the word at a position. source is 'c', 'f', or 's' for its input.
func shellProgram(args []shellWord) (source byte, at int) {
	skip := 0
	c := false
	for i, a := range args {
		switch {
		case a.text == "-s" || a.text == "-" || isDescriptor(a.text) && skip == 0:
			if !c {
				return 's', i
			}
		case a.text == "--rcfile" || a.text == "--init-file":
			skip++
		case strings.HasPrefix(a.text, "--") || a.text == "" && a.dynamic:
			// A word that is computed may be an option: the next one decides.
		case strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+"):
			c = c || strings.Contains(a.text, "c")
			skip += strings.Count(a.text, "o") + strings.Count(a.text, "O")
			if strings.Contains(a.text, "s") && !c {
				return 's', i
			}
		case skip > 0:
			skip--
		case c:
			return 'c', i
		default:
			return 'f', i
		}
	}
	return 's', len(args)
}

// readsProgram reports whether a command is a shell or an interpreter that reads its
// program from another command.
func (w *shellWalk) readsProgram(c shellCommand) bool {
	if len(c.argv) == 0 {
		return false
	}
	for _, p := range w.table.of(c.name()) {
		switch {
		case p.syntax == "input":
			return true
		case p.syntax == "source":
			return len(c.argv) > 1 && isDescriptor(c.argv[1].text)
		case p.shell:
			source, _ := shellProgram(c.argv[1:])
			return source == 's'
		case p.interpreter:
			return p.readsCode(c.argv[1:])
		}
	}
	return w.startsShell(c)
}

// passesText reports whether a program passes its arguments to a shell, or to a program
// that is a command of its own in the scan.
func (t *shellTable) passesText(name string) bool {
	return t.has(name, func(p *program) bool {
		return p.starts ||
			p.shell ||
			p.joins ||
			slices.Contains([]string{"alias", "trap", "ssh"}, p.syntax)
	})
}

// takesArgument reports whether a command may run the output of a substitution in its
// arguments: an interpreter only as its program.
func (s *shellScan) takesArgument(c shellCommand) bool {
	_, ok := s.table.interpreter(c.name())
	if !ok && !s.table.isShell(c.name()) {
		return true
	}
	for i, a := range c.argv {
		before := c.argv[max(i-1, 0)].text
		if a.dynamic &&
			(i == 1 || strings.HasPrefix(before, "-") && strings.ContainsAny(before, "ce")) {
			return true
		}
	}
	return false
}

// takesInput reports whether a command may run the output of others: not an
// interpreter that is given its program.
func (s *shellScan) takesInput(c shellCommand) bool {
	if p, ok := s.table.interpreter(c.name()); ok {
		return p.readsCode(c.argv[1:])
	}
	if s.table.isShell(c.name()) {
		source, _ := shellProgram(c.argv[1:])
		return source == 's'
	}
	if s.table.has(c.name(), func(p *program) bool { return p.starts }) { // sudo gpg: what it starts is a command of its own
		return s.startsShell(c)
	}
	return true
}

// shell parses the text of -c, or the text of a document.
func (w *shellWalk) shell(c shellCommand, args []shellWord) {
	source, at := shellProgram(args)
	for _, a := range args[:min(at, len(args))] { // it can be -c
		if a.mayBeOption() || a.dynamic && a.text == "" {
			w.doubt(dynamic, c.shown)
		}
	}
	switch source {
	case 'c':
		w.joined(c, args[at:at+1])
	case 's':
		w.inputs(c)
	case 'f':
		if args[at].whole() { // it can be -c, or any file
			w.doubt(dynamic, c.shown)
		}
	}
}

// findActions collects the commands of find -exec and its like.
func (w *shellWalk) findActions(c shellCommand, args []shellWord) {
	found := shellWord{dynamic: true, marked: string(rune(markWord))} // a path that find writes in place of {}
	if len(args) > 0 &&
		!args[0].mayBeOption() &&
		!strings.HasPrefix(args[0].text, "-") {
		found.marked = "./" + found.marked
	}
	for i := 0; i < len(args); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch":
		default:
			continue
		}
		end := i + 1
		for end < len(args) && args[end].text != ";" && args[end].text != "+" {
			end++
		}
		if end > i+1 {
			w.program(shellCommand{argv: replacing(
				args[i+1:end],
				"{}",
				found,
			), shown: c.shown})
		}
		i = end
	}
}
