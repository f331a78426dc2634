package account_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/account"
)

func TestSee(t *testing.T) {
	top := t.TempDir()
	if real, err := filepath.EvalSymlinks(top); err != nil {
		t.Fatal(err)
	} else {
		top = real
	}
	for _, dir := range []string{"home/work/sub", "home/.ssh/keys", "elsewhere", "homes"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(rel string) string { return filepath.Join(top, filepath.FromSlash(rel)) }
	root := filepath.VolumeName(top) + string(filepath.Separator)
	for _, tc := range []struct{ dir, why string }{
		{at("home/work"), ""},
		{at("home/work/sub"), ""},
		{at("elsewhere"), ""},
		{at("homes"), ""},
		{at("home"), "it is your home directory"},
		{top, "your home directory is in it"},
		{root, "it is the root of the file system"},
		{at("home/.ssh"), "no tool reads it"},
		{at("home/.ssh/keys"), "no tool reads it"},
		{at("gone"), "cannot be read"},
		{"", "cannot be read"},
	} {
		got := account.See(account.Params{Dir: tc.dir, Home: at("home"), Private: []string{at("home"), at("home/.ssh")}})
		if got.Empty != (tc.why != "") || !strings.Contains(got.Why, tc.why) || !got.Empty && got.Dir != tc.dir {
			t.Errorf("%s: %+v, want %q", tc.dir, got, tc.why)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(at("elsewhere"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := account.See(account.Params{Dir: at("elsewhere"), Home: at("home")}); !got.Empty || got.Why != "every user can write in it" {
		t.Errorf("a directory that every user writes: %+v", got)
	}
	if err := os.Symlink(at("home"), at("link")); err != nil {
		t.Fatal(err)
	}
	if got := account.See(account.Params{Dir: at("link"), Home: at("home")}); !got.Empty {
		t.Errorf("a link to the home directory: %+v", got)
	}
}

func TestEmptyDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "account")
	at, err := account.EmptyDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(at, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := account.EmptyDir(dir); diag.CodeOf(err) != diag.FileSystemError {
		t.Errorf("a directory with an entry: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := account.Make(dir); diag.CodeOf(err) != diag.FileSystemError {
		t.Errorf("a directory that others read: %v", err)
	}
}
