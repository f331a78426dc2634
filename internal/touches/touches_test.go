package touches

import (
	"fmt"
	"path"
	"testing"

	"github.com/ryeos/rye/internal/yamlx"
)

func of(t *testing.T, src string) *Set {
	t.Helper()
	doc, fs := yamlx.Parse([]byte(src))
	if len(fs) > 0 {
		t.Fatal(src, fs)
	}
	params, _ := doc.Root["params"].(map[string]any)
	return Of(doc.Root["touches"], params, path.Clean)
}

func TestOf(t *testing.T) {
	for src, want := range map[string]string{
		`{touches: {read: ["{file_path}"]}, params: {file_path: a//b}}`: "&{[a/b] []}",
		`{touches: {read: ["{path}"]}, params: {}}`:                     "&{[.] []}",
		`{touches: {read: ["{path}"]}, params: {path: 3}}`:              "&{[.] []}",
		`{touches: {}, params: {path: a}}`:                              "&{[] []}",
		`{params: {path: a}}`:                                           "<nil>",
		`{touches: {write: ["{file_path?}", "{files.*.file_path}"]}, params: {files: [{file_path: a}, {file_path: b}], file_path: c}}`: "&{[] [a b c]}",
		`{touches: {write: ["{file_path?}", "{files.*.file_path}"]}, params: {files: [{file_path: a}]}}`:                               "&{[] [a]}",
		`{touches: {write: ["{files.*.file_path}"]}, params: {}}`:                                                                      "&{[] []}",
		`{touches: {read: [docs], unless: [destination]}, params: {destination: ""}}`:                                                  "&{[docs] []}",
		`{touches: {read: [docs], unless: [destination]}, params: {destination: user}}`:                                                "<nil>",
	} {
		if got := fmt.Sprint(of(t, src)); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

func TestConflicts(t *testing.T) {
	for _, c := range []struct {
		a, b Set
		want bool
	}{
		{Set{Read: []string{"a"}}, Set{Read: []string{"a"}}, false},
		{Set{Read: []string{"a"}}, Set{Write: []string{"b"}}, false},
		{Set{Read: []string{"a"}}, Set{Write: []string{"a"}}, true},
		{Set{Read: []string{"."}}, Set{Write: []string{"x/y"}}, true},
		{Set{Read: []string{"x"}}, Set{Write: []string{"x/y"}}, true},
		{Set{Read: []string{"x/y/z"}}, Set{Write: []string{"x/y"}}, true},
		{Set{Read: []string{"xy"}}, Set{Write: []string{"x"}}, false},
		{Set{Read: []string{"README.md"}}, Set{Write: []string{"readme.md"}}, true},
		{Set{Write: []string{"a"}}, Set{Write: []string{"b"}}, false},
		{Set{}, Set{Write: []string{"."}}, false},
	} {
		if got := c.a.Conflicts(&c.b); got != c.want || c.b.Conflicts(&c.a) != c.want {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	var unknown *Set
	if !unknown.Conflicts(&Set{}) || !(&Set{}).Conflicts(nil) {
		t.Error("a call that declares nothing runs with others")
	}
}

// The calls of a group do not conflict, and none passes one that it conflicts with.
func TestGroups(t *testing.T) {
	read, write, none := func(p string) *Set { return &Set{Read: []string{p}} }, func(p string) *Set { return &Set{Write: []string{p}} }, (*Set)(nil)
	for _, c := range []struct {
		calls []*Set
		want  string
	}{
		{nil, "[]"},
		{[]*Set{read("a"), read("a"), read("b")}, "[[0 1 2]]"},
		{[]*Set{read("a"), write("a"), read("a")}, "[[0] [1] [2]]"},
		{[]*Set{write("a"), write("b"), read("c"), write("a")}, "[[0 1 2] [3]]"},
		{[]*Set{read("a"), none, read("a"), read("b")}, "[[0] [1] [2 3]]"},
		{[]*Set{none, none}, "[[0] [1]]"},
	} {
		if got := fmt.Sprint(Groups(c.calls)); got != c.want {
			t.Errorf("%v: %s, want %s", c.calls, got, c.want)
		}
	}
}
