package workcopy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

// plain is a project without git.
func plain(t *testing.T) *lab {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, project: filepath.Join(dir, "project"), copies: filepath.Join(dir, "copies")}
	l.write(l.project, map[string]string{"a": "a\n", "b": "b\n", "c/d": "d\n", "text": "1\n2\n3\n4\n5\n", "kept/secret": "s\n"})
	return l
}

func allOf() *All {
	return &All{MaxFiles: 100, MaxBytes: 1 << 20, Skip: func(rel string) bool { return rel == "kept/secret" }, Skipped: func(string) {}}
}

func (l *lab) all(id string, from *Copy, a *All) (*Copy, error) {
	l.t.Helper()
	return Create(l.t.Context(), Params{Dir: l.copies, ID: id, Project: l.project, Environ: os.Environ(), From: from, All: a, Now: time.Now()})
}

// A copy of all files is one without git, and its files are other files with the same content,
// mode and time.
func TestCreateAll(t *testing.T) {
	l := plain(t)
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	at := filepath.Join(l.project, "a")
	if err := errors.Join(os.Chtimes(at, old, old), os.Chmod(at, 0o755), os.Mkdir(filepath.Join(l.project, "empty"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := errors.Join(os.Link(at, filepath.Join(l.project, "hard")), os.Symlink("../../outside", filepath.Join(l.project, "link"))); err != nil {
			t.Fatal(err)
		}
	}
	c, err := l.all("one", nil, allOf())
	if err != nil {
		t.Fatal(err)
	}
	want := l.files(l.project)
	delete(want, "kept/secret")
	if got := compare(want, l.files(c.Dir())); got != nil {
		t.Errorf("differs: %v", got)
	}
	src, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	dst, err := os.Stat(filepath.Join(c.Dir(), "a"))
	if err != nil || os.SameFile(src, dst) || dst.Mode() != src.Mode() || !dst.ModTime().Equal(old) {
		t.Errorf("%v %v, want %v %v; %v", dst.Mode(), dst.ModTime(), src.Mode(), old, err)
	}
	if fi, err := os.Stat(filepath.Join(c.Dir(), "empty")); err != nil || !fi.IsDir() {
		t.Error(err)
	}
	if got, err := c.Diff(t.Context(), os.Environ(), nothing); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	l.write(c.Dir(), map[string]string{"text": "1\n", "new": "n\n"})
	l.write(l.project, map[string]string{"text": "2\n"})
	before := l.files(l.project)
	if err := l.apply(c); diag.CodeOf(err) != diag.Conflict || compare(before, l.files(l.project)) != nil {
		t.Errorf("got %v", err)
	}
	l.write(l.project, map[string]string{"text": "1\n2\n3\n4\n5\n"})
	if err := l.apply(c); err != nil || compare(l.files(c.Dir()), l.files(l.project))[0].Path != "kept/secret" {
		t.Errorf("%v, %v", err, compare(l.files(c.Dir()), l.files(l.project)))
	}
}

// A copy that would have too much is not begun, and one in the project does not contain itself
// or a directory of the user.
func TestCreateAllBounds(t *testing.T) {
	for name, c := range map[string]struct{ files, bytes, want int64 }{
		"files": {3, 1 << 20, 0}, "bytes": {100, 15, 0}, "exact": {5, 1 << 20, 5},
	} {
		t.Run(name, func(t *testing.T) {
			l := plain(t)
			l.copies = filepath.Join(l.project, "state", "copies")
			private := filepath.Join(l.project, "keys")
			l.write(private, map[string]string{"key": "k\n"})
			l.write(l.copies, map[string]string{"other/tree/x": "x\n"})
			l.write(l.project, map[string]string{".git/config": "x\n", "c/.rye-tmp-1": "x\n", "c/e": "e\n"})
			a := allOf()
			a.MaxFiles, a.MaxBytes, a.Private = c.files, c.bytes, []string{private, filepath.Join(l.project, "absent")}
			got, err := l.all("one", nil, a)
			if c.want == 0 {
				if _, serr := os.Stat(filepath.Join(l.copies, unfinished+"one")); diag.CodeOf(err) != diag.LimitExceeded || !errors.Is(serr, fs.ErrNotExist) {
					t.Errorf("%v, %v", err, serr)
				}
				return
			}
			if err == nil && int64(len(got.Files)) != c.want {
				err = fmt.Errorf("%d files", len(got.Files))
			}
			if err != nil {
				// a .git directory that is not a repository is one that git does not find
				t.Errorf("%v: %v", err, got)
			}
		})
	}
}

// A copy in a repository has the changes that git sees, and merges what the commit does not
// have; a child begins with the state of its parent.
func TestCreateAllGit(t *testing.T) {
	l := newLab(t)
	l.write(l.project, map[string]string{".gitignore": "ignored\n", "ignored": "1\n2\n3\n", "untracked": "1\n2\n3\n4\n5\n", "text": "one\n2\n3\n4\n5\n"})
	parent, err := l.all("parent", nil, allOf())
	if err != nil {
		t.Fatal(err)
	}
	if got := compare(l.files(l.project), l.files(parent.Dir())); got != nil {
		t.Errorf("differs: %v", got)
	}
	kept, err := os.ReadDir(filepath.Join(l.copies, "parent", baseDir))
	if err != nil || len(kept) != 3 { // .gitignore, untracked, text
		t.Errorf("%v, %v", kept, err)
	}
	l.write(parent.Dir(), map[string]string{"ignored": "changed\n", "untracked": "1\n2\n3\n4\nfive\n", "text": "one\n2\n3\n4\nfive\n"})
	child, err := l.all("child", parent, allOf())
	if err != nil {
		t.Fatal(err)
	}
	if got := compare(l.files(parent.Dir()), l.files(child.Dir())); got != nil {
		t.Errorf("the child differs: %v", got)
	}
	l.write(l.project, map[string]string{"untracked": "first\n2\n3\n4\n5\n", "text": "first\n2\n3\n4\n5\n"})
	if err := l.apply(parent); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"untracked": "first\n2\n3\n4\nfive\n", "text": "first\n2\n3\n4\nfive\n", "ignored": "changed\n"} {
		if b, err := os.ReadFile(filepath.Join(l.project, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// A link of the commit in the place of a directory above the project is not followed: what it
// leads to is neither removed nor copied.
func TestCreateBelowLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	l := newLab(t)
	outside := filepath.Join(filepath.Dir(l.project), "outside")
	l.write(outside, map[string]string{"below/precious": "p\n"})
	top := l.project
	at := filepath.Join(top, "linked")
	if err := os.Symlink(outside, at); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "link"}} {
		if out, err := exec.Command("git", append([]string{"-C", top}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v %s", args, err, out)
		}
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	l.project = filepath.Join(at, "below")
	l.write(l.project, map[string]string{"own": "o\n"})
	before := l.files(outside)
	for mode, a := range map[string]*All{"worktree": nil, "copy": allOf()} {
		c, err := l.all(mode, nil, a)
		if err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Lstat(filepath.Dir(c.Dir())); err != nil || !fi.IsDir() {
			t.Errorf("%s: %v, %v", mode, fi, err)
		}
		if _, ok := c.Files["own"]; ok != (a != nil) || len(c.Files) > 1 {
			t.Errorf("%s has %v", mode, c.Files)
		}
		if got := compare(before, l.files(outside)); got != nil {
			t.Errorf("%s: outside changed: %v", mode, got)
		}
	}
}

// Pipes and sockets are named once, and a project below the top of its repository has the
// files of the commit around it.
func TestCreateAllBelow(t *testing.T) {
	l := newLab(t)
	l.project = filepath.Join(l.project, "c")
	l.write(l.project, map[string]string{"untracked": "u\n"})
	if err := os.Remove(filepath.Join(l.project, "d")); err != nil {
		t.Fatal(err)
	}
	c, err := l.all("one", nil, allOf())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for rel := range l.files(filepath.Dir(c.Dir())) {
		names = append(names, rel)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "a b c/untracked text" {
		t.Errorf("got %s", got)
	}
}

// Names that are not UTF-8 stay what they are in the record. Apply leaves them and those with
// a backslash: it decides no change that it could not complete.
func TestCreateAllNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the file system has UTF-8 names only")
	}
	l := plain(t)
	l.write(l.project, map[string]string{"caf\xe9": "old\n", "caf\xe8": "stays\n"})
	if err := os.Symlink("caf\xe9", filepath.Join(l.project, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.all("one", nil, allOf()); err != nil {
		t.Fatal(err)
	}
	c, err := Open(l.copies, "one")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Diff(t.Context(), os.Environ(), nothing); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	l.write(c.Dir(), map[string]string{"new\xe9": "n\n", `back\slash`: "b\n"})
	at := filepath.Join(c.Dir(), "link")
	if err := errors.Join(os.Remove(filepath.Join(c.Dir(), "caf\xe9")), os.Remove(at), os.Symlink("caf\xe8", at)); err != nil {
		t.Fatal(err)
	}
	before := l.files(l.project)
	if err := l.apply(c); err != nil {
		t.Fatal(err)
	}
	got := compare(before, l.files(l.project))
	if len(got) != 1 || got[0].Path != "link" || got[0].is.Target != "caf\xe8" {
		t.Errorf("changed: %+v", got)
	}
	all, err := c.Diff(t.Context(), os.Environ(), nothing)
	if err != nil || len(all) != 4 || all[0].Why != whyName || all[1].Why != whyName || all[3].Why != whyName {
		t.Errorf("%+v, %v", all, err)
	}
}

// Directories are bound too: they need no file to fill a disk.
func TestCreateAllDirectories(t *testing.T) {
	l := plain(t)
	for i := range 20 {
		if err := os.MkdirAll(filepath.Join(l.project, "d", fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := allOf()
	a.MaxFiles = 10
	if _, err := l.all("one", nil, a); diag.CodeOf(err) != diag.LimitExceeded || !strings.Contains(err.Error(), "directories") {
		t.Errorf("got %v", err)
	}
}

// A process that takes a copy in the making for one that was left cannot make it incomplete:
// the copy is whole, or an error.
func TestSweepWhileMaking(t *testing.T) {
	l := plain(t)
	for i := range 80 {
		l.write(l.project, map[string]string{fmt.Sprintf("many/%d/file", i): "text\n"})
	}
	a := allOf()
	a.MaxFiles = 1000
	for i := range 30 {
		stop := make(chan struct{})
		var sweeps sync.WaitGroup
		sweeps.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			for {
				select {
				case <-stop:
					return
				default:
					Sweep(l.copies, time.Now().Add(2*time.Hour))
				}
			}
		})
		c, err := l.all(fmt.Sprint("c", i), nil, a)
		close(stop)
		sweeps.Wait()
		if err != nil {
			if _, err := Open(l.copies, fmt.Sprint("c", i)); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("after an error there is a copy: %v", err)
			}
			continue
		}
		if got, err := c.Diff(t.Context(), os.Environ(), nothing); err != nil || len(got) != 0 {
			t.Fatalf("the copy is not whole: %+v, %v", got, err)
		}
		if got := len(l.files(c.Dir())); got < 84 {
			t.Fatalf("the copy has %d files", got)
		}
	}
}
