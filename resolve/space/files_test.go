package space

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// listed is Files of a map: path below .ai to text.
type listed map[string]string

func (l listed) Read(rel string, _ int64) ([]byte, error) {
	text, ok := l[rel]
	if !ok {
		return nil, &fs.PathError{Op: "reading", Path: rel, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (l listed) Exists(rel string) bool {
	for p := range l {
		if rel == "." || p == rel || strings.HasPrefix(p, rel+"/") {
			return true
		}
	}
	return false
}

func (l listed) Executable(rel string) bool { return strings.HasSuffix(rel, ".sh") }

func (l listed) Walk(rel string, fn func(Entry) error) error {
	var paths []string
	for p := range l {
		if rel == "." || p == rel || strings.HasPrefix(p, rel+"/") {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		if err := fn(Entry{Rel: p}); err != nil {
			return err
		}
	}
	return nil
}

// Bundles of a project that is not on disk: one among its files, one installed on
// this machine, one missing, and a member.
func TestLayersOfFiles(t *testing.T) {
	dir := tree(t, "p/.ai/tools/own", "p/.ai/bundles/x/b@v1.0.0/.ai/tools/b")
	disk := NewDir(Project, "", filepath.Join(dir, "p"), false)
	files := listed{
		"tools/own.sh": "own", "bundles/x/a@v1.0.0/.ai/tools/a.sh": "a", "bundles/x/a@v1.0.0/rye.yaml": "rye: 1\n",
		"bundles/git@h.example/z@v1.0.0/.ai/tools/z.sh": "z", "bundles/mine/manifest.yaml": "m",
	}
	s := &Spaces{Roots: []*Root{NewFiles(Project, files), NewDir(User, "", dir, true)}}
	s.AddLayers(
		Layer{Space: Project, ID: "x/a", Version: "v1.0.0", Install: "x/a@v1.0.0", Files: Below(files, "x/a@v1.0.0")},
		Layer{Space: Project, ID: "x/b", Version: "v1.0.0", Install: "x/b@v1.0.0", At: disk},
		Layer{Space: Project, ID: "x/c", Version: "v1.0.0", Install: "x/c@v1.0.0", Files: Below(files, "x/c@v1.0.0")},
		Layer{Space: Project, ID: "x/m", Show: "./m", Files: listed{"tools/m.sh": "m"}})
	if got := labels(s); !slices.Equal(got, []string{"project", "project:x/a@v1.0.0", "project:x/b@v1.0.0", "project:x/c@v1.0.0", "project:x/m", "user"}) {
		t.Fatalf("%q", got)
	}
	own, a, b, c, m := s.Roots[0], s.Roots[1], s.Roots[2], s.Roots[3], s.Roots[4]
	if got := own.Installs(); !slices.Equal(got, []string{"git@h.example/z@v1.0.0", "x/a@v1.0.0"}) {
		t.Errorf("installed %q", got)
	}
	for _, x := range []struct {
		root *Root
		rel  string
		want string
	}{{a, "tools/a.sh", "a"}, {b, "tools/b", "p/.ai/bundles/x/b@v1.0.0/.ai/tools/b"}, {m, "tools/m.sh", "m"}} {
		if text, err := x.root.Read(x.rel, 100); err != nil || string(text) != x.want || !x.root.Exists(x.rel) || x.root.Ready() != nil {
			t.Errorf("%s: %q, %v, %v", x.root.Label(), text, err, x.root.Ready())
		}
	}
	if err := c.Ready(); diag.CodeOf(err) != diag.BundleFileMissing {
		t.Errorf("what is nowhere: %v", err)
	}
	if got := a.Display("tools/a.sh"); got != ".ai/bundles/x/a@v1.0.0/.ai/tools/a.sh" || !a.ReadOnly() || m.ReadOnly() || !a.Executable("tools/a.sh") {
		t.Errorf("%q", got)
	}
	var walked, all []string
	must(t, a.Walk(".", func(e Entry) error { walked = append(walked, e.Rel); return nil }))
	must(t, a.Tree(100, func(rel string, text []byte, x bool) error { all = append(all, rel); return nil }))
	if !slices.Equal(walked, []string{"tools/a.sh"}) || !slices.Equal(all, []string{".ai/tools/a.sh", "rye.yaml"}) {
		t.Errorf("walked %q, whole %q", walked, all)
	}
	if text, _, err := a.Sibling("rye.yaml", 100); err != nil || string(text) != "rye: 1\n" {
		t.Errorf("next to it: %q, %v", text, err)
	}
	if err := m.Tree(100, func(string, []byte, bool) error { return nil }); err == nil {
		t.Error("a folder used where it is has a tree of its own")
	}
}
