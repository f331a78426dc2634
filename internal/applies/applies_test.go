package applies_test

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/applies"
	"github.com/ryeos/rye/internal/yamlx"
)

func TestFields(t *testing.T) {
	many := "paths: [" + strings.Repeat("a, ", 100) + "a]"
	for _, tc := range []struct {
		text string
		mode applies.Mode
		err  string
	}{
		{"title: x", "", ""},
		{"apply: always", applies.Always, ""},
		{"apply: search", applies.Search, ""},
		{"paths: [\"src/**\", \"{a,b}/*.go\", 'app/\\[id]/**']", applies.Paths, ""},
		{"apply: paths\npaths: [a]", applies.Paths, ""},
		{"apply: paths", applies.Paths, "has no paths"},
		{"paths: []", applies.Paths, "paths is empty"},
		{"paths: ['']", applies.Paths, "pattern is empty"},
		{"paths: [/etc/**]", applies.Paths, "must be relative"},
		{"paths: ['a[']", applies.Paths, "invalid segment"},
		{"paths: [1]", applies.Paths, "must be a string"},
		{many, applies.Paths, "101 patterns"},
		{"apply: always\npaths: [a]", applies.Always, "no effect"},
		{"apply: search\npaths: [a]", applies.Search, "no effect"},
		{"apply: Always", "", "must be always, paths or search"},
		{"apply: [always]", "", "must be always, paths or search"},
	} {
		doc, fs := yamlx.Parse([]byte(tc.text))
		if len(fs) > 0 {
			t.Fatalf("%s: %v", tc.text, fs)
		}
		if got := applies.Of(doc.Root); got != tc.mode {
			t.Errorf("%s: mode %q, want %q", tc.text, got, tc.mode)
		}
		got := ""
		for _, f := range applies.Check(doc) {
			got += f.Message
		}
		if (got == "") != (tc.err == "") || !strings.Contains(got, tc.err) {
			t.Errorf("%s: %q, want %q", tc.text, got, tc.err)
		}
	}
}
