//go:build unix

package owner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

const (
	stranger = 65534
	another  = 65533
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dir makes a directory with a mode and, unless uid is 0, another owner.
func dir(t testing.TB, path string, mode os.FileMode, uid int) {
	t.Helper()
	must(t, os.Mkdir(path, 0o700))
	must(t, os.Chmod(path, mode))
	must(t, os.Lchown(path, uid, -1))
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to other users")
	}
}

func TestOther(t *testing.T) {
	needRoot(t)
	own, theirs := filepath.Join(t.TempDir(), "own"), filepath.Join(t.TempDir(), "theirs")
	dir(t, own, 0o755, 0)
	dir(t, theirs, 0o755, stranger)
	for _, c := range []struct {
		path, sudo, want string
	}{
		{own, "", ""},
		{theirs, "", "65534"},
		{theirs, "65534", ""},
		{theirs, "65533", "65534"},
		{theirs, "root", "65534"},
	} {
		fi, err := os.Stat(c.path)
		must(t, err)
		if got := Other(fi, c.sudo); got != c.want {
			t.Errorf("%s with SUDO_UID=%s: %q, want %q", filepath.Base(c.path), c.sudo, got, c.want)
		}
	}
}

// Each case is a tree below one directory; the last element is examined.
func TestSealed(t *testing.T) {
	needRoot(t)
	type made struct {
		name string
		mode os.FileMode
		uid  int
	}
	sticky := 0o777 | os.ModeSticky
	for name, c := range map[string]struct {
		dirs   []made
		unsafe string // the element that the error names, "" for none
	}{
		"own":                        {[]made{{"a", 0o755, 0}, {"cache", 0o700, 0}}, ""},
		"of another user":            {[]made{{"a", 0o755, 0}, {"cache", 0o700, stranger}}, "cache"},
		"writable by all":            {[]made{{"cache", 0o777, 0}}, "cache"},
		"writable by all, sticky":    {[]made{{"cache", sticky, 0}}, "cache"},
		"below a sticky directory":   {[]made{{"shared", sticky, 0}, {"cache", 0o700, 0}}, ""},
		"below a writable directory": {[]made{{"shared", 0o777, 0}, {"cache", 0o700, 0}}, "shared"},
		"below one of another user":  {[]made{{"theirs", 0o755, stranger}, {"cache", 0o700, 0}}, "theirs"},
		"below his sticky one":       {[]made{{"theirs", sticky, stranger}, {"cache", 0o700, 0}}, "theirs"},
		"two levels below":           {[]made{{"theirs", 0o755, another}, {"b", 0o755, 0}, {"cache", 0o700, 0}}, "theirs"},
	} {
		at := t.TempDir()
		for _, d := range c.dirs {
			at = filepath.Join(at, d.name)
			dir(t, at, d.mode, d.uid)
		}
		for _, path := range []string{at, filepath.Join(at, "missing")} {
			if err := Sealed(path); !names(err, c.unsafe) && !(path != at && c.dirs[len(c.dirs)-1].mode == sticky) {
				t.Errorf("%s: %s: %v, want an error about %q", name, filepath.Base(path), err, c.unsafe)
			}
		}
	}
}

// A link of another user, or one in a directory of his, leads wherever he wants.
func TestSealedLinks(t *testing.T) {
	needRoot(t)
	at := t.TempDir()
	dir(t, filepath.Join(at, "cache"), 0o700, 0)
	dir(t, filepath.Join(at, "shared"), 0o777|os.ModeSticky, 0)
	dir(t, filepath.Join(at, "theirs"), 0o755, stranger)
	links := map[string]string{
		"shared/own": "../cache", "shared/foreign": "../cache", "theirs/link": "../cache",
		"direct": "cache", "through": "theirs/link", "loop": "loop", "chain": "shared/own",
	}
	for name, to := range links {
		must(t, os.Symlink(to, filepath.Join(at, name)))
	}
	must(t, os.Lchown(filepath.Join(at, "shared/foreign"), stranger, -1))
	for name, unsafe := range map[string]string{
		"direct": "", "shared/own": "", "chain": "", "shared/foreign": "foreign", "theirs/link": "theirs", "through": "theirs", "loop": "loop",
	} {
		if err := Sealed(filepath.Join(at, name)); !names(err, unsafe) {
			t.Errorf("%s: %v, want an error about %q", name, err, unsafe)
		}
	}
}

func names(err error, element string) bool {
	var u *Unsafe
	if element == "" {
		return err == nil
	}
	return errors.As(err, &u) && filepath.Base(u.Path) == element
}

func TestWritersOfTheGroup(t *testing.T) {
	needRoot(t)
	path := filepath.Join(t.TempDir(), "d")
	dir(t, path, 0o770, 0)
	if err := Private(path, ""); err != nil {
		t.Errorf("root's own group: %v", err)
	}
	must(t, os.Lchown(path, 0, another))
	if err := Private(path, ""); !names(err, "d") {
		t.Errorf("another group: %v", err)
	}
	if err := Private(path+"/missing", ""); err != nil {
		t.Errorf("a missing file: %v", err)
	}
}
