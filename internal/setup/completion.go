package setup

import (
	"cmp"
	"path/filepath"
)

// CompletionFile returns the file from which a shell, by the path of its program, reads the
// completion of rye by itself, with the name of the shell. The file is "" if the shell reads
// none, and both are "" for a shell that is not known.
func CompletionFile(program, home string, getenv func(string) string) (shell, file string) {
	at := func(variable, fallback string, rest ...string) string {
		dir := getenv(variable)
		if !filepath.IsAbs(dir) {
			dir = ""
		}
		if dir == "" && home == "" {
			return ""
		}
		return filepath.Join(append(
			[]string{cmp.Or(dir, filepath.Join(home, fallback))},
			rest...,
		)...)
	}
	switch shell = filepath.Base(program); shell {
	case "bash":
		return shell, at("XDG_DATA_HOME", ".local/share", "bash-completion", "completions", "rye")
	case "fish":
		return shell, at("XDG_CONFIG_HOME", ".config", "fish", "completions", "rye.fish")
	case "zsh":
		return shell, ""
	}
	return "", ""
}
