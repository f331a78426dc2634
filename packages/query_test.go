package packages

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestParseQuery(t *testing.T) {
	for in, want := range map[string][3]string{
		"github.com/acme/tools":                          {"github.com/acme/tools", "", ""},
		"github.com/acme/tools@v1.2.0":                   {"github.com/acme/tools", "v1.2.0", ""},
		"github.com/acme/tools@latest":                   {"github.com/acme/tools", "latest", ""},
		"github.com/acme/tools@3f2c9d1e0a":               {"github.com/acme/tools", "3f2c9d1e0a", ""},
		"git.acme.io/sec/redact//bundles/pii@v0.3.0":     {"git.acme.io/sec/redact//bundles/pii", "v0.3.0", ""},
		"git@git.acme.io:sec/redact":                     {"git@git.acme.io:sec/redact", "", ""},
		"git@git.acme.io:sec/redact@v1.0.0":              {"git@git.acme.io:sec/redact", "v1.0.0", ""},
		"ssh://git@git.acme.io/sec/redact@v1.0.0":        {"ssh://git@git.acme.io/sec/redact", "v1.0.0", ""},
		"file:///srv/x@v1.0.0":                           {"file:///srv/x", "v1.0.0", ""},
		"./bundles/x":                                    {"./bundles/x", "", ""},
		"registry:h.io/acme/x@v1.0.0":                    {"registry:h.io/acme/x", "v1.0.0", ""},
		"tool:gh/issue@github.com/acme/tools":            {"github.com/acme/tools", "", "tool:gh/issue"},
		"tool:gh/*@github.com/acme/tools@v1.0.0":         {"github.com/acme/tools", "v1.0.0", "tool:gh/*"},
		"directive:triage/**@git@git.acme.io:x/y@v1.0.0": {"git@git.acme.io:x/y", "v1.0.0", "directive:triage/**"},
	} {
		q, err := ParseQuery(in)
		if got := [3]string{q.ID.String(), q.Version, q.Item}; err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "@", "@v1.0.0", "tools", "tool:gh/issue", "github.com/acme/tools@", "github.com/acme/tools@1.0.0",
		"github.com/acme/tools@v2.0.0", "github.com/acme/tools@main", "github.com/../x", "github.com/a\x00b/c", "-x", "--upload-pack=x",
		"tool:gh/issue@", "tool:../x@github.com/acme/tools", strings.Repeat("a/", 600),
	} {
		if q, err := ParseQuery(in); err == nil {
			t.Errorf("%q gives %+v", in, q)
		} else if diag.CodeOf(err) == "" {
			t.Errorf("%q: %v has no code", in, err)
		}
	}
}

// A parsed query has a text that parses to the same query.
func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{"github.com/acme/tools@v1.2.0", "git@h.io:x/y@v1.0.0", "tool:a/b@github.com/x/y", "./x", "registry:h.io/a/b", "a@b@c", "@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuery(s)
		if err != nil {
			return
		}
		text := q.ID.String()
		if q.Version != "" {
			text += "@" + q.Version
		}
		again, err := parseBundle(text)
		if again.Item = q.Item; err != nil || again != q {
			t.Fatalf("%q gives %+v, which reads %+v, %v", s, q, again, err)
		}
	})
}
