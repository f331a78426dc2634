package verify

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/resolve/space"
)

// bare makes a bare repository and returns it with a function that runs git,
// handing it some text.
func bare(t *testing.T) (*gitcmd.Git, func(stdin string, words ...string) string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	run := func(stdin string, words ...string) string {
		t.Helper()
		cmd := exec.Command("git", words...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", words, err)
		}
		return strings.TrimSpace(string(out))
	}
	run("", "init", "-q", "--bare")
	git, err := gitcmd.New(gitcmd.Params{Dir: dir, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	return git, run
}

func open(t *testing.T, git *gitcmd.Git, tree string) *GitFiles {
	t.Helper()
	g, err := Revision(t.Context(), git, tree, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// TestHostileTree reads what no work tree of ours may hold.
func TestHostileTree(t *testing.T) {
	git, run := bare(t)
	blob := run("text", "hash-object", "-w", "--stdin")
	inner := "100644 blob " + blob + "\ta\n" + "100644 blob " + blob + "\tb\\c\n" +
		"120000 blob " + blob + "\tlink\n" + "160000 commit " + strings.Repeat("1", 40) + "\tmodule\n" + "100755 blob " + blob + "\trun\n"
	tree := run("040000 tree "+run(inner, "mktree", "--missing")+"\t.ai\n", "mktree")
	g := open(t, git, tree)
	want := map[string]diag.Code{"a": "", "b\\c": diag.PathEscape, "link": diag.PathEscape, "module": diag.NotRegular, "run": ""}
	seen := 0
	err := g.Walk(".", func(e space.Entry) error {
		seen++
		if code, ok := want[e.Rel]; !ok || diag.CodeOf(e.Err) != code {
			t.Errorf("%q: %v, want %q", e.Rel, e.Err, code)
		}
		return nil
	})
	if err != nil || seen != len(want) {
		t.Errorf("%d entries, want %d, %v", seen, len(want), err)
	}
	for _, rel := range []string{"link", "module", "b\\c"} {
		if b, err := g.Read(rel, 100); err == nil {
			t.Errorf("%s was read: %q", rel, b)
		}
	}
	if !g.Exists("link") || !g.Exists("module") || g.Exists("nothing") || !g.Executable("run") || g.Executable("a") {
		t.Error("existing and executable files differ from the tree")
	}
	if _, err := g.Read("a", 3); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("above the limit: %v", err)
	}
	if _, err := g.Read("nothing", 3); !space.IsMissing(err) {
		t.Errorf("missing: %v", err)
	}
}

// TestFolderThatIsNone reads a revision whose .ai is a link or a file.
func TestFolderThatIsNone(t *testing.T) {
	git, run := bare(t)
	blob := run("/etc", "hash-object", "-w", "--stdin")
	for mode, want := range map[string]diag.Code{"120000": diag.PathEscape, "100644": diag.NotRegular} {
		g := open(t, git, run(mode+" blob "+blob+"\t.ai\n", "mktree"))
		var got error
		_ = g.Walk(".", func(e space.Entry) error { got = e.Err; return nil })
		if diag.CodeOf(got) != want || g.Empty() {
			t.Errorf("%s: %v, want %s", mode, got, want)
		}
		if b, err := g.Read(".", 100); err == nil {
			t.Errorf("%s: read %q", mode, b)
		}
	}
	empty := open(t, git, run("", "mktree"))
	if !empty.Empty() || empty.Exists("tools") {
		t.Error("an empty tree holds something")
	}
}

// TestReadAhead reads more files than fit ahead, in order, backwards, twice,
// and with a list of what is wanted; one object is missing.
func TestReadAhead(t *testing.T) {
	git, run := bare(t)
	const n = 3*aheadFiles + 7
	var inner strings.Builder
	text := func(i int) string { return fmt.Sprintf("file %d", i) }
	for i := range n {
		fmt.Fprintf(&inner, "M 100644 inline .ai/d/f%05d\ndata %d\n%s\n", i, len(text(i)), text(i))
	}
	run("commit refs/heads/x\ncommitter a <a@b> 0 +0000\ndata 0\n"+inner.String(), "fast-import", "--quiet")
	tree, err := git.Resolve(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	g := open(t, git, tree)
	check := func(i int) {
		t.Helper()
		if b, err := g.Read(fmt.Sprintf("d/f%05d", i), 100); err != nil || string(b) != text(i) {
			t.Fatalf("file %d: %q, %v", i, b, err)
		}
	}
	for i := range n {
		check(i)
	}
	for i := range n {
		check(n - 1 - i)
	}
	g.Only([]string{"d/f00003", "d/f00001", "d/nothing"})
	for _, i := range []int{1, 3, 2, n - 1, 1} {
		check(i)
	}
	if len(g.ahead) > 4*aheadFiles+aheadFiles {
		t.Errorf("%d files are kept", len(g.ahead))
	}
	lost := strings.Repeat("1", 40)
	lacking := run("100644 blob "+lost+"\ta\n", "mktree", "--missing")
	g = open(t, git, run("040000 tree "+lacking+"\t.ai\n", "mktree"))
	if _, err := g.Read("a", 100); diag.CodeOf(err) != diag.FileSystemError || !strings.Contains(err.Error(), "lacks object "+lost) {
		t.Errorf("missing object: %v", err)
	}
}

// TestOffer reads blobs that the caller has read before: each once, only those of wanted
// files, and by the name that the tree has.
func TestOffer(t *testing.T) {
	git, run := bare(t)
	blob := run("git's", "hash-object", "-w", "--stdin")
	tree := run("040000 tree "+run("100644 blob "+blob+"\ta\n"+"100644 blob "+blob+"\tb\n", "mktree")+"\t.ai\n", "mktree")
	g := open(t, git, tree)
	g.Only([]string{"a"})
	g.Offer(map[string][]byte{blob: []byte("offered"), strings.Repeat("1", 40): []byte("other")})
	for _, want := range []struct{ rel, text string }{{"b", "git's"}, {"a", "offered"}, {"a", "git's"}} {
		if b, err := g.Read(want.rel, 100); err != nil || string(b) != want.text {
			t.Errorf("%s: %q, %v, want %q", want.rel, b, err, want.text)
		}
	}
	g.Offer(map[string][]byte{blob: []byte("too long")})
	if _, err := g.Read("a", 3); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("above the limit: %v", err)
	}
}
