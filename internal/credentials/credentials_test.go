package credentials

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestFind(t *testing.T) {
	env := map[string]string{"IN_ENV": "from-the-environment", "BOTH": "from-the-environment", "EMPTY": ""}
	k := Keys{Getenv: func(n string) string { return env[n] }, Dir: filepath.Join(t.TempDir(), "config")}
	for n, v := range map[string]string{"BOTH": "from-the-file", "STORED": `quo"ted\value`, "EMPTY": "from-the-file"} {
		if err := k.Store(t.Context(), n, v); err != nil {
			t.Fatal(err)
		}
	}
	got, err := k.Find("IN_ENV", "BOTH", "STORED", "EMPTY", "MISSING")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Key{
		"IN_ENV": {"IN_ENV", FromEnvironment, "from-the-environment"}, "BOTH": {"BOTH", FromEnvironment, "from-the-environment"},
		"STORED": {"STORED", FromFile, `quo"ted\value`}, "EMPTY": {"EMPTY", FromFile, "from-the-file"},
	}
	for n, key := range want {
		if got[n] != key {
			t.Errorf("%s is %+v", n, got[n])
		}
	}
	if len(got) != len(want) {
		t.Errorf("found %v", got)
	}
	if fi, err := os.Stat(k.path()); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", fi.Mode(), err)
	}
	for _, want := range []bool{true, false} {
		if existed, err := k.Remove(t.Context(), "BOTH"); existed != want || err != nil {
			t.Errorf("removed %t %v", existed, err)
		}
	}
	if names, err := k.Stored(); err != nil || !slices.Equal(names, []string{"EMPTY", "STORED"}) {
		t.Errorf("stored %q %v", names, err)
	}
}

// TestRefused refuses what is not a key, and files that are not safe. No message has a
// value in it.
func TestRefused(t *testing.T) {
	k := Keys{Dir: t.TempDir()}
	for _, v := range []string{"", "with a space", "line\nbreak-in-it", strings.Repeat("x", maxValue+1)} {
		if err := k.Store(t.Context(), "K", v); diag.CodeOf(err) != diag.ValidationFailed {
			t.Errorf("%.20q: %v", v, err)
		}
	}
	dummy, err := (Keys{Getenv: func(string) string { return "noop" }}).Find("K")
	if err != nil || dummy["K"].Value != "noop" || !Short("noop") || Short("12345678") {
		t.Errorf("a dummy in the environment: %v %v", dummy, err)
	}
	if err := (Keys{}).Store(t.Context(), "K", "long-enough"); diag.CodeOf(err) != diag.FileSystemError {
		t.Errorf("without a directory: %v", err)
	}
	for text, want := range map[string]string{
		"[keys]\nK = secret-value-1\n": ":2:", "[keys]\nK = 12\n": "text in quotes", "[key]\nK = \"secret-value-1\"\n": "key",
		"[keys]\n\"a b\" = \"secret-value-1\"\n": "name of a variable",
	} {
		if err := os.WriteFile(k.path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := k.Find("K")
		if diag.CodeOf(err) != diag.ConfigError || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-value") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(k.path(), mode); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Find("K"); diag.CodeOf(err) != diag.ConfigError || !strings.Contains(err.Error(), "mode 06") {
			t.Errorf("mode %v: %v", mode, err)
		}
		if err := k.Store(t.Context(), "K", "long-enough"); err == nil {
			t.Errorf("mode %v: stored into a file that other users can read", mode)
		}
	}
}

// TestAtOnce stores keys at the same time: none is lost.
func TestAtOnce(t *testing.T) {
	k := Keys{Dir: t.TempDir()}
	var all sync.WaitGroup
	for _, n := range []string{"A", "B", "C", "D", "E", "F"} {
		all.Go(func() {
			if err := k.Store(t.Context(), n, "the-value-of-"+n); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names, err := k.Stored(); err != nil || len(names) != 6 {
		t.Errorf("stored %q %v", names, err)
	}
}
