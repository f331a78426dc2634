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

// TestPrestartGraph starts a helper early for a graph whose file names a tool that looks
// like one that needs it.
func TestPrestartGraph(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		"bash":    "nodes: {a: {action: {item_id: rye/bash/bash, params: {command: x}}}}\n",
		"own":     "nodes:\n  a:\n    action:\n      item_id: \"demo/tool\"\n",
		"late":    "a: {item_id: rye/file-system/read}\nb: {item_id: 'tool:demo/x'}\n",
		"native":  "a: {item_id: rye/file-system/read}\nb: {item_id: directive:demo/x}\n",
		"dynamic": "a: {item_id: \"${state.tool}\"}\n",
		"none":    "a: {type: return}\n",
		"cut":     "a: {item_id:",
		"empty":   "a: {item_id: }\n",
	}
	at := filepath.Join(dir, ".ai", "tools", "demo")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(at, name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := &Project{Spaces: &space.Spaces{ProjectDir: dir, Roots: []*space.Root{space.NewDir(space.Project, "", dir, false)}}}
	for word, want := range map[string]bool{
		"demo/bash": true, "tool:demo/own": true, "demo/late": true, "demo/native": false, "demo/dynamic": false, "demo/none": false,
		"demo/cut": false, "demo/empty": false, "demo/missing": false, "../../etc/passwd": false, "": false,
	} {
		if got := in.looksCalling(word); got != want {
			t.Errorf("%q: %t, want %t", word, got, want)
		}
	}
	if (&Project{Spaces: &space.Spaces{}}).looksCalling("demo/bash") {
		t.Error("a file was found without a project")
	}
}
