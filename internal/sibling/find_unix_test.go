//go:build unix

package sibling

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/diag"
)

// program writes a file that could be a program, below dir.
func program(t *testing.T, mode os.FileMode, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rye := program(t, 0o755, dir, "next to", "rye")
	server := program(t, 0o755, dir, "next to", "rye-server")
	alone := program(t, 0o755, dir, "alone", "rye")
	other := program(t, 0o755, dir, "other", "rye-server")
	project := program(t, 0o755, dir, "project", "bin", "rye-server")
	if err := os.Mkdir(filepath.Join(dir, "project", ".ai"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "other", "rye")
	if err := os.Symlink(rye, link); err != nil {
		t.Fatal(err)
	}
	shared := program(t, 0o777, dir, "shared", "rye-server")
	closed := program(t, 0o644, dir, "closed", "rye-server")
	in := filepath.Dir
	path := func(dirs string) []string { return []string{"HOME=" + dir, "PATH=" + dirs} }
	for _, c := range []struct {
		name string
		s    Search
		want string
		code diag.Code
	}{
		{"next to rye, before PATH", Search{Self: rye, Environ: path(in(other))}, server, ""},
		{"next to the rye that a link names", Search{Self: link, Environ: path(in(other))}, server, ""},
		{"in PATH", Search{Self: alone, Environ: path(in(other))}, other, ""},
		{"nowhere", Search{Self: alone, Environ: path(in(alone))}, "", ""},
		{"no path of rye", Search{Environ: path(in(other))}, other, ""},
		{"relative directories of PATH", Search{Self: alone, Environ: path(".:bin::")}, "", ""},
		{"in the project", Search{Self: alone, Environ: path(in(project)), Dirs: []string{filepath.Join(dir, "project")}}, "", ""},
		{"in PATH and not of this project", Search{Self: alone, Environ: path(in(project))}, project, ""},
		{"writable by all users", Search{Self: alone, Environ: path(in(shared) + ":" + in(other))}, "", diag.ConfigError},
		{"not executable", Search{Self: alone, Environ: path(in(closed) + ":" + in(other))}, "", diag.ConfigError},
		{"writable, but later", Search{Self: alone, Environ: path(in(other) + ":" + in(shared))}, other, ""},
	} {
		got, err := Find("rye-server", c.s)
		if got != c.want || diag.CodeOf(err) != c.code {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}
