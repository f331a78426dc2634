package export

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/stdlib"
)

func systemTable(t testing.TB) Table {
	t.Helper()
	b, err := fs.ReadFile(stdlib.FS(), ".ai/config/export/clients.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := yamlx.Parse(b)
	table, err := ReadTable([]policy.Layer{{Name: "clients.yaml", Doc: doc}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// component returns a component of pairs of paths and texts. A path that begins with
// "run " is an executable file.
func component(kind, name string, pairs ...string) Component {
	c := Component{Kind: kind, Name: name, Source: "git.example/acme/skills"}
	for i := 0; i < len(pairs); i += 2 {
		text := []byte(pairs[i+1])
		p, executable := strings.CutPrefix(pairs[i], "run ")
		c.Files = append(c.Files, File{
			Path:       p,
			Digest:     item.DigestOf(text),
			Executable: executable,
			Read: func() ([]byte, error) {
				return text, nil
			},
		})
	}
	return c
}

func pdf(version string) Component {
	return component("skill", "pdf", "SKILL.md", "skill "+version, "run scripts/fill.py", "fill "+version, version+".md", "only in "+version)
}

// lab is a project with copies.
type lab struct {
	t      *testing.T
	params Params
}

func newLab(t *testing.T) *lab {
	t.Helper()
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, ".ai"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &lab{t, Params{Base: base, Committed: true}}
}

func (l *lab) plan(components ...Component) {
	l.t.Helper()
	plan, err := NewPlan(systemTable(l.t), []string{"claude", "codex", "cursor"}, components)
	if err != nil {
		l.t.Fatal(err)
	}
	l.params.Plan = plan
}

func (l *lab) apply() *Result {
	l.t.Helper()
	r, err := Apply(l.params)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (l *lab) put(p, text string) {
	l.t.Helper()
	whole := filepath.Join(l.params.Base, filepath.FromSlash(p))
	if err := os.MkdirAll(filepath.Dir(whole), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(whole, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// files returns the files of the project outside of .ai/cache, with their texts.
func (l *lab) files() map[string]string {
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(l.params.Base), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if p == ".ai/cache" {
				return fs.SkipDir
			}
			return err
		}
		b, err := os.ReadFile(filepath.Join(l.params.Base, filepath.FromSlash(p)))
		out[p] = string(b)
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// expect compares the findings, as CODE PATH.
func (l *lab) expect(want ...string) {
	l.t.Helper()
	found, err := Findings(l.params)
	if err != nil {
		l.t.Fatal(err)
	}
	if got := codes(found); !slices.Equal(got, want) {
		l.t.Errorf("findings are %q, want %q", got, want)
	}
}

func codes(found []diag.Finding) (out []string) {
	for _, f := range found {
		out = append(out, string(f.Code)+" "+f.Path)
	}
	return out
}

func TestExport(t *testing.T) {
	l := newLab(t)
	l.plan(pdf("v1"), component("agent", "helper", "helper.md", "agent"))
	l.expect("DRIFT .agents/skills/pdf/", "DRIFT .claude/agents/helper.md", "DRIFT .claude/skills/pdf/", "DRIFT .cursor/agents/helper.md")
	r := l.apply()
	if len(r.Wrote) != 4 || len(r.Kept) > 0 {
		t.Errorf("the result is %+v", r)
	}
	l.expect()
	files := l.files()
	for p, text := range map[string]string{
		".claude/skills/pdf/SKILL.md":        "skill v1",
		".agents/skills/pdf/scripts/fill.py": "fill v1",
		".claude/agents/helper.md":           "agent",
		".cursor/agents/helper.md":           "agent",
	} {
		if files[p] != text {
			t.Errorf("%s is %q, want %q", p, files[p], text)
		}
	}
	if want := []string{"not exported to codex: agent:helper"}; !slices.Equal(l.params.Plan.Notes, want) {
		t.Errorf("notes are %q, want %q", l.params.Plan.Notes, want)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(l.params.Base, ".claude/skills/pdf/scripts/fill.py"))
		if err != nil || info.Mode().Perm()&0o111 == 0 {
			t.Errorf("the script is not executable: %v, %v", info, err)
		}
	}
	if again := l.apply(); len(again.Wrote) > 0 {
		t.Errorf("a second call writes %q", again.Wrote)
	}
	program, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("no sha256sum")
	}
	cmd := exec.Command(program, "--strict", "-c", filepath.FromSlash(RecordPath))
	cmd.Dir = l.params.Base
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum -c: %v\n%s", err, out)
	}
}

func TestDrift(t *testing.T) {
	const at = ".claude/skills/pdf/"
	cases := []struct {
		name   string
		change func(l *lab)
		want   string
	}{
		{"edited", func(l *lab) { l.put(at+"SKILL.md", "mine") }, "DRIFT " + at + "SKILL.md"},
		{"extra", func(l *lab) { l.put(at+"evil.sh", "rm") }, "DRIFT " + at + "evil.sh"},
		{"deleted", func(l *lab) { os.Remove(filepath.Join(l.params.Base, at, "scripts/fill.py")) }, "DRIFT " + at + "scripts/fill.py"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			l.plan(pdf("v1"))
			l.apply()
			c.change(l)
			l.expect(c.want)
			before := l.files()
			l.plan(pdf("v2"))
			r := l.apply()
			if got := codes(r.Kept); len(got) != 1 || got[0] != c.want {
				t.Errorf("kept %q, want %q", got, c.want)
			}
			after := l.files()
			for p, text := range before {
				if strings.HasPrefix(p, at) && after[p] != text {
					t.Errorf("%s was overwritten", p)
				}
			}
			if after[".agents/skills/pdf/SKILL.md"] != "skill v2" {
				t.Error("the other copy was not written")
			}
			if _, err := Restore(l.params, at+"SKILL.md"); err != nil {
				t.Fatal(err)
			}
			l.expect()
		})
	}
}

func TestConflict(t *testing.T) {
	l := newLab(t)
	l.put(".claude/skills/pdf/SKILL.md", "a skill of my own")
	l.plan(pdf("v1"))
	r := l.apply()
	if got := codes(r.Kept); len(got) != 1 || got[0] != "CONFLICT .claude/skills/pdf/SKILL.md" {
		t.Errorf("kept %q", got)
	}
	files := l.files()
	if files[".claude/skills/pdf/SKILL.md"] != "a skill of my own" || files[".claude/skills/pdf/v1.md"] != "" {
		t.Errorf("a part of the component was written: %q", files)
	}
	if strings.Contains(files[RecordPath], ".claude") {
		t.Errorf("the record lists a file that rye did not write:\n%s", files[RecordPath])
	}
}

func TestDropped(t *testing.T) {
	l := newLab(t)
	l.plan(pdf("v1"))
	l.apply()
	l.put(".agents/skills/pdf/v1.md", "mine")
	l.plan()
	r := l.apply()
	files := l.files()
	if len(r.Removed) != 5 || files[".agents/skills/pdf/v1.md"] != "mine" || len(files) != 2 {
		t.Errorf("removed %q; the files are %q", r.Removed, files)
	}
	if _, err := os.Stat(filepath.Join(l.params.Base, ".claude")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("an empty directory stays")
	}
	l.expect("DRIFT .agents/skills/pdf/v1.md")
	os.Remove(filepath.Join(l.params.Base, ".agents/skills/pdf/v1.md"))
	l.apply()
	if files := l.files(); len(files) != 0 {
		t.Errorf("the files are %q, want none", files)
	}
}

func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	for _, link := range []string{".claude", ".claude/skills", ".claude/skills/pdf", ".claude/skills/pdf/SKILL.md"} {
		t.Run(link, func(t *testing.T) {
			l := newLab(t)
			outside := t.TempDir()
			secret := filepath.Join(outside, "SKILL.md")
			if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
				t.Fatal(err)
			}
			to := outside
			if strings.HasSuffix(link, ".md") {
				to = secret
			}
			whole := filepath.Join(l.params.Base, link)
			if err := os.MkdirAll(filepath.Dir(whole), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, whole); err != nil {
				t.Fatal(err)
			}
			l.plan(pdf("v1"))
			r := l.apply()
			if len(r.Kept) == 0 || r.Kept[0].Code != diag.PathEscape && r.Kept[0].Code != diag.NotRegular {
				t.Errorf("kept %v, want PATH_ESCAPE", r.Kept)
			}
			if _, err := Restore(l.params, ".claude/skills/pdf/SKILL.md"); err == nil {
				t.Error("restore writes through the link")
			}
			b, _ := os.ReadFile(secret)
			entries, _ := os.ReadDir(outside)
			if string(b) != "secret" || len(entries) != 1 {
				t.Errorf("the file behind the link is %q, with %d files", b, len(entries))
			}
		})
	}
}

// A command that is killed in front of any change is completed by the next one.
func TestCrash(t *testing.T) {
	killed := errors.New("killed")
	for steps := 0; ; steps++ {
		l := newLab(t)
		l.plan(pdf("v1"), component("skill", "old", "SKILL.md", "old"))
		l.apply()
		l.plan(pdf("v2"), component("agent", "new", "new.md", "new"))
		n := 0
		l.params.before = func(string) error {
			n++
			if n > steps {
				return killed
			}
			return nil
		}
		_, err := Apply(l.params)
		l.params.before = nil
		done := err == nil
		if !done && !errors.Is(err, killed) {
			t.Fatal(err)
		}
		r := l.apply()
		if len(r.Kept) > 0 {
			t.Errorf("after %d steps the next command keeps %v", steps, r.Kept)
		}
		l.expect()
		fresh := newLab(t)
		fresh.params.Plan = l.params.Plan
		fresh.apply()
		if a, b := l.files(), fresh.files(); !maps.Equal(a, b) {
			t.Errorf("after %d steps the files are %q, want %q", steps, a, b)
		}
		if done {
			if steps < 8 {
				t.Errorf("only %d steps were tried", steps)
			}
			return
		}
	}
}

func TestIgnoredCopies(t *testing.T) {
	l := newLab(t)
	l.params.Committed = false
	l.plan(pdf("v1"))
	l.expect()
	l.apply()
	l.put(".claude/skills/pdf/SKILL.md", "mine")
	l.expect("DRIFT .claude/skills/pdf/SKILL.md")
}

func TestSamePath(t *testing.T) {
	other := pdf("v1")
	other.Source = "git.example/other"
	_, err := NewPlan(systemTable(t), []string{"claude"}, []Component{pdf("v1"), other})
	if diag.CodeOf(err) != diag.AmbiguousItem {
		t.Errorf("two components of one path: %v", err)
	}
	if _, err := NewPlan(systemTable(t), []string{"vim"}, nil); diag.CodeOf(err) != diag.Usage {
		t.Errorf("a client that is not in the table: %v", err)
	}
}

func TestTableRefused(t *testing.T) {
	for _, p := range []string{"../{name}/", "/etc/{name}", ".git/hooks/{name}", ".ai/tools/{name}", ".AI/{name}", "x/y", "{name}/x", "a/../../{name}"} {
		doc := &tree.Doc{Root: map[string]any{"clients": map[string]any{"x": map[string]any{"skill": p}}}}
		if _, err := ReadTable([]policy.Layer{{Name: "x", Doc: doc}}); diag.CodeOf(err) != diag.ValidationFailed {
			t.Errorf("the path %q: %v", p, err)
		}
	}
}

func TestRecordRefused(t *testing.T) {
	digest := strings.Repeat("a", 64)
	for _, text := range []string{
		digest + " one/space\n",
		digest + "  ../x\n",
		digest + "  .git/config\n",
		digest + "  .ai/trust/x\n",
		digest + "  rye.yaml\n",
		digest + "  b/x\n" + digest + "  a/x\n",
		digest + "  a/x",
		"zz  a/x\n",
	} {
		l := newLab(t)
		l.put(RecordPath, text)
		l.plan()
		if _, err := Findings(l.params); diag.CodeOf(err) != diag.ParsingError {
			t.Errorf("the record %q: %v", text, err)
		}
	}
}

func TestWrongBytes(t *testing.T) {
	l := newLab(t)
	c := pdf("v1")
	c.Files[0].Read = func() ([]byte, error) {
		return []byte("other"), nil
	}
	l.plan(c)
	if _, err := Apply(l.params); diag.CodeOf(err) != diag.HashMismatch {
		t.Errorf("an installed file that is not the reviewed one: %v", err)
	}
	if files := l.files(); len(files) > 0 {
		t.Errorf("it was written: %s", fmt.Sprint(files))
	}
}
