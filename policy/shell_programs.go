package policy

import (
	"slices"
	"strings"
	"sync"
)

// launcher is a program that starts another one, which its arguments name.
type launcher struct {
	valued   string   // letters of options with a value in the next word
	attached string   // letters of options whose value, if any, is in the same word
	long     []string // long options with a value in the next word
	operands int      // words before the program
	assigns  bool     // NAME=VALUE words before the program are skipped
	text     string   // letters of options whose value is a text of the shell
	sub      []string // subcommands that start a program; others do not
	shell    bool     // without a program it starts a shell, which reads its input
}

// launchers returns the programs that start the rest of their arguments. The table is
// made at the first call: most commands need none.
var launchers = sync.OnceValue(func() map[string]launcher {
	containers := launcher{ // they can have directories of the host
		sub: []string{"run", "exec"}, valued: "vepuwhmlc", operands: 1,
		long: []string{"name", "volume", "mount", "env", "env-file", "network", "workdir", "user", "entrypoint", "label", "publish", "memory", "cpus", "hostname", "platform", "pull", "device", "add-host", "tmpfs", "cap-add", "cap-drop", "security-opt", "gpus", "restart", "shm-size", "ulimit", "log-driver", "log-opt", "dns", "userns", "runtime", "group-add", "context"},
	}
	return map[string]launcher{
		"sudo": {valued: "ugphCTrtDR", long: []string{"user", "group", "host", "prompt", "chdir", "role", "type", "close-from"}, assigns: true},
		"doas": {valued: "uC"}, "pkexec": {long: []string{"user"}}, "runuser": {valued: "ugG", long: []string{"command", "session-command"}, text: "c"}, "su": {valued: "gGsw", long: []string{"command", "session-command"}, text: "c", operands: 1, shell: true},
		"env":     {valued: "uCa", long: []string{"unset", "chdir", "argv0", "split-string"}, assigns: true, text: "S"},
		"command": {}, "builtin": {}, "exec": {valued: "a"}, "nohup": {}, "setsid": {}, "time": {valued: "fo"},
		"nice": {valued: "n", long: []string{"adjustment"}}, "ionice": {valued: "cnpPu", long: []string{"class", "classdata"}}, "chrt": {operands: 1, valued: "TPD"}, "taskset": {operands: 1},
		"timeout": {valued: "ks", long: []string{"kill-after", "signal"}, operands: 1},
		"stdbuf":  {valued: "ioe", long: []string{"input", "output", "error"}}, "unbuffer": {},
		"chroot": {operands: 1, long: []string{"userspec", "groups"}, shell: true}, "unshare": {valued: "SGRw", shell: true}, "nsenter": {valued: "tSG", attached: "muinpCUTrwW", long: []string{"target"}, shell: true}, "newgrp": {operands: 1, shell: true}, "setarch": {operands: 1}, "linux32": {}, "linux64": {}, "arch": {},
		"xargs":   {valued: "adEILnPs", attached: "eil", long: []string{"arg-file", "delimiter", "max-args", "max-procs", "max-chars"}},
		"busybox": {}, "toybox": {}, "watch": {valued: "nq", long: []string{"interval"}}, "flock": {valued: "wE", operands: 1, text: "c"},
		"strace": {valued: "eopsu"}, "ltrace": {valued: "eopsu"}, "systemd-run": {valued: "pEtMu"}, "caffeinate": {valued: "tw"}, "script": {operands: 1, valued: "oEBIOmT", long: []string{"command"}, text: "c", shell: true}, "parallel": {valued: "aCdEIjJLnNPsS", attached: "eil", long: []string{"jobs", "arg-file", "sshlogin", "max-args"}, shell: true},
		"entr": {}, "dbus-run-session": {}, "xvfb-run": {valued: "efnpsw"}, "tini": {valued: "ep"}, "dumb-init": {}, "gosu": {operands: 1}, "su-exec": {operands: 1}, "ssh-agent": {valued: "aEtP"}, "valgrind": {}, "sg": {operands: 1, text: "c"},
		"npx": {valued: "p", long: []string{"package"}}, "npm": {sub: []string{"exec", "x"}, valued: "wC", long: []string{"prefix", "workspace", "package", "userconfig", "cache", "registry"}}, "pnpm": {sub: []string{"exec", "dlx"}, valued: "CF", long: []string{"dir", "filter", "package"}},
		"yarn": {sub: []string{"exec", "dlx"}, valued: "p", long: []string{"cwd", "package"}}, "uv": {sub: []string{"run"}, valued: "p", long: []string{"with", "python", "project", "directory", "extra", "group", "env-file"}}, "poetry": {sub: []string{"run"}, valued: "CP", long: []string{"directory", "project"}}, "pipenv": {sub: []string{"run"}},
		"bundle": {sub: []string{"exec"}, long: []string{"gemfile"}}, "direnv": {sub: []string{"exec"}, operands: 1}, "mise": {sub: []string{"exec", "x"}, valued: "Cj", text: "c", long: []string{"cd", "env", "jobs"}}, "asdf": {sub: []string{"exec"}}, "perf": {sub: []string{"stat", "record"}, valued: "eopr"},
		"docker": containers, "podman": containers, "nerdctl": containers, "kubectl": {sub: []string{"exec"}, valued: "nc", long: []string{"namespace", "container", "context"}, operands: 1},
		"proxychains": {valued: "f"}, "proxychains4": {valued: "f"}, "torsocks": {}, "rlwrap": {}, "fakeroot": {}, "eatmydata": {}, "firejail": {}, "bwrap": {}, "catchsegv": {}, "setpriv": {}, "prlimit": {},
	}
})

// isShell reports whether a program reads texts of the shell.
func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "fish"}, name)
}

// program collects a command and the programs that it starts. It returns all of them.
// Commands in the texts that it passes to shells are among them.
func (w *shellWalk) program(c shellCommand) (out []shellCommand) {
	start := len(w.commands)
	defer func() {
		nested := slices.Clone(w.commands[start:])
		w.commands = append(w.commands, out...)
		out = append(out, nested...)
	}()
	for range maxShellDepth * 2 {
		out = append(out, c)
		first := c.argv[0]
		switch {
		case first.dynamic:
			w.doubt(dynamic, c.shown)
			return out
		case !plain(first.text):
			w.doubt(foreign, c.shown)
			return out
		}
		name := c.name()
		rest, more := w.starts(name, c)
		if !more {
			return out
		}
		c = shellCommand{argv: rest, texts: c.texts, shown: c.shown}
	}
	w.doubt(unparsed, c.shown)
	return out
}

// starts returns the command that a command starts with its arguments. It parses the
// texts that the command passes to a shell.
func (w *shellWalk) starts(name string, c shellCommand) (rest []shellWord, more bool) {
	args := c.argv[1:]
	w.optionTexts(name, c, args)
	if startsShell(c) {
		w.inputs(c)
	}
	if w.builtinTexts(name, c, args) || w.programTexts(name, c, args) {
		return nil, false
	}
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") {
		return w.launched(c, launcher{long: []string{"library-path", "preload", "audit", "argv0"}}, args)
	}
	if l, ok := launchers()[name]; ok {
		return w.launched(c, l, args)
	}
	return nil, false
}

// inputs parses the documents of a command that reads them as texts of the shell.
func (w *shellWalk) inputs(c shellCommand) {
	for _, text := range c.texts {
		w.text(text, w.depth+1)
	}
}

// builtinTexts collects the texts in the arguments of a shell or a builtin of one. It
// reports whether the command is one that starts nothing else.
func (w *shellWalk) builtinTexts(name string, c shellCommand, args []shellWord) bool {
	switch {
	case isShell(name):
		w.shell(c, args)
	case name == "eval":
		w.joined(c, args)
	case name == "trap" && len(args) > 0:
		w.joined(c, args[:1])
	case name == "alias":
		for _, a := range args {
			if _, value, ok := strings.Cut(a.text, "="); ok {
				w.joined(c, []shellWord{{text: value, dynamic: a.dynamic}})
			}
		}
	case name == "mapfile" || name == "readarray": // -C is a command for each line
		_, _ = w.launched(c, launcher{valued: "dnOsuc", text: "C"}, args)
		w.names(args)
	case name == "compgen" || name == "complete":
		_, _ = w.launched(c, launcher{text: "C"}, args)
	case name == "hash" && slices.ContainsFunc(args, func(a shellWord) bool { return strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "p") }):
		w.doubt(dynamic, c.shown) // another program gets the name of a known one
	case (name == "source" || name == ".") && len(args) > 0 && isDescriptor(args[0].text):
		w.inputs(c)
	case slices.Contains(evaluators(), name):
		w.names(args)
	case name == "command" && len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V"):
	default:
		return false
	}
	return true
}

// programTexts is builtinTexts for other programs, each of which has its own syntax.
func (w *shellWalk) programTexts(name string, c shellCommand, args []shellWord) bool {
	switch name {
	case "ssh":
		w.joined(c, remote(args))
	case "find", "gfind", "fd":
		w.findActions(c, args)
	case "at", "batch":
		w.inputs(c)
	case "gdb":
		w.gdbTexts(c, args)
	case "git":
		w.gitTexts(c, args)
	case "hyperfine":
		for _, a := range args {
			w.joined(c, []shellWord{a})
		}
	default:
		return false
	}
	return true
}

// gdbTexts collects the commands of gdb that are texts of the shell.
func (w *shellWalk) gdbTexts(c shellCommand, args []shellWord) {
	for i, a := range args {
		text, ok := strings.CutPrefix(a.text, "!")
		if !ok && !strings.HasPrefix(a.text, "shell ") {
			continue
		}
		if i > 0 && (args[i-1].text == "-ex" || args[i-1].text == "--eval-command") {
			w.joined(c, []shellWord{{text: strings.TrimPrefix(text, "shell "), dynamic: a.dynamic}})
		}
	}
}

// evaluators are the programs of the shell that evaluate names or arithmetic in their
// arguments, also in quoted ones: a[$(rm x)] starts rm.
func evaluators() []string {
	return []string{"let", "test", "[", "declare", "typeset", "local", "export", "readonly", "unset", "read", "printf", "wait", "getopts"}
}

// names collects the commands in subscripts of arguments, which the shell starts although
// the arguments are quoted.
func (w *shellWalk) names(args []shellWord) {
	for _, a := range args {
		w.subscript(a.text)
	}
}

// subscript parses the substitutions in a text with a subscript, as a document has them.
func (w *shellWalk) subscript(text string) {
	at := strings.IndexByte(text, '[')
	if at < 0 || !strings.Contains(text[at:], "$(") && !strings.Contains(text[at:], "`") && !strings.Contains(text[at:], "${") {
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

// launched returns the arguments from the program on.
func (w *shellWalk) launched(c shellCommand, l launcher, args []shellWord) ([]shellWord, bool) {
	w.launchTexts(c, l, args)
	at := skipOptions(args, l)
	for l.assigns && at < len(args) && isAssignment(args[at].text) {
		variable, value, _ := strings.Cut(args[at].text, "=")
		w.assigned(variable, shellWord{text: value, dynamic: args[at].dynamic}, c.shown)
		at += 1 + skipOptions(args[at+1:], l)
	}
	if l.sub != nil {
		if at < len(args) && (args[at].text == "compose" || args[at].text == "container") {
			at += 1 + skipOptions(args[at+1:], l)
		}
		if at >= len(args) || !slices.Contains(l.sub, args[at].text) {
			return nil, false
		}
		at += 1 + skipOptions(args[at+1:], l)
	}
	if c.name() == "mise" { // mise exec TOOL… -- PROGRAM
		if dashes := slices.IndexFunc(args, func(a shellWord) bool { return a.text == "--" }); dashes >= 0 {
			at = dashes + 1
		}
	}
	at += l.operands
	if entry, ok := entrypoint(l, args[:min(at, len(args))]); ok { // instead of the program of the image
		if strings.Contains(entry.text, " ") {
			w.joined(c, append([]shellWord{entry}, args[min(at, len(args)):]...))
			return nil, false
		}
		return append([]shellWord{entry}, args[min(at, len(args)):]...), true
	}
	if l.sub != nil && at < len(args) && (args[at].text == "--" || c.name() == "kubectl") { // kubectl exec POD -c NAME -- …
		at += skipOptions(args[at:], l)
	}
	if at >= len(args) {
		return nil, false
	}
	if c.name() == "parallel" && strings.HasPrefix(args[at].text, ":::") { // each word is a text
		for _, a := range args[at+1:] {
			w.joined(c, []shellWord{a})
		}
		return nil, false
	}
	if c.name() == "watch" || c.name() == "parallel" || c.name() == "sg" { // they pass their words to a shell
		w.joined(c, args[at:])
	}
	return args[at:], true
}

// skipOptions returns the position of the first word that is not an option, nor the
// value of one.
func skipOptions(args []shellWord, l launcher) int {
	for i := 0; i < len(args); i++ {
		s := args[i].text
		switch {
		case s == "--":
			return i + 1
		case len(s) < 2 || s[0] != '-':
			return i
		case takesNext(s, l):
			i++
		}
	}
	return len(args)
}

// takesNext reports whether the value of an option is the next word: that of a long
// option without =, or of a letter that is the last one of the word.
func takesNext(s string, l launcher) bool {
	if strings.HasPrefix(s, "--") {
		return slices.ContainsFunc(l.long, func(long string) bool { return abbreviates(s, "--"+long) })
	}
	if len(s) < 2 || s[0] != '-' {
		return false
	}
	at := strings.IndexAny(s[1:], l.valued+l.attached)
	return at == len(s)-2 && strings.IndexByte(l.valued, s[at+1]) >= 0
}

// abbreviates reports whether a word is a long option or the start of one, which GNU
// programs and git accept.
func abbreviates(word, option string) bool {
	return word == option || len(word) >= 4 && strings.HasPrefix(word, "--") && strings.HasPrefix(option, word)
}

// launchTexts collects the texts of the options of a launcher that are for a shell.
func (w *shellWalk) launchTexts(c shellCommand, l launcher, args []shellWord) {
	for i, a := range args {
		if l.sub != nil && a.text == "--" { // mise exec -- PROGRAM: the rest is for it
			return
		}
		if l.text == "" || !strings.HasPrefix(a.text, "-") || a.text == "--" {
			continue
		}
		value, found := "", false
		if !strings.HasPrefix(a.text, "--") {
			if at := strings.IndexAny(a.text, l.text); at > 0 {
				value, found = a.text[at+1:], true
			}
		} else {
			var name string
			name, value, _ = strings.Cut(a.text, "=")
			found = slices.ContainsFunc([]string{"--split-string", "--command", "--session-command"}, func(long string) bool { return abbreviates(name, long) })
		}
		switch {
		case !found:
		case value != "":
			w.joined(c, []shellWord{{text: value, dynamic: a.dynamic}})
		case i+1 < len(args):
			w.joined(c, args[i+1:i+2])
		}
	}
}

// entrypoint returns the program that a container starts in place of that of its image.
func entrypoint(l launcher, args []shellWord) (shellWord, bool) {
	if !slices.Contains(l.long, "entrypoint") {
		return shellWord{}, false
	}
	for i, a := range args {
		if value, ok := strings.CutPrefix(a.text, "--entrypoint="); ok {
			return shellWord{text: value, dynamic: a.dynamic}, value != "" || a.dynamic
		}
		if a.text == "--entrypoint" && i+1 < len(args) {
			return args[i+1], args[i+1].text != "" || args[i+1].dynamic
		}
	}
	return shellWord{}, false
}

// remote returns the words of ssh that the shell of the host gets.
func remote(args []shellWord) []shellWord {
	ssh := launcher{valued: shortValued("ssh")}
	host := skipOptions(args, ssh)
	if host >= len(args) {
		return nil
	}
	return args[host+1:][skipOptions(args[host+1:], ssh):] // options may also follow the host
}

// startsShell reports whether a command starts a shell that reads its input, although
// its arguments name none: ssh host, sudo -s.
func startsShell(c shellCommand) bool {
	args := slices.DeleteFunc(slices.Clone(c.argv[1:]), func(a shellWord) bool { return a.text == "-" && !a.dynamic }) // su - root
	l := launchers()[c.name()]
	at := skipOptions(args, l)
	switch c.name() {
	case "ssh":
		l = launcher{valued: shortValued("ssh")}
		return skipOptions(args, l) < len(args) && len(remote(args)) == 0 && !hasOption(args, l, "NW")
	case "sudo", "doas":
		for at < len(args) && isAssignment(args[at].text) {
			at += 1 + skipOptions(args[at+1:], l)
		}
		return at >= len(args) && hasOption(args, l, "si", "--shell", "--login")
	}
	return l.shell && at+l.operands >= len(args) && !hasOption(args, l, l.text, "--command", "--session-command")
}

// hasOption reports whether one of the options is among arguments. A word that is the
// value of another option is not an option, nor is the text after a letter that takes one.
func hasOption(args []shellWord, l launcher, letters string, long ...string) bool {
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
			at := strings.IndexAny(s[1:], letters+l.valued+l.attached)
			if at >= 0 && strings.IndexByte(letters, s[at+1]) >= 0 {
				return true
			}
		}
		if takesNext(s, l) {
			i++
		}
	}
	return false
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/-. ")
}

// joined parses words as one text of the shell, as eval and ssh do.
func (w *shellWalk) joined(c shellCommand, words []shellWord) {
	var texts []string
	for _, word := range words {
		if word.dynamic {
			w.doubt(dynamic, c.shown)
		}
		texts = append(texts, word.text)
	}
	if text := strings.Join(texts, " "); strings.TrimSpace(text) != "" {
		w.fed(text, w.depth+1, c.texts)
	}
}

// shellProgram returns what a shell runs by its arguments: the text of -c, or the file,
// which is the word at a position. source is 'c', 'f', or 's' for its input.
func shellProgram(args []shellWord) (source byte, at int) {
	skip, c := 0, false
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

// shell parses the text of -c, or that of a document.
func (w *shellWalk) shell(c shellCommand, args []shellWord) {
	switch source, at := shellProgram(args); source {
	case 'c':
		w.joined(c, args[at:at+1])
	case 's':
		for _, a := range args { // bash -c "$X": the text is computed
			if a.dynamic && a.text == "" {
				w.doubt(dynamic, c.shown)
			}
		}
		w.inputs(c)
	}
}

// readsProgram reports whether a command is a shell that reads its program from
// another command.
func readsProgram(c shellCommand) bool {
	switch c.name() {
	case "at", "batch":
		return true
	case "source", ".":
		return len(c.argv) > 1 && isDescriptor(c.argv[1].text)
	}
	if !isShell(c.name()) {
		return len(c.argv) > 0 && startsShell(c)
	}
	source, _ := shellProgram(c.argv[1:])
	return source == 's'
}

// passesText reports whether a command passes its arguments to a shell, or to a program
// that is a command of its own in the scan.
func passesText(name string) bool {
	_, starts := launchers()[name]
	return starts || isShell(name) || slices.Contains([]string{"eval", "trap", "alias", "ssh"}, name)
}

// takesArgument reports whether a command may run the output of a substitution in its
// arguments: an interpreter only as its program.
func takesArgument(c shellCommand) bool {
	if !isShell(c.name()) && !isInterpreter(c.name()) {
		return true
	}
	for i, a := range c.argv {
		if before := c.argv[max(i-1, 0)].text; a.dynamic && (i == 1 || strings.HasPrefix(before, "-") && strings.ContainsAny(before, "ce")) {
			return true
		}
	}
	return false
}

func isInterpreter(name string) bool {
	return slices.Contains([]string{"python", "pypy", "perl", "ruby", "node", "php", "lua", "deno", "bun"}, strings.TrimRight(name, "0123456789."))
}

// takesInput reports whether a command may run what another one writes: not an
// interpreter that is given its program.
func takesInput(c shellCommand) bool {
	switch {
	case isShell(c.name()):
		return readsProgram(c)
	case !isInterpreter(c.name()):
		return true
	}
	for _, a := range c.argv[1:] {
		switch {
		case a.text == "-" || a.dynamic:
			return true
		case !strings.HasPrefix(a.text, "-"), strings.ContainsAny(a.text, "cem") && !strings.HasPrefix(a.text, "--"):
			return false
		}
	}
	return true
}

// findActions collects the commands of find -exec and its like.
func (w *shellWalk) findActions(c shellCommand, args []shellWord) {
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
			w.program(shellCommand{argv: args[i+1 : end], shown: c.shown})
		}
		i = end
	}
}
