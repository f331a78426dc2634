package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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
	text, dyn := w.static(a.Value.Parts, false)
	if name, value, ok := strings.Cut(text, "="); ok {
		w.assigned(strings.TrimSuffix(name, "+"), shellWord{text: value, dynamic: dyn}, shown)
	}
}

func (w *shellWalk) assign(name string, value *syntax.Word, shown string) {
	if value == nil {
		return
	}
	if isStartFile(name) && slices.ContainsFunc(value.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.ProcSubst); return ok }) {
		w.doubt(dynamic, shown) // BASH_ENV=<(…): the shell runs what another command writes
	}
	text, dyn := w.static(value.Parts, false)
	if p := onlyVariable(value.Parts); p != nil && p.Param.Value == name { // EDITOR="${EDITOR:-vim}" changes nothing but a missing value
		text, dyn = w.fallback(p, text, dyn)
	}
	w.assigned(name, shellWord{text: text, dynamic: dyn}, shown)
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
	case p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || w.values[p.Param.Value] != "" || w.isSet(p.Param.Value):
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
		w.joined(c, []shellWord{{text: "f " + value.text, dynamic: value.dynamic}})
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
			w.gitSetting(c, key, shellWord{text: text, dynamic: value.dynamic})
		}
	case isStartFile(name) && isDescriptor(value.text):
		w.doubt(dynamic, shown)
	case slices.Contains([]string{"PS0", "PS1", "PS2", "PS4", "BASH_ENV", "ENV"}, name): // bash expands them
		w.expanded(value.text)
	case slices.Contains(runVariables(), name):
		w.joined(c, []shellWord{{text: strings.TrimPrefix(value.text, "|"), dynamic: value.dynamic}})
	}
}

// runVariables are variables whose value is a command for a shell.
func runVariables() []string {
	return []string{"PROMPT_COMMAND", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER",
		"GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_EDITOR", "SYSTEMD_EDITOR", "RSYNC_RSH", "CVS_RSH"}
}

// isStartFile reports whether a variable names a file that a shell runs when it starts.
func isStartFile(name string) bool { return name == "BASH_ENV" || name == "ENV" }

// textOption is an option whose value a program passes to a shell, or starts as a program
// with arguments.
type textOption struct {
	name  string
	lead  string // the value is one only after this text
	words bool   // it is divided into words; what a variable adds is an argument
}

// textOptions are those of a program. A long one can be abbreviated.
func textOptions(name string) (out []textOption) {
	var names []string
	switch name {
	case "tar", "gtar", "bsdtar":
		out = []textOption{{name: "--checkpoint-action", lead: "exec="}}
		names = []string{"--to-command", "-I", "--use-compress-program", "--rsh-command", "-F", "--info-script", "--new-volume-script"}
	case "rsync":
		return []textOption{{name: "-e", words: true}, {name: "--rsh", words: true}}
	case "npm", "npx", "pnpm":
		names = []string{"-c", "--call"}
	case "nix-shell", "nix":
		names = []string{"--run", "--command"}
	case "scp", "sftp":
		names = []string{"-S"}
	case "git":
		names = []string{"-x", "-u", "-O", "--open-files-in-pager", "--exec", "--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--commit-filter", "--upload-pack", "--receive-pack", "--extcmd"}
	}
	for _, n := range names {
		out = append(out, textOption{name: n})
	}
	return out
}

// isOfOther reports whether git has an option of that name in these subcommands only, and
// none of them is before it.
func isOfOther(name string, before []shellWord) bool {
	of := map[string][]string{"-x": {"rebase", "difftool"}, "-u": {"clone"}, "-O": {"grep"}, "--open-files-in-pager": {"grep"}}[name]
	return of != nil && !slices.ContainsFunc(before, func(b shellWord) bool { return slices.Contains(of, b.text) })
}

// shortValued are the letters of the options of a program that take a value.
func shortValued(program string) string {
	switch program {
	case "ssh":
		return "BbcDEeFIiJLlmOoPpQRSWw"
	case "scp":
		return "cDFiJloPSX"
	case "sftp":
		return "BbcDFiJloPRSsX"
	case "tar", "gtar", "bsdtar":
		return "bfgCFHIKLNTVX"
	case "rsync":
		return "BefMT@"
	case "npm", "npx", "pnpm":
		return "cCFpw"
	}
	return ""
}

// gitValued is shortValued for the subcommands of git that have an option.
func gitValued(letter byte) string {
	switch letter {
	case 'x': // rebase, difftool
		return "CSXrstx"
	case 'u': // clone
		return "bcjou"
	}
	return "ABCOefm" // grep
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

// value returns the value of the option in a word, or in the next one.
func (o textOption) value(program string, args []shellWord, i int) (shellWord, bool) {
	a := args[i]
	var text, source string
	var joined bool
	if strings.HasPrefix(o.name, "--") {
		var name string
		if name, text, joined = strings.Cut(a.text, "="); !abbreviates(name, o.name) {
			return shellWord{}, false
		}
		_, source, _ = strings.Cut(a.source, "=")
	} else {
		valued := shortValued(program)
		if program == "git" {
			valued = gitValued(o.name[1])
		}
		rest, ok := letterValue(a.text, o.name[1], valued)
		if !ok {
			return shellWord{}, false
		}
		text = strings.TrimPrefix(rest, "=")
		source = strings.TrimPrefix(a.source, strings.TrimSuffix(a.text, rest))
		joined = rest != ""
	}
	if joined {
		return shellWord{text: text, dynamic: a.dynamic, source: source}, true
	}
	if i+1 < len(args) && o.name != "-O" { // git grep -O: without a value it is the pager
		return args[i+1], true
	}
	return shellWord{}, false
}

// unbundled replaces the first word of tar by its letters as options: tar cIf ZSTD FILE has
// their values in the next words.
func unbundled(args []shellWord) []shellWord {
	if len(args) == 0 || args[0].text == "" || args[0].text[0] == '-' {
		return args
	}
	var out []shellWord
	rest := args[1:]
	for _, letter := range args[0].text {
		if strings.ContainsRune(shortValued("tar"), letter) && len(rest) > 0 {
			out = append(out, shellWord{text: "-" + string(letter)}, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// optionTexts collects the texts of options that a program passes to a shell.
func (w *shellWalk) optionTexts(name string, c shellCommand, args []shellWord) {
	if strings.HasSuffix(name, "tar") {
		args = unbundled(args)
	}
	for _, option := range textOptions(name) {
		for i := range args {
			value, found := option.value(name, args, i)
			if !found || name == "git" && isOfOther(option.name, args[:i]) {
				continue
			}
			text, ok := strings.CutPrefix(value.text, option.lead)
			if !ok {
				continue
			}
			value.text = strings.TrimPrefix(text, "!")
			if option.words && value.dynamic {
				value = shellWord{text: value.source}
			}
			w.joined(c, []shellWord{value})
		}
	}
	switch name {
	case "ssh", "scp", "sftp":
		w.sshTexts(name, c, args)
	}
}

// sshTexts collects the settings of ssh that are commands: -o KEY=VALUE, or KEY VALUE.
func (w *shellWalk) sshTexts(name string, c shellCommand, args []shellWord) {
	for i := range args {
		value, ok := textOption{name: "-o"}.value(name, args, i)
		if !ok {
			continue
		}
		key := strings.TrimLeft(value.text, " \t")
		end := strings.IndexAny(key, "= \t")
		if end < 0 {
			continue
		}
		switch strings.ToLower(key[:end]) {
		case "proxycommand", "localcommand", "knownhostscommand":
			value.text = strings.TrimLeft(key[end:], "= \t")
			w.joined(c, []shellWord{value})
		}
	}
}

// gitTexts collects what git runs because of a setting, an alias with ! or a subcommand.
func (w *shellWalk) gitTexts(c shellCommand, args []shellWord) {
	config := slices.ContainsFunc(args, func(a shellWord) bool { return a.text == "config" })
	submodule := slices.ContainsFunc(args, func(a shellWord) bool { return a.text == "submodule" })
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1].text
		}
		text, long := a.text, false
		if name, rest, ok := strings.Cut(a.text, "="); ok && abbreviates(name, "--config") {
			text, long = rest, true
		}
		key, value, set := strings.Cut(text, "=")
		if !set && i+1 < len(args) { // git config KEY VALUE
			a.text, a.dynamic = args[i+1].text, args[i+1].dynamic
		} else {
			a.text = value
		}
		if long || config || before == "-c" || abbreviates(before, "--config") {
			w.gitSetting(c, key, a)
		}
		if key, ok := configVariable(args[i].text, before); ok && isCommandKey(key) {
			w.doubt(dynamic, c.shown) // the value is that of a variable
		}
		if address, ok := strings.CutPrefix(args[i].text, "ext::"); ok { // a transport that is a command
			w.joined(c, []shellWord{{text: address, dynamic: args[i].dynamic}})
			if argv := transport(address); len(argv) > 0 {
				w.program(shellCommand{argv: argv, shown: c.shown})
			}
		}
		if args[i].text == "foreach" && submodule || args[i].text == "run" && before == "bisect" {
			w.joined(c, args[i+1:][skipOptions(args[i+1:], launcher{}):])
		}
	}
}

// configVariable returns the setting that git takes from a variable: --config-env=KEY=NAME,
// abbreviated or in two words.
func configVariable(word, before string) (key string, ok bool) {
	isOption := func(name string) bool { return len(name) > len("--config") && abbreviates(name, "--config-env") }
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
		argv = append(argv, shellWord{text: strings.NewReplacer(space, " ", percent, "%").Replace(word)})
	}
	return argv
}

// gitSetting collects the command in the value of a setting of git.
func (w *shellWalk) gitSetting(c shellCommand, key string, value shellWord) {
	key = strings.ToLower(key)
	text, shell := strings.CutPrefix(value.text, "!")
	if isCommandSetting(key) || strings.HasPrefix(key, "alias.") && shell {
		w.joined(c, []shellWord{{text: text, dynamic: value.dynamic}})
	}
}

// isCommandKey reports whether the value of a setting can be a command.
func isCommandKey(key string) bool {
	key, _, _ = strings.Cut(strings.ToLower(key), "=")
	return isCommandSetting(key) || strings.HasPrefix(key, "alias.")
}

// isCommandSetting reports whether the value of a setting of git is a command.
func isCommandSetting(key string) bool {
	switch key {
	case "core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.askpass", "core.gitproxy", "sequence.editor", "diff.external", "credential.helper", "gpg.program":
		return true
	}
	return strings.HasPrefix(key, "pager.") ||
		slices.ContainsFunc([]string{".textconv", ".clean", ".smudge", ".process", ".driver", ".cmd", ".helper", ".command"}, func(end string) bool { return strings.HasSuffix(key, end) && strings.Contains(key, ".") })
}

// isDescriptor reports whether a file is an open descriptor: a document of the command, or
// what another command writes.
func isDescriptor(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/") && strings.Contains(path, "/fd/")
}
