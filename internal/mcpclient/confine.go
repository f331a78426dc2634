package mcpclient

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// DefaultSandbox returns the sandbox of a server for which the user states none. A
// server runs as long as the program that uses it.
func DefaultSandbox() policy.Profile {
	return policy.Profile{
		Read:  &[]string{"{project}"},
		Write: &[]string{"{cache}", "{tmp}"},
		Net:   policy.NetAny,
		Exec:  &[]string{policy.ExecAny},
		Limits: policy.Limits{
			CPUSeconds: 3600,
			MemoryMB:   4096,
			Processes:  512,
			OpenFiles:  2048,
			FileSizeMB: 1024,
			DiskMB:     8192,
			Files:      524288,
		},
	}.Normal()
}

// NamedFiles returns the paths that a server needs to read because its command names them:
// the user has written them, and sees in the question what they grant. A file of a
// package grants the package with the packages next to it, a program its directory, any other
// file itself. Home, directories above it and hidden ones in it are never granted.
func (s *Server) NamedFiles(home string) []string {
	var out []string
	for _, arg := range s.Args {
		at := namedBy(arg, home)
		if at != "" && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

const sep = string(filepath.Separator)

// namedBy returns the path that one argument grants, or "".
func namedBy(arg, home string) string {
	fi, err := os.Stat(arg)
	if err != nil || !filepath.IsAbs(arg) {
		return ""
	}
	file := filepath.Clean(arg)
	at := file
	root, _, inside := strings.Cut(file, sep+"node_modules"+sep)
	if inside {
		at = filepath.Join(root, "node_modules")
	} else if !fi.IsDir() {
		at = packageOf(file)
	}
	for _, at := range []string{at, file} {
		if !personal(at, home) {
			return at
		}
	}
	return ""
}

// personal reports whether a path is home, contains it, or is below a hidden name in
// it, where programs keep credentials. Installed packages are often below one. A link
// is as personal as what it leads to.
func personal(path, home string) bool {
	if path == sep {
		return true
	}
	for _, path := range followed(path) {
		for _, home := range followed(home) {
			below, err := filepath.Rel(home, path)
			up, bad := filepath.Rel(path, home)
			if bad == nil && filepath.IsLocal(up) {
				return true
			}
			if err == nil &&
				filepath.IsLocal(below) &&
				strings.HasPrefix(below, ".") &&
				!strings.Contains(below+sep, sep+"node_modules"+sep) {
				return true
			}
		}
	}
	return false
}

// followed returns a path, and where its links lead.
func followed(path string) []string {
	if to, err := filepath.EvalSymlinks(path); err == nil && to != path {
		return []string{path, to}
	}
	return []string{path}
}

// packageOf returns the directory of the package of a file: the nearest one with a
// description of a package, at most three levels up. Without one, a program has its
// modules next to it, and another file is only itself.
func packageOf(file string) string {
	dir := filepath.Dir(file)
	for up, level := dir, 0; level < 4; up, level = filepath.Dir(up), level+1 {
		for _, name := range []string{"package.json", "pyproject.toml"} {
			_, err := os.Stat(filepath.Join(up, name))
			if err == nil {
				return up
			}
		}
	}
	switch filepath.Ext(file) {
	case ".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".rb", ".pl", ".php", ".jar":
		return dir
	}
	return file
}

// Confine starts the program of a server in its sandbox. identity names the server for
// {cache}: servers with the same one share it.
// A server item without the key sandbox has the default of rye mcp add, not the default of
// its class: it was signed before the key existed. {cache} is one directory for each command, arguments,
// names of variables and sandbox.
type Confine func(ctx context.Context, s *Server, identity string, held policy.Held, c *proc.Cmd) (*exec.Sandbox, func(*proc.Result) error, error)

// sandboxData returns the sandbox as plain values, nil if the server states none.
func (s *Server) sandboxData() any {
	if s.Sandbox == nil {
		return nil
	}
	b, err := json.Marshal(s.Sandbox)
	if err != nil {
		return nil
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		return nil
	}
	return whole(v)
}

// whole replaces the numbers of JSON by whole ones, as YAML writes them.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case map[string]any:
		for k, x := range v {
			v[k] = whole(x)
		}
	}
	return v
}

// identity returns the name of the server for its cache.
func (s *Server) identity() string {
	if s.described != "" {
		return s.described
	}
	return s.Reached().Hex()
}

// confined wraps the command of a server, if the options confine programs.
func (o Options) confined(
	ctx context.Context,
	s *Server,
	c *proc.Cmd,
) (*exec.Sandbox, func(*proc.Result) error, error) {
	if o.Confine == nil {
		return nil, func(*proc.Result) error { return nil }, nil
	}
	applied, finish, err := o.Confine(ctx, s, s.identity(), o.Held, c)
	if err != nil {
		return nil, nil, diag.Doing("starting MCP server "+s.Name, err)
	}
	return applied, finish, nil
}

// Sandbox returns the isolation of the server's program, nil without one.
func (s *Session) Sandbox() *exec.Sandbox {
	if s.program == nil {
		return nil
	}
	return s.program.applied
}
