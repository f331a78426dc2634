package workcopy

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

// lab is a repository with a copy of it.
type lab struct {
	t       *testing.T
	project string
	copies  string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, project: filepath.Join(dir, "project"), copies: filepath.Join(dir, "copies")}
	l.write(l.project, map[string]string{"a": "a\n", "b": "b\n", "c/d": "d\n", "text": "1\n2\n3\n4\n5\n"})
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base"}} {
		cmd := exec.Command("git", append([]string{"-C", l.project}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v %s", args, err, out)
		}
	}
	return l
}

func (l *lab) write(dir string, files map[string]string) {
	l.t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) create(id string, carry bool, from *Copy) *Copy {
	l.t.Helper()
	c, err := Create(l.t.Context(), Params{Dir: l.copies, ID: id, Project: l.project, Environ: os.Environ(), Carry: carry, From: from, Now: time.Now()})
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func nothing(string) string { return "" }

func (l *lab) apply(c *Copy) error {
	_, err := c.Apply(context.Background(), Options{Environ: os.Environ(), Judge: nothing, Person: true})
	return err
}

func (l *lab) files(dir string) map[string]File {
	l.t.Helper()
	out, err := list(l.t.Context(), dir, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for rel := range out {
		if filepath.Dir(rel) == ".ai/cache" {
			delete(out, rel)
		}
	}
	return out
}

// change makes one change of each kind in the copy, and one in the project that is merged.
func (l *lab) change(c *Copy) {
	l.t.Helper()
	if err := errors.Join(os.Remove(filepath.Join(c.Dir(), "b")), os.RemoveAll(filepath.Join(c.Dir(), "c"))); err != nil {
		l.t.Fatal(err)
	}
	l.write(c.Dir(), map[string]string{"a": "changed\n", "new/file": "new\n", "text": "1\n2\n3\n4\nfive\n", "c": "a file now\n", "b/e": "a directory now\n"})
	l.write(l.project, map[string]string{"text": "one\n2\n3\n4\n5\n"})
	if err := os.Symlink("a", filepath.Join(c.Dir(), "link")); err != nil {
		l.t.Fatal(err)
	}
}

// An apply that is stopped after any of its writes is completed by the next call about the
// copy, with the state that an undisturbed apply leaves.
func TestApplyStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("stops at each change of a file")
	}
	want := map[string]File{}
	for stopped := -1; stopped <= 8; stopped++ {
		l := newLab(t)
		c := l.create("one", false, nil)
		l.change(c)
		before := l.files(l.project)
		if stopped < 0 {
			if err := l.apply(c); err != nil {
				t.Fatal(err)
			}
			want = l.files(l.project)
			if len(want) == len(before) {
				t.Fatal("nothing was applied")
			}
			continue
		}
		all, err := c.Diff(t.Context(), os.Environ(), nothing)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := c.steps(t.Context(), os.Environ(), c.Project, all)
		if err != nil || len(steps) != 8 {
			t.Fatalf("%d steps, %v", len(steps), err)
		}
		if err := c.stage(c.Project, steps); err != nil {
			t.Fatal(err)
		}
		if got := l.files(l.project); compare(before, got) != nil {
			t.Errorf("staging changed the project: %v", compare(before, got))
		}
		root, err := os.OpenRoot(l.project)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps[:stopped] {
			if err := write(root, s.Path, s.To, s.data); err != nil {
				t.Fatal(err)
			}
		}
		root.Close()
		if err := l.apply(c); err != nil {
			t.Errorf("stopped after %d writes: %v", stopped, err)
		}
		if got := compare(want, l.files(l.project)); got != nil {
			t.Errorf("stopped after %d writes: differs in %v", stopped, got)
		}
	}
}

// A conflict in one file leaves the project as it is.
func TestApplyConflict(t *testing.T) {
	for name, spoil := range map[string]func(l *lab){
		"same line":    func(l *lab) { l.write(l.project, map[string]string{"text": "1\n2\n3\n4\n5!\n"}) },
		"changed":      func(l *lab) { l.write(l.project, map[string]string{"b": "kept\n"}) },
		"new in both":  func(l *lab) { l.write(l.project, map[string]string{"new/file": "other\n"}) },
		"not a text":   func(l *lab) { l.write(l.project, map[string]string{"a": "\x00"}) },
		"file on path": func(l *lab) { l.write(l.project, map[string]string{"new": "a file\n"}) },
		"link on path": func(l *lab) {
			if err := os.Symlink(l.copies, filepath.Join(l.project, "new")); err != nil {
				l.t.Fatal(err)
			}
		},
		"link": func(l *lab) {
			if err := errors.Join(os.Remove(filepath.Join(l.project, "a")), os.Symlink("b", filepath.Join(l.project, "a"))); err != nil {
				l.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			c := l.create("one", false, nil)
			l.change(c)
			spoil(l)
			before := l.files(l.project)
			if err := l.apply(c); diag.CodeOf(err) != diag.Conflict {
				t.Errorf("got %v", err)
			}
			if got := compare(before, l.files(l.project)); got != nil {
				t.Errorf("the project changed: %v", got)
			}
		})
	}
}

// A copy that is based on another one has its state, and only what changed since is its
// change.
func TestCreateFrom(t *testing.T) {
	l := newLab(t)
	parent := l.create("parent", false, nil)
	l.change(parent)
	child := l.create("child", false, parent)
	if got := compare(l.files(parent.Dir()), l.files(child.Dir())); got != nil {
		t.Errorf("differs from its parent: %v", got)
	}
	l.write(child.Dir(), map[string]string{"a": "of the child\n"})
	got, err := child.Diff(t.Context(), os.Environ(), nothing)
	if err != nil || len(got) != 1 || got[0].Path != "a" {
		t.Errorf("%v, %v", got, err)
	}
	if b, err := os.ReadFile(filepath.Join(parent.Dir(), "a")); err != nil || string(b) != "changed\n" {
		t.Errorf("the parent has %q, %v", b, err)
	}
	if err := errors.Join(child.Drop(t.Context()), l.apply(parent)); err != nil {
		t.Error(err)
	}
	if _, err := Open(l.copies, "child"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dropped copy: %v", err)
	}
}

// A change that is withheld needs a person who names it.
func TestApplyWithheld(t *testing.T) {
	l := newLab(t)
	c := l.create("one", false, nil)
	l.write(c.Dir(), map[string]string{"a": "changed\n", "c/d": "changed\n"})
	o := Options{Environ: os.Environ(), Judge: func(rel string) string {
		if rel == "c/d" {
			return "it is protected"
		}
		return ""
	}}
	for _, step := range []struct {
		paths  []string
		person bool
		want   int
	}{{nil, true, 1}, {[]string{"c"}, true, 0}, {[]string{"c/d"}, false, 0}, {[]string{"c/d"}, true, 1}} {
		o.Paths, o.Person = step.paths, step.person
		got, err := c.Apply(t.Context(), o)
		if err != nil || len(got.Changes) != step.want {
			t.Errorf("%q, %v: %v, %v", step.paths, step.person, got, err)
		}
	}
}

// The changes of a copy that began with another one are applied there; its parent has them
// then as its own.
func TestApplyInto(t *testing.T) {
	l := newLab(t)
	parent := l.create("parent", false, nil)
	l.change(parent)
	child := l.create("child", false, parent)
	l.write(child.Dir(), map[string]string{"text": "first\n1\n2\n3\n4\nfive\n"})
	l.write(parent.Dir(), map[string]string{"text": "1\n2\n3\n4\nfive\nlast\n"})
	before := l.files(l.project)
	if _, err := child.Apply(t.Context(), Options{Environ: os.Environ(), Judge: nothing, Into: parent}); err != nil {
		t.Fatal(err)
	}
	if got := compare(before, l.files(l.project)); got != nil {
		t.Errorf("the project changed: %v", got)
	}
	if b, err := os.ReadFile(filepath.Join(parent.Dir(), "text")); err != nil || string(b) != "first\n1\n2\n3\n4\nfive\nlast\n" {
		t.Errorf("the parent has %q, %v", b, err)
	}
	other := l.create("other", false, nil)
	if _, err := child.Apply(t.Context(), Options{Environ: os.Environ(), Judge: nothing, Into: other}); diag.CodeOf(err) != diag.ThreadState {
		t.Errorf("into another copy: %v", err)
	}
}

// A link in the place of the objects would show its target to the tools of a copy.
func TestCreateLinkedObjects(t *testing.T) {
	l := newLab(t)
	objects, elsewhere := filepath.Join(l.project, ".git", "objects"), filepath.Join(filepath.Dir(l.project), "elsewhere")
	if err := errors.Join(os.Rename(objects, elsewhere), os.Symlink(elsewhere, objects)); err != nil {
		t.Fatal(err)
	}
	_, err := Create(t.Context(), Params{Dir: l.copies, ID: "one", Project: l.project, Environ: os.Environ(), Now: time.Now()})
	if diag.CodeOf(err) != diag.PathEscape {
		t.Errorf("got %v", err)
	}
}

// A file that is too large is shown and not applied, and one that git ignores is not read.
func TestLargeFiles(t *testing.T) {
	l := newLab(t)
	c := l.create("one", false, nil)
	l.write(c.Dir(), map[string]string{".gitignore": "ignored\n", "large": "", "ignored": "", "a": "changed\n"})
	for _, name := range []string{"large", "ignored"} {
		if err := os.Truncate(filepath.Join(c.Dir(), name), maxFile+1); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Apply(t.Context(), Options{Environ: os.Environ(), Judge: nothing, Person: true})
	if err != nil || len(got.Changes) != 2 || len(got.Withheld) != 1 || got.Withheld[0].Path != "large" || got.Withheld[0].Why != whyLarge {
		t.Errorf("%+v, %v", got, err)
	}
	if text, err := c.Text(t.Context(), os.Environ(), &got.Withheld[0]); err != nil || text != "Binary file large differs\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := c.Apply(t.Context(), Options{Environ: os.Environ(), Judge: nothing, Paths: []string{"large"}, Person: true}); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("named: %v", err)
	}
}

func TestLeaves(t *testing.T) {
	for target, want := range map[string]bool{
		"b": false, "../b": false, "./c/../b": false, "../../b": true, "/etc": true, "": true, "../.git/config": true, ".GIT": true, `..\..\b`: true,
	} {
		if got := leaves("d/link", target); got != want {
			t.Errorf("%q: %v", target, got)
		}
	}
}
