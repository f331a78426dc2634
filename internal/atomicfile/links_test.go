package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// snapshot returns every path below dir with its type, mode, content and target.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		text, _ := os.Readlink(p)
		if fi.Mode().IsRegular() {
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text = string(content)
		}
		fmt.Fprintf(&b, "%s %s %q\n", strings.TrimPrefix(p, dir), fi.Mode(), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// names of random entries. The directories of temporary files are among them.
func randomName(r *rand.Rand) string {
	return []string{"a", "b", ".ai", "cache", "tmp", ".gitignore", "f", Prefix + strings.Repeat("A", 26)}[r.IntN(8)]
}

func randomRel(r *rand.Rand) string {
	rel := randomName(r)
	for range r.IntN(4) {
		rel = path.Join(rel, randomName(r))
	}
	return rel
}

// grow creates directories, files and links to outside in dir.
func grow(r *rand.Rand, dir, outside string, depth int) {
	for range 1 + r.IntN(4) {
		at := filepath.Join(dir, randomName(r))
		switch r.IntN(6) {
		case 0, 1, 2:
			if os.Mkdir(at, 0o755) == nil && depth > 0 {
				grow(r, at, outside, depth-1)
			}
		case 3:
			_ = os.WriteFile(at, []byte("old"), 0o644)
		case 4:
			_ = os.Symlink(filepath.Join(outside, []string{"", "a", "f", "absent"}[r.IntN(4)]), at)
		case 5:
			rel, err := filepath.Rel(dir, filepath.Join(outside, []string{"", "a", "f"}[r.IntN(3)]))
			if err == nil {
				_ = os.Symlink(rel, at)
			}
		}
	}
}

// operations are all that a Base can do, in one word each.
func operations(r *rand.Rand, b Base) map[string]func() error {
	rel, other := randomRel(r), randomRel(r)
	return map[string]func() error{
		"write":   func() error { return b.Write(rel, []byte("new"), 0) },
		"replace": func() error { return b.Replace(rel, []byte("new"), 0o600) },
		"create":  func() error { return b.Create(rel, []byte("new"), 0o644) },
		"mkdir":   func() error { return b.MkdirAll(rel) },
		"remove":  func() error { return b.Remove(rel) },
		"all":     func() error { return b.RemoveAll(rel) },
		"rename":  func() error { return b.Rename(rel, other) },
		"sweep":   func() error { b.Sweep(); b.SweepIn(rel); return nil },
		"open": func() error {
			f, err := b.OpenFile(rel, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
			if err == nil {
				_, err = f.WriteString("new")
				_ = f.Close()
			}
			return err
		},
		"scratch": func() error {
			s, err := b.Scratch()
			if err == nil {
				s.Close()
			}
			return err
		},
		"stage": func() error {
			dir, err := b.Open(path.Dir(rel))
			if err != nil {
				return err
			}
			defer dir.Close()
			p, err := b.Stage(dir, path.Base(rel), []byte("new"), 0o600)
			if err != nil {
				return err
			}
			return p.Commit()
		},
	}
}

// In trees of random directories, files and links, no operation changes anything
// outside the base, and an error through a link names it.
func TestNothingOutsideChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("tries random trees of links")
	}
	outside := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(outside, "a", "b"), 0o755), os.WriteFile(filepath.Join(outside, "f"), []byte("old"), 0o644),
		os.WriteFile(filepath.Join(outside, "a", Prefix+strings.Repeat("A", 26)), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if os.Symlink(outside, filepath.Join(t.TempDir(), "l")) != nil {
		t.Skip("no links here")
	}
	before := snapshot(t, outside)
	refused, done := 0, 0
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 9))
		dir := t.TempDir()
		grow(r, dir, outside, 3)
		for _, b := range []Base{Project(dir), Space(dir), Private(dir), Git(dir), Project(dir).Below(".ai"), Private(dir).Below("a/b")} {
			for name, do := range operations(r, b) {
				switch err := do(); {
				case err == nil:
					done++
				case diag.CodeOf(err) == diag.PathEscape:
					refused++
					var e *diag.Error
					if errors.As(err, &e) && e.Reason == "link" && !strings.Contains(err.Error(), "is a link to ") {
						t.Errorf("seed %d, %s: %v", seed, name, err)
					}
				}
			}
		}
		if after := snapshot(t, outside); after != before {
			t.Fatalf("seed %d: outside has changed:\n%s\nbefore:\n%s", seed, after, before)
		}
	}
	if refused < 30 || done < 30 {
		t.Errorf("%d operations were refused and %d done: the trees test too little", refused, done)
	}
}

// A link in the path of the base is the user's own.
func TestBaseThroughALink(t *testing.T) {
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	if err := Private(link).Write("sub/f", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(real, "sub", "f")); got != "x" {
		t.Errorf("the file has %q", got)
	}
}
