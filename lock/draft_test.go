package lock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/mvs"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/lock/why"
)

// universe answers what versions require, for Draft.
type universe map[string][]lock.Module

func (u universe) Max(a, b string) string { return lock.MaxVersion(a, b) }

func (u universe) Required(_ context.Context, id lock.ID, version string) ([]lock.Module, error) {
	to, ok := u[id.String()+" "+version]
	if !ok {
		return nil, fmt.Errorf("there is no %s %s", id, version)
	}
	return to, nil
}

func mods(words ...string) []lock.Module {
	var out []lock.Module
	for i := 0; i < len(words); i += 2 {
		out = append(out, lock.Module{ID: idOf(words[i]), Version: words[i+1]})
	}
	return out
}

func manifest(t *testing.T, text string) *lock.ProjectFile {
	t.Helper()
	m, fs := lock.ParseProjectFile([]byte(text))
	if m == nil {
		t.Fatalf("%s: %v", text, fs)
	}
	return m
}

// TestDraft locks a diamond in which a version that was not chosen is the only
// reason for another.
func TestDraft(t *testing.T) {
	a, b, c, d, own := "github.com/x/a", "github.com/x/b", "github.com/x/c", "github.com/x/d", "github.com/x/own"
	u := universe{
		a + " v1.0.0": mods(c, "v1.5.0", b, "v1.0.0"), a + " v1.1.0": mods(c, "v1.2.0"),
		b + " v1.0.0": mods(a, "v1.1.0", own, "v3.0.0"), c + " v1.5.0": mods(d, "v1.0.0"), c + " v1.2.0": nil, d + " v1.0.0": nil,
	}
	m := manifest(t, "rye: 1\nrequire: {"+a+": v1.0.0, "+b+": v1.0.0}\nuse: {"+a+": [tool:x]}\nreplace: {"+d+": ../d}\n")
	members := []lock.MemberFile{{"./own", manifest(t, "rye: 1\nname: "+own+"\nrequire: {"+d+": v1.0.0}\n")}}
	g, err := mvs.BuildList(t.Context(), mvs.Root{Requires: m.Requires(), Members: map[lock.ID][]lock.Module{members[0].Key(): members[0].Manifest.Requires()}}, u)
	if err != nil {
		t.Fatal(err)
	}
	l := lock.Draft(m, members, lock.Selection{Modules: g.Selected, Needs: g.Edges, Via: g.Via})
	if fs := l.Stale(m, members...); len(fs) > 0 {
		t.Errorf("a draft is stale: %v", fs)
	}
	var got []string
	for _, x := range l.Bundles {
		got = append(got, fmt.Sprintf("%v %s%v%s%v%v", x.Module(), x.Require, x.Use, x.Replace, x.Needs, x.Via))
	}
	want := []string{
		a + " v1.1.0 v1.0.0[tool:x][" + c + " v1.2.0][]",
		b + " v1.0.0 v1.0.0[][" + a + " v1.1.0 " + own + "][]",
		c + " v1.5.0 [][" + d + " v1.0.0][" + a + " v1.0.0]",
		d + " v1.0.0 []../d[][]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	path := why.Path(l, c)
	if len(path) != 2 || path[0].ID != a || path[1] != (why.Step{ID: c, Wanted: "v1.5.0", Selected: "v1.5.0", From: a, Dropped: "v1.0.0"}) {
		t.Errorf("why that version: %+v", path)
	}
	if path := why.Path(l, d); len(path) != 1 || path[0].From != own {
		t.Errorf("why of what a member requires: %+v", path)
	}
	if why.Path(l, "github.com/no/x") != nil {
		t.Error("what is not there has a reason")
	}
	tree := show(why.Tree(l), "")
	if want := a + " v1.1.0\n " + c + " v1.5.0\n  " + d + " v1.0.0\n " + c + " v1.5.0 seen\n" + b + " v1.0.0\n " + a + " v1.1.0 seen\n " + own + " \n  " + d + " v1.0.0\n"; tree != want {
		t.Errorf("tree\n%s\nwant\n%s", tree, want)
	}
}

func show(nodes []why.Node, indent string) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(indent + n.ID + " " + n.Selected)
		if n.Seen {
			b.WriteString(" seen")
		}
		b.WriteString("\n" + show(n.Children, indent+" "))
	}
	return b.String()
}
