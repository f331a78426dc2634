package proc

import (
	"os"
	"path/filepath"
	"testing"
)

// Outside returns what OutsidePath returns, also after links and directories have changed.
func TestOutside(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	mkdir := func(name string) {
		t.Helper()
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		_ = os.Remove(at(name))
		if err := os.Symlink(at(to), at(name)); err != nil {
			t.Skip("no links:", err)
		}
	}
	for _, dir := range []string{"project/bin", "project/sub", "other/bin", "usr/bin"} {
		mkdir(dir)
	}
	list := ""
	for _, dir := range []string{"project/bin", "usr/bin", "link", "through/bin", "gone", "late", "project/way"} {
		list += at(dir) + string(os.PathListSeparator)
	}
	list += "relative"
	o := &Outside{}
	check := func(what, root string) {
		t.Helper()
		for range 2 {
			if got, want := o.Path(list, at(root)), OutsidePath(list, at(root)); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
	}
	link("usr/bin", "link")
	link("other", "through")
	link("usr/bin", "project/way")
	check("at first", "project")
	link("project/bin", "link")
	check("a link leads into the project now", "project")
	link("project", "through")
	check("a link on the way leads into the project now", "project")
	link("usr/bin", "link")
	check("a link leads out again", "project")
	link("project/sub", "late")
	check("a directory exists now", "project")
	if err := os.Rename(at("project"), at("moved")); err != nil {
		t.Fatal(err)
	}
	link("other", "project")
	link("other", "through")
	check("the project is a link to another directory", "project")
	check("another project", "moved")
	check("no project", "absent")
	if got := (*Outside)(nil).Path(list, at("moved")); got != OutsidePath(list, at("moved")) {
		t.Errorf("nil: %q", got)
	}
	if got := o.Path(list, ""); got != OutsidePath(list, "") {
		t.Errorf("without a project: %q", got)
	}
}
