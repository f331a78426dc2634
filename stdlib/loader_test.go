package stdlib_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The function loader keeps its promises, with the Python that is here.
func TestFunctionLoader(t *testing.T) {
	if testing.Short() {
		t.Skip("starts python3 for each case")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	loader, err := filepath.Abs(".ai/tools/rye/core/runtimes/lib/python/function_loader.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, src, stdin, want, fails string }{
		{"plain", "def execute(params, project): return {'n': params['n'] + 1, 'p': project}", `{"n": 1}`, `{"n": 2, "p": "/proj"}`, ""},
		{"async", "async def execute(params, project): return {'ok': True}", `{}`, `{"ok": true}`, ""},
		{"nothing", "def execute(params, project): pass", ``, `{}`, ""},
		{"prints", "import os\nprint('at import')\ndef execute(params, project):\n    print('loud'); os.system('echo child'); return {'a': 'é'}", `{}`, `{"a": "é"}`, ""},
		{"dates", "import datetime\ndef execute(p, q): return {'d': datetime.date(2026, 11, 20)}", `{}`, `{"d": "2026-11-20"}`, ""},
		{"surrogate", "def execute(p, q): return {'s': '\\udc80'}", `{}`, `{"s": "\udc80"}`, ""},
		{"raises", "def execute(p, q): raise ValueError('bad thing')", `{}`, "", "ValueError: bad thing"},
		{"no json", "def execute(p, q): return {'x': float('nan')}", `{}`, "", "not JSON compliant"},
		{"no function", "x = 1", `{}`, "", "defines no execute"},
		{"exits", "import sys\ndef execute(p, q): sys.exit(3)", `{}`, "", "sys.exit(3)"},
		{"exits well", "import sys\ndef execute(p, q): sys.exit(0)", `{}`, `{}`, ""},
		{"list", "def execute(p, q): return {}", `[1]`, "", "one JSON object"},
		{"syntax", "def execute(", `{}`, "", "SyntaxError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Named json, so that a loader which shadows modules fails.
			tool := filepath.Join(t.TempDir(), "json.py")
			writeFile(t, tool, []byte(c.src))
			cmd := exec.CommandContext(t.Context(), python, "-B", loader, tool, "/proj")
			cmd.Env = append(os.Environ(), "PYTHONUTF8=1")
			cmd.Stdin = strings.NewReader(c.stdin)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			got := strings.TrimSpace(string(out))
			if c.fails == "" {
				if err != nil || got != c.want {
					t.Errorf("got %s, %v, want %s\n%s", got, err, c.want, stderr.String())
				}
				return
			}
			if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(got, `"success": false`) || !strings.Contains(got, c.fails) {
				t.Errorf("got %s, exit %d, want a failure with %q", got, cmd.ProcessState.ExitCode(), c.fails)
			}
			if strings.Contains(got, "\n") {
				t.Errorf("stdout holds more than the result: %q", got)
			}
		})
	}
}
