package main

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/stdlib"
)

// formatExamples are the files that docs/reference/format shows.
const formatExamples = "../../docs/reference/format/examples"

// TestFormatJSON compares what docs/reference/format/json.md shows with what the program
// prints about the example project, at a fixed time, for a user who holds the
// key of the examples. RYE_UPDATE_GOLDEN=1 writes it.
func TestFormatJSON(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are written otherwise")
	}
	for _, c := range []struct {
		name, needs string
		damage      bool
		status      int
		args        []string
	}{
		{"chain", "python3", false, 0, []string{"chain", "tool:demo/greet"}},
		{"chain-project", "perl", false, 0, []string{"chain", "tool:demo/shout"}},
		{"verify", "", false, 0, []string{"verify"}},
		{"verify-item", "", false, 0, []string{"verify", "tool:demo/greet"}},
		{"verify-changed", "", true, 5, []string{"verify", ".ai/tools/demo/greet.py"}},
		{"chain-changed", "", true, 5, []string{"chain", "tool:demo/greet"}},
		{"error", "", false, 4, []string{"chain", "tool:demo/great"}},
		{"run", "python3", false, 0, []string{"run", "tool:demo/greet", "who=you"}},
		{"run-invalid", "", false, 2, []string{"run", "tool:demo/greet", "times:=0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.needs != "" {
				if _, err := exec.LookPath(c.needs); err != nil {
					t.Skipf("%s is not installed", c.needs)
				}
			}
			out, status := runFormatExample(t, c.damage, append(c.args, "--json"))
			if status != c.status {
				t.Errorf("exit status %d, want %d", status, c.status)
			}
			golden(t, filepath.Join(formatExamples, "json", c.name+".json"), out)
		})
	}
}

// runFormatExample runs the program in a copy of the example project and takes
// out of its answer what differs from run to run.
func runFormatExample(t *testing.T, damage bool, args []string) ([]byte, int) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	trustDir := filepath.Join(home, ".config", "rye", "trust")
	copyTree(t, filepath.Join(formatExamples, "project"), filepath.Join(dir, "project"), 0o644)
	copyTree(t, filepath.Join(formatExamples, "trust"), trustDir, 0o600)
	if damage {
		name := filepath.Join(dir, "project", ".ai", "tools", "demo", "greet.py")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, bytes.Replace(b, []byte("hello"), []byte("adieu"), 1), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	env := map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}
	self, err := os.Executable() // starts the sandbox
	if err != nil {
		t.Fatal(err)
	}
	status := cli.Run(t.Context(), &cli.World{
		Self: self, Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &bytes.Buffer{},
		Getenv:  func(k string) string { return env[k] },
		Environ: func() []string { return []string{"HOME=" + home, "PATH=" + env["PATH"]} },
		Now:     func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) },
		Rand:    rand.Reader, Stdlib: stdlib.FS(), Dir: filepath.Join(dir, "project"), Program: cli.ReadVersion(),
		Isatty: func(any) bool { return false }, Commands: commands,
	})
	text := strings.ReplaceAll(out.String(), home, "/home/ada")
	text = regexp.MustCompile(`"path": "/[^"]*/(python3|perl)"`).ReplaceAllString(text, `"path": "/usr/bin/$1"`)
	measured := regexp.MustCompile(`("(duration_ms|cpu_ms|max_rss)": )[0-9]+`)
	text = machineLayers.ReplaceAllString(text, exampleLayers)
	return []byte(measured.ReplaceAllString(text, "${1}0")), status
}

// machineLayers is what the answer states about this system, and exampleLayers what the
// page shows.
var machineLayers = regexp.MustCompile(`(?s)"rung": "[a-z]+",\s+"layers": \[[^]]*\],\s+"missing": \[[^]]*\]`)

const exampleLayers = `"rung": "strict",
      "layers": ["userns", "mountns", "pidns", "netns", "ipcns", "utsns", "landlock:7", "seccomp", "rlimits"],
      "missing": ["cgroup"]`

func copyTree(t *testing.T, from, to string, mode fs.FileMode) {
	t.Helper()
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		return os.WriteFile(name, b, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
}
