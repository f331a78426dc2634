package policy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestProtected(t *testing.T) {
	for rel, want := range map[string]string{
		".git/hooks/pre-commit": ".git/hooks", ".git/modules/a/b/hooks/x": ".git/modules/**/hooks", ".git/worktrees/w/gitdir": ".git/worktrees/*/gitdir", ".git/commondir": ".git/commondir",
		".git": ".git", "sub/.git/index": ".git", ".ai/config/agent/mcp.yaml": ".ai/config", "a/b/.ai/trust/x.toml": ".ai/trust",
		".ai/threads/1": ".ai/threads", ".ai/tools/rye/primary/execute.yaml": ".ai/tools/rye", ".ai": ".ai", ".ai/x": ".ai/*",
		"rye.yaml": "rye.yaml", "sub/rye.lock": "rye.lock", "rye.sum/x": "rye.sum", ".rye-tmp-0a": ".rye-tmp-*", "d/.rye-tmp-": ".rye-tmp-*",
		".vscode/tasks.json": ".vscode", "tests/HEAD": "head", "tests/HEAD/x": "", "lefthook.yaml": "lefthook.*", ".husky/_/h": ".husky", ".idea/workspace.xml": ".idea",
		`sub\.git\config`: ".git/config", "./a/../.ai//config/./x": ".ai/config", "../.ai/config": ".ai/config", "RYE~1.YAM": "rye.yaml", "ry1f3c~2.loc": "rye.lock",
		".aı": "", "": "", ".": "", "a": "", ".ai/tools/x.sh": "", ".ai/tools/demo/rye/x.sh": "", ".ai/directives/rye/core/x.md": "", ".ai/recipes/a.md": "",
		".gitignore": "", "git": "", "ai/config": "", "vscode/extensions.json": "", "vscode": "", "rye.yml": "", "config~1": "", ".ai/cache~1/x": "",
		"docs/.ai.md": "", "rye.lock.md": "", "rye.sum2": "", "xrye.yaml": "", "lefthook": "", ".aí/config/x": "",
	} {
		row, at, ok := Protected(rel)
		if row.Path != want || ok != (want != "") || ok && (at == "" || row.Why == "") {
			t.Errorf("%q: %q at %q, want %q", rel, row.Path, at, want)
		}
	}
}

// rounds returns how often a test checks something random: a tenth of n with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestProtectedSpellings writes the paths of the table in ways that some file
// system takes for the same, in a directory of a random depth.
func TestProtectedSpellings(t *testing.T) {
	table := ProtectedPaths()
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds(20_000) {
		row := table[r.IntN(len(table))]
		names := strings.Split(strings.NewReplacer("**", "m/n", "*", "w").Replace(row.Path), "/")
		if !row.Only && r.IntN(2) == 0 {
			names = append(names, "below")
		}
		for i, name := range names {
			names[i] = respell(r, name)
		}
		for range r.IntN(4) {
			names = append([]string{[]string{"sub", ".", "a/..", "x y", ""}[r.IntN(5)]}, names...)
		}
		rel := strings.Join(names, []string{"/", "//", "/./", `\`}[r.IntN(4)])
		if _, _, ok := Protected(rel); !ok {
			t.Fatalf("%q is a spelling of %s and is not protected", rel, row.Path)
		}
		if err := (Boundary{Project: "/p"}).CheckWrite(rel, rel); diag.CodeOf(err) != diag.PolicyDenied {
			t.Fatalf("%q: %v", rel, err)
		}
	}
}

// respell changes letters, inserts characters that some file system ignores, and
// appends what Windows drops.
func respell(r *rand.Rand, name string) string {
	ignored := []rune{0x200c, 0x200d, 0x200e, 0x202a, 0x206f, 0xfeff, 0x00ad, 0x2060, 0xfe0f, 0x034f}
	swapped := map[rune][]rune{'k': {'K', 0x212a}, 's': {'S', 0x17f}}
	if r.IntN(6) == 0 {
		name = strings.NewReplacer("fi", "ﬁ", "st", "ﬆ", "ff", "ﬀ").Replace(name)
	}
	var b strings.Builder
	for _, c := range name {
		if r.IntN(8) == 0 {
			b.WriteRune(ignored[r.IntN(len(ignored))])
		}
		switch others := swapped[c]; {
		case r.IntN(2) == 0:
		case others != nil:
			c = others[r.IntN(len(others))]
		case 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String() + []string{"", "", "", ".", " ", ". .", "::$INDEX_ALLOCATION", ":s"}[r.IntN(8)]
}

// TestProtectedPage wants a page for users that names every row.
func TestProtectedPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "how-to", "mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range ProtectedPaths() {
		first, _, _ := strings.Cut(row.Path, "/")
		short := strings.TrimPrefix(row.Path, ".")
		known := strings.Contains(string(page), "`"+row.Path+"`") || strings.Contains(string(page), "`"+short+"`")
		if !known && first != ".git" && row.Path != ".ai" && row.Path != ".ai/*" {
			t.Errorf("docs/how-to/mcp.md does not name %s", row.Path)
		}
	}
}

// TestPrivate wants the user's directories protected wherever the project is.
func TestPrivate(t *testing.T) {
	home := filepath.FromSlash("/home/ada")
	at := func(rel string) string { return filepath.Join(home, filepath.FromSlash(rel)) }
	private := []Private{{at(".config/rye"), "rye's settings", false}, {at(".ssh"), "ssh", false}, {at(".ai"), "your user space", true}}
	for _, c := range []struct {
		project, rel string
		read, write  bool // permitted
	}{
		{"/home/ada", ".ssh/id", false, false}, {"/home/ada", ".SSH./id", false, false}, {"/home/ada", ".s\u200csh", false, false},
		{"/home/ada", ".config/rye/policy.yaml", false, false}, {"/home/ada", ".config/ryex", true, true}, {"/home/ada", ".config", true, true},
		{"/home/ada", ".ai/tools/x.sh", true, false}, {"/home", "ada/.ssh", false, false}, {"/", "home/ada/.ssh/id", false, false},
		{"/", "home/ADA/.ssh/id", false, false}, {"/home/ada/.ssh", "id", false, false}, {"/home/ada/p", ".ssh/id", true, true},
		{"/home/ada/p", ".ai/tools/x.sh", true, true}, {"/home/adam", ".ssh/id", true, true},
	} {
		b := Boundary{Project: filepath.FromSlash(c.project), Private: private}
		if r, w := b.CheckRead(c.rel, c.rel), b.CheckWrite(c.rel, c.rel); (r == nil) != c.read || (w == nil) != c.write {
			t.Errorf("%s in %s: %v, %v", c.rel, c.project, r, w)
		}
	}
	for dir, want := range map[string]bool{".ai": true, "a/b": true, "a/.airc": true, ".ai/tools": true, "a/.ai": false, ".AI": false, ".a\u200ci": false, "a/.Ai.": false} {
		if err := (Boundary{}).CheckCreate(dir, dir); (err == nil) != want {
			t.Errorf("creating %s: %v", dir, err)
		}
	}
	if err := (Boundary{}).CheckProject(); diag.CodeOf(err) != diag.ItemNotFound {
		t.Errorf("without a project: %v", err)
	}
	if err := (Boundary{Project: "/p"}).CheckWrite(".ai/trust/x", "given"); !strings.Contains(fmt.Sprint(err), `writing "given": tools do not write files below .ai/trust: `) {
		t.Error(err)
	}
}

// TestProtectedTable has the rows of the design as paths, with what is readable.
func TestProtectedTable(t *testing.T) {
	readable := []string{
		".git/hooks/x", ".git/config", ".git/config.worktree", ".git/info/attributes", ".git", ".git/modules/a/hooks/x", ".git/modules/a/b/config",
		".git/worktrees/w/commondir", ".git/worktrees/w/gitdir", ".git/worktrees/w/config.worktree",
		".ai/config/agent/allowance.yaml", ".ai/trust/x", ".ai/trusted_keys/x", ".ai/bundles/x", ".ai/cache/results/x",
		"rye.lock", "rye.sum", "rye.yaml", ".rye-tmp-1",
		".envrc", ".vscode/tasks.json", ".vscode/settings.json", ".idea/x", ".mcp.json", ".claude/settings.json", ".husky/pre-commit", "lefthook.yml", "lefthook.yaml", ".pre-commit-config.yaml",
	}
	secret := []string{".ai/keys/x", ".ai/threads/x/transcript.jsonl"}
	for _, rel := range slices.Concat(readable, secret) {
		for _, at := range []string{rel, "sub/dir/" + rel} {
			b := Boundary{Project: "/p"}
			if err := b.CheckWrite(at, at); diag.CodeOf(err) != diag.PolicyDenied {
				t.Errorf("writing %s: %v", at, err)
			}
			if err := b.CheckRead(at, at); (err == nil) != slices.Contains(readable, rel) {
				t.Errorf("reading %s: %v", at, err)
			}
		}
	}
}

// The allowance of the user removes rows of data that programs execute, and no others.
func TestProtectedExcept(t *testing.T) {
	var all []string
	for _, row := range ProtectedPaths() {
		all = append(all, row.Path)
	}
	protected := ProtectedExcept(all)
	b := Boundary{Project: "/p", Removed: all}
	for rel, want := range map[string]bool{
		".envrc": false, "sub/.vscode/tasks.json": false, "lefthook.yml": false,
		".git/hooks/x": true, ".ai/config/x": true, "rye.yaml": true, "sub/rye.lock": true, ".ai/threads/x": true, "HEAD": true, ".GIT/config": true,
	} {
		if _, _, ok := protected(rel); ok != want {
			t.Errorf("%s: protected: %v", rel, ok)
		}
		if err := b.CheckWrite(rel, rel); (err != nil) != want {
			t.Errorf("writing %s: %v", rel, err)
		}
	}
	if _, _, ok := ProtectedExcept([]string{".vscode"})(".envrc"); !ok {
		t.Error("a row that is not removed does not apply")
	}
}
