package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assigns collects what a shell or another program runs because of a variable.
func (w *shellWalk) assigns(list []*syntax.Assign, shown string) {
	for _, a := range list {
		if a.Name == nil || a.Value == nil {
			continue
		}
		if isStartFile(a.Name.Value) && slices.ContainsFunc(a.Value.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.ProcSubst); return ok }) {
			w.doubt(dynamic, shown) // BASH_ENV=<(…): the shell runs what another command writes
		}
		text, dyn := w.static(a.Value.Parts, false)
		w.assigned(a.Name.Value, shellWord{text, dyn}, shown)
	}
}

// assigned collects the commands in the value of one variable. Other programs run some as
// texts of the shell; bash takes functions from variables, and expands its prompts.
func (w *shellWalk) assigned(name string, value shellWord, shown string) {
	switch {
	case strings.HasPrefix(name, "BASH_FUNC_"):
		w.joined(shellCommand{shown: shown}, []shellWord{{"f " + value.text, value.dynamic}})
	case isStartFile(name) && isDescriptor(value.text):
		w.doubt(dynamic, shown)
	case slices.Contains([]string{"PS0", "PS1", "PS2", "PS4", "BASH_ENV", "ENV"}, name): // bash expands them
		w.expanded(value.text)
	case slices.Contains(runVariables(), name):
		w.joined(shellCommand{shown: shown}, []shellWord{{strings.TrimPrefix(value.text, "|"), value.dynamic}})
	}
}

// runVariables are variables whose value is a command for a shell.
func runVariables() []string {
	return []string{"PROMPT_COMMAND", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER",
		"GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_EDITOR", "SYSTEMD_EDITOR", "RSYNC_RSH", "CVS_RSH"}
}

// isStartFile reports whether a variable names a file that a shell runs when it starts.
func isStartFile(name string) bool { return name == "BASH_ENV" || name == "ENV" }

// textOptions are options whose value a program passes to a shell, by the program. One that
// ends with = has its value in the same word, after that text.
func textOptions(name string) []string {
	switch name {
	case "tar", "gtar", "bsdtar":
		return []string{"--checkpoint-action=exec=", "--to-command", "-I", "--use-compress-program", "--rsh-command", "-F", "--info-script", "--new-volume-script"}
	case "rsync":
		return []string{"-e", "--rsh"}
	case "npm", "npx", "pnpm":
		return []string{"-c", "--call"}
	case "nix-shell", "nix":
		return []string{"--run", "--command"}
	case "ssh", "scp", "sftp":
		return []string{"-oProxyCommand=", "ProxyCommand=", "-oLocalCommand=", "LocalCommand=", "-oKnownHostsCommand=", "KnownHostsCommand="}
	case "git":
		return []string{"-x", "--exec", "--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--commit-filter", "--upload-pack", "--receive-pack", "--extcmd"}
	}
	return nil
}

// isCluster reports whether a word is several one-letter options that end with a letter.
func isCluster(s string, letter byte) bool {
	return len(s) > 2 && s[0] == '-' && s[1] != '-' && s[len(s)-1] == letter
}

// optionTexts collects the texts of options that a program passes to a shell.
func (w *shellWalk) optionTexts(name string, c shellCommand, args []shellWord) {
	for _, option := range textOptions(name) {
		for i, a := range args {
			value, found := strings.CutPrefix(a.text, option)
			if !found && len(option) == 2 && (name == "rsync" || strings.HasSuffix(name, "tar")) && isCluster(a.text, option[1]) {
				value, found = "", true // -ave 'ssh …'
			}
			if option == "-x" && !slices.ContainsFunc(args[:i], func(b shellWord) bool { return b.text == "rebase" || b.text == "difftool" }) {
				found = false // of another subcommand
			}
			joined := strings.HasSuffix(option, "=") || strings.HasPrefix(value, "=")
			switch {
			case !found:
			case joined || value != "" && len(option) == 2:
				w.joined(c, []shellWord{{strings.TrimLeft(value, "=!"), a.dynamic}})
			case value == "" && i+1 < len(args):
				w.joined(c, []shellWord{{strings.TrimPrefix(args[i+1].text, "!"), args[i+1].dynamic}})
			}
		}
	}
}

// gitTexts collects what git runs because of a setting, an alias with ! or a subcommand.
func (w *shellWalk) gitTexts(c shellCommand, args []shellWord) {
	config := slices.ContainsFunc(args, func(a shellWord) bool { return a.text == "config" })
	submodule := slices.ContainsFunc(args, func(a shellWord) bool { return a.text == "submodule" })
	for i, a := range args {
		text, long := strings.CutPrefix(a.text, "--config=")
		key, value, set := strings.Cut(text, "=")
		named := long || config || i > 0 && (args[i-1].text == "-c" || args[i-1].text == "--config")
		dyn := a.dynamic
		if !set && i+1 < len(args) { // git config KEY VALUE
			value, dyn = args[i+1].text, args[i+1].dynamic
		}
		key = strings.ToLower(key)
		switch {
		case named && strings.HasPrefix(key, "alias."):
			if text, ok := strings.CutPrefix(value, "!"); ok {
				w.joined(c, []shellWord{{text, dyn}})
			}
		case named && isCommandSetting(key):
			w.joined(c, []shellWord{{strings.TrimPrefix(value, "!"), dyn}})
		case a.text == "foreach" && submodule, a.text == "run" && i > 0 && args[i-1].text == "bisect":
			w.joined(c, args[i+1:][skipOptions(args[i+1:], launcher{}):])
		}
	}
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
