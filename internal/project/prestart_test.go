package project

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/resolve/space"
)

// TestPrestartGuess starts a helper of the sandbox early for what looks like a tool that
// needs one. The run itself decides by the verified item.
func TestPrestartGuess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"demo/plain.sh":  "#!/usr/bin/env bash\n# category: demo\necho risk: T4\n",
		"demo/bare.sh":   "#!/usr/bin/env bash\n# risk: T4\n",
		"demo/named.py":  "# risk: critical\n",
		"demo/low.yaml":  "tool_type: tool\nrisk: T2\nconfig: {risk: T4}\n",
		"demo/typo.yaml": "risk: T44\n",
	} {
		at := filepath.Join(dir, ".ai", "tools", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := &Project{Spaces: &space.Spaces{ProjectDir: dir, Roots: []*space.Root{space.NewDir(space.Project, "", dir, false)}}}
	outside := &Project{Spaces: &space.Spaces{}}
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"tool", "demo/plain"}, true},
		{[]string{"tool", "demo/bare", "x=1"}, false},
		{[]string{"demo/bare"}, false},
		{[]string{"tool:demo/named"}, false},
		{[]string{"demo/low"}, true},
		{[]string{"demo/typo"}, true},
		{[]string{"demo/none"}, true},
		{[]string{"tool"}, true},
		{[]string{"../../etc/passwd"}, true},
		{[]string{"rye/bash/bash", "command=true"}, true},
		{[]string{"rye/file-system/read"}, false},
		{[]string{"directive", "demo/bare"}, false},
		{[]string{"knowledge:demo/low"}, false},
	} {
		if got := looksConfined(c.args) && !in.looksUnconfined(c.args); got != c.want {
			t.Errorf("%q: %t, want %t", c.args, got, c.want)
		}
	}
	if outside.looksUnconfined([]string{"demo/bare"}) {
		t.Error("a file was found without a project")
	}
}
