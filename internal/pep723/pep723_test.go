package pep723

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	b, fs := Parse([]byte("#!/usr/bin/env python3\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"httpx[http2] >=0.27,<1\",\n#\n#   \"rich; python_version < '3.13'\",\n# ]\n# [tool.uv]\n# index = 1\n# ///\nimport httpx\n"))
	if len(fs) > 0 || b.Line != 2 || b.Python != ">=3.11" || !slices.Equal(b.Requirements, []string{"httpx[http2] >=0.27,<1", "rich; python_version < '3.13'"}) {
		t.Errorf("%+v %v", b, fs)
	}
	if b, fs := Parse([]byte("import os\n# /// other\n# x\n# ///\n")); b != nil || fs != nil {
		t.Errorf("%+v %v", b, fs)
	}
}

func TestParseRefuses(t *testing.T) {
	block := func(toml string) string { return "# /// script\n# " + toml + "\n# ///\n" }
	for src, want := range map[string]string{
		"# /// script\n# x = 1\nimport os\n": "1:1: VALIDATION_FAILED: the block # /// script is never closed",
		"# /// script\n":                     "never closed",
		block("dependencies = []") + "\n" + block("dependencies = []"): "a second block",
		block(`dependencies = ["evil @ https://evil.test/x.whl"]`):     "not a name with versions",
		block(`dependencies = ["--index-url=https://evil.test"]`):      "not a name with versions",
		block(`dependencies = ["-r other.txt"]`):                       "not a name with versions",
		block(`dependencies = ["a\n-r x"]`):                            "not a name with versions",
		block(`dependencies = ["a>1\n--find-links=x"]`):                "not a name with versions",
		block(`dependencies = ["./local"]`):                            "not a name with versions",
		block(`dependencis = []`):                                      `unknown field "dependencis"`,
		block(`dependencies = "a"`):                                    "must be",
		block(`requires-python = "3"`):                                 "not a version specifier",
		block(`dependencies = [`):                                      "PARSING_ERROR",
	} {
		_, fs := Parse([]byte(src))
		var all []string
		for _, f := range fs {
			all = append(all, f.String())
		}
		if !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("%q: %q, want %q", src, all, want)
		}
	}
}

func TestPermits(t *testing.T) {
	for _, c := range []struct {
		spec, version string
		want          bool
	}{
		{"", "3.9.1", true}, {">=3.11", "3.11.0", true}, {">=3.11", "3.9.18", false}, {">=3.9,<3.12", "3.12.0", false},
		{"==3.11.*", "3.11.7", true}, {"!=3.11.*", "3.11.7", false}, {"~=3.10", "3.14.1", true}, {"~=3.10.2", "3.11.0", false},
		{">3.11", "3.11.0", false}, {"<=3.11", "3.11.0", true}, {"==3.11", "3.11.0", true}, {"broken", "3.11.0", false}, {">=3", "x", false},
	} {
		if got := Permits(c.spec, c.version); got != c.want {
			t.Errorf("%s %s: %v", c.spec, c.version, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("# /// script\n# dependencies = [\"a\"]\n# ///\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		b, fs := Parse(src)
		if b == nil || len(fs) > 0 {
			return
		}
		for _, r := range b.Requirements {
			if strings.HasPrefix(r, "-") || strings.ContainsAny(r, "@\r\n") {
				t.Errorf("%q", r)
			}
		}
	})
}
