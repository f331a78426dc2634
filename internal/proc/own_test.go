package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Programs of rye never come from the project or repository, however PATH leads
// there (security 17).
func TestOwn(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(p string) string { return filepath.Join(dir, filepath.FromSlash(p)) }
	for _, p := range []string{"home/bin", "home/.ai", "home/.git", "home/repo/.git", "home/repo/node_modules/.bin", "home/repo/a/.ai",
		"home/repo/a/bin", "opt/bin", "plain/bin", "yaml/bin", "yaml/home/bin"} {
		if err := os.MkdirAll(at(p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("yaml/rye.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	linked := os.Symlink(at("home/repo/a/bin"), at("opt/link")) == nil
	list := func(dirs ...string) string { return strings.Join(dirs, string(os.PathListSeparator)) }
	for _, c := range []struct {
		name, dir string
		path      []string
		want      []string
	}{
		{"project and repository", "home/repo/a", []string{at("home/repo/a/bin"), at("home/repo/node_modules/.bin"), at("opt/bin")}, []string{at("opt/bin")}},
		{"from a directory of the project", "home/repo/a/bin", []string{at("home/repo/a/bin"), at("opt/bin")}, []string{at("opt/bin")}},
		{"relative and empty", "opt", []string{"bin", "", ".", at("opt/bin")}, []string{at("opt/bin")}},
		{"a project by rye.yaml", "yaml", []string{at("yaml/bin"), at("plain/bin")}, []string{at("plain/bin")}},
		{"no project", "plain", []string{at("plain/bin"), at("opt/bin")}, []string{at("plain/bin"), at("opt/bin")}},
		{"the home is a repository", "home", []string{at("home/bin"), at("opt/bin")}, []string{at("home/bin"), at("opt/bin")}},
		{"the home is in the project", "yaml", []string{at("yaml/bin"), at("yaml/home/bin"), at("opt/bin")}, []string{at("yaml/home/bin"), at("opt/bin")}},
		{"a link to the project", "home/repo/a", []string{at("opt/link"), at("opt/bin")}, []string{at("opt/bin")}},
	} {
		if strings.Contains(c.name, "link") && !linked {
			continue
		}
		home := at("home")
		if strings.HasPrefix(c.name, "the home is in") {
			home = at("yaml/home")
		}
		got, _ := Lookup(Own([]string{"HOME=" + home, "PATH=" + list(c.path...)}, at(c.dir)), "PATH")
		if want := list(c.want...); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
	if env := []string{"A=b"}; !slices.Equal(Own(env, dir), env) {
		t.Error("an environment without PATH changed")
	}
}
