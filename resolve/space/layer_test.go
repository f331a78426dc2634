package space

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

func TestInstalled(t *testing.T) {
	for rel, want := range map[string]bool{
		"bundles/github.com/acme/core@v1.8.2":                       true,
		"bundles/github.com/acme/core@v1.8.2/.ai/tools/x.py":        true,
		"bundles/+scp/git@host/x@v1.0.0/.ai/tools/x.py":             true,
		"bundles/rye-core/manifest.yaml":                            false,
		"bundles/acme/tools/manifest.yaml":                          false,
		"bundles":                                                   false,
		"tools/a@b.py":                                              false,
		"bundlesx/a@v1.0.0/x":                                       false,
		"bundles/github.com/acme/core@v1.8.2/.ai/bundles/c/m@n.txt": true,
	} {
		if got := Installed(rel); got != want {
			t.Errorf("%s: %t, want %t", rel, got, want)
		}
	}
}

// layered returns a project and a user space with bundles a, b and c, of which
// a needs b, and d of the user.
func layered(t *testing.T) *Spaces {
	dir := tree(t, "p/.ai/tools/own", "p/.ai/bundles/x/a@v1.0.0/.ai/tools/a", "p/.ai/bundles/x/b@v1.0.0/.ai/tools/b",
		"p/local/.ai/tools/c", "u/.ai/bundles/x/d@v1.0.0/.ai/tools/d", "s/.ai/tools/s")
	at := func(p string) string { return filepath.Join(dir, p) }
	s, err := Discover(Params{Project: at("p"), Home: at("u"), System: fstest.MapFS{}, Layer: "core",
		Getenv: func(k string) string { return map[string]string{"RYE_SYSTEM_SPACE": at("s")}[k] }})
	must(t, err)
	s.AddLayers(
		Layer{Space: Project, ID: "x/a", Version: "v1.0.0", Install: "x/a@v1.0.0", Needs: []string{"x/b"}},
		Layer{Space: Project, ID: "x/b", Version: "v1.0.0", Install: "x/b@v1.0.0"},
		Layer{Space: Project, ID: "x/c", Base: at("p/local"), Show: "local"},
		Layer{Space: User, ID: "x/d", Version: "v1.0.0", Install: "x/d@v1.0.0"},
		Layer{Space: System, ID: "x/e", Version: "v1.0.0", Install: "x/e@v1.0.0"},
		Layer{Space: "none", ID: "x/f"})
	return s
}

func TestAddLayers(t *testing.T) {
	s := layered(t)
	want := []string{"project", "project:x/a@v1.0.0", "project:x/b@v1.0.0", "project:x/c", "user", "user:x/d@v1.0.0",
		"system:s", "system:x/e@v1.0.0", "system:core"}
	if got := labels(s); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i, want := range []string{".ai/tools/t", ".ai/bundles/x/a@v1.0.0/.ai/tools/t", ".ai/bundles/x/b@v1.0.0/.ai/tools/t", "local/.ai/tools/t",
		"~/.ai/tools/t", "~/.ai/bundles/x/d@v1.0.0/.ai/tools/t"} {
		if got := s.Roots[i].Display("tools/t"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for i, r := range s.Roots {
		if err := r.Ready(); (err != nil) != (i == 7) || i == 7 && diag.CodeOf(err) != diag.BundleFileMissing {
			t.Errorf("%s: %v", r.Label(), err)
		}
	}
	if s.Of(Project) != s.Roots[0] {
		t.Error("a bundle is taken for the space's own items")
	}
}

// A bundle's items see the bundle, what it needs and the lower spaces: never
// the own items of its space, and no other bundle.
func TestFromBundle(t *testing.T) {
	s := layered(t)
	lower := []string{"user", "user:x/d@v1.0.0", "system:s", "system:x/e@v1.0.0", "system:core"}
	for i, want := range [][]string{
		append([]string{"project", "project:x/a@v1.0.0", "project:x/b@v1.0.0", "project:x/c"}, lower...),
		append([]string{"project:x/a@v1.0.0", "project:x/b@v1.0.0"}, lower...),
		append([]string{"project:x/b@v1.0.0"}, lower...),
		append([]string{"project:x/c"}, lower...),
		lower,
		append([]string{"user:x/d@v1.0.0"}, lower[2:]...),
		lower[2:],
		{"system:x/e@v1.0.0", "system:core"},
		{"system:core"},
	} {
		if got := labels(&Spaces{Roots: s.From(s.Roots[i])}); !slices.Equal(got, want) {
			t.Errorf("from %s: %q, want %q", s.Roots[i].Label(), got, want)
		}
	}
}

func TestLayerFiles(t *testing.T) {
	s := layered(t)
	var own []string
	must(t, s.Roots[0].Walk(".", func(e Entry) error { own = append(own, e.Rel); return nil }))
	if !slices.Equal(own, []string{"tools/own"}) {
		t.Errorf("the project's own files are %q: installed bundles are roots of their own", own)
	}
	if got := s.Roots[0].Installs(); !slices.Equal(got, []string{"x/a@v1.0.0", "x/b@v1.0.0"}) || s.Roots[1].Install() != got[0] || s.Roots[3].Install() != "" {
		t.Errorf("installed %q", got)
	}
	a, c := s.Roots[1], s.Roots[3]
	root, rel, ok := s.Locate(a.Path("tools/a"))
	if !ok || root != a || rel != "tools/a" {
		t.Errorf("located %v %q", root, rel)
	}
	if err := a.Write("tools/a", nil); diag.CodeOf(err) != diag.PermissionDenied {
		t.Errorf("writing into an installed bundle: %v", err)
	}
	must(t, c.Write("tools/c", []byte("edited")))
	var files []string
	must(t, a.Tree(100, func(rel string, _ []byte, _ bool) error { files = append(files, rel); return nil }))
	if !slices.Equal(files, []string{".ai/tools/a"}) {
		t.Errorf("tree %q", files)
	}
	if !a.Offers(item.Ref{}) || a.Manifest() != (item.Digest{}) || !strings.Contains(s.Roots[7].Ready().Error(), "x/e@v1.0.0") {
		t.Error("the properties of a layer")
	}
}

func TestLayerLinks(t *testing.T) {
	dir := tree(t, "p/.ai/bundles/x/", "elsewhere/.ai/tools/x", "p/ws/")
	at := func(p string) string { return filepath.Join(dir, filepath.FromSlash(p)) }
	link(t, at("elsewhere"), at("p/.ai/bundles/x/a@v1.0.0"))
	link(t, at("elsewhere"), at("p/ws/member"))
	s, err := Discover(Params{Project: at("p")})
	must(t, err)
	s.AddLayers(Layer{Space: Project, ID: "x/a", Version: "v1.0.0", Install: "x/a@v1.0.0"},
		Layer{Space: Project, ID: "x/m", Base: at("p/ws/member"), Show: "./ws/member"},
		Layer{Space: Project, ID: "x/o", Base: at("elsewhere"), Show: "../elsewhere"})
	for i, want := range []diag.Code{1: diag.PathEscape, 2: diag.PathEscape, 3: ""} {
		if i == 0 {
			continue
		}
		if _, err := s.Roots[i].Read("tools/x", 100); diag.CodeOf(err) != want {
			t.Errorf("%s: %v, want %q", s.Roots[i].Label(), err, want)
		}
		if err := s.Roots[i].Ready(); diag.CodeOf(err) != want {
			t.Errorf("%s is ready: %v, want %q", s.Roots[i].Label(), err, want)
		}
	}
}
