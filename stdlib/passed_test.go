package stdlib_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/stdlib"
)

func anyItem(item.Ref) bool { return true }

// The metadata that a process passes to another one of the same program is what that one would
// read, and belongs to the bytes of the bundle only.
func TestPassed(t *testing.T) {
	from := resolver(t)
	everyOf(t, from, func(*resolve.Item) {})
	all := from.Passed(anyItem)
	samePassed(t, string(all), func(text string) (*resolve.Resolver, error) {
		to := resolver(t)
		return to, to.Pass([]byte(text))
	})
	for _, b := range [][]byte{all[:len(all)-1], append(bytes.Clone(all), 0xff), {5}, {0, 0}} {
		if err := resolver(t).Pass(b); err == nil {
			t.Errorf("%d bytes that are not complete are accepted", len(b))
		}
	}
}

// The same is true of the metadata that the program contains, and a text that is not complete is
// not used.
func TestParsed(t *testing.T) {
	with := func(text string) (*resolve.Resolver, error) {
		return resolverOf(t, stdlib.FS(), resolve.NewParsed(text)), nil
	}
	samePassed(t, stdlib.Parsed(), with)
	broken, _ := with(strings.Replace(stdlib.Parsed(), grepDescription, grepOther, 1)[:len(stdlib.Parsed())-1])
	if got := described(t, broken); got != grepDescription {
		t.Errorf("the metadata is from a text that is not complete: %s", got)
	}

	// A process that has these items passes the others.
	r, _ := with(stdlib.Parsed())
	everyOf(t, r, func(*resolve.Item) {})
	rest := string(r.Passed(anyItem))
	if len(rest) == 0 || strings.Contains(rest, grepDescription) || len(r.Passed(resolve.AtStart)) > 0 {
		t.Errorf("%d bytes are passed, and in them what each process has", len(rest))
	}
}

const (
	grepDescription = "Find lines by regular expression (RE2)"
	grepOther       = "Miss lines by regular expression (RE2)"
)

func described(t *testing.T, r *resolve.Resolver) string {
	t.Helper()
	it, err := r.Find(t.Context(), item.Ref{Kind: item.Tool, ID: "rye/file-system/grep"})
	if err != nil {
		t.Fatal(err)
	}
	return it.Meta.Description[:len(grepDescription)]
}

// samePassed compares the items that a Resolver with a text of Passed has, and those without it.
func samePassed(t *testing.T, text string, with func(text string) (*resolve.Resolver, error)) {
	t.Helper()
	to, err := with(text)
	if err != nil {
		t.Fatal(err)
	}
	everyOf(t, resolver(t), func(want *resolve.Item) {
		if want.Support() {
			return
		}
		got, err := to.Find(t.Context(), want.Ref)
		if err != nil {
			t.Errorf("%s: %v", want.Ref, err)
			return
		}
		if !reflect.DeepEqual(got.Meta, want.Meta) || got.Digest != want.Digest || len(got.Findings) > 0 || !got.Verdict.OK() {
			t.Errorf("%s differs:\n%+v\n%+v", want.Ref, got.Meta, want.Meta)
		}
	})

	// Control: the text is used.
	other, err := with(strings.Replace(text, grepDescription, grepOther, 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := described(t, other); got != grepOther {
		t.Errorf("the text is not used: %q", got)
	}

	// It is not used for other bytes with the same id.
	it, err := other.Find(t.Context(), item.Ref{Kind: item.Tool, ID: "rye/file-system/grep"})
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(it.Bytes, []byte("\ntool_type: "), []byte("\ntitle: Another\ntool_type: "), 1)
	if is := other.WithBytes(it, changed); bytes.Equal(changed, it.Bytes) || is.Meta.Fields["title"] != "Another" || is.Verdict.OK() || strings.HasPrefix(is.Meta.Description, grepOther) {
		t.Errorf("the metadata of other bytes is %v, %v", is.Meta.Fields, is.Verdict)
	}
}
