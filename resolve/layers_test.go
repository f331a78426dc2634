package resolve

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

func knowledge(id string) item.Ref { return item.Ref{Kind: item.Knowledge, ID: id} }

// entry is a knowledge item whose title is its root.
func entry(where, id string) string {
	return fmt.Sprintf("---\nid: %s\ntitle: %s\nversion: 1.0.0\ncategory: \"\"\n---\ntext\n", id, where)
}

// install puts a bundle with knowledge of these ids into a base and returns its
// layer, pinned by a signed manifest.
func install(h *testkit.Workspace, base string, name space.Name, id string, ids ...string) space.Layer {
	h.T.Helper()
	l := space.Layer{Space: name, ID: id, Version: "v1.0.0", Install: id + "@v1.0.0"}
	dir := filepath.Join(base, ".ai", "bundles", l.Install)
	if err := os.MkdirAll(filepath.Join(dir, ".ai"), 0o755); err != nil {
		h.T.Fatal(err)
	}
	for _, x := range append(ids, "of-"+id) { // a bundle is never empty
		h.Put(dir, "knowledge/"+x+".md", entry(id, x))
	}
	l.Manifest = manifestOf(h, dir)
	return l
}

// manifestOf writes the manifest of a bundle and returns its digest.
func manifestOf(h *testkit.Workspace, dir string) item.Digest {
	h.T.Helper()
	tree, err := bundle.Folder(dir)
	if err != nil {
		h.T.Fatal(err)
	}
	defer tree.Close()
	b, err := bundle.Create(h.T.Context(), tree, bundle.Params{ID: "b", Version: "1.0.0"})
	if err != nil {
		h.T.Fatal(err)
	}
	style := sign.Hash()
	b, _, err = sign.Sign(h.T.Context(), b, style, bundle.Subject("b"), h.Key, h.Now)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Write(dir, "bundles/b/manifest.yaml", string(b))
	return item.DigestOf(b)
}

func layeredResolver(h *testkit.Workspace, layers ...space.Layer) *Resolver {
	s := h.Spaces()
	s.AddLayers(layers...)
	return New(Params{Spaces: s, Trust: h.Store()})
}

func rootNamed(r *Resolver, label string) *space.Root {
	for _, root := range r.Roots() {
		if root.Label() == label {
			return root
		}
	}
	return nil
}

// TestLayerOrder puts ids into random roots and resolves them from each root:
// what is found is the first by the rules, written down here a second time.
func TestLayerOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		h := testkit.New(t)
		holds := map[string]bool{} // "where id"
		put := func(where string, write func(id string)) (ids []string) {
			for i := range 6 {
				if id := fmt.Sprintf("i%d", i); rng.IntN(3) == 0 {
					holds[where+" "+id] = true
					ids = append(ids, id)
					if write != nil {
						write(id)
					}
				}
			}
			return ids
		}
		put("project", func(id string) { h.Put(h.Project, "knowledge/"+id+".md", entry("project", id)) })
		put("user", func(id string) { h.Put(h.User, "knowledge/"+id+".md", entry("user", id)) })
		a := install(h, h.Project, space.Project, "a", put("a", nil)...)
		b := install(h, h.Project, space.Project, "b", put("b", nil)...)
		u := install(h, h.User, space.User, "u", put("u", nil)...)
		a.Needs = []string{"b"}
		r := layeredResolver(h, a, b, u)
		for from, order := range map[string][]string{
			"":                 {"project", "a+b", "user", "u"},
			"project":          {"project", "a+b", "user", "u"},
			"project:a@v1.0.0": {"a", "b", "user", "u"},
			"project:b@v1.0.0": {"b", "user", "u"},
			"user":             {"user", "u"},
			"user:u@v1.0.0":    {"u"},
		} {
			for i := range 6 {
				id := fmt.Sprintf("i%d", i)
				want := expected(holds, order, id)
				var it *Item
				var err error
				if from == "" {
					it, err = r.Find(t.Context(), knowledge(id))
				} else {
					it, err = r.FindFrom(t.Context(), knowledge(id), rootNamed(r, from))
				}
				got := "none"
				switch {
				case err == nil:
					got = it.Meta.Title
				case diag.CodeOf(err) == diag.AmbiguousItem:
					got = "ambiguous"
				case diag.CodeOf(err) != diag.ItemNotFound && diag.CodeOf(err) != diag.ExecutorNotFound:
					got = err.Error()
				}
				if got != want {
					t.Errorf("round %d: %s from %q is %s, want %s", round, id, from, got, want)
				}
			}
		}
	}
}

// TestOwnIsPartOfAll lists random roots: the list of some of them is that part of the whole
// one, shadows included.
func TestOwnIsPartOfAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 6 {
		h := testkit.New(t)
		some := func() (ids []string) {
			for i := range 6 {
				if rng.IntN(2) == 0 {
					ids = append(ids, fmt.Sprintf("i%d", i))
				}
			}
			return ids
		}
		for _, id := range some() {
			h.Put(h.Project, "knowledge/"+id+".md", entry("project", id))
		}
		for _, id := range some() {
			h.Put(h.User, "knowledge/"+id+".md", entry("user", id))
		}
		r := layeredResolver(h, install(h, h.Project, space.Project, "a", some()...), install(h, h.User, space.User, "u", some()...))
		all := must(r.All(t.Context(), item.Knowledge))
		for _, own := range []func(*space.Root) bool{
			func(root *space.Root) bool { return root.Space == space.Project && !root.Bundled() },
			func(root *space.Root) bool { return root.Space == space.User },
			func(root *space.Root) bool { return root.Bundled() },
			func(*space.Root) bool { return true },
			func(*space.Root) bool { return false },
		} {
			want := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return !own(e.Root) })
			if got := must(r.Own(t.Context(), item.Knowledge, own)); !slices.Equal(got, want) {
				t.Errorf("round %d: %v, want %v", round, got, want)
			}
		}
	}
}

func expected(holds map[string]bool, order []string, id string) string {
	for _, rank := range order {
		var here []string
		for where := range strings.SplitSeq(rank, "+") {
			if holds[where+" "+id] {
				here = append(here, where)
			}
		}
		switch len(here) {
		case 1:
			return here[0]
		case 2:
			return "ambiguous"
		}
	}
	return "none"
}

func TestUseAndPrefer(t *testing.T) {
	h := testkit.New(t)
	a := install(h, h.Project, space.Project, "a", "both", "mine")
	b := install(h, h.Project, space.Project, "b", "both")
	title := func(r *Resolver, id string) string {
		it, err := r.Find(t.Context(), knowledge(id))
		if err != nil {
			return string(diag.CodeOf(err))
		}
		return it.Meta.Title
	}
	r := layeredResolver(h, a, b)
	if got := title(r, "both"); got != "AMBIGUOUS_ITEM" {
		t.Error(got)
	}
	fs, err := r.Collisions(t.Context())
	if err != nil || len(fs) != 1 || fs[0].Code != diag.AmbiguousItem || !strings.Contains(fs[0].Message, "knowledge:both") {
		t.Errorf("collisions %v, %v", fs, err)
	}
	for _, e := range must(r.All(t.Context(), item.Knowledge)) {
		if e.Ref.ID == "both" && e.Shadow {
			t.Error("neither of two that collide shadows the other")
		}
	}
	a.Offers = func(ref item.Ref) bool { return ref.ID != "both" }
	r = layeredResolver(h, a, b)
	if got := title(r, "both") + title(r, "mine"); got != "ba" {
		t.Error("preferred:", got)
	}
	if fs, err := r.Collisions(t.Context()); err != nil || len(fs) > 0 {
		t.Errorf("collisions %v, %v", fs, err)
	}
	if all := must(r.Shadows(t.Context(), knowledge("both"))); len(all) != 1 || all[0].Root.Layer != "b" {
		t.Errorf("shadows %v", all)
	}
	b.Offers = func(item.Ref) bool { return false }
	r = layeredResolver(h, a, b)
	if got := title(r, "both"); got != "ITEM_NOT_FOUND" {
		t.Error("narrowed:", got)
	}
	// The bundles themselves see all that is theirs and that they need.
	a.Needs = []string{"b"}
	r = layeredResolver(h, a, b)
	if it, err := r.FindFrom(t.Context(), knowledge("both"), rootNamed(r, "project:a@v1.0.0")); err != nil || it.Meta.Title != "a" {
		t.Errorf("from a: %v", err)
	}
	if it, err := r.FindFrom(t.Context(), knowledge("both"), rootNamed(r, "project:b@v1.0.0")); err != nil || it.Meta.Title != "b" {
		t.Errorf("from b: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestPinned(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *testkit.Workspace, dir string, l *space.Layer)
		want   diag.Code
		part   string
	}{
		"as locked": {func(*testkit.Workspace, string, *space.Layer) {}, "", ""},
		"no pin":    {func(h *testkit.Workspace, dir string, l *space.Layer) { l.Manifest = item.Digest{} }, "", ""},
		"signed again": {func(h *testkit.Workspace, dir string, _ *space.Layer) {
			h.Put(dir, "knowledge/x.md", entry("other", "x"))
		}, diag.HashMismatch, "is signed by ada"},
		"by an untrusted key": {func(h *testkit.Workspace, dir string, _ *space.Layer) {
			h.Write(dir, "knowledge/x.md", string(h.Signed("knowledge/x.md", entry("other", "x"), testkit.Key(9))))
		}, diag.KeyUnknown, ""},
		"other manifest": {func(h *testkit.Workspace, dir string, _ *space.Layer) {
			h.Put(dir, "knowledge/x.md", entry("other", "x"))
			manifestOf(h, dir)
		}, diag.LockMismatch, "is signed by ada"},
		"no manifest": {func(h *testkit.Workspace, dir string, _ *space.Layer) {
			if err := os.RemoveAll(filepath.Join(dir, ".ai", "bundles")); err != nil {
				h.T.Fatal(err)
			}
		}, diag.LockMismatch, "has no manifest"},
		"another manifest": {func(h *testkit.Workspace, dir string, _ *space.Layer) {
			h.Write(dir, "bundles/a/manifest.yaml", "bundle: {id: a, version: 1.0.0, type: package}\nfiles: {}\n")
		}, "", ""},
		"not listed": {func(h *testkit.Workspace, dir string, l *space.Layer) {
			l.Manifest = manifestOfNothing(h, dir)
		}, diag.BundleFileExtra, "does not list it"},
		"not installed": {func(h *testkit.Workspace, dir string, _ *space.Layer) {
			if err := os.RemoveAll(dir); err != nil {
				h.T.Fatal(err)
			}
		}, diag.BundleFileMissing, "not installed"},
	} {
		h := testkit.New(t)
		l := install(h, h.Project, space.Project, "a", "x")
		c.change(h, filepath.Join(h.Project, ".ai", "bundles", l.Install), &l)
		h.Put(h.User, "knowledge/x.md", entry("user", "x")) // never used instead
		it, err := layeredResolver(h, l).Find(t.Context(), knowledge("x"))
		if diag.CodeOf(err) != c.want || err != nil && !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.want, c.part)
		}
		if err == nil && it.Meta.Title != "a" {
			t.Errorf("%s: found in %s", name, it.Meta.Title)
		}
	}
}

// manifestOfNothing replaces the manifest by one that lists another file.
func manifestOfNothing(h *testkit.Workspace, dir string) item.Digest {
	aside := h.T.TempDir()
	if err := os.MkdirAll(filepath.Join(aside, ".ai"), 0o755); err != nil {
		h.T.Fatal(err)
	}
	h.Put(aside, "knowledge/y.md", entry("a", "y"))
	d := manifestOf(h, aside)
	b, err := os.ReadFile(filepath.Join(aside, ".ai", "bundles", "b", "manifest.yaml"))
	if err != nil {
		h.T.Fatal(err)
	}
	h.Write(dir, "bundles/b/manifest.yaml", string(b))
	return d
}

// TestLayerConfig: a bundle's configuration has lower precedence than the project's own.
func TestLayerConfig(t *testing.T) {
	h := testkit.New(t)
	a := install(h, h.Project, space.Project, "a")
	dir := filepath.Join(h.Project, ".ai", "bundles", a.Install)
	h.Put(dir, "config/c.yaml", "schema_version: 1.0.0\nx: bundle\ny: bundle\n")
	a.Manifest = manifestOf(h, dir)
	h.Put(h.Project, "config/c.yaml", "schema_version: 1.0.0\nx: project\n")
	h.Put(h.User, "config/c.yaml", "schema_version: 1.0.0\nx: user\ny: user\nz: user\n")
	s, err := layeredResolver(h, a).Config(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{s.Root["x"], s.Root["y"], s.Root["z"]}
	if !slices.Equal(got, []any{"project", "bundle", "user"}) {
		t.Errorf("%v", got)
	}
}
