package githook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/resolve"
)

// TestFinish: only a file whose bytes were signed gets the signed bytes, and a list
// that rye did not write changes nothing.
func TestFinish(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
	}
	git("init", "-q")
	g, err := gitcmd.New(gitcmd.Params{Dir: dir, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := g.Repo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put := func(rel, text string) {
		file := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	blob := func(text string) string { return repo.BlobName([]byte(text)) }
	line := "# rye:signed:2026-02-14T00:27:54Z:" + strings.Repeat("c5", 32) + ":" + strings.Repeat("A", 86) + ":" + strings.Repeat("b6", 32) + "\n"
	signed := line + "was"
	files := []string{".ai/plain", ".ai/edited", ".ai/forged", ".ai/reset", "a/.ai/new.sig", "a/.ai/other.sig", "rye.lock"}
	for _, file := range files {
		put(file, signed)
	}
	large := strings.Repeat("line of a lock\n", resolve.MaxItem/10) // which may be larger than an item
	put("a/rye.lock", large+"signed")
	git("add", ".")
	put("a/rye.lock", large)
	put(".ai/reset", "reset")
	git("add", ".ai/reset")
	for _, file := range []string{".ai/plain", ".ai/reset", "rye.lock"} {
		put(file, "was")
	}
	put(".ai/edited", "edited")
	put(".ai/forged", "forged")
	put("a/.ai/new", "body")
	put("a/.ai/other", "edited")
	for _, file := range []string{"a/.ai/new.sig", "a/.ai/other.sig"} {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(file))); err != nil {
			t.Fatal(err)
		}
	}
	list := []change{
		{path: ".ai/plain", was: blob("was"), now: blob(signed)},
		{path: ".ai/edited", was: blob("was"), now: blob(signed)},
		{path: ".ai/reset", was: blob("was"), now: blob(signed)},
		{path: "a/.ai/new.sig", now: blob(signed), signed: "a/.ai/new", blob: blob("body")},
		{path: "a/.ai/other.sig", now: blob(signed), signed: "a/.ai/other", blob: blob("body")},
		{path: "rye.lock", was: blob("was"), now: blob(signed)},
		{path: "a/rye.lock", was: blob(large), now: blob(large + "signed")},
	}
	list = append(list, change{path: ".ai/forged", was: blob("forged"), now: blob(signed)}) // not by rye
	if err := savePending(repo, list[:2], true); err != nil {
		t.Fatal(err)
	}
	if err := savePending(repo, list[1:], true); err != nil { // keeps the first
		t.Fatal(err)
	}
	if !PendingAbove(filepath.Join(dir, "a", ".ai")) {
		t.Error("the list is not found from a directory below")
	}
	if err := Finish(t.Context(), repo); err != nil || IsPending(repo.GitDir) {
		t.Fatalf("%v, pending %t", err, IsPending(repo.GitDir))
	}
	for file, want := range map[string]string{".ai/plain": signed, ".ai/edited": "edited", ".ai/forged": "forged", ".ai/reset": "was",
		"a/.ai/new.sig": signed, "a/.ai/other.sig": "", "rye.lock": signed, "a/rye.lock": large + "signed"} {
		if b, _ := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file))); string(b) != want {
			t.Errorf("%s is %.99q, want %.99q", file, b, want)
		}
	}
	outside := filepath.Join(filepath.Dir(dir), "outside")
	for _, text := range []string{"", "x", "a\x00b\x00", "../outside\x00\x00" + blob(signed) + "\x00\x00\x00"} {
		put(".git/"+pendingFile, text)
		if err := Finish(t.Context(), repo); err != nil || IsPending(repo.GitDir) {
			t.Errorf("%q: %v, pending %t", text, err, IsPending(repo.GitDir))
		}
		if _, err := os.Lstat(outside); err == nil {
			t.Fatalf("%q wrote outside of the work tree", text)
		}
	}
}
