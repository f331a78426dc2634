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
		Read: &[]string{"{project}"}, Write: &[]string{"{cache}", "{tmp}"}, Net: policy.NetAny, Exec: &[]string{policy.ExecAny},
		Limits: policy.Limits{CPUSeconds: 3600, MemoryMB: 4096, Processes: 512, OpenFiles: 2048, FileSizeMB: 1024, DiskMB: 8192},
	}.Normal()
}

// NamedFiles returns the directories that a server needs to read because its command
// names a file in them: the user has written the paths, and sees the directories in
// the question. The package of a file is readable as a whole, with the packages next
// to it; home, and directories above it, are not.
func (s *Server) NamedFiles(home string) []string {
	var out []string
	for _, arg := range s.Args {
		if !filepath.IsAbs(arg) {
			continue
		}
		fi, err := os.Stat(arg)
		if err != nil {
			continue
		}
		dir := filepath.Clean(arg)
		if root, _, inside := strings.Cut(dir, sep+"node_modules"+sep); inside {
			dir = filepath.Join(root, "node_modules")
		} else if !fi.IsDir() {
			dir = packageOf(dir)
		}
		if under, err := filepath.Rel(dir, home); err == nil && filepath.IsLocal(under) {
			dir = filepath.Clean(arg)
		}
		if dir != home && dir != sep && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

const sep = string(filepath.Separator)

// packageOf returns the directory of the package of a file: the nearest one with a
// description of a package, at most three levels up, or else that of the file.
func packageOf(file string) string {
	dir := filepath.Dir(file)
	for up, level := dir, 0; level < 4; up, level = filepath.Dir(up), level+1 {
		for _, name := range []string{"package.json", "pyproject.toml"} {
			if _, err := os.Stat(filepath.Join(up, name)); err == nil {
				return up
			}
		}
	}
	return dir
}

// Confine starts the program of a server in its sandbox. identity names the server for
// {cache}: servers with the same one share it.
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
func (o Options) confined(ctx context.Context, s *Server, c *proc.Cmd) (*exec.Sandbox, func(*proc.Result) error, error) {
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
