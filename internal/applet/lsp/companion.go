package lsp

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
)

// useCompanion sets the option that names the companion's file: the one in the
// node_modules directory that contains the server's program.
func (s *server) useCompanion(program string) error {
	if s.companion.file == "" {
		return nil
	}
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return s.missing()
	}
	for dir := filepath.Dir(program); ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, filepath.FromSlash(s.companion.file))
		fi, err := os.Stat(file)
		if err == nil && filepath.Base(dir) == "node_modules" && fi.Mode().IsRegular() {
			s.options = withOption(s.options, s.companion.option, file)
			return nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return diag.New(diag.ExecutionFailed, "starting language server %s: %s is not installed next to %s (install: %s)",
		s.id, s.companion.file, program, s.install).WithDetail("server", s.id)
}

// withOption returns a copy of options in which the value at a path, written with
// dots, is set.
func withOption(options any, path, value string) map[string]any {
	out := map[string]any{}
	old, _ := options.(map[string]any)
	for k, v := range old {
		out[k] = v
	}
	name, rest, nested := strings.Cut(path, ".")
	if nested {
		out[name] = withOption(out[name], rest, value)
	} else {
		out[name] = value
	}
	return out
}
