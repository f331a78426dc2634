package runsoutside

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/tree"
)

func gitPath(t *testing.T) string {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	return git
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestParseConfigAsGit compares our reader with git on random texts. Git reads all of a text
// or refuses it.
func TestParseConfigAsGit(t *testing.T) {
	git := gitPath(t)
	heads := []string{"[core]\n", "[CORE]", "[a \"b\\\"c\\\\ D\"]\n", "[a.B]\n", "[include] ", "[x \"\"]\n", "\n", " \t", ";d\n", "\r\n", "# [x]\n", "]", "[s \"a\nb\"]"}
	names := []string{"hooksPath", "Path", "k1-x", "\tA", "0", "é"}
	ends := []string{"\n", "\r\n", "=\n", " # c\n", "", "\\\n"}
	parts := []string{"a b", "\"", "\\\n", "\\n", "\\t", "\\\\", "\\\"", "\"q # ; \"", "../x", "é", "!sh -c 'x'", "]", "[", "\\x", "  ", "\v", "\"l\\\nm\"", ";c", "\r", "\b\t"}
	r := rand.New(rand.NewPCG(7, 9))
	n, same := 600, 0
	if testing.Short() {
		n = 60
	}
	file := filepath.Join(t.TempDir(), "c")
	for range n {
		var b strings.Builder
		b.WriteString("[s]\n")
		for range 1 + r.IntN(4) {
			if r.IntN(3) == 0 {
				b.WriteString(heads[r.IntN(len(heads))])
			}
			b.WriteString(names[r.IntN(8)%6%(2+r.IntN(5))])
			if r.IntN(5) > 0 {
				b.WriteString(" = ")
				for range r.IntN(5) {
					b.WriteString(parts[r.IntN(len(parts))])
				}
			}
			b.WriteString(ends[r.IntN(12)%len(ends)*r.IntN(2)])
		}
		write(t, file, b.String())
		out, err := exec.Command(git, "config", "--file", file, "--no-includes", "--list", "-z").Output()
		if err != nil {
			continue
		}
		same++
		var got bytes.Buffer
		for _, v := range parseConfig(b.String()) {
			fmt.Fprintf(&got, "%s\n%s\x00", v.key, v.text)
		}
		// git prints a name without a value without the line feed
		// and, before 2.45, blanks for tabs in a value
		if want := withTrue(out); blank.Replace(got.String()) != blank.Replace(want) {
			t.Errorf("%q:\ngot  %q\nwant %q", b.String(), got.String(), want)
		}
	}
	if same < n/5 {
		t.Errorf("git read only %d of %d texts", same, n)
	}
}

var blank = strings.NewReplacer("\t", " ", "\r", " ")

func withTrue(out []byte) string {
	var b strings.Builder
	for _, cell := range bytes.SplitAfter(out, []byte{0}) {
		if len(cell) > 1 && !bytes.Contains(cell, []byte("\n")) {
			cell = append(cell[:len(cell)-1:len(cell)-1], "\ntrue\x00"...)
		}
		b.Write(cell)
	}
	return b.String()
}

// site is a project in a home directory.
type site struct {
	home, project string
	finder        *Finder
	asked         int
}

func newSite(t *testing.T, ask bool) *site {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{home: home, project: filepath.Join(home, "p")}
	for _, f := range []string{".git/HEAD", ".git/config", "a.txt"} {
		write(t, filepath.Join(s.project, f), "")
	}
	write(t, filepath.Join(s.project, ".git/HEAD"), "ref: refs/heads/main\n")
	for _, d := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(s.project, ".git", d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.finder = &Finder{Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, Home: home}
	if ask {
		git := gitPath(t)
		s.finder.Ask = func(dir string) []byte {
			s.asked++
			cmd := exec.Command(git, "config", "--list", "-z", "--show-origin", "--includes")
			cmd.Dir, cmd.Env = dir, s.finder.Environ
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("git: %v", err)
			}
			return out
		}
	}
	return s
}

// found returns the paths below the project.
func (s *site) found() (out []string) {
	for _, p := range s.finder.Project(s.project) {
		rel, _ := filepath.Rel(s.project, p.Abs)
		out = append(out, filepath.ToSlash(rel))
	}
	slices.Sort(out)
	return out
}

// TestNamed has a setting of each kind in each file that git reads.
func TestNamed(t *testing.T) {
	for _, c := range []struct {
		name, file, text, want string
	}{
		{name: "hooks", file: "p/.git/config", text: "[core]\nhooksPath = .githooks", want: ".githooks"},
		{name: "hooks of the user", file: ".gitconfig", text: "[core]\nhooksPath = .githooks", want: ".githooks"},
		{name: "hooks of the user, another file", file: ".config/git/config", text: "[core]\nhooksPath = ~/p/h", want: "h"},
		{name: "hooks of a work tree", file: "p/.git/config.worktree", text: "[core]\nhooksPath = .githooks", want: ".githooks"},
		{name: "hooks in an included file", file: "p/.git/config", text: "[include]\npath = ../inc", want: ".githooks inc"},
		{name: "hooks in a file of a condition", file: "p/.git/config", text: "[includeIf \"onbranch:other\"]\npath = ../inc", want: ".githooks inc"},
		{name: "a file that does not exist", file: "p/.git/config", text: "[include]\npath = ../later", want: "later"},
		{name: "the project is the directory of hooks", file: "p/.git/config", text: "[core]\nhooksPath = .", want: "pre-commit"},
		{name: "filter", file: "p/.git/config", text: "[filter \"x\"]\nclean = python3 tools/x.py %f", want: "tools/x.py"},
		{name: "filter that does not exist", file: "p/.git/config", text: "[filter \"x\"]\nsmudge = ./later/clean --to %f", want: "later/clean"},
		{name: "process", file: "p/.git/config", text: "[filter \"x\"]\nprocess = tools/x.py", want: "tools/x.py"},
		{name: "fsmonitor", file: "p/.git/config", text: "[core]\nfsmonitor = tools/x.py", want: "tools/x.py"},
		{name: "gpg", file: "p/.git/config", text: "[gpg \"ssh\"]\nprogram = tools/x.py", want: "tools/x.py"},
		{name: "diff", file: "p/.git/config", text: "[diff \"d\"]\ntextconv = \"sh -c 'tools/x.py \\\"$0\\\"'\"", want: "tools/x.py"},
		{name: "external diff", file: "p/.git/config", text: "[diff]\nexternal = tools/x.py", want: "tools/x.py"},
		{name: "merge", file: "p/.git/config", text: "[merge \"m\"]\ndriver = $PWD/tools/x.py %O", want: "tools/x.py"},
		{name: "ssh", file: "p/.git/config", text: "[core]\nsshCommand = ssh -F x", want: ""},
		{name: "credentials", file: "p/.git/config", text: "[credential]\nhelper = !f() { tools/x.py; }; f", want: "tools/x.py"},
		{name: "alias", file: ".gitconfig", text: "[alias]\nx = !$(git rev-parse --show-toplevel)/tools/x.py", want: "tools/x.py"},
		{name: "alias of a target", file: ".gitconfig", text: "[alias]\nx = !make test", want: ""},
		{name: "hook of a later git", file: "p/.git/config", text: "[hook \"lint\"]\nevent = pre-commit\ncommand = tools/x.py", want: "tools/x.py"},
		{name: "submodule", file: "p/.git/modules/a/b/config", text: "[core]\nworktree = ../../../../sub\nhooksPath = ../subhooks", want: "subhooks"},
		{name: "names of people and branches", file: "p/.git/config", text: "[user]\nname = a.txt\n[branch \"main\"]\nremote = a.txt", want: ""},
		{name: "variable", file: "x", text: "", want: "vh"},
	} {
		for _, ask := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, "/git=", ask), func(t *testing.T) {
				s := newSite(t, ask)
				write(t, filepath.Join(s.project, "tools/x.py"), "")
				write(t, filepath.Join(s.project, "test/x"), "")
				write(t, filepath.Join(s.project, ".git/modules/a/b/HEAD"), "ref: refs/heads/main\n")
				if strings.Contains(c.text, "../inc") {
					write(t, filepath.Join(s.project, "inc"), "[core]\nhooksPath = .githooks\n")
				}
				write(t, filepath.Join(s.home, c.file), c.text+"\n")
				if c.name == "variable" {
					s.finder.Environ = append(s.finder.Environ, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=vh")
				}
				got := s.found()
				if c.want == "pre-commit" {
					if !slices.Contains(got, "pre-commit") || !slices.Contains(got, "post-index-change") {
						t.Errorf("got %q", got)
					}
				} else if strings.Join(got, " ") != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		}
	}
}

type memory map[string][]byte

func (m memory) Load(name string) []byte    { return m[name] }
func (m memory) Save(name string, b []byte) { m[name] = b }

// TestAskedOnce asks git again only after a file changed that it reads, and in another process
// only then, too.
func TestAskedOnce(t *testing.T) {
	s := newSite(t, true)
	config := filepath.Join(s.project, ".git/config")
	// git does not answer the setting of another branch.
	write(t, config, "[core]\nhooksPath = one\n[include]\npath = ../later\n[includeIf \"onbranch:other\"]\npath = ../branch\n")
	write(t, filepath.Join(s.project, "branch"), "[core]\nhooksPath = two\n")
	s.finder.Store = memory{}
	const want = "branch later one two"
	if got := strings.Join(s.found(), " "); got != want {
		t.Fatalf("found %q, want %q", got, want)
	}
	if s.asked != 1 || len(s.finder.Store.(memory)) != 0 {
		t.Errorf("asked %d times; an answer about a file that changed now is kept", s.asked)
	}
	time.Sleep(settle + 100*time.Millisecond) // no program can set the time of a change
	for range 3 {
		if got := strings.Join(s.found(), " "); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	own := s.finder
	s.finder = &Finder{Environ: own.Environ, Home: s.home, Ask: own.Ask, Store: own.Store} // as another process
	if got := strings.Join(s.found(), " "); got != want || s.asked != 2 {
		t.Errorf("asked %d times, want 2", s.asked)
	}
	for i, change := range []struct {
		file, text, want string
	}{
		{filepath.Join(s.project, "branch"), "[core]\nhooksPath = three\n", "branch later one three"},
		{filepath.Join(s.project, "later"), "[core]\nhooksPath = four\n", "branch four later one three"},
		{config, "[core]\nhooksPath = five\n", "five"},
		{filepath.Join(s.home, ".gitconfig"), "[user]\nname = x\n", "five"},
	} {
		before := s.asked
		write(t, change.file, change.text)
		if got := strings.Join(s.found(), " "); got != change.want || s.asked != before+1 {
			t.Errorf("change %d: found %q, want %q; asked %d times more", i, got, change.want, s.asked-before)
		}
	}
}

func TestPrograms(t *testing.T) {
	list := Programs()
	seen := map[string]bool{}
	for _, p := range list {
		if seen[p.Path] || p.Path != strings.ToLower(p.Path) || p.Path[0] == '/' {
			t.Errorf("the row %q is twice, or is not a lower-case path", p.Path)
		}
		seen[p.Path] = true
		if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
			t.Errorf("the row %q: %v", p.Path, err)
		}
	}
	for _, want := range []string{".vscode", ".helix", ".qwen", ".amazonq", ".trae", ".kilocode", ".crush.json", ".theia", "mise.*.toml", ".github/workflows"} {
		if !seen[want] {
			t.Errorf("no row %q", want)
		}
	}
	for _, bad := range []string{"a | b | c", "a | b | http://x | 2026-01-02", "a | b | https://x | ", "a | b | https://x | 2026-01-02 | c", " | b | https://x | 2026-01-02"} {
		if _, err := parsePrograms(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestAnswerForm reads back what was stored, and nothing of a text that is cut, of another
// version or of another type.
func TestAnswerForm(t *testing.T) {
	a := answered{taken: 5, files: []stamp{{"/a", -1, 0, 0}, {"/b", 7, 9, 1 << 63}}, values: []value{{"core.hookspath", "x", "/b"}, {key: "alias.y", text: "!z"}}}
	b := a.append(nil)
	if got, ok := parseAnswer(b); !ok || !reflect.DeepEqual(got, a) {
		t.Errorf("got %+v, %v", got, ok)
	}
	for n := range b {
		if _, ok := parseAnswer(b[:n]); ok {
			t.Errorf("%d of %d bytes are an answer", n, len(b))
		}
	}
	for _, bad := range [][]any{
		{}, {answerForm, int64(5)}, {"rye git settings 1", int64(5), int64(0)}, {answerForm, "5", int64(0)}, {answerForm, int64(5), int64(1), "/a", int64(0), int64(0)},
		{answerForm, int64(5), int64(1), "/a", "0", int64(0), int64(0)}, {answerForm, int64(5), int64(0), "core.hookspath", "x"},
	} {
		text, _ := tree.Append(nil, bad)
		if _, ok := parseAnswer(text); ok {
			t.Errorf("%v is an answer", bad)
		}
	}
	if _, ok := parseAnswer(append(b, 0)); ok {
		t.Error("more bytes than an answer are one")
	}
}
