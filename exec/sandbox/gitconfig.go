package sandbox

import (
	"github.com/ryeos/rye/internal/openat"
	"os"
	"path/filepath"
	"strings"
)

// maxGitConfig bounds the configuration of a repository that is read.
const maxGitConfig = 1 << 20

// configured returns the files and directories of root from which the configuration of
// a repository makes git take programs: its hooks, and further configurations. Only
// existing ones are returned. The configuration itself is protected, so that a program
// cannot name others.
func configured(root, gitDir string) (out []string) {
	file := filepath.Join(gitDir, "config")
	if fi, err := os.Stat(file); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxGitConfig {
		return nil
	}
	b, err := openat.ReadRegular(file, openat.MaxText)
	if err != nil {
		return nil
	}
	hooks, includes := gitPaths(string(b))
	for base, list := range map[string][]string{filepath.Dir(gitDir): hooks, gitDir: includes} {
		for _, p := range list {
			p = filepath.FromSlash(p)
			if !filepath.IsAbs(p) {
				p = filepath.Join(base, p)
			}
			real, err := filepath.EvalSymlinks(p)
			if err == nil && real != root && below(root, real) && !below(gitDir, real) {
				out = append(out, real)
			}
		}
	}
	return out
}

// gitPaths returns the values of core.hooksPath and of include.path in a configuration.
// It reads what git writes. A value that continues on the next line is not read.
func gitPaths(text string) (hooks, includes []string) {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "["); ok {
			name, after, _ := strings.Cut(rest, "]")
			section, _, _ = strings.Cut(strings.ToLower(name), " ")
			line = strings.TrimSpace(after)
		}
		key, value, _ := strings.Cut(line, "=")
		switch strings.TrimSpace(strings.ToLower(key)) {
		case "hookspath":
			if section == "core" {
				hooks = append(hooks, gitValue(value))
			}
		case "path":
			if section == "include" || section == "includeif" {
				includes = append(includes, gitValue(value))
			}
		}
	}
	return hooks, includes
}

// gitValue returns a value without quotes, escapes and the comment after it.
func gitValue(s string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(s):
			i++
			out.WriteByte(s[i])
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(out.String())
		default:
			out.WriteByte(c)
		}
	}
	return strings.TrimSpace(out.String())
}
